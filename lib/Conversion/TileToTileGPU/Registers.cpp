//===- Registers.cpp - Buffers as SSA values, scalar conversions ----------===//
//
// Fragments are read and written as whole vectors here; their promotion to
// values is a pass of its own. Local buffers are registers when every index is
// a constant, else per-thread memory.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Local buffers with more elements than this live in memory.
static constexpr int64_t kMaxLocalRegisters = 256;

SmallVector<Value> KernelLowering::toElements(Value vector) {
  // Looking through from_elements keeps vectors from being taken apart again.
  if (auto from = vector.getDefiningOp<vector::FromElementsOp>())
    return SmallVector<Value>(from.getElements());
  auto op = vector::ToElementsOp::create(b, ix.loc(), vector);
  return SmallVector<Value>(op.getElements());
}

Value KernelLowering::fromElements(ArrayRef<Value> values) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())},
                              values.front().getType());
  if (auto to = values.front().getDefiningOp<vector::ToElementsOp>())
    if (to.getSource().getType() == type &&
        llvm::equal(to.getElements(), values))
      return to.getSource();
  return vector::FromElementsOp::create(b, ix.loc(), type, values);
}

SmallVector<Value> KernelLowering::readRegisters(tile::AllocOp alloc) {
  VectorType type =
      tile_gpu::getRegisterType(cast<tile::BufferType>(alloc.getType()));
  return toElements(tile_gpu::ReadFragmentOp::create(b, ix.loc(), type, alloc));
}

void KernelLowering::writeRegisters(tile::AllocOp alloc,
                                    ArrayRef<Value> values) {
  tile_gpu::WriteFragmentOp::create(b, ix.loc(), fromElements(values), alloc);
}

Value KernelLowering::zero(Type type) {
  return arith::ConstantOp::create(b, ix.loc(), b.getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Local buffers
//===----------------------------------------------------------------------===//

static bool isConstantIndex(Value value) {
  return matchPattern(value, m_Constant());
}

/// Whether every access through `buffer` has constant indices.
static bool hasConstantAccesses(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    bool constant =
        llvm::TypeSwitch<Operation *, bool>(user)
            .Case<tile::LoadOp, tile::StoreOp>([](auto access) {
              return llvm::all_of(access.getIndices(), isConstantIndex);
            })
            .Case<tile::SubviewOp>([](tile::SubviewOp view) {
              return llvm::all_of(view.getOffsets(), isConstantIndex) &&
                     hasConstantAccesses(view.getResult());
            })
            .Case<tile::ReshapeOp>([](tile::ReshapeOp view) {
              return hasConstantAccesses(view.getResult());
            })
            .Case<tile::CopyOp>([&](tile::CopyOp copy) {
              bool isSource = copy.getSource() == buffer;
              auto offsets =
                  isSource ? copy.getSourceOffsets() : copy.getDestOffsets();
              // Which elements a thread moves to or from a fragment depends on
              // the thread, unless every thread holds all of them.
              Value other = isSource ? copy.getDest() : copy.getSource();
              auto type = dyn_cast<tile::BufferType>(other.getType());
              if (type && type.isFragment()) {
                auto alloc = tile::getAllocation(other);
                tile::FragmentLayoutAttr layout =
                    cast<tile::BufferType>(alloc.getType()).getFragmentLayout();
                if (!layout || !layout.getLayout().isFullyReplicated())
                  return false;
              }
              return llvm::all_of(offsets, isConstantIndex);
            })
            .Case<tile::FillOp, tile::PrintOp>([](auto) { return true; })
            .Default([](Operation *) { return false; });
    if (!constant)
      return false;
  }
  return true;
}

LogicalResult KernelLowering::classifyLocals() {
  LogicalResult result = success();
  kernel.walk([&](tile::AllocOp alloc) {
    auto type = cast<tile::BufferType>(alloc.getType());
    if (!type.isLocal())
      return;
    heldInRegisters[alloc] = type.getNumElements() <= kMaxLocalRegisters &&
                             hasConstantAccesses(alloc.getResult());
  });
  return result;
}

bool KernelLowering::isHeldInRegisters(tile::AllocOp alloc) {
  return heldInRegisters.lookup(alloc);
}

static bool isSeenAsOtherType(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<tile::BitcastOp>(user) ||
           (isa<tile::SubviewOp, tile::ReshapeOp>(user) &&
            isSeenAsOtherType(user->getResult(0)));
  });
}

Value KernelLowering::localMemory(tile::AllocOp alloc) {
  Value &memory = once.localMemories[alloc];
  if (!memory) {
    auto type = cast<tile::BufferType>(alloc.getType());
    auto space =
        gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Private);
    // Buffers that are seen under another element type are arrays of integers.
    int64_t unitBits = accessUnitBits(alloc);
    Type element = isSeenAsOtherType(alloc) ? Type(b.getIntegerType(unitBits))
                                            : type.getScalarType();
    auto memrefType = MemRefType::get(
        {type.getNumElements() * (type.getElementBits() / unitBits)}, element,
        MemRefLayoutAttrInterface(), space);
    OpBuilder entryBuilder(entry);
    memory = memref::AllocaOp::create(entryBuilder, alloc.getLoc(), memrefType);
  }
  return memory;
}

