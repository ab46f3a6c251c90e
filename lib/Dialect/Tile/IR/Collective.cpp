//===- Collective.cpp - which operations threads do together ----*- C++ -*-===//
//
// One definition for the checks, the CPU target and the GPU target.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Collective.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

static bool isLocal(Value value) {
  auto type = dyn_cast<BufferType>(value.getType());
  return type && type.isLocal();
}

bool mlir::tile::isCollective(Operation *op) {
  if (isa<CopyOp, CopyAsyncOp, FillOp, GemmOp, ReduceOp>(op))
    return llvm::none_of(op->getOperands(), isLocal);
  if (auto print = dyn_cast<PrintOp>(op))
    return print.getBuffer() && !isLocal(print.getBuffer());
  return isa<ParallelOp, PipelinedOp, ConvertOp, SyncThreadsOp, ShareTileOp>(
      op);
}

Value mlir::tile::getWrittenBuffer(Operation *op) {
  Value dest = llvm::TypeSwitch<Operation *, Value>(op)
                   .Case<StoreOp, CopyOp, FillOp, ReduceOp, ConvertOp>(
                       [](auto write) { return write.getDest(); })
                   .Case([](GemmOp gemm) { return gemm.getC(); })
                   .Default([](Operation *) { return Value(); });
  return dest && isa<BufferType>(dest.getType()) ? dest : Value();
}
