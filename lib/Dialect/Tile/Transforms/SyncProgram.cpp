//===- SyncProgram.cpp - what matters of a kernel for its barriers --------===//
//
// First a backward slice: the operations that synchronise or touch watched
// memory, and what they need. Then the steps, in program order.
//
//===----------------------------------------------------------------------===//
#include "SyncProgram.h"
#include "IntegerAnalysis.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/ClusterAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;

/// Operations that synchronise, or that are complete only later.
static bool isProtocol(Operation *op) {
  return isa<BarrierInitOp, BarrierWaitOp, BarrierArriveOp, BarrierExpectTxOp,
             SyncThreadsOp, CopyAsyncOp, AsyncCommitOp, AsyncWaitOp,
             GemmAsyncOp, MmaWaitOp, BulkCommitOp, BulkWaitOp, WarpSpecializeOp,
             NamedArriveOp, ThreadExpectTxOp, ClusterArriveOp, ClusterWaitOp>(
      op);
}

/// The local buffer of integers behind a load or store; null for others.
static AllocOp getVariable(Value storage) {
  if (!isa<BufferType>(storage.getType()))
    return {};
  auto alloc = storage.getDefiningOp<AllocOp>();
  if (!alloc || alloc.getType().getSpace() != MemorySpace::Local ||
      !isa<IntegerType>(alloc.getType().getElementType()))
    return {};
  int64_t elements = 1;
  for (int64_t extent : alloc.getType().getShape())
    elements *= extent;
  return elements <= 256 ? alloc : AllocOp();
}

namespace {
class ProgramBuilder {
public:
  explicit ProgramBuilder(KernelOp kernel) : kernel(kernel), integers(kernel) {}

  SyncProgram run();

private:
  void findMemories();
  void findCluster();
  void setReach(SyncStep &step, ArrayRef<ClusterAxes> sets);
  void slice();
  void mark(Operation *op);
  void need(Value value);
  void needVariable(AllocOp variable);

  void emitValuesAround();
  void emitBlock(Block &block);
  void emitOp(Operation *op);
  void emitLoop(scf::ForOp loop);
  void emitBranch(scf::IfOp branch);
  void emitWhile(scf::WhileOp loop);
  void emitRoles(WarpSpecializeOp roles);
  void emitProtocol(Operation *op);
  void emitValue(Operation *op);
  void emitMove(Operation *op, ValueRange from, ValueRange to);
  void addAccesses(SyncStep &step, Operation *op);
  bool setBarrier(SyncStep &step, Value barriers, Value index);
  void giveUp(Operation *op, const Twine &reason) {
    if (!program.unsupported) {
      program.unsupported = op;
      program.unsupportedReason = reason.str();
    }
  }

  SyncStep &add(StepKind kind, Operation *op) {
    program.steps.push_back({});
    program.steps.back().kind = kind;
    program.steps.back().op = op;
    return program.steps.back();
  }
  int here() { return program.steps.size(); }
  int number(Value value) {
    auto [found, isNew] = numbers.try_emplace(value, program.numValues);
    program.numValues += isNew;
    return found->second;
  }
  bool isRelevant(Operation *op) { return relevant.contains(op); }

