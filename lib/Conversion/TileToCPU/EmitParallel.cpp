//===- EmitParallel.cpp - parallel loops ------------------------*- C++ -*-===//
//
// A parallel loop is a plain nest that LLVM vectorises. Accesses to tensors
// whose indices have a known range over the nest are tested once before it: one
// copy of the nest runs without tests. The other copy, for tiles at the edge of
// a tensor, finds for every row of the nest the run of iterations whose
// accesses are inside; only iterations around it test every access. (Masked
// accesses would cost every iteration, and AVX2 has none for 8- and 16-bit
// elements.) Conditions of the program that guard accesses are treated in the
// same way.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

std::optional<KernelEmitter::Interval>
KernelEmitter::getInterval(ParallelOp op, ArrayRef<Value> extents,
                           Value value) {
  Region &body = op.getBody();
  auto point = [](Value at) { return Interval{at, at}; };
  if (!body.isAncestor(value.getParentRegion()))
    return point(lookupI64(value));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == op.getBodyBlock())
      return Interval{s.i64(0),
                      s.sub(extents[argument.getArgNumber()], s.i64(1))};
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return std::nullopt;
    auto lower = getInterval(op, extents, loop.getLowerBound());
    auto upper = getInterval(op, extents, loop.getUpperBound());
    if (!lower || !upper)
      return std::nullopt;
    return Interval{lower->first, s.sub(upper->second, s.i64(1))};
  }
  if (auto constant = ScalarBuilder::constantOf(value))
    return point(s.i64(*constant));

  Operation *def = value.getDefiningOp();
  auto operand = [&](unsigned index) {
    return getInterval(op, extents, def->getOperand(index));
  };
  auto hull = [&](Interval x, Interval y) {
    return Interval{s.minimum(x.first, y.first), s.maximum(x.second, y.second)};
  };
  using Result = std::optional<Interval>;
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(def))
    return operand(0);
  if (isa<arith::SelectOp>(def)) {
    Result yes = operand(1), no = operand(2);
    return yes && no ? Result(hull(*yes, *no)) : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
           arith::MaxSIOp, arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp,
           arith::RemSIOp, arith::RemUIOp>(def))
    return std::nullopt;
  Result x = operand(0);
  if (!x)
    return std::nullopt;
  if (isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
          arith::RemUIOp>(def)) {
    auto divisor = ScalarBuilder::constantOf(def->getOperand(1));
    if (!divisor || *divisor <= 0)
      return std::nullopt;
    Value d = s.i64(*divisor);
    // Rounding down keeps a negative quotient negative, so that the test fails
    // where an unsigned or truncating division would differ.
    if (isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(def))
      return Interval{s.fold<arith::FloorDivSIOp>(x->first, d),
                      s.fold<arith::FloorDivSIOp>(x->second, d)};
    Value top = s.i64(*divisor - 1);
    if (isa<arith::RemUIOp>(def))
      return Interval{s.i64(0), top};
    return Interval{s.minimum(x->first, s.i64(0)), top};
  }
  Result y = operand(1);
  if (!y)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Result>(def)
      .Case([&](arith::AddIOp) {
        return Interval{s.add(x->first, y->first), s.add(x->second, y->second)};
      })
      .Case([&](arith::SubIOp) {
        return Interval{s.sub(x->first, y->second), s.sub(x->second, y->first)};
      })
      .Case([&](arith::MinSIOp) {
        return Interval{s.minimum(x->first, y->first),
                        s.minimum(x->second, y->second)};
      })
      .Case([&](arith::MaxSIOp) {
        return Interval{s.maximum(x->first, y->first),
                        s.maximum(x->second, y->second)};
      })
      .Case([&](arith::MulIOp) {
        Value ends[4] = {s.mul(x->first, y->first), s.mul(x->first, y->second),
                         s.mul(x->second, y->first),
                         s.mul(x->second, y->second)};
        return hull(hull({ends[0], ends[0]}, {ends[1], ends[1]}),
                    hull({ends[2], ends[2]}, {ends[3], ends[3]}));
      })
      .Default([](Operation *) { return Result(); });
}

/// An access to a tensor that may need a test.
static bool getTensorAccess(Operation *op, Value &storage, ValueRange &indices,
                            std::optional<Bounds> &bounds) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) {
        storage = load.getSource();
        indices = load.getIndices();
        bounds = load.getBounds();
      })
      .Case<StoreOp, AtomicOp>([&](auto write) {
        storage = write.getDest();
        indices = write.getIndices();
        bounds = write.getBounds();
      });
  return storage && isa<MemRefType>(storage.getType());
}

/// Comparisons that guard all of what an `if` of the body does.
static SmallVector<arith::CmpIOp> getGuards(ParallelOp op) {
  SmallVector<arith::CmpIOp> guards;
  std::function<void(Value)> collect = [&](Value condition) {
    Operation *def = condition.getDefiningOp();
    if (auto both = dyn_cast_or_null<arith::AndIOp>(def)) {
      collect(both.getLhs());
      collect(both.getRhs());
    } else if (auto compare = dyn_cast_or_null<arith::CmpIOp>(def)) {
      if (compare.getLhs().getType().isInteger(32) &&
          op->isProperAncestor(compare))
        guards.push_back(compare);
    }
  };
  for (auto branch : op.getBodyBlock()->getOps<scf::IfOp>())
    if (branch.getNumResults() == 0 && !branch.elseBlock())
      collect(branch.getCondition());
  return guards;
}

