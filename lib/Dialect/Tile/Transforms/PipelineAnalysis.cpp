//===- PipelineAnalysis.cpp - what may run ahead in a loop ------*- C++ -*-===//
//
// A load may run ahead when nothing that decides about it changes: the tensor
// is not written by the kernel, offsets and conditions can be computed for a
// later iteration, and its destination is used as a fresh tile in every
// iteration, so that each iteration can have its own slot.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"

#include "AsyncProxy.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tile;

using Reason = std::optional<std::string>;

static bool isTensor(Value root) { return isa<MemRefType>(root.getType()); }
static bool isInSpace(Value root, MemorySpace space) {
  auto type = dyn_cast<BufferType>(root.getType());
  return type && type.getSpace() == space;
}

bool mlir::tile::isScheduled(Operation *op) {
  return !isa<LoadOp, AssumeOp, AllocOp, AnnotateLayoutOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op);
}

//===----------------------------------------------------------------------===//
// Clonable values
//===----------------------------------------------------------------------===//

ClonableValues::ClonableValues(Operation *scope) : scope(scope) {
  collectNestedAccesses(scope, accesses);
  for (const BufferAccess &access : accesses)
    if (access.isWrite) {
      writtenInLoop.insert(access.root);
      mayAliasWrites |= isTensor(access.root);
    }
  if (OptionsAttr::of(scope).getFlag("noalias", true))
    mayAliasWrites = false;
  SmallVector<BufferAccess> all;
  collectNestedAccesses(getKernel(scope), all);
  for (const BufferAccess &access : all)
    if (access.isWrite && isTensor(access.root))
      writtenTensors.insert(access.root);

  // Greatest fixpoint: a variable stays clonable unless a writer contradicts.
  bool changed = true;
  while (changed) {
    changed = false;
    for (Value root : writtenInLoop) {
      if (!isInSpace(root, MemorySpace::Local) || refusedVariables.count(root))
        continue;
      if (Reason reason = checkVariable(root)) {
        refusedVariables[root] = *reason;
        changed = true;
      }
    }
  }
}

Reason ClonableValues::checkVariable(Value variable) const {
  for (Operation *user : variable.getUsers())
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
      return "'" + getUserName(variable) + "' is used through a view";
  for (const BufferAccess &access : accesses) {
    if (access.root != variable || !access.isWrite)
      continue;
    if (!isa<StoreOp, FillOp>(access.op))
      return "'" + getUserName(variable) + "' is written by " +
             describeForUser(access.op);
    if (Reason reason = whyNotReached(access.op))
      return reason;
    if (Reason reason = whyNotOperands(access.op))
      return reason;
  }
  return std::nullopt;
}

Reason ClonableValues::whyNotRead(Value root) const {
  if (isTensor(root)) {
    if (writtenTensors.contains(root))
      return "the kernel writes tensor '" + getUserName(root) + "'";
    if (mayAliasWrites)
      return "tensor '" + getUserName(root) +
             "' may overlap a tensor that the " +
             (isa<KernelOp>(scope) ? "kernel" : "loop") +
             " writes (noalias = false)";
    return std::nullopt;
  }
  if (!writtenInLoop.contains(root))
    return std::nullopt;
  if (isInSpace(root, MemorySpace::Local)) {
    auto found = refusedVariables.find(root);
    if (found == refusedVariables.end())
      return std::nullopt;
    return found->second;
  }
  return (isa<KernelOp>(scope) ? "the kernel writes '" : "the loop writes '") +
         getUserName(root) + "'";
}

Reason ClonableValues::whyNot(Value value) const {
  llvm::SmallDenseSet<Value> active;
  return check(value, active);
}

