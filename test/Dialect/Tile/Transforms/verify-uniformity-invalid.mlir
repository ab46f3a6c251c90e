// Collective operations that only some threads would reach are refused, with the place of the divergence.
// RUN: tile-opt %s -tile-verify-uniformity -split-input-file -verify-diagnostics

func.func @condition(%A: memref<?x64xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<1x64xf32, shared>
    %t = tile.thread_id 0 : i32
    // expected-note @+1 {{the condition may differ between threads}}
    %first = arith.cmpi eq, %t, %c0 : i32
    scf.if %first {
      // expected-error @+1 {{copy acts once per block and has to be reached by all of its threads}}
      tile.copy %A[%bx, %c0] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x64xf32> to !tile.buffer<1x64xf32, shared>
    }
  }
  return
}

// -----

func.func @bound(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-note @+1 {{a bound of the loop may differ between threads}}
    %t = tile.thread_id 0 : i32
    scf.for %i = %c0 to %t step %c1 : i32 {
      // expected-error @+1 {{sync_threads acts once per block and has to be reached by all of its threads}}
      tile.sync_threads
    }
  }
  return
}

// -----

// A variable gets different values in different threads.
func.func @variable(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %v = tile.alloc "v" : !tile.buffer<i32, local>
    tile.store %c0, %v[] : i32, !tile.buffer<i32, local>
    %t = tile.thread_id 0 : i32
    %some = arith.cmpi slt, %t, %n : i32
    scf.if %some {
      tile.store %c1, %v[] : i32, !tile.buffer<i32, local>
    }
    %value = tile.load %v[] : !tile.buffer<i32, local> -> i32
    // expected-note @+1 {{the condition may differ between threads}}
    %take = arith.cmpi eq, %value, %c1 : i32
    scf.if %take {
      // expected-error @+1 {{sync_threads acts once per block}}
      tile.sync_threads
    }
  }
  return
}

// -----

func.func @operand(%A: memref<?x64xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<1x64xf32, shared>
    // expected-note @+1 {{the operand comes from here}}
    %t = tile.thread_id 0 : i32
    // expected-error @+1 {{copy acts once per block, but one of its operands may differ between threads}}
    tile.copy %A[%t, %c0] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x64xf32> to !tile.buffer<1x64xf32, shared>
  }
  return
}

// -----

func.func @while(%A: memref<?xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %end = scf.while (%i = %c0) : (i32) -> i32 {
      %old = tile.atomic add %one, %A[%c0] : i32, memref<?xi32> -> i32
      // expected-note @+1 {{the condition of the while loop may differ between threads}}
      %more = arith.cmpi slt, %old, %n : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      // expected-error @+1 {{sync_threads acts once per block}}
      tile.sync_threads
      scf.yield %i : i32
    }
  }
  return
}

// -----

// A fragment exists once per block: threads cannot store different values to an element.
func.func @fragment_value(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<4xi32, fragment>
    // expected-note @+1 {{the operand comes from here}}
    %t = tile.thread_id 0 : i32
    // expected-error @+1 {{store writes a fragment, which exists once per block, but one of its operands may differ between threads}}
    tile.store %t, %f[%c0] : i32, !tile.buffer<4xi32, fragment>
  }
  return
}

// -----

func.func @fragment_branch(%n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %f = tile.alloc "f" : !tile.buffer<4xi32, fragment>
    %t = tile.thread_id 0 : i32
    // expected-note @+1 {{the condition may differ between threads}}
    %first = arith.cmpi eq, %t, %c0 : i32
    scf.if %first {
      // expected-error @+1 {{store writes a fragment, which exists once per block and has to be reached by all of its threads}}
      tile.store %n, %f[%c0] : i32, !tile.buffer<4xi32, fragment>
    }
  }
  return
}

// -----

// The contents of a local buffer count.
func.func @local_contents(%A: memref<?xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-note @+1 {{the operand comes from here}}
    %mine = tile.alloc "mine" : !tile.buffer<4xf32, local>
    %f = tile.alloc "f" : !tile.buffer<4xf32, fragment>
    %t = tile.thread_id 0 : i32
    tile.copy %A[%t] [4] to %mine[%c0] [4] : memref<?xf32> to !tile.buffer<4xf32, local>
    // expected-error @+1 {{copy writes a fragment, which exists once per block, but one of its operands may differ between threads}}
    tile.copy %mine[%c0] [4] to %f[%c0] [4] : !tile.buffer<4xf32, local> to !tile.buffer<4xf32, fragment>
  }
  return
}

// -----

func.func @view(%A: memref<?xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %s = tile.alloc "s" : !tile.buffer<512xf32, shared>
    %t = tile.thread_id 0 : i32
    // expected-note @+1 {{the operand comes from here}}
    %part = tile.subview %s[%t] [4] : !tile.buffer<512xf32, shared> to !tile.buffer<4xf32, shared>
    // expected-error @+1 {{copy acts once per block, but one of its operands may differ between threads}}
    tile.copy %A[%c0] [4] to %part[%c0] [4] : memref<?xf32> to !tile.buffer<4xf32, shared>
  }
  return
}

// -----

// A block fetches one tile, not one for each thread; the number is for all of them.
func.func @fetched_tile(%counter: memref<1xi32>, %tiles: i32, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %t = tile.thread_id 0 : i32
    // expected-note @+1 {{the operand comes from here}}
    %mine = arith.addi %bx, %t : i32
    // expected-error @+1 {{fetch_tile acts once per block, but one of its operands may differ between threads}}
    %f = tile.fetch_tile %counter after %mine of %tiles by %n : memref<1xi32>
    // expected-note @+1 {{the condition may differ between threads}}
    %few = arith.cmpi slt, %f, %tiles : i32
    scf.if %few {
      // expected-error @+1 {{share_tile acts once per block and has to be reached by all of its threads}}
      %s = tile.share_tile %counter from %f : memref<1xi32>
    }
  }
  return
}
