//===- PingPong.cpp - tile-ping-pong ----------------------------*- C++ -*-===//
//
// Two consumer warp groups take turns on the tiles of a persistent kernel: one
// multiplies while the other one stores.
//
// Both run the program of the consumers, each with buffers of its own. In the
// iterations that belong to the other group, only what moves the position in
// the rings is left. A group must not wait for slots of its tile before the
// other one has seen all slots of the tile before: a wait knows the parity of a
// phase only, and would take an older one for the right one. So the turn is
// handed over by an mbarrier, when the last slot has been waited for.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Dialect/Tile/Transforms/ProgramSlice.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPINGPONG
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
class PingPong {
public:
  PingPong(KernelOp kernel, WarpSpecializeOp roles, scf::ForOp tiles)
      : kernel(kernel), roles(roles), tiles(tiles) {}

  /// Why the groups cannot take turns; empty if they can.
  std::string analyse();
  void run();

private:
  std::string whyNotAround();
  std::string whyNotTensors();
  std::string whyNotBuffers();
  void findRings();
  void takeTurns(Region &region, int64_t group, AllocOp turn, AllocOp barriers);
  IRMapping makePrivateBuffers();

  KernelOp kernel;
  WarpSpecializeOp roles;
  scf::ForOp tiles;
  /// Accesses of the consumers in an iteration.
  SmallVector<BufferAccess> accesses;
  /// Stores of positions in rings in an iteration.
  SmallVector<Operation *> positions;
  /// Variables that say where in the rings an iteration is.
  llvm::DenseSet<Value> positionVariables;
};
} // namespace

static bool isRing(Value buffer) {
  auto alloc = buffer.getDefiningOp<AllocOp>();
  return alloc && alloc->hasAttr(kRing);
}

void PingPong::findRings() {
  tiles.getBody()->walk([&](StoreOp store) {
    if (isRing(getStorageRoot(store.getDest())))
      positions.push_back(store);
  });
  ProgramSlice slice(tiles.getRegion(), positions);
  positionVariables.insert_range(slice.getVariables());
}

/// The consumers do nothing but the loop: all else would be done twice.
std::string PingPong::whyNotAround() {
  for (Operation &op : *tiles->getBlock()) {
    if (&op == tiles || isa<AllocOp>(op) || isMemoryEffectFree(&op))
      continue;
    auto store = dyn_cast<StoreOp>(op);
    if (store && isRing(getStorageRoot(store.getDest())))
      continue;
    return describeForUser(&op) + " is outside of the loop over tiles";
  }
  return "";
}

/// Tiles do not hand anything on in global memory.
std::string PingPong::whyNotTensors() {
  SmallVector<BufferAccess> all;
  collectNestedAccesses(roles, all);
  for (const BufferAccess &write : all) {
    if (isa<BufferType>(write.root.getType()) || !write.isWrite)
      continue;
    if (write.isAtomic) {
      if (!write.op->use_empty() || write.op->getNumRegions() != 0)
        return describeForUser(write.op) +
               " is atomic, and its result may depend on the order of tiles";
      continue;
    }
    for (const BufferAccess &read : all)
      if (read.root == write.root && !read.isWrite)
        return describeForUser(read.op) + " reads a tensor that " +
               describeForUser(write.op) + " writes";
  }
  return "";
}

/// Tiles do not hand anything on in buffers: what an iteration reads was
/// written before in the same one.
std::string PingPong::whyNotBuffers() {
  for (const BufferAccess &read : accesses) {
    auto type = dyn_cast<BufferType>(read.root.getType());
    if (!type || (read.isWrite && !read.isAtomic) || read.isScratch ||
        positionVariables.contains(read.root) || isRing(read.root))
      continue;
    // A slot of a ring, filled by the producer.
    Operation *alloc = read.root.getDefiningOp();
    if (alloc && alloc->hasAttr("tile.slots"))
      continue;
    bool isWritten = llvm::any_of(accesses, [&](const BufferAccess &write) {
      return write.root == read.root && write.isWrite;
    });
    if (!isWritten && type.isLocal())
      continue;
    if (!isWrittenBefore(read, accesses, tiles))
      return describeForUser(read.op) + " may read what an earlier tile left";
  }
  return "";
}

std::string PingPong::analyse() {
  if (kernel.getThreads() != 128)
    return "each of two warp groups has a tile of its own, so that "
           "T.Kernel(threads=128) is needed, not " +
           std::to_string(kernel.getThreads());
  if (tiles.getNumResults() != 0)
    return "the loop over tiles carries values";
  if (std::string why = whyNotAround(); !why.empty())
    return why;
  findRings();
  if (positions.empty())
    return "no loop inside of it loads by a producer";
  collectNestedAccesses(tiles, accesses);
  if (std::string why = whyNotTensors(); !why.empty())
    return why;
  return whyNotBuffers();
}

