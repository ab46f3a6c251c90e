//===- RingExpansion.cpp - loops that a producer role feeds -----*- C++ -*-===//
//
// In a ring loop every iteration takes the next slot of its buffers. The
// position (slot, phase) goes on where the last pass through the loop stopped,
// so that a producer can fill slots for the next tile of a persistent kernel
// while consumers still use the last ones. Before the roles are split, an
// iteration loads the slot that it uses: the same numbers, in order.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;

BufferType mlir::tile::addSlots(BufferType type, int64_t slots) {
  SmallVector<int64_t> shape = {slots};
  llvm::append_range(shape, type.getShape());
  Attribute layout;
  if (SharedLayoutAttr shared = type.getSharedLayout()) {
    SmallVector<int64_t> order;
    for (int64_t dim : shared.getOrder())
      order.push_back(dim + 1);
    // A slot is one block with all its panels, so that one box of TMA can fill
    // them.
    bool hasPanels =
        !order.empty() &&
        shared.getPanel() < type.getShape()[shared.getOrder().front()];
    if (hasPanels &&
        ::tilemlir::layout::findPanels(shared.getOrder()) == order.size())
      order.push_back(order.front());
    order.push_back(0);
    layout = SharedLayoutAttr::get(type.getContext(), order, shared.getPanel(),
                                   shared.getSwizzle());
  }
  return BufferType::get(type.getContext(), shape, type.getElementType(),
                         type.getSpace(), layout);
}

/// The position, at its start: slot 0 in phase 0.
static AllocOp createRing(KernelOp kernel, Location loc, int64_t slots) {
  Block *top = kernel.getBodyBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(top);
  Value zero = makeIndex(builder, loc, 0), one = makeIndex(builder, loc, 1);
  // Behind the constants and allocations that begin a kernel.
  Operation *position = &top->front();
  while (isa<arith::ConstantOp, AllocOp>(position))
    position = position->getNextNode();
  builder.setInsertionPoint(position);
  auto type = BufferType::get(ArrayRef<int64_t>{2}, builder.getI32Type(),
                              MemorySpace::Local);
  auto ring =
      AllocOp::create(builder, loc, type, builder.getStringAttr("ring"));
  ring->setAttr(kRing, builder.getI64IntegerAttr(slots));
  for (Value index : {zero, one})
    StoreOp::create(builder, loc, zero, ring.getResult(), index, BoundsAttr());
  return ring;
}

/// slot + 1, or 0 and the other phase behind the last slot.
///
/// Where the number of slots is a power of two, without a comparison: ptxas
/// keeps a selected slot, and all descriptors made of it, in registers of the
/// threads instead of uniform ones.
static void advance(OpBuilder &builder, Location loc, AllocOp ring, Value slot,
                    int64_t slots) {
  Value zero = makeIndex(builder, loc, 0), one = makeIndex(builder, loc, 1);
  Value next = arith::AddIOp::create(builder, loc, slot, one);
  Value wraps, carry;
  if (llvm::isPowerOf2_64(slots)) {
    carry = arith::ShRUIOp::create(
        builder, loc, next, makeIndex(builder, loc, llvm::Log2_64(slots)));
    next = arith::AndIOp::create(builder, loc, next,
                                 makeIndex(builder, loc, slots - 1));
  } else {
    wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next,
                                  makeIndex(builder, loc, slots));
    next = arith::SelectOp::create(builder, loc, wraps, zero, next);
  }
  StoreOp::create(builder, loc, next, ring.getResult(), zero, BoundsAttr());
  Value phase =
      LoadOp::create(builder, loc, builder.getI32Type(), ring.getResult(), one,
                     TypedAttr(), BoundsAttr());
  Value flips =
      carry ? carry
            : arith::ExtUIOp::create(builder, loc, builder.getI32Type(), wraps)
                  .getResult();
  phase = arith::XOrIOp::create(builder, loc, phase, flips);
  StoreOp::create(builder, loc, phase, ring.getResult(), one, BoundsAttr());
}

Value mlir::tile::getPreviousSlot(OpBuilder &builder, Location loc, Value slot,
                                  int64_t slots) {
  Value one = makeIndex(builder, loc, 1),
        last = makeIndex(builder, loc, slots - 1);
  if (llvm::isPowerOf2_64(slots)) {
    Value before = arith::AddIOp::create(builder, loc, slot, last);
    return arith::AndIOp::create(builder, loc, before, last);
  }
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      slot, makeIndex(builder, loc, 0));
  Value before = arith::SubIOp::create(builder, loc, slot, one);
  return arith::SelectOp::create(builder, loc, wraps, last, before);
}

