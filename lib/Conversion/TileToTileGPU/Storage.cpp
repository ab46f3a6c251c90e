//===- Storage.cpp - Views of buffers and global memory ---------*- C++ -*-===//
//
// Resolves view operations, and loads and stores the elements of many lanes
// with as few vector accesses as alignment and bounds allow.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tilemlir;
using namespace tilemlir::to_gpu;

SmallVector<int64_t>
tilemlir::to_gpu::keptDimensions(ArrayRef<int64_t> sizes,
                                 ArrayRef<int64_t> resultShape) {
  SmallVector<int64_t> kept;
  size_t next = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    size_t sourceLeft = sizes.size() - d,
           resultLeft = resultShape.size() - next;
    bool mustKeep = sourceLeft == resultLeft;
    if (next < resultShape.size() && sizes[d] == resultShape[next] &&
        (mustKeep || sizes[d] != 1)) {
      kept.push_back(d);
      ++next;
    }
  }
  return kept;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

FailureOr<FragmentView> KernelLowering::viewFragment(Operation *user,
                                                     Value buffer) {
  Operation *op = buffer.getDefiningOp();
  if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
    auto type = cast<tile::BufferType>(alloc.getType());
    tile::FragmentLayoutAttr attr = type.getFragmentLayout();
    if (!attr)
      return user->emitOpError()
             << "uses fragment '" << tile::getUserName(buffer)
             << "', which has no layout";
    FragmentView view{alloc, attr.getLayout(), {}};
    if (view.layout.numThreads() != threads)
      return user->emitOpError()
             << "uses fragment '" << tile::getUserName(buffer)
             << "' laid out over " << view.layout.numThreads()
             << " threads in a kernel of " << threads;
    view.registers.resize(view.layout.numRegisters());
    std::iota(view.registers.begin(), view.registers.end(), 0);
    return view;
  }
  auto refuse = [&](const std::string &reason) {
    return user->emitOpError()
           << "cannot view fragment '" << tile::getUserName(buffer)
           << "' like this: " << reason;
  };
  if (auto subview = dyn_cast<tile::SubviewOp>(op)) {
    FailureOr<FragmentView> view = viewFragment(user, subview.getSource());
    if (failed(view))
      return failure();
    ArrayRef<int64_t> sizes = subview.getSizes();
    for (auto [dim, offset] : llvm::enumerate(subview.getOffsets())) {
      Coordinate start = ix.fromValue(offset);
      if (!start.isConstant())
        return refuse("its offset is not a constant");
      auto slice = view->layout.sliceRegisters(dim, start.constant, sizes[dim]);
      if (!slice)
        return refuse(slice.error());
      std::vector<int64_t> registers;
      for (int64_t r : slice->registers)
        registers.push_back(r < 0 ? -1 : view->registers[r]);
      view->layout = slice->layout;
      view->registers = std::move(registers);
    }
    auto resultType = cast<tile::BufferType>(subview.getType());
    SmallVector<int64_t> kept = keptDimensions(sizes, resultType.getShape());
    for (int64_t dim = sizes.size() - 1; dim >= 0; --dim) {
      if (llvm::is_contained(kept, dim))
        continue;
      auto dropped = view->layout.dropUnitDim(dim);
      if (!dropped)
        return refuse(dropped.error());
      view->layout = *dropped;
    }
    return view;
  }
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    FailureOr<FragmentView> view = viewFragment(user, reshape.getSource());
    if (failed(view))
      return failure();
    ArrayRef<int64_t> shape =
        cast<tile::BufferType>(reshape.getType()).getShape();
    auto reshaped = view->layout.reshape({shape.begin(), shape.end()});
    if (!reshaped)
      return refuse(reshaped.error());
    view->layout = *reshaped;
    return view;
  }
  return refuse("a fragment cannot be seen under another element type");
}

static int64_t elementBits(Value buffer) {
  return cast<tile::BufferType>(buffer.getType()).getElementBits();
}

static int64_t narrowestView(Value buffer) {
  int64_t bits = elementBits(buffer);
  for (Operation *user : buffer.getUsers())
    if (isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(user))
      bits = std::min(bits, narrowestView(user->getResult(0)));
  return bits;
}

int64_t KernelLowering::accessUnitBits(Value buffer) {
  if (cast<tile::BufferType>(buffer.getType()).isLocal())
    return narrowestView(tile::getAllocation(buffer));
  int64_t bits = elementBits(buffer);
  while (Operation *op = buffer.getDefiningOp()) {
    if (!isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(op))
      break;
    buffer = op->getOperand(0);
    bits = std::min(bits, elementBits(buffer));
  }
  return bits;
}

