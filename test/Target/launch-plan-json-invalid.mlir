// What cannot be launched is an error at the operation that has no host form.
// RUN: tile-translate --tile-to-launch-plan --split-input-file --verify-diagnostics %s

func.func @float_grid(%n: i32, %x: f32) {
  // expected-error @below {{has no host form: launch values are integer arithmetic on sizes, scalar arguments and the number of multiprocessors}}
  // expected-note @below {{found 'arith.fptosi'}}
  %grid = arith.fptosi %x : f32 to i32
  tile.kernel "k" grid(%grid) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

// expected-error @below {{the size 'M' is used but is no extent or stride of an argument by itself}}
func.func @unknown_symbol(%A: memref<?xf32> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<mul(symbol("M"), 2)>], strides = [], alignment = 16>}) {
  %one = arith.constant 1 : i32
  tile.kernel "k" grid(%one) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @host_float(%x: f32, %C: memref<4xf32>) {
  %one = arith.constant 1 : i32
  // expected-error @below {{a value of type 'f32' is computed outside of a kernel and used inside; move its computation into the kernel}}
  %y = arith.addf %x, %x : f32
  tile.kernel "k" grid(%one) threads(32) {
  ^bb0(%bx: i32):
    tile.store %y, %C[%bx] : f32, memref<4xf32>
  }
  return
}

// -----

// expected-error @below {{has no tile.launch_plan, and 0 functions with kernels instead of one}}
module {
}
