//===- SharedAccess.cpp - Addresses in shared memory ------------*- C++ -*-===//
//
// Forms the addresses of many elements of a swizzled tile from few per-thread
// bases: slot offsets are added, register offsets become XOR constants and
// immediates as the layout library proves them.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Layout/PanelOrder.h"
#include "tilemlir/Layout/SharedAddressing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace tilemlir;
using namespace tilemlir::to_gpu;

FailureOr<layout::SharedLayout> KernelLowering::sharedLayout(Operation *user,
                                                             Value buffer) {
  tile::AllocOp alloc = tile::getAllocation(buffer);
  auto type = cast<tile::BufferType>(alloc.getType());
  tile::SharedLayoutAttr attr = type.getSharedLayout();
  if (!attr)
    return user->emitOpError()
           << "uses shared buffer '" << tile::getUserName(alloc)
           << "', which has no layout";
  layout::SharedLayout whole =
      attr.getLayout(type.getShape(), type.getElementBits());
  int64_t unitBits = accessUnitBits(buffer);
  int64_t units = type.getElementBits() / unitBits;
  if (units == 1)
    return whole;
  // Narrower elements lie side by side where one wide element does: swizzles
  // move 16 bytes at a time.
  if (whole.fastestDim() != whole.rank() - 1)
    return user->emitOpError()
           << "accesses '" << tile::getUserName(alloc) << "' as elements of "
           << unitBits << " bits instead of " << type.getElementBits()
           << ", but its layout does not keep rows together";
  std::vector<int64_t> shape = whole.shape();
  shape.back() *= units;
  auto narrow = layout::SharedLayout::create(
      std::move(shape), unitBits, whole.order(), whole.panelElements() * units,
      whole.swizzleBytes());
  if (!narrow)
    return user->emitOpError(narrow.error());
  return *narrow;
}

FailureOr<int64_t> KernelLowering::sharedOffset(Operation *user,
                                                tile::AllocOp alloc) {
  auto attr = alloc->getAttrOfType<IntegerAttr>("tile.shared_offset");
  if (!attr)
    return user->emitOpError()
           << "uses shared buffer '" << tile::getUserName(alloc)
           << "', which has no tile.shared_offset";
  FailureOr<layout::SharedLayout> layout = sharedLayout(user, alloc);
  if (failed(layout))
    return failure();
  if (attr.getInt() % layout->requiredAlignment())
    return alloc.emitOpError()
           << "is at byte " << attr.getInt()
           << " of shared memory, but its layout needs a multiple of "
           << layout->requiredAlignment();
  return attr.getInt();
}

/// Bytes after which the swizzle pattern repeats; adding a multiple of it to an
/// offset commutes with the swizzle.
static int64_t patternBytes(const layout::SharedLayout &layout) {
  return layout.swizzleBytes() ? 8 * layout.swizzleBytes() : 1;
}

Value KernelLowering::swizzledOffset(const layout::SharedLayout &layout,
                                     ArrayRef<Coordinate> coordinates) {
  int fastest = layout.fastestDim();
  // Rows are counted together, blocks of panels apart.
  Value row, offset;
  for (int d : layout.order()) {
    if (d == fastest ||
        (coordinates[d].isConstant() && coordinates[d].constant == 0))
      continue;
    Value value = ix.materialize(coordinates[d]);
    int64_t stride = layout::strideBytes(layout, d);
    if (stride < layout.panelBytes())
      row = ix.add(row, ix.mul(value, stride / layout.rowBytes()));
    else
      offset = ix.add(offset, ix.mul(value, stride));
  }
  offset = ix.add(ix.mul(row, layout.rowBytes()), offset);
  int64_t bytes = layout.elementBits() / 8;
  if (layout.rank() == 0)
    return ix.i32(0);
  Value column = ix.materialize(coordinates[fastest]);
  if (layout.numPanels() == 1) {
    offset = ix.add(offset, ix.mul(column, bytes));
  } else {
    Value panel = ix.divide(column, layout.panelElements());
    Value inside = ix.remainder(column, layout.panelElements());
    offset = ix.add(offset, ix.mul(panel, layout.panelBytes()));
    offset = ix.add(offset, ix.mul(inside, bytes));
  }
  int64_t swizzle = layout.swizzleBytes();
  if (!swizzle || !offset)
    return offset ? offset : ix.i32(0);
  // Chunk bits 4.. are XORed with the row bits from 7 on.
  int64_t mask = swizzle - 16;
  Value rowBits = ix.bitAnd(ix.shiftRight(offset, 3), mask);
  return b.createOrFold<arith::XOrIOp>(ix.loc(), offset, rowBits);
}

