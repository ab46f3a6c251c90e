//===- ProxyFences.cpp - fences in front of TMA and wgmma -------*- C++ -*-===//
//
// What threads write becomes visible to the async proxy by a fence of the
// writing threads; the barrier in front of the asynchronous operation, which
// tile-insert-sync puts there as for any other reader, comes behind it. The
// fence stands directly behind the write, or behind several that follow each
// other, so that no barrier can come between.
//
// What threads read is safe from later writes of the async proxy by a fence of
// the reading threads. Loads that a warp has issued may still be in flight when
// its arrival on a barrier is seen (ptxas does not wait for their results, and
// the hardware does not either), and what TMA writes then overtakes them. This
// fence stands in front of the barrier, so that the loads have all the time
// until there.
//
//===----------------------------------------------------------------------===//
#include "AsyncProxy.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
class ProxyFences {
public:
  explicit ProxyFences(KernelOp kernel) : kernel(kernel) {
    kernel.walk([&](Operation *op) {
      if (isTmaCopy(op) && isa<CopyAsyncOp>(op)) {
        if (std::optional<TensorCopy> copy = getTensorCopy(op)) {
          accessed.insert(getAllocation(copy->buffer.storage));
          if (!isBulkStore(op))
            loads.emplace_back(op, getAllocation(copy->buffer.storage));
        }
      } else if (auto gemm = dyn_cast<GemmAsyncOp>(op)) {
        for (Value operand : {gemm.getA(), gemm.getB()})
          if (cast<BufferType>(operand.getType()).isShared())
            accessed.insert(getAllocation(operand));
      } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
        if (arrive.getCpAsync())
          filledByCpAsync.insert(getAllocation(arrive.getBarriers()));
      }
    });
  }

  void run() {
    if (accessed.empty())
      return;
    llvm::SetVector<Operation *> places;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (needsFence(op))
        places.insert(getPlace(op));
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    for (Operation *op : places) {
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(op);
      FenceProxyOp::create(builder, op->getLoc());
    }
    if (loads.empty())
      return;
    SmallVector<Operation *> reads;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isLoadedAgain(op))
        reads.push_back(op);
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    for (Operation *op : reads)
      fenceRead(op);
  }