Reason ClonableValues::check(Value value,
                             llvm::SmallDenseSet<Value> &active) const {
  Region *region = value.getParentRegion();
  // Induction variables of the scope, block indices.
  if (!getBody().isAncestor(region) ||
      (region == &getBody() && isa<BlockArgument>(value)))
    return std::nullopt;
  if (isa<BufferType, MemRefType>(value.getType()) &&
      getStorageRoot(value) != value) {
    // Handles are views: their offsets count.
    for (Value operand : value.getDefiningOp()->getOperands())
      if (Reason reason = check(operand, active))
        return reason;
    return std::nullopt;
  }
  // A value that depends on itself is decided by its other operands.
  if (!active.insert(value).second)
    return std::nullopt;

  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<ParallelOp>(parent))
      return std::nullopt;
    if (auto pipelined = dyn_cast<PipelinedOp>(parent)) {
      for (Value bound : {pipelined.getLower(), pipelined.getUpper()})
        if (Reason reason = check(bound, active))
          return reason;
      return std::nullopt;
    }
    auto inner = dyn_cast<scf::ForOp>(parent);
    if (!inner)
      return "it depends on " + describeForUser(parent);
    SmallVector<Value> sources = {inner.getLowerBound(), inner.getUpperBound(),
                                  inner.getStep()};
    if (argument.getArgNumber() > 0) {
      unsigned index = argument.getArgNumber() - 1;
      sources.push_back(inner.getInitArgs()[index]);
      sources.push_back(inner.getYieldedValues()[index]);
    }
    for (Value source : sources)
      if (Reason reason = check(source, active))
        return reason;
    return std::nullopt;
  }

  Operation *op = value.getDefiningOp();
  if (isa<AllocOp>(op))
    return std::nullopt;
  if (isa<ThreadIdOp>(op) && isa<KernelOp>(scope))
    return "it depends on the thread, and a producer has other threads";
  // A producer role fetches tiles, and tells the others.
  if (isa<FetchTileOp>(op) && isa<KernelOp>(scope))
    return std::nullopt;
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (Reason reason = whyNotRead(getStorageRoot(load.getSource())))
      return reason;
    for (Value operand : op->getOperands())
      if (Reason reason = check(operand, active))
        return reason;
    return std::nullopt;
  }
  unsigned number = cast<OpResult>(value).getResultNumber();
  SmallVector<Value> sources(op->getOperands());
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &part : op->getRegions())
      sources.push_back(part.front().getTerminator()->getOperand(number));
  } else if (auto inner = dyn_cast<scf::ForOp>(op)) {
    sources.push_back(inner.getYieldedValues()[number]);
  } else if (op->getNumRegions() != 0 || !isMemoryEffectFree(op)) {
    return "it depends on the result of " + describeForUser(op);
  }
  for (Value source : sources)
    if (Reason reason = check(source, active))
      return reason;
  return std::nullopt;
}

Reason ClonableValues::whyNotReached(Operation *op) const {
  llvm::SmallDenseSet<Value> active;
  return checkReached(op, active);
}

Reason ClonableValues::checkReached(Operation *op,
                                    llvm::SmallDenseSet<Value> &active) const {
  for (Operation *parent = op->getParentOp(); parent != scope;
       parent = parent->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      if (Reason reason = check(branch.getCondition(), active))
        return "its condition cannot be known ahead: " + *reason;
    } else if (isa<scf::ForOp, PipelinedOp>(parent)) {
      // Bounds and step; the initial values of an scf.for come behind them.
      for (Value bound :
           parent->getOperands().take_front(isa<scf::ForOp>(parent) ? 3 : 2))
        if (Reason reason = check(bound, active))
          return "the bounds of the loop around it cannot be known ahead: " +
                 *reason;
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent);
               loop && loop.getInits().empty() && isa<KernelOp>(scope)) {
      if (Reason reason = check(loop.getConditionOp().getCondition(), active))
        return "the condition of the loop around it cannot be known ahead: " +
               *reason;
    } else {
      return "it is inside of " + describeForUser(parent);
    }
  }
  return std::nullopt;
}