/// The comparison as `lower < upper`, or `lower <= upper` if `isEqualTaken`.
static bool getOrder(arith::CmpIOp compare, Value &lower, Value &upper,
                     bool &isEqualTaken) {
  lower = compare.getLhs();
  upper = compare.getRhs();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
    break;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    std::swap(lower, upper);
    break;
  default:
    return false;
  }
  isEqualTaken = compare.getPredicate() == arith::CmpIPredicate::sle ||
                 compare.getPredicate() == arith::CmpIPredicate::sge;
  return true;
}

Value KernelEmitter::emitRangeTest(ParallelOp op, ArrayRef<Value> extents,
                                   llvm::SmallPtrSetImpl<Operation *> &proven) {
  Value test = s.boolean(true);
  op.getBody().walk([&](Operation *access) {
    Value storage;
    ValueRange indices;
    std::optional<Bounds> bounds;
    if (!getTensorAccess(access, storage, indices, bounds) ||
        !needsTest(access, bounds))
      return;
    Value inside = s.boolean(true);
    for (auto [index, size] : llvm::zip(indices, tensors[storage].sizes)) {
      std::optional<Interval> interval = getInterval(op, extents, index);
      if (!interval)
        return;
      inside = s.both(inside, s.both(s.lessEqual(s.i64(0), interval->first),
                                     s.less(interval->second, size)));
    }
    proven.insert(access);
    test = s.both(test, inside);
  });
  for (arith::CmpIOp guard : getGuards(op)) {
    Value lower, upper;
    bool isEqualTaken;
    if (!getOrder(guard, lower, upper, isEqualTaken))
      continue;
    auto low = getInterval(op, extents, lower);
    auto high = getInterval(op, extents, upper);
    if (!low || !high)
      continue;
    proven.insert(guard);
    test = s.both(test, isEqualTaken ? s.lessEqual(low->second, high->first)
                                     : s.less(low->second, high->first));
  }
  return test;
}

std::optional<Value> KernelEmitter::evaluateInRow(ParallelOp op, Value value) {
  if (!op.getBody().isAncestor(value.getParentRegion()))
    return lookupI64(value);
  if (auto constant = ScalarBuilder::constantOf(value))
    return s.i64(*constant);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isOuter = argument.getOwner() == op.getBodyBlock() &&
                   argument.getArgNumber() + 1 < op.getBody().getNumArguments();
    return isOuter ? std::optional<Value>(wideIndices.lookup(value))
                   : std::nullopt;
  }
  Operation *def = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(def))
    return std::nullopt;
  auto x = evaluateInRow(op, def->getOperand(0));
  auto y = evaluateInRow(op, def->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  return isa<arith::AddIOp>(def)   ? s.add(*x, *y)
         : isa<arith::SubIOp>(def) ? s.sub(*x, *y)
                                   : s.mul(*x, *y);
}

std::optional<Value> KernelEmitter::getRowOffset(ParallelOp op, Value value) {
  Region &body = op.getBody();
  if (value == body.getArguments().back())
    return s.i64(0);
  Operation *def = value.getDefiningOp();
  if (!def || !isa<arith::AddIOp, arith::SubIOp>(def))
    return std::nullopt;
  bool isSum = isa<arith::AddIOp>(def);
  for (unsigned side : {0u, 1u}) {
    if (side == 1 && !isSum)
      break;
    auto offset = getRowOffset(op, def->getOperand(side));
    if (!offset)
      continue;
    auto rest = evaluateInRow(op, def->getOperand(1 - side));
    if (!rest)
      return std::nullopt;
    return isSum ? s.add(*offset, *rest) : s.sub(*offset, *rest);
  }
  return std::nullopt;
}

