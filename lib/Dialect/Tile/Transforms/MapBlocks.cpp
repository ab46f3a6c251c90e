//===- MapBlocks.cpp - tile-map-blocks --------------------------*- C++ -*-===//
//
// Renumbers blocks so that those that run together share rows or columns of the
// grid, which keeps operands in the L2 cache. Makes the grid one of whole
// clusters; the blocks that this adds have no effect.
//
//===----------------------------------------------------------------------===//
#include "IntegerAnalysis.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMAPBLOCKS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Work that does not exist
//===----------------------------------------------------------------------===//

/// Operations that others see: they write tensors, print or assert.
static bool hasOutsideEffect(Operation *op) {
  if (isa<PrintOp, AssertOp>(op))
    return true;
  // All iterations of a parallel loop are one operation of all threads.
  if (isa<ParallelOp>(op) && op->walk([](Operation *inner) {
                                 return isa<PrintOp, AssertOp>(inner)
                                            ? WalkResult::interrupt()
                                            : WalkResult::advance();
                               }).wasInterrupted())
    return true;
  SmallVector<BufferAccess> accesses;
  collectAccesses(op, accesses);
  return llvm::any_of(accesses, [](const BufferAccess &access) {
    return access.isWrite && isa<MemRefType>(access.root.getType());
  });
}

/// Whether a write that begins at `offset` in dimension `dim` of `tensor` is
/// beyond its end wherever `index < limit` does not hold. `limit` is a
/// constant, or the number of steps that cover the dimension.
static bool isBeyondEnd(Value offset, Value tensor, int64_t dim, Value index,
                        Value limit, IntegerAnalysis &integers) {
  auto type = cast<MemRefType>(tensor.getType());
  LinearForm place = getLinearForm(offset), step = getLinearForm(index);
  if (step.terms.empty() || step.constant != 0)
    return false;
  auto [term, coefficient] = step.terms.front();
  int64_t factor = place.getCoefficient(term) / coefficient;
  if (factor <= 0)
    return false;
  LinearForm rest = place;
  rest.add(step, -factor);
  int64_t begin = integers.getRange(rest).lower;
  if (std::optional<int64_t> constant = getConstantIntValue(limit))
    return !type.isDynamicDim(dim) &&
           factor * *constant + begin >= type.getDimSize(dim);
  // limit * divisor >= extent.
  auto steps = limit.getDefiningOp<arith::CeilDivSIOp>();
  std::optional<int64_t> divisor =
      steps ? getConstantIntValue(steps.getRhs()) : std::nullopt;
  return divisor && *divisor > 0 && factor >= *divisor && begin >= 0 &&
         type.isDynamicDim(dim) &&
         getRepresentative(steps.getLhs()) == findDynamicExtent(tensor, dim);
}

/// Whether `op` has no effect anyway where one of `conditions` does not hold:
/// all that it writes is beyond the ends of tensors.
static bool isClippedAnyway(Operation *op, ArrayRef<Value> conditions,
                            IntegerAnalysis &integers) {
  if (OptionsAttr::of(op).getFlag("disable_bounds_checks", false) ||
      !isa<CopyOp, CopyAsyncOp, StoreOp>(op))
    return false;
  SmallVector<BufferAccess> accesses;
  collectAccesses(op, accesses);
  return llvm::all_of(conditions, [&](Value condition) {
    auto below = condition.getDefiningOp<arith::CmpIOp>();
    if (!below || below.getPredicate() != arith::CmpIPredicate::slt)
      return false;
    return llvm::all_of(accesses, [&](const BufferAccess &access) {
      if (!access.isWrite || !isa<MemRefType>(access.root.getType()))
        return true;
      for (auto [dim, range] : llvm::enumerate(access.region))
        if (range.base && range.offset >= 0 &&
            isBeyondEnd(range.base, access.root, dim, below.getLhs(),
                        below.getRhs(), integers))
          return true;
      return false;
    });
  });
}

/// Whether `value` is computed from one of `indices`, other than by memory.
static bool isComputedFrom(Value value, ArrayRef<Value> indices) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (llvm::is_contained(indices, values[i]))
      return true;
    Operation *op = values[i].getDefiningOp();
    if (op && isPure(op))
      values.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Whether `op` may touch memory beyond the end of a buffer where one of
