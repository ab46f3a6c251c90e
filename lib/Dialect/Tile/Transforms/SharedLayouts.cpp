//===- SharedLayouts.cpp - Layouts of shared buffers ------------*- C++ -*-===//
//
// The candidates are row-major with every swizzle that fits the row. For each,
// the accesses of the first warp are replayed and their bank conflicts counted;
// rows of all users count together. Buffers of TMA and wgmma get the one layout
// that both take.
//
//===----------------------------------------------------------------------===//
#include "SharedLayouts.h"

#include "InstructionSelection.h"
#include "LayoutLegalizer.h"

#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Layout/BankConflicts.h"
#include "tilemlir/Layout/MatrixAccess.h"
#include "tilemlir/Layout/PanelOrder.h"
#include "tilemlir/Layout/WarpBoxes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

using Coordinate = std::vector<int64_t>;

/// Warp-wide accesses replayed per use at most: enough to see every bank
/// pattern, few enough to keep compilation fast.
static constexpr int64_t kMaxReplayedAccesses = 16;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Byte offset in its allocation of an element of a view. Dynamic offsets of
/// views are taken as zero, which leaves bank patterns of aligned tiles as they
/// are.
static int64_t getByteOffset(Value buffer, Coordinate coordinate,
                             const layout::SharedLayout &allocation) {
  int64_t byteInElement = 0;
  while (!isa<AllocOp>(buffer.getDefiningOp())) {
    Operation *op = buffer.getDefiningOp();
    auto source = cast<BufferType>(op->getOperand(0).getType());
    auto view = cast<BufferType>(buffer.getType());
    if (auto subview = dyn_cast<SubviewOp>(op)) {
      Coordinate outer;
      size_t next = 0;
      bool sameRank = source.getRank() == view.getRank();
      for (auto [dim, size] : llvm::enumerate(subview.getSizes())) {
        APInt start;
        bool constant =
            matchPattern(subview.getOffsets()[dim], m_ConstantInt(&start));
        int64_t offset = constant ? start.getSExtValue() : 0;
        // Dropped dimensions have size 1.
        bool kept = sameRank || size != 1 ||
                    (next < coordinate.size() && view.getShape()[next] == 1 &&
                     view.getRank() - static_cast<int64_t>(next) ==
                         source.getRank() - static_cast<int64_t>(dim));
        outer.push_back(
            offset + (kept && next < coordinate.size() ? coordinate[next] : 0));
        next += kept;
      }
      coordinate = outer;
    } else if (isa<ReshapeOp>(op)) {
      int64_t linear = 0;
      for (auto [dim, extent] : llvm::enumerate(view.getShape()))
        linear = linear * extent + coordinate[dim];
      coordinate.assign(source.getRank(), 0);
      for (int64_t dim = source.getRank() - 1; dim >= 0; --dim) {
        coordinate[dim] = linear % source.getShape()[dim];
        linear /= source.getShape()[dim];
      }
    } else {
      int64_t bytes =
          coordinate.back() * view.getElementBits() / 8 + byteInElement;
      coordinate.back() = bytes * 8 / source.getElementBits();
      byteInElement = bytes % (source.getElementBits() / 8);
    }
    buffer = op->getOperand(0);
  }
  return allocation.byteOffset(coordinate) + byteInElement;
}

namespace {
/// One warp-wide access: the first element of each lane, and its width.
struct WarpAccess {
  Value buffer;
  std::vector<Coordinate> lanes;
  int64_t bytes = 4;
};

/// Collects the accesses of the first warp to one allocation.
struct AccessCollector {
  SmallVector<WarpAccess> accesses;
  bool usedByMatrixInstruction = false;

  void add(Operation *user, Value buffer);

private:
  void addGemm(GemmOp gemm, Value buffer);
  void addCopy(CopyOp copy, Value buffer);
  void addFragmentCopy(Value buffer, const layout::FragmentLayout &fragment,
                       ArrayRef<int64_t> starts);
  bool addMatrixAccess(Value buffer, const layout::FragmentLayout &fragment);
  void addLoopAccess(ParallelOp loop, Value buffer, OperandRange indices);
};
} // namespace

void AccessCollector::add(Operation *user, Value buffer) {
  if (auto gemm = dyn_cast<GemmOp>(user)) {
    addGemm(gemm, buffer);
  } else if (auto copy = dyn_cast<CopyOp>(user)) {
    addCopy(copy, buffer);
  } else if (auto load = dyn_cast<LoadOp>(user)) {
    if (auto loop = user->getParentOfType<ParallelOp>())
      addLoopAccess(loop, buffer, load.getIndices());
  } else if (auto store = dyn_cast<StoreOp>(user)) {
    if (auto loop = user->getParentOfType<ParallelOp>())
      addLoopAccess(loop, buffer, store.getIndices());
  }
}