/// Coordinates in the source of a reshape, from those in its result. Groups of
/// dimensions with equal products map separately.
static Coordinates mapReshape(IndexBuilder &ix, ArrayRef<int64_t> from,
                              ArrayRef<int64_t> to,
                              const Coordinates &coordinates) {
  Coordinates mapped(to.size());
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    size_t firstFrom = f, firstTo = t;
    int64_t fromProduct = 1, toProduct = 1;
    if (f < from.size())
      fromProduct = from[f++];
    if (t < to.size())
      toProduct = to[t++];
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct)
        fromProduct *= from[f++];
      else
        toProduct *= to[t++];
    }
    Coordinate linear;
    for (size_t d = firstFrom; d < f; ++d)
      linear = ix.add(ix.mul(linear, from[d]), coordinates[d]);
    for (size_t d = t; d-- > firstTo;) {
      int64_t size = to[d];
      if (d == firstTo) {
        mapped[d] = linear;
        break;
      }
      if (linear.isConstant()) {
        mapped[d] = Coordinate::get(linear.constant % size);
        linear = Coordinate::get(linear.constant / size);
        continue;
      }
      Value value = ix.materialize(linear);
      int64_t divisor = linear.divisor();
      mapped[d] = Coordinate();
      if (divisor % size)
        mapped[d].other = ix.remainder(value, size),
        mapped[d].otherDivisor = std::gcd(divisor, size);
      linear = Coordinate();
      linear.other = ix.divide(value, size);
      linear.otherDivisor = divisor % size ? 1 : divisor / size;
    }
  }
  return mapped;
}

LogicalResult KernelLowering::mapToAllocation(Operation *user, Value buffer,
                                              Coordinates &coordinates) {
  // Along the last dimension of every view, coordinates and extents count units
  // of the narrowest elements, so that changes of the element type keep them.
  int64_t unitBits = accessUnitBits(buffer);
  auto unitsOf = [&](Value view) { return elementBits(view) / unitBits; };
  auto shapeInUnits = [&](Value view) {
    ArrayRef<int64_t> shape = cast<tile::BufferType>(view.getType()).getShape();
    SmallVector<int64_t> result(shape);
    if (!result.empty())
      result.back() *= unitsOf(view);
    return result;
  };
  auto refuse = [&](StringRef reason) {
    return user->emitOpError()
           << "accesses '" << tile::getUserName(buffer) << "' as elements of "
           << elementBits(buffer) << " bits, but " << reason;
  };
  if (!coordinates.empty())
    coordinates.back() = ix.mul(coordinates.back(), unitsOf(buffer));
  for (Value view = buffer;;) {
    Operation *op = view.getDefiningOp();
    if (!op)
      return user->emitOpError("uses a buffer that is no allocation or view");
    if (isa<tile::AllocOp>(op))
      return success();
    Value source = op->getOperand(0);
    if (auto subview = dyn_cast<tile::SubviewOp>(op)) {
      auto resultType = cast<tile::BufferType>(subview.getType());
      SmallVector<int64_t> kept =
          keptDimensions(subview.getSizes(), resultType.getShape());
      int64_t last = static_cast<int64_t>(subview.getSizes().size()) - 1;
      if (unitsOf(source) > 1 && resultType.getRank() > 0 &&
          (kept.empty() || kept.back() != last))
        return refuse("a view on the way is a column, whose elements are not "
                      "side by side");
      Coordinates mapped;
      for (Value offset : subview.getOffsets())
        mapped.push_back(ix.fromValue(offset));
      if (last >= 0)
        mapped.back() = ix.mul(mapped.back(), unitsOf(source));
      for (auto [viewDim, sourceDim] : llvm::enumerate(kept))
        mapped[sourceDim] = ix.add(mapped[sourceDim], coordinates[viewDim]);
      coordinates = std::move(mapped);
    } else if (isa<tile::ReshapeOp>(op)) {
      SmallVector<int64_t> from = shapeInUnits(view), to = shapeInUnits(source);
      if (unitsOf(source) > 1 && (from.empty() || to.empty()))
        return refuse("a view on the way is a scalar");
      coordinates = mapReshape(ix, from, to, coordinates);
    }
    // A bitcast keeps the units of every row.
    view = source;
  }
}

//===----------------------------------------------------------------------===//
// Facts about tensors
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> stridesOf(Value tensor) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(tensor.getType());
  if (failed(type.getStridesAndOffset(strides, offset)))
    strides.assign(type.getRank(), ShapedType::kDynamic);
  return strides;
}