  KernelOp kernel;
  IntegerAnalysis integers;
  SyncProgram program;
  llvm::DenseMap<Value, int> numbers;
  llvm::DenseMap<Value, int> memoryIndex;
  llvm::DenseMap<Operation *, SmallVector<BufferAccess, 2>> accesses;
  llvm::DenseSet<Value> writtenTensors;
  /// Shared buffers of which each warp touches a part of its own.
  llvm::DenseMap<Value, FragmentLayoutAttr> warpLayouts;
  llvm::DenseSet<Operation *> relevant;
  llvm::SetVector<Value> needed;
  SmallVector<Value> worklist;
  int numSpecialize = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory, roles
//===----------------------------------------------------------------------===//

/// Watched are: shared buffers of asynchronous operations and those that share
/// their place or are used by several roles, and fragments of products.
void ProgramBuilder::findMemories() {
  llvm::SetVector<Value> watched, shared;
  llvm::DenseMap<Value, Attribute> firstRole;
  /// What happens to a tensor.
  struct TensorUse {
    bool isRead = false, isWritten = false, isStored = false, isAsync = false;
  };
  llvm::MapVector<Value, TensorUse> tensors;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (isa<BarrierType>(alloc.getType().getElementType())) {
        int64_t count = 1;
        for (int64_t extent : alloc.getType().getShape())
          count *= extent;
        program.barriers.push_back(
            {alloc.getResult(), program.numBarriers, static_cast<int>(count)});
        program.numBarriers += count;
        program.slots = std::max(program.slots, count);
        program.period = std::lcm(program.period, 2 * count);
      } else if (alloc.getType().isShared()) {
        shared.insert(alloc.getResult());
      }
      return WalkResult::advance();
    }
    SmallVector<BufferAccess> all;
    collectAccesses(op, all);
    bool isAsync = isa<CopyAsyncOp, GemmAsyncOp>(op);
    Attribute role = getRole(op);
    for (BufferAccess &access : all) {
      auto alloc = access.root.getDefiningOp<AllocOp>();
      if (!alloc && access.isWrite)
        writtenTensors.insert(access.root);
      if (!alloc && isa<MemRefType>(access.root.getType())) {
        TensorUse &use = tensors[access.root];
        use.isAsync |= isAsync;
        use.isRead |= !access.isWrite;
        use.isStored |= access.isWrite && isAsync;
        use.isWritten |= access.isWrite && !isAsync;
        accesses[op].push_back(std::move(access));
        continue;
      }
      if (!alloc || isa<BarrierType>(alloc.getType().getElementType()) ||
          isa<MmaWaitOp>(op))
        continue;
      bool isShared = alloc.getType().isShared();
      if (!isShared && !alloc.getType().isFragment())
        continue;
      auto [first, isNew] = firstRole.try_emplace(access.root, role);
      auto [warps, unused] =
          warpLayouts.try_emplace(access.root, access.threads.warps);
      if (warps->second != access.threads.warps || first->second != role)
        warps->second = {};
      if (isAsync || (isShared && !isNew && first->second != role))
        watched.insert(access.root);
      accesses[op].push_back(std::move(access));
    }
    return isa<ParallelOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  auto getPlace = [](Value root) -> std::pair<int64_t, int64_t> {
    auto alloc = root.getDefiningOp<AllocOp>();
    auto offset = alloc->getAttrOfType<IntegerAttr>("tile.shared_offset");
    if (!offset)
      return {-1, 0};
    return {offset.getInt(), getSharedBytes(cast<BufferType>(root.getType()))};
  };
  auto overlap = [](std::pair<int64_t, int64_t> a,
                    std::pair<int64_t, int64_t> b) {
    return a.first >= 0 && b.first >= 0 && a.first < b.first + b.second &&
           b.first < a.first + a.second;
  };
  for (Value root : shared)
    if (!watched.contains(root) && llvm::any_of(watched, [&](Value other) {
          return overlap(getPlace(root), getPlace(other));
        }))
      watched.insert(root);
  for (Value root : watched) {
    auto alloc = root.getDefiningOp<AllocOp>();
    memoryIndex[root] = program.memories.size();
    SyncMemory memory;
    memory.buffer = root;
    memory.isFragment = alloc.getType().isFragment();
    memory.isOfWarps = !memory.isFragment && warpLayouts.lookup(root);
    program.ordersLanes |= memory.isOfWarps;
    ArrayRef<int64_t> shape = alloc.getType().getShape();
    bool hasSlots = alloc->hasAttr("tile.slots") || shape.size() > 2;
    if (!memory.isFragment && hasSlots && shape[0] <= 64)
      memory.cells = shape[0];
    std::tie(memory.offset, memory.bytes) = getPlace(root);
    program.memories.push_back(memory);
  }
  // Tensors that the kernel writes and reads, one of the two asynchronously.
  for (auto &[root, use] : tensors) {
    if (!use.isAsync || !(use.isRead || use.isWritten) ||
        !(use.isStored || use.isWritten))
      continue;
    memoryIndex[root] = program.memories.size();
    SyncMemory memory;
    memory.buffer = root;
    memory.isGlobal = true;
    memory.offset = -1;
    program.memories.push_back(memory);
  }
  for (auto [index, memory] : llvm::enumerate(program.memories))
    for (auto [other, second] : llvm::enumerate(program.memories))
      if (index != other &&
          overlap({memory.offset, memory.bytes}, {second.offset, second.bytes}))
        memory.overlaps.push_back(other);
}

/// The blocks of a cluster matter to each other if some operation says so.
void ProgramBuilder::findCluster() {
  ClusterShape cluster(kernel);
  if (cluster.getBlocks() == 1)
    return;
  WalkResult result = kernel.walk([](Operation *op) {
    return isa<ClusterArriveOp, ClusterWaitOp>(op) || op->hasAttr(kReach) ||
                   !getMulticastAxes(op).empty() || getClusterMask(op) ||
                   countsThroughCluster(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (!result.wasInterrupted())
    return;
  program.blocks = cluster.getBlocks();
  program.clusterExtents = cluster.extents;
}

void ProgramBuilder::setReach(SyncStep &step, ArrayRef<ClusterAxes> sets) {
  if (sets.empty())
    return;
  ClusterShape cluster(kernel);
  step.reach = program.reached.size();
  program.reached.emplace_back();
  for (int rank = 0; rank < program.blocks; ++rank)
    program.reached.back().emplace_back(getReached(cluster, rank, sets));
}

//===----------------------------------------------------------------------===//
// The slice
//===----------------------------------------------------------------------===//

void ProgramBuilder::mark(Operation *op) {
  if (op == kernel.getOperation() || !relevant.insert(op).second)
    return;
  if (Operation *parent = op->getParentOp(); kernel->isProperAncestor(parent)) {
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, WarpSpecializeOp>(parent))
      mark(parent);
    else
      giveUp(op, "it is inside of " + parent->getName().getStringRef().str());
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getLowerBound());
    need(loop.getUpperBound());
    need(loop.getStep());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    need(loop.getConditionOp().getCondition());
  } else if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    need(wait.getIndex());
    need(wait.getParity());
  } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    need(arrive.getIndex());
  } else if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
    need(expect.getIndex());
  } else if (auto expect = dyn_cast<ThreadExpectTxOp>(op)) {
    need(expect.getIndex());
  } else if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
    if (copy.getBarrierIndex())
      need(copy.getBarrierIndex());
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    if (getVariable(store.getDest())) {
      need(store.getValue());
      for (Value index : store.getIndices())
        need(index);
    }
  }
  auto found = accesses.find(op);
  if (found != accesses.end())
    for (const BufferAccess &access : found->second)
      if (memoryIndex.contains(access.root))
        for (const IndexRange &range : access.region)
          if (range.base)
            need(range.base);
}