/// Loads or stores of the registers of a fragment, vectors along the last
/// dimension where the fragment has them.
void AccessCollector::addFragmentCopy(Value buffer,
                                      const layout::FragmentLayout &fragment,
                                      ArrayRef<int64_t> starts) {
  auto type = cast<BufferType>(buffer.getType());
  int64_t elementBytes = type.getElementBits() / 8;
  int last = fragment.rank() - 1;
  int64_t vector = last < 0 ? 1 : fragment.contiguousElements(last);
  vector = std::min<int64_t>(vector, 16 / elementBytes);
  while (vector > 1 && fragment.numRegisters() % vector != 0)
    vector /= 2;
  int64_t bytes = int64_t(1) << llvm::Log2_64(vector * elementBytes);
  vector = std::max<int64_t>(1, bytes / elementBytes);
  int64_t count =
      std::min(fragment.numRegisters() / vector, kMaxReplayedAccesses);
  for (int64_t i = 0; i < count; ++i) {
    WarpAccess access{buffer, {}, bytes};
    for (int64_t lane = 0;
         lane < std::min<int64_t>(layout::kWarpSize, fragment.numThreads());
         ++lane) {
      if (fragment.isPadding(lane, i * vector))
        continue;
      Coordinate coordinate = fragment.coordinates(lane, i * vector);
      for (auto [dim, start] : llvm::enumerate(starts))
        coordinate[dim] += start;
      access.lanes.push_back(coordinate);
    }
    accesses.push_back(std::move(access));
  }
}

/// Accesses of ldmatrix or stmatrix; false if the fragment is no such matrix.
/// `fragment` has rank 2, the buffer may have further leading unit dimensions.
bool AccessCollector::addMatrixAccess(Value buffer,
                                      const layout::FragmentLayout &fragment) {
  auto type = cast<BufferType>(buffer.getType());
  layout::Result<layout::MatrixAccess> matrix = layout::matchMatrixAccess(
      fragment, type.getElementBits(), fragment.rank() - 1);
  if (!matrix)
    return false;
  usedByMatrixInstruction = true;
  int64_t count =
      std::min<int64_t>(matrix->numMatrices / 4 + 1, kMaxReplayedAccesses);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> matrices;
    for (int64_t m = 4 * i; m < std::min(4 * i + 4, matrix->numMatrices); ++m)
      matrices.push_back(m);
    if (matrices.size() == 3)
      matrices.pop_back();
    if (matrices.empty())
      break;
    WarpAccess access{buffer, {}, 16};
    for (size_t lane = 0; lane < 8 * matrices.size(); ++lane) {
      Coordinate row = layout::matrixRowCoordinate(
          fragment, *matrix, static_cast<int64_t>(lane), matrices);
      row.insert(row.begin(), type.getRank() - fragment.rank(), 0);
      access.lanes.push_back(row);
    }
    accesses.push_back(std::move(access));
  }
  return true;
}

void AccessCollector::addGemm(GemmOp gemm, Value buffer) {
  if (!getMmaSyncChoice(gemm))
    return;
  for (GemmOperand operand : {GemmOperand::A, GemmOperand::B}) {
    if ((operand == GemmOperand::A ? gemm.getA() : gemm.getB()) != buffer)
      continue;
    layout::Result<layout::MmaFragment> matrix =
        getMmaSyncFragment(gemm, operand);
    layout::Result<layout::FragmentLayout> whole =
        getMmaSyncLayout(gemm, operand);
    if (!matrix || !whole)
      continue;
    usedByMatrixInstruction = true;
    if (!addMatrixAccess(buffer, matrix->layout))
      addFragmentCopy(buffer, *whole, {});
  }
}

/// Constant offsets; zero for dynamic ones.
static SmallVector<int64_t> getStarts(OperandRange offsets) {
  SmallVector<int64_t> starts;
  for (Value offset : offsets) {
    APInt constant;
    starts.push_back(matchPattern(offset, m_ConstantInt(&constant))
                         ? constant.getSExtValue()
                         : 0);
  }
  return starts;
}