/// The other group has buffers of its own for what the consumers alone use.
IRMapping PingPong::makePrivateBuffers() {
  IRMapping mapping;
  Region &consumer = roles.getRegions()[1];
  for (auto alloc :
       llvm::make_early_inc_range(kernel.getBodyBlock()->getOps<AllocOp>())) {
    if (alloc.getType().isLocal())
      continue;
    SmallVector<Operation *> users = getHandleUsers(alloc.getResult());
    bool isPrivate = !users.empty() && llvm::all_of(users, [&](Operation *op) {
      return consumer.isAncestor(op->getParentRegion());
    });
    if (!isPrivate)
      continue;
    OpBuilder builder(alloc->getContext());
    builder.setInsertionPointAfter(alloc);
    mapping.map(alloc.getResult(), builder.clone(*alloc)->getResult(0));
  }
  return mapping;
}

static Value loadTurn(OpBuilder &builder, Location loc, AllocOp variable) {
  return LoadOp::create(builder, loc, builder.getI32Type(),
                        variable.getResult(), makeIndex(builder, loc, 0),
                        TypedAttr(), BoundsAttr());
}

static void storeTurn(OpBuilder &builder, Location loc, AllocOp variable,
                      Value value) {
  StoreOp::create(builder, loc, value, variable.getResult(),
                  makeIndex(builder, loc, 0), BoundsAttr());
}

/// Moves the body of the loop over tiles in `region` under the condition that
/// it is the turn of `group`. `turn` holds whose turn it is, and the parity of
/// the phase in which this group gets its next one.
void PingPong::takeTurns(Region &region, int64_t group, AllocOp turn,
                         AllocOp barriers) {
  scf::ForOp loop;
  for (auto candidate : region.getOps<scf::ForOp>())
    if (candidate->hasAttr(kPingPong))
      loop = candidate;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Value zero = makeIndex(builder, loc, 0), one = makeIndex(builder, loc, 1);
  Value mine = group == 0 ? zero : one;
  auto parity = AllocOp::create(builder, loc, turn.getType(),
                                builder.getStringAttr("turn_parity"));
  parity->moveAfter(turn);
  storeTurn(builder, loc, turn, zero);
  // The first group has its first turn at once: a fresh barrier counts as
  // having completed a phase with parity 1.
  storeTurn(builder, loc, parity, group == 0 ? one : zero);

  Block *body = loop.getBody();
  Operation *first = &body->front();
  builder.setInsertionPoint(first);
  Value whose = loadTurn(builder, loc, turn);
  Value isMine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       whose, mine);
  storeTurn(builder, loc, turn,
            arith::XOrIOp::create(builder, loc, whose, one));
  auto branch =
      scf::IfOp::create(builder, loc, isMine, /*withElseRegion=*/true);
  branch->setAttr(kTurn, builder.getUnitAttr());
  Block *own = branch.thenBlock(), *other = branch.elseBlock();

  // What is left of the other group's tiles.
  SmallVector<Operation *> positionsHere;
  loop.walk([&](StoreOp store) {
    if (isRing(getStorageRoot(store.getDest())))
      positionsHere.push_back(store);
  });
  ProgramSlice slice(loop.getRegion(), positionsHere);
  SmallVector<Operation *> program;
  for (Operation *op = first; op != body->getTerminator();
       op = op->getNextNode())
    if (op != branch)
      program.push_back(op);
  IRMapping mapping;
  builder.setInsertionPointToStart(other);
  for (Operation *op : program)
    builder.clone(*op, mapping);
  llvm::DenseSet<Operation *> kept;
  for (Operation *op : program)
    op->walk([&](Operation *inner) {
      if (slice.contains(inner))
        kept.insert(mapping.lookup(inner));
    });
  pruneTo(*other, [&](Operation *op) { return kept.contains(op); });
  eraseDead(*other);
  other->walk([&](scf::ForOp ring) {
    ring->removeAttr(kPipelineName);
    ring->removeAttr("tile.loop_choice");
  });

  // The own tiles, with the turn around everything that uses the rings.
  Operation *firstRing = nullptr, *lastRing = nullptr;
  for (Operation *op : program) {
    op->moveBefore(own->getTerminator());
    bool usesRing = llvm::any_of(positionsHere, [&](Operation *position) {
      return op->isAncestor(position);
    });
    if (!usesRing)
      continue;
    if (!firstRing)
      firstRing = op;
    lastRing = op;
  }
  builder.setInsertionPoint(firstRing);
  Value phase = loadTurn(builder, loc, parity);
  BarrierWaitOp::create(builder, loc, barriers.getResult(), mine, phase);
  storeTurn(builder, loc, parity,
            arith::XOrIOp::create(builder, loc, phase, one));
  builder.setInsertionPointAfter(lastRing);
  auto handOver = BarrierArriveOp::create(
      builder, loc, barriers.getResult(), group == 0 ? one : zero,
      ArrivalScope::Warp, IntegerAttr(), /*cp_async=*/false);
  handOver->setAttr(kHandOver, builder.getUnitAttr());
}

