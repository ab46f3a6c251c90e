//===- RingExpansion.h - loops that a producer role feeds -------*- C++ -*-===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGEXPANSION_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGEXPANSION_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// `type` with a slowest dimension of `slots` in front.
BufferType addSlots(BufferType type, int64_t slots);

/// Replaces every tile.pipelined of `kernel` that has copies marked
/// tile.produce by a ring loop: an scf.for whose buffers have slots, and whose
/// position in the ring is a local variable that outlives the loop.
LogicalResult expandRings(KernelOp kernel);

/// A loop over a ring of slots.
struct RingLoop {
  scf::ForOp loop;
  /// The allocation of its position: two local i32, slot and phase.
  AllocOp ring;
  /// The slot that the current iteration uses.
  Value slot;
  int64_t slots;
};

/// Describes `loop`; failure if it is no ring loop.
FailureOr<RingLoop> getRingLoop(scf::ForOp loop);

/// The slot in front of `slot` in a ring.
Value getPreviousSlot(OpBuilder &builder, Location loc, Value slot,
                      int64_t slots);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_RINGEXPANSION_H
