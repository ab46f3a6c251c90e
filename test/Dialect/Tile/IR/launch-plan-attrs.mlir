// The launch plan keeps its text form.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK: tile.launch_plan = #tile.launch_plan<name = "scale", target = "cpu", arguments = [#tile.launch_argument<name = "A", tensor = true, element = f16, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], strided = false, alignment = 16, access = read>, #tile.launch_argument<name = "n", tensor = false, element = i32, shape = [], strides = [], strided = false, alignment = 0, access = read>]
// CHECK-SAME: symbols = [#tile.launch_symbol<name = "M", source = <dim(0, 0)>>], outputs = [], workspaces = [#tile.launch_workspace<bytes = <4096>, zero = true>, #tile.launch_workspace<bytes = <256>, zero = false, kept = true>]
// CHECK-SAME: launches = [#tile.launch<kernel = "scale", grid = [#tile.expr<ceildiv(symbol("M"), 128)>, #tile.expr<1>, #tile.expr<1>], cluster = [1, 1, 1], threads = 128, shared_bytes = 0, cooperative = false, parameters = [#tile.launch_parameter<kind = pointer>, #tile.launch_parameter<kind = scalar, index = 1>, #tile.launch_parameter<kind = tensor_map>, #tile.launch_parameter<kind = expr, type = i32, value = <dim(0, 1)>>]>]
// CHECK-SAME: tensor_maps = [#tile.tensor_map<argument = 0, dim_order = [1, 0], box = [64, 128], element_strides = [1, 1], swizzle = 128, fill = zero>]
// CHECK-SAME: guards = [#tile.guard<kind = aligned, bytes = 16, written = [], read = []>, #tile.guard<kind = expr_true, written = [], read = [], value = <min(dim(0, 0), 1)>, message = "M must be positive">]>
module attributes {tile.launch_plan = #tile.launch_plan<name = "scale", target = "cpu",
  arguments = [#tile.launch_argument<name = "A", tensor = true, element = f16, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], strided = false, alignment = 16, access = read>,
               #tile.launch_argument<name = "n", tensor = false, element = i32, shape = [], strides = [], strided = false, alignment = 0, access = read>],
  symbols = [#tile.launch_symbol<name = "M", source = <dim(0, 0)>>], outputs = [], workspaces = [#tile.launch_workspace<bytes = <4096>, zero = true>, #tile.launch_workspace<bytes = <256>, zero = false, kept = true>],
  launches = [#tile.launch<kernel = "scale", grid = [#tile.expr<ceildiv(symbol("M"), 128)>, #tile.expr<1>, #tile.expr<1>], cluster = [1, 1, 1], threads = 128, shared_bytes = 0, cooperative = false,
    parameters = [#tile.launch_parameter<kind = pointer>, #tile.launch_parameter<kind = scalar, index = 1>, #tile.launch_parameter<kind = tensor_map, index = 0>, #tile.launch_parameter<kind = expr, type = i32, value = <dim(0, 1)>>]>],
  tensor_maps = [#tile.tensor_map<argument = 0, dim_order = [1, 0], box = [64, 128], element_strides = [1, 1], swizzle = 128, fill = zero>],
  guards = [#tile.guard<kind = aligned, argument = 0, bytes = 16, written = [], read = []>, #tile.guard<kind = expr_true, written = [], read = [], value = <min(dim(0, 0), 1)>, message = "M must be positive">]>} {
}
