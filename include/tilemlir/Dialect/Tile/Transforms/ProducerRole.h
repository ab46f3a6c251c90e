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

/// Warp groups of consumers: those of the threads that the program sees, or two
/// that take turns (tile.ping_pong).
int64_t countConsumerGroups(KernelOp kernel);

/// Threads that share the registers of a multiprocessor when each block of
/// `kernel` has `threads`: those of the blocks that the program wants side by
/// side.
int64_t countThreadsSideBySide(KernelOp kernel, int64_t threads);

/// Registers that each thread of `kernel` gets at launch when a block has
/// `threads`.
int64_t countRegistersAtLaunch(KernelOp kernel, int64_t threads);

/// "384 threads", or "384 threads in each of 2 blocks on a multiprocessor".
std::string describeThreads(KernelOp kernel, int64_t threads);

/// The roles of `kernel` with so many warp groups of consumers: the producer
/// first. `single`: one thread is enough to produce. The registers are those
/// that the program asks for, if it does: `tile.role_registers` of the kernel
/// holds those of the producer and of the consumers; -1 leaves the choice here.
SmallVector<RoleAttr> getAutomaticRoles(KernelOp kernel, int64_t groups,
                                        bool single);

/// Why a block cannot have the registers of `roles`, all the roles of `kernel`:
/// setmaxnreg would wait for them for ever. Empty if it can.
std::string whyNotRegisters(KernelOp kernel, llvm::ArrayRef<RoleAttr> roles);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_PRODUCERROLE_H
