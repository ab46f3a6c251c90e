// Elements of vectors of 16-bit floats pair by pair; small integers in packed words without conversions.
// RUN: tile-opt %s --pass-pipeline="builtin.module(gpu.module(tile-gpu-to-nvvm))" -split-input-file | filecheck %s

// Neighbouring 4-bit numbers of a byte: one permutation, one and, one or, one multiply-add for both. The upper number
// stays four bits higher, which the factor 1/16 takes back; 72 = 64 + 8. Registers that ptxas does not know hold the
// mask and the factors.
module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @nibbles
  // CHECK: %[[ZERO:.*]] = llvm.inline_asm {{.*}}smid
  // CHECK: %[[SCALES:.*]] = llvm.mlir.constant(738212864 : i32)
  // CHECK: %[[SCALE:.*]] = llvm.add %[[ZERO]], %[[SCALES]]
  // CHECK: %[[BITMASK:.*]] = llvm.mlir.constant(15728655 : i32)
  // CHECK: %[[MASK:.*]] = llvm.add %[[ZERO]], %[[BITMASK]]
  // CHECK: %[[WORD:.*]] = llvm.extractelement
  // CHECK: %[[BOTH:.*]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[WORD]], %[[WORD]], %{{.*}})
  // CHECK: %[[FIELDS:.*]] = llvm.and %[[BOTH]], %[[MASK]]
  // CHECK: %[[MAGIC:.*]] = llvm.mlir.constant(1677747200 : i32)
  // CHECK: %[[BITS:.*]] = llvm.or %[[FIELDS]], %[[MAGIC]]
  // CHECK: %[[HALVES:.*]] = llvm.bitcast %[[BITS]] : i32 to vector<2xf16>
  // CHECK: %[[BACK:.*]] = llvm.mlir.constant(dense<[-1.032000e+03, -7.200000e+01]> : vector<2xf16>)
  // CHECK: %[[FACTORS:.*]] = llvm.bitcast %[[SCALE]] : i32 to vector<2xf16>
  // CHECK: llvm.intr.fma(%[[HALVES]], %[[FACTORS]], %[[BACK]])
  // CHECK-NOT: sitofp
  llvm.func @nibbles(%a: i32) {
    %c4 = arith.constant 4 : i32
    %c15 = arith.constant 15 : i32
    %c8 = arith.constant 8.0 : f16
    %bytes = tile_gpu.shared_load %a {alignment = 4 : i64} : vector<4xi8>
    %b:4 = vector.to_elements %bytes : vector<4xi8>
    %w = arith.extui %b#2 : i8 to i32
    %lo = arith.andi %w, %c15 : i32
    %up = arith.shrsi %w, %c4 : i32
    %hi = arith.andi %up, %c15 : i32
    %x = arith.sitofp %lo : i32 to f16
    %y = arith.sitofp %hi : i32 to f16
    %p = arith.subf %x, %c8 : f16
    %q = arith.subf %y, %c8 : f16
    %v = vector.from_elements %p, %q : vector<2xf16>
    tile_gpu.shared_store %v, %a : vector<2xf16>
    llvm.return
  }
}
}

// -----

// Bytes are fields, too, and products of pairs are one instruction. Whether a byte that fills an integer is negative is
// not known.
module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @bytes
  // CHECK: llvm.call_intrinsic "llvm.nvvm.prmt"
  // CHECK: %[[NUMBER:.*]] = llvm.fadd %{{.*}}, %{{.*}} {{.*}}: vector<2xf16>
  // CHECK: llvm.fmul %[[NUMBER]], %{{.*}} {{.*}}: vector<2xf16>
  // CHECK-NOT: uitofp
  llvm.func @bytes(%a: i32, %s: f16) {
    %bytes = tile_gpu.shared_load %a {alignment = 4 : i64} : vector<4xi8>
    %b:4 = vector.to_elements %bytes : vector<4xi8>
    %x = arith.uitofp %b#0 : i8 to f16
    %y = arith.uitofp %b#1 : i8 to f16
    %p = arith.mulf %x, %s : f16
    %q = arith.mulf %y, %s : f16
    %v = vector.from_elements %p, %q : vector<2xf16>
    tile_gpu.shared_store %v, %a : vector<2xf16>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @signed
  // CHECK-COUNT-2: llvm.sitofp
  llvm.func @signed(%a: i32) {
    %bytes = tile_gpu.shared_load %a {alignment = 4 : i64} : vector<4xi8>
    %b:4 = vector.to_elements %bytes : vector<4xi8>
    %x = arith.sitofp %b#0 : i8 to f16
    %y = arith.sitofp %b#1 : i8 to f16
    %v = vector.from_elements %x, %y : vector<2xf16>
    tile_gpu.shared_store %v, %a : vector<2xf16>
    llvm.return
  }

  // A wide field has no float of 16 bits as its unit's power.
  // CHECK-LABEL: llvm.func @wide
  // CHECK-COUNT-2: llvm.uitofp
  llvm.func @wide(%a: i32, %n: i32) {
    %c4095 = arith.constant 4095 : i32
    %c12 = arith.constant 12 : i32
    %lo = arith.andi %n, %c4095 : i32
    %up = arith.shrui %n, %c12 : i32
    %hi = arith.andi %up, %c4095 : i32
    %x = arith.uitofp %lo : i32 to f16
    %y = arith.uitofp %hi : i32 to f16
    %v = vector.from_elements %x, %y : vector<2xf16>
    tile_gpu.shared_store %v, %a : vector<2xf16>
    llvm.return
  }
}
}

