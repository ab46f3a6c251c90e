//===- TileToCPU.cpp - tile kernels as functions of the host ----*- C++ -*-===//
//
// The pass `tile-to-cpu`: the launch plan from the host half, two functions per
// kernel (KernelEmitter), and nothing left of the `tile` dialect but
// attributes.
//
//===----------------------------------------------------------------------===//
#include "ExplicitOps.h"
#include "KernelEmitter.h"

#include "tilemlir/Conversion/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/KernelReport.h"
#include "tilemlir/Dialect/Tile/Transforms/SyncAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tilemlir {
#define GEN_PASS_DEF_TILETOCPU
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Computations of the host half that no launch plan can hold, such as float
/// arithmetic on scalar arguments, move into the kernels that use them.
void sinkHostValues(KernelOp kernel) {
  Block *body = kernel.getBodyBlock();
  bool changed = true;
  while (changed) {
    changed = false;
    kernel.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        Operation *def = operand.get().getDefiningOp();
        if (!def || kernel->isProperAncestor(def) ||
            operand.get().getType().isIntOrIndex() || !isPure(def) ||
            def->getNumRegions() != 0 || op == kernel)
          continue;
        OpBuilder builder(body, body->begin());
        Value copy = builder.clone(*def)->getResult(
            cast<OpResult>(operand.get()).getResultNumber());
        operand.get().replaceUsesWithIf(copy, [&](OpOperand &use) {
          return kernel->isProperAncestor(use.getOwner());
        });
        changed = true;
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
  }
}

/// What `explain()` shows of a kernel on the CPU.
void report(KernelOp kernel, SmallVectorImpl<Attribute> &entries) {
  Builder builder(kernel.getContext());
  auto add = [&](Operation *op, StringRef path, const Twine &reason) {
    NamedAttrList entry;
    entry.set("kernel", builder.getStringAttr(getEntryName(kernel)));
    entry.set("op", builder.getStringAttr(getUserOperationName(op)));
    entry.set("path", builder.getStringAttr(path));
    entry.set("reason", builder.getStringAttr(reason));
    entry.set("operands", describeOperands(op));
    describePosition(op, entry);
    entries.push_back(entry.getDictionary(kernel.getContext()));
  };
  NamedAttrList summary;
  summary.set("kernel", builder.getStringAttr(getEntryName(kernel)));
  summary.set("threads", builder.getI64IntegerAttr(kernel.getThreads()));
  summary.set("shared_bytes", builder.getI64IntegerAttr(0));
  summary.set("grid", describeGrid(kernel));
  describePosition(kernel, summary);
  entries.push_back(summary.getDictionary(kernel.getContext()));

  tilemlir::cpu::ThreadAnalysis threads(kernel);
  if (threads.isSingle())
    add(kernel, "simt",
        "nothing depends on the thread id: a block is one "
        "sequence of vectorised loops");
  else
    add(kernel, "simt",
        "the code depends on the thread id: loops over " +
            Twine(threads.count()) +
            " threads, split at tile operations and barriers");
  kernel.walk([&](GemmOp gemm) {
    Type a = gemm.getA().getType().getElementType();
    std::string reason = "operands are packed once per tile for a "
                         "register-blocked loop of multiply-adds";
    if (a.isF32() && gemm.getPrecision() == Precision::TF32)
      reason += "; float32 operands are rounded to tf32 first "
                "(precision=\"ieee\" keeps them)";
    add(gemm, "fma", reason);
  });
}

struct TileToCPU : public tilemlir::impl::TileToCPUBase<TileToCPU> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TargetAttr target = getTarget(module);
    if (target && !target.isCPU()) {
      // The same module may be run on the CPU to check the passes before it.
      module->setAttr("tile.target", TargetAttr::get(&getContext(), "cpu", 0));
    }
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.getOps<KernelOp>().empty())
        functions.push_back(function);
    if (functions.empty())
      return;
    if (functions.size() > 1) {
      functions[1].emitError("a module has one function with kernels; another "
                             "one is '")
          << functions[0].getName() << "'";
      return signalPassFailure();
    }
    func::FuncOp function = functions.front();
    for (KernelOp kernel : function.getOps<KernelOp>()) {
      if (failed(tilemlir::cpu::makeSequential(kernel)))
        return signalPassFailure();
      sinkHostValues(kernel);
    }
    FailureOr<LaunchPlanAttr> plan = buildLaunchPlan(function);
    if (failed(plan))
      return signalPassFailure();
    module->setAttr("tile.launch_plan", *plan);

    // Loops over threads are split where threads must meet, as on a GPU.
    for (KernelOp kernel : function.getOps<KernelOp>()) {
      if (tilemlir::cpu::ThreadAnalysis(kernel).isSingle())
        continue;
      OpBuilder builder(&getContext());
      for (Operation *op : planBarriers(kernel)) {
        builder.setInsertionPoint(op);
        SyncThreadsOp::create(builder, op->getLoc(), IntegerAttr(),
                              IntegerAttr());
      }
    }

    SmallVector<Attribute> entries;
    for (KernelOp kernel : function.getOps<KernelOp>())
      report(kernel, entries);
    module->setAttr("tile.report", ArrayAttr::get(&getContext(), entries));

    OpBuilder builder(&getContext());
    for (KernelOp kernel : function.getOps<KernelOp>()) {
      builder.setInsertionPoint(function);
      tilemlir::cpu::KernelEmitter emitter(
          kernel, builder, std::max<int64_t>(vectorBits / 32, 1));
      if (failed(emitter.emit()))
        return signalPassFailure();
    }
    function.erase();
  }
};

} // namespace
