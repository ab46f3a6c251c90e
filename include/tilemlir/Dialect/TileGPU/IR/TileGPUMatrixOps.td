//===- TileGPUMatrixOps.td - warp-level matrix operations --*- tablegen -*-===//
//
// Included by TileGPUOps.td. Element positions are those of the PTX ISA,
// "Warp Level Matrix Instructions"; with E = 32 / bits of an element, lane
// l = 4 g + t and register e + E (h + 2 q) or the like as stated at each op.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUMATRIXOPS
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUMATRIXOPS

def TileGPU_LdmatrixOp : TileGPU_Op<"ldmatrix", [MemoryEffects<[MemRead]>]> {
  let summary = "load 8x8 matrices of 16-bit elements from shared memory";
  let description = [{
    `count` (1, 2 or 4) matrices of eight rows of 16 bytes. Lane `8 m + r`
    gives the address (`address + offset`, a multiple of 16) of row `r` of
    matrix `m`; addresses of lanes beyond `8 count` are ignored. Result
    register `m` of lane `l` holds bytes `4 (l % 4)` to `+ 3` of row `l / 4`
    of matrix `m`; with `trans` it holds elements `2 (l % 4)` (low half) and
    `+ 1` of *column* `l / 4`.
    ```mlir
    %a = tile_gpu.ldmatrix %p + 512 {trans} : vector<4xi32>
    ```
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I32Attr, "0">:$offset, UnitAttr:$trans);
  let results = (outs TileGPU_MatrixRegisters:$result);
  let assemblyFormat = "$address (`+` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TileGPU_StmatrixOp : TileGPU_Op<"stmatrix", [MemoryEffects<[MemWrite]>]> {
  let summary = "store 8x8 matrices of 16-bit elements to shared memory";
  let description = [{
    The inverse of `ldmatrix`, with the same roles of lanes and registers.
    Needs sm_90.
    ```mlir
    tile_gpu.stmatrix %v, %p + 512 : vector<4xi32>
    ```
  }];
  let arguments = (ins TileGPU_MatrixRegisters:$value, I32:$address, DefaultValuedAttr<I32Attr, "0">:$offset,
    UnitAttr:$trans);
  let assemblyFormat = "$value `,` $address (`+` $offset^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def TileGPU_MmaOp : TileGPU_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "result = a * b + c on one warp";
  let description = [{
    `shape` is `[m, n, k]` with m = 16 and n = 8; k is 8 E or 4 E with
    E = 32 / bits of an element. With g = lane / 4, t = lane % 4:
    register `h + 2 q` of `a` holds elements (row g + 8 h, k = E t + e + 4 E q),
    register `q` of `b` elements (k = E t + e + 4 E q, column g), e in the low
    bits first; element `e + 2 h` of `c` is (row g + 8 h, column 2 t + e).
    Products are exact; f32 sums are rounded in an order and precision that
    the hardware does not promise; integers wrap.

    | a, b | k | c |
    |---|---|---|
    | f16 | 8, 16 | f16, f32 |
    | bf16 | 8, 16 | f32 |
    | tf32 | 4, 8 | f32 |
    | s8, u8 (any mix) | 16, 32 | i32 |
    | e4m3, e5m2 (any mix) | 32 | f32 |
    ```mlir
    %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>}
      : vector<4xi32>, vector<2xi32>, vector<4xf32>
    ```
  }];
  let arguments = (ins TileGPU_MatrixRegisters:$a, TileGPU_MatrixRegisters:$b,
    FixedVectorOfLengthAndType<[4], [F16, F32, I32]>:$c,
    DenseI64ArrayAttr:$shape, TileGPU_MatrixTypeAttr:$a_type, TileGPU_MatrixTypeAttr:$b_type);
  let results = (outs FixedVectorOfLengthAndType<[4], [F16, F32, I32]>:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

def TileGPU_RoundTF32Op : TileGPU_Op<"round_tf32", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "round an f32 to the 10 mantissa bits of tf32";
  let description = "To nearest, ties away from zero (`cvt.rna.tf32.f32`); low 13 bits of the result are zero. `%r = tile_gpu.round_tf32 %x : f32`";
  let arguments = (ins F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def TileGPU_PermuteBytesOp : TileGPU_Op<"permute_bytes", [Pure]> {
  let summary = "pick four of the eight bytes of two registers";
  let description = [{
    Byte `i` of the result is byte number `(selector >> 4 i) & 7` of the eight
    bytes of `low` (0 to 3) and `high` (4 to 7).
    ```mlir
    %r = tile_gpu.permute_bytes %x, %y, 0x5410 : i32
    ```
  }];
  let arguments = (ins I32:$low, I32:$high, I32Attr:$selector);
  let results = (outs I32:$result);
  let assemblyFormat = "$low `,` $high `,` $selector attr-dict `:` type($result)";
}

#endif
