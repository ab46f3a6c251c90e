//===- TileGPUAttrs.td - attributes of the `tile_gpu` dialect -*- tablegen -*-===//
//
// How a tensor descriptor is encoded; the enumerations are in TileGPUEnums.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUATTRS

include "mlir/IR/AttrTypeBase.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUEnums.td"

def TileGPU_TensorMapAttr : AttrDef<TileGPU_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "how the host encodes the descriptor of a tensor";
  let description = [{
    `dims` lists, fastest first, `size : stride` of every dimension of the
    descriptor in elements, as expressions (`#tile.expr`) in which `dim(0, i)` and
    `stride(0, i)` stand for size and stride of dimension `i` of the tensor that
    the `tensor_map` operation names. The first stride is 1. `offset` (elements)
    is added to the base. So a descriptor can be a view: dimensions folded, left
    out, permuted, or cut in panels.

    `box` is what one copy moves, in the same order; it takes every
    `element_strides[i]`-th element. `swizzle` is 0, 32, 64 or 128 bytes; `fill` is
    what loads give outside of the tensor. `dtype` (default: the element type of
    the tensor) decides fill and reductions: `tf32` rounds f32 on loading.
    `l2_promotion` is 0, 64, 128 or 256 bytes.

    Rows of 64 elements of a 2-D tensor, and the same tensor in panels of 64
    columns, so that one copy fills four panels:
    ```mlir
    #tile_gpu.tensor_map<dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128>
    #tile_gpu.tensor_map<dims = [64 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 64) : 64], box = [64, 64, 4], swizzle = 128>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::tile::ExprAttr">:$sizes,
    ArrayRefParameter<"::mlir::tile::ExprAttr">:$strides,
    OptionalParameter<"::mlir::tile::ExprAttr">:$offset,
    ArrayRefParameter<"int64_t">:$box,
    OptionalArrayRefParameter<"int64_t">:$element_strides,
    DefaultValuedParameter<"int64_t", "0">:$swizzle,
    OptionalParameter<"::mlir::Type">:$dtype,
    DefaultValuedParameter<"::mlir::tile::TensorMapFill", "::mlir::tile::TensorMapFill::Zero">:$fill,
    DefaultValuedParameter<"int64_t", "128">:$l2_promotion);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<::mlir::tile::ExprAttr>":$sizes,
        "::llvm::ArrayRef<::mlir::tile::ExprAttr>":$strides, "::llvm::ArrayRef<int64_t>":$box, "int64_t":$swizzle), [{
      return $_get($_ctxt, sizes, strides, ::mlir::tile::ExprAttr(), box, ::llvm::ArrayRef<int64_t>(), swizzle,
                   ::mlir::Type(), ::mlir::tile::TensorMapFill::Zero, int64_t(128));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif
