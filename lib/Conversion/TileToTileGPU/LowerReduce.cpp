//===- LowerReduce.cpp - tile.reduce ----------------------------*- C++ -*-===//
//
// First inside of the thread, then over the lanes of the warp by butterfly
// shuffles, then over the threads that hold other partial results, through the
// scratch operand.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/PartialResults.h"
#include "tilemlir/Layout/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace tilemlir;
using namespace tilemlir::to_gpu;

namespace {
/// The combining function of a reduction on one scalar type.
struct Combiner {
  OpBuilder &b;
  tile::ReduceKind kind;
  bool propagateNaN;
  bool isUnsigned;
  Type type;

  /// What an element contributes.
  Value element(Location loc, Value value) const {
    if (kind != tile::ReduceKind::AbsSum && kind != tile::ReduceKind::AbsMax)
      return value;
    if (isa<FloatType>(type))
      return math::AbsFOp::create(b, loc, value);
    return isUnsigned ? value : math::AbsIOp::create(b, loc, value).getResult();
  }

  Value combine(Location loc, Value lhs, Value rhs) const {
    bool real = isa<FloatType>(type);
    switch (kind) {
    case tile::ReduceKind::Sum:
    case tile::ReduceKind::AbsSum:
      return real ? arith::AddFOp::create(b, loc, lhs, rhs).getResult()
                  : arith::AddIOp::create(b, loc, lhs, rhs).getResult();
    case tile::ReduceKind::Max:
    case tile::ReduceKind::AbsMax:
      if (real)
        return propagateNaN
                   ? arith::MaximumFOp::create(b, loc, lhs, rhs).getResult()
                   : arith::MaxNumFOp::create(b, loc, lhs, rhs).getResult();
      return isUnsigned ? arith::MaxUIOp::create(b, loc, lhs, rhs).getResult()
                        : arith::MaxSIOp::create(b, loc, lhs, rhs).getResult();
    case tile::ReduceKind::Min:
      if (real)
        return propagateNaN
                   ? arith::MinimumFOp::create(b, loc, lhs, rhs).getResult()
                   : arith::MinNumFOp::create(b, loc, lhs, rhs).getResult();
      return isUnsigned ? arith::MinUIOp::create(b, loc, lhs, rhs).getResult()
                        : arith::MinSIOp::create(b, loc, lhs, rhs).getResult();
    case tile::ReduceKind::BitAnd:
      return arith::AndIOp::create(b, loc, lhs, rhs);
    case tile::ReduceKind::BitOr:
      return arith::OrIOp::create(b, loc, lhs, rhs);
    case tile::ReduceKind::BitXor:
      return arith::XOrIOp::create(b, loc, lhs, rhs);
    }
    llvm_unreachable("unknown reduction");
  }

  Value neutral(Location loc) const {
    TypedAttr attr = b.getZeroAttr(type);
    if (auto real = dyn_cast<FloatType>(type)) {
      const llvm::fltSemantics &semantics = real.getFloatSemantics();
      bool hasInfinity = APFloat::semanticsHasInf(semantics);
      if (kind == tile::ReduceKind::Max)
        attr = b.getFloatAttr(type, hasInfinity
                                        ? APFloat::getInf(semantics, true)
                                        : APFloat::getLargest(semantics, true));
      else if (kind == tile::ReduceKind::Min)
        attr =
            b.getFloatAttr(type, hasInfinity ? APFloat::getInf(semantics)
                                             : APFloat::getLargest(semantics));
    } else {
      unsigned width = type.getIntOrFloatBitWidth();
      if (kind == tile::ReduceKind::Max && !isUnsigned)
        attr = b.getIntegerAttr(type, APInt::getSignedMinValue(width));
      else if (kind == tile::ReduceKind::Min)
        attr = b.getIntegerAttr(type, isUnsigned
                                          ? APInt::getMaxValue(width)
                                          : APInt::getSignedMaxValue(width));
      else if (kind == tile::ReduceKind::BitAnd)
        attr = b.getIntegerAttr(type, APInt::getAllOnes(width));
    }
    return arith::ConstantOp::create(b, loc, attr);
  }
};
} // namespace

/// The type that results are combined in: sums of small floats are rounded
/// once, and 8-bit floats have no arithmetic.
static Type getComputeType(tile::ReduceOp op) {
  Type type = cast<tile::BufferType>(op.getDest().getType()).getElementType();
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return type;
  bool isSum = op.getKind() == tile::ReduceKind::Sum ||
               op.getKind() == tile::ReduceKind::AbsSum;
  return isSum || type.getIntOrFloatBitWidth() == 8
             ? Float32Type::get(op.getContext())
             : type;
}

