//===- CanonicalizeKernel.cpp - tile-canonicalize-kernel --------*- C++ -*-===//
//
// Normal form of traced kernels: allocations at the top with their annotated
// layouts, static loop extents, explicit indices in parallel loops, constants
// folded, nothing dead.
//
//===----------------------------------------------------------------------===//
#include "DynamicExtents.h"
#include "ParallelViews.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILECANONICALIZEKERNEL
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Longest loop over elements of a fragment that is unrolled.
static constexpr int64_t kMaxUnrolledTrips = 256;

static void hoistAllocations(KernelOp kernel) {
  SmallVector<AllocOp> allocs;
  kernel.walk([&](AllocOp alloc) { allocs.push_back(alloc); });
  Block *top = kernel.getBodyBlock();
  Operation *last = nullptr;
  for (AllocOp alloc : allocs) {
    if (last)
      alloc->moveAfter(last);
    else
      alloc->moveBefore(top, top->begin());
    last = alloc;
  }
}

/// Views whose operands are available outside of a parallel loop leave it.
static void hoistViews(KernelOp kernel) {
  kernel.walk([](ParallelOp loop) {
    SmallVector<Operation *> views;
    loop.walk([&](Operation *op) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(op))
        views.push_back(op);
    });
    for (Operation *view : views)
      if (llvm::all_of(view->getOperands(), [&](Value operand) {
            return !loop.getBody().isAncestor(operand.getParentRegion()) ||
                   (operand.getDefiningOp() &&
                    matchPattern(operand, m_Constant()));
          })) {
        for (Value operand : view->getOperands())
          if (loop.getBody().isAncestor(operand.getParentRegion()))
            operand.getDefiningOp()->moveBefore(loop);
        view->moveBefore(loop);
      }
  });
}

static LogicalResult consumeAnnotations(KernelOp kernel) {
  SmallVector<AnnotateLayoutOp> annotations;
  kernel.walk(
      [&](AnnotateLayoutOp annotation) { annotations.push_back(annotation); });
  llvm::DenseMap<Operation *, AnnotateLayoutOp> pinned;
  for (AnnotateLayoutOp annotation : annotations) {
    Value buffer = annotation.getBuffer();
    auto alloc = buffer.getDefiningOp<AllocOp>();
    if (!alloc)
      return annotation.emitError("the layout of a view of ")
             << getUserName(buffer)
             << " cannot be annotated; annotate the buffer itself";
    BufferType type = alloc.getType();
    if (type.getLayout() && type.getLayout() != annotation.getLayout()) {
      InFlightDiagnostic error =
          annotation.emitError("buffer ")
          << getUserName(buffer)
          << " has two different layouts: " << annotation.getLayout();
      Location other = alloc.getLoc();
      if (AnnotateLayoutOp first = pinned.lookup(alloc))
        other = first.getLoc();
      error.attachNote(other) << "the other one is " << type.getLayout();
      return failure();
    }
    if (auto fragment = dyn_cast<FragmentLayoutAttr>(annotation.getLayout()))
      if (fragment.getNumThreads() != static_cast<int64_t>(kernel.getThreads()))
        return annotation.emitError("the layout of ")
               << getUserName(buffer) << " is over " << fragment.getNumThreads()
               << " threads, the kernel has " << kernel.getThreads();
    alloc.getResult().setType(type.withLayout(annotation.getLayout()));
    pinned.try_emplace(alloc, annotation);
  }
  for (AnnotateLayoutOp annotation : annotations)
    annotation.erase();
  return success();
}

/// Collects the operations that touch a handle or views of it; false if one of
/// them can read it.
static bool onlyWritten(Value handle, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : handle.getUsers()) {
    users.push_back(user);
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(user)) {
      if (!onlyWritten(user->getResult(0), users))
        return false;
      continue;
    }
    bool writes = isa<FillOp>(user);
    if (auto copy = dyn_cast<CopyOp>(user))
      writes = copy.getSource() != handle;
    if (isa<StoreOp>(user))
      writes = true;
    if (!writes)
      return false;
  }
  return true;
}

