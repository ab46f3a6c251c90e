//===- SharedDifferences.cpp - comparisons of shifted values ----*- C++ -*-===//
//
// A mask compares a row with a column for each element that a thread holds:
//
//   row + a >= column + b      for many constants a and b
//
// which is a sum and a comparison each. row - column >= b - a takes one
// difference for all of them, and elements along a diagonal are one comparison.
//
// The sums do not wrap around, but the difference may. Where it saturates it is
// on the right side of every constant but the extreme ones.
//
//===----------------------------------------------------------------------===//
#include "SharedDifferences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#include <limits>
#include <set>

using namespace mlir;

/// Comparisons with different constants from which on a difference pays. It is
/// one more value that may live through a loop: where registers are short, as
/// with masks of 64 columns and two blocks on a multiprocessor, it can cost a
/// spill.
static constexpr size_t kSharedComparisons = 20;

namespace {
/// base + offset, without wrapping around.
struct Shifted {
  Value base;
  int64_t offset = 0;
};
struct Comparison {
  arith::CmpIOp op;
  /// What the difference of the bases is compared with.
  int64_t constant;
};
} // namespace

static Shifted getShifted(Value value) {
  Shifted result = {value};
  while (auto sum = result.base.getDefiningOp<arith::AddIOp>()) {
    APInt constant;
    bool isExact = bitEnumContainsAny(sum.getOverflowFlags(),
                                      arith::IntegerOverflowFlags::nsw);
    // Constants are on the right of canonical sums.
    if (!isExact || !matchPattern(sum.getRhs(), m_ConstantInt(&constant)))
      break;
    result.base = sum.getLhs();
    result.offset += constant.getSExtValue();
  }
  return result;
}

/// Only chooses between constants. Choices along a diagonal are the same value
/// then; a product that starts from it gets copies of it in registers of its
/// own, in every step and not only in those with a mask.
static bool choosesConstants(arith::CmpIOp op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    auto select = dyn_cast<arith::SelectOp>(user);
    return select && matchPattern(select.getTrueValue(), m_Constant()) &&
           matchPattern(select.getFalseValue(), m_Constant());
  });
}

static bool isSigned(arith::CmpIPredicate predicate) {
  using arith::CmpIPredicate;
  return llvm::is_contained({CmpIPredicate::slt, CmpIPredicate::sle,
                             CmpIPredicate::sgt, CmpIPredicate::sge},
                            predicate);
}

void tilemlir::to_nvvm::shareDifferences(Operation *root) {
  llvm::MapVector<std::tuple<Block *, Value, Value>, SmallVector<Comparison>>
      groups;
  root->walk([&](arith::CmpIOp op) {
    if (!op.getLhs().getType().isInteger(32) || !isSigned(op.getPredicate()) ||
        choosesConstants(op))
      return;
    Shifted lhs = getShifted(op.getLhs()), rhs = getShifted(op.getRhs());
    int64_t constant = rhs.offset - lhs.offset;
    if (constant > std::numeric_limits<int32_t>::min() &&
        constant < std::numeric_limits<int32_t>::max())
      groups[{op->getBlock(), lhs.base, rhs.base}].push_back({op, constant});
  });
  for (auto &[key, comparisons] : groups) {
    auto [block, lhs, rhs] = key;
    std::set<int64_t> constants;
    for (const Comparison &comparison : comparisons)
      constants.insert(comparison.constant);
    if (constants.size() < kSharedComparisons ||
        matchPattern(lhs, m_Constant()) || matchPattern(rhs, m_Constant()))
      continue;
    // Both are operands of sums in front of the first comparison.
    OpBuilder b(comparisons.front().op);
    Value difference =
        LLVM::SSubSat::create(b, comparisons.front().op.getLoc(), lhs, rhs);
    for (const Comparison &comparison : comparisons) {
      arith::CmpIOp op = comparison.op;
      b.setInsertionPoint(op);
      Value constant =
          arith::ConstantIntOp::create(b, op.getLoc(), comparison.constant, 32);
      op.getLhsMutable().assign(difference);
      op.getRhsMutable().assign(constant);
    }
  }
}