void PingPong::run() {
  Location loc = roles.getLoc();
  OpBuilder builder(roles);
  RoleAttr producer = roles.getRole(0), consumer = roles.getRole(1);
  SmallVector<RoleAttr> chosen =
      getAutomaticRoles(kernel, /*groups=*/2, producer.getSingle());
  int64_t registers = chosen[1].getRegisters();
  auto consumerRole = [&](int64_t first) {
    return RoleAttr::get(loc.getContext(), RoleKind::Consumer, first,
                         consumer.getWarps(), registers, /*single=*/false);
  };
  SmallVector<Attribute> attributes = {
      chosen[0], consumerRole(consumer.getFirst()),
      consumerRole(consumer.getFirst() + consumer.getWarps())};

  auto type = BufferType::get(ArrayRef<int64_t>{1}, builder.getI32Type(),
                              MemorySpace::Local);
  auto turn =
      AllocOp::create(builder, loc, type, builder.getStringAttr("turn"));
  AllocOp barriers = createBarriers(builder, loc, "turns", /*slots=*/2,
                                    /*arrivals=*/consumer.getWarps());

  auto split =
      WarpSpecializeOp::create(builder, loc, builder.getArrayAttr(attributes),
                               ChoiceAttr(), attributes.size());
  IRMapping mapping = makePrivateBuffers();
  roles.getRegions()[1].cloneInto(&split.getRegions()[2], mapping);
  for (unsigned index : {0, 1})
    split.getRegions()[index].takeBody(roles.getRegions()[index]);
  roles.erase();
  for (int64_t group : {0, 1})
    takeTurns(split.getRegions()[group + 1], group, turn, barriers);
}

/// Appends to the reasons of the loops inside of `loop`.
static void explain(scf::ForOp loop, const Twine &text) {
  loop->walk([&](scf::ForOp inner) {
    auto choice = inner->getAttrOfType<ChoiceAttr>("tile.loop_choice");
    if (choice)
      inner->setAttr("tile.loop_choice",
                     ChoiceAttr::get(choice.getContext(), choice.getPath(),
                                     (choice.getReason() + "; " + text).str(),
                                     choice.getArguments()));
  });
}

static void applyToKernel(KernelOp kernel) {
  SmallVector<scf::ForOp> marked;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(kPingPong))
      marked.push_back(loop);
  });
  if (marked.empty())
    return;
  WarpSpecializeOp roles;
  for (auto op : kernel.getBodyBlock()->getOps<WarpSpecializeOp>())
    if (op.getRoles().size() == 2 &&
        op.getRole(1).getKind() == RoleKind::Consumer)
      roles = op;
  scf::ForOp tiles;
  for (scf::ForOp loop : marked)
    if (roles && loop->getParentRegion() == &roles.getRegions()[1])
      tiles = loop;
  std::string why;
  if (!roles)
    why = "there is no producer role";
  else if (!tiles)
    why = "the loop over tiles is inside of another loop or a condition";
  PingPong pingPong(kernel, roles, tiles);
  if (why.empty())
    why = pingPong.analyse();
  if (why.empty())
    why = whyNotRegisters(
        kernel,
        getAutomaticRoles(kernel, /*groups=*/2, roles.getRole(0).getSingle()));
  for (scf::ForOp loop : marked)
    explain(loop, why.empty() ? "two warp groups take turns on the tiles"
                              : "no ping-pong: " + why);
  if (why.empty())
    return pingPong.run();
  for (scf::ForOp loop : marked)
    loop->removeAttr(kPingPong);
}

namespace {
class TilePingPongPass
    : public mlir::tile::impl::TilePingPongBase<TilePingPongPass> {
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) { applyToKernel(kernel); });
  }
};
} // namespace