/// All of `terms`, in a few chains. A balanced tree would be shorter, but needs
/// registers for half of its leaves: ptxas, which sees the operands of products
/// in flight beside them, then computes one line after the other, and each
/// waits for its own shuffles. Chains end after 32 terms; sums of many are sums
/// of short ones, with small rounding errors.
static Value combineTerms(Location loc, const Combiner &combiner,
                          ArrayRef<Value> terms) {
  constexpr size_t kChains = 4, kLongest = 32;
  SmallVector<Value> level(terms);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t begin = 0; begin < level.size(); begin += kLongest) {
      size_t end = std::min(begin + kLongest, level.size());
      size_t chains = std::min(kChains, (end - begin + 1) / 2);
      SmallVector<Value> sums(level.begin() + begin,
                              level.begin() + begin + chains);
      for (size_t i = begin + chains; i < end; ++i) {
        Value &sum = sums[(i - begin) % chains];
        sum = combiner.combine(loc, sum, level[i]);
      }
      for (; chains > 1; chains = (chains + 1) / 2)
        for (size_t i = 0; i < chains / 2; ++i)
          sums[i] = combiner.combine(loc, sums[i], sums[chains - 1 - i]);
      next.push_back(sums.front());
    }
    level = std::move(next);
  }
  return level.front();
}

/// Lanes at `distance` exchange their results.
static void exchangeLanes(OpBuilder &b, IndexBuilder &ix,
                          const Combiner &combiner, int64_t distance,
                          MutableArrayRef<Value> values) {
  SmallVector<Value> others;
  for (Value value : values)
    others.push_back(tile_gpu::ShuffleOp::create(b, ix.loc(), value.getType(),
                                                 tile_gpu::ShuffleKind::Xor,
                                                 value, ix.i32(distance)));
  for (auto [value, other] : llvm::zip_equal(values, others))
    value = combiner.combine(ix.loc(), value, other);
}

