// What has no form on the CPU is an error at its operation.
// RUN: tile-opt --tile-to-cpu --split-input-file --verify-diagnostics %s

func.func @first(%A: memref<4xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "first" grid(%grid) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}
// expected-error @below {{a module has one function with kernels; another one is 'first'}}
func.func @second(%A: memref<4xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "second" grid(%grid) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @direct_access(%A: memref<4xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "direct" grid(%grid) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : index
    // expected-error @below {{has no form on the CPU: buffers and tensors are used by tile operations}}
    %v = memref.load %A[%c0] : memref<4xf32>
  }
  return
}

// -----

func.func @control_flow(%A: memref<4xf32>) {
  %grid = arith.constant 1 : i32
  tile.kernel "control" grid(%grid) threads(32) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    // expected-error @below {{has no form on the CPU: control flow inside of kernels is scf.if, scf.for, scf.while, scf.index_switch and scf.execute_region}}
    scf.parallel (%i) = (%c0) to (%c4) step (%c4) {
    }
  }
  return
}

// -----

func.func @launch_size(%A: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{has no host form: launch values are integer arithmetic on sizes, scalar arguments and the number of multiprocessors}}
  // expected-note @below {{found 'memref.load'}}
  %n = memref.load %A[%c0] : memref<4xi32>
  tile.kernel "launch" grid(%n) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @meets(%A: memref<4xf32>) {
  %grid = arith.constant 1 : i32
  // expected-error @below {{T.sync_grid needs blocks that run at the same time, which the CPU target does not have}}
  tile.kernel "meets" grid(%grid) threads(32) attributes {tile.cooperative} {
  ^bb0(%bx: i32):
    tile.sync_threads
  }
  return
}
