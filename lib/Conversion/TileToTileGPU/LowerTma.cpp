//===- LowerTma.cpp - copies by the tensor memory accelerator ---*- C++ -*-===//
//
// The descriptor of a tensor is made once, at the top of the kernel, for all
// copies with the same boxes. A copy is one operation for each box of its plan.
// What one thread does on behalf of all - expecting bytes, starting copies,
// committing and waiting for stores - shares a branch where it follows each
// other. What one thread does for its warp is predicated instead: every warp
// passes there.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

//===----------------------------------------------------------------------===//
// Single threads
//===----------------------------------------------------------------------===//

namespace {
/// Who executes an operation on behalf of others.
enum class Executor { None, ThreadOfBlock, LaneOfWarp };
} // namespace

static Executor getExecutor(Operation *op) {
  if (tile::isPerWarp(op))
    return Executor::LaneOfWarp;
  if (auto arrive = dyn_cast<tile::BarrierArriveOp>(op))
    return arrive.getScope() == tile::ArrivalScope::Single
               ? Executor::ThreadOfBlock
               : Executor::None;
  bool isSingle = isa<tile::BarrierInitOp, tile::BarrierExpectTxOp,
                      tile::BulkCommitOp, tile::BulkWaitOp>(op) ||
                  (isa<tile::CopyAsyncOp>(op) && tile::isTmaCopy(op));
  return isSingle ? Executor::ThreadOfBlock : Executor::None;
}

SmallVector<Operation *> KernelLowering::takeSingleThreaded(Operation *first) {
  SmallVector<Operation *> run, pure, between;
  Executor executor = getExecutor(first);
  if (executor == Executor::None)
    return run;
  for (Operation *op = first; op; op = op->getNextNode()) {
    if (getExecutor(op) == executor) {
      run.push_back(op);
      pure.append(between);
      between.clear();
    } else if (isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(op) ||
               (isPure(op) && op->getNumRegions() == 0 &&
                !op->hasTrait<OpTrait::IsTerminator>())) {
      between.push_back(op);
    } else {
      break;
    }
  }
  // What is computed in between does not depend on them.
  for (Operation *op : pure)
    op->moveBefore(first);
  return run;
}

LogicalResult
KernelLowering::lowerSingleThreaded(ArrayRef<Operation *> operations) {
  ix.setLocation(operations.front()->getLoc());
  b.setInsertionPoint(operations.front());
  LogicalResult result = success();
  auto lower = [&] {
    Block *block = b.getInsertionBlock();
    Block::iterator end = b.getInsertionPoint();
    if (block != operations.front()->getBlock())
      for (Operation *op : operations)
        op->moveBefore(block, end);
    for (Operation *op : operations) {
      if (failed(result))
        return;
      result = lowerOp(op);
      op->erase();
    }
  };
  if (getExecutor(operations.front()) == Executor::LaneOfWarp)
    asOneLane(lower);
  else
    asOneThread(lower);
  return result;
}

void KernelLowering::asOneLane(llvm::function_ref<void()> emit) {
  // The elected lane is the same each time, as groups of stores need it.
  if (!electedLane && !inOneThread && !(role && role.getSingle())) {
    electedLane = tile_gpu::ElectOp::create(b, ix.loc(), b.getI1Type());
    emit();
    electedLane = {};
    return;
  }
  emit();
}

