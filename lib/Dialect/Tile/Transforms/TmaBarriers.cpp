//===- TmaBarriers.cpp - barriers of copies by TMA --------------*- C++ -*-===//
//
// Outside of rings between roles. Every barrier takes one arrival per phase, of
// the thread that starts the copies and expects their bytes; all threads wait.
// Which phase to wait for is in a local variable, so that code may run any
// number of times.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

//===----------------------------------------------------------------------===//
// Barriers and variables
//===----------------------------------------------------------------------===//

/// Where code of the kernel begins: behind allocations, constants and the
/// initialisation of barriers.
static Operation *getCodeBegin(KernelOp kernel) {
  for (Operation &op : *kernel.getBodyBlock())
    if (!isa<AllocOp, BarrierInitOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return &op;
  return &kernel.getBodyBlock()->back();
}

/// Whether `op` is the barrier behind the initialisation of barriers.
static bool closesInitialisation(Operation *op) {
  return isa<SyncThreadsOp>(op) && op->getPrevNode() &&
         isa<BarrierInitOp>(op->getPrevNode());
}

AllocOp mlir::tile::createBarriers(OpBuilder &builder, Location loc,
                                   StringRef name, int64_t slots,
                                   int64_t arrivals) {
  auto type = BufferType::get({slots}, BarrierType::get(builder.getContext()),
                              MemorySpace::Shared);
  auto alloc = AllocOp::create(builder, loc, type, builder.getStringAttr(name));
  BarrierInitOp::create(builder, loc, alloc, arrivals);
  return alloc;
}

AllocOp mlir::tile::createBarriers(KernelOp kernel, StringRef name,
                                   int64_t slots, int64_t arrivals) {
  Operation *begin = getCodeBegin(kernel);
  OpBuilder builder(begin);
  AllocOp alloc =
      createBarriers(builder, kernel.getLoc(), name, slots, arrivals);
  if (!closesInitialisation(begin))
    SyncThreadsOp::create(builder, kernel.getLoc(), IntegerAttr(),
                          IntegerAttr());
  return alloc;
}

AllocOp mlir::tile::createVariable(KernelOp kernel, StringRef name,
                                   int64_t initial) {
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBodyBlock());
  auto type = BufferType::get({1}, builder.getI32Type(), MemorySpace::Local);
  auto alloc = AllocOp::create(builder, kernel.getLoc(), type,
                               builder.getStringAttr(name));
  Location loc = kernel.getLoc();
  Value value = makeIndex(builder, loc, initial);
  Value zero = makeIndex(builder, loc, 0);
  Operation *begin = getCodeBegin(kernel);
  builder.setInsertionPoint(begin);
  if (closesInitialisation(begin))
    builder.setInsertionPointAfter(begin);
  StoreOp::create(builder, loc, value, alloc.getResult(), zero, BoundsAttr());
  return alloc;
}

static Value loadVariable(OpBuilder &builder, Location loc, AllocOp variable) {
  return LoadOp::create(builder, loc, builder.getI32Type(),
                        variable.getResult(), makeIndex(builder, loc, 0),
                        TypedAttr(), BoundsAttr());
}

