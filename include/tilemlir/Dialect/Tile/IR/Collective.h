//===- Collective.h - which operations threads do together ------*- C++ -*-===//
//
// Operations of a kernel are done either once per block, by all of its threads
// together, or by each thread for itself.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_COLLECTIVE_H
#define TILEMLIR_DIALECT_TILE_IR_COLLECTIVE_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Whether all threads of the block do the operation together, once. A tile
/// operation with a `local` operand is done by each thread on its own copy of
/// that buffer, like scalar code.
bool isCollective(Operation *op);

/// The buffer that an operation outside of tile.parallel writes: of a store, a
/// copy, a fill, a reduction or a gemm. Null for others and for tensors.
Value getWrittenBuffer(Operation *op);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_IR_COLLECTIVE_H
