//===- SyncProgram.h - what matters for barriers ----------------*- C++ -*-===//
//
// A kernel reduced to the steps that take part in synchronisation: barriers,
// asynchronous operations, accesses to the memory that these touch, and the
// integers and control flow that decide about them. Flat, with jumps, so that
// an execution can stop at any step and go on later.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCPROGRAM_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCPROGRAM_H

#include "SymbolicValues.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>

namespace mlir::tile {

enum class StepKind {
  // Values and control flow.
  Calculate,
  Opaque,
  LoadVariable,
  StoreVariable,
  LoopBegin,
  LoopNext,
  Branch,
  BranchEnd,
  Move,
  WhileTest,
  Jump,
  EnterRole,
  LeaveRole,
  End,
  // Synchronisation.
  BarrierInit,
  BarrierWait,
  BarrierArrive,
  ExpectBytes,
  SyncThreads,
  CopyAsync,
  AsyncCommit,
  AsyncWait,
  GemmAsync,
  MmaWait,
  BulkCommit,
  BulkWait,
  NamedArrive,
  ClusterArrive,
  ClusterWait,
  WarpSync,
  Access
};

/// One dimension of an access: from the value with number `base` (-1: none).
struct AccessRange {
  int base = -1;
  int64_t offset = 0, size = 0, extent = 0;
};

struct AccessTemplate {
  int memory = 0;
  bool isWrite = false, isAtomic = false;
  SmallVector<AccessRange, 4> region;
};

struct SyncStep {
  StepKind kind;
  Operation *op = nullptr;
  /// Numbers of values.
  SmallVector<int, 4> inputs, outputs;
  /// The step to go on with, or the number of a loop, branch, barrier, role.
  int target = -1, subject = -1;
  /// Arrivals, bytes, threads, groups.
  int64_t number = 0;
  CalculationKind calculation;
  /// Of Opaque: attributes, tensors and buffers; equal operations on the same
  /// give the same value if `isRepeatable`.
  const void *attributes = nullptr;
  SmallVector<const void *, 1> handles;
  bool isRepeatable = false;
  /// All roles get the same values, one after the other.
  bool isOfBlock = false;
  int firstAccess = 0, numAccesses = 0;
  /// Of barriers seen through a view: the first one and how many.
  int64_t firstSlot = 0, numSlots = 0;
  /// Who arrives, and whether only when the thread's copies are complete.
  ArrivalScope scope = ArrivalScope::Single;
  bool afterCopies = false;
  /// Of Branch: threads wait for others on both ways.
  bool waitsOnBothWays = false;
  /// Number of the sets of blocks that it reaches, -1 for the own block.
  int reach = -1;
  /// Each warp does it by itself.
  bool isPerWarp = false;
};

/// A loop that holds synchronisation is followed iteration by iteration; of
/// another one, a single iteration shows all accesses.
struct SyncLoop {
  scf::ForOp op;
  bool isFollowed = false;
  bool synchronises = false, isOuter = false;
  /// The first value of the counter, or 0 if it is not constant.
  int64_t lower = 0;
  int64_t minTrips = 0, maxTrips = std::numeric_limits<int64_t>::max();
};

struct SyncBarriers {
  Value buffer;
  int first = 0, count = 0;
};

struct SyncMemory {
  Value buffer;
  bool isFragment = false;
  /// A tensor: accesses conflict where they certainly meet.
  bool isGlobal = false;
  /// Each warp keeps to a part of its own.
  bool isOfWarps = false;
  /// Parts along the first dimension that are looked at by themselves.
  int64_t cells = 1;
  /// Place in shared memory; -1: unknown, apart from all others.
  int64_t offset = -1, bytes = 0;
  /// Other memories at the same place.
  SmallVector<int, 1> overlaps;
};

/// A region of a tile.warp_specialize.
struct SyncRole {
  RoleAttr attr;
  /// Number of the operation among those of the kernel.
  int specialize = 0;
  int entry = -1;
  std::string name;

  bool holds(int64_t warp) const {
    return warp >= attr.getFirst() && warp < attr.getFirst() + attr.getWarps();
  }
};

/// Consecutive warps that run the same steps: an agent of an execution.
struct SyncWarps {
  int64_t first = 0, count = 0;
  /// By number of the warp_specialize: the role that they have in it, or -1.
  SmallVector<int, 2> roles;
  /// Warps with the same roles in everything have the same number.
  int family = 0;
  /// Outside of roles.
  std::string name;
};

struct SyncProgram {
  std::vector<SyncStep> steps;
  std::vector<AccessTemplate> accesses;
  std::vector<SyncLoop> loops;
  std::vector<SyncBarriers> barriers;
  std::vector<SyncMemory> memories;
  std::vector<SyncRole> roles;
  std::vector<SyncWarps> warps;
  /// Threads of a block.
  int64_t threads = 0;
  /// Each warp is followed by itself, because conditions differ between them.
  bool hasThreadConditions = false;
  /// Some memory is of single warps: their lanes have to meet.
  bool ordersLanes = false;
  /// Constants, and values from outside that nothing computes.
  std::vector<std::pair<int, int64_t>> constants;
  std::vector<std::pair<int, Value>> symbols;
  /// Where variables begin and how many elements they have.
  int numVariableElements = 0;
  llvm::DenseMap<Operation *, std::pair<int, int>> variables;
  /// The number of a loop by that of a value which bounds it.
  llvm::DenseMap<int, int> bounds;
  int numValues = 0, numBranches = 0, numBarriers = 0;
  /// Blocks that are executed together: those of a cluster if they use each
  /// other's shared memory or meet, else one.
  int blocks = 1;
  std::array<int64_t, 3> clusterExtents = {1, 1, 1};
  /// Ranks of the blocks in a set, by number of the set and own rank.
  std::vector<std::vector<SmallVector<int64_t, 4>>> reached;
  /// The largest number of slots of a barrier; iterations are cut by a multiple
  /// of `period`.
  int64_t slots = 1, period = 2;
  /// Why the kernel cannot be followed.
  Operation *unsupported = nullptr;
  std::string unsupportedReason;

  const SyncBarriers &getBarriers(int slot) const;
};

/// True if `kernel` has roles or barriers to look at.
bool needsSyncVerification(KernelOp kernel);

SyncProgram buildSyncProgram(KernelOp kernel);

/// The roles of a kernel; the operation that cannot be followed, if any.
std::pair<Operation *, std::string> findSyncRoles(KernelOp kernel,
                                                  SyncProgram &program);

/// Cuts the warps of a block into agents, when it is known whether each warp
/// has to be followed by itself.
void findSyncWarps(KernelOp kernel, SyncProgram &program);

/// Roles run their parts of a loop of the program equally often. How often, and
/// which iterations are left out, must not hang on what else is in each part:
/// they are the same for loops from one place of the source.
void levelSyncLoops(SyncProgram &program);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_SYNCPROGRAM_H
