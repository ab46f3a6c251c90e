//===- Matrix.cpp - warp-level matrix operations to NVVM --------*- C++ -*-===//
//
// bf16 and integers use nvvm.mma.sync, 8-bit floats the intrinsic (NVVM refuses
// them), or products of halves; f16 and tf32 go through NVGPU, see
// MmaThroughNVGPU.cpp.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

/// Elements of a vector value.
SmallVector<Value> elementsOf(OpBuilder &b, Location loc, Value vector) {
  SmallVector<Value> elements;
  for (int64_t i = 0, e = cast<VectorType>(vector.getType()).getNumElements();
       i < e; ++i)
    elements.push_back(
        LLVM::ExtractElementOp::create(b, loc, vector, constant32(b, loc, i)));
  return elements;
}

Value vectorOf(OpBuilder &b, Location loc, Type type,
               ArrayRef<Value> elements) {
  Value vector = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(b, loc, vector, element,
                                           constant32(b, loc, i));
  return vector;
}

NVVM::LdStMatrixShapeAttr matrixShape(MLIRContext *context) {
  return NVVM::LdStMatrixShapeAttr::get(context, 8, 8);
}

NVVM::MMALayout layoutOf(bool transposed) {
  return transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
}

struct LdmatrixPattern : LoweringPattern<tile_gpu::LdmatrixOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::LdmatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = rewriter.getContext();
    auto type = cast<VectorType>(op.getResult().getType());
    int64_t count = type.getNumElements();
    Type i32 = rewriter.getI32Type();
    Type result = count == 1 ? i32
                             : LLVM::LLVMStructType::getLiteral(
                                   context, SmallVector<Type>(count, i32));
    Value pointer = sharedPointer(rewriter, loc, adaptor.getAddress(),
                                  static_cast<int32_t>(op.getOffset()));
    Value loaded = NVVM::LdMatrixOp::create(
        rewriter, loc, result, pointer, count, layoutOf(op.getTrans()),
        matrixShape(context), NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> words;
    for (int64_t i = 0; i < count; ++i)
      words.push_back(
          count == 1 ? loaded
                     : LLVM::ExtractValueOp::create(rewriter, loc, loaded, i)
                           .getResult());
    rewriter.replaceOp(op, vectorOf(rewriter, loc, type, words));
    return success();
  }
};

struct StmatrixPattern : LoweringPattern<tile_gpu::StmatrixOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::StmatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (lowering.capability < 90)
      return op.emitOpError()
             << "needs sm_90, the target is sm_" << lowering.capability;
    Value pointer = sharedPointer(rewriter, loc, adaptor.getAddress(),
                                  static_cast<int32_t>(op.getOffset()));
    rewriter.replaceOpWithNewOp<NVVM::StMatrixOp>(
        op, pointer, elementsOf(rewriter, loc, adaptor.getValue()),
        layoutOf(op.getTrans()), matrixShape(rewriter.getContext()),
        NVVM::LdStMatrixEltType::B16);
    return success();
  }
};

/// The products of 8-bit floats that sm_90 and sm_100 do not have. ptxas makes
/// two of halves of them, but folds zeros among the operands (where a load is
/// known to be out of bounds) wrongly: it takes the modifier for the high half
/// as a number, measured on an H200 with 13.0 and 13.5. Lanes hold 4 elements
/// along K in a word; any order along K does, as long as it is that of A and B.
Value productOfHalves(OpBuilder &b, Location loc, tile_gpu::MmaOp op,
                      ArrayRef<Value> aWords, ArrayRef<Value> bWords,
                      ArrayRef<Value> c, Type structType) {
  Type i16 = b.getI16Type(), i32 = b.getI32Type();
  Type halves = VectorType::get({2}, b.getF16Type());
  auto convert = [&](Value word, tile_gpu::MatrixType type,
                     bool high) -> Value {
    if (high)
      word = LLVM::LShrOp::create(b, loc, i32, word, constant32(b, loc, 16));
    Value pair = LLVM::TruncOp::create(b, loc, i16, word);
    word = LLVM::ZExtOp::create(b, loc, i32, pair);
    std::string text = "{ .reg .b16 pair; cvt.u16.u32 pair, $1; cvt.rn.f16x2." +
                       tile_gpu::stringifyMatrixType(type).str() +
                       "x2 $0, pair; }";
    word = inlineAsm(b, loc, i32, text, "=r,r", word,
                     /*volatileMemory=*/false);
    return LLVM::BitcastOp::create(b, loc, halves, word);
  };
  auto product = [&](ArrayRef<Value> left, ArrayRef<Value> right,
                     ArrayRef<Value> sums) {
    SmallVector<Value> operands(left);
    operands.append(right.begin(), right.end());
    operands.append(sums.begin(), sums.end());
    return callIntrinsic(b, loc, structType,
                         "llvm.nvvm.mma.m16n8k16.row.col.f32.f32", operands);
  };
  auto all = [&](ArrayRef<Value> words, tile_gpu::MatrixType type, bool high) {
    return llvm::map_to_vector(
        words, [&](Value word) { return convert(word, type, high); });
  };
  SmallVector<Value> aLow = all(aWords, op.getAType(), false),
                     aHigh = all(aWords, op.getAType(), true),
                     bLow = all(bWords, op.getBType(), false),
                     bHigh = all(bWords, op.getBType(), true);
  if (op.getShape()[2] == 16)
    return product({aLow[0], aLow[1], aHigh[0], aHigh[1]}, {bLow[0], bHigh[0]},
                   c);
  Value sum = product(aLow, bLow, c);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < 4; ++i)
    sums.push_back(LLVM::ExtractValueOp::create(b, loc, sum, i));
  return product(aHigh, bHigh, sums);
}

