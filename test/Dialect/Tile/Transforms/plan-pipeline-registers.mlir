// Producer roles need registers: an instruction has to fit what every thread has at launch, and all sums what the
// consumers have later.
// RUN: tile-opt %s --tile-plan-pipeline | filecheck %s

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @sums(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "sums" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <256x64xf16, shared>
      %b = tile.alloc "B_shared" : <64x176xf16, shared>
      %c = tile.alloc "sums" : <256x176xf32, fragment>
      // CHECK: tile.pipelined {{.*}}a producer role loads A_shared into a ring of 3 slots
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [256, 64] to %a[%c0, %c0] [256, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<256x64xf16, shared>
        tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 176, 16], warpgroups = [2, 1]}>} : !tile.buffer<256x64xf16, shared>, !tile.buffer<64x176xf16, shared>, !tile.buffer<256x176xf32, fragment>
      }
    }
    return
  }
  func.func @instruction(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "instruction" grid(%c8) threads(384) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <192x64xf16, shared>
      %b = tile.alloc "B_shared" : <64x256xf16, shared>
      %c = tile.alloc "sums" : <192x256xf32, fragment>
      // CHECK: tile.pipelined {{.*}}no producer role: 512 threads have 128 registers each at launch, too few for 128 of accumulators
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [192, 64] to %a[%c0, %c0] [192, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<192x64xf16, shared>
        tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 256, 16], warpgroups = [3, 1]}>} : !tile.buffer<192x64xf16, shared>, !tile.buffer<64x256xf16, shared>, !tile.buffer<192x256xf32, fragment>
      }
    }
    return
  }
  func.func @blocks(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "blocks" grid(%c8) threads(384) attributes {min_blocks_per_sm = 2 : i64} {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <192x64xf16, shared>
      %b = tile.alloc "B_shared" : <64x128xf16, shared>
      %c = tile.alloc "sums" : <192x128xf32, fragment>
      // CHECK: tile.pipelined {{.*}}no producer role: 512 threads in each of 2 blocks on a multiprocessor have 72 registers each as consumers, too few for 64 of accumulators
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [192, 64] to %a[%c0, %c0] [192, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<192x64xf16, shared>
        tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 64, 16], warpgroups = [3, 1]}>} : !tile.buffer<192x64xf16, shared>, !tile.buffer<64x128xf16, shared>, !tile.buffer<192x128xf32, fragment>
      }
    }
    return
  }
  func.func @too_many_sums(%A: memref<1024x1024xf16>) {
    %c8 = arith.constant 8 : i32
    tile.kernel "too_many_sums" grid(%c8) threads(256) {
    ^bb0(%bx: i32):
      %c0 = arith.constant 0 : i32
      %a = tile.alloc "A_shared" : <256x64xf16, shared>
      %b = tile.alloc "B_shared" : <64x224xf16, shared>
      %c = tile.alloc "sums" : <256x224xf32, fragment>
      // CHECK: tile.pipelined {{.*}}no producer role: 384 threads have 240 registers each as consumers, too few for 224 of accumulators
      tile.pipelined %c0 to %c8 stages(3) {
      ^bb0(%k: i32):
        tile.copy %A[%k, %c0] [256, 64] to %a[%c0, %c0] [256, 64] {choice = #tile.choice<tma, "">} : memref<1024x1024xf16> to !tile.buffer<256x64xf16, shared>
        tile.gemm %a, %b, %c {choice = #tile.choice<wgmma_ss, "", {instruction = [64, 224, 16], warpgroups = [2, 1]}>} : !tile.buffer<256x64xf16, shared>, !tile.buffer<64x224xf16, shared>, !tile.buffer<256x224xf32, fragment>
      }
    }
    return
  }
}
