//===- SelectTf32.cpp - f32 products by wgmma -------------------*- C++ -*-===//
//
// wgmma ignores the low 13 bits of f32 operands, while a product on f32
// promises operands that are rounded to tf32. TMA can round: a tensor map whose
// elements are tf32 rounds f32 to the nearest tf32, ties to even, while it
// loads (measured on an H200). So a product runs on wgmma when TMA alone writes
// its operands, and nothing but such products reads them.
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Why `buffer` cannot hold rounded operands; empty if it can. `products` are
/// those that may run on wgmma.
static std::string
whyNotRounded(AllocOp buffer,
              const llvm::MapVector<Operation *, ChoiceAttr> &products) {
  std::string name = "'" + getUserName(buffer) + "'";
  for (Operation *user : getHandleUsers(buffer.getResult())) {
    if (products.contains(user))
      continue;
    auto copy = dyn_cast<CopyOp>(user);
    bool isLoad = copy && getAllocation(copy.getDest()) == buffer &&
                  isa<MemRefType>(copy.getSource().getType()) &&
                  isTmaCopy(copy);
    if (!isLoad)
      return name + " is also used by " + describeForUser(user);
  }
  return "";
}

static bool hasF32Operands(GemmOp gemm) {
  ChoiceAttr choice = gemm.getChoiceAttr();
  return choice && choice.getPath() == Path::MmaSync &&
         gemm.getA().getType().getElementType().isF32() &&
         gemm.getPrecision() == Precision::TF32;
}

static void addReason(GemmOp gemm, const Twine &text) {
  ChoiceAttr choice = gemm.getChoiceAttr();
  gemm.setChoiceAttr(ChoiceAttr::get(choice.getContext(), choice.getPath(),
                                     (choice.getReason() + "; " + text).str(),
                                     choice.getArguments()));
}

void mlir::tile::selectRoundedProducts(KernelOp kernel, TargetAttr target) {
  llvm::MapVector<Operation *, ChoiceAttr> products;
  kernel.walk([&](GemmOp gemm) {
    if (!hasF32Operands(gemm))
      return;
    layout::Result<ChoiceAttr> choice =
        chooseWgmma(gemm, target, /*isRounded=*/true);
    if (choice)
      products[gemm] = *choice;
    else if (target.getComputeCapability() >= 90)
      addReason(gemm, choice.error());
  });
  // One product that cannot takes its operands away from the others.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, choice] : products) {
      auto gemm = cast<GemmOp>(op);
      std::string why;
      for (Value operand : {gemm.getA(), gemm.getB()}) {
        if (!why.empty())
          break;
        why = cast<BufferType>(operand.getType()).isShared()
                  ? whyNotRounded(getAllocation(operand), products)
                  : "A is in registers, where TMA cannot round it";
      }
      if (why.empty())
        continue;
      addReason(gemm, why);
      products.erase(op);
      changed = true;
      break;
    }
  }
  for (auto &[op, choice] : products) {
    auto gemm = cast<GemmOp>(op);
    gemm.setChoiceAttr(choice);
    for (Value operand : {gemm.getA(), gemm.getB()})
      getAllocation(operand)->setAttr(kRoundedName,
                                      UnitAttr::get(op->getContext()));
  }
}
