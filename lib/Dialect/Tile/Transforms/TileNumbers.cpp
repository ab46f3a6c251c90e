//===- TileNumbers.cpp - fetched tiles for all threads ----------*- C++ -*-===//
//
// In a kernel with roles the producer fetches tiles: it works on the next one
// first. It leaves each number in one of two slots, and the consumers take it
// over behind their last use of the tile before; an mbarrier says that a slot
// is full, another one that all warps have read it. With two slots the producer
// may be a whole tile ahead.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

/// The arithmetic of positions below knows that there are two.
static constexpr int64_t kSlots = 2;

namespace {
/// The way of the numbers of one counter from the producer to the consumers.
struct NumberChannel {
  AllocOp numbers, full, empty, position;
};
} // namespace

static AllocOp allocateNumbers(OpBuilder &builder, Location loc, StringRef name,
                               int64_t elements, MemorySpace space) {
  MLIRContext *context = builder.getContext();
  Attribute layout;
  if (space == MemorySpace::Shared)
    layout = SharedLayoutAttr::get(context, {0}, /*panel=*/elements,
                                   /*swizzle=*/0);
  auto type =
      BufferType::get(context, {elements}, builder.getI32Type(), space, layout);
  return AllocOp::create(builder, loc, type, builder.getStringAttr(name));
}

/// Barriers are initialised where those of the rings are.
static NumberChannel createChannel(KernelOp kernel, WarpSpecializeOp roles,
                                   int64_t consumerWarps) {
  Location loc = roles.getLoc();
  OpBuilder builder(roles);
  auto meeting = dyn_cast_or_null<SyncThreadsOp>(roles->getPrevNode());
  if (meeting)
    builder.setInsertionPoint(meeting);
  NumberChannel channel;
  channel.numbers = allocateNumbers(builder, loc, "tile_numbers", kSlots,
                                    MemorySpace::Shared);
  channel.numbers->setAttr("tile.slots", builder.getI64IntegerAttr(kSlots));
  channel.position =
      allocateNumbers(builder, loc, "tile_position", 2, MemorySpace::Local);
  channel.full =
      createBarriers(builder, loc, "full_tile", kSlots, /*arrivals=*/1);
  channel.empty =
      createBarriers(builder, loc, "empty_tile", kSlots, consumerWarps);
  if (!meeting)
    SyncThreadsOp::create(builder, loc, IntegerAttr(), IntegerAttr());
  return channel;
}

static Value loadPosition(OpBuilder &b, Location loc, AllocOp position,
                          int64_t part) {
  return LoadOp::create(b, loc, b.getI32Type(), position.getResult(),
                        makeIndex(b, loc, part), TypedAttr(), BoundsAttr());
}

static void storePosition(OpBuilder &b, Location loc, AllocOp position,
                          int64_t part, Value value) {
  StoreOp::create(b, loc, value, position.getResult(), makeIndex(b, loc, part),
                  BoundsAttr());
}

/// The first position of a role.
static void startPosition(Region &role, Location loc, AllocOp position) {
  OpBuilder b = OpBuilder::atBlockBegin(&role.front());
  Value zero = makeIndex(b, loc, 0);
  for (int64_t part : {0, 1})
    storePosition(b, loc, position, part, zero);
}

/// Puts the protocol of a role around `share`.
static void connectRole(ShareTileOp share, NumberChannel channel,
                        bool produces) {
  OpBuilder b(share);
  Location loc = share.getLoc();
  Value slot = loadPosition(b, loc, channel.position, 0);
  Value phase = loadPosition(b, loc, channel.position, 1);
  if (produces) {
    Value parity = arith::XOrIOp::create(b, loc, phase, makeIndex(b, loc, 1));
    BarrierWaitOp::create(b, loc, channel.empty.getResult(), slot, parity);
  } else {
    BarrierWaitOp::create(b, loc, channel.full.getResult(), slot, phase);
    auto fetch = share.getFetched().getDefiningOp<FetchTileOp>();
    share.getFetchedMutable().clear();
    if (fetch && fetch->use_empty())
      fetch.erase();
  }
  share.getNumbersMutable().assign(channel.numbers.getResult());
  share.getSlotMutable().assign(slot);
  b.setInsertionPointAfter(share);
  BarrierArriveOp::create(
      b, loc, produces ? channel.full.getResult() : channel.empty.getResult(),
      slot, produces ? ArrivalScope::Single : ArrivalScope::Warp, IntegerAttr(),
      /*cp_async=*/false);
  // Without a comparison: ptxas then keeps the position in uniform registers.
  Value flipped = arith::XOrIOp::create(b, loc, phase, slot);
  Value next = arith::XOrIOp::create(b, loc, slot, makeIndex(b, loc, 1));
  storePosition(b, loc, channel.position, 0, next);
  storePosition(b, loc, channel.position, 1, flipped);
}

LogicalResult mlir::tile::insertTileNumbers(KernelOp kernel) {
  llvm::MapVector<Value, SmallVector<ShareTileOp>> shares;
  kernel.walk([&](ShareTileOp share) {
    if (!share.getNumbers())
      shares[share.getCounter()].push_back(share);
  });
  if (shares.empty())
    return success();
  WarpSpecializeOp roles;
  for (auto split : kernel.getBodyBlock()->getOps<WarpSpecializeOp>())
    if (llvm::any_of(shares.front().second, [&](ShareTileOp share) {
          return split->isAncestor(share);
        }))
      roles = split;
  if (!roles) {
    for (auto &[counter, list] : shares) {
      OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBodyBlock());
      AllocOp numbers = allocateNumbers(builder, kernel.getLoc(), "tile_number",
                                        1, MemorySpace::Shared);
      for (ShareTileOp share : list)
        share.getNumbersMutable().assign(numbers.getResult());
    }
    return success();
  }
  int64_t consumerWarps = 0;
  for (Attribute role : roles.getRoles())
    if (cast<RoleAttr>(role).getKind() == RoleKind::Consumer)
      consumerWarps += cast<RoleAttr>(role).getWarps();
  for (auto &[counter, list] : shares) {
    NumberChannel channel = createChannel(kernel, roles, consumerWarps);
    for (ShareTileOp share : list) {
      RoleAttr role = getRole(share);
      bool produces = role && role.getKind() == RoleKind::Producer;
      if (!role || role.getKind() == RoleKind::User)
        return share.emitError("tiles from a counter need roles that the "
                               "compiler has made");
      if (produces && !role.getSingle())
        return share.emitError("tiles are fetched by a producer of one thread");
      connectRole(share, channel, produces);
    }
    for (Region &role : roles.getRegions())
      startPosition(role, roles.getLoc(), channel.position);
  }
  return success();
}
