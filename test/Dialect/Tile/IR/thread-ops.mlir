// RUN: tile-opt %s | tile-opt | filecheck %s
// Operations of single threads survive printing and parsing.

// CHECK-LABEL: tile.kernel "k"
func.func @f(%n: i32, %A: memref<64xf32>) {
  tile.kernel "k" grid(%n) threads(256) {
  ^bb0(%bx: i32):
    %bars = tile.alloc "bars" : !tile.buffer<2x!tile.barrier, shared>
    %s = tile.alloc "s" : !tile.buffer<64xf32, shared>
    // CHECK: %[[LEADER:.*]] = tile.elect {threads = 128 : i64} : i1
    %leader = tile.elect {threads = 128 : i64} : i1
    scf.if %leader {
      // CHECK: tile.thread_expect_tx %{{.*}}[%{{.*}}] {arrive, bytes = 64 : i64} : <2x!tile.barrier, shared>
      tile.thread_expect_tx %bars[%bx] {arrive, bytes = 64 : i64} : !tile.buffer<2x!tile.barrier, shared>
    }
    // CHECK: tile.warp_sync
    tile.warp_sync
    // CHECK: tile.named_arrive {count = 256 : i64, id = 2 : i64}
    tile.named_arrive {count = 256 : i64, id = 2 : i64}
    // CHECK: tile.dependency_wait
    tile.dependency_wait
    // CHECK: tile.launch_dependents
    tile.launch_dependents
    // CHECK: %{{.*}}:2 = tile.ptx "mov.b32 $0, $2; mov.b32 $1, $2;"(%{{.*}}) : (i32) -> (i32, f32)
    %x:2 = tile.ptx "mov.b32 $0, $2; mov.b32 $1, $2;" (%bx) : (i32) -> (i32, f32)
    // CHECK: tile.ptx "// $0 $1"(%{{.*}}, %{{.*}}) : (memref<64xf32>, !tile.buffer<64xf32, shared>) -> ()
    tile.ptx "// $0 $1" (%A, %s) : (memref<64xf32>, !tile.buffer<64xf32, shared>) -> ()
  }
  return
}
