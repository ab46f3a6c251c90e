//===- PipelineAnalysis.h - what may run ahead in a loop --------*- C++ -*-===//
//
// Decides which loads of a pipelined loop can be started in an earlier
// iteration without changing what the kernel computes, and why others cannot.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEANALYSIS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEANALYSIS_H

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace mlir::tile {

/// Which values of a loop body can be computed again for another iteration, or
/// which values of a kernel by another role: pure arithmetic, loads from
/// storage that does not change meanwhile, and variables whose writers in the
/// scope are themselves such.
class ClonableValues {
public:
  /// `scope` is a tile.pipelined or a tile.kernel.
  explicit ClonableValues(Operation *scope);

  /// Nothing, or why `value` cannot be computed in another iteration.
  std::optional<std::string> whyNot(Value value) const;
  /// The same for the conditions and bounds of the operations between `op` and
  /// the scope, under which `op` runs.
  std::optional<std::string> whyNotReached(Operation *op) const;
  /// The same for all values `op` and its regions take from outside of `op`.
  std::optional<std::string> whyNotOperands(Operation *op) const;
  /// The same for a read of `root`.
  std::optional<std::string> whyNotRead(Value root) const;

private:
  std::optional<std::string> check(Value value,
                                   llvm::SmallDenseSet<Value> &active) const;
  std::optional<std::string>
  checkReached(Operation *op, llvm::SmallDenseSet<Value> &active) const;
  std::optional<std::string> checkVariable(Value variable) const;

  Region &getBody() const { return scope->getRegion(0); }

  Operation *scope;
  /// Accesses inside of the scope, in program order.
  SmallVector<BufferAccess> accesses;
  llvm::DenseSet<Value> writtenInLoop, writtenTensors;
  /// A tensor is written in the loop, and tensors may overlap.
  bool mayAliasWrites = false;
  llvm::DenseMap<Value, std::string> refusedVariables;
};

/// Whether `op` has an entry in the stage and order lists of its loop: it, or
/// something inside of it, does more than compute or load values.
bool isScheduled(Operation *op);

/// Whether `loop` certainly has one iteration: what T.Persistent(num_stages=)
/// puts around a tile, whose loads a producer role may start early.
bool runsOnce(PipelinedOp loop);

/// The decision for one pipelined loop.
struct RunAheadPlan {
  PipelinedOp loop;
  /// Operations that fill shared memory ahead of use, in program order.
  llvm::SetVector<Operation *> producers;
  /// Allocations that they fill.
  llvm::SetVector<Value> buffers;
  /// Loads that stay in their iteration, with the reason.
  llvm::MapVector<Operation *, std::string> refused;
};

/// Why an operation must not run ahead; nothing if it may.
using RunAheadFilter = function_ref<std::optional<std::string>(Operation *op)>;

/// Plans of all loops of `kernel` with num_stages of 2 or more, except those
/// that run once. `whyNot` restricts the candidates (by the user's schedule).
SmallVector<RunAheadPlan> planRunAhead(KernelOp kernel, RunAheadFilter whyNot);

/// Plans for a producer role: of all loops with num_stages of 1 or more, where
/// buffers have no uses outside of the loops that fill them, and a buffer is
/// filled by one loop only.
SmallVector<RunAheadPlan> planProducer(KernelOp kernel, RunAheadFilter whyNot);

/// Uses of a multi-buffered allocation outside of the loops that fill it.
struct OutsideUses {
  SmallVector<Operation *> before, after;
};

/// Splits the operations of `kernel` that use `buffer`, but are not inside of
/// `loop`, by their place relative to `loop`; failure when one is neither.
FailureOr<OutsideUses> getOutsideUses(Value buffer, PipelinedOp loop);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PIPELINEANALYSIS_H
