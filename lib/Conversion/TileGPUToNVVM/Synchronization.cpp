//===- Synchronization.cpp - mbarriers, roles, clusters, fences -*- C++ -*-===//
//
// Everything here is inline assembly with a memory clobber: the order of these
// operations among each other and with memory accesses is their meaning.
//
//===----------------------------------------------------------------------===//
#include "InlineAssembly.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace tilemlir::to_nvvm;
namespace tile_gpu = mlir::tile_gpu;

namespace {

/// An operation that becomes one instruction: `write` gives the text and
/// collects the operands.
template <typename Op> struct InstructionPattern : LoweringPattern<Op> {
  using Adaptor = typename LoweringPattern<Op>::OpAdaptor;
  using Writer = std::string (*)(Op op, Adaptor adaptor, OpBuilder &b,
                                 InlineAssembly &assembly);
  InstructionPattern(const Lowering &lowering, Writer write)
      : LoweringPattern<Op>(lowering), write(write) {}

  LogicalResult
  matchAndRewrite(Op op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    InlineAssembly assembly(rewriter, op.getLoc());
    assembly.emitOrdered(write(op, adaptor, rewriter, assembly));
    rewriter.eraseOp(op);
    return success();
  }
  Writer write;
};

template <typename Op>
void addInstruction(const Lowering &lowering, RewritePatternSet &patterns,
                    typename InstructionPattern<Op>::Writer write) {
  patterns.add<InstructionPattern<Op>>(lowering, write);
}

/// "[$n]" for the mbarrier operand.
template <typename Adaptor>
std::string barrierAddress(Adaptor adaptor, OpBuilder &b, Location loc,
                           InlineAssembly &assembly) {
  return "[" + assembly.input(sharedAddress(b, loc, adaptor.getBarrier())) +
         "]";
}

/// Byte `offset` of the arena of the block with rank `rank`. The mapped base
/// does not depend on the offset: it is computed where the rank is, once for
/// all loops behind.
Value mapShared(OpBuilder &b, Location loc, Value offset, Value rank) {
  Value mapped;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(rank);
    Value base = sharedAddress(b, loc, constant32(b, loc, 0));
    InlineAssembly assembly(b, loc);
    std::string result = assembly.output(b.getI32Type());
    std::string address = assembly.input(base);
    std::string text = "mapa.shared::cluster.u32 " + result + ", " + address +
                       ", " + assembly.input(rank) + ";";
    mapped = assembly.emit(text, /*sideEffects=*/false, /*memory=*/false)[0];
  }
  return LLVM::AddOp::create(b, loc, mapped, offset);
}

//===----------------------------------------------------------------------===//
// Instructions without results
//===----------------------------------------------------------------------===//

void addBarrierInstructions(const Lowering &lowering,
                            RewritePatternSet &patterns) {
  addInstruction<tile_gpu::MbarrierInitOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        return "mbarrier.init.shared::cta.b64 " +
               barrierAddress(adaptor, b, op.getLoc(), assembly) + ", " +
               std::to_string(op.getCount()) + ";";
      });
  addInstruction<tile_gpu::MbarrierExpectTxOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        std::string address = barrierAddress(adaptor, b, op.getLoc(), assembly);
        std::string bytes =
            assembly.input(adaptor.getBytes(), /*immediate=*/true);
        std::string name =
            op.getNoArrive() ? "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 "
                             : "mbarrier.arrive.expect_tx.shared::cta.b64 _, ";
        std::string guard = assembly.guard(adaptor.getPredicate());
        return guard + name + address + ", " + bytes + ";";
      });
  addInstruction<tile_gpu::MbarrierArriveOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        std::string address = barrierAddress(adaptor, b, op.getLoc(), assembly);
        std::string guard = assembly.guard(adaptor.getPredicate());
        std::string count =
            op.getCount() == 1 ? "" : ", " + std::to_string(op.getCount());
        return guard + "mbarrier.arrive.shared::cta.b64 _, " + address + count +
               ";";
      });
  // Not `.release.cluster`: that would be a fence of device scope in every
  // iteration, and only the async proxy uses what is released.
  addInstruction<tile_gpu::MbarrierArriveClusterOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        std::string address = assembly.input(
            mapShared(b, op.getLoc(), adaptor.getBarrier(), adaptor.getRank()));
        std::string guard = assembly.guard(adaptor.getPredicate());
        return guard + "mbarrier.arrive.shared::cluster.b64 _, [" + address +
               "];";
      });
  addInstruction<tile_gpu::MbarrierArriveCpAsyncOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        return "cp.async.mbarrier.arrive.noinc.shared::cta.b64 " +
               barrierAddress(adaptor, b, op.getLoc(), assembly) + ";";
      });
  // A branch of its own, which the assembler moves nothing across.
  addInstruction<tile_gpu::MbarrierWaitOp>(
      lowering, patterns,
      [](auto op, auto adaptor, OpBuilder &b, InlineAssembly &assembly) {
        std::string address = barrierAddress(adaptor, b, op.getLoc(), assembly);
        std::string parity = assembly.input(adaptor.getParity());
        return "{\n.reg .pred complete;\n"
               "wait_${:uid}:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 complete, " +
               address + ", " + parity +
               ";\n"
               "@complete bra done_${:uid};\n"
               "bra wait_${:uid};\n"
               "done_${:uid}:\n}";
      });
}

