// Which loads of a pipelined loop run ahead, and the reasons of those that do not.
// RUN: tile-opt %s -split-input-file -tile-plan-pipeline | FileCheck %s

// CHECK-LABEL: func.func @gemm
func.func @gemm(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "gemm" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<32x64xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    // CHECK: tile.pipelined {{.*}} stages(3) attributes {choice = #tile.choice<cp_async, "loads of A_shared, B_shared run 2 iterations ahead in 3 slots", {ahead = 2 : i64, slots = 3 : i64}>, order = array<i64: 0, 1, 2>, stage = array<i64: 0, 0, 2>}
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %o = arith.muli %k, %c32 : i32
      // CHECK: tile.copy {{.*}}tile.ahead = 2 : i64
      // CHECK: tile.copy {{.*}}tile.ahead = 2 : i64
      // CHECK-NOT: tile.ahead
      tile.copy %A[%c0, %o] [64, 32] to %a[%c0, %c0] [64, 32] {choice = #tile.choice<cp_async, "16 bytes">} : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
      tile.copy %B[%o, %c0] [32, 64] to %b[%c0, %c0] [32, 64] {choice = #tile.choice<cp_async, "16 bytes">} : memref<?x?xf16> to !tile.buffer<32x64xf16, shared>
      tile.gemm %a, %b, %acc : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----

// One slot, and none: nothing runs ahead.
// CHECK-LABEL: func.func @serial
func.func @serial(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "serial" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: stages(1) {{.*}}#tile.choice<serial, "num_stages = 1: with one slot a tile can only be loaded after the one before has been used", {slots = 1 : i64}>, order = array<i64: 0, 1>, stage = array<i64: 0, 0>
    tile.pipelined %c0 to %n stages(1) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    // CHECK: stages(0) {{.*}}#tile.choice<serial, "num_stages = 0"
    tile.pipelined %c0 to %n stages(0) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// The kernel writes the tensor: a load ahead could miss the new values.
// CHECK-LABEL: func.func @written_source
func.func @written_source(%A: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: #tile.choice<serial, "nothing runs ahead: copy (line {{[0-9]+}}): the kernel writes tensor '<unnamed>'"
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %A[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// Tensors may overlap: what the loop writes may be what it loads.
// CHECK-LABEL: func.func @may_alias
module attributes {tile.options = #tile.options<{noalias = false}>} {
func.func @may_alias(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: may overlap a tensor that the loop writes (noalias = false)
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}
}

// -----

// A condition read from a tensor that the kernel never writes is known ahead. Gemm and load have the same condition, written twice.
// CHECK-LABEL: func.func @conditional
func.func @conditional(%A: memref<?x16xf16>, %F: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<32x16xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<16x16xf16, shared>
    %acc = tile.alloc "acc" : !tile.buffer<32x16xf32, fragment>
    // CHECK: loads of A_shared run 2 iterations ahead
    // CHECK-SAME: stage = array<i64: 2, 2>
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %flag = tile.load %F[%k] : memref<?xi32> -> i32
      %set = arith.cmpi ne, %flag, %c0 : i32
      scf.if %set {
        // CHECK: tile.copy {{.*}}tile.ahead = 2
        tile.copy %A[%k, %c0] [32, 16] to %a[%c0, %c0] [32, 16] : memref<?x16xf16> to !tile.buffer<32x16xf16, shared>
      }
      %flag2 = tile.load %F[%k] : memref<?xi32> -> i32
      %set2 = arith.cmpi ne, %flag2, %c0 : i32
      scf.if %set2 {
        tile.gemm %a, %b, %acc : !tile.buffer<32x16xf16, shared>, !tile.buffer<16x16xf16, shared>, !tile.buffer<32x16xf32, fragment>
      }
    }
  }
  return
}

// -----

// Read without the condition of the load: it may see an older tile.
// CHECK-LABEL: func.func @stale
func.func @stale(%A: memref<?xf32>, %F: memref<?xi32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: nothing runs ahead: copy {{.*}}: copy {{.*}} may see elements of 'A_shared' that an earlier iteration wrote
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %flag = tile.load %F[%k] : memref<?xi32> -> i32
      %set = arith.cmpi ne, %flag, %c0 : i32
      scf.if %set {
        tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      }
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// The same, but cleared where it is not loaded. The fill runs ahead too.
// CHECK-LABEL: func.func @cleared
func.func @cleared(%A: memref<?xf32>, %F: memref<?xi32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %zero = arith.constant 0.0 : f32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: #tile.choice<simt, "loads of A_shared run 1 iteration ahead in 2 slots"
    // CHECK-SAME: stage = array<i64: 0, 1, 1>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      %flag = tile.load %F[%k] : memref<?xi32> -> i32
      %set = arith.cmpi ne, %flag, %c0 : i32
      // CHECK: tile.fill {{.*}}tile.ahead = 1
      tile.fill %a, %zero : !tile.buffer<64xf32, shared>, f32
      scf.if %set {
        // CHECK: tile.copy {{.*}}tile.ahead = 1
        tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      }
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// Reads of the old tile before it is replaced, and a second filling of one buffer in an iteration.
// CHECK-LABEL: func.func @read_before
func.func @read_before(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: 'A_shared' is read by copy {{.*}} before it is filled by copy
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %A[%c0] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
    }
  }
  return
}

// -----

// The loop also writes the tile by other means.
// CHECK-LABEL: func.func @written_elsewhere
func.func @written_elsewhere(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: 'A_shared' is also written by parallel
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.parallel [64] {
      ^bb0(%i: i32):
        %v = tile.load %a[%i] : !tile.buffer<64xf32, shared> -> f32
        %w = arith.addf %v, %v : f32
        tile.store %w, %a[%i] : f32, !tile.buffer<64xf32, shared>
      }
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A variable with a recurrence over known values is known ahead; one that depends on loaded tiles is not.
// CHECK-LABEL: func.func @variables
func.func @variables(%A: memref<?xf32>, %C: memref<?xf32>, %I: memref<?xi32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %p = tile.alloc "p" : !tile.buffer<i32, local>
    %q = tile.alloc "q" : !tile.buffer<i32, local>
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xi32, shared>
    tile.store %c0, %p[] : i32, !tile.buffer<i32, local>
    tile.store %c0, %q[] : i32, !tile.buffer<i32, local>
    // CHECK: loads of A_shared run 1 iteration ahead in 2 slots; not ahead: copy {{.*}}: its place is not known ahead: the loop writes 'B_shared'
    // CHECK-SAME: stage = array<i64: 1, 0, 1, 1, 1>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      %x = tile.load %p[] : !tile.buffer<i32, local> -> i32
      %step = tile.load %I[%k] : memref<?xi32> -> i32
      %y = arith.addi %x, %step : i32
      tile.store %y, %p[] : i32, !tile.buffer<i32, local>
      tile.copy %A[%y] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, shared>
      %o = tile.load %q[] : !tile.buffer<i32, local> -> i32
      tile.copy %I[%o] [64] to %b[%c0] [64] : memref<?xi32> to !tile.buffer<64xi32, shared>
      %z = tile.load %b[%c0] : !tile.buffer<64xi32, shared> -> i32
      tile.store %z, %q[] : i32, !tile.buffer<i32, local>
      tile.copy %a[%c0] [64] to %C[%z] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// Registers have no slots.
// CHECK-LABEL: func.func @fragment
func.func @fragment(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_local" : !tile.buffer<64xf32, fragment>
    // CHECK: its destination 'A_local' is a fragment, and registers have no slots
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [64] to %a[%c0] [64] : memref<?xf32> to !tile.buffer<64xf32, fragment>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, fragment> to memref<?xf32>
    }
  }
  return
}

// -----

// Attention: two tiles, loaded at different places of the iteration.
// CHECK-LABEL: func.func @attention
func.func @attention(%K: memref<?x64xf16>, %V: memref<?x64xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %q = tile.alloc "Q_shared" : !tile.buffer<64x64xf16, shared>
    %ks = tile.alloc "K_shared" : !tile.buffer<64x64xf16, shared>
    %vs = tile.alloc "V_shared" : !tile.buffer<64x64xf16, shared>
    %s = tile.alloc "scores" : !tile.buffer<64x64xf32, fragment>
    %p = tile.alloc "probs" : !tile.buffer<64x64xf16, fragment>
    %acc = tile.alloc "acc" : !tile.buffer<64x64xf32, fragment>
    // CHECK: loads of K_shared, V_shared run 1 iteration ahead in 2 slots
    // CHECK-SAME: order = array<i64: 0, 2, 3, 1, 4>, stage = array<i64: 0, 1, 1, 0, 1>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %K[%k, %c0] [64, 64] to %ks[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.gemm %q, %ks, %s {transpose_b, clear_accum} : !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
      tile.copy %s[%c0, %c0] [64, 64] to %p[%c0, %c0] [64, 64] : !tile.buffer<64x64xf32, fragment> to !tile.buffer<64x64xf16, fragment>
      tile.copy %V[%k, %c0] [64, 64] to %vs[%c0, %c0] [64, 64] : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.gemm %p, %vs, %acc : !tile.buffer<64x64xf16, fragment>, !tile.buffer<64x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----

// The user's schedule: only A runs ahead, by one iteration, issued behind the gemm.
// CHECK-LABEL: func.func @user_schedule
func.func @user_schedule(%A: memref<?x?xf16>, %B: memref<?x?xf16>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<32x64xf16, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<64x64xf32, fragment>
    // CHECK: loads of A_shared run 1 iteration ahead in 3 slots; not ahead: copy {{.*}}: the user's schedule keeps it
    // CHECK-SAME: order = array<i64: 2, 0, 1>, stage = array<i64: 0, 1, 1>
    tile.pipelined %c0 to %n stages(3) attributes {stage = array<i64: 0, 1, 1>, order = array<i64: 2, 0, 1>} {
    ^bb0(%k: i32):
      tile.copy %A[%c0, %k] [64, 32] to %a[%c0, %c0] [64, 32] : memref<?x?xf16> to !tile.buffer<64x32xf16, shared>
      tile.copy %B[%k, %c0] [32, 64] to %b[%c0, %c0] [32, 64] : memref<?x?xf16> to !tile.buffer<32x64xf16, shared>
      tile.gemm %a, %b, %acc : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
    }
  }
  return
}

// -----

// Two halves together fill the tile; a half alone does not.
// CHECK-LABEL: func.func @halves
func.func @halves(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(64) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    %b = tile.alloc "B_shared" : !tile.buffer<64xf32, shared>
    // CHECK: loads of A_shared run 1 iteration ahead in 2 slots; not ahead: {{.*}} may see elements of 'B_shared'
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k] [32] to %a[%c0] [32] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %A[%k] [32] to %a[%c32] [32] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %A[%k] [32] to %b[%c32] [32] : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
      tile.copy %b[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
  }
  return
}

// -----

// A producer role: TMA loads of a loop, on a target that has roles.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @producer(%A: memref<1024x1024xf16>, %m: memref<16xi32>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "producer" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %c64 = arith.constant 64 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      %b = tile.alloc "B_shared" : <64xf16, shared>
      // One slot is enough for a ring.
      // CHECK: tile.pipelined {{.*}} stages(1) attributes {choice = #tile.choice<tma, "a producer role loads A_shared into a ring of 1 slot; by the consumers: copy (line {{[0-9]+}}): it is no asynchronous copy", {not_ahead = ["copy (line {{[0-9]+}}): it is no asynchronous copy"], slots = 1 : i64}>}
      // CHECK: tile.copy %arg0{{.*}} to %A_shared{{.*}}tile.produce
      // CHECK-NOT: tile.produce
      tile.pipelined %c0 to %c8 stages(1) {
      ^bb0(%k: i32):
        %column = arith.muli %k, %c64 : i32
        tile.copy %A[%c0, %column] [128, 64] to %a[%c0, %c0] [128, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        tile.copy %A[%c0, %column] [1, 64] to %b[%c0] [64] {choice = #tile.choice<simt, "">} : memref<1024x1024xf16> to !tile.buffer<64xf16, shared>
        %v = tile.load %a[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        tile.print "v"(%v : f16)
      }
    }
    return
  }
}

// -----

// The place of a tile depends on what the kernel writes: no role, and the loop
// says why.
module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @written(%A: memref<1024x1024xf16>, %m: memref<16xi32>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "written" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.pipelined {{.*}}no producer role: no load of a pipelined loop can be left to it by TMA (copy (line {{[0-9]+}}): the producer role cannot compute its place: the kernel writes tensor '<unnamed>')
      // CHECK-NOT: tile.produce
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        %row = tile.load %m[%k] : memref<16xi32> -> i32
        tile.copy %A[%row, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        tile.store %k, %m[%k] : i32, memref<16xi32>
        %v = tile.load %a[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        tile.print "v"(%v : f16)
      }
    }
    return
  }
}

// -----

// The option of the user.
module attributes {tile.target = #tile.target<"sm_90a">, tile.options = #tile.options<{disable_warp_specialized = true}>} {
  func.func @disabled(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "disabled" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <128x64xf16, shared>
      // CHECK: tile.pipelined {{.*}}no producer role: disabled by disable_warp_specialized
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [128, 64] to %a[%c0, %c0] [128, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<128x64xf16, shared>
        %v = tile.load %a[%c0, %c0] : !tile.buffer<128x64xf16, shared> -> f16
        tile.print "v"(%v : f16)
      }
    }
    return
  }
}

// -----

// Computation ahead: step k makes the scores of tile k, then uses those of tile k - 1, then finishes those of tile k. The
// loads of both operands run ahead as in any loop.
// CHECK-LABEL: func.func @scores_ahead
// CHECK: %[[UPPER:.*]] = arith.addi %{{.*}}, %c1_i32
// CHECK: tile.pipelined %{{.*}} to %[[UPPER]] stages(2)
// CHECK-SAME: as stage and order say, gemm (line {{[0-9]+}}), parallel (line {{[0-9]+}}) run ahead of the rest of the iteration
// CHECK-SAME: loads of K_shared, V_shared run 1 iteration ahead in 2 slots
// CHECK: ^bb0(%[[STEP:.*]]: i32):
// CHECK: %[[UNFINISHED:.*]] = arith.cmpi slt, %[[STEP]],
// CHECK: %[[PREVIOUS:.*]] = arith.subi %[[STEP]], %c1_i32
// CHECK: %[[BEGUN:.*]] = arith.cmpi sge, %[[PREVIOUS]],
// CHECK: scf.if %[[UNFINISHED]] {
// CHECK: tile.copy %{{.*}}[%[[STEP]], {{.*}} {{.*}}tile.ahead = 1
// CHECK: tile.gemm
// CHECK: scf.if %[[BEGUN]] {
// CHECK: tile.copy %{{.*}}[%[[PREVIOUS]], {{.*}} {{.*}}tile.ahead = 1
// CHECK: tile.gemm
// CHECK: scf.if %[[UNFINISHED]] {
// CHECK: tile.parallel
func.func @scores_ahead(%K: memref<?x32xf16>, %V: memref<?x32xf16>, %O: memref<32x32xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %q = tile.alloc "Q_shared" : !tile.buffer<32x32xf16, shared>
    %k = tile.alloc "K_shared" : !tile.buffer<32x32xf16, shared>
    %v = tile.alloc "V_shared" : !tile.buffer<32x32xf16, shared>
    %s = tile.alloc "scores" : !tile.buffer<32x32xf32, fragment>
    %p = tile.alloc "weights" : !tile.buffer<32x32xf16, fragment>
    %acc = tile.alloc "acc" : !tile.buffer<32x32xf32, fragment>
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: -1, 0, 0, -1, 1>, order = array<i64: -1, 0, 2, -1, 1>} {
    ^bb0(%i: i32):
      tile.copy %K[%i, %c0] [32, 32] to %k[%c0, %c0] [32, 32] {choice = #tile.choice<cp_async, "test">} : memref<?x32xf16> to !tile.buffer<32x32xf16, shared>
      tile.gemm %q, %k, %s {clear_accum, transpose_b} : !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf32, fragment>
      tile.parallel [32, 32] {
      ^bb0(%r: i32, %c: i32):
        %x = tile.load %s[%r, %c] : !tile.buffer<32x32xf32, fragment> -> f32
        %y = arith.truncf %x : f32 to f16
        tile.store %y, %p[%r, %c] : f16, !tile.buffer<32x32xf16, fragment>
      }
      tile.copy %V[%i, %c0] [32, 32] to %v[%c0, %c0] [32, 32] {choice = #tile.choice<cp_async, "test">} : memref<?x32xf16> to !tile.buffer<32x32xf16, shared>
      tile.gemm %p, %v, %acc : !tile.buffer<32x32xf16, fragment>, !tile.buffer<32x32xf16, shared>, !tile.buffer<32x32xf32, fragment>
    }
    tile.copy %acc[%c0, %c0] [32, 32] to %O[%c0, %c0] [32, 32] : !tile.buffer<32x32xf32, fragment> to memref<32x32xf32>
  }
  return
}

// -----

// What goes on by itself does not run ahead together with something else that writes the same elements; in two
// branches of one condition it does.
// CHECK-LABEL: func.func @written_twice
// CHECK: tile.pipelined
// CHECK-SAME: nothing runs ahead: copy (line {{[0-9]+}}): 'a' is also written by fill (line {{[0-9]+}}), which would have to wait for copy (line {{[0-9]+}})
// CHECK: tile.pipelined
// CHECK-SAME: loads of a run 2 iterations ahead in 3 slots
func.func @written_twice(%A: memref<?x64xf16>, %B: memref<64x32xf32>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %two = arith.constant 2.0 : f16
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.fill %a, %two : !tile.buffer<64x64xf16, shared>, f16
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
    }
  }
  tile.kernel "l" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %two = arith.constant 2.0 : f16
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      %first = arith.cmpi slt, %k, %c4 : i32
      scf.if %first {
        tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      } else {
        tile.fill %a, %two : !tile.buffer<64x64xf16, shared>, f16
      }
      scf.if %first {
        tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
      }
    }
  }
  return
}

