// The pass refuses nothing; malformed loops are refused by the verifiers before it runs.
// RUN: tile-opt %s --tile-gpu-prefetch-fragments -verify-diagnostics

func.func @matrices(%n: i32) {
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %z to %n step %one : i32 {
    tile_gpu.async_wait 1
    tile_gpu.barrier
    // expected-error @+1 {{moves 1, 2 or 4 matrices, not 3}}
    %a0 = tile_gpu.ldmatrix %i : vector<3xi32>
  }
  return
}