LogicalResult KernelLowering::lowerBulkOp(Operation *op) {
  auto emit = [&] {
    if (auto wait = dyn_cast<tile::BulkWaitOp>(op))
      tile_gpu::BulkWaitOp::create(b, ix.loc(), wait.getPending(),
                                   wait.getRead(), electedLane);
    else
      tile_gpu::BulkCommitOp::create(b, ix.loc(), electedLane);
  };
  if (tile::isPerWarp(op))
    asOneLane(emit);
  else
    asOneThread(emit);
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The record of a map of `tensor` for the boxes of `plan`.
static tile_gpu::TensorMapAttr getRecord(Value tensor, bool isRounded,
                                         const tile::TmaPlan &plan) {
  MLIRContext *context = tensor.getContext();
  auto type = cast<MemRefType>(tensor.getType());
  SmallVector<int64_t> known;
  int64_t offset;
  // Selection has refused other layouts.
  if (failed(type.getStridesAndOffset(known, offset)))
    llvm_unreachable("a tensor without strides has no map");
  SmallVector<tile::ExprAttr> sizes, strides;
  auto constant = [&](int64_t value) {
    return tile::ExprAttr::getConstant(context, value);
  };
  for (auto [index, dim] : llvm::enumerate(plan.dims)) {
    auto position = static_cast<int64_t>(index);
    tile::ExprAttr size = type.isDynamicDim(dim)
                              ? tile::ExprAttr::getDim(context, 0, dim)
                              : constant(type.getDimSize(dim));
    // Rows in whole panels: the column in the panel, and the panel.
    if (plan.panelPosition >= 0 && position == 0)
      size = constant(plan.box[0]);
    if (position == plan.panelPosition) {
      sizes.push_back(tile::ExprAttr::getBinary(tile::ExprKind::FloorDiv, size,
                                                constant(plan.box[0])));
      strides.push_back(constant(plan.box[0]));
      continue;
    }
    sizes.push_back(size);
    strides.push_back(position == 0 ? constant(1)
                      : ShapedType::isDynamic(known[dim])
                          ? tile::ExprAttr::getStride(context, 0, dim)
                          : constant(known[dim]));
  }
  tile::ExprAttr start;
  if (offset != 0)
    start = tile::ExprAttr::getConstant(context, offset);
  // Booleans are bytes.
  Type element = type.getElementType();
  Type dtype = element.isInteger(1) ? IntegerType::get(context, 8) : Type();
  if (isRounded)
    dtype = FloatTF32Type::get(context);
  return tile_gpu::TensorMapAttr::get(
      context, sizes, strides, start, plan.box, /*element_strides=*/{},
      plan.swizzle, dtype, tile::TensorMapFill::Zero, /*l2_promotion=*/128);
}

Value KernelLowering::tensorMap(Value tensor, const tile::TmaPlan &plan,
                                bool isRounded) {
  tile_gpu::TensorMapAttr record = getRecord(tensor, isRounded, plan);
  Value &map = tensorMaps[{tensor, record}];
  if (!map) {
    OpBuilder at = OpBuilder::atBlockBegin(kernel.getBodyBlock());
    map = tile_gpu::TensorMapOp::create(at, kernel.getLoc(), tensor, record);
  }
  return map;
}

void KernelLowering::prefetchTensorMaps() {
  if (!idleWarp || tensorMaps.empty())
    return;
  Operation *last = nullptr;
  for (auto &[key, map] : tensorMaps)
    if (!last || last->isBeforeInBlock(map.getDefiningOp()))
      last = map.getDefiningOp();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(last);
  Location loc = kernel.getLoc();
  Value warp = tile_gpu::WarpIdOp::create(b, loc, b.getI32Type());
  Value idle =
      arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(*idleWarp));
  Value isIdle =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, idle);
  enterOneThread(b, loc, isIdle);
  for (auto &[key, map] : tensorMaps)
    tile_gpu::TmaPrefetchMapOp::create(b, loc, map);
}

