//===- TileLaunchAttrs.td - the launch plan -----------------*- tablegen -*-===//
//
// The host half of a function as data: what the launcher checks, allocates and
// passes. Both back ends write it, `tile-translate --tile-to-launch-plan` prints
// it as JSON. Included by TileAttrs.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILELAUNCHATTRS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILELAUNCHATTRS_TD

def Tile_LaunchArgumentAttr : Tile_Attr<"LaunchArgument", "launch_argument"> {
  let summary = "an argument of the call";
  let description = [{
    `shape` and `strides` (in elements) are lists of `#tile.expr`; scalars have
    `tensor = false` and empty lists. `strided = false` requires a row-major
    contiguous tensor. `alignment` is promised for the base, in bytes.
    ```mlir
    #tile.launch_argument<name = "A", tensor = true, element = f16, shape = [#tile.expr<dim(0, 0)>, #tile.expr<64>],
      strides = [#tile.expr<64>, #tile.expr<1>], strided = false, alignment = 16, access = read>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "bool":$tensor, "Type":$element,
    "ArrayAttr":$shape, "ArrayAttr":$strides, "bool":$strided, "int64_t":$alignment, "Access":$access);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_LaunchSymbolAttr : Tile_Attr<"LaunchSymbol", "launch_symbol"> {
  let summary = "a dynamic size and where the launcher reads it";
  let description = [{
    Every other occurrence of the symbol in the shapes and strides of arguments
    is checked against this one.
    ```mlir
    #tile.launch_symbol<name = "M", source = <dim(0, 0)>>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "ExprAttr":$source);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_LaunchWorkspaceAttr : Tile_Attr<"LaunchWorkspace", "launch_workspace"> {
  let summary = "global scratch memory of a call";
  let description = [{
    Filled with zeros before every call (`zero`), or only when it is allocated
    (`kept`).
    ```mlir
    #tile.launch_workspace<bytes = <4096>, zero = true>
    #tile.launch_workspace<bytes = <256>, zero = false, kept = true>
    ```
  }];
  let parameters = (ins "ExprAttr":$bytes, "bool":$zero, DefaultValuedParameter<"bool", "false">:$kept);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_LaunchParameterAttr : Tile_Attr<"LaunchParameter", "launch_parameter"> {
  let summary = "one parameter of a kernel";
  let description = [{
    `index` is an argument, workspace or tensor map; `expr` parameters have an
    integer `type` and a `value` instead.
    ```mlir
    #tile.launch_parameter<kind = pointer, index = 0>
    #tile.launch_parameter<kind = expr, type = i32, value = <dim(0, 1)>>
    ```
  }];
  let parameters = (ins "ParameterKind":$kind, DefaultValuedParameter<"int64_t", "0">:$index,
    OptionalParameter<"Type">:$type, OptionalParameter<"ExprAttr">:$value);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_LaunchAttr : Tile_Attr<"Launch", "launch"> {
  let summary = "one kernel launch";
  let description = [{
    `grid` has three `#tile.expr`, `cluster` three integers. Launches with an
    empty grid are skipped. With `programmatic_serialization` the kernel may begin
    before its predecessor ends (it waits by `griddepcontrol.wait`).
    ```mlir
    #tile.launch<kernel = "gemm", grid = [#tile.expr<8>, #tile.expr<8>, #tile.expr<1>], cluster = [1, 1, 1],
      threads = 128, shared_bytes = 32768, cooperative = false, parameters = [#tile.launch_parameter<kind = pointer>]>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$kernel, "ArrayAttr":$grid, "DenseI64ArrayAttr":$cluster,
    "int64_t":$threads, "int64_t":$shared_bytes, "bool":$cooperative, "ArrayAttr":$parameters,
    DefaultValuedParameter<"bool", "false">:$programmatic_serialization);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_TensorMapAttr : Tile_Attr<"TensorMap", "tensor_map"> {
  let summary = "a tensor descriptor that the launcher encodes";
  let description = [{
    `dim_order` lists the tensor dimensions from the fastest map dimension on;
    `box` and `element_strides` follow that order. `swizzle` is in bytes.
    A map of a view other than the tensor's own dimensions has an empty `dim_order`
    and gives `shape`, `strides` and `offset` as expressions in elements, fastest
    first. `dtype` is an element type of the same width as the tensor's.
    ```mlir
    #tile.tensor_map<argument = 0, dim_order = [1, 0], box = [64, 128], element_strides = [1, 1], swizzle = 128, fill = zero>
    #tile.tensor_map<argument = 1, dim_order = [], box = [64, 64, 4], element_strides = [1, 1, 1], swizzle = 128, fill = zero,
      shape = [#tile.expr<64>, #tile.expr<dim(1, 0)>, #tile.expr<16>],
      strides = [#tile.expr<1>, #tile.expr<1024>, #tile.expr<64>]>
    ```
  }];
  let parameters = (ins "int64_t":$argument, "DenseI64ArrayAttr":$dim_order, "DenseI64ArrayAttr":$box,
    "DenseI64ArrayAttr":$element_strides, "int64_t":$swizzle, "TensorMapFill":$fill,
    OptionalParameter<"ArrayAttr">:$shape, OptionalParameter<"ArrayAttr">:$strides,
    OptionalParameter<"ExprAttr">:$offset, OptionalParameter<"Type">:$dtype,
    DefaultValuedParameter<"int64_t", "128">:$l2_promotion);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_GuardAttr : Tile_Attr<"Guard", "guard"> {
  let summary = "a condition checked at every launch";
  let description = [{
    A violated `aligned` or `noalias` guard selects another compiled variant; a
    violated `expr_true` (zero value) is an error with `message`.
    ```mlir
    #tile.guard<kind = aligned, argument = 0, bytes = 16, written = [], read = []>
    #tile.guard<kind = noalias, written = [2], read = [0, 1]>
    #tile.guard<kind = expr_true, written = [], read = [], value = <min(dim(0, 0), 1)>, message = "M must be positive">
    ```
  }];
  let parameters = (ins "GuardKind":$kind, DefaultValuedParameter<"int64_t", "0">:$argument,
    DefaultValuedParameter<"int64_t", "0">:$bytes, "DenseI64ArrayAttr":$written, "DenseI64ArrayAttr":$read,
    OptionalParameter<"ExprAttr">:$value, StringRefParameter<"", [{""}]>:$message);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_LaunchPlanAttr : Tile_Attr<"LaunchPlan", "launch_plan"> {
  let summary = "everything a host needs to call a compiled function";
  let description = [{
    The module attribute `tile.launch_plan` of a module whose kernels have been
    outlined. `outputs` are the arguments that the launcher allocates. Read by
    the runtime (as JSON), the simulator and embedders; no host code is
    generated.
    ```mlir
    module attributes {tile.launch_plan = #tile.launch_plan<name = "scale", target = "cpu", arguments = [...], symbols = [],
      outputs = [1], workspaces = [], launches = [...], tensor_maps = [], guards = []>} { ... }
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$target, "ArrayAttr":$arguments, "ArrayAttr":$symbols,
    "DenseI64ArrayAttr":$outputs, "ArrayAttr":$workspaces, "ArrayAttr":$launches, "ArrayAttr":$tensor_maps, "ArrayAttr":$guards);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILELAUNCHATTRS_TD
