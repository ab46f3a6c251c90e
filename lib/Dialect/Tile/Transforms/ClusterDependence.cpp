//===- ClusterDependence.cpp - what blocks of a cluster agree on ----------===//
//
// A block index is a multiple of the cluster's extent, the same in all blocks,
// plus the coordinate in the cluster. Sums and multiples of such values stay of
// this form, and divisions that the coordinate cannot influence give values
// that are the same again. Everything else that depends on the index differs.
//
//===----------------------------------------------------------------------===//
#include "ClusterDependence.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;

ClusterDependence::ClusterDependence(KernelOp kernel, int64_t axis,
                                     IntegerAnalysis &integers)
    : kernel(kernel), axis(axis), extent(ClusterShape(kernel).extents[axis]),
      integers(integers) {
  SmallVector<BufferAccess> accesses;
  collectNestedAccesses(kernel, accesses);
  for (const BufferAccess &access : accesses)
    if (access.isWrite && isa<MemRefType>(access.root.getType()))
      writtenTensors.insert(access.root);
  // What is found to differ makes more differ.
  while (findDifferingStorage())
    forms.clear();
}

ClusterDependence::Form ClusterDependence::strided(int64_t stride,
                                                   int64_t multiple) {
  if (stride == 0)
    return {};
  return {Kind::Strided, stride, multiple};
}

/// Control flow whose bounds or condition may differ.
bool ClusterDependence::branches(Operation *op) {
  auto differ = [&](ValueRange values) {
    return llvm::any_of(values, [&](Value value) { return !isShared(value); });
  };
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return differ({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return differ(branch.getCondition());
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return differ(loop.getConditionOp().getCondition());
  if (auto loop = dyn_cast<PipelinedOp>(op))
    return differ({loop.getLower(), loop.getUpper()});
  if (isa<ParallelOp, WarpSpecializeOp>(op))
    return false;
  return op->getNumRegions() > 0;
}

Operation *ClusterDependence::getDifferingBranch(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent && parent != kernel;
       parent = parent->getParentOp())
    if (branches(parent))
      return parent;
  return nullptr;
}

/// One round over the kernel; true if something new was found.
bool ClusterDependence::findDifferingStorage() {
  bool changed = false;
  auto markValue = [&](Value value) {
    changed |= differentValues.insert(value).second;
  };
  kernel.walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      bool differs = branches(op);
      if (differs)
        markValue(loop.getInductionVar());
      for (auto [argument, init, next, result] :
           llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                     loop.getYieldedValues(), loop.getResults()))
        if (differs || !isShared(init) || !isShared(next)) {
          markValue(argument);
          markValue(result);
        }
      return;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      bool differs = branches(op);
      for (auto [argument, init, next] :
           llvm::zip(loop.getBeforeArguments(), loop.getInits(),
                     loop.getYieldOp().getOperands()))
        if (differs || !isShared(init) || !isShared(next))
          markValue(argument);
      for (auto [argument, value, result] :
           llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs(),
                     loop.getResults()))
        if (differs || !isShared(value)) {
          markValue(argument);
          markValue(result);
        }
      return;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool differs = branches(op);
      for (auto [index, result] : llvm::enumerate(branch.getResults()))
        if (differs || !isShared(branch.thenYield().getOperand(index)) ||
            !isShared(branch.elseYield().getOperand(index)))
          markValue(result);
      return;
    }
    SmallVector<BufferAccess> accesses;
    collectAccesses(op, accesses);
    for (const BufferAccess &access : accesses) {
      auto alloc = access.root.getDefiningOp<AllocOp>();
      if (!access.isWrite || !alloc || !alloc.getType().isLocal())
        continue;
      // Values that are stored one by one can be followed.
      bool same =
          isa<StoreOp, FillOp>(op) && !getDifferingBranch(op) &&
          !op->getParentOfType<ParallelOp>() &&
          llvm::all_of(op->getOperands(), [&](Value operand) {
            return isa<BufferType>(operand.getType()) || isShared(operand);
          });
      if (!same)
        changed |= differentContents.insert(alloc).second;
    }
  });
  return changed;
}

ClusterDependence::Form ClusterDependence::evaluate(Value value) {
  auto found = forms.find(value);
  if (found != forms.end())
    return found->second;
  Form form = compute(value);
  forms[value] = form;
  return form;
}

ClusterDependence::Form ClusterDependence::compute(Value value) {
  const Form different = {Kind::Different, 0, 0};
  if (differentValues.contains(value))
    return different;
  if (!kernel.getBody().isAncestor(value.getParentRegion()))
    return {};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (owner == kernel)
      return argument.getArgNumber() == axis && extent > 1 ? strided(1, extent)
                                                           : Form();
    if (isa<scf::ForOp, scf::WhileOp>(owner))
      return {};
    if (isa<PipelinedOp>(owner))
      return branches(owner) ? different : Form();
    return different;
  }
  return computeOperation(value.getDefiningOp());
}

ClusterDependence::Form ClusterDependence::computeOperation(Operation *op) {
  const Form different = {Kind::Different, 0, 0};
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (!llvm::all_of(load.getIndices(),
                      [&](Value index) { return isShared(index); }))
      return different;
    Value root = getStorageRoot(load.getSource());
    if (isa<MemRefType>(root.getType()))
      return writtenTensors.contains(root) ? different : Form();
    auto alloc = root.getDefiningOp<AllocOp>();
    bool known = alloc && alloc.getType().isLocal() &&
                 !differentContents.contains(alloc);
    return known ? Form() : different;
  }
  // Marked when they are different.
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return {};
  if (isa<ThreadIdOp>(op))
    return {};
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return different;
  bool shared = true, known = true;
  SmallVector<Form> forms;
  for (Value operand : op->getOperands()) {
    forms.push_back(evaluate(operand));
    shared &= forms.back().kind == Kind::Shared;
    known &= forms.back().kind != Kind::Different;
  }
  if (shared)
    return {};
  if (!known)
    return different;

  // What divides the part of an operand that is the same in all blocks.
  auto multipleOf = [&](unsigned index) {
    return forms[index].kind == Kind::Strided
               ? forms[index].multiple
               : integers.getDivisor(op->getOperand(index));
  };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    int64_t sign = isa<arith::SubIOp>(op) ? -1 : 1;
    return strided(forms[0].stride + sign * forms[1].stride,
                   std::gcd(multipleOf(0), multipleOf(1)));
  }
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp,
          arith::IndexCastUIOp>(op))
    return forms[0];
  if (op->getNumOperands() != 2)
    return different;
  std::optional<int64_t> constant = getConstantIntValue(op->getOperand(1));
  if (isa<arith::MulIOp>(op)) {
    Form form = forms[0];
    if (!constant) {
      constant = getConstantIntValue(op->getOperand(0));
      form = forms[1];
    }
    if (!constant)
      return different;
    return strided(form.stride * *constant,
                   form.multiple * std::abs(*constant));
  }
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op);
  bool leavesRest = isa<arith::RemSIOp, arith::RemUIOp>(op);
  if (!constant || *constant <= 0 || !(divides || leavesRest) ||
      forms[0].stride < 0 || integers.getRange(op->getOperand(0)).lower < 0)
    return different;
  // The shared part is `common * n`: as long as the coordinate adds less than
  // `common`, it does not lead across a multiple of the divisor.
  int64_t common = std::gcd(forms[0].multiple, *constant);
  if (forms[0].stride * (extent - 1) >= common)
    return different;
  return divides ? Form() : strided(forms[0].stride, common);
}
