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
  for (auto [index, role] : llvm::enumerate(program.roles)) {
    for (bool isFirstWarp : {true, false}) {
      Agent agent;
      agent.role = index;
      agent.isFirstWarp = isFirstWarp;
      agent.warps = isFirstWarp ? 1 : role.warps - 1;
      agent.threads = agent.warps * 32;
      if (agent.warps > 0)
        agents.push_back(std::move(agent));
    }
    launchThreads += role.warps * 32;
    if (role.attr &&
        program.roles[firstRole].attr.getFirst() > role.attr.getFirst())
      firstRole = index;
  }
  size_t components = 4 * agents.size() + program.numBarriers;
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
    for (auto [index, value] : program.symbols) {
      bool isBit = value.getType().isInteger(1);
      SymbolicValue symbol = expressions.makeOpaque(
          value.getAsOpaquePointer(), nullptr, {}, 0, isBit ? 1 : 64, false);
      auto bound = program.bounds.find(index);
      if (bound != program.bounds.end())
        expressions.getNode(symbol).loop = bound->second;
      agent.values[index] = symbol;
    }
    for (auto [index, variable] : llvm::enumerate(agent.variables))
      variable = expressions.makeOpaque(&agent.variables, nullptr, {}, index,
                                        64, false);
  }
  barriers.resize(program.numBarriers);
  for (Barrier &barrier : barriers)
    barrier.release = barrier.lastRelease = SyncClock(components, 0);
  for (const SyncMemory &memory : program.memories)
    records.emplace_back(memory.cells);
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
        Barrier &barrier = barriers[slot];
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
  case StepKind::BulkCommit:
    if (actsAlone(agent))
      agent.storeGroups.push_back(agent.stores);
    return true;
  case StepKind::BulkWait: {
    remember(agent, step);
    int64_t covered = agent.storeGroups.size() - step.number;
    if (actsAlone(agent) && covered > 0)
      agent.clock[storesOf(index)] = std::max(agent.clock[storesOf(index)],
                                              agent.storeGroups[covered - 1]);
    return true;
  }
  case StepKind::Access:
    remember(agent, step);
    return accessAll(index, step, AccessKind::Threads, index, tick(index));
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
  return group.first + slot.value;
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
    fail(step, nameBarrier(slot) +
                   " may be used before it is initialised: a "
                   "tile.sync_threads of all threads is missing after "
                   "tile.barrier_init");
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
  if (slot < 0 || !checkInitialised(index, step, slot))
    return false;
  remember(agent, step, slot);
  int64_t arrivals = 1;
  if (op.getScope() == ArrivalScope::Thread && !isSingle(agent))
    arrivals = agent.threads;
  else if (op.getScope() == ArrivalScope::Warp)
    arrivals = agent.warps;
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
  if (op.getCpAsync())
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
  constexpr int kRoleBarriers = 1000, kBlockBarrier = 2000;
  Agent &agent = agents[index];
  remember(agent, step);
  int key = step.subject >= 0 ? step.subject
            : agent.inRole    ? kRoleBarriers + agent.role
                              : kBlockBarrier;
  Meeting &meeting = meetings[key];
  meeting.count = step.number    ? step.number
                  : agent.inRole ? program.roles[agent.role].warps * 32
                                 : launchThreads;
  if (meeting.agents.empty()) {
    meeting.arrived = 0;
    meeting.clock.assign(agent.clock.size(), 0);
  }
  tick(index);
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
  if (isTma && !actsAlone(agent))
    return true;
  if (isStore) {
    remember(agent, step);
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
  if (slot < 0 || !checkInitialised(index, step, slot))
    return false;
  remember(agent, step, slot);
  Barrier &barrier = barriers[slot];
  if (!accessAll(index, step, AccessKind::Tma, phasesOf(slot),
                 barrier.phase + 1))
    return false;
  SmallVector<SyncNote> notes;
  if (barrier.lastExpect)
    notes.push_back(
        {barrier.lastExpect->op->getLoc(), "the bytes are expected here"});
  if (agent.clock[phasesOf(slot)] < barrier.phase) {
    fail(step,
         "wrong number of bytes: the phase of " + nameBarrier(slot) +
             " that this copy of " + Twine(step.number) +
             " bytes belongs to may complete without them",
         notes);
    return false;
  }
  barrier.copied += step.number;
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
                              int component, int32_t time) {
  for (int number = 0; number < step.numAccesses; ++number)
    if (!access(index, step, program.accesses[step.firstAccess + number], kind,
                component, time))
      return false;
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
  if (agents[before.agent].role == agents[now.agent].role) {
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
                           int component, int32_t time) {
  Agent &agent = agents[index];
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
  // Fragments belong to the agent.
  for (int64_t cell = first; cell <= last; ++cell) {
    std::vector<Record> &list = records[access.memory][cell];
    for (const Record &before : list) {
      if (memory.isFragment && before.agent != index)
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
      for (const Record &before : records[other][cell])
        if (agent.clock[before.component] < before.time &&
            conflicts(before, record, /*sameMemory=*/false)) {
          failAccess(before, record, access.memory, first, other);
          return false;
        }
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void SyncExecution::checkEnd() {
  for (auto [index, agent] : llvm::enumerate(agents)) {
    if (agent.products > agent.clock[productsOf(index)])
      return fail(*agent.lastProduct,
                  "asynchronous work is left at the end of the kernel: no "
                  "tile.mma_wait covers this product");
    if (agent.stores > agent.clock[storesOf(index)])
      return fail(*agent.lastStore,
                  "asynchronous work is left at the end of the kernel: no "
                  "tile.bulk_wait covers this store");
  }
  for (auto [slot, barrier] : llvm::enumerate(barriers)) {
    if (barrier.expected != barrier.copied)
      return fail(barrier.lastExpect ? *barrier.lastExpect : *barrier.lastCopy,
                  "wrong number of bytes: " + nameBarrier(slot) + " expects " +
                      Twine(barrier.expected) +
                      " bytes in its last phase, but " + Twine(barrier.copied) +
                      " are copied");
    int component = phasesOf(slot);
    if (barrier.lastCopyPhase >= 0 &&
        llvm::none_of(agents, [&, &barrier = barrier](const Agent &agent) {
          return agent.clock[component] > barrier.lastCopyPhase;
        }))
      return fail(*barrier.lastCopy,
                  "asynchronous work is left at the end of the kernel: nobody "
                  "waits for " +
                      nameBarrier(slot) + " after this copy");
  }
}

void SyncExecution::reportDeadlock() {
  std::string text;
  SmallVector<SyncNote> notes;
  const SyncStep *first = nullptr;
  for (auto [index, agent] : llvm::enumerate(agents)) {
    if (agent.state == State::Done || agent.state == State::Ready)
      continue;
    const SyncStep &step = program.steps[agent.position];
    // The others of a role usually wait for the same.
    if (index > 0 && agents[index - 1].role == agent.role &&
        agents[index - 1].state == agent.state &&
        agents[index - 1].position == agent.position &&
        agents[index - 1].waitsFor == agent.waitsFor)
      continue;
    if (!first)
      first = &step;
    text += text.empty() ? "" : "; ";
    text += nameAgent(index) + " waits ";
    if (agent.state == State::AtBarrier) {
      Barrier &barrier = barriers[agent.waitsFor];
      if (barrier.pending == 0) {
        const SyncStep &place = barrier.lastExpect ? *barrier.lastExpect : step;
        SmallVector<SyncNote> others = {
            {step.op->getLoc(), nameAgent(index) + " waits here"}};
        return fail(place,
                    "wrong number of bytes: " + nameBarrier(agent.waitsFor) +
                        " expects " + Twine(barrier.expected) +
                        " bytes in this phase, but " + Twine(barrier.copied) +
                        " are copied",
                    others);
      }
      text += "for parity " + std::to_string(agent.parity) + " of " +
              nameBarrier(agent.waitsFor) + " (" +
              std::to_string(barrier.count - barrier.pending) + " of " +
              std::to_string(barrier.count) + " arrivals)";
    } else {
      const Meeting &meeting = meetings[agent.waitsFor];
      text += "at tile.sync_threads (" + std::to_string(meeting.arrived) +
              " of " + std::to_string(meeting.count) + " threads)";
    }
    if (FileLineColLoc location = getFileLocation(step.op->getLoc()))
      text += " since line " + std::to_string(location.getLine());
    notes.push_back({step.op->getLoc(), nameAgent(index) + " waits here"});
  }
  fail(*first, "deadlock: " + text, ArrayRef<SyncNote>(notes).drop_front());
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string SyncExecution::nameBarrier(int slot) const {
  const SyncBarriers &group = program.getBarriers(slot);
  return getUserName(group.buffer) + "[" + std::to_string(slot - group.first) +
         "]";
}

std::string SyncExecution::nameAgent(int index) const {
  return program.roles[agents[index].role].name;
}

void SyncExecution::fail(const SyncStep &step, const Twine &message,
                         ArrayRef<SyncNote> notes) {
  if (!fault)
    fault = SyncFault{step.op->getLoc(), message.str(),
                      SmallVector<SyncNote>(notes)};
}

bool SyncExecution::giveUp(const SyncStep &step, const Twine &reason) {
  if (!unverified)
    unverified = SyncNote{step.op->getLoc(), reason.str()};
  return true;
}

static std::string nameOperation(Operation *op) {
  return op->getName().stripDialect().str();
}

void SyncExecution::failAccess(const Record &before, const Record &now,
                               int memoryIndex, int64_t cell, int otherMemory) {
  int index = now.agent;
  const SyncMemory &memory = program.memories[memoryIndex];
  std::string place = getUserName(memory.buffer);
  if (memory.cells > 1)
    place = "slot " + std::to_string(cell) + " of " + place;
  std::string mine = nameOperation(now.step->op);
  std::string other =
      nameOperation(before.step->op) + " of " + nameAgent(before.agent);
  std::string text;
  if (memory.isFragment)
    text = "early use: " + mine + " uses " + place +
           " before a tile.mma_wait covers " + nameOperation(before.step->op);
  else if (!now.isWrite)
    text = "early read: " + mine + " of " + nameAgent(index) + " reads " +
           place + " while " + other + " may still fill it";
  else if (!before.isWrite)
    text = "early overwrite: " + mine + " of " + nameAgent(index) +
           (now.kind == AccessKind::Tma ? " starts to fill " : " writes ") +
           place + " while " + other + " may still read it";
  else
    text = "early overwrite: " + mine + " of " + nameAgent(index) + " writes " +
           place + " while " + other + " may still write it";
  if (otherMemory != memoryIndex)
    text += ", which has the place of " +
            getUserName(program.memories[otherMemory].buffer);
  fail(*now.step, text,
       SyncNote{before.step->op->getLoc(), "the other access is here"});
}

void SyncExecution::remember(Agent &agent, const SyncStep &step, int barrier,
                             int64_t parity) {
  constexpr size_t kKept = 4;
  if (agent.trace.size() == kKept)
    agent.trace.erase(agent.trace.begin());
  agent.trace.push_back({&step, barrier, parity});
}

std::string SyncExecution::describe(const TraceEntry &entry) const {
  std::string text = nameOperation(entry.step->op);
  if (entry.barrier >= 0)
    text += " " + nameBarrier(entry.barrier);
  if (entry.step->kind == StepKind::BarrierWait)
    text += ", parity " + std::to_string(entry.parity);
  if (entry.step->kind == StepKind::MmaWait)
    text += ", pending " + std::to_string(entry.step->number);
  if (entry.step->kind == StepKind::CopyAsync ||
      entry.step->kind == StepKind::Access) {
    // What it writes, else what it reads, of the memory that is followed.
    const AccessTemplate *shown = nullptr;
    for (int index = 0; index < entry.step->numAccesses; ++index) {
      const AccessTemplate &access =
          program.accesses[entry.step->firstAccess + index];
      if (!shown || access.isWrite)
        shown = &access;
    }
    if (shown)
      text += (shown->isWrite ? " to " : " from ") +
              getUserName(program.memories[shown->memory].buffer);
  }
  return text;
}

/// The last steps of each role: of the agent that came less far.
void SyncExecution::addTraces(SyncFault &fault) {
  for (auto [role, info] : llvm::enumerate(program.roles)) {
    for (const Agent &agent : agents) {
      if (agent.role != static_cast<int>(role) || !agent.isFirstWarp ||
          agent.trace.empty())
        continue;
      for (auto [index, entry] : llvm::enumerate(agent.trace))
        fault.notes.push_back(
            {entry.step->op->getLoc(),
             info.name + ", " +
                 (index + 1 == agent.trace.size()
                      ? std::string("last step")
                      : std::to_string(agent.trace.size() - 1 - index) +
                            " before") +
                 ": " + describe(entry)});
    }
  }
  if (!choices.empty()) {
    std::string text = "this happens when ";
    size_t shown = std::min<size_t>(choices.size(), 4);
    for (size_t index = 0; index < shown; ++index)
      text += (index ? ", " : "") + choices[index];
    fault.notes.push_back({fault.location, text});
  }
}