/// `conditions` does not hold: its place is computed from what they compare.
static bool mayLeaveBuffer(Operation *op, ArrayRef<Value> conditions,
                           IntegerAnalysis &integers) {
  SmallVector<Value> compared;
  for (Value condition : conditions)
    if (auto below = condition.getDefiningOp<arith::CmpIOp>())
      compared.push_back(below.getLhs());
  auto leaves = [&](Value storage, ValueRange places, ArrayRef<int64_t> sizes) {
    auto type = dyn_cast<BufferType>(storage.getType());
    if (!type || type.isFragment())
      return false;
    for (auto [dim, place] : llvm::enumerate(places)) {
      IntegerRange range = integers.getRange(place);
      int64_t size = sizes.empty() ? 1 : sizes[dim];
      if ((range.lower < 0 || range.upper + size > type.getShape()[dim]) &&
          isComputedFrom(place, compared))
        return true;
    }
    return false;
  };
  return op
      ->walk([&](Operation *access) {
        bool left =
            llvm::TypeSwitch<Operation *, bool>(access)
                .Case([&](LoadOp load) {
                  return leaves(load.getSource(), load.getIndices(), {});
                })
                .Case<StoreOp, AtomicOp>([&](auto write) {
                  return leaves(write.getDest(), write.getIndices(), {});
                })
                .Case([&](CopyOp copy) {
                  return leaves(copy.getSource(), copy.getSourceOffsets(),
                                copy.getSourceSizes()) ||
                         leaves(copy.getDest(), copy.getDestOffsets(),
                                copy.getDestSizes());
                })
                .Default([](Operation *) { return false; });
        return left ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Lets loops with a condition of their own end where `condition` does not
/// hold: what `masked` would read there is zero for ever, and a loop that waits
/// for another value would not end. `scope` is around them.
static void endWaitingLoops(ArrayRef<Operation *> masked, Operation *scope,
                            Value condition) {
  llvm::SetVector<scf::WhileOp> loops;
  for (Operation *op : masked)
    for (Operation *parent = op->getParentOp();
         parent != scope && op->getNumResults(); parent = parent->getParentOp())
      if (auto loop = dyn_cast<scf::WhileOp>(parent))
        loops.insert(loop);
  for (scf::WhileOp loop : loops) {
    scf::ConditionOp end = loop.getConditionOp();
    OpBuilder builder(end);
    end.getConditionMutable().assign(arith::AndIOp::create(
        builder, end.getLoc(), condition, end.getCondition()));
  }
}

/// Puts what has an effect behind `begin`, in its block, or may lead out of a
/// buffer, under the condition that all of `conditions` hold.
static void maskEffects(Operation *begin, ArrayRef<Value> conditions,
                        Value condition) {
  IntegerAnalysis integers(begin);
  SmallVector<Operation *> masked;
  for (Operation *op = begin->getNextNode(); op; op = op->getNextNode())
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      bool isEffect = hasOutsideEffect(inner) &&
                      !isClippedAnyway(inner, conditions, integers);
      if (isEffect ||
          (isa<LoadOp, StoreOp, AtomicOp, CopyOp, ParallelOp>(inner) &&
           mayLeaveBuffer(inner, conditions, integers)))
        masked.push_back(inner);
      return isa<ParallelOp>(inner) ? WalkResult::skip()
                                    : WalkResult::advance();
    });
  endWaitingLoops(masked, begin->getParentOp(), condition);
  for (Operation *op : masked) {
    OpBuilder builder(op);
    // What an atomic operation gives is used inside of the work only.
    SmallVector<Type> types(op->getResultTypes());
    auto branch = scf::IfOp::create(builder, op->getLoc(), types, condition,
                                    /*withElseRegion=*/!types.empty());
    for (auto [result, replacement] :
         llvm::zip(op->getResults(), branch.getResults()))
      result.replaceAllUsesWith(replacement);
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    if (types.empty())
      continue;
    auto inThen = OpBuilder::atBlockEnd(branch.thenBlock());
    scf::YieldOp::create(inThen, op->getLoc(), op->getResults());
    auto inElse = OpBuilder::atBlockEnd(branch.elseBlock());
    SmallVector<Value> none;
    for (Type type : types)
      none.push_back(arith::ConstantOp::create(inElse, op->getLoc(),
                                               inElse.getZeroAttr(type)));
    scf::YieldOp::create(inElse, op->getLoc(), none);
  }
}

static void consumeMasks(KernelOp kernel) {
  SmallVector<MaskEffectsOp> masks;
  kernel.walk([&](MaskEffectsOp mask) { masks.push_back(mask); });
  for (MaskEffectsOp mask : masks) {
    Value condition = mask.getCondition();
    maskEffects(mask, condition, condition);
    mask.erase();
  }
}

//===----------------------------------------------------------------------===//
// Whole clusters
//===----------------------------------------------------------------------===//

/// Rounds the grid up to whole clusters.
static LogicalResult completeClusters(KernelOp kernel) {
  ClusterShape cluster(kernel);
  if (cluster.getBlocks() == 1)
    return success();
  for (size_t axis = kernel.getGrid().size(); axis < 3; ++axis)
    if (cluster.extents[axis] > 1)
      return kernel.emitError("a cluster extends along axis ")
             << "xyz"[axis] << " of a grid that has only "
             << kernel.getGrid().size()
             << (kernel.getGrid().size() == 1 ? " dimension" : " dimensions");
  IntegerAnalysis integers(kernel);
  ImplicitLocOpBuilder b(kernel.getLoc(), kernel);
  ImplicitLocOpBuilder inKernel = ImplicitLocOpBuilder::atBlockBegin(
      kernel.getLoc(), kernel.getBodyBlock());
  Value exists;
  SmallVector<Value> conditions;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    int64_t extent = cluster.extents[axis];
    Value blocks = kernel.getGrid()[axis];
    if (extent == 1 || integers.getDivisor(blocks) % extent == 0)
      continue;
    Value rounded;
    if (std::optional<int64_t> constant = getConstantIntValue(blocks)) {
      int64_t whole = (*constant + extent - 1) / extent * extent;
      rounded = arith::ConstantIntOp::create(b, whole, 32);
    } else {
      Value step = arith::ConstantIntOp::create(b, extent, 32);
      rounded = arith::MulIOp::create(
          b, arith::CeilDivSIOp::create(b, blocks, step), step);
    }
    kernel.getGridMutable()[axis].set(rounded);
    Value inside = arith::CmpIOp::create(inKernel, arith::CmpIPredicate::slt,
                                         kernel.getBlockIndex(axis), blocks);
    conditions.push_back(inside);
    exists = exists ? arith::AndIOp::create(inKernel, exists, inside) : inside;
  }
  if (exists)
    maskEffects(exists.getDefiningOp(), conditions, exists);
  return success();
}

