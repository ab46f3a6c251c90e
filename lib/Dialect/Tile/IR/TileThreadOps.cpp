//===- TileThreadOps.cpp - operations of single threads ---------*- C++ -*-===//
//
// Verification of what single threads and warps do in kernels that schedule
// their warps themselves.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.cpp.inc"

LogicalResult ElectOp::verify() {
  if (getThreads() % 32 != 0)
    return emitOpError("elects among whole warps: threads must be 0 or a "
                       "multiple of 32, found ")
           << getThreads();
  return success();
}

LogicalResult NamedArriveOp::verify() {
  if (getCount() % 32 != 0)
    return emitOpError("counts whole warps: count must be a multiple of 32, "
                       "found ")
           << getCount();
  return success();
}

LogicalResult ShareTileOp::verify() {
  if (!getFetched() && !getSlot())
    return emitOpError("needs the number that was fetched, or the slot of the "
                       "one to take over");
  if (getSlot() && !getNumbers())
    return emitOpError("has a slot, but no buffer of numbers");
  if (Value numbers = getNumbers())
    if (!cast<BufferType>(numbers.getType()).getElementType().isInteger(32))
      return emitOpError("passes numbers through a buffer of i32, found ")
             << numbers.getType();
  return success();
}

LogicalResult PtxOp::verify() {
  auto verifyType = [&](Type type) -> LogicalResult {
    if (isa<MemRefType, BufferType>(type) ||
        llvm::is_contained({16u, 32u, 64u}, type.getIntOrFloatBitWidth()))
      return success();
    return emitOpError("takes and gives scalars of 16, 32 or 64 bits, found ")
           << type;
  };
  for (Type type : getOperandTypes())
    if (failed(verifyType(type)))
      return failure();
  for (Type type : getResultTypes())
    if (failed(verifyType(type)))
      return failure();
  return success();
}