// -----

// The same elements again and again in a loop inside; other elements each time are fine.
// CHECK-LABEL: func.func @written_in_a_loop
// CHECK: tile.pipelined
// CHECK-SAME: 'a' is written again and again by copy (line {{[0-9]+}}) in a loop inside
// CHECK: tile.pipelined
// CHECK-SAME: loads of a run 1 iteration ahead in 2 slots
func.func @written_in_a_loop(%A: memref<?x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      scf.for %j = %c0 to %c2 step %c1 : i32 {
        tile.copy %A[%j, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      }
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
    }
  }
  tile.kernel "l" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.copy %a[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
    }
  }
  return
}

// -----

// Behind the loop, slots hold what their iteration wrote, and nothing else.
// CHECK-LABEL: func.func @partly_written
// CHECK: tile.pipelined
// CHECK-SAME: 'a' is also used by copy (line {{[0-9]+}}) outside of the loop, which may see elements that the last iteration did not write
func.func @partly_written(%A: memref<?x64xf16>, %B: memref<64x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %two = arith.constant 2.0 : f16
    %a = tile.alloc "a" : !tile.buffer<64x64xf16, shared>
    tile.fill %a, %two : !tile.buffer<64x64xf16, shared>, f16
    tile.pipelined %c0 to %n stages(2) {
    ^bb0(%k: i32):
      tile.copy %A[%k, %c0] [32, 64] to %a[%c0, %c0] [32, 64] {choice = #tile.choice<cp_async, "">} : memref<?x64xf16> to !tile.buffer<64x64xf16, shared>
    }
    tile.copy %a[%c0, %c0] [64, 64] to %B[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<64x64xf16>
  }
  return
}

// -----

// What a tile of a persistent kernel loads: a producer role starts it while the tile before is worked on. Loads of the loop inside are
// no matter of the loop around.
module attributes {tile.target = #tile.target<"sm_90a">} {
// CHECK-LABEL: func.func @tile_by_producer
// CHECK: tile.pipelined
// CHECK-SAME: stages(1) attributes {choice = #tile.choice<tma, "a producer role loads q into a ring of 1 slot", {slots = 1 : i64}>}
// CHECK: tile.copy %arg0{{.*}}tile.produce
// CHECK: tile.pipelined
// CHECK-SAME: "a producer role loads k into a ring of 2 slots"
func.func @tile_by_producer(%A: memref<1024x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %q = tile.alloc "q" : !tile.buffer<64x64xf16, shared>
    %k = tile.alloc "k" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    scf.for %tile = %c0 to %n step %c1 : i32 {
      tile.pipelined %c0 to %c1 stages(1) {
      ^bb0(%once: i32):
        tile.copy %A[%tile, %c0] [64, 64] to %q[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<1024x64xf16> to !tile.buffer<64x64xf16, shared>
        tile.pipelined %c0 to %n stages(2) {
        ^bb0(%step: i32):
          tile.copy %A[%step, %c0] [64, 64] to %k[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "">} : memref<1024x64xf16> to !tile.buffer<64x64xf16, shared>
          tile.copy %k[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
        }
        tile.copy %q[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
      }
    }
  }
  return
}
}

// -----

// Without a producer role one iteration has nothing to load ahead for.
// CHECK-LABEL: func.func @tile_by_consumers
// CHECK: tile.pipelined
// CHECK-SAME: #tile.choice<serial, "it has one iteration, and no other one to load for{{.*}}", {slots = 1 : i64}>
func.func @tile_by_consumers(%A: memref<1024x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %q = tile.alloc "q" : !tile.buffer<64x64xf16, shared>
    %f = tile.alloc "f" : !tile.buffer<64x64xf16, fragment>
    tile.pipelined %c0 to %c1 stages(2) {
    ^bb0(%once: i32):
      tile.copy %A[%bx, %c0] [64, 64] to %q[%c0, %c0] [64, 64] {choice = #tile.choice<cp_async, "">} : memref<1024x64xf16> to !tile.buffer<64x64xf16, shared>
      tile.copy %q[%c0, %c0] [64, 64] to %f[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to !tile.buffer<64x64xf16, fragment>
    }
  }
  return
}

// -----

// What a pipelined loop inside loads is not the outer loop's to load ahead, though nobody reads it in a step.
// CHECK-LABEL: func.func @inside_of_another_loop
// CHECK: tile.pipelined
// CHECK-SAME: #tile.choice<serial, "nothing runs ahead: no load fills shared memory in the loop
// CHECK-NOT: tile.ahead
func.func @inside_of_another_loop(%A: memref<1024x64xf16>, %B: memref<64x64xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %q = tile.alloc "q" : !tile.buffer<64x64xf16, shared>
    tile.pipelined %c0 to %n stages(4) {
    ^bb0(%i: i32):
      tile.pipelined %c0 to %n stages(1) {
      ^bb0(%k: i32):
        tile.copy %A[%bx, %c0] [64, 64] to %q[%c0, %c0] [64, 64] {choice = #tile.choice<simt, "">} : memref<1024x64xf16> to !tile.buffer<64x64xf16, shared>
      }
    }
    tile.copy %q[%c0, %c0] [64, 64] to %B[%c0, %c0] [64, 64] : !tile.buffer<64x64xf16, shared> to memref<64x64xf16>
  }
  return
}

// -----

// Nothing is loaded ahead of a wait for earlier launches, which may have written it.
// CHECK-LABEL: func.func @waits
func.func @waits(%A: memref<?xf32>, %C: memref<?xf32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  tile.kernel "waits" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc "A_shared" : !tile.buffer<64xf32, shared>
    // CHECK: stages(3) {{.*}}not_ahead = [{{.*}}dependency_wait{{.*}} in the loop waits for what earlier launches have written
    // CHECK-NOT: tile.ahead
    tile.pipelined %c0 to %n stages(3) {
    ^bb0(%k: i32):
      tile.dependency_wait
      tile.copy %A[%k] [64] to %a[%c0] [64] {choice = #tile.choice<cp_async, "16 bytes">} : memref<?xf32> to !tile.buffer<64xf32, shared>
      tile.copy %a[%c0] [64] to %C[%k] [64] : !tile.buffer<64xf32, shared> to memref<?xf32>
    }
    // CHECK: return
  }
  return
}

// -----

// The thread of a producer would have to know when to wait.
module attributes {tile.target = #tile.target<"sm_90a">} {
  // CHECK-LABEL: func.func @waits_by_thread
  func.func @waits_by_thread(%A: memref<1024x64xf16>, %C: memref<?xf16>, %n: i32) {
    %c1 = arith.constant 1 : i32
    tile.kernel "waits_by_thread" grid(%c1) threads(128) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : !tile.buffer<64x64xf16, shared>
      %t = tile.thread_id 0 : i32
      %first = arith.cmpi eq, %t, %c0 : i32
      scf.if %first {
        tile.dependency_wait
      }
      // CHECK: no producer role: the producer role would have to wait for earlier launches, too, but of dependency_wait{{.*}}, its condition cannot be known ahead: it depends on the thread
      tile.pipelined %c0 to %n stages(2) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [64, 64] to %a[%c0, %c0] [64, 64] {choice = #tile.choice<tma, "by hand">} : memref<1024x64xf16> to !tile.buffer<64x64xf16, shared>
        %x = tile.load %a[%c0, %c0] : !tile.buffer<64x64xf16, shared> -> f16
        tile.print "x"(%x : f16)
      }
    }
    return
  }
}
