//===- SyncFaults.cpp - the end of an execution, and messages -------------===//
//
// What is wrong when nobody can go on or all are done, and how faults are told.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"

using namespace mlir;
using namespace mlir::tile;

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
  checkExits();
  if (fault)
    return;
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
        agents[index - 1].which->family == agent.which->family &&
        agents[index - 1].block == agent.block &&
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
    } else if (agent.state == State::AtCluster) {
      text += "at tile.cluster_wait (" +
              std::to_string(clusterBarrier.arrived) + " of " +
              std::to_string(program.threads * program.blocks) + " threads)";
    } else {
      const Meeting &meeting = meetings[agent.waitsFor];
      text += "at " + nameMeeting(agent.waitsFor) + " (" +
              std::to_string(meeting.arrived) + " of " +
              std::to_string(meeting.count) + " threads)";
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
  int own = inBlock(slot, 0);
  const SyncBarriers &group = program.getBarriers(own);
  std::string name =
      getUserName(group.buffer) + "[" + std::to_string(own - group.first) + "]";
  if (program.blocks > 1)
    name += " of block " + std::to_string(blockOf(slot));
  return name;
}

std::string SyncExecution::nameAgent(int index) const {
  const Agent &agent = agents[index];
  const SyncRole *role = roleOf(agent);
  std::string name = role ? role->name : agent.which->name;
  if (program.hasThreadConditions)
    name = "warp " + std::to_string(agent.which->first) + " of " + name;
  if (program.blocks > 1)
    name += " of block " + std::to_string(agent.block);
  return name;
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

std::string SyncExecution::nameMemory(int memory, int64_t cell) const {
  std::string name = getUserName(program.memories[memory].buffer);
  return cell < 0 ? name : "slot " + std::to_string(cell) + " of " + name;
}

static std::string nameOperation(Operation *op) {
  return op->getName().stripDialect().str();
}

void SyncExecution::failAccess(const Record &before, const Record &now,
                               int memoryIndex, int64_t cell, int otherMemory) {
  int index = now.agent;
  const SyncMemory &memory = program.memories[memoryIndex];
  std::string place = nameMemory(memoryIndex, memory.cells > 1 ? cell : -1);
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
  TraceEntry entry{&step, barrier, parity, {}};
  for (int loop : agent.inside)
    if (program.loops[loop].isFollowed)
      entry.iterations.emplace_back(loop, agent.loops[loop].iteration);
  if (step.kind == StepKind::CopyAsync || step.kind == StepKind::Access ||
      step.kind == StepKind::GemmAsync)
    for (int index = 0; index < step.numAccesses; ++index) {
      const AccessTemplate &access = program.accesses[step.firstAccess + index];
      const SyncMemory &memory = program.memories[access.memory];
      // What it writes, else what it reads, of the memory that is followed.
      if ((entry.memory >= 0 && !access.isWrite) || memory.isFragment)
        continue;
      entry.memory = access.memory;
      entry.isWrite = access.isWrite;
      entry.cell = -1;
      if (memory.cells == 1)
        continue;
      const AccessRange &slot = access.region.front();
      SymbolicValue base;
      if (slot.base >= 0)
        base = expressions.resolve(agent.values[slot.base]);
      if (base.isKnown && slot.size == 1)
        entry.cell = base.value + slot.offset;
    }
  agent.trace.push_back(std::move(entry));
}

/// ", iteration 3 of the loop (line 12)"; of nested loops, the outer one first.
std::string SyncExecution::describeIterations(const TraceEntry &entry) const {
  std::string text;
  for (auto [loop, iteration] : entry.iterations) {
    text += ", iteration " + std::to_string(iteration);
    scf::ForOp op = program.loops[loop].op;
    if (FileLineColLoc location = getFileLocation(op.getLoc()))
      text += " of the loop (line " + std::to_string(location.getLine()) + ")";
  }
  return text;
}

std::string SyncExecution::describe(const TraceEntry &entry) const {
  std::string text = nameOperation(entry.step->op);
  if (entry.barrier >= 0)
    text += " " + nameBarrier(entry.barrier);
  if (entry.step->kind == StepKind::BarrierWait)
    text += ", parity " + std::to_string(entry.parity);
  if (entry.step->kind == StepKind::MmaWait)
    text += ", pending " + std::to_string(entry.step->number);
  if ((entry.step->kind == StepKind::SyncThreads ||
       entry.step->kind == StepKind::NamedArrive) &&
      entry.step->subject > 0)
    text += " of named barrier " + std::to_string(entry.step->subject);
  if (entry.memory >= 0)
    text += (entry.isWrite ? " to " : " from ") +
            nameMemory(entry.memory, entry.cell);
  return text + describeIterations(entry);
}

/// The last steps of each role: of the agent that came less far. Of a cluster,
/// two blocks are enough to see.
void SyncExecution::addTraces(SyncFault &fault) {
  constexpr int kShownBlocks = 2;
  llvm::SmallDenseSet<std::pair<int, int>> shown;
  for (int family = 0, e = program.warps.size(); family < e; ++family) {
    for (auto [number, agent] : llvm::enumerate(agents)) {
      if (agent.which->family != family || agent.trace.empty() ||
          agent.block >= kShownBlocks ||
          !shown.insert({family, agent.block}).second)
        continue;
      for (auto [index, entry] : llvm::enumerate(agent.trace))
        fault.notes.push_back(
            {entry.step->op->getLoc(),
             nameAgent(number) + ", " +
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
