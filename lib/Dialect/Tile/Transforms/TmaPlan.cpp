//===- TmaPlan.cpp - boxes of a copy by TMA ---------------------*- C++ -*-===//
//
// The map has the dimensions of the shared buffer first, in the order of its
// layout, so that a box is filled in the order in which memory is; then those
// of the tensor in which the copy has extent 1. A box is one panel wide and has
// as many rows as lie densely in memory; the rest are further boxes.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "IntegerAnalysis.h"

#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Limits of tensor maps and of the shared addresses of boxes (CUDA driver API,
/// cuTensorMapEncodeTiled; PTX ISA, cp.async.bulk.tensor).
static constexpr int64_t kMaxMapRank = 5, kMaxBoxExtent = 256,
                         kRowGranularity = 16, kSharedAlignment = 128;
/// More boxes are not worth issuing one by one.
static constexpr int64_t kMaxBoxes = 64;

layout::Result<layout::SharedLayout>
mlir::tile::getCanonicalSharedLayout(ArrayRef<int64_t> shape,
                                     int64_t elementBits) {
  std::vector<int64_t> extents = shape.vec();
  int64_t row = shape.empty() ? 1 : shape.back(), elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  // A single row has no neighbours to be kept apart from.
  if (elements == row)
    return layout::SharedLayout::rowMajor(extents, elementBits);
  if (int64_t swizzle = layout::bestSwizzle(row * elementBits / 8))
    return layout::SharedLayout::swizzled(extents, elementBits, {}, swizzle);
  // The widest panel that one box can have.
  int64_t granule = std::max<int64_t>(1, kRowGranularity * 8 / elementBits);
  for (int64_t panel = std::min(row, kMaxBoxExtent); panel >= granule; --panel)
    if (row % panel == 0 && panel % granule == 0) {
      std::vector<int> order(extents.size());
      std::iota(order.rbegin(), order.rend(), 0);
      return layout::SharedLayout::create(extents, elementBits, order, panel,
                                          0);
    }
  return layout::SharedLayout::rowMajor(extents, elementBits);
}

//===----------------------------------------------------------------------===//
// Regions of allocations
//===----------------------------------------------------------------------===//

namespace {
/// The part of an allocation that a copy covers, by dimension.
struct AllocationRegion {
  SmallVector<int64_t> sizes;
  /// What divides the start; 0 for a start at 0.
  SmallVector<int64_t> startDivisors;
  /// Dimension of the tensor that runs along; -1 where the size is 1.
  SmallVector<int64_t> tensorDims;
};
} // namespace

/// Dimensions of the source that a subview keeps.
static SmallVector<int64_t> getKeptDims(ArrayRef<int64_t> sizes,
                                        ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (kept.size() == shape.size())
      break;
    bool mustKeep = sizes.size() - dim == shape.size() - kept.size();
    if (size == shape[kept.size()] && (mustKeep || size != 1))
      kept.push_back(dim);
  }
  return kept;
}

/// For each dimension of `to` the one of `from` that it equals, -1 for new unit
/// dimensions; nullopt if more than unit dimensions differ.
static std::optional<SmallVector<int64_t>>
matchUnitReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> result;
  size_t next = 0;
  for (int64_t extent : to) {
    while (extent != 1 && next < from.size() && from[next] == 1)
      ++next;
    if (extent == 1) {
      result.push_back(-1);
      continue;
    }
    if (next == from.size() || from[next] != extent)
      return std::nullopt;
    result.push_back(next++);
  }
  for (; next < from.size(); ++next)
    if (from[next] != 1)
      return std::nullopt;
  return result;
}

