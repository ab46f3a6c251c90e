//===- SyncAnalysis.cpp - where threads must meet ---------------*- C++ -*-===//
//
// A forward data-flow. The state is the set of accesses to shared memory, and
// to tensors that the kernel writes, since the last barrier. An operation that
// conflicts with one of them needs a barrier in front of it.
//
// Where the barrier goes: a conflict with something outside of a branch or a
// loop is resolved in front of the branch or loop, so that barriers in a loop
// are those that every iteration needs, and branches that threads may take
// differently hold none. A loop is analysed first by itself, from the state its
// own iterations leave behind, and then with the state in front of it.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/SyncAnalysis.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

#include "AsyncProxy.h"
#include "Uniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A slot counter of a loop: starts at a constant, and each iteration goes to
/// the next of `slots` slots.
struct SlotCounter {
  /// The counter that stands for all of its loop and number of slots.
  Value representative;
  /// What this counter is ahead of it.
  int64_t distance = 0;
  int64_t slots = 0;
};

/// The role of the program around `op`; null elsewhere.
RoleAttr getUserRole(Operation *op) {
  RoleAttr role = getRole(op);
  return role && role.getKind() == RoleKind::User ? role : RoleAttr();
}

/// Whether no thread has both roles.
bool areDisjoint(RoleAttr lhs, RoleAttr rhs) {
  return lhs && rhs &&
         (lhs.getFirst() + lhs.getWarps() <= rhs.getFirst() ||
          rhs.getFirst() + rhs.getWarps() <= lhs.getFirst());
}

/// One access since the last barrier.
struct Pending {
  Value root;
  SmallVector<IndexRange, 4> region;
  bool isWrite = false, isAtomic = false;
  FragmentLayoutAttr threads, warps;
  /// Of tensors: the operation, as long as the places that it accesses in
  /// different iterations are known to be different.
  Operation *apart = nullptr;
  /// The role of the program whose threads it is of; null for all threads.
  RoleAttr role;

  bool operator==(const Pending &other) const {
    return root == other.root && region == other.region &&
           isWrite == other.isWrite && isAtomic == other.isAtomic &&
           threads == other.threads && warps == other.warps &&
           apart == other.apart && role == other.role;
  }
};

struct State {
  SmallVector<Pending> accesses;
  /// Asynchronous writes that may still be under way. They become accesses at
  /// a wait: complete for the thread that started them, not for others.
  SmallVector<Pending> inFlight;
  /// Reads of stores by TMA, in the same way.
  SmallVector<Pending> stored;
  /// Reads of products in flight: a barrier in front of the wait for them says
  /// nothing about other threads' products.
  SmallVector<Pending> multiplied;

  static void insert(SmallVector<Pending> &list, const Pending &item) {
    if (!llvm::is_contained(list, item))
      list.push_back(item);
  }
  void join(const State &other) {
    for (const Pending &item : other.accesses)
      insert(accesses, item);
    for (const Pending &item : other.inFlight)
      insert(inFlight, item);
    for (const Pending &item : other.stored)
      insert(stored, item);
    for (const Pending &item : other.multiplied)
      insert(multiplied, item);
  }
  /// The threads that reach `op` together meet.
  void meetAt(Operation *op) {
    RoleAttr here = getUserRole(op);
    if (!here)
      return accesses.clear();
    llvm::erase_if(accesses, [&](const Pending &item) {
      return item.role && here.getFirst() <= item.role.getFirst() &&
             item.role.getFirst() + item.role.getWarps() <=
                 here.getFirst() + here.getWarps();
    });
  }
  bool operator==(const State &other) const {
    auto same = [](const SmallVector<Pending> &a,
                   const SmallVector<Pending> &b) {
      return a.size() == b.size() && llvm::all_of(a, [&](const Pending &item) {
               return llvm::is_contained(b, item);
             });
    };
    return same(accesses, other.accesses) && same(inFlight, other.inFlight) &&
           same(stored, other.stored) && same(multiplied, other.multiplied);
  }
};

