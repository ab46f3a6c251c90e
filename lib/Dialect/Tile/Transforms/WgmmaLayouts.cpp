//===- WgmmaLayouts.cpp - What wgmma asks of its operands ---------------===//
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"

#include "LinearForm.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

std::optional<WgmmaChoice> mlir::tile::getWgmmaChoice(ChoiceAttr choice) {
  if (!choice || !choice.getArguments() ||
      (choice.getPath() != Path::WgmmaSS && choice.getPath() != Path::WgmmaRS))
    return std::nullopt;
  auto getIntegers = [&](StringRef key) {
    SmallVector<int64_t> values;
    if (auto array = choice.getArguments().getAs<ArrayAttr>(key))
      for (IntegerAttr value : array.getAsRange<IntegerAttr>())
        values.push_back(value.getInt());
    return values;
  };
  SmallVector<int64_t> shape = getIntegers("instruction");
  SmallVector<int64_t> groups = getIntegers("warpgroups");
  if (shape.size() != 3 || shape[0] != layout::kWgmmaRows ||
      groups.size() < 2 || groups.size() > 3)
    return std::nullopt;
  WgmmaChoice result;
  result.n = shape[1];
  result.k = shape[2];
  result.registerA = choice.getPath() == Path::WgmmaRS;
  result.groups.warpsM = groups[0];
  result.groups.warpsN = groups[1];
  result.groups.replicas = groups.size() == 3 ? groups[2] : 1;
  return result;
}

DictionaryAttr mlir::tile::getWgmmaArguments(MLIRContext *context,
                                             const WgmmaChoice &choice) {
  Builder builder(context);
  SmallVector<int64_t> groups = {choice.groups.warpsM, choice.groups.warpsN};
  if (choice.groups.replicas > 1)
    groups.push_back(choice.groups.replicas);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(
           "instruction",
           builder.getI64ArrayAttr({layout::kWgmmaRows, choice.n, choice.k})),
       builder.getNamedAttr("warpgroups", builder.getI64ArrayAttr(groups))});
}

template <typename OpT>
layout::Result<layout::MmaFragment>
mlir::tile::getWgmmaFragment(OpT op, GemmOperand operand) {
  std::optional<WgmmaChoice> choice = getWgmmaChoice(op.getChoiceAttr());
  if (!choice)
    return layout::Error{"the gemm is not executed with wgmma"};
  switch (operand) {
  case GemmOperand::A:
    return layout::wgmmaOperandA(op.getM(), op.getK(),
                                 op.getA().getType().getElementBits(),
                                 choice->groups, op.getTransposeA());
  case GemmOperand::B:
    return layout::Error{"wgmma reads B from shared memory"};
  case GemmOperand::C:
    return layout::wgmmaAccumulator(op.getM(), op.getN(), choice->groups,
                                    choice->n);
  }
  llvm_unreachable("all operands are handled");
}

namespace mlir::tile {
template layout::Result<layout::MmaFragment> getWgmmaFragment(GemmOp,
                                                              GemmOperand);
template layout::Result<layout::MmaFragment> getWgmmaFragment(GemmAsyncOp,
                                                              GemmOperand);
} // namespace mlir::tile

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

/// The dimension of `outer` that is dimension `dim` of `inner`, when the two
/// shapes differ by unit dimensions only (or the view drops some of them).
static std::optional<int> findDimension(ArrayRef<int64_t> outer,
                                        ArrayRef<int64_t> inner, int dim) {
  // Matched from the end, where the matrix is.
  int o = static_cast<int>(outer.size()) - 1;
  int i = static_cast<int>(inner.size()) - 1;
  for (; i >= 0; --i, --o) {
    while (o >= 0 && outer[o] != inner[i] && outer[o] == 1)
      --o;
    if (o < 0 || outer[o] != inner[i])
      return std::nullopt;
    if (i == dim)
      return o;
  }
  return std::nullopt;
}

/// A number that divides `value`; 0 for the constant 0.
static int64_t getDivisor(Value value) {
  LinearForm form = getLinearForm(value);
  int64_t divisor = std::abs(form.constant);
  for (auto &[term, coefficient] : form.terms)
    divisor = std::gcd(divisor, std::abs(coefficient));
  return divisor;
}

