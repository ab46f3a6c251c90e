//===- MemoryAccess.h - How wide accesses to memory can be ------*- C++ -*-===//
//
// The widest power-of-two number of bytes with which a run of elements along
// the last dimension of a tensor or shared buffer can be accessed.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MEMORYACCESS_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MEMORYACCESS_H

#include "IntegerAnalysis.h"

namespace mlir::tile {

/// A width, and what limits it when it is below 16 bytes.
struct AccessWidth {
  int64_t bytes = 0;
  std::string reason;
};

/// `tensor` is accessed from `lastOffset` (an index of the last dimension) on,
/// `extent` elements at a time. Only alignment counts here: whether the
/// elements exist is the business of bounds.
AccessWidth getTensorAccessWidth(TypedValue<MemRefType> tensor,
                                 const LinearForm &lastOffset, int64_t extent,
                                 IntegerAnalysis &integers, Operation *user);

/// The same for a shared buffer that has its last dimension contiguous (or a
/// layout with it contiguous in runs of 16 bytes).
AccessWidth getSharedAccessWidth(Value buffer, const LinearForm &lastOffset,
                                 int64_t extent, IntegerAnalysis &integers);

/// What the user declared about a tensor; null if it is no declared argument.
ArgumentAttr getDeclaration(Value tensor);

/// Bytes, at least an element, to which the base of a tensor and its dynamic
/// row pitch are aligned, as the launch checks.
int64_t getPromisedAlignment(Value tensor, Operation *user);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_MEMORYACCESS_H
