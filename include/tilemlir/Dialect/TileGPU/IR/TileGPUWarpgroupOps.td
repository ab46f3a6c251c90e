//===- TileGPUWarpgroupOps.td - wgmma ----------------------*- tablegen -*-===//
//
// Matrix operations of a warpgroup (sm_90a), whose values travel through the
// waits that make them available. Included by TileGPUOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUWARPGROUPOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUWARPGROUPOPS

/// Operands of these types are tied to the results in order.
class TileGPU_ThreadingOp<string mnemonic, list<Trait> traits = []>
    : TileGPU_Op<mnemonic, traits # [
        RangedTypesMatchWith<"results have the types of the operands", "values", "outputs", "$_self">,
        MemoryEffects<[MemRead, MemWrite]>]>;

def TileGPU_WgmmaDescriptorOp : TileGPU_Op<"wgmma_descriptor", [Pure]> {
  let summary = "descriptor of a matrix in shared memory";
  let description = [{
    The matrix begins `offset` bytes after byte `address` of the arena; both are
    multiples of 16. Descriptors that differ in `offset` share the part that depends
    on `address`, so k-steps are constants added to it. `swizzle` is 0, 32, 64 or
    128 bytes.

    | | `stride_bytes` | `leading_bytes` |
    |---|---|---|
    | K-major, swizzled | between groups of 8 rows (8 swizzle) | not used (16) |
    | MN-major, swizzled | between groups of 8 k-rows (8 swizzle) | between panels of `swizzle` bytes along M or N |
    | not swizzled | between core matrices of 8 rows x 16 bytes along M or N | between core matrices along K |
    ```mlir
    %d = tile_gpu.wgmma_descriptor %a + 32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    ```
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I32Attr, "0">:$offset, I64Attr:$leading_bytes,
    I64Attr:$stride_bytes, I64Attr:$swizzle);
  let results = (outs I64:$result);
  let assemblyFormat = "$address (`+` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TileGPU_WgmmaOp : TileGPU_Op<"wgmma", [AllTypesMatch<["c", "result"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start result = a * b + c on one warpgroup";
  let description = [{
    `shape` is `[64, n, k]` with k = 256 / bits of an element of `a`, n a multiple
    of 8 up to 256 (s8 and u8: 8, 16, 24, and multiples of 16). `b` is a descriptor; `a`
    is a descriptor or four registers (`vector<4xi32>`). `transpose_a`, `transpose_b`:
    the operand in shared memory is M- or N-major (16-bit types only). `negate_a` and
    `negate_b` change the sign of float operands; `saturate` clamps integer sums.

    With g = lane / 4, t = lane % 4, w = warp in the warpgroup: element
    `4 j + 2 h + e` of `c` is (row 16 w + g + 8 h, column 8 j + 2 t + e). Register
    `h + 2 q` of `a` holds elements (row 16 w + g + 8 h, k = E t + e + 4 E q) with
    E = 32 / bits of an element, e in the low bits first: the pattern of a 16-bit `c`.

    The sum ignores `c` when `scale_d` is false: `c` is `ub.poison` and a *constant*
    false takes no registers as inputs. Without `scale_d` it is true.

    The result is in flight: it may feed the `c` of a later `wgmma` of the same shape
    and pass through loops; anything else needs `wgmma_wait` first, as does
    overwriting the registers of `a`.

    | a, b | c |
    |---|---|
    | f16 | f16, f32 |
    | bf16, tf32 | f32 |
    | e4m3, e5m2 (any mix) | f16, f32 |
    | s8, u8 (any mix) | i32 |
    ```mlir
    %d = tile_gpu.wgmma %a, %b, %c scale_d %p {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>,
      b_type = #tile_gpu<matrix_type f16>, transpose_b} : i64, vector<64xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[I64, FixedVectorOfLengthAndType<[4], [I32]>]>:$a, I64:$b,
    FixedVectorOfRankAndType<[1], [F16, F32, I32]>:$c, Optional<I1>:$scale_d,
    DenseI64ArrayAttr:$shape, TileGPU_MatrixTypeAttr:$a_type, TileGPU_MatrixTypeAttr:$b_type,
    UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$negate_a, UnitAttr:$negate_b, UnitAttr:$saturate);
  let results = (outs FixedVectorOfRankAndType<[1], [F16, F32, I32]>:$result);
  let assemblyFormat = "$a `,` $b `,` $c (`scale_d` $scale_d^)? attr-dict `:` type($a) `,` type($c)";
  let hasVerifier = 1;
}

def TileGPU_WgmmaFenceOp : TileGPU_ThreadingOp<"wgmma_fence"> {
  let summary = "order register writes before following wgmma operations";
  let description = [{
    Before the first `wgmma` of a batch that reads registers which other
    instructions wrote. Values given are computed before it.
    ```mlir
    tile_gpu.wgmma_fence
    %c1 = tile_gpu.wgmma_fence (%c) : vector<64xf32>
    ```
  }];
  let arguments = (ins Variadic<TileGPU_Registers>:$values);
  let results = (outs Variadic<TileGPU_Registers>:$outputs);
  let assemblyFormat = "(`(` $values^ `)`)? attr-dict (`:` type($values)^)?";
}

def TileGPU_WgmmaCommitOp : TileGPU_Op<"wgmma_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "close the warpgroup's batch of wgmma operations";
  let description = "`tile_gpu.wgmma_commit`";
  let assemblyFormat = "attr-dict";
}

def TileGPU_WgmmaWaitOp : TileGPU_ThreadingOp<"wgmma_wait"> {
  let summary = "wait until at most `pending` batches are in flight";
  let description = [{
    Results are the operands, available: accumulators and `a` registers of the
    batches that are complete, and any other value whose computation shall stand
    before the wait. The last wait before accumulators are used names all of them.
    ```mlir
    tile_gpu.wgmma_wait 1
    %r:2 = tile_gpu.wgmma_wait 0 (%c0, %c1) : vector<64xf32>, vector<64xf32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<7>]>:$pending,
    Variadic<TileGPU_Registers>:$values);
  let results = (outs Variadic<TileGPU_Registers>:$outputs);
  let assemblyFormat = "$pending (`(` $values^ `)`)? attr-dict (`:` type($values)^)?";
}

def TileGPU_PinOp : TileGPU_ThreadingOp<"pin"> {
  let summary = "compute values here and not later";
  let description = [{
    Without it the optimisers sink computations to their use. No instruction.
    ```mlir
    %r:2 = tile_gpu.pin %row, %column : i32, i32
    ```
  }];
  let arguments = (ins Variadic<TileGPU_Registers>:$values);
  let results = (outs Variadic<TileGPU_Registers>:$outputs);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

#endif