FailureOr<Value> KernelLowering::regionAddress(Operation *op, Value buffer,
                                               Coordinates coordinates) {
  tile::AllocOp alloc = tile::getAllocation(buffer);
  FailureOr<layout::SharedLayout> layout = sharedLayout(op, buffer);
  FailureOr<int64_t> base = sharedOffset(op, alloc);
  if (failed(layout) || failed(base) ||
      failed(mapToAllocation(op, buffer, coordinates)))
    return failure();
  int64_t bytes = layout->elementBits() / 8;
  Coordinate address = Coordinate::get(*base);
  for (int dim = 0; dim < layout->rank(); ++dim) {
    Coordinate part = coordinates[dim];
    if (dim != layout->fastestDim()) {
      address =
          ix.add(address, ix.mul(part, layout::strideBytes(*layout, dim)));
      continue;
    }
    if (layout->numPanels() == 1) {
      address = ix.add(address, ix.mul(part, bytes));
      continue;
    }
    // The region starts at a panel.
    Coordinate panel;
    if (part.isConstant()) {
      panel = Coordinate::get(part.constant / layout->panelElements());
    } else {
      panel.other = ix.divide(ix.materialize(part), layout->panelElements());
      panel.otherDivisor = 1;
    }
    address = ix.add(address, ix.mul(panel, layout->panelBytes()));
  }
  Value result = ix.materialize(address);
  return result ? result : ix.i32(0);
}

SmallVector<Value>
KernelLowering::mapCoordinates(const tile::TmaPlan &plan,
                               llvm::function_ref<Value(int64_t)> start) {
  SmallVector<Value> coordinates;
  for (auto [position, dim] : llvm::enumerate(plan.dims)) {
    Value value;
    if (plan.panelPosition < 0 || position != 0)
      value = start(dim);
    // Signed: a copy may start in front of the tensor.
    if (value && static_cast<int64_t>(position) == plan.panelPosition) {
      int64_t panel = plan.box[0];
      value =
          llvm::isPowerOf2_64(panel)
              ? b.createOrFold<arith::ShRSIOp>(ix.loc(), value,
                                               ix.i32(llvm::Log2_64(panel)))
              : b.createOrFold<arith::DivSIOp>(ix.loc(), value, ix.i32(panel));
    }
    coordinates.push_back(value ? value : ix.i32(0));
  }
  return coordinates;
}

static tile_gpu::CacheHint getCacheHint(tile::CopyAsyncOp op) {
  std::optional<tile::EvictionPolicy> policy = op.getEvictionPolicy();
  if (!policy)
    return tile_gpu::CacheHint::None;
  return *policy == tile::EvictionPolicy::First
             ? tile_gpu::CacheHint::EvictFirst
         : *policy == tile::EvictionPolicy::Last
             ? tile_gpu::CacheHint::EvictLast
             : tile_gpu::CacheHint::EvictNormal;
}

/// Each warp starts the boxes of its own parts of the staging buffer.
LogicalResult KernelLowering::lowerWarpStore(tile::CopyAsyncOp op) {
  layout::Result<tile::WarpStorePlan> plan =
      tile::planWarpStore(op, tile::getWarpLayout(op));
  std::optional<tile::TensorCopy> copy = tile::getTensorCopy(op);
  if (!plan || !copy)
    return op.emitOpError("cannot be done by single warps: ") << plan.error();
  FailureOr<int64_t> base =
      sharedOffset(op, tile::getAllocation(copy->buffer.storage));
  if (failed(base))
    return failure();

  SmallVector<Value> start(copy->tensor.offsets);
  for (auto [dim, tensorDim] : llvm::enumerate(plan->tensorDims)) {
    if (tensorDim < 0)
      continue;
    std::vector<int64_t> origins;
    for (const std::vector<int64_t> &origin : plan->parts.origins)
      origins.push_back(origin[dim]);
    start[tensorDim] = ix.add(start[tensorDim], warpFunction(origins));
  }
  std::vector<int64_t> bytes(plan->warpBytes.begin(), plan->warpBytes.end());
  Value address = ix.add(warpFunction(bytes), ix.i32(*base));
  Value map = tensorMap(copy->tensor.storage, plan->boxes);
  auto orZero = [&](Value value) { return value ? value : ix.i32(0); };
  asOneLane([&] {
    for (auto [part, partBytes] : llvm::enumerate(plan->partBytes))
      for (const tile::TmaBox &box : plan->boxes.boxes) {
        SmallVector<int64_t> offsets(box.tensorOffsets);
        for (auto [dim, tensorDim] : llvm::enumerate(plan->tensorDims))
          if (tensorDim >= 0)
            offsets[tensorDim] += plan->parts.offsets[part][dim];
        SmallVector<Value> coordinates =
            mapCoordinates(plan->boxes, [&](int64_t dim) {
              return ix.add(start[dim], ix.i32(offsets[dim]));
            });
        Value from = ix.add(address, ix.i32(partBytes + box.sharedBytes));
        tile_gpu::TmaStoreOp::create(b, ix.loc(), map, coordinates,
                                     orZero(from), electedLane,
                                     getCacheHint(op));
      }
  });
  return success();
}

