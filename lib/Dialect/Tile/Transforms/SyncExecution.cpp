//===- SyncExecution.cpp - one execution of a kernel's protocol -----------===//
//
// Barriers follow the PTX ISA: a phase is complete when no arrivals are pending
// and all expected bytes have come; waiting for a parity returns when the phase
// before the current one has it.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"

using namespace mlir;
using namespace mlir::tile;

SyncExecution::SyncExecution(const SyncProgram &program,
                             SymbolicExpressions &expressions,
                             const SyncScenario &scenario)
    : program(program), expressions(expressions), scenario(scenario) {
  for (int block = 0; block < program.blocks; ++block)
    for (auto [number, warps] : llvm::enumerate(program.warps)) {
      Agent agent;
      agent.block = block;
      agent.number = number;
      agent.which = &warps;
      agent.warps = warps.count;
      agents.push_back(std::move(agent));
    }
  int numBarriers = program.numBarriers * program.blocks;
  meetings.resize((kNamedBarriers + program.roles.size()) * program.blocks);
  size_t components = 5 * agents.size() + numBarriers + meetings.size();
  for (Agent &agent : agents) {
    agent.clock.assign(components, 0);
    // Until something computes them.
    agent.values.assign(
        program.numValues,
        expressions.makeOpaque(&program, nullptr, {}, 0, 64, false));
    agent.variables.resize(program.numVariableElements);
    agent.loops.resize(program.loops.size());
    agent.bothWays.resize(program.numBranches);
    for (auto [value, constant] : program.constants)
      agent.values[value] = {constant, true};
    for (auto [index, value] : program.symbols)
      agent.values[index] = makeSymbol(index, value, agent.block);
    for (auto [index, variable] : llvm::enumerate(agent.variables))
      variable = expressions.makeOpaque(&agent.variables, nullptr, {}, index,
                                        64, false);
  }
  barriers.resize(numBarriers);
  for (Barrier &barrier : barriers)
    barrier.release = barrier.lastRelease = SyncClock(components, 0);
  for (Meeting &meeting : meetings)
    meeting.clock.assign(components, 0);
  for (int block = 0; block < program.blocks; ++block)
    for (const SyncMemory &memory : program.memories)
      records.emplace_back(memory.cells);
  versions.resize(records.size());
  clusterBarrier.clock.assign(components, 0);
}

void SyncExecution::run() {
  constexpr int64_t kMaxSteps = 2'000'000;
  bool progress = true;
  while (progress && !fault && !unverified) {
    progress = false;
    for (int index = 0, e = agents.size(); index < e; ++index)
      while (agents[index].state == State::Ready) {
        const SyncStep &current = program.steps[agents[index].position];
        bool arrives =
            current.kind == StepKind::BarrierArrive && !current.number;
        step(index);
        progress = true;
        // What an arrival lets others do comes next: of several faults, the
        // one that is reported is then what users know it by.
        if (fault || unverified || arrives)
          break;
        if (++numSteps > kMaxSteps) {
          giveUp(program.steps[agents[index].position],
                 "the kernel takes too many steps");
          break;
        }
      }
  }
  if (!fault && !unverified) {
    if (llvm::all_of(agents, [](const Agent &agent) {
          return agent.state == State::Done;
        }))
      checkEnd();
    else
      reportDeadlock();
  }
  if (fault)
    addTraces(*fault);
}

void SyncExecution::step(int index) {
  Agent &agent = agents[index];
  const SyncStep &step = program.steps[agent.position];
  if (stepValues(agent, step)) {
    ++agent.position;
    return;
  }
  if (stepControl(agent, step))
    return;
  if (agent.divergentDepth && step.kind != StepKind::Access) {
    giveUp(step, "it is under a condition that may differ between threads");
    return;
  }
  // A step that blocks goes on behind itself.
  if (stepProtocol(index, step))
    ++agent.position;
}