class BarrierPlanner {
public:
  explicit BarrierPlanner(KernelOp kernel)
      : kernel(kernel), uniformity(kernel),
        leavesSyncToUser(
            OptionsAttr::of(kernel).getFlag("disable_thread_sync", false)) {
    kernel.walk([&](scf::ForOp loop) { findCounters(loop); });
    SmallVector<BufferAccess> all;
    collectNestedAccesses(kernel, all);
    for (const BufferAccess &access : all)
      if (access.isWrite && isa<MemRefType>(access.root.getType()))
        writtenTensors.insert(access.root);
    mayAlias = !OptionsAttr::of(kernel).getFlag("noalias", true);
  }

  SmallVector<Operation *> run() {
    runBlock(*kernel.getBodyBlock(), State(), /*decide=*/true);
    SmallVector<Operation *> result;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (barriers.contains(op))
        result.push_back(op);
    });
    return result;
  }

private:
  void findCounters(scf::ForOp loop);
  const SmallVector<Pending> &getAccesses(Operation *op);
  std::optional<Pending> getPhase(Operation *op);
  Pending convert(const BufferAccess &access);

  bool conflict(const Pending &before, const Pending &now);
  bool shareMemory(Value lhs, Value rhs);

  State runBlock(Block &block, State state, bool decide);
  State runOp(Operation *op, State state, bool decide);
  State runLeaf(Operation *op, State state, bool decide);
  State runBranch(scf::IfOp branch, State state, bool decide);
  State runLoop(Operation *loop, State state, bool decide);
  State runRoles(WarpSpecializeOp roles, State state, bool decide);
  /// One pass over the body; `exit` receives the state in which it is left.
  State runBody(Operation *loop, State state, bool decide, State &exit);
  /// `state` with the accesses of one iteration seen from the next.
  State nextIteration(Operation *loop, State state);
  /// `state` outside of `scope`, whose values mean nothing there.
  State leave(Operation *scope, State state);
  void forget(Operation *scope);
  void widen(Pending &item, Operation *scope);
  bool mayHoldBarriers(Operation *op);

  KernelOp kernel;
  Uniformity uniformity;
  /// The user orders accesses to each buffer. What the compiler made of them,
  /// slots and shared memory reuse, is still its own to order.
  bool leavesSyncToUser;
  /// Only these tensors, or all if tensors may overlap, need to be looked at.
  llvm::DenseSet<Value> writtenTensors;
  bool mayAlias = false;
  llvm::DenseMap<Value, SlotCounter> counters;
  llvm::DenseMap<Operation *, SmallVector<Pending>> cache;
  /// Scratch memory of an operation: the write in front of its own barrier.
  llvm::DenseMap<Operation *, SmallVector<Pending>> scratchWrites;
  llvm::DenseSet<Operation *> barriers;
  /// Set when a pass that may not decide meets a conflict.
  bool unresolved = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// The number of slots when `next` is `current + 1`, wrapped to 0.
static std::optional<int64_t> matchAdvance(Value current, Value next) {
  auto select = next.getDefiningOp<arith::SelectOp>();
  if (!select || getConstantIntValue(select.getTrueValue()) != 0)
    return std::nullopt;
  auto sum = select.getFalseValue().getDefiningOp<arith::AddIOp>();
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!sum || !compare || sum.getLhs() != current ||
      getConstantIntValue(sum.getRhs()) != 1 ||
      compare.getLhs() != sum.getResult() ||
      compare.getPredicate() != arith::CmpIPredicate::eq)
    return std::nullopt;
  return getConstantIntValue(compare.getRhs());
}

