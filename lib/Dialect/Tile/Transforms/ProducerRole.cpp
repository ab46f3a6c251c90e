//===- ProducerRole.cpp - whether loads get warps of their own --*- C++ -*-===//
//
// A producer role pays when loads are started by TMA: then one thread feeds
// the ring, and the consumers never wait for addresses. Everything that the
// producer needs has to be computable by it alone.
//
// Register budgets: 65536 registers of an SM are shared by its blocks at launch
// in equal parts, rounded down to a multiple of 8 per thread; setmaxnreg moves
// them between warp groups of a block, from 24 to 256 (PTX ISA, "setmaxnreg").
// What a group asks for and others have not given up it waits for, for ever.
// With one consumer group and one block every thread can have 255 from the
// start.
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
/// CUDA programming guide, compute capability 9.0.
static constexpr int64_t kThreadsOfMultiprocessor = 2048;

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

int64_t mlir::tile::countThreadsSideBySide(KernelOp kernel, int64_t threads) {
  auto blocks = static_cast<int64_t>(kernel.getMinBlocksPerSm().value_or(1));
  // More than fit are not there, and the assembler ignores the wish.
  int64_t most = std::max<int64_t>(kThreadsOfMultiprocessor / threads, 1);
  return threads * std::clamp<int64_t>(blocks, 1, most);
}

int64_t mlir::tile::countRegistersAtLaunch(KernelOp kernel, int64_t threads) {
  return ::tilemlir::layout::registersAtLaunch(
      countThreadsSideBySide(kernel, threads));
}

std::string mlir::tile::describeThreads(KernelOp kernel, int64_t threads) {
  int64_t blocks = countThreadsSideBySide(kernel, threads) / threads;
  std::string text = std::to_string(threads) + " threads";
  if (blocks > 1)
    text +=
        " in each of " + std::to_string(blocks) + " blocks on a multiprocessor";
  return text;
}

SmallVector<RoleAttr>
mlir::tile::getAutomaticRoles(KernelOp kernel, int64_t groups, bool single) {
  int64_t producer = 0, consumer = 0;
  int64_t threads = (groups + 1) * kWarpGroup;
  int64_t atLaunch = countRegistersAtLaunch(kernel, threads);
  int64_t kept = single ? 24 : groups == 3 ? 32 : 40;
  auto asked = kernel->getAttrOfType<DenseI64ArrayAttr>("tile.role_registers");
  if (asked && asked.size() != 2)
    asked = {};
  if (asked && asked[0] >= 0)
    kept = asked[0];
  if (groups <= 3 && kept && atLaunch > kept &&
      atLaunch < ::tilemlir::layout::kMaxThreadRegisters) {
    producer = kept;
    consumer = ((groups + 1) * atLaunch - kept) / groups / 8 * 8;
  }
  if (asked) {
    producer = asked[0] < 0 ? producer : asked[0];
    consumer = asked[1] < 0 ? consumer : asked[1];
  }
  MLIRContext *context = kernel.getContext();
  return {RoleAttr::get(context, RoleKind::Producer, /*first=*/0, /*warps=*/4,
                        producer, single),
          RoleAttr::get(context, RoleKind::Consumer, /*first=*/4, 4 * groups,
                        consumer, /*single=*/false)};
}

std::string mlir::tile::whyNotRegisters(KernelOp kernel,
                                        ArrayRef<RoleAttr> roles) {
  int64_t threads = 0, needed = 0;
  for (RoleAttr role : roles)
    threads += role.getThreads();
  int64_t atLaunch = countRegistersAtLaunch(kernel, threads);
  for (RoleAttr role : roles)
    needed += role.getThreads() *
              (role.getRegisters() ? role.getRegisters() : atLaunch);
  if (needed <= threads * atLaunch)
    return "";
  return "the roles of the kernel ask for " + std::to_string(needed) +
         " registers together, and " + describeThreads(kernel, threads) +
         " have " + std::to_string(threads * atLaunch);
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
  int64_t sharing = countThreadsSideBySide(kernel, threads);
  int64_t atLaunch = countRegistersAtLaunch(kernel, threads);
  RoleAttr consumer = getAutomaticRoles(kernel, groups, /*single=*/true).back();
  int64_t later = std::max<int64_t>(atLaunch, consumer.getRegisters());
  std::string reason;
  auto refuse = [&](int64_t registers, const Twine &when, int64_t sums) {
    reason = (describeThreads(kernel, threads) + " have " + Twine(registers) +
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
    if (choice->n > ::tilemlir::layout::wgmmaColumnsForThreads(sharing, bits))
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