static void storeVariable(OpBuilder &builder, Location loc, AllocOp variable,
                          Value value) {
  StoreOp::create(builder, loc, value, variable.getResult(),
                  makeIndex(builder, loc, 0), BoundsAttr());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static bool isTmaLoad(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && isTmaCopy(copy) && isa<MemRefType>(copy.getSource().getType());
}

FailureOr<int64_t> mlir::tile::getTmaBytes(CopyOp copy) {
  layout::Result<TmaPlan> plan = planTma(copy);
  if (plan)
    return plan->getBytes();
  return copy.emitError("copy: TMA was chosen, but cannot do it: ")
         << plan.error();
}

static void arrive(OpBuilder &builder, Location loc, Value barrier, Value index,
                   int64_t bytes) {
  BarrierArriveOp::create(builder, loc, barrier, index, ArrivalScope::Single,
                          bytes ? builder.getI64IntegerAttr(bytes)
                                : IntegerAttr(),
                          /*cp_async=*/false);
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static bool holdsTmaLoad(Operation *op) {
  return op
      ->walk([](CopyOp copy) {
        return isTmaLoad(copy) ? WalkResult::interrupt()
                               : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Makes the loads of an issue part arrive on `full[slot]`. With `last`, the
/// part is the last of its step and arrives.
static LogicalResult completeIssuePart(scf::IfOp part, AllocOp full, Value slot,
                                       bool last) {
  Block *body = part.thenBlock();
  // Loads that follow each other in a block expect their bytes together.
  llvm::MapVector<Block *, SmallVector<CopyOp>> loads;
  part.walk([&](CopyOp copy) {
    if (isTmaLoad(copy))
      loads[copy->getBlock()].push_back(copy);
  });
  bool arrived = false;
  for (auto &[block, copies] : loads) {
    int64_t bytes = 0;
    for (CopyOp copy : copies) {
      FailureOr<int64_t> more = getTmaBytes(copy);
      if (failed(more))
        return failure();
      bytes += *more;
    }
    OpBuilder builder(copies.front());
    Location loc = copies.front().getLoc();
    // Copies under a condition of their own must be expected before the one
    // arrival, which is unconditional.
    if (block == body && last && loads.size() == 1) {
      arrive(builder, loc, full, slot, bytes);
      arrived = true;
    } else {
      BarrierExpectTxOp::create(builder, loc, full, slot, bytes);
    }
    for (CopyOp copy : copies)
      makeAsynchronous(copy, full, slot);
  }
  if (last && !arrived) {
    OpBuilder builder(body->getTerminator());
    arrive(builder, part.getLoc(), full, slot, 0);
  }
  return success();
}

/// A pipeline: barriers for each slot; the parities to wait for next are the
/// bits of a variable, because the last run of the loop may have ended anywhere
/// in the ring.
static LogicalResult completePipeline(KernelOp kernel, scf::ForOp steady,
                                      PipelineAttr pipeline) {
  SmallVector<scf::IfOp> parts, prologue;
  for (Operation &op : *steady.getBody())
    if (getPipeline(&op, PipelineRole::Issue) && holdsTmaLoad(&op))
      parts.push_back(cast<scf::IfOp>(op));
  if (parts.empty())
    return success();
  for (Operation *op = steady->getPrevNode();
       op && static_cast<int64_t>(prologue.size()) < pipeline.getAhead();
       op = op->getPrevNode())
    if (getPipeline(op, PipelineRole::Issue))
      prologue.push_back(cast<scf::IfOp>(op));
  if (static_cast<int64_t>(prologue.size()) != pipeline.getAhead())
    return steady.emitError("is a pipeline that runs ")
           << pipeline.getAhead() << " iterations ahead, but has "
           << prologue.size() << " issue parts before it";

  AllocOp full = createBarriers(kernel, "full", pipeline.getSlots(), 1);
  AllocOp phases = createVariable(kernel, "phases", 0);
  OpBuilder builder(steady);
  Location loc = steady.getLoc();
  for (auto [index, part] : llvm::enumerate(llvm::reverse(prologue)))
    if (failed(completeIssuePart(part, full, makeIndex(builder, loc, index),
                                 /*last=*/true)))
      return failure();
  for (scf::IfOp part : parts)
    if (failed(completeIssuePart(part, full, steady.getRegionIterArgs()[1],
                                 part == parts.back())))
      return failure();

  builder.setInsertionPointToStart(steady.getBody());
  Value slot = steady.getRegionIterArgs()[0];
  Value current = loadVariable(builder, loc, phases);
  Value one = makeIndex(builder, loc, 1);
  Value parity = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, current, slot), one);
  BarrierWaitOp::create(builder, loc, full, slot, parity);
  Value bit = arith::ShLIOp::create(builder, loc, one, slot);
  storeVariable(builder, loc, phases,
                arith::XOrIOp::create(builder, loc, current, bit));
  return success();
}

//===----------------------------------------------------------------------===//
// Other loads
//===----------------------------------------------------------------------===//

namespace {
/// Loads of a block that follow each other share a phase of one barrier, which
/// is waited for before the first operation that touches what they write.
class LoadGroups {
public:
  LoadGroups(KernelOp kernel, Block &block) : kernel(kernel), block(block) {
    for (Operation *parent = block.getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      inLoop |= isa<LoopLikeOpInterface, scf::WhileOp>(parent);
  }

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!open.empty() && touches(&op) && failed(complete(&op)))
        return failure();
      if (!isTmaLoad(&op))
        continue;
      auto copy = cast<CopyOp>(op);
      open.push_back(copy);
      collectAccesses(copy, accesses);
    }
    if (open.empty())
      return success();
    // Nothing in the block uses the data: wait for it at the end.
    return complete(block.mightHaveTerminator() ? block.getTerminator()
                                                : nullptr);
  }

private:
  bool touches(Operation *op) {
    if (releasesOthers(kernel, op))
      return true;
    SmallVector<BufferAccess> others;
    collectNestedAccesses(op, others);
    for (const BufferAccess &mine : accesses)
      for (const BufferAccess &other : others)
        if (mine.root == other.root && mine.isWrite &&
            mayOverlap(mine.region, other.region))
          return true;
    return op->hasTrait<OpTrait::IsTerminator>();
  }

  /// Waits before `end`, or at the end of the block.
  LogicalResult complete(Operation *end) {
    int64_t bytes = 0;
    std::string name = "loaded";
    for (CopyOp copy : open) {
      FailureOr<int64_t> more = getTmaBytes(copy);
      if (failed(more))
        return failure();
      bytes += *more;
      name += "_" + getUserName(copy.getDest());
    }
    // Where the program orders its threads itself, nothing else may keep a warp
    // from coming late to its wait, when the phase behind is complete too: each
    // has to say that it is there.
    bool everyWarp = inLoop && kernel->hasAttr("tile.explicit");
    RoleAttr role = getRole(open.front());
    int64_t warps =
        role ? role.getWarps() : (kernel.getLaunchThreads() + 31) / 32;
    AllocOp barrier = createBarriers(kernel, name, 1, everyWarp ? warps : 1);
    OpBuilder builder(open.front());
    Location loc = open.front().getLoc();
    Value zero = makeIndex(builder, loc, 0);
    if (everyWarp) {
      BarrierExpectTxOp::create(builder, loc, barrier, zero, bytes);
      BarrierArriveOp::create(builder, loc, barrier, zero, ArrivalScope::Warp,
                              IntegerAttr(), /*cp_async=*/false);
    } else {
      arrive(builder, loc, barrier, zero, bytes);
    }
    for (CopyOp copy : open)
      makeAsynchronous(copy, barrier, zero);
    if (end)
      builder.setInsertionPoint(end);
    else
      builder.setInsertionPointToEnd(&block);
    if (!inLoop) {
      BarrierWaitOp::create(builder, loc, barrier, zero, zero);
    } else {
      AllocOp phase = createVariable(kernel, "phase", 0);
      Value parity = loadVariable(builder, loc, phase);
      BarrierWaitOp::create(builder, loc, barrier, zero, parity);
      storeVariable(builder, loc, phase,
                    arith::XOrIOp::create(builder, loc, parity,
                                          makeIndex(builder, loc, 1)));
    }
    open.clear();
    accesses.clear();
    return success();
  }

  KernelOp kernel;
  Block &block;
  bool inLoop = false;
  SmallVector<CopyOp> open;
  /// Of the open loads.
  SmallVector<BufferAccess> accesses;
};
} // namespace

LogicalResult mlir::tile::insertTmaBarriers(KernelOp kernel) {
  SmallVector<std::pair<scf::ForOp, PipelineAttr>> pipelines;
  kernel.walk([&](scf::ForOp loop) {
    if (PipelineAttr attr = getPipeline(loop, PipelineRole::Steady))
      pipelines.emplace_back(loop, attr);
  });
  for (auto &[loop, attr] : pipelines)
    if (failed(completePipeline(kernel, loop, attr)))
      return failure();
  SmallVector<CopyOp> stores;
  llvm::SetVector<Block *> blocks;
  kernel.walk([&](CopyOp copy) {
    if (isTmaLoad(copy))
      blocks.insert(copy->getBlock());
    else if (isTmaCopy(copy))
      stores.push_back(copy);
  });
  SmallVector<CopyAsyncOp> started;
  for (CopyOp store : stores)
    started.push_back(makeAsynchronous(store));
  storeByWarps(kernel, started);
  for (Block *block : blocks)
    if (failed(LoadGroups(kernel, *block).run()))
      return failure();
  return success();
}
