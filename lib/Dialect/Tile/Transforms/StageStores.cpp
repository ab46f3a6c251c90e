//===- StageStores.cpp - tile-stage-stores ----------------------*- C++ -*-===//
//
// A store of accumulators straight from registers writes a few bytes per thread
// at a time. Through shared memory it becomes stores of whole matrices and one
// copy by TMA. The staging buffer has the element type of the tensor, so that
// elements are converted in registers.
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"
#include "LayoutLegalizer.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESTAGESTORES
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// What barriers and the alignment of buffers may take beyond their bytes.
static constexpr int64_t kReservedBytes = 2048;
/// Bytes of the chunks in which a tile that does not fit is staged.
static constexpr int64_t kChunkRowBytes = 128;
/// Smaller tiles are stored by the threads in a few instructions.
static constexpr int64_t kMinStagedBytes = 1024;

namespace {
class StageStores {
public:
  StageStores(KernelOp kernel, TargetAttr target)
      : kernel(kernel), target(target), integers(kernel) {
    findAccumulators();
  }

  void run() {
    SmallVector<CopyOp> stores;
    kernel.walk([&](CopyOp copy) {
      auto source = dyn_cast<BufferType>(copy.getSource().getType());
      if (source && source.isFragment() &&
          isa<MemRefType>(copy.getDest().getType()))
        stores.push_back(copy);
    });
    for (CopyOp store : stores) {
      std::string why = stage(store);
      if (!why.empty())
        explain(store, why);
    }
  }

private:
  void findAccumulators();
  bool isAccumulator(Value fragment) const {
    return accumulators.contains(
        fragments.getLeaderValue(getAllocation(fragment)));
  }

  /// Stages `store`, or says why not.
  std::string stage(CopyOp store);
  std::string tryStage(CopyOp store, int64_t chunk, int64_t buffers);
  bool prefersChunks(CopyOp store);
  int64_t getFreeBytes(CopyOp store);
  void explain(CopyOp store, StringRef why);

  KernelOp kernel;
  TargetAttr target;
  IntegerAnalysis integers;
  /// Fragments that will have one layout.
  llvm::EquivalenceClasses<Operation *> fragments;
  /// Leaders of classes with an accumulator of tensor cores.
  llvm::DenseSet<Operation *> accumulators;
};
} // namespace

/// Fragments that an operation uses.
static SmallVector<AllocOp> getFragments(Operation *op) {
  SmallVector<AllocOp> result;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      auto type = dyn_cast<BufferType>(operand.getType());
      if (type && type.isFragment())
        result.push_back(getAllocation(operand));
    }
  });
  return result;
}

void StageStores::findAccumulators() {
  SmallVector<AllocOp> found;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (alloc.getType().isFragment())
        fragments.insert(alloc);
    } else if (auto gemm = dyn_cast<GemmOp>(op)) {
      ChoiceAttr choice = gemm.getChoiceAttr();
      if (gemm.getC().getType().isFragment() && choice &&
          choice.getPath() != Path::Fma)
        found.push_back(getAllocation(gemm.getC()));
    } else if (isa<CopyOp, ParallelOp>(op)) {
      // Layouts propagate to fragments of the same rank.
      SmallVector<AllocOp> used = getFragments(op);
      for (AllocOp alloc : used)
        if (alloc.getType().getRank() == used.front().getType().getRank())
          fragments.unionSets(used.front(), alloc);
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    }
    return WalkResult::advance();
  });
  for (AllocOp alloc : found)
    accumulators.insert(fragments.getLeaderValue(alloc));
}

/// Slots that pipelining will give a buffer.
static int64_t getSlots(AllocOp alloc) {
  int64_t slots = 1;
  for (Operation *user : getHandleUsers(alloc)) {
    auto copy = dyn_cast<CopyOp>(user);
    auto loop = user->getParentOfType<PipelinedOp>();
    if (loop && copy && getAllocation(copy.getDest()) == alloc)
      slots = std::max<int64_t>(slots, loop.getNumStages());
  }
  return slots;
}

