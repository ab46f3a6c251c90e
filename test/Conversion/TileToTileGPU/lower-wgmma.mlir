// RUN: tile-opt %s --tile-to-tile-gpu --split-input-file | filecheck %s
// Products of warp groups: fences, descriptors, k-steps, waits.

#a = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[128, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8), (2, 0, 64)]>
#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>

// Two blocks of rows, two k-steps, B with contiguous N.
// CHECK-LABEL: func.func @shared_operands
func.func @shared_operands(%zero: f32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<128x64xf16, shared, #a>
    %b = tile.alloc "b" {tile.shared_offset = 16384 : i64} : !tile.buffer<64x64xf16, shared, #a>
    %c = tile.alloc "c" : !tile.buffer<128x64xf32, fragment, #c>
    tile.fill %c, %zero : !tile.buffer<128x64xf32, fragment, #c>, f32
    // Registers that other instructions wrote pass through the fence.
    // CHECK: [[F:%.*]]:2 = tile_gpu.wgmma_fence({{%.*}}, {{%.*}}) : vector<32xf32>, vector<32xf32>
    // K-step 0: B at its beginning, then both blocks of A: 64 rows of 128 bytes apart.
    // CHECK: [[B0:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 + 16384 {leading_bytes = 8192 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64}
    // CHECK: [[A00:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64}
    // CHECK: [[S0:%.*]] = tile_gpu.wgmma [[A00]], [[B0]], [[F]]#0 {a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>, shape = array<i64: 64, 64, 16>, transpose_b}
    // CHECK: [[A10:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 + 8192
    // CHECK: [[S1:%.*]] = tile_gpu.wgmma [[A10]], [[B0]], [[F]]#1
    // K-step 1: 16 rows of B, 32 bytes of A.
    // CHECK: [[B1:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 + 18432
    // CHECK: [[A01:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 + 32
    // CHECK: tile_gpu.wgmma [[A01]], [[B1]], [[S0]]
    // CHECK: tile_gpu.wgmma_descriptor %c0_i32 + 8224
    // CHECK-COUNT-5: tile_gpu.wgmma {{.*}}transpose_b
    // CHECK: tile_gpu.wgmma_commit
    // CHECK: tile_gpu.write_fragment
    tile.gemm_async %a, %b, %c {choice = #ss} : !tile.buffer<128x64xf16, shared, #a>, !tile.buffer<64x64xf16, shared, #a>, !tile.buffer<128x64xf32, fragment, #c>
    // The sums are a new value behind the wait.
    // CHECK: [[BEFORE:%.*]] = tile_gpu.read_fragment %c
    // CHECK: [[SUM:%.*]] = tile_gpu.wgmma_wait 0([[BEFORE]]) : vector<64xf32>
    // CHECK: tile_gpu.write_fragment [[SUM]], %c
    tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<128x64xf32, fragment, #c>
    // Nothing of the program is waited for.
    // CHECK: tile_gpu.wgmma_wait 1{{$}}
    tile.mma_wait {pending = 1 : i64}
  }
  return
}

// -----

#s = #tile.shared_layout<order = [2, 1, 0], panel = 32, swizzle = 64>
#b = #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>
#c = #tile.fragment_layout<[128, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16), (2, 0, 64), (2, 1, 32)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 8)]>
#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 32, 16], warpgroups = [2, 2]}>