/// Row-major index of an element of a local buffer.
static Coordinate linearize(IndexBuilder &ix, ArrayRef<int64_t> shape,
                            ArrayRef<Coordinate> coordinates) {
  Coordinate linear;
  for (auto [size, coordinate] : llvm::zip_equal(shape, coordinates))
    linear = ix.add(ix.mul(linear, size), coordinate);
  return linear;
}

static Value toIndex(OpBuilder &b, Location loc, Value value) {
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), value);
}

/// Joins access units, first one lowest, to a value of `type`.
static Value joinUnits(OpBuilder &b, Location loc, ArrayRef<Value> units,
                       Type type) {
  unsigned unitBits = units.front().getType().getIntOrFloatBitWidth();
  if (type.isInteger(1))
    return arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::ne, units.front(),
        arith::ConstantIntOp::create(b, loc, 0, unitBits));
  Type wide = b.getIntegerType(unitBits * units.size());
  Value joined;
  for (auto [position, unit] : llvm::enumerate(units)) {
    Value part = b.createOrFold<arith::ExtUIOp>(loc, wide, unit);
    if (position > 0)
      part = arith::ShLIOp::create(
          b, loc, part,
          arith::ConstantIntOp::create(b, loc, wide, position * unitBits));
    joined = joined ? arith::OrIOp::create(b, loc, joined, part) : part;
  }
  return type == wide ? joined : arith::BitcastOp::create(b, loc, type, joined);
}

/// The inverse: `count` units of a value.
static SmallVector<Value> splitUnits(OpBuilder &b, Location loc, Value value,
                                     unsigned unitBits, int64_t count) {
  Type unit = b.getIntegerType(unitBits);
  if (value.getType().isInteger(1))
    return {arith::ExtUIOp::create(b, loc, unit, value)};
  Type wide = b.getIntegerType(unitBits * count);
  if (value.getType() != wide)
    value = arith::BitcastOp::create(b, loc, wide, value);
  if (count == 1)
    return {value};
  SmallVector<Value> units;
  for (int64_t position = 0; position < count; ++position) {
    Value part = value;
    if (position > 0)
      part = arith::ShRUIOp::create(
          b, loc, part,
          arith::ConstantIntOp::create(b, loc, wide, position * unitBits));
    units.push_back(arith::TruncIOp::create(b, loc, unit, part));
  }
  return units;
}

