//===- Index.cpp - Coordinates and integer address arithmetic ---*- C++ -*-===//
#include "Index.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tilemlir::to_gpu;

/// Divisors are kept below this, so that products cannot overflow.
static constexpr int64_t kMaxDivisor = int64_t(1) << 24;

static int64_t clampDivisor(int64_t divisor) {
  divisor = std::abs(divisor);
  while (divisor > kMaxDivisor) {
    if (divisor % 2)
      return 1;
    divisor /= 2;
  }
  return divisor;
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

int64_t tilemlir::to_gpu::getKnownDivisor(Value value, int depth) {
  if (std::optional<int64_t> constant = constantOf(value))
    return clampDivisor(*constant);
  if (depth > 8)
    return 1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::gcd(getKnownDivisor(loop.getLowerBound(), depth + 1),
                    getKnownDivisor(loop.getStep(), depth + 1));
  }
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned index) {
    return getKnownDivisor(op->getOperand(index), depth + 1);
  };
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MaxUIOp>(op))
    return std::gcd(operand(0), operand(1));
  if (isa<arith::MulIOp>(op))
    return clampDivisor(operand(0) * operand(1));
  if (isa<arith::SelectOp>(op))
    return std::gcd(operand(1), operand(2));
  if (isa<arith::ShLIOp>(op)) {
    std::optional<int64_t> amount = constantOf(op->getOperand(1));
    if (amount && *amount >= 0 && *amount < 24)
      return clampDivisor(operand(0) << *amount);
    return operand(0);
  }
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp,
          arith::IndexCastUIOp>(op))
    return operand(0);
  // x % m and (x / m) * m style expressions.
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return std::gcd(operand(0), operand(1));
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) {
    std::optional<int64_t> by = constantOf(op->getOperand(1));
    int64_t divisor = operand(0);
    if (by && *by > 0 && divisor % *by == 0 && divisor)
      return divisor / *by;
  }
  return 1;
}

std::optional<bool> Coordinate::isWithin(int64_t extent) const {
  auto isInside = [&](int64_t threadPart) {
    int64_t value = threadPart + constant;
    return value >= 0 && value < extent;
  };
  if (other)
    return std::nullopt;
  if (!thread)
    return isInside(0);
  if (llvm::all_of(*table, isInside))
    return true;
  if (llvm::none_of(*table, isInside))
    return false;
  return std::nullopt;
}

int64_t Coordinate::divisor() const {
  int64_t result = std::abs(constant);
  if (other)
    result = std::gcd(result, otherDivisor);
  if (thread)
    for (int64_t value : *table)
      result = std::gcd(result, value);
  return result;
}

//===----------------------------------------------------------------------===//
// IndexBuilder
//===----------------------------------------------------------------------===//

namespace {
enum Opcode : unsigned {
  kConstant32,
  kConstant64,
  kConstant1,
  kAdd,
  kSub,
  kMul,
  kXor,
  kAnd,
  kShl,
  kShr,
  kShrSigned,
  kDiv,
  kRem,
  kExtend,
  kMin,
  kMax,
  kLess,
  kEqual,
  kBoth
};
} // namespace

template <typename Create>
Value IndexBuilder::memoize(unsigned opcode, Value lhs, Value rhs,
                            int64_t immediate, Create create) {
  Key key(opcode, lhs ? lhs.getAsOpaquePointer() : nullptr,
          rhs ? rhs.getAsOpaquePointer() : nullptr, immediate);
  for (auto &scope : llvm::reverse(scopes)) {
    auto found = scope.find(key);
    if (found != scope.end())
      return found->second;
  }
  Value result = create();
  scopes.back()[key] = result;
  return result;
}

static constexpr auto kNoWrap = arith::IntegerOverflowFlags::nsw;

Value IndexBuilder::i32(int64_t value) {
  return memoize(kConstant32, {}, {}, value, [&] {
    return arith::ConstantOp::create(b, location, b.getI32IntegerAttr(value))
        .getResult();
  });
}

Value IndexBuilder::i64(int64_t value) {
  return memoize(kConstant64, {}, {}, value, [&] {
    return arith::ConstantOp::create(b, location, b.getI64IntegerAttr(value))
        .getResult();
  });
}

Value IndexBuilder::i1(bool value) {
  return memoize(kConstant1, {}, {}, value, [&] {
    return arith::ConstantOp::create(b, location, b.getBoolAttr(value))
        .getResult();
  });
}

Value IndexBuilder::add(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return memoize(kAdd, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::AddIOp>(location, lhs, rhs, kNoWrap);
  });
}

Value IndexBuilder::sub(Value lhs, Value rhs) {
  if (!rhs)
    return lhs;
  if (!lhs)
    lhs = rhs.getType().isInteger(64) ? i64(0) : i32(0);
  return memoize(kSub, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::SubIOp>(location, lhs, rhs, kNoWrap);
  });
}

