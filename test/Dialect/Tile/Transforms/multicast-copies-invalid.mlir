// The pass rejects nothing: what cannot be shared stays a load of one block. A
// copy that is marked against its rules is found by tile-insert-mbarriers.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-multicast-copies -tile-insert-mbarriers

#layout = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#producer = #tile.role<producer, first = 0, warps = 4, single = true>
#consumer = #tile.role<consumer, first = 4, warps = 4>
func.func @axis(%A: memref<1024x1024xf16>) {
  %c8 = arith.constant 8 : i32
  tile.kernel "axis" grid(%c8, %c8) threads(128) attributes {cluster = array<i64: 2>} {
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a = tile.alloc "A_shared" {tile.slots = 1 : i64} : <1x64x64xf16, shared, #layout>
    %ring = tile.alloc "ring" {tile.ring = 1 : i64} : <2xi32, local>
    tile.warp_specialize [#producer, #consumer] {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        %v = tile.subview %a[%slot, %c0, %c0] [1, 64, 64] : <1x64x64xf16, shared, #layout> to <64x64xf16, shared>
        // expected-error@below {{is shared along axes that the cluster does not have, or not done by TMA}}
        tile.copy %A[%bx, %c0] [64, 64] to %v[%c0, %c0] [64, 64] {tile.produce, choice = #tile.choice<tma, "", {multicast = array<i64: 1>}>} : memref<1024x1024xf16> to !tile.buffer<64x64xf16, shared>
        tile.store %slot, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
    }, {
      scf.for %k = %c0 to %c8 step %c1 : i32 {
        %slot = tile.load %ring[%c0] : !tile.buffer<2xi32, local> -> i32
        tile.store %slot, %ring[%c0] : i32, !tile.buffer<2xi32, local>
      } {tile.pipeline = #tile.pipeline<ring, slots = 1, ahead = 0>}
    }
  }
  return
}
