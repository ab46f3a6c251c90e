//===- PipelineExpansion.h - loops of software pipelines --------*- C++ -*-===//
//
// Builds the prologue and the loop of a scheduled tile.pipelined, and the
// views of the slots.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEEXPANSION_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEEXPANSION_H

#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// Operations of `loop` marked tile.ahead, not those of loops inside of it.
SmallVector<Operation *> getProducers(PipelinedOp loop);

/// Notes the place that the order of its loop gives to each operation: the
/// lists of a loop count the operations of its body, which change when a loop
/// in it is expanded.
void recordOrder(KernelOp kernel);

/// Gives `op`, which is executed in the place of `loop`, its note of
/// `recordOrder`.
void inheritPosition(Operation *op, PipelinedOp loop);

/// Removes the notes of `recordOrder`.
void eraseOrder(KernelOp kernel);

/// Operations other than views that use `buffer`, through any view.
SmallVector<Operation *> getHandleUsers(Value buffer);

/// An i32 constant at the top of the kernel around the insertion point.
Value makeIndex(OpBuilder &builder, Location loc, int64_t value);

/// Replaces handles of an allocation by handles of one slot of its
/// replacement.
class SlotViews {
public:
  SlotViews(Value slotted, Value slot) : slotted(slotted), slot(slot) {}
  /// Rewrites the operands of `user` that are views of `buffer`. Views are
  /// built before `user`.
  void rewrite(Operation *user, Value buffer);

private:
  Value build(OpBuilder &builder, Value handle, Value buffer);
  Value slotted, slot;
};

/// Erases the views of `buffer`, which must have no other uses.
void eraseViews(Value buffer);

/// Erases local variables that are written but never read.
void eraseUnusedVariables(KernelOp kernel);

/// What became of a tile.pipelined.
struct ExpandedPipeline {
  scf::ForOp steady;
  /// The slot of the last iteration; 0 when there was none. Null unless asked
  /// for.
  Value lastSlot;
};

/// Replaces `loop` by a prologue and an scf.for. `buffers` are filled ahead;
/// `slotted` maps them to their allocations with slots.
ExpandedPipeline expandPipeline(PipelinedOp loop, ArrayRef<Value> buffers,
                                const llvm::MapVector<Value, Value> &slotted,
                                bool needsLastSlot);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEEXPANSION_H