void BarrierPlanner::findCounters(scf::ForOp loop) {
  SmallVector<std::pair<Value, SlotCounter>> found;
  for (auto [argument, initial, next] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                 loop.getYieldedValues())) {
    std::optional<int64_t> slots = matchAdvance(argument, next);
    std::optional<int64_t> start = getConstantIntValue(initial);
    if (!slots || !start || *start < 0 || *start >= *slots)
      continue;
    SlotCounter counter{argument, *start, *slots};
    found.emplace_back(argument, counter);
  }
  for (auto &[argument, counter] : found) {
    for (auto &[other, first] : found)
      if (first.slots == counter.slots) {
        int64_t start = counter.distance;
        int64_t base = *getConstantIntValue(
            loop.getTiedLoopInit(cast<BlockArgument>(other))->get());
        counters[argument] = {other,
                              (start - base + counter.slots) % counter.slots,
                              counter.slots};
        break;
      }
  }
}

//===----------------------------------------------------------------------===//
// Accesses and conflicts
//===----------------------------------------------------------------------===//

Pending BarrierPlanner::convert(const BufferAccess &access) {
  Pending item;
  item.root = access.root;
  item.region = access.region;
  item.isWrite = access.isWrite;
  item.isAtomic = access.isAtomic;
  item.threads = access.threads.layout;
  item.warps = access.threads.warps;
  item.role = getUserRole(access.op);
  auto whole = getWholeRegion(access.root.getType());
  if (isa<MemRefType>(access.root.getType()))
    item.apart = access.op;
  for (auto [dim, range] : llvm::enumerate(item.region)) {
    // Positions that differ between threads say nothing about other threads.
    if (range.base && !uniformity.isUniform(range.base)) {
      range = whole[dim];
      continue;
    }
    auto found = counters.find(range.base);
    if (found == counters.end())
      continue;
    if (range.size != 1 || range.offset != 0) {
      range = whole[dim];
      continue;
    }
    range = {found->second.representative, found->second.distance, 1};
  }
  return item;
}

/// A thread that waits for a phase of an mbarrier reads it, and a copy that
/// completes on the mbarrier writes it: the next phase must not end before all
/// threads have seen that this one has. Programs order their own barriers.
std::optional<Pending> BarrierPlanner::getPhase(Operation *op) {
  if (kernel->hasAttr("tile.explicit"))
    return std::nullopt;
  Value barrier, index;
  auto wait = dyn_cast<BarrierWaitOp>(op);
  if (wait) {
    barrier = wait.getBarriers();
    index = wait.getIndex();
  } else if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
    barrier = copy.getBarrier();
    index = copy.getBarrierIndex();
  }
  if (!barrier)
    return std::nullopt;
  BufferAccess access;
  access.op = op;
  access.root = barrier;
  access.isWrite = !wait;
  if (std::optional<int64_t> slot = getConstantIntValue(index))
    access.region = {IndexRange{Value(), *slot, 1}};
  else
    access.region = {IndexRange{index, 0, 1}};
  return convert(access);
}

const SmallVector<Pending> &BarrierPlanner::getAccesses(Operation *op) {
  auto found = cache.find(op);
  if (found != cache.end())
    return found->second;
  SmallVector<Pending> list, scratch;
  SmallVector<BufferAccess> accesses;
  collectAccesses(op, accesses);
  for (const BufferAccess &access : accesses) {
    auto type = dyn_cast<BufferType>(access.root.getType());
    // Barriers order by themselves.
    bool isShared =
        type && type.isShared() && !isa<BarrierType>(type.getElementType());
    bool isTensor = !type && !writtenTensors.empty() &&
                    (mayAlias || writtenTensors.contains(access.root));
    if (!isShared && !isTensor)
      continue;
    // So do stores by TMA among each other.
    if (isTensor && isBulkStore(op))
      continue;
    if (access.isScratch && access.isWrite)
      scratch.push_back(convert(access));
    else
      list.push_back(convert(access));
  }
  if (std::optional<Pending> phase = getPhase(op))
    list.push_back(*phase);
  scratchWrites[op] = std::move(scratch);
  return cache[op] = std::move(list);
}

/// Whether the places that tile-allocate-memory gave to two allocations meet.
bool BarrierPlanner::shareMemory(Value lhs, Value rhs) {
  return sharesMemory(lhs.getDefiningOp<AllocOp>(),
                      rhs.getDefiningOp<AllocOp>());
}

