//===- InstructionSelection.h - Choosing instructions of ops ----*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H

#include "MemoryAccess.h"

#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Layout/Result.h"
#include "tilemlir/Layout/WarpPartition.h"

namespace mlir::tile {

/// Sets the choice of a gemm: wgmma (`wgmma_ss`, `wgmma_rs`) on sm_90a, else
/// `mma_sync`, with instruction shape and warp grid where the types and sizes
/// allow it, else `fma`; the reason says why.
LogicalResult selectGemm(GemmOp op, TargetAttr target);

/// The wgmma choice of a gemm, or why the target, the kernel, the types or the
/// sizes do not allow it. `isRounded`: f32 operands come rounded to tf32.
::tilemlir::layout::Result<ChoiceAttr> chooseWgmma(GemmOp op, TargetAttr target,
                                                   bool isRounded = false);

/// Moves products of f32 operands from mma.sync to wgmma where TMA can round
/// the operands while it loads them: all other choices of the kernel are made.
void selectRoundedProducts(KernelOp kernel, TargetAttr target);

/// How the program, or what becomes of the result, divides the tile.
struct PartitionPolicy {
  ::tilemlir::layout::WarpPolicy policy =
      ::tilemlir::layout::WarpPolicy::Square;
  /// Added to the reason of the choice.
  std::string reason;
};
PartitionPolicy getPartitionPolicy(GemmOp op);

/// Is an operand unpacked in registers from elements of another width, while
/// the other one lies in shared memory in rows along K? Then threads may take
/// neighbours along K (`run` of MmaSyncChoice).
bool isUnpackedInRegisters(GemmOp op);

/// Sets the choice of a copy: between tensors and shared memory `tma` where
/// possible, else what selectThreadCopy takes, saying why not TMA.
LogicalResult selectCopy(CopyOp op, TargetAttr target,
                         IntegerAnalysis &integers);

/// Sets the choice of a copy that the threads do: `cp_async` from a tensor to
/// shared memory where possible, else `simt`, with the access width in bytes.
/// `notTma`, if not empty, is added to the reason.
void selectThreadCopy(CopyOp op, TargetAttr target, IntegerAnalysis &integers,
                      StringRef notTma);

/// The choice `tma` of a copy that starts `boxes` boxes like those of `plan`.
ChoiceAttr getTmaChoice(MLIRContext *context, bool isLoad, const TmaPlan &plan,
                        int64_t boxes);

/// Sets the choice `tma` with the boxes of `plan`.
void chooseTma(CopyOp op, const TmaPlan &plan);

/// Why TMA cannot be used for anything in the kernel around `user`; empty if it
/// can.
std::string refuseTma(Operation *user, TargetAttr target);

/// Why TMA cannot do the copy; empty if it can, and then `plan` is set.
std::string refuseTma(CopyOp op, TargetAttr target, IntegerAnalysis &integers,
                      TmaPlan &plan);

/// Marks a product that the program itself waits for.
constexpr llvm::StringLiteral kUserProduct = "tile.user_product";

/// Marks a copy that stands for one that the program itself waits for.
constexpr llvm::StringLiteral kUserCopy = "tile.user_copy";

/// Checks an operation of the explicit layer against the target, and chooses
/// the instruction of a product that the program waits for. Does nothing for
/// other operations.
LogicalResult selectExplicit(Operation *op, TargetAttr target,
                             IntegerAnalysis &integers);

/// Name of an element type as users write it.
std::string getTypeName(Type type);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H
