//===- GemmLayouts.h - Fragments that a chosen gemm needs -------*- C++ -*-===//
//
// Reads the choice of a gemm by matrix instructions (`mma_sync`, `wgmma_ss`,
// `wgmma_rs`) and gives the fragment layouts of its accumulator and of operands
// in registers, and what wgmma asks of operands in shared memory. Layout
// assignment and lowering both take them from here, so that they agree.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/WgmmaDescriptor.h"
#include "tilemlir/Layout/WgmmaFragments.h"

namespace mlir::tile {

/// What `#tile.choice<mma_sync, ..., {instruction = [m, n, k], run = r, warps =
/// [..]}>` says.
struct MmaSyncChoice {
  int64_t m = 16, n = 8, k = 16;
  ::tilemlir::layout::WarpGrid grid;
  /// Neighbours along K that each thread takes; 0 is the instruction's order.
  int64_t run = 0;
};

/// The choice of a `mma_sync` gemm; nullopt for any other gemm.
std::optional<MmaSyncChoice> getMmaSyncChoice(GemmOp op);

/// Builds the `arguments` of such a choice.
DictionaryAttr getMmaSyncArguments(MLIRContext *context,
                                   const MmaSyncChoice &choice);

/// What `#tile.choice<wgmma_ss, ..., {instruction = [64, n, k], warpgroups =
/// [along M, along N]}>` says. A third number of warp groups counts those that
/// repeat the work of others.
struct WgmmaChoice {
  int64_t n = 8, k = 16;
  /// A comes from a fragment (`wgmma_rs`).
  bool registerA = false;
  ::tilemlir::layout::WarpGrid groups;
};

/// The choice of a `wgmma_ss` or `wgmma_rs` gemm; nullopt for any other gemm.
std::optional<WgmmaChoice> getWgmmaChoice(ChoiceAttr choice);

/// Builds the `arguments` of such a choice.
DictionaryAttr getWgmmaArguments(MLIRContext *context,
                                 const WgmmaChoice &choice);

enum class GemmOperand { A, B, C };

/// Is the gemm executed by a matrix instruction?
bool usesMatrixInstruction(GemmOp op);

/// Matrix fragment of an operand of a `mma_sync` gemm, with the two dimensions
/// in the order in which the buffer stores them (transposition considered).
/// Fails only for sizes that tile-select-instructions does not accept.
::tilemlir::layout::Result<::tilemlir::layout::MmaFragment>
getMmaSyncFragment(GemmOp op, GemmOperand operand);

/// Layout of the operand's buffer: that of getMmaSyncFragment, with the leading
/// unit dimensions that the buffer may have.
::tilemlir::layout::Result<::tilemlir::layout::FragmentLayout>
getMmaSyncLayout(GemmOp op, GemmOperand operand);

/// The same of a wgmma gemm, plain or asynchronous: the accumulator, or A in
/// registers.
template <typename OpT>
::tilemlir::layout::Result<::tilemlir::layout::MmaFragment>
getWgmmaFragment(OpT op, GemmOperand operand);

/// Layout of the buffer of a fragment operand of a `mma_sync` or wgmma gemm,
/// with the leading unit dimensions that the buffer may have.
::tilemlir::layout::Result<::tilemlir::layout::FragmentLayout>
getMatrixLayout(GemmOp op, GemmOperand operand);

/// A matrix operand in shared memory as dimensions of its allocation.
struct SharedMatrix {
  AllocOp alloc;
  /// Dimensions of the allocation that are M or N, and K, of the operand.
  int mnDim = 0, kDim = 1;
  /// The operand begins at coordinates that are multiples of these (0: at 0).
  int64_t mnDivisor = 0, kDivisor = 0;
  /// Where it begins along K is known at compile time.
  bool hasConstantK = true;
};

/// `operand` (A or B) of a gemm, seen through the views of its buffer. The
/// error names a view that wgmma cannot see through.
::tilemlir::layout::Result<SharedMatrix> getSharedMatrix(GemmOp op,
                                                         GemmOperand operand);

/// The widest swizzle (bytes; 0: panels of 16 bytes) with which wgmma can read
/// the operand, if its allocation is still free to take any layout. Fails where
/// no layout will do, and where the layout that the user pinned will not.
::tilemlir::layout::Result<int64_t>
getWgmmaMaxSwizzle(GemmOp op, GemmOperand operand, const WgmmaChoice &choice);

/// The widest swizzle that all wgmma gemms reading `alloc` allow; nullopt if
/// none reads it.
std::optional<int64_t> getWgmmaMaxSwizzle(AllocOp alloc);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H
