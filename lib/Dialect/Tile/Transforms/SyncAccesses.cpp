//===- SyncAccesses.cpp - copies and accesses of an execution -------------===//
//
// What an access must be ordered behind: those before it that touch the same
// elements, by the clock of the agent.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"

using namespace mlir;
using namespace mlir::tile;

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
  // Each of the blocks that share a load sends its part to all of them. What
  // the program shares itself is sent as a whole.
  SmallVector<int64_t, 4> targets = getTargets(agent, step);
  int64_t parts = getClusterMask(step.op) ? 1 : targets.size();
  for (int64_t block : targets)
    if (!deliver(index, step, inBlock(slot, block), step.number / parts))
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
  int64_t count = ++agents[index].instances[&step];
  for (int number = 0; number < step.numAccesses; ++number)
    if (!access(index, step, program.accesses[step.firstAccess + number], kind,
                component, time, block))
      return false;
  for (int number = 0; number < step.numAccesses; ++number) {
    const AccessTemplate &access = program.accesses[step.firstAccess + number];
    if (access.isWrite)
      versions[block * program.memories.size() + access.memory] = {&step,
                                                                   count};
  }
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
  if (before.isAtomic && now.isAtomic)
    return false;
  // tile-insert-sync orders the threads of a role, and what all threads do.
  bool sameRole =
      before.role == now.role ||
      agents[before.agent].which->family == agents[now.agent].which->family;
  if (sameBlock && sameRole) {
    if (beforeThreads && nowThreads)
      return false;
    if (before.kind == AccessKind::Product && now.kind == AccessKind::Product)
      return false;
    if (before.step == now.step && before.kind == AccessKind::CpAsync)
      return false;
  }
  bool isGlobal = !now.bases.empty();
  // Bulk stores to one place come in any order; that is for the program to
  // know.
  if (isGlobal && before.kind == AccessKind::Store &&
      now.kind == AccessKind::Store)
    return false;
  return !sameMemory || overlap(before, now, isGlobal);
}

/// Of tensors, whose positions are not all known: whether the boxes certainly
/// meet.
bool SyncExecution::overlap(const Record &before, const Record &now,
                            bool isGlobal) {
  for (auto [dim, left] : llvm::enumerate(before.box)) {
    const auto &right = now.box[dim];
    if (isGlobal) {
      SymbolicValue from = expressions.resolve(before.bases[dim]);
      SymbolicValue to = expressions.resolve(now.bases[dim]);
      int64_t distance = 0;
      if (from.isKnown && to.isKnown)
        distance = to.value - from.value;
      else if (!(from == to))
        return false;
      if (left.second <= right.first + distance ||
          right.second + distance <= left.first)
        return false;
    } else if (left.second <= right.first || right.second <= left.first) {
      return false;
    }
  }
  return true;
}

bool SyncExecution::access(int index, const SyncStep &step,
                           const AccessTemplate &access, AccessKind kind,
                           int component, int32_t time, int block) {
  Agent &agent = agents[index];
  int firstMemory = block * program.memories.size();
  const SyncMemory &memory = program.memories[access.memory];
  if (memory.isGlobal && kind == AccessKind::Store)
    component = writesOf(index);
  Record record{&step,     index, kind,       access.isWrite,
                component, time,  agent.role, access.isAtomic,
                {},        {}};
  for (const AccessRange &range : access.region) {
    SymbolicValue base;
    if (range.base >= 0)
      base = agent.values[range.base];
    if (memory.isGlobal) {
      record.bases.push_back(base);
      record.box.emplace_back(range.offset, range.offset + range.size);
      continue;
    }
    base = expressions.resolve(base);
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
          before.box == record.box && before.bases == record.bases)
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
