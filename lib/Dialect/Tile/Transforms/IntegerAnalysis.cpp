//===- IntegerAnalysis.cpp - Ranges and divisors of indices -----*- C++ -*-===//
#include "IntegerAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;

static constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
static constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();

/// Bounds outside of i32 are cut: values do not wrap around.
static IntegerRange clampRange(int64_t lower, int64_t upper) {
  if (lower > upper || lower > kHighest || upper < kLowest)
    return {};
  return {std::max(lower, kLowest), std::min(upper, kHighest)};
}

/// Matches a ceiling division by a positive constant, in both of its usual
/// forms: arith.ceildivsi and (x + c - 1) / c.
static std::optional<std::pair<Value, int64_t>> matchCeilDiv(Value value) {
  if (auto op = value.getDefiningOp<arith::CeilDivSIOp>()) {
    std::optional<int64_t> step = getConstantIntValue(op.getRhs());
    if (step && *step > 0)
      return std::make_pair(getRepresentative(op.getLhs()), *step);
  }
  Value lhs, rhs;
  if (auto op = value.getDefiningOp<arith::DivSIOp>()) {
    lhs = op.getLhs();
    rhs = op.getRhs();
  } else if (auto op = value.getDefiningOp<arith::FloorDivSIOp>()) {
    lhs = op.getLhs();
    rhs = op.getRhs();
  } else {
    return std::nullopt;
  }
  std::optional<int64_t> step = getConstantIntValue(rhs);
  if (!step || *step <= 0)
    return std::nullopt;
  LinearForm form = getLinearForm(lhs);
  if (form.terms.size() == 1 && form.terms.front().second == 1 &&
      form.constant >= 0 && form.constant <= *step - 1)
    return std::make_pair(form.terms.front().first, *step);
  return std::nullopt;
}

IntegerAnalysis::IntegerAnalysis(Operation *op) {
  Operation *function = op;
  while (function && !isa<FunctionOpInterface>(function))
    function = function->getParentOp();
  if (!function)
    return;
  function->walk([&](AssumeOp assume) {
    // An assumption under a condition holds there only.
    Operation *parent = assume->getParentOp();
    if (isa<FunctionOpInterface, KernelOp, PipelinedOp>(parent))
      addAssumption(assume.getCondition());
  });
  ranges.clear();
  divisors.clear();
}

