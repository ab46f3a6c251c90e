//===- Reduction.cpp - Projecting a dimension out of a fragment -----------===//
//
// Result layout and combination steps of a reduction.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/Reduction.h"

#include "Digits.h"
#include "tilemlir/Layout/FragmentAccess.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

int64_t ReductionPlan::sharedPartials() const {
  int64_t partials = 1;
  for (const ReductionStep &step : steps)
    if (step.kind != ReductionStep::Kind::LaneButterfly)
      partials *= step.extent;
  return partials;
}

Result<FragmentLayout> tilemlir::layout::project(const FragmentLayout &source,
                                                 int dim) {
  if (dim < 0 || dim >= source.rank())
    return Error{"no dim " + std::to_string(dim) + " in " +
                 shapeText(source.shape())};
  std::vector<AccessIndex> access;
  std::vector<int64_t> shape;
  for (int d = 0; d < source.rank(); ++d)
    if (d != dim) {
      access.push_back(AccessIndex::iteration(d));
      shape.push_back(source.shape()[d]);
    }
  return layoutForAccess(source, access, shape);
}

static ReductionStep makeStep(int64_t threadStride, int64_t extent) {
  ReductionStep step;
  step.threadStride = threadStride;
  step.extent = extent;
  if (threadStride * extent <= kWarpSize && isPowerOfTwo(threadStride) &&
      isPowerOfTwo(extent)) {
    step.kind = ReductionStep::Kind::LaneButterfly;
    for (int64_t distance = threadStride; distance < threadStride * extent;
         distance *= 2)
      step.xorDistances.push_back(distance);
  } else if (threadStride % kWarpSize == 0) {
    step.kind = ReductionStep::Kind::AcrossWarps;
  } else {
    step.kind = ReductionStep::Kind::AcrossThreads;
  }
  return step;
}

Result<ReductionPlan>
tilemlir::layout::planReduction(const FragmentLayout &source, int dim) {
  Result<FragmentLayout> result = project(source, dim);
  if (!result)
    return Error{result.error()};
  ReductionPlan plan;
  plan.result = *result;

  plan.sources.resize(plan.result.numRegisters());
  const std::vector<Digit> digits = registerDigits(source);
  for (int64_t r = 0; r < source.numRegisters(); ++r) {
    if (source.occupancy(r) == Occupancy::Never)
      continue;
    int64_t kept = 0, weight = 1;
    for (const Digit &digit : digits)
      if (digit.dim != dim) {
        kept += digit.ofIndex(r) * weight;
        weight *= digit.extent;
      }
    plan.sources[kept].push_back(r);
    plan.needsNeutralElement |= source.needsPredicate(r, dim);
  }
  for (std::vector<int64_t> &registers : plan.sources)
    std::sort(registers.begin(), registers.end(), [&](int64_t a, int64_t b) {
      return source.registerOffset(a)[dim] < source.registerOffset(b)[dim];
    });

  // Merge neighbouring digits of the dim, whatever their strides, then cut at
  // the warp boundary: the lanes' share is cheap.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const Digit &digit : threadDigits(source)) {
    if (digit.dim != dim || digit.extent == 1)
      continue;
    if (!ranges.empty() &&
        ranges.back().first * ranges.back().second == digit.weight)
      ranges.back().second *= digit.extent;
    else
      ranges.emplace_back(digit.weight, digit.extent);
  }
  for (auto [threadStride, extent] : ranges) {
    const int64_t lanes = kWarpSize / threadStride;
    if (threadStride < kWarpSize && kWarpSize % threadStride == 0 &&
        extent > lanes && extent % lanes == 0) {
      plan.steps.push_back(makeStep(threadStride, lanes));
      plan.steps.push_back(makeStep(kWarpSize, extent / lanes));
    } else {
      plan.steps.push_back(makeStep(threadStride, extent));
    }
  }
  return plan;
}