/// Copies of `loop` that the producer does, not those of loops inside of it.
static SmallVector<Operation *> getProduced(PipelinedOp loop) {
  SmallVector<Operation *> ops;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<PipelinedOp>(op))
      return WalkResult::skip();
    if (op->hasAttr(kProduceName))
      ops.push_back(op);
    return WalkResult::advance();
  });
  return ops;
}

static LogicalResult expandRing(KernelOp kernel, PipelinedOp loop,
                                ArrayRef<Operation *> produced) {
  Location loc = loop.getLoc();
  int64_t slots = loop.getNumStages();
  if (slots < 1)
    return loop.emitError("has copies of a producer role, but no stages");
  llvm::SetVector<Value> buffers;
  for (Operation *op : produced) {
    SmallVector<BufferAccess> accesses;
    collectAccesses(op, accesses);
    for (const BufferAccess &access : accesses) {
      if (!access.isWrite)
        continue;
      auto type = dyn_cast<BufferType>(access.root.getType());
      if (!type || !type.isShared())
        return op->emitError("belongs to a producer role, but does not only "
                             "write shared memory");
      for (Operation *user : getHandleUsers(access.root))
        if (!loop->isAncestor(user))
          return op->emitError("fills a ring, but its destination is also "
                               "used outside of the loop");
      buffers.insert(access.root);
    }
  }

  AllocOp ring = createRing(kernel, loc, slots);
  OpBuilder builder(loop);
  auto steady = scf::ForOp::create(builder, loc, loop.getLower(),
                                   loop.getUpper(), makeIndex(builder, loc, 1));
  steady->setAttr(kPipelineName,
                  PipelineAttr::get(loop.getContext(), PipelineRole::Ring,
                                    slots, /*ahead=*/0));
  for (NamedAttribute attr : loop->getDiscardableAttrs())
    steady->setAttr(attr.getName(), attr.getValue());
  if (ChoiceAttr choice = loop.getChoiceAttr())
    steady->setAttr("tile.loop_choice", choice);
  loop.getInductionVar().replaceAllUsesWith(steady.getInductionVar());
  Operation *terminator = steady.getBody()->getTerminator();
  steady.getBody()->getOperations().splice(
      terminator->getIterator(), loop.getBodyBlock()->getOperations());
  builder.setInsertionPointToStart(steady.getBody());
  Value slot =
      LoadOp::create(builder, loc, builder.getI32Type(), ring.getResult(),
                     makeIndex(builder, loc, 0), TypedAttr(), BoundsAttr());
  for (Value buffer : buffers) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    OpBuilder atAlloc(alloc);
    auto replacement =
        AllocOp::create(atAlloc, alloc.getLoc(),
                        addSlots(cast<BufferType>(buffer.getType()), slots),
                        alloc.getNameAttr());
    replacement->setDiscardableAttrs(alloc->getDiscardableAttrDictionary());
    replacement->setAttr("tile.slots", builder.getI64IntegerAttr(slots));
    SlotViews views(replacement.getResult(), slot);
    for (Operation *user : getHandleUsers(buffer))
      views.rewrite(user, buffer);
    eraseViews(buffer);
    alloc.erase();
  }
  builder.setInsertionPoint(terminator);
  advance(builder, loc, ring, slot, slots);
  loop.erase();
  return success();
}

LogicalResult mlir::tile::expandRings(KernelOp kernel) {
  // Before any of them is expanded: an expanded loop is no longer one whose
  // copies are its own.
  SmallVector<std::pair<PipelinedOp, SmallVector<Operation *>>> loops;
  kernel.walk(
      [&](PipelinedOp loop) { loops.emplace_back(loop, getProduced(loop)); });
  for (auto &[loop, produced] : loops)
    if (!produced.empty() && failed(expandRing(kernel, loop, produced)))
      return failure();
  return success();
}

FailureOr<RingLoop> mlir::tile::getRingLoop(scf::ForOp loop) {
  auto pipeline = loop->getAttrOfType<PipelineAttr>(kPipelineName);
  if (!pipeline || pipeline.getRole() != PipelineRole::Ring)
    return failure();
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    AllocOp ring = getAllocation(load.getSource());
    if (ring && ring->hasAttr(kRing))
      return RingLoop{loop, ring, load.getResult(), pipeline.getSlots()};
  }
  return failure();
}
