//===- LowerCopy.cpp - tile.copy and tile.copy_async ------------*- C++ -*-===//
//
// A copy is a set of lanes: under the layout of the fragment that takes part,
// else under a blocked layout made for vector accesses. Both sides are then
// accessed lane by lane, vectors being found by the storage accesses.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"
#include "MatrixMoves.h"

#include "tilemlir/Layout/BlockedLayout.h"
#include "tilemlir/Layout/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

namespace {
/// One side of a copy.
struct Side {
  Value storage;
  SmallVector<Value> offsets;
  SmallVector<int64_t> sizes;
  /// Iteration dimension of each storage dimension; -1 where the size is 1.
  SmallVector<int> iterationDim;
  Type elementType;

  bool isTensor() const { return isa<MemRefType>(storage.getType()); }
  tile::BufferType buffer() const {
    return dyn_cast<tile::BufferType>(storage.getType());
  }
  bool isFragment() const { return !isTensor() && buffer().isFragment(); }
  bool isShared() const { return !isTensor() && buffer().isShared(); }
  bool isLocal() const { return !isTensor() && buffer().isLocal(); }
};

/// The operands that both copy operations have.
struct CopyOperands {
  Side source, dest;
  Attribute safe;
  bool checkBounds = true;
  std::optional<tile::Path> path;
  std::optional<tile::EvictionPolicy> eviction;
};
} // namespace

template <typename Op> static CopyOperands operandsOf(Op op) {
  CopyOperands result;
  auto side = [](Value storage, ValueRange offsets, ArrayRef<int64_t> sizes) {
    Side side{storage,
              llvm::to_vector(offsets),
              llvm::to_vector(sizes),
              {},
              tile::getStorageElementType(storage.getType())};
    int next = 0;
    for (int64_t size : sizes)
      side.iterationDim.push_back(size == 1 ? -1 : next++);
    return side;
  };
  result.source =
      side(op.getSource(), op.getSourceOffsets(), op.getSourceSizes());
  result.dest = side(op.getDest(), op.getDestOffsets(), op.getDestSizes());
  result.safe = op.getSafeAttr();
  result.checkBounds = op.getBounds() != tile::Bounds::Full;
  if (op.getChoice())
    result.path = op.getChoice()->getPath();
  result.eviction = op.getEvictionPolicy();
  return result;
}

/// The copied part of a fragment, without unit dimensions, if it is a set of
/// registers.
static layout::Result<FragmentView>
sliceFragment(IndexBuilder &ix, FragmentView view, const Side &side) {
  for (size_t dim = 0; dim < side.sizes.size(); ++dim) {
    Coordinate start = ix.fromValue(side.offsets[dim]);
    if (start.isConstant() && start.constant == 0 &&
        side.sizes[dim] == view.layout.shape()[dim])
      continue;
    if (!start.isConstant())
      return layout::Error{"its offset is not a constant"};
    auto slice =
        view.layout.sliceRegisters(dim, start.constant, side.sizes[dim]);
    if (!slice)
      return layout::Error{slice.error()};
    std::vector<int64_t> registers;
    for (int64_t r : slice->registers)
      registers.push_back(r < 0 ? -1 : view.registers[r]);
    view.layout = slice->layout;
    view.registers = std::move(registers);
  }
  for (int64_t dim = side.sizes.size() - 1; dim >= 0; --dim) {
    if (side.sizes[dim] != 1)
      continue;
    auto dropped = view.layout.dropUnitDim(dim);
    if (!dropped)
      return layout::Error{dropped.error()};
    view.layout = *dropped;
  }
  return view;
}

/// Coordinates of an iteration in one side: offsets plus the iteration's part.
static Coordinates coordinatesIn(IndexBuilder &ix, const Side &side,
                                 ArrayRef<Coordinate> offsets,
                                 ArrayRef<Coordinate> iteration) {
  Coordinates result(offsets);
  for (auto [dim, from] : llvm::enumerate(side.iterationDim))
    if (from >= 0)
      result[dim] = ix.add(result[dim], iteration[from]);
  return result;
}

bool KernelLowering::restrictToPart(Coordinates &coordinates, Value &predicate,
                                    ArrayRef<Coordinate> start,
                                    ArrayRef<int64_t> sizes) {
  Coordinates inside;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    Coordinate coordinate = ix.sub(coordinates[dim], start[dim]);
    std::optional<bool> within = coordinate.isWithin(size);
    if (within && !*within)
      return false;
    if (!within)
      predicate = ix.both(
          predicate, ix.lessUnsigned(ix.materialize(coordinate), ix.i32(size)));
    if (size != 1)
      inside.push_back(coordinate);
  }
  coordinates = inside;
  return true;
}