void ProgramBuilder::need(Value value) {
  if (needed.insert(value))
    worklist.push_back(value);
}

void ProgramBuilder::needVariable(AllocOp variable) {
  if (program.variables.contains(variable))
    return;
  int elements = 1;
  for (int64_t extent : variable.getType().getShape())
    elements *= extent;
  program.variables[variable] = {program.numVariableElements, elements};
  program.numVariableElements += elements;
  for (Operation *user : variable.getResult().getUsers()) {
    if (isa<StoreOp>(user))
      mark(user);
    else if (!isa<LoadOp>(user))
      giveUp(user,
             "it uses the variable " + getUserName(variable) + " as a whole");
  }
}

void ProgramBuilder::slice() {
  kernel.walk([&](Operation *op) {
    if (isProtocol(op) || (program.ordersLanes && isa<WarpSyncOp>(op)))
      mark(op);
    else if (auto found = accesses.find(op);
             found != accesses.end() &&
             llvm::any_of(found->second, [&](const BufferAccess &access) {
               return memoryIndex.contains(access.root);
             }))
      mark(op);
  });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        mark(loop);
        if (unsigned index = argument.getArgNumber()) {
          need(loop.getInitArgs()[index - 1]);
          need(loop.getYieldedValues()[index - 1]);
        }
      } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
        mark(loop);
        unsigned index = argument.getArgNumber();
        if (argument.getOwner() == loop.getBeforeBody()) {
          need(loop.getInits()[index]);
          need(loop.getYieldOp().getOperand(index));
        } else {
          need(loop.getConditionOp().getArgs()[index]);
        }
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    unsigned index = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      mark(loop);
      need(loop.getRegionIterArgs()[index]);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      mark(branch);
      need(branch.thenYield().getOperand(index));
      need(branch.elseYield().getOperand(index));
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      mark(loop);
      need(loop.getConditionOp().getArgs()[index]);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      for (Value index : load.getIndices())
        need(index);
      if (AllocOp variable = getVariable(load.getSource()))
        needVariable(variable);
    } else if (op->getNumRegions() == 0 && isMemoryEffectFree(op)) {
      program.hasThreadConditions |= isa<ThreadIdOp>(op);
      for (Value operand : op->getOperands())
        if (!isa<BufferType, MemRefType>(operand.getType()))
          need(operand);
    } else {
      program.hasThreadConditions |= isa<ElectOp>(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ProgramBuilder::emitValue(Operation *op) {
  if (op->getNumResults() == 0 || !llvm::any_of(op->getResults(), [&](Value v) {
        return needed.contains(v);
      }))
    return;
  APInt constant;
  if (op->getNumResults() == 1 &&
      matchPattern(op->getResult(0), m_ConstantInt(&constant))) {
    int64_t value = constant.getBitWidth() == 1 ? constant.getZExtValue()
                                                : constant.getSExtValue();
    program.constants.emplace_back(number(op->getResult(0)), value);
    return;
  }
  if (auto load = dyn_cast<LoadOp>(op))
    if (AllocOp variable = getVariable(load.getSource())) {
      SyncStep &step = add(StepKind::LoadVariable, op);
      for (Value index : load.getIndices())
        step.inputs.push_back(number(index));
      step.outputs.push_back(number(load.getResult()));
      return;
    }
  if (auto share = dyn_cast<ShareTileOp>(op)) {
    // All roles get the same tiles, one after the other.
    SyncStep &step = add(StepKind::Opaque, op);
    step.calculation.width = 32;
    step.isOfBlock = true;
    step.handles.push_back(share.getCounter().getAsOpaquePointer());
    step.outputs.push_back(number(share.getResult()));
    return;
  }
  CalculationKind calculation = classifyCalculation(op);
  bool isOpaque = calculation.kind == Calculation::Opaque;
  SyncStep &step = add(isOpaque ? StepKind::Opaque : StepKind::Calculate, op);
  step.calculation = calculation;
  for (Value operand : op->getOperands()) {
    if (needed.contains(operand) &&
        !isa<BufferType, MemRefType>(operand.getType()))
      step.inputs.push_back(number(operand));
    else
      step.handles.push_back(operand.getAsOpaquePointer());
  }
  if (isOpaque) {
    Type type = op->getResult(0).getType();
    step.calculation.width =
        type.isInteger() ? type.getIntOrFloatBitWidth() : 64;
    step.attributes = op->getAttrDictionary().getAsOpaquePointer();
    auto load = dyn_cast<LoadOp>(op);
    step.isRepeatable =
        isMemoryEffectFree(op) ||
        (load && isa<MemRefType>(load.getSource().getType()) &&
         !writtenTensors.contains(getStorageRoot(load.getSource())));
    if (load && isa<BufferType>(load.getSource().getType())) {
      auto memory = memoryIndex.find(getStorageRoot(load.getSource()));
      if (memory != memoryIndex.end())
        step.subject = memory->second;
    }
  }
  for (Value result : op->getResults())
    step.outputs.push_back(number(result));
}

/// Values that the kernel takes from the function around it.
void ProgramBuilder::emitValuesAround() {
  for (Value value : needed) {
    Region *region = value.getParentRegion();
    if (kernel.getBody().isAncestor(region)) {
      if (auto argument = dyn_cast<BlockArgument>(value))
        if (!isa<scf::ForOp, scf::WhileOp>(argument.getOwner()->getParentOp()))
          program.symbols.emplace_back(number(value), value);
    } else if (isa<BlockArgument>(value) ||
               value.getDefiningOp()->getNumRegions() != 0 ||
               value.getParentBlock() != kernel->getBlock()) {
      program.symbols.emplace_back(number(value), value);
    }
  }
  for (Operation &op : *kernel->getBlock()) {
    if (&op == kernel.getOperation())
      break;
    if (op.getNumRegions() == 0)
      emitValue(&op);
  }
}

void ProgramBuilder::emitBlock(Block &block) {
  for (Operation &op : block)
    emitOp(&op);
}

void ProgramBuilder::emitOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isRelevant(op) ? emitLoop(loop) : void();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isRelevant(op) ? emitBranch(branch) : void();
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return isRelevant(op) ? emitWhile(loop) : void();
  if (auto roles = dyn_cast<WarpSpecializeOp>(op))
    return emitRoles(roles);
  if (isRelevant(op)) {
    auto store = dyn_cast<StoreOp>(op);
    if (AllocOp variable = store ? getVariable(store.getDest()) : AllocOp()) {
      SyncStep &step = add(StepKind::StoreVariable, op);
      step.inputs.push_back(number(store.getValue()));
      for (Value index : store.getIndices())
        step.inputs.push_back(number(index));
      return;
    }
    emitProtocol(op);
  }
  emitValue(op);
}

void ProgramBuilder::emitMove(Operation *op, ValueRange from, ValueRange to) {
  SmallVector<std::pair<int, int>> moves;
  for (auto [source, dest] : llvm::zip(from, to))
    if (needed.contains(dest) && needed.contains(source))
      moves.emplace_back(number(source), number(dest));
  if (moves.empty())
    return;
  SyncStep &step = add(StepKind::Move, op);
  for (auto [source, dest] : moves) {
    step.inputs.push_back(source);
    step.outputs.push_back(dest);
  }
}

void ProgramBuilder::emitLoop(scf::ForOp loop) {
  SyncLoop info;
  info.op = loop;
  bool carries = llvm::any_of(loop.getRegionIterArgs(), [&](Value argument) {
    return needed.contains(argument);
  });
  loop.getBody()->walk([&](Operation *op) {
    bool protocol = isProtocol(op);
    info.synchronises |= protocol;
    auto store = dyn_cast<StoreOp>(op);
    info.isFollowed |=
        protocol || (store && isRelevant(op) && getVariable(store.getDest()));
    if (protocol && op->getParentOfType<scf::ForOp>() != loop)
      info.isOuter = true;
  });
  info.isFollowed |= carries;
  APInt lower;
  if (matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)))
    info.lower = lower.getSExtValue();
  if (info.isFollowed) {
    IntegerRange lower = integers.getRange(loop.getLowerBound());
    IntegerRange upper = integers.getRange(loop.getUpperBound());
    IntegerRange step = integers.getRange(loop.getStep());
    auto trips = [](int64_t distance, int64_t step) {
      return distance <= 0 ? int64_t(0) : (distance + step - 1) / step;
    };
    info.minTrips =
        trips(upper.lower - lower.upper, std::max<int64_t>(1, step.upper));
    info.maxTrips =
        trips(upper.upper - lower.lower, std::max<int64_t>(1, step.lower));
  }
  int index = program.loops.size();
  program.loops.push_back(info);
  program.bounds.try_emplace(number(loop.getUpperBound()), index);

  emitMove(loop, loop.getInitArgs(), loop.getRegionIterArgs());
  int begin = here();
  {
    SyncStep &step = add(StepKind::LoopBegin, loop);
    step.inputs = {number(loop.getLowerBound()), number(loop.getUpperBound()),
                   number(loop.getStep())};
    step.outputs = {number(loop.getInductionVar())};
    step.subject = index;
  }
  emitBlock(*loop.getBody());
  emitMove(loop, loop.getYieldedValues(), loop.getRegionIterArgs());
  SyncStep &next = add(StepKind::LoopNext, loop);
  next.outputs = {number(loop.getInductionVar())};
  next.subject = index;
  next.target = begin + 1;
  program.steps[begin].target = here();
  emitMove(loop, loop.getRegionIterArgs(), loop.getResults());
}

