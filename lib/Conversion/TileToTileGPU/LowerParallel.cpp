//===- LowerParallel.cpp - tile.parallel ------------------------*- C++ -*-===//
//
// The body is emitted once per register of the layout. Lanes (iterations of one
// thread) that follow each other go through the body together, operation by
// operation, so that their memory accesses can be joined into vectors. Elements
// of fragments are scalars meanwhile; where control flow inside of the body
// writes them, they become results of the control flow.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
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

namespace tilemlir::to_gpu {

/// Emits the body of one `tile.parallel`.
class ParallelEmitter {
public:
  ParallelEmitter(KernelLowering &kernel, tile::ParallelOp op)
      : kernel(kernel), op(op), ix(kernel.ix), b(kernel.b),
        layout(op.getLayout()->getLayout()) {}

  LogicalResult run();

private:
  /// One iteration of the executing thread.
  struct Lane {
    int64_t reg = 0;
    Coordinates iteration;
    Value predicate;
    IRMapping map;
  };
  using Lanes = MutableArrayRef<Lane>;

  LogicalResult emitBlock(Block &block, Lanes lanes);
  LogicalResult emitOp(Operation *source, Lanes lanes);
  LogicalResult emitLoad(tile::LoadOp load, Lanes lanes);
  LogicalResult emitStore(tile::StoreOp store, Lanes lanes);
  LogicalResult emitAtomic(tile::AtomicOp atomic, Lanes lanes);
  LogicalResult emitIf(scf::IfOp source, Lane &lane);
  LogicalResult emitFor(scf::ForOp source, Lane &lane);
  LogicalResult emitWhile(scf::WhileOp source, Lane &lane);
  /// The body under `lane.predicate`, as control flow.
  LogicalResult emitGuarded(Block &block, Lane &lane);

  // Registers that control flow writes travel as additional operands, region
  // arguments and results, behind those of the operation itself.
  using Slots = llvm::SetVector<RegisterSlot>;
  /// `own` for this lane, then the registers.
  SmallVector<Value> withRegisters(ValueRange own, const Slots &slots,
                                   Lane &lane);
  /// Arguments of a new region, or results of a new operation, stand for `own`
  /// and for the registers.
  void bind(ValueRange own, ValueRange values, const Slots &slots, Lane &lane);
  /// The same for results, which leave the registers written.
  void bindResults(ValueRange own, Operation *created, const Slots &slots,
                   Lane &lane);

  /// An index of the body for one lane, as far as it is affine.
  Coordinate evaluate(Value value, Lane &lane);
  Value mapped(Value value, Lane &lane);
  /// Whether `value` is index `dim` of the loop plus constants.
  bool dependsOnlyOn(Value value, int dim);
  FailureOr<SmallVector<LaneAccess>> accesses(ValueRange indices, Lanes lanes);

  bool isRegisterBuffer(Value storage);
  /// Registers by lane register that an access to a fragment or a local buffer
  /// in registers means; cached by operation.
  FailureOr<RegisterSlot> slotOf(Operation *access, Value storage,
                                 ValueRange indices, Lane &lane);
  Value &current(RegisterSlot slot);
  /// Slots that operations in `region` write, for this lane.
  LogicalResult collectWrites(Region &region, Lane &lane,
                              llvm::SetVector<RegisterSlot> &slots);

  KernelLowering &kernel;
  tile::ParallelOp op;
  IndexBuilder &ix;
  OpBuilder &b;
  layout::FragmentLayout layout;
  Value primary;
  /// Current scalars of the register buffers that the body uses.
  llvm::MapVector<Operation *, SmallVector<Value>> registers;
  llvm::SetVector<Operation *> written;
  struct FragmentAccess {
    FragmentView view;
    std::vector<int64_t> table;
  };
  llvm::DenseMap<Operation *, FragmentAccess> fragmentAccesses;
};

} // namespace tilemlir::to_gpu

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
      if (type && type.isLocal())
        for (Operation *user : tile::getAllocation(store.getDest())->getUsers())
          if (!op->isProperAncestor(user))
            return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return false;
  return needsOldValue ||
         llvm::any_of(read, [&](void *one) { return written.contains(one); });
}

