//===- GemmLayouts.h - Fragments that a chosen gemm needs -------*- C++ -*-===//
//
// Reads the choice of a `mma_sync` gemm and gives the fragment layouts of its
// accumulator and of operands in registers. Layout assignment and lowering
// both take them from here, so that they agree.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/MmaFragments.h"

namespace mlir::tile {

/// What `#tile.choice<mma_sync, ..., {instruction = [m, n, k], warps = [..]}>`
/// says.
struct MmaSyncChoice {
  int64_t m = 16, n = 8, k = 16;
  ::tilemlir::layout::WarpGrid grid;
};

/// The choice of a `mma_sync` gemm; nullopt for any other gemm.
std::optional<MmaSyncChoice> getMmaSyncChoice(GemmOp op);

/// Builds the `arguments` of such a choice.
DictionaryAttr getMmaSyncArguments(MLIRContext *context,
                                   const MmaSyncChoice &choice);

enum class GemmOperand { A, B, C };

/// Matrix fragment of an operand of a `mma_sync` gemm, with the two dimensions
/// in the order in which the buffer stores them (transposition considered).
/// Fails only for sizes that tile-select-instructions does not accept.
::tilemlir::layout::Result<::tilemlir::layout::MmaFragment>
getMmaSyncFragment(GemmOp op, GemmOperand operand);

/// Layout of the operand's buffer: that of getMmaSyncFragment, with the leading
/// unit dimensions that the buffer may have.
::tilemlir::layout::Result<::tilemlir::layout::FragmentLayout>
getMmaSyncLayout(GemmOp op, GemmOperand operand);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_GEMMLAYOUTS_H
