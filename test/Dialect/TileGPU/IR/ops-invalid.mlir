// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @axis(%A: memref<4xf16>) {
  // expected-error @+1 {{axis 1 of a tensor of rank 1}}
  %n = tile_gpu.extent %A, 1 : memref<4xf16>
  return
}

// -----

func.func @fragment_registers(%g: i32) {
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%b: i32):
  %l = tile.alloc "l" : !tile.buffer<4xi32, local>
  // expected-error @+1 {{a thread holds 'vector<4xi32>' of this buffer, not 'vector<2xi32>'}}
  %w = tile_gpu.read_fragment %l : !tile.buffer<4xi32, local> -> vector<2xi32>
  }
  return
}

// -----

func.func @fragment_space(%g: i32) {
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%b: i32):
  %l = tile.alloc "l" : !tile.buffer<4xi32, shared>
  // expected-error @+1 {{buffer must be in fragment or local space}}
  %w = tile_gpu.read_fragment %l : !tile.buffer<4xi32, shared> -> vector<4xi32>
  }
  return
}

// -----

func.func @fragment_open(%g: i32) {
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%b: i32):
  %l = tile.alloc "l" : !tile.buffer<4xi32, fragment>
  // expected-error @+1 {{the fragment has no layout yet}}
  %w = tile_gpu.read_fragment %l : !tile.buffer<4xi32, fragment> -> vector<4xi32>
  }
  return
}

// -----

func.func @element(%A: memref<4xf16>, %o: i64) {
  // expected-error @+1 {{accesses 'f32' in a tensor of 'f16'}}
  %v = tile_gpu.global_load %A[%o] : memref<4xf16> -> f32
  return
}

// -----

func.func @alignment(%A: memref<4xf32>, %o: i64) {
  // expected-error @+1 {{alignment 2 is less than an element of 4 bytes}}
  %v = tile_gpu.global_load %A[%o] {alignment = 2 : i64} : memref<4xf32> -> f32
  return
}

// -----

func.func @alignment_power(%a: i32) {
  // expected-error @+1 {{alignment 12 is no power of two}}
  %v = tile_gpu.shared_load %a {alignment = 12 : i64} : f32
  return
}

// -----

func.func @atomic(%A: memref<4xf32>, %o: i64, %v: f32) {
  // expected-error @+1 {{and of 'f32'; bitwise atomics need integers}}
  tile_gpu.global_atomic and %v, %A[%o] : f32, memref<4xf32>
  return
}

// -----

func.func @copy_bytes(%A: memref<4xf32>, %o: i64, %a: i32) {
  // expected-error @+1 {{copies 4, 8 or 16 bytes, not 2}}
  tile_gpu.async_copy %A[%o], %a {bytes = 2 : i64} : memref<4xf32>
  return
}

// -----

func.func @copy_l1(%A: memref<4xf32>, %o: i64, %a: i32) {
  // expected-error @+1 {{bypass_l1 needs copies of 16 bytes}}
  tile_gpu.async_copy %A[%o], %a {bytes = 8 : i64, bypass_l1} : memref<4xf32>
  return
}

// -----

func.func @barrier_count() {
  // expected-error @+1 {{count 48 is no positive multiple of a warp's 32 threads}}
  tile_gpu.barrier {id = 1 : i64, count = 48 : i64}
  return
}

// -----

func.func @barrier_id() {
  // expected-error @+1 {{a barrier of some threads needs an id}}
  tile_gpu.barrier {count = 64 : i64}
  return
}

// -----

func.func @matrices(%a: i32) {
  // expected-error @+1 {{moves 1, 2 or 4 matrices, not 3}}
  %x = tile_gpu.ldmatrix %a : vector<3xi32>
  return
}

// -----

func.func @mma_k(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{k must be 16 or half of it for f16, not 32}}
  %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 32>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

func.func @mma_mix(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{cannot multiply f16 by bf16}}
  %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type bf16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}

// -----

func.func @mma_sum(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf16>) {
  // expected-error @+1 {{cannot accumulate bf16 products in 'f16'}}
  %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type bf16>, b_type = #tile_gpu<matrix_type bf16>} : vector<4xi32>, vector<2xi32>, vector<4xf16>
  return
}

// -----

func.func @mma_registers(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) {
  // expected-error @+1 {{k = 8 takes 2 registers of a and 1 of b}}
  %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 8>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  return
}
