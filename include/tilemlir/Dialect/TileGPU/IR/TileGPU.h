//===- TileGPU.h - the `tile_gpu` dialect -----------------------*- C++ -*-===//
//
// Include this to use the dialect, its enumerations and operations.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.h.inc"
#include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.h.inc"
#define GET_OP_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.h.inc"

namespace mlir::tile_gpu {

/// Bits of one element of a matrix operand.
int64_t getElementBits(MatrixType type);

/// How bulk reductions of `kind` name the element type ("noftz.f16", "s32");
/// empty when there is no such reduction.
std::string getReductionSuffix(ReductionKind kind, Type element);

/// Registers of `buffer` that a thread holds, and their type: what
/// `read_fragment` yields. Null if the buffer is not held in registers.
VectorType getRegisterType(tile::BufferType buffer);

} // namespace mlir::tile_gpu

#endif // TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H