Reason ClonableValues::whyNotOperands(Operation *op) const {
  llvm::SetVector<Value> outside(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() != 0)
    getUsedValuesDefinedAbove(op->getRegions(), outside);
  for (Value operand : outside)
    if (Reason reason = whyNot(operand))
      return reason;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conditions under which operations run
//===----------------------------------------------------------------------===//

/// Whether both values are computed in the same way from the same values, by
/// pure operations and loads of storage that does not change in the loop.
static bool areEquivalent(Value lhs, Value rhs,
                          const ClonableValues &clonable) {
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  if (!left || !right || left->getName() != right->getName() ||
      left->getAttrs() != right->getAttrs() || left->getNumRegions() != 0 ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getNumResults() != 1 || lhs.getType() != rhs.getType())
    return false;
  if (auto load = dyn_cast<LoadOp>(left)) {
    Value root = getStorageRoot(load.getSource());
    if (!isTensor(root) || clonable.whyNotRead(root))
      return false;
  } else if (!isMemoryEffectFree(left)) {
    return false;
  }
  for (auto [a, b] : llvm::zip(left->getOperands(), right->getOperands()))
    if (!areEquivalent(a, b, clonable))
      return false;
  return true;
}

/// The scf.if branches between `op` and the loop; failure when another kind of
/// operation is in between.
static FailureOr<SmallVector<std::pair<scf::IfOp, unsigned>>>
getGuards(Operation *op, PipelinedOp loop) {
  SmallVector<std::pair<scf::IfOp, unsigned>> guards;
  for (; op->getParentOp() != loop; op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
    if (!branch)
      return failure();
    guards.emplace_back(branch, op->getParentRegion()->getRegionNumber());
  }
  return guards;
}

/// Whether `first` has run in an iteration in which `second`, which comes
/// later, runs.
static bool alwaysRunsBefore(Operation *first, Operation *second,
                             PipelinedOp loop, const ClonableValues &clonable) {
  auto firstGuards = getGuards(first, loop);
  if (failed(firstGuards))
    return false;
  SmallVector<std::pair<scf::IfOp, unsigned>> secondGuards;
  for (Operation *op = second; op->getParentOp() != loop;
       op = op->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp()))
      secondGuards.emplace_back(branch,
                                op->getParentRegion()->getRegionNumber());
  return llvm::all_of(*firstGuards, [&](auto guard) {
    return llvm::any_of(secondGuards, [&](auto other) {
      return guard.second == other.second &&
             areEquivalent(guard.first.getCondition(),
                           other.first.getCondition(), clonable);
    });
  });
}

/// Whether `op` is a copy that goes on when the next operation begins.
static bool isAsynchronous(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && copy.getChoice() &&
         (copy.getChoice()->getPath() == Path::CpAsync ||
          copy.getChoice()->getPath() == Path::Tma);
}

/// Whether both operations are in different branches of one condition.
static bool areAlternatives(Operation *lhs, Operation *rhs) {
  for (Operation *op = lhs; op; op = op->getParentOp()) {
    auto branch = dyn_cast_or_null<scf::IfOp>(op->getParentOp());
    if (!branch || !branch->isAncestor(rhs))
      continue;
    return !op->getParentRegion()->isAncestor(rhs->getParentRegion());
  }
  return false;
}

