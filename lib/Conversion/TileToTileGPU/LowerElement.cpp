//===- LowerElement.cpp - per-thread element accesses, print ----*- C++ -*-===//
//
// Loads, stores and atomics outside of parallel loops act once per thread.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// The register of an element of a fragment that every thread holds.
static FailureOr<int64_t> replicatedRegister(Operation *op,
                                             const FragmentView &view,
                                             ArrayRef<Coordinate> coordinates) {
  std::vector<int64_t> at;
  for (const Coordinate &coordinate : coordinates) {
    if (!coordinate.isConstant())
      return op->emitOpError(
          "accesses a fragment outside of a parallel loop at an index that is "
          "not a constant");
    at.push_back(coordinate.constant);
  }
  std::optional<layout::ElementLocation> location = view.layout.find(at);
  if (!location)
    return op->emitOpError("accesses a fragment beyond its shape");
  if (static_cast<int64_t>(view.layout.holders(at).size()) !=
      view.layout.numThreads())
    return op->emitOpError(
        "accesses one element of a fragment outside of a parallel loop, which "
        "not every thread holds; copy the fragment to shared memory");
  for (int64_t t = 0; t < view.layout.numThreads(); ++t) {
    std::vector<int64_t> held =
        view.layout.coordinates(t, location->registerIndex);
    if (held != at)
      return op->emitOpError(
          "accesses an element of a fragment that threads hold in different "
          "registers");
  }
  return view.registers[location->registerIndex];
}

LogicalResult KernelLowering::lowerElement(Operation *op) {
  auto coordinatesOf = [&](ValueRange indices) {
    Coordinates coordinates;
    for (Value index : indices)
      coordinates.push_back(ix.fromValue(index));
    return coordinates;
  };
  auto isFragment = [](Value storage) {
    auto type = dyn_cast<tile::BufferType>(storage.getType());
    return type && type.isFragment();
  };
  if (auto loadOp = dyn_cast<tile::LoadOp>(op)) {
    Coordinates coordinates = coordinatesOf(loadOp.getIndices());
    if (isFragment(loadOp.getSource())) {
      FailureOr<FragmentView> view = viewFragment(op, loadOp.getSource());
      if (failed(view))
        return failure();
      FailureOr<int64_t> held = replicatedRegister(op, *view, coordinates);
      if (failed(held))
        return failure();
      loadOp.getResult().replaceAllUsesWith(readRegisters(view->alloc)[*held]);
      return success();
    }
    bool checkBounds = loadOp.getBounds() != tile::Bounds::Full;
    FailureOr<SmallVector<Value>> values =
        load(op, loadOp.getSource(), LaneAccess{coordinates, {}}, checkBounds,
             loadOp.getSafeAttr());
    if (failed(values))
      return failure();
    loadOp.getResult().replaceAllUsesWith(values->front());
    return success();
  }
  if (auto storeOp = dyn_cast<tile::StoreOp>(op)) {
    Coordinates coordinates = coordinatesOf(storeOp.getIndices());
    if (isFragment(storeOp.getDest())) {
      FailureOr<FragmentView> view = viewFragment(op, storeOp.getDest());
      if (failed(view))
        return failure();
      FailureOr<int64_t> held = replicatedRegister(op, *view, coordinates);
      if (failed(held))
        return failure();
      SmallVector<Value> registers = readRegisters(view->alloc);
      registers[*held] = storeOp.getValue();
      writeRegisters(view->alloc, registers);
      return success();
    }
    bool checkBounds = storeOp.getBounds() != tile::Bounds::Full;
    return store(op, storeOp.getDest(), storeOp.getValue(),
                 LaneAccess{coordinates, {}}, checkBounds);
  }
  auto atomicOp = cast<tile::AtomicOp>(op);
  bool checkBounds = atomicOp.getBounds() != tile::Bounds::Full;
  FailureOr<SmallVector<Value>> results =
      atomic(atomicOp, atomicOp.getDest(), atomicOp.getValue(),
             LaneAccess{coordinatesOf(atomicOp.getIndices()), {}}, checkBounds);
  if (failed(results))
    return failure();
  if (atomicOp.getResult())
    atomicOp.getResult().replaceAllUsesWith(results->front());
  return success();
}

Value KernelLowering::printable(Value scalar) {
  auto type = dyn_cast<FloatType>(scalar.getType());
  if (!type || type.getWidth() > 8)
    return scalar;
  return arith::ExtFOp::create(b, ix.loc(), b.getF32Type(), scalar);
}

LogicalResult KernelLowering::lowerPrint(tile::PrintOp op) {
  if (!op.getBuffer()) {
    SmallVector<Value> scalars;
    for (Value scalar : op.getScalars())
      scalars.push_back(printable(scalar));
    tile_gpu::PrintOp::create(b, ix.loc(), op.getMessage(), scalars, Value(),
                              op.getIsUnsigned());
    return success();
  }
  // Once per block: the thread that is primary for each element prints it.
  auto type = cast<tile::BufferType>(op.getBuffer().getType());
  bool isUnsigned =
      op.getIsUnsigned() || type.getElementType().isUnsignedInteger();
  auto nameOf = [&](ArrayRef<int64_t> at) {
    std::string text = op.getMessage().str() + "[";
    for (auto [i, index] : llvm::enumerate(at))
      text += (i ? ", " : "") + std::to_string(index);
    return text + "] = ";
  };
  if (type.isFragment()) {
    FailureOr<FragmentView> view = viewFragment(op, op.getBuffer());
    if (failed(view))
      return failure();
    SmallVector<Value> registers = readRegisters(view->alloc);
    ArrayRef<Coordinate> threadPart = threadOffsets(view->layout);
    Value primary = primaryPredicate(view->layout);
    for (int64_t r = 0; r < view->layout.numRegisters(); ++r) {
      if (view->registers[r] < 0 ||
          view->layout.occupancy(r) == layout::Occupancy::Never)
        continue;
      std::vector<int64_t> constants = view->layout.registerOffset(r);
      SmallVector<Value> scalars;
      for (int d = 0; d < view->layout.rank(); ++d) {
        Coordinate coordinate = threadPart[d];
        coordinate.constant += constants[d];
        scalars.push_back(ix.materialize(coordinate));
      }
      scalars.push_back(printable(registers[view->registers[r]]));
      tile_gpu::PrintOp::create(
          b, ix.loc(), op.getMessage().str() + " at, value: ", scalars,
          ix.both(primary, occupancyPredicate(view->layout, r)), isUnsigned);
    }
    return success();
  }
  Value first = type.isShared() ? ix.equal(threadId(), 0) : Value();
  int64_t count = std::max<int64_t>(1, type.getNumElements());
  constexpr int64_t kMaxPrinted = 4096;
  if (count > kMaxPrinted)
    return op.emitOpError() << "prints a buffer of " << count
                            << " elements; the limit is " << kMaxPrinted;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> at(type.getRank());
    Coordinates coordinates(type.getRank());
    int64_t rest = i;
    for (int64_t d = type.getRank(); d-- > 0;) {
      at[d] = rest % type.getShape()[d];
      coordinates[d] = Coordinate::get(at[d]);
      rest /= type.getShape()[d];
    }
    FailureOr<SmallVector<Value>> value =
        load(op, op.getBuffer(), LaneAccess{coordinates, first}, false, {});
    if (failed(value))
      return failure();
    tile_gpu::PrintOp::create(b, ix.loc(), nameOf(at),
                              printable(value->front()), first, isUnsigned);
  }
  return success();
}
