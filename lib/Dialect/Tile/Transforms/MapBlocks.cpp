//===- MapBlocks.cpp - tile-map-blocks --------------------------*- C++ -*-===//
//
// Renumbers blocks so that those that run together share rows or columns of the
// grid, which keeps operands in the L2 cache.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMAPBLOCKS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Walks panels of `panelSize` lines along the `minor` grid dimension; inside a
/// panel the blocks run down the panel, then along `major`. The last panel may
/// be narrower, so that each block is visited exactly once:
///
///   linear = x + y * gridX
///   panel  = linear / (panelSize * majorExtent)
///   width  = min(panelSize, minorExtent - panel * panelSize)
///   rest   = linear - panel * panelSize * majorExtent
///   minor  = panel * panelSize + rest % width
///   major  = rest / width
///
/// Consecutive panels run along `major` in opposite directions, so that the
/// last blocks of one panel and the first of the next share data:
///
///   major  = panel odd ? majorExtent - 1 - major : major
static LogicalResult mapBlocks(KernelOp kernel) {
  RasterAttr raster = kernel.getRasterAttr();
  if (!raster)
    return success();
  if (kernel.getGrid().size() < 2)
    return kernel.emitError("a raster order needs a grid of two dimensions, "
                            "found one");
  if (raster.getPanelSize() < 1)
    return kernel.emitError("a raster panel has at least one line, found ")
           << raster.getPanelSize();
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(
      kernel.getLoc(), kernel.getBodyBlock());
  Value x = kernel.getBlockIndex(0), y = kernel.getBlockIndex(1);
  Value gridX = kernel.getGrid()[0], gridY = kernel.getGrid()[1];
  // Rows of blocks share operand A: a row panel groups lines along y.
  bool row = raster.getOrder() == RasterOrder::Row;
  Value minorExtent = row ? gridY : gridX;
  Value majorExtent = row ? gridX : gridY;

  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 32);
  };
  SmallVector<Operation *> own;
  Value panelSize = constant(raster.getPanelSize());
  Value scaledY = arith::MulIOp::create(b, y, gridX);
  Value linear = arith::AddIOp::create(b, x, scaledY);
  Value panelBlocks = arith::MulIOp::create(b, panelSize, majorExtent);
  Value panel = arith::DivSIOp::create(b, linear, panelBlocks);
  Value first = arith::MulIOp::create(b, panel, panelSize);
  Value left = arith::SubIOp::create(b, minorExtent, first);
  Value width = arith::MinSIOp::create(b, panelSize, left);
  Value before = arith::MulIOp::create(b, panel, panelBlocks);
  Value rest = arith::SubIOp::create(b, linear, before);
  Value inPanel = arith::RemSIOp::create(b, rest, width);
  Value minor = arith::AddIOp::create(b, first, inPanel);
  Value forward = arith::DivSIOp::create(b, rest, width);
  Value last = arith::SubIOp::create(b, majorExtent, constant(1));
  Value backward = arith::SubIOp::create(b, last, forward);
  Value odd = arith::AndIOp::create(b, panel, constant(1));
  Value isOdd =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, odd, constant(0));
  Value major = arith::SelectOp::create(b, isOdd, backward, forward);
  // Facts that bounds analysis cannot derive from the arithmetic.
  auto assumeIndex = [&](Value index, Value extent) {
    Value notNegative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index, constant(0));
    Value below =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, extent);
    AssumeOp::create(b, notNegative);
    AssumeOp::create(b, below);
  };
  assumeIndex(minor, minorExtent);
  assumeIndex(major, majorExtent);

  Operation *lastOwn = &*std::prev(b.getInsertionPoint());
  auto isOwn = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() == kernel.getBodyBlock() &&
           (user == lastOwn || user->isBeforeInBlock(lastOwn));
  };
  Value newX = row ? major : minor, newY = row ? minor : major;
  x.replaceUsesWithIf(newX, [&](OpOperand &use) { return !isOwn(use); });
  y.replaceUsesWithIf(newY, [&](OpOperand &use) { return !isOwn(use); });
  kernel.removeRasterAttr();
  return success();
}

namespace {
struct MapBlocks : tile::impl::TileMapBlocksBase<MapBlocks> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](KernelOp kernel) {
      return failed(mapBlocks(kernel)) ? WalkResult::interrupt()
                                       : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
