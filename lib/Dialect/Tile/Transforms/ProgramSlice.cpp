//===- ProgramSlice.cpp - the part of a program that others need *- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/ProgramSlice.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

ProgramSlice::ProgramSlice(Region &scope, ArrayRef<Operation *> roots)
    : scope(scope) {
  for (Operation *root : roots)
    keep(root);
  // Variables bring in their writers, which may need further variables.
  for (size_t index = 0; index < variables.size(); ++index)
    for (Operation *user : getHandleUsers(variables[index]))
      if (scope.isAncestor(user->getParentRegion()) &&
          isa<StoreOp, FillOp>(user))
        keep(user);
}

void ProgramSlice::keep(Operation *op) {
  if (!kept.insert(op).second)
    return;
  needOperands(op);
  for (Operation *parent = op->getParentOp(); parent != scope.getParentOp();
       parent = parent->getParentOp()) {
    for (Value operand : parent->getOperands())
      need(operand);
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      need(loop.getConditionOp().getCondition());
  }
}

void ProgramSlice::needOperands(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      need(operand);
    if (auto load = dyn_cast<LoadOp>(inner))
      readVariable(load);
  });
}

void ProgramSlice::readVariable(LoadOp load) {
  Value root = getStorageRoot(load.getSource());
  auto type = dyn_cast<BufferType>(root.getType());
  if (type && type.isLocal())
    variables.insert(root);
}

void ProgramSlice::need(Value value) {
  if (!scope.isAncestor(value.getParentRegion()) || !seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto inner = dyn_cast<scf::ForOp>(parent)) {
      for (Value operand : inner->getOperands())
        need(operand);
      for (Value yielded : inner.getYieldedValues())
        need(yielded);
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<scf::IfOp, scf::ForOp>(op))
    return needOperands(op);
  // Only what this result depends on, not all that happens inside.
  unsigned number = cast<OpResult>(value).getResultNumber();
  for (Value operand : op->getOperands())
    need(operand);
  for (Region &region : op->getRegions())
    need(region.front().getTerminator()->getOperand(number));
}

void mlir::tile::pruneTo(Block &block, function_ref<bool(Operation *)> isKept) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isKept(&op))
      continue;
    if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          pruneTo(inner, isKept);
    bool holdsKept = false;
    for (Region &region : op.getRegions())
      region.walk([&](Operation *inner) { holdsKept |= isKept(inner); });
    if (!holdsKept && op.use_empty())
      op.erase();
  }
}

void mlir::tile::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    for (Region &region : op.getRegions())
      if (!isa<ParallelOp>(op))
        for (Block &inner : region)
          eraseDead(inner);
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}
