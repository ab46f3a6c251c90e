//===- TileEnums.td - enumerations of the `tile` dialect ----*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEENUMS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEENUMS_TD

include "mlir/IR/EnumAttr.td"
include "tilemlir/Dialect/Tile/IR/TileDialect.td"

class Tile_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
class Tile_EnumAttr<Tile_Enum enum, string attrMnemonic>
    : EnumAttr<Tile_Dialect, enum, attrMnemonic>;

def Tile_MemorySpace : Tile_Enum<"MemorySpace", "where a buffer lives", [
    I32EnumAttrCase<"Shared", 0, "shared">,
    I32EnumAttrCase<"Fragment", 1, "fragment">,
    I32EnumAttrCase<"Local", 2, "local">,
    I32EnumAttrCase<"Tmem", 3, "tmem">]>;
def Tile_MemorySpaceAttr : Tile_EnumAttr<Tile_MemorySpace, "memory_space">;

def Tile_ReduceKind : Tile_Enum<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"AbsSum", 3, "abssum">,
    I32EnumAttrCase<"AbsMax", 4, "absmax">, I32EnumAttrCase<"BitAnd", 5, "bitand">,
    I32EnumAttrCase<"BitOr", 6, "bitor">, I32EnumAttrCase<"BitXor", 7, "bitxor">]>;
def Tile_ReduceKindAttr : Tile_EnumAttr<Tile_ReduceKind, "reduce_kind">;

def Tile_AtomicKind : Tile_Enum<"AtomicKind", "the read-modify-write function", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"And", 3, "and">,
    I32EnumAttrCase<"Or", 4, "or">, I32EnumAttrCase<"Xor", 5, "xor">,
    I32EnumAttrCase<"Exchange", 6, "exchange">]>;
def Tile_AtomicKindAttr : Tile_EnumAttr<Tile_AtomicKind, "atomic_kind">;

def Tile_MemoryOrder : Tile_Enum<"MemoryOrder", "ordering of an atomic access", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">]>;
def Tile_MemoryOrderAttr : Tile_EnumAttr<Tile_MemoryOrder, "memory_order">;

def Tile_WarpPolicy : Tile_Enum<"WarpPolicy", "how a gemm divides its tile over warps", [
    I32EnumAttrCase<"Square", 0, "square">, I32EnumAttrCase<"FullRow", 1, "full_row">,
    I32EnumAttrCase<"FullCol", 2, "full_col">]>;
def Tile_WarpPolicyAttr : Tile_EnumAttr<Tile_WarpPolicy, "warp_policy">;

def Tile_Precision : Tile_Enum<"Precision", "how float32 gemm operands are used", [
    I32EnumAttrCase<"TF32", 0, "tf32">, I32EnumAttrCase<"IEEE", 1, "ieee">]>;
def Tile_PrecisionAttr : Tile_EnumAttr<Tile_Precision, "precision">;

def Tile_Bounds : Tile_Enum<"Bounds", "what is known about an access to a tensor", [
    I32EnumAttrCase<"Full", 0, "full">,        // proven inside
    I32EnumAttrCase<"Clipped", 1, "clipped">,  // hardware clipping applies
    I32EnumAttrCase<"Predicated", 2, "predicated">]>;
def Tile_BoundsAttr : Tile_EnumAttr<Tile_Bounds, "bounds">;

def Tile_EvictionPolicy : Tile_Enum<"EvictionPolicy", "L2 eviction priority", [
    I32EnumAttrCase<"Normal", 0, "evict_normal">,
    I32EnumAttrCase<"First", 1, "evict_first">,
    I32EnumAttrCase<"Last", 2, "evict_last">]>;
def Tile_EvictionPolicyAttr : Tile_EnumAttr<Tile_EvictionPolicy, "eviction_policy">;

def Tile_Path : Tile_Enum<"Path", "the instruction an operation is executed with", [
    I32EnumAttrCase<"Simt", 0, "simt">,          // per-thread loads, stores, arithmetic
    I32EnumAttrCase<"CpAsync", 1, "cp_async">,
    I32EnumAttrCase<"Ldmatrix", 2, "ldmatrix">,
    I32EnumAttrCase<"Stmatrix", 3, "stmatrix">,
    I32EnumAttrCase<"Bulk", 4, "bulk">,
    I32EnumAttrCase<"Tma", 5, "tma">,
    I32EnumAttrCase<"Fma", 6, "fma">,
    I32EnumAttrCase<"MmaSync", 7, "mma_sync">,
    I32EnumAttrCase<"WgmmaSS", 8, "wgmma_ss">,
    I32EnumAttrCase<"WgmmaRS", 9, "wgmma_rs">,
    I32EnumAttrCase<"Tcgen05", 10, "tcgen05">,
    I32EnumAttrCase<"Shuffle", 11, "shuffle">,
    I32EnumAttrCase<"Scratch", 12, "scratch">,    // through shared memory
    I32EnumAttrCase<"Registers", 13, "registers">, // inside one thread
    I32EnumAttrCase<"Serial", 14, "serial">]>;     // a loop without overlap
