// A warp-specialised GEMM as the passes above write it: one producer warpgroup
// (one thread issues TMA loads into a ring of four stages), two consumer
// warpgroups of 64 x 128 each, epilogue through stmatrix and TMA stores. It
// assembles without spills and without notes of ptxas.
// RUN: tile-opt %s --tile-pipeline="from=tile-outline-kernels to=tile-gpu-to-nvvm" -o %t.nvvm.mlir
// RUN: filecheck %s --input-file=%t.nvvm.mlir
// RUN: tile-translate %t.nvvm.mlir --tile-to-ptx -o %t.ptx
// RUN: filecheck %s --check-prefix=PTX --input-file=%t.ptx
// REQUIRES: ptxas
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | filecheck %s --check-prefix=PTXAS

// CHECK: tensor_maps = [#tile.tensor_map<argument = 0
// CHECK: llvm.func @gemm(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: nvvm.reqntid = array<i32: 384, 1, 1>

// The main loop stays one loop with the four wgmma of a stage.
// PTX: .reqntid 384
// PTX: .minnctapersm 1
// PTX: setmaxnreg.inc.sync.aligned.u32 232;
// PTX: .pragma "nounroll";
// PTX-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// PTX-NOT: wgmma.mma_async
// PTX: stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: setmaxnreg.dec.sync.aligned.u32 40;
// PTX: .pragma "nounroll";
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes

// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}
// PTXAS: Compiling entry function 'gemm'
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}
// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}

