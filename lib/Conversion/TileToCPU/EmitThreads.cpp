//===- EmitThreads.cpp - several threads per block --------------*- C++ -*-===//
//
// A kernel that uses its thread id runs as loops over the threads, split where
// all threads meet: at collective operations, and at control flow that holds
// some. Values that are needed on the other side of a split are kept in one
// array per value, indexed by thread. What is the same in all threads runs
// once.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

Value KernelEmitter::threadId(int64_t axis) {
  Value linear = thread ? thread : s.i64(0);
  // An iteration of a parallel loop runs on some thread; this is a legal
  // choice.
  if (parallelIteration)
    linear =
        s.fold<arith::RemUIOp>(parallelIteration, s.i64(kernel.getThreads()));
  if (auto shape = kernel.getThreadShape()) {
    for (int64_t i = 0; i < axis && i < static_cast<int64_t>(shape->size());
         ++i)
      linear = s.fold<arith::DivUIOp>(linear, s.i64((*shape)[i]));
    int64_t extent =
        axis < static_cast<int64_t>(shape->size()) ? (*shape)[axis] : 1;
    linear = s.fold<arith::RemUIOp>(linear, s.i64(extent));
  } else if (axis > 0) {
    linear = s.i64(0);
  }
  return s.fold<arith::TruncIOp>(b.getI32Type(), linear);
}

void KernelEmitter::forEachThread(function_ref<void(Value)> body) {
  s.loop(s.i64(0), s.i64(threads.count()), 1, [&](Value index) {
    Value outer = std::exchange(thread, index);
    body(index);
    thread = outer;
  });
}

//===----------------------------------------------------------------------===//
// Values across splits
//===----------------------------------------------------------------------===//

/// The type that a scalar is kept as between segments.
static Type getSpillType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  return type;
}

void KernelEmitter::spill(Value original, Value index, Value value) {
  Type type = getSpillType(original.getType());
  Value &array = spills[original];
  int64_t bytes = getElementBits(type) / 8;
  if (!array)
    array = s.stackSlot(b.getI8Type(), bytes * threads.count());
  if (value.getType().isIndex())
    value = s.create<arith::IndexCastOp>(type, value);
  s.store(value, s.offset(array, s.mul(index, s.i64(bytes))), type);
}

Value KernelEmitter::reload(Value original, Value index) {
  Type type = getSpillType(original.getType());
  int64_t bytes = getElementBits(type) / 8;
  Value array = spills.lookup(original);
  Value value = s.load(s.offset(array, s.mul(index, s.i64(bytes))), type);
  if (original.getType().isIndex())
    value = s.create<arith::IndexCastOp>(original.getType(), value);
  return value;
}

/// Visits every value that `op`, or an operation inside of it, uses, through
/// the views of buffers.
static void visitUses(Operation *op, function_ref<void(Value)> visit) {
  std::function<void(Value)> descend = [&](Value value) {
    visit(value);
    Operation *def = value.getDefiningOp();
    if (def && isa<SubviewOp, ReshapeOp, BitcastOp>(def))
      llvm::for_each(def->getOperands(), descend);
  };
  op->walk(
      [&](Operation *inner) { llvm::for_each(inner->getOperands(), descend); });
}

void KernelEmitter::mapForThread(Operation *op, Value index,
                                 SmallVectorImpl<Value> &mapped) {
  visitUses(op, [&](Value value) {
    if (!spills.count(value) || mapping.contains(value))
      return;
    mapping.map(value, reload(value, index));
    mapped.push_back(value);
  });
}

