//===- SyncExecution.h - one execution of a kernel's protocol ---*- C++ -*-===//
//
// Agents are warps that run the same steps (SyncRoles.cpp); where conditions
// differ between threads, each warp is one, and its lanes take a branch one
// side after the other. Each agent has a vector clock: what of the other
// agents, of the asynchronous operations, and of the phases of barriers is
// known to be over. The order in which agents run does not matter for what the
// clocks say, as long as no barrier takes more arrivals than its phase counts,
// and no phase completes while a wait for the phase before it may still be
// under way; both are checked with the same clocks.
//
// Blocks of a cluster that use each other's shared memory have agents, barriers
// and memory of their own; block indices differ by the place in the cluster.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCEXECUTION_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCEXECUTION_H

#include "SyncProgram.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

/// What unknown values are taken to be.
struct SyncScenario {
  int64_t innerTrips = 0, outerTrips = 0;
  /// Later loops run a different number of times than the first.
  bool spread = false;
  /// Conditions: a fixed pattern, or bits of `choices` for each.
  enum Pattern {
    AllTrue,
    AllFalse,
    TrueFirst,
    FalseFirst,
    OnlyFirst,
    AllButFirst,
    Random,
    OtherRandom,
    Bits
  } pattern = AllTrue;
  unsigned choices = 0;
};

struct SyncNote {
  Location location;
  std::string text;
};

struct SyncFault {
  Location location;
  std::string message;
  SmallVector<SyncNote> notes;
};

using SyncClock = SmallVector<int32_t, 32>;

class SyncExecution {
public:
  SyncExecution(const SyncProgram &program, SymbolicExpressions &expressions,
                const SyncScenario &scenario);

  /// Until all agents are done, or something is wrong.
  void run();

  std::optional<SyncFault> fault;
  /// Where and why the program cannot be followed.
  std::optional<SyncNote> unverified;
  /// Which choices of the scenario had an effect.
  bool usedInner = false, usedOuter = false;
  int numConditions = 0, numTrips = 0;
  int64_t numSteps = 0;
  SmallVector<std::string> choices;

private:
  enum class State { Ready, AtBarrier, AtSync, AtCluster, Done };
  struct TraceEntry {
    const SyncStep *step;
    int barrier;
    int64_t parity;
    /// Of the loops around it, outermost first: which one, which iteration.
    SmallVector<std::pair<int, int64_t>, 2> iterations;
    /// The memory that it touches, written if there is one, and the slot; -1.
    int memory = -1;
    int64_t cell = -1;
    bool isWrite = false;
  };
  /// A branch that some lanes of a warp take.
  struct Split {
    Operation *op;
    int branch;
    uint32_t before, others;
    SymbolicValue condition;
    bool negated = false;
  };
  struct LoopState {
    int64_t counter = 0, step = 1, remaining = 0, skipAt = -1, skip = 0;
    int64_t iteration = 0;
  };
  struct Agent {
    /// Rank of the block.
    int block = 0;
    /// The warps that it is, by number and in full.
    int number = 0;
    const SyncWarps *which = nullptr;
    /// The role that it is in, or -1.
    int role = -1;
    int64_t warps = 0;
    /// Lanes that execute the current step, of each warp.
    uint32_t active = kAllLanes;
    SmallVector<Split, 1> splits;
    State state = State::Ready;
    int position = 0;
    std::vector<SymbolicValue> values, variables;
    std::vector<LoopState> loops;
    /// Loops that it is in, outermost first.
    SmallVector<int, 4> inside;
    std::vector<bool> bothWays;
    int divergentDepth = 0;
    llvm::DenseMap<const SyncStep *, int64_t> instances;
    SyncClock clock;
    int32_t products = 0, copies = 0, stores = 0;
    /// Copies (stores) up to each closed group.
    SmallVector<int32_t> copyGroups, storeGroups;
    const SyncStep *lastProduct = nullptr, *lastStore = nullptr;
    /// Arrivals at the barrier of the cluster, and waits that followed.
    int32_t clusterArrivals = 0, clusterWaits = 0;
    int waitsFor = -1;
    int64_t parity = 0;
    /// Since the lanes of the warp last met: memory of the warp that they
    /// wrote, and the wait of one of them for its stores.
    llvm::SmallDenseMap<int, const SyncStep *> laneWrites;
    const SyncStep *laneWait = nullptr;
    std::vector<TraceEntry> trace;
  };
  struct Wait {
    int agent;
    int32_t time;
    const SyncStep *step;
  };
  struct Barrier {
    int64_t count = 0, pending = 0, expected = 0, copied = 0;
    int initAgent = 0;
    int32_t initTime = 0;
    /// Completed phases.
    int32_t phase = 0;
    SyncClock release, lastRelease;
    /// Returned waits for the last completed phase.
    SmallVector<Wait> waits;
    SmallVector<int> blocked;
    int32_t lastCopyPhase = -1;
    const SyncStep *lastCopy = nullptr, *lastExpect = nullptr,
                   *lastArrive = nullptr;
  };
  /// A barrier of threads.
  struct Meeting {
    int64_t arrived = 0, count = 0;
    /// Completed phases.
    int32_t phase = 0;
    SyncClock clock;
    /// Agents that wait, and all that have arrived in this phase.
    SmallVector<int> waiting, arrivals;
    const SyncStep *lastArrive = nullptr;
  };
  struct ClusterBarrier {
    int64_t arrived = 0;
    int32_t phase = 0;
    SyncClock clock, release;
  };
  /// Another block's use of the shared memory of a block.
  struct RemoteUse {
    const SyncStep *step = nullptr;
    int agent = 0;
    int32_t time = 0;
  };
  enum class AccessKind { Threads, Product, CpAsync, Tma, Store };
  struct Record {
    const SyncStep *step;
    int agent;
    AccessKind kind;
    bool isWrite;
    /// Over for those whose clock has at least this time there.
    int component;
    int32_t time;
    /// The role in which it happened, or -1.
    int role;
    bool isAtomic = false;
    SmallVector<std::pair<int64_t, int64_t>, 4> box;
    /// Of tensors: what positions in the box are relative to.
    SmallVector<SymbolicValue, 4> bases;
  };
  /// The last write to a memory: a step, and how often its agent did it.
  struct Version {
    const SyncStep *step = nullptr;
    int64_t count = 0;
  };