/// Whether a loop inside of `loop` holds both operations.
static bool shareInnerLoop(Operation *lhs, Operation *rhs, PipelinedOp loop) {
  for (Operation *parent = lhs->getParentOp(); parent != loop;
       parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface, PipelinedOp>(parent) &&
        parent->isAncestor(rhs))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// One loop
//===----------------------------------------------------------------------===//

namespace {
class LoopPlanner {
public:
  LoopPlanner(PipelinedOp loop, RunAheadFilter whyNot)
      : loop(loop), clonable(loop) {
    collectNestedAccesses(loop, accesses);
    loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      position[op] = position.size();
      return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    for (const BufferAccess &access : accesses)
      byOp[access.op].push_back(&access);
    for (auto &[op, list] : byOp)
      if (isLoad(op))
        if (!(candidates[op] = whyNot(op)))
          candidates[op] = whyNotProducer(op);
  }

  /// Decides about every buffer; `refusedBuffers` were refused because of
  /// their uses outside of the loop.
  RunAheadPlan plan(const llvm::DenseMap<Value, std::string> &refusedBuffers) {
    llvm::MapVector<Value, Reason> decisions;
    for (auto &[op, reason] : candidates)
      for (const BufferAccess *access : byOp[op])
        if (access->isWrite && isInSpace(access->root, MemorySpace::Shared))
          decisions[access->root] = std::nullopt;
    for (auto &[buffer, reason] : decisions) {
      auto found = refusedBuffers.find(buffer);
      reason = found != refusedBuffers.end() ? Reason(found->second)
                                             : whyNotBuffer(buffer);
    }
    // A producer of several buffers runs ahead for all of them or for none.
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto &[buffer, reason] : decisions) {
        if (reason)
          continue;
        for (const BufferAccess &access : accesses) {
          if (!access.isWrite || access.root != buffer)
            continue;
          for (const BufferAccess *other : byOp[access.op])
            if (other->isWrite && decisions[other->root]) {
              reason = "it is written together with '" +
                       getUserName(other->root) + "', which is not";
              changed = true;
            }
        }
      }
    }

    RunAheadPlan result;
    result.loop = loop;
    for (auto &[buffer, reason] : decisions) {
      bool loads = llvm::any_of(accesses, [&](const BufferAccess &access) {
        return access.isWrite && access.root == buffer &&
               readsTensor(access.op);
      });
      if (!reason && loads)
        result.buffers.insert(buffer);
    }
    for (auto &[op, list] : byOp) {
      auto found = candidates.find(op);
      if (found == candidates.end())
        continue;
      Reason reason = found->second;
      for (const BufferAccess *access : list)
        if (!reason && access->isWrite &&
            !result.buffers.contains(access->root))
          reason = decisions[access->root];
      bool ahead = llvm::any_of(list, [&](const BufferAccess *access) {
        return access->isWrite && result.buffers.contains(access->root);
      });
      if (ahead && !reason)
        result.producers.insert(op);
      else if (reason && readsTensor(op) && isOwn(op))
        result.refused[op] = *reason;
    }
    return result;
  }

private:
  /// Not what a pipelined loop inside of this one decides about.
  bool isOwn(Operation *op) {
    auto nearest = op->getParentOfType<PipelinedOp>();
    return nearest == loop || nearest.getNumStages() == 0;
  }

  bool readsTensor(Operation *op) {
    return llvm::any_of(byOp[op], [](const BufferAccess *access) {
      return !access->isWrite && isTensor(access->root);
    });
  }

  /// Operations that are asked whether they run ahead: what fills tiles.
  bool isLoad(Operation *op) {
    if (!isa<CopyOp, FillOp, ParallelOp>(op))
      return false;
    bool writesTile = llvm::any_of(byOp[op], [](const BufferAccess *access) {
      return access->isWrite && !isTensor(access->root);
    });
    bool writesTensor = llvm::any_of(byOp[op], [](const BufferAccess *access) {
      return access->isWrite && isTensor(access->root);
    });
    return writesTile && !writesTensor &&
           (readsTensor(op) ||
            llvm::any_of(byOp[op], [](const BufferAccess *access) {
              return access->isWrite &&
                     isInSpace(access->root, MemorySpace::Shared);
            }));
  }

  Reason whyNotProducer(Operation *op) {
    // Its steps are not those of this loop, which expands no other one.
    if (op->getParentOfType<PipelinedOp>() != loop)
      return std::string("it is in another pipelined loop, inside of this one");
    for (const BufferAccess *access : byOp[op]) {
      if (access->isWrite) {
        if (isInSpace(access->root, MemorySpace::Fragment))
          return "its destination '" + getUserName(access->root) +
                 "' is a fragment, and registers have no slots";
        if (access->isAtomic || !isInSpace(access->root, MemorySpace::Shared))
          return "it also writes '" + getUserName(access->root) + "'";
        continue;
      }
      if (isInSpace(access->root, MemorySpace::Fragment))
        return "it reads fragment '" + getUserName(access->root) + "'";
      if (Reason reason = clonable.whyNotRead(access->root))
        return reason;
    }
    if (Reason reason = clonable.whyNotReached(op))
      return reason;
    if (Reason reason = clonable.whyNotOperands(op))
      return "its place is not known ahead: " + *reason;
    return std::nullopt;
  }

  Reason whyNotBuffer(Value buffer) {
    std::string name = "'" + getUserName(buffer) + "'";
    SmallVector<const BufferAccess *> writes, reads;
    for (const BufferAccess &access : accesses) {
      if (access.root != buffer)
        continue;
      if (!access.isWrite) {
        reads.push_back(&access);
        continue;
      }
      auto found = candidates.find(access.op);
      if (found == candidates.end())
        return name + " is also written by " + describeForUser(access.op);
      if (found->second)
        return readsTensor(access.op)
                   ? *found->second
                   : name + " is also written by " + describeForUser(access.op);
      writes.push_back(&access);
    }
    for (const BufferAccess *copy : writes)
      if (isAsynchronous(copy->op) && writesAgain(copy->op, buffer))
        return name + " is written again and again by " +
               describeForUser(copy->op) + " in a loop inside";
    for (const BufferAccess *copy : writes)
      for (const BufferAccess *write : writes)
        if (isAsynchronous(copy->op) && write->op != copy->op &&
            mayOverlap(copy->region, write->region) &&
            !areAlternatives(copy->op, write->op))
          return name + " is also written by " + describeForUser(write->op) +
                 ", which would have to wait for " + describeForUser(copy->op);
    for (const BufferAccess *read : reads) {
      for (const BufferAccess *write : writes) {
        if (position[read->op] <= position[write->op] ||
            shareInnerLoop(read->op, write->op, loop))
          return name + " is read by " + describeForUser(read->op) +
                 " before it is filled by " + describeForUser(write->op);
      }
      if (!isFilled(*read, writes))
        return describeForUser(read->op) + " may see elements of " + name +
               " that an earlier iteration wrote";
    }
    return std::nullopt;
  }

  /// Whether a loop inside of the pipelined one lets `op` write a place of
  /// `buffer` more than once.
  bool writesAgain(Operation *op, Value buffer) {
    for (Operation *inner = op->getParentOp(); inner != loop;
         inner = inner->getParentOp())
      if (isLoop(inner) && !staysApart(op, buffer, inner))
        return true;
    return false;
  }

  /// Whether every element that `read` may touch was written in its iteration.
  bool isFilled(const BufferAccess &read,
                ArrayRef<const BufferAccess *> writes) {
    SmallVector<ArrayRef<IndexRange>> parts;
    for (const BufferAccess *write : writes)
      if (write->isExact &&
          alwaysRunsBefore(write->op, read.op, loop, clonable))
        parts.push_back(write->region);
    if (isCovered(read.region, parts))
      return true;
    // A position that is not constant can be anywhere in its dimension.
    auto wide = getWholeRegion(read.root.getType());
    for (auto [range, all] : llvm::zip(read.region, wide))
      if (!range.base)
        all = range;
    return isCovered(wide, parts);
  }

  PipelinedOp loop;
  ClonableValues clonable;
  SmallVector<BufferAccess> accesses;
  llvm::MapVector<Operation *, SmallVector<const BufferAccess *>> byOp;
  llvm::MapVector<Operation *, Reason> candidates;
  llvm::DenseMap<Operation *, size_t> position;
};
} // namespace

