//===- TileGPUTensorMapOps.td - the tensor memory accelerator -*- tablegen -*-===//
//
// Tensor descriptors, copies of boxes, and 1-D bulk copies (sm_90). Included by
// TileGPUOps.td. One thread executes each copy, see the dialect's description.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTENSORMAPOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUTENSORMAPOPS

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

def TileGPU_TensorMapOp : TileGPU_Op<"tensor_map", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the descriptor of a tensor that the kernel captures";
  let description = [{
    `tensor` is an argument or a workspace of the host function. The operation has
    the effects on the tensor that the users of its result have.
    `tile-outline-kernels` makes one kernel parameter of all operations with the
    same tensor and record, and adds the record to the launch plan.
    ```mlir
    %m = tile_gpu.tensor_map %A <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128>
      : memref<?x?xf16> -> !tile_gpu.tensor_map<64x128xf16>
    ```
  }];
  let arguments = (ins AnyMemRef:$tensor, TileGPU_TensorMapAttr:$record);
  let results = (outs TileGPU_TensorMapType:$result);
  let assemblyFormat = "$tensor $record attr-dict `:` type($tensor) `->` qualified(type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$tensor, "::mlir::tile_gpu::TensorMapAttr":$record)>];
  let hasVerifier = 1;
}

def TileGPU_TensorMapParameterOp : TileGPU_Op<"tensor_map_parameter", [Pure]> {
  let summary = "the descriptor in a kernel parameter";
  let description = [{
    What `tensor_map` becomes when a kernel is outlined; the parameter is 128 bytes
    passed by value that nobody writes (`nvvm.grid_constant`).
    ```mlir
    %m = tile_gpu.tensor_map_parameter %p : !llvm.ptr -> !tile_gpu.tensor_map<64x128xf16>
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$pointer);
  let results = (outs TileGPU_TensorMapType:$result);
  let assemblyFormat = "$pointer attr-dict `:` type($pointer) `->` qualified(type($result))";
}

def TileGPU_TmaPrefetchMapOp : TileGPU_Op<"tma_prefetch_map", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "bring a descriptor close to the tensor memory accelerator";
  let description = "`tile_gpu.tma_prefetch_map %m : !tile_gpu.tensor_map<64x128xf16>`";
  let arguments = (ins TileGPU_TensorMapType:$map);
  let assemblyFormat = "$map attr-dict `:` qualified(type($map))";
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

def TileGPU_TmaLoadOp : TileGPU_Op<"tma_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start loading a box of a tensor into shared memory";
  let description = [{
    The box whose first element has the given coordinates, fastest dimension
    first, goes to byte `address` of the arena (a multiple of 128; of the
    swizzle's atom, 8 rows, where a swizzle is used). Elements outside of the tensor
    are the map's fill. The mbarrier at byte `barrier` gets the bytes of the whole
    box in any case. With `multicast`, bit `r` of the mask sends the box to the same
    place of the block with rank `r` in the cluster, and its bytes to the same
    mbarrier there.
    ```mlir
    tile_gpu.tma_load %m[%x, %y] to %a, %bar multicast %mask {cache_hint = #tile_gpu<cache evict_first>}
      : !tile_gpu.tensor_map<64x128xf16>
    ```
  }];
  let arguments = (ins TileGPU_TensorMapType:$map, Variadic<I32>:$coordinates, I32:$address, I32:$barrier,
    Optional<I16>:$multicast, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $address `,` $barrier (`multicast` $multicast^)? (`if` $predicate^)?
    attr-dict `:` qualified(type($map))
  }];
  let hasVerifier = 1;
}

def TileGPU_TmaStoreOp : TileGPU_Op<"tma_store", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start storing a box from shared memory to a tensor";
  let description = [{
    Elements outside of the tensor are not written. The store reads the arena from
    byte `address` until `bulk_wait {read}` of its group.
    ```mlir
    tile_gpu.tma_store %m[%x, %y] from %a : !tile_gpu.tensor_map<64x16xf16>
    ```
  }];
  let arguments = (ins TileGPU_TensorMapType:$map, Variadic<I32>:$coordinates, I32:$address, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `from` $address (`if` $predicate^)? attr-dict `:` qualified(type($map))
  }];
  let hasVerifier = 1;
}

def TileGPU_TmaReduceOp : TileGPU_Op<"tma_reduce", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start combining a box in shared memory with a tensor";
  let description = [{
    As `tma_store`; each element is combined with the one in memory, atomically by
    itself. `add` takes f16, bf16, f32, f64 and integers of 32 and 64 bits, `min`
    and `max` f16, bf16 and these integers, `inc` and `dec` 32-bit unsigned
    integers, the others 32 and 64 bits. Signedness is that of the map's element type.
    ```mlir
    tile_gpu.tma_reduce add %m[%x, %y] from %a : !tile_gpu.tensor_map<32x16xf32>
    ```
  }];
  let arguments = (ins TileGPU_ReductionKindAttr:$kind, TileGPU_TensorMapType:$map, Variadic<I32>:$coordinates,
    I32:$address, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $kind $map `[` $coordinates `]` `from` $address (`if` $predicate^)? attr-dict `:` qualified(type($map))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Consecutive bytes
//===----------------------------------------------------------------------===//

def TileGPU_BulkLoadOp : TileGPU_Op<"bulk_load", [AttrSizedOperandSegments]> {
  let summary = "start copying consecutive bytes from global to shared memory";
  let description = [{
    `bytes` bytes from element `offset` of the tensor on go to byte `address` of
    the arena and are reported to the mbarrier at byte `barrier`. Both addresses
    and `bytes` are multiples of 16. `multicast` as in `tma_load`.
    ```mlir
    tile_gpu.bulk_load %A[%o] to %a, %bar bytes %n : memref<?xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$tensor, I64:$offset, Arg<I32, "", [MemWrite]>:$address,
    I32:$barrier, I32:$bytes, Optional<I16>:$multicast, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $tensor `[` $offset `]` `to` $address `,` $barrier `bytes` $bytes (`multicast` $multicast^)?
    (`if` $predicate^)? attr-dict `:` type($tensor)
  }];
}

def TileGPU_BulkStoreOp : TileGPU_Op<"bulk_store"> {
  let summary = "start copying consecutive bytes from shared to global memory";
  let description = [{
    ```mlir
    tile_gpu.bulk_store %A[%o] from %a bytes %n : memref<?xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$tensor, I64:$offset, Arg<I32, "", [MemRead]>:$address,
    I32:$bytes, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $tensor `[` $offset `]` `from` $address `bytes` $bytes (`if` $predicate^)? attr-dict `:` type($tensor)
  }];
}

def TileGPU_BulkReduceOp : TileGPU_Op<"bulk_reduce"> {
  let summary = "start combining consecutive elements in shared memory with global ones";
  let description = [{
    Kinds and types as in `tma_reduce`.
    ```mlir
    tile_gpu.bulk_reduce add %A[%o] from %a bytes %n : memref<?xf32>
    ```
  }];
  let arguments = (ins TileGPU_ReductionKindAttr:$kind, Arg<AnyMemRef, "", [MemRead, MemWrite]>:$tensor, I64:$offset,
    Arg<I32, "", [MemRead]>:$address, I32:$bytes, Optional<I1>:$predicate,
    DefaultValuedAttr<TileGPU_CacheHintAttr, "::mlir::tile_gpu::CacheHint::None">:$cache_hint);
  let assemblyFormat = [{
    $kind $tensor `[` $offset `]` `from` $address `bytes` $bytes (`if` $predicate^)? attr-dict `:` type($tensor)
  }];
  let hasVerifier = 1;
}

def TileGPU_BulkCommitOp : TileGPU_Op<"bulk_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "close the thread's group of bulk stores";
  let description = "An empty group is legal and counts. `tile_gpu.bulk_commit`";
  let arguments = (ins Optional<I1>:$predicate);
  let assemblyFormat = "(`if` $predicate^)? attr-dict";
}

def TileGPU_BulkWaitOp : TileGPU_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` bulk groups of the thread are in flight";
  let description = [{
    With `read` only until the others have read shared memory, which then may be
    written again; otherwise until their writes to global memory are done.
    ```mlir
    tile_gpu.bulk_wait 1 {read}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending, UnitAttr:$read, Optional<I1>:$predicate);
  let assemblyFormat = "$pending (`if` $predicate^)? attr-dict";
}

#endif
