//===- ExplicitOps.h - The explicit layer on a CPU --------------*- C++ -*-===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOCPU_EXPLICITOPS_H
#define TILEMLIR_LIB_CONVERSION_TILETOCPU_EXPLICITOPS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace tilemlir::cpu {

/// Replaces operations of the explicit layer whose meaning is the same when
/// threads run one after the other: asynchronous products, waits for them,
/// fences, registers, elections. Fails, with errors at the user's lines, when
/// others are left, which need threads that run at the same time.
llvm::LogicalResult makeSequential(mlir::tile::KernelOp kernel);

} // namespace tilemlir::cpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOCPU_EXPLICITOPS_H
