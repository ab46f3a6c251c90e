//===- LowerParallel.cpp - tile.parallel ------------------------*- C++ -*-===//
//
// The body is emitted once per register of the layout. Lanes (iterations of one
// thread) that follow each other go through the body together, operation by
// operation, so that their memory accesses can be joined into vectors. Elements
// of fragments are scalars meanwhile; where control flow inside of the body
// writes them, they become results of the control flow.
//
//===----------------------------------------------------------------------===//
#include "ParallelEmitter.h"

#include "tilemlir/Dialect/Tile/Transforms/UnitFactors.h"
#include "tilemlir/Layout/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Lanes that go through the body together.
static constexpr int64_t kLanesTogether = 16;

bool ParallelEmitter::isRegisterBuffer(Value storage) {
  auto type = dyn_cast<tile::BufferType>(storage.getType());
  if (!type)
    return false;
  if (type.isFragment())
    return true;
  return type.isLocal() &&
         kernel.isHeldInRegisters(tile::getAllocation(storage));
}

/// Operations that must not run in lanes that are switched off.
static bool needsGuard(Block &block) {
  return block
      .walk([](Operation *op) {
        if (isa<scf::IfOp, scf::ForOp, scf::WhileOp, arith::DivSIOp,
                arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                arith::CeilDivSIOp, arith::FloorDivSIOp, tile::AssertOp,
                tile::PrintOp>(op))
          return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the parallel loop around `user` begins with a store to the scalar
/// `local`, so that it does not see what was in it.
static bool overwritesFirst(Operation *user, tile::AllocOp local) {
  auto loop = user->getParentOfType<tile::ParallelOp>();
  if (!loop || cast<tile::BufferType>(local.getType()).getRank() != 0)
    return false;
  for (Operation &op : *loop.getBodyBlock()) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      if (store.getDest() == local.getResult())
        return true;
    bool uses =
        op.walk([&](Operation *inner) {
            return llvm::is_contained(inner->getOperands(), local.getResult())
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          }).wasInterrupted();
    if (uses)
      return false;
  }
  return false;
}

/// Whether threads that repeat the iterations of others must leave out `op`:
/// they would read memory while those others write it, or need old values of
/// atomics. Without stores of fragments, nothing needs what they compute.
static bool mustNotRepeat(tile::ParallelOp op) {
  llvm::DenseSet<void *> read, written;
  bool needsOldValue = false;
  auto note = [](Value storage, llvm::DenseSet<void *> &set) {
    auto type = dyn_cast<tile::BufferType>(storage.getType());
    if (!type)
      set.insert(storage.getAsOpaquePointer());
    else if (!type.isFragment() && !type.isLocal())
      set.insert(tile::getAllocation(storage).getOperation());
  };
  WalkResult walk = op.walk([&](Operation *inner) {
    if (auto load = dyn_cast<tile::LoadOp>(inner)) {
      note(load.getSource(), read);
    } else if (auto atomic = dyn_cast<tile::AtomicOp>(inner)) {
      needsOldValue |= atomic.getResult() && !atomic.getResult().use_empty();
      note(atomic.getDest(), written);
    } else if (auto store = dyn_cast<tile::StoreOp>(inner)) {
      auto type = dyn_cast<tile::BufferType>(store.getDest().getType());
      note(store.getDest(), written);
      if (type && type.isFragment())
        return WalkResult::interrupt();
      if (type && type.isLocal()) {
        tile::AllocOp local = tile::getAllocation(store.getDest());
        for (Operation *user : local->getUsers())
          if (!op->isProperAncestor(user) && !overwritesFirst(user, local))
            return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return false;
  return needsOldValue ||
         llvm::any_of(read, [&](void *one) { return written.contains(one); });
}

void KernelLowering::findLoopsNotRepeated() {
  kernel.walk([&](tile::ParallelOp op) {
    if (mustNotRepeat(op))
      notRepeated.insert(op);
  });
}

LogicalResult ParallelEmitter::run() {
  if (layout.numThreads() != kernel.threads)
    return op.emitOpError() << "is laid out over " << layout.numThreads()
                            << " threads in a kernel of " << kernel.threads;
  Block &body = *op.getBodyBlock();
  primary = kernel.primaryPredicate(layout);
  bool notRepeated = primary && kernel.notRepeated.contains(op);

  // Registers of the buffers that the body uses become scalars.
  bool writesLocals = false;
  WalkResult walk = op.walk([&](Operation *inner) {
    Value storage =
        llvm::TypeSwitch<Operation *, Value>(inner)
            .Case<tile::LoadOp>([](auto load) { return load.getSource(); })
            .Case<tile::StoreOp>([](auto store) { return store.getDest(); })
            .Default([](Operation *) { return Value(); });
    if (!storage)
      return WalkResult::advance();
    auto type = dyn_cast<tile::BufferType>(storage.getType());
    if (type && type.isLocal() && isa<tile::StoreOp>(inner))
      writesLocals = true;
    if (!isRegisterBuffer(storage))
      return WalkResult::advance();
    tile::AllocOp alloc = tile::getAllocation(storage);
    auto bufferType = cast<tile::BufferType>(alloc.getType());
    if (bufferType.isFragment() && !bufferType.getFragmentLayout()) {
      inner->emitOpError() << "uses fragment '" << tile::getUserName(storage)
                           << "', which has no layout";
      return WalkResult::interrupt();
    }
    if (!registers.count(alloc))
      registers[alloc] = kernel.readRegisters(alloc);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();

  ArrayRef<int64_t> extents = op.getStaticExtents();
  int innermost = layout.rank() - 1;
  int64_t run = innermost >= 0 ? layout.contiguousElements(innermost) : 1;
  ArrayRef<Coordinate> threadPart = kernel.threadOffsets(layout);
  std::vector<Lane> lanes;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    if (layout.occupancy(r) == layout::Occupancy::Never)
      continue;
    Lane lane;
    lane.reg = r;
    lane.iteration.assign(threadPart.begin(), threadPart.end());
    std::vector<int64_t> constants = layout.registerOffset(r);
    for (int d = 0; d < layout.rank(); ++d)
      lane.iteration[d].constant += constants[d];
    // Vectors of the layout do not straddle its shape: one predicate for each.
    lane.predicate = kernel.occupancyPredicate(layout, r - r % run);
    lanes.push_back(std::move(lane));
  }
  unsigned dynamicIndex = 0;
  for (auto [d, size] : llvm::enumerate(extents)) {
    bool dynamic = ShapedType::isDynamic(size);
    Value bound = dynamic ? op.getExtents()[dynamicIndex++] : Value();
    if (!dynamic && size >= layout.shape()[d])
      continue;
    if (!dynamic)
      bound = ix.i32(size);
    for (Lane &lane : lanes)
      lane.predicate =
          ix.both(lane.predicate,
                  ix.lessUnsigned(ix.materialize(lane.iteration[d]), bound));
  }

  // Iterations that are neighbours in memory follow each other, also where the
  // registers between them hold others (operands of matrix instructions).
  int64_t reach = run;
  for (const layout::Mode &mode : layout.registerModes())
    if (mode.dim == innermost && mode.stride == reach)
      reach *= mode.extent;
  if (reach > run)
    llvm::stable_sort(lanes, [&](const Lane &lhs, const Lane &rhs) {
      return layout.registerOffset(lhs.reg) < layout.registerOffset(rhs.reg);
    });

  together = writesLocals ? 1 : std::max<int64_t>(kLanesTogether, run);
  guard = needsGuard(body);
  if (notRepeated) {
    guard = true;
    for (Lane &lane : lanes)
      lane.predicate = ix.both(lane.predicate, primary);
    primary = Value();
  }
  if (failed(tile::getSkippedMultiplications(op) ? emitUnlessUnit(lanes)
                                                 : emitLanes(lanes)))
    return failure();
  for (Operation *alloc : written)
    kernel.writeRegisters(cast<tile::AllocOp>(alloc), registers[alloc]);
  return success();
}

LogicalResult ParallelEmitter::emitLanes(std::vector<Lane> &lanes) {
  Block &body = *op.getBodyBlock();
  for (size_t first = 0; first < lanes.size(); first += together) {
    Lanes part =
        Lanes(lanes).slice(first, std::min(together, lanes.size() - first));
    for (Lane &lane : part)
      for (auto [argument, coordinate] :
           llvm::zip_equal(body.getArguments(), lane.iteration))
        if (!argument.use_empty())
          lane.map.map(argument, ix.materialize(coordinate));
    if (!guard ||
        llvm::none_of(part, [](Lane &lane) { return lane.predicate; })) {
      if (failed(emitBlock(body, part)))
        return failure();
      continue;
    }
    for (Lane &lane : part)
      if (failed(lane.predicate ? emitGuarded(body, lane)
                                : emitBlock(body, MutableArrayRef<Lane>(lane))))
        return failure();
  }
  return success();
}

LogicalResult ParallelEmitter::emitBlock(Block &block, Lanes lanes) {
  for (Operation &source : block) {
    if (source.hasTrait<OpTrait::IsTerminator>())
      continue;
    ix.setLocation(source.getLoc());
    if (failed(emitOp(&source, lanes)))
      return failure();
  }
  return success();
}

Value ParallelEmitter::mapped(Value value, Lane &lane) {
  return lane.map.lookupOrDefault(value);
}

Coordinate ParallelEmitter::evaluate(Value value, Lane &lane) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getOwner() == op.getBodyBlock())
      return lane.iteration[argument.getArgNumber()];
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Coordinate::get(constant.getSExtValue());
  Operation *def = value.getDefiningOp();
  bool outside =
      def ? !op->isProperAncestor(def)
          : !op->isAncestor(
                cast<BlockArgument>(value).getOwner()->getParentOp());
  if (outside)
    return ix.fromValue(value);
  if (def && value.getType().isInteger(32)) {
    auto operand = [&](unsigned i) {
      return evaluate(def->getOperand(i), lane);
    };
    if (isa<arith::AddIOp>(def))
      return ix.add(operand(0), operand(1));
    if (isa<arith::SubIOp>(def))
      return ix.sub(operand(0), operand(1));
    if (isa<arith::MulIOp>(def)) {
      Coordinate lhs = operand(0), rhs = operand(1);
      if (rhs.isConstant())
        return ix.mul(lhs, rhs.constant);
      if (lhs.isConstant())
        return ix.mul(rhs, lhs.constant);
    }
    if (std::optional<Coordinate> part = evaluateQuotient(def, lane))
      return *part;
  }
  // Anything else is a value of its own for every lane, but may be a constant
  // after folding.
  return ix.fromValue(mapped(value, lane));
}

std::optional<Coordinate> ParallelEmitter::evaluateQuotient(Operation *def,
                                                            Lane &lane) {
  if (!isa<arith::DivUIOp, arith::FloorDivSIOp, arith::ShRUIOp, arith::RemUIOp,
           arith::AndIOp>(def))
    return std::nullopt;
  APInt constant;
  if (!matchPattern(def->getOperand(1), m_ConstantInt(&constant)))
    return std::nullopt;
  int64_t by = constant.getSExtValue();
  if (isa<arith::ShRUIOp>(def))
    by = by >= 0 && by < 24 ? int64_t(1) << by : 0;
  else if (isa<arith::AndIOp>(def))
    by = llvm::isPowerOf2_64(by + 1) ? by + 1 : 0;
  if (by <= 0)
    return std::nullopt;
  Coordinate whole = evaluate(def->getOperand(0), lane);
  return isa<arith::RemUIOp, arith::AndIOp>(def) ? ix.remainder(whole, by)
                                                 : ix.quotient(whole, by);
}

FailureOr<SmallVector<LaneAccess>> ParallelEmitter::accesses(ValueRange indices,
                                                             Lanes lanes) {
  SmallVector<LaneAccess> result;
  for (Lane &lane : lanes) {
    LaneAccess access;
    for (Value index : indices)
      access.coordinates.push_back(evaluate(index, lane));
    access.predicate = lane.predicate;
    result.push_back(std::move(access));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

bool ParallelEmitter::dependsOnlyOn(Value value, int dim) {
  for (;;) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == op.getBodyBlock() &&
             static_cast<int>(argument.getArgNumber()) == dim;
    Operation *def = value.getDefiningOp();
    if (!isa<arith::AddIOp, arith::SubIOp>(def))
      return false;
    if (matchPattern(def->getOperand(1), m_Constant()))
      value = def->getOperand(0);
    else if (isa<arith::AddIOp>(def) &&
             matchPattern(def->getOperand(0), m_Constant()))
      value = def->getOperand(1);
    else
      return false;
  }
}

FailureOr<RegisterSlot> ParallelEmitter::slotOf(Operation *access,
                                                Value storage,
                                                ValueRange indices,
                                                Lane &lane) {
  auto type = cast<tile::BufferType>(storage.getType());
  tile::AllocOp alloc = tile::getAllocation(storage);
  if (type.isLocal()) {
    Coordinates coordinates;
    for (Value index : indices)
      coordinates.push_back(evaluate(index, lane));
    if (failed(kernel.mapToAllocation(access, storage, coordinates)))
      return failure();
    int64_t index = 0;
    for (auto [size, coordinate] : llvm::zip_equal(
             cast<tile::BufferType>(alloc.getType()).getShape(), coordinates))
      index = index * size + coordinate.constant;
    if (index < 0 || index >= std::max<int64_t>(1, type.getNumElements()))
      return access->emitOpError() << "accesses element " << index << " of '"
                                   << tile::getUserName(storage)
                                   << "', which has " << type.getNumElements();
    return RegisterSlot(alloc, index);
  }
  // Indices: an iteration dimension plus a constant, or a constant.
  std::vector<layout::AccessIndex> indexForms;
  bool cacheable = true;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Coordinate at = evaluate(index, lane);
    std::optional<layout::AccessIndex> form;
    for (int d = 0; d < layout.rank() && !form; ++d)
      if (at.hasSameBase(lane.iteration[d]) && dependsOnlyOn(index, d))
        form = layout::AccessIndex::iteration(
            d, at.constant - lane.iteration[d].constant);
    if (!form && at.isConstant())
      form = layout::AccessIndex::constant(at.constant);
    if (!form)
      return access->emitOpError() << "index " << dim << " of fragment '"
                                   << tile::getUserName(storage)
                                   << "' is neither an index of the parallel "
                                      "loop (plus a constant) nor a constant; "
                                      "go through a shared buffer";
    if (form->iterationDim == layout::AccessIndex::kConstant)
      cacheable = false;
    indexForms.push_back(*form);
  }
  auto found = fragmentAccesses.find(access);
  if (found == fragmentAccesses.end() || !cacheable) {
    FailureOr<FragmentView> view = kernel.viewFragment(access, storage);
    if (failed(view))
      return failure();
    auto table = layout::projectedAccess(layout, view->layout, indexForms);
    if (!table)
      return access->emitOpError()
             << "fragment '" << tile::getUserName(storage)
             << "' is not where this loop needs it: " << table.error();
    fragmentAccesses[access] = FragmentAccess{*view, table->operandRegister};
    found = fragmentAccesses.find(access);
  }
  int64_t r = found->second.table[lane.reg];
  int64_t held = r < 0 ? -1 : found->second.view.registers[r];
  if (held < 0)
    return access->emitOpError()
           << "accesses fragment '" << tile::getUserName(storage)
           << "' beyond its shape";
  return RegisterSlot(alloc, held);
}

Value &ParallelEmitter::current(RegisterSlot slot) {
  return registers[slot.first][slot.second];
}

LogicalResult
ParallelEmitter::collectWrites(Region &region, Lane &lane,
                               llvm::SetVector<RegisterSlot> &slots) {
  WalkResult result = region.walk([&](tile::StoreOp store) {
    if (!isRegisterBuffer(store.getDest()))
      return WalkResult::advance();
    FailureOr<RegisterSlot> slot =
        slotOf(store, store.getDest(), store.getIndices(), lane);
    if (failed(slot))
      return WalkResult::interrupt();
    slots.insert(*slot);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Brings loads into the order of memory, in which neighbours are joined into
/// vectors, where it is known at compile time: iterations may read them in any
/// other. Gives the new position of each.
static SmallVector<size_t> sortByAddress(SmallVector<LaneAccess> &accesses) {
  SmallVector<size_t> order = llvm::to_vector(llvm::seq(accesses.size()));
  auto differByConstants = [&](const LaneAccess &access) {
    return access.predicate == accesses.front().predicate &&
           llvm::all_of(llvm::zip_equal(access.coordinates,
                                        accesses.front().coordinates),
                        [](const auto &pair) {
                          return std::get<0>(pair).hasSameBase(
                              std::get<1>(pair));
                        });
  };
  if (llvm::all_of(accesses, differByConstants))
    llvm::stable_sort(order, [&](size_t lhs, size_t rhs) {
      auto constant = [](const Coordinate &at) { return at.constant; };
      return llvm::map_to_vector(accesses[lhs].coordinates, constant) <
             llvm::map_to_vector(accesses[rhs].coordinates, constant);
    });
  SmallVector<LaneAccess> sorted;
  SmallVector<size_t> place(accesses.size());
  for (auto [to, from] : llvm::enumerate(order)) {
    sorted.push_back(accesses[from]);
    place[from] = to;
  }
  accesses = std::move(sorted);
  return place;
}

LogicalResult ParallelEmitter::emitLoad(tile::LoadOp load, Lanes lanes) {
  Value storage = load.getSource();
  if (isRegisterBuffer(storage)) {
    for (Lane &lane : lanes) {
      FailureOr<RegisterSlot> slot =
          slotOf(load, storage, load.getIndices(), lane);
      if (failed(slot))
        return failure();
      lane.map.map(load.getResult(), current(*slot));
    }
    return success();
  }
  FailureOr<SmallVector<LaneAccess>> where = accesses(load.getIndices(), lanes);
  if (failed(where))
    return failure();
  // Elements that several lanes read (of packed storage, or along a dimension
  // that the loop does not index) are loaded once, as parts of vectors.
  SmallVector<LaneAccess> distinct;
  SmallVector<size_t> position;
  for (const LaneAccess &access : *where) {
    auto found = llvm::find_if(distinct, [&](const LaneAccess &other) {
      return other.predicate == access.predicate &&
             llvm::all_of(
                 llvm::zip_equal(access.coordinates, other.coordinates),
                 [](const auto &pair) {
                   auto &[one, two] = pair;
                   return one.hasSameBase(two) && one.constant == two.constant;
                 });
    });
    position.push_back(found - distinct.begin());
    if (found == distinct.end())
      distinct.push_back(access);
  }
  SmallVector<size_t> place = sortByAddress(distinct);
  bool checkBounds = load.getBounds() != tile::Bounds::Full;
  FailureOr<SmallVector<Value>> values =
      kernel.load(load, storage, distinct, checkBounds, load.getSafeAttr());
  if (failed(values))
    return failure();
  for (auto [lane, from] : llvm::zip_equal(lanes, position))
    lane.map.map(load.getResult(), (*values)[place[from]]);
  return success();
}

LogicalResult ParallelEmitter::emitStore(tile::StoreOp store, Lanes lanes) {
  Value storage = store.getDest();
  if (isRegisterBuffer(storage)) {
    for (Lane &lane : lanes) {
      FailureOr<RegisterSlot> slot =
          slotOf(store, storage, store.getIndices(), lane);
      if (failed(slot))
        return failure();
      Value value = mapped(store.getValue(), lane);
      Value &held = current(*slot);
      // A lane that is switched off keeps what the register held: zero in
      // padding, an element outside of dynamic extents.
      held = lane.predicate ? arith::SelectOp::create(
                                  b, ix.loc(), lane.predicate, value, held)
                                  .getResult()
                            : value;
      written.insert(slot->first);
    }
    return success();
  }
  FailureOr<SmallVector<LaneAccess>> where =
      accesses(store.getIndices(), lanes);
  if (failed(where))
    return failure();
  auto type = dyn_cast<tile::BufferType>(storage.getType());
  SmallVector<Value> values;
  for (auto [lane, access] : llvm::zip_equal(lanes, *where)) {
    values.push_back(mapped(store.getValue(), lane));
    if (!type || !type.isLocal())
      access.predicate = ix.both(access.predicate, primary);
  }
  bool checkBounds = store.getBounds() != tile::Bounds::Full;
  return kernel.store(store, storage, values, *where, checkBounds);
}

LogicalResult ParallelEmitter::emitAtomic(tile::AtomicOp atomic, Lanes lanes) {
  FailureOr<SmallVector<LaneAccess>> where =
      accesses(atomic.getIndices(), lanes);
  if (failed(where))
    return failure();
  if (primary && atomic.getResult() && !atomic.getResult().use_empty())
    return atomic.emitOpError(
        "the old value is needed in threads that repeat the iteration of "
        "others; store it in a shared buffer");
  SmallVector<Value> values;
  for (auto [lane, access] : llvm::zip_equal(lanes, *where)) {
    values.push_back(mapped(atomic.getValue(), lane));
    access.predicate = ix.both(access.predicate, primary);
  }
  bool checkBounds = atomic.getBounds() != tile::Bounds::Full;
  FailureOr<SmallVector<Value>> results =
      kernel.atomic(atomic, atomic.getDest(), values, *where, checkBounds);
  if (failed(results))
    return failure();
  if (atomic.getResult())
    for (auto [lane, value] : llvm::zip_equal(lanes, *results))
      lane.map.map(atomic.getResult(), value);
  return success();
}

LogicalResult ParallelEmitter::emitOp(Operation *source, Lanes lanes) {
  if (auto load = dyn_cast<tile::LoadOp>(source))
    return emitLoad(load, lanes);
  if (auto store = dyn_cast<tile::StoreOp>(source))
    return emitStore(store, lanes);
  if (auto atomic = dyn_cast<tile::AtomicOp>(source))
    return emitAtomic(atomic, lanes);
  if (isa<tile::AssumeOp>(source))
    return success();
  if (auto print = dyn_cast<tile::PrintOp>(source)) {
    if (print.getBuffer())
      return print.emitOpError(
          "cannot print a whole buffer inside of a parallel loop");
    for (Lane &lane : lanes) {
      SmallVector<Value> scalars;
      for (Value scalar : print.getScalars())
        scalars.push_back(kernel.printable(mapped(scalar, lane)));
      tile_gpu::PrintOp::create(b, ix.loc(), print.getMessage(), scalars,
                                ix.both(lane.predicate, primary),
                                print.getIsUnsigned());
    }
    return success();
  }
  if (auto check = dyn_cast<tile::AssertOp>(source)) {
    for (Lane &lane : lanes)
      tile_gpu::AssertOp::create(
          b, ix.loc(), mapped(check.getCondition(), lane), check.getMessage());
    return success();
  }
  if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(source)) {
    for (Lane &lane : lanes) {
      LogicalResult done =
          llvm::TypeSwitch<Operation *, LogicalResult>(source)
              .Case<scf::IfOp>([&](auto inner) { return emitIf(inner, lane); })
              .Case<scf::ForOp>(
                  [&](auto inner) { return emitFor(inner, lane); })
              .Case<scf::WhileOp>(
                  [&](auto inner) { return emitWhile(inner, lane); });
      if (failed(done))
        return failure();
    }
    return success();
  }
  if (isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(source))
    return source->emitOpError(
        "depends on the iteration of a parallel loop and could not be "
        "expressed "
        "by indices (tile-canonicalize-kernel); index the buffer instead");
  if (!isMemoryEffectFree(source) || source->getNumRegions())
    return source->emitOpError("is not supported inside of a parallel loop");

  // Rounding two neighbours is one instruction.
  auto truncate = dyn_cast<arith::TruncFOp>(source);
  if (truncate && truncate.getIn().getType().isF32() && lanes.size() > 1 &&
      truncate.getType().getIntOrFloatBitWidth() <= 16) {
    SmallVector<Value> values;
    for (Lane &lane : lanes)
      values.push_back(mapped(truncate.getIn(), lane));
    values = kernel.convertScalars(values, truncate.getIn().getType(),
                                   truncate.getType());
    for (auto [lane, value] : llvm::zip_equal(lanes, values))
      lane.map.map(truncate.getResult(), value);
    return success();
  }
  for (Lane &lane : lanes)
    emitScalar(source, lane);
  return success();
}

void ParallelEmitter::emitScalar(Operation *source, Lane &lane) {
  if (source->getNumResults() != 1 ||
      !source->getResult(0).getType().isInteger()) {
    b.clone(*source, lane.map);
    return;
  }
  // What is the same in all threads is a constant: the amount by which a packed
  // number is shifted, say.
  Value result = source->getResult(0);
  // Sums of indices end with their constant: lanes share what is in front of
  // it, and comparisons take it as an immediate.
  if (result.getType().isInteger(32) &&
      isa<arith::AddIOp, arith::SubIOp>(source)) {
    Coordinate sum = evaluate(result, lane);
    if (llvm::isInt<32>(sum.constant)) {
      lane.map.map(result, ix.materialize(sum));
      return;
    }
  }
  if (result.getType().isInteger(32))
    if (std::optional<Coordinate> at = evaluateQuotient(source, lane);
        at && at->isConstant()) {
      lane.map.map(result, ix.materialize(*at));
      return;
    }
  Operation *clone = b.clone(*source, lane.map);
  SmallVector<Value> folded;
  if (succeeded(b.tryFold(clone, folded)) && !folded.empty()) {
    lane.map.map(result, folded.front());
    clone->erase();
  }
}

LogicalResult KernelLowering::lowerTransposedStore(tile::ParallelOp op) {
  std::optional<tile::TransposedStore> match = tile::matchTransposedStore(op);
  if (!match)
    return op.emitOpError("is to be done by stmatrix, but does more than store "
                          "a fragment transposed to shared memory");
  FailureOr<FragmentView> view = viewFragment(op, match->load.getSource());
  if (failed(view))
    return failure();
  // The rows of the shared matrix are the columns of the fragment.
  return copyMatrices(
      op, match->store.getDest(), Coordinates(2), /*iterationDim=*/{1, 0},
      *view, tile::getStorageElementType(match->load.getSource().getType()),
      tile::getStorageElementType(match->store.getDest().getType()),
      /*isLoad=*/false);
}

LogicalResult KernelLowering::lowerParallel(tile::ParallelOp op) {
  if (!op.getLayout())
    return op.emitOpError("has no layout; run tile-assign-layouts");
  // Views of the same part in every iteration belong in front of the loop.
  SmallVector<Operation *> views;
  op.walk([&](Operation *inner) {
    if (isa<tile::SubviewOp, tile::ReshapeOp, tile::BitcastOp>(inner))
      views.push_back(inner);
  });
  for (Operation *view : views)
    if (llvm::all_of(view->getOperands(), [&](Value operand) {
          return !op->isAncestor(operand.getParentBlock()->getParentOp());
        }))
      view->moveBefore(op);
  if (op.getChoice() && op.getChoice()->getPath() == tile::Path::Stmatrix)
    return lowerTransposedStore(op);
  return ParallelEmitter(*this, op).run();
}