#f16 = #tile_gpu<matrix_type f16>

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @gemm(%A: memref<?x?xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<symbol("K")>], strides = [], alignment = 16>},
                  %B: memref<?x?xf16> {tile.argument = #tile.argument<"B", tensor, shape = [#tile.expr<symbol("N")>, #tile.expr<symbol("K")>], strides = [], alignment = 16>},
                  %C: memref<?x?xf16> {tile.argument = #tile.argument<"C", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<symbol("N")>], strides = [], alignment = 16>})
      attributes {tile.outputs = array<i64: 2>} {
    %i0 = arith.constant 0 : index
    %i1 = arith.constant 1 : index
    %tile = arith.constant 128 : i32
    %mi = memref.dim %A, %i0 : memref<?x?xf16>
    %ki = memref.dim %A, %i1 : memref<?x?xf16>
    %ni = memref.dim %B, %i0 : memref<?x?xf16>
    %m = arith.index_cast %mi : index to i32
    %n = arith.index_cast %ni : index to i32
    %k = arith.index_cast %ki : index to i32
    %gm = arith.ceildivsi %m, %tile : i32
    %gn = arith.ceildivsi %n, %tile : i32
    tile.kernel "gemm" grid(%gn, %gm) threads(384) attributes {tile.shared_bytes = 163904 : i64} {
    ^bb0(%bx: i32, %by: i32):
      %false = arith.constant false
      %true = arith.constant true
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %c7 = arith.constant 7 : i32
      %c8 = arith.constant 8 : i32
      %c15 = arith.constant 15 : i32
      %c16 = arith.constant 16 : i32
      %c32 = arith.constant 32 : i32
      %c63 = arith.constant 63 : i32
      %c64 = arith.constant 64 : i32
      %c128 = arith.constant 128 : i32
      // Stage s: A at 32768 s, B 16384 later. Staging of the epilogue: 2048 bytes
      // per warp and 64 columns from 131072; full and empty barriers from 163840.
      %stage_bytes = arith.constant 32768 : i32
      %a_bytes = arith.constant 16384 : i32
      %staging = arith.constant 131072 : i32
      %full = arith.constant 163840 : i32
      %empty = arith.constant 163872 : i32
      %mapA = tile_gpu.tensor_map %A <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x128xf16>
      %mapB = tile_gpu.tensor_map %B <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 128], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x128xf16>
      %mapC = tile_gpu.tensor_map %C <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 16], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x16xf16>
      %t = tile_gpu.thread_id : i32
      %lane = arith.remui %t, %c32 : i32
      %warp = tile_gpu.warp_id : i32
      %group = arith.divui %warp, %c4 : i32
      %row = arith.muli %by, %c128 : i32
      %col = arith.muli %bx, %c128 : i32
      %kpad = arith.addi %k, %c63 : i32
      %steps = arith.divui %kpad, %c64 : i32

      %first = arith.cmpi eq, %warp, %c0 : i32
      scf.if %first {
        %e = tile_gpu.elect : i1
        scf.if %e {
          tile_gpu.tma_prefetch_map %mapA : !tile_gpu.tensor_map<64x128xf16>
          tile_gpu.tma_prefetch_map %mapB : !tile_gpu.tensor_map<64x128xf16>
          tile_gpu.tma_prefetch_map %mapC : !tile_gpu.tensor_map<64x16xf16>
          scf.for %s = %c0 to %c4 step %c1 : i32 {
            %o = arith.muli %s, %c8 : i32
            %f = arith.addi %full, %o : i32
            %g = arith.addi %empty, %o : i32
            tile_gpu.mbarrier_init %f {count = 1 : i64}
            tile_gpu.mbarrier_init %g {count = 8 : i64}
          }
          tile_gpu.mbarrier_init_fence
        }
      }
      tile_gpu.barrier

      %producer = arith.cmpi eq, %group, %c0 : i32
      scf.if %producer {
        tile_gpu.set_max_registers decrease 40
        %issues = arith.cmpi eq, %warp, %c0 : i32
        scf.if %issues {
          %e = tile_gpu.elect : i1
          scf.if %e {
            // A fresh barrier passes a wait for parity 1.
            %end:2 = scf.for %i = %c0 to %steps step %c1 iter_args(%s = %c0, %ph = %c1) -> (i32, i32) : i32 {
              %o = arith.muli %s, %c8 : i32
              %f = arith.addi %full, %o : i32
              %g = arith.addi %empty, %o : i32
              %a = arith.muli %s, %stage_bytes : i32
              %b = arith.addi %a, %a_bytes : i32
              %x = arith.muli %i, %c64 : i32
              tile_gpu.mbarrier_wait %g, %ph
              tile_gpu.mbarrier_expect_tx %f, %stage_bytes
              tile_gpu.tma_load %mapA[%x, %row] to %a, %f : !tile_gpu.tensor_map<64x128xf16>
              tile_gpu.tma_load %mapB[%x, %col] to %b, %f : !tile_gpu.tensor_map<64x128xf16>
              %s1 = arith.addi %s, %c1 : i32
              %wrap = arith.cmpi eq, %s1, %c4 : i32
              %sn = arith.select %wrap, %c0, %s1 : i32
              %w = arith.extui %wrap : i1 to i32
              %pn = arith.xori %ph, %w : i32
              scf.yield %sn, %pn : i32, i32
            }
          }
        }
      } else {
        tile_gpu.set_max_registers increase 232
        %consumer = arith.subi %group, %c1 : i32
        %a_rows = arith.constant 8192 : i32
        %own = arith.muli %consumer, %a_rows : i32
        %leader = arith.cmpi eq, %lane, %c0 : i32
        %none = ub.poison : vector<64xf32>
        %r:4 = scf.for %i = %c0 to %steps step %c1 iter_args(%s = %c0, %ph = %c0, %prev = %c0, %acc = %none) -> (i32, i32, i32, vector<64xf32>) : i32 {
          %o = arith.muli %s, %c8 : i32
          %f = arith.addi %full, %o : i32
          %stage = arith.muli %s, %stage_bytes : i32
          %a = arith.addi %stage, %own : i32
          %b = arith.addi %stage, %a_bytes : i32
          tile_gpu.mbarrier_wait %f, %ph
          %accumulate = arith.cmpi ne, %i, %c0 : i32
          %da0 = tile_gpu.wgmma_descriptor %a {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %db0 = tile_gpu.wgmma_descriptor %b {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %da1 = tile_gpu.wgmma_descriptor %a + 32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %db1 = tile_gpu.wgmma_descriptor %b + 32 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %da2 = tile_gpu.wgmma_descriptor %a + 64 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %db2 = tile_gpu.wgmma_descriptor %b + 64 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %da3 = tile_gpu.wgmma_descriptor %a + 96 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          %db3 = tile_gpu.wgmma_descriptor %b + 96 {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
          tile_gpu.wgmma_fence
          %q0 = tile_gpu.wgmma %da0, %db0, %acc scale_d %accumulate {shape = array<i64: 64, 128, 16>, a_type = #f16, b_type = #f16} : i64, vector<64xf32>
          %q1 = tile_gpu.wgmma %da1, %db1, %q0 {shape = array<i64: 64, 128, 16>, a_type = #f16, b_type = #f16} : i64, vector<64xf32>
          %q2 = tile_gpu.wgmma %da2, %db2, %q1 {shape = array<i64: 64, 128, 16>, a_type = #f16, b_type = #f16} : i64, vector<64xf32>
          %q3 = tile_gpu.wgmma %da3, %db3, %q2 {shape = array<i64: 64, 128, 16>, a_type = #f16, b_type = #f16} : i64, vector<64xf32>
          tile_gpu.wgmma_commit
          // The batch before this one is complete: release its stage.
          tile_gpu.wgmma_wait 1
          %release = arith.andi %leader, %accumulate : i1
          %po = arith.muli %prev, %c8 : i32
          %g = arith.addi %empty, %po : i32
          tile_gpu.mbarrier_arrive %g if %release
          %s1 = arith.addi %s, %c1 : i32
          %wrap = arith.cmpi eq, %s1, %c4 : i32
          %sn = arith.select %wrap, %c0, %s1 : i32
          %w = arith.extui %wrap : i1 to i32
          %pn = arith.xori %ph, %w : i32
          scf.yield %sn, %pn, %s, %q3 : i32, i32, i32, vector<64xf32>
        }
        %sum = tile_gpu.wgmma_wait 0 (%r#3) : vector<64xf32>
        // Rows of this warp, in two chunks of 64 columns.
        %inner = arith.remui %warp, %c4 : i32
        %w4 = arith.muli %consumer, %c4 : i32
        %slot = arith.addi %w4, %inner : i32
        %slab_bytes = arith.constant 4096 : i32
        %slab0 = arith.muli %slot, %slab_bytes : i32
        %slab = arith.addi %staging, %slab0 : i32
        // Address of stmatrix: row lane % 16, 16-byte column lane / 16 + 2 x,
        // exclusive-or the row in its group of 8.
        %lrow = arith.andi %lane, %c15 : i32
        %lrow_bytes = arith.muli %lrow, %c128 : i32
        %l7 = arith.andi %lane, %c7 : i32
        %half = arith.divui %lane, %c16 : i32
        %base = arith.addi %slab, %lrow_bytes : i32
        %h1 = arith.addi %half, %c2 : i32
        %h2 = arith.addi %half, %c4 : i32
        %c6 = arith.constant 6 : i32
        %h3 = arith.addi %half, %c6 : i32
        %z0 = arith.xori %half, %l7 : i32
        %z1 = arith.xori %h1, %l7 : i32
        %z2 = arith.xori %h2, %l7 : i32
        %z3 = arith.xori %h3, %l7 : i32
        %y0 = arith.muli %z0, %c16 : i32
        %y1 = arith.muli %z1, %c16 : i32
        %y2 = arith.muli %z2, %c16 : i32
        %y3 = arith.muli %z3, %c16 : i32
        %p0 = arith.addi %base, %y0 : i32
        %p1 = arith.addi %base, %y1 : i32
        %p2 = arith.addi %base, %y2 : i32
        %p3 = arith.addi %base, %y3 : i32
        %h = arith.truncf %sum : vector<64xf32> to vector<64xf16>
        %words = vector.bitcast %h : vector<64xf16> to vector<32xi32>
        %v0 = vector.extract_strided_slice %words {offsets = [0], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v1 = vector.extract_strided_slice %words {offsets = [4], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v2 = vector.extract_strided_slice %words {offsets = [8], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v3 = vector.extract_strided_slice %words {offsets = [12], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v4 = vector.extract_strided_slice %words {offsets = [16], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v5 = vector.extract_strided_slice %words {offsets = [20], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v6 = vector.extract_strided_slice %words {offsets = [24], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        %v7 = vector.extract_strided_slice %words {offsets = [28], sizes = [4], strides = [1]} : vector<32xi32> to vector<4xi32>
        tile_gpu.stmatrix %v0, %p0 : vector<4xi32>
        tile_gpu.stmatrix %v1, %p1 : vector<4xi32>
        tile_gpu.stmatrix %v2, %p2 : vector<4xi32>
        tile_gpu.stmatrix %v3, %p3 : vector<4xi32>
        tile_gpu.stmatrix %v4, %p0 + 2048 : vector<4xi32>
        tile_gpu.stmatrix %v5, %p1 + 2048 : vector<4xi32>
        tile_gpu.stmatrix %v6, %p2 + 2048 : vector<4xi32>
        tile_gpu.stmatrix %v7, %p3 + 2048 : vector<4xi32>
        tile_gpu.fence_proxy async_shared_cta
        tile_gpu.warp_sync
        %e = tile_gpu.elect : i1
        scf.if %e {
          %first_row0 = arith.muli %slot, %c16 : i32
          %first_row = arith.addi %row, %first_row0 : i32
          %col1 = arith.addi %col, %c64 : i32
          %c2048 = arith.constant 2048 : i32
          %slab1 = arith.addi %slab, %c2048 : i32
          tile_gpu.tma_store %mapC[%col, %first_row] from %slab {cache_hint = #tile_gpu<cache evict_first>} : !tile_gpu.tensor_map<64x16xf16>
          tile_gpu.tma_store %mapC[%col1, %first_row] from %slab1 {cache_hint = #tile_gpu<cache evict_first>} : !tile_gpu.tensor_map<64x16xf16>
          tile_gpu.bulk_commit
          tile_gpu.bulk_wait 0 {read}
        }
      }
    }
    return
  }
}