void IntegerAnalysis::addAssumption(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    addAssumption(both.getLhs());
    addAssumption(both.getRhs());
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (getConstantIntValue(lhs) && !getConstantIntValue(rhs)) {
    std::swap(lhs, rhs);
    switch (predicate) {
    case Predicate::slt:
      predicate = Predicate::sgt;
      break;
    case Predicate::sle:
      predicate = Predicate::sge;
      break;
    case Predicate::sgt:
      predicate = Predicate::slt;
      break;
    case Predicate::sge:
      predicate = Predicate::sle;
      break;
    default:
      break;
    }
  }
  if (predicate == Predicate::eq) {
    Value dividend;
    std::optional<int64_t> step;
    if (auto rem = lhs.getDefiningOp<arith::RemSIOp>()) {
      dividend = rem.getLhs();
      step = getConstantIntValue(rem.getRhs());
    } else if (auto rem = lhs.getDefiningOp<arith::RemUIOp>()) {
      dividend = rem.getLhs();
      step = getConstantIntValue(rem.getRhs());
    }
    if (step && *step > 0 && getConstantIntValue(rhs) == 0) {
      int64_t &known =
          assumedDivisors.try_emplace(getRepresentative(dividend), 1)
              .first->second;
      known = std::lcm(known, *step);
      return;
    }
  }
  // The range of the right side; assumptions of an order may refer to values.
  IntegerRange bound = getRange(rhs);
  IntegerRange &known =
      assumedRanges.try_emplace(getRepresentative(lhs)).first->second;
  auto atMost = [&](int64_t value) {
    known.upper = std::min(known.upper, value);
  };
  auto atLeast = [&](int64_t value) {
    known.lower = std::max(known.lower, value);
  };
  switch (predicate) {
  case Predicate::slt:
    atMost(bound.upper - 1);
    assumedLimits.try_emplace(getRepresentative(lhs), rhs);
    break;
  case Predicate::sle:
    atMost(bound.upper);
    break;
  case Predicate::sgt:
    atLeast(bound.lower + 1);
    break;
  case Predicate::sge:
    atLeast(bound.lower);
    break;
  case Predicate::ult:
    if (bound.lower >= 0) {
      atLeast(0);
      atMost(bound.upper - 1);
    }
    break;
  case Predicate::eq:
    atMost(bound.upper);
    atLeast(bound.lower);
    break;
  default:
    break;
  }
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

IntegerRange IntegerAnalysis::getRange(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return {*constant, *constant};
  value = getRepresentative(value);
  auto [it, inserted] = ranges.try_emplace(value);
  if (!inserted)
    return it->second;
  IntegerRange range = computeRange(value);
  auto assumed = assumedRanges.find(value);
  if (assumed != assumedRanges.end()) {
    range.lower = std::max(range.lower, assumed->second.lower);
    range.upper = std::min(range.upper, assumed->second.upper);
    if (range.lower > range.upper)
      range = {};
  }
  ranges[value] = range;
  return range;
}

IntegerRange IntegerAnalysis::getRange(const LinearForm &form) {
  int64_t lower = form.constant, upper = form.constant;
  for (auto [value, coefficient] : form.terms) {
    IntegerRange range = getRange(value);
    int64_t a = coefficient * range.lower, b = coefficient * range.upper;
    lower += std::min(a, b);
    upper += std::max(a, b);
  }
  return clampRange(lower, upper);
}

/// Blocks of a cluster along an axis of the grid.
static int64_t getClusterExtent(KernelOp kernel, unsigned axis) {
  std::optional<ArrayRef<int64_t>> cluster = kernel.getCluster();
  return cluster && axis < cluster->size() ? (*cluster)[axis] : 1;
}

IntegerRange IntegerAnalysis::getArgumentRange(BlockArgument argument) {
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto kernel = dyn_cast<KernelOp>(owner)) {
    unsigned axis = argument.getArgNumber();
    int64_t blocks = getRange(kernel.getGrid()[axis]).upper;
    // Grids are made of whole clusters.
    int64_t cluster = getClusterExtent(kernel, axis);
    blocks = (blocks + cluster - 1) / cluster * cluster;
    return clampRange(0, std::max<int64_t>(blocks - 1, 0));
  }
  if (auto loop = dyn_cast<PipelinedOp>(owner)) {
    int64_t lower = getRange(loop.getLower()).lower;
    return clampRange(lower,
                      std::max(getRange(loop.getUpper()).upper - 1, lower));
  }
  if (auto loop = dyn_cast<ParallelOp>(owner)) {
    int64_t extent = loop.getStaticExtents()[argument.getArgNumber()];
    if (!ShapedType::isDynamic(extent))
      return clampRange(0, std::max<int64_t>(extent - 1, 0));
    return {0, kHighest};
  }
  if (auto loop = dyn_cast<scf::ForOp>(owner))
    if (argument == loop.getInductionVar()) {
      IntegerRange step = getRange(loop.getStep());
      if (step.lower <= 0)
        return {};
      int64_t lower = getRange(loop.getLowerBound()).lower;
      return clampRange(
          lower, std::max(getRange(loop.getUpperBound()).upper - 1, lower));
    }
  return {};
}

/// The quotient x / y if `op` is x - x / y * y, a rest of one that is needed as
/// well; null otherwise.
static Operation *getQuotientOfRest(Operation *op) {
  auto rest = dyn_cast<arith::SubIOp>(op);
  auto product =
      rest ? rest.getRhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  if (!product)
    return nullptr;
  for (unsigned i : {0, 1}) {
    Operation *quotient = product->getOperand(i).getDefiningOp();
    if (isa_and_present<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp>(
            quotient) &&
        quotient->getOperand(0) == rest.getLhs() &&
        quotient->getOperand(1) == product->getOperand(1 - i))
      return quotient;
  }
  return nullptr;
}

/// The range of what `op` divides by, which is not zero.
IntegerRange IntegerAnalysis::getDivisorRange(Operation *op) {
  IntegerRange range = getRange(op->getOperand(1));
  if (range.lower == 0 && range.upper > 0)
    range.lower = 1;
  return range;
}

