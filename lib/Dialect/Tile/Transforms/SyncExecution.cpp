//===- SyncExecution.cpp - one execution of a kernel's protocol -----------===//
//
// Barriers follow the PTX ISA: a phase is complete when no arrivals are pending
// and all expected bytes have come; waiting for a parity returns when the phase
// before the current one has it.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

using namespace mlir;
using namespace mlir::tile;

SyncExecution::SyncExecution(const SyncProgram &program,
                             SymbolicExpressions &expressions,
                             const SyncScenario &scenario)
    : program(program), expressions(expressions), scenario(scenario) {
  for (int block = 0; block < program.blocks; ++block)
    for (auto [index, role] : llvm::enumerate(program.roles))
      for (bool isFirstWarp : {true, false}) {
        Agent agent;
        agent.block = block;
        agent.role = index;
        agent.isFirstWarp = isFirstWarp;
        agent.warps = isFirstWarp ? 1 : role.warps - 1;
        agent.threads = agent.warps * 32;
        if (agent.warps > 0)
          agents.push_back(std::move(agent));
      }
  for (auto [index, role] : llvm::enumerate(program.roles)) {
    launchThreads += role.warps * 32;
    if (role.attr &&
        program.roles[firstRole].attr.getFirst() > role.attr.getFirst())
      firstRole = index;
  }
  int numBarriers = program.numBarriers * program.blocks;
  size_t components = 4 * agents.size() + numBarriers;
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
  for (int block = 0; block < program.blocks; ++block)
    for (const SyncMemory &memory : program.memories)
      records.emplace_back(memory.cells);
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

bool SyncExecution::stepProtocol(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  switch (step.kind) {
  case StepKind::BarrierInit:
    if (actsAlone(agent)) {
      const SyncBarriers &group = program.barriers[step.subject];
      int32_t time = tick(index);
      for (int slot = group.first; slot < group.first + group.count; ++slot) {
        Barrier &barrier = barriers[inBlock(slot, agent.block)];
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
    return !actsAlone(agent) || expect(index, step);
  case StepKind::SyncThreads:
    return sync(index, step);
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
    if ((actsAlone(agent) || step.isPerWarp) && covered > 0)
      agent.clock[storesOf(index)] = std::max(agent.clock[storesOf(index)],
                                              agent.storeGroups[covered - 1]);
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
  if (slot.value < 0 || slot.value >= group.count) {
    fail(step, "barrier " + Twine(slot.value) + " of " +
                   getUserName(group.buffer) + " does not exist: there are " +
                   Twine(group.count));
    return -1;
  }
  return inBlock(group.first + slot.value, agent.block);
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

bool SyncExecution::arrive(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  auto op = cast<BarrierArriveOp>(step.op);
  if (op.getScope() == ArrivalScope::Single && !actsAlone(agent))
    return true;
  int slot = getBarrier(agent, step);
  if (slot < 0)
    return false;
  int64_t arrivals = 1;
  if (op.getScope() == ArrivalScope::Thread && !isSingle(agent))
    arrivals = agent.threads;
  else if (op.getScope() == ArrivalScope::Warp)
    arrivals = agent.warps;
  for (int64_t block : getTargets(agent, step)) {
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
    barrier.expected += step.number;
    barrier.lastExpect = &step;
  }
  barrier.pending -= arrivals;
  join(barrier.release, agent.clock);
  if (cast<BarrierArriveOp>(step.op).getCpAsync())
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
  barrier.expected += step.number;
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

//===----------------------------------------------------------------------===//
// Barriers of threads
//===----------------------------------------------------------------------===//

bool SyncExecution::sync(int index, const SyncStep &step) {
  constexpr int kRoleBarriers = 1000, kBlockBarrier = 2000, kBlocks = 4000;
  Agent &agent = agents[index];
  remember(agent, step);
  int key = step.subject >= 0 ? step.subject
            : agent.inRole    ? kRoleBarriers + agent.role
                              : kBlockBarrier;
  key += agent.block * kBlocks;
  Meeting &meeting = meetings[key];
  meeting.count = step.number    ? step.number
                  : agent.inRole ? program.roles[agent.role].warps * 32
                                 : launchThreads;
  if (meeting.agents.empty()) {
    meeting.arrived = 0;
    meeting.clock.assign(agent.clock.size(), 0);
  }
  tick(index);
  agent.laneWrites.clear();
  agent.laneWait = nullptr;
  meeting.arrived += isSingle(agent) ? 1 : agent.threads;
  join(meeting.clock, agent.clock);
  meeting.agents.push_back(index);
  if (meeting.arrived > meeting.count) {
    fail(step, "over-arrival: tile.sync_threads of " + Twine(meeting.count) +
                   " threads, but " + Twine(meeting.arrived) + " arrive");
    return false;
  }
  if (meeting.arrived < meeting.count) {
    agent.state = State::AtSync;
    agent.waitsFor = key;
    return false;
  }
  for (int other : meeting.agents) {
    join(agents[other].clock, meeting.clock);
    if (other == index)
      continue;
    agents[other].state = State::Ready;
    agents[other].waitsFor = -1;
    ++agents[other].position;
  }
  meeting.agents.clear();
  return true;
}

//===----------------------------------------------------------------------===//
// Copies and accesses
//===----------------------------------------------------------------------===//

bool SyncExecution::copy(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  auto op = cast<CopyAsyncOp>(step.op);
  bool isStore = isa<MemRefType>(op.getDest().getType());
  bool isTma = step.number > 0;
  if (isTma && !actsAlone(agent) && !step.isPerWarp)
    return true;
  if (isStore) {
    remember(agent, step);
    if (!checkLanes(index, step))
      return false;
    ++agent.stores;
    agent.lastStore = &step;
    return accessAll(index, step, AccessKind::Store, storesOf(index),
                     agent.stores);
  }
  if (!isTma || step.subject < 0) {
    remember(agent, step);
    ++agent.copies;
    return accessAll(index, step, AccessKind::CpAsync, copiesOf(index),
                     agent.copies);
  }
  int slot = getBarrier(agent, step);
  if (slot < 0)
    return false;
  // Each of the blocks that share a load sends its part to all of them.
  SmallVector<int64_t, 4> targets = getTargets(agent, step);
  for (int64_t block : targets)
    if (!deliver(index, step, inBlock(slot, block),
                 step.number / targets.size()))
      return false;
  return true;
}

bool SyncExecution::deliver(int index, const SyncStep &step, int slot,
                            int64_t bytes) {
  Agent &agent = agents[index];
  if (!checkInitialised(index, step, slot))
    return false;
  remember(agent, step, slot);
  Barrier &barrier = barriers[slot];
  if (blockOf(slot) != agent.block)
    noteRemoteUse(index, step, blockOf(slot), phasesOf(slot),
                  barrier.phase + 1);
  if (!accessAll(index, step, AccessKind::Tma, phasesOf(slot),
                 barrier.phase + 1, blockOf(slot)))
    return false;
  SmallVector<SyncNote> notes;
  if (barrier.lastExpect)
    notes.push_back(
        {barrier.lastExpect->op->getLoc(), "the bytes are expected here"});
  if (agent.clock[phasesOf(slot)] < barrier.phase) {
    fail(step,
         "wrong number of bytes: the phase of " + nameBarrier(slot) +
             " that this copy of " + Twine(bytes) +
             " bytes belongs to may complete without them",
         notes);
    return false;
  }
  barrier.copied += bytes;
  barrier.lastCopy = &step;
  barrier.lastCopyPhase = barrier.phase;
  tick(index);
  join(barrier.release, agent.clock);
  if (barrier.pending == 0 && barrier.copied > barrier.expected) {
    fail(step,
         "wrong number of bytes: " + nameBarrier(slot) + " expects " +
             Twine(barrier.expected) + " bytes in this phase, but " +
             Twine(barrier.copied) + " are copied",
         notes);
    return false;
  }
  return completePhase(slot);
}

bool SyncExecution::accessAll(int index, const SyncStep &step, AccessKind kind,
                              int component, int32_t time, int block) {
  for (int number = 0; number < step.numAccesses; ++number)
    if (!access(index, step, program.accesses[step.firstAccess + number], kind,
                component, time, block))
      return false;
  return true;
}

/// Of memory of single warps: the lanes write it, one of them stores it and
/// waits for the store, and the lanes meet in between.
bool SyncExecution::checkLanes(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  for (int number = 0; number < step.numAccesses; ++number) {
    const AccessTemplate &access = program.accesses[step.firstAccess + number];
    const SyncMemory &memory = program.memories[access.memory];
    if (!memory.isOfWarps)
      continue;
    std::string name = getUserName(memory.buffer);
    if (step.kind == StepKind::Access) {
      if (access.isWrite && agent.laneWait) {
        fail(step,
             "early overwrite: lanes of " + nameAgent(index) + " write " +
                 name +
                 " before one that waits for its stores is done: a "
                 "tile.warp_sync is missing",
             SyncNote{agent.laneWait->op->getLoc(), "the wait is here"});
        return false;
      }
      if (access.isWrite)
        agent.laneWrites[access.memory] = &step;
      continue;
    }
    auto write = agent.laneWrites.find(access.memory);
    if (write == agent.laneWrites.end())
      continue;
    fail(step,
         "early read: a lane of " + nameAgent(index) + " stores " + name +
             " while others may still write it: a tile.warp_sync is missing",
         SyncNote{write->second->op->getLoc(), "the write is here"});
    return false;
  }
  return true;
}

/// Whether two accesses that may happen at the same time are a fault. Threads
/// of one role order their own accesses among each other elsewhere.
bool SyncExecution::conflicts(const Record &before, const Record &now,
                              bool sameMemory) {
  if (!before.isWrite && !now.isWrite)
    return false;
  bool beforeThreads = before.kind == AccessKind::Threads;
  bool nowThreads = now.kind == AccessKind::Threads;
  bool sameBlock = agents[before.agent].block == agents[now.agent].block;
  // Blocks that share a load write different parts of its tile.
  if (!sameBlock && before.step == now.step && before.kind == now.kind)
    return false;
  if (sameBlock && agents[before.agent].role == agents[now.agent].role) {
    if (beforeThreads && nowThreads)
      return false;
    if (before.kind == AccessKind::Product && now.kind == AccessKind::Product)
      return false;
    if (before.step == now.step && before.kind == AccessKind::CpAsync)
      return false;
  }
  if (!sameMemory)
    return true;
  for (auto [left, right] : llvm::zip(before.box, now.box))
    if (left.second <= right.first || right.second <= left.first)
      return false;
  return true;
}

bool SyncExecution::access(int index, const SyncStep &step,
                           const AccessTemplate &access, AccessKind kind,
                           int component, int32_t time, int block) {
  Agent &agent = agents[index];
  int firstMemory = block * program.memories.size();
  const SyncMemory &memory = program.memories[access.memory];
  Record record{&step, index, kind, access.isWrite, component, time, {}};
  for (const AccessRange &range : access.region) {
    SymbolicValue base;
    if (range.base >= 0)
      base = expressions.resolve(agent.values[range.base]);
    if (base.isKnown)
      record.box.emplace_back(base.value + range.offset,
                              base.value + range.offset + range.size);
    else
      record.box.emplace_back(0, range.extent);
  }
  int64_t first = 0, last = 0;
  if (memory.cells > 1) {
    first = std::clamp<int64_t>(record.box[0].first, 0, memory.cells - 1);
    last =
        std::clamp<int64_t>(record.box[0].second - 1, first, memory.cells - 1);
  }
  // Fragments, and parts of warps, belong to the agent.
  for (int64_t cell = first; cell <= last; ++cell) {
    std::vector<Record> &list = records[firstMemory + access.memory][cell];
    for (const Record &before : list) {
      if ((memory.isFragment || memory.isOfWarps) && before.agent != index)
        continue;
      if (agent.clock[before.component] >= before.time ||
          !conflicts(before, record, /*sameMemory=*/true))
        continue;
      failAccess(before, record, access.memory, cell, access.memory);
      return false;
    }
    Record *same = nullptr;
    for (Record &before : list)
      if (before.step == &step && before.agent == index &&
          before.isWrite == record.isWrite && before.component == component &&
          before.box == record.box)
        same = &before;
    if (same)
      *same = record;
    else
      list.push_back(record);
  }
  for (int other : memory.overlaps) {
    const SyncMemory &second = program.memories[other];
    int64_t size = memory.bytes / memory.cells;
    int64_t begin = memory.offset + first * size;
    int64_t end = memory.offset + (last + 1) * size;
    int64_t otherSize = second.bytes / second.cells;
    for (int64_t cell = 0; cell < second.cells; ++cell) {
      int64_t otherBegin = second.offset + cell * otherSize;
      if (otherBegin >= end || otherBegin + otherSize <= begin)
        continue;
      for (const Record &before : records[firstMemory + other][cell])
        if (agent.clock[before.component] < before.time &&
            conflicts(before, record, /*sameMemory=*/false)) {
          failAccess(before, record, access.memory, first, other);
          return false;
        }
    }
  }
  return true;
}
