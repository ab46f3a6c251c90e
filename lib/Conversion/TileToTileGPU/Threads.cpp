//===- Threads.cpp - Functions of the thread id -----------------*- C++ -*-===//
//
// Thread parts of coordinates and the predicates that come with layouts.
// Everything here is emitted once, at the top of the kernel.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

Value KernelLowering::threadId() {
  if (!once.threadId) {
    OpBuilder entryBuilder(entry);
    once.threadId = tile_gpu::ThreadIdOp::create(entryBuilder, kernel.getLoc(),
                                                 entryBuilder.getI32Type());
  }
  return once.threadId;
}

/// `values[id]`, emitted by `at`; `id` is below the number of values.
static Value emitFunction(IndexBuilder &at, Value id,
                          const std::vector<int64_t> &values) {
  int64_t count = values.size();
  // values[0] + sum of (digit of id) * weight: first as bits, whose neighbours
  // are joined where their weights double, else as mixed-radix digits.
  auto fit = [&](ArrayRef<int64_t> extents) -> std::optional<Value> {
    SmallVector<int64_t> weights;
    int64_t place = 1;
    for (int64_t extent : extents) {
      weights.push_back(place < count ? values[place] - values[0] : 0);
      place *= extent;
    }
    for (int64_t t = 0; t < count; ++t) {
      int64_t sum = values[0], rest = t;
      for (auto [extent, weight] : llvm::zip_equal(extents, weights)) {
        sum += (rest % extent) * weight;
        rest /= extent;
      }
      if (sum != values[t])
        return std::nullopt;
    }
    Value sum;
    place = 1;
    for (size_t i = 0; i < extents.size();) {
      int64_t extent = extents[i], weight = weights[i], start = place;
      place *= extents[i++];
      while (i < extents.size() && weights[i] == weight * extent) {
        extent *= extents[i];
        place *= extents[i++];
      }
      if (weight == 0)
        continue;
      Value digit = at.divide(id, start);
      if (place < count)
        digit = at.remainder(digit, extent);
      int64_t magnitude = std::abs(weight);
      Value term = llvm::isPowerOf2_64(magnitude)
                       ? at.shiftLeft(digit, llvm::Log2_64(magnitude))
                       : at.mul(digit, magnitude);
      sum = weight > 0 ? at.add(sum, term) : at.sub(sum, term);
    }
    if (values[0])
      sum = at.add(sum, at.i32(values[0]));
    return sum;
  };

  SmallVector<int64_t> bits;
  for (int64_t place = 1; place < count; place *= 2)
    bits.push_back(2);
  std::optional<Value> result = fit(bits);
  // Digits from the periods of the sequence of values: the extents of any
  // mixed-radix map are found by looking where the increment changes.
  if (!result) {
    SmallVector<int64_t> extents;
    int64_t place = 1;
    while (place < count) {
      int64_t weight = values[place] - values[0], extent = 1;
      while ((extent + 1) * place <= count && count % place == 0 &&
             values[extent * place] - values[0] == extent * weight)
        ++extent;
      // The digit must divide what is left of the count.
      while (extent > 1 && (count / place) % extent)
        --extent;
      if (extent == 1)
        break;
      extents.push_back(extent);
      place *= extent;
    }
    if (place == count)
      result = fit(extents);
  }
  if (!result) {
    // Any function: a chain of selects over runs of equal values would be
    // correct for every table, however unlikely.
    Value chosen = at.i32(values[0]);
    for (int64_t t = 1; t < count; ++t) {
      if (values[t] == values[t - 1])
        continue;
      Value before = at.lessUnsigned(id, at.i32(t));
      chosen = arith::SelectOp::create(at.builder(), at.loc(), before, chosen,
                                       at.i32(values[t]));
    }
    result = chosen;
  }
  return *result;
}

Value KernelLowering::threadFunction(const std::vector<int64_t> &values) {
  if (llvm::all_of(values, [](int64_t value) { return value == 0; }))
    return {};
  auto found = once.functions.find(values);
  if (found != once.functions.end())
    return found->second;
  Value tid = threadId();
  IndexBuilder at(b.getContext());
  at.builder().setInsertionPoint(entry);
  at.setLocation(kernel.getLoc());
  return once.functions[values] = emitFunction(at, tid, values);
}

Value KernelLowering::warpFunction(const std::vector<int64_t> &values) {
  if (llvm::all_of(values, [](int64_t value) { return value == 0; }))
    return {};
  auto found = once.warpFunctions.find(values);
  if (found != once.warpFunctions.end())
    return found->second;
  IndexBuilder at(b.getContext());
  at.builder().setInsertionPoint(entry);
  at.setLocation(kernel.getLoc());
  if (!once.warp) {
    once.warp = tile_gpu::WarpIdOp::create(at.builder(), kernel.getLoc(),
                                           b.getI32Type());
    if (role && role.getFirst() > 0)
      once.warp = at.sub(once.warp, at.i32(role.getFirst()));
  }
  return once.warpFunctions[values] = emitFunction(at, once.warp, values);
}

Coordinate
KernelLowering::threadCoordinate(const std::vector<int64_t> &values) {
  Coordinate result;
  result.thread = threadFunction(values);
  if (result.thread)
    result.table = std::make_shared<const std::vector<int64_t>>(values);
  return result;
}

ArrayRef<Coordinate>
KernelLowering::threadOffsets(const layout::FragmentLayout &layout) {
  std::string key = layout.str();
  auto found = once.offsets.find(key);
  if (found != once.offsets.end())
    return found->second;
  std::vector<std::vector<int64_t>> tables(layout.rank(),
                                           std::vector<int64_t>(threads));
  for (int64_t t = 0; t < threads; ++t) {
    std::vector<int64_t> offset = layout.threadOffset(t);
    for (int d = 0; d < layout.rank(); ++d)
      tables[d][t] = offset[d];
  }
  Coordinates result;
  for (auto &table : tables)
    result.push_back(threadCoordinate(table));
  return once.offsets[key] = result;
}

Value KernelLowering::primaryPredicate(const layout::FragmentLayout &layout) {
  std::vector<layout::ReplicaTerm> terms = layout.primaryPredicate();
  if (terms.empty())
    return {};
  std::string key = layout.str();
  auto found = once.primary.find(key);
  if (found != once.primary.end())
    return found->second;
  Value tid = threadId();
  IndexBuilder at(b.getContext());
  at.builder().setInsertionPoint(entry);
  at.setLocation(kernel.getLoc());
  Value result;
  for (const layout::ReplicaTerm &term : terms) {
    Value digit = at.divide(tid, term.threadStride);
    if (term.threadStride * term.extent < threads)
      digit = at.remainder(digit, term.extent);
    result = at.both(result, at.equal(digit, 0));
  }
  return once.primary[key] = result;
}

Value KernelLowering::occupancyPredicate(const layout::FragmentLayout &layout,
                                         int64_t r) {
  if (layout.occupancy(r) == layout::Occupancy::Always)
    return {};
  ArrayRef<Coordinate> offsets = threadOffsets(layout);
  std::vector<int64_t> constants = layout.registerOffset(r);
  Value result;
  for (int d = 0; d < layout.rank(); ++d) {
    if (!layout.needsPredicate(r, d))
      continue;
    Coordinate coordinate = offsets[d];
    coordinate.constant += constants[d];
    result = ix.both(result, ix.lessUnsigned(ix.materialize(coordinate),
                                             ix.i32(layout.shape()[d])));
  }
  return result;
}
