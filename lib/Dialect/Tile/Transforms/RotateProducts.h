//===- RotateProducts.h - two products of a loop overlap --------*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ROTATEPRODUCTS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ROTATEPRODUCTS_H

#include "IntegerAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// Of ring loops whose warp groups are to take turns at starting products.
inline constexpr StringLiteral kTakeTurns = "tile.take_turns";

/// What became of a loop in which one product feeds another.
struct Rotation {
  /// The loop in which both overlap; null if nothing was changed.
  scf::ForOp loop;
  /// Why not; empty as well if the loop has no such products. Of a rotated
  /// loop, what became of the turns that its warp groups were to take.
  std::string reason;
};

/// Rotates the ring loop `loop` of a consumer role, in which threads compute
/// the register operand of a product from the result of another one: the
/// second product of each iteration starts behind the first one of the next,
/// and runs while the threads compute.
Rotation rotateProducts(scf::ForOp loop, IntegerAnalysis &integers);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_ROTATEPRODUCTS_H
