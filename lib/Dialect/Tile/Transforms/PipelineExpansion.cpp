//===- PipelineExpansion.cpp - loops of software pipelines ------*- C++ -*-===//
//
// The issue part of an iteration is a copy of the whole body, pruned to the
// loads that run ahead and what they need. Variables that it needs are private
// to it, so that the rest of the loop keeps seeing its own iteration.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/ProgramSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::tile;

static constexpr StringLiteral kAhead = "tile.ahead";
static constexpr StringLiteral kPosition = "tile.position";

void mlir::tile::recordOrder(KernelOp kernel) {
  kernel.walk([&](PipelinedOp loop) {
    if (!loop.getOrder())
      return;
    OpBuilder builder(loop.getContext());
    size_t entry = 0;
    for (Operation &op : *loop.getBodyBlock())
      if (isScheduled(&op) && entry < loop.getOrder()->size())
        op.setAttr(kPosition,
                   builder.getI64IntegerAttr((*loop.getOrder())[entry++]));
  });
}

void mlir::tile::inheritPosition(Operation *op, PipelinedOp loop) {
  Attribute position = loop->getAttr(kPosition);
  if (position && isScheduled(op))
    op->setAttr(kPosition, position);
  else
    op->removeAttr(kPosition);
}

void mlir::tile::eraseOrder(KernelOp kernel) {
  kernel.walk([](Operation *op) { op->removeAttr(kPosition); });
}

SmallVector<Operation *> mlir::tile::getProducers(PipelinedOp loop) {
  SmallVector<Operation *> producers;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<PipelinedOp>(op))
      return WalkResult::skip();
    if (op->hasAttr(kAhead))
      producers.push_back(op);
    return WalkResult::advance();
  });
  return producers;
}

Value mlir::tile::makeIndex(OpBuilder &builder, Location loc, int64_t value) {
  KernelOp kernel = getKernel(builder.getInsertionBlock()->getParentOp());
  Block *top = kernel.getBodyBlock();
  for (Operation &op : *top) {
    auto constant = dyn_cast<arith::ConstantIntOp>(op);
    if (!constant)
      break;
    if (constant.getType().isInteger(32) && constant.value() == value)
      return constant;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(top);
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

SmallVector<Operation *> mlir::tile::getHandleUsers(Value buffer) {
  llvm::SetVector<Operation *> users;
  SmallVector<Value> worklist = {buffer};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
        worklist.push_back(user->getResult(0));
      else
        users.insert(user);
    }
  return users.takeVector();
}

Value SlotViews::build(OpBuilder &builder, Value handle, Value buffer) {
  Location loc = handle.getLoc();
  if (handle == buffer) {
    auto type = cast<BufferType>(buffer.getType());
    SmallVector<Value> offsets(type.getRank() + 1);
    offsets[0] = slot;
    for (Value &offset : MutableArrayRef<Value>(offsets).drop_front())
      offset = makeIndex(builder, loc, 0);
    SmallVector<int64_t> sizes = {1};
    llvm::append_range(sizes, type.getShape());
    return SubviewOp::create(builder, loc, type.withShape(type.getShape()),
                             slotted, offsets, sizes);
  }
  Operation *view = handle.getDefiningOp();
  Value source = build(builder, view->getOperand(0), buffer);
  Operation *copy = builder.clone(*view);
  copy->setOperand(0, source);
  return copy->getResult(0);
}

void SlotViews::rewrite(Operation *user, Value buffer) {
  OpBuilder builder(user);
  for (OpOperand &operand : user->getOpOperands())
    if (isa<BufferType>(operand.get().getType()) &&
        getStorageRoot(operand.get()) == buffer)
      operand.set(build(builder, operand.get(), buffer));
}

void mlir::tile::eraseViews(Value buffer) {
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers())) {
    eraseViews(user->getResult(0));
    user->erase();
  }
}

