//===- ThreadAnalysis.cpp - which values differ between threads -*- C++ -*-===//
//
// A forward propagation from thread ids, loads and atomics to a fixed point.
//
//===----------------------------------------------------------------------===//
#include "ThreadAnalysis.h"

#include "tilemlir/Dialect/Tile/IR/Collective.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

ThreadAnalysis::ThreadAnalysis(KernelOp kernel) {
  bool dependent = false;
  kernel.walk([&](Operation *op) {
    // Iterations of a parallel loop belong to no particular thread.
    if (op->getParentOfType<ParallelOp>())
      return;
    dependent |= isa<ThreadIdOp, AtomicOp>(op);
    if (isCollective(op))
      for (Operation *holder = op; holder != kernel;
           holder = holder->getParentOp())
        collectiveHolders.insert(holder);
  });
  if (!dependent)
    return;
  numThreads = kernel.getThreads();
  if (numThreads > 1)
    propagate(kernel);
}

bool ThreadAnalysis::markResults(Operation *op) {
  bool changed = false;
  for (Value result : op->getResults())
    if (!isa<BufferType>(result.getType()))
      changed |= mark(result);
  return changed;
}

bool ThreadAnalysis::isUniform(Operation *op) const {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !isa<ThreadIdOp>(op) &&
         llvm::none_of(op->getOperands(),
                       [&](Value value) { return isVarying(value); });
}

bool ThreadAnalysis::visit(Operation *op) {
  bool changed = false;
  auto join = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      if (isVarying(source))
        changed |= mark(target);
  };
  if (op->getNumRegions() == 0) {
    if (!isUniform(op))
      changed |= markResults(op);
    return changed;
  }
  // What no collective splits runs as a whole in each thread.
  if (!holdsCollective(op))
    return markResults(op);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (isVarying(branch.getCondition()))
      changed |= markResults(op);
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!region->empty())
        join(region->front().getTerminator()->getOperands(), op->getResults());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    ValueRange yielded = loop.getBody()->getTerminator()->getOperands();
    join(loop.getInitArgs(), loop.getRegionIterArgs());
    join(yielded, loop.getRegionIterArgs());
    join(loop.getRegionIterArgs(), loop.getResults());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    join(loop.getInits(), loop.getBeforeArguments());
    join(loop.getYieldOp().getOperands(), loop.getBeforeArguments());
    join(loop.getConditionOp().getArgs(), loop.getAfterArguments());
    join(loop.getConditionOp().getArgs(), loop.getResults());
  }
  return changed;
}

void ThreadAnalysis::propagate(KernelOp kernel) {
  bool changed = true;
  while (changed) {
    changed = false;
    kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      changed |= visit(op);
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
  }
}
