//===- GemmLayouts.cpp - Fragments that a chosen gemm needs -----*- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// The integers of an array in the arguments of a choice.
static SmallVector<int64_t> getIntegers(DictionaryAttr arguments,
                                        StringRef key) {
  SmallVector<int64_t> values;
  if (auto array = arguments.getAs<ArrayAttr>(key))
    for (IntegerAttr value : array.getAsRange<IntegerAttr>())
      values.push_back(value.getInt());
  return values;
}

std::optional<MmaSyncChoice> mlir::tile::getMmaSyncChoice(GemmOp op) {
  ChoiceAttr choice = op.getChoiceAttr();
  if (!choice || choice.getPath() != Path::MmaSync || !choice.getArguments())
    return std::nullopt;
  SmallVector<int64_t> shape =
      getIntegers(choice.getArguments(), "instruction");
  SmallVector<int64_t> warps = getIntegers(choice.getArguments(), "warps");
  if (shape.size() != 3 || warps.size() < 2 || warps.size() > 3)
    return std::nullopt;
  MmaSyncChoice result;
  result.m = shape[0];
  result.n = shape[1];
  result.k = shape[2];
  result.grid.warpsM = warps[0];
  result.grid.warpsN = warps[1];
  result.grid.replicas = warps.size() == 3 ? warps[2] : 1;
  if (auto run = choice.getArguments().getAs<IntegerAttr>("run"))
    result.run = run.getInt();
  return result;
}

DictionaryAttr mlir::tile::getMmaSyncArguments(MLIRContext *context,
                                               const MmaSyncChoice &choice) {
  Builder builder(context);
  NamedAttrList arguments;
  arguments.set("instruction",
                builder.getI64ArrayAttr({choice.m, choice.n, choice.k}));
  if (choice.run)
    arguments.set("run", builder.getI64IntegerAttr(choice.run));
  arguments.set("warps",
                builder.getI64ArrayAttr({choice.grid.warpsM, choice.grid.warpsN,
                                         choice.grid.replicas}));
  return arguments.getDictionary(context);
}

layout::Result<layout::MmaFragment>
mlir::tile::getMmaSyncFragment(GemmOp op, GemmOperand operand) {
  std::optional<MmaSyncChoice> choice = getMmaSyncChoice(op);
  if (!choice)
    return layout::Error{"the gemm is not executed with mma.sync"};
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  switch (operand) {
  case GemmOperand::A:
    return layout::mmaOperandA(m, k, op.getA().getType().getElementBits(),
                               choice->k, choice->grid, op.getTransposeA(),
                               choice->run);
  case GemmOperand::B:
    return layout::mmaOperandB(k, n, op.getB().getType().getElementBits(),
                               choice->k, choice->grid, op.getTransposeB(),
                               choice->run);
  case GemmOperand::C:
    return layout::mmaAccumulator(m, n, choice->grid);
  }
  llvm_unreachable("all operands are handled");
}

bool mlir::tile::usesMatrixInstruction(GemmOp op) {
  return getMmaSyncChoice(op) || getWgmmaChoice(op.getChoiceAttr());
}

/// `fragment` for the buffer of an operand.
static layout::Result<layout::FragmentLayout>
getBufferLayout(GemmOp op, GemmOperand operand,
                const layout::Result<layout::MmaFragment> &fragment) {
  if (!fragment)
    return layout::Error{fragment.error()};
  BufferType type = operand == GemmOperand::A   ? op.getA().getType()
                    : operand == GemmOperand::B ? op.getB().getType()
                                                : op.getC().getType();
  layout::FragmentLayout result = fragment->layout;
  for (int64_t rank = 2; rank < type.getRank(); ++rank)
    result = result.insertUnitDim(0);
  return result;
}

layout::Result<layout::FragmentLayout>
mlir::tile::getMmaSyncLayout(GemmOp op, GemmOperand operand) {
  return getBufferLayout(op, operand, getMmaSyncFragment(op, operand));
}

layout::Result<layout::FragmentLayout>
mlir::tile::getMatrixLayout(GemmOp op, GemmOperand operand) {
  return getBufferLayout(op, operand,
                         getWgmmaChoice(op.getChoiceAttr())
                             ? getWgmmaFragment(op, operand)
                             : getMmaSyncFragment(op, operand));
}