void ProgramBuilder::emitBranch(scf::IfOp branch) {
  int index = program.numBranches++;
  int begin = here();
  {
    SyncStep &step = add(StepKind::Branch, branch);
    step.inputs = {number(branch.getCondition())};
    step.subject = index;
    step.number = branch
                      ->walk([](Operation *op) {
                        return isProtocol(op) ? WalkResult::interrupt()
                                              : WalkResult::advance();
                      })
                      .wasInterrupted();
  }
  auto waits = [](Block *block) {
    return block && block
                        ->walk([](Operation *op) {
                          return isa<BarrierWaitOp, SyncThreadsOp>(op)
                                     ? WalkResult::interrupt()
                                     : WalkResult::advance();
                        })
                        .wasInterrupted();
  };
  program.steps[begin].waitsOnBothWays =
      waits(branch.thenBlock()) && waits(branch.elseBlock());
  emitBlock(*branch.thenBlock());
  emitMove(branch, branch.thenYield().getOperands(), branch.getResults());
  int middle = here();
  add(StepKind::Jump, branch).subject = index;
  program.steps[begin].target = here();
  if (branch.elseBlock()) {
    emitBlock(*branch.elseBlock());
    emitMove(branch, branch.elseYield().getOperands(), branch.getResults());
  }
  program.steps[middle].target = here();
  add(StepKind::BranchEnd, branch).subject = index;
}

