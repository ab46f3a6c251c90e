//===- InsertSync.cpp - barriers for shared memory --------------*- C++ -*-===//
//
// Decides where barriers go with the analysis in SyncAnalysis.h, and inserts
// them; waits for stores by TMA before (BulkStores.cpp), and fences between
// threads and the async proxy after it (ProxyFences.cpp).
//
//===----------------------------------------------------------------------===//
#include "AsyncProxy.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/SyncAnalysis.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEINSERTSYNC
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static bool expectsBytes(Operation *op) {
  auto arrive = dyn_cast_or_null<BarrierArriveOp>(op);
  return isa_and_nonnull<BarrierExpectTxOp>(op) ||
         (arrive && arrive.getExpect());
}

namespace {
class TileInsertSyncPass
    : public mlir::tile::impl::TileInsertSyncBase<TileInsertSyncPass> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation()->walk([&](PipelinedOp loop) {
      loop.emitError("is not expanded; run tile-multibuffer before "
                     "tile-insert-sync");
      failedAny = true;
    });
    if (failedAny)
      return signalPassFailure();
    getOperation()->walk([&](KernelOp kernel) {
      waitForBulkStores(kernel);
      for (Operation *op : planBarriers(kernel)) {
        Location loc = op->getLoc();
        // Expecting the bytes of a copy belongs to it.
        if (isa<CopyAsyncOp>(op))
          while (expectsBytes(op->getPrevNode()))
            op = op->getPrevNode();
        OpBuilder builder(op);
        SyncThreadsOp::create(builder, loc, IntegerAttr(), IntegerAttr());
      }
      insertProxyFences(kernel);
      syncWarps(kernel);
    });
  }
};
} // namespace
