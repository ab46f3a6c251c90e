// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -split-input-file | filecheck %s

module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // One external arena; constants are separate from the base.
  // CHECK: llvm.mlir.global external @tile_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  // CHECK-LABEL: llvm.func @shared
  llvm.func @shared(%a: i32, %p: i1) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    // CHECK: %[[T:.*]] = nvvm.read.ptx.sreg.tid.x range <i32, 0, 128> : i32
    %t = tile_gpu.thread_id : i32
    // CHECK: %[[BASE:.*]] = llvm.getelementptr %{{.*}}[%[[T]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[BASE]][64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    // CHECK: llvm.load %[[AT]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
    %v = tile_gpu.shared_load %t + 64 {alignment = 16 : i64} : vector<8xf16>
    // CHECK: llvm.inline_asm has_side_effects asm_dialect = att "@$5 st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,b,~{memory}"
    tile_gpu.shared_store %v, %a if %p {alignment = 16 : i64} : vector<8xf16>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
    tile_gpu.barrier
    // CHECK: nvvm.ldmatrix %{{.*}} {eltType = {{.*}}b16{{.*}}, layout = #nvvm.mma_layout<col>, num = 4 : i32{{.*}}}
    %m = tile_gpu.ldmatrix %a {trans} : vector<4xi32>
    tile_gpu.shared_store %m, %a : vector<4xi32>
    llvm.return
  }

  // Read-only parameters load through the read-only cache.
  // CHECK-LABEL: llvm.func @global
  llvm.func @global(%A: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %B: !llvm.ptr<1> {llvm.noalias}, %o: i64, %p: i1, %n: i32, %a: i32) attributes {nvvm.kernel} {
    %ta = tile_gpu.tensor %A : !llvm.ptr<1> -> memref<?x?xf16>
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?x?xf16>
    // CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
    %v = tile_gpu.global_load %ta[%o] {alignment = 16 : i64} : memref<?x?xf16> -> vector<8xf16>
    // CHECK: "mov.b32 $0, 0;{{.*}}@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=&r,=&r,=&r,=&r,l,b"
    %w = tile_gpu.global_load %ta[%o] if %p {alignment = 16 : i64} : memref<?x?xf16> -> vector<8xf16>
    // CHECK: "mov.b16 $0, 0;{{.*}}@$2 ld.global.b16 $0, [$1];", "=&h,l,b,~{memory}"
    %x = tile_gpu.global_load %tb[%o] if %p : memref<?x?xf16> -> f16
    tile_gpu.shared_store %w, %a : vector<8xf16>
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<1>
    tile_gpu.global_store %v, %tb[%o] {alignment = 16 : i64} : vector<8xf16>, memref<?x?xf16>
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
    tile_gpu.async_copy %ta[%o], %a valid %n {bytes = 16 : i64, bypass_l1} : memref<?x?xf16>
    // CHECK: llvm.cond_br
    // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, f16
    tile_gpu.global_atomic add %x, %tb[%o] if %p : f16, memref<?x?xf16>
    llvm.return
  }

  // A pair is rounded by one instruction; the first operand becomes the upper half.
  // CHECK-LABEL: llvm.func @round_pairs
  llvm.func @round_pairs(%x: vector<2xf32>, %a: i32) {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> vector<2xf16>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%{{.*}}, %{{.*}}) : (f32, f32) -> vector<2xbf16>
    %h = arith.truncf %x : vector<2xf32> to vector<2xf16>
    %b = arith.truncf %x : vector<2xf32> to vector<2xbf16>
    tile_gpu.shared_store %h, %a : vector<2xf16>
    tile_gpu.shared_store %b, %a + 64 : vector<2xbf16>
    llvm.return
  }

  // f16 through NVGPU, integers wrap.
  // CHECK-LABEL: llvm.func @mma
  llvm.func @mma(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %i: vector<4xi32>, %n: i32) {
    // CHECK: nvvm.mma.sync A[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] B[%{{.*}}, %{{.*}}] C[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
    %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    // CHECK: nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>{{.*}}multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>
    %e = tile_gpu.mma %a, %b, %i {shape = array<i64: 16, 8, 32>, a_type = #tile_gpu<matrix_type u8>, b_type = #tile_gpu<matrix_type s8>} : vector<4xi32>, vector<2xi32>, vector<4xi32>
    // CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
    %f = tile_gpu.mma %a, %b, %d {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type bf16>, b_type = #tile_gpu<matrix_type bf16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    tile_gpu.shared_store %e, %n : vector<4xi32>
    tile_gpu.shared_store %f, %n : vector<4xf32>
    llvm.return
  }

  // The test is at the end; loops with matrix operations keep their shape.
  // CHECK-LABEL: llvm.func @loop
  llvm.func @loop(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %n: i32, %B: !llvm.ptr<1>) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?x?xf32>
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %o = arith.constant 0 : i64
    // CHECK: llvm.icmp "slt"
    // CHECK: llvm.cond_br %{{.*}}, ^[[BODY:bb[0-9]+]](%{{.*}}, %{{.*}} : i32, vector<4xf32>), ^[[AFTER:bb[0-9]+]](%{{.*}} : vector<4xf32>)
    // CHECK: ^[[BODY]](
    %r = scf.for %i = %z to %n step %one iter_args(%s = %c) -> (vector<4xf32>) : i32 {
      %d = tile_gpu.mma %a, %b, %s {shape = array<i64: 16, 8, 16>, a_type = #tile_gpu<matrix_type f16>, b_type = #tile_gpu<matrix_type f16>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
      scf.yield %d : vector<4xf32>
    }
    // CHECK: llvm.cond_br %{{.*}}, ^[[BODY]](%{{.*}}), ^[[AFTER]](%{{.*}}) {loop_annotation = #
    tile_gpu.global_store %r, %tb[%o] : vector<4xf32>, memref<?x?xf32>
    llvm.return
  }

  // Functions: approximations of the hardware, no library calls.
  // CHECK-LABEL: llvm.func @functions
  llvm.func @functions(%x: f32, %h: f16, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf32>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
    %a = math.exp2 %x : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
    %b = math.rsqrt %a : f32
    // CHECK: llvm.intr.sqrt
    %c = math.sqrt %b : f32
    // CHECK-NOT: llvm.call @
    %d = math.tanh %c : f32
    %e = math.log %d : f32
    %f = math.powf %e, %x : f32
    // CHECK: llvm.fadd %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<contract>}
    %g = arith.addf %f, %f : f32
    tile_gpu.global_store %g, %tb[%o] : f32, memref<?xf32>
    // CHECK: llvm.return
    llvm.return
  }
}
}

