// Descriptors become parameters and records of the launch plan, one per distinct map.
// RUN: tile-opt %s --tile-outline-kernels | filecheck %s
// RUN: tile-opt %s --tile-outline-kernels | tile-translate --tile-to-launch-plan | filecheck %s --check-prefix=JSON

// The access of an argument follows from what is done with its descriptor.
// CHECK: #tile.launch_argument<name = "arg0", {{.*}}access = read>
// CHECK-SAME: #tile.launch_argument<name = "arg1", {{.*}}access = write>
// CHECK-SAME: launches = [#tile.launch<kernel = "copy", {{.*}}cluster = [2, 1, 1], {{.*}}#tile.launch_parameter<kind = tensor_map>, #tile.launch_parameter<kind = tensor_map, index = 1>, #tile.launch_parameter<kind = tensor_map, index = 2>], programmatic_serialization = true>
// CHECK-SAME: #tile.launch<kernel = "again", {{.*}}#tile.launch_parameter<kind = tensor_map, index = 1>]>]
// CHECK-SAME: tensor_maps = [#tile.tensor_map<argument = 0, dim_order = [], box = [64, 32], element_strides = [1, 1], swizzle = 128, fill = zero, shape = [#tile.expr<dim(0, 1)>, #tile.expr<dim(0, 0)>], strides = [#tile.expr<1>, #tile.expr<dim(0, 1)>]>,
// CHECK-SAME: #tile.tensor_map<argument = 1, dim_order = [], box = [64, 32, 2], element_strides = [1, 1, 1], swizzle = 128, fill = zero, shape = [#tile.expr<64>, #tile.expr<dim(1, 0)>, #tile.expr<16>], strides = [#tile.expr<1>, #tile.expr<stride(1, 0)>, #tile.expr<64>]>,
// CHECK-SAME: #tile.tensor_map<argument = 0, dim_order = [], box = [32], element_strides = [2], swizzle = 0, fill = nan, shape = [#tile.expr<mul(dim(0, 0), dim(0, 1))>], strides = [#tile.expr<1>], offset = <dim(0, 1)>, dtype = bf16, l2_promotion = 256>]
// CHECK: llvm.func @copy(
// CHECK-SAME: %[[M0:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[M1:[a-z0-9]+]]: !llvm.ptr {{{.*}}nvvm.grid_constant}, %[[M2:[a-z0-9]+]]: !llvm.ptr {{{.*}}nvvm.grid_constant})
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-DAG: tile_gpu.tensor_map_parameter %[[M0]] : !llvm.ptr -> !tile_gpu.tensor_map<64x32xf16>
// CHECK-DAG: tile_gpu.tensor_map_parameter %[[M1]] : !llvm.ptr -> !tile_gpu.tensor_map<64x32x2xf16>
// CHECK-DAG: tile_gpu.tensor_map_parameter %[[M2]] : !llvm.ptr -> !tile_gpu.tensor_map<32xbf16>
// CHECK-NOT: tile_gpu.tensor_map %

// JSON: "programmatic_serialization":true
// JSON: "tensor_maps":[{"argument":0,"box":[64,32],"dim_order":[],"element_strides":[1,1],"fill":"zero","l2_promotion":128,"shape":[["dim",0,1],["dim",0,0]],"strides":[1,["dim",0,1]],"swizzle":128}
// JSON: "dtype":"bf16"
// JSON: "offset":["dim",0,1]

module attributes {tile.target = #tile.target<"sm_90a">} {
  func.func @maps(%A: memref<?x?xf16>, %B: memref<?x1024xf16, strided<[?, 1], offset: 0>>) {
    %g = arith.constant 2 : i32
    tile.kernel "copy" grid(%g) threads(128) attributes {cluster = array<i64: 2>} {
    ^bb0(%bx: i32):
      tile_gpu.set_max_registers decrease 40
      tile_gpu.griddepcontrol_wait
      %m = tile_gpu.tensor_map %A <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 32], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x32xf16>
      %same = tile_gpu.tensor_map %A <dims = [dim(0, 1) : 1, dim(0, 0) : stride(0, 0)], box = [64, 32], swizzle = 128> : memref<?x?xf16> -> !tile_gpu.tensor_map<64x32xf16>
      %panels = tile_gpu.tensor_map %B <dims = [64 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 64) : 64], box = [64, 32, 2], swizzle = 128> : memref<?x1024xf16, strided<[?, 1], offset: 0>> -> !tile_gpu.tensor_map<64x32x2xf16>
      %flat = tile_gpu.tensor_map %A <dims = [mul(dim(0, 0), dim(0, 1)) : 1], offset = dim(0, 1), box = [32], element_strides = [2], dtype = bf16, fill = nan, l2_promotion = 256> : memref<?x?xf16> -> !tile_gpu.tensor_map<32xbf16>
      tile_gpu.tma_load %m[%bx, %bx] to %bx, %bx : !tile_gpu.tensor_map<64x32xf16>
      tile_gpu.tma_load %same[%bx, %bx] to %bx, %bx : !tile_gpu.tensor_map<64x32xf16>
      tile_gpu.tma_load %flat[%bx] to %bx, %bx : !tile_gpu.tensor_map<32xbf16>
      tile_gpu.tma_store %panels[%bx, %bx, %bx] from %bx : !tile_gpu.tensor_map<64x32x2xf16>
    }
    tile.kernel "again" grid(%g) threads(128) {
    ^bb0(%bx: i32):
      %panels = tile_gpu.tensor_map %B <dims = [64 : 1, dim(0, 0) : stride(0, 0), floordiv(dim(0, 1), 64) : 64], box = [64, 32, 2], swizzle = 128> : memref<?x1024xf16, strided<[?, 1], offset: 0>> -> !tile_gpu.tensor_map<64x32x2xf16>
      tile_gpu.tma_store %panels[%bx, %bx, %bx] from %bx : !tile_gpu.tensor_map<64x32x2xf16>
    }
    return
  }
}