LogicalResult ParallelEmitter::run() {
  if (layout.numThreads() != kernel.threads)
    return op.emitOpError() << "is laid out over " << layout.numThreads()
                            << " threads in a kernel of " << kernel.threads;
  Block &body = *op.getBodyBlock();
  primary = kernel.primaryPredicate(layout);
  // Asked before the registers of local buffers are read, which uses them.
  bool notRepeated = primary && mustNotRepeat(op);

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

  size_t together = writesLocals ? 1 : std::max<int64_t>(kLanesTogether, run);
  bool guard = needsGuard(body);
  if (notRepeated) {
    guard = true;
    for (Lane &lane : lanes)
      lane.predicate = ix.both(lane.predicate, primary);
    primary = Value();
  }
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
  for (Operation *alloc : written)
    kernel.writeRegisters(cast<tile::AllocOp>(alloc), registers[alloc]);
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
  }
  // Anything else is a value of its own for every lane, but may be a constant
  // after folding.
  return ix.fromValue(mapped(value, lane));
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
  bool checkBounds = load.getBounds() != tile::Bounds::Full;
  FailureOr<SmallVector<Value>> values =
      kernel.load(load, storage, *where, checkBounds, load.getSafeAttr());
  if (failed(values))
    return failure();
  for (auto [lane, value] : llvm::zip_equal(lanes, *values))
    lane.map.map(load.getResult(), value);
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
    b.clone(*source, lane.map);
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value>
ParallelEmitter::withRegisters(ValueRange own, const Slots &slots, Lane &lane) {
  SmallVector<Value> values;
  for (Value value : own)
    values.push_back(mapped(value, lane));
  for (RegisterSlot slot : slots)
    values.push_back(current(slot));
  return values;
}

void ParallelEmitter::bind(ValueRange own, ValueRange values,
                           const Slots &slots, Lane &lane) {
  for (auto [value, replacement] :
       llvm::zip_equal(own, values.take_front(own.size())))
    lane.map.map(value, replacement);
  for (auto [slot, value] :
       llvm::zip_equal(slots, values.drop_front(own.size())))
    current(slot) = value;
}

void ParallelEmitter::bindResults(ValueRange own, Operation *created,
                                  const Slots &slots, Lane &lane) {
  bind(own, created->getResults(), slots, lane);
  for (RegisterSlot slot : slots)
    written.insert(slot.first);
}

LogicalResult ParallelEmitter::emitGuarded(Block &block, Lane &lane) {
  Slots slots;
  if (failed(collectWrites(*block.getParent(), lane, slots)))
    return failure();
  SmallVector<Value> before = withRegisters({}, slots, lane);
  auto guard = scf::IfOp::create(b, op.getLoc(), ValueRange(before).getTypes(),
                                 lane.predicate,
                                 /*withElse=*/!before.empty());
  Value predicate = std::exchange(lane.predicate, Value());
  {
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(guard.thenBlock());
    ix.pushScope();
    if (failed(emitBlock(block, MutableArrayRef<Lane>(lane))))
      return failure();
    ix.popScope();
    if (!before.empty()) {
      b.setInsertionPointToEnd(guard.thenBlock());
      scf::YieldOp::create(b, op.getLoc(), withRegisters({}, slots, lane));
      b.setInsertionPointToEnd(guard.elseBlock());
      scf::YieldOp::create(b, op.getLoc(), before);
    }
  }
  lane.predicate = predicate;
  bindResults({}, guard, slots, lane);
  return success();
}