/// `barrier.sync` or `barrier.arrive`. A constant id stays an immediate:
/// otherwise all sixteen barriers count as used.
template <typename Op>
void addNamedBarrier(const Lowering &lowering, RewritePatternSet &patterns) {
  addInstruction<Op>(
      lowering, patterns,
      [](Op op, auto adaptor, OpBuilder &, InlineAssembly &assembly) {
        std::string name = std::is_same_v<Op, tile_gpu::NamedBarrierSyncOp>
                               ? "barrier.sync.aligned "
                               : "barrier.arrive.aligned ";
        return name + assembly.input(adaptor.getId(), /*immediate=*/true) +
               ", " + std::to_string(op.getThreads()) + ";";
      });
}

template <typename Op>
void addPlain(const Lowering &lowering, RewritePatternSet &patterns,
              std::string (*text)(Op)) {
  struct Pattern : LoweringPattern<Op> {
    Pattern(const Lowering &lowering, std::string (*text)(Op))
        : LoweringPattern<Op>(lowering), text(text) {}
    LogicalResult
    matchAndRewrite(Op op, typename LoweringPattern<Op>::OpAdaptor,
                    ConversionPatternRewriter &rewriter) const override {
      InlineAssembly(rewriter, op.getLoc()).emitOrdered(text(op));
      rewriter.eraseOp(op);
      return success();
    }
    std::string (*text)(Op);
  };
  patterns.add<Pattern>(lowering, text);
}

std::string fenceText(tile_gpu::ProxyKind kind) {
  switch (kind) {
  case tile_gpu::ProxyKind::Async:
    return "fence.proxy.async;";
  case tile_gpu::ProxyKind::AsyncSharedCta:
    return "fence.proxy.async.shared::cta;";
  case tile_gpu::ProxyKind::AsyncSharedCluster:
    return "fence.proxy.async.shared::cluster;";
  case tile_gpu::ProxyKind::AsyncGlobal:
    return "fence.proxy.async.global;";
  case tile_gpu::ProxyKind::TensorMapRelease:
    return "fence.proxy.tensormap::generic.release.gpu;";
  }
  llvm_unreachable("unknown proxy");
}

void addPlainInstructions(const Lowering &lowering,
                          RewritePatternSet &patterns) {
  addPlain<tile_gpu::MbarrierInitFenceOp>(lowering, patterns, [](auto) {
    return std::string("fence.mbarrier_init.release.cluster;");
  });
  addPlain<tile_gpu::FenceProxyOp>(
      lowering, patterns, [](auto op) { return fenceText(op.getKind()); });
  addPlain<tile_gpu::ClusterArriveOp>(lowering, patterns, [](auto op) {
    return std::string("barrier.cluster.arrive.") +
           (op.getRelaxed() ? "relaxed" : "release") + ".aligned;";
  });
  addPlain<tile_gpu::ClusterWaitOp>(lowering, patterns, [](auto) {
    return std::string("barrier.cluster.wait.acquire.aligned;");
  });
  addPlain<tile_gpu::SetMaxRegistersOp>(lowering, patterns, [](auto op) {
    bool more = op.getAction() == tile_gpu::RegisterAction::Increase;
    return std::string("setmaxnreg.") + (more ? "inc" : "dec") +
           ".sync.aligned.u32 " + std::to_string(op.getCount()) + ";";
  });
  // The tensors are operands because memory changes that only the kernel can
  // reach otherwise, as far as the optimiser knows: loads stay behind it.
  addInstruction<tile_gpu::GriddepcontrolWaitOp>(
      lowering, patterns,
      [](auto op, auto, OpBuilder &, InlineAssembly &assembly) {
        auto function = op->template getParentOfType<LLVM::LLVMFuncOp>();
        for (BlockArgument argument : function.getArguments())
          if (function.getArgAttr(argument.getArgNumber(),
                                  LLVM::LLVMDialect::getNoAliasAttrName()))
            assembly.input(argument);
        return std::string("griddepcontrol.wait;");
      });
  addPlain<tile_gpu::GriddepcontrolLaunchDependentsOp>(
      lowering, patterns,
      [](auto) { return std::string("griddepcontrol.launch_dependents;"); });
}

