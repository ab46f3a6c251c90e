//===- MaskConditions.cpp - when a mask is the same for a tile --*- C++ -*-===//
#include "MaskConditions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
using OrderPredicate = arith::CmpIPredicate;
using ConditionKind = MaskCondition::Kind;

/// Constants of conditions stay far from where sums of i32 wrap around.
static constexpr int64_t kLargestConstant = int64_t(1) << 30;

MaskAnalysis::MaskAnalysis(ParallelOp loop, IntegerAnalysis &integers,
                           const Uniformity &uniformity)
    : loop(loop), integers(integers), uniformity(uniformity) {
  loop.walk([&](Operation *op) {
    Value dest;
    if (auto store = dyn_cast<StoreOp>(op))
      dest = store.getDest();
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      dest = atomic.getDest();
    if (!dest)
      return;
    if (isa<BufferType>(dest.getType()))
      writtenBuffers.insert(getAllocation(dest));
    else
      writesTensors = true;
  });
  collectFacts();
}

//===----------------------------------------------------------------------===//
// What is known where the loop stands
//===----------------------------------------------------------------------===//

/// T + c >= 0 for a multiple T of g is T + c' >= 0 for the next lower multiple
/// c' of g.
void MaskAnalysis::tighten(LinearForm &form) {
  if (form.isConstant())
    return;
  LinearForm terms = form;
  terms.constant = 0;
  int64_t divisor = integers.getDivisor(terms);
  if (divisor > 1)
    form.constant = llvm::divideFloorSigned(form.constant, divisor) * divisor;
}

void MaskAnalysis::addFact(LinearForm form) {
  tighten(form);
  facts.push_back(std::move(form));
}

/// factor * index < limit.
void MaskAnalysis::addUpperBound(Value limit, int64_t factor, Value index) {
  if (auto minimum = limit.getDefiningOp<arith::MinSIOp>()) {
    addUpperBound(minimum.getLhs(), factor, index);
    addUpperBound(minimum.getRhs(), factor, index);
    return;
  }
  if (auto quotient = limit.getDefiningOp<arith::CeilDivSIOp>()) {
    std::optional<int64_t> step = getConstantIntValue(quotient.getRhs());
    if (step && *step > 0 && *step * factor < kLargestConstant)
      return addUpperBound(quotient.getLhs(), *step * factor, index);
  }
  LinearForm form = getLinearForm(limit);
  LinearForm place;
  place.terms[index] = factor;
  form.add(place, -1);
  form.constant -= 1;
  addFact(std::move(form));
}

void MaskAnalysis::addCondition(Value condition, bool holds) {
  Operation *op = condition.getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op); both && holds) {
    addCondition(both.getLhs(), true);
    addCondition(both.getRhs(), true);
  }
  if (auto either = dyn_cast_or_null<arith::OrIOp>(op); either && !holds) {
    addCondition(either.getLhs(), false);
    addCondition(either.getRhs(), false);
  }
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (!compare || !compare.getLhs().getType().isInteger(32))
    return;
  OrderPredicate predicate =
      holds ? compare.getPredicate()
            : arith::invertPredicate(compare.getPredicate());
  LinearForm lhs = getLinearForm(compare.getLhs());
  LinearForm rhs = getLinearForm(compare.getRhs());
  auto add = [&](LinearForm greater, const LinearForm &less, int64_t strict) {
    greater.add(less, -1);
    greater.constant -= strict;
    addFact(std::move(greater));
  };
  switch (predicate) {
  case OrderPredicate::sge:
    return add(lhs, rhs, 0);
  case OrderPredicate::sgt:
    return add(lhs, rhs, 1);
  case OrderPredicate::sle:
    return add(rhs, lhs, 0);
  case OrderPredicate::slt:
    return add(rhs, lhs, 1);
  case OrderPredicate::eq:
    add(lhs, rhs, 0);
    return add(rhs, lhs, 0);
  default:
    return;
  }
}

