// Loads that the blocks of a cluster share, and why others are not shared.
// RUN: tile-opt %s --split-input-file --tile-multicast-copies | filecheck %s

#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#producer = #tile.role<producer, first = 0, warps = 4, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "by hand">
#wgmma = #tile.choice<wgmma_ss, "by hand", {instruction = [64, 128, 16], warpgroups = [1, 1]}>
!a = !tile.buffer<128x64xf16, shared>
!b = !tile.buffer<64x128xf16, shared>
!acc = !tile.buffer<128x128xf32, fragment>

// A depends on the row, which is that of the block along x; B on y alone. The
// column of C comes from the index along y; rows from that along x, also where
// it went through arithmetic.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @gemm(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "gemm"
    tile.kernel "gemm" grid(%c8, %c8) threads(128) attributes {cluster = array<i64: 2, 1, 1>} {
    ^bb0(%bx: i32, %by: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c64 = arith.constant 64 : i32
      %c128 = arith.constant 128 : i32
      %a = tile.alloc "A_shared" : <2x128x64xf16, shared, #layout>
      %b = tile.alloc "B_shared" : <2x64x128xf16, shared, #layout>
      %b2 = tile.alloc "pair_shared" : <2x64x128xf16, shared, #layout>
      %d = tile.alloc "rest_shared" : <2x64x128xf16, shared, #layout>
      %e = tile.alloc "read_shared" : <2x64x128xf16, shared, #layout>
      %acc = tile.alloc "C_local" : !acc
      %row = arith.muli %bx, %c128 : i32
      %column = arith.muli %by, %c128 : i32
      // The number of the cluster is the same in its blocks, the place in it is not.
      %cluster = arith.divui %bx, %c2 : i32
      %place = arith.remui %bx, %c2 : i32
      %pair = arith.muli %cluster, %c128 : i32
      %rest = arith.muli %place, %c128 : i32
      tile.warp_specialize [#producer, #consumer] {
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = arith.remui %k, %c2 : i32
          %depth = arith.muli %k, %c64 : i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #layout> to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : <2x64x128xf16, shared, #layout> to !b
          %vb2 = tile.subview %b2[%slot, %c0, %c0] [1, 64, 128] : <2x64x128xf16, shared, #layout> to !b
          %vd = tile.subview %d[%slot, %c0, %c0] [1, 64, 128] : <2x64x128xf16, shared, #layout> to !b
          %ve = tile.subview %e[%slot, %c0, %c0] [1, 64, 128] : <2x64x128xf16, shared, #layout> to !b
          // CHECK: tile.copy %arg0[{{.*}}] [128, 64] {{.*}}choice = #tile.choice<tma, "by hand; not shared in the cluster: its place depends on the block along x">
          tile.copy %A[%row, %depth] [128, 64] to %va[%c0, %c0] [128, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !a
          // CHECK: tile.copy %arg1[%{{.*}}, %[[COLUMN:.*]]] [64, 128] {{.*}}choice = #tile.choice<tma, "by hand; the 2 blocks of the cluster along x load it together", {multicast = array<i64: 0>}>
          tile.copy %B[%depth, %column] [64, 128] to %vb[%c0, %c0] [64, 128] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !b
          // CHECK: tile.copy %arg1{{.*}}{multicast = array<i64: 0>}
          tile.copy %B[%depth, %pair] [64, 128] to %vb2[%c0, %c0] [64, 128] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !b
          // CHECK: tile.copy %arg1{{.*}}not shared in the cluster: its place depends on the block along x
          tile.copy %B[%depth, %rest] [64, 128] to %vd[%c0, %c0] [64, 128] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !b
          // CHECK: tile.copy %arg1{{.*}}not shared in the cluster: threads read read_shared themselves
          tile.copy %B[%depth, %column] [64, 128] to %ve[%c0, %c0] [64, 128] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !b
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      }, {
        scf.for %k = %c0 to %c8 step %c1 : i32 {
          %slot = arith.remui %k, %c2 : i32
          %va = tile.subview %a[%slot, %c0, %c0] [1, 128, 64] : <2x128x64xf16, shared, #layout> to !a
          %vb = tile.subview %b[%slot, %c0, %c0] [1, 64, 128] : <2x64x128xf16, shared, #layout> to !b
          tile.gemm %va, %vb, %acc {choice = #wgmma} : !a, !b, !acc
          %v = tile.load %e[%slot, %c0, %c0] : !tile.buffer<2x64x128xf16, shared, #layout> -> f16
          tile.print "first"(%v : f16)
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      }
    }
    return
  }
}

// -----

// Blocks that run loops or conditions of different lengths share nothing along
// that axis, and so do loads under a condition. Tiles that do not fall into parts are shared along fewer axes.
#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#producer = #tile.role<producer, first = 0, warps = 4, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "by hand">
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @control(%A: memref<1024x1024xf16>, %flags: memref<8xi32>) {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "control"
    tile.kernel "control" grid(%c8, %c8) threads(128) attributes {cluster = array<i64: 2, 4>} {
    ^bb0(%bx: i32, %by: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %a = tile.alloc "A_shared" : <1x64x64xf16, shared, #layout>
      %own = tile.alloc "own_shared" : <1x64x64xf16, shared, #layout>
      %six = tile.alloc "six_shared" : <1x12x64xf16, shared, #layout>
      %count = tile.alloc "count" : <1xi32, local>
      tile.warp_specialize [#producer, #consumer] {
        %va = tile.subview %a[%c0, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared, #layout> to <64x64xf16, shared>
        %vs = tile.subview %six[%c0, %c0, %c0] [1, 12, 64] : <1x12x64xf16, shared, #layout> to <12x64xf16, shared>
        scf.for %k = %c0 to %bx step %c1 : i32 {
          // CHECK: tile.copy {{.*}}the 4 blocks of the cluster along y load it together", {multicast = array<i64: 1>}
          tile.copy %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
        } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
        // A variable that one block may set differently.
        %last = arith.cmpi eq, %by, %c1 : i32
        tile.store %c0, %count[%c0] : i32, !tile.buffer<1xi32, local>
        scf.if %last {
          tile.store %c1, %count[%c0] : i32, !tile.buffer<1xi32, local>
        }
        %n = tile.load %count[%c0] : !tile.buffer<1xi32, local> -> i32
        scf.for %k = %c0 to %n step %c1 : i32 {
          // CHECK: tile.copy {{.*}}the 2 blocks of the cluster along x load it together", {multicast = array<i64: 0>}
          tile.copy %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
        } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
        // What is loaded from a tensor that stays as it is, is the same.
        %flag = tile.load %flags[%c0] : memref<8xi32> -> i32
        scf.for %k = %c0 to %flag step %c1 : i32 {
          // CHECK: tile.copy {{.*}}the 8 blocks of the cluster along x and y load it together", {multicast = array<i64: 0, 1>}
          tile.copy %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
          // 12 rows do not fall into 8 parts.
          // CHECK: tile.copy {{.*}}the 4 blocks of the cluster along y load it together
          tile.copy %A[%k, %c0] [12, 64] to %vs[%c0, %c0] [12, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<12x64xf16, shared>
        } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
        // Nor is what only some iterations load.
        scf.for %k = %c0 to %flag step %c1 : i32 {
          %some = tile.load %flags[%k] : memref<8xi32> -> i32
          %loads = arith.cmpi eq, %some, %c0 : i32
          scf.if %loads {
            // CHECK: tile.copy {{.*}}not shared in the cluster: it stands under a condition
            tile.copy %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
          }
        } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
        %both = arith.addi %bx, %by : i32
        scf.for %k = %c0 to %both step %c1 : i32 {
          // CHECK: tile.copy {{.*}}not shared in the cluster: for{{.*}} depends on the block along x"
          tile.copy %A[%k, %c0] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
        } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
      }, {
        tile.sync_threads
      }
      // A load that no producer does.
      // CHECK: tile.copy {{.*}}not shared in the cluster: only loads of a producer role are
      %vo = tile.subview %own[%c0, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared, #layout> to <64x64xf16, shared>
      tile.copy %A[%c0, %c0] [64, 64] to %vo[%c0, %c0] [64, 64] {choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
    }
    return
  }
}

// -----

// A persistent kernel: tiles by the number of the cluster, and the place in it.
#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#producer = #tile.role<producer, first = 0, warps = 4, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
#tma = #tile.choice<tma, "by hand">
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @persistent(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>, %n: i32) {
    %c66 = arith.constant 66 : i32
    %c132 = arith.constant 132 : i32
    // CHECK-LABEL: tile.kernel "persistent"
    tile.kernel "persistent" grid(%c132) threads(128) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c8 = arith.constant 8 : i32
      %c64 = arith.constant 64 : i32
      %a = tile.alloc "A_shared" : <1x64x64xf16, shared, #layout>
      %b = tile.alloc "B_shared" : <1x64x64xf16, shared, #layout>
      %cluster = arith.divui %bx, %c2 : i32
      %place = arith.remui %bx, %c2 : i32
      tile.warp_specialize [#producer, #consumer] {
        %va = tile.subview %a[%c0, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared, #layout> to <64x64xf16, shared>
        %vb = tile.subview %b[%c0, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared, #layout> to <64x64xf16, shared>
        scf.for %tile = %cluster to %n step %c66 : i32 {
          %pair = arith.remui %tile, %c8 : i32
          %column = arith.divui %tile, %c8 : i32
          %twice = arith.muli %pair, %c2 : i32
          %row = arith.addi %twice, %place : i32
          %y = arith.muli %row, %c64 : i32
          %x = arith.muli %column, %c64 : i32
          scf.for %k = %c0 to %c8 step %c1 : i32 {
            // CHECK: tile.copy %arg0{{.*}}not shared in the cluster: its place depends on the block along x
            tile.copy %A[%y, %k] [64, 64] to %va[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
            // CHECK: tile.copy %arg1{{.*}}{multicast = array<i64: 0>}
            tile.copy %B[%k, %x] [64, 64] to %vb[%c0, %c0] [64, 64] {tile.produce, choice = #tma} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
          } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
        }
      }, {
        tile.sync_threads
      }
    }
    return
  }
}

// -----

// Other targets have no clusters.
module attributes {tile.target = #tile.target<"sm_80">} {
  func.func @sm_80() {
    %c8 = arith.constant 8 : i32
    // CHECK-LABEL: tile.kernel "sm_80" grid(%{{.*}}) threads(32) {
    tile.kernel "sm_80" grid(%c8) threads(32) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
    }
    return
  }
}
