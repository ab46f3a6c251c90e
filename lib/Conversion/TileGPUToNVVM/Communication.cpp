//===- Communication.cpp - indices, barriers, shuffles, print ---*- C++ -*-===//
#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

struct ThreadIdPattern : LoweringPattern<tile_gpu::ThreadIdOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::ThreadIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LLVM::ConstantRangeAttr range;
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    if (auto threads = function ? function->getAttrOfType<DenseI32ArrayAttr>(
                                      "nvvm.reqntid")
                                : DenseI32ArrayAttr())
      range =
          LLVM::ConstantRangeAttr::get(rewriter.getContext(), APInt(32, 0),
                                       APInt(32, threads.asArrayRef().front()));
    rewriter.replaceOpWithNewOp<NVVM::ThreadIdXOp>(op, rewriter.getI32Type(),
                                                   range);
    return success();
  }
};

struct BlockIdPattern : LoweringPattern<tile_gpu::BlockIdOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BlockIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LLVM::ConstantRangeAttr none;
    if (op.getAxis() == 0)
      rewriter.replaceOpWithNewOp<NVVM::BlockIdXOp>(op, rewriter.getI32Type(),
                                                    none);
    else if (op.getAxis() == 1)
      rewriter.replaceOpWithNewOp<NVVM::BlockIdYOp>(op, rewriter.getI32Type(),
                                                    none);
    else
      rewriter.replaceOpWithNewOp<NVVM::BlockIdZOp>(op, rewriter.getI32Type(),
                                                    none);
    return success();
  }
};

struct BarrierPattern : LoweringPattern<tile_gpu::BarrierOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value id = constant32(rewriter, loc, op.getId().value_or(0));
    auto call = [&](StringRef name, ValueRange operands) {
      LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getStringAttr(name),
                                    operands);
    };
    if (op.getCount())
      call("llvm.nvvm.barrier.cta.sync.aligned.count",
           ValueRange{id, constant32(rewriter, loc, *op.getCount())});
    else
      call("llvm.nvvm.barrier.cta.sync.aligned.all", ValueRange{id});
    rewriter.eraseOp(op);
    return success();
  }
};

struct WarpSyncPattern : LoweringPattern<tile_gpu::WarpSyncOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WarpSyncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::SyncWarpOp>(
        op, constant32(rewriter, op.getLoc(), -1));
    return success();
  }
};

struct CommitPattern : LoweringPattern<tile_gpu::AsyncCommitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::AsyncCommitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncCommitGroupOp>(op);
    return success();
  }
};

struct WaitPattern : LoweringPattern<tile_gpu::AsyncWaitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::AsyncWaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(op, op.getPending());
    return success();
  }
};

struct ShufflePattern : LoweringPattern<tile_gpu::ShuffleOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::ShuffleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value value = adaptor.getValue();
    Type type = value.getType();
    unsigned bits = type.getIntOrFloatBitWidth();
    Type i32 = rewriter.getI32Type();
    auto shuffle = [&](Value word) -> Value {
      auto kind = op.getKind() == tile_gpu::ShuffleKind::Xor
                      ? NVVM::ShflKind::bfly
                      : NVVM::ShflKind::idx;
      return NVVM::ShflOp::create(
          rewriter, loc, i32, constant32(rewriter, loc, -1), word,
          adaptor.getLane(), constant32(rewriter, loc, 31), kind, UnitAttr());
    };
    Type flat = rewriter.getIntegerType(bits);
    Value word =
        type == flat
            ? value
            : LLVM::BitcastOp::create(rewriter, loc, flat, value).getResult();
    if (bits == 64) {
      Type pair = VectorType::get({2}, i32);
      Value halves = LLVM::BitcastOp::create(rewriter, loc, pair, word);
      Value result = LLVM::PoisonOp::create(rewriter, loc, pair);
      for (int i = 0; i < 2; ++i) {
        Value index = constant32(rewriter, loc, i);
        Value half =
            LLVM::ExtractElementOp::create(rewriter, loc, halves, index);
        result = LLVM::InsertElementOp::create(rewriter, loc, result,
                                               shuffle(half), index);
      }
      word = LLVM::BitcastOp::create(rewriter, loc, flat, result);
    } else if (bits == 32) {
      word = shuffle(word);
    } else {
      Value wide = LLVM::ZExtOp::create(rewriter, loc, i32, word);
      word = LLVM::TruncOp::create(rewriter, loc, flat, shuffle(wide));
    }
    if (type != flat)
      word = LLVM::BitcastOp::create(rewriter, loc, type, word);
    rewriter.replaceOp(op, word);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// A pointer to a zero-terminated string constant of the module.
Value stringPointer(ConversionPatternRewriter &rewriter, Operation *op,
                    StringRef text) {
  auto gpuModule = op->getParentOfType<gpu::GPUModuleOp>();
  OpBuilder::InsertionGuard guard(rewriter);
  std::string contents = text.str();
  contents.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(rewriter.getI8Type(), contents.size());
  LLVM::GlobalOp global;
  for (auto existing : gpuModule.getOps<LLVM::GlobalOp>()) {
    auto value = dyn_cast_or_null<StringAttr>(existing.getValueOrNull());
    if (value && value.getValue() == contents)
      global = existing;
  }
  if (!global) {
    int number = 0;
    std::string name;
    do
      name = "tile_string_" + std::to_string(number++);
    while (gpuModule.lookupSymbol(name));
    rewriter.setInsertionPointToStart(gpuModule.getBody());
    global = LLVM::GlobalOp::create(
        rewriter, op->getLoc(), type, /*isConstant=*/true,
        LLVM::Linkage::Internal, name, rewriter.getStringAttr(contents),
        /*alignment=*/0,
        /*addrSpace=*/0);
  }
  rewriter.setInsertionPoint(op);
  return LLVM::AddressOfOp::create(
      rewriter, op->getLoc(), LLVM::LLVMPointerType::get(rewriter.getContext()),
      global.getSymName());
}

