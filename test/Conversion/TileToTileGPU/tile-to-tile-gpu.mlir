// RUN: tile-opt %s --tile-to-tile-gpu | filecheck %s

#blocked = #tile.fragment_layout<[64, 32], threads = [(4, 1, 8), (32, 0, 1)], registers = [(8, 1, 1), (2, 0, 32)]>
#rep = #tile.fragment_layout<[32], threads = [(32, 0, 1), (4, -1, 0)], registers = [(1, 0, 1)]>
#row = #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 64>
module attributes {tile.target = #tile.target<"sm_80">} {

// Full copies are vectors without predicates; the fragment is written at once.
// CHECK-LABEL: func.func @copy_to_fragment
func.func @copy_to_fragment(%A: memref<64x32xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<64x32xf16, fragment, #blocked>
    // CHECK: tile_gpu.thread_id
    // CHECK-COUNT-2: tile_gpu.global_load %{{.*}}[%{{.*}}] {alignment = 16 : i64} : memref<64x32xf16> -> vector<8xf16>
    // CHECK-NOT: tile_gpu.global_load
    // CHECK: tile_gpu.write_fragment %{{.*}} : vector<16xf16>
    tile.copy %A[%z, %z] [64, 32] to %f[%z, %z] [64, 32] {bounds = #tile<bounds full>} : memref<64x32xf16> to !tile.buffer<64x32xf16, fragment, #blocked>
  }
  return
}

// An odd row pitch allows no vectors, and every element has its own predicate.
// CHECK-LABEL: func.func @copy_misaligned
func.func @copy_misaligned(%A: memref<60x31xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<64x32xf16, fragment, #blocked>
    // CHECK-COUNT-16: tile_gpu.global_load %{{.*}}[%{{.*}}]{{.*}} : memref<60x31xf16> -> f16
    // CHECK-NOT: vector<8xf16>
    tile.copy %A[%z, %z] [64, 32] to %f[%z, %z] [64, 32] {bounds = #tile<bounds predicated>} : memref<60x31xf16> to !tile.buffer<64x32xf16, fragment, #blocked>
  }
  return
}

// Every number divides a product with zero, such as the offset of a pipeline's
// first iteration.
// CHECK-LABEL: func.func @copy_async_at_zero
func.func @copy_async_at_zero(%A: memref<64x64xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %x = arith.muli %z, %c32 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x32xf16, shared, #row>
    // CHECK-COUNT-2: tile_gpu.async_copy {{.*}}bytes = 16 : i64
    // CHECK-NOT: tile_gpu.global_load
    // CHECK: tile_gpu.async_commit
    tile.copy_async %A[%z, %x] [64, 32] to %s[%z, %z] [64, 32] {bounds = #tile<bounds full>} : memref<64x64xf16> to !tile.buffer<64x32xf16, shared, #row>
    tile.async_commit
    tile.async_wait {pending = 0 : i64}
  }
  return
}

// cp.async with zero fill; rows share one address base.
// CHECK-LABEL: func.func @copy_async
func.func @copy_async(%A: memref<?x?xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %y = arith.muli %bx, %c64 : i32
    %s = tile.alloc "s" {tile.shared_offset = 1024 : i64} : !tile.buffer<64x32xf16, shared, #row>
    // CHECK: tile_gpu.extent
    // CHECK: arith.cmpi ult
    // CHECK: tile_gpu.async_copy %{{.*}}[%{{.*}}], %[[BASE:.*]] + 1024 valid %{{.*}} {bypass_l1, bytes = 16 : i64} : memref<?x?xf16>
    // CHECK: tile_gpu.async_copy %{{.*}}[%{{.*}}], %[[BASE]] + 3072 valid %{{.*}} {bypass_l1, bytes = 16 : i64} : memref<?x?xf16>
    // CHECK-NOT: tile_gpu.async_copy
    // CHECK: tile_gpu.async_commit
    // CHECK: tile_gpu.async_wait 0
    // CHECK: tile_gpu.barrier
    tile.copy_async %A[%y, %z] [64, 32] to %s[%z, %z] [64, 32] {bounds = #tile<bounds predicated>} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared, #row>
    tile.async_commit
    tile.async_wait {pending = 0 : i64}
    tile.sync_threads
  }
  return
}

// The position in a dimension of one element is 0 wherever something is accessed, so the pitch of that dimension does
// not matter for the alignment.
// CHECK-LABEL: func.func @copy_async_of_one_row
func.func @copy_async_of_one_row(%A: memref<1x9xf8E4M3FN>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %x = arith.muli %bx, %c8 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<8x8xf8E4M3FN, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 0>>
    // CHECK: tile_gpu.async_copy {{.*}}bytes = 8 : i64
    // CHECK-NOT: tile_gpu.global_load
    // CHECK: tile_gpu.async_commit
    tile.copy_async %A[%x, %x] [8, 8] to %s[%z, %z] [8, 8] {bounds = #tile<bounds predicated>, choice = #tile.choice<cp_async, "", {bytes = 8 : i64}>} : memref<1x9xf8E4M3FN> to !tile.buffer<8x8xf8E4M3FN, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 0>>
    tile.async_commit
    tile.async_wait {pending = 0 : i64}
  }
  return
}

// Element loops: vector loads, one select per padded lane, vector stores.
// CHECK-LABEL: func.func @parallel
func.func @parallel(%A: memref<64x32xf32>, %B: memref<64x32xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    // CHECK-COUNT-4: tile_gpu.global_load %{{.*}}[%{{.*}}] {alignment = 16 : i64} : memref<64x32xf32> -> vector<4xf32>
    // CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xf16>
    // CHECK-COUNT-2: tile_gpu.global_store %{{.*}}, %{{.*}}[%{{.*}}] {alignment = 16 : i64} : vector<8xf16>, memref<64x32xf16>
    tile.parallel [64, 32] attributes {layout = #blocked} {
    ^bb1(%i: i32, %j: i32):
      %v = tile.load %A[%i, %j] {bounds = #tile<bounds full>} : memref<64x32xf32> -> f32
      %w = arith.mulf %v, %v : f32
      %h = arith.truncf %w : f32 to f16
      tile.store %h, %B[%i, %j] {bounds = #tile<bounds full>} : f16, memref<64x32xf16>
    }
  }
  return
}

// Replicas compute, but only the primary copy stores or adds.
// CHECK-LABEL: func.func @replicas
func.func @replicas(%A: memref<32xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    // CHECK: %[[T:.*]] = tile_gpu.thread_id
    // CHECK: %[[P:.*]] = arith.cmpi eq
    // CHECK: tile_gpu.global_store %{{.*}}, %{{.*}}[%{{.*}}] if %[[P]]
    // CHECK: tile_gpu.global_atomic add %{{.*}}, %{{.*}}[%{{.*}}] if %[[P]]
    tile.parallel [32] attributes {layout = #rep} {
    ^bb1(%i: i32):
      tile.store %one, %A[%i] {bounds = #tile<bounds full>} : f32, memref<32xf32>
      tile.atomic add %one, %A[%i] {bounds = #tile<bounds full>} : f32, memref<32xf32>
    }
  }
  return
}

// A fragment written under a condition becomes a result of the condition.
// CHECK-LABEL: func.func @conditional
func.func @conditional(%n: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    %f = tile.alloc "f" : !tile.buffer<32xf32, fragment, #rep>
    // CHECK: tile_gpu.read_fragment
    // CHECK: scf.if %{{.*}} -> (f32)
    // CHECK: tile_gpu.write_fragment
    tile.parallel [32] attributes {layout = #rep} {
    ^bb1(%i: i32):
      %c = arith.cmpi slt, %i, %n : i32
      scf.if %c {
        tile.store %one, %f[%i] : f32, !tile.buffer<32xf32, fragment, #rep>
      }
    }
  }
  return
}

// Scalar variables are registers; a dynamically indexed array is memory.
// CHECK-LABEL: func.func @locals
func.func @locals(%A: memref<32xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    %z = arith.constant 0 : i32
    %x = tile.alloc "x" : !tile.buffer<f32, local>
    %y = tile.alloc "y" : !tile.buffer<4xf32, local>
    // CHECK: memref.alloca() : memref<4xf32, #gpu.address_space<private>>
    // CHECK: tile_gpu.write_fragment %{{.*}}, %{{.*}} : vector<1xf32>, <f32, local>
    tile.store %one, %x[] : f32, !tile.buffer<f32, local>
    // CHECK: memref.store
    tile.store %one, %y[%bx] : f32, !tile.buffer<4xf32, local>
    // CHECK: tile_gpu.read_fragment %{{.*}} : <f32, local> -> vector<1xf32>
    %v = tile.load %x[] : !tile.buffer<f32, local> -> f32
    tile.store %v, %A[%z] {bounds = #tile<bounds full>} : f32, memref<32xf32>
  }
  return
}

// 8-bit floats are printed as f32. An iteration that does not exist prints
// nothing and asserts nothing.
// CHECK-LABEL: func.func @print_and_assert
func.func @print_and_assert(%A: memref<20xf8E4M3FN>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %zero = arith.constant 0.0 : f32
    // CHECK: %[[EXISTS:.*]] = arith.cmpi ult
    // CHECK: scf.if %[[EXISTS]] {
    // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f8E4M3FN to f32
    // CHECK: tile_gpu.print "value: "(%[[WIDE]]) : f32
    // CHECK: tile_gpu.assert
    // CHECK: }
    tile.parallel [20] attributes {layout = #tile.fragment_layout<[20], threads = [(32, 0, 1)], registers = [(1, 0, 1)]>} {
    ^bb1(%i: i32):
      %v = tile.load %A[%i] {bounds = #tile<bounds full>} : memref<20xf8E4M3FN> -> f8E4M3FN
      tile.print "value: "(%v : f8E4M3FN)
      %f = arith.extf %v : f8E4M3FN to f32
      %c = arith.cmpf ogt, %f, %zero : f32
      tile.assert %c, "positive"
    }
  }
  return
}
}

// Halves of the elements of a shared buffer lie side by side: eight of them are one vector, whatever the swizzle.
// CHECK-LABEL: func.func @narrow_view
func.func @narrow_view(%A: memref<32x64xi16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<32x32xf32, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 128>>
    %h = tile.bitcast %s : !tile.buffer<32x32xf32, shared, #tile.shared_layout<order = [1, 0], panel = 32, swizzle = 128>> to !tile.buffer<32x64xi16, shared>
    // CHECK: tile_gpu.shared_load {{.*}} vector<8xi16>
    // CHECK: tile_gpu.global_store {{.*}} vector<8xi16>
    tile.copy %h[%z, %z] [32, 64] to %A[%z, %z] [32, 64] {bounds = #tile<bounds full>} : !tile.buffer<32x64xi16, shared> to memref<32x64xi16>
  }
  return
}

// A thread's own buffer under another type is an array of the narrowest elements.
// CHECK-LABEL: func.func @local_view
// CHECK: memref.alloca() : memref<4xi8, #gpu.address_space<private>>
func.func @local_view(%A: memref<1xi8>, %v: f32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %x = tile.alloc "x" : !tile.buffer<1xf32, local>
    %o = tile.bitcast %x : !tile.buffer<1xf32, local> to !tile.buffer<4xi8, local>
    // CHECK: arith.bitcast %{{.*}} : f32 to i32
    // CHECK-COUNT-4: memref.store
    tile.store %v, %x[%z] : f32, !tile.buffer<1xf32, local>
    // CHECK: memref.load
    %b = tile.load %o[%one] : !tile.buffer<4xi8, local> -> i8
    tile.store %b, %A[%z] {bounds = #tile<bounds full>} : i8, memref<1xi8>
  }
  return
}

// -----

// A transposed store: the rows of the matrices are columns of the fragment.
#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#sums = #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @transposed_store
func.func @transposed_store(%g: i32) {
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%x: i32):
    %c = tile.alloc "c" : !tile.buffer<64x16xf32, fragment, #sums>
    %t = tile.alloc "t" {tile.shared_offset = 4096 : i64} : !tile.buffer<16x64xf16, shared, #shared>
    %zero = arith.constant 0.0 : f32
    tile.fill %c, %zero : !tile.buffer<64x16xf32, fragment, #sums>, f32
    // CHECK: arith.truncf
    // CHECK: tile_gpu.stmatrix %{{.*}}, %{{.*}} + 4096 {trans} : vector<4xi32>
    // CHECK-NOT: tile_gpu.stmatrix
    // CHECK-NOT: tile_gpu.shared_store
    tile.parallel [64, 16] attributes {layout = #sums, choice = #tile.choice<stmatrix, "">} {
      ^bb0(%i: i32, %j: i32):
      %v = tile.load %c[%i, %j] : !tile.buffer<64x16xf32, fragment, #sums> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %t[%j, %i] : f16, !tile.buffer<16x64xf16, shared, #shared>
    }
  }
  return
}
}

