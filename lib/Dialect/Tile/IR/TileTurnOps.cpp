//===- TileTurnOps.cpp - warp groups that take turns ------------*- C++ -*-===//
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.cpp.inc"

/// Barriers of the hardware have the numbers 0 to 15.
static LogicalResult verifyTurn(Operation *op, int64_t id, int64_t groups) {
  if (id + groups > 16)
    return op->emitOpError("needs the named barriers ")
           << id << " to " << id + groups - 1 << ", there are 1 to 15";
  return success();
}

LogicalResult TakeTurnOp::verify() {
  return verifyTurn(*this, getId(), getGroups());
}

LogicalResult PassTurnOp::verify() {
  return verifyTurn(*this, getId(), getGroups());
}
