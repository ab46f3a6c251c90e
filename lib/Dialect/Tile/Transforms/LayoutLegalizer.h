//===- LayoutLegalizer.h - Conversions between layouts ----------*- C++ -*-===//
//
// Makes a kernel agree with the layouts that LayoutSolver decided: operations
// whose operands do not fit get temporary fragments with tile.convert, or a
// round trip through shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTLEGALIZER_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTLEGALIZER_H

#include "LayoutSolver.h"
#include "Uniformity.h"

#include "mlir/IR/Builders.h"

namespace mlir::tile {

/// Rewrites what cannot work on its operands where they live, before layouts
/// are chosen: reductions and accumulators in shared memory go through
/// fragments, register operands of `fma` gemms and element accesses of scalar
/// code through shared memory.
LogicalResult prepareForLayouts(KernelOp kernel);

class LayoutLegalizer {
public:
  LayoutLegalizer(KernelOp kernel, LayoutSolver &solver);

  /// Fails only after a diagnostic.
  LogicalResult run();

private:
  using FragmentLayout = ::tilemlir::layout::FragmentLayout;

  LogicalResult legalize(ParallelOp loop);
  LogicalResult legalize(GemmOp gemm);
  LogicalResult legalize(ReduceOp reduce);
  LogicalResult legalize(CopyOp copy);
  LogicalResult legalizeScalarAccess(Operation *op, Value buffer,
                                     OperandRange indices, bool isWrite);

  /// Uses of one handle in one loop.
  struct HandleUses {
    Value buffer;
    SmallVector<FragmentUse> uses;
    bool reads = false;
    bool writes = false;
  };
  /// Sets `changesLoop` when the loop needs another layout first: then all of
  /// its handles are to be looked at again.
  LogicalResult legalizeHandle(ParallelOp loop, const HandleUses &handle,
                               bool &changesLoop);
  LogicalResult convertHandle(ParallelOp loop, const HandleUses &handle,
                              const FragmentLayout &layout);
  void readThroughShared(ParallelOp loop, const HandleUses &handle);
  void writeThroughShared(ParallelOp loop, const HandleUses &handle);
  /// Does the loop write each element of the buffer, unconditionally?
  bool overwrites(ParallelOp loop, const HandleUses &handle);

  /// Replaces `operand` of `op` by a fragment with `layout`.
  void convertOperand(Operation *op, OpOperand &operand,
                      const FragmentLayout &layout, bool reads, bool writes);

  AllocOp createFragment(Value like, const FragmentLayout &layout,
                         StringRef suffix);
  /// Emits a copy of the allocation behind `buffer`, a fragment, to shared
  /// memory where all threads reach it on the way to `op`; returns the same
  /// view of the copy.
  Value shareContents(Operation *op, Value buffer);

  KernelOp kernel;
  LayoutSolver &solver;
  std::optional<Uniformity> uniformity; ///< made when needed
};

/// A new allocation at the top of `kernel`, named after `like`.
AllocOp createAllocation(KernelOp kernel, BufferType type, Value like,
                         StringRef suffix);

/// Reason of the choice of copies that layout assignment inserts.
constexpr llvm::StringLiteral kInsertedCopyReason =
    "inserted by layout assignment";

/// Emits a copy of all of `source` to all of `dest`, equal in shape.
CopyOp createWholeCopy(OpBuilder &builder, Location loc, Value source,
                       Value dest);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTLEGALIZER_H