void ProgramBuilder::emitWhile(scf::WhileOp loop) {
  emitMove(loop, loop.getInits(), loop.getBeforeArguments());
  int begin = here();
  emitBlock(*loop.getBeforeBody());
  scf::ConditionOp condition = loop.getConditionOp();
  emitMove(loop, condition.getArgs(), loop.getAfterArguments());
  emitMove(loop, condition.getArgs(), loop.getResults());
  int test = here();
  {
    SyncStep &step = add(StepKind::WhileTest, loop);
    step.inputs = {number(condition.getCondition())};
  }
  emitBlock(*loop.getAfterBody());
  emitMove(loop, loop.getYieldOp().getOperands(), loop.getBeforeArguments());
  add(StepKind::Jump, loop).target = begin;
  program.steps[test].target = here();
}

void ProgramBuilder::emitRoles(WarpSpecializeOp roles) {
  int begin = here();
  int specialize = numSpecialize++;
  add(StepKind::EnterRole, roles).subject = specialize;
  SmallVector<int> ends;
  int index = 0;
  for (SyncRole &role : program.roles) {
    if (role.specialize != specialize)
      continue;
    role.entry = here();
    emitBlock(roles.getRegions()[index++].front());
    ends.push_back(here());
    add(StepKind::LeaveRole, roles);
  }
  for (int end : ends)
    program.steps[end].target = here();
  program.steps[begin].target = here();
}

