//===- KernelEmitter.h - one kernel as CPU functions ------------*- C++ -*-===//
//
// Emits the entry point of a `tile.kernel` and the function that runs a range
// of its blocks. Every tile operation becomes loops over plain memory.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_CONVERSION_TILETOCPU_KERNELEMITTER_H
#define TILEMLIR_CONVERSION_TILETOCPU_KERNELEMITTER_H

#include "ScalarBuilder.h"
#include "ThreadAnalysis.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"

#include "mlir/IR/IRMapping.h"

namespace tilemlir::cpu {

/// A tensor, or a buffer or a view of one, in memory. Buffers are row-major
/// whatever their layout attribute says.
struct Storage {
  Value base;                        ///< address of element (0, ..., 0)
  Type elementType;                  ///< storage type, maybe unsigned
  SmallVector<Value> sizes, strides; ///< i64; strides in bytes
  bool isTensor = false;
  /// A reshape that strides cannot express: the row-major index in this shape
  /// is the row-major index in `inner`.
  std::shared_ptr<Storage> inner;
  /// With `inner`: bytes before the first element in row-major order.
  Value start;

  int64_t elementBytes() const { return tile::getElementBits(elementType) / 8; }
  size_t rank() const { return sizes.size(); }
  /// Whether consecutive indices of the last dimension are adjacent.
  bool hasUnitStride() const;
  /// Whether the elements are adjacent in row-major order.
  bool isContiguous() const;
};

/// Distinguishes the uses of scratch memory by the gemm lowering.
enum class Scratch { PackedA, PackedB, Tile, Text };

class KernelEmitter {
public:
  /// `lanes` is the number of f32 values of the vector registers to aim at.
  KernelEmitter(tile::KernelOp kernel, OpBuilder &builder, int64_t lanes)
      : kernel(kernel), b(builder), s(builder), lanes(lanes), threads(kernel) {}

  /// Emits both functions at the builder's insertion point (in a module).
  LogicalResult emit();

  struct GemmShape;
  struct PackedOperand;

private:
  //--- functions and memory (KernelEmitter.cpp)
  void collectMemory();
  void emitEntry(func::FuncOp blocks);
  void bindParameters(func::FuncOp blocks);
  Value scratch(Scratch use);
  void requestScratch(Scratch use, int64_t bytes);

  //--- operations in program order
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOperation(Operation *op);
  LogicalResult emitStructured(Operation *op);
  LogicalResult emitPipelined(tile::PipelinedOp op);

  //--- thread-dependent kernels (EmitThreads.cpp)
  LogicalResult emitThreadedBlock(Block &block);
  LogicalResult emitSegment(ArrayRef<Operation *> ops);
  LogicalResult emitCollective(Operation *op);
  LogicalResult emitThreadedControlFlow(Operation *op);
  LogicalResult emitThreadedIf(scf::IfOp op);
  LogicalResult emitThreadedFor(scf::ForOp op, ArrayRef<Value> firstThread);
  LogicalResult emitThreadedWhile(scf::WhileOp op, ArrayRef<Value> firstThread);
  SmallVector<Value> lookupAll(ValueRange originals);
  void mapUniform(ValueRange originals, ValueRange values);
  void forEachThread(function_ref<void(Value)> body);
  void spill(Value original, Value thread, Value value);
  Value reload(Value original, Value thread);
  void mapForThread(Operation *op, Value thread,
                    SmallVectorImpl<Value> &mapped);
  void copySpills(ValueRange from, ValueRange to);
  Value threadId(int64_t axis);

  //--- values
  Value lookup(Value original) { return mapping.lookup(original); }
  Value lookupI64(Value original);
  SmallVector<Value> lookupI64(ValueRange originals);

  //--- storage (EmitStorage.cpp)
  Storage getStorage(Value original);
  Storage getSubview(const Storage &source, ArrayRef<Value> offsets,
                     ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape);
  Storage getReshape(const Storage &source, ArrayRef<int64_t> shape);
  Storage getContiguous(Value base, Type elementType, ArrayRef<int64_t> shape);
  Value address(const Storage &storage, ValueRange indices);
  Value loadElement(const Storage &storage, ValueRange indices);
  void storeElement(const Storage &storage, ValueRange indices, Value value);
  Value insideTensor(const Storage &storage, ValueRange indices);
  Value safeValue(TypedAttr safe, Type elementType);

