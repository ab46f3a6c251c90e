//===- FragmentTransforms.cpp - New fragment layouts from old -------------===//
//
// Permuting, reshaping, slicing and extending fragment layouts.
//
//===----------------------------------------------------------------------===//

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

Result<FragmentLayout>
FragmentLayout::permuteDims(const std::vector<int> &permutation) const {
  std::vector<int> newDim(rank(), -1);
  if (static_cast<int>(permutation.size()) != rank())
    return Error{"a permutation of " + std::to_string(permutation.size()) +
                 " dims for a tile of rank " + std::to_string(rank())};
  std::vector<int64_t> shape;
  for (size_t i = 0; i < permutation.size(); ++i) {
    int dim = permutation[i];
    if (dim < 0 || dim >= rank() || newDim[dim] >= 0)
      return Error{"not a permutation of the dims"};
    newDim[dim] = static_cast<int>(i);
    shape.push_back(shapeOfTile[dim]);
  }
  FragmentLayout result = *this;
  result.shapeOfTile = std::move(shape);
  for (std::vector<Mode> *modes :
       {&result.modesOfThread, &result.modesOfRegister})
    for (Mode &mode : *modes)
      if (!mode.isReplica())
        mode.dim = newDim[mode.dim];
  return result;
}

namespace {
/// Dims [oldBegin, oldEnd) of the old shape hold the same elements in the same
/// row-major order as dims [newBegin, newEnd) of the new one.
struct ReshapeGroup {
  int oldBegin, oldEnd, newBegin, newEnd;
};
} // namespace

static std::vector<ReshapeGroup>
groupDims(const std::vector<int64_t> &oldShape,
          const std::vector<int64_t> &newShape) {
  std::vector<ReshapeGroup> groups;
  const int oldRank = static_cast<int>(oldShape.size());
  const int newRank = static_cast<int>(newShape.size());
  int i = 0, j = 0;
  while (i < oldRank || j < newRank) {
    ReshapeGroup group{i, i, j, j};
    int64_t oldProduct = 1, newProduct = 1;
    do {
      if (group.oldEnd < oldRank &&
          (oldProduct <= newProduct || group.newEnd == newRank))
        oldProduct *= oldShape[group.oldEnd++];
      else
        newProduct *= newShape[group.newEnd++];
    } while (oldProduct != newProduct);
    // Unit dims at the end belong to the last group, which may be all units.
    if (group.oldEnd == oldRank || group.newEnd == newRank) {
      group.oldEnd = oldRank;
      group.newEnd = newRank;
    }
    groups.push_back(group);
    i = group.oldEnd;
    j = group.newEnd;
  }
  return groups;
}

/// The slowest dim of [begin, end) that is not a unit dim; `begin` if all are.
static int slowestDim(const std::vector<int64_t> &shape, int begin, int end) {
  for (int dim = begin; dim < end; ++dim)
    if (shape[dim] > 1)
      return dim;
  return begin;
}

/// Rewrites a mode of linear stride `stride` into modes of the dims of `group`.
static bool splitOverDims(const ReshapeGroup &group,
                          const std::vector<int64_t> &newShape, int64_t extent,
                          int64_t stride, std::vector<Mode> &result) {
  int64_t dimStride = 1;
  const int slowestOfGroup = slowestDim(newShape, group.newBegin, group.newEnd);
  for (int dim = group.newEnd - 1; dim >= slowestOfGroup; --dim) {
    const int64_t dimEnd = dimStride * newShape[dim];
    const bool slowest = dim == slowestOfGroup;
    if (stride < dimEnd || slowest) {
      if (stride % dimStride != 0)
        return false;
      int64_t part = extent;
      if (!slowest && stride * extent > dimEnd) {
        if (dimEnd % stride != 0 || extent % (dimEnd / stride) != 0)
          return false;
        part = dimEnd / stride;
      }
      result.push_back(Mode{part, dim, stride / dimStride});
      extent /= part;
      stride *= part;
      if (extent == 1)
        return true;
    }
    dimStride = dimEnd;
  }
  return extent == 1;
}

