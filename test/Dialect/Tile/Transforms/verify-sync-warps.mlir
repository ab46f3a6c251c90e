// Memory of single warps: its lanes meet around what one of them does.
// RUN: tile-opt %s -tile-verify-sync -verify-diagnostics=only-expected

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#rows = #tile.fragment_layout<[64, 64], threads = [(4, 1, 2), (8, 0, 1), (4, 0, 16)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8)]>
!staging = !tile.buffer<64x64xf16, shared, #shared>
!result = !tile.buffer<64x64xf16, fragment>
#consumer = #tile.role<consumer, first = 0, warps = 4>
#tma = #tile.choice<tma, "">

// Each warp stores what it has written, and waits before it writes again.
func.func @warps_store(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "warps_store" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f = tile.alloc "f" : !result
    %s = tile.alloc "staging" {tile.shared_offset = 0 : i64} : !staging
    tile.warp_specialize [#consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
        tile.warp_sync
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !result to !staging
        tile.warp_sync
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma, tile.warp_layout = #rows} : !staging to memref<?x64xf16>
        tile.bulk_commit {tile.per_warp}
      }
      tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
    }
  }
  return
}

// A lane stores what other lanes of its warp may still write.
func.func @stores_early(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "stores_early" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f = tile.alloc "f" : !result
    %s = tile.alloc "staging" {tile.shared_offset = 0 : i64} : !staging
    tile.warp_specialize [#consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
        tile.warp_sync
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !result to !staging
        // expected-error@below {{early read: a lane of consumer stores staging while others may still write it: a tile.warp_sync is missing}}
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma, tile.warp_layout = #rows} : !staging to memref<?x64xf16>
        tile.bulk_commit {tile.per_warp}
      }
      tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
    }
  }
  return
}

// Lanes write again while one of them still waits for the store.
func.func @writes_early(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "writes_early" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f = tile.alloc "f" : !result
    %s = tile.alloc "staging" {tile.shared_offset = 0 : i64} : !staging
    tile.warp_specialize [#consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
        // expected-error@below {{early overwrite: lanes of consumer write staging before one that waits for its stores is done: a tile.warp_sync is missing}}
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !result to !staging
        tile.warp_sync
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma, tile.warp_layout = #rows} : !staging to memref<?x64xf16>
        tile.bulk_commit {tile.per_warp}
      }
      tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
    }
  }
  return
}

// Nobody waits before the buffer is written again.
func.func @no_wait(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "no_wait" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f = tile.alloc "f" : !result
    %s = tile.alloc "staging" {tile.shared_offset = 0 : i64} : !staging
    tile.warp_specialize [#consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        // expected-error@below {{early overwrite: copy of consumer writes staging while copy_async of consumer may still read it}}
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !result to !staging
        tile.warp_sync
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma, tile.warp_layout = #rows} : !staging to memref<?x64xf16>
        tile.bulk_commit {tile.per_warp}
      }
      tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
    }
  }
  return
}

// One thread of the block waits for the stores of all warps.
func.func @one_wait(%B: memref<?x64xf16>, %n: i32) {
  tile.kernel "one_wait" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %f = tile.alloc "f" : !result
    %s = tile.alloc "staging" {tile.shared_offset = 0 : i64} : !staging
    tile.warp_specialize [#consumer] {
      scf.for %k = %c0 to %n step %one : i32 {
        tile.bulk_wait {pending = 0 : i64, read}
        tile.warp_sync
        // expected-error@below {{early overwrite: copy of consumer writes staging while copy_async of consumer may still read it}}
        tile.copy %f[%c0, %c0] [64, 64] to %s[%c0, %c0] [64, 64] {tile.warp_layout = #rows} : !result to !staging
        tile.warp_sync
        tile.copy_async %s[%c0, %c0] [64, 64] to %B[%k, %c0] [64, 64] {choice = #tma, tile.warp_layout = #rows} : !staging to memref<?x64xf16>
        tile.bulk_commit {tile.per_warp}
      }
      tile.bulk_wait {pending = 0 : i64, read, tile.per_warp}
    }
  }
  return
}