void AccessCollector::addCopy(CopyOp copy, Value buffer) {
  bool isSource = copy.getSource() == buffer;
  Value other = isSource ? copy.getDest() : copy.getSource();
  OperandRange offsets =
      isSource ? copy.getSourceOffsets() : copy.getDestOffsets();
  ArrayRef<int64_t> sizes =
      isSource ? copy.getSourceSizes() : copy.getDestSizes();
  SmallVector<int64_t> starts = getStarts(offsets);
  auto otherType = dyn_cast<BufferType>(other.getType());
  if (otherType && otherType.isFragment()) {
    layout::Result<FragmentView> view = getFragmentView(other);
    if (!view || view->layout.rank() != static_cast<int>(sizes.size()))
      return;
    // stmatrix came with sm_90.
    bool hasInstruction =
        isSource || getTarget(copy).getComputeCapability() >= 90;
    bool sameType = otherType.getElementType() ==
                    cast<BufferType>(buffer.getType()).getElementType();
    if (!hasInstruction || !sameType || otherType.getElementBits() != 16 ||
        view->layout.rank() != 2 || !addMatrixAccess(buffer, view->layout))
      addFragmentCopy(buffer, view->layout, starts);
    return;
  }
  // Lanes at consecutive vectors of the region, row by row.
  if (sizes.empty())
    return;
  int64_t bytes = 4;
  if (ChoiceAttr choice = copy.getChoiceAttr())
    if (DictionaryAttr arguments = choice.getArguments())
      if (auto width = arguments.getAs<IntegerAttr>("bytes"))
        bytes = width.getInt();
  int64_t elementBytes =
      cast<BufferType>(buffer.getType()).getElementBits() / 8;
  bytes = std::clamp<int64_t>(bytes, elementBytes, 16);
  int64_t vector = std::max<int64_t>(1, bytes / elementBytes);
  WarpAccess access{buffer, {}, bytes};
  for (int64_t lane = 0; lane < layout::kWarpSize; ++lane) {
    int64_t linear = lane * vector;
    Coordinate coordinate(sizes.size());
    for (int64_t dim = static_cast<int64_t>(sizes.size()) - 1; dim >= 0;
         --dim) {
      coordinate[dim] = starts[dim] + linear % sizes[dim];
      linear /= sizes[dim];
    }
    if (linear == 0)
      access.lanes.push_back(coordinate);
  }
  accesses.push_back(std::move(access));
}