struct MmaPattern : LoweringPattern<tile_gpu::MmaOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::MmaOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    using Kind = tile_gpu::MatrixType;
    Kind a = op.getAType(), b = op.getBType();
    SmallVector<Value> aWords = elementsOf(rewriter, loc, adaptor.getA());
    SmallVector<Value> bWords = elementsOf(rewriter, loc, adaptor.getB());
    SmallVector<Value> c = elementsOf(rewriter, loc, adaptor.getC());
    auto type = cast<VectorType>(op.getResult().getType());
    Type structType = LLVM::LLVMStructType::getLiteral(
        rewriter.getContext(), SmallVector<Type>(4, type.getElementType()));
    int64_t k = op.getShape()[2];
    Value sum;
    bool small = a == Kind::F8E4M3 || a == Kind::F8E5M2;
    if (small && lowering.capability >= 90 && lowering.capability < 120) {
      sum = productOfHalves(rewriter, loc, op, aWords, bWords, c, structType);
    } else if (small) {
      if (lowering.capability < 89)
        return op.emitOpError()
               << "of 8-bit floats needs sm_89, the target is sm_"
               << lowering.capability;
      std::string name = "llvm.nvvm.mma.m16n8k" + std::to_string(k) +
                         ".row.col.f32." +
                         tile_gpu::stringifyMatrixType(a).str() + "." +
                         tile_gpu::stringifyMatrixType(b).str() + ".f32";
      SmallVector<Value> operands(aWords);
      operands.append(bWords);
      operands.append(c);
      sum = callIntrinsic(rewriter, loc, structType, name, operands);
    } else {
      auto ptxType = [](Kind kind) {
        switch (kind) {
        case Kind::BF16:
          return NVVM::MMATypes::bf16;
        case Kind::U8:
          return NVVM::MMATypes::u8;
        default:
          return NVVM::MMATypes::s8;
        }
      };
      if (a == Kind::F16 || a == Kind::TF32)
        return rewriter.notifyMatchFailure(op, "lowered through nvgpu");
      std::optional<NVVM::MMAIntOverflow> overflow;
      if (a == Kind::S8 || a == Kind::U8)
        overflow = NVVM::MMAIntOverflow::wrapped;
      sum = NVVM::MmaOp::create(
          rewriter, loc, structType, aWords, bWords, c, op.getShape(),
          std::nullopt, overflow,
          std::array<NVVM::MMATypes, 2>{ptxType(a), ptxType(b)},
          std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                         NVVM::MMALayout::col});
    }
    SmallVector<Value> results;
    for (int64_t i = 0; i < 4; ++i)
      results.push_back(LLVM::ExtractValueOp::create(rewriter, loc, sum, i));
    rewriter.replaceOp(op, vectorOf(rewriter, loc, type, results));
    return success();
  }
};

struct RoundTF32Pattern : LoweringPattern<tile_gpu::RoundTF32Op> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::RoundTF32Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value bits = callIntrinsic(rewriter, op.getLoc(), rewriter.getI32Type(),
                               "llvm.nvvm.f2tf32.rna", adaptor.getValue());
    rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(op, rewriter.getF32Type(),
                                                 bits);
    return success();
  }
};

struct PermuteBytesPattern : LoweringPattern<tile_gpu::PermuteBytesOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::PermuteBytesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value selector = constant32(rewriter, op.getLoc(),
                                static_cast<int32_t>(op.getSelector()));
    rewriter.replaceOp(
        op, callIntrinsic(rewriter, op.getLoc(), rewriter.getI32Type(),
                          "llvm.nvvm.prmt",
                          {adaptor.getLow(), adaptor.getHigh(), selector}));
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateMatrixPatterns(const Lowering &lowering,
                                               RewritePatternSet &patterns) {
  patterns.add<LdmatrixPattern, StmatrixPattern, MmaPattern, RoundTF32Pattern,
               PermuteBytesPattern>(lowering);
}
