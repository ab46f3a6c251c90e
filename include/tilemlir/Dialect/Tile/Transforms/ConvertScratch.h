//===- ConvertScratch.h - Scratch memory of conversions ---------*- C++ -*-===//
//
// What a tile.convert through shared memory needs of it, and how its pieces are
// written down: the scratch buffer has the shape and layout of one piece; the
// arguments of the choice say under which shape the pieces are boxes
// (`{space = [..]}`; absent: the shape of the fragment).
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_CONVERTSCRATCH_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_CONVERTSCRATCH_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Gives `op` scratch memory of at most `maxBytes` (at least one element), in
/// place of what it has, and a choice that says so. `reason` is why nothing
/// cheaper does it; empty keeps the one that the choice has. Fails after a
/// diagnostic.
LogicalResult assignConvertScratch(ConvertOp op, int64_t maxBytes,
                                   StringRef reason = "");

/// The shape under which the pieces of `op` are boxes.
SmallVector<int64_t> getPieceSpace(ConvertOp op);

/// Makes the scratch memory of the conversions of `kernel` as small as
/// `maxBytes` each. True if something changed.
FailureOr<bool> shrinkConvertScratch(KernelOp kernel, int64_t maxBytes);

/// The largest scratch memory of a conversion in `kernel`; 0 if there is none.
int64_t getLargestConvertScratch(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_CONVERTSCRATCH_H