void KernelEmitter::copySpills(ValueRange from, ValueRange to) {
  // Reads come before writes: the values may be permuted.
  SmallVector<std::pair<Value, Value>> moves;
  for (auto [source, target] : llvm::zip(from, to))
    if (threads.isVarying(target))
      moves.push_back({source, target});
  if (moves.empty())
    return;
  forEachThread([&](Value index) {
    SmallVector<Value> values;
    for (auto [source, target] : moves)
      values.push_back(spills.count(source) && !mapping.contains(source)
                           ? reload(source, index)
                           : lookup(source));
    for (auto [move, value] : llvm::zip(moves, values))
      spill(move.second, index, value);
  });
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

static bool emitsNothing(Operation *op) {
  return isa<AllocOp, SubviewOp, ReshapeOp, BitcastOp, AnnotateLayoutOp,
             AssumeOp, AsyncCommitOp, AsyncWaitOp>(op);
}

LogicalResult KernelEmitter::emitSegment(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> perThread;
  for (Operation *op : ops) {
    if (emitsNothing(op))
      continue;
    if (!threads.isUniform(op)) {
      perThread.push_back(op);
      continue;
    }
    SmallVector<Value> mapped;
    mapForThread(op, s.i64(0), mapped);
    if (failed(emitOperation(op)))
      return failure();
    for (Value value : mapped)
      mapping.erase(value);
  }
  if (perThread.empty())
    return success();

  llvm::SmallPtrSet<Operation *, 16> inside(perThread.begin(), perThread.end());
  LogicalResult result = success();
  forEachThread([&](Value index) {
    SmallVector<Value> mapped;
    for (Operation *op : perThread)
      mapForThread(op, index, mapped);
    for (Operation *op : perThread) {
      if (failed(result) || failed(emitOperation(op))) {
        result = failure();
        return;
      }
      for (Value value : op->getResults()) {
        mapped.push_back(value);
        bool escapes = llvm::any_of(value.getUsers(), [&](Operation *user) {
          Operation *holder = op->getBlock()->findAncestorOpInBlock(*user);
          return !holder || !inside.contains(holder) || isa<SubviewOp>(user);
        });
        if (escapes)
          spill(value, index, mapping.lookup(value));
      }
    }
    for (Value value : mapped)
      mapping.erase(value);
  });
  return result;
}

LogicalResult KernelEmitter::emitCollective(Operation *op) {
  // Values that should be the same in all threads are taken from the first.
  SmallVector<Value> mapped;
  mapForThread(op, s.i64(0), mapped);
  LogicalResult result = emitOperation(op);
  for (Value value : mapped)
    mapping.erase(value);
  return result;
}

LogicalResult KernelEmitter::emitThreadedBlock(Block &block) {
  SmallVector<Operation *> segment;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (!threads.holdsCollective(&op)) {
      segment.push_back(&op);
      continue;
    }
    if (failed(emitSegment(segment)))
      return failure();
    segment.clear();
    bool isControlFlow = op.getNumRegions() > 0 && !isa<ParallelOp>(op);
    if (failed(isControlFlow ? emitThreadedControlFlow(&op)
                             : emitCollective(&op)))
      return failure();
  }
  return emitSegment(segment);
}

