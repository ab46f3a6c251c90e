// Copies of the tensor memory accelerator, from operation to instruction.
// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -o %t.nvvm.mlir
// RUN: filecheck %s --input-file=%t.nvvm.mlir
// REQUIRES: ptxas
// RUN: tile-translate %t.nvvm.mlir --tile-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | filecheck %s --check-prefix=PTXAS

// The descriptor stays in the parameter: no copy on the stack.
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}
// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @loads
  llvm.func @loads(%p: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                   %q: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                   %A: !llvm.ptr<1>, %a: i32, %bar: i32, %x: i32, %y: i32, %mask: i16, %flag: i1, %o: i64, %bytes: i32)
      attributes {nvvm.kernel} {
    %c64 = arith.constant 64 : i32
    %m = tile_gpu.tensor_map_parameter %p : !llvm.ptr -> !tile_gpu.tensor_map<64x128xf16>
    %n = tile_gpu.tensor_map_parameter %q : !llvm.ptr -> !tile_gpu.tensor_map<64x2x2x2x2xf16>
    %t = tile_gpu.tensor %A : !llvm.ptr<1> -> memref<?xf32>
    // CHECK: %[[MAP:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr to i64
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "prefetch.tensormap [$0];", "l,~{memory}" %[[MAP]] : (i64) -> ()
    tile_gpu.tma_prefetch_map %m : !tile_gpu.tensor_map<64x128xf16>
    // CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r,~{memory}"
    tile_gpu.tma_load %m[%x, %y] to %a, %bar : !tile_gpu.tensor_map<64x128xf16>
    // CHECK: llvm.mlir.constant(1364590687093260288 : i64)
    // CHECK: "@$7 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5, $6;", "r,l,r,r,r,h,l,b,~{memory}"
    tile_gpu.tma_load %m[%x, %y] to %a, %bar multicast %mask if %flag {cache_hint = #tile_gpu<cache evict_first>} : !tile_gpu.tensor_map<64x128xf16>
    // CHECK: "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4, $5, $6}], [$7];", "r,l,r,r,r,r,r,r,~{memory}"
    tile_gpu.tma_load %n[%x, %y, %x, %y, %x] to %a, %bar : !tile_gpu.tensor_map<64x2x2x2x2xf16>
    // CHECK: "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "r,l,r,r,~{memory}"
    tile_gpu.bulk_load %t[%o] to %a, %bar bytes %bytes : memref<?xf32>
    // CHECK: "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1], 64, [$2], $3;", "r,l,r,h,~{memory}"
    tile_gpu.bulk_load %t[%o] to %a, %bar bytes %c64 multicast %mask : memref<?xf32>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @stores
  llvm.func @stores(%p: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                    %q: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                    %A: !llvm.ptr<1>, %a: i32, %x: i32, %y: i32, %z: i32, %flag: i1, %o: i64, %bytes: i32)
      attributes {nvvm.kernel} {
    %m = tile_gpu.tensor_map_parameter %p : !llvm.ptr -> !tile_gpu.tensor_map<64x8x4xf16>
    %n = tile_gpu.tensor_map_parameter %q : !llvm.ptr -> !tile_gpu.tensor_map<64xui32>
    %t = tile_gpu.tensor %A : !llvm.ptr<1> -> memref<?xbf16>
    // CHECK: "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [$0, {$1, $2, $3}], [$4];", "l,r,r,r,r,~{memory}"
    tile_gpu.tma_store %m[%x, %y, %z] from %a : !tile_gpu.tensor_map<64x8x4xf16>
    // CHECK: llvm.mlir.constant(1508705875169116160 : i64)
    // CHECK: "@$6 cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [$0, {$1, $2, $3}], [$4], $5;", "l,r,r,r,r,l,b,~{memory}"
    tile_gpu.tma_store %m[%x, %y, %z] from %a if %flag {cache_hint = #tile_gpu<cache evict_last>} : !tile_gpu.tensor_map<64x8x4xf16>
    // CHECK: "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [$0, {$1, $2, $3}], [$4];"
    tile_gpu.tma_reduce add %m[%x, %y, %z] from %a : !tile_gpu.tensor_map<64x8x4xf16>
    // CHECK: "cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group [$0, {$1}], [$2];"
    tile_gpu.tma_reduce max %n[%x] from %a : !tile_gpu.tensor_map<64xui32>
    // CHECK: "cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.tile.bulk_group [$0, {$1}], [$2];"
    tile_gpu.tma_reduce xor %n[%x] from %a : !tile_gpu.tensor_map<64xui32>
    // CHECK: "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;", "l,r,r,~{memory}"
    tile_gpu.bulk_store %t[%o] from %a bytes %bytes : memref<?xbf16>
    // CHECK: "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [$0], [$1], $2;"
    tile_gpu.bulk_reduce add %t[%o] from %a bytes %bytes : memref<?xbf16>
    // CHECK: "cp.async.bulk.commit_group;", "~{memory}"
    tile_gpu.bulk_commit
    // CHECK: "cp.async.bulk.wait_group.read 1;", "~{memory}"
    tile_gpu.bulk_wait 1 {read}
    // CHECK: "@$0 cp.async.bulk.wait_group 0;", "b,~{memory}"
    tile_gpu.bulk_wait 0 if %flag
    llvm.return
  }
}
}