/// Whether whole warps execute the step, or a thread that is chosen among all.
static bool needsAllLanes(const SyncStep &step) {
  switch (step.kind) {
  case StepKind::BarrierInit:
  case StepKind::SyncThreads:
  case StepKind::NamedArrive:
  case StepKind::GemmAsync:
  case StepKind::MmaWait:
  case StepKind::BulkCommit:
  case StepKind::BulkWait:
  case StepKind::ClusterArrive:
  case StepKind::ClusterWait:
    return true;
  case StepKind::BarrierArrive:
  case StepKind::ExpectBytes:
    return step.scope != ArrivalScope::Thread;
  case StepKind::CopyAsync:
    return step.number > 0;
  default:
    return false;
  }
}

bool SyncExecution::stepProtocol(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  if (agent.active != kAllLanes && needsAllLanes(step)) {
    giveUp(step, "it is under a condition that differs between the threads of "
                 "a warp");
    return false;
  }
  switch (step.kind) {
  case StepKind::BarrierInit:
    if (actsAlone(agent)) {
      const SyncBarriers &group = program.barriers[step.subject];
      int32_t time = tick(index);
      for (int64_t slot = 0; slot < step.numSlots; ++slot) {
        Barrier &barrier =
            barriers[inBlock(group.first + step.firstSlot + slot, agent.block)];
        barrier.count = barrier.pending = step.number;
        barrier.initAgent = index;
        barrier.initTime = time;
      }
    }
    return true;
  case StepKind::BarrierWait:
    return wait(index, step);
  case StepKind::BarrierArrive:
    return arrive(index, step);
  case StepKind::ExpectBytes:
    return (step.scope == ArrivalScope::Single && !actsAlone(agent)) ||
           expect(index, step);
  case StepKind::SyncThreads:
    return meet(index, step, /*waits=*/true);
  case StepKind::NamedArrive:
    return meet(index, step, /*waits=*/false);
  case StepKind::ClusterArrive:
    return arriveInCluster(index, step);
  case StepKind::ClusterWait:
    return waitForCluster(index, step);
  case StepKind::CopyAsync:
    return copy(index, step);
  case StepKind::AsyncCommit:
    agent.copyGroups.push_back(agent.copies);
    return true;
  case StepKind::AsyncWait: {
    int64_t covered = agent.copyGroups.size() - step.number;
    if (covered > 0)
      agent.clock[copiesOf(index)] =
          std::max(agent.clock[copiesOf(index)], agent.copyGroups[covered - 1]);
    return true;
  }
  case StepKind::GemmAsync:
    remember(agent, step);
    ++agent.products;
    agent.lastProduct = &step;
    return accessAll(index, step, AccessKind::Product, productsOf(index),
                     agent.products);
  case StepKind::MmaWait:
    remember(agent, step);
    agent.clock[productsOf(index)] = std::max<int32_t>(
        agent.clock[productsOf(index)], agent.products - step.number);
    return true;
  case StepKind::WarpSync:
    remember(agent, step);
    agent.laneWrites.clear();
    agent.laneWait = nullptr;
    return true;
  case StepKind::BulkCommit:
    if (actsAlone(agent) || step.isPerWarp)
      agent.storeGroups.push_back(agent.stores);
    return true;
  case StepKind::BulkWait: {
    remember(agent, step);
    int64_t covered = agent.storeGroups.size() - step.number;
    bool readsOnly = cast<BulkWaitOp>(step.op).getRead();
    if ((actsAlone(agent) || step.isPerWarp) && covered > 0)
      for (int component : {storesOf(index), writesOf(index)})
        if (component == storesOf(index) || !readsOnly)
          agent.clock[component] =
              std::max(agent.clock[component], agent.storeGroups[covered - 1]);
    if (step.isPerWarp)
      agent.laneWait = &step;
    return true;
  }
  case StepKind::Access:
    remember(agent, step);
    return checkLanes(index, step) &&
           accessAll(index, step, AccessKind::Threads, index, tick(index));
  default:
    llvm_unreachable("not a step of synchronisation");
  }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

int SyncExecution::getBarrier(Agent &agent, const SyncStep &step) {
  const SyncBarriers &group = program.barriers[step.subject];
  SymbolicValue slot = expressions.resolve(agent.values[step.inputs[0]]);
  if (!slot.isKnown) {
    giveUp(step, "the slot of " + getUserName(group.buffer) +
                     " cannot be calculated");
    return -1;
  }
  // The index of an arrival may say which block it means.
  int64_t block = agent.block, barrier = slot.value;
  if (countsThroughCluster(step.op) && barrier >= 0 &&
      barrier < step.numSlots * program.blocks) {
    block = barrier / step.numSlots;
    barrier %= step.numSlots;
  }
  if (barrier < 0 || barrier >= step.numSlots) {
    fail(step, "barrier " + Twine(slot.value) + " of " +
                   getUserName(group.buffer) + " does not exist: there are " +
                   Twine(step.numSlots));
    return -1;
  }
  return inBlock(group.first + step.firstSlot + barrier, block);
}

bool SyncExecution::checkInitialised(int index, const SyncStep &step,
                                     int slot) {
  Barrier &barrier = barriers[slot];
  if (!barrier.count) {
    fail(step, nameBarrier(slot) + " is used before tile.barrier_init says how "
                                   "many arrivals a phase takes");
    return false;
  }
  if (agents[index].clock[barrier.initAgent] < barrier.initTime) {
    bool isOwn = agents[index].block == blockOf(slot);
    fail(step, nameBarrier(slot) + " may be used before it is initialised: a " +
                   (isOwn ? "tile.sync_threads of all threads"
                          : "tile.cluster_arrive and tile.cluster_wait") +
                   " is missing after tile.barrier_init");
    return false;
  }
  return true;
}

/// The phase that a wait means follows from what the agent knows to be
/// complete: the current one in its eyes, or the one before, by the parity.
bool SyncExecution::wait(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  int slot = getBarrier(agent, step);
  if (slot < 0 || !checkInitialised(index, step, slot))
    return false;
  SymbolicValue parity = expressions.resolve(agent.values[step.inputs[1]]);
  if (!parity.isKnown)
    return giveUp(step, "the parity of the wait for " + nameBarrier(slot) +
                            " cannot be calculated"),
           false;
  Barrier &barrier = barriers[slot];
  int32_t known = agent.clock[phasesOf(slot)];
  bool isCurrent = (known & 1) == (parity.value & 1);
  remember(agent, step, slot, parity.value & 1);
  // Completed phases after which the wait must return.
  int32_t wanted = isCurrent ? known + 1 : known;
  if (barrier.phase > wanted) {
    if (isCurrent)
      fail(step, "phase overrun: " + nameBarrier(slot) +
                     " completes another phase before this wait of " +
                     nameAgent(index) + " for parity " +
                     Twine(parity.value & 1) + " returns");
    else
      fail(step, "phase overrun: this wait of " + nameAgent(index) +
                     " is for parity " + Twine(parity.value & 1) + " of " +
                     nameBarrier(slot) +
                     ", a phase that it knows to be complete, while the next "
                     "one may complete too (is a flip of the phase missing?)");
    return false;
  }
  if (barrier.phase < wanted) {
    agent.state = State::AtBarrier;
    agent.waitsFor = slot;
    agent.parity = parity.value & 1;
    barrier.blocked.push_back(index);
    return false;
  }
  if (barrier.phase > 0)
    join(agent.clock, barrier.lastRelease);
  agent.clock[phasesOf(slot)] = wanted;
  barrier.waits.push_back({index, tick(index), &step});
  return true;
}

/// Bytes that the threads expect which are here.
int64_t SyncExecution::getExpected(const Agent &agent,
                                   const SyncStep &step) const {
  return step.scope == ArrivalScope::Thread ? step.number * threadsOf(agent)
                                            : step.number;
}

bool SyncExecution::arrive(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  if (step.scope == ArrivalScope::Single && !actsAlone(agent))
    return true;
  int slot = getBarrier(agent, step);
  if (slot < 0)
    return false;
  int64_t arrivals = 1;
  if (step.scope == ArrivalScope::Thread)
    arrivals = threadsOf(agent);
  else if (step.scope == ArrivalScope::Warp)
    arrivals = agent.warps;
  SmallVector<int64_t, 4> targets = getTargets(agent, step);
  if (countsThroughCluster(step.op))
    targets = {blockOf(slot)};
  for (int64_t block : targets) {
    if (!arriveAt(index, step, inBlock(slot, block), arrivals))
      return false;
    if (block != agent.block)
      noteRemoteUse(index, step, block, index, agent.clock[index]);
  }
  return true;
}

bool SyncExecution::arriveAt(int index, const SyncStep &step, int slot,
                             int64_t arrivals) {
  Agent &agent = agents[index];
  if (!checkInitialised(index, step, slot))
    return false;
  remember(agent, step, slot);
  Barrier &barrier = barriers[slot];
  if (agent.clock[phasesOf(slot)] < barrier.phase ||
      arrivals > barrier.pending) {
    SmallVector<SyncNote> notes;
    if (barrier.lastArrive)
      notes.push_back({barrier.lastArrive->op->getLoc(),
                       "another arrival of the phase is here"});
    fail(step,
         "over-arrival: " + nameBarrier(slot) + " takes " +
             Twine(barrier.count) +
             (barrier.count == 1 ? " arrival" : " arrivals") +
             " in a phase, and this one of " + nameAgent(index) +
             " may come on top",
         notes);
    return false;
  }
  tick(index);
  barrier.lastArrive = &step;
  if (step.number) {
    barrier.expected += getExpected(agent, step);
    barrier.lastExpect = &step;
  }
  barrier.pending -= arrivals;
  join(barrier.release, agent.clock);
  if (step.afterCopies)
    barrier.release[copiesOf(index)] =
        std::max(barrier.release[copiesOf(index)], agent.copies);
  return completePhase(slot);
}

bool SyncExecution::expect(int index, const SyncStep &step) {
  int slot = getBarrier(agents[index], step);
  if (slot < 0 || !checkInitialised(index, step, slot))
    return false;
  Barrier &barrier = barriers[slot];
  remember(agents[index], step, slot);
  if (agents[index].clock[phasesOf(slot)] < barrier.phase) {
    fail(step, "over-arrival: the phase of " + nameBarrier(slot) +
                   " that should expect these bytes may already be complete");
    return false;
  }
  barrier.expected += getExpected(agents[index], step);
  barrier.lastExpect = &step;
  join(barrier.release, agents[index].clock);
  return true;
}

bool SyncExecution::completePhase(int slot) {
  Barrier &barrier = barriers[slot];
  if (barrier.pending > 0 || barrier.expected != barrier.copied)
    return true;
  // Waits for the phase before must have returned by now.
  for (const Wait &wait : barrier.waits)
    if (barrier.release[wait.agent] < wait.time) {
      fail(*wait.step,
           "phase overrun: " + nameBarrier(slot) +
               " may complete the next phase before this wait of " +
               nameAgent(wait.agent) + " returns",
           SyncNote{barrier.lastArrive->op->getLoc(),
                    "the next phase completes here"});
      return false;
    }
  barrier.waits.clear();
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.expected = barrier.copied = 0;
  barrier.release[phasesOf(slot)] = barrier.phase;
  barrier.lastRelease = barrier.release;
  llvm::fill(barrier.release, 0);
  SmallVector<int> blocked = std::move(barrier.blocked);
  barrier.blocked.clear();
  for (int index : blocked) {
    Agent &agent = agents[index];
    join(agent.clock, barrier.lastRelease);
    agent.state = State::Ready;
    agent.waitsFor = -1;
    barrier.waits.push_back(
        {index, tick(index), &program.steps[agent.position]});
    ++agent.position;
  }
  return true;
}
