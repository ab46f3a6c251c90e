//===- ProxyFences.cpp - fences in front of TMA and wgmma -------*- C++ -*-===//
//
// What threads write becomes visible to the async proxy by a fence of the
// writing threads; the barrier in front of the asynchronous operation, which
// tile-insert-sync puts there as for any other reader, comes behind it. The
// fence stands directly behind the write, or behind several that follow each
// other, so that no barrier can come between.
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
        if (std::optional<TensorCopy> copy = getTensorCopy(op))
          accessed.insert(getAllocation(copy->buffer.storage));
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
  }

private:
  bool isAccessed(Value root) {
    auto alloc = root.getDefiningOp<AllocOp>();
    return alloc && alloc.getType().isShared() &&
           llvm::any_of(accessed, [&](AllocOp other) {
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
      return access.isWrite && isAccessed(access.root) &&
             !isa<BarrierType>(
                 cast<BufferType>(access.root.getType()).getElementType());
    });
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
               NamedArriveOp, CopyAsyncOp, GemmAsyncOp, MmaWaitOp, FenceProxyOp,
               BulkWaitOp>(op);
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
  /// Barriers on which copies of `cp.async` arrive.
  llvm::SetVector<AllocOp> filledByCpAsync;
  std::optional<bool> cpAsyncWrites;
};
} // namespace

void mlir::tile::insertProxyFences(KernelOp kernel) {
  ProxyFences(kernel).run();
}
