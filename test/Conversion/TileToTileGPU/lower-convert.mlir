// Conversions in pieces and by shuffles, and parts of fragments that are spread over threads.
// RUN: tile-opt %s -split-input-file -tile-to-tile-gpu | filecheck %s

#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>
#piece = #tile.shared_layout<order = [6, 2, 5, 3, 0, 4, 1], panel = 2, swizzle = 0>

// Two pieces: each thread stores and loads 16 of its 32 elements in a piece, all without predicates. A barrier between
// stores and loads, and one in front of the stores of the next piece.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%A: memref<64x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 4096 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<4x1x8x4x2x4x2xf16, shared, #piece>
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, fragment, #rows>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, fragment, #columns>
    tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {bounds = #tile<bounds full>} : memref<64x64xf16> to !tile.buffer<64x64xf16, fragment, #rows>
    // CHECK-COUNT-8: tile_gpu.shared_store {{.*}} : vector<2xf16>
    // CHECK-NEXT: tile_gpu.barrier
    // CHECK-NOT: tile_gpu.shared_store
    // CHECK-COUNT-8: tile_gpu.shared_load {{.*}} : vector<2xf16>
    // CHECK: tile_gpu.barrier
    // CHECK-COUNT-8: tile_gpu.shared_store {{.*}} : vector<2xf16>
    // CHECK-NEXT: tile_gpu.barrier
    // CHECK-COUNT-8: tile_gpu.shared_load {{.*}} : vector<2xf16>
    // CHECK-NOT: tile_gpu.barrier
    // CHECK-NOT: tile_gpu.shared
    tile.convert %a, %b scratch %s : !tile.buffer<4x1x8x4x2x4x2xf16, shared, #piece> {choice = #tile.choice<scratch, "in pieces", {space = [4, 2, 8, 4, 2, 4, 2]}>} : !tile.buffer<64x64xf16, fragment, #rows>, !tile.buffer<64x64xf16, fragment, #columns>
    tile.copy %b[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] {bounds = #tile<bounds full>} : !tile.buffer<64x64xf16, fragment, #columns> to memref<64x64xf16>
  }
  return
}

// -----

#quads = #tile.fragment_layout<[8, 16], threads = [(4, 1, 4), (8, 0, 1)], registers = [(4, 1, 1)]>
#turned = #tile.fragment_layout<[8, 16], threads = [(8, 0, 1), (4, 1, 4)], registers = [(4, 1, 1)]>

// Two neighbours of 16 bits travel as one word.
// CHECK-LABEL: func.func @words
func.func @words(%A: memref<8x16xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(32) attributes {tile.shared_bytes = 0 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<8x16xf16, fragment, #quads>
    %b = tile.alloc "b" : !tile.buffer<8x16xf16, fragment, #turned>
    tile.copy %A[%c0, %c0] [8, 16] to %a[%c0, %c0] [8, 16] {bounds = #tile<bounds full>} : memref<8x16xf16> to !tile.buffer<8x16xf16, fragment, #quads>
    // CHECK-COUNT-2: tile_gpu.shuffle {{.*}}i32
    // CHECK-NOT: tile_gpu.shuffle
    tile.convert %a, %b {choice = #tile.choice<shuffle, "2 shuffles">} : !tile.buffer<8x16xf16, fragment, #quads>, !tile.buffer<8x16xf16, fragment, #turned>
    tile.copy %b[%c0, %c0] [8, 16] to %A[%c0, %c0] [8, 16] {bounds = #tile<bounds full>} : !tile.buffer<8x16xf16, fragment, #turned> to memref<8x16xf16>
  }
  return
}

// -----

#line = #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>

// Elements 8 to 39 lie in registers 0 and 1 of some threads each: ownership decides.
// CHECK-LABEL: func.func @parts
func.func @parts(%A: memref<64xf32>, %n: i32, %at: i32) {
  tile.kernel "k" grid(%n) threads(32) attributes {tile.shared_bytes = 0 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c8 = arith.constant 8 : i32
    %zero = arith.constant 0.0 : f32
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment, #line>
    tile.copy %A[%c0] [64] to %f[%c0] [64] {bounds = #tile<bounds full>} : memref<64xf32> to !tile.buffer<64xf32, fragment, #line>
    // CHECK: tile_gpu.global_store {{.*}} if %{{.*}} : f32
    // CHECK: tile_gpu.global_store {{.*}} if %{{.*}} : f32
    tile.copy %f[%c8] [32] to %A[%c0] [32] {bounds = #tile<bounds full>} : !tile.buffer<64xf32, fragment, #line> to memref<64xf32>
    // A start that is known at run time only.
    // CHECK: tile_gpu.global_store {{.*}} if %{{.*}} : f32
    // CHECK: tile_gpu.global_store {{.*}} if %{{.*}} : f32
    tile.copy %f[%at] [32] to %A[%c0] [32] {bounds = #tile<bounds full>} : !tile.buffer<64xf32, fragment, #line> to memref<64xf32>
    // Other elements stay as they are.
    // CHECK: arith.select %{{.*}}, %[[LOADED:.*]], %{{.*}} : f32
    tile.copy %A[%c0] [32] to %f[%c8] [32] {bounds = #tile<bounds full>} : memref<64xf32> to !tile.buffer<64xf32, fragment, #line>
    // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
    // CHECK: tile_gpu.write_fragment
    %part = tile.subview %f[%c8] [32] : !tile.buffer<64xf32, fragment, #line> to !tile.buffer<32xf32, fragment>
    tile.fill %part, %zero : !tile.buffer<32xf32, fragment>, f32
    tile.copy %f[%c0] [64] to %A[%c0] [64] {bounds = #tile<bounds full>} : !tile.buffer<64xf32, fragment, #line> to memref<64xf32>
  }
  return
}
