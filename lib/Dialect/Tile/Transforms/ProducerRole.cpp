//===- ProducerRole.cpp - whether loads get warps of their own --*- C++ -*-===//
//
// A producer role pays when loads are started by TMA: then one thread feeds
// the ring, and the consumers never wait for addresses. Everything that the
// producer needs has to be computable by it alone.
//
// Register budgets: 65536 registers of an SM are shared by the block at launch
// in equal parts, rounded down to a multiple of 8 per thread; setmaxnreg moves
// them between warp groups, from 24 to 256 (PTX ISA, "setmaxnreg"). With one
// consumer group every thread can have 255 from the start.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/WgmmaFragments.h"

using namespace mlir;
using namespace mlir::tile;

static constexpr int64_t kWarpGroup = 128;

bool mlir::tile::canSpecialize(TargetAttr target) {
  return target && target.getComputeCapability() == 90 &&
         target.hasArchSpecificFeatures();
}

int64_t mlir::tile::countConsumerGroups(KernelOp kernel) {
  int64_t groups = kernel.getThreads() / kWarpGroup;
  bool takeTurns = kernel
                       .walk([](Operation *op) {
                         return op->hasAttr(kPingPong) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                       })
                       .wasInterrupted();
  return groups == 1 && takeTurns ? 2 : groups;
}

SmallVector<RoleAttr>
mlir::tile::getAutomaticRoles(KernelOp kernel, int64_t groups, bool single) {
  int64_t producer = 0, consumer = 0;
  if (groups == 2) {
    producer = single ? 24 : 40;
    consumer = single ? 240 : 232;
  } else if (groups == 3) {
    producer = single ? 24 : 32;
    consumer = 160;
  }
  auto asked = kernel->getAttrOfType<DenseI64ArrayAttr>("tile.role_registers");
  if (asked && asked.size() == 2) {
    producer = asked[0] < 0 ? producer : asked[0];
    consumer = asked[1] < 0 ? consumer : asked[1];
  }
  MLIRContext *context = kernel.getContext();
  return {RoleAttr::get(context, RoleKind::Producer, /*first=*/0, /*warps=*/4,
                        producer, single),
          RoleAttr::get(context, RoleKind::Consumer, /*first=*/4, 4 * groups,
                        consumer, /*single=*/false)};
}

/// Whether the threads of a producer can do `op` for themselves.
static std::optional<std::string> whyNotByProducer(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy)
    return "only copies are left to the producer role";
  ChoiceAttr choice = copy.getChoiceAttr();
  if (!choice ||
      (choice.getPath() != Path::Tma && choice.getPath() != Path::CpAsync))
    return "it is no asynchronous copy";
  return std::nullopt;
}

/// Why the registers are too few for a wgmma of the kernel when a producer
/// comes on top; empty if they are not. One instruction has to fit what every
/// thread gets at launch, or the assembler refuses the kernel whatever
/// setmaxnreg asks for later; all its sums together have to fit what consumers
/// get then, beside what a loop of products needs for itself.
static std::string whyTooFewRegisters(KernelOp kernel) {
  constexpr int64_t kRegistersOfLoop = 32;
  int64_t groups = countConsumerGroups(kernel);
  int64_t threads = (groups + 1) * kWarpGroup;
  int64_t atLaunch = ::tilemlir::layout::registersAtLaunch(threads);
  RoleAttr consumer = getAutomaticRoles(kernel, groups, /*single=*/true).back();
  int64_t later = std::max<int64_t>(atLaunch, consumer.getRegisters());
  std::string reason;
  auto refuse = [&](int64_t registers, const Twine &when, int64_t sums) {
    reason = (Twine(threads) + " threads have " + Twine(registers) +
              " registers each " + when + ", too few for " + Twine(sums) +
              " of accumulators")
                 .str();
  };
  kernel.walk([&](GemmOp gemm) {
    std::optional<WgmmaChoice> choice = getWgmmaChoice(gemm.getChoiceAttr());
    if (!choice)
      return;
    BufferType type = gemm.getC().getType();
    int64_t sums = type.getNumElements() * type.getElementBits() / 32 /
                   static_cast<int64_t>(kernel.getThreads());
    int64_t bits = type.getElementBits();
    if (choice->n > ::tilemlir::layout::wgmmaColumnsForThreads(threads, bits))
      refuse(atLaunch, "at launch", choice->n / 2 * bits / 32);
    else if (sums + kRegistersOfLoop > later)
      refuse(later, "as consumers", sums);
  });
  return reason;
}

