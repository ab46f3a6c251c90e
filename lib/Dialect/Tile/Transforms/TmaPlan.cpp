//===- TmaPlan.cpp - boxes of a copy by TMA ---------------------*- C++ -*-===//
//
// The map has the dimensions of the shared buffer first, in the order of its
// layout, so that a box is filled in the order in which memory is; then those
// of the tensor in which the copy has extent 1. A box is one panel wide and has
// as many rows as lie densely in memory; panels that follow each other densely
// are a further dimension of the map, if the rows of the tensor fall into whole
// panels: a map in panels knows no end of a row, and would go on in the next
// one. The rest are further boxes.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "IntegerAnalysis.h"
#include "MemoryAccess.h"

#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
                                     int64_t elementBits,
                                     std::optional<int64_t> widest) {
  std::vector<int64_t> extents = shape.vec();
  int64_t row = shape.empty() ? 1 : shape.back(), elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  // A single row has no neighbours to be kept apart from.
  if (elements == row)
    return layout::SharedLayout::rowMajor(extents, elementBits);
  int64_t swizzle = layout::bestSwizzle(row * elementBits / 8);
  if (widest && *widest < swizzle)
    swizzle = *widest;
  if (swizzle)
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

int mlir::tile::getSlotDims(AllocOp alloc) {
  int64_t dims = std::max<int64_t>(0, alloc.getType().getRank() - 2);
  auto narrow = [&](ArrayRef<int64_t> sizes) {
    int64_t ones = 0;
    while (ones < dims && sizes[ones] == 1)
      ++ones;
    dims = ones;
  };
  for (Operation *user : alloc.getResult().getUsers()) {
    if (auto subview = dyn_cast<SubviewOp>(user))
      narrow(subview.getSizes());
    std::optional<TensorCopy> copy = getTensorCopy(user);
    if (copy && copy->buffer.storage == alloc.getResult())
      narrow(copy->buffer.sizes);
  }
  return static_cast<int>(dims);
}

//===----------------------------------------------------------------------===//
// What is known of tensors
//===----------------------------------------------------------------------===//

int64_t mlir::tile::getExprDivisor(ExprAttr expr) {
  if (expr.isConstant())
    return std::abs(expr.getValue());
  ArrayRef<ExprAttr> operands = expr.getOperands();
  switch (expr.getKind()) {
  case ExprKind::Mul:
    return getExprDivisor(operands[0]) * getExprDivisor(operands[1]);
  case ExprKind::Add:
  case ExprKind::Sub:
  case ExprKind::Min:
  case ExprKind::Max:
    return std::gcd(getExprDivisor(operands[0]), getExprDivisor(operands[1]));
  default:
    return 1;
  }
}

int64_t mlir::tile::getExtentDivisor(Value tensor, int64_t dim, Operation *user,
                                     IntegerAnalysis &integers) {
  auto type = cast<MemRefType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  int64_t known = 1;
  auto getSize = [](Value other, int64_t axis) -> ExprAttr {
    ArgumentAttr declared = getDeclaration(other);
    return declared && axis < static_cast<int64_t>(declared.getShape().size())
               ? declared.getShape()[axis]
               : ExprAttr();
  };
  ExprAttr size = getSize(tensor, dim);
  if (size)
    known = std::max<int64_t>(1, getExprDivisor(size));
  // What is assumed of the extent, or of another one of the same size.
  Block *entry = tensor.getParentBlock();
  for (auto dimension : entry->getOps<memref::DimOp>()) {
    Value source = dimension.getSource();
    std::optional<int64_t> axis = dimension.getConstantIndex();
    if (!axis || !((source == tensor && *axis == dim) ||
                   (size && getSize(source, *axis) == size)))
      continue;
    for (Operation *cast : dimension.getResult().getUsers())
      if (isa<arith::IndexCastOp>(cast))
        known = std::lcm(known, std::max<int64_t>(1, integers.getDivisor(
                                                         cast->getResult(0))));
  }
  // The row of a contiguous matrix is its pitch, which the launch checks.
  int64_t bytes = getElementBits(type.getElementType()) / 8;
  if (type.getLayout().isIdentity() && type.getRank() > 1 &&
      dim == type.getRank() - 1)
    known = std::lcm(known, std::max<int64_t>(
                                1, getPromisedAlignment(tensor, user) / bytes));
  return known;
}

/// Why the rows of `tensor` along `dim`, from `offset` on, cannot be seen as
/// panels; empty if they can.
static std::string refusePanels(Value tensor, int64_t dim, Value offset,
                                int64_t panel, Operation *user,
                                IntegerAnalysis &integers) {
  auto explain = [&](StringRef what, int64_t known) -> std::string {
    return llvm::formatv("{0} dimension {1} of {2} is only known to be a "
                         "multiple of {3}, panels have {4} elements",
                         what, dim, getUserName(tensor), known, panel);
  };
  int64_t extent = getExtentDivisor(tensor, dim, user, integers);
  if (extent % panel != 0)
    return explain("the extent of", extent);
  int64_t start = integers.getDivisor(offset);
  if (start % panel != 0)
    return explain("the start in", start);
  return "";
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
                    IntegerAnalysis &integers) {
  AllocationRegion region;
  size_t next = 0;
  for (auto [offset, size] : llvm::zip_equal(side.offsets, side.sizes)) {
    region.sizes.push_back(size);
    region.startDivisors.push_back(integers.getDivisor(offset));
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
        outer.startDivisors.push_back(integers.getDivisor(offset));
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
/// there, bytes in shared memory, dimension of the map.
struct BoxStep {
  int64_t count, dim, elements, bytes, position;
};

/// Cuts one copy into boxes.
class BoxPlanner {
public:
  BoxPlanner(const CopySide &tensor, const CopySide &buffer,
             const layout::SharedLayout &layout, IntegerAnalysis &integers)
      : tensor(tensor), buffer(buffer), layout(layout), integers(integers),
        type(cast<MemRefType>(tensor.storage.getType())),
        bytes(layout.elementBits() / 8) {}

  /// Finds what the copy is in shared memory and along its contiguous
  /// dimension; says why it cannot be copied.
  std::string prepare();

  /// Panels that the copy covers; 1 where rows are not cut.
  int64_t countPanels() const { return columns / width; }
  int64_t getWidth() const { return width; }
  /// Dimension of the tensor along which shared memory is filled.
  int64_t getFastestDim() const { return region.tensorDims[fastest]; }

  /// The boxes; with panels as a dimension of the map if `byPanel` and they
  /// are dense.
  layout::Result<TmaPlan> plan(bool byPanel, int64_t parts);

private:
  void addPanels(bool byPanel);
  std::string addRows(int64_t dim);
  void addCoordinates();
  bool cutInParts(int64_t parts);
  std::string placeBoxes();
  std::string misaligned() const {
    return "boxes of " + getUserName(buffer.storage) +
           " would start at shared addresses that are no multiples of 128 "
           "bytes";
  }

  const CopySide &tensor, &buffer;
  const layout::SharedLayout &layout;
  IntegerAnalysis &integers;
  MemRefType type;
  int64_t bytes;

  AllocationRegion region;
  /// Dimensions of the buffer in the order of memory, without those of extent
  /// 1, which take no part in it; the fastest one.
  SmallVector<int64_t> order;
  int64_t fastest = 0;
  /// Elements that are copied along it, of a box, and bytes from one box to the
  /// next.
  int64_t columns = 0, width = 0, panelBytes = 0;
  /// Bytes that divide where the copy begins, along the fastest dimension.
  int64_t columnStart = 0;

  TmaPlan result;
  SmallVector<BoxStep> steps;
  bool dense = true;
};
} // namespace

std::string BoxPlanner::prepare() {
  std::string bufferName = getUserName(buffer.storage);
  SmallVector<int64_t> iterated;
  for (auto [dim, size] : llvm::enumerate(tensor.sizes))
    if (size != 1)
      iterated.push_back(dim);
  if (iterated.empty())
    return "a single element is copied";
  layout::Result<AllocationRegion> found =
      getAllocationRegion(buffer, iterated, integers);
  if (!found)
    return found.error();
  region = std::move(*found);

  for (int dim : layout.order())
    if (layout.shape()[dim] != 1 && !llvm::is_contained(order, dim))
      order.push_back(dim);
  fastest = order.front();
  int64_t panel = fastest == layout.fastestDim() ? layout.panelElements()
                                                 : layout.shape()[fastest];
  if (region.tensorDims[fastest] < 0)
    return "the dimension of " + bufferName +
           " that is contiguous in shared memory is not the one that is copied";
  columns = region.sizes[fastest];
  int64_t start = region.startDivisors[fastest];
  // A single row without a swizzle can be cut anywhere.
  bool copiesRow = llvm::all_of(llvm::drop_begin(order), [&](int64_t dim) {
    return region.tensorDims[dim] < 0;
  });
  if (copiesRow && layout.swizzleBytes() == 0 &&
      panel == layout.shape()[fastest]) {
    width = getChunk(columns, bytes);
    columnStart = start * bytes;
    panelBytes = width * bytes;
  } else {
    width = panel;
    panelBytes = layout.panelBytes();
    if (start % panel != 0 || columns % panel != 0)
      return llvm::formatv("only part of the panels of {0} elements, in which "
                           "{1} lies in shared memory, is copied",
                           panel, bufferName);
    columnStart = start / panel * panelBytes;
  }
  if (width == 0 || width > kMaxBoxExtent)
    return llvm::formatv("rows of {0} elements cannot be cut into boxes",
                         columns);
  if (width * bytes % kRowGranularity != 0)
    return llvm::formatv("a row of the region has {0} bytes, TMA moves "
                         "multiples of 16",
                         width * bytes);
  return "";
}

/// The panels, behind the rows in each of them.
void BoxPlanner::addPanels(bool byPanel) {
  int64_t count = countPanels(), whole = layout.shape()[fastest] / width;
  int64_t extent =
      byPanel && dense && count > 1 ? getChunk(count, panelBytes) : 0;
  if (extent > 1) {
    result.panelPosition = static_cast<int64_t>(result.box.size());
    result.dims.push_back(getFastestDim());
    result.box.push_back(extent);
    steps.push_back({count / extent, getFastestDim(), extent * width,
                     extent * panelBytes, result.panelPosition});
  } else {
    extent = 1;
    steps.push_back({count, getFastestDim(), width, panelBytes, 0});
  }
  dense &= extent == whole;
}

/// A slower dimension; says why it cannot be cut.
std::string BoxPlanner::addRows(int64_t dim) {
  int64_t size = region.sizes[dim], stride = layout::strideBytes(layout, dim);
  if (region.tensorDims[dim] < 0) {
    dense = false;
    return "";
  }
  int64_t extent = dense ? getChunk(size, stride) : 1;
  if (extent == 0)
    return llvm::formatv("{0} rows cannot be cut into boxes", size);
  dense &= extent == layout.shape()[dim];
  steps.push_back({size / extent, region.tensorDims[dim], extent,
                   extent * stride, static_cast<int64_t>(result.box.size())});
  result.dims.push_back(region.tensorDims[dim]);
  result.box.push_back(extent);
  return "";
}

/// Dimensions of the tensor in which the copy has extent 1.
void BoxPlanner::addCoordinates() {
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (llvm::is_contained(result.dims, dim) ||
        (type.getDimSize(dim) == 1 &&
         integers.getDivisor(tensor.offsets[dim]) == 0))
      continue;
    result.dims.push_back(dim);
    result.box.push_back(1);
  }
}

/// Cuts what the boxes cover into `parts`: whole boxes if there are enough,
/// else boxes of fewer panels or rows. False if neither comes out even.
bool BoxPlanner::cutInParts(int64_t parts) {
  result.parts = parts;
  for (BoxStep &step : llvm::reverse(steps)) {
    int64_t count = step.count / parts;
    if (step.count % parts != 0 || count * step.bytes % kSharedAlignment != 0)
      continue;
    result.partDim = step.dim;
    result.partElements = count * step.elements;
    result.partBytes = count * step.bytes;
    step.count = count;
    return true;
  }
  // The slowest dimension in which a box extends.
  for (BoxStep &step : llvm::reverse(steps)) {
    if (step.position == 0 || result.box[step.position] == 1)
      continue;
    int64_t &extent = result.box[step.position];
    int64_t elements = step.elements / extent, stride = step.bytes / extent;
    int64_t part = extent / parts;
    if (extent % parts != 0 || part * stride % kSharedAlignment != 0)
      return false;
    extent = part;
    result.partDim = step.dim;
    result.partElements = part * elements;
    result.partBytes = part * stride;
    return true;
  }
  return false;
}

std::string BoxPlanner::placeBoxes() {
  result.boxBytes = bytes;
  for (int64_t extent : result.box)
    result.boxBytes *= extent;
  int64_t count = 1;
  for (const BoxStep &step : steps)
    count *= step.count;
  if (count > kMaxBoxes)
    return llvm::formatv("the region falls into {0} boxes", count);
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
      return misaligned();
    result.boxes.push_back(std::move(box));
  }
  return "";
}