/// Bytes of shared memory that `store` may take: what is not used, and outside
/// of loops also what is not used any more.
int64_t StageStores::getFreeBytes(CopyOp store) {
  int64_t limit = target.getSharedMemoryLimit();
  if (int64_t wanted = OptionsAttr::of(kernel).getInteger("shared_limit", 0))
    limit = std::min(limit, wanted);
  // Where the program orders its threads itself, buffers never share memory.
  bool reuse = !getLoopAround(store) && !kernel->hasAttr("tile.explicit") &&
               !OptionsAttr::of(kernel).getFlag("disable_shared_reuse", false);
  Operation *place = kernel.getBodyBlock()->findAncestorOpInBlock(*store);
  int64_t taken = kReservedBytes;
  kernel.walk([&](AllocOp alloc) {
    if (!alloc.getType().isShared())
      return;
    bool done = reuse;
    for (Operation *user : getHandleUsers(alloc))
      done &=
          kernel.getBodyBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(
              place);
    if (!done)
      taken += getSharedBytes(alloc.getType()) * getSlots(alloc);
  });
  return limit - taken;
}

void StageStores::explain(CopyOp store, StringRef why) {
  ChoiceAttr choice = store.getChoiceAttr();
  if (!choice)
    return;
  std::string reason =
      (choice.getReason() + "; not staged for TMA: " + why).str();
  store.setChoiceAttr(ChoiceAttr::get(store.getContext(), choice.getPath(),
                                      reason, choice.getArguments()));
}

std::string StageStores::stage(CopyOp store) {
  if (std::string why = refuseTma(store, target); !why.empty())
    return why;
  if (store.getDisableTma())
    return "TMA is disabled for this copy by disable_tma";
  if (store.getPrefer() && *store.getPrefer() != Path::Tma)
    return "asked for by the user";
  if (!isAccumulator(store.getSource()))
    return getUserName(store.getSource()) +
           " is no accumulator: its threads store wide vectors";
  SmallVector<int64_t> shape = dropUnitSizes(store.getSourceSizes());
  if (shape.empty())
    return "a single element is stored";
  int64_t elementBytes =
      getElementBits(getStorageElementType(store.getDest().getType())) / 8;
  int64_t bytes = elementBytes;
  for (int64_t extent : shape)
    bytes *= extent;
  if (bytes < kMinStagedBytes)
    return llvm::formatv("the tile has only {0} bytes", bytes);
  int64_t available = getFreeBytes(store);
  // In chunks of columns, through two buffers.
  int64_t chunk = kChunkRowBytes / elementBytes;
  int64_t chunkBytes = bytes / shape.back() * chunk;
  bool inChunks = shape.back() % chunk == 0 && 2 * chunkBytes <= available;
  if (bytes <= available && !(inChunks && prefersChunks(store)))
    return tryStage(store, shape.back(), 1);
  if (inChunks)
    return tryStage(store, chunk, 2);
  return llvm::formatv("its {0} bytes do not fit beside the other buffers in "
                       "shared memory",
                       bytes);
}