  // Values.
  void step(int index);
  bool stepValues(Agent &agent, const SyncStep &step);
  bool stepControl(Agent &agent, const SyncStep &step);
  SymbolicValue opaque(Agent &agent, const SyncStep &step, int result);
  SymbolicValue makeSymbol(int index, Value value, int block);
  std::optional<int64_t> getElement(Agent &agent, const SyncStep &step,
                                    int firstIndex);
  std::optional<bool> decide(SymbolicValue value);
  bool decideComparison(SymbolicValue value);
  bool nextCondition();
  int64_t chooseTrips(int loop);
  bool beginLoop(Agent &agent, const SyncStep &step);
  void setDivergent(Agent &agent, int value, const SyncStep &step);

  // Conditions that differ between threads.
  std::optional<int64_t> evaluate(SymbolicValue value, int64_t thread);
  std::optional<uint32_t> getLanes(const Agent &agent, SymbolicValue condition);
  /// False where the branch is not one of lanes.
  bool splitLanes(Agent &agent, const SyncStep &step, SymbolicValue condition);
  SymbolicValue blend(const Agent &agent, SymbolicValue value,
                      SymbolicValue before);
  SymbolicValue seenBy(const Agent &agent, SymbolicValue value);

  // Synchronisation.
  bool stepProtocol(int index, const SyncStep &step);
  int getBarrier(Agent &agent, const SyncStep &step);
  bool checkInitialised(int index, const SyncStep &step, int barrier);
  bool wait(int index, const SyncStep &step);
  bool arrive(int index, const SyncStep &step);
  bool arriveAt(int index, const SyncStep &step, int slot, int64_t arrivals);
  bool expect(int index, const SyncStep &step);
  int64_t getExpected(const Agent &agent, const SyncStep &step) const;
  int getMeeting(const Agent &agent, const SyncStep &step) const;
  bool meet(int index, const SyncStep &step, bool waits);
  bool copy(int index, const SyncStep &step);
  bool deliver(int index, const SyncStep &step, int slot, int64_t bytes);
  bool arriveInCluster(int index, const SyncStep &step);
  bool waitForCluster(int index, const SyncStep &step);
  /// The ranks of the blocks that a step reaches.
  SmallVector<int64_t, 4> getTargets(const Agent &agent,
                                     const SyncStep &step) const;
  void noteRemoteUse(int index, const SyncStep &step, int block, int component,
                     int32_t time);
  void checkExits();
  bool completePhase(int barrier);
  bool access(int index, const SyncStep &step, const AccessTemplate &access,
              AccessKind kind, int component, int32_t time, int block);
  /// In the shared memory of `block`.
  bool accessAll(int index, const SyncStep &step, AccessKind kind,
                 int component, int32_t time, int block);
  bool accessAll(int index, const SyncStep &step, AccessKind kind,
                 int component, int32_t time) {
    return accessAll(index, step, kind, component, time, agents[index].block);
  }
  bool checkLanes(int agent, const SyncStep &step);
  bool conflicts(const Record &before, const Record &now, bool sameMemory);
  bool overlap(const Record &before, const Record &now, bool isGlobal);
  void checkEnd();
  void reportDeadlock();

