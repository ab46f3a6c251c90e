// Conversions leave loops, repeat nothing, and get their form and scratch memory.
// RUN: tile-opt %s -tile-optimize-conversions -split-input-file | filecheck %s

#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>
#permuted = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 0, 8), (2, 1, 1), (8, 1, 8)]>
#lanes = #tile.fragment_layout<[64, 64], threads = [(8, 0, 1), (4, 1, 2), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>

// The three forms, from cheap to expensive.
// CHECK-LABEL: func.func @forms
func.func @forms(%n: i32, %A: memref<64x64xf16>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // CHECK: %[[SCRATCH:.*]] = tile.alloc "a.convert_scratch" : <64x64xf16, shared, #tile.shared_layout<
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, fragment, #rows>
    %b = tile.alloc "b" : !tile.buffer<64x64xf16, fragment, #permuted>
    %c = tile.alloc "c" : !tile.buffer<64x64xf16, fragment, #lanes>
    %d = tile.alloc "d" : !tile.buffer<64x64xf16, fragment, #columns>
    // CHECK: tile.convert %a, %b {choice = #tile.choice<registers, "threads keep their elements in other registers">}
    tile.convert %a, %b : !tile.buffer<64x64xf16, fragment, #rows>, !tile.buffer<64x64xf16, fragment, #permuted>
    // CHECK: tile.convert %a, %c {choice = #tile.choice<shuffle, "16 shuffles inside each warp, 64 clocks (through shared memory 136): {{.*}}">}
    tile.convert %a, %c : !tile.buffer<64x64xf16, fragment, #rows>, !tile.buffer<64x64xf16, fragment, #lanes>
    // CHECK: tile.convert %a, %d scratch %[[SCRATCH]] : !tile.buffer<64x64xf16, shared, {{.*}} {choice = #tile.choice<scratch, "through shared memory, {{[0-9]+}} clocks: {{.*}}">}
    tile.convert %a, %d : !tile.buffer<64x64xf16, fragment, #rows>, !tile.buffer<64x64xf16, fragment, #columns>
    tile.copy %b[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment, #permuted> to memref<64x64xf16>
    tile.copy %c[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment, #lanes> to memref<64x64xf16>
    tile.copy %d[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, fragment, #columns> to memref<64x64xf16>
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>

// What does not change in a loop is converted in front of it, what is converted there and back around it; of equal
// conversions one is left, of unread ones none.
// CHECK-LABEL: func.func @motion
func.func @motion(%n: i32, %A: memref<64x64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %fixed = tile.alloc "fixed" : !tile.buffer<64x64xf32, fragment, #rows>
    %moved = tile.alloc "moved" : !tile.buffer<64x64xf32, fragment, #columns>
    %again = tile.alloc "again" : !tile.buffer<64x64xf32, fragment, #columns>
    %unread = tile.alloc "unread" : !tile.buffer<64x64xf32, fragment, #columns>
    %sum = tile.alloc "sum" : !tile.buffer<64x64xf32, fragment, #rows>
    %work = tile.alloc "work" : !tile.buffer<64x64xf32, fragment, #columns>
    tile.copy %A[%c0, %c0] [64, 64] to %fixed[%c0, %c0] [64, 64] : memref<64x64xf32> to !tile.buffer<64x64xf32, fragment, #rows>
    // CHECK-NOT: %unread
    // CHECK-NOT: %again
    // CHECK: tile.convert %fixed, %moved
    // CHECK-NEXT: tile.convert %sum, %work
    // CHECK-NEXT: tile.pipelined
    tile.pipelined %c0 to %n stages(0) {
    ^bb0(%k: i32):
      tile.convert %fixed, %moved : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      tile.convert %fixed, %again : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      tile.convert %fixed, %unread : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      tile.convert %sum, %work : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      // CHECK: tile.parallel
      tile.parallel [64, 64] attributes {layout = #columns} {
      ^bb0(%i: i32, %j: i32):
        // CHECK: tile.load %moved
        %x = tile.load %moved[%i, %j] : !tile.buffer<64x64xf32, fragment, #columns> -> f32
        // CHECK: tile.load %moved
        %y = tile.load %again[%i, %j] : !tile.buffer<64x64xf32, fragment, #columns> -> f32
        %z = tile.load %work[%i, %j] : !tile.buffer<64x64xf32, fragment, #columns> -> f32
        %xy = arith.addf %x, %y : f32
        %xyz = arith.addf %xy, %z : f32
        tile.store %xyz, %work[%i, %j] : f32, !tile.buffer<64x64xf32, fragment, #columns>
      }
      // CHECK-NOT: tile.convert
      tile.convert %work, %sum : !tile.buffer<64x64xf32, fragment, #columns>, !tile.buffer<64x64xf32, fragment, #rows>
    // CHECK: }
    }
    // CHECK: tile.convert %work, %sum
    tile.copy %sum[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment, #rows> to memref<64x64xf32>
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
#columns = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 1, 16)], registers = [(2, 1, 1), (2, 0, 8), (2, 1, 8), (4, 0, 16)]>

// A source that changes is converted anew.
// CHECK-LABEL: func.func @changing
func.func @changing(%n: i32, %A: memref<64x64xf32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf32, fragment, #rows>
    %b = tile.alloc "b" : !tile.buffer<64x64xf32, fragment, #columns>
    %c = tile.alloc "c" : !tile.buffer<64x64xf32, fragment, #columns>
    // CHECK: tile.pipelined
    tile.pipelined %c0 to %n stages(0) {
    ^bb0(%k: i32):
      // CHECK: tile.convert %a, %b
      tile.convert %a, %b : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      // CHECK: tile.copy {{.*}} to %a
      tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<64x64xf32> to !tile.buffer<64x64xf32, fragment, #rows>
      // CHECK: tile.convert %a, %c
      tile.convert %a, %c : !tile.buffer<64x64xf32, fragment, #rows>, !tile.buffer<64x64xf32, fragment, #columns>
      tile.copy %b[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment, #columns> to memref<64x64xf32>
      tile.copy %c[%c0, %c0] [64, 64] to %A[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment, #columns> to memref<64x64xf32>
    }
  }
  return
}

// -----

// Reductions in one thread, in one warp, and over warps; 48 threads in a row are no power of two.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%n: i32, %A: memref<4x96xf32>) {
  tile.kernel "k" grid(%n) threads(96) {
  ^bb0(%bx: i32):
    // CHECK: %[[SCRATCH:.*]] = tile.alloc "z.reduce_scratch" : <48x2xf32, shared, #tile.shared_layout<order = [1, 0], panel = 2, swizzle = 0>>
    %x = tile.alloc "x" : !tile.buffer<96x4xf32, fragment, #tile.fragment_layout<[96, 4], threads = [(96, 0, 1)], registers = [(4, 1, 1)]>>
    %rx = tile.alloc "rx" : !tile.buffer<96xf32, fragment, #tile.fragment_layout<[96], threads = [(96, 0, 1)], registers = []>>
    %y = tile.alloc "y" : !tile.buffer<12x8xf32, fragment, #tile.fragment_layout<[12, 8], threads = [(8, 1, 1), (12, 0, 1)], registers = []>>
    %ry = tile.alloc "ry" : !tile.buffer<12xf32, fragment, #tile.fragment_layout<[12], threads = [(8, -1, 0), (12, 0, 1)], registers = []>>
    %z = tile.alloc "z" : !tile.buffer<2x48xf16, fragment, #tile.fragment_layout<[2, 48], threads = [(48, 1, 1), (2, 0, 1)], registers = []>>
    %rz = tile.alloc "rz" : !tile.buffer<2x1xf16, fragment, #tile.fragment_layout<[2, 1], threads = [(48, -1, 0), (2, 0, 1)], registers = []>>
    // CHECK: tile.reduce {{ *}}sum %x, %rx {choice = #tile.choice<registers, "each thread holds whole lines of the reduced dimension">
    tile.reduce sum %x, %rx {dim = 1 : i64} : !tile.buffer<96x4xf32, fragment, #tile.fragment_layout<[96, 4], threads = [(96, 0, 1)], registers = [(4, 1, 1)]>>, !tile.buffer<96xf32, fragment, #tile.fragment_layout<[96], threads = [(96, 0, 1)], registers = []>>
    // CHECK: tile.reduce {{ *}}max %y, %ry {choice = #tile.choice<shuffle, "the reduced dimension is spread over lanes of one warp">
    tile.reduce max %y, %ry {dim = 1 : i64} : !tile.buffer<12x8xf32, fragment, #tile.fragment_layout<[12, 8], threads = [(8, 1, 1), (12, 0, 1)], registers = []>>, !tile.buffer<12xf32, fragment, #tile.fragment_layout<[12], threads = [(8, -1, 0), (12, 0, 1)], registers = []>>
    // Halves are summed in f32.
    // CHECK: tile.reduce {{ *}}sum %z, %rz scratch %[[SCRATCH]] : !tile.buffer<48x2xf32, shared, {{.*}} {choice = #tile.choice<scratch, "48 partial results of each line meet in shared memory">
    tile.reduce sum %z, %rz {dim = 1 : i64} : !tile.buffer<2x48xf16, fragment, #tile.fragment_layout<[2, 48], threads = [(48, 1, 1), (2, 0, 1)], registers = []>>, !tile.buffer<2x1xf16, fragment, #tile.fragment_layout<[2, 1], threads = [(48, -1, 0), (2, 0, 1)], registers = []>>
  }
  return
}