/// In a loop over tiles, chunks can leave one by one behind the products of the
/// next tile (tile-defer-stores), if every warp has a part of each.
bool StageStores::prefersChunks(CopyOp store) {
  Operation *loop = store->getParentOp();
  if (!isLoop(loop) || loop->getParentOfType<PipelinedOp>())
    return false;
  WalkResult result = loop->walk([&](GemmOp gemm) {
    std::optional<WgmmaChoice> choice = getWgmmaChoice(gemm.getChoiceAttr());
    bool isSpread = choice && choice->groups.warpsN == 1 &&
                    choice->groups.replicas == 1 &&
                    gemm->getParentOfType<PipelinedOp>();
    return isSpread ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

std::string StageStores::tryStage(CopyOp store, int64_t chunk,
                                  int64_t buffers) {
  Type element = getStorageElementType(store.getDest().getType());
  SmallVector<int64_t> sourceSizes(store.getSourceSizes());
  SmallVector<int64_t> destSizes(store.getDestSizes());
  // The last dimensions that are not 1 hold the columns.
  auto lastIterated = [](ArrayRef<int64_t> sizes) {
    int64_t dim = static_cast<int64_t>(sizes.size()) - 1;
    while (dim > 0 && sizes[dim] == 1)
      --dim;
    return dim;
  };
  int64_t sourceDim = lastIterated(sourceSizes);
  int64_t destDim = lastIterated(destSizes);
  int64_t columns = sourceSizes[sourceDim];
  int64_t count = columns / chunk;
  sourceSizes[sourceDim] = destSizes[destDim] = chunk;
  SmallVector<int64_t> shape = dropUnitSizes(sourceSizes);

  SmallVector<AllocOp> staging;
  for (int64_t i = 0; i < std::min(count, buffers); ++i)
    staging.push_back(createAllocation(
        kernel, BufferType::get(shape, element, MemorySpace::Shared),
        store.getSource(), "staging"));
  OpBuilder builder(store);
  Location loc = store.getLoc();
  SmallVector<Value> zeros(shape.size(), makeIndex(builder, loc, 0));
  SmallVector<CopyOp> created;
  auto move = [&](Value value, int64_t distance) -> Value {
    if (distance == 0)
      return value;
    return builder.createOrFold<arith::AddIOp>(
        loc, value, makeIndex(builder, loc, distance));
  };
  for (int64_t i = 0; i < count; ++i) {
    Value buffer = staging[i % staging.size()];
    SmallVector<Value> from = llvm::to_vector(store.getSourceOffsets());
    SmallVector<Value> to = llvm::to_vector(store.getDestOffsets());
    from[sourceDim] = move(from[sourceDim], i * chunk);
    to[destDim] = move(to[destDim], i * chunk);
    created.push_back(CopyOp::create(
        builder, loc, store.getSource(), from, sourceSizes, buffer, zeros,
        shape, TypedAttr(), BoundsAttr(), ChoiceAttr(), /*disable_tma=*/false,
        EvictionPolicyAttr(), PathAttr(), IntegerAttr()));
    created.push_back(CopyOp::create(
        builder, loc, buffer, zeros, shape, store.getDest(), to, destSizes,
        TypedAttr(), store.getBoundsAttr(), ChoiceAttr(),
        /*disable_tma=*/false, store.getEvictionPolicyAttr(),
        store.getPreferAttr(), IntegerAttr()));
  }
  // The copies that are to replace the store must not count as another access.
  Operation *next = created.front();
  store->remove();
  std::string why;
  for (auto [index, copy] : llvm::enumerate(created)) {
    if (index % 2 == 0) {
      selectThreadCopy(copy, target, integers, "");
      ChoiceAttr choice = copy.getChoiceAttr();
      copy.setChoiceAttr(ChoiceAttr::get(copy.getContext(), choice.getPath(),
                                         (choice.getReason() +
                                          "; staging of the TMA store of " +
                                          getUserName(store.getSource()))
                                             .str(),
                                         choice.getArguments()));
      continue;
    }
    TmaPlan plan;
    why = refuseTma(copy, target, integers, plan);
    if (!why.empty())
      break;
    chooseTma(copy, plan);
  }
  builder.setInsertionPoint(next);
  if (why.empty()) {
    store->destroy();
    return "";
  }
  builder.insert(store);
  for (CopyOp copy : created)
    copy.erase();
  for (AllocOp alloc : staging)
    alloc.erase();
  return why;
}

namespace {
struct StageStoresPass : tile::impl::TileStageStoresBase<StageStoresPass> {
  void runOnOperation() override {
    bool ok = true;
    getOperation()->walk([&](KernelOp kernel) {
      TargetAttr target = getTarget(kernel);
      if (!target) {
        kernel.emitError("no target is set: give the module the attribute "
                         "tile.target");
        ok = false;
        return;
      }
      // Where TMA is never used, there is nothing to explain.
      if (!refuseTma(kernel, target).empty())
        return;
      StageStores(kernel, target).run();
    });
    if (!ok)
      signalPassFailure();
  }
};
} // namespace