Result<FragmentLayout>
FragmentLayout::reshape(const std::vector<int64_t> &newShape) const {
  for (int64_t extent : newShape)
    if (extent < 1)
      return Error{"cannot reshape to " + shapeText(newShape)};
  if (productOf(newShape) != numElements())
    return Error{"cannot reshape " + shapeText(shapeOfTile) + " to " +
                 shapeText(newShape) + ": different number of elements"};

  const std::vector<ReshapeGroup> groups = groupDims(shapeOfTile, newShape);
  std::vector<int> groupOf(rank(), 0);
  std::vector<int64_t> rowStride(rank(), 1);
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t stride = 1;
    for (int dim = groups[g].oldEnd - 1; dim >= groups[g].oldBegin; --dim) {
      groupOf[dim] = static_cast<int>(g);
      rowStride[dim] = stride;
      stride *= shapeOfTile[dim];
    }
  }
  std::vector<bool> isPadded(rank(), false);
  for (int dim = 0; dim < rank(); ++dim) {
    int64_t reached = 1;
    for (const Digit &digit : coordinateDigits(*this, dim))
      reached *= digit.extent;
    isPadded[dim] = reached > shapeOfTile[dim];
  }
  std::vector<Mode> newModes[2];
  int which = 0;
  for (const std::vector<Mode> *modes : {&modesOfThread, &modesOfRegister}) {
    for (const Mode &mode : *modes) {
      if (mode.isReplica()) {
        newModes[which].push_back(mode);
        continue;
      }
      if (mode.extent == 1)
        continue;
      if (reachesOnlyPadding(mode, shapeOfTile)) {
        if (newShape.empty())
          return Error{"cannot reshape a padded tile to a scalar"};
        newModes[which].push_back(Mode{mode.extent, 0, newShape[0]});
        continue;
      }
      // A padded dim may only be the slowest of its group: otherwise padding
      // coordinates would alias elements of the next row.
      const ReshapeGroup &group = groups[groupOf[mode.dim]];
      const bool passesThrough = group.oldEnd - group.oldBegin == 1 &&
                                 group.newEnd - group.newBegin == 1;
      if (!passesThrough && isPadded[mode.dim] &&
          mode.dim != slowestDim(shapeOfTile, group.oldBegin, group.oldEnd))
        return Error{"cannot reshape " + shapeText(shapeOfTile) + " to " +
                     shapeText(newShape) + ": dim " + std::to_string(mode.dim) +
                     " has padding"};
      if (!splitOverDims(group, newShape, mode.extent,
                         mode.stride * rowStride[mode.dim], newModes[which]))
        return Error{
            "cannot reshape " + shapeText(shapeOfTile) + " to " +
            shapeText(newShape) + ": mode " + std::to_string(mode.extent) +
            "@" + std::to_string(mode.dim) + "*" + std::to_string(mode.stride) +
            " straddles a new dimension"};
    }
    ++which;
  }
  return create(newShape, std::move(newModes[0]), std::move(newModes[1]));
}

Result<FragmentLayout> FragmentLayout::flatten() const {
  return reshape({numElements()});
}