bool BarrierPlanner::conflict(const Pending &before, const Pending &now) {
  if (!before.isWrite && !now.isWrite)
    return false;
  // The program orders its roles itself.
  if (areDisjoint(before.role, now.role))
    return false;
  if (before.isAtomic && now.isAtomic && before.root == now.root)
    return false;
  bool isTensor = isa<MemRefType>(before.root.getType());
  if (isTensor != isa<MemRefType>(now.root.getType()))
    return false;
  if (before.root != now.root)
    return isTensor ? mayAlias : shareMemory(before.root, now.root);
  auto type = dyn_cast<BufferType>(before.root.getType());
  bool isBarrier = type && isa<BarrierType>(type.getElementType());
  if (leavesSyncToUser && !isBarrier &&
      (isTensor || !before.root.getDefiningOp()->hasAttr("tile.slots")))
    return false;
  if (!mayOverlap(before.region, now.region) ||
      (before.apart && before.apart == now.apart))
    return false;
  // Each warp keeps to its own elements; tile.warp_sync orders its threads.
  if (!isTensor && before.warps && before.warps == now.warps)
    return false;
  // Each thread keeps to its own elements.
  if (before.threads && now.threads &&
      (!isTensor || before.region == now.region)) {
    auto left = before.threads.getLayout(), right = now.threads.getLayout();
    if (left.numReplicas() == 1 && right.numReplicas() == 1 &&
        (before.threads == now.threads || left.isSameMap(right)))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Data-flow
//===----------------------------------------------------------------------===//

/// A barrier of all threads.
static bool meetsAllThreads(Operation *op) {
  auto sync = dyn_cast<SyncThreadsOp>(op);
  return sync && !sync.getCount() && sync.getId().value_or(0) == 0;
}

State BarrierPlanner::runLeaf(Operation *op, State state, bool decide) {
  if (barriers.contains(op))
    state.meetAt(op);
  if (meetsAllThreads(op)) {
    state.meetAt(op);
    return state;
  }
  if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    for (const Pending &item : state.inFlight)
      State::insert(state.accesses, item);
    if (wait.getPending() == 0)
      state.inFlight.clear();
    return state;
  }
  if (auto wait = dyn_cast<BulkWaitOp>(op)) {
    for (const Pending &item : state.stored)
      State::insert(state.accesses, item);
    if (wait.getPending() == 0)
      state.stored.clear();
    return state;
  }
  if (auto wait = dyn_cast<MmaWaitOp>(op)) {
    for (const Pending &item : state.multiplied)
      State::insert(state.accesses, item);
    if (wait.getPending() == 0)
      state.multiplied.clear();
    return state;
  }
  const SmallVector<Pending> &list = getAccesses(op);
  const SmallVector<Pending> &scratch = scratchWrites[op];
  if (list.empty() && scratch.empty())
    return state;
  bool conflicts = llvm::any_of(state.accesses, [&](const Pending &before) {
    auto meets = [&](const Pending &now) { return conflict(before, now); };
    return llvm::any_of(list, meets) || llvm::any_of(scratch, meets);
  });
  if (conflicts) {
    if (decide)
      barriers.insert(op);
    else
      unresolved = true;
    state.meetAt(op);
  }
  auto copy = dyn_cast<CopyAsyncOp>(op);
  for (const Pending &item : list) {
    // What arrives on a barrier is waited for by every thread.
    if (copy && copy.getBarrier() && item.isWrite)
      continue;
    if (isa<GemmAsyncOp>(op))
      State::insert(state.multiplied, item);
    bool isStored = copy && isBulkStore(op) && !item.isWrite;
    State::insert(isStored               ? state.stored
                  : copy && item.isWrite ? state.inFlight
                                         : state.accesses,
                  item);
  }
  return state;
}

State BarrierPlanner::runOp(Operation *op, State state, bool decide) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runBranch(branch, std::move(state), decide);
  if (isa<scf::ForOp, scf::WhileOp, PipelinedOp>(op))
    return runLoop(op, std::move(state), decide);
  if (auto roles = dyn_cast<WarpSpecializeOp>(op))
    return runRoles(roles, std::move(state), decide);
  return runLeaf(op, std::move(state), decide);
}

