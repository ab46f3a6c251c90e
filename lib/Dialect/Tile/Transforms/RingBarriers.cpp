//===- RingBarriers.cpp - mbarriers between roles ---------------*- C++ -*-===//
//
// The protocol of a ring of S slots. Producer and consumers walk the slots in
// the same order, each with a position (slot, phase) of its own; the phase
// flips at every wrap.
//
//   producer:  wait empty[slot] for phase ^ 1, fill the slot, arrive full[slot]
//   consumer:  wait full[slot] for phase, use the slot, arrive empty[slot]
//
// A fresh barrier counts as having completed the phase with parity 1, so that
// the producer passes its first S waits. All arrivals are unconditional, once
// in every iteration; conditions guard data only. Buffers that are used by the
// same operations share their barriers: a channel. Where several roles of
// consumers take turns, each slot is used by one of them.
//
// In a cluster, loads may fill slots of other blocks too. All blocks run the
// same iterations of such a ring. A block fills a slot when it is empty in
// every block that its loads reach: the consumers of all those arrive at its
// barrier. Each block expects all bytes of its slot on its own full barrier,
// whoever sends them; they may come before it does, because the arrival of its
// producer is still missing.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/RingBarriers.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
/// Operations in the body of a consumer's loop: the first and the last one that
/// use some buffers. Null when nothing does.
struct Uses {
  Operation *first = nullptr, *last = nullptr;
};

/// Buffers that become full and empty together.
struct Channel {
  SmallVector<AllocOp> buffers;
  Uses uses;
  AllocOp full, empty;
  /// The sets of blocks of the cluster whose slots the copies fill; empty when
  /// they fill those of the own block only.
  SmallVector<ClusterAxes> reach;
};

class RingBuilder {
public:
  RingBuilder(KernelOp kernel, WarpSpecializeOp roles)
      : kernel(kernel), roles(roles), cluster(kernel) {}

  LogicalResult run();

private:
  LogicalResult pairLoops();
  LogicalResult findReach(Channel &channel, ArrayRef<CopyOp> copies);
  SmallVector<Channel> findChannels(scf::ForOp consumer);
  void addBarriers(Channel &channel, RingLoop &ring, ArrayRef<CopyOp> copies);
  LogicalResult produce(Channel &channel, RingLoop &ring);
  void consume(Channel &channel, RingLoop &ring);
  Uses findUses(AllocOp buffer, scf::ForOp consumer);
  SmallVector<CopyOp> getCopies(Channel &channel, scf::ForOp loop);
  Value getPhase(OpBuilder &builder, RingLoop &ring);

  KernelOp kernel;
  WarpSpecializeOp roles;
  ClusterShape cluster;
  RoleAttr producerRole, consumerRole;
  /// Ring loops of the producer and of each role of consumers, by the
  /// allocation of their position.
  struct Pair {
    scf::ForOp producing;
    SmallVector<scf::ForOp, 2> consuming;
  };
  llvm::MapVector<Operation *, Pair> loops;
};
} // namespace