LLVM::LLVMFuncOp externalFunction(ConversionPatternRewriter &rewriter,
                                  Operation *op, StringRef name,
                                  LLVM::LLVMFunctionType type) {
  auto gpuModule = op->getParentOfType<gpu::GPUModuleOp>();
  if (auto found = gpuModule.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(gpuModule.getBody());
  return LLVM::LLVMFuncOp::create(rewriter, op->getLoc(), name, type);
}

/// Predicates have become control flow before.
struct PrintPattern : LoweringPattern<tile_gpu::PrintOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::PrintOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = rewriter.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context);
    // The format; arguments promoted as C promotes variadic ones.
    std::string format;
    for (char c : op.getMessage()) {
      if (c == '%')
        format += '%';
      format += c;
    }
    SmallVector<Value> values;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(adaptor.getScalars())) {
      Type type = op.getScalars()[i].getType();
      if (i)
        format += ' ';
      if (isa<FloatType>(type)) {
        Value wide = value;
        if (type.getIntOrFloatBitWidth() == 8)
          return rewriter.notifyMatchFailure(op,
                                             "8-bit floats are printed as f32");
        if (!type.isF64())
          wide = LLVM::FPExtOp::create(rewriter, loc, rewriter.getF64Type(),
                                       value);
        values.push_back(wide);
        format += "%f";
      } else {
        unsigned bits = type.getIntOrFloatBitWidth();
        Type wideType = rewriter.getIntegerType(bits > 32 ? 64 : 32);
        Value wide = value;
        if (bits < 32)
          wide = op.getIsUnsigned() || bits == 1
                     ? LLVM::ZExtOp::create(rewriter, loc, wideType, value)
                           .getResult()
                     : LLVM::SExtOp::create(rewriter, loc, wideType, value)
                           .getResult();
        values.push_back(wide);
        format += bits > 32 ? (op.getIsUnsigned() ? "%llu" : "%lld")
                            : (op.getIsUnsigned() ? "%u" : "%d");
      }
      types.push_back(values.back().getType());
    }
    format += '\n';
    Value formatPointer = stringPointer(rewriter, op, format);
    Value arguments;
    if (values.empty()) {
      arguments = LLVM::ZeroOp::create(rewriter, loc, pointer);
    } else {
      auto structType = LLVM::LLVMStructType::getLiteral(context, types);
      arguments = LLVM::AllocaOp::create(rewriter, loc, pointer, structType,
                                         constant32(rewriter, loc, 1));
      for (auto [i, value] : llvm::enumerate(values)) {
        Value field = LLVM::GEPOp::create(
            rewriter, loc, pointer, structType, arguments,
            ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
        LLVM::StoreOp::create(rewriter, loc, value, field);
      }
    }
    auto type =
        LLVM::LLVMFunctionType::get(rewriter.getI32Type(), {pointer, pointer});
    LLVM::LLVMFuncOp vprintf = externalFunction(rewriter, op, "vprintf", type);
    LLVM::CallOp::create(rewriter, loc, vprintf,
                         ValueRange{formatPointer, arguments});
    rewriter.eraseOp(op);
    return success();
  }
};

/// The condition has become control flow before; a constant false remains.
struct AssertPattern : LoweringPattern<tile_gpu::AssertOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::AssertOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = rewriter.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context);
    std::string file = "<unknown>";
    unsigned line = 0;
    loc->walk([&](Location inner) {
      auto at = dyn_cast<FileLineColLoc>(inner);
      if (!at)
        return WalkResult::advance();
      file = at.getFilename().str();
      line = at.getLine();
      return WalkResult::interrupt();
    });
    auto kernel = op->getParentOfType<LLVM::LLVMFuncOp>();
    Type i32 = rewriter.getI32Type(), i64 = rewriter.getI64Type();
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                    {pointer, pointer, i32, pointer, i64});
    LLVM::LLVMFuncOp fail =
        externalFunction(rewriter, op, "__assertfail", type);
    Value charSize = LLVM::ConstantOp::create(rewriter, loc, i64,
                                              rewriter.getI64IntegerAttr(1));
    LLVM::CallOp::create(
        rewriter, loc, fail,
        ValueRange{
            stringPointer(rewriter, op, op.getMessage()),
            stringPointer(rewriter, op, file), constant32(rewriter, loc, line),
            stringPointer(rewriter, op, kernel ? kernel.getName() : "kernel"),
            charSize});
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateCommunicationPatterns(
    const Lowering &lowering, RewritePatternSet &patterns) {
  patterns.add<ThreadIdPattern, BlockIdPattern, BarrierPattern, WarpSyncPattern,
               CommitPattern, WaitPattern, ShufflePattern, PrintPattern,
               AssertPattern>(lowering);
}
