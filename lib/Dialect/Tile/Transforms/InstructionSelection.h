//===- InstructionSelection.h - Choosing instructions of ops ----*- C++ -*-===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H

#include "MemoryAccess.h"

namespace mlir::tile {

/// Sets the choice of a gemm: `mma_sync` with instruction shape and warp grid
/// where the types and sizes allow it, else `fma`; the reason says why.
LogicalResult selectGemm(GemmOp op, TargetAttr target);

/// Sets the choice of a copy: `cp_async` from a tensor to shared memory where
/// possible, else `simt`, with the access width in bytes.
LogicalResult selectCopy(CopyOp op, TargetAttr target,
                         IntegerAnalysis &integers);

/// Name of an element type as users write it.
std::string getTypeName(Type type);

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_INSTRUCTIONSELECTION_H
