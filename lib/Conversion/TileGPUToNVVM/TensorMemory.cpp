//===- TensorMemory.cpp - the tensor memory accelerator ---------*- C++ -*-===//
//
// Copies of boxes and of consecutive bytes. Inline assembly rather than the
// intrinsics of NVVM: LLVM takes those for accesses to their pointers alone,
// and may move them across the mbarrier operations that they belong to.
//
//===----------------------------------------------------------------------===//
#include "InlineAssembly.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

/// A descriptor is a pointer to the kernel's parameter.
struct TensorMapParameterPattern
    : LoweringPattern<tile_gpu::TensorMapParameterOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TensorMapParameterOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getPointer());
    return success();
  }
};

/// Encodings of the L2 policies that `createpolicy` would give.
uint64_t getPolicy(tile_gpu::CacheHint hint) {
  switch (hint) {
  case tile_gpu::CacheHint::EvictFirst:
    return 0x12F0000000000000;
  case tile_gpu::CacheHint::EvictLast:
    return 0x14F0000000000000;
  default:
    return 0x1000000000000000;
  }
}

/// One instruction with its optional trailing operands.
class Transfer {
public:
  Transfer(Operation *op, OpBuilder &b)
      : op(op), b(b), assembly(b, op->getLoc()) {}

  std::string shared(Value offset) {
    return "[" + assembly.input(sharedAddress(b, op->getLoc(), offset)) + "]";
  }
  std::string global(Value pointer) {
    return "[" + assembly.input(pointer) + "]";
  }
  /// "[map, {x, y}]"
  std::string box(Value map, ValueRange coordinates) {
    Value address =
        LLVM::PtrToIntOp::create(b, op->getLoc(), b.getI64Type(), map);
    std::string text = "[" + assembly.input(address) + ", {";
    for (auto [i, coordinate] : llvm::enumerate(coordinates))
      text += (i ? ", " : "") + assembly.input(coordinate);
    return text + "}]";
  }
  std::string number(Value value) {
    return assembly.input(value, /*immediate=*/true);
  }

  /// `name` gets the suffixes that belong to the trailing operands.
  void emit(std::string name, std::string operands, Value multicast,
            tile_gpu::CacheHint hint, Value predicate, StringRef nameEnd = "") {
    if (multicast) {
      name += ".multicast::cluster";
      operands += ", " + assembly.input(multicast);
    }
    if (hint != tile_gpu::CacheHint::None) {
      name += ".L2::cache_hint";
      Value policy = LLVM::ConstantOp::create(
          b, op->getLoc(), b.getI64Type(),
          b.getI64IntegerAttr(static_cast<int64_t>(getPolicy(hint))));
      operands += ", " + assembly.input(policy);
    }
    std::string guard = assembly.guard(predicate);
    assembly.emitOrdered(guard + name + nameEnd.str() + " " + operands + ";");
  }

private:
  Operation *op;
  OpBuilder &b;
  InlineAssembly assembly;
};

std::string rankOf(ValueRange coordinates) {
  return std::to_string(coordinates.size()) + "d";
}

struct TmaLoadPattern : LoweringPattern<tile_gpu::TmaLoadOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TmaLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands = transfer.shared(adaptor.getAddress()) + ", ";
    operands += transfer.box(adaptor.getMap(), adaptor.getCoordinates()) + ", ";
    operands += transfer.shared(adaptor.getBarrier());
    transfer.emit("cp.async.bulk.tensor." + rankOf(adaptor.getCoordinates()) +
                      ".shared::cluster.global.tile.mbarrier::complete_tx::"
                      "bytes",
                  operands, adaptor.getMulticast(), op.getCacheHint(),
                  adaptor.getPredicate());
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaStorePattern : LoweringPattern<tile_gpu::TmaStoreOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TmaStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands =
        transfer.box(adaptor.getMap(), adaptor.getCoordinates()) + ", ";
    operands += transfer.shared(adaptor.getAddress());
    transfer.emit("cp.async.bulk.tensor." + rankOf(adaptor.getCoordinates()) +
                      ".global.shared::cta.tile.bulk_group",
                  operands, Value(), op.getCacheHint(), adaptor.getPredicate());
    rewriter.eraseOp(op);
    return success();
  }
};

