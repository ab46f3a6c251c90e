//===- BulkStores.cpp - waiting for stores by TMA ---------------*- C++ -*-===//
//
// For each store and each operation that must not run before it is done, the
// wait goes in front of the latter, in the innermost block that both are in (so
// that a loop which only holds the other operation waits once, in front).
// Stores complete in groups; the thread that starts them commits and waits.
//
//===----------------------------------------------------------------------===//
#include "AsyncProxy.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

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
            sharesMemory(source, alloc))
          order(store, access.op, /*read=*/true);
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
        addWait(other, {0, /*read=*/false});
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
      if (next && (isBulkStore(next) || isa<BulkCommitOp>(next)))
        continue;
      OpBuilder builder(store->getContext());
      builder.setInsertionPointAfter(store);
      BulkCommitOp::create(builder, store.getLoc());
    }
  }

  /// Groups that are certainly committed from `from` (a store, or an operation
  /// around it) to `to` in the same block, without the store's own. `to` may be
  /// reached in the next iteration only.
  static int64_t countGroups(Operation *from, Operation *to) {
    int64_t groups = 0;
    auto count = [&](Operation *first, Operation *last) {
      for (Operation *op = first; op && op != last; op = op->getNextNode())
        groups += isa<BulkCommitOp>(op);
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
    if (!inOrder) {
      // Only in a later iteration.
      Operation *parent = block->getParentOp();
      while (parent != kernel && !isLoop(parent))
        parent = parent->getParentOp();
      if (parent == kernel)
        return;
      // Under a condition the barrier that tells the other threads goes in
      // front of the branch, and the wait has to come before it.
      if (parent != block->getParentOp()) {
        while (to->getParentOp() != parent)
          to = to->getParentOp();
        return addWait(to, {0, read});
      }
    }
    // One wait between the two is enough.
    for (auto &[place, wait] : waits)
      if (place->getBlock() == block && (!wait.read || read) &&
          (place == to || place->isBeforeInBlock(to)) &&
          (!inOrder || from->isBeforeInBlock(place)) &&
          wait.pending <= countGroups(from, place))
        return;
    addWait(to, {countGroups(from, to), read});
  }

  void addWait(Operation *place, Wait wait) {
    auto [entry, inserted] = waits.insert({place, wait});
    if (inserted)
      return;
    entry->second.pending = std::min(entry->second.pending, wait.pending);
    entry->second.read &= wait.read;
  }

  void insertWaits() {
    for (auto &[place, wait] : waits) {
      OpBuilder builder(place);
      BulkWaitOp::create(builder, place->getLoc(), wait.pending, wait.read);
    }
    // Shared memory must outlive the stores.
    llvm::SetVector<Block *> ends;
    for (CopyAsyncOp store : stores) {
      Region *region = store->getParentRegion();
      while (!isa<KernelOp, WarpSpecializeOp>(region->getParentOp()))
        region = region->getParentOp()->getParentRegion();
      ends.insert(&region->front());
    }
    for (Block *block : ends) {
      OpBuilder builder = OpBuilder::atBlockEnd(block);
      BulkWaitOp::create(builder, stores.front().getLoc(), /*pending=*/0,
                         /*read=*/true);
    }
  }

  KernelOp kernel;
  SmallVector<CopyAsyncOp> stores;
  llvm::MapVector<Operation *, Wait> waits;
};
} // namespace

void mlir::tile::waitForBulkStores(KernelOp kernel) {
  BulkStoreWaits(kernel).run();
}
