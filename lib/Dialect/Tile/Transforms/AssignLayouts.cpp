//===- AssignLayouts.cpp - tile-assign-layouts ------------------*- C++ -*-===//
//
// Runs the steps of layout assignment on each kernel: preparation, solving,
// conversions, layouts of shared memory; then writes the layouts into the types
// of allocations and into parallel loops, and refines the choices of copies.
//
//===----------------------------------------------------------------------===//
#include "LayoutLegalizer.h"
#include "SharedLayouts.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static void writeLayouts(KernelOp kernel, const LayoutSolver &solver) {
  MLIRContext *context = kernel.getContext();
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (const auto *layout = solver.getLayout(alloc))
        alloc.getResult().setType(alloc.getType().withLayout(
            FragmentLayoutAttr::get(context, *layout)));
    } else if (auto loop = dyn_cast<ParallelOp>(op)) {
      if (const auto *layout = solver.getLayout(loop)) {
        loop.setLayoutAttr(FragmentLayoutAttr::get(context, *layout));
        if (!loop.getChoiceAttr())
          loop.setChoiceAttr(
              ChoiceAttr::get(context, Path::Simt, solver.getReason(loop), {}));
      }
    }
  });
}

static LogicalResult assignLayouts(KernelOp kernel) {
  if (failed(prepareForLayouts(kernel)))
    return failure();
  IntegerAnalysis integers(kernel);
  LayoutSolver solver(kernel, integers);
  if (failed(solver.solve()))
    return failure();
  LayoutLegalizer legalizer(kernel, solver);
  if (failed(legalizer.run()))
    return failure();
  writeLayouts(kernel, solver);
  assignSharedLayouts(kernel);
  refineCopies(kernel);
  return success();
}

namespace {
struct AssignLayouts : tile::impl::TileAssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (failed(assignLayouts(kernel)))
        return signalPassFailure();
  }
};
} // namespace