// -----

// Numbers of a 32-bit word that lie 16 bits apart need no permutation, or share one. Shifts may copy the sign of the
// word, if a mask takes the copies away.
module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @interleaved
  // CHECK-NOT: prmt
  // CHECK: llvm.and %arg1, %
  // CHECK: llvm.and %arg1, %
  // CHECK: llvm.call_intrinsic "llvm.nvvm.prmt"(%arg1, %arg1, %{{.*}})
  // CHECK-NOT: {{sitofp|prmt}}
  // CHECK: llvm.return
  llvm.func @interleaved(%a: i32, %w: i32) {
    %c4 = arith.constant 4 : i32
    %c12 = arith.constant 12 : i32
    %c15 = arith.constant 15 : i32
    %c16 = arith.constant 16 : i32
    %c20 = arith.constant 20 : i32
    %c28 = arith.constant 28 : i32
    %n0 = arith.andi %w, %c15 : i32
    %s1 = arith.shrsi %w, %c16 : i32
    %n1 = arith.andi %s1, %c15 : i32
    %s2 = arith.shrsi %w, %c4 : i32
    %n2 = arith.andi %s2, %c15 : i32
    %s3 = arith.shrsi %w, %c20 : i32
    %n3 = arith.andi %s3, %c15 : i32
    %s4 = arith.shrsi %w, %c12 : i32
    %n4 = arith.andi %s4, %c15 : i32
    %s5 = arith.shrsi %w, %c28 : i32
    %n5 = arith.andi %s5, %c15 : i32
    %f0 = arith.sitofp %n0 : i32 to f16
    %f1 = arith.sitofp %n1 : i32 to f16
    %f2 = arith.sitofp %n2 : i32 to f16
    %f3 = arith.sitofp %n3 : i32 to f16
    %f4 = arith.sitofp %n4 : i32 to f16
    %f5 = arith.sitofp %n5 : i32 to f16
    %v = vector.from_elements %f0, %f1, %f2, %f3, %f4, %f5 : vector<6xf16>
    tile_gpu.shared_store %v, %a : vector<6xf16>
    llvm.return
  }

  // Without the mask, the sign is part of the number.
  // CHECK-LABEL: llvm.func @sign
  // CHECK-COUNT-2: llvm.sitofp
  llvm.func @sign(%a: i32, %w: i32) {
    %c28 = arith.constant 28 : i32
    %c15 = arith.constant 15 : i32
    %top = arith.shrsi %w, %c28 : i32
    %low = arith.andi %w, %c15 : i32
    %x = arith.sitofp %low : i32 to f16
    %y = arith.sitofp %top : i32 to f16
    %v = vector.from_elements %x, %y : vector<2xf16>
    tile_gpu.shared_store %v, %a : vector<2xf16>
    llvm.return
  }
}
}

// -----

// A vector that a loop only hands on does not keep its elements apart.
module attributes {tile.target = #tile.target<"sm_80">} {
gpu.module @kernels {
  // CHECK-LABEL: llvm.func @carried
  // CHECK: llvm.fmul %{{.*}}, %{{.*}} {{.*}}: vector<2xf16>
  llvm.func @carried(%a: i32, %x: f16, %y: f16, %init: vector<2xf16>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %unused = scf.for %i = %c0 to %a step %c1 iter_args(%held = %init) -> (vector<2xf16>) : i32 {
      %p = arith.mulf %x, %x : f16
      %q = arith.mulf %y, %y : f16
      %whole = vector.from_elements %p, %q : vector<2xf16>
      %v = vector.from_elements %p, %q : vector<2xf16>
      tile_gpu.shared_store %v, %a : vector<2xf16>
      scf.yield %whole : vector<2xf16>
    }
    llvm.return
  }
}
}