layout::Result<TmaPlan> BoxPlanner::plan(bool byPanel, int64_t parts) {
  result = TmaPlan();
  steps.clear();
  dense = true;
  result.swizzle = layout.swizzleBytes();
  result.dims.push_back(getFastestDim());
  result.box.push_back(width);
  int64_t startBytes = columnStart;
  bool hasPanels = false;
  for (int64_t dim : llvm::drop_begin(order)) {
    startBytes = std::gcd(startBytes, region.startDivisors[dim] *
                                          layout::strideBytes(layout, dim));
    if (!hasPanels && layout::strideBytes(layout, dim) >= panelBytes) {
      addPanels(byPanel);
      hasPanels = true;
    }
    if (std::string why = addRows(dim); !why.empty())
      return layout::Error{why};
  }
  if (!hasPanels)
    addPanels(byPanel);
  if (startBytes % kSharedAlignment != 0)
    return layout::Error{misaligned()};
  addCoordinates();
  if (static_cast<int64_t>(result.dims.size()) > kMaxMapRank)
    return layout::Error{
        llvm::formatv(result.panelPosition < 0
                          ? "the copy runs over a tensor of {0} dimensions, "
                            "maps have at most 5"
                          : "with the panels the map would have {0} "
                            "dimensions, at most 5 are possible",
                      result.dims.size())
            .str()};
  if (parts > 1 && !cutInParts(parts))
    return layout::Error{
        llvm::formatv("the tile of {0} cannot be cut into {1} equal parts of "
                      "whole panels or rows",
                      getUserName(buffer.storage), parts)
            .str()};
  if (std::string why = placeBoxes(); !why.empty())
    return layout::Error{why};
  return result;
}