//===----------------------------------------------------------------------===//
// All loops of a kernel
//===----------------------------------------------------------------------===//

/// Operations below `kernel` that use `buffer` through any view.
static SmallVector<Operation *> getUsers(Value buffer) {
  SmallVector<Operation *> users;
  SmallVector<Value> worklist = {buffer};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (Operation *user : value.getUsers()) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
        worklist.push_back(user->getResult(0));
      else
        users.push_back(user);
    }
  }
  return users;
}

FailureOr<OutsideUses> mlir::tile::getOutsideUses(Value buffer,
                                                  PipelinedOp loop) {
  OutsideUses uses;
  for (Operation *user : getUsers(buffer)) {
    if (loop->isAncestor(user) || isa<AnnotateLayoutOp>(user))
      continue;
    Operation *sibling = loop->getBlock()->findAncestorOpInBlock(*user);
    if (!sibling)
      return failure();
    (sibling->isBeforeInBlock(loop) ? uses.before : uses.after).push_back(user);
  }
  return uses;
}

/// Whether every iteration of `loop` writes all elements that `read` may touch.
static bool isWrittenInEachIteration(PipelinedOp loop,
                                     const BufferAccess &read) {
  SmallVector<BufferAccess> accesses;
  collectNestedAccesses(loop, accesses);
  SmallVector<ArrayRef<IndexRange>> parts;
  for (const BufferAccess &access : accesses) {
    if (!access.isWrite || !access.isExact || access.root != read.root)
      continue;
    auto guards = getGuards(access.op, loop);
    if (succeeded(guards) && guards->empty())
      parts.push_back(access.region);
  }
  auto wide = getWholeRegion(read.root.getType());
  for (auto [range, all] : llvm::zip(read.region, wide))
    if (!range.base)
      all = range;
  return isCovered(wide, parts);
}