FailureOr<SmallVector<SharedAddress>>
KernelLowering::sharedAddresses(Operation *user, Value buffer,
                                ArrayRef<Coordinates> coordinates) {
  FailureOr<layout::SharedLayout> layoutOr = sharedLayout(user, buffer);
  FailureOr<int64_t> start = sharedOffset(user, tile::getAllocation(buffer));
  if (failed(layoutOr) || failed(start))
    return failure();
  const layout::SharedLayout &layout = *layoutOr;
  if (layout.elementBits() % 8)
    return user->emitOpError(
        "accesses elements narrower than a byte in shared memory");
  SmallVector<SharedAddress> result(coordinates.size());
  if (coordinates.empty())
    return result;

  // Parts that do not come from the thread id: as separate addends where a step
  // keeps the swizzle pattern, else the whole address is computed anew.
  const Coordinates &first = coordinates.front();
  bool planned = true;
  Value slot;
  SmallVector<bool> separate(layout.rank(), false);
  for (int d = 0; d < layout.rank(); ++d) {
    for (const Coordinates &other : coordinates)
      planned &= other[d].hasSameBase(first[d]);
    if (!first[d].other)
      continue;
    int64_t step = layout::strideBytes(layout, d);
    bool wholePanels = d == layout.fastestDim() && layout.numPanels() > 1;
    if (wholePanels && first[d].otherDivisor % layout.panelElements() == 0 &&
        first[d].otherDivisor) {
      step = layout.panelBytes();
      if (step % patternBytes(layout) == 0) {
        separate[d] = true;
        slot = ix.add(
            slot,
            ix.mul(ix.divide(first[d].other, layout.panelElements()), step));
        continue;
      }
    }
    if (!wholePanels && (step * std::max<int64_t>(1, first[d].otherDivisor)) %
                                patternBytes(layout) ==
                            0) {
      separate[d] = true;
      slot = ix.add(slot, ix.mul(first[d].other, step));
      continue;
    }
    planned = false;
  }

  if (planned) {
    // Start coordinates of all threads, without repetitions.
    std::set<std::vector<int64_t>> distinct;
    for (int64_t t = 0; t < threads; ++t) {
      std::vector<int64_t> start(layout.rank(), 0);
      for (int d = 0; d < layout.rank(); ++d)
        start[d] =
            (first[d].thread ? (*first[d].table)[t] : 0) + first[d].constant;
      distinct.insert(std::move(start));
    }
    std::vector<std::vector<int64_t>> deltas;
    for (const Coordinates &lane : coordinates) {
      std::vector<int64_t> delta(layout.rank());
      for (int d = 0; d < layout.rank(); ++d)
        delta[d] = lane[d].constant - first[d].constant;
      deltas.push_back(std::move(delta));
    }
    // Threads whose elements are padding may start outside of the buffer; they
    // never access it.
    std::vector<std::vector<int64_t>> bases;
    for (const std::vector<int64_t> &start : distinct) {
      bool inside = true;
      for (const std::vector<int64_t> &delta : deltas)
        for (int d = 0; d < layout.rank(); ++d) {
          int64_t value = start[d] + delta[d];
          inside &= value >= 0 && value < layout.shape()[d];
        }
      if (inside)
        bases.push_back(start);
    }
    bool complete = bases.size() == distinct.size();
    if (!bases.empty() && (complete || layout.swizzleBytes() == 0)) {
      layout::AddressPlan plan = layout::planAddresses(layout, bases, deltas);
      SmallVector<Value> baseValues;
      for (const layout::AddressPlan::Base &base : plan.bases) {
        Coordinates start = coordinates[base.seed];
        for (int d = 0; d < layout.rank(); ++d)
          start[d].other = {};
        Value value = ix.bitXor(swizzledOffset(layout, start), base.xorBytes);
        baseValues.push_back(ix.add(value, slot));
      }
      for (auto [lane, use] : llvm::enumerate(plan.uses))
        result[lane] = {baseValues[use.base], use.addBytes + *start};
      return result;
    }
  }
  for (auto [lane, address] : llvm::enumerate(result)) {
    address.base = swizzledOffset(layout, coordinates[lane]);
    address.offset = *start;
  }
  return result;
}

