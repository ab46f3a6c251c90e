//===- VerifyUniformity.cpp - tile-verify-uniformity ------------*- C++ -*-===//
//
// Rejects collective operations that only some threads would reach, and writes
// to fragments that would differ between threads.
//
//===----------------------------------------------------------------------===//
#include "Uniformity.h"

#include "tilemlir/Dialect/Tile/IR/Collective.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEVERIFYUNIFORMITY
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Whether all threads of the block must reach the operation.
static bool needsAllThreads(Operation *op) {
  if (auto sync = dyn_cast<SyncThreadsOp>(op))
    return !sync.getCount();
  // Done by one thread, or one of each warp, which the compiler elects.
  if (auto arrive = dyn_cast<BarrierArriveOp>(op))
    return arrive.getScope() != ArrivalScope::Thread;
  if (isa<BarrierInitOp, BarrierExpectTxOp, SetMaxRegistersOp, GemmAsyncOp,
          MmaWaitOp, ClusterArriveOp, ClusterWaitOp, FetchTileOp>(op))
    return true;
  return isCollective(op);
}

/// Fragments exist once per block: what scalar code and per-thread copies put
/// there has to be the same in all threads.
static bool writesFragment(Operation *op) {
  Value buffer = getWrittenBuffer(op);
  return buffer && cast<BufferType>(buffer.getType()).isFragment() &&
         !op->getParentOfType<ParallelOp>();
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

/// `rule` says what the operation needs, as in "copy <rule>".
static LogicalResult verify(Operation *op, const Uniformity &uniformity,
                            StringRef rule) {
  if (Operation *branch = uniformity.getDivergentBranch(op)) {
    InFlightDiagnostic error =
        op->emitError(op->getName().stripDialect())
        << " " << rule << " and has to be reached by all of its threads";
    Value operand = uniformity.getDivergentOperand(branch);
    error.attachNote(operand.getLoc() == op->getLoc() ? branch->getLoc()
                                                      : operand.getLoc())
        << describeBranch(branch) << " may differ between threads";
    return failure();
  }
  // One thread has it, and the operation gives it to the others.
  auto share = dyn_cast<ShareTileOp>(op);
  Value fetched = share ? share.getFetched() : Value();
  for (Value operand : op->getOperands()) {
    if (operand == fetched)
      continue;
    if (uniformity.isUniform(operand) &&
        uniformity.holdsUniformContents(operand))
      continue;
    InFlightDiagnostic error =
        op->emitError(op->getName().stripDialect())
        << " " << rule
        << ", but one of its operands may differ between threads";
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
        if (needsAllThreads(op))
          ok &= succeeded(verify(op, uniformity, "acts once per block"));
        else if (writesFragment(op))
          ok &= succeeded(verify(op, uniformity,
                                 "writes a fragment, which exists once per "
                                 "block"));
      });
    });
    if (!ok)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