LogicalResult KernelLowering::lowerCopy(Operation *op, bool async) {
  CopyOperands copy = async ? operandsOf(cast<tile::CopyAsyncOp>(op))
                            : operandsOf(cast<tile::CopyOp>(op));
  Side &source = copy.source, &dest = copy.dest;
  SmallVector<int64_t> dropped = tile::dropUnitSizes(source.sizes);
  std::vector<int64_t> shape(dropped.begin(), dropped.end());
  cacheHint = tile_gpu::CacheHint::None;
  if (copy.eviction == tile::EvictionPolicy::First)
    cacheHint = tile_gpu::CacheHint::EvictFirst;
  else if (copy.eviction == tile::EvictionPolicy::Last)
    cacheHint = tile_gpu::CacheHint::EvictLast;
  auto resetHint =
      llvm::make_scope_exit([&] { cacheHint = tile_gpu::CacheHint::None; });

  Coordinates sourceOffsets, destOffsets;
  for (Value offset : source.offsets)
    sourceOffsets.push_back(ix.fromValue(offset));
  for (Value offset : dest.offsets)
    destOffsets.push_back(ix.fromValue(offset));

  // The distribution.
  std::optional<FragmentView> sourceView, destView;
  layout::FragmentLayout layout;
  // The fragment of which a part is copied that is no set of registers: all its
  // registers take part, where they hold elements of the part.
  const Side *owners = nullptr;
  auto viewOf = [&](const Side &side) -> FailureOr<FragmentView> {
    FailureOr<FragmentView> view = viewFragment(op, side.storage);
    if (failed(view))
      return failure();
    layout::Result<FragmentView> slice = sliceFragment(ix, *view, side);
    if (slice)
      return *slice;
    if (source.isFragment() && dest.isFragment())
      return op->emitOpError()
             << "cannot copy this part of fragment '"
             << tile::getUserName(side.storage) << "': " << slice.error();
    owners = &side;
    return view;
  };
  if (source.isFragment()) {
    FailureOr<FragmentView> view = viewOf(source);
    if (failed(view))
      return failure();
    sourceView = *view;
    layout = view->layout;
  }
  if (dest.isFragment()) {
    FailureOr<FragmentView> view = viewOf(dest);
    if (failed(view))
      return failure();
    destView = *view;
    layout = view->layout;
  }
  int64_t vector = 1;
  bool perThread = source.isLocal() || dest.isLocal();
  if (!sourceView && !destView) {
    if (perThread) {
      auto whole = layout::fullyReplicated(shape, threads);
      if (!whole)
        return op->emitOpError(whole.error());
      layout = *whole;
    } else {
      // The widest vectors that both sides allow at every thread's start.
      int64_t widest =
          std::max<int64_t>(1, 16 / std::max(elementBytes(source.elementType),
                                             elementBytes(dest.elementType)));
      auto allows = [&](const Side &side, ArrayRef<Coordinate> offsets,
                        int64_t count) {
        SmallVector<LaneAccess> lanes;
        for (int64_t i = 0; i < count; ++i) {
          // Any row: the pitch counts, not only where the region starts.
          Coordinates iteration(shape.size(), Coordinate::get(1));
          if (!iteration.empty())
            iteration.back() = Coordinate::get(i);
          LaneAccess lane{coordinatesIn(ix, side, offsets, iteration), {}};
          if (!side.isTensor() &&
              failed(mapToAllocation(op, side.storage, lane.coordinates)))
            return false;
          lanes.push_back(lane);
        }
        if (side.isTensor()) {
          bool whole = copy.checkBounds && !async;
          return groupGlobal(side.storage, lanes, whole).size() == 1;
        }
        auto sharedLayoutOr = sharedLayout(op, side.storage);
        return succeeded(sharedLayoutOr) &&
               groupShared(*sharedLayoutOr, lanes).size() == 1;
      };
      int64_t inner = shape.empty() ? 1 : shape.back();
      for (vector = widest; vector > 1; vector /= 2)
        if (inner % vector == 0 && allows(source, sourceOffsets, vector) &&
            allows(dest, destOffsets, vector))
          break;
      auto blocked = layout::blocked(shape, threads, vector);
      if (!blocked)
        return op->emitOpError(blocked.error());
      layout = *blocked;
    }
  }

  // Matrix moves between shared memory and fragments.
  if (copy.path == tile::Path::Ldmatrix && destView && source.isShared() &&
      !owners)
    return copyMatrices(op, source.storage, sourceOffsets, source.iterationDim,
                        *destView, dest.elementType, source.elementType,
                        /*isLoad=*/true);
  if (copy.path == tile::Path::Stmatrix && sourceView && dest.isShared() &&
      !owners)
    return copyMatrices(op, dest.storage, destOffsets, dest.iterationDim,
                        *sourceView, source.elementType, dest.elementType,
                        /*isLoad=*/false);

  // One lane per register.
  std::vector<int64_t> sourceRegister;
  if (sourceView) {
    if (destView) {
      auto access = layout::projectedAccess(
          layout, sourceView->layout, layout::identityAccess(layout.rank()));
      if (!access)
        return op->emitOpError()
               << "the fragments have different layouts (" << access.error()
               << "); a tile.convert is needed";
      sourceRegister = access->operandRegister;
    } else {
      sourceRegister.resize(layout.numRegisters());
      for (size_t r = 0; r < sourceRegister.size(); ++r)
        sourceRegister[r] = r;
    }
  }
  int innermost = layout.rank() - 1;
  int64_t run = innermost >= 0 ? layout.contiguousElements(innermost) : 1;
  ArrayRef<Coordinate> partStart =
      source.isFragment() ? ArrayRef<Coordinate>(sourceOffsets) : destOffsets;
  bool partInRuns = owners && innermost >= 0 && partStart.back().isConstant() &&
                    partStart.back().constant % run == 0 &&
                    owners->sizes.back() % run == 0;
  Value primary = perThread || destView ? Value() : primaryPredicate(layout);
  ArrayRef<Coordinate> threadPart = threadOffsets(layout);
  struct Lane {
    int64_t reg;
    LaneAccess source, dest;
  };
  std::vector<Lane> lanes;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    if (layout.occupancy(r) == layout::Occupancy::Never)
      continue;
    std::vector<int64_t> constants = layout.registerOffset(r);
    Coordinates iteration(threadPart);
    for (int d = 0; d < layout.rank(); ++d)
      iteration[d].constant += constants[d];
    Value occupied = occupancyPredicate(layout, r - r % run);
    if (owners) {
      // Vectors of which the part takes all or nothing have one predicate.
      Coordinates first(iteration);
      if (partInRuns)
        first.back().constant -= r % run;
      if (!restrictToPart(first, occupied, partStart, owners->sizes))
        continue;
      Value known;
      restrictToPart(iteration, known, partStart, owners->sizes);
    }
    Lane lane{r, {}, {}};
    lane.source.predicate =
        ix.both(ambientPredicate, ix.both(occupied, primary));
    lane.dest.predicate = lane.source.predicate;
    if (!source.isFragment())
      lane.source.coordinates =
          coordinatesIn(ix, source, sourceOffsets, iteration);
    if (!dest.isFragment())
      lane.dest.coordinates = coordinatesIn(ix, dest, destOffsets, iteration);
    lanes.push_back(std::move(lane));
  }

  if (async && succeeded(tryAsyncCopy(
                   op, copy.source.storage, copy.dest.storage,
                   [&](size_t i) {
                     return std::make_pair(lanes[i].source, lanes[i].dest);
                   },
                   lanes.size(), vector, copy.checkBounds)))
    return success();
  // The report has promised it: whoever sees this finds one that is wrong.
  if (auto choice = op->getAttrOfType<tile::ChoiceAttr>("choice");
      async && choice && choice.getPath() == tile::Path::CpAsync)
    op->emitWarning("chosen as cp.async, but the alignment of its ")
        << vector * elementBytes(source.elementType)
        << "-byte accesses allows plain loads and stores only";
  copiesPlainly |= async;

  SmallVector<Value> destRegisters, sourceRegisters;
  if (destView) {
    bool whole =
        !owners && static_cast<int64_t>(destView->registers.size()) ==
                       tile_gpu::getRegisterType(
                           cast<tile::BufferType>(destView->alloc.getType()))
                           .getNumElements();
    if (whole)
      destRegisters.assign(destView->registers.size(),
                           zero(tile::getScalarType(dest.elementType)));
    else
      destRegisters = readRegisters(destView->alloc);
  }
  if (sourceView)
    sourceRegisters = readRegisters(sourceView->alloc);

  // Loads of a few vectors before their stores keep several in flight.
  constexpr size_t kVectorsInFlight = 8;
  size_t widestRun = std::max<int64_t>({vector, run, 1});
  size_t chunk = destView || sourceView
                     ? std::max<size_t>(lanes.size(), 1)
                     : kVectorsInFlight * std::min<size_t>(widestRun, 16);
  for (size_t first = 0; first < lanes.size(); first += chunk) {
    ArrayRef<Lane> part = ArrayRef<Lane>(lanes).slice(
        first, std::min(chunk, lanes.size() - first));
    SmallVector<Value> values;
    if (sourceView) {
      for (const Lane &lane : part) {
        int64_t r = sourceRegister[lane.reg];
        int64_t held = r < 0 ? -1 : sourceView->registers[r];
        values.push_back(held < 0
                             ? zero(tile::getScalarType(source.elementType))
                             : sourceRegisters[held]);
      }
    } else {
      SmallVector<LaneAccess> accesses;
      for (const Lane &lane : part)
        accesses.push_back(lane.source);
      FailureOr<SmallVector<Value>> loaded =
          load(op, source.storage, accesses, copy.checkBounds, copy.safe);
      if (failed(loaded))
        return failure();
      values = *loaded;
    }
    values = convertScalars(values, source.elementType, dest.elementType);
    if (destView) {
      for (auto [lane, value] : llvm::zip_equal(part, values)) {
        int64_t held = destView->registers[lane.reg];
        if (held < 0)
          continue;
        // Registers of threads that hold nothing of the part keep what they
        // have.
        Value predicate = owners ? lane.source.predicate : Value();
        destRegisters[held] =
            predicate ? arith::SelectOp::create(b, ix.loc(), predicate, value,
                                                destRegisters[held])
                            .getResult()
                      : value;
      }
      continue;
    }
    SmallVector<LaneAccess> accesses;
    for (const Lane &lane : part)
      accesses.push_back(lane.dest);
    if (failed(store(op, dest.storage, values, accesses, copy.checkBounds)))
      return failure();
  }
  if (destView)
    writeRegisters(destView->alloc, destRegisters);
  return success();
}

