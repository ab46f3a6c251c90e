//===- PipelineSkew.cpp - computation ahead of a pipelined loop -*- C++ -*-===//
//
// Honours stages and orders that start computation of the next iteration before
// this one is finished, such as the scores of the next tile of an attention
// kernel. The result is a plain pipelined loop, whose loads are planned as
// those of any other.
//
//===----------------------------------------------------------------------===//
#include "PipelineSkew.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
class LoopSkewer {
public:
  LoopSkewer(PipelinedOp loop, ArrayRef<Operation *> scheduled)
      : loop(loop), ops(scheduled),
        noalias(OptionsAttr::of(loop).getFlag("noalias", true)) {}

  Skew run(ArrayRef<int64_t> stage, ArrayRef<int64_t> order);

private:
  using Accesses = SmallVector<BufferAccess>;

  /// Collects what `ops[index]` needs of the body besides scheduled operations.
  std::string collectSlice(size_t index);
  void place(ArrayRef<int64_t> stage, ArrayRef<int64_t> order);
  /// Whether `first` and `second` must keep their order; `sameIteration`: in
  /// one iteration, else in different ones.
  bool conflict(size_t first, size_t second, bool sameIteration);
  std::string findViolation();
  PipelinedOp rewrite();

  bool isLoad(Operation *op) {
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !isa<MemRefType>(copy.getSource().getType()))
      return false;
    auto dest = dyn_cast<BufferType>(copy.getDest().getType());
    return dest && dest.isShared();
  }
  /// Comes `lhs` of iteration i before `rhs` of iteration i + distance?
  bool comesBefore(size_t lhs, size_t rhs, int64_t distance) {
    return std::make_pair(stages[lhs], positions[lhs]) <
           std::make_pair(stages[rhs] + distance, positions[rhs]);
  }

  PipelinedOp loop;
  ArrayRef<Operation *> ops;
  bool noalias;
  SmallVector<int64_t> stages, positions;
  SmallVector<Accesses> accesses;
  SmallVector<SmallVector<Operation *>> slices;
};
} // namespace

std::string LoopSkewer::collectSlice(size_t index) {
  Block *body = loop.getBodyBlock();
  llvm::SetVector<Operation *> needed;
  needed.insert(ops[index]);
  for (size_t next = 0; next < needed.size(); ++next)
    needed[next]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (Operation *top = body->findAncestorOpInBlock(*def);
              top && top->getBlock() == body)
            needed.insert(top);
    });
  collectNestedAccesses(ops[index], accesses[index]);
  SmallVector<Operation *> slice;
  for (Operation *op : needed.getArrayRef().drop_front()) {
    if (isScheduled(op)) {
      // Scheduled operations inside of the operation itself are no others.
      if (ops[index]->isAncestor(op))
        continue;
      return describeForUser(ops[index]) + " uses a result of " +
             describeForUser(op);
    }
    collectNestedAccesses(op, accesses[index]);
    slice.push_back(op);
  }
  llvm::sort(slice, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  slices[index] = std::move(slice);
  return "";
}

void LoopSkewer::place(ArrayRef<int64_t> stage, ArrayRef<int64_t> order) {
  // Loads, and what was left open, go with the next operation that depends on
  // them, else with the next one that has a place.
  size_t count = ops.size();
  stages.assign(count, -1);
  SmallVector<std::pair<int64_t, size_t>> keys(count);
  for (size_t i = count; i-- > 0;) {
    bool isOpen = stage[i] < 0 || isLoad(ops[i]);
    if (!isOpen) {
      stages[i] = stage[i];
      keys[i] = {order[i], i};
      continue;
    }
    size_t guide = count;
    for (size_t j = i + 1; j < count; ++j)
      if (stages[j] >= 0 && conflict(i, j, /*sameIteration=*/true) &&
          (guide == count || keys[j] < keys[guide] ||
           stages[j] < stages[guide]))
        guide = j;
    for (size_t j = i + 1; j < count && guide == count; ++j)
      if (stages[j] >= 0)
        guide = j;
    if (guide == count)
      continue; // decided below
    stages[i] = stages[guide];
    keys[i] = {keys[guide].first, i};
  }
  for (size_t i = 0; i < count; ++i)
    if (stages[i] < 0) {
      bool isFirst = i == 0;
      stages[i] = isFirst ? 0 : stages[i - 1];
      keys[i] = {isFirst ? -1 : keys[i - 1].first, i};
    }
  int64_t low = *llvm::min_element(stages);
  for (int64_t &value : stages)
    value -= low;
  SmallVector<std::pair<int64_t, size_t>> sorted(keys);
  llvm::sort(sorted);
  positions.assign(count, 0);
  for (auto [position, key] : llvm::enumerate(sorted))
    positions[key.second] = position;
}

