//===- SymbolicValues.h - integers of a kernel, known or not ----*- C++ -*-===//
//
// A value is a known integer or an expression over symbols: block indices,
// sizes, loaded elements. Equal expressions are one node, also when different
// roles compute them, so that a choice for a node holds for all of them. That
// is why an expression is kept as it was computed, and looked at under the
// choices made so far only where its value matters: two roles that compute it
// before and behind a choice would otherwise have two nodes of it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYMBOLICVALUES_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYMBOLICVALUES_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::tile {

/// An integer, or the number of a node.
struct SymbolicValue {
  int64_t value = 0;
  bool isKnown = true;

  bool operator==(const SymbolicValue &other) const {
    return value == other.value && isKnown == other.isKnown;
  }
};

/// What an operation calculates, as far as it can be followed.
enum class Calculation {
  Opaque,
  Add,
  Sub,
  Mul,
  DivS,
  DivU,
  FloorDiv,
  CeilDivS,
  CeilDivU,
  RemS,
  RemU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  And,
  Or,
  XOr,
  ShL,
  ShRS,
  ShRU,
  /// lhs < rhs; other comparisons are made of these three and Not.
  LessS,
  LessU,
  Equal,
  Not,
  Select,
  /// To the width of the result.
  ExtendU,
  ExtendS,
  Truncate
};

/// `op` as a calculation; operands of comparisons may have to be swapped and
/// the result negated.
struct CalculationKind {
  Calculation kind = Calculation::Opaque;
  bool swapped = false, negated = false;
  /// Bits of the operands and of the result; 64 for index.
  unsigned operandWidth = 64, width = 64;
};
CalculationKind classifyCalculation(Operation *op);

class SymbolicExpressions {
public:
  struct Node {
    Calculation kind = Calculation::Opaque;
    unsigned operandWidth = 64, width = 64;
    SmallVector<SymbolicValue, 3> operands;
    /// Of Opaque: what it is, and which of several.
    const void *identity = nullptr, *attributes = nullptr;
    int64_t instance = 0;
    /// Threads of a role may have different values.
    bool isDivergent = false;
    /// What gives each thread its own: a tile.thread_id or tile.elect.
    Operation *perThread = nullptr;
    /// Bound of this loop, or -1: choices follow its number of iterations.
    int loop = -1;
  };

  SymbolicValue makeOpaque(const void *identity, const void *attributes,
                           ArrayRef<SymbolicValue> operands, int64_t instance,
                           unsigned width, bool isDivergent);
  SymbolicValue apply(Calculation kind, ArrayRef<SymbolicValue> operands,
                      unsigned operandWidth, unsigned width);

  const Node &getNode(SymbolicValue value) const { return nodes[value.value]; }
  Node &getNode(SymbolicValue value) { return nodes[value.value]; }

  /// `value` under what has been assigned so far. What is known once stays so,
  /// whatever is assigned later.
  SymbolicValue resolve(SymbolicValue value);
  /// Makes `node` have the value `number`, by a choice for its symbols where
  /// that is possible.
  void assign(SymbolicValue node, int64_t number);
  /// Takes back all assignments.
  void forgetAssignments() {
    assigned.clear();
    ++numAssignments;
  }
  bool isDivergent(SymbolicValue value) const {
    return !value.isKnown && nodes[value.value].isDivergent;
  }

private:
  SymbolicValue intern(Node node);
  std::optional<SymbolicValue> divide(SymbolicValue dividend, int64_t divisor,
                                      bool rest, unsigned width);
  bool assignOperand(SymbolicValue node, int64_t number);
  SymbolicValue resolveOperands(SymbolicValue value);

  std::vector<Node> nodes;
  llvm::DenseMap<uint64_t, SmallVector<unsigned, 1>> buckets;
  llvm::DenseMap<int64_t, int64_t> assigned;
  /// What nodes were resolved to, which holds until the next assignment.
  llvm::DenseMap<int64_t, std::pair<int64_t, SymbolicValue>> resolved;
  int64_t numAssignments = 0;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYMBOLICVALUES_H
