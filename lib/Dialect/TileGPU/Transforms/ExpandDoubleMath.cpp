//===- ExpandDoubleMath.cpp - tile-gpu-expand-double-math -------*- C++ -*-===//
//
// GPUs have no instructions for elementary functions of f64, and PTX has no
// libm: the functions become arithmetic here.
//
//===----------------------------------------------------------------------===//
#include "DoubleMath.h"

#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tile_gpu {
#define GEN_PASS_DEF_TILEGPUEXPANDDOUBLEMATH
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h.inc"
} // namespace mlir::tile_gpu

using namespace mlir;
using namespace tilemlir;

/// The value of `op`, or null if it is left alone.
static Value expand(Operation *op, DoubleMath &math) {
  auto operand = [&](unsigned index) { return op->getOperand(index); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return math.exp(operand(0)); })
      .Case([&](math::Exp2Op) { return math.exp2(operand(0)); })
      .Case([&](math::ExpM1Op) { return math.expm1(operand(0)); })
      .Case([&](math::LogOp) { return math.log(operand(0)); })
      .Case([&](math::Log2Op) { return math.log2(operand(0)); })
      .Case([&](math::Log10Op) { return math.log10(operand(0)); })
      .Case([&](math::Log1pOp) { return math.log1p(operand(0)); })
      .Case([&](math::SinOp) { return math.sin(operand(0)); })
      .Case([&](math::CosOp) { return math.cos(operand(0)); })
      .Case([&](math::TanOp) { return math.tan(operand(0)); })
      .Case([&](math::TanhOp) { return math.tanh(operand(0)); })
      .Case([&](math::ErfOp) { return math.erf(operand(0)); })
      .Case([&](math::RsqrtOp) { return math.rsqrt(operand(0)); })
      .Case([&](math::PowFOp) { return math.pow(operand(0), operand(1)); })
      .Case([&](math::FPowIOp) { return math.powi(operand(0), operand(1)); })
      .Default([](Operation *) { return Value(); });
}

namespace {
struct TileGPUExpandDoubleMath
    : tile_gpu::impl::TileGPUExpandDoubleMathBase<TileGPUExpandDoubleMath> {
  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          op->getNumResults() == 1 && op->getResult(0).getType().isF64())
        worklist.push_back(op);
    });
    for (Operation *op : worklist) {
      OpBuilder builder(op);
      DoubleMath math(builder, op->getLoc());
      Value result = expand(op, math);
      if (!result)
        continue;
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};
} // namespace