void ProgramBuilder::addAccesses(SyncStep &step, Operation *op) {
  step.firstAccess = program.accesses.size();
  auto found = accesses.find(op);
  if (found == accesses.end())
    return;
  for (const BufferAccess &access : found->second) {
    auto memory = memoryIndex.find(access.root);
    if (memory == memoryIndex.end())
      continue;
    AccessTemplate result;
    result.isAtomic = access.isAtomic;
    result.memory = memory->second;
    result.isWrite = access.isWrite;
    auto whole = getWholeRegion(access.root.getType());
    for (auto [range, all] : llvm::zip(access.region, whole))
      result.region.push_back({range.base ? number(range.base) : -1,
                               range.offset, range.size, all.size});
    program.accesses.push_back(std::move(result));
  }
  step.numAccesses = program.accesses.size() - step.firstAccess;
}

bool ProgramBuilder::setBarrier(SyncStep &step, Value barriers, Value index) {
  int64_t first = 0;
  step.numSlots = cast<BufferType>(barriers.getType()).getShape()[0];
  while (auto view = barriers.getDefiningOp<SubviewOp>()) {
    APInt offset;
    if (!matchPattern(view.getOffsets()[0], m_ConstantInt(&offset)))
      break;
    first += offset.getSExtValue();
    barriers = view.getSource();
  }
  step.firstSlot = first;
  for (auto [position, candidate] : llvm::enumerate(program.barriers))
    if (candidate.buffer == barriers) {
      step.subject = position;
      if (index)
        step.inputs.push_back(number(index));
      return true;
    }
  giveUp(step.op, "its barrier is seen through a view");
  return false;
}

/// Bytes of the boxes of a copy by TMA.
static int64_t getCopyBytes(CopyAsyncOp copy) {
  int64_t elements = 1;
  for (int64_t size : copy.getDestSizes())
    elements *= size;
  return elements *
         getElementBits(getStorageElementType(copy.getDest().getType())) / 8;
}

