//===- SelectInstructions.cpp - tile-select-instructions --------*- C++ -*-===//
//
// Chooses how each copy and gemm is executed, and states the reason. What
// depends on layouts is refined by tile-assign-layouts.
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESELECTINSTRUCTIONS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
struct SelectInstructions
    : tile::impl::TileSelectInstructionsBase<SelectInstructions> {
  void runOnOperation() override {
    Operation *root = getOperation();
    bool ok = true;
    root->walk([&](KernelOp kernel) {
      TargetAttr target = getTarget(kernel);
      if (!target) {
        kernel.emitError("no target is set: give the module the attribute "
                         "tile.target");
        ok = false;
        return;
      }
      if (target.isCPU()) {
        kernel.emitError("instructions are selected for a GPU, but the target "
                         "is cpu");
        ok = false;
        return;
      }
      IntegerAnalysis integers(kernel);
      kernel.walk([&](Operation *op) {
        if (auto gemm = dyn_cast<GemmOp>(op))
          ok &= succeeded(selectGemm(gemm, target));
        else if (auto copy = dyn_cast<CopyOp>(op))
          ok &= succeeded(selectCopy(copy, target, integers));
        else
          ok &= succeeded(selectExplicit(op, target, integers));
      });
      selectRoundedProducts(kernel, target);
    });
    if (!ok)
      signalPassFailure();
  }
};
} // namespace
