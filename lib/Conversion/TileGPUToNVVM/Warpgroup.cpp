//===- Warpgroup.cpp - wgmma and the waits around it ------------*- C++ -*-===//
//
// NVVM's wgmma takes no run-time scale-d, no A in registers, and its wait
// carries no values. Here accumulators are inputs tied to outputs, so that no
// register is copied, and waits give the values that they make available anew.
//
//===----------------------------------------------------------------------===//
#include "InlineAssembly.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/IR/Matchers.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

/// Addresses in descriptors have 18 bits; in a cluster the bits above hold the
/// rank of the block.
constexpr int64_t kAddressMask = 0x3FFFF;

struct DescriptorPattern : LoweringPattern<tile_gpu::WgmmaDescriptorOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WgmmaDescriptorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto number = [&](int64_t value) {
      return constant32(rewriter, loc, value);
    };
    int64_t leading = op.getLeadingBytes() >> 4,
            stride = op.getStrideBytes() >> 4;
    int64_t mode = op.getSwizzle() == 128  ? 1
                   : op.getSwizzle() == 64 ? 2
                   : op.getSwizzle() == 32 ? 3
                                           : 0;
    // Low word: address, leading distance. High word: stride, swizzle.
    Value low = sharedAddress(rewriter, loc, adaptor.getAddress());
    low = LLVM::AndOp::create(rewriter, loc, low, number(kAddressMask));
    low = LLVM::LShrOp::create(rewriter, loc, low, number(4));
    low = LLVM::OrOp::create(rewriter, loc, low, number(leading << 16));
    if (int64_t step = static_cast<int32_t>(op.getOffset()) >> 4)
      low = LLVM::AddOp::create(rewriter, loc, low, number(step));
    // Joined by an instruction of its own: LLVM would do 64-bit arithmetic.
    InlineAssembly assembly(rewriter, loc);
    std::string result = assembly.output(rewriter.getI64Type());
    std::string lowWord = assembly.input(low);
    std::string highWord =
        assembly.input(number(static_cast<int32_t>(stride | mode << 30)));
    rewriter.replaceOp(op, assembly.emit("mov.b64 " + result + ", {" + lowWord +
                                             ", " + highWord + "};",
                                         /*sideEffects=*/false,
                                         /*memory=*/false));
    return success();
  }
};

StringRef operandType(tile_gpu::MatrixType type) {
  return tile_gpu::stringifyMatrixType(type);
}

StringRef sumType(Type type) {
  return type.isF32() ? "f32" : type.isF16() ? "f16" : "s32";
}

