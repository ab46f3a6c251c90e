// Collective operations under control flow that all threads of a block take alike are accepted, and nothing changes.
// RUN: tile-opt %s -tile-verify-uniformity | filecheck %s

// CHECK-LABEL: func.func @uniform
func.func @uniform(%A: memref<?x64xf32>, %I: memref<?xi32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "a" : !tile.buffer<1x64xf32, shared>
    %variable = tile.alloc "i" : !tile.buffer<i32, local>
    %flags = tile.alloc "flags" : !tile.buffer<4xi32, shared>
    tile.store %c0, %variable[] : i32, !tile.buffer<i32, local>
    // Of a tensor at a uniform place.
    %row = tile.load %I[%bx] : memref<?xi32> -> i32
    %take = arith.cmpi sgt, %row, %c0 : i32
    scf.if %take {
      // CHECK: tile.copy
      tile.copy %A[%row, %c0] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x64xf32> to !tile.buffer<1x64xf32, shared>
      tile.store %row, %variable[] : i32, !tile.buffer<i32, local>
    }
    // A variable that only got uniform values under uniform control flow.
    %value = tile.load %variable[] : !tile.buffer<i32, local> -> i32
    scf.for %i = %c0 to %value step %c1 : i32 {
      // CHECK: tile.sync_threads
      tile.sync_threads
      // Of shared memory.
      %flag = tile.load %flags[%c1] : !tile.buffer<4xi32, shared> -> i32
      tile.pipelined %c0 to %flag stages(2) {
      ^bb0(%k: i32):
        // CHECK: tile.copy
        tile.copy %A[%k, %c0] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x64xf32> to !tile.buffer<1x64xf32, shared>
      }
    }
    // Divergent scalar code without collective operations, and the barrier of a part of the threads.
    %t = tile.thread_id 0 : i32
    %first = arith.cmpi eq, %t, %c0 : i32
    scf.if %first {
      tile.print "first"
      // CHECK: tile.sync_threads {count = 64 : i64, id = 1 : i64}
      tile.sync_threads {id = 1 : i64, count = 64 : i64}
    }
    // While loops with a uniform condition.
    %end = scf.while (%i = %c0) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %row : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      // CHECK: tile.sync_threads
      tile.sync_threads
      %next = arith.addi %i, %c1 : i32
      scf.yield %next : i32
    }
    // CHECK: tile.copy
    tile.copy %A[%end, %c0] [1, 64] to %a[%c0, %c0] [1, 64] : memref<?x64xf32> to !tile.buffer<1x64xf32, shared>
  }
  return
}

// Operations with a local operand are done by each thread for itself, wherever it likes; scalar code reads any element of
// a fragment, which is the same for all threads at the same place.
// CHECK-LABEL: func.func @per_thread
func.func @per_thread(%A: memref<?xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant 0.0 : f32
    %mine = tile.alloc "mine" : !tile.buffer<4xf32, local>
    %every = tile.alloc "every" : !tile.buffer<4xf32, local>
    %s = tile.alloc "s" : !tile.buffer<512xf32, shared>
    %f = tile.alloc "f" : !tile.buffer<4xf32, fragment>
    %t = tile.thread_id 0 : i32
    %at = arith.muli %t, %c4 : i32
    %first = arith.cmpi slt, %t, %c4 : i32
    scf.if %first {
      // CHECK: tile.copy %{{.*}} to %{{.*}} : memref<?xf32> to !tile.buffer<4xf32, local>
      tile.copy %A[%at] [4] to %mine[%c0] [4] : memref<?xf32> to !tile.buffer<4xf32, local>
      tile.copy %mine[%c0] [4] to %s[%at] [4] : !tile.buffer<4xf32, local> to !tile.buffer<512xf32, shared>
      tile.fill %mine, %zero : !tile.buffer<4xf32, local>, f32
      %x = tile.load %f[%t] : !tile.buffer<4xf32, fragment> -> f32
      tile.store %x, %A[%t] : f32, memref<?xf32>
    }
    // The same elements for every thread: these may go to a fragment.
    tile.copy %A[%c4] [4] to %every[%c0] [4] : memref<?xf32> to !tile.buffer<4xf32, local>
    tile.copy %every[%c0] [4] to %f[%c0] [4] : !tile.buffer<4xf32, local> to !tile.buffer<4xf32, fragment>
    %y = tile.load %f[%c0] : !tile.buffer<4xf32, fragment> -> f32
    %positive = arith.cmpf ogt, %y, %zero : f32
    scf.if %positive {
      // CHECK: tile.sync_threads
      tile.sync_threads
    }
  }
  return
}

// One thread has fetched the next tile, and all get its number.
// CHECK-LABEL: func.func @fetched_tile
func.func @fetched_tile(%counter: memref<1xi32>, %tiles: i32, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %f = tile.fetch_tile %counter after %bx of %tiles by %n : memref<1xi32>
    %s = tile.share_tile %counter from %f : memref<1xi32>
    %more = arith.cmpi slt, %s, %tiles : i32
    scf.if %more {
      // CHECK: tile.sync_threads
      tile.sync_threads
    }
  }
  return
}