layout::Result<SharedMatrix> mlir::tile::getSharedMatrix(GemmOp op,
                                                         GemmOperand operand) {
  bool isA = operand == GemmOperand::A;
  Value buffer = isA ? op.getA() : op.getB();
  auto type = cast<BufferType>(buffer.getType());
  bool transposed = isA ? op.getTransposeA() : op.getTransposeB();
  // A is (M, K), B is (K, N); transposed the other way round.
  int rows = static_cast<int>(type.getRank()) - 2;
  SharedMatrix matrix;
  matrix.mnDim = isA != transposed ? rows : rows + 1;
  matrix.kDim = isA != transposed ? rows + 1 : rows;
  while (!isa<AllocOp>(buffer.getDefiningOp())) {
    Operation *view = buffer.getDefiningOp();
    auto inner = cast<BufferType>(buffer.getType());
    auto outer = cast<BufferType>(view->getOperand(0).getType());
    auto subview = dyn_cast<SubviewOp>(view);
    if (inner.getElementBits() != outer.getElementBits())
      return layout::Error{"the view changes the width of the elements"};
    // A view that only adds, drops or cuts dimensions.
    ArrayRef<int64_t> sizes =
        subview ? subview.getSizes() : ArrayRef<int64_t>(outer.getShape());
    std::optional<int> mn =
        findDimension(sizes, inner.getShape(), matrix.mnDim);
    std::optional<int> k = findDimension(sizes, inner.getShape(), matrix.kDim);
    if (!mn || !k)
      return layout::Error{"the view reshapes the matrix"};
    matrix.mnDim = *mn;
    matrix.kDim = *k;
    if (subview) {
      matrix.mnDivisor =
          std::gcd(matrix.mnDivisor, getDivisor(subview.getOffsets()[*mn]));
      matrix.kDivisor =
          std::gcd(matrix.kDivisor, getDivisor(subview.getOffsets()[*k]));
      matrix.hasConstantK &=
          getLinearForm(subview.getOffsets()[*k]).isConstant();
    }
    buffer = view->getOperand(0);
  }
  matrix.alloc = cast<AllocOp>(buffer.getDefiningOp());
  return matrix;
}

layout::Result<int64_t>
mlir::tile::getWgmmaMaxSwizzle(GemmOp op, GemmOperand operand,
                               const WgmmaChoice &choice) {
  layout::Result<SharedMatrix> matrix = getSharedMatrix(op, operand);
  if (!matrix)
    return layout::Error{matrix.error()};
  BufferType type = matrix->alloc.getType();
  int64_t bits = type.getElementBits();
  // Pieces that instructions read, and where the first of them may begin.
  int64_t mn = operand == GemmOperand::A ? op.getM() : op.getN();
  int64_t piece = operand == GemmOperand::A ? layout::kWgmmaRows : choice.n;
  int64_t begin = std::gcd(matrix->mnDivisor, piece == mn ? 0 : piece);

  int64_t limit = 128;
  bool mnMajor = matrix->mnDim == type.getRank() - 1;
  if (mnMajor && begin)
    limit = layout::wgmmaMaxSwizzle(begin, bits);
  if (limit < 0)
    return layout::Error{"its parts begin at multiples of " +
                         std::to_string(begin) +
                         " elements, less than 16 bytes"};
  // A layout that is given already is taken as it is.
  layout::Result<layout::SharedLayout> shared =
      layout::Error{"it is not in shared memory"};
  if (SharedLayoutAttr given = type.getSharedLayout())
    shared = given.getLayout(type.getShape(), bits);
  else
    shared = layout::wgmmaSharedLayout(type.getShape().vec(), bits, limit);
  if (!shared)
    return layout::Error{shared.error()};
  layout::Result<layout::WgmmaOperand> view =
      layout::WgmmaOperand::create(*shared, matrix->mnDim, matrix->kDim);
  if (!view)
    return layout::Error{(type.getSharedLayout() ? "the given layout: " : "") +
                         view.error()};
  if (begin % view->stepMN() != 0)
    return layout::Error{"its parts begin at multiples of " +
                         std::to_string(begin) + " elements, not of " +
                         std::to_string(view->stepMN())};
  int64_t stepK =
      matrix->hasConstantK || mnMajor ? view->stepK() : shared->panelElements();
  if (matrix->kDivisor % stepK != 0)
    return layout::Error{"its k begins at multiples of " +
                         std::to_string(matrix->kDivisor) +
                         " elements, not of " + std::to_string(stepK)};
  return limit;
}

/// Adds what the gemms that read views of `buffer` allow.
static void collectMaxSwizzle(Value buffer, std::optional<int64_t> &limit) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
      collectMaxSwizzle(user->getResult(0), limit);
    auto gemm = dyn_cast<GemmOp>(user);
    std::optional<WgmmaChoice> choice =
        gemm ? getWgmmaChoice(gemm.getChoiceAttr()) : std::nullopt;
    if (!choice)
      continue;
    for (GemmOperand operand : {GemmOperand::A, GemmOperand::B}) {
      if ((operand == GemmOperand::A ? gemm.getA() : gemm.getB()) != buffer)
        continue;
      layout::Result<int64_t> allowed =
          getWgmmaMaxSwizzle(gemm, operand, *choice);
      if (allowed)
        limit = std::min(limit.value_or(128), *allowed);
    }
  }
}

std::optional<int64_t> mlir::tile::getWgmmaMaxSwizzle(AllocOp alloc) {
  std::optional<int64_t> limit;
  collectMaxSwizzle(alloc.getResult(), limit);
  return limit;
}
