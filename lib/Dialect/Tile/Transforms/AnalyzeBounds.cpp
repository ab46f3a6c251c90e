//===- AnalyzeBounds.cpp - tile-analyze-bounds ------------------*- C++ -*-===//
//
// Marks accesses to tensors as proven inside or predicated.
//
//===----------------------------------------------------------------------===//
#include "IntegerAnalysis.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEANALYZEBOUNDS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static bool isRegionInside(Operation *op, TypedValue<MemRefType> tensor,
                           OperandRange offsets, ArrayRef<int64_t> sizes,
                           IntegerAnalysis &integers) {
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (!integers.isInside(offset, sizes.empty() ? 1 : sizes[dim], op, tensor,
                           static_cast<int64_t>(dim)))
      return false;
  return true;
}

namespace {
struct AnalyzeBounds : tile::impl::TileAnalyzeBoundsBase<AnalyzeBounds> {
  void runOnOperation() override {
    getOperation()->walk([&](KernelOp kernel) {
      IntegerAnalysis integers(kernel);
      promised =
          OptionsAttr::of(kernel).getFlag("disable_bounds_checks", false);
      kernel.walk([&](Operation *op) { mark(op, integers); });
    });
  }

  void mark(Operation *op, IntegerAnalysis &integers) {
    auto set = [&](bool inside) {
      op->setAttr("bounds",
                  BoundsAttr::get(&getContext(),
                                  inside ? Bounds::Full : Bounds::Predicated));
    };
    auto check = [&](Value storage, OperandRange offsets,
                     ArrayRef<int64_t> sizes) -> std::optional<bool> {
      auto tensor = dyn_cast<TypedValue<MemRefType>>(storage);
      if (!tensor)
        return std::nullopt;
      return promised || isRegionInside(op, tensor, offsets, sizes, integers);
    };
    auto markCopy = [&](auto copy) {
      std::optional<bool> source = check(
          copy.getSource(), copy.getSourceOffsets(), copy.getSourceSizes());
      std::optional<bool> dest =
          check(copy.getDest(), copy.getDestOffsets(), copy.getDestSizes());
      if (source || dest)
        set(source.value_or(true) && dest.value_or(true));
    };
    auto markElement = [&](Value storage, OperandRange indices) {
      if (std::optional<bool> inside = check(storage, indices, {}))
        set(*inside);
    };
    if (auto copy = dyn_cast<CopyOp>(op))
      markCopy(copy);
    else if (auto copy = dyn_cast<CopyAsyncOp>(op))
      markCopy(copy);
    else if (auto load = dyn_cast<LoadOp>(op))
      markElement(load.getSource(), load.getIndices());
    else if (auto store = dyn_cast<StoreOp>(op))
      markElement(store.getDest(), store.getIndices());
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      markElement(atomic.getDest(), atomic.getIndices());
  }

  /// The user promises that no access leaves its tensor.
  bool promised = false;
};
} // namespace
