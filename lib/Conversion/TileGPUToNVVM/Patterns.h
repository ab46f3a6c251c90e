//===- Patterns.h - pieces of tile-gpu-to-nvvm ------------------*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_PATTERNS_H
#define TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_PATTERNS_H

#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tilemlir::to_nvvm {

using namespace mlir;

/// Address spaces of NVVM.
constexpr unsigned kGlobalSpace = 1;
constexpr unsigned kSharedSpace = 3;

/// Symbol of the shared memory of a block: declared outside, so that no
/// optimisation concludes that it is never read.
constexpr llvm::StringLiteral kArenaName = "tile_shared_memory";

/// What every pattern needs.
struct Lowering {
  const LLVMTypeConverter &converter;
  int64_t capability = 80;
  bool fastMath = false;
};

/// Benefit of our patterns over upstream ones for the same operation.
constexpr unsigned kOurBenefit = 10;

/// Base of our patterns.
template <typename Op> struct LoweringPattern : ConvertOpToLLVMPattern<Op> {
  explicit LoweringPattern(const Lowering &lowering,
                           unsigned benefit = kOurBenefit)
      : ConvertOpToLLVMPattern<Op>(lowering.converter, benefit),
        lowering(lowering) {}
  Lowering lowering;
};

Value constant32(OpBuilder &b, Location loc, int64_t value);

/// Pointer to byte `address + offset` of the arena.
Value sharedPointer(OpBuilder &b, Location loc, Value address, int64_t offset);

/// Type of a scalar in memory: i1 is a byte.
Type memoryType(Type scalar);

/// Pointer to element `offset` of a tensor.
Value globalPointer(OpBuilder &b, Location loc, Value pointer, Type element,
                    Value offset);

/// Reports operations that the target does not have.
LogicalResult verifyFeatures(Operation *root, tile::TargetAttr target);

/// Memory, indices, communication, diagnostics.
void populateMemoryPatterns(const Lowering &lowering,
                            RewritePatternSet &patterns);
void populateCommunicationPatterns(const Lowering &lowering,
                                   RewritePatternSet &patterns);
/// ldmatrix, stmatrix, and mma as far as NVVM or an intrinsic is right.
void populateMatrixPatterns(const Lowering &lowering,
                            RewritePatternSet &patterns);
/// mma of f16 and tf32 through nvgpu.mma.sync.
void populateNVGPUPatterns(const Lowering &lowering,
                           RewritePatternSet &patterns);
/// Rounding of two f32 to 16 bits at once.
void populateHalfPairPatterns(const Lowering &lowering,
                              RewritePatternSet &patterns);
/// Conversions of 8-bit floats by the instructions of sm_89.
void populateFloat8Patterns(const Lowering &lowering,
                            RewritePatternSet &patterns);
/// Descriptors, copies of boxes, bulk copies.
void populateTensorMemoryPatterns(const Lowering &lowering,
                                  RewritePatternSet &patterns);
/// mbarriers, roles, clusters, fences, inline PTX.
void populateSynchronizationPatterns(const Lowering &lowering,
                                     RewritePatternSet &patterns);
/// wgmma and the waits that values travel through.
void populateWarpgroupPatterns(const Lowering &lowering,
                               RewritePatternSet &patterns);
/// scf.for with the test at the end of the body.
void populateLoopPatterns(const Lowering &lowering,
                          RewritePatternSet &patterns);

/// Calls an intrinsic by name.
Value callIntrinsic(OpBuilder &b, Location loc, Type result, StringRef name,
                    ValueRange operands);

/// Inline assembly without side effects, unless `volatileMemory`.
Value inlineAsm(OpBuilder &b, Location loc, Type result, StringRef text,
                StringRef constraints, ValueRange operands,
                bool volatileMemory);

} // namespace tilemlir::to_nvvm

#endif // TILEMLIR_LIB_CONVERSION_TILEGPUTONVVM_PATTERNS_H