IntegerRange IntegerAnalysis::computeRange(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgumentRange(argument);
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (index && type && !type.isDynamicDim(*index))
      return {type.getDimSize(*index), type.getDimSize(*index)};
    return {0, kHighest};
  }
  if (isa<SmCountOp>(op))
    return {1, kHighest};
  if (Operation *quotient = getQuotientOfRest(op)) {
    IntegerRange a = getRange(quotient->getOperand(0));
    IntegerRange b = getDivisorRange(quotient);
    if (a.lower >= 0 && b.lower > 0)
      return {0, std::min(a.upper, b.upper - 1)};
  }
  auto operandRange = [&](unsigned i) { return getRange(op->getOperand(i)); };
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    // The form knows what cancels out, the operands what became of rests.
    IntegerRange form = getRange(getLinearForm(value));
    IntegerRange a = operandRange(0), b = operandRange(1);
    IntegerRange sum = isa<arith::AddIOp>(op)
                           ? clampRange(a.lower + b.lower, a.upper + b.upper)
                           : clampRange(a.lower - b.upper, a.upper - b.lower);
    IntegerRange both = {std::max(form.lower, sum.lower),
                         std::min(form.upper, sum.upper)};
    return both.lower <= both.upper ? both : form;
  }
  if (isa<arith::MulIOp>(op)) {
    IntegerRange a = operandRange(0), b = operandRange(1);
    int64_t products[] = {a.lower * b.lower, a.lower * b.upper,
                          a.upper * b.lower, a.upper * b.upper};
    auto [low, high] =
        std::minmax_element(std::begin(products), std::end(products));
    return clampRange(*low, *high);
  }
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp,
          arith::CeilDivSIOp>(op)) {
    IntegerRange a = operandRange(0), b = getDivisorRange(op);
    if (a.lower < 0 || b.lower <= 0)
      return {};
    if (isa<arith::CeilDivSIOp>(op))
      return {static_cast<int64_t>(
                  llvm::divideCeil(uint64_t(a.lower), uint64_t(b.upper))),
              static_cast<int64_t>(
                  llvm::divideCeil(uint64_t(a.upper), uint64_t(b.lower)))};
    return {a.lower / b.upper, a.upper / b.lower};
  }
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
    IntegerRange a = operandRange(0), b = getDivisorRange(op);
    if (a.lower < 0 || b.lower <= 0)
      return {};
    if (a.upper < b.lower)
      return a;
    return {0, std::min(a.upper, b.upper - 1)};
  }
  if (isa<arith::MinSIOp>(op)) {
    IntegerRange a = operandRange(0), b = operandRange(1);
    return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
  }
  if (isa<arith::MaxSIOp>(op)) {
    IntegerRange a = operandRange(0), b = operandRange(1);
    return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (!value.getType().isIntOrIndex())
      return {};
    IntegerRange a = getRange(select.getTrueValue());
    IntegerRange b = getRange(select.getFalseValue());
    return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
  }
  if (isa<arith::AndIOp>(op)) {
    IntegerRange a = operandRange(0), b = operandRange(1);
    if (a.lower >= 0 && b.lower >= 0)
      return {0, std::min(a.upper, b.upper)};
  }
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    IntegerRange a = operandRange(0), b = operandRange(1);
    if (a.lower >= 0 && b.lower >= 0 && b.upper < 31)
      return {a.lower >> b.upper, a.upper >> b.lower};
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ShLIOp>(op)) {
    LinearForm form = getLinearForm(value);
    if (form.getCoefficient(value) == 0)
      return getRange(form);
  }
  if (auto thread = dyn_cast<ThreadIdOp>(op)) {
    KernelOp kernel = getKernel(op);
    if (!kernel)
      return {};
    int64_t extent = kernel.getThreads();
    if (auto shape = kernel.getThreadShape())
      extent = thread.getAxis() < static_cast<uint64_t>(shape->size())
                   ? (*shape)[thread.getAxis()]
                   : 1;
    else if (thread.getAxis() > 0)
      extent = 1;
    return {0, extent - 1};
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

int64_t IntegerAnalysis::getDivisor(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return std::abs(*constant);
  value = getRepresentative(value);
  auto [it, inserted] = divisors.try_emplace(value, 1);
  if (!inserted)
    return it->second;
  int64_t divisor = computeDivisor(value);
  auto assumed = assumedDivisors.find(value);
  if (assumed != assumedDivisors.end() && divisor != 0)
    divisor = std::lcm(divisor, assumed->second);
  divisors[value] = divisor;
  return divisor;
}

int64_t IntegerAnalysis::getDivisor(const LinearForm &form) {
  int64_t divisor = std::abs(form.constant);
  for (auto [value, coefficient] : form.terms)
    divisor = std::gcd(divisor, std::abs(coefficient) * getDivisor(value));
  return divisor;
}

int64_t IntegerAnalysis::computeDivisor(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar())
      return std::gcd(getDivisor(loop.getLowerBound()),
                      getDivisor(loop.getStep()));
    return 1;
  }
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (index && type && !type.isDynamicDim(*index))
      return type.getDimSize(*index);
    return 1;
  }
  if (isa<arith::MulIOp>(op)) {
    int64_t product =
        getDivisor(op->getOperand(0)) * getDivisor(op->getOperand(1));
    return product < kHighest ? product : 1;
  }
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return std::gcd(getDivisor(op->getOperand(0)),
                    getDivisor(op->getOperand(1)));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (value.getType().isIntOrIndex())
      return std::gcd(getDivisor(select.getTrueValue()),
                      getDivisor(select.getFalseValue()));
    return 1;
  }
  LinearForm form = getLinearForm(value);
  if (form.getCoefficient(value) == 0)
    return getDivisor(form);
  return 1;
}

//===----------------------------------------------------------------------===//
// Containment
//===----------------------------------------------------------------------===//

