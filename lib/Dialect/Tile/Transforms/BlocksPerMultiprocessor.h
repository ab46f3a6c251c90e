//===- BlocksPerMultiprocessor.h - Blocks that run side by side -*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_BLOCKSPERMULTIPROCESSOR_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_BLOCKSPERMULTIPROCESSOR_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Lets two blocks share a multiprocessor where `sharedBytes` of each fit it
/// and only the registers at launch stand in the way: a kernel with a producer
/// and one group of consumers gets `min_blocks_per_sm = 2`, and its roles move
/// registers from the producer to the consumers.
void shareMultiprocessor(KernelOp kernel, int64_t sharedBytes);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_BLOCKSPERMULTIPROCESSOR_H
