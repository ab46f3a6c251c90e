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
    I32EnumAttrCase<"EvictLast", 2, "evict_last">,
    I32EnumAttrCase<"EvictNormal", 3, "evict_normal">]>;
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

/// What a reducing store does with the element in memory.
def TileGPU_ReductionKind : TileGPU_Enum<"ReductionKind", "combination of stored and present elements", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Min", 1, "min">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Inc", 3, "inc">,
    I32EnumAttrCase<"Dec", 4, "dec">, I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">, I32EnumAttrCase<"Xor", 7, "xor">]>;
def TileGPU_ReductionKindAttr : TileGPU_EnumAttr<TileGPU_ReductionKind, "reduction">;

/// Which generic accesses become visible to which asynchronous ones.
def TileGPU_ProxyKind : TileGPU_Enum<"ProxyKind", "scope of a fence between proxies", [
    I32EnumAttrCase<"Async", 0, "async">,
    I32EnumAttrCase<"AsyncSharedCta", 1, "async_shared_cta">,
    I32EnumAttrCase<"AsyncSharedCluster", 2, "async_shared_cluster">,
    I32EnumAttrCase<"AsyncGlobal", 3, "async_global">,
    I32EnumAttrCase<"TensorMapRelease", 4, "tensor_map_release">]>;
def TileGPU_ProxyKindAttr : TileGPU_EnumAttr<TileGPU_ProxyKind, "proxy">;

/// What set_max_registers does to the registers of a warp.
def TileGPU_RegisterAction : TileGPU_Enum<"RegisterAction", "change of a warp's registers", [
    I32EnumAttrCase<"Increase", 0, "increase">,
    I32EnumAttrCase<"Decrease", 1, "decrease">]>;
def TileGPU_RegisterActionAttr : TileGPU_EnumAttr<TileGPU_RegisterAction, "register_action">;

#endif