/// Threads of different roles meet on mbarriers only. A producer just starts
/// copies into rings, which its barriers order. What all threads did before a
/// role of the program, they finish in front of it: behind it, some of them
/// may already wait for others.
State BarrierPlanner::runRoles(WarpSpecializeOp roles, State state,
                               bool decide) {
  if (barriers.contains(roles))
    state.meetAt(roles);
  bool ofProgram = roles.getRole(0).getKind() == RoleKind::User;
  if (ofProgram && llvm::any_of(state.accesses, [](const Pending &item) {
        return !item.role;
      })) {
    if (decide)
      barriers.insert(roles);
    else
      unresolved = true;
    state.meetAt(roles);
  }
  State out;
  for (unsigned index = 0; index < roles.getRoles().size(); ++index)
    if (roles.getRole(index).getKind() != RoleKind::Producer)
      out.join(leave(
          roles, runBlock(roles.getRegions()[index].front(), state, decide)));
  return out;
}

State BarrierPlanner::runBlock(Block &block, State state, bool decide) {
  for (Operation &op : block)
    state = runOp(&op, std::move(state), decide);
  return state;
}

/// Whether all threads reach what is inside of `op` together.
bool BarrierPlanner::mayHoldBarriers(Operation *op) {
  for (Region &region : op->getRegions())
    if (!region.empty() && !region.front().empty() &&
        !uniformity.isReachedUniformly(&region.front().front()))
      return false;
  return true;
}

void BarrierPlanner::forget(Operation *scope) {
  scope->walk([&](Operation *inner) {
    if (inner != scope)
      barriers.erase(inner);
  });
}

State BarrierPlanner::runBranch(scf::IfOp branch, State state, bool decide) {
  auto runRegions = [&](const State &from, bool decideInside) {
    State out;
    bool hasElse = !branch.getElseRegion().empty();
    if (!hasElse)
      out = from;
    for (Region &region : branch->getRegions())
      if (!region.empty())
        out.join(leave(branch, runBlock(region.front(), from, decideInside)));
    return out;
  };
  if (decide) {
    forget(branch);
    barriers.erase(branch);
    if (mayHoldBarriers(branch))
      runRegions(State(), /*decideInside=*/true);
    unresolved = false;
    runRegions(state, /*decideInside=*/false);
    if (unresolved)
      barriers.insert(branch);
    unresolved = false;
  }
  if (barriers.contains(branch))
    state.meetAt(branch);
  return runRegions(state, /*decideInside=*/false);
}

State BarrierPlanner::runBody(Operation *loop, State state, bool decide,
                              State &exit) {
  if (auto counted = dyn_cast<scf::ForOp>(loop)) {
    exit.join(state);
    return runBlock(*counted.getBody(), std::move(state), decide);
  }
  if (auto pipelined = dyn_cast<PipelinedOp>(loop)) {
    exit.join(state);
    return runBlock(*pipelined.getBodyBlock(), std::move(state), decide);
  }
  auto general = cast<scf::WhileOp>(loop);
  state = runBlock(*general.getBeforeBody(), std::move(state), decide);
  exit.join(state);
  return runBlock(*general.getAfterBody(), std::move(state), decide);
}

