//===- FragmentAccess.h - Reading one fragment under another ----*- C++ -*-===//
//
// Decides whether the elements that an iteration space reads from a fragment
// are already in the registers of the thread that runs the iteration. This is
// what makes `m[i]` legal beside `s[i, j]` without data movement.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_FRAGMENTACCESS_H
#define TILEMLIR_LAYOUT_FRAGMENTACCESS_H

#include "tilemlir/Layout/FragmentLayout.h"

namespace tilemlir::layout {

/// Index of one operand dimension: iteration coordinate `iterationDim` plus
/// `offset`, or the constant `offset` when `iterationDim` is kConstant.
struct AccessIndex {
  static constexpr int kConstant = -1;
  int iterationDim = kConstant;
  int64_t offset = 0;

  static AccessIndex iteration(int dim, int64_t offset = 0) {
    return AccessIndex{dim, offset};
  }
  static AccessIndex constant(int64_t value) {
    return AccessIndex{kConstant, value};
  }
};

/// Registers of an operand fragment, by register of the iteration layout.
struct AccessTable {
  /// `operandRegister[r]` is valid in every thread where register `r` of the
  /// iteration layout holds an iteration; -1 if no thread has one there.
  std::vector<int64_t> operandRegister;
};

/// Iterations are distributed by `iteration`, the operand is held by `operand`;
/// iteration (i0, i1, ...) reads the operand at `access` (one AccessIndex per
/// operand dimension). If each thread holds all it reads, in a register that
/// depends only on the iteration's register, returns the table, else the reason
/// in words fit for a report (which dimension, what moves).
Result<AccessTable> projectedAccess(const FragmentLayout &iteration,
                                    const FragmentLayout &operand,
                                    const std::vector<AccessIndex> &access);

/// The identity access of rank `rank`.
std::vector<AccessIndex> identityAccess(int rank);

/// Layout for a new operand such that projectedAccess(iteration, result,
/// access) holds: each thread gets the elements that its iterations read;
/// threads that read the same elements become replicas. Every iteration dim
/// must be used at most once and with offset 0, constants only on unit dims.
/// `shape` is the shape of the operand: for each dim the shape of the iteration
/// dim, or 1.
Result<FragmentLayout> layoutForAccess(const FragmentLayout &iteration,
                                       const std::vector<AccessIndex> &access,
                                       const std::vector<int64_t> &shape);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_FRAGMENTACCESS_H