Result<RegisterSlice> FragmentLayout::sliceRegisters(int dim, int64_t start,
                                                     int64_t extent) const {
  if (dim < 0 || dim >= rank())
    return Error{"no dim " + std::to_string(dim) + " in " +
                 shapeText(shapeOfTile)};
  const std::string name = "slice [" + std::to_string(start) + ", " +
                           std::to_string(start + extent) + ") of dim " +
                           std::to_string(dim);
  if (start < 0 || extent < 1 || start + extent > shapeOfTile[dim])
    return Error{name + " is outside " + shapeText(shapeOfTile)};

  // Below `unit` thread digits decide where a coordinate lives; above it only
  // register digits do.
  int64_t unit = 1;
  std::vector<Digit> upper;
  for (const Digit &digit : coordinateDigits(*this, dim)) {
    if (digit.isThread) {
      unit = digit.stride * digit.extent;
      upper.clear();
    } else {
      upper.push_back(digit);
    }
  }
  const bool reachesEnd = start + extent == shapeOfTile[dim];
  if (start % unit != 0 || (extent % unit != 0 && !reachesEnd))
    return Error{name +
                 " is not made of whole registers: " + std::to_string(unit) +
                 " consecutive coordinates are spread over threads"};

  const int64_t first = start / unit;
  const int64_t count = ceilDiv(extent, unit);
  std::vector<int64_t> shape = shapeOfTile;
  shape[dim] = extent;
  std::vector<bool> isUpper(modesOfRegister.size(), false);
  for (const Digit &digit : upper)
    isUpper[digit.position] = true;

  // If the part is a box of upper digits, keep the order of the registers:
  // digits below `boundary` are complete, the one there is a range, those above
  // fixed.
  size_t boundary = 0;
  int64_t block = 1;
  while (boundary < upper.size() &&
         first % (block * upper[boundary].extent) == 0 &&
         count % (block * upper[boundary].extent) == 0)
    block *= upper[boundary++].extent;
  bool isBox = boundary == upper.size();
  if (!isBox) {
    int64_t digit = (first / block) % upper[boundary].extent;
    isBox = digit + count / block <= upper[boundary].extent;
  }

  std::vector<Mode> modes;
  std::vector<int64_t> origins = {0};
  // Appends a digit that runs over registers of the whole at `weight`.
  auto appendMode = [&](Mode mode, int64_t weight) {
    modes.push_back(mode);
    const size_t size = origins.size();
    for (int64_t digit = 1; digit < mode.extent; ++digit)
      for (size_t i = 0; i < size; ++i)
        origins.push_back(origins[i] + digit * weight);
  };
  int64_t fixed = 0;
  int64_t weight = 1;
  for (size_t i = 0; i < modesOfRegister.size(); ++i) {
    Mode mode = modesOfRegister[i];
    if (!isUpper[i]) {
      // Digits that reach only padding stay padding: keep them out.
      if (!(mode.dim == dim && reachesOnlyPadding(mode, shapeOfTile)))
        appendMode(mode, weight);
    } else if (isBox) {
      size_t level = 0;
      while (upper[level].position != i)
        ++level;
      const int64_t digit = upper[level].ofCoordinate(start);
      if (level < boundary) {
        appendMode(mode, weight);
      } else {
        fixed += digit * weight;
        if (level == boundary) {
          mode.extent = count / block;
          appendMode(mode, weight);
        }
      }
    }
    weight *= modesOfRegister[i].extent;
  }
  std::vector<int64_t> registers;
  if (isBox) {
    for (int64_t origin : origins)
      registers.push_back(origin + fixed);
  } else {
    modes.push_back(Mode{count, dim, unit});
    for (int64_t part = 0; part < count; ++part) {
      int64_t offset = 0;
      for (const Digit &digit : upper)
        offset += digit.ofCoordinate((first + part) * unit) * digit.weight;
      for (int64_t origin : origins)
        registers.push_back(origin + offset);
    }
  }

  // Thread digits that reached only padding do so in the part as well, but
  // their stride must stay beyond its shape, which is smaller.
  Result<FragmentLayout> layout = create(shape, modesOfThread, modes);
  if (!layout)
    return Error{name + ": " + layout.error()};
  return RegisterSlice{*layout, std::move(registers)};
}

static std::vector<Mode> shiftDims(std::vector<Mode> modes, int fromDim,
                                   int by) {
  for (Mode &mode : modes)
    if (mode.dim >= fromDim)
      mode.dim += by;
  return modes;
}

Result<FragmentLayout>
FragmentLayout::insertDimInRegisters(int dim, int64_t extent) const {
  if (dim < 0 || dim > rank())
    return Error{"cannot insert dim " + std::to_string(dim) + " into " +
                 shapeText(shapeOfTile)};
  std::vector<int64_t> shape = shapeOfTile;
  shape.insert(shape.begin() + dim, extent);
  std::vector<Mode> registers = shiftDims(modesOfRegister, dim, 1);
  if (extent > 1)
    registers.push_back(Mode{extent, dim, 1});
  return create(std::move(shape), shiftDims(modesOfThread, dim, 1),
                std::move(registers));
}