void AccessCollector::addLoopAccess(ParallelOp loop, Value buffer,
                                    OperandRange indices) {
  FragmentLayoutAttr attr = loop.getLayoutAttr();
  if (!attr)
    return;
  layout::FragmentLayout iteration = attr.getLayout();
  auto type = cast<BufferType>(buffer.getType());
  Block *body = loop.getBodyBlock();
  SmallVector<LinearForm> forms;
  for (Value index : indices)
    forms.push_back(getLinearForm(index));
  int64_t elementBytes = type.getElementBits() / 8, vector = 1;
  if (!forms.empty())
    for (int dim = 0; dim < iteration.rank(); ++dim)
      if (forms.back().getCoefficient(body->getArgument(dim)) == 1)
        vector = std::max(vector, iteration.contiguousElements(dim));
  vector = std::min<int64_t>(vector, 16 / elementBytes);
  int64_t bytes = int64_t(1) << llvm::Log2_64(vector * elementBytes);
  vector = std::max<int64_t>(1, bytes / elementBytes);
  int64_t count =
      std::min<int64_t>(std::max<int64_t>(iteration.numRegisters() / vector, 1),
                        kMaxReplayedAccesses);
  for (int64_t i = 0; i < count; ++i) {
    WarpAccess access{buffer, {}, bytes};
    for (int64_t lane = 0;
         lane < std::min<int64_t>(layout::kWarpSize, iteration.numThreads());
         ++lane) {
      if (iteration.isPadding(lane, i * vector))
        continue;
      Coordinate at = iteration.coordinates(lane, i * vector);
      Coordinate coordinate;
      for (auto [dim, form] : llvm::enumerate(forms)) {
        int64_t value = form.constant;
        for (int loopDim = 0; loopDim < iteration.rank(); ++loopDim)
          value +=
              form.getCoefficient(body->getArgument(loopDim)) * at[loopDim];
        // Unknown terms may bring it back inside.
        int64_t extent = type.getShape()[dim];
        coordinate.push_back(((value % extent) + extent) % extent);
      }
      access.lanes.push_back(coordinate);
    }
    accesses.push_back(std::move(access));
  }
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

static int64_t countConflicts(ArrayRef<WarpAccess> accesses,
                              const layout::SharedLayout &candidate) {
  int64_t conflicts = 0;
  for (const WarpAccess &access : accesses) {
    std::vector<int64_t> addresses;
    for (const Coordinate &lane : access.lanes)
      addresses.push_back(getByteOffset(access.buffer, lane, candidate) /
                          access.bytes * access.bytes);
    if (!addresses.empty())
      conflicts +=
          layout::countBankConflicts(addresses, access.bytes).conflicts();
  }
  return conflicts;
}

/// Does a copy by TMA fill or read the buffer?
static bool isMovedByTma(Value handle) {
  return llvm::any_of(handle.getUsers(), [](Operation *user) {
    return isa<SubviewOp, ReshapeOp, BitcastOp>(user)
               ? isMovedByTma(user->getResult(0))
               : isTmaCopy(user);
  });
}

/// Whether the kernel leaves it to the compiler who stores what.
static bool storesByWarps(AllocOp alloc) {
  return !getKernel(alloc)->hasAttr("tile.explicit");
}

/// The widest swizzle under which each warp writes whole panels of a buffer
/// that a loop fills with a transposed fragment, so that it can store them by
/// TMA on its own (tile-insert-mbarriers); nullopt for other buffers.
static std::optional<int64_t> getSwizzleForWarps(AllocOp alloc) {
  std::optional<int64_t> widest;
  int64_t elementBytes = alloc.getType().getElementBits() / 8;
  // Matrix stores transpose elements of 16 bits.
  if (!storesByWarps(alloc) || elementBytes != 2)
    return widest;
  for (Operation *user : alloc.getResult().getUsers()) {
    auto loop = user->getParentOfType<ParallelOp>();
    std::optional<TransposedStore> match =
        isa<StoreOp>(user) && loop ? matchTransposedStore(loop) : std::nullopt;
    if (!match)
      continue;
    layout::Result<FragmentView> view =
        getFragmentView(match->load.getSource());
    if (!view)
      continue;
    layout::Result<layout::WarpBoxes> boxes =
        layout::getWarpBoxes(view->layout);
    // Rows of the fragment are columns of the buffer.
    int64_t bytes = boxes ? boxes->sizes[0] * elementBytes : 0;
    if (int64_t swizzle = layout::bestSwizzle(bytes); swizzle)
      widest = std::min(widest.value_or(swizzle), swizzle);
  }
  return widest;
}

static void collect(Value handle, AccessCollector &collector) {
  for (Operation *user : handle.getUsers()) {
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
      collect(user->getResult(0), collector);
    else
      collector.add(user, handle);
  }
}

void mlir::tile::assignSharedLayouts(KernelOp kernel) {
  kernel.walk([&](AllocOp alloc) {
    BufferType type = alloc.getType();
    if (!type.isShared() || type.getLayout())
      return;
    std::vector<int64_t> shape = type.getShape().vec();
    // Operands of wgmma: the widest swizzle that all its readers take. TMA can
    // fill any of these layouts.
    std::optional<layout::Result<layout::SharedLayout>> canonical;
    if (std::optional<int64_t> widest = getWgmmaMaxSwizzle(alloc))
      canonical =
          layout::wgmmaSharedLayout(shape, type.getElementBits(), *widest);
    else if (isMovedByTma(alloc.getResult()))
      canonical = getCanonicalSharedLayout(shape, type.getElementBits(),
                                           getSwizzleForWarps(alloc));
    if (canonical && *canonical) {
      alloc.getResult().setType(type.withLayout(SharedLayoutAttr::get(
          kernel.getContext(),
          layout::withOuterDims(**canonical, getSlotDims(alloc)))));
      return;
    }
    AccessCollector collector;
    collect(alloc.getResult(), collector);
    std::optional<layout::SharedLayout> best;
    int64_t bestConflicts = 0;
    auto consider = [&](const layout::Result<layout::SharedLayout> &candidate) {
      if (!candidate)
        return;
      int64_t conflicts = countConflicts(collector.accesses, *candidate);
      // Matrix instructions of later targets take the widest swizzle best.
      bool preferred = collector.usedByMatrixInstruction && best &&
                       conflicts == bestConflicts;
      if (best && conflicts >= bestConflicts && !preferred)
        return;
      best = *candidate;
      bestConflicts = conflicts;
    };
    consider(layout::SharedLayout::rowMajor(shape, type.getElementBits()));
    std::vector<int> order(shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
    if (shape.size() > 1)
      for (int64_t swizzle : {32, 64, 128})
        consider(layout::SharedLayout::swizzled(shape, type.getElementBits(),
                                                order, swizzle));
    alloc.getResult().setType(
        type.withLayout(SharedLayoutAttr::get(kernel.getContext(), *best)));
  });
}

//===----------------------------------------------------------------------===//
// Refinement of copies
//===----------------------------------------------------------------------===//

static void setPath(CopyOp copy, Path path, const Twine &reason,
                    int64_t bytes) {
  Builder builder(copy.getContext());
  copy.setChoiceAttr(
      ChoiceAttr::get(copy.getContext(), path, reason.str(),
                      builder.getDictionaryAttr(builder.getNamedAttr(
                          "bytes", builder.getI64IntegerAttr(bytes)))));
}

/// Bytes that stay contiguous in the last dimension of a shared buffer.
static int64_t getContiguousBytes(Value buffer) {
  AllocOp alloc = getAllocation(buffer);
  BufferType type = alloc.getType();
  layout::SharedLayout shared =
      type.getSharedLayout().getLayout(type.getShape(), type.getElementBits());
  if (type.getRank() == 0 || (shared.fastestDim() != type.getRank() - 1 &&
                              type.getShape().back() != 1))
    return type.getElementBits() / 8;
  int64_t bytes = shared.contiguousElements() * type.getElementBits() / 8;
  return std::min<int64_t>(16, bytes & -bytes);
}

/// Elements of a fragment that one access to memory can move: neighbours in the
/// last dimension that lie in consecutive registers.
static int64_t getFragmentVector(Value fragment) {
  layout::Result<FragmentView> view = getFragmentView(fragment);
  if (!view || view->layout.rank() == 0)
    return 1;
  return view->layout.contiguousElements(view->layout.rank() - 1);
}

/// Narrows the access width of a copy between a fragment and memory to what the
/// registers allow, or states it for a copy that has none yet.
static void refineWidth(CopyOp copy, Value fragment, Value memory) {
  int64_t elementBytes =
      getElementBits(getStorageElementType(memory.getType())) / 8;
  int64_t available = 16;
  bool inserted = true;
  ChoiceAttr choice = copy.getChoiceAttr();
  if (choice && choice.getArguments())
    if (auto bytes = choice.getArguments().getAs<IntegerAttr>("bytes")) {
      inserted = choice.getReason() == kInsertedCopyReason;
      if (!inserted)
        available = bytes.getInt();
    }
  auto buffer = dyn_cast<BufferType>(memory.getType());
  if (inserted && !buffer)
    return;
  if (buffer && buffer.isShared())
    available =
        std::min(available, std::max(getContiguousBytes(memory), elementBytes));
  int64_t registers = getFragmentVector(fragment) * elementBytes;
  int64_t bytes = std::min(available, registers);
  bytes = std::max(elementBytes, bytes & -bytes);
  std::string reason =
      choice ? choice.getReason().str() : kInsertedCopyReason.str();
  if (registers < available)
    reason = llvm::formatv(
        "per-thread accesses of {0} bytes: threads hold {1} consecutive "
        "elements of {2}",
        bytes, registers / elementBytes, getUserName(fragment));
  setPath(copy, Path::Simt, reason, bytes);
}

/// A copy between a whole fragment and a part of shared memory that one matrix
/// load or store per four matrices can do.
static void refineFragmentCopy(CopyOp copy, TargetAttr target, bool isLoad) {
  Value fragment = isLoad ? copy.getDest() : copy.getSource();
  Value shared = isLoad ? copy.getSource() : copy.getDest();
  auto fragmentType = cast<BufferType>(fragment.getType());
  auto sharedType = cast<BufferType>(shared.getType());
  ArrayRef<int64_t> sizes =
      isLoad ? copy.getDestSizes() : copy.getSourceSizes();
  ArrayRef<int64_t> sharedSizes =
      isLoad ? copy.getSourceSizes() : copy.getDestSizes();
  // Elements may be converted in registers on their way to a matrix store.
  bool converts = fragmentType.getElementType() != sharedType.getElementType();
  auto fits = [&] {
    if ((converts && isLoad) || sharedType.getElementBits() != 16 ||
        sharedSizes != sizes || sizes.size() != 2 ||
        (isLoad && sizes != fragmentType.getShape()) ||
        (!isLoad && target.getComputeCapability() < 90))
      return false;
    layout::Result<FragmentView> view = getFragmentView(fragment);
    if (!view || getContiguousBytes(shared) < 16)
      return false;
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      if (size == fragmentType.getShape()[dim])
        continue;
      APInt start;
      if (!matchPattern(copy.getSourceOffsets()[dim], m_ConstantInt(&start)))
        return false;
      layout::Result<layout::RegisterSlice> part =
          view->layout.sliceRegisters(dim, start.getSExtValue(), size);
      if (!part)
        return false;
      view->layout = part->layout;
    }
    for (Value offset :
         isLoad ? copy.getSourceOffsets() : copy.getDestOffsets())
      if (!matchPattern(offset, m_Zero()))
        return false;
    return static_cast<bool>(layout::matchMatrixAccess(view->layout, 16, 1));
  };
  if (!fits())
    return refineWidth(copy, fragment, shared);
  setPath(copy, isLoad ? Path::Ldmatrix : Path::Stmatrix,
          "the fragment is made of 8x8 matrices of 16-bit elements", 16);
}

/// A loop that stores a fragment transposed, which matrix stores do on their
/// way.
static void refineTransposedStore(ParallelOp loop, TargetAttr target) {
  std::optional<TransposedStore> match = matchTransposedStore(loop);
  if (!match || target.getComputeCapability() < 90)
    return;
  Value shared = match->store.getDest();
  layout::Result<FragmentView> view = getFragmentView(match->load.getSource());
  if (!view || cast<BufferType>(shared.getType()).getElementBits() != 16 ||
      getContiguousBytes(shared) < 16 ||
      !layout::matchMatrixAccess(view->layout, 16, /*contiguousDim=*/0))
    return;
  loop.setChoiceAttr(ChoiceAttr::get(
      loop.getContext(), Path::Stmatrix,
      "the fragment is made of 8x8 matrices of 16-bit elements, which are "
      "transposed on their way",
      {}));
}

/// A copy for which TMA was chosen, now that its buffer has a layout: its
/// boxes, or the threads do it.
static void refineTmaCopy(CopyOp copy, TargetAttr target) {
  layout::Result<TmaPlan> plan = planTma(copy);
  if (plan)
    return chooseTma(copy, *plan);
  // Nothing else rounds; lowering says so.
  if (AllocOp dest = getAllocation(copy.getDest());
      dest && dest->hasAttr(kRoundedName))
    return;
  IntegerAnalysis integers(copy);
  selectThreadCopy(copy, target, integers, "demoted from TMA: " + plan.error());
}

void mlir::tile::refineCopies(KernelOp kernel) {
  TargetAttr target = getTarget(kernel);
  kernel.walk([&](ParallelOp loop) { refineTransposedStore(loop, target); });
  kernel.walk([&](CopyOp copy) {
    if (isTmaCopy(copy))
      refineTmaCopy(copy, target);
    auto source = dyn_cast<BufferType>(copy.getSource().getType());
    auto dest = dyn_cast<BufferType>(copy.getDest().getType());
    if (source && dest && source.isShared() && dest.isFragment())
      return refineFragmentCopy(copy, target, /*isLoad=*/true);
    if (source && dest && source.isFragment() && dest.isShared())
      return refineFragmentCopy(copy, target, /*isLoad=*/false);
    if (source && dest && source.isFragment() && dest.isFragment())
      return copy.setChoiceAttr(
          ChoiceAttr::get(kernel.getContext(), Path::Registers,
                          "both fragments have the same layout", {}));
    if (source && source.isFragment() && !dest)
      return refineWidth(copy, copy.getSource(), copy.getDest());
    if (dest && dest.isFragment() && !source)
      return refineWidth(copy, copy.getDest(), copy.getSource());
    ChoiceAttr choice = copy.getChoiceAttr();
    if (!choice || choice.getPath() != Path::CpAsync || !dest ||
        !choice.getArguments())
      return;
    auto bytes = choice.getArguments().getAs<IntegerAttr>("bytes");
    int64_t contiguous = getContiguousBytes(copy.getDest());
    if (!bytes || contiguous >= bytes.getInt())
      return;
    std::string why =
        llvm::formatv("the layout of {0} keeps only {1} bytes contiguous",
                      getUserName(copy.getDest()), contiguous);
    if (contiguous < 4)
      setPath(copy, Path::Simt, "cp.async moves at least 4 bytes; " + why,
              contiguous);
    else
      setPath(copy, Path::CpAsync, choice.getReason() + "; narrowed: " + why,
              contiguous);
  });
}
