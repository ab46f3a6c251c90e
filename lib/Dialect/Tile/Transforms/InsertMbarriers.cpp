//===- InsertMbarriers.cpp - complete asynchronous copies -------*- C++ -*-===//
//
// Hands each kind of asynchronous copy to the part that knows how it
// completes. `cp.async` completes in groups (CpAsyncGroups.cpp), loads of a
// producer role on the barriers of their ring (RingBarriers.cpp), other copies
// by TMA on barriers of their own (TmaBarriers.cpp).
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/RingBarriers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEINSERTMBARRIERS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
class TileInsertMbarriersPass
    : public mlir::tile::impl::TileInsertMbarriersBase<
          TileInsertMbarriersPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      if (failed(insertRingBarriers(kernel)) ||
          failed(insertTileNumbers(kernel)) ||
          failed(insertCpAsyncGroups(kernel)) ||
          failed(insertTmaBarriers(kernel)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
