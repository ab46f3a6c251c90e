//===- KernelLowering.h - Distribution of a kernel to threads ---*- C++ -*-===//
//
// The state of lowering one `tile.kernel`, and what its parts share: layouts
// as thread and register coordinates, storage accesses of many lanes at once,
// and the registers of fragments. Each tile operation has a file of its own.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_KERNELLOWERING_H
#define TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_KERNELLOWERING_H

#include "Index.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"
#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/MatrixAccess.h"
#include "tilemlir/Layout/MmaFragments.h"
#include "tilemlir/Layout/SharedLayout.h"
#include "tilemlir/Layout/WgmmaDescriptor.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

namespace tilemlir::to_gpu {

/// A fragment (or a rectangular part of one) as registers of its allocation.
struct FragmentView {
  tile::AllocOp alloc;
  /// Layout of the part.
  layout::FragmentLayout layout;
  /// `registers[r]`: register of the allocation that holds register r of the
  /// part.
  std::vector<int64_t> registers;
};

/// One element that a thread accesses: its coordinates in the storage, and the
/// condition under which it does (null = always).
struct LaneAccess {
  Coordinates coordinates;
  Value predicate;
};

/// A run of lanes done by one memory instruction.
struct LaneGroup {
  size_t first = 0;
  int64_t count = 1;
};

/// A shared address: a per-thread base and a constant.
struct SharedAddress {
  Value base;
  int64_t offset = 0;
};

/// A register of a fragment or of a local buffer.
using RegisterSlot = std::pair<Operation *, int64_t>;

class KernelLowering {
public:
  explicit KernelLowering(tile::KernelOp kernel);

  /// Lowers everything in the kernel. Errors have been reported.
  LogicalResult run();

private:
  friend class ParallelEmitter;

  //===--- TileToTileGPU.cpp: dispatch
  //--------------------------------------===//
  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerOp(Operation *op);
  LogicalResult flattenCopies(scf::IfOp branch);
  LogicalResult unrollLoops();
  /// Finds the parallel loops of `notRepeated`, before any is lowered.
  void findLoopsNotRepeated();

  //===--- Threads.cpp: the thread id, layouts
  //-------------------------------===//
  Value threadId();
  /// A function of the thread id, given by its values.
  Value threadFunction(const std::vector<int64_t> &values);
  /// A function of the number of the warp in the role or block. All lanes of a
  /// warp agree on the result.
  Value warpFunction(const std::vector<int64_t> &values);
  Coordinate threadCoordinate(const std::vector<int64_t> &values);
  /// Per dimension, the thread's part of the coordinates under `layout`.
  ArrayRef<Coordinate> threadOffsets(const layout::FragmentLayout &layout);
  /// True in the threads that store; null when all do.
  Value primaryPredicate(const layout::FragmentLayout &layout);
  /// True where register `r` holds an element; null when always.
  Value occupancyPredicate(const layout::FragmentLayout &layout, int64_t r);

  //===--- Storage.cpp: views and global memory
  //------------------------------===//
  FailureOr<FragmentView> viewFragment(Operation *user, Value buffer);
  /// Bits of the units in which accesses through `buffer` are addressed: the
  /// narrowest elements of the views down to the allocation. Of a local buffer,
  /// of all its views.
  static int64_t accessUnitBits(Value buffer);
  /// Coordinates in the allocation behind `buffer`, from those in the view.
  /// Along the last dimension they count access units.
  LogicalResult mapToAllocation(Operation *user, Value buffer,
                                Coordinates &coordinates);
  /// Values at `lanes` of a tensor, shared or local buffer.
  FailureOr<SmallVector<Value>> load(Operation *op, Value storage,
                                     ArrayRef<LaneAccess> lanes,
                                     bool checkBounds, Attribute safe);
  LogicalResult store(Operation *op, Value storage, ArrayRef<Value> values,
                      ArrayRef<LaneAccess> lanes, bool checkBounds);
  FailureOr<SmallVector<Value>> atomic(tile::AtomicOp op, Value storage,
                                       ArrayRef<Value> values,
                                       ArrayRef<LaneAccess> lanes,
                                       bool checkBounds);