KernelEmitter::Interval
KernelEmitter::emitRowRun(ParallelOp op, ArrayRef<Value> extents,
                          llvm::SmallPtrSetImpl<Operation *> &proven) {
  Value extent = extents.back();
  Value first = s.i64(0), last = extent;
  Value rowInside = s.boolean(true);
  op.getBody().walk([&](Operation *access) {
    Value storage;
    ValueRange indices;
    std::optional<Bounds> bounds;
    if (!getTensorAccess(access, storage, indices, bounds) ||
        !needsTest(access, bounds))
      return;
    Value low = first, high = last, inside = rowInside;
    for (auto [index, size] : llvm::zip(indices, tensors[storage].sizes)) {
      if (auto offset = getRowOffset(op, index)) {
        low = s.maximum(low, s.sub(s.i64(0), *offset));
        high = s.minimum(high, s.sub(size, *offset));
      } else if (auto position = evaluateInRow(op, index)) {
        inside = s.both(inside, s.inside(*position, size));
      } else if (auto interval = getInterval(op, extents, index)) {
        inside = s.both(inside, s.both(s.lessEqual(s.i64(0), interval->first),
                                       s.less(interval->second, size)));
      } else {
        return;
      }
    }
    proven.insert(access);
    first = low;
    last = high;
    rowInside = inside;
  });
  for (arith::CmpIOp guard : getGuards(op)) {
    Value lower, upper;
    bool isEqualTaken;
    if (!getOrder(guard, lower, upper, isEqualTaken))
      continue;
    Value margin = s.i64(isEqualTaken ? 1 : 0);
    auto lowerOffset = getRowOffset(op, lower);
    auto upperOffset = getRowOffset(op, upper);
    auto lowerValue = evaluateInRow(op, lower);
    auto upperValue = evaluateInRow(op, upper);
    if (lowerOffset && upperValue) {
      last = s.minimum(last, s.add(s.sub(*upperValue, *lowerOffset), margin));
    } else if (lowerValue && upperOffset) {
      Value from = s.sub(*lowerValue, *upperOffset);
      first = s.maximum(first, s.add(from, s.sub(s.i64(1), margin)));
    } else if (lowerValue && upperValue) {
      rowInside =
          s.both(rowInside, isEqualTaken ? s.lessEqual(*lowerValue, *upperValue)
                                         : s.less(*lowerValue, *upperValue));
    } else {
      continue;
    }
    proven.insert(guard);
  }
  // No run: everything is in front of it.
  first = s.fold<arith::SelectOp>(rowInside, s.minimum(first, extent), extent);
  last = s.fold<arith::SelectOp>(rowInside, s.maximum(last, first), extent);
  return {first, s.minimum(last, extent)};
}

LogicalResult KernelEmitter::emitParallelBody(ParallelOp op,
                                              ArrayRef<Value> extents,
                                              ValueRange indices) {
  Value linear = s.i64(0);
  for (auto [argument, index, extent] :
       llvm::zip(op.getBody().getArguments(), indices, extents)) {
    mapping.map(argument, s.fold<arith::TruncIOp>(b.getI32Type(), index));
    wideIndices[argument] = index;
    linear = s.add(s.mul(linear, extent), index);
  }
  Value outer = std::exchange(parallelIteration, linear);
  LogicalResult result = emitBlock(*op.getBodyBlock());
  parallelIteration = outer;
  s.setLoc(op.getLoc());
  return result;
}

LogicalResult KernelEmitter::emitParallelNest(ParallelOp op,
                                              ArrayRef<Value> extents) {
  LogicalResult result = success();
  s.nest(extents, [&](ValueRange indices) {
    if (failed(emitParallelBody(op, extents, indices)))
      result = failure();
  });
  return result;
}

LogicalResult KernelEmitter::emitParallelEdge(ParallelOp op,
                                              ArrayRef<Value> extents) {
  if (extents.empty())
    return emitParallelNest(op, extents);
  LogicalResult result = success();
  s.nest(extents.drop_back(), [&](ValueRange outer) {
    for (auto [argument, index] : llvm::zip(op.getBody().getArguments(), outer))
      wideIndices[argument] = index;
    llvm::SmallPtrSet<Operation *, 16> proven;
    auto [first, last] = emitRowRun(op, extents, proven);
    auto emitRun = [&](Value from, Value to) {
      s.loop(from, to, 1, [&](Value inner) {
        SmallVector<Value> indices(outer);
        indices.push_back(inner);
        if (failed(result) || failed(emitParallelBody(op, extents, indices)))
          result = failure();
      });
    };
    auto tested = provenAccesses;
    provenAccesses.insert(proven.begin(), proven.end());
    emitRun(first, last);
    provenAccesses = tested;
    // One copy of the body for both sides of the run.
    Value begin = first, end = last;
    s.loop(s.i64(0), s.i64(2), 1, [&](Value side) {
      Value isFront = s.compare(arith::CmpIPredicate::eq, side, s.i64(0));
      emitRun(s.fold<arith::SelectOp>(isFront, s.i64(0), end),
              s.fold<arith::SelectOp>(isFront, begin, extents.back()));
    });
  });
  return result;
}

LogicalResult KernelEmitter::emitParallel(ParallelOp op) {
  SmallVector<Value> extents;
  auto dynamic = op.getExtents().begin();
  for (int64_t extent : op.getStaticExtents())
    extents.push_back(ShapedType::isDynamic(extent) ? lookupI64(*dynamic++)
                                                    : s.i64(extent));
  llvm::SmallPtrSet<Operation *, 16> proven;
  Value test = emitRangeTest(op, extents, proven);
  if (proven.empty())
    return emitParallelNest(op, extents);
  LogicalResult result = success();
  s.branch(
      test,
      [&] {
        auto outer = provenAccesses;
        provenAccesses.insert(proven.begin(), proven.end());
        if (failed(emitParallelNest(op, extents)))
          result = failure();
        provenAccesses = outer;
      },
      [&] {
        if (succeeded(result))
          result = emitParallelEdge(op, extents);
      });
  return result;
}