/// Why the uses of `buffer` outside of the loops that fill it do not allow
/// slots. Each use must know its slot: the first one before the loop, that of
/// the last iteration after it.
static Reason whyNotOutside(Value buffer, ArrayRef<PipelinedOp> loops) {
  Operation *outside = nullptr;
  for (Operation *user : getUsers(buffer))
    if (!isa<AnnotateLayoutOp>(user) &&
        llvm::none_of(loops,
                      [&](PipelinedOp loop) { return loop->isAncestor(user); }))
      outside = user;
  if (!outside)
    return std::nullopt;
  std::string text = "'" + getUserName(buffer) + "' is also used by " +
                     describeForUser(outside) + " outside of the loop";
  if (loops.size() > 1)
    return text + ", and several loops fill it";
  FailureOr<OutsideUses> uses = getOutsideUses(buffer, loops.front());
  if (failed(uses))
    return text;
  for (Operation *user : uses->after) {
    SmallVector<BufferAccess> accesses;
    Operation *leaf = user;
    if (auto parallel = user->getParentOfType<ParallelOp>())
      leaf = parallel;
    collectAccesses(leaf, accesses);
    for (const BufferAccess &access : accesses)
      if (access.root == buffer && (!access.isWrite || access.isAtomic) &&
          !isWrittenInEachIteration(loops.front(), access))
        return "'" + getUserName(buffer) + "' is also used by " +
               describeForUser(leaf) +
               " outside of the loop, which may see elements that the last "
               "iteration did not write";
  }
  if (!getLoopAround(loops.front()))
    return std::nullopt;
  for (Operation *user : uses->before) {
    SmallVector<BufferAccess> accesses;
    Operation *leaf = user;
    if (auto parallel = user->getParentOfType<ParallelOp>())
      leaf = parallel;
    collectAccesses(leaf, accesses);
    for (const BufferAccess &access : accesses)
      if (access.root == buffer && (!access.isWrite || access.isAtomic))
        return text + ", which may see the last tile of an earlier pass";
  }
  return std::nullopt;
}

/// Why a ring of slots between roles cannot hold `buffer`.
static Reason whyNotRing(Value buffer, ArrayRef<PipelinedOp> loops) {
  if (loops.size() > 1)
    return "several loops fill '" + getUserName(buffer) + "'";
  for (Operation *user : getUsers(buffer))
    if (!isa<AnnotateLayoutOp>(user) && !loops.front()->isAncestor(user))
      return "'" + getUserName(buffer) + "' is also used by " +
             describeForUser(user) + " outside of the loop";
  return std::nullopt;
}

bool mlir::tile::runsOnce(PipelinedOp loop) {
  APInt lower, upper;
  return matchPattern(loop.getLower(), m_ConstantInt(&lower)) &&
         matchPattern(loop.getUpper(), m_ConstantInt(&upper)) &&
         upper.getSExtValue() - lower.getSExtValue() == 1;
}

static SmallVector<RunAheadPlan>
planLoops(KernelOp kernel, RunAheadFilter whyNot, int64_t minStages,
          function_ref<Reason(Value, ArrayRef<PipelinedOp>)> whyNotAcross) {
  SmallVector<std::pair<PipelinedOp, std::unique_ptr<LoopPlanner>>> planners;
  kernel.walk<WalkOrder::PreOrder>([&](PipelinedOp loop) {
    // An iteration before could only load for another one of a producer.
    if (static_cast<int64_t>(loop.getNumStages()) >= minStages &&
        (minStages < 2 || !runsOnce(loop)))
      planners.emplace_back(loop, std::make_unique<LoopPlanner>(loop, whyNot));
  });
  // A refusal in one loop makes its uses outside uses of the other loops.
  llvm::DenseMap<Operation *, llvm::DenseMap<Value, std::string>> refused;
  while (true) {
    SmallVector<RunAheadPlan> plans;
    llvm::MapVector<Value, SmallVector<PipelinedOp>> loopsOf;
    for (auto &[loop, planner] : planners) {
      plans.push_back(planner->plan(refused[loop]));
      for (Value buffer : plans.back().buffers)
        loopsOf[buffer].push_back(loop);
    }
    bool changed = false;
    for (auto &[buffer, loops] : loopsOf)
      if (Reason reason = whyNotAcross(buffer, loops))
        for (PipelinedOp loop : loops) {
          refused[loop][buffer] = *reason;
          changed = true;
        }
    if (!changed)
      return plans;
  }
}

SmallVector<RunAheadPlan> mlir::tile::planRunAhead(KernelOp kernel,
                                                   RunAheadFilter whyNot) {
  return planLoops(kernel, whyNot, /*minStages=*/2, whyNotOutside);
}

SmallVector<RunAheadPlan> mlir::tile::planProducer(KernelOp kernel,
                                                   RunAheadFilter whyNot) {
  return planLoops(kernel, whyNot, /*minStages=*/1, whyNotRing);
}
