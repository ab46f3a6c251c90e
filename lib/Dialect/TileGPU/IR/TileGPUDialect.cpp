//===- TileGPUDialect.cpp - the `tile_gpu` dialect --------------*- C++ -*-===//
//
// Registration of operations, and queries on register types.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile_gpu;

#include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.cpp.inc"
#include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.cpp.inc"

void TileGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/TileGPU/IR/TileGPUOps.cpp.inc"
      >();
}

int64_t mlir::tile_gpu::getElementBits(MatrixType type) {
  switch (type) {
  case MatrixType::F16:
  case MatrixType::BF16:
    return 16;
  case MatrixType::TF32:
    return 32;
  case MatrixType::F8E4M3:
  case MatrixType::F8E5M2:
  case MatrixType::S8:
  case MatrixType::U8:
    return 8;
  }
  llvm_unreachable("unknown matrix type");
}

VectorType mlir::tile_gpu::getRegisterType(tile::BufferType buffer) {
  if (buffer.isLocal())
    return VectorType::get({std::max<int64_t>(1, buffer.getNumElements())},
                           buffer.getScalarType());
  if (!buffer.isFragment())
    return {};
  tile::FragmentLayoutAttr layout = buffer.getFragmentLayout();
  if (!layout)
    return {};
  return VectorType::get({layout.getNumRegisters()}, buffer.getScalarType());
}