//===----------------------------------------------------------------------===//
// Control flow around collectives
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitThreadedControlFlow(Operation *op) {
  s.setLoc(op->getLoc());
  // Conditions and bounds are uniform; the first thread's values stand for all.
  SmallVector<Value> mapped;
  for (Value operand : op->getOperands())
    if (spills.count(operand) && !mapping.contains(operand)) {
      mapping.map(operand, reload(operand, s.i64(0)));
      mapped.push_back(operand);
    }
  LogicalResult result = failure();
  if (auto loop = dyn_cast<PipelinedOp>(op))
    result = emitPipelined(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    result = emitThreadedIf(branch);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    result = emitThreadedFor(loop, mapped);
  else if (auto loop = dyn_cast<scf::WhileOp>(op))
    result = emitThreadedWhile(loop, mapped);
  else
    op->emitOpError("cannot hold collective operations in a kernel that uses "
                    "its thread id; use scf.if, scf.for or scf.while");
  for (Value value : mapped)
    mapping.erase(value);
  return result;
}

/// The values of `values` whose counterpart in `keys` is the same in all
/// threads.
static SmallVector<Value> selectUniform(const ThreadAnalysis &threads,
                                        ValueRange keys, ValueRange values) {
  SmallVector<Value> result;
  for (auto [key, value] : llvm::zip(keys, values))
    if (!threads.isVarying(key))
      result.push_back(value);
  return result;
}

SmallVector<Value> KernelEmitter::lookupAll(ValueRange originals) {
  SmallVector<Value> result;
  for (Value original : originals)
    result.push_back(lookup(original));
  return result;
}

void KernelEmitter::mapUniform(ValueRange originals, ValueRange values) {
  size_t next = 0;
  for (Value original : originals)
    if (!threads.isVarying(original))
      mapping.map(original, values[next++]);
}

LogicalResult KernelEmitter::emitThreadedIf(scf::IfOp op) {
  ValueRange results = op.getResults();
  SmallVector<Value> uniform = selectUniform(threads, results, results);
  auto branch = s.create<scf::IfOp>(ValueRange(uniform).getTypes(),
                                    lookup(op.getCondition()),
                                    !op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    if (to.empty())
      to.emplaceBlock();
    b.setInsertionPointToStart(&to.front());
    if (failed(emitThreadedBlock(from.front())))
      return failure();
    ValueRange yielded = from.front().getTerminator()->getOperands();
    copySpills(yielded, results);
    if (!uniform.empty())
      s.create<scf::YieldOp>(
          lookupAll(selectUniform(threads, results, yielded)));
  }
  mapUniform(results, branch.getResults());
  return success();
}

LogicalResult KernelEmitter::emitThreadedFor(scf::ForOp op,
                                             ArrayRef<Value> firstThread) {
  ValueRange carried = op.getRegionIterArgs();
  SmallVector<Value> initial =
      lookupAll(selectUniform(threads, carried, op.getInitArgs()));
  Value lower = lookup(op.getLowerBound()), upper = lookup(op.getUpperBound());
  Value step = lookup(op.getStep());
  for (Value value : firstThread)
    mapping.erase(value);
  copySpills(op.getInitArgs(), carried);
  auto loop = s.create<scf::ForOp>(lower, upper, step, initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    mapping.map(op.getInductionVar(), loop.getInductionVar());
    if (op.getInductionVar().getType().isInteger(32))
      wideIndices[op.getInductionVar()] = s.toI64(loop.getInductionVar());
    mapUniform(carried, loop.getRegionIterArgs());
    if (failed(emitThreadedBlock(*op.getBody())))
      return failure();
    ValueRange yielded = op.getBody()->getTerminator()->getOperands();
    copySpills(yielded, carried);
    if (!initial.empty())
      s.create<scf::YieldOp>(
          lookupAll(selectUniform(threads, carried, yielded)));
  }
  mapUniform(op.getResults(), loop.getResults());
  copySpills(carried, op.getResults());
  return success();
}

LogicalResult KernelEmitter::emitThreadedWhile(scf::WhileOp op,
                                               ArrayRef<Value> firstThread) {
  ValueRange before = op.getBeforeArguments(), after = op.getAfterArguments();
  ValueRange results = op.getResults();
  SmallVector<Value> initial =
      lookupAll(selectUniform(threads, before, op.getInits()));
  for (Value value : firstThread)
    mapping.erase(value);
  copySpills(op.getInits(), before);
  SmallVector<Value> kept = selectUniform(threads, after, after);
  auto loop = s.create<scf::WhileOp>(ValueRange(kept).getTypes(), initial);
  OpBuilder::InsertionGuard guard(b);

  SmallVector<Location> locs(initial.size(), op.getLoc());
  Block *test = b.createBlock(&loop.getBefore(), {},
                              ValueRange(initial).getTypes(), locs);
  mapUniform(before, test->getArguments());
  if (failed(emitThreadedBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  copySpills(condition.getArgs(), after);
  Value test0 = condition.getCondition();
  Value holds =
      mapping.contains(test0) ? lookup(test0) : reload(test0, s.i64(0));
  s.create<scf::ConditionOp>(
      holds, lookupAll(selectUniform(threads, after, condition.getArgs())));

  locs.assign(kept.size(), op.getLoc());
  Block *body =
      b.createBlock(&loop.getAfter(), {}, ValueRange(kept).getTypes(), locs);
  mapUniform(after, body->getArguments());
  if (failed(emitThreadedBlock(*op.getAfterBody())))
    return failure();
  ValueRange yielded = op.getYieldOp().getOperands();
  copySpills(yielded, before);
  s.create<scf::YieldOp>(lookupAll(selectUniform(threads, before, yielded)));

  b.setInsertionPointAfter(loop);
  mapUniform(results, loop.getResults());
  // The arguments of the last evaluation of the condition are the results.
  copySpills(after, results);
  return success();
}
