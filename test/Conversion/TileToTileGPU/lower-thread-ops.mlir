// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s
// Elections, named barriers, bytes expected by chosen threads, inline PTX; each set of warps of the program gets a
// hardware barrier that the program does not use.

module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: tile.kernel "k"
func.func @f(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(384) {
  ^bb0(%bx: i32):
    %c1 = arith.constant 1 : i32
    %bars = tile.alloc "bars" {tile.shared_offset = 256 : i64} : !tile.buffer<2x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64xf32, shared, #tile.shared_layout<order = [0], panel = 64, swizzle = 0>>
    // CHECK: tile_gpu.elect
    // CHECK: tile_gpu.warp_id
    // CHECK: arith.andi
    %leader = tile.elect {threads = 128 : i64} : i1
    scf.if %leader {
      // CHECK: tile_gpu.mbarrier_expect_tx %{{.*}}, %{{.*}} {no_arrive}
      tile.thread_expect_tx %bars[%c1] {bytes = 64 : i64} : !tile.buffer<2x!tile.barrier, shared>
    }
    // CHECK: tile_gpu.warp_sync
    tile.warp_sync
    // CHECK: tile_gpu.named_barrier_arrive %{{.*}}, 256
    tile.named_arrive {count = 256 : i64, id = 15 : i64}
    // CHECK: tile_gpu.griddepcontrol_wait
    tile.dependency_wait
    // CHECK: tile_gpu.griddepcontrol_launch_dependents
    tile.launch_dependents
    // CHECK: tile_gpu.ptx "add.s32 $0, $1, $2;"(%{{.*}}, %{{.*}}) : (i32, i32) -> i32
    %x = tile.ptx "add.s32 $0, $1, $2;" (%bx, %c1) : (i32, i32) -> i32
    // CHECK: tile_gpu.shared_address
    // CHECK: tile_gpu.ptx "// $0 $1"(%{{.*}}, %{{.*}}) : (memref<64xf32>, i32) -> ()
    tile.ptx "// $0 $1" (%A, %s) : (memref<64xf32>, !tile.buffer<64xf32, shared, #tile.shared_layout<order = [0], panel = 64, swizzle = 0>>) -> ()
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // CHECK: tile_gpu.barrier {count = 128 : i64, id = 14 : i64}
      tile.sync_threads
    }
    tile.warp_specialize [#tile.role<user, first = 4, warps = 8>] {
      // CHECK: tile_gpu.barrier {count = 256 : i64, id = 13 : i64}
      tile.sync_threads
    }
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      // CHECK: tile_gpu.barrier {count = 128 : i64, id = 14 : i64}
      tile.sync_threads
    }
  }
  return
}
}

// -----

// Before sm_90 a kernel begins when those in front of it have ended: nothing to wait for.
module attributes {tile.target = #tile.target<"sm_80">} {
// CHECK-LABEL: func.func @order
// CHECK-NOT: griddepcontrol
func.func @order(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    tile.dependency_wait
    tile.launch_dependents
  }
  return
}
}