  FailureOr<SmallVector<Value>> loadGlobal(Operation *op, Value tensor,
                                           ArrayRef<LaneAccess> lanes,
                                           bool checkBounds, Attribute safe);
  LogicalResult storeGlobal(Operation *op, Value tensor, ArrayRef<Value> values,
                            ArrayRef<LaneAccess> lanes, bool checkBounds);
  /// Longest runs of lanes that one aligned access of at most `maxBytes`
  /// covers.
  SmallVector<LaneGroup> groupGlobal(Value tensor, ArrayRef<LaneAccess> lanes,
                                     bool wholeVectorsOnly,
                                     int64_t maxBytes = 16);
  int64_t promisedAlignment(Value tensor);
  int64_t tensorAlignment(Value tensor);
  int64_t strideDivisor(Value tensor, int64_t axis);
  int64_t innerExtentDivisor(Value tensor);
  Value globalOffset(Value tensor, ArrayRef<Coordinate> coordinates);
  Value boundsPredicate(Value tensor, ArrayRef<Coordinate> coordinates);
  Value extent(Value tensor, int64_t axis);
  Value stride(Value tensor, int64_t axis);

  //===--- SharedAccess.cpp
  //--------------------------------------------------===//
  FailureOr<SmallVector<Value>> loadShared(Operation *op, Value buffer,
                                           ArrayRef<LaneAccess> lanes);
  LogicalResult storeShared(Operation *op, Value buffer, ArrayRef<Value> values,
                            ArrayRef<LaneAccess> lanes);
  /// Coordinates must be those of mapToAllocation, as the layout.
  SmallVector<LaneGroup> groupShared(const layout::SharedLayout &layout,
                                     ArrayRef<LaneAccess> lanes);
  /// The layout of the allocation behind `buffer`, its elements being access
  /// units.
  FailureOr<layout::SharedLayout> sharedLayout(Operation *user, Value buffer);
  FailureOr<int64_t> sharedOffset(Operation *user, tile::AllocOp alloc);
  /// Addresses of access units, sharing bases where the layout allows.
  FailureOr<SmallVector<SharedAddress>>
  sharedAddresses(Operation *user, Value buffer,
                  ArrayRef<Coordinates> coordinates);
  Value swizzledOffset(const layout::SharedLayout &layout,
                       ArrayRef<Coordinate> coordinates);

  //===--- Registers.cpp: fragments and local buffers as values
  //---------------===//
  /// Current registers of a buffer, as scalars.
  SmallVector<Value> readRegisters(tile::AllocOp alloc);
  void writeRegisters(tile::AllocOp alloc, ArrayRef<Value> values);
  /// Whether all accesses of a local buffer have constant indices.
  bool isHeldInRegisters(tile::AllocOp alloc);
  LogicalResult classifyLocals();
  Value localMemory(tile::AllocOp alloc);
  /// Positions of the units of one access, row-major; one per lane and unit.
  Value localPosition(tile::AllocOp alloc, const LaneAccess &lane,
                      int64_t unit);
  /// Coordinates must be those of mapToAllocation.
  FailureOr<SmallVector<Value>> loadLocal(Operation *op, Value buffer,
                                          ArrayRef<LaneAccess> lanes);
  LogicalResult storeLocal(Operation *op, Value buffer, ArrayRef<Value> values,
                           ArrayRef<LaneAccess> lanes);
  /// As `tile.copy` converts; storage types say which integers are unsigned. In
  /// pairs where the hardware has an instruction for two.
  SmallVector<Value> convertScalars(ArrayRef<Value> values, Type from, Type to);
  Value zero(Type type);
  SmallVector<Value> toElements(Value vector);
  Value fromElements(ArrayRef<Value> values);

  //===--- one file each
  //------------------------------------------------------===//
  /// Coordinates in a fragment become those in the part of it that begins at
  /// `start`, without its unit dimensions, and `predicate` (null = always) also
  /// says whether they lie in it. False if they do in no thread.
  bool restrictToPart(Coordinates &coordinates, Value &predicate,
                      ArrayRef<Coordinate> start, ArrayRef<int64_t> sizes);
  LogicalResult lowerCopy(Operation *op, bool async);
  LogicalResult lowerFill(tile::FillOp op);
  /// A part of a fragment that is no set of registers.
  LogicalResult fillPart(tile::FillOp op);
  LogicalResult lowerGemm(tile::GemmOp op);
  LogicalResult lowerGemmMma(tile::GemmOp op);
  LogicalResult lowerGemmFma(tile::GemmOp op);
  LogicalResult lowerReduce(tile::ReduceOp op);
  /// The replicas of a fragment that hold results of their own become equal.
  LogicalResult combineLanes(tile::ConvertOp op);
  LogicalResult lowerConvert(tile::ConvertOp op);
  LogicalResult convertThroughScratch(tile::ConvertOp op,
                                      const FragmentView &source,
                                      const FragmentView &dest);
  LogicalResult lowerParallel(tile::ParallelOp op);
  LogicalResult lowerTransposedStore(tile::ParallelOp op);
  LogicalResult lowerElement(Operation *op);
  LogicalResult lowerPrint(tile::PrintOp op);
  /// A scalar in a type that can be printed: 8-bit floats become f32.
  Value printable(Value scalar);