void mlir::tile::eraseUnusedVariables(KernelOp kernel) {
  SmallVector<AllocOp> locals;
  kernel.walk([&](AllocOp alloc) {
    if (cast<BufferType>(alloc.getType()).isLocal())
      locals.push_back(alloc);
  });
  for (AllocOp alloc : locals) {
    SmallVector<Operation *> users = getHandleUsers(alloc);
    bool isRead = llvm::any_of(users, [&](Operation *user) {
      if (auto store = dyn_cast<StoreOp>(user))
        return getStorageRoot(store.getDest()) != alloc.getResult();
      return !isa<FillOp>(user);
    });
    if (isRead)
      continue;
    for (Operation *user : users)
      user->erase();
    eraseViews(alloc);
    alloc.erase();
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Puts the operations of `block` in the order of `sequence`. Others go before
/// the first one that needs them, and loads also before the first that would
/// change what they read.
static void reorder(Block &block, ArrayRef<Operation *> sequence) {
  if (llvm::is_sorted(sequence, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      }))
    return;
  llvm::SetVector<Operation *> done;
  SmallVector<Operation *> original;
  for (Operation &op : block)
    original.push_back(&op);
  llvm::SmallDenseSet<Operation *> scheduled(sequence.begin(), sequence.end());
  std::function<void(Operation *)> emit = [&](Operation *op) {
    if (done.contains(op))
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (def->getBlock() == &block && def != op)
            emit(def);
    });
    done.insert(op);
  };
  for (Operation *op : sequence) {
    SmallVector<BufferAccess> writes;
    collectNestedAccesses(op, writes);
    for (Operation *earlier : original) {
      if (earlier == op)
        break;
      if (scheduled.contains(earlier))
        continue;
      SmallVector<BufferAccess> reads;
      collectNestedAccesses(earlier, reads);
      for (const BufferAccess &read : reads)
        for (const BufferAccess &write : writes)
          if (write.isWrite && write.root == read.root)
            emit(earlier);
    }
    emit(op);
  }
  for (Operation *op : original)
    emit(op);
  for (Operation *op : done)
    op->moveBefore(&block, block.end());
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

namespace {
/// Producers that are issued together, before the `position`-th of the
/// operations that stay.
struct IssueGroup {
  size_t position;
  SmallVector<Operation *> producers;
  /// Private copies of variables.
  IRMapping variables;
  std::unique_ptr<ProgramSlice> slice;
};

class PipelineExpander {
public:
  PipelineExpander(PipelinedOp loop, ArrayRef<Value> buffers,
                   const llvm::MapVector<Value, Value> &slotted)
      : loop(loop), buffers(buffers), slotted(slotted), builder(loop),
        loc(loop.getLoc()), slots(loop.getNumStages()) {}

  ExpandedPipeline expand(bool needsLastSlot);

private:
  void readSchedule();
  void copyVariables();
  void emitPrologue();
  scf::IfOp emitIssue(Value condition, Value iteration, Value slot,
                      ArrayRef<IssueGroup *> parts);
  void emitGroup(OpBuilder &inner, IssueGroup &group, Value iteration,
                 Value slot);
  void useSlot(Operation *root, Value slot);
  Value advance(Value slot);

  PipelinedOp loop;
  ArrayRef<Value> buffers;
  const llvm::MapVector<Value, Value> &slotted;
  OpBuilder builder;
  Location loc;
  int64_t slots, ahead = 0;
  /// The operations that stay, in the order of a step.
  SmallVector<Operation *> staying;
  SmallVector<IssueGroup> groups;
};
} // namespace

void PipelineExpander::readSchedule() {
  SmallVector<Operation *> producers = getProducers(loop);
  if (!producers.empty())
    ahead = producers.front()->getAttrOfType<IntegerAttr>(kAhead).getInt();
  // Operations in the order of a step; the lists name the effectful ones.
  SmallVector<std::pair<int64_t, Operation *>> sequence;
  for (Operation &op : *loop.getBodyBlock())
    if (auto position = op.getAttrOfType<IntegerAttr>(kPosition))
      sequence.emplace_back(position.getInt(), &op);
  llvm::stable_sort(sequence, llvm::less_first());
  IssueGroup front{0, {}, {}, nullptr};
  SmallVector<IssueGroup> later;
  llvm::SmallDenseSet<Operation *> placed;
  for (auto &[position, op] : sequence) {
    if (!op->hasAttr(kAhead)) {
      staying.push_back(op);
      continue;
    }
    placed.insert(op);
    if (staying.empty()) {
      front.producers.push_back(op);
      continue;
    }
    if (later.empty() || later.back().position != staying.size())
      later.push_back({staying.size(), {}, {}, nullptr});
    later.back().producers.push_back(op);
  }
  // Loads inside of control flow are issued at the front.
  for (Operation *op : producers)
    if (!placed.contains(op))
      front.producers.push_back(op);
  if (!front.producers.empty())
    groups.push_back(std::move(front));
  for (IssueGroup &group : later)
    groups.push_back(std::move(group));
  for (IssueGroup &group : groups)
    group.slice =
        std::make_unique<ProgramSlice>(loop.getBody(), group.producers);
}

