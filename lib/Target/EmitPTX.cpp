//===- EmitPTX.cpp - the pass tile-emit-ptx and its translations ----------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/InitAll.h"
#include "tilemlir/Target/PTX.h"
#include "tilemlir/Target/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"

namespace tilemlir {
#define GEN_PASS_DEF_TILEEMITPTX
#include "tilemlir/Target/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;

namespace {

struct EmitPTX : tilemlir::impl::TileEmitPTXBase<EmitPTX> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<gpu::GPUModuleOp> gpuModules(module.getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp gpuModule : gpuModules) {
      FailureOr<std::string> ptx = tilemlir::emitPTX(gpuModule);
      if (failed(ptx))
        return signalPassFailure();
      tile::TargetAttr target = tile::getTarget(gpuModule);
      MLIRContext *context = &getContext();
      // The list of targets that NVVM verifies lags behind the hardware.
      auto nvvmTarget = NVVM::NVVMTargetAttr::get(
          context, /*optLevel=*/3, "nvptx64-nvidia-cuda",
          target ? target.getArch() : "sm_80",
          "+ptx" + std::to_string(target ? target.getPTXVersion()
                                         : tile::TargetAttr::kDefaultPTX),
          nullptr, nullptr, /*verifyTarget=*/false);
      auto object = gpu::ObjectAttr::get(
          context, nvvmTarget, gpu::CompilationTarget::Assembly,
          StringAttr::get(context, *ptx), DictionaryAttr(),
          gpu::KernelTableAttr());
      OpBuilder b(gpuModule);
      Attribute objectAttr = object;
      gpu::BinaryOp::create(b, gpuModule.getLoc(), gpuModule.getName(),
                            Attribute(), ArrayRef<Attribute>(objectAttr));
      gpuModule.erase();
    }
  }
};

} // namespace

LogicalResult tilemlir::translateToPTX(Operation *op, raw_ostream &os) {
  bool any = false;
  WalkResult result = op->walk([&](Operation *inner) {
    if (auto binary = dyn_cast<gpu::BinaryOp>(inner)) {
      for (Attribute attr : binary.getObjects()) {
        auto object = cast<gpu::ObjectAttr>(attr);
        if (object.getFormat() != gpu::CompilationTarget::Assembly)
          continue;
        os << object.getObject().getValue();
        any = true;
      }
    } else if (auto gpuModule = dyn_cast<gpu::GPUModuleOp>(inner)) {
      FailureOr<std::string> ptx = tilemlir::emitPTX(gpuModule);
      if (failed(ptx))
        return WalkResult::interrupt();
      os << *ptx;
      any = true;
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!any)
    return op->emitError(
        "holds no compiled kernels; run tile-emit-ptx, or give a gpu.module in "
        "the NVVM dialect");
  return success();
}

LogicalResult tilemlir::translateToLLVMIR(Operation *op, raw_ostream &os,
                                          bool optimized) {
  bool any = false;
  WalkResult result = op->walk([&](gpu::GPUModuleOp gpuModule) {
    FailureOr<std::string> text = tilemlir::emitLLVMIR(gpuModule, optimized);
    if (failed(text))
      return WalkResult::interrupt();
    os << *text;
    any = true;
    return WalkResult::skip();
  });
  if (result.wasInterrupted())
    return failure();
  if (!any)
    return op->emitError(
        "holds no gpu.module in the NVVM dialect; run tile-gpu-to-nvvm");
  return success();
}

void tilemlir::registerPTXTranslations() {
  TranslateFromMLIRRegistration ptx(
      "tile-to-ptx", "PTX of the kernels of a module", translateToPTX,
      tilemlir::registerAllDialects);
  TranslateFromMLIRRegistration llvmIR(
      "tile-to-llvm-ir", "optimised LLVM IR of a gpu.module",
      [](Operation *op, raw_ostream &os) {
        return translateToLLVMIR(op, os, /*optimized=*/true);
      },
      tilemlir::registerAllDialects);
}
