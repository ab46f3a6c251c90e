//===- Uniformity.cpp - Which values agree over the threads -----*- C++ -*-===//
//
// Divergence spreads from its sources (thread ids, fragments, atomics) through
// operands, local buffers and control flow, until nothing changes.
//
//===----------------------------------------------------------------------===//
#include "Uniformity.h"

#include "tilemlir/Dialect/Tile/IR/Collective.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

Uniformity::Uniformity(KernelOp kernel) {
  bool changed = true;
  while (changed) {
    changed = false;
    kernel.walk([&](Operation *op) { changed |= update(op); });
  }
}

Value Uniformity::getDivergentOperand(Operation *branch) const {
  if (auto loop = dyn_cast<scf::ForOp>(branch)) {
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (!isUniform(bound))
        return bound;
    return {};
  }
  if (auto branchIf = dyn_cast<scf::IfOp>(branch))
    return isUniform(branchIf.getCondition()) ? Value()
                                              : branchIf.getCondition();
  if (auto select = dyn_cast<scf::IndexSwitchOp>(branch))
    return isUniform(select.getArg()) ? Value() : select.getArg();
  if (auto loop = dyn_cast<scf::WhileOp>(branch)) {
    Value condition = loop.getConditionOp().getCondition();
    return isUniform(condition) ? Value() : condition;
  }
  if (auto loop = dyn_cast<PipelinedOp>(branch)) {
    for (Value bound : {loop.getLower(), loop.getUpper()})
      if (!isUniform(bound))
        return bound;
    return {};
  }
  if (auto loop = dyn_cast<ParallelOp>(branch))
    for (Value extent : loop.getExtents())
      if (!isUniform(extent))
        return extent;
  return {};
}

Operation *Uniformity::getDivergentBranch(Operation *op) const {
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    if (getDivergentOperand(parent))
      return parent;
  return nullptr;
}

bool Uniformity::update(Operation *op) {
  bool changed = false;
  auto markResults = [&] {
    for (Value result : op->getResults())
      changed |= markDivergent(result);
  };
  // Iterations of a parallel loop run in different threads.
  if (auto loop = dyn_cast<ParallelOp>(op)) {
    for (BlockArgument argument : loop.getBody().getArguments())
      changed |= markDivergent(argument);
    return changed;
  }
  // All threads get what one of them has.
  if (isa<ShareTileOp>(op))
    return changed;
  if (isa<ThreadIdOp, AtomicOp, ElectOp, PtxOp, FetchTileOp>(op)) {
    markResults();
    return changed;
  }
  if (auto load = dyn_cast<LoadOp>(op)) {
    bool divergentIndex = llvm::any_of(
        load.getIndices(), [&](Value index) { return !isUniform(index); });
    // A fragment or shared buffer read at uniform indices is the same element
    // for all threads.
    if (divergentIndex || !isUniform(load.getSource()) ||
        !holdsUniformContents(load.getSource()))
      markResults();
    return changed;
  }
  if (Value dest = getWrittenBuffer(op)) {
    // Fragments and shared buffers exist once per block.
    if (!cast<BufferType>(dest.getType()).isLocal())
      return changed;
    bool differs =
        op->getParentOfType<ParallelOp>() || getDivergentBranch(op) ||
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return !isUniform(operand) || !holdsUniformContents(operand);
        });
    if (AllocOp alloc = getAllocation(dest); differs && alloc)
      changed |= divergentBuffers.insert(alloc).second;
    return changed;
  }
  if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    // Values that leave a branch which threads take differently differ, as do
    // those of a loop that threads leave at different times.
    Operation *parent = op->getParentOp();
    bool differs = getDivergentOperand(parent) != nullptr;
    for (auto [index, operand] : llvm::enumerate(yield.getOperands())) {
      if (!differs && isUniform(operand))
        continue;
      if (index < parent->getNumResults() && !isa<scf::WhileOp>(parent))
        changed |= markDivergent(parent->getResult(index));
      if (auto loop = dyn_cast<scf::ForOp>(parent))
        changed |= markDivergent(loop.getRegionIterArg(index));
      if (auto loop = dyn_cast<scf::WhileOp>(parent))
        changed |= markDivergent(loop.getBeforeArguments()[index]);
    }
    return changed;
  }
  if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    auto loop = cast<scf::WhileOp>(op->getParentOp());
    bool differs = !isUniform(condition.getCondition());
    for (auto [index, operand] : llvm::enumerate(condition.getArgs()))
      if (differs || !isUniform(operand)) {
        changed |= markDivergent(loop.getResult(index));
        changed |= markDivergent(loop.getAfterArguments()[index]);
      }
    return changed;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (getDivergentOperand(op))
      changed |= markDivergent(loop.getInductionVar());
    for (auto [argument, init, result] : llvm::zip(
             loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults()))
      if (!isUniform(init)) {
        changed |= markDivergent(argument);
        changed |= markDivergent(result);
      }
    return changed;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [argument, init] :
         llvm::zip(loop.getBeforeArguments(), loop.getInits()))
      if (!isUniform(init))
        changed |= markDivergent(argument);
    return changed;
  }
  if (auto loop = dyn_cast<PipelinedOp>(op)) {
    if (getDivergentOperand(op))
      changed |= markDivergent(loop.getInductionVar());
    return changed;
  }
  if (op->getNumRegions() > 0)
    return changed;
  if (llvm::any_of(op->getOperands(),
                   [&](Value operand) { return !isUniform(operand); }))
    markResults();
  return changed;
}