void ProgramBuilder::emitProtocol(Operation *op) {
  if (auto init = dyn_cast<BarrierInitOp>(op)) {
    SyncStep &step = add(StepKind::BarrierInit, op);
    step.number = init.getArrivals();
    setBarrier(step, init.getBarriers(), Value());
  } else if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
    SyncStep &step = add(StepKind::BarrierWait, op);
    setBarrier(step, wait.getBarriers(), wait.getIndex());
    step.inputs.push_back(number(wait.getParity()));
  } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
    SyncStep &step = add(StepKind::BarrierArrive, op);
    setBarrier(step, arrive.getBarriers(), arrive.getIndex());
    step.number = arrive.getExpect().value_or(0);
    step.scope = arrive.getScope();
    step.afterCopies = arrive.getCpAsync();
    setReach(step, getReach(arrive));
  } else if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
    SyncStep &step = add(StepKind::ExpectBytes, op);
    setBarrier(step, expect.getBarriers(), expect.getIndex());
    step.number = expect.getBytes();
  } else if (auto expect = dyn_cast<ThreadExpectTxOp>(op)) {
    SyncStep &step = add(expect.getArrive() ? StepKind::BarrierArrive
                                            : StepKind::ExpectBytes,
                         op);
    setBarrier(step, expect.getBarriers(), expect.getIndex());
    step.number = expect.getBytes();
    step.scope = ArrivalScope::Thread;
  } else if (auto arrive = dyn_cast<NamedArriveOp>(op)) {
    SyncStep &step = add(StepKind::NamedArrive, op);
    step.subject = arrive.getId();
    step.number = arrive.getCount();
  } else if (auto sync = dyn_cast<SyncThreadsOp>(op)) {
    SyncStep &step = add(StepKind::SyncThreads, op);
    step.number = sync.getCount().value_or(0);
    step.subject = sync.getId() ? static_cast<int>(*sync.getId()) : -1;
  } else if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
    SyncStep &step = add(StepKind::CopyAsync, op);
    if (copy.getBarrier())
      setBarrier(step, copy.getBarrier(), copy.getBarrierIndex());
    bool isTma = copy.getChoice() && copy.getChoice()->getPath() == Path::Tma;
    // Without a choice, the form says which copy it is.
    bool isStore = isa<MemRefType>(copy.getDest().getType());
    isTma |= isStore || (!copy.getChoice() && copy.getBarrier());
    step.number = isTma ? getCopyBytes(copy) : 0;
    if (ClusterAxes axes = getMulticastAxes(copy); !axes.empty())
      setReach(step, axes);
    if (int64_t mask = getClusterMask(copy)) {
      step.reach = program.reached.size();
      program.reached.emplace_back(program.blocks, getRanks(mask));
    }
    step.isPerWarp = isPerWarp(op);
    addAccesses(step, op);
  } else if (isa<GemmAsyncOp>(op)) {
    addAccesses(add(StepKind::GemmAsync, op), op);
  } else if (auto wait = dyn_cast<MmaWaitOp>(op)) {
    add(StepKind::MmaWait, op).number = wait.getPending();
  } else if (isa<AsyncCommitOp>(op)) {
    add(StepKind::AsyncCommit, op);
  } else if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    add(StepKind::AsyncWait, op).number = wait.getPending();
  } else if (isa<ClusterArriveOp>(op)) {
    add(StepKind::ClusterArrive, op);
  } else if (isa<ClusterWaitOp>(op)) {
    add(StepKind::ClusterWait, op);
  } else if (isa<BulkCommitOp>(op)) {
    add(StepKind::BulkCommit, op).isPerWarp = isPerWarp(op);
  } else if (auto wait = dyn_cast<BulkWaitOp>(op)) {
    SyncStep &step = add(StepKind::BulkWait, op);
    step.number = wait.getPending();
    step.isPerWarp = isPerWarp(op);
  } else if (isa<WarpSyncOp>(op)) {
    add(StepKind::WarpSync, op);
  } else if (accesses.contains(op)) {
    addAccesses(add(StepKind::Access, op), op);
  }
}

SyncProgram ProgramBuilder::run() {
  findMemories();
  auto [misplaced, reason] = findSyncRoles(kernel, program);
  if (misplaced)
    giveUp(misplaced, reason);
  findCluster();
  if (program.unsupported)
    return std::move(program);
  slice();
  findSyncWarps(kernel, program);
  emitValuesAround();
  emitBlock(*kernel.getBodyBlock());
  add(StepKind::End, kernel);
  levelSyncLoops(program);
  return std::move(program);
}

SyncProgram mlir::tile::buildSyncProgram(KernelOp kernel) {
  return ProgramBuilder(kernel).run();
}