/// Gives each group its own variables, which start as the loop's do.
void PipelineExpander::copyVariables() {
  for (IssueGroup &group : groups)
    for (Value variable : group.slice->getVariables()) {
      bool isWritten =
          llvm::any_of(getHandleUsers(variable), [&](Operation *user) {
            return group.slice->contains(user) && isa<StoreOp, FillOp>(user);
          });
      if (!isWritten)
        continue;
      auto alloc = variable.getDefiningOp<AllocOp>();
      OpBuilder atAlloc(alloc);
      auto copy = cast<AllocOp>(atAlloc.clone(*alloc));
      if (alloc.getName())
        copy.setName(alloc.getName()->str() + "_ahead");
      group.variables.map(variable, copy.getResult());
      auto type = cast<BufferType>(alloc.getType());
      if (type.getRank() == 0) {
        Value value =
            LoadOp::create(builder, loc, type.getScalarType(), variable,
                           ValueRange(), TypedAttr(), BoundsAttr());
        StoreOp::create(builder, loc, value, copy.getResult(), ValueRange(),
                        BoundsAttr());
        continue;
      }
      SmallVector<Value> zeros(type.getRank(), makeIndex(builder, loc, 0));
      CopyOp::create(builder, loc, variable, zeros,
                     builder.getDenseI64ArrayAttr(type.getShape()),
                     copy.getResult(), zeros,
                     builder.getDenseI64ArrayAttr(type.getShape()), TypedAttr(),
                     BoundsAttr(), ChoiceAttr(), UnitAttr(),
                     EvictionPolicyAttr(), PathAttr(), IntegerAttr());
    }
}

void PipelineExpander::useSlot(Operation *root, Value slot) {
  for (Value buffer : buffers) {
    SlotViews views(slotted.lookup(buffer), slot);
    SmallVector<Operation *> users = getHandleUsers(buffer);
    for (Operation *user : users)
      if (root->isProperAncestor(user))
        views.rewrite(user, buffer);
  }
}

void PipelineExpander::emitGroup(OpBuilder &inner, IssueGroup &group,
                                 Value iteration, Value slot) {
  IRMapping mapping = group.variables;
  mapping.map(loop.getInductionVar(), iteration);
  // A block of its own to prune, merged behind what is there already.
  Block *target = inner.getInsertionBlock();
  Block scratch;
  OpBuilder atScratch(loop.getContext());
  atScratch.setInsertionPointToEnd(&scratch);
  llvm::DenseSet<Operation *> kept;
  for (Operation &op : *loop.getBodyBlock())
    atScratch.clone(op, mapping);
  loop.getBody().walk([&](Operation *op) {
    if (group.slice->contains(op))
      kept.insert(mapping.lookup(op));
  });
  pruneTo(scratch, [&](Operation *op) { return kept.contains(op); });
  for (Operation *op : kept)
    op->removeAttr(kAhead);
  target->getOperations().splice(inner.getInsertionPoint(),
                                 scratch.getOperations());
  eraseDead(*target);
}

scf::IfOp PipelineExpander::emitIssue(Value condition, Value iteration,
                                      Value slot,
                                      ArrayRef<IssueGroup *> parts) {
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/false);
  branch->setAttr(
      kPipelineName,
      PipelineAttr::get(loop.getContext(), PipelineRole::Issue, slots, ahead));
  OpBuilder inner = branch.getThenBodyBuilder();
  for (IssueGroup *group : parts)
    emitGroup(inner, *group, iteration, slot);
  useSlot(branch, slot);
  return branch;
}

void PipelineExpander::emitPrologue() {
  Value trips = builder.createOrFold<arith::SubIOp>(loc, loop.getUpper(),
                                                    loop.getLower());
  SmallVector<IssueGroup *> all;
  for (IssueGroup &group : groups)
    all.push_back(&group);
  for (int64_t step = 0; step < ahead; ++step) {
    Value index = makeIndex(builder, loc, step);
    Value condition = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sgt, trips, index);
    Value iteration =
        builder.createOrFold<arith::AddIOp>(loc, loop.getLower(), index);
    emitIssue(condition, iteration, index, all);
  }
}

/// slot + 1, or 0 behind the last slot.
Value PipelineExpander::advance(Value slot) {
  Value next =
      arith::AddIOp::create(builder, loc, slot, makeIndex(builder, loc, 1));
  Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      next, makeIndex(builder, loc, slots));
  return arith::SelectOp::create(builder, loc, wraps,
                                 makeIndex(builder, loc, 0), next);
}

