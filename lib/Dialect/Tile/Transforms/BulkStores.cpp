//===- BulkStores.cpp - waiting for stores by TMA ---------------*- C++ -*-===//
//
// For each store and each operation that must not run before it is done, the
// wait goes in front of the latter, in the innermost block that both are in (so
// that a loop which only holds the other operation waits once, in front).
// Stores complete in groups; the thread that starts them commits and waits: one
// of the block, or one of each warp. The latter's groups are counted apart,
// since in other warps than the first there are no others.
//
//===----------------------------------------------------------------------===//
#include "AsyncProxy.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::isBulkStore(Operation *op) {
  auto copy = dyn_cast<CopyAsyncOp>(op);
  return copy && isa<MemRefType>(copy.getDest().getType());
}

bool mlir::tile::sharesMemory(AllocOp lhs, AllocOp rhs) {
  if (lhs == rhs)
    return true;
  auto left = lhs->getAttrOfType<IntegerAttr>("tile.shared_offset");
  auto right = rhs->getAttrOfType<IntegerAttr>("tile.shared_offset");
  if (!left || !right)
    return false;
  int64_t leftEnd = left.getInt() + getSharedBytes(lhs.getType());
  int64_t rightEnd = right.getInt() + getSharedBytes(rhs.getType());
  return left.getInt() < rightEnd && right.getInt() < leftEnd;
}

namespace {
class BulkStoreWaits {
public:
  explicit BulkStoreWaits(KernelOp kernel) : kernel(kernel) {
    kernel.walk([&](Operation *op) {
      if (isBulkStore(op))
        stores.push_back(cast<CopyAsyncOp>(op));
    });
  }

  void run() {
    if (stores.empty())
      return;
    commit();
    SmallVector<BufferAccess> all;
    collectNestedAccesses(kernel, all);
    for (CopyAsyncOp store : stores) {
      AllocOp source = getAllocation(store.getSource());
      for (const BufferAccess &access : all) {
        auto alloc = access.root.getDefiningOp<AllocOp>();
        if (access.isWrite && alloc && alloc.getType().isShared() &&
            sharesMemory(source, alloc)) {
          order(store, access.op, /*read=*/true);
          orderRelease(store, access.op);
        }
      }
      orderIterations(store);
    }
    insertWaits();
  }

private:
  /// A wait in front of an operation.
  struct Wait {
    int64_t pending;
    bool read;
  };

  /// Another role overwrites a slot when it has been released, which then comes
  /// after stores from it. `write` is that of the other role.
  void orderRelease(CopyAsyncOp store, Operation *write) {
    auto roles = store->getParentOfType<WarpSpecializeOp>();
    if (!roles || !roles->isProperAncestor(write))
      return;
    Region *mine = store->getParentRegion(), *other = write->getParentRegion();
    while (mine->getParentOp() != roles)
      mine = mine->getParentRegion();
    while (other->getParentOp() != roles)
      other = other->getParentRegion();
    if (mine == other)
      return;
    AllocOp gate;
    for (Operation *op = write; op != roles && !gate; op = op->getParentOp())
      for (Operation *before = op->getPrevNode(); before && !gate;
           before = before->getPrevNode())
        if (auto wait = dyn_cast<BarrierWaitOp>(before))
          gate = getAllocation(wait.getBarriers());
    if (!gate)
      return;
    mine->walk([&](BarrierArriveOp arrive) {
      if (getAllocation(arrive.getBarriers()) == gate)
        order(store, arrive, /*read=*/true);
    });
  }

  /// Stores of one place by different iterations are not ordered. Those of one
  /// iteration lie apart, or they would not be done by TMA; so the first of an
  /// iteration waits for all of the one before.
  void orderIterations(CopyAsyncOp store) {
    Operation *around = nullptr;
    for (Operation *loop = store->getParentOp(); loop != kernel;
         loop = loop->getParentOp())
      if (isLoop(loop) && !staysApart(store, store.getDest(), loop))
        around = loop;
    if (!around)
      return;
    Operation *first = nullptr;
    for (CopyAsyncOp other : stores) {
      if (getStorageRoot(other.getDest()) != getStorageRoot(store.getDest()) ||
          !around->isProperAncestor(other))
        continue;
      if (!first)
        first = other;
      if (other->getBlock() != first->getBlock())
        addWait(other, {0, /*read=*/false}, isPerWarp(store));
    }
    order(store, first, /*read=*/false);
  }

  /// Stores that follow each other form one group.
  void commit() {
    for (CopyAsyncOp store : stores) {
      Operation *next = store->getNextNode();
      while (next && isa<SubviewOp, ReshapeOp, BitcastOp>(next))
        next = next->getNextNode();
      // The program may have closed the group itself.
      if (next && ((isBulkStore(next) && isPerWarp(next) == isPerWarp(store)) ||
                   isa<BulkCommitOp>(next)))
        continue;
      OpBuilder builder(store->getContext());
      builder.setInsertionPointAfter(store);
      mark(BulkCommitOp::create(builder, store.getLoc()), isPerWarp(store));
    }
  }

