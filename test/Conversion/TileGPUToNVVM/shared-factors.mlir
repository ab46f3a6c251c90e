// RUN: tile-opt %s -pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" | filecheck %s
// Factors and divisors that many values share.

module attributes {tile.target = #tile.target<"sm_90a">} {
gpu.module @kernels {
  // The maximum of scaled values is scaled, not the values; infinities in
  // place of some of them stay infinities.
  // CHECK-LABEL: llvm.func @scaled_maximum
  // CHECK-SAME: ([[A:%[a-z0-9]+]]: f32, [[B:%[a-z0-9]+]]: f32, [[C:%[a-z0-9]+]]: f32, [[SEEN:%[a-z0-9]+]]: i1
  llvm.func @scaled_maximum(%a: f32, %b: f32, %c: f32, %seen: i1, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf32>
    %scale = arith.constant 0.125 : f32
    %none = arith.constant 0xFF800000 : f32
    // CHECK: [[SCALE:%[0-9]+]] = llvm.mlir.constant(1.250000e-01 : f32)
    // CHECK-NEXT: [[MASKED:%[0-9]+]] = llvm.select [[SEEN]], [[C]], {{%.*}} : i1, f32
    // CHECK-NEXT: [[FIRST:%[0-9]+]] = llvm.intr.maxnum([[A]], [[B]])
    // CHECK-NEXT: [[SECOND:%[0-9]+]] = llvm.intr.maxnum([[FIRST]], [[MASKED]])
    // CHECK-NEXT: [[SCALED:%[0-9]+]] = llvm.fmul [[SECOND]], [[SCALE]]
    %x = arith.mulf %a, %scale : f32
    %y = arith.mulf %b, %scale : f32
    %z = arith.mulf %c, %scale : f32
    %masked = arith.select %seen, %z, %none : f32
    %first = arith.maxnumf %x, %y : f32
    %second = arith.maxnumf %first, %masked : f32
    // CHECK-NEXT: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"([[SCALED]])
    %e = math.exp2 %second : f32
    tile_gpu.global_store %e, %tb[%o] : f32, memref<?xf32>
    llvm.return
  }

  // Negative factors turn a maximum into a minimum; two factors are no shared
  // one.
  // CHECK-LABEL: llvm.func @other_factors
  // CHECK-COUNT-4: llvm.fmul
  // CHECK: llvm.intr.maxnum
  // CHECK: llvm.intr.maxnum
  llvm.func @other_factors(%a: f32, %b: f32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf32>
    %minus = arith.constant -0.125 : f32
    %half = arith.constant 0.5 : f32
    %third = arith.constant 0.3 : f32
    %x = arith.mulf %a, %minus : f32
    %y = arith.mulf %b, %minus : f32
    %v = arith.mulf %a, %half : f32
    %w = arith.mulf %b, %third : f32
    %first = arith.maxnumf %x, %y : f32
    %second = arith.maxnumf %v, %w : f32
    %e = math.exp2 %first : f32
    %f = math.exp2 %second : f32
    %g = arith.addf %e, %f : f32
    tile_gpu.global_store %g, %tb[%o] : f32, memref<?xf32>
    llvm.return
  }

  // Quotients that are rounded to 16 bits: one division for all.
  // CHECK-LABEL: llvm.func @quotients
  // CHECK: llvm.fdiv
  // CHECK-NOT: llvm.fdiv
  // CHECK-COUNT-8: llvm.fmul
  // CHECK: llvm.return
  llvm.func @quotients(%a: vector<4xf32>, %d: f32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf16>
    %v:4 = vector.to_elements %a : vector<4xf32>
    %p = arith.divf %v#0, %d : f32
    %q = arith.divf %v#1, %d : f32
    %r = arith.divf %v#2, %d : f32
    %s = arith.divf %v#3, %d : f32
    %all = vector.from_elements %p, %q, %r, %s : vector<4xf32>
    %half = arith.truncf %all : vector<4xf32> to vector<4xf16>
    tile_gpu.global_store %half, %tb[%o] : vector<4xf16>, memref<?xf16>
    llvm.return
  }

  // Those that stay f32 are divided one by one.
  // CHECK-LABEL: llvm.func @exact_quotients
  // CHECK-COUNT-4: llvm.fdiv
  llvm.func @exact_quotients(%a: vector<4xf32>, %d: f32, %B: !llvm.ptr<1>, %o: i64) {
    %tb = tile_gpu.tensor %B : !llvm.ptr<1> -> memref<?xf32>
    %v:4 = vector.to_elements %a : vector<4xf32>
    %p = arith.divf %v#0, %d : f32
    %q = arith.divf %v#1, %d : f32
    %r = arith.divf %v#2, %d : f32
    %s = arith.divf %v#3, %d : f32
    %all = vector.from_elements %p, %q, %r, %s : vector<4xf32>
    tile_gpu.global_store %all, %tb[%o] : vector<4xf32>, memref<?xf32>
    llvm.return
  }
}
}