//===----------------------------------------------------------------------===//
// Operations with results
//===----------------------------------------------------------------------===//

struct TryWaitPattern : LoweringPattern<tile_gpu::MbarrierTryWaitOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::MbarrierTryWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    InlineAssembly assembly(rewriter, loc);
    std::string result = assembly.output(rewriter.getI32Type());
    std::string address = barrierAddress(adaptor, rewriter, loc, assembly);
    std::string parity = assembly.input(adaptor.getParity());
    Value word = assembly.emitOrdered(
        "{\n.reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, " +
        address + ", " + parity + ";\nselp.b32 " + result +
        ", 1, 0, complete;\n}")[0];
    rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne, word,
                                              constant32(rewriter, loc, 0));
    return success();
  }
};

struct ElectPattern : LoweringPattern<tile_gpu::ElectOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::ElectOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type pair = LLVM::LLVMStructType::getLiteral(
        rewriter.getContext(), {rewriter.getI32Type(), rewriter.getI1Type()});
    Value elected = callIntrinsic(rewriter, loc, pair, "llvm.nvvm.elect.sync",
                                  constant32(rewriter, loc, -1));
    rewriter.replaceOpWithNewOp<LLVM::ExtractValueOp>(op, elected, 1);
    return success();
  }
};

struct WarpIdPattern : LoweringPattern<tile_gpu::WarpIdOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::WarpIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value thread = tile_gpu::ThreadIdOp::create(rewriter, loc, i32);
    Value warp = LLVM::LShrOp::create(rewriter, loc, thread,
                                      constant32(rewriter, loc, 5));
    rewriter.replaceOpWithNewOp<NVVM::ShflOp>(
        op, i32, constant32(rewriter, loc, -1), warp,
        constant32(rewriter, loc, 0), constant32(rewriter, loc, 31),
        NVVM::ShflKind::idx, UnitAttr());
    return success();
  }
};

struct ClusterRankPattern : LoweringPattern<tile_gpu::ClusterRankOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::ClusterRankOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op,
        callIntrinsic(rewriter, op.getLoc(), rewriter.getI32Type(),
                      "llvm.nvvm.read.ptx.sreg.cluster.ctarank", ValueRange()));
    return success();
  }
};

struct ClusterIdPattern : LoweringPattern<tile_gpu::ClusterIdOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::ClusterIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::string name = "llvm.nvvm.read.ptx.sreg.clusterid.";
    name += "xyz"[op.getAxis()];
    rewriter.replaceOp(op, callIntrinsic(rewriter, op.getLoc(),
                                         rewriter.getI32Type(), name,
                                         ValueRange()));
    return success();
  }
};

struct SharedAddressPattern : LoweringPattern<tile_gpu::SharedAddressOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::SharedAddressOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, sharedAddress(rewriter, op.getLoc(), adaptor.getOffset()));
    return success();
  }
};

struct MapSharedPattern : LoweringPattern<tile_gpu::MapSharedOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::MapSharedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, mapShared(rewriter, op.getLoc(), adaptor.getOffset(),
                                     adaptor.getRank()));
    return success();
  }
};

struct PtxPattern : LoweringPattern<tile_gpu::PtxOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::PtxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    InlineAssembly assembly(rewriter, loc);
    for (Type type : op.getResultTypes())
      assembly.output(registerType(type));
    SmallVector<Value> registers;
    for (Value operand : adaptor.getOperands())
      splitRegisters(rewriter, loc, operand, registers);
    for (Value value : registers)
      assembly.input(value);
    SmallVector<Value> outputs = assembly.emitOrdered(op.getText());
    SmallVector<Value> results;
    ArrayRef<Value> rest = outputs;
    for (Type type : op.getResultTypes())
      results.push_back(joinRegisters(rewriter, loc, type, rest));
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateSynchronizationPatterns(
    const Lowering &lowering, RewritePatternSet &patterns) {
  addBarrierInstructions(lowering, patterns);
  addNamedBarrier<tile_gpu::NamedBarrierSyncOp>(lowering, patterns);
  addNamedBarrier<tile_gpu::NamedBarrierArriveOp>(lowering, patterns);
  addPlainInstructions(lowering, patterns);
  patterns.add<TryWaitPattern, ElectPattern, WarpIdPattern, ClusterRankPattern,
               ClusterIdPattern, SharedAddressPattern, MapSharedPattern,
               PtxPattern>(lowering);
}