private:
  static AllocOp getSharedTile(Value root) {
    auto alloc = root.getDefiningOp<AllocOp>();
    bool holds = alloc && alloc.getType().isShared() &&
                 !isa<BarrierType>(alloc.getType().getElementType());
    return holds ? alloc : AllocOp();
  }

  bool isAccessed(Value root) {
    AllocOp alloc = getSharedTile(root);
    return alloc && llvm::any_of(accessed, [&](AllocOp other) {
             return sharesMemory(alloc, other);
           });
  }

  /// Writes of threads to memory that the proxy accesses; of `cp.async`, they
  /// are complete at the wait, which is one of the readers' where the copies
  /// arrive on a barrier themselves.
  bool needsFence(Operation *op) {
    if (isa<AsyncWaitOp>(op))
      return writesByCpAsync();
    if (auto wait = dyn_cast<BarrierWaitOp>(op))
      return filledByCpAsync.contains(getAllocation(wait.getBarriers())) &&
             writesByCpAsync();
    if (isa<CopyAsyncOp>(op))
      return false;
    SmallVector<BufferAccess> accesses;
    collectAccesses(op, accesses);
    return llvm::any_of(accesses, [&](const BufferAccess &access) {
      return access.isWrite && isAccessed(access.root);
    });
  }

  /// Whether `load` may be executed behind `read`: later, in another iteration
  /// or by another role. Roles of the program's own making are branches.
  bool mayFollow(Operation *load, Operation *read) {
    if (kernel->hasAttr("tile.explicit"))
      return true;
    for (Operation *parent = load->getParentOp(); !isa<KernelOp>(parent);
         parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface, WarpSpecializeOp>(parent) &&
          parent->isProperAncestor(read))
        return true;
    for (Operation *op = read; !isa<KernelOp>(op); op = op->getParentOp())
      if (Operation *other = op->getBlock()->findAncestorOpInBlock(*load))
        return op->isBeforeInBlock(other);
    return false;
  }

  /// Reads of threads from memory that TMA may load into again.
  bool isLoadedAgain(Operation *op) {
    if (isa<GemmAsyncOp>(op) || isTmaCopy(op))
      return false;
    SmallVector<BufferAccess> accesses;
    collectAccesses(op, accesses);
    return llvm::any_of(accesses, [&](const BufferAccess &access) {
      AllocOp alloc = getSharedTile(access.root);
      return alloc && !access.isWrite &&
             llvm::any_of(loads, [&](std::pair<Operation *, AllocOp> load) {
               return sharesMemory(alloc, load.second) &&
                      mayFollow(load.first, op);
             });
    });
  }

  /// Operations by which others may learn that what is in front is done, and
  /// loads by TMA of the thread itself.
  static bool isRelease(Operation *op) {
    return isa<SyncThreadsOp, WarpSyncOp, BarrierArriveOp, NamedArriveOp,
               ClusterArriveOp, ClusterWaitOp, FenceProxyOp>(op) ||
           (isa<CopyAsyncOp>(op) && isTmaCopy(op));
  }

  static bool holdsRelease(Operation *op) {
    return op
        ->walk([](Operation *inner) {
          return isRelease(inner) ? WalkResult::interrupt()
                                  : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Puts a fence between a read and the next release; none where the kernel
  /// ends first.
  void fenceRead(Operation *op) {
    while (true) {
      Operation *next = op->getNextNode();
      while (next && !next->hasTrait<OpTrait::IsTerminator>() &&
             !holdsRelease(next))
        next = next->getNextNode();
      if (next && !next->hasTrait<OpTrait::IsTerminator>()) {
        if (isa<FenceProxyOp>(next))
          return;
        OpBuilder builder(next);
        FenceProxyOp::create(builder, op->getLoc());
        return;
      }
      Operation *parent = op->getParentOp();
      if (parent == kernel)
        return;
      // In the next iteration a release may come first.
      if (isa<scf::ForOp, scf::WhileOp>(parent) && holdsRelease(parent)) {
        OpBuilder builder(op->getContext());
        if (next)
          builder.setInsertionPoint(next);
        else
          builder.setInsertionPointToEnd(op->getBlock());
        FenceProxyOp::create(builder, op->getLoc());
        return;
      }
      op = parent;
    }
  }

  bool writesByCpAsync() {
    if (!cpAsyncWrites)
      cpAsyncWrites =
          kernel
              .walk([&](CopyAsyncOp copy) {
                bool writes = !isTmaCopy(copy) &&
                              isAccessed(getStorageRoot(copy.getDest()));
                return writes ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
    return *cpAsyncWrites;
  }

  /// Operations in front of which a fence must have been executed.
  static bool isBoundary(Operation *op) {
    return isa<SyncThreadsOp, WarpSyncOp, BarrierArriveOp, BarrierWaitOp,
               NamedArriveOp, ClusterArriveOp, ClusterWaitOp, CopyAsyncOp,
               GemmAsyncOp, MmaWaitOp, FenceProxyOp, BulkWaitOp>(op);
  }

  static bool holdsBoundary(Operation *op) {
    return op
        ->walk([](Operation *inner) {
          return isBoundary(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool holdsWrite(Operation *op) {
    return op
        ->walk<WalkOrder::PreOrder>([&](Operation *inner) {
          return needsFence(inner) ? WalkResult::interrupt()
                                   : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The operation behind which the fence for `op` goes.
  Operation *getPlace(Operation *op) {
    // Out of loops and branches without a boundary.
    while (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op->getParentOp()) &&
           !holdsBoundary(op->getParentOp()))
      op = op->getParentOp();
    // Behind further writes.
    for (Operation *next = op->getNextNode();
         next && !holdsBoundary(next) &&
         !next->hasTrait<OpTrait::IsTerminator>();
         next = next->getNextNode())
      if (holdsWrite(next))
        op = next;
    return op;
  }

  KernelOp kernel;
  llvm::SetVector<AllocOp> accessed;
  /// Loads by TMA, and what they fill.
  SmallVector<std::pair<Operation *, AllocOp>> loads;
  /// Barriers on which copies of `cp.async` arrive.
  llvm::SetVector<AllocOp> filledByCpAsync;
  std::optional<bool> cpAsyncWrites;
};
} // namespace

void mlir::tile::insertProxyFences(KernelOp kernel) {
  ProxyFences(kernel).run();
}