ExpandedPipeline PipelineExpander::expand(bool needsLastSlot) {
  readSchedule();
  Operation *front = loop->getPrevNode();
  bool overlaps = !groups.empty();
  ExpandedPipeline result;
  Value lastStart;
  SmallVector<Value> initial;
  if (overlaps) {
    copyVariables();
    emitPrologue();
    lastStart = arith::SubIOp::create(builder, loc, loop.getUpper(),
                                      makeIndex(builder, loc, ahead));
    initial = {makeIndex(builder, loc, 0), makeIndex(builder, loc, ahead)};
    if (needsLastSlot)
      initial.push_back(makeIndex(builder, loc, 0));
  }
  result.steady =
      scf::ForOp::create(builder, loc, loop.getLower(), loop.getUpper(),
                         makeIndex(builder, loc, 1), initial);
  scf::ForOp steady = result.steady;
  if (initial.empty())
    steady.getBody()->getTerminator()->erase();

  if (overlaps) {
    steady->setAttr(kPipelineName,
                    PipelineAttr::get(loop.getContext(), PipelineRole::Steady,
                                      slots, ahead));
    // The issue parts first: they are copies of the body as it is now.
    builder.setInsertionPointToEnd(steady.getBody());
    Value slot = steady.getRegionIterArgs()[0];
    Value issueSlot = steady.getRegionIterArgs()[1];
    SmallVector<std::pair<size_t, SmallVector<Operation *>>> issued;
    for (IssueGroup &group : groups) {
      Value condition =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                steady.getInductionVar(), lastStart);
      Value iteration =
          arith::AddIOp::create(builder, loc, steady.getInductionVar(),
                                makeIndex(builder, loc, ahead));
      emitIssue(condition, iteration, issueSlot, {&group});
      issued.push_back({group.position, {}});
      for (Operation &op : *steady.getBody())
        if (llvm::none_of(issued, [&](auto &entry) {
              return llvm::is_contained(entry.second, &op);
            }))
          issued.back().second.push_back(&op);
    }

    Block *body = loop.getBodyBlock();
    for (IssueGroup &group : groups)
      for (Operation *producer : group.producers)
        producer->erase();
    groups.clear();
    reorder(*body, staying);
    // Interleave: each issue part goes before the operation at its position.
    loop.getInductionVar().replaceAllUsesWith(steady.getInductionVar());
    for (auto &[position, ops] : issued) {
      if (position == 0)
        continue;
      for (Operation *op : ops) {
        if (position < staying.size())
          op->moveBefore(staying[position]);
        else
          op->moveBefore(body, body->end());
      }
    }
    steady.getBody()->getOperations().splice(steady.getBody()->end(),
                                             body->getOperations());
    builder.setInsertionPointToEnd(steady.getBody());
    SmallVector<Value> yielded = {advance(slot), advance(issueSlot)};
    if (needsLastSlot) {
      yielded.push_back(slot);
      result.lastSlot = steady.getResult(2);
    }
    scf::YieldOp::create(builder, loc, yielded);
    useSlot(steady, slot);
    eraseDead(*steady.getBody());
  } else {
    if (!staying.empty())
      reorder(*loop.getBodyBlock(), staying);
    loop.getInductionVar().replaceAllUsesWith(steady.getInductionVar());
    steady.getBody()->getOperations().splice(
        steady.getBody()->end(), loop.getBodyBlock()->getOperations());
    builder.setInsertionPointToEnd(steady.getBody());
    scf::YieldOp::create(builder, loc);
  }
  for (NamedAttribute attr : loop->getDiscardableAttrs())
    steady->setAttr(attr.getName(), attr.getValue());
  if (ChoiceAttr choice = loop.getChoiceAttr())
    steady->setAttr("tile.loop_choice", choice);
  // What the loop has become stays together in the order of a loop around it.
  for (Operation *op = loop->getPrevNode(); op && op != front;
       op = op->getPrevNode())
    inheritPosition(op, loop);
  loop.erase();
  return result;
}

ExpandedPipeline
mlir::tile::expandPipeline(PipelinedOp loop, ArrayRef<Value> buffers,
                           const llvm::MapVector<Value, Value> &slotted,
                           bool needsLastSlot) {
  return PipelineExpander(loop, buffers, slotted).expand(needsLastSlot);
}