/// A position other than 0 along the axis is outside, and not accessed.
static bool isSingle(Value tensor, int64_t axis) {
  return cast<MemRefType>(tensor.getType()).getDimSize(axis) == 1;
}

static bool isContiguous(Value tensor) {
  return cast<MemRefType>(tensor.getType()).getLayout().isIdentity();
}

int64_t KernelLowering::promisedAlignment(Value tensor) {
  // What the launch guard of this argument checks, for its base and its rows.
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (!function)
    return 0;
  auto declared = function.getArgAttrOfType<tile::ArgumentAttr>(
      argument.getArgNumber(), "tile.argument");
  if (declared && declared.getAlignment() > 0)
    return std::min(assumedAlignment, declared.getAlignment());
  return assumedAlignment;
}

int64_t KernelLowering::tensorAlignment(Value tensor) {
  int64_t bytes =
      elementBytes(cast<MemRefType>(tensor.getType()).getElementType());
  // Workspaces come from the framework's allocator: at least 256 bytes.
  if (tensor.getDefiningOp<tile::WorkspaceOp>())
    return 256;
  return std::max(bytes, promisedAlignment(tensor));
}

int64_t KernelLowering::strideDivisor(Value tensor, int64_t axis) {
  int64_t stride = stridesOf(tensor)[axis];
  if (!ShapedType::isDynamic(stride))
    return std::abs(stride);
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = elementBytes(type.getElementType());
  int64_t promised = std::max<int64_t>(1, promisedAlignment(tensor) / bytes);
  // Strides that the caller chooses are not promised.
  if (!isContiguous(tensor))
    return 1;
  // The static factors of the product of inner extents, and the promise about
  // the row pitch, which is a factor of every outer stride.
  int64_t known = 1;
  for (int64_t d = axis + 1; d < type.getRank(); ++d)
    if (!type.isDynamicDim(d))
      known *= type.getDimSize(d);
  bool pitchIsDynamic = type.isDynamicDim(type.getRank() - 1);
  return pitchIsDynamic ? std::max(known, promised) : known;
}

int64_t KernelLowering::innerExtentDivisor(Value tensor) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t last = type.getRank() - 1;
  if (!type.isDynamicDim(last))
    return type.getDimSize(last);
  // The pitch of a contiguous matrix is its inner extent.
  if (isContiguous(tensor) && type.getRank() > 1)
    return std::max<int64_t>(1, promisedAlignment(tensor) /
                                    elementBytes(type.getElementType()));
  return 1;
}

Value KernelLowering::extent(Value tensor, int64_t axis) {
  auto type = cast<MemRefType>(tensor.getType());
  if (!type.isDynamicDim(axis))
    return ix.i32(type.getDimSize(axis));
  return b.createOrFold<tile_gpu::ExtentOp>(ix.loc(), b.getI32Type(), tensor,
                                            b.getI64IntegerAttr(axis));
}

Value KernelLowering::stride(Value tensor, int64_t axis) {
  int64_t known = stridesOf(tensor)[axis];
  if (!ShapedType::isDynamic(known))
    return ix.i64(known);
  return b.createOrFold<tile_gpu::StrideOp>(ix.loc(), b.getI64Type(), tensor,
                                            b.getI64IntegerAttr(axis));
}

//===----------------------------------------------------------------------===//
// Global addresses
//===----------------------------------------------------------------------===//

Value KernelLowering::globalOffset(Value tensor,
                                   ArrayRef<Coordinate> coordinates) {
  // The thread part first: it is invariant in every loop of the kernel.
  SmallVector<int64_t> strides = stridesOf(tensor);
  Value threadPart, otherPart, registerPart;
  int64_t constant = 0;
  for (auto [axis, coordinate] : llvm::enumerate(coordinates)) {
    if (isSingle(tensor, axis))
      continue;
    bool isStatic = !ShapedType::isDynamic(strides[axis]);
    auto scaled = [&](Value value) -> Value {
      if (!value)
        return {};
      return isStatic ? ix.mul(ix.extend(value), strides[axis])
                      : ix.mul(ix.extend(value), stride(tensor, axis));
    };
    threadPart = ix.add(threadPart, scaled(coordinate.thread));
    otherPart = ix.add(otherPart, scaled(coordinate.other));
    if (coordinate.constant == 0)
      continue;
    if (isStatic)
      constant += coordinate.constant * strides[axis];
    else
      registerPart = ix.add(registerPart, ix.mul(stride(tensor, axis),
                                                 ix.i64(coordinate.constant)));
  }
  Value result = ix.add(ix.add(threadPart, otherPart), registerPart);
  if (!result)
    return ix.i64(constant);
  return constant ? ix.add(result, ix.i64(constant)) : result;
}

