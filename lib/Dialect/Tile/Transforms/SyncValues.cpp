//===- SyncValues.cpp - values and control flow of an execution -----------===//
//
// Values are calculated where they are known. What decides about control flow
// and is not known is chosen by the scenario, once for all roles.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

bool SyncExecution::nextCondition() {
  int index = numConditions++;
  switch (scenario.pattern) {
  case SyncScenario::AllTrue:
    return true;
  case SyncScenario::AllFalse:
    return false;
  case SyncScenario::TrueFirst:
    return index % 2 == 0;
  case SyncScenario::FalseFirst:
    return index % 2 == 1;
  case SyncScenario::OnlyFirst:
    return index == 0;
  case SyncScenario::AllButFirst:
    return index != 0;
  case SyncScenario::Random:
    return (0x5A3C96E1u >> (index % 32)) & 1;
  case SyncScenario::OtherRandom:
    return (0xE1B48D27u >> (index % 32)) & 1;
  case SyncScenario::Bits:
    return (scenario.choices >> std::min(index, 31)) & 1;
  }
  return false;
}

int64_t SyncExecution::chooseTrips(int index) {
  const SyncLoop &loop = program.loops[index];
  int64_t trips = loop.isOuter ? scenario.outerTrips : scenario.innerTrips;
  if (loop.isOuter) {
    usedOuter = true;
  } else {
    usedInner = true;
    if (scenario.spread)
      trips = (trips + numTrips) % (2 * program.slots + 4);
    ++numTrips;
  }
  trips =
      std::clamp(trips, loop.minTrips, std::max(loop.minTrips, loop.maxTrips));
  choices.push_back("the loop" +
                    describeForUser(scf::ForOp(loop.op)).substr(3) + " runs " +
                    std::to_string(trips) + " times");
  return trips;
}

/// A choice for a comparison becomes one for the values that it compares, so
/// that other uses of them agree.
bool SyncExecution::decideComparison(SymbolicValue value) {
  SymbolicExpressions::Node node = expressions.getNode(value);
  SymbolicValue operands[2] = {node.operands[0], node.operands[1]};
  auto now = [&](int index) { return expressions.resolve(operands[index]); };
  for (int index : {0, 1}) {
    SymbolicValue bound = now(index);
    if (bound.isKnown)
      continue;
    int loop = expressions.getNode(operands[index]).loop;
    if (loop < 0)
      loop = expressions.getNode(bound).loop;
    if (loop >= 0)
      expressions.assign(operands[index],
                         program.loops[loop].lower + chooseTrips(loop));
  }
  if (!now(0).isKnown && !now(1).isKnown)
    expressions.assign(operands[0], 0);
  SymbolicValue a = now(0), b = now(1);
  if (!a.isKnown || !b.isKnown) {
    bool truth = nextCondition();
    int64_t far = scenario.pattern == SyncScenario::AllTrue       ? 1 << 20
                  : scenario.pattern == SyncScenario::Random      ? 1
                  : scenario.pattern == SyncScenario::OtherRandom ? 2
                                                                  : 0;
    if (node.kind == Calculation::Equal) {
      int64_t known = a.isKnown ? a.value : b.value;
      expressions.assign(operands[a.isKnown ? 1 : 0],
                         truth ? known : known + 1);
    } else if (b.isKnown) {
      expressions.assign(operands[0], truth ? b.value - 1 : b.value);
    } else {
      expressions.assign(operands[1], truth ? a.value + 1 + far : a.value);
    }
  }
  SymbolicValue result = expressions.resolve(value);
  if (result.isKnown)
    return result.value;
  // Only the comparison itself can be chosen.
  bool truth = nextCondition();
  expressions.assign(value, truth);
  return truth;
}