  // Messages.
  void fail(const SyncStep &step, const Twine &message,
            ArrayRef<SyncNote> notes = {});
  void failAccess(const Record &before, const Record &now, int memory,
                  int64_t cell, int otherMemory);
  bool giveUp(const SyncStep &step, const Twine &reason);
  std::string nameBarrier(int barrier) const;
  std::string nameAgent(int agent) const;
  std::string nameMeeting(int meeting) const;
  std::string describe(const TraceEntry &entry) const;
  std::string describeIterations(const TraceEntry &entry) const;
  void remember(Agent &agent, const SyncStep &step, int barrier = -1,
                int64_t parity = 0);
  void addTraces(SyncFault &fault);
  std::string nameMemory(int memory, int64_t cell) const;

  static void join(SyncClock &into, const SyncClock &from) {
    for (size_t i = 0, e = from.size(); i < e; ++i)
      into[i] = std::max(into[i], from[i]);
  }
  int32_t tick(int agent) { return ++agents[agent].clock[agent]; }
  int productsOf(int agent) const { return agents.size() + agent; }
  int copiesOf(int agent) const { return 2 * agents.size() + agent; }
  /// Reads and writes of bulk stores.
  int storesOf(int agent) const { return 3 * agents.size() + agent; }
  int writesOf(int agent) const { return 4 * agents.size() + agent; }
  int phasesOf(int barrier) const { return 5 * agents.size() + barrier; }
  int phasesOfMeeting(int meeting) const {
    return 5 * agents.size() + barriers.size() + meeting;
  }
  /// The barrier of `block` at the place of `slot`, which is one of any block.
  int inBlock(int slot, int block) const {
    return slot % program.numBarriers + block * program.numBarriers;
  }
  int blockOf(int slot) const { return slot / program.numBarriers; }
  const SyncRole *roleOf(const Agent &agent) const {
    return agent.role < 0 ? nullptr : &program.roles[agent.role];
  }
  bool actsAlone(const Agent &agent) const {
    const SyncRole *role = roleOf(agent);
    return agent.which->first == (role ? role->attr.getFirst() : 0);
  }
  bool isSingle(const Agent &agent) const {
    const SyncRole *role = roleOf(agent);
    return role && role->attr.getSingle();
  }
  /// Threads of the agent that execute the current step.
  int64_t threadsOf(const Agent &agent) const {
    return isSingle(agent) ? 1 : agent.warps * llvm::popcount(agent.active);
  }

  static constexpr uint32_t kAllLanes = 0xFFFFFFFFu;
  /// Hardware barriers; those of roles and of the block have no number yet.
  static constexpr int kNamedBarriers = 16;
  const SyncProgram &program;
  SymbolicExpressions &expressions;
  SyncScenario scenario;
  std::vector<Agent> agents;
  std::vector<Barrier> barriers;
  std::vector<std::vector<std::vector<Record>>> records;
  std::vector<Meeting> meetings;
  /// By memory, of all blocks.
  std::vector<Version> versions;
  ClusterBarrier clusterBarrier;
  /// The last use of each block by each component of the clocks.
  llvm::MapVector<std::pair<int, int>, RemoteUse> remoteUses;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCEXECUTION_H
