//===- TmaPlan.h - boxes of a copy by TMA -----------------------*- C++ -*-===//
//
// How a copy between a tensor and a shared buffer is cut into the boxes that
// the tensor memory accelerator moves, or why it cannot be. Shared by
// instruction selection, layout assignment, barriers (bytes) and lowering.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_TMAPLAN_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_TMAPLAN_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/Result.h"
#include "tilemlir/Layout/SharedLayout.h"

namespace mlir::tile {

class IntegerAnalysis;

/// One box of a copy, relative to where the copy starts.
struct TmaBox {
  /// Elements from the copy's offset in each dimension of the tensor.
  SmallVector<int64_t> tensorOffsets;
  /// Bytes from the first byte of the copied part of the shared buffer.
  int64_t sharedBytes = 0;
};

/// The boxes of a copy. All have the same extents.
///
/// Where one box fills several panels, the map shows the rows of the tensor cut
/// into panels: its fastest dimension is the column in the panel, and the panel
/// is a dimension of its own (`panelPosition`).
///
/// A copy that blocks of a cluster share is cut into `parts`, one for each
/// block; the boxes are those of part 0, and those of part p begin `p *
/// partElements` further along dimension `partDim` of the tensor and `p *
/// partBytes` further in shared memory.
struct TmaPlan {
  /// Dimension of the tensor behind each dimension of the map, fastest first.
  /// Dimensions of the tensor that are not listed have extent 1.
  SmallVector<int64_t> dims;
  /// Extents of a box in the same order.
  SmallVector<int64_t> box;
  /// Which dimension of the map counts panels of `box[0]` elements along the
  /// dimension of the tensor that is also fastest; -1 if none does.
  int64_t panelPosition = -1;
  /// Why there is a box for each panel; empty where there is not.
  std::string whyBoxPerPanel;
  /// Bytes of the swizzle of the shared buffer.
  int64_t swizzle = 0;
  SmallVector<TmaBox> boxes;
  int64_t parts = 1, partDim = 0, partElements = 0, partBytes = 0;

  /// Bytes of one box.
  int64_t boxBytes = 0;
  /// Bytes of the boxes of all parts: what a barrier has to expect, also where
  /// a box is partly outside of the tensor.
  int64_t getBytes() const {
    return boxBytes * static_cast<int64_t>(boxes.size()) * parts;
  }
};

/// One side of a copy.
struct CopySide {
  Value storage;
  SmallVector<Value> offsets;
  SmallVector<int64_t> sizes;
};

/// The plan for copying between `tensor` and `buffer` (in shared memory, maybe
/// a view), whose allocation has `layout`, at `user`. Only what the hardware
/// asks of boxes is checked here, see SelectTma.cpp for the rest.
::tilemlir::layout::Result<TmaPlan>
planTma(const CopySide &tensor, const CopySide &buffer,
        const ::tilemlir::layout::SharedLayout &layout, Operation *user,
        IntegerAnalysis &integers, int64_t parts = 1);

/// The same for a copy operation whose buffer has its layout; in parts where
/// blocks of a cluster share it.
::tilemlir::layout::Result<TmaPlan> planTma(CopyOp copy);
::tilemlir::layout::Result<TmaPlan> planTma(CopyAsyncOp copy);
/// In `parts`, whatever the choice of the copy says.
::tilemlir::layout::Result<TmaPlan> planTma(CopyOp copy, int64_t parts);

/// Elements that divide the extent of a dimension of `tensor`: what is static,
/// declared, assumed, or promised for the pitch of contiguous tensors.
int64_t getExtentDivisor(Value tensor, int64_t dim, Operation *user,
                         IntegerAnalysis &integers);

/// A number that divides `expr`; 0 for 0.
int64_t getExprDivisor(ExprAttr expr);

/// The layout that TMA and wgmma take, with the last dimension fastest: the
/// widest swizzle that the rows allow; rows without one in panels of at most
/// 256 elements. `widest`, if given, is a swizzle that is not to be exceeded.
::tilemlir::layout::Result<::tilemlir::layout::SharedLayout>
getCanonicalSharedLayout(ArrayRef<int64_t> shape, int64_t elementBits,
                         std::optional<int64_t> widest = std::nullopt);

/// Leading dimensions of a shared buffer in which every copy and view has
/// extent 1: slots that the program manages itself. At most all but the last
/// two.
int getSlotDims(AllocOp alloc);

/// Whether the copy was chosen to be done by TMA.
bool isTmaCopy(Operation *op);

/// The tensor and the shared buffer of a copy between them; nullopt for other
/// copies. The flag says that the buffer is written.
struct TensorCopy {
  CopySide tensor, buffer;
  bool isLoad = true;
};
std::optional<TensorCopy> getTensorCopy(Operation *copy);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_TMAPLAN_H