LogicalResult KernelLowering::tryAsyncCopy(
    Operation *op, Value tensor, Value buffer,
    llvm::function_ref<std::pair<LaneAccess, LaneAccess>(size_t)> lane,
    size_t count, int64_t vector, bool checkBounds) {
  if (!isa<MemRefType>(tensor.getType()) || capability < 80)
    return failure();
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = elementBytes(type.getElementType());
  int64_t width = vector * bytes;
  if (width != 4 && width != 8 && width != 16)
    return failure();
  if (tile::getStorageElementType(buffer.getType()) != type.getElementType())
    return failure();
  SmallVector<Coordinates> destinations;
  SmallVector<LaneAccess> sources, allSources, allDestinations;
  for (size_t i = 0; i < count; ++i) {
    auto [source, dest] = lane(i);
    if (failed(mapToAllocation(op, buffer, dest.coordinates)))
      return failure();
    allSources.push_back(source);
    allDestinations.push_back(dest);
    if (i % vector == 0) {
      destinations.push_back(dest.coordinates);
      sources.push_back(source);
    }
  }
  // Every vector must be one aligned run on both sides.
  auto whole = [&](ArrayRef<LaneGroup> groups) {
    return llvm::all_of(groups, [&](LaneGroup group) {
      return group.first % vector == 0 && group.count % vector == 0;
    });
  };
  FailureOr<layout::SharedLayout> shared = sharedLayout(op, buffer);
  if (failed(shared) ||
      !whole(
          groupGlobal(tensor, allSources, /*wholeVectorsOnly=*/false, width)) ||
      !whole(groupShared(*shared, allDestinations)))
    return failure();
  FailureOr<SmallVector<SharedAddress>> addresses =
      sharedAddresses(op, buffer, destinations);
  if (failed(addresses))
    return failure();
  int64_t last = type.getRank() - 1;
  bool wholeVectors = last < 0 || innerExtentDivisor(tensor) % vector == 0;
  // Bytes up to the end of the row. Counted in elements first: the bytes of a
  // long row are no i32.
  auto remaining = [&](const LaneAccess &source) -> Value {
    Value left =
        ix.sub(extent(tensor, last), ix.materialize(source.coordinates[last]));
    return ix.mul(ix.minimum(left, ix.i32(width / bytes)), bytes);
  };
  for (auto [source, address] : llvm::zip_equal(sources, *addresses)) {
    Value valid;
    if (checkBounds) {
      if (Value inside = boundsPredicate(tensor, source.coordinates)) {
        Value available = wholeVectors ? ix.i32(width) : remaining(source);
        valid =
            arith::SelectOp::create(b, ix.loc(), inside, available, ix.i32(0));
      } else if (!wholeVectors) {
        valid = remaining(source);
      }
    }
    tile_gpu::AsyncCopyOp::create(
        b, ix.loc(), tensor, globalOffset(tensor, source.coordinates),
        address.base, static_cast<uint32_t>(address.offset), valid,
        source.predicate, static_cast<uint64_t>(width),
        /*bypass_l1=*/width == 16);
  }
  return success();
}
