//===- TileToTileGPU.cpp - the pass tile-to-tile-gpu ------------*- C++ -*-===//
//
// Walks a kernel in program order and replaces each operation of `tile` by
// what the executing thread does. Structure (scf) stays.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Conversion/Passes.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

// mlir/Dialect/SCF/Utils/Utils.h declares a function `mlir::tile`, which the
// namespace of our dialect excludes; this is the one declaration needed of it.
namespace mlir {
LogicalResult loopUnrollFull(scf::ForOp forOp);
} // namespace mlir

namespace tilemlir {
#define GEN_PASS_DEF_TILETOTILEGPU
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Loops of more iterations are not unrolled to make indices constant.
static constexpr int64_t kMaxUnrolledIterations = 1024;

KernelLowering::KernelLowering(tile::KernelOp kernel)
    : kernel(kernel), threads(kernel.getThreads()), ix(kernel.getContext()),
      b(ix.builder()) {
  tile::OptionsAttr options = tile::OptionsAttr::of(kernel);
  assumedAlignment = options.getInteger("alignment", 16);
  if (tile::TargetAttr target = tile::getTarget(kernel))
    capability = target.getComputeCapability();
  beginsEarly =
      kernel
          .walk([](tile::DependencyWaitOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
}

/// Does the loop index a fragment or a local buffer by its variable?
static bool indexesRegisters(scf::ForOp loop) {
  SmallVector<Value> worklist{loop.getInductionVar()};
  llvm::SmallPtrSet<Value, 16> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (Operation *user : value.getUsers()) {
      auto inRegisters = [](Value storage) {
        auto type = dyn_cast<tile::BufferType>(storage.getType());
        return type && type.isFragment();
      };
      bool indexes =
          llvm::TypeSwitch<Operation *, bool>(user)
              .Case<tile::LoadOp>(
                  [&](auto op) { return inRegisters(op.getSource()); })
              .Case<tile::StoreOp>([&](auto op) {
                // A variable that is only stored indexes nothing.
                return inRegisters(op.getDest()) &&
                       llvm::is_contained(op.getIndices(), value);
              })
              .Case<tile::SubviewOp>(
                  [&](auto op) { return inRegisters(op.getSource()); })
              .Case<tile::CopyOp>([&](tile::CopyOp op) {
                return (inRegisters(op.getSource()) &&
                        llvm::is_contained(op.getSourceOffsets(), value)) ||
                       (inRegisters(op.getDest()) &&
                        llvm::is_contained(op.getDestOffsets(), value));
              })
              .Default([](Operation *) { return false; });
      if (indexes)
        return true;
      if (user->getDialect() && user->getDialect()->getNamespace() == "arith")
        llvm::append_range(worklist, user->getResults());
    }
  }
  return false;
}

LogicalResult KernelLowering::unrollLoops() {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    auto hint = loop->getAttrOfType<tile::LoopHintAttr>("tile.loop_hint");
    bool asked = hint && hint.getKind() == tile::LoopKind::Unroll &&
                 hint.getFactor() == 0;
    if (asked || indexesRegisters(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    APInt lower, upper, step;
    if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
        !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
        !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
        !step.isStrictlyPositive())
      continue;
    int64_t span =
        std::max<int64_t>(0, upper.getSExtValue() - lower.getSExtValue());
    int64_t trips = (span + step.getSExtValue() - 1) / step.getSExtValue();
    if (trips > kMaxUnrolledIterations)
      continue;
    loop->removeAttr("tile.loop_hint");
    if (trips > 0 && failed(loopUnrollFull(loop)))
      return loop.emitOpError("could not be unrolled");
  }
  if (loops.empty())
    return success();
  // Constants in the unrolled bodies fold, so that indices are recognised.
  MLIRContext *context = kernel.getContext();
  RewritePatternSet patterns(context);
  for (RegisteredOperationName op :
       context->getRegisteredOperationsByDialect("arith"))
    op.getCanonicalizationPatterns(patterns, context);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // The driver wants an operation that is isolated from above; a kernel is not.
  Operation *isolated =
      kernel->getParentWithTrait<OpTrait::IsIsolatedFromAbove>();
  return applyPatternsGreedily(isolated, std::move(patterns), config);
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  ix.setLocation(op->getLoc());
  b.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::CopyOp>([&](auto copy) { return lowerCopy(copy, false); })
      .Case<tile::CopyAsyncOp>([&](tile::CopyAsyncOp copy) {
        return tile::isTmaCopy(copy) ? lowerTmaCopy(copy)
                                     : lowerCopy(copy, true);
      })
      .Case<tile::FillOp>([&](auto fill) { return lowerFill(fill); })
      .Case<tile::GemmOp>([&](auto gemm) { return lowerGemm(gemm); })
      .Case<tile::GemmAsyncOp>([&](auto gemm) { return lowerGemmAsync(gemm); })
      .Case<tile::MmaWaitOp>([&](auto wait) { return lowerMmaWait(wait); })
      .Case<tile::ReduceOp>([&](auto reduce) { return lowerReduce(reduce); })
      .Case<tile::ConvertOp>(
          [&](auto convert) { return lowerConvert(convert); })
      .Case<tile::ParallelOp>(
          [&](auto parallel) { return lowerParallel(parallel); })
      .Case<tile::LoadOp, tile::StoreOp, tile::AtomicOp>(
          [&](Operation *element) { return lowerElement(element); })
      .Case<tile::PrintOp>([&](auto print) { return lowerPrint(print); })
      .Case<tile::AssertOp>([&](tile::AssertOp check) {
        tile_gpu::AssertOp::create(b, ix.loc(), check.getCondition(),
                                   check.getMessage());
        return success();
      })
      .Case<tile::SyncThreadsOp>([&](tile::SyncThreadsOp sync) {
        if (!sync.getId() && !sync.getCount()) {
          meetThreads();
          return success();
        }
        tile_gpu::BarrierOp::create(b, ix.loc(), sync.getIdAttr(),
                                    sync.getCountAttr());
        return success();
      })
      .Case<tile::AsyncCommitOp>([&](auto) {
        tile_gpu::AsyncCommitOp::create(b, ix.loc());
        return success();
      })
      .Case<tile::AsyncWaitOp>([&](tile::AsyncWaitOp wait) {
        tile_gpu::AsyncWaitOp::create(b, ix.loc(), wait.getPending());
        return success();
      })
      .Case<tile::BulkCommitOp, tile::BulkWaitOp>(
          [&](Operation *bulk) { return lowerBulkOp(bulk); })
      .Case<tile::WarpSpecializeOp>(
          [&](auto roles) { return lowerRoles(roles); })
      .Case<tile::BarrierInitOp, tile::BarrierWaitOp, tile::BarrierArriveOp,
            tile::BarrierExpectTxOp, tile::FenceProxyOp,
            tile::SetMaxRegistersOp>(
          [&](Operation *barrier) { return lowerBarrierOp(barrier); })
      .Case<tile::PipelinedOp>([&](tile::PipelinedOp loop) -> LogicalResult {
        return loop.emitOpError(
            "must be a plain loop here; run tile-multibuffer");
      })
      .Default([&](Operation *other) { return lowerThreadOp(other); });
}

/// Whether the body only starts asynchronous copies, at indices that may be
/// computed in vain.
static bool startsCopiesOnly(scf::IfOp branch) {
  if (branch.getNumResults() || branch.elseBlock())
    return false;
  bool copies = false;
  for (Operation &op : branch.thenBlock()->without_terminator()) {
    if (isa<tile::CopyAsyncOp>(op) && !tile::isTmaCopy(&op))
      copies = true;
    else if (!isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(op) &&
             !isPure(&op))
      return false;
  }
  return copies;
}

/// A conditional prefetch becomes predicated instructions in the block around
/// it, which the scheduler can mix with the matrix operations there.
LogicalResult KernelLowering::flattenCopies(scf::IfOp branch) {
  SmallVector<Operation *> moved;
  for (Operation &op :
       llvm::make_early_inc_range(branch.thenBlock()->without_terminator())) {
    op.moveBefore(branch);
    moved.push_back(&op);
  }
  ambientPredicate = branch.getCondition();
  auto reset = llvm::make_scope_exit([&] { ambientPredicate = {}; });
  for (Operation *op : moved) {
    if (!isa<tile::CopyAsyncOp>(op))
      continue;
    if (failed(lowerOp(op)))
      return failure();
    op->erase();
  }
  branch.erase();
  return success();
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  ix.pushScope();
  auto pop = llvm::make_scope_exit([&] { ix.popScope(); });
  for (Operation *next = block.empty() ? nullptr : &block.front(); next;) {
    Operation &op = *next;
    SmallVector<Operation *> single = takeSingleThreaded(&op);
    if (!single.empty()) {
      next = single.back()->getNextNode();
      if (failed(lowerSingleThreaded(single)))
        return failure();
      continue;
    }
    next = op.getNextNode();
    // Handles are needed until their users are gone; promises about launch
    // values until the launch plan is made.
    if (isa<tile::AllocOp, tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp,
            tile::AssumeOp>(op))
      continue;
    if (op.getDialect() && op.getDialect()->getNamespace() == "tile") {
      if (failed(lowerOp(&op)))
        return failure();
      op.dropAllUses();
      op.erase();
      continue;
    }
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && startsCopiesOnly(branch)) {
      if (failed(flattenCopies(branch)))
        return failure();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(lowerBlock(inner)))
          return failure();
  }
  return success();
}

LogicalResult KernelLowering::run() {
  int64_t launchThreads = kernel.getLaunchThreads();
  if (failed(unrollLoops()))
    return failure();
  findLoopsNotRepeated();
  if (failed(classifyLocals()))
    return failure();
  Block &body = *kernel.getBodyBlock();
  OpBuilder entryBuilder = OpBuilder::atBlockBegin(&body);
  // A marker that is erased at the end: values for the whole kernel go before
  // it.
  entry = arith::ConstantOp::create(entryBuilder, kernel.getLoc(),
                                    entryBuilder.getI32IntegerAttr(0));

  if (failed(chooseUserBarriers()))
    return failure();
  replaceThreadIds(kernel.getBody(), /*countsFromRole=*/true);
  if (failed(lowerBlock(body)))
    return failure();
  entry->erase();
  prefetchTensorMaps();

  // Views, and allocations that are only addresses now.
  SmallVector<Operation *> handles;
  kernel.walk([&](Operation *op) {
    if (isa<tile::AllocOp, tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(
            op))
      handles.push_back(op);
  });
  for (Operation *handle : llvm::reverse(handles))
    if (handle->use_empty())
      handle->erase();
  // From here on the threads are those of the launch.
  if (launchThreads != static_cast<int64_t>(kernel.getThreads())) {
    kernel.setThreads(launchThreads);
    kernel.removeThreadShapeAttr();
  }
  return success();
}

namespace {
struct TileToTileGPU : tilemlir::impl::TileToTileGPUBase<TileToTileGPU> {
  void getDependentDialects(DialectRegistry &registry) const override {
    TileToTileGPUBase::getDependentDialects(registry);
    // Votes of warps.
    registry.insert<NVVM::NVVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::KernelOp> kernels;
    getOperation()->walk(
        [&](tile::KernelOp kernel) { kernels.push_back(kernel); });
    for (tile::KernelOp kernel : kernels)
      if (failed(KernelLowering(kernel).run()))
        return signalPassFailure();
  }
};
} // namespace
