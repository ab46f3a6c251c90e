// 128 x 128 x 32 f16 gemm on 128 threads with three cp.async stages, as it is after tile-allocate-memory.
#acc = #tile.fragment_layout<[128, 128], threads = [(4, 1, 2), (8, 0, 1), (2, 0, 64), (2, 1, 64)], registers = [(2, 1, 1), (2, 0, 8), (8, 1, 8), (4, 0, 16)]>
#a = #tile.shared_layout<order = [2, 1, 0], panel = 32, swizzle = 64>
#b = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>
#mma = #tile.choice<mma_sync, "sm_80 has mma.sync", {instruction = [16, 8, 16], warps = [2, 2, 1]}>
#async = #tile.choice<cp_async, "16 bytes", {bytes = 16 : i64}>
#simt = #tile.choice<simt, "4 bytes", {bytes = 4 : i64}>
module attributes {tile.target = #tile.target<"sm_80">} {
  func.func @gemm(%A: memref<?x?xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<symbol("K")>], strides = [], alignment = 16>},
                  %B: memref<?x?xf16> {tile.argument = #tile.argument<"B", tensor, shape = [#tile.expr<symbol("K")>, #tile.expr<symbol("N")>], strides = [], alignment = 16>},
                  %C: memref<?x?xf16> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<symbol("N")>], strides = [], alignment = 16>})
      attributes {tile.outputs = array<i64: 2>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : i32
    %c128 = arith.constant 128 : i32
    %c31 = arith.constant 31 : i32
    %c32 = arith.constant 32 : i32
    %mi = memref.dim %A, %c0 : memref<?x?xf16>
    %m = arith.index_cast %mi : index to i32
    %ni = memref.dim %B, %c1 : memref<?x?xf16>
    %n = arith.index_cast %ni : index to i32
    %ki = memref.dim %A, %c1 : memref<?x?xf16>
    %k = arith.index_cast %ki : index to i32
    %m1 = arith.addi %m, %c127 : i32
    %gm = arith.divsi %m1, %c128 : i32
    %n1 = arith.addi %n, %c127 : i32
    %gn = arith.divsi %n1, %c128 : i32
    %k1 = arith.addi %k, %c31 : i32
    %trips = arith.divsi %k1, %c32 : i32
    tile.kernel "gemm" grid(%gn, %gm) threads(128) attributes {tile.shared_bytes = 49152 : i64} {
    ^bb0(%bx: i32, %by: i32):
      %z = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %three = arith.constant 3 : i32
      %tile_m = arith.constant 128 : i32
      %tile_k = arith.constant 32 : i32
      %zero = arith.constant 0.0 : f32
      %as = tile.alloc "A_shared" {tile.shared_offset = 0 : i64} : !tile.buffer<3x128x32xf16, shared, #a>
      %bs = tile.alloc "B_shared" {tile.shared_offset = 24576 : i64} : !tile.buffer<3x32x128xf16, shared, #b>
      %acc = tile.alloc "C_local" : !tile.buffer<128x128xf32, fragment, #acc>
      %row = arith.muli %by, %tile_m : i32
      %col = arith.muli %bx, %tile_m : i32
      tile.fill %acc, %zero : !tile.buffer<128x128xf32, fragment, #acc>, f32
      %p0 = arith.cmpi sgt, %trips, %z : i32
      scf.if %p0 {
        %as0 = tile.subview %as[%z, %z, %z] [1, 128, 32] : !tile.buffer<3x128x32xf16, shared, #a> to !tile.buffer<128x32xf16, shared>
        %bs0 = tile.subview %bs[%z, %z, %z] [1, 32, 128] : !tile.buffer<3x32x128xf16, shared, #b> to !tile.buffer<32x128xf16, shared>
        tile.copy_async %A[%row, %z] [128, 32] to %as0[%z, %z] [128, 32] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
        tile.copy_async %B[%z, %col] [32, 128] to %bs0[%z, %z] [32, 128] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<32x128xf16, shared>
      }
      tile.async_commit
      %p1 = arith.cmpi sgt, %trips, %one : i32
      scf.if %p1 {
        %as1 = tile.subview %as[%one, %z, %z] [1, 128, 32] : !tile.buffer<3x128x32xf16, shared, #a> to !tile.buffer<128x32xf16, shared>
        %bs1 = tile.subview %bs[%one, %z, %z] [1, 32, 128] : !tile.buffer<3x32x128xf16, shared, #b> to !tile.buffer<32x128xf16, shared>
        tile.copy_async %A[%row, %tile_k] [128, 32] to %as1[%z, %z] [128, 32] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
        tile.copy_async %B[%tile_k, %col] [32, 128] to %bs1[%z, %z] [32, 128] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<32x128xf16, shared>
      }
      tile.async_commit
      %last = arith.subi %trips, %two : i32
      scf.for %i = %z to %trips step %one iter_args(%slot = %z, %issue = %two) -> (i32, i32) : i32 {
        tile.async_wait {pending = 1 : i64}
        tile.sync_threads
        %more = arith.cmpi slt, %i, %last : i32
        scf.if %more {
          %next = arith.addi %i, %two : i32
          %kk = arith.muli %next, %tile_k : i32
          %asn = tile.subview %as[%issue, %z, %z] [1, 128, 32] : !tile.buffer<3x128x32xf16, shared, #a> to !tile.buffer<128x32xf16, shared>
          %bsn = tile.subview %bs[%issue, %z, %z] [1, 32, 128] : !tile.buffer<3x32x128xf16, shared, #b> to !tile.buffer<32x128xf16, shared>
          tile.copy_async %A[%row, %kk] [128, 32] to %asn[%z, %z] [128, 32] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
          tile.copy_async %B[%kk, %col] [32, 128] to %bsn[%z, %z] [32, 128] {bounds = #tile<bounds predicated>, choice = #async} : memref<?x?xf16> to !tile.buffer<32x128xf16, shared>
        }
        tile.async_commit
        %asi = tile.subview %as[%slot, %z, %z] [1, 128, 32] : !tile.buffer<3x128x32xf16, shared, #a> to !tile.buffer<128x32xf16, shared>
        %bsi = tile.subview %bs[%slot, %z, %z] [1, 32, 128] : !tile.buffer<3x32x128xf16, shared, #b> to !tile.buffer<32x128xf16, shared>
        tile.gemm %asi, %bsi, %acc {choice = #mma} : !tile.buffer<128x32xf16, shared>, !tile.buffer<32x128xf16, shared>, !tile.buffer<128x128xf32, fragment, #acc>
        %s1 = arith.addi %slot, %one : i32
        %sw = arith.cmpi eq, %s1, %three : i32
        %slot_next = arith.select %sw, %z, %s1 : i32
        %i1 = arith.addi %issue, %one : i32
        %iw = arith.cmpi eq, %i1, %three : i32
        %issue_next = arith.select %iw, %z, %i1 : i32
        scf.yield %slot_next, %issue_next : i32, i32
      }
      tile.copy %acc[%z, %z] [128, 128] to %C[%row, %col] [128, 128] {bounds = #tile<bounds predicated>, choice = #simt} : !tile.buffer<128x128xf32, fragment, #acc> to memref<?x?xf16>
    }
    return
  }
}