LogicalResult RingBuilder::pairLoops() {
  unsigned consumers = 0;
  for (unsigned index = 0; index < roles.getRoles().size(); ++index) {
    RoleAttr role = roles.getRole(index);
    bool produces = role.getKind() == RoleKind::Producer;
    if (!produces && role.getKind() != RoleKind::Consumer)
      continue;
    Region &region = roles.getRegions()[index];
    (produces ? producerRole : consumerRole) = role;
    llvm::SmallDenseSet<Operation *> seen;
    consumers += !produces;
    WalkResult result = region.walk([&](scf::ForOp loop) {
      FailureOr<RingLoop> ring = getRingLoop(loop);
      if (failed(ring))
        return WalkResult::advance();
      Pair &pair = loops[ring->ring];
      if (!seen.insert(ring->ring).second) {
        loop.emitError("is the second loop of a role on one ring");
        return WalkResult::interrupt();
      }
      if (produces)
        pair.producing = loop;
      else
        pair.consuming.push_back(loop);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  for (auto &[ring, pair] : loops)
    if (!pair.producing || pair.consuming.size() != consumers || consumers == 0)
      return ring->emitError("is a ring that only one role uses");
  return success();
}

Uses RingBuilder::findUses(AllocOp buffer, scf::ForOp loop) {
  Uses uses;
  for (Operation *user : getHandleUsers(buffer)) {
    Operation *sibling = loop.getBody()->findAncestorOpInBlock(*user);
    if (!sibling)
      continue;
    if (!uses.first || sibling->isBeforeInBlock(uses.first))
      uses.first = sibling;
    if (!uses.last || uses.last->isBeforeInBlock(sibling))
      uses.last = sibling;
  }
  return uses;
}

/// Copies of a producer's ring loop, not those of ring loops inside of it.
static SmallVector<CopyOp> getProducedCopies(scf::ForOp producing) {
  SmallVector<CopyOp> copies;
  producing.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto inner = dyn_cast<scf::ForOp>(op);
    if (inner && succeeded(getRingLoop(inner)))
      return WalkResult::skip();
    auto copy = dyn_cast<CopyOp>(op);
    if (copy && copy->hasAttr(kProduceName))
      copies.push_back(copy);
    return WalkResult::advance();
  });
  return copies;
}

/// The buffers with slots of `ring` that `loop` uses, grouped by the first and
/// the last operation in the body that does.
SmallVector<Channel> RingBuilder::findChannels(scf::ForOp loop) {
  FailureOr<RingLoop> ring = getRingLoop(loop);
  scf::ForOp producing = loops[ring->ring].producing;
  SmallVector<Channel> channels;
  llvm::SetVector<Operation *> buffers;
  for (CopyOp copy : getProducedCopies(producing))
    buffers.insert(getAllocation(copy.getDest()));
  for (Operation *buffer : buffers) {
    Channel mine;
    mine.buffers.push_back(cast<AllocOp>(buffer));
    mine.uses = findUses(cast<AllocOp>(buffer), loop);
    Channel *same = llvm::find_if(channels, [&](const Channel &other) {
      return other.uses.first == mine.uses.first &&
             other.uses.last == mine.uses.last;
    });
    if (same != channels.end())
      same->buffers.push_back(cast<AllocOp>(buffer));
    else
      channels.push_back(mine);
  }
  return channels;
}

SmallVector<CopyOp> RingBuilder::getCopies(Channel &channel, scf::ForOp loop) {
  SmallVector<CopyOp> copies = getProducedCopies(loop);
  llvm::erase_if(copies, [&](CopyOp copy) {
    return !llvm::is_contained(channel.buffers, getAllocation(copy.getDest()));
  });
  return copies;
}

LogicalResult RingBuilder::findReach(Channel &channel,
                                     ArrayRef<CopyOp> copies) {
  for (CopyOp copy : copies) {
    ClusterAxes axes = getMulticastAxes(copy);
    if (axes.empty())
      continue;
    bool known = llvm::all_of(axes, [&](int64_t axis) {
      return axis >= 0 && axis < 3 && cluster.extents[axis] > 1;
    });
    if (!known || !isTmaCopy(copy))
      return copy.emitError("is shared along axes that the cluster does not "
                            "have, or not done by TMA");
    if (!producerRole.getSingle())
      return copy.emitError("is shared with other blocks of the cluster, which "
                            "needs a producer of one thread");
    if (!addReach(channel.reach, axes))
      return copy.emitError("is shared along axes that overlap with those of "
                            "another copy of its ring");
  }
  return success();
}

void RingBuilder::addBarriers(Channel &channel, RingLoop &ring,
                              ArrayRef<CopyOp> copies) {
  Location loc = ring.loop.getLoc();
  OpBuilder builder(roles);
  std::string name;
  for (AllocOp buffer : channel.buffers)
    name += "_" + getUserName(buffer);
  // One thread expects the bytes. Where the producer has many threads, all of
  // them arrive, also when TMA does all copies: a thread that has not seen the
  // slot empty yet keeps it from being filled, used and emptied again, after
  // which its wait for this phase would never return.
  int64_t arrivals = 0;
  if (llvm::any_of(copies, isTmaCopy))
    arrivals += 1;
  if (!producerRole.getSingle())
    arrivals += producerRole.getThreads();
  channel.full =
      createBarriers(builder, loc, "full" + name, ring.slots, arrivals);
  int64_t blocks = getReached(cluster, /*rank=*/0, channel.reach).size();
  channel.empty = createBarriers(builder, loc, "empty" + name, ring.slots,
                                 consumerRole.getWarps() * blocks);
}

Value RingBuilder::getPhase(OpBuilder &builder, RingLoop &ring) {
  return LoadOp::create(
      builder, ring.loop.getLoc(), builder.getI32Type(), ring.ring.getResult(),
      makeIndex(builder, ring.loop.getLoc(), 1), TypedAttr(), BoundsAttr());
}

LogicalResult RingBuilder::produce(Channel &channel, RingLoop &ring) {
  SmallVector<CopyOp> copies = getCopies(channel, ring.loop);
  Block *body = ring.loop.getBody();
  Operation *first = nullptr, *last = nullptr;
  int64_t bytes = 0;
  DenseMap<Operation *, int64_t> bytesOf;
  bool conditional = false, tma = false, threads = false;
  for (CopyOp copy : copies) {
    Operation *sibling = body->findAncestorOpInBlock(*copy);
    if (!first)
      first = sibling;
    last = sibling;
    conditional |= sibling != copy;
    (isTmaCopy(copy) ? tma : threads) = true;
    if (!isTmaCopy(copy))
      continue;
    FailureOr<int64_t> more = getTmaBytes(copy);
    if (failed(more))
      return failure();
    bytesOf[copy] = *more;
    bytes += *more;
  }
  Location loc = ring.loop.getLoc();
  OpBuilder builder(first);
  Value full = channel.full.getResult(), empty = channel.empty.getResult();
  // The wait of one thread, and a barrier, would do for the others; they have
  // to see the slot empty themselves all the same.
  Value one = makeIndex(builder, loc, 1);
  Value parity =
      arith::XOrIOp::create(builder, loc, getPhase(builder, ring), one);
  BarrierWaitOp::create(builder, loc, empty, ring.slot, parity);
  if (tma && !conditional)
    BarrierArriveOp::create(builder, loc, full, ring.slot, ArrivalScope::Single,
                            builder.getI64IntegerAttr(bytes),
                            /*cp_async=*/false);
  builder.setInsertionPointAfter(last);
  if (tma && conditional)
    BarrierArriveOp::create(builder, loc, full, ring.slot, ArrivalScope::Single,
                            IntegerAttr(),
                            /*cp_async=*/false);
  if (!producerRole.getSingle())
    BarrierArriveOp::create(builder, loc, full, ring.slot, ArrivalScope::Thread,
                            IntegerAttr(), /*cp_async=*/threads);
  for (CopyOp copy : copies) {
    if (isTmaCopy(copy) && conditional) {
      OpBuilder atCopy(copy);
      BarrierExpectTxOp::create(atCopy, loc, full, ring.slot,
                                bytesOf.lookup(copy));
    }
    CopyAsyncOp async = isTmaCopy(copy)
                            ? makeAsynchronous(copy, full, ring.slot)
                            : makeAsynchronous(copy);
    async->setAttr(kProduceName, builder.getUnitAttr());
  }
  return success();
}

void RingBuilder::consume(Channel &channel, RingLoop &ring) {
  Location loc = ring.loop.getLoc();
  OpBuilder builder(ring.loop.getContext());
  // Where nothing is used, the slot goes back at once: behind the position.
  Operation *position = ring.slot.getDefiningOp();
  Uses uses = findUses(channel.buffers.front(), ring.loop);
  if (uses.first)
    builder.setInsertionPoint(uses.first);
  else
    builder.setInsertionPointAfter(position);
  BarrierWaitOp::create(builder, loc, channel.full.getResult(), ring.slot,
                        getPhase(builder, ring));
  if (uses.last)
    builder.setInsertionPointAfter(uses.last);
  auto release =
      BarrierArriveOp::create(builder, loc, channel.empty.getResult(),
                              ring.slot, ArrivalScope::Warp, IntegerAttr(),
                              /*cp_async=*/false);
  setReach(release, channel.reach);
}

/// Lets all blocks of the cluster meet; only barriers are used behind it that
/// their initialisation publishes itself, or nothing.
static void meetCluster(OpBuilder &builder, Location loc) {
  ClusterArriveOp::create(builder, loc, /*relaxed=*/true);
  ClusterWaitOp::create(builder, loc);
}

LogicalResult RingBuilder::run() {
  if (failed(pairLoops()))
    return failure();
  if (loops.empty())
    return success();
  bool reachesOthers = false;
  for (auto &[alloc, pair] : loops) {
    RingLoop producing = *getRingLoop(pair.producing);
    SmallVector<Channel> channels = findChannels(pair.consuming.front());
    for (Channel &channel : channels) {
      SmallVector<CopyOp> copies = getCopies(channel, pair.producing);
      if (failed(findReach(channel, copies)))
        return failure();
      reachesOthers |= !channel.reach.empty();
      addBarriers(channel, producing, copies);
      if (failed(produce(channel, producing)))
        return failure();
      for (scf::ForOp loop : pair.consuming) {
        RingLoop consuming = *getRingLoop(loop);
        consume(channel, consuming);
      }
    }
  }
  // No role may use a barrier before it is initialised.
  OpBuilder builder(roles);
  if (!reachesOthers) {
    SyncThreadsOp::create(builder, roles.getLoc(), IntegerAttr(),
                          IntegerAttr());
    return success();
  }
  meetCluster(builder, roles.getLoc());
  // No block may leave while others fill its slots or arrive at its barriers.
  OpBuilder atEnd = OpBuilder::atBlockEnd(kernel.getBodyBlock());
  meetCluster(atEnd, roles.getLoc());
  return success();
}

LogicalResult mlir::tile::insertRingBarriers(KernelOp kernel) {
  for (auto roles : llvm::make_early_inc_range(
           kernel.getBodyBlock()->getOps<WarpSpecializeOp>()))
    if (failed(RingBuilder(kernel, roles).run()))
      return failure();
  return success();
}
