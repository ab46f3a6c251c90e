// The C++ classes of the `tile_gpu` dialect: dialect, enums, attributes, types and operations.
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.h.inc"
#include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.h.inc"
#define GET_OP_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.h.inc"

#endif // TILEMLIR_DIALECT_TILEGPU_IR_TILEGPU_H
