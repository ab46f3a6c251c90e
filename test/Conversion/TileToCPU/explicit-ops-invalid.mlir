// RUN: tile-opt %s -tile-to-cpu -split-input-file -verify-diagnostics

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %bar = tile.alloc "bar" : !tile.buffer<1x!tile.barrier, shared>
    // expected-error @+1 {{T.alloc_barrier needs threads that run at the same time, which the CPU target does not have; compile for a GPU, or run the kernel on the simulator}}
    tile.barrier_init %bar {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
  }
  return
}

// -----

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{T.ws needs threads that run at the same time}}
    tile.warp_specialize [#tile.role<user, first = 0, warps = 4>] {
      tile.sync_threads
    }
  }
  return
}

// -----

func.func @f(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{T.ptx is code of a GPU, which the CPU target cannot run}}
    tile.ptx "trap;" () : () -> ()
  }
  return
}

// -----

func.func @f(%n: i32, %counter: memref<1xi32>) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    // expected-error @+1 {{takes over a tile that another role has fetched, which the CPU target cannot run}}
    %s = tile.share_tile %counter from %bx : memref<1xi32>
  }
  return
}
