//===- Loops.cpp - counted loops with the test at the end -------*- C++ -*-===//
//
// A guard before the loop and one branch per iteration: the form that LLVM
// would rotate to, with metadata on the back edge. Loops that contain
// asynchronous copies, matrix operations or barriers were shaped by our passes
// and are not unrolled again.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

using namespace tilemlir::to_nvvm;
namespace tile = mlir::tile;
namespace tile_gpu = mlir::tile_gpu;

namespace {

/// Loop metadata that keeps LLVM from unrolling, or asks for a factor.
LLVM::LoopAnnotationAttr annotation(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto hint = loop->getAttrOfType<tile::LoopHintAttr>("tile.loop_hint");
  int64_t factor =
      hint && hint.getKind() == tile::LoopKind::Unroll ? hint.getFactor() : -1;
  bool shaped =
      loop.walk([](Operation *op) {
            return isa<tile_gpu::MmaOp, tile_gpu::AsyncCopyOp,
                       tile_gpu::AsyncCommitOp, tile_gpu::BarrierOp,
                       tile_gpu::WgmmaOp, tile_gpu::WgmmaWaitOp,
                       tile_gpu::MbarrierWaitOp, tile_gpu::MbarrierTryWaitOp,
                       tile_gpu::TmaLoadOp, tile_gpu::TmaStoreOp,
                       tile_gpu::TmaReduceOp, tile_gpu::BulkLoadOp,
                       tile_gpu::BulkStoreOp, tile_gpu::BulkReduceOp,
                       tile_gpu::NamedBarrierSyncOp,
                       tile_gpu::NamedBarrierArriveOp>(op)
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  bool serial = hint && hint.getKind() == tile::LoopKind::Serial;
  if (factor < 0 && !shaped && !serial)
    return {};
  auto flag = [&](bool value) { return BoolAttr::get(context, value); };
  LLVM::LoopUnrollAttr unroll;
  if (factor > 1)
    unroll = LLVM::LoopUnrollAttr::get(
        context, flag(false),
        IntegerAttr::get(IntegerType::get(context, 32), factor), {}, {}, {}, {},
        {});
  else if (factor == 0)
    unroll = LLVM::LoopUnrollAttr::get(context, flag(false), {}, {}, flag(true),
                                       {}, {}, {});
  else
    unroll =
        LLVM::LoopUnrollAttr::get(context, flag(true), {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

struct ForPattern : OpConversionPattern<scf::ForOp> {
  ForPattern(const Lowering &lowering)
      : OpConversionPattern(lowering.converter,
                            &lowering.converter.getContext(), kOurBenefit) {}

  LogicalResult
  matchAndRewrite(scf::ForOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    LLVM::LoopAnnotationAttr metadata = annotation(op);
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    SmallVector<Type> resultTypes;
    if (failed(
            getTypeConverter()->convertTypes(op.getResultTypes(), resultTypes)))
      return failure();
    SmallVector<Value> results;
    for (Type type : resultTypes)
      results.push_back(after->addArgument(type, loc));

    Block *body = op.getBody();
    auto yield = cast<scf::YieldOp>(body->getTerminator());
    rewriter.inlineRegionBefore(op.getRegion(), after);
    // The body may have become several blocks before; its last one yields.
    TypeConverter::SignatureConversion signature(body->getNumArguments());
    for (auto [i, argument] : llvm::enumerate(body->getArguments()))
      signature.addInputs(i,
                          getTypeConverter()->convertType(argument.getType()));
    Block *entry =
        rewriter.applySignatureConversion(body, signature, getTypeConverter());

    Type type = adaptor.getLowerBound().getType();
    auto predicate = LLVM::ICmpPredicate::slt;
    rewriter.setInsertionPointToEnd(before);
    Value enters =
        LLVM::ICmpOp::create(rewriter, loc, predicate, adaptor.getLowerBound(),
                             adaptor.getUpperBound());
    SmallVector<Value> first{adaptor.getLowerBound()};
    llvm::append_range(first, adaptor.getInitArgs());
    LLVM::CondBrOp::create(rewriter, loc, enters, entry, first, after,
                           adaptor.getInitArgs());

    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded;
    if (failed(rewriter.getRemappedValues(yield.getOperands(), yielded)))
      return failure();
    Value next =
        LLVM::AddOp::create(rewriter, loc, type, entry->getArgument(0),
                            adaptor.getStep(), LLVM::IntegerOverflowFlags::nsw);
    Value again = LLVM::ICmpOp::create(rewriter, loc, predicate, next,
                                       adaptor.getUpperBound());
    SmallVector<Value> carried{next};
    llvm::append_range(carried, yielded);
    auto branch = LLVM::CondBrOp::create(rewriter, loc, again, entry, carried,
                                         after, yielded);
    if (metadata)
      branch.setLoopAnnotationAttr(metadata);
    rewriter.eraseOp(yield);
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateLoopPatterns(const Lowering &lowering,
                                             RewritePatternSet &patterns) {
  patterns.add<ForPattern>(lowering);
}