State BarrierPlanner::runLoop(Operation *loop, State state, bool decide) {
  // Everything that reaches the head, from `entry` and from iterations.
  auto runToFixpoint = [&](const State &entry, State &exit) {
    State head = entry;
    while (true) {
      exit = State();
      State back = nextIteration(loop, runBody(loop, head, false, exit));
      State joined = head;
      joined.join(back);
      if (joined == head)
        return head;
      head = std::move(joined);
    }
  };
  State exit;
  if (!decide) {
    if (barriers.contains(loop))
      state.meetAt(loop);
    runToFixpoint(state, exit);
    return leave(loop, std::move(exit));
  }

  barriers.erase(loop);
  forget(loop);
  if (mayHoldBarriers(loop)) {
    // The iterations among themselves. Decisions are taken anew for each state
    // at the head, because a barrier further up makes later ones superfluous;
    // if that does not settle, states are accumulated, which does.
    constexpr int kFreshRounds = 6;
    State head;
    for (int round = 0;; ++round) {
      forget(loop);
      State unused;
      State back =
          nextIteration(loop, runBody(loop, head, /*decide=*/true, unused));
      if (round >= kFreshRounds) {
        State joined = head;
        joined.join(back);
        back = std::move(joined);
      }
      if (back == head)
        break;
      head = std::move(back);
    }
  }
  // What was in front of the loop.
  unresolved = false;
  State unused;
  runToFixpoint(state, unused);
  if (unresolved && !state.accesses.empty()) {
    barriers.insert(loop);
    state.meetAt(loop);
  }
  unresolved = false;
  runToFixpoint(state, exit);
  unresolved = false;
  return leave(loop, std::move(exit));
}

//===----------------------------------------------------------------------===//
// Scopes of values
//===----------------------------------------------------------------------===//

/// Forgets positions that depend on values of `scope`.
void BarrierPlanner::widen(Pending &item, Operation *scope) {
  auto whole = getWholeRegion(item.root.getType());
  for (auto [range, all] : llvm::zip(item.region, whole))
    if (range.base &&
        scope->isAncestor(range.base.getParentRegion()->getParentOp()))
      range = all;
}

//===----------------------------------------------------------------------===//
// Places of tensors in different iterations
//===----------------------------------------------------------------------===//

namespace {
/// A sum of multiples of variables and of something that does not change.
struct LinearSum {
  llvm::SmallDenseMap<Value, int64_t> factors;
  bool isValid = true;

  void add(const LinearSum &other, int64_t scale) {
    isValid &= other.isValid;
    for (auto [variable, factor] : other.factors)
      factors[variable] += scale * factor;
  }
};
} // namespace

/// `value` in the variables of `loop` and of a tile.parallel inside of it.
static LinearSum getLinearSum(Value value, scf::ForOp loop,
                              const Uniformity &uniformity) {
  LinearSum sum;
  if (!loop->isAncestor(value.getParentRegion()->getParentOp())) {
    // Another thread may be where this one is in another iteration.
    sum.isValid = uniformity.isUniform(value);
    return sum;
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    sum.isValid = value == loop.getInductionVar() || isa<ParallelOp>(parent);
    sum.factors[value] = 1;
    return sum;
  }
  Operation *op = value.getDefiningOp();
  if (getConstantIntValue(value))
    return sum;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    sum.add(getLinearSum(op->getOperand(0), loop, uniformity), 1);
    sum.add(getLinearSum(op->getOperand(1), loop, uniformity),
            isa<arith::AddIOp>(op) ? 1 : -1);
    return sum;
  }
  if (isa<arith::MulIOp>(op))
    for (auto [factor, other] : {std::make_pair(1, 0), std::make_pair(0, 1)})
      if (std::optional<int64_t> scale =
              getConstantIntValue(op->getOperand(factor))) {
        sum.add(getLinearSum(op->getOperand(other), loop, uniformity), *scale);
        return sum;
      }
  sum.isValid = false;
  return sum;
}

/// Whether positions `index .. index + size` of different iterations of `loop`
/// never meet: they move on by at least their extent.
static bool movesOn(Value index, int64_t size, scf::ForOp loop,
                    const Uniformity &uniformity) {
  LinearSum sum = getLinearSum(index, loop, uniformity);
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!sum.isValid || !step)
    return false;
  int64_t stride = 0;
  for (auto [variable, factor] : sum.factors) {
    if (variable == loop.getInductionVar()) {
      stride = std::abs(factor * *step);
      continue;
    }
    auto argument = cast<BlockArgument>(variable);
    auto parallel = cast<ParallelOp>(argument.getOwner()->getParentOp());
    int64_t extent = parallel.getStaticExtents()[argument.getArgNumber()];
    if (ShapedType::isDynamic(extent))
      return false;
    size += std::abs(factor) * std::max<int64_t>(extent - 1, 0);
  }
  return stride >= size;
}

