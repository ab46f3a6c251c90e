//===- PlanPipeline.cpp - decide what runs ahead in loops -------*- C++ -*-===//
//
// Gives every tile.pipelined its schedule: which operations start iterations
// early (marked tile.ahead), and the order within one step. Records why.
//
//===----------------------------------------------------------------------===//
#include "PipelineSkew.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPLANPIPELINE
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static SmallVector<Operation *> getScheduled(PipelinedOp loop) {
  SmallVector<Operation *> ops;
  for (Operation &op : *loop.getBodyBlock())
    if (isScheduled(&op))
      ops.push_back(&op);
  return ops;
}

//===----------------------------------------------------------------------===//
// Schedules of the user
//===----------------------------------------------------------------------===//

namespace {
/// What the user asked for. Entries of -1 are left to the compiler.
struct UserSchedule {
  /// Iterations that the early operations run ahead; 0 when none does.
  int64_t ahead = 0;
  /// Top-level operations that must run ahead, and those that must not.
  llvm::SmallDenseSet<Operation *> early, late;
};
} // namespace

/// Accesses of `op`, and of the loads in its block that its operands need.
static void collectWithLoads(Operation *op,
                             SmallVectorImpl<BufferAccess> &accesses) {
  collectNestedAccesses(op, accesses);
  llvm::SetVector<Operation *> slice;
  slice.insert(op);
  for (size_t index = 0; index < slice.size(); ++index)
    slice[index]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (def->getBlock() == op->getBlock() && !isScheduled(def))
            slice.insert(def);
    });
  for (Operation *def : slice.getArrayRef().drop_front())
    collectNestedAccesses(def, accesses);
}

