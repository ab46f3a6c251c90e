//===- AsyncGroups.h - completion of asynchronous copies --------*- C++ -*-===//
//
// The parts of tile-insert-mbarriers, one for each kind of completion.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Commits the `cp.async` copies of `kernel` in groups and waits for them.
LogicalResult insertCpAsyncGroups(KernelOp kernel);

/// Completes the copies of `kernel` for which TMA was chosen and that are still
/// plain copies: loads on barriers with a phase variable, stores become
/// asynchronous (tile-insert-sync commits them and waits for them).
LogicalResult insertTmaBarriers(KernelOp kernel);

/// Decides how the tiles that one thread fetches come to the others: through
/// scratch memory, or from a producer role to the consumers.
LogicalResult insertTileNumbers(KernelOp kernel);

/// Replaces `copy` by a copy_async, which completes on `barrier[index]` if
/// there is a barrier. Discardable attributes are not taken over.
CopyAsyncOp makeAsynchronous(CopyOp copy, Value barrier = {}, Value index = {});

/// Bytes that a copy for which TMA was chosen adds to the count of its barrier.
/// Emits an error when TMA cannot do it.
FailureOr<int64_t> getTmaBytes(CopyOp copy);

/// Of copies in a ring loop: they belong to the producer role.
inline constexpr StringLiteral kProduceName = "tile.produce";

/// Of the allocation of shared memory into which TMA rounds f32 to tf32.
inline constexpr StringLiteral kRoundedName = "tile.rounded_tf32";

/// Of the allocation of a position in a ring: its number of slots.
inline constexpr StringLiteral kRing = "tile.ring";

/// Of the loop over tiles of which two warp groups take turns.
inline constexpr StringLiteral kPingPong = "tile.ping_pong";

/// Of the branch around the tiles of a warp group that takes turns.
inline constexpr StringLiteral kTurn = "tile.turn";

/// Of the arrival that hands the turn over: nothing before it has to be
/// complete.
inline constexpr StringLiteral kHandOver = "tile.hand_over";

/// Of scf.for and scf.if: the place in a software pipeline.
inline constexpr StringLiteral kPipelineName = "tile.pipeline";

/// The place of `op` in a software pipeline, if it has `role` there.
PipelineAttr getPipeline(Operation *op, PipelineRole role);

/// Whether other threads may go on behind `op`, in a kernel that orders its
/// threads itself (`tile.explicit`): copies before it must be complete by then.
bool releasesOthers(KernelOp kernel, Operation *op);

/// Barriers named `name`, one for each slot, allocated and initialised where
/// the builder stands. Whoever uses them must see the initialisation.
AllocOp createBarriers(OpBuilder &builder, Location loc, StringRef name,
                       int64_t slots, int64_t arrivals);

/// The same at the top of the kernel; a barrier of all threads stands behind
/// all initialisations.
AllocOp createBarriers(KernelOp kernel, StringRef name, int64_t slots,
                       int64_t arrivals);

/// A local variable of one i32 that holds `initial` where the code of the
/// kernel begins.
AllocOp createVariable(KernelOp kernel, StringRef name, int64_t initial);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_ASYNCGROUPS_H