std::optional<bool> SyncExecution::decide(SymbolicValue value) {
  SymbolicValue known = expressions.resolve(value);
  if (known.isKnown)
    return known.value != 0;
  if (expressions.isDivergent(known))
    return std::nullopt;
  SymbolicExpressions::Node node = expressions.getNode(value);
  switch (node.kind) {
  case Calculation::Not: {
    std::optional<bool> inner = decide(node.operands[0]);
    return inner ? std::optional<bool>(!*inner) : std::nullopt;
  }
  case Calculation::And:
  case Calculation::Or:
  case Calculation::XOr: {
    std::optional<bool> lhs = decide(node.operands[0]);
    std::optional<bool> rhs = decide(node.operands[1]);
    if (!lhs || !rhs)
      return std::nullopt;
    return node.kind == Calculation::And  ? *lhs && *rhs
           : node.kind == Calculation::Or ? *lhs || *rhs
                                          : *lhs != *rhs;
  }
  case Calculation::Select: {
    std::optional<bool> condition = decide(node.operands[0]);
    if (!condition)
      return std::nullopt;
    return decide(node.operands[*condition ? 1 : 2]);
  }
  case Calculation::LessS:
  case Calculation::LessU:
  case Calculation::Equal:
    return decideComparison(value);
  default: {
    bool truth = nextCondition();
    expressions.assign(value, truth);
    return truth;
  }
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

SymbolicValue SyncExecution::opaque(Agent &agent, const SyncStep &step,
                                    int result) {
  SmallVector<SymbolicValue, 4> operands;
  for (int input : step.inputs)
    operands.push_back(agent.values[input]);
  for (const void *handle : step.handles)
    operands.push_back({reinterpret_cast<int64_t>(handle), true});
  bool isThread = isa<ThreadIdOp>(step.op);
  if (isThread || isa<ElectOp>(step.op)) {
    // Threads of an automatic role count from its first one.
    const SyncRole *role = roleOf(agent);
    int64_t first = 0;
    if (isThread && role && role->attr.getKind() != RoleKind::User)
      first = role->attr.getFirst() * 32;
    SymbolicValue value = expressions.makeOpaque(
        isThread ? step.op->getName().getAsOpaquePointer() : step.op,
        step.attributes, operands, first, step.calculation.width,
        /*isDivergent=*/true);
    expressions.getNode(value).perThread = step.op;
    return value;
  }
  if (step.isRepeatable)
    return expressions.makeOpaque(
        step.op->getName().getAsOpaquePointer(), step.attributes, operands,
        result, step.calculation.width, /*isDivergent=*/false);
  // What roles read of shared memory is the same as long as nobody writes it.
  if (step.subject >= 0) {
    const Version &version =
        versions[agent.block * program.memories.size() + step.subject];
    return expressions.makeOpaque(
        &program.memories[step.subject], version.step, operands,
        version.count * program.blocks + agent.block, step.calculation.width,
        /*isDivergent=*/false);
  }
  // Another block may see something else.
  int64_t instance = 16 * agent.instances[&step] + result;
  instance += static_cast<int64_t>(agent.block) << 40;
  if (step.isOfBlock)
    return expressions.makeOpaque(step.op->getName().getAsOpaquePointer(),
                                  nullptr, operands, instance,
                                  step.calculation.width, false);
  return expressions.makeOpaque(step.op, nullptr, {}, instance,
                                step.calculation.width, false);
}

/// The element of a variable that indices name; none if they are not known.
std::optional<int64_t>
SyncExecution::getElement(Agent &agent, const SyncStep &step, int firstIndex) {
  Value storage = isa<LoadOp>(step.op) ? cast<LoadOp>(step.op).getSource()
                                       : cast<StoreOp>(step.op).getDest();
  ArrayRef<int64_t> shape = cast<BufferType>(storage.getType()).getShape();
  int64_t element = 0;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    SymbolicValue index =
        expressions.resolve(agent.values[step.inputs[firstIndex + dim]]);
    if (!index.isKnown || index.value < 0 || index.value >= extent)
      return std::nullopt;
    element = element * extent + index.value;
  }
  return element;
}

void SyncExecution::setDivergent(Agent &agent, int value,
                                 const SyncStep &step) {
  agent.values[value] =
      expressions.makeOpaque(&step, nullptr, {}, value, 64, true);
}

bool SyncExecution::stepValues(Agent &agent, const SyncStep &step) {
  auto tag = [&](int output) {
    SymbolicValue value = agent.values[output];
    if (value.isKnown)
      return;
    auto found = program.bounds.find(output);
    if (found != program.bounds.end())
      expressions.getNode(value).loop = found->second;
  };
  switch (step.kind) {
  case StepKind::Calculate: {
    SmallVector<SymbolicValue, 3> operands;
    for (int input : step.inputs)
      operands.push_back(agent.values[input]);
    const CalculationKind &kind = step.calculation;
    if (kind.swapped)
      std::swap(operands[0], operands[1]);
    SymbolicValue result =
        expressions.apply(kind.kind, operands, kind.operandWidth, kind.width);
    if (kind.negated)
      result = expressions.apply(Calculation::Not, result, 1, 1);
    agent.values[step.outputs[0]] = result;
    tag(step.outputs[0]);
    return true;
  }
  case StepKind::Opaque:
    for (auto [index, output] : llvm::enumerate(step.outputs)) {
      agent.values[output] = opaque(agent, step, index);
      tag(output);
    }
    ++agent.instances[&step];
    return true;
  case StepKind::LoadVariable:
  case StepKind::StoreVariable: {
    bool isLoad = step.kind == StepKind::LoadVariable;
    Value storage = isLoad ? cast<LoadOp>(step.op).getSource()
                           : cast<StoreOp>(step.op).getDest();
    auto [first, count] = program.variables.lookup(storage.getDefiningOp());
    std::optional<int64_t> element = getElement(agent, step, isLoad ? 0 : 1);
    if (isLoad) {
      agent.values[step.outputs[0]] =
          element ? seenBy(agent, agent.variables[first + *element])
                  : opaque(agent, step, 0);
      ++agent.instances[&step];
      return true;
    }
    SymbolicValue value = agent.values[step.inputs[0]];
    if (agent.divergentDepth)
      value = expressions.makeOpaque(&step, nullptr, {}, 0, 64, true);
    for (int index = 0; index < count; ++index)
      if (!element)
        agent.variables[first + index] =
            expressions.makeOpaque(&step, nullptr, {}, index, 64, false);
    if (element)
      agent.variables[first + *element] =
          blend(agent, value, agent.variables[first + *element]);
    return true;
  }
  case StepKind::Move: {
    SmallVector<SymbolicValue, 4> moved;
    for (int input : step.inputs)
      moved.push_back(agent.values[input]);
    // Behind a branch of some lanes, each lane has the value of its side.
    bool leavesSplit =
        !agent.splits.empty() && agent.splits.back().op == step.op;
    for (auto [value, output] : llvm::zip(moved, step.outputs)) {
      if (agent.divergentDepth)
        setDivergent(agent, output, step);
      else
        agent.values[output] =
            leavesSplit ? blend(agent, value, agent.values[output]) : value;
      tag(output);
    }
    return true;
  }
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool SyncExecution::beginLoop(Agent &agent, const SyncStep &step) {
  const SyncLoop &loop = program.loops[step.subject];
  LoopState &state = agent.loops[step.subject];
  SymbolicValue bounds[3];
  auto now = [&](int index) { return expressions.resolve(bounds[index]); };
  bool known = true, divergent = false;
  for (int index : {0, 1, 2}) {
    bounds[index] = agent.values[step.inputs[index]];
    known &= now(index).isKnown;
    divergent |= expressions.isDivergent(now(index));
  }
  if (divergent && loop.synchronises)
    return giveUp(step, "a bound of the loop may differ between threads");
  if (!loop.isFollowed || divergent) {
    // One iteration shows all accesses; its counter stands for any.
    state = LoopState();
    state.remaining = 1;
    if (known && now(0).value >= now(1).value)
      state.remaining = 0;
    agent.values[step.outputs[0]] =
        expressions.makeOpaque(&step, nullptr, {}, 0, 64, divergent);
    agent.position = state.remaining ? agent.position + 1 : step.target;
    return true;
  }
  if (!known) {
    if (!now(2).isKnown)
      expressions.assign(bounds[2], 1);
    if (!now(0).isKnown && !now(1).isKnown)
      expressions.assign(bounds[0], 0);
    if (!now(0).isKnown)
      expressions.assign(bounds[0], now(1).value - chooseTrips(step.subject) *
                                                       now(2).value);
    else if (!now(1).isKnown)
      expressions.assign(bounds[1], now(0).value + chooseTrips(step.subject) *
                                                       now(2).value);
  }
  int64_t lower = now(0).value, upper = now(1).value;
  int64_t increment = std::max<int64_t>(1, now(2).value);
  int64_t trips = lower < upper ? (upper - lower - 1) / increment + 1 : 0;
  state.counter = lower;
  state.step = increment;
  state.remaining = trips;
  state.skipAt = -1;
  // Of many iterations, the first and the last ones; between them a number is
  // left out that brings all slots and phases back to where they were. Loops
  // that end at the same count leave out the same number, also where one role
  // has a few iterations in front of its loop (tile-defer-stores).
  constexpr int64_t kPeeled = 8;
  int64_t period = program.period;
  int64_t kept = loop.isOuter ? 3 : 2 * program.slots + 3 + kPeeled;
  bool isPeeled =
      !loop.isOuter && increment == 1 && lower > 0 && lower <= kPeeled;
  int64_t total = trips + (isPeeled ? lower : 0);
  if (total > kept + period && period <= 128) {
    int64_t skipped = (total - kept) / period * period;
    state.remaining = trips - skipped;
    state.skip = skipped;
    state.skipAt = std::min(program.slots + 1, state.remaining - 1);
  }
  agent.values[step.outputs[0]] = {state.counter, true};
  agent.position = state.remaining > 0 ? agent.position + 1 : step.target;
  return true;
}

bool SyncExecution::stepControl(Agent &agent, const SyncStep &step) {
  switch (step.kind) {
  case StepKind::LoopBegin: {
    int before = agent.position;
    bool followed = beginLoop(agent, step);
    if (agent.position == before + 1) {
      agent.inside.push_back(step.subject);
      agent.loops[step.subject].iteration = 0;
    }
    return followed;
  }
  case StepKind::LoopNext: {
    LoopState &state = agent.loops[step.subject];
    --state.remaining;
    ++state.iteration;
    state.counter += state.step;
    if (state.remaining == state.skipAt) {
      state.counter += state.skip * state.step;
      state.iteration += state.skip;
    }
    if (state.remaining <= 0)
      agent.inside.pop_back();
    if (program.loops[step.subject].isFollowed &&
        agent.values[step.outputs[0]].isKnown)
      agent.values[step.outputs[0]] = {state.counter, true};
    agent.position = state.remaining > 0 ? step.target : agent.position + 1;
    return true;
  }
  case StepKind::Branch: {
    SymbolicValue condition = agent.values[step.inputs[0]];
    std::optional<bool> truth = decide(condition);
    if (!truth) {
      if (splitLanes(agent, step, condition))
        return true;
      if (step.number)
        return giveUp(step, "the condition may differ between threads");
      // Accesses on both ways.
      agent.bothWays[step.subject] = true;
      ++agent.divergentDepth;
    }
    agent.position = truth && !*truth ? step.target : agent.position + 1;
    return true;
  }
  case StepKind::Jump:
    if (!agent.splits.empty() && step.subject >= 0 &&
        agent.splits.back().branch == step.subject) {
      agent.active = agent.splits.back().others;
      agent.splits.back().negated = true;
    }
    agent.position = step.subject >= 0 && agent.bothWays[step.subject]
                         ? agent.position + 1
                         : step.target;
    return true;
  case StepKind::BranchEnd:
    if (!agent.splits.empty() && agent.splits.back().branch == step.subject) {
      agent.active = agent.splits.back().before;
      agent.splits.pop_back();
      agent.bothWays[step.subject] = false;
    } else if (agent.bothWays[step.subject]) {
      agent.bothWays[step.subject] = false;
      --agent.divergentDepth;
    }
    ++agent.position;
    return true;
  case StepKind::WhileTest: {
    int64_t before = agent.instances[&step]++;
    SymbolicValue condition = agent.values[step.inputs[0]];
    SymbolicValue value = expressions.resolve(condition);
    if (expressions.isDivergent(value))
      return giveUp(step, "the condition of the loop may differ between "
                          "threads");
    bool truth;
    if (value.isKnown) {
      truth = value.value != 0;
    } else {
      usedOuter = true;
      truth = before < scenario.outerTrips;
      expressions.assign(condition, truth);
    }
    if (before > 4096)
      return giveUp(step, "the loop does not end");
    if (!truth)
      agent.instances[&step] = 0;
    agent.position = truth ? agent.position + 1 : step.target;
    return true;
  }
  case StepKind::EnterRole: {
    int index = agent.which->roles[step.subject];
    const SyncRole *role = index < 0 ? nullptr : &program.roles[index];
    bool skips = !role || (role->attr.getSingle() &&
                           agent.which->first != role->attr.getFirst());
    if (skips) {
      agent.position = step.target;
      return true;
    }
    agent.role = index;
    agent.position = role->entry;
    return true;
  }
  case StepKind::LeaveRole:
    agent.role = -1;
    agent.position = step.target;
    return true;
  case StepKind::End:
    agent.state = State::Done;
    return true;
  default:
    return false;
  }
}
