//===- LowerRoles.cpp - Code of different warps -----------------*- C++ -*-===//
//
// A role becomes a branch on the number of the warp, which all threads of a
// warp agree on. Inside of it, threads count from the first one of the role:
// layouts, and everything computed from the thread id, is its own.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

void KernelLowering::replaceThreadIds(Region &region, bool countsFromRole) {
  SmallVector<tile::ThreadIdOp> ids;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tile::WarpSpecializeOp>(op))
      return WalkResult::skip();
    if (auto id = dyn_cast<tile::ThreadIdOp>(op))
      ids.push_back(id);
    return WalkResult::advance();
  });
  for (tile::ThreadIdOp id : ids) {
    IndexBuilder at(b.getContext());
    at.builder().setInsertionPoint(entry);
    at.setLocation(id.getLoc());
    Value value = threadId();
    int64_t count = threads;
    if (!countsFromRole) {
      value = tile_gpu::ThreadIdOp::create(at.builder(), id.getLoc(),
                                           at.builder().getI32Type());
      count = kernel.getThreads();
    }
    int64_t axis = id.getAxis();
    if (std::optional<ArrayRef<int64_t>> shape = kernel.getThreadShape()) {
      if (axis >= static_cast<int64_t>(shape->size())) {
        value = at.i32(0);
      } else {
        int64_t stride = 1;
        for (int64_t d = 0; d < axis; ++d)
          stride *= (*shape)[d];
        value = at.divide(value, stride);
        if (stride * (*shape)[axis] < count)
          value = at.remainder(value, (*shape)[axis]);
        if (!value)
          value = at.i32(0);
      }
    } else if (axis > 0) {
      value = at.i32(0);
    }
    id.getResult().replaceAllUsesWith(value);
    id.erase();
  }
}

static constexpr StringLiteral kNamedBarriers = "tile.named_barriers";

LogicalResult KernelLowering::chooseUserBarriers() {
  // Regions of the program may be apart and still run at the same time, so
  // that their position says nothing; sets of warps are told apart instead.
  constexpr int64_t kHardwareBarriers = 16;
  llvm::SmallDenseSet<int64_t> taken;
  SmallVector<tile::WarpSpecializeOp> splits;
  kernel.walk([&](Operation *op) {
    if (auto sync = dyn_cast<tile::SyncThreadsOp>(op))
      taken.insert(sync.getId().value_or(0));
    else if (auto arrive = dyn_cast<tile::NamedArriveOp>(op))
      taken.insert(arrive.getId());
    else if (auto split = dyn_cast<tile::WarpSpecializeOp>(op))
      splits.push_back(split);
  });
  llvm::SmallDenseMap<std::pair<int64_t, int64_t>, int64_t> barriers;
  int64_t next = kHardwareBarriers - 1;
  for (tile::WarpSpecializeOp split : splits) {
    SmallVector<int64_t> chosen;
    for (unsigned index = 0; index < split.getRoles().size(); ++index) {
      tile::RoleAttr role = split.getRole(index);
      auto [place, isNew] =
          barriers.try_emplace({role.getFirst(), role.getWarps()}, 0);
      if (isNew) {
        while (next > 0 && taken.contains(next))
          --next;
        if (next <= 0)
          return split.emitOpError("leaves no hardware barrier for its "
                                   "threads: the program uses so many of the ")
                 << kHardwareBarriers << " by number";
        place->second = next--;
      }
      chosen.push_back(place->second);
    }
    if (split.getRole(0).getKind() == tile::RoleKind::User)
      split->setAttr(kNamedBarriers, b.getDenseI64ArrayAttr(chosen));
  }
  return success();
}

void KernelLowering::meetThreads() {
  if (!role) {
    tile_gpu::BarrierOp::create(b, ix.loc(), IntegerAttr(), IntegerAttr());
    return;
  }
  // One thread alone has nobody to meet.
  if (role.getSingle())
    return;
  tile_gpu::BarrierOp::create(b, ix.loc(), b.getI64IntegerAttr(roleBarrier),
                              b.getI64IntegerAttr(threads));
}

Block *tilemlir::to_gpu::enterOneThread(OpBuilder &b, Location loc,
                                        Value isWarp) {
  auto inWarp = scf::IfOp::create(b, loc, isWarp, /*withElseRegion=*/false);
  b.setInsertionPointToStart(inWarp.thenBlock());
  Value elected = tile_gpu::ElectOp::create(b, loc, b.getI1Type());
  auto inThread = scf::IfOp::create(b, loc, elected, /*withElseRegion=*/false);
  b.setInsertionPointToStart(inThread.thenBlock());
  return inThread.thenBlock();
}