Result<FragmentLayout>
FragmentLayout::insertDimOverReplicas(int dim, int64_t extent,
                                      int64_t vectorElements) const {
  if (dim < 0 || dim > rank())
    return Error{"cannot insert dim " + std::to_string(dim) + " into " +
                 shapeText(shapeOfTile)};
  if (extent < 1 || vectorElements < 1 || extent % vectorElements != 0)
    return Error{"vectors of " + std::to_string(vectorElements) +
                 " do not divide an extent of " + std::to_string(extent)};
  std::vector<int64_t> shape = shapeOfTile;
  shape.insert(shape.begin() + dim, extent);

  int64_t stride = vectorElements;
  int64_t remaining = extent / vectorElements;
  std::vector<Mode> threads;
  for (const Mode &mode : shiftDims(modesOfThread, dim, 1)) {
    if (!mode.isReplica() || remaining == 1) {
      threads.push_back(mode);
      continue;
    }
    const int64_t part = mode.extent <= remaining
                             ? mode.extent
                             : smallestDivisorAtLeast(mode.extent, remaining);
    threads.push_back(Mode{part, dim, stride});
    if (part < mode.extent)
      threads.push_back(replicaMode(mode.extent / part));
    stride *= part;
    remaining = ceilDiv(remaining, part);
  }
  std::vector<Mode> registers = shiftDims(modesOfRegister, dim, 1);
  if (vectorElements > 1)
    registers.insert(registers.begin(), Mode{vectorElements, dim, 1});
  if (remaining > 1)
    registers.push_back(Mode{remaining, dim, stride});
  return create(std::move(shape), std::move(threads), std::move(registers));
}

FragmentLayout FragmentLayout::insertUnitDim(int dim) const {
  assert(dim >= 0 && dim <= rank() && "dim out of range");
  FragmentLayout result = *this;
  result.shapeOfTile.insert(result.shapeOfTile.begin() + dim, 1);
  result.modesOfThread = shiftDims(std::move(result.modesOfThread), dim, 1);
  result.modesOfRegister = shiftDims(std::move(result.modesOfRegister), dim, 1);
  return result;
}

Result<FragmentLayout> FragmentLayout::dropUnitDim(int dim) const {
  if (dim < 0 || dim >= rank() || shapeOfTile[dim] != 1)
    return Error{"dim " + std::to_string(dim) + " of " +
                 shapeText(shapeOfTile) + " is not a unit dim"};
  std::vector<int64_t> shape = shapeOfTile;
  shape.erase(shape.begin() + dim);
  std::vector<Mode> modes[2] = {modesOfThread, modesOfRegister};
  for (std::vector<Mode> &list : modes) {
    std::vector<Mode> kept;
    for (Mode mode : list) {
      if (mode.dim == dim) {
        if (mode.extent == 1)
          continue;
        // The digits beyond the first held only padding. That can be said
        // along another dim, if there is one.
        if (shape.empty())
          return Error{"dim " + std::to_string(dim) + " has padding"};
        int64_t beyond = shape[0];
        mode = Mode{mode.extent, 0, beyond};
      } else if (mode.dim > dim) {
        --mode.dim;
      }
      kept.push_back(mode);
    }
    list = std::move(kept);
  }
  return create(std::move(shape), std::move(modes[0]), std::move(modes[1]));
}

std::optional<FragmentLayout> FragmentLayout::splitThreadModes(
    const std::vector<int64_t> &threadStrides) const {
  std::vector<int64_t> boundaries = threadStrides;
  std::sort(boundaries.begin(), boundaries.end());
  FragmentLayout result = *this;
  result.modesOfThread.clear();
  int64_t threadStride = 1;
  for (Mode mode : modesOfThread) {
    const int64_t end = threadStride * mode.extent;
    for (int64_t boundary : boundaries) {
      if (boundary <= threadStride || boundary >= end)
        continue;
      if (boundary % threadStride != 0 || end % boundary != 0)
        return std::nullopt;
      const int64_t part = boundary / threadStride;
      result.modesOfThread.push_back(Mode{part, mode.dim, mode.stride});
      mode.extent /= part;
      mode.stride *= part;
      threadStride = boundary;
    }
    result.modesOfThread.push_back(mode);
    threadStride = end;
  }
  return result;
}
