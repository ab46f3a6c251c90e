//===- Multibuffer.cpp - slots and loops for pipelines ----------*- C++ -*-===//
//
// Turns every tile.pipelined into an scf.for. Loads marked tile.ahead move to
// an issue part that runs iterations early; the buffers they fill get one slot
// for each iteration in flight.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMULTIBUFFER
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
class TileMultibufferPass
    : public mlir::tile::impl::TileMultibufferBase<TileMultibufferPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      return failed(expandKernel(kernel)) ? WalkResult::interrupt()
                                          : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult expandKernel(KernelOp kernel);
};
} // namespace

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// The loops that fill each allocation ahead, and the slots it needs.
static LogicalResult
collectBuffers(KernelOp kernel,
               llvm::MapVector<Value, SmallVector<PipelinedOp>> &loopsOf) {
  WalkResult result = kernel.walk([&](PipelinedOp loop) {
    if (loop.getNumStages() >= 2 && !loop.getChoice()) {
      loop.emitError("has no schedule; run tile-plan-pipeline before "
                     "tile-multibuffer");
      return WalkResult::interrupt();
    }
    for (Operation *op : getProducers(loop)) {
      auto ahead = op->getAttrOfType<IntegerAttr>("tile.ahead").getInt();
      if (ahead < 1 || ahead >= static_cast<int64_t>(loop.getNumStages())) {
        op->emitError("runs ")
            << ahead << " iterations ahead, but the loop has "
            << loop.getNumStages() << " slots";
        return WalkResult::interrupt();
      }
      SmallVector<BufferAccess> accesses;
      collectAccesses(op, accesses);
      for (const BufferAccess &access : accesses) {
        if (!access.isWrite)
          continue;
        auto type = dyn_cast<BufferType>(access.root.getType());
        if (!type || !type.isShared()) {
          op->emitError("runs ahead, but does not only write shared memory");
          return WalkResult::interrupt();
        }
        SmallVector<PipelinedOp> &loops = loopsOf[access.root];
        if (!llvm::is_contained(loops, loop))
          loops.push_back(loop);
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether `op` is inside of a loop that has loads in flight.
static bool isInSteadyLoop(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp()) {
    auto role = parent->getAttrOfType<PipelineAttr>(kPipelineName);
    if (role)
      return role.getRole() == PipelineRole::Steady;
  }
  return false;
}

/// The issue part around `op`; null elsewhere.
static Operation *getIssuePart(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    if (getPipeline(parent, PipelineRole::Issue))
      return parent;
  return nullptr;
}

/// Whether the part that runs ahead uses what `copy` writes in another way.
static bool isUsedAhead(CopyOp copy) {
  Operation *part = getIssuePart(copy);
  if (!part)
    return false;
  SmallVector<BufferAccess> accesses, mine;
  collectNestedAccesses(part, accesses);
  collectAccesses(copy, mine);
  for (const BufferAccess &write : mine)
    for (const BufferAccess &access : accesses)
      if (write.isWrite && access.op != copy && access.root == write.root &&
          mayOverlap(write.region, access.region))
        return true;
  return false;
}

/// Copies chosen as cp.async become asynchronous, except where waiting for them
/// would also wait for the tiles of later iterations.
static LogicalResult makeAsynchronous(KernelOp kernel) {
  SmallVector<CopyOp> copies;
  kernel.walk([&](CopyOp copy) {
    // Those of a producer role complete on the barriers of their ring.
    if (copy.getChoice() && copy.getChoice()->getPath() == Path::CpAsync &&
        !copy->hasAttr(kProduceName))
      copies.push_back(copy);
  });
  for (CopyOp copy : copies) {
    if (isInSteadyLoop(copy)) {
      copy.setChoiceAttr(ChoiceAttr::get(
          copy.getContext(), Path::Simt,
          "does not run ahead, and waiting for cp.async here would wait for "
          "the loads of later iterations too",
          copy.getChoice()->getArguments()));
      continue;
    }
    if (isUsedAhead(copy)) {
      copy.setChoiceAttr(ChoiceAttr::get(
          copy.getContext(), Path::Simt,
          "its destination is used again by what runs ahead, which would have "
          "to wait for cp.async",
          copy.getChoice()->getArguments()));
      continue;
    }
    makeAsynchronous(copy);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Loops that run once, and in which nothing is loaded ahead, are no loops.
static void dissolveSingleIterations(KernelOp kernel) {
  SmallVector<PipelinedOp> loops;
  kernel.walk([&](PipelinedOp loop) {
    if (runsOnce(loop) && getProducers(loop).empty())
      loops.push_back(loop);
  });
  for (PipelinedOp loop : loops) {
    // They stay together in the order of a loop around them.
    for (Operation &op : *loop.getBodyBlock())
      inheritPosition(&op, loop);
    loop.getInductionVar().replaceAllUsesWith(loop.getLower());
    loop->getBlock()->getOperations().splice(
        loop->getIterator(), loop.getBodyBlock()->getOperations());
    loop.erase();
  }
}

LogicalResult TileMultibufferPass::expandKernel(KernelOp kernel) {
  recordOrder(kernel);
  if (failed(expandRings(kernel)))
    return failure();
  dissolveSingleIterations(kernel);
  llvm::MapVector<Value, SmallVector<PipelinedOp>> loopsOf;
  if (failed(collectBuffers(kernel, loopsOf)))
    return failure();

  // The new allocations. The old ones stay until all uses are rewritten.
  llvm::MapVector<Value, Value> slotted;
  llvm::DenseMap<Value, OutsideUses> outside;
  for (auto &[buffer, loops] : loopsOf) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    int64_t slots = 0;
    for (PipelinedOp loop : loops) {
      slots = std::max<int64_t>(slots, loop.getNumStages());
      FailureOr<OutsideUses> uses = getOutsideUses(buffer, loop);
      if (loops.size() > 1)
        continue;
      if (failed(uses))
        return alloc.emitError("is filled ahead by a loop, but used where its "
                               "slot is not known");
      outside[buffer] = *uses;
    }
    OpBuilder builder(alloc);
    auto replacement =
        AllocOp::create(builder, alloc.getLoc(),
                        addSlots(cast<BufferType>(buffer.getType()), slots),
                        alloc.getNameAttr());
    replacement->setDiscardableAttrs(alloc->getDiscardableAttrDictionary());
    const OutsideUses &uses = outside[buffer];
    if (uses.before.empty() && uses.after.empty())
      replacement->setAttr("tile.slots", builder.getI64IntegerAttr(slots));
    slotted[buffer] = replacement.getResult();
  }

  SmallVector<PipelinedOp> loops;
  kernel.walk([&](PipelinedOp loop) { loops.push_back(loop); });
  llvm::DenseMap<Value, ExpandedPipeline> expansionOf;
  for (PipelinedOp loop : loops) {
    SmallVector<Value> mine;
    bool needsLastSlot = false;
    for (auto &[buffer, users] : loopsOf)
      if (llvm::is_contained(users, loop)) {
        mine.push_back(buffer);
        needsLastSlot |= !outside[buffer].after.empty();
      }
    ExpandedPipeline expansion =
        expandPipeline(loop, mine, slotted, needsLastSlot);
    for (Value buffer : mine)
      expansionOf[buffer] = expansion;
  }

  // Uses outside: the first slot before the loop, the last one used after it.
  for (auto &[buffer, replacement] : slotted) {
    const ExpandedPipeline &expansion = expansionOf[buffer];
    for (Operation *user : getHandleUsers(buffer)) {
      OpBuilder builder(user);
      Operation *sibling =
          expansion.steady->getBlock()->findAncestorOpInBlock(*user);
      Value slot = sibling && expansion.steady->isBeforeInBlock(sibling)
                       ? expansion.lastSlot
                       : makeIndex(builder, user->getLoc(), 0);
      SlotViews views(replacement, slot);
      views.rewrite(user, buffer);
    }
    eraseViews(buffer);
    buffer.getDefiningOp()->erase();
  }
  eraseOrder(kernel);
  eraseUnusedVariables(kernel);
  return makeAsynchronous(kernel);
}
