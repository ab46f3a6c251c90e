//===- ExplicitOps.cpp - The explicit layer on a CPU ------------*- C++ -*-===//
//
// A block runs on one thread of the CPU. Barriers between warp groups have no
// meaning there: a group that waits would wait for code that comes later.
//
//===----------------------------------------------------------------------===//
#include "ExplicitOps.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

/// The function of the language that an operation comes from, if it needs
/// threads at the same time; empty otherwise.
static StringRef getConcurrentName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](WarpSpecializeOp) { return "T.ws"; })
      .Case([](BarrierInitOp) { return "T.alloc_barrier"; })
      .Case([](BarrierWaitOp) { return "T.mbarrier_wait_parity"; })
      .Case([](BarrierArriveOp) { return "T.mbarrier_arrive"; })
      .Case<BarrierExpectTxOp, ThreadExpectTxOp>(
          [](auto) { return "T.mbarrier_expect_tx"; })
      .Case([](NamedArriveOp) { return "T.named_barrier_arrive"; })
      .Case([](ClusterArriveOp) { return "T.cluster_arrive"; })
      .Case([](ClusterWaitOp) { return "T.cluster_wait"; })
      .Case([](WarpSyncOp) { return "T.sync_warp"; })
      .Default([](Operation *) { return ""; });
}

static void replaceProduct(GemmAsyncOp product) {
  OpBuilder builder(product);
  OperationState state(product.getLoc(), GemmOp::getOperationName());
  state.addOperands({product.getA(), product.getB(), product.getC()});
  state.addAttributes(product->getAttrs());
  builder.create(state);
  product.erase();
}

/// The first thread of each group is as good as any other.
static void replaceElection(ElectOp elect, KernelOp kernel) {
  OpBuilder builder(elect);
  Location loc = elect.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value thread = ThreadIdOp::create(builder, loc, builder.getI32Type(), 0);
  if (std::optional<ArrayRef<int64_t>> shape = kernel.getThreadShape()) {
    int64_t stride = 1;
    for (size_t axis = 1; axis < shape->size(); ++axis) {
      stride *= (*shape)[axis - 1];
      Value index =
          ThreadIdOp::create(builder, loc, builder.getI32Type(), axis);
      thread = arith::AddIOp::create(
          builder, loc, thread,
          arith::MulIOp::create(builder, loc, index, constant(stride)));
    }
  }
  if (elect.getThreads())
    thread = arith::RemUIOp::create(builder, loc, thread,
                                    constant(elect.getThreads()));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, constant(0));
  elect.replaceAllUsesWith(isFirst);
  elect.erase();
}

/// Blocks of a CPU are as many as its threads can run, or the grid is run block
/// by block: every `workers`-th tile each is as good as a counter.
static void replaceSharedTile(ShareTileOp share) {
  auto fetch = share.getFetched().getDefiningOp<FetchTileOp>();
  OpBuilder builder(share);
  Value next = arith::AddIOp::create(builder, share.getLoc(), fetch.getTile(),
                                     fetch.getWorkers());
  share.replaceAllUsesWith(next);
  share.erase();
  if (fetch->use_empty())
    fetch.erase();
}

LogicalResult tilemlir::cpu::makeSequential(KernelOp kernel) {
  if (kernel->hasAttr("tile.cooperative"))
    return kernel.emitError(
        "T.sync_grid needs blocks that run at the same time, which the CPU "
        "target does not have; compile for a GPU, or run the kernel on the "
        "simulator");
  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) { operations.push_back(op); });
  // The outermost cause, in the order of the program, is the one to name.
  for (Operation *op : operations) {
    if (StringRef name = getConcurrentName(op); !name.empty())
      return op->emitError(name)
             << " needs threads that run at the same time, which the CPU "
                "target does not have; compile for a GPU, or run the kernel "
                "on the simulator";
    auto share = dyn_cast<ShareTileOp>(op);
    if (share && (!share.getFetched() ||
                  !share.getFetched().getDefiningOp<FetchTileOp>()))
      return share.emitError("takes over a tile that another role has fetched, "
                             "which the CPU target cannot run");
    if (isa<PtxOp>(op))
      return op->emitError("T.ptx is code of a GPU, which the CPU target "
                           "cannot run");
  }
  for (Operation *op : operations) {
    if (isa<MmaWaitOp, FenceProxyOp, BulkCommitOp, BulkWaitOp,
            SetMaxRegistersOp, DependencyWaitOp, LaunchDependentsOp>(op))
      op->erase();
    else if (auto elect = dyn_cast<ElectOp>(op))
      replaceElection(elect, kernel);
    else if (auto share = dyn_cast<ShareTileOp>(op))
      replaceSharedTile(share);
    else if (auto product = dyn_cast<GemmAsyncOp>(op);
             product && !product.getAccumulate())
      replaceProduct(product);
  }
  return success();
}
