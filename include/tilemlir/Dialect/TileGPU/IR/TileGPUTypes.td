//===- TileGPUTypes.td - operand constraints of `tile_gpu` ops -*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

/// A register: one scalar.
def TileGPU_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat], "scalar">;
/// One or several registers.
def TileGPU_Registers : AnyTypeOf<[TileGPU_Scalar,
    FixedVectorOfRankAndType<[1], [TileGPU_Scalar]>], "scalar or 1-D vector">;
/// 32-bit registers that hold a part of a matrix.
def TileGPU_MatrixRegisters : FixedVectorOfRankAndType<[1], [I32]>;

#endif