/// Whether swapping the two operations of one iteration may change a result.
static bool dependsOn(Operation *first, Operation *second) {
  for (Operation *op : {first, second}) {
    WalkResult result = op->walk([](Operation *inner) {
      return isa<SyncThreadsOp, PrintOp, AssertOp, scf::WhileOp>(inner)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  WalkResult uses = second->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (first->isAncestor(def))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (uses.wasInterrupted())
    return true;
  SmallVector<BufferAccess> left, right;
  collectWithLoads(first, left);
  collectWithLoads(second, right);
  for (const BufferAccess &a : left)
    for (const BufferAccess &b : right)
      if (a.root == b.root && (a.isWrite || b.isWrite) &&
          mayOverlap(a.region, b.region))
        return true;
  return false;
}

static InFlightDiagnostic emitScheduleError(PipelinedOp loop,
                                            ArrayRef<Operation *> ops) {
  InFlightDiagnostic error = loop.emitError();
  for (auto [index, op] : llvm::enumerate(ops))
    error.attachNote(op->getLoc())
        << "operation " << index << " is " << op->getName().stripDialect();
  return error;
}

/// Checks the form of the user's lists and splits operations by stage.
static FailureOr<UserSchedule> readSchedule(PipelinedOp loop,
                                            ArrayRef<Operation *> ops) {
  ArrayRef<int64_t> stages = *loop.getStage(), order = *loop.getOrder();
  if (stages.size() != ops.size()) {
    emitScheduleError(loop, ops)
        << "stage and order have " << stages.size() << " entries, but the "
        << "loop has " << ops.size() << " operations";
    return failure();
  }
  for (int64_t value : llvm::concat<const int64_t>(stages, order))
    if (value < -1) {
      loop.emitError("stage and order entries are -1 (automatic) or positions "
                     "from 0, found ")
          << value;
      return failure();
    }
  llvm::SmallDenseSet<int64_t> positions;
  for (int64_t position : order)
    if (position >= 0 && !positions.insert(position).second) {
      emitScheduleError(loop, ops)
          << "order gives position " << position << " to two operations";
      return failure();
    }

  llvm::SmallVector<int64_t> levels;
  for (int64_t stage : stages)
    if (stage >= 0)
      levels.push_back(stage);
  llvm::sort(levels);
  levels.erase(llvm::unique(levels), levels.end());
  UserSchedule schedule;
  if (levels.empty()) {
    schedule.ahead = loop.getNumStages() - 1;
    return schedule;
  }
  int64_t low = levels.front(), high = levels.back();
  if (high - low > std::max<int64_t>(loop.getNumStages() - 1, 0)) {
    emitScheduleError(loop, ops)
        << "stages " << low << " to " << high << " need " << high - low + 1
        << " slots, but num_stages is " << loop.getNumStages();
    return failure();
  }
  schedule.ahead = high > low ? high - low : loop.getNumStages() - 1;
  for (auto [op, stage] : llvm::zip(ops, stages))
    if (stage >= 0)
      (stage < high ? schedule.early : schedule.late).insert(op);
  return schedule;
}

/// Calls `visit` with the operations inside of `op` that do something, but for
/// stores to variables.
static void visitActions(Operation *op,
                         llvm::function_ref<void(Operation *)> visit) {
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    bool acts = isScheduled(inner) && !isa<scf::IfOp, scf::ForOp>(inner);
    if (auto store = dyn_cast<StoreOp>(inner))
      if (auto type = dyn_cast<BufferType>(store.getDest().getType()))
        acts &= !type.isLocal();
    if (acts)
      visit(inner);
    return isa<ParallelOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
}

/// An early operation that does not fill shared memory; null if all do.
static Operation *getComputationAhead(const UserSchedule &schedule) {
  Operation *found = nullptr;
  for (Operation *op : schedule.early)
    visitActions(op, [&](Operation *inner) {
      SmallVector<BufferAccess> accesses;
      collectAccesses(inner, accesses);
      bool fills = llvm::all_of(accesses, [](const BufferAccess &access) {
        auto type = dyn_cast<BufferType>(access.root.getType());
        return access.isWrite ? type && type.isShared() : !type;
      });
      // The first one, whatever the order of the set.
      if (!fills && (!found || op->isBeforeInBlock(found)))
        found = op;
    });
  return found;
}

/// Why early operations are no loads that run ahead; empty if they all are.
static std::string whyNotLoads(const UserSchedule &schedule,
                               const RunAheadPlan &plan) {
  for (Operation *op : schedule.early) {
    std::string reason;
    visitActions(op, [&](Operation *inner) {
      if (plan.producers.contains(inner) || !reason.empty())
        return;
      auto refused = plan.refused.find(inner);
      reason = describeForUser(inner) +
               (refused != plan.refused.end()
                    ? " cannot run ahead: " + refused->second
                    : " cannot run ahead: only loads into shared memory do");
    });
    if (!reason.empty())
      return reason;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class TilePlanPipelinePass
    : public mlir::tile::impl::TilePlanPipelineBase<TilePlanPipelinePass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      return failed(planKernel(kernel)) ? WalkResult::interrupt()
                                        : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult planKernel(KernelOp kernel);
  LogicalResult planSerial(PipelinedOp loop, const UserSchedule *schedule);
  LogicalResult writePlan(const RunAheadPlan &plan,
                          const UserSchedule *schedule);
  LogicalResult writeSchedule(PipelinedOp loop, int64_t ahead,
                              const UserSchedule *schedule);
  LogicalResult writeRing(PipelinedOp loop, const ProducerPlan &producer);
  LogicalResult checkOrder(PipelinedOp loop);
  /// Leaves `loop` to the compiler, and says why.
  void dropSchedule(PipelinedOp loop, const std::string &reason);
  void setChoice(PipelinedOp loop, Path path, const Twine &reason,
                 ArrayRef<NamedAttribute> arguments);

  /// What became of the user's schedule of a loop.
  llvm::DenseMap<Operation *, std::string> notes;
};
} // namespace

void TilePlanPipelinePass::setChoice(PipelinedOp loop, Path path,
                                     const Twine &reason,
                                     ArrayRef<NamedAttribute> arguments) {
  MLIRContext *context = loop.getContext();
  std::string text = reason.str();
  if (auto note = notes.find(loop); note != notes.end())
    text = note->second + "; " + text;
  loop.setChoiceAttr(ChoiceAttr::get(context, path, text,
                                     DictionaryAttr::get(context, arguments)));
}

void TilePlanPipelinePass::dropSchedule(PipelinedOp loop,
                                        const std::string &reason) {
  loop.emitWarning("stage and order are not used, the compiler's schedule is: ")
      << reason;
  notes[loop] = "stage and order are not used: " + reason;
  loop->removeAttr("stage");
  loop->removeAttr("order");
}

static Operation *findDependencyWait(PipelinedOp loop) {
  Operation *result = nullptr;
  loop.walk([&](DependencyWaitOp wait) {
    result = wait;
    return WalkResult::interrupt();
  });
  return result;
}

LogicalResult TilePlanPipelinePass::planKernel(KernelOp kernel) {
  llvm::DenseMap<Operation *, UserSchedule> schedules;
  SmallVector<PipelinedOp> loops;
  kernel.walk([&](PipelinedOp loop) { loops.push_back(loop); });
  for (PipelinedOp loop : loops) {
    // Allocations inside of the loop are of one iteration each.
    for (AllocOp alloc :
         llvm::make_early_inc_range(loop.getBodyBlock()->getOps<AllocOp>()))
      alloc->moveBefore(kernel.getBodyBlock(), kernel.getBodyBlock()->begin());
    if (!loop.getStage())
      continue;
    FailureOr<UserSchedule> schedule = readSchedule(loop, getScheduled(loop));
    if (failed(schedule))
      return failure();
    schedules[loop] = *schedule;
  }
  // Computation ahead: other iterations of it in the same step. What is left
  // are loads, for run-ahead and for producer roles alike.
  for (PipelinedOp &loop : loops) {
    auto found = schedules.find(loop);
    if (found == schedules.end())
      continue;
    Operation *computation = getComputationAhead(found->second);
    if (!computation)
      continue;
    schedules.erase(found);
    if (Operation *wait = findDependencyWait(loop)) {
      dropSchedule(loop, "what comes behind " + describeForUser(wait) +
                             " needs what earlier launches have written");
      continue;
    }
    Skew skew =
        skewLoop(loop, getScheduled(loop), *loop.getStage(), *loop.getOrder());
    if (skew.loop) {
      loop = skew.loop;
      notes[loop] = skew.reason;
    } else {
      dropSchedule(loop, describeForUser(computation) +
                             " cannot run ahead: " + skew.reason);
    }
  }

  auto whyNotEarly = [&](Operation *op) -> std::optional<std::string> {
    for (auto &[loop, schedule] : schedules)
      for (Operation *late : schedule.late)
        if (late->isAncestor(op))
          return "the user's schedule keeps it";
    return std::nullopt;
  };
  ProducerPlan producer = planProducerRole(kernel, whyNotEarly);
  if (producer.reason.empty()) {
    for (PipelinedOp loop : loops)
      if (failed(writeRing(loop, producer)))
        return failure();
    return success();
  }

  auto whyNotAhead = [&](Operation *op) -> std::optional<std::string> {
    if (Operation *wait =
            findDependencyWait(op->getParentOfType<PipelinedOp>()))
      return describeForUser(wait) +
             " in the loop waits for what earlier launches have written";
    return whyNotEarly(op);
  };
  SmallVector<RunAheadPlan> plans;
  while (true) {
    plans = planRunAhead(kernel, whyNotAhead);
    bool changed = false;
    for (const RunAheadPlan &plan : plans) {
      PipelinedOp loop = plan.loop;
      auto found = schedules.find(loop);
      if (found == schedules.end())
        continue;
      std::string reason = whyNotLoads(found->second, plan);
      if (reason.empty())
        continue;
      dropSchedule(loop, reason);
      schedules.erase(found);
      changed = true;
      break;
    }
    if (!changed)
      break;
  }

  auto getSchedule = [&](PipelinedOp loop) -> const UserSchedule * {
    auto found = schedules.find(loop);
    return found == schedules.end() ? nullptr : &found->second;
  };
  for (PipelinedOp loop : loops)
    if ((loop.getNumStages() < 2 || runsOnce(loop)) &&
        failed(planSerial(loop, getSchedule(loop))))
      return failure();
  for (const RunAheadPlan &plan : plans)
    if (failed(writePlan(plan, getSchedule(plan.loop))))
      return failure();
  // Say why there are no roles where a target has them.
  if (canSpecialize(getTarget(kernel)))
    for (PipelinedOp loop : loops)
      if (ChoiceAttr choice = loop.getChoiceAttr())
        loop.setChoiceAttr(ChoiceAttr::get(
            kernel.getContext(), choice.getPath(),
            choice.getReason().str() + "; no producer role: " + producer.reason,
            choice.getArguments()));
  return success();
}

/// Loops of a kernel with a producer role: a ring of slots between the roles.
LogicalResult TilePlanPipelinePass::writeRing(PipelinedOp loop,
                                              const ProducerPlan &producer) {
  Builder builder(loop.getContext());
  loop->removeAttr("stage");
  loop->removeAttr("order");
  int64_t slots = loop.getNumStages();
  const RunAheadPlan *plan = nullptr;
  for (const RunAheadPlan &candidate : producer.plans)
    if (candidate.loop == loop && !candidate.producers.empty())
      plan = &candidate;
  std::string reasons;
  SmallVector<NamedAttribute> arguments;
  if (plan) {
    SmallVector<Attribute> refused;
    for (auto &[op, reason] : plan->refused) {
      std::string text = describeForUser(op) + ": " + reason;
      refused.push_back(builder.getStringAttr(text));
      reasons += (reasons.empty() ? "" : "; ") + text;
    }
    if (!refused.empty())
      arguments.push_back(
          builder.getNamedAttr("not_ahead", builder.getArrayAttr(refused)));
  }
  if (!plan) {
    arguments.push_back(
        builder.getNamedAttr("slots", builder.getI64IntegerAttr(1)));
    setChoice(loop, Path::Serial,
              slots == 0 ? "num_stages = 0"
                         : "nothing is loaded by the producer role",
              arguments);
    return success();
  }
  bool isTma = false;
  for (Operation *op : plan->producers) {
    op->setAttr(kProduceName, builder.getUnitAttr());
    auto copy = dyn_cast<CopyOp>(op);
    isTma |=
        copy && copy.getChoice() && copy.getChoice()->getPath() == Path::Tma;
  }
  std::string buffers;
  for (Value buffer : plan->buffers)
    buffers += (buffers.empty() ? "" : ", ") + getUserName(buffer);
  arguments.push_back(
      builder.getNamedAttr("slots", builder.getI64IntegerAttr(slots)));
  setChoice(loop, isTma ? Path::Tma : Path::CpAsync,
            "a producer role loads " + buffers + " into a ring of " +
                Twine(slots) + (slots == 1 ? " slot" : " slots") +
                (reasons.empty() ? "" : "; by the consumers: " + reasons),
            arguments);
  return success();
}

/// Loops in which nothing runs ahead because the user asked for that.
LogicalResult TilePlanPipelinePass::planSerial(PipelinedOp loop,
                                               const UserSchedule *schedule) {
  Builder builder(loop.getContext());
  int64_t slots = std::min<int64_t>(loop.getNumStages(), 1);
  setChoice(loop, Path::Serial,
            slots == 0 ? "num_stages = 0"
            : runsOnce(loop)
                ? "it has one iteration, and no other one to load for"
                : "num_stages = 1: with one slot a tile can only be "
                  "loaded after the one before has been used",
            builder.getNamedAttr("slots", builder.getI64IntegerAttr(slots)));
  return writeSchedule(loop, 0, schedule);
}

LogicalResult TilePlanPipelinePass::writePlan(const RunAheadPlan &plan,
                                              const UserSchedule *schedule) {
  PipelinedOp loop = plan.loop;
  Builder builder(loop.getContext());
  int64_t slots = loop.getNumStages();
  int64_t ahead = schedule ? schedule->ahead : slots - 1;
  auto integer = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<Attribute> refused;
  std::string reasons;
  for (auto &[op, reason] : plan.refused) {
    std::string text = describeForUser(op) + ": " + reason;
    refused.push_back(builder.getStringAttr(text));
    reasons += (reasons.empty() ? "" : "; ") + text;
  }
  SmallVector<NamedAttribute> arguments;
  if (!refused.empty())
    arguments.push_back(
        builder.getNamedAttr("not_ahead", builder.getArrayAttr(refused)));
  if (plan.producers.empty()) {
    arguments.push_back(integer("slots", 1));
    setChoice(loop, Path::Serial,
              "nothing runs ahead: " +
                  (reasons.empty()
                       ? std::string("no load fills shared memory in the loop")
                       : reasons),
              arguments);
    return writeSchedule(loop, 0, schedule);
  }

  // The fastest way in which a load of the loop is done.
  Path path = Path::Simt;
  for (Operation *op : plan.producers) {
    op->setAttr("tile.ahead", builder.getI64IntegerAttr(ahead));
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !copy.getChoice())
      continue;
    Path taken = copy.getChoice()->getPath();
    if (taken == Path::Tma || (taken == Path::CpAsync && path == Path::Simt))
      path = taken;
  }
  std::string buffers;
  for (Value buffer : plan.buffers)
    buffers += (buffers.empty() ? "" : ", ") + getUserName(buffer);
  arguments.push_back(integer("slots", slots));
  arguments.push_back(integer("ahead", ahead));
  setChoice(loop, path,
            "loads of " + buffers + " run " + Twine(ahead) +
                (ahead == 1 ? " iteration" : " iterations") + " ahead in " +
                Twine(slots) + " slots" +
                (reasons.empty() ? "" : "; not ahead: " + reasons),
            arguments);
  return writeSchedule(loop, ahead, schedule);
}

/// Early operations first, unless the user ordered them.
LogicalResult
TilePlanPipelinePass::writeSchedule(PipelinedOp loop, int64_t ahead,
                                    const UserSchedule *schedule) {
  SmallVector<Operation *> ops = getScheduled(loop);
  SmallVector<int64_t> stage, order(ops.size(), -1);
  for (Operation *op : ops)
    stage.push_back(op->hasAttr("tile.ahead") ? 0 : ahead);
  if (schedule)
    order.assign(loop.getOrder()->begin(), loop.getOrder()->end());
  // Operations left to the compiler keep their place: loads at the front,
  // others behind the operation that they follow in the program.
  SmallVector<std::pair<int64_t, size_t>> keys;
  int64_t previous = -1;
  for (size_t index = 0; index < ops.size(); ++index) {
    if (order[index] >= 0)
      previous = order[index];
    bool isEarly = stage[index] == 0 && ahead > 0;
    keys.emplace_back(order[index] >= 0 ? order[index]
                      : isEarly         ? -1
                                        : previous,
                      index);
  }
  if (!schedule)
    for (auto [key, stageOfOp] : llvm::zip(keys, stage))
      key.first = stageOfOp == 0 && ahead > 0 ? -1 : 0;
  llvm::sort(keys);
  for (auto [position, key] : llvm::enumerate(keys))
    order[key.second] = position;
  loop.setStage(stage);
  loop.setOrder(order);
  return schedule ? checkOrder(loop) : success();
}

/// A user order must keep dependences between operations of the same stage.
LogicalResult TilePlanPipelinePass::checkOrder(PipelinedOp loop) {
  SmallVector<Operation *> ops = getScheduled(loop);
  ArrayRef<int64_t> stages = *loop.getStage(), order = *loop.getOrder();
  for (size_t first = 0; first < ops.size(); ++first) {
    for (size_t second = first + 1; second < ops.size(); ++second) {
      if (stages[first] != stages[second] || order[first] < order[second] ||
          !dependsOn(ops[first], ops[second]))
        continue;
      InFlightDiagnostic error =
          loop.emitError("order puts operation ")
          << second << " (" << ops[second]->getName().stripDialect()
          << ") before operation " << first << " ("
          << ops[first]->getName().stripDialect() << "), on which it depends";
      error.attachNote(ops[first]->getLoc()) << "operation " << first;
      error.attachNote(ops[second]->getLoc()) << "operation " << second;
      return failure();
    }
  }
  return success();
}
