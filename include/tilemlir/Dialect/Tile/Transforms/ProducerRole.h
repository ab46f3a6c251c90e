//===- ProducerRole.h - whether loads get warps of their own ----*- C++ -*-===//
//
// Decides whether a kernel is split into a producer role, which loads tiles,
// and consumers, and what the producer does.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_PRODUCERROLE_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_PRODUCERROLE_H

#include "tilemlir/Dialect/Tile/Transforms/PipelineAnalysis.h"

namespace mlir::tile {

/// Whether kernels for `target` may have roles at all: TMA and setmaxnreg.
bool canSpecialize(TargetAttr target);

/// What a producer role would do.
struct ProducerPlan {
  /// Why there is none; empty if there is one.
  std::string reason;
  SmallVector<RunAheadPlan> plans;
};

/// Plans the producer role of `kernel`. `whyNot` refuses single operations.
ProducerPlan planProducerRole(KernelOp kernel, RunAheadFilter whyNot);

/// The roles of a kernel with `threads` consumer threads: the producer first.
/// `single`: one thread is enough to produce.
SmallVector<RoleAttr> getAutomaticRoles(MLIRContext *context, int64_t threads,
                                        bool single);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PRODUCERROLE_H
