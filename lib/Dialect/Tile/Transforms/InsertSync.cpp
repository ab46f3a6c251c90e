//===- InsertSync.cpp - barriers for shared memory --------------*- C++ -*-===//
//
// Decides where barriers go with the analysis in SyncAnalysis.h, and inserts
// them.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/SyncAnalysis.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEINSERTSYNC
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

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
      for (Operation *op : planBarriers(kernel)) {
        OpBuilder builder(op);
        SyncThreadsOp::create(builder, op->getLoc(), IntegerAttr(),
                              IntegerAttr());
      }
    });
  }
};
} // namespace
