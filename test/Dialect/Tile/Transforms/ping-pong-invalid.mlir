// The pass rejects nothing: programs whose tiles two warp groups cannot share keep one role of consumers, and say why.
// RUN: tile-opt %s --tile-ping-pong --split-input-file | FileCheck %s

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// Two warp groups on one tile.
// CHECK-LABEL: func.func @threads
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: each of two warp groups has a tile of its own, so that T.Kernel(threads=128) is needed, not 256">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @threads(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(256) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 8>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// A fragment that one tile leaves to the next.
// CHECK-LABEL: func.func @carries
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: copy (line {{.*}}) may read what an earlier tile left">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @carries(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// A tensor that is read and written.
// CHECK-LABEL: func.func @reads
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: copy (line {{.*}}) reads a tensor that copy (line {{.*}}) writes">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @reads(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %a[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// Work that is done once per block.
// CHECK-LABEL: func.func @around
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: copy (line {{.*}}) is outside of the loop over tiles">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @around(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// No producer.
// CHECK-LABEL: func.func @no_roles
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: there is no producer role">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @no_roles(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
  }
  return
}

// -----

#rows = #tile.fragment_layout<[64, 8], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8)]>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 8, swizzle = 0>

// Registers that the program asks for are enough for one group, but not for two.
// CHECK-LABEL: func.func @registers
// CHECK: tile.loop_choice = #tile.choice<tma, "a ring of 2 slots; no ping-pong: the roles of the kernel ask for 66560 registers together, and 384 threads have 64512">
// CHECK-NOT: tile.ping_pong
// CHECK: return
func.func @registers(%a: memref<64x256xf32>, %c: memref<64x256xf32>) {
  %c1 = arith.constant 1 : i32
  tile.kernel "k" grid(%c1) threads(128) attributes {tile.role_registers = array<i64: 24, 248>} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %tiles = arith.constant 8 : i32
    %steps = arith.constant 4 : i32
    %ring = tile.alloc "ring" {tile.ring = 2 : i64} : !tile.buffer<2xi32, local>
    %tile = tile.alloc "tile" {tile.slots = 2 : i64} : !tile.buffer<2x64x8xf32, shared, #slots>
    %staging = tile.alloc "staging" : !tile.buffer<64x8xf32, shared>
    %sum = tile.alloc "sum" : !tile.buffer<64x8xf32, fragment, #rows>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>, #tile.role<consumer, first = 4, warps = 4>] {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %a[%c0, %c0] [64, 8] to %view[%c0, %c0] [64, 8] {tile.produce, choice = #tile.choice<tma, "by TMA", {box = [8, 64]}>} : memref<64x256xf32> to !tile.buffer<64x8xf32, shared>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
      } {tile.ping_pong}
    }, {
      tile.store %c0, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      tile.store %c0, %ring[%one] : i32, !tile.buffer<2xi32, local>
      scf.for %t = %bx to %tiles step %one : i32 {
        %zero = arith.constant 0.0 : f32
        tile.fill %sum, %zero : !tile.buffer<64x8xf32, fragment, #rows>, f32
        scf.for %k = %c0 to %steps step %one : i32 {
          %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
          %view = tile.subview %tile[%slot, %c0, %c0] [1, 64, 8] : !tile.buffer<2x64x8xf32, shared, #slots> to !tile.buffer<64x8xf32, shared>
          tile.copy %view[%c0, %c0] [64, 8] to %sum[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to !tile.buffer<64x8xf32, fragment, #rows>
          %next = arith.xori %slot, %one : i32
          tile.store %next, %ring[%c0] : i32, !tile.buffer<2xi32, local>
        } {tile.loop_choice = #tile.choice<tma, "a ring of 2 slots">, tile.pipeline = #tile.pipeline<ring, slots = 2, ahead = 0>}
        tile.copy %sum[%c0, %c0] [64, 8] to %staging[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, fragment, #rows> to !tile.buffer<64x8xf32, shared>
        tile.copy %staging[%c0, %c0] [64, 8] to %c[%c0, %c0] [64, 8] : !tile.buffer<64x8xf32, shared> to memref<64x256xf32>
      } {tile.ping_pong}
    }
  }
  return
}
