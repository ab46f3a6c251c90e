//===- FragmentViews.h - Layouts of views of fragments ----------*- C++ -*-===//
//
// A view of a fragment (subview with constant offsets, reshape, bitcast of
// equal width) selects registers of its allocation. These functions compute the
// layout of the view and the registers it stands for. Also facts of operations
// on fragments that passes and lowering share.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_FRAGMENTVIEWS_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_FRAGMENTVIEWS_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/FragmentLayout.h"

namespace mlir::tile {

/// A fragment handle seen as registers of its allocation.
struct FragmentView {
  ::tilemlir::layout::FragmentLayout layout;
  /// `registers[r]` is the register of the allocation that holds what register
  /// `r` of the view holds.
  std::vector<int64_t> registers;
};

/// The view behind `buffer` when its allocation has layout `layout`. The error
/// says which view operation cannot be expressed in registers.
::tilemlir::layout::Result<FragmentView>
getFragmentView(Value buffer, const ::tilemlir::layout::FragmentLayout &layout);

/// The same with the layout in the type of the allocation, which must have one.
::tilemlir::layout::Result<FragmentView> getFragmentView(Value buffer);

/// The inverse: a layout for the allocation of `buffer` under which the view
/// has `layout`. What the view does not cover lies in further registers.
::tilemlir::layout::Result<::tilemlir::layout::FragmentLayout>
getAllocationLayoutForView(Value buffer,
                           const ::tilemlir::layout::FragmentLayout &layout);

/// A loop that does nothing but store a matrix of registers to shared memory,
/// transposed: `shared[j, i] = fragment[i, j]` for all of both, perhaps with
/// another floating-point type.
struct TransposedStore {
  LoadOp load;
  StoreOp store;
};
std::optional<TransposedStore> matchTransposedStore(ParallelOp loop);

/// The scalar type in which a reduction combines elements, and that of its
/// scratch buffer: at least 32 bits wide.
Type getReductionType(ReduceOp op);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_FRAGMENTVIEWS_H