static layout::Result<AllocationRegion>
getAllocationRegion(const CopySide &side, ArrayRef<int64_t> tensorDims,
                    GetDivisor getDivisor) {
  AllocationRegion region;
  size_t next = 0;
  for (auto [offset, size] : llvm::zip_equal(side.offsets, side.sizes)) {
    region.sizes.push_back(size);
    region.startDivisors.push_back(getDivisor(offset));
    region.tensorDims.push_back(size == 1 ? -1 : tensorDims[next++]);
  }
  Value view = side.storage;
  while (!isa<AllocOp>(view.getDefiningOp())) {
    Operation *op = view.getDefiningOp();
    Value source = op->getOperand(0);
    auto type = cast<BufferType>(source.getType());
    auto viewType = cast<BufferType>(view.getType());
    AllocationRegion outer;
    if (auto subview = dyn_cast<SubviewOp>(op)) {
      for (Value offset : subview.getOffsets())
        outer.startDivisors.push_back(getDivisor(offset));
      outer.sizes.assign(type.getRank(), 1);
      outer.tensorDims.assign(type.getRank(), -1);
      SmallVector<int64_t> kept =
          getKeptDims(subview.getSizes(), viewType.getShape());
      for (auto [inner, dim] : llvm::enumerate(kept)) {
        outer.sizes[dim] = region.sizes[inner];
        outer.tensorDims[dim] = region.tensorDims[inner];
        outer.startDivisors[dim] =
            std::gcd(outer.startDivisors[dim], region.startDivisors[inner]);
      }
    } else if (isa<ReshapeOp>(op)) {
      std::optional<SmallVector<int64_t>> from =
          matchUnitReshape(viewType.getShape(), type.getShape());
      if (!from)
        return layout::Error{getUserName(side.storage) +
                             " is seen in another shape than it has"};
      for (int64_t dim : *from) {
        outer.sizes.push_back(dim < 0 ? 1 : region.sizes[dim]);
        outer.tensorDims.push_back(dim < 0 ? -1 : region.tensorDims[dim]);
        outer.startDivisors.push_back(dim < 0 ? 0 : region.startDivisors[dim]);
      }
    } else {
      if (type.getElementBits() != viewType.getElementBits())
        return layout::Error{getUserName(side.storage) +
                             " is seen with elements of another size than it "
                             "has"};
      outer = std::move(region);
    }
    region = std::move(outer);
    view = source;
  }
  return region;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// The largest divisor of `extent` that a box can have, such that steps of it
/// keep shared addresses aligned; 0 if there is none.
static int64_t getChunk(int64_t extent, int64_t stepBytes) {
  if (extent <= kMaxBoxExtent)
    return extent;
  for (int64_t chunk = kMaxBoxExtent; chunk > 0; --chunk)
    if (extent % chunk == 0 && chunk * stepBytes % kSharedAlignment == 0)
      return chunk;
  return 0;
}

namespace {
/// From box to box: how many there are, dimension of the tensor and elements
/// there, bytes in shared memory.
struct BoxStep {
  int64_t count, dim, elements, bytes;
};
} // namespace

/// Cuts what the boxes cover into `parts`: whole boxes if there are enough,
/// else boxes of fewer rows. The first steps belong to the dimensions of the
/// box, in the same order. False if neither comes out even.
static bool cutInParts(TmaPlan &plan, MutableArrayRef<BoxStep> steps,
                       int64_t parts) {
  plan.parts = parts;
  for (BoxStep &step : llvm::reverse(steps)) {
    int64_t count = step.count / parts;
    if (step.count % parts != 0 || count * step.bytes % kSharedAlignment != 0)
      continue;
    plan.partDim = step.dim;
    plan.partElements = count * step.elements;
    plan.partBytes = count * step.bytes;
    step.count = count;
    return true;
  }
  // The slowest dimension in which a box extends.
  for (size_t index = steps.size(); index-- > 1;) {
    BoxStep &step = steps[index];
    int64_t extent = plan.box[index];
    if (extent == 1)
      continue;
    int64_t rowBytes = step.bytes / extent;
    if (extent % parts != 0 || extent / parts * rowBytes % kSharedAlignment)
      return false;
    plan.box[index] = extent / parts;
    plan.partDim = step.dim;
    plan.partElements = extent / parts;
    plan.partBytes = extent / parts * rowBytes;
    return true;
  }
  return false;
}

layout::Result<TmaPlan> mlir::tile::planTma(const CopySide &tensor,
                                            const CopySide &buffer,
                                            const layout::SharedLayout &layout,
                                            GetDivisor getDivisor,
                                            int64_t parts) {
  auto type = cast<MemRefType>(tensor.storage.getType());
  std::string bufferName = getUserName(buffer.storage);
  SmallVector<int64_t> iterated;
  for (auto [dim, size] : llvm::enumerate(tensor.sizes))
    if (size != 1)
      iterated.push_back(dim);
  if (iterated.empty())
    return layout::Error{"a single element is copied"};
  layout::Result<AllocationRegion> region =
      getAllocationRegion(buffer, iterated, getDivisor);
  if (!region)
    return layout::Error{region.error()};
  int64_t bytes = layout.elementBits() / 8;

  // The order of memory. Dimensions of extent 1 take no part in it.
  SmallVector<int64_t> order;
  for (int dim : layout.order())
    if (layout.shape()[dim] != 1)
      order.push_back(dim);
  int64_t fastest = order.front();
  int64_t panel = fastest == layout.fastestDim() ? layout.panelElements()
                                                 : layout.shape()[fastest];
  SmallVector<int64_t> rowStride(layout.rank(), 0);
  int64_t rows = 1;
  for (int64_t dim : llvm::drop_begin(order)) {
    rowStride[dim] = rows;
    rows *= layout.shape()[dim];
  }
  int64_t rowBytes = panel * bytes, panelBytes = rows * rowBytes;

  // Along the contiguous dimension.
  if (region->tensorDims[fastest] < 0)
    return layout::Error{
        "the dimension of " + bufferName +
        " that is contiguous in shared memory is not the one that is copied"};
  int64_t columns = region->sizes[fastest];
  int64_t start = region->startDivisors[fastest];
  int64_t width, startBytes;
  // A single row without a swizzle can be cut anywhere.
  bool copiesRow = llvm::all_of(llvm::drop_begin(order), [&](int64_t dim) {
    return region->tensorDims[dim] < 0;
  });
  if (copiesRow && layout.swizzleBytes() == 0 &&
      panel == layout.shape()[fastest]) {
    width = getChunk(columns, bytes);
    startBytes = start * bytes;
    panelBytes = width * bytes;
  } else {
    width = panel;
    if (start % panel != 0 || columns % panel != 0)
      return layout::Error{
          llvm::formatv("only part of the panels of {0} elements, in which {1} "
                        "lies in shared memory, is copied",
                        panel, bufferName)
              .str()};
    startBytes = start / panel * panelBytes;
  }
  if (width == 0 || width > kMaxBoxExtent)
    return layout::Error{
        llvm::formatv("rows of {0} elements cannot be cut into boxes", columns)
            .str()};
  if (width * bytes % kRowGranularity != 0)
    return layout::Error{llvm::formatv("a row of the region has {0} bytes, TMA "
                                       "moves multiples of 16",
                                       width * bytes)
                             .str()};

  TmaPlan plan;
  plan.swizzle = layout.swizzleBytes();
  plan.dims.push_back(region->tensorDims[fastest]);
  plan.box.push_back(width);
  SmallVector<BoxStep> steps = {
      {columns / width, plan.dims.front(), width, panelBytes}};
  bool dense = true;
  for (int64_t dim : llvm::drop_begin(order)) {
    startBytes = std::gcd(startBytes, region->startDivisors[dim] *
                                          rowStride[dim] * rowBytes);
    int64_t size = region->sizes[dim];
    if (region->tensorDims[dim] < 0) {
      dense &= layout.shape()[dim] == 1;
      continue;
    }
    int64_t stride = rowStride[dim] * rowBytes;
    int64_t extent = dense ? getChunk(size, stride) : 1;
    if (extent == 0)
      return layout::Error{
          llvm::formatv("{0} rows cannot be cut into boxes", size).str()};
    dense &= extent == layout.shape()[dim];
    plan.dims.push_back(region->tensorDims[dim]);
    plan.box.push_back(extent);
    steps.push_back(
        {size / extent, region->tensorDims[dim], extent, extent * stride});
  }
  if (startBytes % kSharedAlignment != 0)
    return layout::Error{"boxes of " + bufferName +
                         " would start at shared addresses that are no "
                         "multiples of 128 bytes"};
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (llvm::is_contained(plan.dims, dim) ||
        (type.getDimSize(dim) == 1 && getDivisor(tensor.offsets[dim]) == 0))
      continue;
    plan.dims.push_back(dim);
    plan.box.push_back(1);
  }
  if (static_cast<int64_t>(plan.dims.size()) > kMaxMapRank)
    return layout::Error{
        llvm::formatv("the copy runs over a tensor of {0} dimensions, maps "
                      "have at most 5",
                      plan.dims.size())
            .str()};

  if (parts > 1 && !cutInParts(plan, steps, parts))
    return layout::Error{
        llvm::formatv("the tile of {0} cannot be cut into {1} equal parts of "
                      "whole panels or rows",
                      bufferName, parts)
            .str()};

  plan.boxBytes = bytes;
  for (int64_t extent : plan.box)
    plan.boxBytes *= extent;
  int64_t count = 1;
  for (const BoxStep &step : steps)
    count *= step.count;
  if (count > kMaxBoxes)
    return layout::Error{
        llvm::formatv("the region falls into {0} boxes", count).str()};
  for (int64_t number = 0; number < count; ++number) {
    TmaBox box;
    box.tensorOffsets.assign(type.getRank(), 0);
    int64_t rest = number;
    for (const BoxStep &step : steps) {
      box.tensorOffsets[step.dim] += rest % step.count * step.elements;
      box.sharedBytes += rest % step.count * step.bytes;
      rest /= step.count;
    }
    if (box.sharedBytes % kSharedAlignment != 0)
      return layout::Error{"boxes of " + bufferName +
                           " would start at shared addresses that are no "
                           "multiples of 128 bytes"};
    plan.boxes.push_back(std::move(box));
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

template <typename CopyT>
static std::optional<TensorCopy> getTensorCopyOf(CopyT op) {
  CopySide source{op.getSource(), llvm::to_vector(op.getSourceOffsets()),
                  llvm::to_vector(op.getSourceSizes())};
  CopySide dest{op.getDest(), llvm::to_vector(op.getDestOffsets()),
                llvm::to_vector(op.getDestSizes())};
  auto isShared = [](const CopySide &side) {
    auto type = dyn_cast<BufferType>(side.storage.getType());
    return type && type.isShared();
  };
  if (isa<MemRefType>(source.storage.getType()) && isShared(dest))
    return TensorCopy{source, dest, true};
  if (isa<MemRefType>(dest.storage.getType()) && isShared(source))
    return TensorCopy{dest, source, false};
  return std::nullopt;
}

std::optional<TensorCopy> mlir::tile::getTensorCopy(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return getTensorCopyOf(copy);
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return getTensorCopyOf(copy);
  return std::nullopt;
}

static layout::Result<TmaPlan> planOperation(Operation *op, int64_t parts) {
  std::optional<TensorCopy> copy = getTensorCopy(op);
  if (!copy)
    return layout::Error{"the copy is not between a tensor and shared memory"};
  AllocOp alloc = getAllocation(copy->buffer.storage);
  BufferType type = alloc.getType();
  SharedLayoutAttr attr = type.getSharedLayout();
  if (!attr)
    return layout::Error{getUserName(alloc) + " has no layout"};
  IntegerAnalysis integers(op);
  return planTma(
      copy->tensor, copy->buffer,
      attr.getLayout(type.getShape(), type.getElementBits()),
      [&](Value value) { return integers.getDivisor(value); }, parts);
}

layout::Result<TmaPlan> mlir::tile::planTma(CopyOp copy) {
  return planOperation(copy, getMulticastBlocks(copy));
}

layout::Result<TmaPlan> mlir::tile::planTma(CopyAsyncOp copy) {
  return planOperation(copy, getMulticastBlocks(copy));
}

layout::Result<TmaPlan> mlir::tile::planTma(CopyOp copy, int64_t parts) {
  return planOperation(copy, parts);
}

bool mlir::tile::isTmaCopy(Operation *op) {
  ChoiceAttr choice;
  if (auto copy = dyn_cast<CopyOp>(op))
    choice = copy.getChoiceAttr();
  else if (auto copy = dyn_cast<CopyAsyncOp>(op))
    choice = copy.getChoiceAttr();
  return choice && choice.getPath() == Path::Tma;
}