// -----

// Threads that repeat the iterations of others stay out of a loop that reads what it writes.
#line = #tile.shared_layout<order = [0], panel = 32, swizzle = 0>
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @not_repeated
func.func @not_repeated(%g: i32) {
  tile.kernel "k" grid(%g) threads(64) {
  ^bb0(%x: i32):
    %one = arith.constant 1.0 : f32
    %t = tile.alloc "t" {tile.shared_offset = 0 : i64} : !tile.buffer<32xf32, shared, #line>
    // CHECK: scf.if
    // CHECK: tile_gpu.shared_load
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: tile_gpu.shared_store %{{[^ ]+}}, %{{[^ ]+}} {alignment
    tile.parallel [32] attributes {layout = #tile.fragment_layout<[32], threads = [(32, 0, 1), (2, -1, 0)], registers = []>} {
      ^bb0(%i: i32):
      %v = tile.load %t[%i] : !tile.buffer<32xf32, shared, #line> -> f32
      %w = arith.addf %v, %one : f32
      tile.store %w, %t[%i] : f32, !tile.buffer<32xf32, shared, #line>
    }
  }
  return
}

// Packed storage: eight neighbours of a thread are four bytes, loaded once as a vector though the registers of another
// row lie between them (operand A of mma.sync with runs along K); the amounts of the shifts are constants.
// CHECK-LABEL: func.func @packed
func.func @packed() {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c15 = arith.constant 15 : i32
    %p = tile.alloc "p" {tile.shared_offset = 0 : i64} : !tile.buffer<16x16xui8, shared, #tile.shared_layout<order = [1, 0], panel = 16, swizzle = 0>>
    %f = tile.alloc "f" : !tile.buffer<16x32xi32, fragment, #tile.fragment_layout<[16, 32], threads = [(4, 1, 8), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 2)]>>
    // CHECK: tile_gpu.shared_load %[[ROW:.*]] {alignment = 4 : i64} : vector<4xi8>
    // CHECK: tile_gpu.shared_load %[[ROW]] + 128 {alignment = 4 : i64} : vector<4xi8>
    // CHECK-NOT: shared_load
    // CHECK: arith.shrui %{{.*}}, %c4_i32
    // CHECK-NOT: arith.remui
    // CHECK: tile_gpu.write_fragment
    tile.parallel [16, 32] attributes {layout = #tile.fragment_layout<[16, 32], threads = [(4, 1, 8), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 2)]>} {
    ^bb0(%i: i32, %j: i32):
      %half = arith.divui %j, %c2 : i32
      %byte = tile.load %p[%i, %half] : !tile.buffer<16x16xui8, shared, #tile.shared_layout<order = [1, 0], panel = 16, swizzle = 0>> -> i8
      %word = arith.extui %byte : i8 to i32
      %odd = arith.remui %j, %c2 : i32
      %amount = arith.muli %odd, %c4 : i32
      %shifted = arith.shrui %word, %amount : i32
      %number = arith.andi %shifted, %c15 : i32
      tile.store %number, %f[%i, %j] : i32, !tile.buffer<16x32xi32, fragment, #tile.fragment_layout<[16, 32], threads = [(4, 1, 8), (8, 0, 1)], registers = [(2, 1, 1), (2, 0, 8), (4, 1, 2)]>>
    }
  }
  return
}

