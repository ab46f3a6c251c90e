//===- SelectExplicit.cpp - Instructions that the program names -*- C++ -*-===//
//
// Operations of the explicit layer have one instruction each: either the
// target has it, or the program is wrong. Products that the program waits for
// go through the passes as plain products with a mark, so that layouts are
// found for them as for others; tile-schedule-mma starts them where they stand
// and adds no wait.
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;

/// What the language calls an operation that sm_90 brought; empty for others.
static StringRef getHopperName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](BarrierInitOp) { return "T.alloc_barrier"; })
      .Case([](BarrierWaitOp) { return "T.mbarrier_wait_parity"; })
      .Case([](BarrierArriveOp) { return "T.mbarrier_arrive"; })
      .Case<BarrierExpectTxOp, ThreadExpectTxOp>(
          [](auto) { return "T.mbarrier_expect_tx"; })
      .Case([](FenceProxyOp) { return "T.fence_proxy_async"; })
      .Case([](ElectOp) { return "T.shuffle_elect"; })
      .Case([](BulkCommitOp) { return "T.tma_store_arrive"; })
      .Case([](BulkWaitOp) { return "T.tma_store_wait"; })
      .Case([](ClusterArriveOp) { return "T.cluster_arrive"; })
      .Case([](ClusterWaitOp) { return "T.cluster_wait"; })
      .Case([](SetMaxRegistersOp) { return "T.set_max_nreg"; })
      .Case([](CopyAsyncOp copy) {
        ChoiceAttr choice = copy.getChoiceAttr();
        return choice && choice.getPath() == Path::Tma ? "T.tma_copy" : "";
      })
      .Default([](Operation *) { return ""; });
}

static LogicalResult selectProduct(GemmAsyncOp product, TargetAttr target) {
  OpBuilder builder(product);
  OperationState state(product.getLoc(), GemmOp::getOperationName());
  state.addOperands({product.getA(), product.getB(), product.getC()});
  state.addAttributes(product->getAttrs());
  auto gemm = cast<GemmOp>(builder.create(state));
  gemm->setAttr(kUserProduct, builder.getUnitAttr());
  ::tilemlir::layout::Result<ChoiceAttr> choice = chooseWgmma(gemm, target);
  if (!choice) {
    gemm.emitError("T.wgmma_gemm has no other way: ") << choice.error();
    return failure();
  }
  gemm.setChoiceAttr(*choice);
  product.erase();
  return success();
}

/// Why a load cannot be shared as the program says; empty if it can.
static std::string refuseMask(CopyAsyncOp copy) {
  int64_t mask = getClusterMask(copy);
  if (!mask)
    return "";
  if (!copy.getBarrier())
    return "only loads go to several blocks";
  int64_t blocks = ClusterShape(getKernel(copy)).getBlocks();
  if (mask < 0 || mask >> blocks)
    return llvm::formatv("cluster_mask = {0} names blocks beyond the {1} of "
                         "the cluster",
                         mask, blocks);
  return "";
}

/// TMA has to do the copy; its boxes go into the choice.
static LogicalResult selectTmaCopy(CopyAsyncOp copy, TargetAttr target,
                                   IntegerAnalysis &integers) {
  OpBuilder builder(copy);
  auto plain = CopyOp::create(
      builder, copy.getLoc(), copy.getSource(), copy.getSourceOffsets(),
      copy.getSourceSizes(), copy.getDest(), copy.getDestOffsets(),
      copy.getDestSizes(), copy.getSafeAttr(), copy.getBoundsAttr(),
      ChoiceAttr(), /*disable_tma=*/false, copy.getEvictionPolicyAttr(),
      copy.getPreferAttr(), IntegerAttr());
  plain->setAttr(kUserCopy, builder.getUnitAttr());
  TmaPlan plan;
  std::string why = refuseMask(copy);
  if (why.empty())
    why = refuseTma(plain, target, integers, plan);
  if (why.empty()) {
    chooseTma(plain, plan);
    copy.setChoiceAttr(ChoiceAttr::get(copy.getContext(), Path::Tma,
                                       "T.tma_copy asks for it",
                                       plain.getChoice()->getArguments()));
  }
  plain.erase();
  if (!why.empty())
    return copy.emitError("T.tma_copy has no other way: ") << why;
  return success();
}

