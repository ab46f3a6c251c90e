// What the verifiers of operations, types and attributes reject, and what they say.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @f(%n: i32) {
  // expected-error @+1 {{a block has 1 to 1024 threads, found 2048}}
  tile.kernel "k" grid(%n) threads(2048) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{a grid has one to three extents, found 4}}
  tile.kernel "k" grid(%n, %n, %n, %n) threads(32) {
  ^bb0(%bx: i32, %by: i32, %bz: i32, %bw: i32):
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{has 2 grid extents but 1 block arguments}}
  tile.kernel "k" grid(%n, %n) threads(32) {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{block arguments must be i32, found 'index'}}
  tile.kernel "k" grid(%n) threads(32) {
  ^bb0(%bx: index):
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{thread_shape [32, 2] does not multiply to 128 threads}}
  tile.kernel "k" grid(%n) threads(128) attributes {thread_shape = array<i64: 32, 2>} {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{a cluster has up to three extents and 16 blocks, found [8, 4]}}
  tile.kernel "k" grid(%n) threads(128) attributes {cluster = array<i64: 8, 4>} {
  ^bb0(%bx: i32):
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{kernels cannot be nested}}
    tile.kernel "inner" grid(%n) threads(32) {
    ^bb0(%by: i32):
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{cannot be filled with zeros at every call and keep its contents}}
  %w = tile.workspace() {zero, kept} : memref<4xi32>
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{has 0 sizes for 1 dynamic extents}}
  %w = tile.workspace() : memref<?xf32>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{is allocated by the host, outside of kernels}}
    %w = tile.workspace() : memref<4xf32>
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{buffers are allocated inside of tile.kernel}}
  %a = tile.alloc : !tile.buffer<4xf32, shared>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{buffer extents must be at least 1, found 0}}
    %a = tile.alloc : !tile.buffer<4x0xf32, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{buffer elements must be integers or floats}}
    %a = tile.alloc : !tile.buffer<4xindex, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{unknown memory space}}
    %a = tile.alloc : !tile.buffer<4xf32, global>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{a shared layout needs a buffer in shared space, found fragment}}
    %a = tile.alloc : !tile.buffer<4x64xf16, fragment, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{a fragment layout needs a buffer in fragment space, found shared}}
    %a = tile.alloc : !tile.buffer<4xf16, shared, #tile.fragment_layout<[4], threads = [(4, 0, 1)], registers = []>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{fragment layout of shape}}
    %a = tile.alloc : !tile.buffer<8xf16, fragment, #tile.fragment_layout<[4], threads = [(4, 0, 1)], registers = []>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{shared layout of rank 2 on a buffer of rank 1}}
    %a = tile.alloc : !tile.buffer<64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{swizzle must be 0, 32, 64 or 128 bytes, found 16}}
    %a = tile.alloc : !tile.buffer<4x64xf16, shared, #tile.shared_layout<order = [1, 0], panel = 8, swizzle = 16>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{order must be a permutation of the dimensions}}
    %a = tile.alloc : !tile.buffer<4x64xf16, shared, #tile.shared_layout<order = [1, 1], panel = 64, swizzle = 128>>
  }
  return
}

// -----

