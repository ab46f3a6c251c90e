// Compiled launch plan expressions against a direct evaluation of their trees.
#include "tilemlir/Runtime/Expression.h"
#include "UnitTest.h"
#include "tilemlir/Runtime/Failure.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace tilemlir::runtime;
using namespace tilemlir::unittest;
using Kind = ExpressionTree::Kind;

namespace {

constexpr int kLeaves = 6;

ExpressionTree leaf(Kind kind, int32_t argument) {
  ExpressionTree tree;
  tree.kind = kind;
  tree.argument = argument;
  return tree;
}

ExpressionTree randomTree(int depth) {
  if (depth == 0 || chance(20)) {
    if (chance(40))
      return ExpressionTree::constant(random(-20, 20));
    return leaf(Kind::Symbol, static_cast<int32_t>(random(0, kLeaves - 1)));
  }
  ExpressionTree tree;
  tree.kind = static_cast<Kind>(
      random(static_cast<int64_t>(Kind::Add), static_cast<int64_t>(Kind::Max)));
  tree.operands = {randomTree(depth - 1), randomTree(depth - 1)};
  return tree;
}

/// The definition of the operators, in floating point where division rounds:
/// the values of these tests are small. No value for a division by zero.
std::optional<int64_t> evaluate(const ExpressionTree &tree,
                                const int64_t *slots) {
  if (tree.kind == Kind::Constant)
    return tree.value;
  if (tree.kind == Kind::Symbol)
    return slots[tree.argument];
  std::optional<int64_t> left = evaluate(tree.operands[0], slots);
  std::optional<int64_t> right = evaluate(tree.operands[1], slots);
  if (!left || !right)
    return std::nullopt;
  long double quotient = static_cast<long double>(*left) / *right;
  switch (tree.kind) {
  case Kind::Add:
    return *left + *right;
  case Kind::Sub:
    return *left - *right;
  case Kind::Mul:
    return *left * *right;
  case Kind::Min:
    return std::min(*left, *right);
  case Kind::Max:
    return std::max(*left, *right);
  default:
    break;
  }
  if (*right == 0)
    return std::nullopt;
  if (tree.kind == Kind::CeilDiv)
    return static_cast<int64_t>(std::ceil(quotient));
  auto floor = static_cast<int64_t>(std::floor(quotient));
  return tree.kind == Kind::FloorDiv ? floor : *left - floor * *right;
}

int32_t slotOf(const ExpressionTree &leaf) { return leaf.argument; }

std::string failureCode(const ExpressionTree &tree, const int64_t *slots) {
  try {
    Expression(tree, slotOf).evaluate(slots);
  } catch (const Failure &failure) {
    return failure.code();
  }
  return "";
}

} // namespace

TEST(CompiledExpressionsAgreeWithTheirTrees) {
  for (int round = 0; round < 3000; ++round) {
    // Five levels of products of values up to 20 stay far below 2^62.
    ExpressionTree tree = randomTree(static_cast<int>(random(0, 3)));
    int64_t slots[kLeaves];
    for (int64_t &slot : slots)
      slot = random(-20, 20);
    std::optional<int64_t> expected = evaluate(tree, slots);
    std::optional<int64_t> found;
    try {
      found = Expression(tree, slotOf).evaluate(slots);
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.code(), std::string("arithmetic"));
    }
    EXPECT_TRUE(found == expected);
  }
}

TEST(ConstantsAndSingleSlotsNeedNoSteps) {
  int64_t slots[] = {7, 8};
  EXPECT_TRUE(Expression(ExpressionTree::constant(5), slotOf).isConstant());
  EXPECT_TRUE(Expression(leaf(Kind::Symbol, 1), slotOf).isSlot(1));
  ExpressionTree product;
  product.kind = Kind::Mul;
  product.operands = {ExpressionTree::constant(6), ExpressionTree::constant(7)};
  Expression folded(product, slotOf);
  EXPECT_TRUE(folded.isConstant());
  EXPECT_EQ(folded.evaluate(slots), int64_t{42});
}

TEST(OverflowAndDivisionByZeroAreFailures) {
  const int64_t slots[] = {INT64_MAX, INT64_MIN, 0, -1};
  auto binary = [](Kind kind, int32_t left, int32_t right) {
    ExpressionTree tree;
    tree.kind = kind;
    tree.operands = {leaf(Kind::Symbol, left), leaf(Kind::Symbol, right)};
    return tree;
  };
  for (Kind kind : {Kind::Add, Kind::Mul})
    EXPECT_EQ(failureCode(binary(kind, 0, 0), slots),
              std::string("arithmetic"));
  EXPECT_EQ(failureCode(binary(Kind::Sub, 1, 0), slots),
            std::string("arithmetic"));
  for (Kind kind : {Kind::FloorDiv, Kind::CeilDiv, Kind::Mod}) {
    EXPECT_EQ(failureCode(binary(kind, 0, 2), slots),
              std::string("arithmetic"));
    EXPECT_EQ(failureCode(binary(kind, 1, 3), slots),
              std::string("arithmetic"));
  }
  EXPECT_EQ(failureCode(binary(Kind::Min, 0, 1), slots), std::string());
}

TEST(TooDeepExpressionsAreRefused) {
  ExpressionTree tree = leaf(Kind::Symbol, 0);
  for (int level = 0; level < kMaxExpressionDepth; ++level) {
    ExpressionTree next;
    next.kind = Kind::Add;
    next.operands = {leaf(Kind::Symbol, 0), tree};
    tree = next;
  }
  const int64_t slots[] = {1};
  EXPECT_EQ(failureCode(tree, slots), std::string("bad-plan"));
}
