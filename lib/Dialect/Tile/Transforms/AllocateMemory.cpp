//===- AllocateMemory.cpp - shared memory offsets ---------------*- C++ -*-===//
//
// Packs the shared buffers of a kernel into one range of memory: largest
// first, each at the lowest place where it meets no buffer alive with it. Where
// that is too much, conversions of fragments make do with less scratch memory.
//
//===----------------------------------------------------------------------===//
#include "BlocksPerMultiprocessor.h"

#include "tilemlir/Dialect/Tile/Transforms/ConvertScratch.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEALLOCATEMEMORY
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// A conversion makes do with this much scratch memory, in bytes.
static constexpr int64_t kSmallestScratch = 256;

namespace {
/// How freely buffers may share memory.
enum class Sharing { None, OutsideLoops, Full };

struct Placement {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

class TileAllocateMemoryPass
    : public mlir::tile::impl::TileAllocateMemoryBase<TileAllocateMemoryPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      return failed(allocate(kernel)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult allocate(KernelOp kernel);
};
} // namespace

static bool interfere(const SharedLifetime &lhs, const SharedLifetime &rhs,
                      Sharing sharing) {
  if (sharing == Sharing::None || lhs.overlaps(rhs))
    return true;
  return sharing == Sharing::OutsideLoops &&
         llvm::any_of(lhs.innermostLoops, [&](Operation *loop) {
           return rhs.innermostLoops.contains(loop);
         });
}

static Placement place(ArrayRef<SharedLifetime> lifetimes, Sharing sharing) {
  Placement result;
  result.offsets.assign(lifetimes.size(), 0);
  SmallVector<size_t> order;
  for (size_t index = 0; index < lifetimes.size(); ++index)
    if (lifetimes[index].isUsed())
      order.push_back(index);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::make_pair(lifetimes[a].alignment, lifetimes[a].bytes) >
           std::make_pair(lifetimes[b].alignment, lifetimes[b].bytes);
  });
  SmallVector<size_t> placed;
  for (size_t index : order) {
    const SharedLifetime &mine = lifetimes[index];
    // Taken ranges, by offset.
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed)
      if (interfere(mine, lifetimes[other], sharing))
        taken.emplace_back(result.offsets[other],
                           result.offsets[other] + lifetimes[other].bytes);
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [from, to] : taken)
      if (from < offset + mine.bytes && offset < to)
        offset = llvm::alignTo(to, mine.alignment);
    result.offsets[index] = offset;
    result.bytes = std::max(result.bytes, offset + mine.bytes);
    placed.push_back(index);
  }
  return result;
}

static LogicalResult reportOverflow(KernelOp kernel,
                                    ArrayRef<SharedLifetime> lifetimes,
                                    int64_t bytes, int64_t limit,
                                    StringRef whose, bool reuse) {
  InFlightDiagnostic error = kernel.emitError("kernel '")
                             << kernel.getName() << "' needs " << bytes
                             << " bytes of shared memory, but " << whose
                             << " has " << limit;
  for (const SharedLifetime &lifetime : lifetimes) {
    if (!lifetime.isUsed())
      continue;
    AllocOp alloc = lifetime.alloc;
    Diagnostic &note = error.attachNote(alloc.getLoc());
    auto type = cast<BufferType>(alloc.getType());
    note << "'" << getUserName(alloc) << "': " << lifetime.bytes << " bytes (";
    ArrayRef<int64_t> shape = type.getShape();
    if (auto slots = alloc->getAttrOfType<IntegerAttr>("tile.slots")) {
      note << slots.getInt() << " stages of ";
      shape = shape.drop_front();
    }
    for (auto [index, extent] : llvm::enumerate(shape))
      note << (index ? "x" : "") << extent;
    std::string dtype;
    llvm::raw_string_ostream(dtype) << type.getElementType();
    note << " " << dtype << ")";
  }
  error.attachNote() << (reuse ? "buffers that are not needed at the same time "
                                 "already share memory; "
                               : "")
                     << "use smaller tiles or fewer stages";
  return failure();
}

LogicalResult TileAllocateMemoryPass::allocate(KernelOp kernel) {
  SmallVector<SharedLifetime> lifetimes = getSharedLifetimes(kernel);
  OptionsAttr options = OptionsAttr::of(kernel);
  TargetAttr target = getTarget(kernel);
  bool onDevice = target && !target.isCPU();
  int64_t limit = std::numeric_limits<int64_t>::max();
  std::string whose = "the limit";
  if (onDevice) {
    limit = target.getSharedMemoryLimit();
    whose = "a block on " + target.getArch().str();
  }
  int64_t wanted = options.getInteger("shared_limit", 0);
  if (wanted > 0 && wanted < limit) {
    limit = wanted;
    whose = "option shared_limit";
  }

  bool reuse = !options.getFlag("disable_shared_reuse", false);
  auto placeAll = [&] {
    Placement placement =
        place(lifetimes, reuse ? Sharing::OutsideLoops : Sharing::None);
    if (reuse && placement.bytes > limit)
      placement = place(lifetimes, Sharing::Full);
    return placement;
  };
  Placement placement = placeAll();
  // Only where it has to be: tile-verify-sync cannot follow every condition
  // under which a pipeline loads, and refuses what it cannot follow.
  bool slotsEndWithLoops = reuse && placement.bytes > limit;
  if (slotsEndWithLoops) {
    lifetimes = getSharedLifetimes(kernel, slotsEndWithLoops);
    placement = placeAll();
  }
  // Conversions in pieces, first of the size by which the others fit, then of
  // smaller ones (buffers that live at other times may lie in between).
  int64_t scratch = getLargestConvertScratch(kernel);
  while (placement.bytes > limit && scratch > kSmallestScratch) {
    int64_t missing = placement.bytes - limit;
    scratch = std::max(std::min(scratch - missing, scratch * 3 / 4),
                       kSmallestScratch);
    FailureOr<bool> changed = shrinkConvertScratch(kernel, scratch);
    if (failed(changed))
      return failure();
    if (!*changed)
      continue;
    lifetimes = getSharedLifetimes(kernel, slotsEndWithLoops);
    placement = placeAll();
  }
  if (placement.bytes > limit)
    return reportOverflow(kernel, lifetimes, placement.bytes, limit, whose,
                          reuse);

  Builder builder(kernel.getContext());
  for (auto [lifetime, offset] : llvm::zip(lifetimes, placement.offsets))
    lifetime.alloc->setAttr("tile.shared_offset",
                            builder.getI64IntegerAttr(offset));
  kernel->setAttr("tile.shared_bytes",
                  builder.getI64IntegerAttr(placement.bytes));
  if (onDevice)
    shareMultiprocessor(kernel, placement.bytes);
  return success();
}
