//===- EmitParallel.cpp - parallel loops ------------------------*- C++ -*-===//
//
// A parallel loop is a plain nest that LLVM vectorises. Accesses to tensors
// whose indices have a known range over the nest are tested once before it: one
// copy of the nest runs without tests, the other tests every access.
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

Value KernelEmitter::emitRangeTest(ParallelOp op, ArrayRef<Value> extents,
                                   llvm::SmallPtrSetImpl<Operation *> &proven) {
  Value test = s.boolean(true);
  op.getBody().walk([&](Operation *access) {
    Value storage;
    ValueRange indices;
    std::optional<Bounds> bounds;
    llvm::TypeSwitch<Operation *>(access)
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
    if (!storage || !isa<MemRefType>(storage.getType()) ||
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
  return test;
}

LogicalResult KernelEmitter::emitParallelNest(ParallelOp op,
                                              ArrayRef<Value> extents) {
  LogicalResult result = success();
  s.nest(extents, [&](ValueRange indices) {
    Value linear = s.i64(0);
    for (auto [argument, index, extent] :
         llvm::zip(op.getBody().getArguments(), indices, extents)) {
      mapping.map(argument, s.fold<arith::TruncIOp>(b.getI32Type(), index));
      wideIndices[argument] = index;
      linear = s.add(s.mul(linear, extent), index);
    }
    Value outer = std::exchange(parallelIteration, linear);
    if (failed(emitBlock(*op.getBodyBlock())))
      result = failure();
    parallelIteration = outer;
    s.setLoc(op.getLoc());
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
          result = emitParallelNest(op, extents);
      });
  return result;
}
