//===- Expression.cpp - Compiled integer expressions ------------*- C++ -*-===//
//
// Flattening to postfix form and the checked evaluation of it.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/Expression.h"
#include "tilemlir/Runtime/Failure.h"

#include <algorithm>
#include <limits>

using namespace tilemlir::runtime;
using Kind = ExpressionTree::Kind;

namespace {

bool isLeaf(Kind kind) { return kind <= Kind::SmCount; }

[[noreturn]] void failArithmetic(const char *what, int64_t left,
                                 int64_t right) {
  throw Failure("arithmetic",
                {{"operation", what}, {"left", left}, {"right", right}});
}

int64_t apply(Kind kind, int64_t left, int64_t right) {
  int64_t result = 0;
  switch (kind) {
  case Kind::Add:
    if (__builtin_add_overflow(left, right, &result))
      failArithmetic("add", left, right);
    return result;
  case Kind::Sub:
    if (__builtin_sub_overflow(left, right, &result))
      failArithmetic("sub", left, right);
    return result;
  case Kind::Mul:
    if (__builtin_mul_overflow(left, right, &result))
      failArithmetic("mul", left, right);
    return result;
  case Kind::Min:
    return std::min(left, right);
  case Kind::Max:
    return std::max(left, right);
  default:
    break;
  }
  const char *name = kind == Kind::FloorDiv  ? "floordiv"
                     : kind == Kind::CeilDiv ? "ceildiv"
                                             : "mod";
  if (right == 0 ||
      (right == -1 && left == std::numeric_limits<int64_t>::min()))
    failArithmetic(name, left, right);
  int64_t quotient = left / right;
  int64_t remainder = left % right;
  bool signsDiffer = (remainder < 0) != (right < 0);
  if (kind == Kind::FloorDiv)
    return remainder != 0 && signsDiffer ? quotient - 1 : quotient;
  if (kind == Kind::CeilDiv)
    return remainder != 0 && !signsDiffer ? quotient + 1 : quotient;
  return remainder != 0 && signsDiffer ? remainder + right : remainder;
}

} // namespace

Expression::Expression(const ExpressionTree &tree, const SlotOf &slotOf) {
  if (tree.kind == Kind::Constant) {
    value = tree.value;
    return;
  }
  if (isLeaf(tree.kind)) {
    slot = slotOf(tree);
    return;
  }
  depth = append(tree, slotOf);
  if (depth > kMaxExpressionDepth)
    throw Failure("bad-plan",
                  {{"detail", "an expression is nested too deeply"}});
  // Constant operands only: fold now, and report overflow when the plan loads.
  if (std::none_of(steps.begin(), steps.end(), [](const Step &step) {
        return isLeaf(step.kind) && step.kind != Kind::Constant;
      })) {
    value = run(nullptr);
    steps.clear();
  }
}

int32_t Expression::append(const ExpressionTree &tree, const SlotOf &slotOf) {
  if (isLeaf(tree.kind)) {
    int32_t index = tree.kind == Kind::Constant ? -1 : slotOf(tree);
    steps.push_back({tree.kind, index, tree.value});
    return 1;
  }
  if (tree.operands.size() != 2)
    throw Failure("bad-plan",
                  {{"detail", "an expression operator needs two operands"}});
  int32_t left = append(tree.operands[0], slotOf);
  int32_t right = append(tree.operands[1], slotOf);
  steps.push_back({tree.kind, -1, 0});
  return std::max(left, right + 1);
}

int64_t Expression::run(const int64_t *slots) const {
  int64_t stack[kMaxExpressionDepth];
  int32_t top = 0;
  for (const Step &step : steps) {
    if (step.kind == Kind::Constant)
      stack[top++] = step.value;
    else if (isLeaf(step.kind))
      stack[top++] = slots[step.slot];
    else {
      --top;
      stack[top - 1] = apply(step.kind, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}
