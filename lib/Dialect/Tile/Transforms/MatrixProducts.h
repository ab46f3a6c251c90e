//===- MatrixProducts.h - what passes over products share -------*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// The fill with zero of the whole allocation of `accumulator` that is the last
/// operation in the block in front of `point` to touch it.
FillOp findZeroFill(Value accumulator, Operation *point);

/// Whether warp groups do the product, asynchronously.
bool usesWgmma(GemmOp gemm);

/// Replaces `gemm`, which uses wgmma, by its start. With `accumulate`, the sum
/// takes part only if that is true.
GemmAsyncOp startProduct(GemmOp gemm, Value accumulate = {});

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MATRIXPRODUCTS_H
