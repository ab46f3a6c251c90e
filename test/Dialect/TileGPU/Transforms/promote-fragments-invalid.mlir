// RUN: tile-opt %s --tile-gpu-promote-fragments -verify-diagnostics

func.func @unstructured(%p: i32) {
  %g = arith.constant 1 : i32
  tile.kernel "k" grid(%g) threads(32) {
  ^bb0(%bx: i32):
    %two = arith.constant dense<2> : vector<1xi32>
    %x = tile.alloc "count" : !tile.buffer<i32, local>
    // expected-error @+1 {{writes 'count' inside of control flow that registers cannot pass through; only scf.for, scf.if and scf.while are supported}}
    scf.execute_region {
      tile_gpu.write_fragment %two, %x : vector<1xi32>, !tile.buffer<i32, local>
      scf.yield
    }
    %r = tile_gpu.read_fragment %x : !tile.buffer<i32, local> -> vector<1xi32>
  }
  return
}