static void removeDeadBuffers(KernelOp kernel) {
  SmallVector<AllocOp> allocs;
  kernel.walk([&](AllocOp alloc) { allocs.push_back(alloc); });
  bool changed = true;
  while (changed) {
    changed = false;
    for (AllocOp &alloc : allocs) {
      SmallVector<Operation *> users;
      if (!alloc || !onlyWritten(alloc.getResult(), users))
        continue;
      for (Operation *user : llvm::reverse(users))
        user->erase();
      alloc.erase();
      alloc = {};
      changed = true;
    }
  }
}

static bool dependsOn(Value value, Value variable, Region &within) {
  if (value == variable)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !within.isAncestor(op->getParentRegion()))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return dependsOn(operand, variable, within);
  });
}

/// Does the loop variable choose elements of a fragment? Registers have no
/// dynamic index.
static bool indexesFragment(scf::ForOp loop) {
  auto selects = [&](Value buffer, OperandRange indices) {
    auto type = dyn_cast<BufferType>(buffer.getType());
    return type && type.isFragment() && llvm::any_of(indices, [&](Value index) {
             return dependsOn(index, loop.getInductionVar(), loop.getRegion());
           });
  };
  WalkResult result = loop.walk([&](Operation *op) {
    bool found = false;
    if (auto load = dyn_cast<LoadOp>(op))
      found = selects(load.getSource(), load.getIndices());
    else if (auto store = dyn_cast<StoreOp>(op))
      found = selects(store.getDest(), store.getIndices());
    else if (auto view = dyn_cast<SubviewOp>(op))
      found = selects(view.getSource(), view.getOffsets());
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Replaces the loop by one copy of its body per iteration. (The helper of MLIR
/// is out of reach: its header declares a function called mlir::tile.)
static void unrollFully(scf::ForOp loop, int64_t trips) {
  OpBuilder builder(loop);
  SmallVector<Value> carried(loop.getInitArgs());
  APInt lower, step;
  matchPattern(loop.getLowerBound(), m_ConstantInt(&lower));
  matchPattern(loop.getStep(), m_ConstantInt(&step));
  for (int64_t trip = 0; trip < trips; ++trip) {
    IRMapping mapping;
    Type type = loop.getInductionVar().getType();
    mapping.map(
        loop.getInductionVar(),
        arith::ConstantOp::create(
            builder, loop.getLoc(),
            builder.getIntegerAttr(type, lower.getSExtValue() +
                                             trip * step.getSExtValue())));
    mapping.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator())
      builder.clone(op, mapping);
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [index, value] : llvm::enumerate(yield.getOperands()))
      carried[index] = mapping.lookupOrDefault(value);
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

static void unrollFragmentLoops(KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  // Innermost first, as the walk visits them.
  for (scf::ForOp loop : loops) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (trips && trips->sle(kMaxUnrolledTrips) && indexesFragment(loop))
      unrollFully(loop, trips->getSExtValue());
  }
}

namespace {
struct CanonicalizeKernel
    : tile::impl::TileCanonicalizeKernelBase<CanonicalizeKernel> {
  void runOnOperation() override {
    Operation *root = getOperation();
    if (failed(simplify(root)))
      return signalPassFailure();
    bool ok = true;
    root->walk([&](KernelOp kernel) {
      hoistAllocations(kernel);
      hoistViews(kernel);
      foldParallelViews(kernel);
      ok &= succeeded(consumeAnnotations(kernel));
    });
    if (!ok)
      return signalPassFailure();
    root->walk([&](KernelOp kernel) {
      unrollFragmentLoops(kernel);
      makeExtentsStatic(kernel);
      removeDeadBuffers(kernel);
    });
    if (failed(simplify(root)))
      return signalPassFailure();
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  /// Folds constants, merges equal expressions, removes dead code.
  LogicalResult simplify(Operation *root) {
    OpPassManager pipeline(root->getName());
    pipeline.addPass(createCanonicalizerPass());
    pipeline.addPass(createCSEPass());
    return runPipeline(pipeline, root);
  }
};
} // namespace
