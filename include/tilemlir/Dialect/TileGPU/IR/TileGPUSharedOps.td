//===- TileGPUSharedOps.td - shared memory and asynchronous copies -*- tablegen -*-===//
//
// Included by TileGPUOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUSHAREDOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUSHAREDOPS

/// An operation on shared memory at byte `address` + `offset`.
class TileGPU_SharedOp<string mnemonic, list<Trait> traits = []> : TileGPU_Op<mnemonic, traits>;

def TileGPU_SharedLoadOp : TileGPU_SharedOp<"shared_load", [MemoryEffects<[MemRead]>]> {
  let summary = "load consecutive elements from shared memory";
  let description = [{
    From byte `address + offset` of the arena. The result is zero where the
    predicate is false. `i1` elements are one byte each.
    ```mlir
    %v = tile_gpu.shared_load %a + 64 {alignment = 16 : i64} : vector<8xf16>
    ```
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I32Attr, "0">:$offset, Optional<I1>:$predicate,
    OptionalAttr<I64Attr>:$alignment);
  let results = (outs TileGPU_Registers:$result);
  let assemblyFormat = "$address (`+` $offset^)? (`if` $predicate^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TileGPU_SharedStoreOp : TileGPU_SharedOp<"shared_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "store consecutive elements to shared memory";
  let description = [{
    ```mlir
    tile_gpu.shared_store %v, %a + 64 {alignment = 16 : i64} : vector<8xf16>
    ```
  }];
  let arguments = (ins TileGPU_Registers:$value, I32:$address, DefaultValuedAttr<I32Attr, "0">:$offset,
    Optional<I1>:$predicate, OptionalAttr<I64Attr>:$alignment);
  let assemblyFormat = "$value `,` $address (`+` $offset^)? (`if` $predicate^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def TileGPU_SharedAtomicOp : TileGPU_SharedOp<"shared_atomic", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic read-modify-write of one element in shared memory";
  let description = [{
    Block scope; otherwise as `global_atomic`.
    ```mlir
    %old = tile_gpu.shared_atomic add %v, %a : i32 -> i32
    ```
  }];
  let arguments = (ins Tile_AtomicKindAttr:$kind, TileGPU_Scalar:$value, I32:$address,
    DefaultValuedAttr<I32Attr, "0">:$offset, Optional<I1>:$predicate,
    DefaultValuedAttr<Tile_MemoryOrderAttr, "::mlir::tile::MemoryOrder::Relaxed">:$memory_order,
    UnitAttr:$is_unsigned);
  let results = (outs Optional<TileGPU_Scalar>:$result);
  let assemblyFormat = "$kind $value `,` $address (`+` $offset^)? (`if` $predicate^)? attr-dict `:` type($value) (`->` type($result)^)?";
  let hasVerifier = 1;
}

def TileGPU_AsyncCopyOp : TileGPU_SharedOp<"async_copy", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "start a copy of 4, 8 or 16 bytes from global to shared memory";
  let description = [{
    Copies `bytes` bytes from element `source_offset` of the tensor to byte
    `address + offset` of the arena; both addresses are multiples of `bytes`.
    With `valid` (a number of bytes from 0 to `bytes`) only that many are read
    and the rest of the destination is filled with zeros; with 0 the source is
    not touched. `bypass_l1` (16 bytes only) caches in L2 only.
    ```mlir
    tile_gpu.async_copy %A[%o], %a + 1024 valid %n {bytes = 16 : i64, bypass_l1} : memref<?x?xf16>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$tensor, I64:$source_offset, I32:$address,
    DefaultValuedAttr<I32Attr, "0">:$offset, Optional<I32>:$valid,
    Optional<I1>:$predicate, I64Attr:$bytes, UnitAttr:$bypass_l1);
  let assemblyFormat = [{
    $tensor `[` $source_offset `]` `,` $address (`+` $offset^)? (`valid` $valid^)? (`if` $predicate^)?
    attr-dict `:` type($tensor)
  }];
  let hasVerifier = 1;
}

def TileGPU_AsyncCommitOp : TileGPU_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "close the thread's group of asynchronous copies";
  let description = "An empty group is legal and counts. `tile_gpu.async_commit`";
  let assemblyFormat = "attr-dict";
}

def TileGPU_AsyncWaitOp : TileGPU_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups of the thread are in flight";
  let description = "`tile_gpu.async_wait 1`";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

#endif