std::optional<std::pair<Value, int64_t>>
IntegerAnalysis::getCeilDivBound(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) {
    auto assumed = assumedLimits.find(value);
    return assumed == assumedLimits.end() ? std::nullopt
                                          : matchCeilDiv(assumed->second);
  }
  Operation *owner = argument.getOwner()->getParentOp();
  Value limit;
  if (auto kernel = dyn_cast<KernelOp>(owner)) {
    unsigned axis = argument.getArgNumber();
    limit = kernel.getGrid()[axis];
    int64_t cluster = getClusterExtent(kernel, axis);
    if (cluster > 1 && getDivisor(limit) % cluster != 0)
      return std::nullopt;
  }
  if (auto loop = dyn_cast<PipelinedOp>(owner)) {
    limit = loop.getUpper();
  } else if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    if (argument == loop.getInductionVar() &&
        getRange(loop.getStep()).lower > 0)
      limit = loop.getUpperBound();
  }
  return limit ? matchCeilDiv(limit) : std::nullopt;
}

bool IntegerAnalysis::isBelowSymbol(const LinearForm &offset, int64_t size,
                                    Value symbol) {
  // symbol itself minus something constant
  if (offset.getCoefficient(symbol) == 1 &&
      getRange(offset.without(symbol)).upper + size <= 0)
    return true;
  for (auto [value, coefficient] : offset.terms) {
    auto bound = getCeilDivBound(value);
    // value <= symbol / step - 1 when step divides symbol, so
    // step * value + rest + size <= symbol - step + rest + size.
    if (bound && bound->first == symbol && coefficient == bound->second &&
        getDivisor(symbol) % bound->second == 0 &&
        getRange(offset.without(value)).upper + size <= bound->second)
      return true;
  }
  return false;
}

/// Does `condition` imply offset + size <= extent (upper) or 0 <= offset?
static bool implies(Value condition, bool holds, const LinearForm &offset,
                    int64_t size, std::optional<int64_t> extent, Value symbol,
                    bool upper) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return holds &&
           (implies(both.getLhs(), true, offset, size, extent, symbol, upper) ||
            implies(both.getRhs(), true, offset, size, extent, symbol, upper));
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  if (!holds)
    predicate = arith::invertPredicate(predicate);
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (predicate == Predicate::sgt || predicate == Predicate::sge) {
    std::swap(lhs, rhs);
    predicate = predicate == Predicate::sgt ? Predicate::slt : Predicate::sle;
  }
  if (predicate != Predicate::slt && predicate != Predicate::sle)
    return false;
  int64_t strict = predicate == Predicate::slt ? 1 : 0;
  // lhs + strict <= rhs. Let slack be what follows for the offset.
  LinearForm difference = getLinearForm(rhs);
  difference.add(getLinearForm(lhs), -1);
  difference.constant -= strict;
  // Known: difference >= 0. Wanted: limit - offset - size >= 0 (upper) or
  // offset >= 0. It follows if wanted - difference is a constant >= 0.
  LinearForm wanted;
  if (upper) {
    if (extent)
      wanted.constant = *extent;
    else
      wanted.terms[symbol] = 1;
    wanted.add(offset, -1);
    wanted.constant -= size;
  } else {
    wanted = offset;
  }
  wanted.add(difference, -1);
  return wanted.isConstant() && wanted.constant >= 0;
}

bool IntegerAnalysis::isGuarded(const LinearForm &offset, int64_t size,
                                Operation *user, std::optional<int64_t> extent,
                                Value symbol, bool upper) {
  for (Operation *op = user; op->getParentOp(); op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
    if (!branch)
      continue;
    bool inThen = branch.getThenRegion().isAncestor(op->getParentRegion());
    if (implies(branch.getCondition(), inThen, offset, size, extent, symbol,
                upper))
      return true;
  }
  return false;
}

bool IntegerAnalysis::isInside(Value offset, int64_t size, Operation *user,
                               TypedValue<MemRefType> tensor, int64_t dim) {
  LinearForm form = getLinearForm(offset);
  MemRefType type = tensor.getType();
  std::optional<int64_t> extent;
  Value symbol;
  if (!type.isDynamicDim(dim)) {
    extent = type.getDimSize(dim);
  } else {
    symbol = findDynamicExtent(tensor, dim);
  }
  IntegerRange range = getRange(form);
  if (range.lower < 0 &&
      !isGuarded(form, size, user, extent, symbol, /*upper=*/false))
    return false;
  if (extent && range.upper + size <= *extent)
    return true;
  if (symbol && isBelowSymbol(form, size, symbol))
    return true;
  if (!extent && !symbol)
    return false;
  return isGuarded(form, size, user, extent, symbol, /*upper=*/true);
}
