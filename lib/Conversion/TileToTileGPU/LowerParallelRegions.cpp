//===- LowerParallelRegions.cpp - Control flow in tile.parallel -*- C++ -*-===//
//
// Branches and loops inside of the body are emitted for each lane by itself.
// Registers that they write become operands, region arguments and results.
//
//===----------------------------------------------------------------------===//
#include "ParallelEmitter.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

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