// Eight neighbours that the iterations of a thread read in another order than memory has them: one vector all the same.
// CHECK-LABEL: func.func @interleaved
func.func @interleaved(%A: memref<256xf16>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c8 = arith.constant 8 : i32
    %f = tile.alloc "f" : !tile.buffer<256xf16, fragment, #tile.fragment_layout<[256], threads = [(32, 0, 8)], registers = [(8, 0, 1)]>>
    // CHECK: %[[V:.*]] = tile_gpu.global_load %{{.*}} {alignment = 16 : i64} : memref<256xf16> -> vector<8xf16>
    // CHECK-NEXT: %[[E:.*]]:8 = vector.to_elements %[[V]]
    // CHECK-NEXT: %[[R:.*]] = vector.from_elements %[[E]]#0, %[[E]]#4, %[[E]]#1, %[[E]]#5, %[[E]]#2, %[[E]]#6, %[[E]]#3, %[[E]]#7
    // CHECK-NEXT: tile_gpu.write_fragment %[[R]]
    tile.parallel [256] attributes {layout = #tile.fragment_layout<[256], threads = [(32, 0, 8)], registers = [(8, 0, 1)]>} {
    ^bb0(%i: i32):
      %eight = arith.divui %i, %c8 : i32
      %start = arith.muli %eight, %c8 : i32
      %in = arith.remui %i, %c8 : i32
      %pair = arith.divui %in, %c2 : i32
      %odd = arith.remui %i, %c2 : i32
      %far = arith.muli %odd, %c4 : i32
      %near = arith.addi %start, %pair : i32
      %at = arith.addi %near, %far : i32
      %v = tile.load %A[%at] {bounds = #tile<bounds full>} : memref<256xf16> -> f16
      tile.store %v, %f[%i] : f16, !tile.buffer<256xf16, fragment, #tile.fragment_layout<[256], threads = [(32, 0, 8)], registers = [(8, 0, 1)]>>
    }
  }
  return
}