struct WgmmaPattern : LoweringPattern<tile_gpu::WgmmaOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WgmmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto sums = cast<VectorType>(op.getResult().getType());
    APInt scale(1, 1);
    bool constantScale =
        !op.getScaleD() ||
        matchPattern(adaptor.getScaleD(), m_ConstantInt(&scale)) ||
        matchPattern(op.getScaleD(), m_ConstantInt(&scale));
    bool ignoresC = constantScale && scale.isZero();

    InlineAssembly assembly(rewriter, loc);
    int64_t count = sums.getNumElements();
    if (ignoresC) {
      bool packed = sums.getElementType().isF16();
      Type type = packed ? rewriter.getI32Type() : sums.getElementType();
      count = packed ? count / 2 : count;
      for (int64_t i = 0; i < count; ++i)
        assembly.output(type);
    } else {
      SmallVector<Value> registers;
      splitRegisters(rewriter, loc, adaptor.getC(), registers);
      count = registers.size();
      assembly.tie(registers);
    }
    std::string text = "{\n";
    std::string operands = "{";
    for (int64_t i = 0; i < count; ++i)
      operands += (i ? ", $" : "$") + std::to_string(i);
    operands += "}, ";
    bool fromRegisters = isa<VectorType>(adaptor.getA().getType());
    if (fromRegisters) {
      SmallVector<Value> words;
      splitRegisters(rewriter, loc, adaptor.getA(), words);
      for (auto [i, word] : llvm::enumerate(words))
        operands += (i ? ", " : "{") + assembly.input(word);
      operands += "}, ";
    } else {
      operands += assembly.input(adaptor.getA()) + ", ";
    }
    operands += assembly.input(adaptor.getB()) + ", ";
    if (constantScale) {
      text += ".reg .pred scale;\nsetp.ne.b32 scale, " +
              std::to_string(scale.getZExtValue()) + ", 0;\n";
      operands += "scale";
    } else {
      operands += assembly.input(adaptor.getScaleD());
    }
    using Kind = tile_gpu::MatrixType;
    bool integers = op.getAType() == Kind::S8 || op.getAType() == Kind::U8;
    if (!integers) {
      operands += op.getNegateA() ? ", -1" : ", 1";
      operands += op.getNegateB() ? ", -1" : ", 1";
    }
    if (op.getAType() == Kind::F16 || op.getAType() == Kind::BF16) {
      if (!fromRegisters)
        operands += op.getTransposeA() ? ", 1" : ", 0";
      operands += op.getTransposeB() ? ", 1" : ", 0";
    }
    ArrayRef<int64_t> shape = op.getShape();
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(shape[1]) +
            "k" + std::to_string(shape[2]) + "." +
            sumType(sums.getElementType()).str() + "." +
            operandType(op.getAType()).str() + "." +
            operandType(op.getBType()).str() +
            (op.getSaturate() ? ".satfinite " : " ") + operands + ";\n}";
    // No clobber of memory: fences and waits order it, and what is computed
    // from memory meanwhile may be scheduled around it.
    SmallVector<Value> outputs =
        assembly.emit(text, /*sideEffects=*/true, /*memory=*/false);
    ArrayRef<Value> rest = outputs;
    rewriter.replaceOp(op, joinRegisters(rewriter, loc, sums, rest));
    return success();
  }
};

/// Emits `text` with all values tied through it.
template <typename Op, typename Adaptor>
void threadValues(Op op, Adaptor adaptor, const TypeConverter &converter,
                  StringRef text, bool memory,
                  ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  SmallVector<Value> registers;
  for (Value value : adaptor.getValues())
    splitRegisters(rewriter, loc, value, registers);
  InlineAssembly assembly(rewriter, loc);
  assembly.tie(registers);
  SmallVector<Value> outputs =
      assembly.emit(text, /*sideEffects=*/true, memory);
  ArrayRef<Value> rest = outputs;
  SmallVector<Value> results;
  for (Type type : op.getResultTypes())
    results.push_back(
        joinRegisters(rewriter, loc, converter.convertType(type), rest));
  rewriter.replaceOp(op, results);
}

struct WgmmaFencePattern : LoweringPattern<tile_gpu::WgmmaFenceOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WgmmaFenceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    threadValues(op, adaptor, *getTypeConverter(), "wgmma.fence.sync.aligned;",
                 /*memory=*/true, rewriter);
    return success();
  }
};

struct WgmmaCommitPattern : LoweringPattern<tile_gpu::WgmmaCommitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WgmmaCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAssembly(rewriter, op.getLoc())
        .emitOrdered("wgmma.commit_group.sync.aligned;");
    rewriter.eraseOp(op);
    return success();
  }
};

struct WgmmaWaitPattern : LoweringPattern<tile_gpu::WgmmaWaitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WgmmaWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    threadValues(op, adaptor, *getTypeConverter(),
                 "wgmma.wait_group.sync.aligned " +
                     std::to_string(op.getPending()) + ";",
                 /*memory=*/true, rewriter);
    return success();
  }
};

struct PinPattern : LoweringPattern<tile_gpu::PinOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::PinOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    threadValues(op, adaptor, *getTypeConverter(), "", /*memory=*/false,
                 rewriter);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateWarpgroupPatterns(const Lowering &lowering,
                                                  RewritePatternSet &patterns) {
  patterns.add<DescriptorPattern, WgmmaPattern, WgmmaFencePattern,
               WgmmaCommitPattern, WgmmaWaitPattern, PinPattern>(lowering);
}
