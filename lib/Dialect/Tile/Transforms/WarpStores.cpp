//===- WarpStores.cpp - stores that each warp does by itself ----*- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "AsyncProxy.h"
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Shared addresses of boxes (PTX ISA, cp.async.bulk.tensor).
static constexpr int64_t kBoxAlignment = 128;
/// With fewer rows, a warp would start more boxes than it has to store.
static constexpr int64_t kMaxBoxesOfWarp = 16;

FragmentLayoutAttr mlir::tile::getWarpLayout(Operation *op) {
  return op->getAttrOfType<FragmentLayoutAttr>(kWarpLayout);
}

bool mlir::tile::isPerWarp(Operation *op) {
  return op->hasAttr(kPerWarp) || (isBulkStore(op) && getWarpLayout(op));
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

layout::Result<WarpStorePlan>
mlir::tile::planWarpStore(Operation *store, FragmentLayoutAttr attr) {
  std::optional<TensorCopy> copy = getTensorCopy(store);
  if (!copy || copy->isLoad)
    return layout::Error{"it is no store from shared memory"};
  layout::Result<layout::WarpBoxes> parts =
      layout::getWarpBoxes(attr.getLayout());
  if (!parts)
    return layout::Error{parts.error()};
  auto type = cast<BufferType>(copy->buffer.storage.getType());
  SharedLayoutAttr sharedAttr = type.getSharedLayout();
  if (!sharedAttr ||
      type.getRank() != static_cast<int64_t>(parts->sizes.size()))
    return layout::Error{"its staging buffer has no layout"};
  layout::SharedLayout shared =
      sharedAttr.getLayout(type.getShape(), type.getElementBits());

  // A part as a copy of its own: its extents in both storages.
  CopySide tensor = copy->tensor, buffer = copy->buffer;
  SmallVector<int64_t> tensorDims;
  size_t next = 0;
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    buffer.sizes[dim] = parts->sizes[dim];
    tensorDims.push_back(-1);
    if (extent == 1)
      continue;
    while (copy->tensor.sizes[next] == 1)
      ++next;
    tensorDims.back() = next;
    tensor.sizes[next++] = parts->sizes[dim];
  }
  IntegerAnalysis integers(store);
  layout::Result<TmaPlan> boxes =
      planTma(tensor, buffer, shared, store, integers);
  if (!boxes)
    return layout::Error{boxes.error()};

  WarpStorePlan plan{*parts, tensorDims, {}, {}, *boxes};
  // Its rows are not all that panels have.
  plan.boxes.whyBoxPerPanel.clear();
  if (plan.parts.offsets.size() * boxes->boxes.size() > kMaxBoxesOfWarp)
    return layout::Error{
        llvm::formatv("a warp's part falls into {0} boxes",
                      plan.parts.offsets.size() * boxes->boxes.size())
            .str()};
  // Parts begin where panels do: their addresses, without swizzle, add up.
  auto place =
      [&](const std::vector<int64_t> &begin) -> std::optional<int64_t> {
    if (begin[shared.fastestDim()] % shared.panelElements() != 0)
      return std::nullopt;
    int64_t bytes = shared.linearByteOffset(begin);
    return bytes % kBoxAlignment == 0 ? std::optional(bytes) : std::nullopt;
  };
  for (auto [list, result] :
       {std::make_pair(&plan.parts.offsets, &plan.partBytes),
        std::make_pair(&plan.parts.origins, &plan.warpBytes)})
    for (const std::vector<int64_t> &begin : *list) {
      std::optional<int64_t> bytes = place(begin);
      if (!bytes)
        return layout::Error{"parts of warps begin inside of panels, or at "
                             "shared addresses that are no multiples of 128 "
                             "bytes"};
      result->push_back(*bytes);
    }
  return plan;
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Whether a copy covers all of `buffer`.
static bool isWhole(OperandRange offsets, ArrayRef<int64_t> sizes,
                    BufferType buffer) {
  return sizes == buffer.getShape() && llvm::all_of(offsets, [](Value offset) {
           return matchPattern(offset, m_Zero());
         });
}

/// The layout of the part of a fragment that is copied.
static layout::Result<layout::FragmentLayout> getCopiedLayout(CopyOp copy) {
  layout::Result<FragmentView> view = getFragmentView(copy.getSource());
  if (!view)
    return layout::Error{view.error()};
  layout::FragmentLayout part = view->layout;
  for (auto [dim, size] : llvm::enumerate(copy.getSourceSizes())) {
    if (size == part.shape()[dim])
      continue;
    APInt start;
    if (!matchPattern(copy.getSourceOffsets()[dim], m_ConstantInt(&start)))
      return layout::Error{"which part of " + getUserName(copy.getSource()) +
                           " is stored is not constant"};
    layout::Result<layout::RegisterSlice> slice =
        part.sliceRegisters(dim, start.getSExtValue(), size);
    if (!slice)
      return layout::Error{slice.error()};
    part = slice->layout;
  }
  for (int64_t dim = part.rank() - 1; dim >= 0; --dim) {
    if (copy.getSourceSizes()[dim] != 1)
      continue;
    layout::Result<layout::FragmentLayout> dropped = part.dropUnitDim(dim);
    if (!dropped)
      return layout::Error{dropped.error()};
    part = *dropped;
  }
  return part;
}

/// The layout by which the threads of a loop write `store`'s buffer, where
/// matrix stores transpose a fragment on its way.
static layout::Result<layout::FragmentLayout>
getTransposedLayout(StoreOp store, Value buffer) {
  auto loop = store->getParentOfType<ParallelOp>();
  std::optional<TransposedStore> match =
      loop ? matchTransposedStore(loop) : std::nullopt;
  if (!match || match->store != store || store.getDest() != buffer ||
      !loop.getChoiceAttr() || loop.getChoiceAttr().getPath() != Path::Stmatrix)
    return layout::Error{describeForUser(store) + " uses " +
                         getUserName(buffer) + " in another way"};
  layout::Result<FragmentView> view = getFragmentView(match->load.getSource());
  if (!view)
    return layout::Error{view.error()};
  return view->layout.permuteDims({1, 0});
}

namespace {
/// The stores of one staging buffer.
class StagingBuffer {
public:
  explicit StagingBuffer(AllocOp alloc) : alloc(alloc) {}

  /// Marks its copies, or says why not.
  std::string run(IntegerAnalysis &integers);

private:
  std::string collect();
  std::string refuseOrder(IntegerAnalysis &integers);

  AllocOp alloc;
  /// Copies, and loops that store transposed.
  SmallVector<Operation *> writers;
  SmallVector<CopyAsyncOp> stores;
  std::optional<layout::FragmentLayout> common;
};
} // namespace

std::string StagingBuffer::collect() {
  BufferType type = alloc.getType();
  std::string name = getUserName(alloc);
  auto addWriter =
      [&](Operation *writer,
          const layout::Result<layout::FragmentLayout> &part) -> std::string {
    if (!part)
      return part.error();
    if (common && !common->isSameMap(*part))
      return name + " is filled from fragments of different layouts";
    if (!common)
      common = *part;
    if (part->numThreads() != getCollectiveThreads(writer))
      return "not all threads that store hold a part";
    writers.push_back(writer);
    return "";
  };
  for (Operation *user : getHandleUsers(alloc)) {
    std::string why;
    if (auto element = dyn_cast<StoreOp>(user)) {
      why = addWriter(element->getParentOp(),
                      getTransposedLayout(element, alloc.getResult()));
      if (!why.empty())
        return why;
      continue;
    }
    if (auto copy = dyn_cast<CopyOp>(user)) {
      auto source = dyn_cast<BufferType>(copy.getSource().getType());
      if (copy.getDest() != alloc.getResult() || !source ||
          !source.isFragment() ||
          !isWhole(copy.getDestOffsets(), copy.getDestSizes(), type))
        return describeForUser(user) + " uses " + name + " in another way";
      why = addWriter(copy, getCopiedLayout(copy));
      if (!why.empty())
        return why;
      continue;
    }
    auto store = dyn_cast<CopyAsyncOp>(user);
    if (!store || !isBulkStore(store) ||
        store.getSource() != alloc.getResult() ||
        !isWhole(store.getSourceOffsets(), store.getSourceSizes(), type))
      return describeForUser(user) + " uses " + name + " in another way";
    stores.push_back(store);
  }
  return writers.empty() ? "no thread writes " + name : "";
}

/// Stores of different iterations to one place stay in order if the same warp
/// does them: if places are the same, or apart.
std::string StagingBuffer::refuseOrder(IntegerAnalysis &integers) {
  for (CopyAsyncOp store : stores) {
    bool apart = true;
    for (Operation *loop = store->getParentOp(); !isa<KernelOp>(loop);
         loop = loop->getParentOp())
      apart &= !isLoop(loop) || staysApart(store, store.getDest(), loop);
    if (apart)
      continue;
    for (auto [dim, offset, size] :
         llvm::enumerate(store.getDestOffsets(), store.getDestSizes()))
      if (integers.getDivisor(offset) % size != 0)
        return llvm::formatv("tiles may overlap: their start in dimension {0} "
                             "of {1} is not known to be a multiple of {2}",
                             dim, getUserName(store.getDest()), size);
  }
  return "";
}

std::string StagingBuffer::run(IntegerAnalysis &integers) {
  if (std::string why = collect(); !why.empty())
    return why;
  if (std::string why = refuseOrder(integers); !why.empty())
    return why;
  auto attr = FragmentLayoutAttr::get(alloc.getContext(), *common);
  for (CopyAsyncOp store : stores)
    if (layout::Result<WarpStorePlan> plan = planWarpStore(store, attr); !plan)
      return plan.error();
  for (Operation *writer : writers)
    writer->setAttr(kWarpLayout, attr);
  for (CopyAsyncOp store : stores)
    store->setAttr(kWarpLayout, attr);
  return "";
}

void mlir::tile::storeByWarps(KernelOp kernel, ArrayRef<CopyAsyncOp> stores) {
  // Programs that order their threads commit and wait themselves.
  if (stores.empty() || kernel->hasAttr("tile.explicit"))
    return;
  IntegerAnalysis integers(kernel);
  llvm::MapVector<Operation *, std::string> reasons;
  for (CopyAsyncOp store : stores) {
    AllocOp alloc = getAllocation(store.getSource());
    auto [entry, isNew] = reasons.try_emplace(alloc, "");
    if (isNew)
      entry->second = StagingBuffer(alloc).run(integers);
    ChoiceAttr choice = store.getChoiceAttr();
    std::string suffix = "; by one thread for all warps: " + entry->second;
    if (FragmentLayoutAttr warps = getWarpLayout(store)) {
      WarpStorePlan plan = *planWarpStore(store, warps);
      choice = getTmaChoice(kernel.getContext(), /*isLoad=*/false, plan.boxes,
                            plan.partBytes.size() * plan.boxes.boxes.size());
      suffix = "; each warp stores what it has written";
    }
    std::string reason = choice.getReason().str() + suffix;
    store.setChoiceAttr(ChoiceAttr::get(kernel.getContext(), choice.getPath(),
                                        reason, choice.getArguments()));
  }
}
