//===- VerifyUniformity.cpp - tile-verify-uniformity ------------*- C++ -*-===//
//
// Rejects collective operations that only some threads would reach.
//
//===----------------------------------------------------------------------===//
#include "Uniformity.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEVERIFYUNIFORMITY
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static bool isCollective(Operation *op) {
  if (auto print = dyn_cast<PrintOp>(op))
    return static_cast<bool>(print.getBuffer());
  if (auto sync = dyn_cast<SyncThreadsOp>(op))
    return !sync.getCount();
  return isa<CopyOp, CopyAsyncOp, GemmOp, FillOp, ReduceOp, ConvertOp,
             ParallelOp, PipelinedOp>(op);
}

static StringRef describeBranch(Operation *branch) {
  if (isa<scf::IfOp>(branch))
    return "the condition";
  if (isa<scf::WhileOp>(branch))
    return "the condition of the while loop";
  if (isa<scf::IndexSwitchOp>(branch))
    return "the selector";
  return "a bound of the loop";
}

static LogicalResult verify(Operation *op, const Uniformity &uniformity) {
  if (Operation *branch = uniformity.getDivergentBranch(op)) {
    InFlightDiagnostic error =
        op->emitError(op->getName().stripDialect())
        << " acts once per block and has to be reached by all of its threads";
    Value operand = uniformity.getDivergentOperand(branch);
    error.attachNote(operand.getLoc() == op->getLoc() ? branch->getLoc()
                                                      : operand.getLoc())
        << describeBranch(branch) << " may differ between threads";
    return failure();
  }
  for (Value operand : op->getOperands()) {
    if (uniformity.isUniform(operand) ||
        isa<BufferType, MemRefType>(operand.getType()))
      continue;
    InFlightDiagnostic error =
        op->emitError(op->getName().stripDialect())
        << " acts once per block, but one of its operands may differ between "
           "threads";
    error.attachNote(operand.getLoc()) << "the operand comes from here";
    return failure();
  }
  return success();
}

namespace {
struct VerifyUniformity
    : tile::impl::TileVerifyUniformityBase<VerifyUniformity> {
  void runOnOperation() override {
    bool ok = true;
    getOperation()->walk([&](KernelOp kernel) {
      Uniformity uniformity(kernel);
      kernel.walk([&](Operation *op) {
        if (isCollective(op))
          ok &= succeeded(verify(op, uniformity));
      });
    });
    if (!ok)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
