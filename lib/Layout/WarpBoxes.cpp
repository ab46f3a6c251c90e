//===- WarpBoxes.cpp - The parts of a tile that warps hold ------*- C++ -*-===//
//
// The digits of the lane and of the register say what a warp holds, those of
// the warp's number where it begins. In each dimension, the digits that
// continue each other from stride 1 span the box; the others repeat it.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Layout/WarpBoxes.h"

#include <algorithm>

using namespace tilemlir::layout;

Result<WarpBoxes> tilemlir::layout::getWarpBoxes(const FragmentLayout &layout) {
  if (layout.numReplicas() != 1)
    return Error{"several threads hold the same elements"};
  if (layout.hasPadding())
    return Error{"some registers hold no element"};
  if (layout.numThreads() % kWarpSize != 0)
    return Error{"its threads are no whole warps"};
  std::optional<FragmentLayout> split = layout.splitThreadModes({kWarpSize});
  if (!split)
    return Error{"warps hold no rectangles of it"};

  std::vector<Mode> modes = split->registerModes();
  int64_t lanes = 1;
  for (const Mode &mode : split->threadModes()) {
    if (lanes >= kWarpSize)
      break;
    modes.push_back(mode);
    lanes *= mode.extent;
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode &left, const Mode &right) {
                     return left.stride < right.stride;
                   });

  WarpBoxes boxes;
  boxes.sizes.assign(layout.rank(), 1);
  boxes.offsets = {std::vector<int64_t>(layout.rank(), 0)};
  for (const Mode &mode : modes) {
    if (mode.extent == 1)
      continue;
    if (mode.stride == boxes.sizes[mode.dim]) {
      boxes.sizes[mode.dim] *= mode.extent;
      continue;
    }
    // Another box at each digit. The order is that of the strides.
    std::vector<std::vector<int64_t>> repeated;
    for (int64_t digit = 0; digit < mode.extent; ++digit)
      for (std::vector<int64_t> offset : boxes.offsets) {
        offset[mode.dim] += digit * mode.stride;
        repeated.push_back(std::move(offset));
      }
    boxes.offsets = std::move(repeated);
  }
  for (int64_t thread = 0; thread < layout.numThreads(); thread += kWarpSize)
    boxes.origins.push_back(layout.threadOffset(thread));
  return boxes;
}