  //===--- LowerRoles.cpp, LowerBarriers.cpp
  //----------------------------------===//
  LogicalResult lowerRoles(tile::WarpSpecializeOp op);
  /// Replaces the program's thread ids in `region`, but not in roles inside.
  void replaceThreadIds(Region &region, bool countsFromRole);
  /// Barrier of the threads that run the current code: the block or a role.
  void meetThreads();
  /// Calls `emit` where one thread of the current role (or block) runs.
  void asOneThread(llvm::function_ref<void()> emit);
  LogicalResult lowerBarrierOp(Operation *op);
  /// `index` may be null: the first one.
  FailureOr<Value> barrierAddress(Operation *op, Value barriers, Value index);
  /// Gives each set of warps that the program names a hardware barrier that the
  /// program does not use, as the attribute `tile.named_barriers` of its roles.
  LogicalResult chooseUserBarriers();

  //===--- LowerClusters.cpp
  //---------------------------------------------------===//
  /// Number of the block among those of its cluster that differ along `axes`,
  /// and i16 with a bit for the rank of each of them.
  std::pair<Value, Value> multicastPart(ArrayRef<int64_t> axes);
  /// One arrival of the executing warp at the barriers at `barrier` of all
  /// blocks that the arrival reaches.
  void arriveInCluster(tile::BarrierArriveOp arrive, Value barrier);

  //===--- LowerThreadOps.cpp
  //--------------------------------------------------===//
  LogicalResult lowerThreadOp(Operation *op);
  /// Whether the executing thread is the one that is elected in each `group` of
  /// consecutive threads; 0 is the whole block.
  Value electThread(int64_t group);
  LogicalResult lowerPtx(Operation *op);

  //===--- LowerTiles.cpp
  //------------------------------------------------------===//
  LogicalResult lowerFetchTile(Operation *op);
  LogicalResult lowerShareTile(Operation *op);
  Value isFetchingThread();

  //===--- LowerCopy.cpp, MatrixMoves.cpp
  //--------------------------------------===//
  /// Fails without a trace when cp.async cannot do the copy.
  LogicalResult tryAsyncCopy(
      Operation *op, Value tensor, Value buffer,
      llvm::function_ref<std::pair<LaneAccess, LaneAccess>(size_t)> lane,
      size_t count, int64_t vector, bool checkBounds);
  /// Dimension of a shared buffer along which neighbours are adjacent.
  std::optional<int> contiguousDimension(Operation *op, Value buffer);
  /// Addresses that each lane supplies to move groups of matrices of a fragment
  /// (over iteration dimensions) from or to part of a shared buffer.
  FailureOr<SmallVector<SharedAddress>>
  matrixAddresses(Operation *op, Value buffer, ArrayRef<Coordinate> offsets,
                  ArrayRef<int> iterationDim,
                  const layout::FragmentLayout &fragment,
                  const layout::MatrixAccess &access,
                  ArrayRef<SmallVector<int64_t, 4>> groups);
  LogicalResult copyMatrices(Operation *op, Value buffer,
                             ArrayRef<Coordinate> offsets,
                             ArrayRef<int> iterationDim,
                             const FragmentView &view, Type fragmentType,
                             Type elementType, bool isLoad);

  //===--- LowerGemm.cpp
  //--------------------------------------------------------===//
  /// Operand registers of one k-step: a vector of 32-bit registers per atom.
  struct MmaOperandLoader;
  FailureOr<std::unique_ptr<MmaOperandLoader>>
  prepareOperand(tile::GemmOp op, Value buffer,
                 const layout::MmaFragment &fragment, bool roundTF32);
  SmallVector<Value> loadOperand(MmaOperandLoader &loader, int64_t step);

  //===--- LowerWgmma.cpp
  //-------------------------------------------------------===//
  struct MatrixRegisters;
  struct WgmmaSource;
  LogicalResult lowerGemmAsync(tile::GemmAsyncOp op);
  LogicalResult lowerMmaWait(tile::MmaWaitOp op);
  FailureOr<MatrixRegisters> readMatrix(Operation *op, Value buffer,
                                        const layout::FragmentLayout &required);
  /// `extent` times the number of the executing warp group along a dimension
  /// that has `groups` of them, and of which `before` neighbours share a place.
  Value warpGroup();
  Coordinate warpGroupOffset(int64_t before, int64_t groups, int64_t extent);
  layout::Result<layout::WgmmaOperand> sharedOperand(Operation *op,
                                                     const WgmmaSource &source);
  /// Descriptor of the part of an operand that begins at (mn, k) of the part of
  /// the warp group.
  FailureOr<Value> wgmmaDescriptor(Operation *op, const WgmmaSource &source,
                                   int64_t mn, int64_t k);

