//===- CpAsyncGroups.cpp - groups of cp.async -------------------*- C++ -*-===//
//
// A thread's copies complete in the order of their groups; waiting with
// `pending = n` completes all but the newest n. A wait is therefore right when
// at least n groups were committed behind the one that is needed, whatever else
// was committed in between.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::releasesOthers(KernelOp kernel, Operation *op) {
  if (!kernel->hasAttr("tile.explicit"))
    return false;
  return op
      ->walk([](Operation *inner) {
        return isa<BarrierArriveOp, NamedArriveOp, SyncThreadsOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool holdsAsyncCopy(Operation *op) {
  return op->walk([](CopyAsyncOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static bool isInIssuePart(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (getPipeline(parent, PipelineRole::Issue))
      return true;
  return false;
}

static void commitAfter(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  AsyncCommitOp::create(builder, op->getLoc());
}

static void wait(OpBuilder &builder, Location loc, int64_t pending) {
  AsyncWaitOp::create(builder, loc, pending);
}

/// Issue parts that are direct children of the block of the loop `steady`.
static SmallVector<Operation *> getIssueParts(scf::ForOp steady) {
  SmallVector<Operation *> parts;
  for (Operation &op : *steady.getBody())
    if (getPipeline(&op, PipelineRole::Issue))
      parts.push_back(&op);
  return parts;
}

/// A pipeline: one group for each step. When iteration k is about to be
/// computed, `ahead + k` groups have been committed; group k must be complete,
/// so that `ahead - 1` may be in flight.
static LogicalResult completePipeline(scf::ForOp steady, int64_t ahead) {
  SmallVector<Operation *> parts = getIssueParts(steady);
  SmallVector<Operation *> prologue;
  for (Operation *op = steady->getPrevNode();
       op && static_cast<int64_t>(prologue.size()) < ahead;
       op = op->getPrevNode())
    if (getPipeline(op, PipelineRole::Issue))
      prologue.push_back(op);
  if (parts.empty() || static_cast<int64_t>(prologue.size()) != ahead)
    return steady.emitError("is a pipeline that runs ")
           << ahead << " iterations ahead, but has " << prologue.size()
           << " issue parts before it and " << parts.size() << " inside";
  if (llvm::none_of(parts, holdsAsyncCopy))
    return success();
  for (Operation *part : prologue)
    commitAfter(part);
  commitAfter(parts.back());
  OpBuilder builder = OpBuilder::atBlockBegin(steady.getBody());
  wait(builder, steady.getLoc(), ahead - 1);
  return success();
}

namespace {
/// Copies outside of pipelines: those that follow each other in a block form
/// one group, waited for before the first operation that touches what they
/// write.
class GroupBuilder {
public:
  explicit GroupBuilder(Block &block) : block(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && !isTmaCopy(copy)) {
        if (touches(&op))
          complete(&op);
        open.push_back(copy);
        uncommitted = copy;
        collectAccesses(copy, accesses);
        continue;
      }
      if (open.empty() || !touches(&op))
        continue;
      if (!op.hasTrait<OpTrait::IsTerminator>() &&
          getPipeline(&op, PipelineRole::Steady) && hasGroups(&op)) {
        // The group is older than those of the pipeline, whose first wait
        // covers it; without iterations nobody has waited.
        commit();
        OpBuilder builder(op.getContext());
        builder.setInsertionPointAfter(&op);
        wait(builder, op.getLoc(), 0);
        close();
        continue;
      }
      complete(&op);
    }
    if (open.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(&block.back());
    commit();
    wait(builder, open.back().getLoc(), 0);
    close();
  }

private:
  static bool hasGroups(Operation *steady) {
    return llvm::any_of(getIssueParts(cast<scf::ForOp>(steady)),
                        holdsAsyncCopy);
  }

  bool touches(Operation *op) {
    if (releasesOthers(getKernel(op), op))
      return true;
    SmallVector<BufferAccess> others;
    collectNestedAccesses(op, others);
    for (const BufferAccess &mine : accesses)
      for (const BufferAccess &other : others)
        if (mine.root == other.root && (mine.isWrite || other.isWrite) &&
            mayOverlap(mine.region, other.region))
          return true;
    return false;
  }

  void commit() {
    if (uncommitted)
      commitAfter(uncommitted);
    uncommitted = nullptr;
  }

  void close() {
    open.clear();
    accesses.clear();
  }

  void complete(Operation *before) {
    commit();
    OpBuilder builder(before);
    wait(builder, open.back().getLoc(), 0);
    close();
  }

  Block &block;
  SmallVector<CopyAsyncOp> open;
  Operation *uncommitted = nullptr;
  /// Of the open copies.
  SmallVector<BufferAccess> accesses;
};
} // namespace

LogicalResult mlir::tile::insertCpAsyncGroups(KernelOp kernel) {
  llvm::SetVector<Block *> blocks;
  kernel.walk([&](CopyAsyncOp copy) {
    // Those of a producer role, and by TMA, complete on barriers.
    if (!isInIssuePart(copy) && !copy->hasAttr(kProduceName) &&
        !isTmaCopy(copy))
      blocks.insert(copy->getBlock());
  });
  SmallVector<std::pair<scf::ForOp, int64_t>> pipelines;
  kernel.walk([&](scf::ForOp loop) {
    if (PipelineAttr attr = getPipeline(loop, PipelineRole::Steady))
      pipelines.emplace_back(loop, attr.getAhead());
  });
  for (Block *block : blocks)
    GroupBuilder(*block).run();
  for (auto &[loop, ahead] : pipelines)
    if (failed(completePipeline(loop, ahead)))
      return failure();
  return success();
}