struct TmaReducePattern : LoweringPattern<tile_gpu::TmaReduceOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TmaReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands =
        transfer.box(adaptor.getMap(), adaptor.getCoordinates()) + ", ";
    operands += transfer.shared(adaptor.getAddress());
    transfer.emit("cp.reduce.async.bulk.tensor." +
                      rankOf(adaptor.getCoordinates()) +
                      ".global.shared::cta." +
                      tile_gpu::stringifyReductionKind(op.getKind()).str() +
                      ".tile.bulk_group",
                  operands, Value(), op.getCacheHint(), adaptor.getPredicate());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Address of the element that a 1-D copy begins with.
template <typename Op, typename Adaptor>
Value elementPointer(Op op, Adaptor adaptor, const TypeConverter &converter,
                     OpBuilder &b) {
  Type element = cast<MemRefType>(op.getTensor().getType()).getElementType();
  return globalPointer(b, op.getLoc(), adaptor.getTensor(),
                       converter.convertType(tile::getScalarType(element)),
                       adaptor.getOffset());
}

struct BulkLoadPattern : LoweringPattern<tile_gpu::BulkLoadOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BulkLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands = transfer.shared(adaptor.getAddress()) + ", ";
    operands += transfer.global(elementPointer(op, adaptor, *getTypeConverter(),
                                               rewriter)) +
                ", ";
    operands += transfer.number(adaptor.getBytes()) + ", ";
    operands += transfer.shared(adaptor.getBarrier());
    transfer.emit(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        operands, adaptor.getMulticast(), op.getCacheHint(),
        adaptor.getPredicate());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkStorePattern : LoweringPattern<tile_gpu::BulkStoreOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BulkStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands = transfer.global(elementPointer(
                               op, adaptor, *getTypeConverter(), rewriter)) +
                           ", ";
    operands += transfer.shared(adaptor.getAddress()) + ", ";
    operands += transfer.number(adaptor.getBytes());
    transfer.emit("cp.async.bulk.global.shared::cta.bulk_group", operands,
                  Value(), op.getCacheHint(), adaptor.getPredicate());
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkReducePattern : LoweringPattern<tile_gpu::BulkReduceOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BulkReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Transfer transfer(op, rewriter);
    std::string operands = transfer.global(elementPointer(
                               op, adaptor, *getTypeConverter(), rewriter)) +
                           ", ";
    operands += transfer.shared(adaptor.getAddress()) + ", ";
    operands += transfer.number(adaptor.getBytes());
    Type element = cast<MemRefType>(op.getTensor().getType()).getElementType();
    std::string suffix =
        "." + tile_gpu::stringifyReductionKind(op.getKind()).str() + "." +
        tile_gpu::getReductionSuffix(op.getKind(), element);
    transfer.emit("cp.reduce.async.bulk.global.shared::cta.bulk_group",
                  operands, Value(), op.getCacheHint(), adaptor.getPredicate(),
                  suffix);
    rewriter.eraseOp(op);
    return success();
  }
};

struct PrefetchMapPattern : LoweringPattern<tile_gpu::TmaPrefetchMapOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TmaPrefetchMapOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAssembly assembly(rewriter, op.getLoc());
    Value address = LLVM::PtrToIntOp::create(
        rewriter, op.getLoc(), rewriter.getI64Type(), adaptor.getMap());
    std::string map = assembly.input(address);
    assembly.emitOrdered("prefetch.tensormap [" + map + "];");
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkCommitPattern : LoweringPattern<tile_gpu::BulkCommitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BulkCommitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAssembly assembly(rewriter, op.getLoc());
    std::string guard = assembly.guard(adaptor.getPredicate());
    assembly.emitOrdered(guard + "cp.async.bulk.commit_group;");
    rewriter.eraseOp(op);
    return success();
  }
};

struct BulkWaitPattern : LoweringPattern<tile_gpu::BulkWaitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::BulkWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAssembly assembly(rewriter, op.getLoc());
    std::string guard = assembly.guard(adaptor.getPredicate());
    assembly.emitOrdered(guard + "cp.async.bulk.wait_group" +
                         (op.getRead() ? ".read " : " ") +
                         std::to_string(op.getPending()) + ";");
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateTensorMemoryPatterns(
    const Lowering &lowering, RewritePatternSet &patterns) {
  patterns.add<TensorMapParameterPattern, TmaLoadPattern, TmaStorePattern,
               TmaReducePattern, BulkLoadPattern, BulkStorePattern,
               BulkReducePattern, PrefetchMapPattern, BulkCommitPattern,
               BulkWaitPattern>(lowering);
}