Value IndexBuilder::mul(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return {};
  return memoize(kMul, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::MulIOp>(location, lhs, rhs, kNoWrap);
  });
}

Value IndexBuilder::mul(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 0)
    return {};
  if (rhs == 1)
    return lhs;
  return mul(lhs, lhs.getType().isInteger(64) ? i64(rhs) : i32(rhs));
}

Value IndexBuilder::bitXor(Value lhs, int64_t rhs) {
  if (rhs == 0)
    return lhs;
  if (!lhs)
    return i32(rhs);
  return memoize(kXor, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::XOrIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::bitAnd(Value lhs, int64_t rhs) {
  if (!lhs)
    return {};
  return memoize(kAnd, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::AndIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::shiftLeft(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 0)
    return lhs;
  return memoize(kShl, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::ShLIOp>(location, lhs, i32(rhs), kNoWrap);
  });
}

Value IndexBuilder::shiftRight(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 0)
    return lhs;
  return memoize(kShr, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::ShRUIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::shiftRightSigned(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 0)
    return lhs;
  return memoize(kShrSigned, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::ShRSIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::divide(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 1)
    return lhs;
  if (llvm::isPowerOf2_64(rhs))
    return shiftRight(lhs, llvm::Log2_64(rhs));
  return memoize(kDiv, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::DivUIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::remainder(Value lhs, int64_t rhs) {
  if (!lhs || rhs == 1)
    return {};
  if (llvm::isPowerOf2_64(rhs))
    return bitAnd(lhs, rhs - 1);
  return memoize(kRem, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::RemUIOp>(location, lhs, i32(rhs));
  });
}

Value IndexBuilder::extend(Value value) {
  if (!value || value.getType().isInteger(64))
    return value;
  return memoize(kExtend, value, {}, 0, [&] {
    return b.createOrFold<arith::ExtSIOp>(location, b.getI64Type(), value);
  });
}

Value IndexBuilder::minimum(Value lhs, Value rhs) {
  return memoize(kMin, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::MinSIOp>(location, lhs, rhs);
  });
}

Value IndexBuilder::maximum(Value lhs, Value rhs) {
  return memoize(kMax, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::MaxSIOp>(location, lhs, rhs);
  });
}

Value IndexBuilder::lessUnsigned(Value lhs, Value rhs) {
  return memoize(kLess, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::CmpIOp>(location, arith::CmpIPredicate::ult,
                                         lhs, rhs);
  });
}

Value IndexBuilder::equal(Value lhs, int64_t rhs) {
  return memoize(kEqual, lhs, {}, rhs, [&] {
    return b.createOrFold<arith::CmpIOp>(location, arith::CmpIPredicate::eq,
                                         lhs, i32(rhs));
  });
}

Value IndexBuilder::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  if (lhs == rhs)
    return lhs;
  return memoize(kBoth, lhs, rhs, 0, [&] {
    return b.createOrFold<arith::AndIOp>(location, lhs, rhs);
  });
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

static ThreadTable combine(const ThreadTable &lhs, const ThreadTable &rhs,
                           int64_t sign) {
  if (!lhs && !rhs)
    return {};
  size_t size = lhs ? lhs->size() : rhs->size();
  auto result = std::make_shared<std::vector<int64_t>>(size, 0);
  for (size_t i = 0; i < size; ++i)
    (*result)[i] = (lhs ? (*lhs)[i] : 0) + sign * (rhs ? (*rhs)[i] : 0);
  return result;
}

Coordinate IndexBuilder::add(const Coordinate &lhs, const Coordinate &rhs) {
  Coordinate result;
  result.constant = lhs.constant + rhs.constant;
  result.thread = add(lhs.thread, rhs.thread);
  if (result.thread)
    result.table = !lhs.thread   ? rhs.table
                   : !rhs.thread ? lhs.table
                                 : combine(lhs.table, rhs.table, 1);
  result.other = add(lhs.other, rhs.other);
  result.otherDivisor = std::gcd(lhs.other ? lhs.otherDivisor : 0,
                                 rhs.other ? rhs.otherDivisor : 0);
  return result;
}

Coordinate IndexBuilder::sub(const Coordinate &lhs, const Coordinate &rhs) {
  Coordinate result;
  result.constant = lhs.constant - rhs.constant;
  result.thread = sub(lhs.thread, rhs.thread);
  if (result.thread)
    result.table = combine(lhs.thread ? lhs.table : nullptr,
                           rhs.thread ? rhs.table : nullptr, -1);
  result.other = sub(lhs.other, rhs.other);
  result.otherDivisor = std::gcd(lhs.other ? lhs.otherDivisor : 0,
                                 rhs.other ? rhs.otherDivisor : 0);
  return result;
}

Coordinate IndexBuilder::mul(const Coordinate &lhs, int64_t rhs) {
  Coordinate result;
  if (rhs == 0)
    return result;
  result.constant = lhs.constant * rhs;
  result.thread = mul(lhs.thread, rhs);
  if (result.thread) {
    auto table = std::make_shared<std::vector<int64_t>>(*lhs.table);
    for (int64_t &value : *table)
      value *= rhs;
    result.table = table;
  }
  result.other = mul(lhs.other, rhs);
  if (result.other)
    result.otherDivisor = clampDivisor(lhs.otherDivisor * clampDivisor(rhs));
  return result;
}

static bool isMultipleInAllThreads(const Coordinate &coordinate,
                                   int64_t number) {
  return !coordinate.thread || llvm::all_of(*coordinate.table, [&](int64_t t) {
    return t % number == 0;
  });
}

/// `lhs` / `rhs` is that of the parts, plus what is returned: 1 where the
/// remainders of constant and thread make up another `rhs` in all threads. A
/// power of two, so that bits of dynamic parts are quotient and remainder also
/// where these are negative.
static std::optional<int64_t> carryOfParts(const Coordinate &lhs, int64_t rhs) {
  if (rhs <= 0 || (lhs.other && lhs.otherDivisor % rhs != 0))
    return std::nullopt;
  int64_t rest = llvm::mod(lhs.constant, rhs);
  if (rest == 0 || isMultipleInAllThreads(lhs, rhs))
    return 0;
  auto carries = [&](int64_t t) { return llvm::mod(t, rhs) + rest >= rhs; };
  if (llvm::all_of(*lhs.table, carries))
    return 1;
  if (llvm::none_of(*lhs.table, carries))
    return 0;
  return std::nullopt;
}

/// The thread's part, whose values are `table`; none where it is always 0.
static void setThreadPart(Coordinate &coordinate, Value value,
                          std::vector<int64_t> table) {
  if (llvm::all_of(table, [](int64_t t) { return t == 0; }))
    return;
  coordinate.thread = value;
  coordinate.table =
      std::make_shared<const std::vector<int64_t>>(std::move(table));
}

std::optional<Coordinate> IndexBuilder::quotient(const Coordinate &lhs,
                                                 int64_t rhs) {
  std::optional<int64_t> carry = carryOfParts(lhs, rhs);
  if (!carry || !llvm::isPowerOf2_64(rhs))
    return std::nullopt;
  int64_t bits = llvm::Log2_64(rhs);
  Coordinate result;
  result.constant = llvm::divideFloorSigned(lhs.constant, rhs) + *carry;
  if (lhs.thread) {
    std::vector<int64_t> table(*lhs.table);
    for (int64_t &value : table)
      value = llvm::divideFloorSigned(value, rhs);
    setThreadPart(result, shiftRightSigned(lhs.thread, bits), std::move(table));
  }
  result.other = shiftRightSigned(lhs.other, bits);
  if (result.other)
    result.otherDivisor = lhs.otherDivisor / rhs;
  return result;
}

std::optional<Coordinate> IndexBuilder::remainder(const Coordinate &lhs,
                                                  int64_t rhs) {
  std::optional<int64_t> carry = carryOfParts(lhs, rhs);
  if (!carry)
    return std::nullopt;
  Coordinate result =
      Coordinate::get(llvm::mod(lhs.constant, rhs) - *carry * rhs);
  if (isMultipleInAllThreads(lhs, rhs))
    return result;
  if (!llvm::isPowerOf2_64(rhs))
    return std::nullopt;
  std::vector<int64_t> table(*lhs.table);
  for (int64_t &value : table)
    value = llvm::mod(value, rhs);
  setThreadPart(result, bitAnd(lhs.thread, rhs - 1), std::move(table));
  return result;
}

Value IndexBuilder::materialize(const Coordinate &coordinate) {
  Value dynamic = add(coordinate.thread, coordinate.other);
  if (!dynamic)
    return i32(coordinate.constant);
  if (coordinate.constant == 0)
    return dynamic;
  return add(dynamic, i32(coordinate.constant));
}

Coordinate IndexBuilder::fromValue(Value value) {
  Coordinate result;
  // Peel constants off sums, so that equal bases are recognised as equal.
  for (;;) {
    if (std::optional<int64_t> constant = constantOf(value)) {
      result.constant += *constant;
      return result;
    }
    Operation *op = value.getDefiningOp();
    if (!op || !isa<arith::AddIOp, arith::SubIOp>(op))
      break;
    std::optional<int64_t> rhs = constantOf(op->getOperand(1));
    std::optional<int64_t> lhs = constantOf(op->getOperand(0));
    if (rhs) {
      result.constant += isa<arith::AddIOp>(op) ? *rhs : -*rhs;
      value = op->getOperand(0);
    } else if (lhs && isa<arith::AddIOp>(op)) {
      result.constant += *lhs;
      value = op->getOperand(1);
    } else {
      break;
    }
  }
  // What every number divides is zero: a product with an offset of the first
  // iteration, say.
  int64_t divisor = getKnownDivisor(value);
  if (divisor == 0)
    return result;
  result.other = value;
  result.otherDivisor = divisor;
  return result;
}