// Four numbers of a thread, two of a row and two of another one, side by side where a kernel keeps sums for itself:
// quotients and remainders of what a thread starts at plus constants are such sums, too, if no thread carries.
// CHECK-LABEL: func.func @quads
// CHECK-COUNT-2: tile_gpu.global_store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
// CHECK-NOT: global_store
func.func @quads(%W: memref<8x2x8x4x4xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(128) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %c8 = arith.constant 8 : i32
    %c16 = arith.constant 16 : i32
    %f = tile.alloc "f" : !tile.buffer<64x16xf32, fragment, #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>>
    tile.parallel [64, 16] attributes {layout = #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>} {
    ^bb0(%i: i32, %j: i32):
      %sum = tile.load %f[%i, %j] : !tile.buffer<64x16xf32, fragment, #tile.fragment_layout<[64, 16], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8)]>> -> f32
      %block = arith.divui %i, %c16 : i32
      %columns = arith.divui %j, %c8 : i32
      %row = arith.remui %i, %c8 : i32
      %column = arith.remui %j, %c8 : i32
      %pair = arith.divui %column, %c2 : i32
      %half = arith.divui %i, %c8 : i32
      %lower = arith.remui %half, %c2 : i32
      %twice = arith.muli %lower, %c2 : i32
      %odd = arith.remui %j, %c2 : i32
      %place = arith.addi %twice, %odd : i32
      tile.store %sum, %W[%block, %columns, %row, %pair, %place] {bounds = #tile<bounds full>} : f32, memref<8x2x8x4x4xf32>
    }
  }
  return
}

// Threads that carry and others that do not have no common sum.
// CHECK-LABEL: func.func @carry
// CHECK: arith.divui
// CHECK-COUNT-2: tile_gpu.global_store %{{.*}} {alignment = 4 : i64} : f32
func.func @carry(%W: memref<64xf32>) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %c2 = arith.constant 2 : i32
    %zero = arith.constant 0.0 : f32
    tile.parallel [64] attributes {layout = #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>} {
    ^bb0(%i: i32):
      %one = arith.constant 1 : i32
      %next = arith.addi %i, %one : i32
      %half = arith.divui %next, %c2 : i32
      tile.store %zero, %W[%half] {bounds = #tile<bounds full>} : f32, memref<64xf32>
    }
  }
  return
}
}
