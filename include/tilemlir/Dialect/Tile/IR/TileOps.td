//===- TileOps.td - operations of the `tile` dialect --------*- tablegen -*-===//
//
// Kernels, storage, views, tile operations, loops and element access.
// Asynchronous operations are in TileAsyncOps.td, those of warp roles in
// TileRoleOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEOPS_TD

include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/BuiltinAttributes.td"
include "tilemlir/Dialect/Tile/IR/TileAttrs.td"
include "tilemlir/Dialect/Tile/IR/TileTypes.td"

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "code that every block of a grid runs once";
  let description = [{
    One launch. `grid` gives one to three extents (x fastest); the block
    arguments of the body are the block indices, in the same order. An empty
    grid launches nothing. `threads` is the number of threads of a block that
    the program sees. A function may hold several kernels: they run one after
    the other.

    ```mlir
    tile.kernel "gemm" grid(%gx, %gy) threads(128) {
    ^bb0(%bx: i32, %by: i32):
      %a = tile.alloc "A_shared" : !tile.buffer<128x32xf16, shared>
    }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<I32>, "grid extents, x first">:$grid,
    StrAttr:$name,
    I64Attr:$threads,
    OptionalAttr<DenseI64ArrayAttr>:$thread_shape,
    OptionalAttr<DenseI64ArrayAttr>:$cluster,
    OptionalAttr<Tile_RasterAttr>:$raster,
    OptionalAttr<I64Attr>:$min_blocks_per_sm);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `grid` `(` $grid `)` `threads` `(` $threads `)` attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockArgument getBlockIndex(unsigned axis) { return getBody().getArgument(axis); }
    Block *getBodyBlock() { return &getBody().front(); }
    /// Threads of a block at launch: `threads`, or what the automatic roles
    /// occupy, which includes the producer's.
    int64_t getLaunchThreads();
  }];
}

def Tile_WorkspaceOp : Tile_Op<"workspace", [MemoryEffects<[MemAlloc]>]> {
  let summary = "global scratch memory that lives for one call";
  let description = [{
    Host-level allocation by the framework's allocator, once per (kernel,
    device, stream). `zero` asks for zeroed memory at every call. With `kept`,
    a call finds what the call before it on the same stream left, the first one
    zeros: for counters that a kernel itself brings back to zero.
    ```mlir
    %w = tile.workspace(%m) {zero} : memref<?x64xf32>
    %c = tile.workspace() {kept} : memref<64xi32>
    ```
  }];
  let arguments = (ins Arg<Variadic<I32>, "dynamic extents">:$dynamic_sizes, UnitAttr:$zero, UnitAttr:$kept,
    OptionalAttr<StrAttr>:$name);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "`(` $dynamic_sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SmCountOp : Tile_Op<"sm_count", [Pure]> {
  let summary = "number of multiprocessors of the device (1 on a CPU)";
  let description = "Host-level; used for persistent grids: `%n = tile.sm_count : i32`.";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_ThreadIdOp : Tile_Op<"thread_id", [Pure]> {
  let summary = "index of the executing thread in its block";
  let description = [{
    `axis` selects a dimension of the kernel's `thread_shape`; without a shape,
    axis 0 is the linear id. Values that depend on it are not uniform.
    ```mlir
    %t = tile.thread_id 0 : i32
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Storage and views
//===----------------------------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "allocate a buffer";
  let description = [{
    The only source of buffer handles besides views. The contents are
    undefined until written. Lives until the end of the kernel; lifetimes in
    shared memory are derived from uses.
    ```mlir
    %acc = tile.alloc "C_local" : !tile.buffer<128x128xf32, fragment>
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$name);
  let results = (outs Res<Tile_AnyBuffer, "", [MemAlloc]>:$result);
  let assemblyFormat = "($name^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_AnnotateLayoutOp : Tile_Op<"annotate_layout", [MemoryEffects<[MemWrite]>]> {
  let summary = "pin the layout of a buffer to what the user asked for";
  let description = [{
    Consumed by `tile-canonicalize-kernel`, which puts the layout into the
    type of the allocation. Two different annotations of one buffer are an
    error.
    ```mlir
    tile.annotate_layout %a : !tile.buffer<128x64xf16, shared>, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$buffer, AnyAttr:$layout);
  let assemblyFormat = "$buffer `:` type($buffer) `,` $layout attr-dict";
  let hasVerifier = 1;
}

class Tile_ViewOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, !listconcat([Pure], traits)>;

def Tile_SubviewOp : Tile_ViewOp<"subview"> {
  let summary = "a rectangular part of a buffer";
  let description = [{
    `sizes` are static, one per source dimension; the result may drop
    dimensions of size 1. Offsets must keep the part inside the buffer.
    ```mlir
    %s = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : !tile.buffer<3x128x64xf16, shared> to !tile.buffer<128x64xf16, shared>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$source, Variadic<I32>:$offsets, DenseI64ArrayAttr:$sizes);
  let results = (outs Tile_AnyBuffer:$result);
  let assemblyFormat = "$source `[` $offsets `]` $sizes attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_ViewOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape";
  let description = "```mlir\n%r = tile.reshape %a : !tile.buffer<128x64xf16, shared> to !tile.buffer<8192xf16, shared>\n```";
  let arguments = (ins Tile_AnyBuffer:$source);
  let results = (outs Tile_AnyBuffer:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_BitcastOp : Tile_ViewOp<"bitcast"> {
  let summary = "the same bytes under another element type";
  let description = [{
    The last extent scales with the element size.
    ```mlir
    %r = tile.bitcast %a : !tile.buffer<64xui8, shared> to !tile.buffer<32xi16, shared>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$source);
  let results = (outs Tile_AnyBuffer:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Tile operations
//===----------------------------------------------------------------------===//

defvar Tile_copyArguments = (ins
    Arg<Tile_Storage, "where to read", [MemRead]>:$source,
    Variadic<I32>:$source_offsets,
    DenseI64ArrayAttr:$source_sizes,
    Arg<Tile_Storage, "where to write", [MemWrite]>:$dest,
    Variadic<I32>:$dest_offsets,
    DenseI64ArrayAttr:$dest_sizes,
    OptionalAttr<TypedAttrInterface>:$safe,
    OptionalAttr<Tile_BoundsAttr>:$bounds,
    OptionalAttr<Tile_ChoiceAttr>:$choice,
    UnitAttr:$disable_tma,
    OptionalAttr<Tile_EvictionPolicyAttr>:$eviction_policy,
    OptionalAttr<Tile_PathAttr>:$prefer,
    OptionalAttr<I64Attr>:$coalesced_width);

class Tile_CopyLikeOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([AttrSizedOperandSegments], traits)> {
  let arguments = Tile_copyArguments;
  let assemblyFormat = [{
    $source `[` $source_offsets `]` $source_sizes `to` $dest `[` $dest_offsets `]` $dest_sizes
    attr-dict `:` type($source) `to` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_CopyLikeOp<"copy"> {
  let summary = "copy a rectangular region";
  let description = [{
    Both sides are a region: one offset and one static size per dimension.
    After dropping dimensions of size 1, the sizes of both sides must agree.
    Elements are converted when the types differ (round to nearest even;
    float to integer truncates). Elements outside of a source tensor read as
    `safe` (default zero); elements outside of a destination tensor are not
    written. `bounds`, `choice` are set by passes; `prefer` and `disable_tma`
    are requests of the user.

    A copy is collective: the threads of a block do it together, once, with the
    same offsets. A copy with a `local` operand is not: each thread does it for
    itself, between its own buffer and the other side, possibly at offsets and
    under conditions that differ between threads. Into a fragment, which exists
    once per block, all threads must copy the same values.

    ```mlir
    tile.copy %A[%y, %k] [128, 32] to %s[%c0, %c0] [128, 32]
      : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
    // Four elements for each thread.
    %at = arith.muli %thread, %c4 : i32
    tile.copy %x[%at] [4] to %mine[%c0] [4]
      : memref<512xf32> to !tile.buffer<4xf32, local>
    ```
  }];
  let hasCanonicalizer = 1;
}

def Tile_FillOp : Tile_Op<"fill"> {
  let summary = "set all elements of a buffer";
  let description = [{
    The value has the scalar type of the buffer. Of a `local` buffer, each thread
    fills its own, possibly with a value of its own; others are filled once.
    ```mlir
    tile.fill %acc, %zero : !tile.buffer<128x128xf32, fragment>, f32
    ```
  }];
  let arguments = (ins Arg<Tile_AnyBuffer, "", [MemWrite]>:$dest, Tile_Scalar:$value);
  let assemblyFormat = "$dest `,` $value attr-dict `:` type($dest) `,` type($value)";
  let hasVerifier = 1;
}

defvar Tile_gemmArguments = (ins
    Arg<Tile_AnyBuffer, "MxK, or KxM when transposed", [MemRead]>:$a,
    Arg<Tile_AnyBuffer, "KxN, or NxK when transposed", [MemRead]>:$b,
    Arg<Tile_AnyBuffer, "MxN accumulator", [MemRead, MemWrite]>:$c,
    UnitAttr:$transpose_a, UnitAttr:$transpose_b,
    UnitAttr:$clear_accum,
    DefaultValuedAttr<Tile_WarpPolicyAttr, "::mlir::tile::WarpPolicy::Square">:$policy,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::TF32">:$precision,
    UnitAttr:$a_unsigned, UnitAttr:$b_unsigned,
    OptionalAttr<Tile_ChoiceAttr>:$choice);

class Tile_GemmLikeOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits> {
  let arguments = Tile_gemmArguments;
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getM(); int64_t getN(); int64_t getK();
  }];
}

def Tile_GemmOp : Tile_GemmLikeOp<"gemm"> {
  let summary = "C += A * B on tiles";
  let description = [{
    `clear_accum` starts from zero instead of C. Products are accumulated in
    the element type of C. f32 operands are rounded to tf32 (nearest; ties away
    from zero, or to even where TMA rounds them)
    first unless `precision` is `ieee`. Leading unit dimensions are allowed.

    ```mlir
    tile.gemm %a, %b, %c {transpose_b} : !tile.buffer<128x32xf16, shared>, !tile.buffer<128x32xf16, shared>, !tile.buffer<128x128xf32, fragment>
    ```
  }];
}

def Tile_ReduceOp : Tile_Op<"reduce"> {
  let summary = "combine the elements along one dimension";
  let description = [{
    `dest` has the shape of `source` without `dim`, or with extent 1 there.
    Without `clear`, the old contents of `dest` take part. max/min ignore NaN
    unless `nan_propagate`. An empty dimension gives the neutral element.
    `scratch` is shared memory for exchange between warps, added by passes.

    ```mlir
    tile.reduce max %s, %m {dim = 1 : i64, clear} : !tile.buffer<64x64xf32, fragment>, !tile.buffer<64xf32, fragment>
    ```
  }];
  let arguments = (ins
    Tile_ReduceKindAttr:$kind,
    Arg<Tile_AnyBuffer, "", [MemRead]>:$source,
    Arg<Tile_AnyBuffer, "", [MemRead, MemWrite]>:$dest,
    Arg<Optional<Tile_SharedBuffer>, "", [MemRead, MemWrite]>:$scratch,
    I64Attr:$dim, UnitAttr:$clear, UnitAttr:$nan_propagate,
    OptionalAttr<Tile_ChoiceAttr>:$choice);
  let assemblyFormat = [{
    $kind $source `,` $dest (`scratch` $scratch^ `:` type($scratch))? attr-dict `:` type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_ConvertOp : Tile_Op<"convert"> {
  let summary = "copy a fragment into one with another layout";
  let description = [{
    Same shape and element type, different layouts. `choice` says how:
    `registers`, `shuffle`, or `scratch` through the shared buffer operand.
    ```mlir
    tile.convert %p, %q {choice = #tile.choice<registers, "same threads">} : !tile.buffer<64x64xf16, fragment, #l0>, !tile.buffer<64x64xf16, fragment, #l1>
    ```
  }];
  let arguments = (ins
    Arg<Tile_FragmentBuffer, "", [MemRead]>:$source,
    Arg<Tile_FragmentBuffer, "", [MemWrite]>:$dest,
    Arg<Optional<Tile_SharedBuffer>, "", [MemRead, MemWrite]>:$scratch,
    OptionalAttr<Tile_ChoiceAttr>:$choice);
  let assemblyFormat = [{
    $source `,` $dest (`scratch` $scratch^ `:` type($scratch))? attr-dict `:` type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

def Tile_ParallelOp : Tile_Op<"parallel", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "iterations without order, spread over threads";
  let description = [{
    The body runs once for every point of the iteration space; iterations may
    run in any order and at the same time. `static_extents` holds one extent per
    dimension, with `-9223372036854775808` (dynamic) taken from `extents`.
    The body holds scalar code, `tile.load`, `tile.store`, `tile.atomic`, and
    `scf` on scalars. `layout` is the distribution of the iterations, chosen by
    `tile-assign-layouts`: iterations of padding or beyond the extents do not run,
    replicas neither store to memory nor perform atomics.

    ```mlir
    tile.parallel [128, 64] {
    ^bb0(%i: i32, %j: i32):
      %v = tile.load %s[%i, %j] : !tile.buffer<128x64xf32, fragment> -> f32
      tile.store %v, %d[%i, %j] : f32, !tile.buffer<128x64xf32, fragment>
    }
    ```
  }];
  let arguments = (ins Variadic<I32>:$extents, DenseI64ArrayAttr:$static_extents,
    OptionalAttr<I64Attr>:$coalesced_width,
    OptionalAttr<Tile_FragmentLayoutAttr>:$layout,
    OptionalAttr<Tile_ChoiceAttr>:$choice);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    custom<DynamicIndexList>($extents, $static_extents) attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    Block *getBodyBlock() { return &getBody().front(); }
    bool hasStaticExtents() { return getExtents().empty(); }
  }];
}

def Tile_PipelinedOp : Tile_Op<"pipelined", [NoTerminator, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a serial loop whose loads may run ahead";
  let description = [{
    Same meaning as a serial loop from `lower` up to `upper` (step 1).
    `num_stages = S` gives every buffer that is filled ahead exactly S slots;
    0 keeps the loop serial. `stage` and `order`, one entry per top-level
    operation with an effect, override the planned schedule.

    ```mlir
    tile.pipelined %lb to %ub stages(3) {
    ^bb0(%k: i32):
      ...
    }
    ```
  }];
  let arguments = (ins I32:$lower, I32:$upper, I64Attr:$num_stages,
    OptionalAttr<DenseI64ArrayAttr>:$stage, OptionalAttr<DenseI64ArrayAttr>:$order,
    OptionalAttr<Tile_ChoiceAttr>:$choice);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$lower `to` $upper `stages` `(` $num_stages `)` attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockArgument getInductionVar() { return getBody().getArgument(0); }
    Block *getBodyBlock() { return &getBody().front(); }
  }];
}

//===----------------------------------------------------------------------===//
// Element access
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "read one element";
  let description = [{
    Of a tensor or a buffer. Reads outside of a tensor give `safe` (default
    zero); a buffer access must be inside. The result has the element type
    without signedness. Scalar code may read any element of a fragment, at any
    index and under any condition; elements that other threads hold come
    through shared memory.
    ```mlir
    %v = tile.load %A[%i, %j] : memref<?x?xf16> -> f16
    ```
  }];
  let arguments = (ins Arg<Tile_Storage, "", [MemRead]>:$source, Variadic<I32>:$indices,
    OptionalAttr<TypedAttrInterface>:$safe, OptionalAttr<Tile_BoundsAttr>:$bounds);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "write one element";
  let description = [{
    The value has the element type without signedness. Writes outside of a
    tensor are dropped. A fragment exists once per block: scalar code may write
    one only with a value, at indices and under conditions that are the same in
    all threads (`tile-verify-uniformity`).
    ```mlir
    tile.store %v, %C[%i, %j] : f16, memref<?x?xf16>
    ```
  }];
  let arguments = (ins Tile_Scalar:$value, Arg<Tile_Storage, "", [MemWrite]>:$dest, Variadic<I32>:$indices,
    OptionalAttr<Tile_BoundsAttr>:$bounds);
  let assemblyFormat = "$value `,` $dest `[` $indices `]` attr-dict `:` type($value) `,` type($dest)";
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic"> {
  let summary = "atomic read-modify-write of one element";
  let description = [{
    On a global tensor or shared buffer. `unsigned` selects unsigned max/min.
    The optional result is the old value. Out-of-bounds accesses do nothing
    and yield zero.
    ```mlir
    tile.atomic add %v, %C[%i, %j] : f32, memref<?x?xf32>
    ```
  }];
  let arguments = (ins Tile_AtomicKindAttr:$kind, Tile_Scalar:$value,
    Arg<Tile_Storage, "", [MemRead, MemWrite]>:$dest, Variadic<I32>:$indices,
    DefaultValuedAttr<Tile_MemoryOrderAttr, "::mlir::tile::MemoryOrder::Relaxed">:$memory_order,
    UnitAttr:$is_unsigned, OptionalAttr<Tile_BoundsAttr>:$bounds);
  let results = (outs Optional<Tile_Scalar>:$result);
  let assemblyFormat = [{
    $kind $value `,` $dest `[` $indices `]` attr-dict `:` type($value) `,` type($dest) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Synchronisation, diagnostics, facts
//===----------------------------------------------------------------------===//

def Tile_SyncThreadsOp : Tile_Op<"sync_threads", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "barrier of all threads of the block (or of a named subset)";
  let description = [{
    `T.sync_threads()` of the user, and what `tile-insert-sync` adds. Inside of
    a role, without `id`, the barrier is of the threads of that role.
    ```mlir
    tile.sync_threads
    tile.sync_threads {id = 1 : i64, count = 128 : i64}
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$count);
  let assemblyFormat = "attr-dict";
}

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "print scalars or a whole buffer from a kernel";
  let description = [{
    Scalars are printed by every thread that reaches the operation; a buffer is
    printed once per block, element by element.
    ```mlir
    tile.print "x = "(%x) : f32
    ```
  }];
  let arguments = (ins StrAttr:$message, Variadic<Tile_Scalar>:$scalars,
    Arg<Optional<Tile_AnyBuffer>, "", [MemRead]>:$buffer, UnitAttr:$is_unsigned);
  let assemblyFormat = "$message (`(` $scalars^ `:` type($scalars) `)`)? (`buffer` $buffer^ `:` type($buffer))? attr-dict";
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the kernel with a message when a condition is false";
  let description = "```mlir\ntile.assert %ok, \"k must be even\"\n```";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "a condition that the user promises";
  let description = [{
    Feeds bounds analysis and instruction selection. Conditions on launch
    values only are also checked by the launcher.
    ```mlir
    tile.assume %divisible
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

include "tilemlir/Dialect/Tile/IR/TileAsyncOps.td"
include "tilemlir/Dialect/Tile/IR/TileRoleOps.td"

#endif // TILEMLIR_DIALECT_TILE_IR_TILEOPS_TD
