//===- LowerThreadOps.cpp - Elections, named barriers, inline PTX -*- C++ -*-=//
//
// The operations of kernels that schedule their warps themselves; each has a
// counterpart in `tile_gpu`.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Threads that meet for a turn: the warp group that waits for it, and the one
/// that passes it on.
static constexpr int64_t kTurnThreads = 2 * layout::kWarpGroupSize;

LogicalResult KernelLowering::lowerThreadOp(Operation *op) {
  // Calls `emit` with the barrier of the warp group's turn, or of the next
  // one's; with `chosen`, only for the turn of group 0, in that group.
  auto emitTurn = [&](Operation *turn, int64_t id, int64_t groups, bool isNext,
                      std::optional<int64_t> chosen,
                      llvm::function_ref<void(Value)> emit) -> LogicalResult {
    if (groups * layout::kWarpGroupSize != threads)
      return turn->emitOpError()
             << "is for " << groups << " warp groups, there are " << threads
             << " threads";
    Value group = warpGroup(), first = ix.i32(id);
    if (!chosen) {
      if (isNext)
        group = ix.remainder(ix.add(group, ix.i32(1)), groups);
      emit(ix.add(group, first));
      return success();
    }
    Value isChosen = arith::CmpIOp::create(
        b, ix.loc(), arith::CmpIPredicate::eq, group, ix.i32(*chosen));
    auto branch =
        scf::IfOp::create(b, ix.loc(), isChosen, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    emit(first);
    b.setInsertionPointAfter(branch);
    return success();
  };
  Location loc = ix.loc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::ElectOp elect) {
        elect.getResult().replaceAllUsesWith(electThread(elect.getThreads()));
        return success();
      })
      .Case([&](tile::WarpSyncOp) {
        tile_gpu::WarpSyncOp::create(b, loc);
        return success();
      })
      .Case([&](tile::PinOp pin) {
        auto held = tile_gpu::PinOp::create(b, loc, pin.getValue().getType(),
                                            pin.getValue());
        pin.getResult().replaceAllUsesWith(held.getResult(0));
        return success();
      })
      .Case([&](tile::PinFragmentOp pin) {
        tile::AllocOp alloc = tile::getAllocation(pin.getFragment());
        VectorType type =
            tile_gpu::getRegisterType(cast<tile::BufferType>(alloc.getType()));
        Value read = tile_gpu::ReadFragmentOp::create(b, loc, type, alloc);
        auto held = tile_gpu::PinOp::create(b, loc, type, read);
        tile_gpu::WriteFragmentOp::create(b, loc, held.getResult(0), alloc);
        return success();
      })
      .Case([&](tile::NamedArriveOp arrive) {
        tile_gpu::NamedBarrierArriveOp::create(b, loc, ix.i32(arrive.getId()),
                                               arrive.getCount());
        return success();
      })
      .Case([&](tile::TakeTurnOp turn) {
        std::optional<int64_t> chosen;
        if (turn.getEnds())
          chosen = 0;
        return emitTurn(turn, turn.getId(), turn.getGroups(),
                        /*isNext=*/false, chosen, [&](Value barrier) {
                          tile_gpu::NamedBarrierSyncOp::create(b, loc, barrier,
                                                               kTurnThreads);
                        });
      })
      .Case([&](tile::PassTurnOp turn) {
        std::optional<int64_t> chosen;
        if (turn.getBegins())
          chosen = turn.getGroups() - 1;
        return emitTurn(turn, turn.getId(), turn.getGroups(),
                        /*isNext=*/true, chosen, [&](Value barrier) {
                          tile_gpu::NamedBarrierArriveOp::create(
                              b, loc, barrier, kTurnThreads);
                        });
      })
      .Case([&](tile::ThreadExpectTxOp expect) -> LogicalResult {
        FailureOr<Value> barrier =
            barrierAddress(expect, expect.getBarriers(), expect.getIndex());
        if (failed(barrier))
          return failure();
        tile_gpu::MbarrierExpectTxOp::create(b, loc, *barrier,
                                             ix.i32(expect.getBytes()), Value(),
                                             !expect.getArrive());
        return success();
      })
      .Case([&](tile::ClusterArriveOp arrive) {
        // All lanes execute it together, also behind code of one of them.
        tile_gpu::WarpSyncOp::create(b, loc);
        tile_gpu::ClusterArriveOp::create(b, loc, arrive.getRelaxed());
        return success();
      })
      .Case([&](tile::ClusterWaitOp) {
        tile_gpu::ClusterWaitOp::create(b, loc);
        return success();
      })
      // Before sm_90 a kernel begins when those in front of it have ended.
      .Case([&](tile::DependencyWaitOp) {
        if (capability >= 90)
          tile_gpu::GriddepcontrolWaitOp::create(b, loc);
        return success();
      })
      .Case([&](tile::LaunchDependentsOp) {
        if (capability >= 90)
          tile_gpu::GriddepcontrolLaunchDependentsOp::create(b, loc);
        return success();
      })
      .Case([&](tile::FetchTileOp fetch) { return lowerFetchTile(fetch); })
      .Case([&](tile::ShareTileOp share) { return lowerShareTile(share); })
      .Case([&](tile::PtxOp ptx) { return lowerPtx(ptx); })
      .Default([](Operation *other) -> LogicalResult {
        return other->emitOpError("has no lowering to threads of a GPU");
      });
}

Value KernelLowering::electThread(int64_t group) {
  Location loc = ix.loc();
  Value elected = tile_gpu::ElectOp::create(b, loc, b.getI1Type());
  // In groups of one warp every warp has its own.
  if (group == 32)
    return elected;
  Value warp = tile_gpu::WarpIdOp::create(b, loc, b.getI32Type());
  if (group > 0) {
    warp = ix.remainder(warp, group / 32);
    if (!warp)
      warp = ix.i32(0);
  }
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, ix.i32(0));
  return arith::AndIOp::create(b, loc, isFirst, elected);
}

LogicalResult KernelLowering::lowerPtx(Operation *ptx) {
  auto op = cast<tile::PtxOp>(ptx);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    if (!isa<tile::BufferType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    tile::AllocOp alloc = tile::getAllocation(operand);
    if (alloc.getResult() != operand)
      return op.emitOpError("takes whole buffers, whose address is where they "
                            "begin; '")
             << tile::getUserName(operand) << "' is a part of one";
    FailureOr<int64_t> offset = sharedOffset(op, alloc);
    if (failed(offset))
      return failure();
    operands.push_back(tile_gpu::SharedAddressOp::create(
        b, ix.loc(), b.getI32Type(), ix.i32(*offset)));
  }
  auto lowered = tile_gpu::PtxOp::create(b, ix.loc(), op.getResultTypes(),
                                         op.getText(), operands);
  op.replaceAllUsesWith(lowered.getResults());
  return success();
}