LogicalResult KernelLowering::combineLanes(tile::ConvertOp op) {
  tile::LaneCombination combination = *tile::getLaneCombination(op);
  FailureOr<FragmentView> source = viewFragment(op, op.getSource());
  FailureOr<FragmentView> dest = viewFragment(op, op.getDest());
  if (failed(source) || failed(dest))
    return failure();
  if (source->layout != dest->layout)
    return op.emitOpError("combines lanes of a fragment into one with another "
                          "layout");
  Type type = cast<tile::BufferType>(op.getDest().getType()).getElementType();
  Combiner combiner{b, combination.kind, combination.nanPropagate,
                    type.isUnsignedInteger(), tile::getScalarType(type)};
  SmallVector<Value> from = readRegisters(source->alloc), values;
  SmallVector<Value> to = readRegisters(dest->alloc);
  SmallVector<int64_t> places;
  for (auto [r, held] : llvm::enumerate(source->registers)) {
    if (held < 0 || dest->registers[r] < 0)
      continue;
    values.push_back(from[held]);
    places.push_back(dest->registers[r]);
  }
  for (int64_t distance : combination.distances) {
    if (distance <= 0 || distance >= layout::kWarpSize)
      return op.emitOpError() << "combines lanes at a distance of " << distance;
    exchangeLanes(b, ix, combiner, distance, values);
  }
  for (auto [place, value] : llvm::zip_equal(places, values))
    to[place] = value;
  writeRegisters(dest->alloc, to);
  return success();
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  auto sourceType = cast<tile::BufferType>(op.getSource().getType());
  auto destType = cast<tile::BufferType>(op.getDest().getType());
  if (!sourceType.isFragment() || !destType.isFragment())
    return op.emitOpError(
        "reduces fragments to fragments only; copy shared buffers first");
  FailureOr<FragmentView> source = viewFragment(op, op.getSource());
  FailureOr<FragmentView> dest = viewFragment(op, op.getDest());
  if (failed(source) || failed(dest))
    return failure();
  int dim = op.getDim();
  auto plan = layout::planReduction(source->layout, dim);
  if (!plan)
    return op.emitOpError() << "cannot reduce: " << plan.error();

  // The result's layout must hold in each thread what the plan leaves there.
  layout::FragmentLayout destLayout = dest->layout;
  if (destType.getRank() == sourceType.getRank()) {
    auto dropped = destLayout.dropUnitDim(dim);
    if (!dropped)
      return op.emitOpError(dropped.error());
    destLayout = *dropped;
  }
  std::optional<std::vector<int64_t>> table =
      destLayout.registerPermutation(plan->result);
  if (!table)
    return op.emitOpError() << "result '" << tile::getUserName(op.getDest())
                            << "' is laid out as " << destLayout.str()
                            << ", the reduction leaves " << plan->result.str();

  Location loc = ix.loc();
  Type computeType = getComputeType(op);
  Type computeScalar = tile::getScalarType(computeType);
  Combiner combiner{b, op.getKind(), op.getNanPropagate(),
                    computeType.isUnsignedInteger(), computeScalar};
  SmallVector<Value> values = readRegisters(source->alloc);
  SmallVector<Value> partial;
  for (const std::vector<int64_t> &inputs : plan->sources) {
    SmallVector<Value> terms;
    for (int64_t r : inputs) {
      int64_t held = source->registers[r];
      if (held < 0)
        continue;
      Value value =
          convertScalars(values[held], sourceType.getElementType(), computeType)
              .front();
      value = combiner.element(loc, value);
      // Padding along other dimensions only makes results that are padding.
      if (source->layout.needsPredicate(r, dim)) {
        Value occupied = occupancyPredicate(source->layout, r);
        value = arith::SelectOp::create(b, loc, occupied, value,
                                        combiner.neutral(loc));
      }
      terms.push_back(value);
    }
    if (terms.empty())
      terms.push_back(combiner.neutral(loc));
    partial.push_back(combineTerms(loc, combiner, terms));
  }
  for (const layout::ReductionStep &step : plan->steps) {
    if (step.kind != layout::ReductionStep::Kind::LaneButterfly)
      continue;
    if (tile::isPartial(op))
      continue;
    for (int64_t distance : step.xorDistances)
      exchangeLanes(b, ix, combiner, distance, partial);
  }

  if (plan->needsSharedMemory()) {
    if (tile::isPartial(op))
      return op.emitOpError("leaves lanes apart, but crosses warps");
    if (!op.getScratch())
      return op.emitOpError("crosses warps and needs a scratch operand; run "
                            "tile-optimize-conversions");
    tile::AllocOp scratch = tile::getAllocation(op.getScratch());
    auto scratchType = cast<tile::BufferType>(scratch.getType());
    FailureOr<int64_t> base = sharedOffset(op, scratch);
    if (failed(base))
      return failure();
    // Slot of a partial result: (element of the result, digit of the steps).
    int64_t bytes = elementBytes(computeScalar);
    int64_t partials = plan->sharedPartials();
    int64_t elements = plan->result.numElements();
    int64_t available = scratchType.getNumElements() *
                        elementBytes(scratchType.getElementType());
    if (elements * partials * bytes > available)
      return op.emitOpError() << "needs " << elements * partials * bytes
                              << " bytes of scratch, has " << available;
    Value digit;
    int64_t place = 1;
    std::vector<int64_t> digits(threads, 0), butterfly(threads, 0);
    for (const layout::ReductionStep &step : plan->steps) {
      bool lanes = step.kind == layout::ReductionStep::Kind::LaneButterfly;
      for (int64_t t = 0; t < threads; ++t) {
        int64_t value = (t / step.threadStride) % step.extent;
        if (lanes)
          butterfly[t] += value;
        else
          digits[t] += value * place;
      }
      if (!lanes)
        place *= step.extent;
    }
    // Among the threads that hold the same partial result, one stores it:
    // those whose digits of the butterflies, and of the source's replicas, are
    // 0.
    Value stores = primaryPredicate(source->layout);
    if (llvm::any_of(butterfly, [](int64_t value) { return value != 0; }))
      stores = ix.both(stores, ix.equal(threadFunction(butterfly), 0));
    // Row-major element number in the result as coordinates of one thread.
    auto linear = [&](int64_t r) {
      Coordinate index;
      ArrayRef<Coordinate> threadPart = threadOffsets(plan->result);
      std::vector<int64_t> constants = plan->result.registerOffset(r);
      for (int d = 0; d < plan->result.rank(); ++d) {
        Coordinate coordinate = threadPart[d];
        coordinate.constant += constants[d];
        index = ix.add(ix.mul(index, plan->result.shape()[d]), coordinate);
      }
      return index;
    };
    Coordinate digitPart = threadCoordinate(digits);
    SmallVector<Value> addresses;
    auto alignment = b.getI64IntegerAttr(bytes);
    for (auto [r, value] : llvm::enumerate(partial)) {
      Coordinate at = ix.add(ix.mul(linear(r), partials), digitPart);
      Value predicate = ix.both(stores, occupancyPredicate(plan->result, r));
      tile_gpu::SharedStoreOp::create(
          b, loc, value, ix.materialize(ix.mul(at, bytes)),
          static_cast<uint32_t>(*base), predicate, alignment);
    }
    meetThreads();
    for (auto [r, value] : llvm::enumerate(partial)) {
      Value address = ix.materialize(ix.mul(linear(r), partials * bytes));
      Value occupied = occupancyPredicate(plan->result, r);
      Value sum;
      for (int64_t i = 0; i < partials; ++i) {
        Value loaded = tile_gpu::SharedLoadOp::create(
            b, loc, computeScalar, address,
            static_cast<uint32_t>(*base + i * bytes), occupied, alignment);
        sum = sum ? combiner.combine(loc, sum, loaded) : loaded;
      }
      value = sum;
    }
  }

  SmallVector<Value> registers = readRegisters(dest->alloc);
  for (auto [r, planned] : llvm::enumerate(*table)) {
    int64_t held = dest->registers[r];
    if (held < 0)
      continue;
    if (planned < 0) {
      registers[held] = zero(destType.getScalarType());
      continue;
    }
    Value value = partial[planned];
    Type destElement = destType.getElementType();
    if (!op.getClear()) {
      Value old =
          convertScalars(registers[held], destElement, computeType).front();
      // The old contents of a largest absolute value need not be one.
      if (op.getKind() == tile::ReduceKind::AbsMax)
        old = combiner.element(loc, old);
      value = combiner.combine(loc, old, value);
    }
    registers[held] = convertScalars(value, computeType, destElement).front();
  }
  writeRegisters(dest->alloc, registers);
  return success();
}