//===----------------------------------------------------------------------===//
// Raster
//===----------------------------------------------------------------------===//

/// Walks panels of `panelSize` lines along the `minor` grid dimension; inside a
/// panel the blocks run down the panel, then along `major`. The last panel may
/// be narrower, so that each block is visited exactly once:
///
///   linear = x + y * gridX
///   panel  = linear / (panelSize * majorExtent)
///   width  = min(panelSize, minorExtent - panel * panelSize)
///   rest   = linear - panel * panelSize * majorExtent
///   minor  = panel * panelSize + rest % width
///   major  = rest / width
///
/// Consecutive panels run along `major` in opposite directions, so that the
/// last blocks of one panel and the first of the next share data:
///
///   major  = panel odd ? majorExtent - 1 - major : major
///
/// Blocks of a cluster have to stay neighbours: there, the clusters of the grid
/// are what is renumbered, and each block keeps its place in its cluster.
static LogicalResult mapBlocks(KernelOp kernel) {
  RasterAttr raster = kernel.getRasterAttr();
  if (!raster)
    return success();
  if (kernel.getGrid().size() < 2)
    return kernel.emitError("a raster order needs a grid of two dimensions, "
                            "found one");
  if (raster.getPanelSize() < 1)
    return kernel.emitError("a raster panel has at least one line, found ")
           << raster.getPanelSize();
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(
      kernel.getLoc(), kernel.getBodyBlock());
  Value blockX = kernel.getBlockIndex(0), blockY = kernel.getBlockIndex(1);
  Value x = blockX, y = blockY;
  Value gridX = kernel.getGrid()[0], gridY = kernel.getGrid()[1];
  // Rows of blocks share operand A: a row panel groups lines along y.
  bool row = raster.getOrder() == RasterOrder::Row;
  Value minorExtent, majorExtent;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 32);
  };
  // Coordinates in the cluster; null where it has one block.
  Value inClusterX, inClusterY;
  ClusterShape cluster(kernel);
  auto countClusters = [&](unsigned axis, Value &index, Value &extent,
                           Value &inCluster) {
    if (cluster.extents[axis] == 1)
      return;
    Value blocks = constant(cluster.extents[axis]);
    inCluster = arith::RemUIOp::create(b, index, blocks);
    index = arith::DivUIOp::create(b, index, blocks);
    extent = arith::DivUIOp::create(b, extent, blocks);
  };
  countClusters(0, x, gridX, inClusterX);
  countClusters(1, y, gridY, inClusterY);
  if (row)
    minorExtent = gridY, majorExtent = gridX;
  else
    minorExtent = gridX, majorExtent = gridY;
  Value panelSize = constant(raster.getPanelSize());
  Value scaledY = arith::MulIOp::create(b, y, gridX);
  Value linear = arith::AddIOp::create(b, x, scaledY);
  Value panelBlocks = arith::MulIOp::create(b, panelSize, majorExtent);
  Value panel = arith::DivSIOp::create(b, linear, panelBlocks);
  Value first = arith::MulIOp::create(b, panel, panelSize);
  Value left = arith::SubIOp::create(b, minorExtent, first);
  Value width = arith::MinSIOp::create(b, panelSize, left);
  Value before = arith::MulIOp::create(b, panel, panelBlocks);
  Value rest = arith::SubIOp::create(b, linear, before);
  Value inPanel = arith::RemSIOp::create(b, rest, width);
  Value minor = arith::AddIOp::create(b, first, inPanel);
  Value forward = arith::DivSIOp::create(b, rest, width);
  Value last = arith::SubIOp::create(b, majorExtent, constant(1));
  Value backward = arith::SubIOp::create(b, last, forward);
  Value odd = arith::AndIOp::create(b, panel, constant(1));
  Value isOdd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, odd, constant(0));
  Value major = arith::SelectOp::create(b, isOdd, backward, forward);
  // Facts that bounds analysis cannot derive from the arithmetic.
  auto assumeIndex = [&](Value index, Value extent) {
    Value notNegative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index, constant(0));
    Value below =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, extent);
    AssumeOp::create(b, notNegative);
    AssumeOp::create(b, below);
  };
  assumeIndex(minor, minorExtent);
  assumeIndex(major, majorExtent);

  Value newX = row ? major : minor, newY = row ? minor : major;
  auto backToBlocks = [&](unsigned axis, Value index, Value inCluster) {
    if (!inCluster)
      return index;
    Value first =
        arith::MulIOp::create(b, index, constant(cluster.extents[axis]));
    return arith::AddIOp::create(b, first, inCluster).getResult();
  };
  newX = backToBlocks(0, newX, inClusterX);
  newY = backToBlocks(1, newY, inClusterY);
  Operation *lastOwn = &*std::prev(b.getInsertionPoint());
  auto isOwn = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() == kernel.getBodyBlock() &&
           (user == lastOwn || user->isBeforeInBlock(lastOwn));
  };
  blockX.replaceUsesWithIf(newX, [&](OpOperand &use) { return !isOwn(use); });
  blockY.replaceUsesWithIf(newY, [&](OpOperand &use) { return !isOwn(use); });
  kernel.removeRasterAttr();
  return success();
}

namespace {
struct MapBlocks : tile::impl::TileMapBlocksBase<MapBlocks> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](KernelOp kernel) {
      consumeMasks(kernel);
      // The raster sees the whole clusters.
      bool ok =
          succeeded(completeClusters(kernel)) && succeeded(mapBlocks(kernel));
      return ok ? WalkResult::skip() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
