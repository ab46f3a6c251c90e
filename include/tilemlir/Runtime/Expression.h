//===- Expression.h - Compiled integer expressions --------------*- C++ -*-===//
//
// A launch plan's expression trees flattened over numbered slots (sizes,
// strides, symbols, scalars), so that a launch evaluates most of them with one
// load.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_EXPRESSION_H
#define TILEMLIR_RUNTIME_EXPRESSION_H

#include "tilemlir/Runtime/LaunchPlan.h"

#include <functional>

namespace tilemlir::runtime {

class Expression {
public:
  /// Maps a leaf (Dim, Stride, Symbol, Scalar, SmCount) to its slot; throws
  /// when the leaf names something that does not exist.
  using SlotOf = std::function<int32_t(const ExpressionTree &leaf)>;

  Expression() = default;
  Expression(const ExpressionTree &tree, const SlotOf &slotOf);

  /// Throws Failure("arithmetic") on overflow or division by zero.
  int64_t evaluate(const int64_t *slots) const {
    if (isConstant())
      return value;
    if (steps.empty())
      return slots[slot];
    return run(slots);
  }

  bool isConstant() const { return steps.empty() && slot < 0; }
  bool isSlot(int32_t index) const { return steps.empty() && slot == index; }

private:
  struct Step {
    ExpressionTree::Kind kind;
    int32_t slot;
    int64_t value;
  };

  int32_t append(const ExpressionTree &tree, const SlotOf &slotOf);
  int64_t run(const int64_t *slots) const;

  int64_t value = 0;
  int32_t slot = -1;
  int32_t depth = 0;
  std::vector<Step> steps; ///< postfix; empty for a constant or one slot
};

/// Deepest evaluation stack an expression may need.
constexpr int32_t kMaxExpressionDepth = 64;

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_EXPRESSION_H
