// The pipeline that takes traced modules to the LLVM dialect for the host.
#include "tilemlir/Conversion/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Pipelines/Pipelines.h"
#include "tilemlir/Target/CPUCodeGen.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

struct CPUPipelineOptions : PassPipelineOptions<CPUPipelineOptions> {
  Option<int64_t> vectorBits{
      *this, "vector-bits",
      llvm::cl::desc("width of vector registers; 0 takes the host's"),
      llvm::cl::init(0)};
  Option<std::string> nativeF16{
      *this, "native-f16",
      llvm::cl::desc("whether the host converts f16 itself: true, false or "
                     "host"),
      llvm::cl::init("host")};
};

void buildCPUPipeline(OpPassManager &manager,
                      const CPUPipelineOptions &options) {
  tilemlir::HostFeatures host = tilemlir::getHostFeatures();
  tilemlir::TileToCPUOptions toCPU;
  toCPU.vectorBits = options.vectorBits ? options.vectorBits : host.vectorBits;
  tilemlir::ExpandSmallFloatsOptions smallFloats;
  smallFloats.nativeF16 = options.nativeF16 == "host"
                              ? host.nativeF16
                              : options.nativeF16 == "true";

  manager.addPass(tile::createTileCanonicalizeKernel());
  manager.addPass(tile::createTileMapBlocks());
  manager.addPass(tile::createTileAnalyzeBounds());
  manager.addPass(tile::createTileVerifyUniformity());
  manager.addPass(tile::createTilePeelMasks());
  manager.addPass(tilemlir::createTileToCPU(toCPU));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(tilemlir::createExpandSmallFloats(smallFloats));
  manager.addPass(tilemlir::createExpandMath());
  manager.addPass(createSCFToControlFlowPass());
  // Functions with an intrinsic of LLVM first, the others as calls of libm.
  // log(1 + x) would lose every digit of a small x.
  ConvertMathToLLVMPassOptions mathOptions;
  mathOptions.approximateLog1p = false;
  manager.addPass(createConvertMathToLLVMPass(mathOptions));
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

} // namespace

void tilemlir::registerCPUPipeline() {
  PassPipelineRegistration<CPUPipelineOptions>(
      "tile-cpu-pipeline",
      "from a traced module to the LLVM dialect for the CPU of this machine",
      buildCPUPipeline);
}
