//===- LowerTiles.cpp - tiles from a counter --------------------*- C++ -*-===//
//
// One thread adds to the counter, long before anyone needs the number: the
// atomic is under way while the tile before it is worked on. The number then
// goes through shared memory.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

static constexpr int64_t kNumberBytes = 4;

/// Null where only one thread comes.
Value KernelLowering::isFetchingThread() {
  if (role && role.getSingle())
    return {};
  return arith::CmpIOp::create(b, ix.loc(), arith::CmpIPredicate::eq,
                               threadId(), ix.i32(0));
}

LogicalResult KernelLowering::lowerFetchTile(Operation *op) {
  auto fetch = cast<tile::FetchTileOp>(op);
  Location loc = ix.loc();
  // The launch in front of this one may still count, unless the program waits
  // for it behind the fetch only.
  if (beginsEarly && capability >= 90)
    tile_gpu::GriddepcontrolWaitOp::create(b, loc);
  Value fetches = isFetchingThread();
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
  auto update = [&](tile::AtomicKind kind, int64_t value, Type result,
                    Value predicate) -> Value {
    return tile_gpu::GlobalAtomicOp::create(
               b, loc, result, kind, ix.i32(value), fetch.getCounter(), zero,
               predicate, tile::MemoryOrder::Relaxed, /*is_unsigned=*/false)
        .getResult();
  };
  Value old = update(tile::AtomicKind::Add, 1, b.getI32Type(), fetches);
  // There is one fetch for each tile: nobody comes behind the last one.
  Value last = arith::SubIOp::create(b, loc, fetch.getTiles(), ix.i32(1));
  Value isLast =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, old, last);
  update(tile::AtomicKind::Exchange, 0, Type(), ix.both(fetches, isLast));
  Value number = arith::AddIOp::create(b, loc, fetch.getWorkers(), old);
  fetch.getResult().replaceAllUsesWith(number);
  return success();
}

LogicalResult KernelLowering::lowerShareTile(Operation *op) {
  auto share = cast<tile::ShareTileOp>(op);
  Location loc = ix.loc();
  if (!share.getNumbers())
    return share.emitOpError("has no memory for the number; run "
                             "tile-insert-mbarriers");
  FailureOr<int64_t> base =
      sharedOffset(op, tile::getAllocation(share.getNumbers()));
  if (failed(base))
    return failure();
  Value address =
      share.getSlot() ? ix.mul(share.getSlot(), kNumberBytes) : ix.i32(0);
  IntegerAttr alignment = b.getI64IntegerAttr(kNumberBytes);
  auto offset = static_cast<uint32_t>(*base);
  if (Value fetched = share.getFetched()) {
    if (share.getSlot() && !(role && role.getSingle()))
      return share.emitOpError("leaves a number for other roles, which one "
                               "thread has to do");
    tile_gpu::SharedStoreOp::create(b, loc, fetched, address, offset,
                                    isFetchingThread(), alignment);
    if (share.getSlot()) {
      share.getResult().replaceAllUsesWith(fetched);
      return success();
    }
    meetThreads();
  }
  // From one lane, so that the backend knows that the warp agrees. Only that
  // lane reads a slot, which the warp gives back: compute-sanitizer's racecheck
  // takes an arrival for that of its own thread, and would find the others'
  // reads unordered, although they meet the arriving thread first.
  Value reads;
  if (share.getSlot())
    reads = ix.equal(ix.bitAnd(threadId(), layout::kWarpSize - 1), 0);
  Value number = tile_gpu::SharedLoadOp::create(b, loc, b.getI32Type(), address,
                                                offset, reads, alignment);
  Value uniform = tile_gpu::ShuffleOp::create(b, loc, number.getType(),
                                              tile_gpu::ShuffleKind::Index,
                                              number, ix.i32(0));
  share.getResult().replaceAllUsesWith(uniform);
  return success();
}
