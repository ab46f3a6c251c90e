//===- TileGPUEnums.td - enumerations of the `tile_gpu` dialect -*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUENUMS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUENUMS

include "mlir/IR/EnumAttr.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUDialect.td"

class TileGPU_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::mlir::tile_gpu";
  let genSpecializedAttr = 0;
}
class TileGPU_EnumAttr<TileGPU_Enum enum, string attrMnemonic>
    : EnumAttr<TileGPU_Dialect, enum, attrMnemonic>;

/// Where a global access may be cached.
def TileGPU_CacheHint : TileGPU_Enum<"CacheHint", "cache behaviour of a global access", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
    I32EnumAttrCase<"EvictLast", 2, "evict_last">]>;
def TileGPU_CacheHintAttr : TileGPU_EnumAttr<TileGPU_CacheHint, "cache">;

/// How the source lane of a shuffle follows from its operand.
def TileGPU_ShuffleKind : TileGPU_Enum<"ShuffleKind", "choice of the source lane", [
    I32EnumAttrCase<"Xor", 0, "xor">, I32EnumAttrCase<"Index", 1, "index">]>;
def TileGPU_ShuffleKindAttr : TileGPU_EnumAttr<TileGPU_ShuffleKind, "shuffle_kind">;

/// Interpretation of the bits of a matrix operand.
def TileGPU_MatrixType : TileGPU_Enum<"MatrixType", "element type of a matrix operand", [
    I32EnumAttrCase<"F16", 0, "f16">, I32EnumAttrCase<"BF16", 1, "bf16">,
    I32EnumAttrCase<"TF32", 2, "tf32">, I32EnumAttrCase<"F8E4M3", 3, "e4m3">,
    I32EnumAttrCase<"F8E5M2", 4, "e5m2">, I32EnumAttrCase<"S8", 5, "s8">,
    I32EnumAttrCase<"U8", 6, "u8">]>;
def TileGPU_MatrixTypeAttr : TileGPU_EnumAttr<TileGPU_MatrixType, "matrix_type">;

#endif