// -----

// Products of 8-bit floats, where the hardware has none, are two of halves: of the low and the high halves of all words.
module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @product_of_halves
  llvm.func @product_of_halves(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %n: i32) {
    // CHECK: llvm.trunc
    // CHECK: llvm.inline_asm {{.*}}cvt.rn.f16x2.e4m3x2
    // CHECK: llvm.lshr
    // CHECK: llvm.inline_asm {{.*}}cvt.rn.f16x2.e4m3x2
    // CHECK: llvm.inline_asm {{.*}}cvt.rn.f16x2.e5m2x2
    // CHECK: %[[LOW:.*]] = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
    // CHECK: llvm.extractvalue %[[LOW]][0]
    // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
    // CHECK-NOT: llvm.nvvm.mma
    %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 32>, a_type = #tile_gpu<matrix_type e4m3>, b_type = #tile_gpu<matrix_type e5m2>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    tile_gpu.shared_store %d, %n : vector<4xf32>
    llvm.return
  }
}
}

// -----

// 8-bit floats by instructions where there are some.
module attributes {tile.target = #tile.target<"sm_89">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @float8
  llvm.func @float8(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>, %B: !llvm.ptr<1>, %o: i64, %v: vector<2xf32>, %n: i32, %w: vector<2xi16>) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf8E4M3FN>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32"
    %d = tile_gpu.mma %a, %b, %c {shape = array<i64: 16, 8, 32>, a_type = #tile_gpu<matrix_type e4m3>, b_type = #tile_gpu<matrix_type e5m2>} : vector<4xi32>, vector<2xi32>, vector<4xf32>
    tile_gpu.shared_store %d, %n : vector<4xf32>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
    %q = arith.truncf %v : vector<2xf32> to vector<2xf8E4M3FN>
    // CHECK: llvm.store %{{.*}} : vector<2xi8>, !llvm.ptr<1>
    tile_gpu.global_store %q, %tb[%o] : vector<2xf8E4M3FN>, memref<?xf8E4M3FN>
    // CHECK: llvm.sitofp %{{.*}} : i16 to f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
    %s = arith.sitofp %w : vector<2xi16> to vector<2xf8E4M3FN>
    tile_gpu.global_store %s, %tb[%o] : vector<2xf8E4M3FN>, memref<?xf8E4M3FN>
    // CHECK: llvm.uitofp %{{.*}} : i16 to f32
    %u = arith.uitofp %w : vector<2xi16> to vector<2xf8E4M3FN>
    tile_gpu.global_store %u, %tb[%o] : vector<2xf8E4M3FN>, memref<?xf8E4M3FN>
    llvm.return
  }
}
}

// -----

// Before sm_89 by integer arithmetic.
module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @float8_integers
  llvm.func @float8_integers(%B: !llvm.ptr<1>, %o: i64, %v: vector<2xf32>, %w: vector<2xi8>) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf8E5M2>
    // CHECK-NOT: call_intrinsic
    // CHECK: llvm.store
    %q = arith.truncf %v : vector<2xf32> to vector<2xf8E5M2>
    tile_gpu.global_store %q, %tb[%o] : vector<2xf8E5M2>, memref<?xf8E5M2>
    // CHECK: llvm.uitofp %{{.*}} : i8 to f32
    // CHECK: llvm.store
    %u = arith.uitofp %w : vector<2xi8> to vector<2xf8E5M2>
    tile_gpu.global_store %u, %tb[%o] : vector<2xf8E5M2>, memref<?xf8E5M2>
    llvm.return
  }
}
}