def Tile_PathAttr : Tile_EnumAttr<Tile_Path, "path">;

def Tile_LoopKind : Tile_Enum<"LoopKind", "how a counted loop is executed", [
    I32EnumAttrCase<"Serial", 0, "serial">, I32EnumAttrCase<"Unroll", 1, "unroll">,
    I32EnumAttrCase<"Vectorized", 2, "vectorized">]>;

def Tile_PipelineRole : Tile_Enum<"PipelineRole", "part of a software pipeline", [
    I32EnumAttrCase<"Issue", 0, "issue">,      // starts the loads of a later iteration
    I32EnumAttrCase<"Steady", 1, "steady">,    // the loop
    I32EnumAttrCase<"Ring", 2, "ring">]>;      // a loop whose buffers form a ring between roles

def Tile_RoleKind : Tile_Enum<"RoleKind", "what a group of warps does", [
    I32EnumAttrCase<"Producer", 0, "producer">, I32EnumAttrCase<"Consumer", 1, "consumer">,
    I32EnumAttrCase<"User", 2, "user">]>;      // warps that the program itself names

def Tile_ArrivalScope : Tile_Enum<"ArrivalScope", "who arrives on a barrier", [
    I32EnumAttrCase<"Thread", 0, "thread">,    // every thread of the role
    I32EnumAttrCase<"Warp", 1, "warp">,        // one lane of each of its warps
    I32EnumAttrCase<"Single", 2, "single">]>;  // one thread of the role
def Tile_ArrivalScopeAttr : Tile_EnumAttr<Tile_ArrivalScope, "arrival_scope">;

def Tile_RasterOrder : Tile_Enum<"RasterOrder", "direction of block rasterisation", [
    I32EnumAttrCase<"Row", 0, "row">, I32EnumAttrCase<"Column", 1, "column">]>;

def Tile_Access : Tile_Enum<"Access", "how a kernel uses an argument", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Read", 1, "read">,
    I32EnumAttrCase<"Write", 2, "write">, I32EnumAttrCase<"ReadWrite", 3, "readwrite">]>;

def Tile_ExprKind : Tile_Enum<"ExprKind", "node of a host integer expression", [
    I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Symbol", 1, "symbol">,
    I32EnumAttrCase<"Dim", 2, "dim">, I32EnumAttrCase<"Stride", 3, "stride">,
    I32EnumAttrCase<"Scalar", 4, "scalar">, I32EnumAttrCase<"SmCount", 5, "sm_count">,
    I32EnumAttrCase<"Add", 6, "add">, I32EnumAttrCase<"Sub", 7, "sub">,
    I32EnumAttrCase<"Mul", 8, "mul">, I32EnumAttrCase<"FloorDiv", 9, "floordiv">,
    I32EnumAttrCase<"CeilDiv", 10, "ceildiv">, I32EnumAttrCase<"Mod", 11, "mod">,
    I32EnumAttrCase<"Min", 12, "min">, I32EnumAttrCase<"Max", 13, "max">]>;

def Tile_ParameterKind : Tile_Enum<"ParameterKind", "where a kernel parameter comes from", [
    I32EnumAttrCase<"Pointer", 0, "pointer">,     // base address of a tensor argument
    I32EnumAttrCase<"Scalar", 1, "scalar">,       // value of a scalar argument
    I32EnumAttrCase<"Expr", 2, "expr">,           // integer computed by the launcher
    I32EnumAttrCase<"Workspace", 3, "workspace">, // base address of a workspace
    I32EnumAttrCase<"TensorMap", 4, "tensor_map">]>;

def Tile_GuardKind : Tile_Enum<"GuardKind", "what a launch must satisfy", [
    I32EnumAttrCase<"Aligned", 0, "aligned">,
    I32EnumAttrCase<"NoAlias", 1, "noalias">,
    I32EnumAttrCase<"ExprTrue", 2, "expr_true">]>;

def Tile_TensorMapFill : Tile_Enum<"TensorMapFill", "what a tensor map reads outside of a tensor", [
    I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"NaN", 1, "nan">]>;

#endif // TILEMLIR_DIALECT_TILE_IR_TILEENUMS_TD