  //--- element access (EmitAccess.cpp)
  LogicalResult emitLoad(tile::LoadOp op);
  LogicalResult emitStore(tile::StoreOp op);
  LogicalResult emitAtomic(tile::AtomicOp op);
  Value emitAtomicUpdate(tile::AtomicOp op, const Storage &storage,
                         ValueRange indices);
  Value combineAtomic(tile::AtomicOp op, Value old, Value value);
  LogicalResult emitPrint(tile::PrintOp op);
  LogicalResult emitAssert(tile::AssertOp op);
  Value globalText(StringRef text);
  Value blockIndices();
  /// Whether an access must be tested in the loop nest being emitted.
  bool needsTest(Operation *op, std::optional<tile::Bounds> bounds);

  //--- copies (EmitCopy.cpp)
  LogicalResult emitFill(tile::FillOp op);
  template <typename OpT> LogicalResult emitCopy(OpT op);
  LogicalResult emitConvert(tile::ConvertOp op);

  //--- parallel loops (EmitParallel.cpp)
  LogicalResult emitParallel(tile::ParallelOp op);
  LogicalResult emitParallelNest(tile::ParallelOp op, ArrayRef<Value> extents);
  LogicalResult emitParallelEdge(tile::ParallelOp op, ArrayRef<Value> extents);
  LogicalResult emitParallelBody(tile::ParallelOp op, ArrayRef<Value> extents,
                                 ValueRange indices);
  Value emitRangeTest(tile::ParallelOp op, ArrayRef<Value> extents,
                      llvm::SmallPtrSetImpl<Operation *> &proven);
  using Interval = std::pair<Value, Value>; ///< both ends included, i64
  std::optional<Interval> getInterval(tile::ParallelOp op,
                                      ArrayRef<Value> extents, Value value);
  /// A row of the nest: fixed outer indices. A value that is the same in all of
  /// the row (i64); nothing when that is not known.
  std::optional<Value> evaluateInRow(tile::ParallelOp op, Value value);
  /// What `value` is more than the innermost index.
  std::optional<Value> getRowOffset(tile::ParallelOp op, Value value);
  /// First and one past the last iteration of a row in which the accesses that
  /// are put in `proven` are inside of their tensors.
  Interval emitRowRun(tile::ParallelOp op, ArrayRef<Value> extents,
                      llvm::SmallPtrSetImpl<Operation *> &proven);

  //--- gemm (EmitGemm.cpp, EmitGemmPacking.cpp)
  LogicalResult emitGemm(tile::GemmOp op);
  void requestGemmScratch(tile::GemmOp op);
  static GemmShape getGemmShape(tile::GemmOp op, int64_t lanes);
  PackedOperand packA(tile::GemmOp op, const GemmShape &shape);
  Value packB(tile::GemmOp op, const GemmShape &shape);
  Value roundToTF32(Value value);
  Value loadOperand(Value pointer, Type from, const GemmShape &shape,
                    int64_t lanes, bool toTF32);
  SmallVector<Value> matrixIndices(const Storage &storage, Value row,
                                   Value column);

  //--- reductions (EmitReduce.cpp)
  LogicalResult emitReduce(tile::ReduceOp op);

  tile::KernelOp kernel;
  OpBuilder &b;
  ScalarBuilder s;
  int64_t lanes;
  ThreadAnalysis threads;

  tile::KernelSignature signature;
  IRMapping mapping;
  llvm::MapVector<Value, Storage> tensors;
  DenseMap<Value, Value> buffers; ///< allocation -> address
  DenseMap<int, int64_t> scratchBytes;
  DenseMap<int, Value> scratchAddress;
  /// Buffers and scratch that live in the arena of the calling thread.
  SmallVector<std::pair<Value, int64_t>> arenaBuffers;
  SmallVector<std::pair<int, int64_t>> arenaScratch;
  int64_t arenaBytes = 0;
  Value blockIndex[3];

  /// The executing thread while a per-thread segment is emitted (i64).
  Value thread;
  DenseMap<Value, Value> spills; ///< original -> per-thread array
  /// Accesses proven inside, and comparisons proven true, by the tests around
  /// the nest being emitted.
  llvm::SmallPtrSet<Operation *, 16> provenAccesses;
  /// Linear iteration of the parallel loop being emitted; null outside.
  Value parallelIteration;
  /// i64 forms of the indices of the loop nests being emitted.
  DenseMap<Value, Value> wideIndices;
};

/// Functions of the host process that compiled kernels call.
inline constexpr const char *kScratchFunction = "tilemlir_scratch";
inline constexpr const char *kPrintFunction = "tilemlir_print";
inline constexpr const char *kAssertFunction = "tilemlir_assert_fail";

/// Declares a runtime function in the module around the builder.
func::FuncOp declareRuntimeFunction(OpBuilder &builder, Location loc,
                                    StringRef name, TypeRange inputs,
                                    TypeRange results);

} // namespace tilemlir::cpu

#endif // TILEMLIR_CONVERSION_TILETOCPU_KERNELEMITTER_H