static bool ordersEverything(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<SyncThreadsOp, PrintOp, AssertOp, scf::WhileOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool LoopSkewer::conflict(size_t first, size_t second, bool sameIteration) {
  if (ordersEverything(ops[first]) || ordersEverything(ops[second]))
    return true;
  for (const BufferAccess &a : accesses[first])
    for (const BufferAccess &b : accesses[second]) {
      if (!a.isWrite && !b.isWrite)
        continue;
      bool areTensors = isa<MemRefType>(a.root.getType()) &&
                        isa<MemRefType>(b.root.getType());
      if (areTensors && !noalias)
        return true;
      if (a.root == b.root &&
          (!sameIteration || mayOverlap(a.region, b.region)))
        return true;
    }
  return false;
}

std::string LoopSkewer::findViolation() {
  auto describe = [&](size_t first, size_t second, bool isNext) {
    return "its order would start " + describeForUser(ops[second]) +
           (isNext ? " of the next iteration before " : " before ") +
           describeForUser(ops[first]) +
           (isNext ? " of this one, which still needs the same buffer"
                   : ", on which it depends");
  };
  for (size_t first = 0; first < ops.size(); ++first)
    for (size_t second = 0; second < ops.size(); ++second) {
      if (first == second)
        continue;
      if (first < second && !comesBefore(first, second, 0) &&
          conflict(first, second, /*sameIteration=*/true))
        return describe(first, second, false);
      if (!comesBefore(first, second, 1) &&
          conflict(first, second, /*sameIteration=*/false))
        return describe(first, second, true);
    }
  return "";
}

PipelinedOp LoopSkewer::rewrite() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  int64_t depth = *llvm::max_element(stages);
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32).getResult();
  };
  Value upper = arith::AddIOp::create(b, loc, loop.getUpper(), constant(depth));
  auto created = PipelinedOp::create(b, loc, loop.getLower(), upper,
                                     loop.getNumStages(), DenseI64ArrayAttr(),
                                     DenseI64ArrayAttr(), ChoiceAttr());
  created->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = b.createBlock(&created.getBody(), {}, {b.getI32Type()}, {loc});
  Value step = body->getArgument(0);

  // Per stage: the iteration, and whether the loop has it.
  SmallVector<Value> iterations, exists;
  for (int64_t s = 0; s <= depth; ++s) {
    Value iteration =
        s == 0 ? step
               : arith::SubIOp::create(b, loc, step, constant(s)).getResult();
    Value begun, unfinished;
    if (s > 0)
      begun = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                    iteration, loop.getLower());
    if (s < depth)
      unfinished = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         iteration, loop.getUpper());
    iterations.push_back(iteration);
    exists.push_back(
        begun && unfinished
            ? arith::AndIOp::create(b, loc, begun, unfinished).getResult()
        : begun ? begun
                : unfinished);
  }

  SmallVector<size_t> sequence(ops.size());
  for (auto [index, position] : llvm::enumerate(positions))
    sequence[position] = index;
  int64_t current = -1;
  IRMapping mapping;
  for (size_t index : sequence) {
    if (stages[index] != current) {
      current = stages[index];
      b.setInsertionPointToEnd(body);
      auto branch = scf::IfOp::create(b, loc, exists[current],
                                      /*withElseRegion=*/false);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      mapping.clear();
      mapping.map(loop.getInductionVar(), iterations[current]);
    }
    // Loads of values are repeated for every operation: what they read may have
    // been changed by the operation before.
    IRMapping own = mapping;
    for (Operation *op : slices[index])
      b.clone(*op, own);
    b.clone(*ops[index], own);
  }
  loop.erase();
  return created;
}

Skew LoopSkewer::run(ArrayRef<int64_t> stage, ArrayRef<int64_t> order) {
  accesses.resize(ops.size());
  slices.resize(ops.size());
  for (size_t index = 0; index < ops.size(); ++index)
    if (std::string reason = collectSlice(index); !reason.empty())
      return {PipelinedOp(), reason};
  // A value that is loaded before another operation writes what it was loaded
  // from belongs to its place; cloning would move it.
  for (size_t index = 0; index < ops.size(); ++index)
    for (Operation *value : slices[index]) {
      SmallVector<BufferAccess> reads;
      collectNestedAccesses(value, reads);
      for (size_t other = 0; other < index; ++other) {
        if (!value->isBeforeInBlock(ops[other]))
          continue;
        for (const BufferAccess &read : reads)
          for (const BufferAccess &write : accesses[other])
            if (write.isWrite && write.root == read.root)
              return {PipelinedOp(),
                      "'" + getUserName(read.root) + "' is read before " +
                          describeForUser(ops[other]) + ", which changes it"};
      }
    }
  place(stage, order);
  if (*llvm::max_element(stages) == 0)
    return {PipelinedOp(), "all computation is in one stage"};
  if (std::string reason = findViolation(); !reason.empty())
    return {PipelinedOp(), reason};
  std::string ahead;
  int64_t depth = *llvm::max_element(stages);
  for (auto [op, s] : llvm::zip_equal(ops, stages))
    if (s < depth && !isLoad(op))
      ahead += (ahead.empty() ? "" : ", ") + describeForUser(op);
  std::string text = "as stage and order say, " + ahead + " run" +
                     (ahead.find(',') == std::string::npos ? "s " : " ") +
                     "ahead of the rest of the iteration";
  return {rewrite(), text};
}

Skew mlir::tile::skewLoop(PipelinedOp loop, ArrayRef<Operation *> ops,
                          ArrayRef<int64_t> stage, ArrayRef<int64_t> order) {
  if (ops.empty())
    return {PipelinedOp(), "the loop does nothing"};
  return LoopSkewer(loop, ops).run(stage, order);
}
