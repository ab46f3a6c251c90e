//===- SyncLanes.cpp - branches of single threads in an execution ---------===//
//
// A condition on the thread's number or on an election is calculated for each
// lane of a warp. Those that take a branch execute it first, then the others
// the other side. Lanes of a warp are taken to run in this order.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

using namespace mlir;
using namespace mlir::tile;

/// The number of a thread along an axis of the block's shape.
static int64_t getThreadId(ThreadIdOp op, int64_t thread) {
  auto kernel = op->getParentOfType<KernelOp>();
  int64_t axis = op.getAxis();
  std::optional<ArrayRef<int64_t>> shape = kernel.getThreadShape();
  if (!shape)
    return axis == 0 ? thread : 0;
  if (axis >= static_cast<int64_t>(shape->size()))
    return 0;
  for (int64_t below = 0; below < axis; ++below)
    thread /= (*shape)[below];
  return thread % (*shape)[axis];
}

/// A value for one thread of the block; none if it is not known.
std::optional<int64_t> SyncExecution::evaluate(SymbolicValue value,
                                               int64_t thread) {
  if (SymbolicValue known = expressions.resolve(value); known.isKnown)
    return known.value;
  // Decisions make new nodes.
  SymbolicExpressions::Node node = expressions.getNode(value);
  if (!node.isDivergent) {
    if (node.width != 1)
      return std::nullopt;
    std::optional<bool> truth = decide(value);
    return truth ? std::optional<int64_t>(*truth) : std::nullopt;
  }
  if (auto id = dyn_cast_or_null<ThreadIdOp>(node.perThread))
    return getThreadId(id, thread - node.instance);
  if (auto elect = dyn_cast_or_null<ElectOp>(node.perThread)) {
    int64_t group = elect.getThreads();
    return group ? thread % group == 0 : thread == 0;
  }
  if (node.kind == Calculation::Opaque)
    return std::nullopt;
  if (node.kind == Calculation::Select) {
    std::optional<int64_t> condition = evaluate(node.operands[0], thread);
    if (!condition)
      return std::nullopt;
    return evaluate(node.operands[*condition ? 1 : 2], thread);
  }
  bool isBitAnd = node.kind == Calculation::And && node.width == 1;
  bool isBitOr = node.kind == Calculation::Or && node.width == 1;
  SmallVector<SymbolicValue, 3> operands;
  for (SymbolicValue operand : node.operands) {
    std::optional<int64_t> number = evaluate(operand, thread);
    if (!number)
      return std::nullopt;
    if ((isBitAnd && !*number) || (isBitOr && *number))
      return number;
    operands.push_back({*number, true});
  }
  SymbolicValue result =
      expressions.apply(node.kind, operands, node.operandWidth, node.width);
  return result.isKnown ? std::optional<int64_t>(result.value) : std::nullopt;
}

/// The lanes of a warp for which a condition holds.
std::optional<uint32_t> SyncExecution::getLanes(const Agent &agent,
                                                SymbolicValue condition) {
  if (agent.warps != 1)
    return std::nullopt;
  uint32_t lanes = 0;
  for (int64_t lane = 0; lane < 32; ++lane) {
    std::optional<int64_t> truth =
        evaluate(condition, agent.which->first * 32 + lane);
    if (!truth)
      return std::nullopt;
    lanes |= static_cast<uint32_t>(*truth != 0) << lane;
  }
  return lanes;
}

bool SyncExecution::splitLanes(Agent &agent, const SyncStep &step,
                               SymbolicValue condition) {
  std::optional<uint32_t> lanes = getLanes(agent, condition);
  if (!lanes)
    return false;
  uint32_t here = agent.active & *lanes, others = agent.active & ~*lanes;
  if (here && others) {
    if (step.waitsOnBothWays) {
      giveUp(step, "threads of a warp wait for others on both ways");
      return true;
    }
    agent.splits.push_back(
        {step.op, step.subject, agent.active, others, condition});
    agent.active = here;
    agent.bothWays[step.subject] = true;
  }
  agent.position = here ? agent.position + 1 : step.target;
  return true;
}

/// What one side of a branch calculates, beside what the other lanes have.
SymbolicValue SyncExecution::blend(const Agent &agent, SymbolicValue value,
                                   SymbolicValue before) {
  for (const Split &split : llvm::reverse(agent.splits))
    value = expressions.apply(Calculation::Select,
                              {split.condition, split.negated ? before : value,
                               split.negated ? value : before},
                              64, 64);
  return value;
}

/// A value in the eyes of the lanes that are here.
SymbolicValue SyncExecution::seenBy(const Agent &agent, SymbolicValue value) {
  while (!agent.splits.empty() && !value.isKnown) {
    SymbolicExpressions::Node node = expressions.getNode(value);
    if (node.kind != Calculation::Select)
      break;
    SymbolicValue condition = expressions.resolve(node.operands[0]);
    for (const Split &split : agent.splits)
      if (node.operands[0] == split.condition)
        condition = {!split.negated, true};
    if (!condition.isKnown)
      break;
    value = node.operands[condition.value ? 1 : 2];
  }
  return value;
}