Value KernelLowering::localPosition(tile::AllocOp alloc, const LaneAccess &lane,
                                    int64_t unit) {
  auto type = cast<tile::BufferType>(alloc.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape.back() *= type.getElementBits() / accessUnitBits(alloc);
  Coordinate linear = linearize(ix, shape, lane.coordinates);
  linear.constant += unit;
  Value index = ix.materialize(linear);
  // A false predicate must not access what is beyond the buffer.
  if (lane.predicate)
    index = arith::SelectOp::create(b, ix.loc(), lane.predicate, index,
                                    ix.i32(unit));
  return toIndex(b, ix.loc(), index);
}

FailureOr<SmallVector<Value>>
KernelLowering::loadLocal(Operation *op, Value buffer,
                          ArrayRef<LaneAccess> lanes) {
  tile::AllocOp alloc = tile::getAllocation(buffer);
  ArrayRef<int64_t> shape = cast<tile::BufferType>(alloc.getType()).getShape();
  SmallVector<Value> results;
  if (isHeldInRegisters(alloc)) {
    SmallVector<Value> registers = readRegisters(alloc);
    for (const LaneAccess &lane : lanes) {
      int64_t index = linearize(ix, shape, lane.coordinates).constant;
      if (index < 0 || index >= static_cast<int64_t>(registers.size()))
        return op->emitOpError() << "reads element " << index << " of '"
                                 << tile::getUserName(buffer) << "', which has "
                                 << registers.size();
      results.push_back(registers[index]);
    }
    return results;
  }
  auto type = cast<tile::BufferType>(buffer.getType());
  int64_t units = type.getElementBits() / accessUnitBits(alloc);
  for (const LaneAccess &lane : lanes) {
    SmallVector<Value> loaded;
    for (int64_t unit = 0; unit < units; ++unit)
      loaded.push_back(memref::LoadOp::create(
          b, ix.loc(), localMemory(alloc), localPosition(alloc, lane, unit)));
    results.push_back(isSeenAsOtherType(alloc)
                          ? joinUnits(b, ix.loc(), loaded, type.getScalarType())
                          : loaded.front());
  }
  return results;
}

LogicalResult KernelLowering::storeLocal(Operation *op, Value buffer,
                                         ArrayRef<Value> values,
                                         ArrayRef<LaneAccess> lanes) {
  tile::AllocOp alloc = tile::getAllocation(buffer);
  ArrayRef<int64_t> shape = cast<tile::BufferType>(alloc.getType()).getShape();
  if (isHeldInRegisters(alloc)) {
    SmallVector<Value> registers = readRegisters(alloc);
    for (auto [value, lane] : llvm::zip_equal(values, lanes)) {
      int64_t index = linearize(ix, shape, lane.coordinates).constant;
      if (index < 0 || index >= static_cast<int64_t>(registers.size()))
        return op->emitOpError() << "writes element " << index << " of '"
                                 << tile::getUserName(buffer) << "', which has "
                                 << registers.size();
      registers[index] =
          lane.predicate ? arith::SelectOp::create(b, ix.loc(), lane.predicate,
                                                   value, registers[index])
                               .getResult()
                         : value;
    }
    writeRegisters(alloc, registers);
    return success();
  }
  auto type = cast<tile::BufferType>(buffer.getType());
  int64_t unitBits = accessUnitBits(alloc);
  Value memory = localMemory(alloc);
  for (auto [value, lane] : llvm::zip_equal(values, lanes)) {
    SmallVector<Value> units{value};
    if (isSeenAsOtherType(alloc))
      units = splitUnits(b, ix.loc(), value, unitBits,
                         type.getElementBits() / unitBits);
    for (auto [unit, part] : llvm::enumerate(units)) {
      Value position = localPosition(alloc, lane, unit);
      Value stored = part;
      if (lane.predicate) {
        Value old = memref::LoadOp::create(b, ix.loc(), memory, position);
        stored =
            arith::SelectOp::create(b, ix.loc(), lane.predicate, part, old);
      }
      memref::StoreOp::create(b, ix.loc(), stored, memory, position);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Scalar conversions
//===----------------------------------------------------------------------===//

/// Converts a scalar or a vector; only the element types decide.
static Value convertValue(OpBuilder &b, Location loc, Value value, Type from,
                          Type to, bool fromUnsigned, bool toUnsigned) {
  if (from == to)
    return value;
  auto withElement = [&](Type element) -> Type {
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      return vector.clone(element);
    return element;
  };
  Type target = withElement(to);
  unsigned fromBits = from.getIntOrFloatBitWidth(),
           toBits = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (fromBits < toBits)
      return arith::ExtFOp::create(b, loc, target, value);
    if (fromBits > toBits)
      return arith::TruncFOp::create(b, loc, target, value);
    // f16 <-> bf16 and between the 8-bit types: exact in f32, rounded once.
    Value wide =
        arith::ExtFOp::create(b, loc, withElement(b.getF32Type()), value);
    return arith::TruncFOp::create(b, loc, target, wide);
  }
  if (isa<FloatType>(from)) {
    if (to.isInteger(1)) {
      Value none =
          arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                   none);
    }
    if (fromBits < 32)
      value = arith::ExtFOp::create(b, loc, withElement(b.getF32Type()), value);
    if (toUnsigned)
      return arith::FPToUIOp::create(b, loc, target, value);
    return arith::FPToSIOp::create(b, loc, target, value);
  }
  if (isa<FloatType>(to)) {
    bool isUnsigned = fromUnsigned || fromBits == 1;
    // Integers to small floats round once from the exact value.
    Type through = toBits < 16 ? withElement(b.getF32Type()) : target;
    Value wide =
        isUnsigned
            ? arith::UIToFPOp::create(b, loc, through, value).getResult()
            : arith::SIToFPOp::create(b, loc, through, value).getResult();
    return through == target
               ? wide
               : arith::TruncFOp::create(b, loc, target, wide).getResult();
  }
  if (to.isInteger(1)) {
    Value none =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, none);
  }
  if (fromBits > toBits)
    return arith::TruncIOp::create(b, loc, target, value);
  if (fromUnsigned || fromBits == 1)
    return arith::ExtUIOp::create(b, loc, target, value);
  return arith::ExtSIOp::create(b, loc, target, value);
}

SmallVector<Value> KernelLowering::convertScalars(ArrayRef<Value> values,
                                                  Type from, Type to) {
  bool fromUnsigned = from.isUnsignedInteger(),
       toUnsigned = to.isUnsignedInteger();
  from = tile::getScalarType(from);
  to = tile::getScalarType(to);
  SmallVector<Value> results;
  if (from == to)
    return SmallVector<Value>(values);
  // One instruction rounds two f32 to 16 or 8 bits, or widens two 8-bit floats.
  auto isSmallFloat = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 16;
  };
  bool pairs = isa<FloatType>(from) && isa<FloatType>(to) &&
               ((from.isF32() && isSmallFloat(to)) ||
                (from.getIntOrFloatBitWidth() == 8 && !to.isF64()));
  size_t i = 0;
  if (pairs)
    for (; i + 2 <= values.size(); i += 2) {
      Value both = fromElements(values.slice(i, 2));
      Value converted = convertValue(b, ix.loc(), both, from, to, false, false);
      results.append(toElements(converted));
    }
  for (; i < values.size(); ++i)
    results.push_back(convertValue(b, ix.loc(), values[i], from, to,
                                   fromUnsigned, toUnsigned));
  return results;
}
