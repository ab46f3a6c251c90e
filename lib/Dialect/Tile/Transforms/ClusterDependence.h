//===- ClusterDependence.h - what blocks of a cluster agree on --*- C++ -*-===//
//
// Along one axis of a cluster: which values are the same in all blocks that
// differ only in their coordinate there, and which operations they execute
// equally often.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERDEPENDENCE_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERDEPENDENCE_H

#include "IntegerAnalysis.h"

#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"

namespace mlir::tile {

class ClusterDependence {
public:
  ClusterDependence(KernelOp kernel, int64_t axis, IntegerAnalysis &integers);

  /// Is the value the same in all blocks?
  bool isShared(Value value) { return evaluate(value).kind == Kind::Shared; }
  /// The innermost control flow around `op` that blocks may leave differently;
  /// null if they execute `op` equally often.
  Operation *getDifferingBranch(Operation *op);

private:
  enum class Kind {
    /// The same in all blocks.
    Shared,
    /// shared part + stride * coordinate, where `multiple` divides the shared
    /// part.
    Strided,
    Different
  };
  struct Form {
    Kind kind = Kind::Shared;
    int64_t stride = 0, multiple = 0;

    bool operator==(const Form &other) const {
      return kind == other.kind && stride == other.stride &&
             multiple == other.multiple;
    }
  };
  static Form strided(int64_t stride, int64_t multiple);
  Form evaluate(Value value);
  Form compute(Value value);
  Form computeOperation(Operation *op);
  bool branches(Operation *op);
  bool findDifferingStorage();

  KernelOp kernel;
  int64_t axis, extent;
  IntegerAnalysis &integers;
  llvm::DenseSet<Value> writtenTensors;
  /// Local variables whose contents, and values carried by control flow that
  /// differ. They only grow.
  llvm::DenseSet<Operation *> differentContents;
  llvm::DenseSet<Value> differentValues;
  llvm::DenseMap<Value, Form> forms;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_CLUSTERDEPENDENCE_H