LogicalResult ParallelEmitter::emitIf(scf::IfOp source, Lane &lane) {
  Slots slots;
  if (failed(collectWrites(source.getThenRegion(), lane, slots)) ||
      failed(collectWrites(source.getElseRegion(), lane, slots)))
    return failure();
  SmallVector<Value> before = withRegisters({}, slots, lane);
  SmallVector<Type> types(source.getResultTypes());
  llvm::append_range(types, ValueRange(before).getTypes());
  auto created = scf::IfOp::create(
      b, source.getLoc(), types, mapped(source.getCondition(), lane),
      /*withElse=*/!types.empty() || source.elseBlock());
  auto branch = [&](Block *from, Block *to) -> LogicalResult {
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(to);
    ix.pushScope();
    if (from && failed(emitBlock(*from, MutableArrayRef<Lane>(lane))))
      return failure();
    ix.popScope();
    ValueRange own =
        from ? ValueRange(from->getTerminator()->getOperands()) : ValueRange();
    SmallVector<Value> yielded = withRegisters(own, slots, lane);
    bind({}, before, slots, lane);
    if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>())
      to->back().erase();
    b.setInsertionPointToEnd(to);
    scf::YieldOp::create(b, source.getLoc(), yielded);
    return success();
  };
  if (failed(branch(source.thenBlock(), created.thenBlock())))
    return failure();
  if (created.elseBlock() &&
      failed(branch(source.elseBlock(), created.elseBlock())))
    return failure();
  bindResults(source.getResults(), created, slots, lane);
  return success();
}

LogicalResult ParallelEmitter::emitFor(scf::ForOp source, Lane &lane) {
  Slots slots;
  if (failed(collectWrites(source.getRegion(), lane, slots)))
    return failure();
  auto created = scf::ForOp::create(
      b, source.getLoc(), mapped(source.getLowerBound(), lane),
      mapped(source.getUpperBound(), lane), mapped(source.getStep(), lane),
      withRegisters(source.getInitArgs(), slots, lane));
  created->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  {
    OpBuilder::InsertionGuard insertion(b);
    if (!created.getBody()->empty())
      created.getBody()->getTerminator()->erase();
    b.setInsertionPointToStart(created.getBody());
    ix.pushScope();
    lane.map.map(source.getInductionVar(), created.getInductionVar());
    bind(source.getRegionIterArgs(), created.getRegionIterArgs(), slots, lane);
    if (failed(emitBlock(*source.getBody(), MutableArrayRef<Lane>(lane))))
      return failure();
    SmallVector<Value> yielded = withRegisters(
        source.getBody()->getTerminator()->getOperands(), slots, lane);
    ix.popScope();
    b.setInsertionPointToEnd(created.getBody());
    scf::YieldOp::create(b, source.getLoc(), yielded);
  }
  bindResults(source.getResults(), created, slots, lane);
  return success();
}

LogicalResult ParallelEmitter::emitWhile(scf::WhileOp source, Lane &lane) {
  Slots slots;
  if (failed(collectWrites(source.getBefore(), lane, slots)) ||
      failed(collectWrites(source.getAfter(), lane, slots)))
    return failure();
  SmallVector<Value> inits = withRegisters(source.getInits(), slots, lane);
  SmallVector<Type> beforeTypes(ValueRange(inits).getTypes());
  SmallVector<Type> resultTypes(source.getResultTypes());
  llvm::append_range(resultTypes,
                     ArrayRef<Type>(beforeTypes).take_back(slots.size()));
  auto created = scf::WhileOp::create(b, source.getLoc(), resultTypes, inits);
  auto emitRegion = [&](Block &from, Region &to,
                        ArrayRef<Type> types) -> LogicalResult {
    OpBuilder::InsertionGuard insertion(b);
    SmallVector<Location> locations(types.size(), source.getLoc());
    Block *block = b.createBlock(&to, to.end(), types, locations);
    ix.pushScope();
    bind(from.getArguments(), block->getArguments(), slots, lane);
    if (failed(emitBlock(from, MutableArrayRef<Lane>(lane))))
      return failure();
    SmallVector<Value> operands =
        withRegisters(from.getTerminator()->getOperands(), slots, lane);
    ix.popScope();
    b.setInsertionPointToEnd(block);
    if (isa<scf::ConditionOp>(from.getTerminator()))
      scf::ConditionOp::create(b, source.getLoc(), operands.front(),
                               ArrayRef<Value>(operands).drop_front());
    else
      scf::YieldOp::create(b, source.getLoc(), operands);
    return success();
  };
  if (failed(emitRegion(source.getBefore().front(), created.getBefore(),
                        beforeTypes)) ||
      failed(emitRegion(source.getAfter().front(), created.getAfter(),
                        resultTypes)))
    return failure();
  bindResults(source.getResults(), created, slots, lane);
  return success();
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
