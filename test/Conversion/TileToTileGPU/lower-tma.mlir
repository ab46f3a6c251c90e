// Copies by TMA as boxes of one elected thread, and the descriptors they use.
// RUN: tile-opt %s -tile-to-tile-gpu -split-input-file | filecheck %s

#shared = #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>

module attributes {tile.target = #tile.target<"sm_90a">} {
// Operations of one thread that follow each other share its branch. Coordinates
// are fastest first. The load has a box per panel, as its rows may end inside of
// one; the store has one box.
// CHECK-LABEL: @load_and_store
// CHECK-DAG: %[[OUT:.*]] = tile_gpu.tensor_map %{{.*}} <dims = [64 : 1, dim(0, 0) : 128, 2 : 64], box = [64, 64, 2], swizzle = 128> : memref<?x128xf16> -> !tile_gpu.tensor_map<64x64x2xf16>
// CHECK-DAG: %[[IN:.*]] = tile_gpu.tensor_map %{{.*}} <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 64], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x64xf16>
// CHECK-DAG: %[[WARP:.*]] = tile_gpu.warp_id
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %[[WARP]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: %[[ELECTED:.*]] = tile_gpu.elect
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK: tile_gpu.mbarrier_init %{{.*}} {count = 1 : i64}
// CHECK-NEXT: tile_gpu.mbarrier_init_fence
// CHECK: tile_gpu.barrier
// CHECK: scf.if %[[FIRST]] {
// CHECK: tile_gpu.mbarrier_expect_tx %[[BARRIER:.*]], %c16384_i32
// CHECK: tile_gpu.tma_load %[[IN]][%c0_i32{{.*}}, %[[ROW:.*]]] to %c0_i32{{.*}}, %[[BARRIER]] {cache_hint = #tile_gpu<cache evict_first>}
// CHECK: tile_gpu.tma_load %[[IN]][%c64_i32{{.*}}, %[[ROW]]] to %c8192_i32{{.*}}, %[[BARRIER]]
// CHECK-NOT: tile_gpu.tma_load
// CHECK: tile_gpu.mbarrier_wait
// CHECK: tile_gpu.fence_proxy async_shared_cta
// CHECK: scf.if %[[FIRST]] {
// CHECK: tile_gpu.tma_store %[[OUT]][%c0_i32{{.*}}, %{{.*}}, %c0_i32{{.*}}] from %c0_i32
// CHECK-NOT: tile_gpu.tma_store
// CHECK: tile_gpu.bulk_commit
// CHECK-NEXT: tile_gpu.bulk_wait 0 {read}
func.func @load_and_store(%A: memref<?x?xf16>, %B: memref<?x128xf16>, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 16392 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %b = tile.alloc "b" {tile.shared_offset = 16384 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x128xf16, shared, #shared>
    tile.barrier_init %b {arrivals = 1 : i64} : !tile.buffer<1x!tile.barrier, shared>
    tile.sync_threads
    tile.barrier_arrive %b[%c0] single {expect = 16384 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %y = arith.muli %bx, %c64 : i32
    tile.copy_async %A[%y, %c0] [64, 128] to %s[%c0, %c0] [64, 128] barrier %b[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">, eviction_policy = #tile<eviction_policy evict_first>} : memref<?x?xf16> to !tile.buffer<64x128xf16, shared, #shared>
    tile.barrier_wait %b[%c0], %c0 : !tile.buffer<1x!tile.barrier, shared>
    tile.fence_proxy
    tile.copy_async %s[%c0, %c0] [64, 128] to %B[%y, %c0] [64, 128] {choice = #tile.choice<tma, "">} : !tile.buffer<64x128xf16, shared, #shared> to memref<?x128xf16>
    tile.bulk_commit
    tile.bulk_wait {pending = 0 : i64, read}
  }
  return
}
}

// -----

#slots = #tile.shared_layout<order = [2, 1, 0], panel = 64, swizzle = 128>

module attributes {tile.target = #tile.target<"sm_90a">} {
// Into a slot: panels of all slots follow each other. Dimensions in which the
// copy has extent 1 are coordinates. One thread of the role is enough already.
// CHECK-LABEL: @slot
// CHECK: %[[MAP:.*]] = tile_gpu.tensor_map %{{.*}} <dims = [128 : 1, dim(0, 1) : 512, 4 : 128, 2 : stride(0, 0)], box = [64, 64, 1, 1], swizzle = 128>
// A warp without work fetches the descriptor.
// CHECK: tile_gpu.tma_prefetch_map %[[MAP]]
// CHECK: scf.if
// CHECK: tile_gpu.elect
// CHECK: scf.if
// CHECK-NOT: tile_gpu.elect
// CHECK: %[[SLOT:.*]] = arith.muli %[[INDEX:.*]], %c8192_i32
// CHECK: tile_gpu.tma_load %[[MAP]][%c0_i32{{.*}}, %[[Y:.*]], %[[HEAD:.*]], %[[BATCH:.*]]] to %[[SLOT]], %
// CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]], %c16384_i32
// CHECK: tile_gpu.tma_load %[[MAP]][%c64_i32{{.*}}, %[[Y]], %[[HEAD]], %[[BATCH]]] to %[[NEXT]], %
func.func @slot(%A: memref<2x?x4x128xf16>, %n: i32, %head: i32, %batch: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 32784 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %full = tile.alloc "full" {tile.shared_offset = 32768 : i64} : !tile.buffer<2x!tile.barrier, shared>
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<2x64x128xf16, shared, #slots>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>] {
      %s = tile.subview %a[%bx, %c0, %c0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared, #slots> to !tile.buffer<64x128xf16, shared>
      tile.copy_async %A[%batch, %n, %head, %c0] [1, 64, 1, 128] to %s[%c0, %c0] [64, 128] barrier %full[%bx] : !tile.buffer<2x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<2x?x4x128xf16> to !tile.buffer<64x128xf16, shared>
    }
  }
  return
}
}

// -----

#slots = #tile.shared_layout<order = [2, 1, 2, 0], panel = 64, swizzle = 128>

module attributes {tile.target = #tile.target<"sm_90a">} {
// A slot is one block of all its panels: one box fills it. The map shows rows as columns in a panel and panels, so that
// the coordinate along them counts panels; it may be negative.
// CHECK-LABEL: @slot_of_panels
// CHECK: %[[MAP:.*]] = tile_gpu.tensor_map %{{.*}} <dims = [64 : 1, dim(0, 1) : 512, 2 : 64, 4 : 128, 2 : stride(0, 0)], box = [64, 64, 2, 1, 1], swizzle = 128>
// CHECK: %[[SLOT:.*]] = arith.muli %[[INDEX:.*]], %c16384_i32
// CHECK: %[[PANEL:.*]] = arith.shrsi %{{.*}}, %c6_i32
// CHECK: tile_gpu.tma_load %[[MAP]][%c0_i32{{.*}}, %[[Y:.*]], %[[PANEL]], %[[HEAD:.*]], %[[BATCH:.*]]] to %[[SLOT]], %
// CHECK-NOT: tile_gpu.tma_load
func.func @slot_of_panels(%A: memref<2x?x4x128xf16>, %n: i32, %head: i32, %batch: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 32784 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %x = arith.muli %bx, %c64 : i32
    %full = tile.alloc "full" {tile.shared_offset = 32768 : i64} : !tile.buffer<2x!tile.barrier, shared>
    %a = tile.alloc "a" {tile.shared_offset = 0 : i64} : !tile.buffer<2x64x128xf16, shared, #slots>
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, single = true>] {
      %s = tile.subview %a[%bx, %c0, %c0] [1, 64, 128] : !tile.buffer<2x64x128xf16, shared, #slots> to !tile.buffer<64x128xf16, shared>
      tile.copy_async %A[%batch, %n, %head, %x] [1, 64, 1, 128] to %s[%c0, %c0] [64, 128] barrier %full[%bx] : !tile.buffer<2x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<2x?x4x128xf16> to !tile.buffer<64x128xf16, shared>
    }
  }
  return
}
}

// -----

#shared = #tile.shared_layout<order = [1, 0], panel = 144, swizzle = 0>

module attributes {tile.target = #tile.target<"sm_90a">} {
// The number of panels of a dynamic extent that the program declares as a multiple; panels that are no power of two.
// CHECK-LABEL: @declared
// CHECK: tile_gpu.tensor_map %{{.*}} <dims = [144 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 144) : 144], box = [144, 64, 2]>
// CHECK: arith.divsi %{{.*}}, %c144_i32
// CHECK: tile_gpu.tma_load
// CHECK-NOT: tile_gpu.tma_load
func.func @declared(%A: memref<?x?xf16> {tile.argument = #tile.argument<"A", tensor, shape = [#tile.expr<symbol("m")>, #tile.expr<mul(symbol("n"), 144)>], strides = [], alignment = 16>}, %n: i32) {
  tile.kernel "k" grid(%n) threads(128) attributes {tile.shared_bytes = 36872 : i64} {
  ^bb0(%bx: i32):
    %c0 = arith.constant 0 : i32
    %c288 = arith.constant 288 : i32
    %x = arith.muli %bx, %c288 : i32
    %b = tile.alloc "b" {tile.shared_offset = 36864 : i64} : !tile.buffer<1x!tile.barrier, shared>
    %s = tile.alloc "s" {tile.shared_offset = 0 : i64} : !tile.buffer<64x288xf16, shared, #shared>
    tile.copy_async %A[%c0, %x] [64, 288] to %s[%c0, %c0] [64, 288] barrier %b[%c0] : !tile.buffer<1x!tile.barrier, shared> {choice = #tile.choice<tma, "">} : memref<?x?xf16> to !tile.buffer<64x288xf16, shared, #shared>
  }
  return
}
}