SmallVector<LaneGroup>
KernelLowering::groupShared(const layout::SharedLayout &layout,
                            ArrayRef<LaneAccess> lanes) {
  int fastest = layout.fastestDim();
  int64_t bytes = std::max<int64_t>(1, layout.elementBits() / 8);
  int64_t widest = layout.rank() && bytes <= 16 ? 16 / bytes : 1;
  while (widest > 1 && (layout.contiguousElements() % widest ||
                        layout.rowBytes() % (widest * bytes)))
    widest /= 2;
  auto fits = [&](size_t first, int64_t count) {
    if (first + count > lanes.size())
      return false;
    ArrayRef<Coordinate> start = lanes[first].coordinates;
    if (start[fastest].divisor() % count)
      return false;
    for (int64_t i = 1; i < count; ++i) {
      const LaneAccess &lane = lanes[first + i];
      if (lane.predicate != lanes[first].predicate)
        return false;
      for (int d = 0; d < layout.rank(); ++d)
        if (!lane.coordinates[d].hasSameBase(start[d]) ||
            lane.coordinates[d].constant !=
                start[d].constant + (d == fastest ? i : 0))
          return false;
    }
    return true;
  };
  SmallVector<LaneGroup> groups;
  for (size_t first = 0; first < lanes.size();) {
    int64_t count = widest;
    while (count > 1 && !fits(first, count))
      count /= 2;
    groups.push_back({first, count});
    first += count;
  }
  return groups;
}

FailureOr<SmallVector<Value>>
KernelLowering::loadShared(Operation *op, Value buffer,
                           ArrayRef<LaneAccess> lanes) {
  FailureOr<layout::SharedLayout> layout = sharedLayout(op, buffer);
  if (failed(layout))
    return failure();
  auto type = cast<tile::BufferType>(buffer.getType());
  int64_t bytes = elementBytes(type.getElementType());
  SmallVector<LaneGroup> groups;
  if (type.getElementBits() == layout->elementBits())
    groups = groupShared(*layout, lanes);
  else
    for (size_t i = 0; i < lanes.size(); ++i)
      groups.push_back({i, 1});
  SmallVector<Coordinates> starts;
  for (LaneGroup group : groups)
    starts.push_back(lanes[group.first].coordinates);
  FailureOr<SmallVector<SharedAddress>> addresses =
      sharedAddresses(op, buffer, starts);
  if (failed(addresses))
    return failure();
  SmallVector<Value> results;
  for (auto [group, address] : llvm::zip_equal(groups, *addresses)) {
    Type scalar = type.getScalarType();
    Type registers =
        group.count == 1 ? scalar : VectorType::get({group.count}, scalar);
    Value loaded = tile_gpu::SharedLoadOp::create(
        b, ix.loc(), registers, address.base,
        static_cast<uint32_t>(address.offset), lanes[group.first].predicate,
        b.getI64IntegerAttr(group.count * bytes));
    if (group.count == 1)
      results.push_back(loaded);
    else
      results.append(toElements(loaded));
  }
  return results;
}

LogicalResult KernelLowering::storeShared(Operation *op, Value buffer,
                                          ArrayRef<Value> values,
                                          ArrayRef<LaneAccess> lanes) {
  FailureOr<layout::SharedLayout> layout = sharedLayout(op, buffer);
  if (failed(layout))
    return failure();
  auto type = cast<tile::BufferType>(buffer.getType());
  int64_t bytes = elementBytes(type.getElementType());
  SmallVector<LaneGroup> groups;
  if (type.getElementBits() == layout->elementBits())
    groups = groupShared(*layout, lanes);
  else
    for (size_t i = 0; i < lanes.size(); ++i)
      groups.push_back({i, 1});
  SmallVector<Coordinates> starts;
  for (LaneGroup group : groups)
    starts.push_back(lanes[group.first].coordinates);
  FailureOr<SmallVector<SharedAddress>> addresses =
      sharedAddresses(op, buffer, starts);
  if (failed(addresses))
    return failure();
  for (auto [group, address] : llvm::zip_equal(groups, *addresses)) {
    Value value = group.count == 1
                      ? values[group.first]
                      : fromElements(values.slice(group.first, group.count));
    tile_gpu::SharedStoreOp::create(
        b, ix.loc(), value, address.base, static_cast<uint32_t>(address.offset),
        lanes[group.first].predicate, b.getI64IntegerAttr(group.count * bytes));
  }
  return success();
}
