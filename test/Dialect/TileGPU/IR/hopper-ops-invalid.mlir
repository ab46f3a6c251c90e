// RUN: tile-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{tensor maps have no elements of type 'i1'}}
func.func @element(%m: !tile_gpu.tensor_map<64xi1>) { return }

// -----

// expected-error @+1 {{extents of a box are 1 to 256, found 512}}
func.func @extent(%m: !tile_gpu.tensor_map<64x512xf16>) { return }

// -----

// expected-error @+1 {{rows of a box are multiples of 16 bytes, found 10}}
func.func @row(%m: !tile_gpu.tensor_map<5xf16>) { return }

// -----

// expected-error @+1 {{a tensor map has 1 to 5 dimensions, not 6}}
func.func @rank(%m: !tile_gpu.tensor_map<8x1x1x1x1x1xf16>) { return }

// -----

func.func @inner_stride(%A: memref<?x?xf16>) {
  // expected-error @+1 {{the fastest dimension must have stride 1}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : stride(0, 0)], box = [64]> : memref<?x?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @box_rank(%A: memref<?x?xf16>) {
  // expected-error @+1 {{a box of 2 dimensions in a map of 1}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64, 1]> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x1xf16>
  return
}

// -----

func.func @swizzle(%A: memref<?xf16>) {
  // expected-error @+1 {{swizzle is 0, 32, 64 or 128 bytes, found 16}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], swizzle = 16> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @field(%A: memref<?xf16>) {
  // expected-error @+1 {{unknown field 'boxes'}}
  %m = tile_gpu.tensor_map %A <boxes = [64]> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @element_stride(%A: memref<?xf16>) {
  // expected-error @+1 {{element strides are 1 to 8, found 9}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], element_strides = [9]> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @promotion(%A: memref<?xf16>) {
  // expected-error @+1 {{l2_promotion is 0, 64, 128 or 256 bytes, found 32}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], l2_promotion = 32> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @wide_row(%A: memref<?xf16>) {
  // expected-error @+1 {{rows of the box have 128 bytes, a swizzle of 64 bytes allows no more than that}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], swizzle = 64> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @wrong_type(%A: memref<?xf16>) {
  // expected-error @+1 {{a map with this record has type '!tile_gpu.tensor_map<64xf16>'}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64]> : memref<?xf16> -> !tile_gpu.tensor_map<32xf16>
  return
}

// -----

func.func @wrong_width(%A: memref<?xf16>) {
  // expected-error @+1 {{elements of 'f16' cannot be read as 'f32'}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], dtype = f32> : memref<?xf16> -> !tile_gpu.tensor_map<64xf32>
  return
}

// -----

func.func @nan_integer(%A: memref<?xi32>) {
  // expected-error @+1 {{a map of 'i32' cannot be filled with nan}}
  %m = tile_gpu.tensor_map %A <dims = [dim(0, 0) : 1], box = [64], fill = nan> : memref<?xi32> -> !tile_gpu.tensor_map<64xi32>
  return
}

// -----

func.func @other_tensor(%A: memref<?xf16>) {
  // expected-error @+1 {{sizes and strides in a record are those of the tensor, dim(0, i) and stride(0, i)}}
  %m = tile_gpu.tensor_map %A <dims = [dim(1, 0) : 1], box = [64]> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @dimension(%A: memref<?xf16>) {
  // expected-error @+1 {{dimension 1 of a tensor of rank 1}}
  %m = tile_gpu.tensor_map %A <dims = [mul(dim(0, 1), 2) : 1], box = [64]> : memref<?xf16> -> !tile_gpu.tensor_map<64xf16>
  return
}

// -----

func.func @coordinates(%m: !tile_gpu.tensor_map<64x8xf16>, %x: i32) {
  // expected-error @+1 {{1 coordinates in a map of 2 dimensions}}
  tile_gpu.tma_load %m[%x] to %x, %x : !tile_gpu.tensor_map<64x8xf16>
  return
}

// -----

func.func @reduction(%m: !tile_gpu.tensor_map<64xf32>, %x: i32) {
  // expected-error @+1 {{no bulk reduction 'max' of 'f32'}}
  tile_gpu.tma_reduce max %m[%x] from %x : !tile_gpu.tensor_map<64xf32>
  return
}

// -----

func.func @bulk_reduction(%A: memref<?xi8>, %o: i64, %x: i32) {
  // expected-error @+1 {{no bulk reduction 'add' of 'i8'}}
  tile_gpu.bulk_reduce add %A[%o] from %x bytes %x : memref<?xi8>
  return
}

// -----

func.func @named(%x: i32) {
  // expected-error @+1 {{48 threads; a barrier counts whole warps, up to 1024 threads}}
  tile_gpu.named_barrier_sync %x, 48
  return
}

// -----

func.func @registers() {
  // expected-error @+1 {{a warp can have 24 to 256 registers in steps of 8, not 100}}
  tile_gpu.set_max_registers increase 100
  return
}

// -----

func.func @ptx_width(%x: i8) {
  // expected-error @+1 {{operands have 16, 32 or 64 bits; convert 'i8' before}}
  tile_gpu.ptx "" (%x) : (i8) -> ()
  return
}

// -----

func.func @descriptor(%x: i32) {
  // expected-error @+1 {{stride_bytes must be a multiple of 16 below 256 KiB, found 1000}}
  %d = tile_gpu.wgmma_descriptor %x {leading_bytes = 16 : i64, stride_bytes = 1000 : i64, swizzle = 128 : i64} : i64
  return
}

// -----

func.func @wgmma_types(%d: i64, %c: vector<64xf32>) {
  // expected-error @+1 {{cannot multiply f16 by bf16}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type bf16>} : i64, vector<64xf32>
  return
}

// -----

func.func @wgmma_shape(%d: i64, %c: vector<64xf32>) {
  // expected-error @+1 {{shape must be [64, n, 8] for tf32}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type tf32>, b_type = #tile_gpu<matrix_type tf32>} : i64, vector<64xf32>
  return
}

// -----

func.func @wgmma_n(%d: i64, %c: vector<20xi32>) {
  // expected-error @+1 {{n of 8-bit integers is 8, 16, 24 or a multiple of 16, not 40}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 40, 32>, a_type = #tile_gpu<matrix_type s8>, b_type = #tile_gpu<matrix_type s8>} : i64, vector<20xi32>
  return
}

// -----

func.func @wgmma_sum(%d: i64, %c: vector<64xf16>) {
  // expected-error @+1 {{cannot accumulate bf16 products in 'f16'}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type bf16>, b_type = #tile_gpu<matrix_type bf16>} : i64, vector<64xf16>
  return
}

// -----

func.func @wgmma_registers(%d: i64, %c: vector<32xf32>) {
  // expected-error @+1 {{a thread holds 64 elements of c for n = 128, not 32}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : i64, vector<32xf32>
  return
}

// -----

func.func @wgmma_transpose(%d: i64, %c: vector<64xf32>) {
  // expected-error @+1 {{only 16-bit operands can be transposed, not e4m3}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 32>, a_type = #tile_gpu<matrix_type e4m3>, b_type = #tile_gpu<matrix_type e4m3>, transpose_b} : i64, vector<64xf32>
  return
}

// -----

func.func @wgmma_transpose_registers(%a: vector<4xi32>, %d: i64, %c: vector<64xf32>) {
  // expected-error @+1 {{a in registers cannot be transposed}}
  %r = tile_gpu.wgmma %a, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, transpose_a} : vector<4xi32>, vector<64xf32>
  return
}

// -----

func.func @wgmma_negate(%d: i64, %c: vector<8xi32>) {
  // expected-error @+1 {{integer operands cannot be negated}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 16, 32>, a_type = #tile_gpu<matrix_type s8>, b_type = #tile_gpu<matrix_type s8>, negate_b} : i64, vector<8xi32>
  return
}

// -----

func.func @wgmma_saturate(%d: i64, %c: vector<64xf32>) {
  // expected-error @+1 {{only integer sums saturate}}
  %r = tile_gpu.wgmma %d, %d, %c {shape = array<i64: 64, 128, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, saturate} : i64, vector<64xf32>
  return
}
