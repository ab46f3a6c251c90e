// Parts of loads that blocks of a cluster share, and arrivals at their barriers.
// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s

!barriers = !tile.buffer<1x!tile.barrier, shared>
!panels = !tile.buffer<64x128xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
!rows = !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>

module attributes {tile.target = #tile.target<"sm_90a">} {
  // CHECK-LABEL: func.func @parts
  func.func @parts(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "parts" grid(%c8, %c8) threads(128) attributes {cluster = array<i64: 2, 4>} {
    ^bb0(%bx: i32, %by: i32):
      %c0 = arith.constant 0 : i32
      %p = tile.alloc "panels" {tile.shared_offset = 0 : i64} : !panels
      %r = tile.alloc "rows" {tile.shared_offset = 16384 : i64} : !rows
      %full = tile.alloc "full" {tile.shared_offset = 32768 : i64} : !barriers
      %empty = tile.alloc "empty" {tile.shared_offset = 32776 : i64} : !barriers
      // Descriptors are fetched by a warp that has nothing else to do.
      // CHECK: %[[MAP:.*]] = tile_gpu.tensor_map {{.*}}box = [64, 16]
      // CHECK: %[[PANELS:.*]] = tile_gpu.tensor_map {{.*}}box = [64, 64]
      // CHECK: scf.if
      // CHECK: tile_gpu.elect
      // CHECK: tile_gpu.tma_prefetch_map
      // CHECK: tile_gpu.tma_prefetch_map
      // CHECK: tile_gpu.warp_sync
      // CHECK-NEXT: tile_gpu.cluster_arrive {relaxed}
      // CHECK-NEXT: tile_gpu.cluster_wait
      tile.cluster_arrive {relaxed}
      tile.cluster_wait
      tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
        // Two panels, one for each block along x: bits 0 and 1, further up by
        // the place along y. 64 rows for four blocks along y: ranks 0, 2, 4, 6.
        // CHECK: %[[RANK:.*]] = tile_gpu.cluster_rank
        // CHECK: %[[X:.*]] = arith.andi %[[RANK]], %{{.*}} : i32
        // CHECK: %[[BITS:.*]] = arith.shli %c3_i32
        // CHECK: %[[ALONG_X:.*]] = arith.trunci %[[BITS]] : i32 to i16
        // CHECK: %[[Y:.*]] = arith.shrui
        // CHECK: %[[BITS:.*]] = arith.shli %c85_i32
        // CHECK: %[[ALONG_Y:.*]] = arith.trunci %[[BITS]] : i32 to i16
        // CHECK: %[[COLUMN:.*]] = arith.muli %[[X]], %c64_i32
        // CHECK: %[[PLACE:.*]] = arith.muli %[[X]], %c8192_i32
        // CHECK: tile_gpu.tma_load %[[PANELS]][%[[COLUMN]], %bx] to %[[PLACE]], %{{.*}} multicast %[[ALONG_X]]
        // CHECK-NOT: tma_load %[[PANELS]]
        tile.copy_async %A[%bx, %c0] [64, 128] to %p[%c0, %c0] [64, 128] barrier %full[%c0] : !barriers {choice = #tile.choice<tma, "", {multicast = array<i64: 0>}>} : memref<1024x1024xf16> to !panels
        // CHECK: %[[STEP:.*]] = arith.muli %[[Y]], %c16_i32
        // CHECK: %[[ROW:.*]] = arith.addi %bx, %[[STEP]]
        // CHECK: tile_gpu.tma_load %[[MAP]][%{{.*}}, %[[ROW]]] to %{{.*}}, %{{.*}} multicast %[[ALONG_Y]]
        tile.copy_async %A[%bx, %c0] [64, 64] to %r[%c0, %c0] [64, 64] barrier %full[%c0] : !barriers {choice = #tile.choice<tma, "", {multicast = array<i64: 1>}>} : memref<1024x1024xf16> to !rows
      }, {
        // One lane for each of the 2 + 4 - 1 blocks.
        // CHECK: %[[ARRIVES:.*]] = arith.cmpi ult, %{{.*}}, %c5_i32
        // CHECK: %[[TO:.*]] = arith.select %[[ARRIVES]]
        // CHECK: tile_gpu.warp_sync
        // CHECK: tile_gpu.mbarrier_arrive_cluster %{{.*}}, %[[TO]] if %[[ARRIVES]]
        tile.barrier_arrive %empty[%c0] warp {tile.reach = [array<i64: 0>, array<i64: 1>]} : !barriers
      }
    }
    return
  }
}

// -----

!barriers = !tile.buffer<3x!tile.barrier, shared>
!rows = !tile.buffer<64x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>

// What the program shares: a load for the blocks of its mask, arrivals at barriers counted through the cluster.
module attributes {tile.target = #tile.target<"sm_90a">} {
  // CHECK-LABEL: func.func @by_the_program
  func.func @by_the_program(%A: memref<1024x1024xf16>, %peer: i32) {
    %c8 = arith.constant 8 : i32
    tile.kernel "by_the_program" grid(%c8) threads(128) attributes {cluster = array<i64: 4>, tile.explicit} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c3 = arith.constant 3 : i32
      %c7 = arith.constant 7 : i32
      %r = tile.alloc "rows" {tile.shared_offset = 0 : i64} : !rows
      %full = tile.alloc "full" {tile.shared_offset = 8192 : i64} : !barriers
      // CHECK: %[[MASK:.*]] = arith.constant 13 : i16
      // CHECK: tile_gpu.tma_load {{.*}} multicast %[[MASK]]
      tile.copy_async %A[%bx, %c0] [64, 64] to %r[%c0, %c0] [64, 64] barrier %full[%c0] : !barriers {choice = #tile.choice<tma, "">, tile.cluster_mask = 13 : i64} : memref<1024x1024xf16> to !rows
      // Barrier 1 of block 2: two rows of three barriers further.
      // CHECK: tile_gpu.mbarrier_arrive_cluster %c8200_i32{{.*}}, %c2_i32
      tile.barrier_arrive %full[%c7] thread {tile.cluster_index} : !barriers
      // CHECK: %[[INDEX:.*]] = arith.muli %{{.*}}, %c3_i32
      // CHECK: %[[SLOT:.*]] = arith.remui %[[INDEX]], %c3_i32
      // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %c8192_i32
      // CHECK: %[[RANK:.*]] = arith.divui %[[INDEX]], %c3_i32
      // CHECK: tile_gpu.mbarrier_arrive_cluster %[[AT]], %[[RANK]]
      %index = arith.muli %peer, %c3 : i32
      tile.barrier_arrive %full[%index] thread {tile.cluster_index} : !barriers
    }
    return
  }
}