void KernelLowering::asOneThread(llvm::function_ref<void()> emit) {
  if (inOneThread || (role && role.getSingle())) {
    emit();
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  Location loc = ix.loc();
  if (!once.inFirstWarp) {
    OpBuilder at(entry);
    Value warp = tile_gpu::WarpIdOp::create(at, loc, at.getI32Type());
    Value first = arith::ConstantOp::create(
        at, loc, at.getI32IntegerAttr(role ? role.getFirst() : 0));
    once.inFirstWarp =
        arith::CmpIOp::create(at, loc, arith::CmpIPredicate::eq, warp, first);
  }
  enterOneThread(b, loc, once.inFirstWarp);
  ix.pushScope();
  inOneThread = true;
  emit();
  inOneThread = false;
  ix.popScope();
}

/// Does `op` do nothing that other threads have to wait for, apart from
/// initialising mbarriers?
static bool onlyInitialises(Operation &op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return llvm::all_of(branch->getRegions(), [](Region &region) {
      return llvm::all_of(region.getOps(), onlyInitialises);
    });
  return isMemoryEffectFree(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
         isa<tile::AllocOp, tile_gpu::MbarrierInitOp,
             tile_gpu::MbarrierInitFenceOp, tile_gpu::ElectOp,
             tile_gpu::WarpIdOp, tile_gpu::ThreadIdOp, tile_gpu::TensorMapOp>(
             op);
}

/// The barrier in front of the roles `op`, if all that its threads wait for is
/// that mbarriers are initialised, which the thread of the producer does.
static tile_gpu::BarrierOp findInitialBarrier(tile::WarpSpecializeOp op) {
  tile::RoleAttr producer = op.getRole(0);
  if (producer.getKind() != tile::RoleKind::Producer || !producer.getSingle() ||
      producer.getFirst() != 0 || !isa<tile::KernelOp>(op->getParentOp()))
    return {};
  Operation *previous = op->getPrevNode();
  while (previous && isMemoryEffectFree(previous))
    previous = previous->getPrevNode();
  auto barrier = dyn_cast_or_null<tile_gpu::BarrierOp>(previous);
  if (!barrier || barrier.getId())
    return {};
  for (Operation *before = barrier->getPrevNode(); before;
       before = before->getPrevNode())
    if (!onlyInitialises(*before))
      return {};
  return barrier;
}

LogicalResult KernelLowering::lowerRoles(tile::WarpSpecializeOp op) {
  Location loc = op.getLoc();
  // The producer does not wait for what it has done itself: its first loads
  // start while the other warps are still being launched.
  tile_gpu::BarrierOp initialBarrier = findInitialBarrier(op);
  Value warp = tile_gpu::WarpIdOp::create(b, loc, b.getI32Type());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };

  // All others meet in one place, although they may belong to several roles.
  if (initialBarrier) {
    Value waits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, warp,
                                        constant(op.getRole(0).getWarps()));
    auto branch = scf::IfOp::create(b, loc, waits, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    tile_gpu::NamedBarrierSyncOp::create(b, loc, constant(0),
                                         kernel.getLaunchThreads());
  }

  // What is computed once per kernel is computed once per role instead.
  int64_t outerThreads = threads;
  Operation *outerEntry = entry;
  EmittedOnce outer = std::exchange(once, {});
  for (unsigned index = 0; index < op.getRoles().size(); ++index) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    role = op.getRole(index);
    roleBarrier = index + 1;
    if (auto chosen = op->getAttrOfType<DenseI64ArrayAttr>(kNamedBarriers);
        chosen && role.getKind() == tile::RoleKind::User)
      roleBarrier = chosen[index];
    threads = role.getThreads();
    int64_t end = role.getFirst() + role.getWarps();
    Value condition;
    if (role.getFirst() > 0)
      condition = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, warp,
                                        constant(role.getFirst()));
    if (end * 32 < kernel.getLaunchThreads() || !condition) {
      Value below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                          warp, constant(end));
      condition =
          condition
              ? arith::AndIOp::create(b, loc, condition, below).getResult()
              : below;
    }
    auto branch =
        scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    if (initialBarrier && role.getKind() == tile::RoleKind::Producer) {
      // Another lane may be elected than the one that initialised mbarriers.
      tile_gpu::WarpSyncOp::create(b, loc);
      tile_gpu::NamedBarrierArriveOp::create(b, loc, constant(0),
                                             kernel.getLaunchThreads());
    }
    if (role.getRegisters())
      tile_gpu::SetMaxRegistersOp::create(
          b, loc,
          role.getKind() == tile::RoleKind::Producer
              ? tile_gpu::RegisterAction::Decrease
              : tile_gpu::RegisterAction::Increase,
          role.getRegisters());
    Block *body = branch.thenBlock();
    if (role.getSingle()) {
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            warp, constant(role.getFirst()));
      body = enterOneThread(b, loc, isFirst);
      if (role.getWarps() > 1)
        idleWarp = role.getFirst() + 1;
    }
    b.setInsertionPoint(body->getTerminator());
    entry = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    once = {};
    if (role.getFirst() > 0) {
      OpBuilder atEntry(entry);
      Value id =
          tile_gpu::ThreadIdOp::create(atEntry, loc, atEntry.getI32Type());
      Value first = arith::ConstantOp::create(
          atEntry, loc, atEntry.getI32IntegerAttr(role.getFirst() * 32));
      once.threadId = arith::SubIOp::create(atEntry, loc, id, first);
    }
    Region &region = op.getRegions()[index];
    replaceThreadIds(region, role.getKind() != tile::RoleKind::User);
    Block &source = region.front();
    body->getOperations().splice(body->getTerminator()->getIterator(),
                                 source.getOperations());
    LogicalResult result = lowerBlock(*body);
    entry->erase();
    if (failed(result))
      return failure();
  }
  if (initialBarrier)
    initialBarrier.erase();
  role = {};
  roleBarrier = 0;
  threads = outerThreads;
  entry = outerEntry;
  once = std::move(outer);
  return success();
}
