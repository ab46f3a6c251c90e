//===- SymbolicValues.cpp - integers of a kernel, known or not --*- C++ -*-===//
//
// Values are kept sign-extended to 64 bits; those of one bit are 0 or 1.
//
//===----------------------------------------------------------------------===//
#include "SymbolicValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Bits of an integer type; 64 of index; 0 of all others.
static unsigned getWidth(Type type) {
  if (type.isIndex())
    return 64;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() <= 64 ? integer.getWidth() : 0;
}

static CalculationKind classifyComparison(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  CalculationKind result;
  switch (predicate) {
  case P::eq:
  case P::ne:
    result.kind = Calculation::Equal;
    break;
  case P::slt:
  case P::sgt:
  case P::sle:
  case P::sge:
    result.kind = Calculation::LessS;
    break;
  case P::ult:
  case P::ugt:
  case P::ule:
  case P::uge:
    result.kind = Calculation::LessU;
    break;
  }
  result.swapped =
      llvm::is_contained({P::sgt, P::ugt, P::sle, P::ule}, predicate);
  result.negated =
      llvm::is_contained({P::ne, P::sle, P::ule, P::sge, P::uge}, predicate);
  return result;
}

CalculationKind mlir::tile::classifyCalculation(Operation *op) {
  CalculationKind result;
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return result;
  unsigned width = getWidth(op->getResult(0).getType());
  unsigned operandWidth =
      getWidth(op->getOperand(op->getNumOperands() - 1).getType());
  if (!width || !operandWidth)
    return result;
  using C = Calculation;
  result.kind = llvm::TypeSwitch<Operation *, C>(op)
                    .Case<arith::AddIOp>([](auto) { return C::Add; })
                    .Case<arith::SubIOp>([](auto) { return C::Sub; })
                    .Case<arith::MulIOp>([](auto) { return C::Mul; })
                    .Case<arith::DivSIOp>([](auto) { return C::DivS; })
                    .Case<arith::DivUIOp>([](auto) { return C::DivU; })
                    .Case<arith::FloorDivSIOp>([](auto) { return C::FloorDiv; })
                    .Case<arith::CeilDivSIOp>([](auto) { return C::CeilDivS; })
                    .Case<arith::CeilDivUIOp>([](auto) { return C::CeilDivU; })
                    .Case<arith::RemSIOp>([](auto) { return C::RemS; })
                    .Case<arith::RemUIOp>([](auto) { return C::RemU; })
                    .Case<arith::MinSIOp>([](auto) { return C::MinS; })
                    .Case<arith::MaxSIOp>([](auto) { return C::MaxS; })
                    .Case<arith::MinUIOp>([](auto) { return C::MinU; })
                    .Case<arith::MaxUIOp>([](auto) { return C::MaxU; })
                    .Case<arith::AndIOp>([](auto) { return C::And; })
                    .Case<arith::OrIOp>([](auto) { return C::Or; })
                    .Case<arith::XOrIOp>([](auto) { return C::XOr; })
                    .Case<arith::ShLIOp>([](auto) { return C::ShL; })
                    .Case<arith::ShRSIOp>([](auto) { return C::ShRS; })
                    .Case<arith::ShRUIOp>([](auto) { return C::ShRU; })
                    .Case<arith::SelectOp>([](auto) { return C::Select; })
                    .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
                        [](auto) { return C::ExtendU; })
                    .Case<arith::ExtSIOp>([](auto) { return C::ExtendS; })
                    .Case<arith::IndexCastOp>([&](auto) {
                      return width > operandWidth ? C::ExtendS : C::Truncate;
                    })
                    .Case<arith::TruncIOp>([](auto) { return C::Truncate; })
                    .Default([](Operation *) { return C::Opaque; });
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    result = classifyComparison(compare.getPredicate());
  result.width = width;
  result.operandWidth = operandWidth;
  return result;
}