// Four warp groups, each with its rows of A and columns of B; a slot of a ring.
// CHECK-LABEL: func.func @groups
func.func @groups(%slot: i32, %more: i1) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(512) {
  ^bb0(%bx: i32):
    // CHECK: [[WARP:%.*]] = tile_gpu.warp_id
    // CHECK: [[GROUP:%.*]] = arith.shrui [[WARP]], %c2_i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c9 = arith.constant 9 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<2x128x32xf16, shared, #s>
    %b = tile.alloc "b" {tile.shared_offset = 16384 : i64} : !tile.buffer<32x64xf16, shared, #b>
    %c = tile.alloc "c" : !tile.buffer<128x64xf32, fragment, #c>
    // CHECK: scf.for
    scf.for %k = %c0 to %c9 step %c1 : i32 {
      %as = tile.subview %a[%slot, %c0, %c0] [1, 128, 32] : !tile.buffer<2x128x32xf16, shared, #s> to !tile.buffer<128x32xf16, shared>
      // Along M: the lower bit; 64 rows of 64 bytes. The slot: 8192 bytes.
      // CHECK-DAG: [[M:%.*]] = arith.andi [[GROUP]], %c1_i32
      // CHECK-DAG: [[N:%.*]] = arith.shrui [[GROUP]], %c1_i32
      // Accumulators that come in from the iteration before stay where they are.
      // CHECK: tile_gpu.wgmma_fence{{$}}
      // Columns of another group are panels of 32 x 64 bytes.
      // CHECK: tile_gpu.wgmma_descriptor {{%.*}} + 16384 {leading_bytes = 2048 : i64, stride_bytes = 512 : i64, swizzle = 64 : i64}
      // CHECK: tile_gpu.wgmma_descriptor {{%.*}} {leading_bytes = 16 : i64, stride_bytes = 512 : i64, swizzle = 64 : i64}
      // CHECK: tile_gpu.wgmma {{.*}} scale_d %{{.*}} {
      // CHECK-NOT: scale_d
      // CHECK: tile_gpu.wgmma
      // CHECK: tile_gpu.wgmma_commit
      tile.gemm_async %as, %b, %c accumulate %more {choice = #ss} : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x64xf16, shared, #b>, !tile.buffer<128x64xf32, fragment, #c>
    }
    // Where the iteration waits, its sums are not in flight when the next begins.
    // CHECK: scf.for
    scf.for %k = %c0 to %c9 step %c1 : i32 {
      // CHECK: tile_gpu.wgmma_fence({{%.*}}) : vector<16xf32>
      %as = tile.subview %a[%slot, %c0, %c0] [1, 128, 32] : !tile.buffer<2x128x32xf16, shared, #s> to !tile.buffer<128x32xf16, shared>
      tile.gemm_async %as, %b, %c {choice = #ss} : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x64xf16, shared, #b>, !tile.buffer<128x64xf32, fragment, #c>
      tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<128x64xf32, fragment, #c>
    }
  }
  return
}

// -----

#b = #tile.shared_layout<order = [1, 0], panel = 16, swizzle = 0>
#r = #tile.fragment_layout<[64, 32], threads = [(4, 1, 4), (8, 0, 1), (4, 0, 16)], registers = [(4, 1, 1), (2, 0, 8), (2, 1, 16)]>
#c = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#rs = #tile.choice<wgmma_rs, "", {instruction = [64, 8, 32], warpgroups = [1, 1]}>

// A in registers, packed to words; sums from nothing; no swizzle.
// CHECK-LABEL: func.func @registers
func.func @registers(%v: i8) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %a = tile.alloc "a" : !tile.buffer<64x32xi8, fragment, #r>
    %b = tile.alloc "b" {tile.shared_offset = 0 : i64} : !tile.buffer<8x32xi8, shared, #b>
    %c = tile.alloc "c" : !tile.buffer<64x8xi32, fragment, #c>
    tile.fill %a, %v : !tile.buffer<64x32xi8, fragment, #r>, i8
    // CHECK: [[WORDS:%.*]] = vector.bitcast {{%.*}} : vector<16xi8> to vector<4xi32>
    // CHECK: [[NONE:%.*]] = ub.poison : vector<4xi32>
    // CHECK: [[A:%.*]] = tile_gpu.wgmma_fence([[WORDS]]) : vector<4xi32>
    // CHECK: [[B:%.*]] = tile_gpu.wgmma_descriptor %c0_i32 {leading_bytes = 128 : i64, stride_bytes = 128 : i64, swizzle = 0 : i64}
    // CHECK: tile_gpu.wgmma [[A]], [[B]], [[NONE]] scale_d %false {a_type = #tile_gpu<matrix_type s8>, b_type = #tile_gpu<matrix_type u8>, shape = array<i64: 64, 8, 32>}
    tile.gemm_async %a, %b, %c {choice = #rs, transpose_b, clear_accum, b_unsigned} : !tile.buffer<64x32xi8, fragment, #r>, !tile.buffer<8x32xi8, shared, #b>, !tile.buffer<64x8xi32, fragment, #c>
    // CHECK: tile_gpu.wgmma_wait 0({{%.*}}, {{%.*}}) : vector<4xi32>, vector<16xi8>
    tile.mma_wait %c, %a {pending = 0 : i64} : !tile.buffer<64x8xi32, fragment, #c>, !tile.buffer<64x32xi8, fragment, #r>
  }
  return
}

// -----

#a = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#b = #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>
#c = #tile.fragment_layout<[64, 128], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (16, 1, 8)]>
#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 128, 16], warpgroups = [1, 1]}>

// Slots that are blocks of all their panels: the next panel is 8192 bytes further, the next slot 16384.
// CHECK-LABEL: func.func @slots_of_panels
func.func @slots_of_panels(%slot: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<2x64x64xf16, shared, #a>
    %b = tile.alloc "b" {tile.shared_offset = 16384 : i64} : !tile.buffer<2x64x128xf16, shared, #b>
    %c = tile.alloc "c" : !tile.buffer<64x128xf32, fragment, #c>
    %as = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : !tile.buffer<2x64x64xf16, shared, #a> to !tile.buffer<64x64xf16, shared>
    %bs = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared, #b> to !tile.buffer<64x128xf16, shared>
    // CHECK: [[B:%.*]] = arith.muli %arg0, %c16384_i32
    // CHECK: tile_gpu.wgmma_descriptor [[B]] + 16384 {leading_bytes = 8192 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64}
    // CHECK: tile_gpu.wgmma_descriptor [[B]] + 18432 {leading_bytes = 8192 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64}
    tile.gemm_async %as, %bs, %c {choice = #ss, clear_accum} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<64x128xf32, fragment, #c>
    tile.mma_wait %c {pending = 0 : i64} : !tile.buffer<64x128xf32, fragment, #c>
  }
  return
}