  //===--- LowerTma.cpp
  //---------------------------------------------------------===//
  /// `first` and what follows it, if one thread does it on behalf of all; moves
  /// pure operations out of the way. Empty if `first` is not of this kind.
  SmallVector<Operation *> takeSingleThreaded(Operation *first);
  /// Lowers and erases such operations, all in one branch of a single thread.
  LogicalResult lowerSingleThreaded(ArrayRef<Operation *> operations);
  LogicalResult lowerTmaCopy(tile::CopyAsyncOp op);
  LogicalResult lowerWarpStore(tile::CopyAsyncOp op);
  /// What `emit` emits is done by one thread of each warp: its operations take
  /// `electedLane` as predicate.
  void asOneLane(llvm::function_ref<void()> emit);
  LogicalResult lowerBulkOp(Operation *op);
  /// The descriptor for the boxes of `plan`, at the top of the kernel.
  Value tensorMap(Value tensor, const tile::TmaPlan &plan,
                  bool isRounded = false);
  /// Coordinates of a box in the map of `plan`, from those in the tensor.
  SmallVector<Value> mapCoordinates(const tile::TmaPlan &plan,
                                    llvm::function_ref<Value(int64_t)> start);
  /// Brings the descriptors close to the hardware that reads them, by a warp
  /// that has nothing else to do; where there is none, nothing happens.
  void prefetchTensorMaps();
  /// Byte in the arena at which a region of panels starts, before the swizzle.
  FailureOr<Value> regionAddress(Operation *op, Value buffer,
                                 Coordinates coordinates);

  tile::KernelOp kernel;
  /// Threads that run the current code together: of the block, or of a role.
  int64_t threads;
  /// The role whose code is lowered; null outside of roles.
  tile::RoleAttr role;
  /// Hardware barrier of its threads.
  int64_t roleBarrier = 0;
  IndexBuilder ix;
  OpBuilder &b;
  /// Values that dominate the kernel are emitted before this operation.
  Operation *entry = nullptr;
  /// What is emitted at `entry` when it is needed first, for all code of the
  /// kernel or of a role.
  struct EmittedOnce {
    Value threadId, warpGroup;
    /// Whether the thread is in the first warp of the role or block.
    Value inFirstWarp;
    /// The number of the warp in the role or block.
    Value warp;
    std::map<std::vector<int64_t>, Value> functions, warpFunctions;
    std::map<std::string, Coordinates> offsets;
    std::map<std::string, Value> primary;
    /// By sets of blocks: the one at which a lane arrives, and whether it does.
    llvm::DenseMap<Attribute, std::pair<Value, Value>> reach;
    llvm::DenseMap<Operation *, Value> localMemories;
  };
  EmittedOnce once;
  /// Parallel loops that threads which repeat the iterations of others must
  /// leave out.
  llvm::DenseSet<Operation *> notRepeated;
  llvm::DenseMap<Operation *, bool> heldInRegisters;
  llvm::MapVector<std::pair<Value, Attribute>, Value> tensorMaps;
  /// A warp of a role of one thread that is not the one of that thread.
  std::optional<int64_t> idleWarp;
  /// Only one thread runs the code that is being emitted.
  bool inOneThread = false;
  /// Predicate of the thread that acts for its warp; null elsewhere.
  Value electedLane;
  /// Threads have copied by stores what was to be copied by cp.async.
  bool copiesPlainly = false;
  /// Condition of the branch that was flattened around the current copy.
  Value ambientPredicate;
  /// Options of the module.
  int64_t assumedAlignment = 16;
  tile_gpu::CacheHint cacheHint = tile_gpu::CacheHint::None;
  int64_t capability = 80;
  /// The launch may begin before the one in front of it has ended.
  bool beginsEarly = false;
};

/// A branch for one thread of the warp in which `isWarp` holds; the block that
/// the thread runs. Operations are then inserted there.
Block *enterOneThread(OpBuilder &b, Location loc, Value isWarp);

/// Dimensions of a subview's source that its result keeps.
SmallVector<int64_t> keptDimensions(ArrayRef<int64_t> sizes,
                                    ArrayRef<int64_t> resultShape);

/// Bytes of an element in memory.
inline int64_t elementBytes(Type elementType) {
  return std::max<int64_t>(1, tile::getElementBits(elementType) / 8);
}

} // namespace tilemlir::to_gpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_KERNELLOWERING_H