LogicalResult KernelLowering::lowerTmaCopy(tile::CopyAsyncOp op) {
  if (tile::isPerWarp(op))
    return lowerWarpStore(op);
  layout::Result<tile::TmaPlan> plan = tile::planTma(op);
  std::optional<tile::TensorCopy> copy = tile::getTensorCopy(op);
  if (!plan || !copy)
    return op.emitOpError("cannot be done by TMA: ") << plan.error();
  if (copy->isLoad && !op.getBarrier())
    return op.emitOpError("is a load by TMA without a barrier; run "
                          "tile-insert-mbarriers");
  Coordinates bufferStart;
  SmallVector<Coordinate> tensorStart;
  for (Value offset : copy->buffer.offsets)
    bufferStart.push_back(ix.fromValue(offset));
  for (Value offset : copy->tensor.offsets)
    tensorStart.push_back(ix.fromValue(offset));
  FailureOr<Value> start = regionAddress(op, copy->buffer.storage, bufferStart);
  Value barrier;
  if (copy->isLoad) {
    FailureOr<Value> address =
        barrierAddress(op, op.getBarrier(), op.getBarrierIndex());
    if (failed(address))
      return failure();
    barrier = *address;
  }
  if (failed(start))
    return failure();

  tile_gpu::CacheHint hint = getCacheHint(op);
  bool isRounded =
      copy->isLoad &&
      tile::getAllocation(op.getDest())->hasAttr(tile::kRoundedName);
  Value map = tensorMap(copy->tensor.storage, *plan, isRounded);
  // A load that blocks of the cluster share: each of them loads its part into
  // the same place of all of them, and each barrier there counts the bytes.
  Value multicast;
  if (plan->parts > 1) {
    Value part;
    std::tie(part, multicast) = multicastPart(tile::getMulticastAxes(op));
    auto partOffset = [&](int64_t step) {
      Coordinate offset;
      offset.other = ix.mul(part, step);
      offset.otherDivisor = step;
      return offset;
    };
    Coordinate &moved = tensorStart[plan->partDim];
    moved = ix.add(moved, partOffset(plan->partElements));
    *start = ix.add(*start, ix.mul(part, plan->partBytes));
  }
  if (int64_t mask = tile::getClusterMask(op)) {
    if (multicast || !copy->isLoad)
      return op.emitOpError("with ")
             << tile::kClusterMask
             << " is a load that is not shared in another way";
    multicast =
        arith::ConstantOp::create(b, ix.loc(), b.getI16IntegerAttr(mask));
  }
  auto emitBox = [&](const tile::TmaBox &box) {
    SmallVector<Value> coordinates = mapCoordinates(*plan, [&](int64_t dim) {
      Coordinate coordinate = tensorStart[dim];
      coordinate.constant += box.tensorOffsets[dim];
      return ix.materialize(coordinate);
    });
    Value address =
        box.sharedBytes ? ix.add(*start, ix.i32(box.sharedBytes)) : *start;
    if (copy->isLoad)
      tile_gpu::TmaLoadOp::create(b, ix.loc(), map, coordinates, address,
                                  barrier, multicast,
                                  /*predicate=*/Value(), hint);
    else
      tile_gpu::TmaStoreOp::create(b, ix.loc(), map, coordinates, address,
                                   /*predicate=*/Value(), hint);
  };
  asOneThread([&] {
    for (const tile::TmaBox &box : plan->boxes)
      emitBox(box);
  });
  return success();
}