  static void mark(Operation *op, bool perWarp) {
    if (perWarp)
      op->setAttr(kPerWarp, UnitAttr::get(op->getContext()));
  }

  /// Groups that are certainly committed from `from` (a store, or an operation
  /// around it) to `to` in the same block, without the store's own. `to` may be
  /// reached in the next iteration only.
  static int64_t countGroups(Operation *from, Operation *to, bool perWarp) {
    int64_t groups = 0;
    auto count = [&](Operation *first, Operation *last) {
      for (Operation *op = first; op && op != last; op = op->getNextNode())
        groups += isa<BulkCommitOp>(op) && isPerWarp(op) == perWarp;
    };
    if (from->isBeforeInBlock(to)) {
      count(from, to);
    } else {
      count(from, nullptr);
      count(&from->getBlock()->front(), to);
    }
    return std::max<int64_t>(0, groups - isBulkStore(from));
  }

  /// Makes `later` wait for `store` if it may run after it.
  void order(Operation *store, Operation *later, bool read) {
    Block *block = store->getBlock();
    while (!block->getParent()->isAncestor(later->getParentRegion()))
      block = block->getParentOp()->getBlock();
    Operation *from = block->findAncestorOpInBlock(*store);
    Operation *to = block->findAncestorOpInBlock(*later);
    bool inOrder = from->isBeforeInBlock(to);
    bool perWarp = isPerWarp(store);
    if (!inOrder) {
      // Only in a later iteration.
      Operation *parent = getLoopAround(from);
      if (!parent)
        return;
      // Under a condition the barrier that tells the other threads goes in
      // front of the branch, and the wait has to come before it.
      if (parent != block->getParentOp()) {
        while (to->getParentOp() != parent)
          to = to->getParentOp();
        return addWait(to, {0, read}, perWarp);
      }
    }
    // One wait between the two is enough.
    for (auto &[key, wait] : waits) {
      auto [place, ofWarps] = key;
      if (place->getBlock() == block && (ofWarps != 0) == perWarp &&
          (!wait.read || read) && (place == to || place->isBeforeInBlock(to)) &&
          (!inOrder || from->isBeforeInBlock(place)) &&
          wait.pending <= countGroups(from, place, perWarp))
        return;
    }
    addWait(to, {countGroups(from, to, perWarp), read}, perWarp);
  }

  void addWait(Operation *place, Wait wait, bool perWarp) {
    auto [entry, inserted] = waits.insert({{place, perWarp ? 1 : 0}, wait});
    if (inserted)
      return;
    entry->second.pending = std::min(entry->second.pending, wait.pending);
    entry->second.read &= wait.read;
  }

  void insertWaits() {
    for (auto &[key, wait] : waits) {
      auto [place, ofWarps] = key;
      OpBuilder builder(place);
      mark(
          BulkWaitOp::create(builder, place->getLoc(), wait.pending, wait.read),
          ofWarps != 0);
    }
    // Shared memory must outlive the stores. The thread that stores for the
    // block is one of those that store for their warps.
    llvm::MapVector<Block *, bool> ends;
    for (CopyAsyncOp store : stores) {
      Region *region = store->getParentRegion();
      while (!isa<KernelOp, WarpSpecializeOp>(region->getParentOp()))
        region = region->getParentOp()->getParentRegion();
      ends[&region->front()] |= isPerWarp(store);
    }
    for (auto [block, perWarp] : ends) {
      OpBuilder builder = OpBuilder::atBlockEnd(block);
      mark(BulkWaitOp::create(builder, stores.front().getLoc(), /*pending=*/0,
                              /*read=*/true),
           perWarp);
    }
  }

  KernelOp kernel;
  SmallVector<CopyAsyncOp> stores;
  /// By place, and whether each warp waits for its own stores.
  llvm::MapVector<std::pair<Operation *, int>, Wait> waits;
};
} // namespace

void mlir::tile::waitForBulkStores(KernelOp kernel) {
  BulkStoreWaits(kernel).run();
}

void mlir::tile::syncWarps(KernelOp kernel) {
  kernel.walk([](Operation *op) {
    if (!isPerWarp(op))
      return;
    OpBuilder builder(op);
    // What the other lanes wrote, before the store; one barrier for stores that
    // follow each other.
    if (isBulkStore(op)) {
      Operation *before = op->getPrevNode();
      while (before && isPure(before))
        before = before->getPrevNode();
      bool together = before && isBulkStore(before) && isPerWarp(before);
      if (!together && !isa_and_nonnull<WarpSyncOp>(before))
        WarpSyncOp::create(builder, op->getLoc());
    }
    // The other lanes write again when one has waited.
    if (isa<BulkWaitOp>(op) && op->getNextNode()) {
      builder.setInsertionPointAfter(op);
      WarpSyncOp::create(builder, op->getLoc());
    }
  });
}
