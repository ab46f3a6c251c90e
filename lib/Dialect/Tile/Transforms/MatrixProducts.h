//===- MatrixProducts.h - what passes over products share -------*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// The fill with zero of the whole allocation of `accumulator` that is the last
/// operation in the block in front of `point` to touch it.
FillOp findZeroFill(Value accumulator, Operation *point);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H