void MaskAnalysis::collectFacts() {
  auto addLoop = [&](Value index, Value lower, Value upper) {
    LinearForm form;
    form.terms[index] = 1;
    form.add(getLinearForm(lower), -1);
    addFact(std::move(form));
    addUpperBound(upper, 1, index);
  };
  for (Operation *op = loop; op && !isa<KernelOp>(op); op = op->getParentOp()) {
    Operation *parent = op->getParentOp();
    if (auto branch = dyn_cast_or_null<scf::IfOp>(parent)) {
      addCondition(branch.getCondition(),
                   branch.getThenRegion().isAncestor(op->getParentRegion()));
    } else if (auto outer = dyn_cast_or_null<PipelinedOp>(parent)) {
      addLoop(outer.getInductionVar(), outer.getLower(), outer.getUpper());
    } else if (auto outer = dyn_cast_or_null<scf::ForOp>(parent)) {
      if (outer.getInductionVar().getType().isInteger(32) &&
          integers.getRange(outer.getStep()).lower > 0)
        addLoop(outer.getInductionVar(), outer.getLowerBound(),
                outer.getUpperBound());
    } else if (auto kernel = dyn_cast_or_null<KernelOp>(parent)) {
      // Clusters round grids up.
      if (!kernel.getCluster())
        for (auto [index, extent] :
             llvm::zip(kernel.getBodyBlock()->getArguments(), kernel.getGrid()))
          addUpperBound(extent, 1, index);
    }
  }
}

bool MaskAnalysis::isProven(LinearForm form) {
  tighten(form);
  if (integers.getRange(form).lower >= 0)
    return true;
  return llvm::any_of(facts, [&](const LinearForm &fact) {
    LinearForm rest = form;
    rest.add(fact, -1);
    return integers.getRange(rest).lower >= 0;
  });
}

//===----------------------------------------------------------------------===//
// Values that are the same in every iteration
//===----------------------------------------------------------------------===//

bool MaskAnalysis::isInside(Value value) const {
  return loop->isAncestor(value.getParentRegion()->getParentOp());
}

bool MaskAnalysis::isAvailable(Value value) {
  if (!isInside(value))
    return uniformity.isUniform(value);
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return false;
  if (auto it = available.find(value); it != available.end())
    return it->second;
  bool result = llvm::all_of(op->getOperands(), [&](Value operand) {
    return isa<BufferType, MemRefType>(operand.getType()) ||
           isAvailable(operand);
  });
  if (auto load = dyn_cast<LoadOp>(op)) {
    // Guards around the load may be what makes it possible.
    result &= op->getParentOp() == loop;
    Value source = load.getSource();
    result &= !isInside(source) && uniformity.isUniform(source) &&
              uniformity.holdsUniformContents(source);
    if (auto type = dyn_cast<BufferType>(source.getType()))
      result &=
          !type.isFragment() && !writtenBuffers.contains(getAllocation(source));
    else
      result &= !writesTensors;
  } else {
    result &= isPure(op);
  }
  available[value] = result;
  return result;
}

Value MaskAnalysis::hoist(OpBuilder &builder, Value value) {
  if (!isInside(value))
    return value;
  if (Value done = hoisted.lookupOrNull(value))
    return done;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    hoist(builder, operand);
  builder.clone(*op, hoisted);
  return hoisted.lookup(value);
}

bool MaskAnalysis::dependsOn(Operation *outer, Value value) {
  if (!outer->isAncestor(value.getParentRegion()->getParentOp()))
    return false;
  Operation *op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions())
    return true;
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return dependsOn(outer, operand); });
}

