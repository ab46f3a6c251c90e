//===- MaskConditions.h - when a mask is the same for a tile ----*- C++ -*-===//
//
// A predicate of the elements of a parallel loop has one value for all of them
// under a condition that does not depend on the element. This finds it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MASKCONDITIONS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MASKCONDITIONS_H

#include "IntegerAnalysis.h"
#include "Uniformity.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::tile {

/// A condition on values that are the same for all threads and elements.
struct MaskCondition {
  enum class Kind {
    Always,
    Never,
    /// lhs >= rhs, or lhs > rhs if `strict`.
    Order,
    /// `flag` has the value `wanted`.
    Flag,
    All,
    Any
  };
  Kind kind = Kind::Always;
  LinearForm lhs, rhs;
  bool strict = false;
  Value flag;
  bool wanted = true;
  std::vector<MaskCondition> parts;
  /// Made for the worst element of a tile, not the same for all anyway.
  bool dependsOnElement = false;

  static MaskCondition get(Kind kind) {
    MaskCondition condition;
    condition.kind = kind;
    return condition;
  }
  bool isAlways() const { return kind == Kind::Always; }
  bool isNever() const { return kind == Kind::Never; }
};

/// Conditions of the predicates in the body of one parallel loop.
class MaskAnalysis {
public:
  MaskAnalysis(ParallelOp loop, IntegerAnalysis &integers,
               const Uniformity &uniformity);

  /// A condition under which `predicate` is `wanted` in every iteration;
  /// nothing if there is none that can be computed in front of the loop.
  std::optional<MaskCondition> require(Value predicate, bool wanted);

  /// Whether `value` is the same in every iteration, and can be computed in
  /// front of the loop.
  bool isAvailable(Value value);
  /// `value` in front of the loop, where `builder` stands.
  Value hoist(OpBuilder &builder, Value value);
  /// The condition as an i1 in front of the loop.
  Value emit(OpBuilder &builder, const MaskCondition &condition);

  /// Whether `condition` may change between the iterations of `outer`.
  bool changesIn(Operation *outer, const MaskCondition &condition);

  /// True if all of `conditions` hold.
  static MaskCondition all(std::vector<MaskCondition> conditions);
  static MaskCondition any(std::vector<MaskCondition> conditions);

private:
  std::optional<MaskCondition> requireOrder(Value lhs, Value rhs, bool strict);
  std::optional<MaskCondition> requireUnsigned(Value lhs, Value rhs,
                                               bool strict, bool wanted);
  MaskCondition decide(MaskCondition condition);
  bool isInside(Value value) const;
  bool dependsOn(Operation *outer, Value value);

  void collectFacts();
  void addCondition(Value condition, bool holds);
  void addUpperBound(Value limit, int64_t factor, Value index);
  void addFact(LinearForm form);
  void tighten(LinearForm &form);
  bool isProven(LinearForm form);

  ParallelOp loop;
  IntegerAnalysis &integers;
  const Uniformity &uniformity;
  /// Forms that are not negative where the loop stands.
  SmallVector<LinearForm> facts;
  llvm::DenseSet<Operation *> writtenBuffers;
  bool writesTensors = false;
  llvm::DenseMap<Value, bool> available;
  IRMapping hoisted;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MASKCONDITIONS_H