ProducerPlan mlir::tile::planProducerRole(KernelOp kernel,
                                          RunAheadFilter whyNot) {
  ProducerPlan result;
  auto refuse = [&](const Twine &reason) {
    result.reason = reason.str();
    result.plans.clear();
    return result;
  };
  TargetAttr target = getTarget(kernel);
  if (!canSpecialize(target))
    return refuse("the target has no TMA with warp-specialised registers");
  if (OptionsAttr::of(kernel).getFlag("disable_warp_specialized", false))
    return refuse("disabled by disable_warp_specialized");
  int64_t threads = kernel.getThreads();
  if (threads % kWarpGroup != 0)
    return refuse(Twine(threads) + " threads are no whole warp groups");
  if (threads > 3 * kWarpGroup)
    return refuse(Twine(threads) +
                  " threads and a producer leave too few registers");
  bool hasRoles =
      kernel.walk([](WarpSpecializeOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (hasRoles)
    return refuse("the program names its roles itself");
  // The threads of a producer would not come.
  bool meetsCluster = kernel
                          .walk([](Operation *op) {
                            return isa<ClusterArriveOp, ClusterWaitOp>(op)
                                       ? WalkResult::interrupt()
                                       : WalkResult::advance();
                          })
                          .wasInterrupted();
  if (meetsCluster)
    return refuse("the program uses the barrier of the cluster itself");

  if (std::string why = whyTooFewRegisters(kernel); !why.empty())
    return refuse(why);

  ClonableValues clonable(kernel);
  std::string whyNoWait;
  kernel.walk([&](DependencyWaitOp wait) {
    if (std::optional<std::string> reason = clonable.whyNotReached(wait))
      whyNoWait = "the producer role would have to wait for earlier launches, "
                  "too, but of " +
                  describeForUser(wait) + ", " + *reason;
  });
  if (!whyNoWait.empty())
    return refuse(whyNoWait);
  result.plans =
      planProducer(kernel, [&](Operation *op) -> std::optional<std::string> {
        if (std::optional<std::string> reason = whyNot(op))
          return reason;
        if (std::optional<std::string> reason = whyNotByProducer(op))
          return reason;
        if (std::optional<std::string> reason = clonable.whyNotReached(op))
          return reason;
        if (std::optional<std::string> reason = clonable.whyNotOperands(op))
          return "the producer role cannot compute its place: " + *reason;
        return std::nullopt;
      });
  bool fetches =
      kernel.walk([](FetchTileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  bool hasTma = false;
  std::string reasons;
  for (const RunAheadPlan &plan : result.plans) {
    for (Operation *op : plan.producers) {
      bool isTma = cast<CopyOp>(op).getChoice()->getPath() == Path::Tma;
      hasTma |= isTma;
      if (fetches && !isTma)
        return refuse("one thread fetches the tiles, and " +
                      describeForUser(op) + " takes more");
    }
    for (auto &[op, reason] : plan.refused)
      reasons +=
          (reasons.empty() ? "" : "; ") + describeForUser(op) + ": " + reason;
  }
  if (hasTma)
    return result;
  if (result.plans.empty())
    return refuse("no loop is pipelined");
  return refuse("no load of a pipelined loop can be left to it by TMA" +
                (reasons.empty() ? "" : " (" + reasons + ")"));
}
