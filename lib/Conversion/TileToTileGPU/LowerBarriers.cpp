//===- LowerBarriers.cpp - mbarriers and fences -----------------*- C++ -*-===//
//
// Who executes an arrival: every thread, one lane of every warp, or one thread
// of the role. The lanes of a warp are brought together before one of them
// arrives for all.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

static constexpr int64_t kBarrierBytes = 8;

FailureOr<Value> KernelLowering::barrierAddress(Operation *op, Value barriers,
                                                Value index) {
  // A part of a row of barriers begins further on.
  while (auto view = barriers.getDefiningOp<tile::SubviewOp>()) {
    if (view.getOffsets().size() != 1)
      break;
    index = ix.add(index, view.getOffsets().front());
    barriers = view.getSource();
  }
  tile::AllocOp alloc = tile::getAllocation(barriers);
  if (barriers != alloc.getResult()) {
    op->emitOpError("needs the barriers as they were allocated, or a part of a "
                    "row of them");
    return failure();
  }
  auto offset = alloc->getAttrOfType<IntegerAttr>("tile.shared_offset");
  if (!offset) {
    op->emitOpError("uses barriers '")
        << tile::getUserName(barriers)
        << "' without an address; run tile-allocate-memory";
    return failure();
  }
  Value result = ix.add(ix.mul(index, kBarrierBytes), ix.i32(offset.getInt()));
  return result ? result : ix.i32(0);
}

LogicalResult KernelLowering::lowerBarrierOp(Operation *op) {
  Location loc = ix.loc();
  auto address = [&](Value barriers, Value index) {
    return barrierAddress(op, barriers, index);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::BarrierInitOp init) -> LogicalResult {
        FailureOr<Value> first = address(init.getBarriers(), Value());
        if (failed(first))
          return failure();
        int64_t count = init.getBarriers().getType().getNumElements();
        asOneThread([&] {
          for (int64_t index = 0; index < count; ++index)
            tile_gpu::MbarrierInitOp::create(
                b, loc,
                index ? ix.add(*first, ix.i32(index * kBarrierBytes)) : *first,
                init.getArrivals());
          // One fence for those that are initialised together.
          if (!isa_and_nonnull<tile::BarrierInitOp>(init->getNextNode()))
            tile_gpu::MbarrierInitFenceOp::create(b, loc);
        });
        return success();
      })
      .Case([&](tile::BarrierWaitOp wait) -> LogicalResult {
        FailureOr<Value> barrier = address(wait.getBarriers(), wait.getIndex());
        if (failed(barrier))
          return failure();
        tile_gpu::MbarrierWaitOp::create(b, loc, *barrier, wait.getParity());
        return success();
      })
      .Case([&](tile::BarrierExpectTxOp expect) -> LogicalResult {
        FailureOr<Value> barrier =
            address(expect.getBarriers(), expect.getIndex());
        if (failed(barrier))
          return failure();
        asOneThread([&] {
          tile_gpu::MbarrierExpectTxOp::create(b, loc, *barrier,
                                               ix.i32(expect.getBytes()),
                                               Value(), /*no_arrive=*/true);
        });
        return success();
      })
      .Case([&](tile::BarrierArriveOp arrive) -> LogicalResult {
        if (tile::countsThroughCluster(arrive)) {
          if (arrive.getScope() != tile::ArrivalScope::Thread ||
              arrive.getExpect() || arrive.getCpAsync())
            return arrive.emitOpError("at a barrier of another block is one of "
                                      "threads, without bytes");
          int64_t count = arrive.getBarriers().getType().getNumElements();
          FailureOr<Value> barrier = address(
              arrive.getBarriers(), ix.remainder(arrive.getIndex(), count));
          if (failed(barrier))
            return failure();
          tile_gpu::MbarrierArriveClusterOp::create(
              b, loc, *barrier, ix.divide(arrive.getIndex(), count), Value());
          return success();
        }
        FailureOr<Value> barrier =
            address(arrive.getBarriers(), arrive.getIndex());
        if (failed(barrier))
          return failure();
        if (arrive->hasAttr(tile::kReach)) {
          if (arrive.getScope() != tile::ArrivalScope::Warp ||
              (role && role.getSingle()))
            return arrive.emitOpError("reaches other blocks of the cluster, "
                                      "which whole warps do");
          arriveInCluster(arrive, *barrier);
          return success();
        }
        auto emit = [&] {
          if (arrive.getCpAsync() && copiesPlainly) {
            // An arrival of cp.async releases no stores of the thread.
            tile_gpu::AsyncCommitOp::create(b, loc);
            tile_gpu::AsyncWaitOp::create(b, loc, 0);
            tile_gpu::MbarrierArriveOp::create(b, loc, *barrier, Value(), 1);
          } else if (arrive.getCpAsync())
            tile_gpu::MbarrierArriveCpAsyncOp::create(b, loc, *barrier);
          else if (arrive.getExpect())
            tile_gpu::MbarrierExpectTxOp::create(b, loc, *barrier,
                                                 ix.i32(*arrive.getExpect()),
                                                 Value(), /*no_arrive=*/false);
          else
            tile_gpu::MbarrierArriveOp::create(b, loc, *barrier, Value(), 1);
        };
        switch (arrive.getScope()) {
        case tile::ArrivalScope::Thread:
          emit();
          break;
        case tile::ArrivalScope::Single:
          asOneThread(emit);
          break;
        case tile::ArrivalScope::Warp: {
          if (role && role.getSingle()) {
            emit();
            break;
          }
          tile_gpu::WarpSyncOp::create(b, loc);
          Value elected = tile_gpu::ElectOp::create(b, loc, b.getI1Type());
          tile_gpu::MbarrierArriveOp::create(b, loc, *barrier, elected, 1);
          break;
        }
        }
        return success();
      })
      .Case([&](tile::FenceProxyOp) -> LogicalResult {
        tile_gpu::FenceProxyOp::create(b, loc,
                                       tile_gpu::ProxyKind::AsyncSharedCta);
        return success();
      })
      .Case([&](tile::SetMaxRegistersOp set) -> LogicalResult {
        tile_gpu::SetMaxRegistersOp::create(
            b, loc,
            set.getIncrease() ? tile_gpu::RegisterAction::Increase
                              : tile_gpu::RegisterAction::Decrease,
            set.getCount());
        return success();
      })
      .Default([](Operation *other) -> LogicalResult {
        return other->emitOpError("is no operation of barriers");
      });
}
