//===- LowerUnitFactors.cpp - scaling that a vote may skip ------*- C++ -*-===//
//
// The registers of the scaled fragments become results of a branch that all
// lanes of a warp take alike. Only the factors are computed in front of it,
// once for each different one.
//
//===----------------------------------------------------------------------===//
#include "ParallelEmitter.h"

#include "tilemlir/Dialect/Tile/Transforms/UnitFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

FailureOr<Value> ParallelEmitter::emitFactor(Value factor, Lane &lane) {
  Operation *def = factor.getDefiningOp();
  if (!def || !op->isProperAncestor(def))
    return mapped(factor, lane);
  if (auto load = dyn_cast<tile::LoadOp>(def)) {
    FailureOr<RegisterSlot> slot =
        slotOf(load, load.getSource(), load.getIndices(), lane);
    if (failed(slot))
      return failure();
    return current(*slot);
  }
  IRMapping map;
  SmallVector<Value> operands;
  for (Value operand : def->getOperands()) {
    FailureOr<Value> value = emitFactor(operand, lane);
    if (failed(value))
      return failure();
    operands.push_back(*value);
    map.map(operand, *value);
  }
  for (auto &[source, used, result] : factors)
    if (source == def && used == operands)
      return result;
  Value result =
      b.clone(*def, map)->getResult(cast<OpResult>(factor).getResultNumber());
  factors.push_back({def, operands, result});
  return result;
}

LogicalResult ParallelEmitter::emitUnlessUnit(std::vector<Lane> &lanes) {
  std::optional<SmallVector<tile::Scaling>> scalings = tile::matchScalings(op);
  if (!scalings)
    return op.emitOpError("is marked by tile-skip-unit-factors, but does not "
                          "only scale fragments");
  if (kernel.threads % 32 != 0)
    return op.emitOpError("is marked by tile-skip-unit-factors in a kernel "
                          "without whole warps");
  Location loc = op.getLoc();
  Slots slots;
  llvm::SetVector<Value> different;
  for (Lane &lane : lanes) {
    if (failed(collectWrites(op.getBody(), lane, slots)))
      return failure();
    for (auto [argument, coordinate] :
         llvm::zip_equal(op.getBodyBlock()->getArguments(), lane.iteration))
      if (!argument.use_empty())
        lane.map.map(argument, ix.materialize(coordinate));
    for (const tile::Scaling &scaling : *scalings) {
      FailureOr<Value> factor = emitFactor(scaling.factor, lane);
      if (failed(factor))
        return failure();
      different.insert(*factor);
    }
  }
  Value needed;
  for (Value factor : different) {
    Value one = arith::ConstantOp::create(
        b, loc, b.getFloatAttr(factor.getType(), 1.0));
    // Also true for NaN.
    Value differs =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor, one);
    needed = needed ? arith::OrIOp::create(b, loc, needed, differs).getResult()
                    : differs;
  }
  Value warp = ix.i32(-1);
  Value any = NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), warp, needed,
                                       NVVM::VoteSyncKind::any);

  SmallVector<Value> before;
  for (RegisterSlot slot : slots)
    before.push_back(current(slot));
  auto branch = scf::IfOp::create(b, loc, ValueRange(before).getTypes(), any,
                                  /*withElse=*/true);
  {
    OpBuilder::InsertionGuard insertion(b);
    b.setInsertionPointToStart(branch.thenBlock());
    ix.pushScope();
    if (failed(emitLanes(lanes)))
      return failure();
    ix.popScope();
    SmallVector<Value> after;
    for (RegisterSlot slot : slots)
      after.push_back(current(slot));
    b.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(b, loc, after);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, loc, before);
  }
  for (auto [slot, result] : llvm::zip_equal(slots, branch.getResults())) {
    current(slot) = result;
    written.insert(slot.first);
  }
  return success();
}
