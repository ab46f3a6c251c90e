// Registers the operations of the `tile_gpu` dialect.
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.cpp.inc"
#include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.cpp.inc"

#define GET_OP_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"

void mlir::tile_gpu::TileGPUDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}
