//===- SetTarget.cpp - the pass tile-set-target ---------------------------===//
#include "tilemlir/Target/Passes.h"

#include "mlir/IR/BuiltinOps.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace tilemlir {
#define GEN_PASS_DEF_TILESETTARGET
#include "tilemlir/Target/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;

namespace {

struct SetTarget : tilemlir::impl::TileSetTargetBase<SetTarget> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (target.empty()) {
      if (!tile::getTarget(module))
        module->setAttr("tile.target",
                        tile::TargetAttr::get(&getContext(), "sm_80", ptx));
      return;
    }
    auto attr = tile::TargetAttr::getChecked([&] { return module.emitError(); },
                                             &getContext(), StringRef(target),
                                             int64_t(ptx));
    if (!attr)
      return signalPassFailure();
    module->setAttr("tile.target", attr);
  }
};

} // namespace
