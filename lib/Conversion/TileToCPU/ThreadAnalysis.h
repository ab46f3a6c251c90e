//===- ThreadAnalysis.h - which values differ between threads ---*- C++ -*-===//
//
// Decides whether a kernel needs one or several threads per block on the CPU,
// which operations are collective, and which values are per thread.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_CONVERSION_TILETOCPU_THREADANALYSIS_H
#define TILEMLIR_CONVERSION_TILETOCPU_THREADANALYSIS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseSet.h"

namespace tilemlir::cpu {

class ThreadAnalysis {
public:
  explicit ThreadAnalysis(mlir::tile::KernelOp kernel);

  /// Threads per block that must be told apart: 1 when nothing depends on the
  /// thread.
  int64_t count() const { return numThreads; }
  bool isSingle() const { return numThreads == 1; }

  /// Whether the operation is or holds a collective one.
  bool holdsCollective(mlir::Operation *op) const {
    return collectiveHolders.contains(op);
  }
  bool isVarying(mlir::Value value) const { return varying.contains(value); }

  /// Whether an operation is pure and has the same result in all threads: it
  /// may run once per block.
  bool isUniform(mlir::Operation *op) const;

private:
  void propagate(mlir::tile::KernelOp kernel);
  bool mark(mlir::Value value) { return varying.insert(value).second; }
  bool markResults(mlir::Operation *op);
  bool visit(mlir::Operation *op);

  int64_t numThreads = 1;
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseSet<mlir::Operation *> collectiveHolders;
};

} // namespace tilemlir::cpu

#endif // TILEMLIR_CONVERSION_TILETOCPU_THREADANALYSIS_H