bool MaskAnalysis::changesIn(Operation *outer, const MaskCondition &condition) {
  auto changes = [&](const LinearForm &form) {
    return llvm::any_of(form.terms, [&](const auto &term) {
      return dependsOn(outer, term.first);
    });
  };
  return (condition.flag && dependsOn(outer, condition.flag)) ||
         changes(condition.lhs) || changes(condition.rhs) ||
         llvm::any_of(condition.parts, [&](const MaskCondition &part) {
           return changesIn(outer, part);
         });
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static MaskCondition combine(ConditionKind kind,
                             std::vector<MaskCondition> conditions) {
  // For `All`: Always is neutral and Never decides; the reverse for `Any`.
  ConditionKind neutral =
      kind == ConditionKind::All ? ConditionKind::Always : ConditionKind::Never;
  ConditionKind decisive =
      kind == ConditionKind::All ? ConditionKind::Never : ConditionKind::Always;
  MaskCondition result = MaskCondition::get(kind);
  for (MaskCondition &condition : conditions) {
    if (condition.kind == decisive)
      return MaskCondition::get(decisive);
    if (condition.kind == neutral)
      continue;
    result.dependsOnElement |= condition.dependsOnElement;
    result.parts.push_back(std::move(condition));
  }
  if (result.parts.empty())
    return MaskCondition::get(neutral);
  if (result.parts.size() == 1) {
    MaskCondition only = std::move(result.parts.front());
    return only;
  }
  return result;
}

MaskCondition MaskAnalysis::all(std::vector<MaskCondition> conditions) {
  return combine(ConditionKind::All, std::move(conditions));
}

MaskCondition MaskAnalysis::any(std::vector<MaskCondition> conditions) {
  return combine(ConditionKind::Any, std::move(conditions));
}

/// Replaces an order that always or never holds.
MaskCondition MaskAnalysis::decide(MaskCondition condition) {
  LinearForm difference = condition.lhs;
  difference.add(condition.rhs, -1);
  difference.constant -= condition.strict ? 1 : 0;
  if (isProven(difference))
    return MaskCondition::get(ConditionKind::Always);
  LinearForm opposite;
  opposite.add(difference, -1);
  opposite.constant -= 1;
  if (isProven(opposite))
    return MaskCondition::get(ConditionKind::Never);
  return condition;
}

std::optional<MaskCondition> MaskAnalysis::requireOrder(Value lhs, Value rhs,
                                                        bool strict) {
  MaskCondition condition = MaskCondition::get(ConditionKind::Order);
  condition.strict = strict;
  // Terms that differ between elements; those of both sides cancel.
  LinearForm varying;
  for (auto [value, side, sign] : {std::make_tuple(lhs, &condition.lhs, 1),
                                   std::make_tuple(rhs, &condition.rhs, -1)}) {
    LinearForm form = getLinearForm(value);
    side->constant = form.constant;
    for (auto [term, coefficient] : form.terms) {
      LinearForm one;
      one.terms[term] = coefficient;
      if (isAvailable(term))
        side->add(one);
      else
        varying.add(one, sign);
    }
  }
  // The smallest difference decides. What is added to a side is added to it by
  // some element, too, so that nothing wraps around that did not before.
  for (auto [term, coefficient] : varying.terms) {
    if (!term.getType().isInteger(32) && !term.getType().isIndex())
      return std::nullopt;
    IntegerRange range = integers.getRange(term);
    if (range.lower == std::numeric_limits<int32_t>::min() ||
        range.upper == std::numeric_limits<int32_t>::max())
      return std::nullopt;
    int64_t least =
        std::min(coefficient * range.lower, coefficient * range.upper);
    if (coefficient > 0)
      condition.lhs.constant += least;
    else
      condition.rhs.constant -= least;
    condition.dependsOnElement = true;
  }
  for (LinearForm *side : {&condition.lhs, &condition.rhs}) {
    if (std::abs(side->constant) > kLargestConstant &&
        condition.dependsOnElement)
      return std::nullopt;
    if (side->constant < std::numeric_limits<int32_t>::min() ||
        side->constant > std::numeric_limits<int32_t>::max())
      return std::nullopt;
  }
  return decide(std::move(condition));
}

std::optional<MaskCondition>
MaskAnalysis::requireUnsigned(Value lhs, Value rhs, bool strict, bool wanted) {
  // Unsigned lhs < rhs (strict) or lhs <= rhs.
  bool bothPositive = integers.getRange(getLinearForm(lhs)).lower >= 0 &&
                      integers.getRange(getLinearForm(rhs)).lower >= 0;
  if (bothPositive)
    return wanted ? requireOrder(rhs, lhs, strict)
                  : requireOrder(lhs, rhs, !strict);
  // 0 <= lhs < rhs, as programs write it for one comparison.
  if (integers.getRange(getLinearForm(rhs)).lower < 0)
    return std::nullopt;
  OpBuilder builder(loop);
  Value zero = arith::ConstantIntOp::create(builder, loop.getLoc(), 0, 32);
  std::optional<MaskCondition> below =
      wanted ? requireOrder(rhs, lhs, strict) : requireOrder(lhs, rhs, !strict);
  std::optional<MaskCondition> sign =
      wanted ? requireOrder(lhs, zero, false) : requireOrder(zero, lhs, true);
  zero.getDefiningOp()->erase();
  if (!below || !sign)
    return std::nullopt;
  return wanted ? all({*below, *sign}) : any({*below, *sign});
}

std::optional<MaskCondition> MaskAnalysis::require(Value predicate,
                                                   bool wanted) {
  if (std::optional<int64_t> constant = getConstantIntValue(predicate))
    return MaskCondition::get((*constant != 0) == wanted
                                  ? ConditionKind::Always
                                  : ConditionKind::Never);
  Operation *op = predicate.getDefiningOp();
  if (op && isa<arith::AndIOp, arith::OrIOp>(op)) {
    std::optional<MaskCondition> lhs = require(op->getOperand(0), wanted);
    std::optional<MaskCondition> rhs = require(op->getOperand(1), wanted);
    if (isa<arith::AndIOp>(op) == wanted) {
      if (!lhs || !rhs)
        return std::nullopt;
      return all({*lhs, *rhs});
    }
    // One side is enough.
    if (lhs && rhs)
      return any({*lhs, *rhs});
    return lhs ? lhs : rhs;
  }
  if (auto negation = dyn_cast_or_null<arith::XOrIOp>(op))
    if (getConstantIntValue(negation.getRhs()).value_or(0) != 0)
      return require(negation.getLhs(), !wanted);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  if (compare && compare.getLhs().getType().isInteger(32)) {
    Value lhs = compare.getLhs(), rhs = compare.getRhs();
    OrderPredicate order = wanted
                               ? compare.getPredicate()
                               : arith::invertPredicate(compare.getPredicate());
    std::optional<MaskCondition> one, two;
    switch (order) {
    case OrderPredicate::sge:
      return requireOrder(lhs, rhs, false);
    case OrderPredicate::sgt:
      return requireOrder(lhs, rhs, true);
    case OrderPredicate::sle:
      return requireOrder(rhs, lhs, false);
    case OrderPredicate::slt:
      return requireOrder(rhs, lhs, true);
    case OrderPredicate::ult:
      return requireUnsigned(lhs, rhs, true, true);
    case OrderPredicate::ule:
      return requireUnsigned(lhs, rhs, false, true);
    case OrderPredicate::uge:
      return requireUnsigned(lhs, rhs, true, false);
    case OrderPredicate::ugt:
      return requireUnsigned(lhs, rhs, false, false);
    case OrderPredicate::eq:
    case OrderPredicate::ne: {
      bool equal = order == OrderPredicate::eq;
      one = requireOrder(lhs, rhs, /*strict=*/!equal);
      two = requireOrder(rhs, lhs, /*strict=*/!equal);
      if (!one || !two)
        return std::nullopt;
      return equal ? all({*one, *two}) : any({*one, *two});
    }
    }
  }
  if (!isAvailable(predicate))
    return std::nullopt;
  MaskCondition condition = MaskCondition::get(ConditionKind::Flag);
  condition.flag = predicate;
  condition.wanted = wanted;
  return condition;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Value MaskAnalysis::emit(OpBuilder &b, const MaskCondition &condition) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  auto sum = [&](const LinearForm &form) -> Value {
    Value result;
    for (auto [term, coefficient] : form.terms) {
      Value value = hoist(b, term);
      Type i32 = b.getI32Type();
      if (value.getType().isIndex())
        value = arith::IndexCastOp::create(b, loc, i32, value);
      else if (value.getType() != i32)
        value = arith::ExtSIOp::create(b, loc, i32, value);
      if (coefficient != 1)
        value = arith::MulIOp::create(b, loc, value, constant(coefficient));
      result = result ? arith::AddIOp::create(b, loc, result, value).getResult()
                      : value;
    }
    if (!result)
      return constant(form.constant);
    if (form.constant != 0)
      result = arith::AddIOp::create(b, loc, result, constant(form.constant));
    return result;
  };
  auto flag = [&](bool value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 1);
  };
  switch (condition.kind) {
  case ConditionKind::Always:
    return flag(true);
  case ConditionKind::Never:
    return flag(false);
  case ConditionKind::Flag: {
    Value value = hoist(b, condition.flag);
    return condition.wanted
               ? value
               : arith::XOrIOp::create(b, loc, value, flag(true)).getResult();
  }
  case ConditionKind::Order: {
    Value lhs = sum(condition.lhs), rhs = sum(condition.rhs);
    return arith::CmpIOp::create(
        b, loc, condition.strict ? OrderPredicate::sgt : OrderPredicate::sge,
        lhs, rhs);
  }
  case ConditionKind::All:
  case ConditionKind::Any:
    break;
  }
  Value result;
  for (const MaskCondition &part : condition.parts) {
    Value value = emit(b, part);
    if (!result)
      result = value;
    else if (condition.kind == ConditionKind::All)
      result = arith::AndIOp::create(b, loc, result, value);
    else
      result = arith::OrIOp::create(b, loc, result, value);
  }
  return result;
}
