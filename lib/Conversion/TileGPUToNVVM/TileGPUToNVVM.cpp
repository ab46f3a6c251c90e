//===- TileGPUToNVVM.cpp - the pass tile-gpu-to-nvvm ------------*- C++ -*-===//
#include "ElementaryFunctions.h"
#include "Patterns.h"
#include "SharedDifferences.h"
#include "SharedFactors.h"

#include "tilemlir/Conversion/Passes.h"
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/TileGPU/Transforms/ExactArithmetic.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilemlir {
#define GEN_PASS_DEF_TILEGPUTONVVM
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;
using namespace tilemlir::to_nvvm;

/// Predicates of operations that become several instructions or calls turn into
/// branches.
static void expandPredicates(Operation *root) {
  SmallVector<Operation *> worklist;
  root->walk([&](Operation *op) {
    if (isa<tile_gpu::GlobalAtomicOp, tile_gpu::SharedAtomicOp,
            tile_gpu::PrintOp, tile_gpu::AssertOp>(op))
      worklist.push_back(op);
  });
  for (Operation *op : worklist) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value predicate;
    if (auto check = dyn_cast<tile_gpu::AssertOp>(op)) {
      if (check.getCondition().getDefiningOp<arith::ConstantOp>())
        continue;
      Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
      Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
      predicate = arith::XOrIOp::create(b, loc, check.getCondition(), yes);
      check.getConditionMutable().assign(no);
    } else {
      llvm::TypeSwitch<Operation *>(op)
          .Case<tile_gpu::GlobalAtomicOp, tile_gpu::SharedAtomicOp,
                tile_gpu::PrintOp>([&](auto predicated) {
            predicate = predicated.getPredicate();
            predicated.getPredicateMutable().clear();
          });
    }
    if (!predicate)
      continue;
    TypeRange results = op->getResultTypes();
    auto branch = scf::IfOp::create(b, loc, results, predicate,
                                    /*withElse=*/!results.empty());
    SmallVector<Value> old(op->getResults());
    op->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    if (results.empty())
      continue;
    for (auto [value, result] : llvm::zip_equal(old, branch.getResults()))
      value.replaceAllUsesWith(result);
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, op->getResults());
    b.setInsertionPointToEnd(branch.elseBlock());
    SmallVector<Value> zeros;
    for (Type type : results)
      zeros.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
    scf::YieldOp::create(b, loc, zeros);
  }
}

/// Products and sums may be fused, as CUDA compilers do; fast math allows more.
/// Not where the rounding of each operation counts.
static void setFastMathFlags(Operation *root, bool fast) {
  auto flags = LLVM::FastmathFlags::contract;
  if (fast)
    flags = flags | LLVM::FastmathFlags::reassoc | LLVM::FastmathFlags::afn |
            LLVM::FastmathFlags::arcp | LLVM::FastmathFlags::nsz;
  auto attr = LLVM::FastmathFlagsAttr::get(root->getContext(), flags);
  root->walk([&](LLVM::FastmathFlagsInterface op) {
    if (op->removeDiscardableAttr(tilemlir::kExactArithmeticAttr) ||
        isa<LLVM::CallIntrinsicOp>(op.getOperation()))
      return;
    op->setAttr(op.getFastmathAttrName(), attr);
  });
}

namespace {
struct TileGPUToNVVM : tilemlir::impl::TileGPUToNVVMBase<TileGPUToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp gpuModule = getOperation();
    MLIRContext *context = &getContext();
    tile::OptionsAttr tileOptions = tile::OptionsAttr::of(gpuModule);
    tile::TargetAttr tileTarget = tile::getTarget(gpuModule);

    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(context, options);
    converter.addConversion([&](MemRefType type) -> Type {
      auto space =
          dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
      // NVVM's allocas are in the generic space.
      bool local = space && space.getValue() == gpu::AddressSpace::Private;
      return LLVM::LLVMPointerType::get(context, local ? 0 : kGlobalSpace);
    });
    converter.addConversion([&](tile_gpu::TensorMapType) -> Type {
      return LLVM::LLVMPointerType::get(context);
    });
    Lowering lowering{converter, 80, tileOptions.getFlag("fast_math", false)};
    if (tileTarget)
      lowering.capability = tileTarget.getComputeCapability();

    if (failed(verifyFeatures(gpuModule, tileTarget)))
      return signalPassFailure();
    expandPredicates(gpuModule);
    shareDifferences(gpuModule);
    shareDivisors(gpuModule);
    packPairs(gpuModule);
    if (failed(expandElementaryFunctions(gpuModule, lowering.fastMath)) ||
        (lowering.capability < 89 && failed(expandFloat8(gpuModule))))
      return signalPassFailure();

    OpBuilder b = OpBuilder::atBlockBegin(gpuModule.getBody());
    auto arenaType = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
    LLVM::GlobalOp::create(b, gpuModule.getLoc(), arenaType,
                           /*isConstant=*/false, LLVM::Linkage::External,
                           kArenaName, Attribute(), /*alignment=*/1024,
                           kSharedSpace);

    RewritePatternSet patterns(context);
    populateMemoryPatterns(lowering, patterns);
    populateCommunicationPatterns(lowering, patterns);
    populateMatrixPatterns(lowering, patterns);
    populateNVGPUPatterns(lowering, patterns);
    populateHalfPairPatterns(lowering, patterns);
    populateFloat8Patterns(lowering, patterns);
    populateTensorMemoryPatterns(lowering, patterns);
    populateSynchronizationPatterns(lowering, patterns);
    populateWarpgroupPatterns(lowering, patterns);
    populateLoopPatterns(lowering, patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);

    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<UnrealizedConversionCastOp>(); // reconciled below
    target.addIllegalDialect<
        tile_gpu::TileGPUDialect, arith::ArithDialect, math::MathDialect,
        scf::SCFDialect, cf::ControlFlowDialect, vector::VectorDialect,
        memref::MemRefDialect, nvgpu::NVGPUDialect, ub::UBDialect>();
    if (failed(applyPartialConversion(gpuModule, target, std::move(patterns))))
      return signalPassFailure();

    SmallVector<UnrealizedConversionCastOp> casts;
    gpuModule.walk(
        [&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
    auto arena = gpuModule.lookupSymbol<LLVM::GlobalOp>(kArenaName);
    if (SymbolTable::symbolKnownUseEmpty(arena, gpuModule))
      arena.erase();
    setFastMathFlags(gpuModule, lowering.fastMath);
  }
};
} // namespace
