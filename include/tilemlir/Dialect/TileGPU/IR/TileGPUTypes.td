//===- TileGPUTypes.td - types and operand constraints of `tile_gpu` -*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTYPES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

def TileGPU_TensorMapType : TypeDef<TileGPU_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor descriptor of the tensor memory accelerator";
  let description = [{
    The handle of a descriptor inside of a kernel. The type carries the box that
    one copy moves, *fastest dimension first*, and the element type.
    ```mlir
    !tile_gpu.tensor_map<64x128xf16>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() { return getBox().size(); }
    /// Bytes that one copy moves, also when the box is partly outside.
    int64_t getBoxBytes();
  }];
}

/// A register: one scalar.
def TileGPU_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat], "scalar">;
/// One or several registers.
def TileGPU_Registers : AnyTypeOf<[TileGPU_Scalar,
    FixedVectorOfRankAndType<[1], [TileGPU_Scalar]>], "scalar or 1-D vector">;
/// 32-bit registers that hold a part of a matrix.
def TileGPU_MatrixRegisters : FixedVectorOfRankAndType<[1], [I32]>;

#endif