// Only the fastest dimension has panels that lie somewhere.
func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{order must be a permutation of the dimensions}}
    %a = tile.alloc : !tile.buffer<4x4x64xf16, shared, #tile.shared_layout<order = [2, 1, 1, 0], panel = 64, swizzle = 128>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{shared layout of rank 3 on a buffer of rank 2}}
    %a = tile.alloc : !tile.buffer<4x128xf16, shared, #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{a view stays in the space of its source}}
    %b = tile.reshape %a : !tile.buffer<4x8xf16, shared> to !tile.buffer<32xf16, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{keeps the elements}}
    %b = tile.reshape %a : !tile.buffer<4x8xf16, shared> to !tile.buffer<16xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{keeps the bytes of every row}}
    %b = tile.bitcast %a : !tile.buffer<4x8xf16, shared> to !tile.buffer<4x8xf32, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{part [2, 6) leaves dimension 0 of extent 4}}
    %b = tile.subview %a[%c2, %c0] [4, 8] : !tile.buffer<4x8xf16, shared> to !tile.buffer<4x8xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{needs one offset and one size for each of the 2 dimensions, found 1 and 1}}
    %b = tile.subview %a[%c0] [4] : !tile.buffer<4x8xf16, shared> to !tile.buffer<4xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{a view takes the layout of its allocation and carries none}}
    %b = tile.reshape %a : !tile.buffer<4x8xf16, shared> to !tile.buffer<32xf16, shared, #tile.shared_layout<order = [0], panel = 32, swizzle = 0>>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{copies [4, 4] to [4, 8], which differ in shape}}
    tile.copy %A[%c0, %c0] [4, 4] to %a[%c0, %c0] [4, 8] : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{destination part [0, 9) leaves dimension 1 of extent 8}}
    tile.copy %A[%c0, %c0] [4, 9] to %a[%c0, %c0] [4, 9] : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{source of rank 2 needs as many offsets and sizes, found 1 and 1}}
    tile.copy %A[%c0] [8] to %a[%c0, %c0] [1, 8] : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, shared>
    // expected-error @+1 {{safe value has type 'f32', expected 'f16'}}
    tile.copy %A[%c0, %c0] [4, 8] to %a[%c0, %c0] [4, 8] {safe = 1.0 : f32} : memref<?x?xf16> to !tile.buffer<4x8xf16, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf16, fragment>
    // expected-error @+1 {{copies between a tensor and shared memory}}
    tile.copy_async %A[%c0, %c0] [4, 8] to %a[%c0, %c0] [4, 8] : memref<?x?xf16> to !tile.buffer<4x8xf16, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4x8xf32, shared>
    // expected-error @+1 {{does not convert, found 'f16' and 'f32'}}
    tile.copy_async %A[%c0, %c0] [4, 8] to %a[%c0, %c0] [4, 8] : memref<?x?xf16> to !tile.buffer<4x8xf32, shared>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<4xf16, shared>
    %v = arith.constant 1.0 : f32
    // expected-error @+1 {{value has type 'f32', expected 'f16'}}
    tile.fill %a, %v : !tile.buffer<4xf16, shared>, f32
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc : !tile.buffer<64x32xf16, shared>
    %c = tile.alloc : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{operands do not match: A is 64x32, B is 64x32, C is 64x64}}
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<64x32xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc : !tile.buffer<32x64xi16, shared>
    %c = tile.alloc : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{mixes integers and floats}}
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xi16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf16, shared>
    %b = tile.alloc : !tile.buffer<32x64xf32, shared>
    %c = tile.alloc : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{A and B differ in element size: 'f16' and 'f32'}}
    tile.gemm %a, %b, %c : !tile.buffer<64x32xf16, shared>, !tile.buffer<32x64xf32, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<2x64x32xf16, shared>
    %b = tile.alloc : !tile.buffer<32x64xf16, shared>
    %c = tile.alloc : !tile.buffer<64x64xf32, fragment>
    // expected-error @+1 {{operand A must be a matrix, found shape [2, 64, 32]}}
    tile.gemm %a, %b, %c : !tile.buffer<2x64x32xf16, shared>, !tile.buffer<32x64xf16, shared>, !tile.buffer<64x64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %b = tile.alloc : !tile.buffer<64xf32, fragment>
    // expected-error @+1 {{dimension 2 of a buffer of rank 2}}
    tile.reduce sum %a, %b {dim = 2 : i64} : !tile.buffer<64x32xf32, fragment>, !tile.buffer<64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %b = tile.alloc : !tile.buffer<64xf32, fragment>
    // expected-error @+1 {{reduces [64, 32] along dimension 0 to [64], expected [32] or [1, 32]}}
    tile.reduce sum %a, %b {dim = 0 : i64} : !tile.buffer<64x32xf32, fragment>, !tile.buffer<64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %b = tile.alloc : !tile.buffer<64xf32, fragment>
    // expected-error @+1 {{bitwise reductions need integers, found 'f32'}}
    tile.reduce bitand %a, %b {dim = 1 : i64} : !tile.buffer<64x32xf32, fragment>, !tile.buffer<64xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf32, fragment>
    %b = tile.alloc : !tile.buffer<64x32xf16, fragment>
    // expected-error @+1 {{keeps shape and element type}}
    tile.convert %a, %b : !tile.buffer<64x32xf32, fragment>, !tile.buffer<64x32xf16, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %a = tile.alloc : !tile.buffer<64x32xf32, shared>
    %b = tile.alloc : !tile.buffer<64x32xf32, fragment>
    // expected-error @+1 {{operand #0 must be tile buffer in Fragment space}}
    tile.convert %a, %b : !tile.buffer<64x32xf32, shared>, !tile.buffer<64x32xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{extents must not be negative, found -4}}
    "tile.parallel"() <{static_extents = array<i64: -4>}> ({
    ^bb0(%i: i32):
    }) : () -> ()
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{has 1 extents but 2 block arguments}}
    tile.parallel [4] {
    ^bb0(%i: i32, %j: i32):
    }
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-note @+1 {{the parallel loop is here}}
    tile.parallel [4] {
    ^bb0(%i: i32):
      // expected-error @+1 {{is collective and cannot be inside of tile.parallel}}
      tile.sync_threads
    }
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{num_stages must not be negative, found -1}}
    tile.pipelined %c0 to %n stages(-1) {
    ^bb0(%k: i32):
    }
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{stage and order must be given together and have the same length}}
    tile.pipelined %c0 to %n stages(2) attributes {stage = array<i64: 0>} {
    ^bb0(%k: i32):
    }
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{has 1 indices for a storage of rank 2}}
    %v = tile.load %A[%c0] : memref<?x?xf16> -> f16
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{value has type 'f32', expected 'f16'}}
    %v = tile.load %A[%c0, %c0] : memref<?x?xf16> -> f32
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{safe value has type 'f32', expected 'f16'}}
    %v = tile.load %A[%c0, %c0] {safe = 0.0 : f32} : memref<?x?xf16> -> f16
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %v = arith.constant 1.0 : f32
    // expected-error @+1 {{value has type 'f32', expected 'f16'}}
    tile.store %v, %A[%c0, %c0] : f32, memref<?x?xf16>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %v = arith.constant 1.0 : f32
    %a = tile.alloc : !tile.buffer<4xf32, fragment>
    // expected-error @+1 {{acts on global or shared memory}}
    tile.atomic add %v, %a[%c0] : f32, !tile.buffer<4xf32, fragment>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %v = arith.constant 1.0 : f16
    // expected-error @+1 {{bitwise atomics need integers, found 'f16'}}
    tile.atomic xor %v, %A[%c0, %c0] : f16, memref<?x?xf16>
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{attribute 'axis' failed to satisfy constraint}}
    %t = tile.thread_id 3 : i32
  }
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{attribute 'pending' failed to satisfy constraint}}
    tile.async_wait {pending = -1 : i64}
  }
  return
}

// -----

// expected-error @+1 {{unknown architecture 'gfx90a', expected cpu or sm_<NN>[a]}}
module attributes {tile.target = #tile.target<"gfx90a">} {}

// -----

// expected-error @+1 {{sm_70 is too old, the first supported one is sm_80}}
module attributes {tile.target = #tile.target<"sm_70">} {}

// -----

// expected-error @+1 {{unknown option 'fastmath'}}
module attributes {tile.options = #tile.options<{fastmath = true}>} {}

// -----

// expected-error @+1 {{option 'fast_math' must be a bool, found 1 : i64}}
module attributes {tile.options = #tile.options<{fast_math = 1}>} {}

// -----

// expected-error @+1 {{unknown expression 'pow'}}
module attributes {e = #tile.expr<pow(1, 2)>} {}