Value KernelLowering::boundsPredicate(Value tensor,
                                      ArrayRef<Coordinate> coordinates) {
  auto type = cast<MemRefType>(tensor.getType());
  Value result;
  for (auto [axis, coordinate] : llvm::enumerate(coordinates)) {
    if (!type.isDynamicDim(axis)) {
      int64_t size = type.getDimSize(axis);
      auto inside = [&](int64_t value) { return value >= 0 && value < size; };
      if (!coordinate.other &&
          (coordinate.thread
               ? llvm::all_of(*coordinate.table,
                              [&](int64_t value) {
                                return inside(value + coordinate.constant);
                              })
               : inside(coordinate.constant)))
        continue;
    }
    // One unsigned comparison also refuses negative coordinates.
    result = ix.both(result, ix.lessUnsigned(ix.materialize(coordinate),
                                             extent(tensor, axis)));
  }
  return result;
}

SmallVector<LaneGroup> KernelLowering::groupGlobal(Value tensor,
                                                   ArrayRef<LaneAccess> lanes,
                                                   bool wholeVectorsOnly,
                                                   int64_t maxBytes) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = elementBytes(type.getElementType());
  SmallVector<int64_t> strides = stridesOf(tensor);
  int64_t rank = type.getRank();
  int64_t widest = rank && strides[rank - 1] == 1 && bytes <= maxBytes
                       ? maxBytes / bytes
                       : 1;
  if (wholeVectorsOnly && rank)
    while (widest > 1 && innerExtentDivisor(tensor) % widest)
      widest /= 2;
  int64_t baseAlignment = rank ? tensorAlignment(tensor) : bytes;

  auto fits = [&](size_t first, int64_t count) {
    if (first + count > lanes.size())
      return false;
    ArrayRef<Coordinate> start = lanes[first].coordinates;
    if (start.back().divisor() % count || (count * bytes) > baseAlignment)
      return false;
    for (int64_t axis = 0; axis < rank - 1; ++axis)
      if (!isSingle(tensor, axis) &&
          (start[axis].divisor() * strideDivisor(tensor, axis)) % count)
        return false;
    for (int64_t i = 1; i < count; ++i) {
      const LaneAccess &lane = lanes[first + i];
      if (lane.predicate != lanes[first].predicate)
        return false;
      for (int64_t axis = 0; axis < rank; ++axis)
        if (!lane.coordinates[axis].hasSameBase(start[axis]) ||
            lane.coordinates[axis].constant !=
                start[axis].constant + (axis == rank - 1 ? i : 0))
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

static Type registersOf(Type scalar, int64_t count) {
  return count == 1 ? scalar : VectorType::get({count}, scalar);
}

FailureOr<SmallVector<Value>>
KernelLowering::loadGlobal(Operation *op, Value tensor,
                           ArrayRef<LaneAccess> lanes, bool checkBounds,
                           Attribute safe) {
  auto type = cast<MemRefType>(tensor.getType());
  Type scalar = tile::getScalarType(type.getElementType());
  int64_t bytes = elementBytes(type.getElementType());
  SmallVector<Value> results;
  for (LaneGroup group : groupGlobal(tensor, lanes, checkBounds)) {
    const LaneAccess &lane = lanes[group.first];
    Value predicate = lane.predicate;
    Value inside =
        checkBounds ? boundsPredicate(tensor, lane.coordinates) : Value();
    predicate = ix.both(predicate, inside);
    auto alignment =
        b.getI64IntegerAttr(llvm::bit_floor(uint64_t(group.count * bytes)));
    Value loaded = tile_gpu::GlobalLoadOp::create(
        b, ix.loc(), registersOf(scalar, group.count), tensor,
        globalOffset(tensor, lane.coordinates), predicate, alignment,
        cacheHint);
    SmallVector<Value> values =
        group.count == 1 ? SmallVector<Value>{loaded} : toElements(loaded);
    auto safeValue = dyn_cast_or_null<TypedAttr>(safe);
    if (safeValue && inside) {
      Value constant = arith::ConstantOp::create(b, ix.loc(), safeValue);
      for (Value &value : values)
        value = arith::SelectOp::create(b, ix.loc(), inside, value, constant);
    }
    results.append(values);
  }
  return results;
}

LogicalResult KernelLowering::storeGlobal(Operation *op, Value tensor,
                                          ArrayRef<Value> values,
                                          ArrayRef<LaneAccess> lanes,
                                          bool checkBounds) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = elementBytes(type.getElementType());
  for (LaneGroup group : groupGlobal(tensor, lanes, checkBounds)) {
    const LaneAccess &lane = lanes[group.first];
    Value predicate = lane.predicate;
    if (checkBounds)
      predicate = ix.both(predicate, boundsPredicate(tensor, lane.coordinates));
    Value value = group.count == 1
                      ? values[group.first]
                      : fromElements(values.slice(group.first, group.count));
    auto alignment =
        b.getI64IntegerAttr(llvm::bit_floor(uint64_t(group.count * bytes)));
    tile_gpu::GlobalStoreOp::create(b, ix.loc(), value, tensor,
                                    globalOffset(tensor, lane.coordinates),
                                    predicate, alignment, cacheHint);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Any storage
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> KernelLowering::load(Operation *op, Value storage,
                                                   ArrayRef<LaneAccess> lanes,
                                                   bool checkBounds,
                                                   Attribute safe) {
  if (isa<MemRefType>(storage.getType()))
    return loadGlobal(op, storage, lanes, checkBounds, safe);
  SmallVector<LaneAccess> mapped(lanes);
  for (LaneAccess &lane : mapped)
    if (failed(mapToAllocation(op, storage, lane.coordinates)))
      return failure();
  auto type = cast<tile::BufferType>(storage.getType());
  if (type.isShared())
    return loadShared(op, storage, mapped);
  if (!type.isLocal())
    return op->emitOpError(
        "cannot read a fragment here: its elements belong to other threads");
  return loadLocal(op, storage, mapped);
}

LogicalResult KernelLowering::store(Operation *op, Value storage,
                                    ArrayRef<Value> values,
                                    ArrayRef<LaneAccess> lanes,
                                    bool checkBounds) {
  if (isa<MemRefType>(storage.getType()))
    return storeGlobal(op, storage, values, lanes, checkBounds);
  SmallVector<LaneAccess> mapped(lanes);
  for (LaneAccess &lane : mapped)
    if (failed(mapToAllocation(op, storage, lane.coordinates)))
      return failure();
  auto type = cast<tile::BufferType>(storage.getType());
  if (type.isShared())
    return storeShared(op, storage, values, mapped);
  if (!type.isLocal())
    return op->emitOpError(
        "cannot write a fragment here: its elements belong to other threads");
  return storeLocal(op, storage, values, mapped);
}

FailureOr<SmallVector<Value>>
KernelLowering::atomic(tile::AtomicOp op, Value storage, ArrayRef<Value> values,
                       ArrayRef<LaneAccess> lanes, bool checkBounds) {
  SmallVector<Value> results;
  Type resultType = op.getResult() ? op.getResult().getType() : Type();
  auto isUnsigned = op.getIsUnsigned();
  if (isa<MemRefType>(storage.getType())) {
    for (auto [value, lane] : llvm::zip_equal(values, lanes)) {
      Value predicate = lane.predicate;
      if (checkBounds)
        predicate =
            ix.both(predicate, boundsPredicate(storage, lane.coordinates));
      auto created = tile_gpu::GlobalAtomicOp::create(
          b, ix.loc(), resultType, op.getKind(), value, storage,
          globalOffset(storage, lane.coordinates), predicate,
          op.getMemoryOrder(), isUnsigned);
      results.push_back(created.getResult());
    }
    return results;
  }
  auto type = cast<tile::BufferType>(storage.getType());
  if (!type.isShared())
    return op.emitOpError(
        "atomics act on global tensors and shared buffers only");
  SmallVector<Coordinates> coordinates;
  for (const LaneAccess &lane : lanes) {
    coordinates.push_back(lane.coordinates);
    if (failed(mapToAllocation(op, storage, coordinates.back())))
      return failure();
  }
  FailureOr<SmallVector<SharedAddress>> addresses =
      sharedAddresses(op, storage, coordinates);
  if (failed(addresses))
    return failure();
  for (auto [value, lane, address] :
       llvm::zip_equal(values, lanes, *addresses)) {
    auto created = tile_gpu::SharedAtomicOp::create(
        b, ix.loc(), resultType, op.getKind(), value, address.base,
        static_cast<uint32_t>(address.offset), lane.predicate,
        op.getMemoryOrder(), isUnsigned);
    results.push_back(created.getResult());
  }
  return results;
}
