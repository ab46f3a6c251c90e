//===- Index.h - Coordinates and integer address arithmetic -----*- C++ -*-===//
//
// A coordinate is kept as the sum of a part that depends only on the thread,
// any other dynamic part, and a constant. This is what lets addresses be split
// into per-thread bases, computed once, and immediate offsets.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_INDEX_H
#define TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_INDEX_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilemlir::to_gpu {

using namespace mlir;

/// The value of some integer in every thread of the block, by thread id.
using ThreadTable = std::shared_ptr<const std::vector<int64_t>>;

/// thread + other + constant (i32).
struct Coordinate {
  /// Depends on the thread id alone, and has these values; null = 0.
  Value thread;
  ThreadTable table;
  /// Any other dynamic part, null = 0, and a known divisor of it.
  Value other;
  int64_t otherDivisor = 0;
  int64_t constant = 0;

  static Coordinate get(int64_t constant) {
    Coordinate result;
    result.constant = constant;
    return result;
  }
  bool isConstant() const { return !thread && !other; }
  /// Same dynamic parts: differs from `rhs` by a constant only.
  bool hasSameBase(const Coordinate &rhs) const {
    return thread == rhs.thread && other == rhs.other;
  }
  /// A number that divides the coordinate in every thread; 0 when it is 0.
  int64_t divisor() const;
  /// Whether the coordinate lies in [0, extent): in every thread, in none, or
  /// (nullopt) in some, or unknown.
  std::optional<bool> isWithin(int64_t extent) const;
};

using Coordinates = SmallVector<Coordinate, 4>;

/// A number that is known to divide `value` (at least 1; 0 for constant zero).
int64_t getKnownDivisor(Value value, int depth = 0);

/// Emits i32/i64/i1 arithmetic at an insertion point, folding constants and
/// reusing what it emitted before in the current or an enclosing scope.
class IndexBuilder {
public:
  explicit IndexBuilder(MLIRContext *context) : b(context) {
    scopes.emplace_back();
  }

  OpBuilder &builder() { return b; }
  Location loc() const { return location; }
  void setLocation(Location newLocation) { location = newLocation; }

  /// Values emitted from here to the matching popScope() are forgotten there:
  /// they do not dominate what follows.
  void pushScope() { scopes.emplace_back(); }
  void popScope() { scopes.pop_back(); }

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value i1(bool value);
  /// Null operands mean zero; the result is null when it is zero.
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value mul(Value lhs, int64_t rhs);
  Value bitXor(Value lhs, int64_t rhs);
  Value bitAnd(Value lhs, int64_t rhs);
  Value shiftLeft(Value lhs, int64_t rhs);
  Value shiftRight(Value lhs, int64_t rhs);
  /// Rounds negative numbers down, too.
  Value shiftRightSigned(Value lhs, int64_t rhs);
  Value divide(Value lhs, int64_t rhs);
  Value remainder(Value lhs, int64_t rhs);
  Value extend(Value value);
  Value minimum(Value lhs, Value rhs);
  Value maximum(Value lhs, Value rhs);
  /// lhs < rhs, unsigned.
  Value lessUnsigned(Value lhs, Value rhs);
  Value equal(Value lhs, int64_t rhs);
  /// Null predicates mean true.
  Value both(Value lhs, Value rhs);

  Coordinate add(const Coordinate &lhs, const Coordinate &rhs);
  Coordinate sub(const Coordinate &lhs, const Coordinate &rhs);
  Coordinate mul(const Coordinate &lhs, int64_t rhs);
  /// Quotient (rounded down) and remainder, where all threads that add the same
  /// constant to their part carry, or none does: the results are such sums,
  /// too. Other dynamic parts have to be multiples of `rhs`. nullopt elsewhere.
  std::optional<Coordinate> quotient(const Coordinate &lhs, int64_t rhs);
  std::optional<Coordinate> remainder(const Coordinate &lhs, int64_t rhs);
  /// The coordinate as one i32 value.
  Value materialize(const Coordinate &coordinate);
  /// Splits constants off `value`, which does not depend on tables.
  Coordinate fromValue(Value value);

private:
  using Key = std::tuple<unsigned, void *, void *, int64_t>;
  template <typename Create>
  Value memoize(unsigned opcode, Value lhs, Value rhs, int64_t immediate,
                Create create);

  OpBuilder b;
  Location location = UnknownLoc::get(b.getContext());
  SmallVector<std::map<Key, Value>> scopes;
};

} // namespace tilemlir::to_gpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_INDEX_H
