//===- Reduction.h - Projecting a dimension out of a fragment ---*- C++ -*-===//
//
// The layout of a reduction's result and the steps that compute it: first
// inside the thread, then over the lanes of a warp, then over warps.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_REDUCTION_H
#define TILEMLIR_LAYOUT_REDUCTION_H

#include "tilemlir/Layout/FragmentLayout.h"

namespace tilemlir::layout {

/// One digit of the thread id over which partial results are combined.
struct ReductionStep {
  enum class Kind {
    /// Inside one warp, digit on whole bits of the lane id: butterfly shuffles
    /// with `xorDistances`.
    LaneButterfly,
    /// Between whole warps: `threadStride` is a multiple of the warp size.
    AcrossWarps,
    /// Any other digit (an extent that is no power of two inside a warp, or one
    /// that cuts a warp): through shared memory, thread by thread.
    AcrossThreads,
  };
  Kind kind = Kind::LaneButterfly;
  /// Digit = (thread / threadStride) % extent.
  int64_t threadStride = 1;
  int64_t extent = 1;
  /// Ascending; for LaneButterfly only.
  std::vector<int64_t> xorDistances;
};

struct ReductionPlan {
  /// Shape without the dimension; every thread that took part holds the result,
  /// so the digits of the reduced dimension are replica modes.
  FragmentLayout result;
  /// `sources[r]` lists the registers of the source that are combined into
  /// register `r` of the result, in ascending coordinate of the reduced
  /// dimension. Registers of occupancy Never are left out; those of occupancy
  /// Sometimes need the neutral element where they are padding.
  std::vector<std::vector<int64_t>> sources;
  /// True if some source register can be padding along the reduced dimension.
  bool needsNeutralElement = false;
  /// In the order of the thread digits. Empty: the thread holds whole rows.
  std::vector<ReductionStep> steps;

  /// Product of the extents of the steps that are not LaneButterfly: copies of
  /// each partial result that meet in shared memory. 1: no shared memory.
  int64_t sharedPartials() const;
  bool needsSharedMemory() const { return sharedPartials() > 1; }
};

/// Plans the reduction of `source` over dimension `dim`.
Result<ReductionPlan> planReduction(const FragmentLayout &source, int dim);

/// The result layout alone: modes of `dim` leave the registers and become
/// replicas among the threads.
Result<FragmentLayout> project(const FragmentLayout &source, int dim);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_REDUCTION_H
