// mbarriers, roles, clusters, fences and inline PTX, from operation to instruction.
// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -o %t.nvvm.mlir
// RUN: filecheck %s --input-file=%t.nvvm.mlir
// REQUIRES: ptxas
// RUN: tile-translate %t.nvvm.mlir --tile-to-ptx -o %t.ptx
// RUN: filecheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | filecheck %s --check-prefix=PTXAS

// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}
// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @barriers
  llvm.func @barriers(%b: i32, %parity: i32, %rank: i32, %flag: i1, %bytes: i32, %out: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c3 = arith.constant 3 : i32
    %c1024 = arith.constant 1024 : i32
    // The mapping of another block has no side effects, does not depend on the offset, and stands where the rank is.
    // CHECK: %[[MAPPED:.*]] = llvm.inline_asm asm_dialect = att "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r"
    // CHECK: %[[ARENA:.*]] = llvm.mlir.addressof @tile_shared_memory : !llvm.ptr<3>
    // CHECK: %[[BASE:.*]] = llvm.ptrtoint %[[ARENA]] : !llvm.ptr<3> to i32
    // CHECK: %[[ADDRESS:.*]] = llvm.add %[[BASE]], %{{.*}} : i32
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "mbarrier.init.shared::cta.b64 [$0], 16;", "r,~{memory}" %[[ADDRESS]]
    tile_gpu.mbarrier_init %b {count = 16 : i64}
    // CHECK: "fence.mbarrier_init.release.cluster;", "~{memory}"
    tile_gpu.mbarrier_init_fence
    // CHECK: "barrier.cluster.arrive.relaxed.aligned;"
    tile_gpu.cluster_arrive {relaxed}
    // CHECK: "barrier.cluster.wait.acquire.aligned;"
    tile_gpu.cluster_wait
    // CHECK: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 1024;", "r,~{memory}"
    tile_gpu.mbarrier_expect_tx %b, %c1024
    // CHECK: "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,b,~{memory}"
    tile_gpu.mbarrier_expect_tx %b, %bytes if %flag
    // CHECK: "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
    tile_gpu.mbarrier_expect_tx %b, %bytes {no_arrive}
    // CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"
    tile_gpu.mbarrier_arrive %b if %flag
    // CHECK: "mbarrier.arrive.shared::cta.b64 _, [$0], 2;"
    tile_gpu.mbarrier_arrive %b {count = 2 : i64}
    // CHECK: %[[REMOTE:.*]] = llvm.add %[[MAPPED]], %{{.*}} : i32
    // CHECK: "@$1 mbarrier.arrive.shared::cluster.b64 _, [$0];", "r,b,~{memory}" %[[REMOTE]]
    tile_gpu.mbarrier_arrive_cluster %b, %rank if %flag
    // CHECK: "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];"
    tile_gpu.mbarrier_arrive_cp_async %b
    // CHECK: "{\0A.reg .pred complete;\0Await_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1;\0A@complete bra done_${:uid};\0Abra wait_${:uid};\0Adone_${:uid}:\0A}", "r,r,~{memory}"
    tile_gpu.mbarrier_wait %b, %parity
    tile_gpu.mbarrier_wait %b, %parity
    // CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity.shared::cta.b64 complete, [$1], $2;{{.*}}selp.b32 $0, 1, 0, complete;
    // CHECK: llvm.icmp "ne" %[[DONE]]
    %t = tile_gpu.mbarrier_try_wait %b, %parity : i1
    // CHECK: llvm.call_intrinsic "llvm.nvvm.elect.sync"
    %e = tile_gpu.elect : i1
    // CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 384>
    // CHECK: nvvm.shfl.sync  idx
    %w = tile_gpu.warp_id : i32
    // CHECK: "barrier.sync.aligned 3, 256;", "~{memory}"
    tile_gpu.named_barrier_sync %c3, 256
    // CHECK: "barrier.arrive.aligned $0, 256;", "r,~{memory}"
    tile_gpu.named_barrier_arrive %rank, 256
    // CHECK: "fence.proxy.async;"
    tile_gpu.fence_proxy async
    // CHECK: "fence.proxy.async.shared::cta;"
    tile_gpu.fence_proxy async_shared_cta
    // CHECK: "fence.proxy.async.shared::cluster;"
    tile_gpu.fence_proxy async_shared_cluster
    // CHECK: "fence.proxy.async.global;"
    tile_gpu.fence_proxy async_global
    // CHECK: "fence.proxy.tensormap::generic.release.gpu;"
    tile_gpu.fence_proxy tensor_map_release
    // CHECK: llvm.nvvm.read.ptx.sreg.cluster.ctarank
    %r = tile_gpu.cluster_rank : i32
    // CHECK: llvm.nvvm.read.ptx.sreg.clusterid.y
    %id = tile_gpu.cluster_id 1 : i32
    %a = tile_gpu.shared_address %b : i32
    %m = tile_gpu.map_shared %b, %r : i32
    // CHECK: "griddepcontrol.wait;"
    tile_gpu.griddepcontrol_wait
    // CHECK: "griddepcontrol.launch_dependents;"
    tile_gpu.griddepcontrol_launch_dependents
    // CHECK: "setmaxnreg.dec.sync.aligned.u32 24;"
    tile_gpu.set_max_registers decrease 24
    // CHECK: "setmaxnreg.inc.sync.aligned.u32 240;"
    tile_gpu.set_max_registers increase 240
    // CHECK: "barrier.cluster.arrive.release.aligned;"
    tile_gpu.cluster_arrive
    tile_gpu.cluster_wait
    %x0 = arith.addi %w, %r : i32
    %x1 = arith.addi %x0, %id : i32
    %x2 = arith.addi %x1, %a : i32
    %x3 = arith.addi %x2, %m : i32
    %te = arith.ori %t, %e : i1
    %ti = arith.extui %te : i1 to i32
    %x4 = arith.addi %x3, %ti : i32
    tile_gpu.shared_store %x4, %out : i32
    llvm.return
  }

  // What does not change in a loop is computed once, across waits; the loop of
  // scf.while stays one loop too.
  // PTX-LABEL: .entry loops
  // PTX: mapa.shared::cluster.u32
  // PTX: .pragma "nounroll";
  // PTX-NOT: mapa
  // PTX: mbarrier.try_wait
  // PTX: mbarrier.arrive.shared::cluster.b64
  // PTX: barrier.sync.aligned 1, 128;
  // PTX-NOT: barrier.sync.aligned 1, 128;
  // PTX: ret;
  llvm.func @loops(%b: i32, %rank: i32, %n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant 8 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      %o = arith.muli %i, %c8 : i32
      %a = arith.addi %b, %o : i32
      tile_gpu.mbarrier_wait %a, %c0
      tile_gpu.mbarrier_arrive_cluster %a, %rank
    }
    %last = scf.while (%i = %c0) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %c3 : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      tile_gpu.named_barrier_sync %c1, 128
      %next = arith.addi %i, %c1 : i32
      scf.yield %next : i32
    }
    llvm.return
  }

  // Operands are registers of their width, results likewise; tensors addresses.
  // CHECK-LABEL: llvm.func @ptx
  llvm.func @ptx(%A: !llvm.ptr<1>, %h: f16, %i: i32, %f: f32, %out: i32) attributes {nvvm.kernel} {
    %t = tile_gpu.tensor %A : !llvm.ptr<1> -> memref<?xf16>
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "ld.global.b16 $0, [$1];", "=h,l,~{memory}" %{{.*}} : (!llvm.ptr<1>) -> i16
    // CHECK: llvm.bitcast %{{.*}} : i16 to f16
    %v = tile_gpu.ptx "ld.global.b16 $0, [$1];" (%t) : (memref<?xf16>) -> f16
    // CHECK: "{ .reg .b32 t; add.s32 t, $3, 1; mov.b32 $0, t; neg.f32 $1, $4; }", "=r,=f,h,r,f,~{memory}"
    %r:2 = tile_gpu.ptx "{ .reg .b32 t; add.s32 t, $3, 1; mov.b32 $0, t; neg.f32 $1, $4; }" (%h, %i, %f) : (f16, i32, f32) -> (i32, f32)
    tile_gpu.shared_store %v, %out : f16
    tile_gpu.shared_store %r#0, %out + 8 : i32
    tile_gpu.shared_store %r#1, %out + 16 : f32
    llvm.return
  }
}
}
