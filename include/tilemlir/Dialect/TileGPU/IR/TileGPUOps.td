//===- TileGPUOps.td - operations of the `tile_gpu` dialect -*- tablegen -*-===//
//
// Indices, tensors, fragments, global memory, communication and diagnostics.
// TileGPUSharedOps.td has shared memory and asynchronous copies,
// TileGPUMatrixOps.td the warp-level matrix operations, TileGPUTensorMapOps.td
// the tensor memory accelerator, TileGPUMbarrierOps.td barriers in shared memory
// and synchronisation of roles and clusters, TileGPUWarpgroupOps.td wgmma.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUOPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "tilemlir/Dialect/Tile/IR/TileTypes.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.td"

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

def TileGPU_ThreadIdOp : TileGPU_Op<"thread_id", [Pure]> {
  let summary = "linear index of the executing thread in its block";
  let description = "From 0 to the number of threads of the block minus 1. `%t = tile_gpu.thread_id : i32`";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TileGPU_BlockIdOp : TileGPU_Op<"block_id", [Pure]> {
  let summary = "index of the executing block in the grid";
  let description = "`axis` 0 is the fastest (x). `%b = tile_gpu.block_id 0 : i32`";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TileGPU_WarpIdOp : TileGPU_Op<"warp_id", [NoMemoryEffect]> {
  let summary = "index of the executing warp in its block";
  let description = [{
    `thread_id / 32`, in a form from which the assembler sees that all threads
    of a warp agree (a shuffle): branches on it are uniform, and what is computed
    from it stays in uniform registers. All threads of the warp execute it.
    ```mlir
    %w = tile_gpu.warp_id : i32
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

def TileGPU_TensorOp : TileGPU_Op<"tensor", [Pure]> {
  let summary = "the global tensor behind a kernel's pointer parameter";
  let description = [{
    Only offsets from the pointer are meaningful afterwards: extents and
    strides that are dynamic in the type are parameters of their own.
    ```mlir
    %A = tile_gpu.tensor %p : !llvm.ptr<1> -> memref<?x?xf16>
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$pointer);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$pointer attr-dict `:` type($pointer) `->` type($result)";
}

def TileGPU_ExtentOp : TileGPU_Op<"extent", [Pure]> {
  let summary = "size of a tensor along one dimension";
  let description = "`%n = tile_gpu.extent %A, 1 : memref<?x?xf16>`. Folds when static; else becomes a kernel parameter.";
  let arguments = (ins AnyMemRef:$tensor, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$tensor `,` $axis attr-dict `:` type($tensor)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TileGPU_StrideOp : TileGPU_Op<"stride", [Pure]> {
  let summary = "distance in elements between neighbours along one dimension";
  let description = [{
    `%s = tile_gpu.stride %A, 0 : memref<?x?xf16>`. Folds when static. A dynamic
    stride becomes a kernel parameter; that of a contiguous tensor is the
    product of its inner extents.
  }];
  let arguments = (ins AnyMemRef:$tensor, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$tensor `,` $axis attr-dict `:` type($tensor)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Fragments, before promotion
//===----------------------------------------------------------------------===//

def TileGPU_ReadFragmentOp : TileGPU_Op<"read_fragment"> {
  let summary = "all registers that this thread holds of a buffer";
  let description = [{
    `buffer` is an allocation (no view) in `fragment` space, or a `local` one
    whose elements are all registers (in row-major order). The result has one
    element per register. Registers that were never written are zero when they
    are padding, otherwise undefined. Removed by `tile-gpu-promote-fragments`.
    ```mlir
    %v = tile_gpu.read_fragment %acc : !tile.buffer<16x8xf32, fragment, #l> -> vector<4xf32>
    ```
  }];
  let arguments = (ins Arg<Tile_AnyBuffer, "", [MemRead]>:$buffer);
  let results = (outs FixedVectorOfRankAndType<[1], [TileGPU_Scalar]>:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_WriteFragmentOp : TileGPU_Op<"write_fragment"> {
  let summary = "replace all registers that this thread holds of a buffer";
  let description = [{
    See `read_fragment`.
    ```mlir
    tile_gpu.write_fragment %v, %acc : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #l>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [TileGPU_Scalar]>:$value,
                       Arg<Tile_AnyBuffer, "", [MemWrite]>:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

def TileGPU_GlobalLoadOp : TileGPU_Op<"global_load"> {
  let summary = "load consecutive elements of a tensor";
  let description = [{
    Elements `offset`, `offset + 1`, ... in memory order. Where the predicate
    is false memory is not touched and the result is zero. `i1` elements are
    one byte each; any other bit than 0 means true.
    ```mlir
    %v = tile_gpu.global_load %A[%o] if %p {alignment = 16 : i64} : memref<?x?xf16> -> vector<8xf16>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$tensor, I64:$offset, Optional<I1>:$predicate,
    OptionalAttr<I64Attr>:$alignment,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache);
  let results = (outs TileGPU_Registers:$result);
  let assemblyFormat = "$tensor `[` $offset `]` (`if` $predicate^)? attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

def TileGPU_GlobalStoreOp : TileGPU_Op<"global_store"> {
  let summary = "store consecutive elements of a tensor";
  let description = [{
    ```mlir
    tile_gpu.global_store %v, %C[%o] if %p {alignment = 16 : i64} : vector<8xf16>, memref<?x?xf16>
    ```
  }];
  let arguments = (ins TileGPU_Registers:$value, Arg<AnyMemRef, "", [MemWrite]>:$tensor, I64:$offset,
    Optional<I1>:$predicate, OptionalAttr<I64Attr>:$alignment,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache);
  let assemblyFormat = "$value `,` $tensor `[` $offset `]` (`if` $predicate^)? attr-dict `:` type($value) `,` type($tensor)";
  let hasVerifier = 1;
}

def TileGPU_GlobalAtomicOp : TileGPU_Op<"global_atomic"> {
  let summary = "atomic read-modify-write of one element of a tensor";
  let description = [{
    Device scope. The result, if any, is the old value; zero where the
    predicate is false. `max` and `min` on floats return the operand that is
    not NaN.
    ```mlir
    tile_gpu.global_atomic add %v, %C[%o] if %p : f32, memref<?xf32>
    ```
  }];
  let arguments = (ins Tile_AtomicKindAttr:$kind, TileGPU_Scalar:$value,
    Arg<AnyMemRef, "", [MemRead, MemWrite]>:$tensor, I64:$offset, Optional<I1>:$predicate,
    DefaultValuedAttr<Tile_MemoryOrderAttr, "::mlir::tile::MemoryOrder::Relaxed">:$memory_order,
    UnitAttr:$is_unsigned);
  let results = (outs Optional<TileGPU_Scalar>:$result);
  let assemblyFormat = [{
    $kind $value `,` $tensor `[` $offset `]` (`if` $predicate^)? attr-dict `:` type($value) `,` type($tensor) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def TileGPU_BarrierOp : TileGPU_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for threads of the block";
  let description = [{
    All threads of the block, or `count` of them on the hardware barrier `id`
    (1 to 15). Shared and global accesses before it, by the threads that take
    part, are visible to those threads after it.
    ```mlir
    tile_gpu.barrier
    tile_gpu.barrier {id = 1 : i64, count = 128 : i64}
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$count);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGPU_WarpSyncOp : TileGPU_Op<"warp_sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for the threads of the warp";
  let description = "Orders the shared accesses of the 32 threads of a warp. `tile_gpu.warp_sync`";
  let assemblyFormat = "attr-dict";
}

def TileGPU_ShuffleOp : TileGPU_Op<"shuffle", [AllTypesMatch<["value", "result"]>, MemoryEffects<[MemWrite]>]> {
  let summary = "read a register of another thread of the warp";
  let description = [{
    The source lane is `lane` (`index`) or the own lane XOR `lane` (`xor`). All
    32 threads take part. Values are up to 64 bits wide.
    ```mlir
    %w = tile_gpu.shuffle xor %v, %c1 : f32
    ```
  }];
  let arguments = (ins TileGPU_ShuffleKindAttr:$kind, TileGPU_Scalar:$value, I32:$lane);
  let results = (outs TileGPU_Scalar:$result);
  let assemblyFormat = "$kind $value `,` $lane attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

def TileGPU_PrintOp : TileGPU_Op<"print", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "print a message and scalars";
  let description = [{
    The text is printed, then the scalars separated by spaces and a line break.
    Threads print in any order. `is_unsigned` applies to integer scalars.
    ```mlir
    tile_gpu.print "x = " (%x) if %p : f32
    ```
  }];
  let arguments = (ins StrAttr:$message, Variadic<TileGPU_Scalar>:$scalars, Optional<I1>:$predicate, UnitAttr:$is_unsigned);
  let assemblyFormat = "$message `(` $scalars `)` (`if` $predicate^)? attr-dict `:` type($scalars)";
}

def TileGPU_AssertOp : TileGPU_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the launch with a message when a condition is false";
  let description = "The message names the source line. `tile_gpu.assert %ok, \"k must be even\"`";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

include "tilemlir/Dialect/TileGPU/IR/TileGPUSharedOps.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUMatrixOps.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUTensorMapOps.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUMbarrierOps.td"
include "tilemlir/Dialect/TileGPU/IR/TileGPUWarpgroupOps.td"

#endif
