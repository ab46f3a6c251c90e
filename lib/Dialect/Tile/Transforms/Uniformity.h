//===- Uniformity.h - Which values agree over the threads -------*- C++ -*-===//
//
// A value is uniform when all threads of a block see the same one at the same
// point of the program.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_UNIFORMITY_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_UNIFORMITY_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

class Uniformity {
public:
  explicit Uniformity(KernelOp kernel);

  /// Of a view: whether all threads view the same part.
  bool isUniform(Value value) const { return !divergent.contains(value); }
  /// False for local buffers that may hold other values in other threads, and
  /// for views of them.
  bool holdsUniformContents(Value storage) const {
    return !isa<BufferType>(storage.getType()) ||
           !divergentBuffers.contains(getAllocation(storage));
  }
  /// Does every thread take the same way through control flow down to `op`?
  bool isReachedUniformly(Operation *op) const {
    return !getDivergentBranch(op);
  }
  /// The innermost control flow around `op` that threads may leave differently.
  Operation *getDivergentBranch(Operation *op) const;
  /// The operand of such control flow that is not uniform; null when the
  /// divergence comes from elsewhere (the condition of a while loop).
  Value getDivergentOperand(Operation *branch) const;

private:
  bool update(Operation *op);
  bool markDivergent(Value value) { return divergent.insert(value).second; }

  llvm::DenseSet<Value> divergent;
  /// Local buffers that hold values which differ between threads.
  llvm::DenseSet<Operation *> divergentBuffers;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_UNIFORMITY_H