static int64_t wrap(int64_t value, unsigned width) {
  if (width >= 64)
    return value;
  return width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

static uint64_t getBits(int64_t value, unsigned width) {
  return width >= 64 ? value : value & llvm::maskTrailingOnes<uint64_t>(width);
}

static std::optional<int64_t> calculate(Calculation kind,
                                        ArrayRef<SymbolicValue> operands,
                                        unsigned operandWidth) {
  int64_t a = operands[0].value;
  int64_t b = operands.size() > 1 ? operands[1].value : 0;
  uint64_t ua = getBits(a, operandWidth), ub = getBits(b, operandWidth);
  switch (kind) {
  case Calculation::Opaque:
    return std::nullopt;
  case Calculation::Add:
    return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
  case Calculation::Sub:
    return static_cast<int64_t>(static_cast<uint64_t>(a) - b);
  case Calculation::Mul:
    return static_cast<int64_t>(static_cast<uint64_t>(a) * b);
  case Calculation::DivS:
  case Calculation::FloorDiv:
  case Calculation::CeilDivS:
  case Calculation::RemS: {
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    int64_t quotient = a / b, remainder = a % b;
    if (kind == Calculation::RemS)
      return remainder;
    if (kind == Calculation::FloorDiv)
      return quotient - (remainder != 0 && (remainder < 0) != (b < 0));
    if (kind == Calculation::CeilDivS)
      return quotient + (remainder != 0 && (remainder < 0) == (b < 0));
    return quotient;
  }
  case Calculation::DivU:
    return ub ? std::optional<int64_t>(ua / ub) : std::nullopt;
  case Calculation::CeilDivU:
    return ub ? std::optional<int64_t>(ua / ub + (ua % ub != 0)) : std::nullopt;
  case Calculation::RemU:
    return ub ? std::optional<int64_t>(ua % ub) : std::nullopt;
  case Calculation::MinS:
    return std::min(a, b);
  case Calculation::MaxS:
    return std::max(a, b);
  case Calculation::MinU:
    return ua < ub ? a : b;
  case Calculation::MaxU:
    return ua > ub ? a : b;
  case Calculation::And:
    return a & b;
  case Calculation::Or:
    return a | b;
  case Calculation::XOr:
    return a ^ b;
  case Calculation::ShL:
  case Calculation::ShRS:
  case Calculation::ShRU:
    if (ub >= operandWidth)
      return std::nullopt;
    return kind == Calculation::ShL    ? static_cast<int64_t>(ua << ub)
           : kind == Calculation::ShRS ? a >> ub
                                       : static_cast<int64_t>(ua >> ub);
  case Calculation::LessS:
    return a < b;
  case Calculation::LessU:
    return ua < ub;
  case Calculation::Equal:
    return a == b;
  case Calculation::Not:
    return a ^ 1;
  case Calculation::Select:
    return a ? b : operands[2].value;
  case Calculation::ExtendU:
    return static_cast<int64_t>(ua);
  case Calculation::ExtendS:
    return operandWidth == 1 ? -a : a;
  case Calculation::Truncate:
    return a;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

SymbolicValue SymbolicExpressions::intern(Node node) {
  uint64_t hash = llvm::hash_combine(static_cast<int>(node.kind), node.width,
                                     node.operandWidth, node.identity,
                                     node.attributes, node.instance);
  for (const SymbolicValue &operand : node.operands)
    hash = llvm::hash_combine(hash, operand.value, operand.isKnown);
  hash >>= 1; // Away from the keys that DenseMap keeps for itself.
  SmallVector<unsigned, 1> &bucket = buckets[hash];
  for (unsigned index : bucket) {
    const Node &other = nodes[index];
    if (other.kind == node.kind && other.width == node.width &&
        other.operandWidth == node.operandWidth &&
        other.identity == node.identity &&
        other.attributes == node.attributes &&
        other.instance == node.instance && other.operands == node.operands)
      return {index, false};
  }
  bucket.push_back(nodes.size());
  nodes.push_back(std::move(node));
  return {static_cast<int64_t>(nodes.size()) - 1, false};
}

SymbolicValue SymbolicExpressions::makeOpaque(const void *identity,
                                              const void *attributes,
                                              ArrayRef<SymbolicValue> operands,
                                              int64_t instance, unsigned width,
                                              bool isDivergent) {
  Node node;
  node.identity = identity;
  node.attributes = attributes;
  node.operands.assign(operands.begin(), operands.end());
  node.instance = instance;
  node.width = width;
  node.isDivergent = isDivergent;
  for (SymbolicValue operand : operands)
    node.isDivergent |= this->isDivergent(operand);
  return intern(std::move(node));
}

/// (x * factor + rest) divided by a multiple or divisor of the factor, or what
/// is left of it: how blocks of a cluster calculate what they have in common.
std::optional<SymbolicValue> SymbolicExpressions::divide(SymbolicValue dividend,
                                                         int64_t divisor,
                                                         bool wantsRest,
                                                         unsigned width) {
  if (dividend.isKnown || divisor <= 0)
    return std::nullopt;
  Node node = nodes[dividend.value];
  int64_t rest = 0;
  if (node.kind == Calculation::Add && node.operands[1].isKnown &&
      !node.operands[0].isKnown) {
    rest = node.operands[1].value;
    Node inner = nodes[node.operands[0].value];
    node = std::move(inner);
  }
  if (node.kind != Calculation::Mul || !node.operands[1].isKnown)
    return std::nullopt;
  SymbolicValue x = node.operands[0];
  int64_t factor = node.operands[1].value;
  if (rest < 0 || factor <= rest)
    return std::nullopt;
  auto known = [](int64_t value) { return SymbolicValue{value, true}; };
  auto combine = [&](SymbolicValue base, int64_t times, int64_t plus) {
    SymbolicValue product =
        apply(Calculation::Mul, {base, known(times)}, width, width);
    return apply(Calculation::Add, {product, known(plus)}, width, width);
  };
  if (factor % divisor == 0)
    return wantsRest ? known(rest % divisor)
                     : combine(x, factor / divisor, rest / divisor);
  if (divisor % factor != 0)
    return std::nullopt;
  SymbolicValue by = known(divisor / factor);
  if (!wantsRest)
    return apply(Calculation::DivU, {x, by}, width, width);
  return combine(apply(Calculation::RemU, {x, by}, width, width), factor, rest);
}

SymbolicValue SymbolicExpressions::apply(Calculation kind,
                                         ArrayRef<SymbolicValue> operands,
                                         unsigned operandWidth,
                                         unsigned width) {
  if (llvm::all_of(operands, [](SymbolicValue v) { return v.isKnown; }))
    if (std::optional<int64_t> result = calculate(kind, operands, operandWidth))
      return {wrap(*result, width), true};
  SymbolicValue a = operands[0];
  SymbolicValue b = operands.size() > 1 ? operands[1] : SymbolicValue();
  SymbolicValue zero, one{1, true};
  switch (kind) {
  case Calculation::Add:
  case Calculation::Or:
  case Calculation::XOr:
    if (b == zero)
      return a;
    if (a == zero)
      return b;
    if (width == 1 && kind == Calculation::Or && (a == one || b == one))
      return one;
    if (width == 1 && kind == Calculation::XOr && b == one)
      return apply(Calculation::Not, a, 1, 1);
    if (width == 1 && kind == Calculation::XOr && a == one)
      return apply(Calculation::Not, b, 1, 1);
    break;
  case Calculation::And:
    if (a == zero || b == zero)
      return zero;
    if (width == 1 && a == one)
      return b;
    if (width == 1 && b == one)
      return a;
    break;
  case Calculation::Mul:
    if (a == zero || b == zero)
      return zero;
    if (b == one)
      return a;
    break;
  case Calculation::Sub:
    if (b == zero)
      return a;
    if (a == b)
      return zero;
    break;
  case Calculation::DivU:
  case Calculation::RemU:
    if (b == one)
      return kind == Calculation::DivU ? a : zero;
    if (b.isKnown)
      if (std::optional<SymbolicValue> result =
              divide(a, b.value, kind == Calculation::RemU, width))
        return *result;
    break;
  case Calculation::Not:
    if (!a.isKnown && nodes[a.value].kind == Calculation::Not)
      return nodes[a.value].operands[0];
    break;
  case Calculation::Select:
    if (a.isKnown)
      return a.value ? b : operands[2];
    break;
  default:
    break;
  }
  Node node;
  node.kind = kind;
  node.operandWidth = operandWidth;
  node.width = width;
  node.operands.assign(operands.begin(), operands.end());
  for (SymbolicValue operand : operands)
    node.isDivergent |= isDivergent(operand);
  return intern(std::move(node));
}

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

SymbolicValue SymbolicExpressions::resolve(SymbolicValue value) {
  if (value.isKnown)
    return value;
  auto found = assigned.find(value.value);
  if (found != assigned.end())
    return {found->second, true};
  auto before = resolved.find(value.value);
  if (before != resolved.end() && before->second.first == numAssignments)
    return before->second.second;
  SymbolicValue result = resolveOperands(value);
  if (result.isKnown)
    assigned[value.value] = result.value;
  resolved[value.value] = {numAssignments, result};
  return result;
}

SymbolicValue SymbolicExpressions::resolveOperands(SymbolicValue value) {
  // A copy: the recursion may add nodes.
  Node node = nodes[value.value];
  bool changed = false;
  for (SymbolicValue &operand : node.operands) {
    SymbolicValue now = resolve(operand);
    changed |= !(now == operand);
    operand = now;
  }
  if (!changed)
    return value;
  SymbolicValue result =
      node.kind == Calculation::Opaque
          ? makeOpaque(node.identity, node.attributes, node.operands,
                       node.instance, node.width, node.isDivergent)
          : apply(node.kind, node.operands, node.operandWidth, node.width);
  if (!result.isKnown && node.loop >= 0)
    nodes[result.value].loop = node.loop;
  return result == value ? value : resolve(result);
}

/// Inverts the calculation for one unknown operand.
bool SymbolicExpressions::assignOperand(SymbolicValue value, int64_t number) {
  Node node = nodes[value.value];
  if (node.operands.empty())
    return false;
  auto known = [&](SymbolicValue operand) {
    SymbolicValue now = resolve(operand);
    return now.isKnown ? now : operand;
  };
  SymbolicValue a = known(node.operands[0]);
  SymbolicValue b =
      node.operands.size() > 1 ? known(node.operands[1]) : SymbolicValue();
  if (!a.isKnown && b.isKnown) {
    switch (node.kind) {
    case Calculation::Add:
      assign(a, number - b.value);
      return true;
    case Calculation::Sub:
      assign(a, number + b.value);
      return true;
    case Calculation::Mul:
      if (b.value == 0 || number % b.value)
        return false;
      assign(a, number / b.value);
      return true;
    case Calculation::DivS:
    case Calculation::DivU:
    case Calculation::FloorDiv:
    case Calculation::CeilDivS:
    case Calculation::CeilDivU:
      assign(a, number * b.value);
      return true;
    case Calculation::MinS:
    case Calculation::MaxS:
    case Calculation::MinU:
    case Calculation::MaxU:
    case Calculation::ExtendS:
    case Calculation::ExtendU:
    case Calculation::Truncate:
      assign(a, number);
      return true;
    default:
      return false;
    }
  }
  if (a.isKnown && !b.isKnown) {
    switch (node.kind) {
    case Calculation::Add:
      assign(b, number - a.value);
      return true;
    case Calculation::Sub:
      assign(b, a.value - number);
      return true;
    case Calculation::MinS:
    case Calculation::MaxS:
    case Calculation::MinU:
    case Calculation::MaxU:
      assign(b, number);
      return true;
    default:
      return false;
    }
  }
  if (!a.isKnown && !b.isKnown &&
      (node.kind == Calculation::MinS || node.kind == Calculation::MaxS)) {
    assign(a, number);
    if (!resolve(b).isKnown)
      assign(b, number);
    return true;
  }
  return false;
}

void SymbolicExpressions::assign(SymbolicValue value, int64_t number) {
  SymbolicValue node = resolve(value);
  if (node.isKnown)
    return;
  number = wrap(number, nodes[value.value].width);
  assignOperand(value, number);
  // Also what others that resolve to the same are to be.
  for (SymbolicValue one : {value, node})
    assigned[one.value] = number;
  ++numAssignments;
}
