// Barriers between accesses of different threads to shared memory, and no others.
// RUN: tile-opt %s -split-input-file -tile-insert-sync | FileCheck %s

// CHECK-LABEL: func.func @straight
func.func @straight(%A: memref<?xf32>, %C: memref<?xf32>, %D: memref<?xf32>, %E: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    // Nothing between writes of different buffers.
    // CHECK: tile.copy
    // CHECK-NEXT: tile.copy
    // Read after write, of both.
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // Write after read.
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // Write after write.
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // The user's own barrier counts; a named barrier of some threads does not.
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads {
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NOT: tile.sync_threads
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %a[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.copy %b[%c0] [64] to %D[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.sync_threads
    tile.copy %a[%c0] [64] to %E[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.sync_threads {id = 1 : i64, count = 32 : i64}
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
  }
  return
}

// -----

// A pipeline of two or more slots has one barrier per iteration: behind the wait, in front of the loads.
// CHECK-LABEL: func.func @pipeline
func.func @pipeline(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<3x64xf32, shared>
    // CHECK-NOT: tile.sync_threads
    // CHECK: scf.for
    // CHECK-NEXT: tile.async_wait
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: scf.if
    // CHECK-NOT: tile.sync_threads
    // CHECK: return
    tile.copy_async %A[%c0] [64] to %a[%c0, %c0] [1, 64] : memref<?xf32> to !tile.buffer<3x64xf32, shared>
    tile.async_commit
    tile.copy_async %A[%one] [64] to %a[%one, %c0] [1, 64] : memref<?xf32> to !tile.buffer<3x64xf32, shared>
    tile.async_commit
    %r:2 = scf.for %k = %c0 to %n step %one iter_args(%slot = %c0, %next = %two) -> (i32, i32) : i32 {
      tile.async_wait {pending = 1 : i64}
      scf.if %p {
        tile.copy_async %A[%k] [64] to %a[%next, %c0] [1, 64] : memref<?xf32> to !tile.buffer<3x64xf32, shared>
      }
      tile.async_commit
      tile.copy %a[%slot, %c0] [1, 64] to %C[%k] [64] : !tile.buffer<3x64xf32, shared> to memref<?xf32>
      %s0 = arith.addi %slot, %one : i32
      %w0 = arith.cmpi eq, %s0, %three : i32
      %s1 = arith.select %w0, %c0, %s0 : i32
      %n0 = arith.addi %next, %one : i32
      %w1 = arith.cmpi eq, %n0, %three : i32
      %n1 = arith.select %w1, %c0, %n0 : i32
      scf.yield %s1, %n1 : i32, i32
    }
  }
  return
}

// -----

// The same with plain copies: slots keep load and use of one iteration apart.
// CHECK-LABEL: func.func @slots
func.func @slots(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<2x64xf32, shared>
    // CHECK: scf.for
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NOT: tile.sync_threads
    // CHECK: return
    tile.copy %A[%c0] [64] to %a[%c0, %c0] [1, 64] : memref<?xf32> to !tile.buffer<2x64xf32, shared>
    %r:2 = scf.for %k = %c0 to %n step %one iter_args(%slot = %c0, %next = %one) -> (i32, i32) : i32 {
      tile.copy %A[%k] [64] to %a[%next, %c0] [1, 64] : memref<?xf32> to !tile.buffer<2x64xf32, shared>
      tile.copy %a[%slot, %c0] [1, 64] to %C[%k] [64] : !tile.buffer<2x64xf32, shared> to memref<?xf32>
      %s0 = arith.addi %slot, %one : i32
      %w0 = arith.cmpi eq, %s0, %two : i32
      %s1 = arith.select %w0, %c0, %s0 : i32
      %n0 = arith.addi %next, %one : i32
      %w1 = arith.cmpi eq, %n0, %two : i32
      %n1 = arith.select %w1, %c0, %n0 : i32
      scf.yield %s1, %n1 : i32, i32
    }
  }
  return
}

// -----

// A serial loop needs two: read after write, and write after the read of the iteration before. What was written in front of the loop is waited for in front of it.
// CHECK-LABEL: func.func @serial
func.func @serial(%A: memref<?xf32>, %C: memref<?xf32>, %D: memref<?xf32>, %E: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %q = tile.alloc "Q_shared" : !tile.buffer<64xf32, shared>
    %s = tile.alloc "S_shared" : !tile.buffer<64xf32, shared>
    // CHECK: tile.copy
    // CHECK: scf.for
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    tile.copy %A[%c0] [64] to %q[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %q[%c0] [64] to %D[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: muli
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    tile.copy %A[%c0] [64] to %s[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    scf.for %k = %c0 to %n step %one : i32 {
      %o = arith.muli %k, %c64 : i32
      tile.copy %s[%c0] [64] to %E[%o] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// Branches: a barrier for what was before goes in front; one between the operations inside stays inside.
// CHECK-LABEL: func.func @branch
func.func @branch(%A: memref<?xf32>, %C: memref<?xf32>, %D: memref<?xf32>, %p: i1) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    // CHECK: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    scf.if %p {
      tile.copy %a[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %A[%c0] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %b[%c0] [64] to %D[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    tile.copy %A[%c0] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
  }
  return
}

// -----

// Threads disagree about the branch: no barrier inside.
// CHECK-LABEL: func.func @divergent
func.func @divergent(%C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %t = tile.thread_id 0 : i32
    %first = arith.cmpi eq, %t, %c0 : i32
    tile.fill %a, %one : !tile.buffer<64xf32, shared>, f32
    // CHECK: tile.fill
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: }
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    scf.if %first {
      %v = tile.load %a[%c0] : !tile.buffer<64xf32, shared> -> f32
      %w = arith.addf %v, %v : f32
      tile.store %w, %a[%c0] : f32, !tile.buffer<64xf32, shared>
    }
    tile.copy %a[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// A loop of all threads in which each accesses elements by itself.
// CHECK-LABEL: func.func @each_thread
func.func @each_thread(%n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<65xf32, shared>
    %v = tile.alloc "v" : !tile.buffer<f32, local>
    %t = tile.thread_id 0 : i32
    %next = arith.addi %t, %one : i32
    // CHECK: scf.for
    // CHECK-NEXT: tile.load %v
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.store
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.load
    scf.for %k = %c0 to %n step %one : i32 {
      %x = tile.load %v[] : !tile.buffer<f32, local> -> f32
      tile.store %x, %a[%t] : f32, !tile.buffer<65xf32, shared>
      %y = tile.load %a[%next] : !tile.buffer<65xf32, shared> -> f32
      tile.store %y, %v[] : f32, !tile.buffer<f32, local>
    }
  }
  return
}

// -----

// Parts that do not meet, atomics among each other, and threads that keep to their own elements.
// CHECK-LABEL: func.func @no_conflict
func.func @no_conflict(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %one = arith.constant 1.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    %h = tile.alloc "hist" : !tile.buffer<64xf32, shared>
    // CHECK-NOT: tile.sync_threads
    // CHECK: tile.parallel [64] attributes {layout
    // CHECK-NOT: tile.sync_threads
    // CHECK: tile.parallel [64] attributes {layout
    // CHECK-NOT: tile.sync_threads
    // CHECK: tile.parallel
    // CHECK-NOT: tile.sync_threads
    // CHECK: tile.parallel
    // CHECK: }
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    tile.copy %A[%c0] [32] to %a[%c0] [32] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [32] to %a[%c32] [32] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.parallel [64] attributes {layout = #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>} {
    ^bb0(%i: i32):
      tile.store %one, %b[%i] : f32, !tile.buffer<64xf32, shared>
    }
    tile.parallel [64] attributes {layout = #tile.fragment_layout<[64], threads = [(64, 0, 1)], registers = []>} {
    ^bb0(%i: i32):
      %v = tile.load %b[%i] : !tile.buffer<64xf32, shared> -> f32
      %w = arith.addf %v, %v : f32
      tile.store %w, %b[%i] : f32, !tile.buffer<64xf32, shared>
    }
    tile.parallel [64] {
    ^bb0(%i: i32):
      tile.atomic add %one, %h[%c0] : f32, !tile.buffer<64xf32, shared>
    }
    tile.parallel [64] {
    ^bb0(%i: i32):
      tile.atomic add %one, %h[%i] : f32, !tile.buffer<64xf32, shared>
    }
    tile.copy %h[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
  }
  return
}

// -----

// Another layout: other threads.
// CHECK-LABEL: func.func @other_layout
func.func @other_layout() {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(32) {
  ^bb0(%bx: i32):
    %one = arith.constant 1.0 : f32
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    // CHECK: tile.parallel
    // CHECK: tile.sync_threads
    // CHECK: tile.parallel
    tile.parallel [64] attributes {layout = #tile.fragment_layout<[64], threads = [(32, 0, 1)], registers = [(2, 0, 32)]>} {
    ^bb0(%i: i32):
      tile.store %one, %b[%i] : f32, !tile.buffer<64xf32, shared>
    }
    tile.parallel [64] attributes {layout = #tile.fragment_layout<[64], threads = [(32, 0, 2)], registers = [(2, 0, 1)]>} {
    ^bb0(%i: i32):
      %v = tile.load %b[%i] : !tile.buffer<64xf32, shared> -> f32
      %w = arith.addf %v, %v : f32
      tile.store %w, %b[%i] : f32, !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// Scratch memory: operations have a barrier of their own between writing and reading it, and need one in front when it was read since the last.
// CHECK-LABEL: func.func @scratch
func.func @scratch() {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %f = tile.alloc "f" : !tile.buffer<8x8xf32, fragment>
    %s = tile.alloc "s" : !tile.buffer<8xf32, fragment>
    %x = tile.alloc "scratch" : !tile.buffer<64xf32, shared>
    %y = tile.alloc "scratch2" : !tile.buffer<64xf32, shared>
    // CHECK: tile.reduce
    // CHECK-NEXT: tile.reduce
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.reduce
    tile.reduce sum %f, %s scratch %x : !tile.buffer<64xf32, shared> {dim = 1 : i64, clear} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
    tile.reduce max %f, %s scratch %y : !tile.buffer<64xf32, shared> {dim = 1 : i64, clear} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
    tile.reduce min %f, %s scratch %x : !tile.buffer<64xf32, shared> {dim = 1 : i64, clear} : !tile.buffer<8x8xf32, fragment>, !tile.buffer<8xf32, fragment>
  }
  return
}

// -----

// Different buffers in the same memory.
// CHECK-LABEL: func.func @overlap
func.func @overlap(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" {tile.shared_offset = 0 : i64} : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" {tile.shared_offset = 128 : i64} : !tile.buffer<64xf32, shared>
    %d = tile.alloc "D_shared" {tile.shared_offset = 384 : i64} : !tile.buffer<64xf32, shared>
    // CHECK: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    tile.copy %a[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.copy %A[%c0] [64] to %d[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %A[%c0] [64] to %b[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
  }
  return
}

// -----

// A `while` loop: the read at its end meets the write at its start.
// CHECK-LABEL: func.func @while_loop
func.func @while_loop(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: } do {
    // CHECK: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NOT: tile.sync_threads
    // CHECK: return
    %end = scf.while (%t = %n) : (i32) -> i32 {
      %more = arith.cmpi sgt, %t, %c0 : i32
      scf.condition(%more) %t : i32
    } do {
    ^bb0(%t: i32):
      tile.copy %A[%t] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%t] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      %next = arith.subi %t, %one : i32
      scf.yield %next : i32
    }
  }
  return
}

// -----

// Tensors that the kernel writes: a barrier where another operation may see the elements, none where an operation moves on.
// CHECK-LABEL: func.func @tensors
func.func @tensors(%A: memref<?xf32>, %W: memref<64xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c64 = arith.constant 64 : i32
    %f = tile.alloc "f" : !tile.buffer<64xf32, fragment>
    // CHECK: scf.for
    // CHECK-NEXT: muli
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    scf.for %k = %c0 to %n step %one : i32 {
      %o = arith.muli %k, %c64 : i32
      tile.copy %A[%o] [64] to %f[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, fragment>
      tile.copy %f[%c0] [64] to %C[%o] [64] : !tile.buffer<64xf32, fragment> to memref<?xf32>
    }
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %f[%c0] [64] to %W[%c0] [64] : !tile.buffer<64xf32, fragment> to memref<64xf32>
      tile.copy %W[%c0] [64] to %f[%c0] [64] : memref<64xf32> to !tile.buffer<64xf32, fragment>
    }
    // Each element is written twice.
    // CHECK-NEXT: scf.for
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: }
    scf.for %k = %c0 to %n step %one : i32 {
      tile.copy %f[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, fragment> to memref<?xf32>
    }
  }
  return
}

// -----

// The user orders the accesses; slots of pipelines stay the compiler's.
// CHECK-LABEL: func.func @user_sync
module attributes {tile.options = #tile.options<{disable_thread_sync = true}>} {
func.func @user_sync(%A: memref<?xf32>, %C: memref<?xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" {tile.slots = 2 : i64} : !tile.buffer<2x64xf32, shared>
    // CHECK: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.copy
    // CHECK-NEXT: tile.sync_threads
    // CHECK-NEXT: tile.copy
    tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    tile.copy %a[%c0] [64] to %C[%c0] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    tile.copy %A[%c0] [64] to %b[%c0, %c0] [1, 64] : memref<?xf32> to !tile.buffer<2x64xf32, shared>
    tile.copy %b[%c0, %c0] [1, 64] to %C[%c0] [64] : !tile.buffer<2x64xf32, shared> to memref<?xf32>
  }
  return
}
}

// -----

#ss = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [1, 1]}>
!op = !tile.buffer<64x64xf16, shared>
!acc = !tile.buffer<64x64xf32, fragment>

// A product reads until it has been waited for: the barrier that orders the
// first two copies does not order the last one.
// CHECK-LABEL: func.func @product_in_flight
func.func @product_in_flight(%A: memref<64x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !op
    %b = tile.alloc "b" : !op
    %d = tile.alloc "d" : !op
    %c = tile.alloc "c" : !acc
    tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<64x64xf16> to !op
    tile.copy %A[%c0, %c0] [64, 64] to %b[%c0, %c0] [64, 64] : memref<64x64xf16> to !op
    // CHECK: tile.sync_threads
    // CHECK-NEXT: tile.gemm_async
    tile.gemm_async %a, %a, %c {choice = #ss} : !op, !op, !acc
    tile.copy %b[%c0, %c0] [64, 64] to %d[%c0, %c0] [64, 64] : !op to !op
    // CHECK: tile.sync_threads
    // CHECK-NEXT: tile.copy %d
    tile.copy %d[%c0, %c0] [64, 64] to %b[%c0, %c0] [64, 64] : !op to !op
    // CHECK: tile.mma_wait
    tile.mma_wait %c {pending = 0 : i64} : !acc
    // CHECK: tile.sync_threads
    // CHECK-NEXT: tile.copy {{.*}} to %a
    tile.copy %A[%c0, %c0] [64, 64] to %a[%c0, %c0] [64, 64] : memref<64x64xf16> to !op
  }
  return
}