layout::Result<TmaPlan>
mlir::tile::planTma(const CopySide &tensor, const CopySide &buffer,
                    const layout::SharedLayout &layout, Operation *user,
                    IntegerAnalysis &integers, int64_t parts) {
  BoxPlanner planner(tensor, buffer, layout, integers);
  if (std::string why = planner.prepare(); !why.empty())
    return layout::Error{why};
  if (planner.countPanels() == 1)
    return planner.plan(/*byPanel=*/false, parts);
  int64_t dim = planner.getFastestDim();
  std::string why = refusePanels(tensor.storage, dim, tensor.offsets[dim],
                                 planner.getWidth(), user, integers);
  if (why.empty()) {
    layout::Result<TmaPlan> plan = planner.plan(/*byPanel=*/true, parts);
    bool byPanel = plan && plan->panelPosition >= 0;
    if (byPanel && plan->box[plan->panelPosition] > 1)
      return plan;
    // A part of one panel needs no such map.
    if (!byPanel)
      why = plan ? "the panels do not follow each other in shared memory"
                 : std::string(plan.error());
  }
  layout::Result<TmaPlan> plan = planner.plan(/*byPanel=*/false, parts);
  if (plan)
    plan->whyBoxPerPanel = why;
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
  return planTma(copy->tensor, copy->buffer,
                 attr.getLayout(type.getShape(), type.getElementBits()), op,
                 integers, parts);
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