/// The warp groups that execute `op`, as a half-open range; nullopt if that is
/// not known.
static std::optional<std::pair<int64_t, int64_t>>
findWarpGroups(SetMaxRegistersOp op) {
  constexpr int64_t kWarps = 4;
  auto roles = op->getParentOfType<WarpSpecializeOp>();
  KernelOp kernel = getKernel(op);
  if (op->getParentOp() !=
      (roles ? roles.getOperation() : kernel.getOperation()))
    return std::nullopt;
  int64_t first = 0, warps = static_cast<int64_t>(kernel.getThreads()) / 32;
  if (RoleAttr role = getRole(op))
    first = role.getFirst(), warps = role.getWarps();
  if (first % kWarps || warps % kWarps)
    return std::nullopt;
  return std::pair(first / kWarps, (first + warps) / kWarps);
}

/// Why the registers that `set` asks for never come; empty if they do, or if
/// that is not known. Other warp groups give up no more than they ever do.
static std::string whyTooManyRegisters(SetMaxRegistersOp set) {
  constexpr int64_t kGroupThreads = 128;
  KernelOp kernel = getKernel(set);
  int64_t threads = kernel.getThreads();
  int64_t atLaunch = countRegistersAtLaunch(kernel, threads);
  auto asking = findWarpGroups(set);
  if (!asking || threads % kGroupThreads != 0)
    return "";
  SmallVector<int64_t> fewest(threads / kGroupThreads, atLaunch);
  WalkResult known = kernel.walk([&](SetMaxRegistersOp other) {
    auto groups = findWarpGroups(other);
    if (!groups)
      return WalkResult::interrupt();
    for (int64_t group = groups->first; group < groups->second; ++group)
      fewest[group] = std::min<int64_t>(fewest[group], other.getCount());
    return WalkResult::advance();
  });
  if (known.wasInterrupted())
    return "";
  int64_t kept = 0;
  for (auto [group, registers] : llvm::enumerate(fewest))
    if (static_cast<int64_t>(group) < asking->first ||
        static_cast<int64_t>(group) >= asking->second)
      kept += registers * kGroupThreads;
  int64_t asked = (asking->second - asking->first) * kGroupThreads *
                  static_cast<int64_t>(set.getCount());
  if (asked + kept <= threads * atLaunch)
    return "";
  return llvm::formatv(
      "its warp groups ask for {0} registers, others keep {1}, "
      "and {2} have {3}",
      asked, kept, describeThreads(kernel, threads), threads * atLaunch);
}

LogicalResult mlir::tile::selectExplicit(Operation *op, TargetAttr target,
                                         IntegerAnalysis &integers) {
  if (auto product = dyn_cast<GemmAsyncOp>(op))
    return product.getChoiceAttr() ? success() : selectProduct(product, target);
  StringRef name = getHopperName(op);
  if (name.empty())
    return success();
  if (target.getComputeCapability() < 90)
    return op->emitError(name)
           << " needs sm_90 or newer, the target is " << target.getArch();
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return selectTmaCopy(copy, target, integers);
  if (isa<SetMaxRegistersOp>(op) && !target.hasArchSpecificFeatures())
    return op->emitError(name)
           << " needs the arch-specific target (" << target.getArch() << "a)";
  if (auto set = dyn_cast<SetMaxRegistersOp>(op))
    if (std::string why = whyTooManyRegisters(set); !why.empty())
      return op->emitError(name) << " would wait for ever: " << why;
  return success();
}
