//===- SyncAnalysis.h - where threads must meet -----------------*- C++ -*-===//
//
// Finds the places at which all threads of a block must meet so that accesses
// to shared memory by different threads are ordered as the kernel says.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_SYNCANALYSIS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_SYNCANALYSIS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::tile {

/// Operations of `kernel` that need a barrier right before them.
SmallVector<Operation *> planBarriers(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_SYNCANALYSIS_H
