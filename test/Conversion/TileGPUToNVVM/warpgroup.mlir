// wgmma, its descriptors and waits, from operation to instruction.
// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -o %t.nvvm.mlir
// RUN: filecheck %s --input-file=%t.nvvm.mlir
// REQUIRES: ptxas
// RUN: tile-translate %t.nvvm.mlir --tile-to-ptx -o %t.ptx
// RUN: filecheck %s --check-prefix=PTX --input-file=%t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | filecheck %s --check-prefix=PTXAS

// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}
// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// PTXAS-NOT: {{C7[0-9][0-9][0-9]}}

#f16 = #tile_gpu<matrix_type f16>
#bf16 = #tile_gpu<matrix_type bf16>
#tf32 = #tile_gpu<matrix_type tf32>
#e4m3 = #tile_gpu<matrix_type e4m3>
#e5m2 = #tile_gpu<matrix_type e5m2>
#s8 = #tile_gpu<matrix_type s8>
#u8 = #tile_gpu<matrix_type u8>

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @descriptors
  llvm.func @descriptors(%a: i32, %out: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    // Low word: address in 18 bits, leading distance; high word: stride, 128-byte swizzle.
    // CHECK: %[[ADDRESS:.*]] = llvm.add
    // CHECK: %[[MASKED:.*]] = llvm.and %[[ADDRESS]]
    // CHECK: %[[UNITS:.*]] = llvm.lshr %[[MASKED]]
    // CHECK: %[[LOW:.*]] = llvm.or %[[UNITS]]
    // CHECK: %[[HIGH:.*]] = llvm.mlir.constant(1073741888 : i32)
    // CHECK: llvm.inline_asm asm_dialect = att "mov.b64 $0, {$1, $2};", "=l,r,r" %[[LOW]], %[[HIGH]] : (i32, i32) -> i64
    %d = tile_gpu.wgmma_descriptor %a {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    // A step is a constant added to the low word; 64 and 32-byte swizzles are 2 and 3.
    // CHECK: %[[STEP:.*]] = llvm.mlir.constant(2 : i32)
    // CHECK: llvm.add %{{.*}}, %[[STEP]]
    // CHECK: llvm.mlir.constant(-2147483616 : i32)
    %e = tile_gpu.wgmma_descriptor %a + 32 {leading_bytes = 8192 : i64, stride_bytes = 512 : i64, swizzle = 64 : i64} : i64
    // CHECK: llvm.mlir.constant(-1073741808 : i32)
    %f = tile_gpu.wgmma_descriptor %a {leading_bytes = 16 : i64, stride_bytes = 256 : i64, swizzle = 32 : i64} : i64
    %x = arith.xori %d, %e : i64
    %y = arith.xori %x, %f : i64
    tile_gpu.shared_store %y, %out : i64
    llvm.return
  }

  // A run-time scale-d is a predicate; the accumulators are tied, not copied.
  // CHECK-LABEL: llvm.func @f16_loop
  // PTX-LABEL: .entry f16_loop
  llvm.func @f16_loop(%a: i32, %b: i32, %n: i32, %out: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %none = ub.poison : vector<8xf32>
    %da = tile_gpu.wgmma_descriptor %a {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    %db = tile_gpu.wgmma_descriptor %b {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    // No zeros are moved, and the loop is one loop.
    // PTX-NOT: 0f00000000
    // PTX-COUNT-2: wgmma.mma_async
    // PTX-NOT: wgmma.mma_async
    // PTX: .entry
    // CHECK: "wgmma.fence.sync.aligned;", "~{memory}"
    // CHECK: "{\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, $16, $17, $18, 1, 1, 0, 1;\0A}", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,l,l,b"
    // CHECK: "{\0A.reg .pred scale;\0Asetp.ne.b32 scale, 1, 0;\0Awgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, $16, $17, scale, -1, 1, 1, 0;\0A}"
    // CHECK: "wgmma.commit_group.sync.aligned;", "~{memory}"
    // CHECK: llvm.cond_br {{.*}}loop_annotation
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %none) -> (vector<8xf32>) : i32 {
      %more = arith.cmpi ne, %i, %c0 : i32
      tile_gpu.wgmma_fence
      %q = tile_gpu.wgmma %da, %db, %acc scale_d %more {shape = array<i64: 64, 16, 16>, a_type = #f16, b_type = #f16, transpose_b} : i64, vector<8xf32>
      %s = tile_gpu.wgmma %da, %db, %q {shape = array<i64: 64, 16, 16>, a_type = #f16, b_type = #f16, transpose_a, negate_a} : i64, vector<8xf32>
      tile_gpu.wgmma_commit
      tile_gpu.wgmma_wait 1
      scf.yield %s : vector<8xf32>
    }
    // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,~{memory}"
    %w = tile_gpu.wgmma_wait 0 (%r) : vector<8xf32>
    tile_gpu.shared_store %w, %out {alignment = 16 : i64} : vector<8xf32>
    llvm.return
  }

  // A constant false reads no accumulators; a in registers; packed f16 sums.
  // CHECK-LABEL: llvm.func @registers
  llvm.func @registers(%w: i32, %b: i32, %out: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %false = arith.constant false
    %a = tile_gpu.shared_load %w {alignment = 16 : i64} : vector<4xi32>
    %db = tile_gpu.wgmma_descriptor %b {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    %none = ub.poison : vector<8xf16>
    // CHECK: "wgmma.fence.sync.aligned;", "=r,=r,=r,=r,0,1,2,3,~{memory}"
    %f = tile_gpu.wgmma_fence (%a) : vector<4xi32>
    // CHECK: "{\0A.reg .pred scale;\0Asetp.ne.b32 scale, 0, 0;\0Awgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, scale, 1, 1, 1;\0A}", "=r,=r,=r,=r,r,r,r,r,l"
    %q = tile_gpu.wgmma %f, %db, %none scale_d %false {shape = array<i64: 64, 16, 16>, a_type = #f16, b_type = #f16, transpose_b} : vector<4xi32>, vector<8xf16>
    tile_gpu.wgmma_commit
    // CHECK: "wgmma.wait_group.sync.aligned 0;", "=r,=r,=r,=r,=r,=r,=r,=r,=r,0,1,2,3,4,5,6,7,8,~{memory}"
    %r:3 = tile_gpu.wgmma_wait 0 (%q, %f, %out) : vector<8xf16>, vector<4xi32>, i32
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "", "=r,0"
    %o = tile_gpu.pin %r#2 : i32
    tile_gpu.shared_store %r#0, %o {alignment = 16 : i64} : vector<8xf16>
    tile_gpu.shared_store %r#1, %o + 16 {alignment = 16 : i64} : vector<4xi32>
    llvm.return
  }

  // Every combination of types.
  // CHECK-LABEL: llvm.func @types
  llvm.func @types(%a: i32, %out: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %false = arith.constant false
    %f = ub.poison : vector<4xf32>
    %h = ub.poison : vector<4xf16>
    %i = ub.poison : vector<12xi32>
    %d = tile_gpu.wgmma_descriptor %a {leading_bytes = 16 : i64, stride_bytes = 1024 : i64, swizzle = 128 : i64} : i64
    tile_gpu.wgmma_fence
    // CHECK: m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $4, $5, scale, 1, 1, 0, 0;
    %f0 = tile_gpu.wgmma %d, %d, %f scale_d %false {shape = array<i64: 64, 8, 16>, a_type = #bf16, b_type = #bf16} : i64, vector<4xf32>
    // CHECK: m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, $8, $9, scale, 1, -1;
    %f1 = tile_gpu.wgmma %d, %d, %f0 {shape = array<i64: 64, 8, 8>, a_type = #tf32, b_type = #tf32, negate_b} : i64, vector<4xf32>
    // CHECK: m64n8k32.f32.e4m3.e5m2 {$0, $1, $2, $3}, $8, $9, scale, 1, 1;
    %f2 = tile_gpu.wgmma %d, %d, %f1 {shape = array<i64: 64, 8, 32>, a_type = #e4m3, b_type = #e5m2} : i64, vector<4xf32>
    // CHECK: m64n8k32.f16.e5m2.e4m3 {$0, $1}, $2, $3, scale, 1, 1;
    %h0 = tile_gpu.wgmma %d, %d, %h scale_d %false {shape = array<i64: 64, 8, 32>, a_type = #e5m2, b_type = #e4m3} : i64, vector<4xf16>
    // CHECK: m64n24k32.s32.s8.u8 {{.*}}, $12, $13, scale;
    %i0 = tile_gpu.wgmma %d, %d, %i scale_d %false {shape = array<i64: 64, 24, 32>, a_type = #s8, b_type = #u8} : i64, vector<12xi32>
    // CHECK: m64n24k32.s32.u8.s8.satfinite {{.*}}, $24, $25, scale;
    %i1 = tile_gpu.wgmma %d, %d, %i0 {shape = array<i64: 64, 24, 32>, a_type = #u8, b_type = #s8, saturate} : i64, vector<12xi32>
    tile_gpu.wgmma_commit
    %r:3 = tile_gpu.wgmma_wait 0 (%f2, %h0, %i1) : vector<4xf32>, vector<4xf16>, vector<12xi32>
    tile_gpu.shared_store %r#0, %out {alignment = 16 : i64} : vector<4xf32>
    tile_gpu.shared_store %r#1, %out + 16 {alignment = 8 : i64} : vector<4xf16>
    tile_gpu.shared_store %r#2, %out + 32 {alignment = 16 : i64} : vector<12xi32>
    llvm.return
  }
}
}
