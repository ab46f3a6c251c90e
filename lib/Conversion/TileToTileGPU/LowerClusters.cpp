//===- LowerClusters.cpp - Blocks that work together ------------*- C++ -*-===//
//
// Where a block stands in its cluster, and arrivals at barriers of others: one
// lane of a warp for each block. All of it is computed where the role begins:
// in front of a loop that may not run, it would part the zeros that its
// accumulators begin with from the loop, and the assembler would put the
// products one behind the other (C7515).
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

namespace {
/// Emits where the code of a role begins.
class ClusterPlace {
public:
  ClusterPlace(tile::KernelOp kernel, Operation *entry, Location loc)
      : cluster(kernel), at(kernel.getContext()), loc(loc) {
    at.builder().setInsertionPoint(entry);
    at.setLocation(loc);
  }

  /// Coordinate of the block along `axis`; null when it is 0.
  Value getCoordinate(int64_t axis) {
    if (cluster.extents[axis] == 1)
      return Value();
    if (!ownRank)
      ownRank = tile_gpu::ClusterRankOp::create(at.builder(), loc,
                                                at.builder().getI32Type());
    int64_t stride = cluster.getStride(axis);
    Value coordinate = at.divide(ownRank, stride);
    // The slowest axis needs no remainder.
    if (stride * cluster.extents[axis] < cluster.getBlocks())
      coordinate = at.remainder(coordinate, cluster.extents[axis]);
    return coordinate;
  }

  /// Number of the block among those that differ along `axes`, x fastest.
  Value getNumber(ArrayRef<int64_t> axes) {
    Value number;
    int64_t stride = 1;
    for (int64_t axis : axes) {
      number = at.add(number, at.mul(getCoordinate(axis), stride));
      stride *= cluster.extents[axis];
    }
    return orZero(number);
  }

  /// i16 with a bit for the rank of each of these blocks.
  Value getMask(ArrayRef<int64_t> axes) {
    int64_t bits = 0;
    for (int64_t rank : cluster.getGroup(0, axes))
      bits |= int64_t(1) << rank;
    // Of the other axes, the own coordinates.
    Value shift;
    for (int64_t axis = 0; axis < 3; ++axis)
      if (!llvm::is_contained(axes, axis))
        shift =
            at.add(shift, at.mul(getCoordinate(axis), cluster.getStride(axis)));
    OpBuilder &b = at.builder();
    Value mask = at.i32(bits);
    if (shift)
      mask = arith::ShLIOp::create(b, loc, mask, shift);
    return arith::TruncIOp::create(b, loc, b.getIntegerType(16), mask);
  }

  /// The block at whose barrier a lane arrives, and whether there is one.
  /// Lanes are numbered through the sets of `reach`. The first set comes with
  /// the own block; of the others the own block is left out: from its number
  /// on, the next one is taken.
  std::pair<Value, Value> getReached(Value threadId,
                                     ArrayRef<tile::ClusterAxes> reach) {
    OpBuilder &b = at.builder();
    Value lane = at.remainder(threadId, 32), rank;
    int64_t blocks = 0;
    for (const tile::ClusterAxes &axes : reach) {
      Value number = orZero(at.sub(lane, blocks ? at.i32(blocks) : Value()));
      if (blocks) {
        Value passed = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                             number, getNumber(axes));
        number = at.add(number,
                        arith::ExtUIOp::create(b, loc, b.getI32Type(), passed));
      }
      Value member = getMember(axes, number);
      if (blocks) {
        member = arith::SelectOp::create(
            b, loc, at.lessUnsigned(lane, at.i32(blocks)), rank, member);
        --blocks;
      }
      rank = orZero(member);
      blocks += cluster.getBlocks(axes);
    }
    Value arrives = at.lessUnsigned(lane, at.i32(blocks));
    // Other lanes have no block, but map an address all the same.
    rank = arith::SelectOp::create(b, loc, arrives, rank, at.i32(0));
    return {rank, arrives};
  }

private:
  Value orZero(Value value) { return value ? value : at.i32(0); }

  /// Rank of the block with `number` among those that differ along `axes`.
  Value getMember(ArrayRef<int64_t> axes, Value number) {
    Value member;
    int64_t stride = 1, members = cluster.getBlocks(axes);
    for (int64_t axis = 0; axis < 3; ++axis) {
      Value coordinate;
      if (llvm::is_contained(axes, axis)) {
        coordinate = at.divide(number, stride);
        stride *= cluster.extents[axis];
        if (stride < members)
          coordinate = at.remainder(coordinate, cluster.extents[axis]);
      } else {
        coordinate = getCoordinate(axis);
      }
      member = at.add(member, at.mul(coordinate, cluster.getStride(axis)));
    }
    return orZero(member);
  }

  tile::ClusterShape cluster;
  IndexBuilder at;
  Location loc;
  Value ownRank;
};
} // namespace

std::pair<Value, Value> KernelLowering::multicastPart(ArrayRef<int64_t> axes) {
  ClusterPlace place(kernel, entry, ix.loc());
  Value number = place.getNumber(axes);
  return {number, place.getMask(axes)};
}

void KernelLowering::arriveInCluster(tile::BarrierArriveOp arrive,
                                     Value barrier) {
  auto [place, isNew] = once.reach.try_emplace(arrive->getAttr(tile::kReach));
  if (isNew) {
    Value thread = threadId();
    place->second = ClusterPlace(kernel, entry, ix.loc())
                        .getReached(thread, tile::getReach(arrive));
  }
  auto [rank, arrives] = place->second;
  tile_gpu::WarpSyncOp::create(b, ix.loc());
  tile_gpu::MbarrierArriveClusterOp::create(b, ix.loc(), barrier, rank,
                                            arrives);
}
