//===- Features.cpp - which targets have an operation -----------*- C++ -*-===//
#include "Patterns.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

using namespace tilemlir::to_nvvm;

/// Operations that came with sm_90.
static bool needsHopper(Operation *op) {
  using namespace mlir::tile_gpu;
  return isa<StmatrixOp, TensorMapParameterOp, TmaPrefetchMapOp, TmaLoadOp,
             TmaStoreOp, TmaReduceOp, BulkLoadOp, BulkStoreOp, BulkReduceOp,
             BulkCommitOp, BulkWaitOp, MbarrierInitOp, MbarrierInitFenceOp,
             MbarrierExpectTxOp, MbarrierArriveOp, MbarrierArriveClusterOp,
             MbarrierArriveCpAsyncOp, MbarrierWaitOp, MbarrierTryWaitOp,
             ElectOp, FenceProxyOp, ClusterRankOp, ClusterIdOp, ClusterArriveOp,
             ClusterWaitOp, MapSharedOp, GriddepcontrolWaitOp,
             GriddepcontrolLaunchDependentsOp>(op);
}

LogicalResult tilemlir::to_nvvm::verifyFeatures(Operation *root,
                                                tile::TargetAttr target) {
  using namespace mlir::tile_gpu;
  StringRef arch = target ? target.getArch() : "sm_80";
  int64_t capability = target ? target.getComputeCapability() : 80;
  WalkResult result = root->walk([&](Operation *op) {
    if (isa<WgmmaOp, WgmmaDescriptorOp, WgmmaFenceOp, WgmmaCommitOp,
            WgmmaWaitOp>(op)) {
      if (arch == "sm_90a")
        return WalkResult::advance();
      op->emitOpError() << "exists on sm_90a only, the target is " << arch;
      return WalkResult::interrupt();
    }
    if (isa<SetMaxRegistersOp>(op)) {
      if (capability >= 90 && arch.ends_with("a"))
        return WalkResult::advance();
      op->emitOpError() << "needs sm_90a or later, the target is " << arch;
      return WalkResult::interrupt();
    }
    if (capability >= 90 || !needsHopper(op))
      return WalkResult::advance();
    op->emitOpError() << "needs sm_90, the target is " << arch;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