/// Whether `op` writes other places of `tensor` in each iteration of `loop`,
/// and reads none of it.
static bool staysApart(Operation *op, Value tensor, Operation *loop,
                       const Uniformity &uniformity) {
  auto counted = dyn_cast<scf::ForOp>(loop);
  if (!counted)
    return false;
  auto apart = [&](Value storage, OperandRange offsets,
                   ArrayRef<int64_t> sizes) {
    if (storage != tensor)
      return getStorageRoot(storage) != tensor;
    for (auto [dim, offset] : llvm::enumerate(offsets))
      if (movesOn(offset, sizes.empty() ? 1 : sizes[dim], counted, uniformity))
        return true;
    return false;
  };
  auto copyApart = [&](auto copy) {
    return apart(copy.getSource(), copy.getSourceOffsets(),
                 copy.getSourceSizes()) &&
           apart(copy.getDest(), copy.getDestOffsets(), copy.getDestSizes());
  };
  if (auto copy = dyn_cast<CopyOp>(op))
    return copyApart(copy);
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
    return copyApart(copy);
  WalkResult result = op->walk([&](Operation *inner) {
    bool good = true;
    if (auto load = dyn_cast<LoadOp>(inner))
      good = getStorageRoot(load.getSource()) != tensor;
    else if (auto store = dyn_cast<StoreOp>(inner))
      good = apart(store.getDest(), store.getIndices(), {});
    else if (isa<AtomicOp>(inner))
      good = false;
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
  // Two stores of one operation may meet each other.
  int64_t stores = 0;
  op->walk([&](StoreOp store) {
    stores += getStorageRoot(store.getDest()) == tensor;
  });
  return !result.wasInterrupted() && stores <= 1 &&
         isa<StoreOp, ParallelOp>(op);
}

State BarrierPlanner::nextIteration(Operation *loop, State state) {
  auto shift = [&](SmallVector<Pending> &list) {
    SmallVector<Pending> result;
    for (Pending item : list) {
      SmallVector<std::pair<size_t, IndexRange>> slots;
      for (auto [dim, range] : llvm::enumerate(item.region)) {
        auto found = counters.find(range.base);
        if (found == counters.end() ||
            range.base.getParentRegion()->getParentOp() != loop)
          continue;
        // The counter has moved on by one.
        IndexRange moved = range;
        int64_t count = found->second.slots;
        moved.offset = (range.offset + count - 1) % count;
        slots.emplace_back(dim, moved);
      }
      widen(item, loop);
      for (auto &[dim, range] : slots)
        item.region[dim] = range;
      if (item.apart && loop->isAncestor(item.apart) &&
          !staysApart(item.apart, item.root, loop, uniformity))
        item.apart = nullptr;
      State::insert(result, item);
    }
    list = std::move(result);
  };
  shift(state.accesses);
  shift(state.inFlight);
  shift(state.stored);
  shift(state.multiplied);
  return state;
}

State BarrierPlanner::leave(Operation *scope, State state) {
  auto widenAll = [&](SmallVector<Pending> &list) {
    SmallVector<Pending> result;
    for (Pending item : list) {
      widen(item, scope);
      State::insert(result, item);
    }
    list = std::move(result);
  };
  widenAll(state.accesses);
  widenAll(state.inFlight);
  widenAll(state.stored);
  widenAll(state.multiplied);
  return state;
}

bool mlir::tile::staysApart(Operation *op, Value tensor, Operation *loop) {
  return ::staysApart(op, tensor, loop, Uniformity(getKernel(op)));
}

SmallVector<Operation *> mlir::tile::planBarriers(KernelOp kernel) {
  return BarrierPlanner(kernel).run();
}
