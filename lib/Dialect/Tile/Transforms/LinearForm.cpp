//===- LinearForm.cpp - Index expressions as linear forms -------*- C++ -*-===//
#include "LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

void LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [value, coefficient] : other.terms) {
    int64_t sum = getCoefficient(value) + factor * coefficient;
    if (sum == 0)
      terms.erase(value);
    else
      terms[value] = sum;
  }
}

int64_t LinearForm::getCoefficient(Value value) const {
  auto it = terms.find(value);
  return it == terms.end() ? 0 : it->second;
}

LinearForm LinearForm::without(Value value) const {
  LinearForm result = *this;
  result.terms.erase(value);
  return result;
}

bool LinearForm::operator==(const LinearForm &other) const {
  LinearForm difference = *this;
  difference.add(other, -1);
  return difference.isConstant() && difference.constant == 0;
}

LinearForm mlir::tile::getLinearForm(Value value) {
  LinearForm form;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    form.constant = constant.getSExtValue();
    return form;
  }
  if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    form = getLinearForm(add.getLhs());
    form.add(getLinearForm(add.getRhs()));
    return form;
  }
  if (auto sub = value.getDefiningOp<arith::SubIOp>()) {
    form = getLinearForm(sub.getLhs());
    form.add(getLinearForm(sub.getRhs()), -1);
    return form;
  }
  if (auto mul = value.getDefiningOp<arith::MulIOp>()) {
    LinearForm lhs = getLinearForm(mul.getLhs());
    LinearForm rhs = getLinearForm(mul.getRhs());
    if (lhs.isConstant())
      std::swap(lhs, rhs);
    if (rhs.isConstant()) {
      form.add(lhs, rhs.constant);
      return form;
    }
  }
  if (auto shift = value.getDefiningOp<arith::ShLIOp>())
    if (matchPattern(shift.getRhs(), m_ConstantInt(&constant)) &&
        constant.ult(31)) {
      form.add(getLinearForm(shift.getLhs()), int64_t(1)
                                                  << constant.getZExtValue());
      return form;
    }
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    if (!cast.getIn().getDefiningOp<memref::DimOp>())
      return getLinearForm(cast.getIn());
  if (auto extension = value.getDefiningOp<arith::ExtSIOp>())
    return getLinearForm(extension.getIn());
  form.terms[getRepresentative(value)] = 1;
  return form;
}

/// The symbol that the user gave to an extent of a kernel argument.
static ExprAttr getSymbol(FunctionOpInterface function, BlockArgument argument,
                          int64_t dim) {
  auto declared = function.getArgAttrOfType<ArgumentAttr>(
      argument.getArgNumber(), "tile.argument");
  if (!declared || !declared.getTensor() ||
      dim >= static_cast<int64_t>(declared.getShape().size()) ||
      declared.getShape()[dim].getKind() != ExprKind::Symbol)
    return {};
  return declared.getShape()[dim];
}

/// The memref.dim of an extent that the IR lists first.
static Value findOwnDim(Value tensor, int64_t dim) {
  Value found;
  for (Operation *user : tensor.getUsers())
    if (auto other = dyn_cast<memref::DimOp>(user))
      if (other.getSource() == tensor && other.getConstantIndex() == dim)
        found = other.getResult();
  return found;
}

Value mlir::tile::findDynamicExtent(Value tensor, int64_t dim) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  ExprAttr symbol = function ? getSymbol(function, argument, dim) : ExprAttr();
  if (!symbol)
    return findOwnDim(tensor, dim);
  // The launcher checks that extents of one symbol are equal.
  for (BlockArgument other : argument.getOwner()->getArguments()) {
    auto type = dyn_cast<MemRefType>(other.getType());
    if (!type)
      continue;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (getSymbol(function, other, i) == symbol)
        if (Value found = findOwnDim(other, i))
          return found;
  }
  return {};
}

Value mlir::tile::getRepresentative(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto dim = value.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> index =
      dim ? dim.getConstantIndex() : std::optional<int64_t>();
  return index ? findDynamicExtent(dim.getSource(), *index) : value;
}

LoopAccess mlir::tile::analyzeAccess(OperandRange indices, ParallelOp loop) {
  LoopAccess result;
  std::vector<layout::AccessIndex> access;
  Block *body = loop.getBodyBlock();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    LinearForm form = getLinearForm(index);
    result.irregularDim = static_cast<unsigned>(dim);
    if (form.terms.size() > 1)
      return result;
    if (form.isConstant()) {
      access.push_back(layout::AccessIndex::constant(form.constant));
      continue;
    }
    auto [term, coefficient] = form.terms.front();
    auto argument = dyn_cast<BlockArgument>(term);
    if (!argument || argument.getOwner() != body || coefficient != 1)
      return result;
    access.push_back(layout::AccessIndex::iteration(
        static_cast<int>(argument.getArgNumber()), form.constant));
  }
  result.projected = std::move(access);
  return result;
}
