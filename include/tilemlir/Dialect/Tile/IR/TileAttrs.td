//===- TileAttrs.td - attributes of the `tile` dialect ------*- tablegen -*-===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEATTRS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEATTRS_TD

include "tilemlir/Dialect/Tile/IR/TileEnums.td"

def Tile_FragmentLayoutAttr : Tile_Attr<"FragmentLayout", "fragment_layout"> {
  let summary = "which thread and register hold each element of a fragment";
  let description = [{
    A strided thread/value layout. `threads` and `registers` are lists of modes
    `(extent, dim, stride)`, fastest first. The digits of the thread id in the
    mixed radix given by the thread extents, and of the register index in that
    of the register extents, each add `digit * stride` to coordinate `dim`.
    `dim = -1` (threads only) is a replica mode: all its digits hold the same
    elements. Coordinates beyond `shape` are padding. Extents need not be
    powers of two.

    The accumulator of one `mma.sync.m16n8` on 32 threads:

    ```mlir
    #tile.fragment_layout<[16, 8], threads = [(4, 1, 2), (8, 0, 1)],
                          registers = [(2, 1, 1), (2, 0, 8)]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    ArrayRefParameter<"int64_t", "flattened (extent, dim, stride) triples">:$threadModes,
    ArrayRefParameter<"int64_t", "flattened (extent, dim, stride) triples">:$registerModes
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumThreads() const;
    int64_t getNumRegisters() const;
    /// The same map as a value of the layout library.
    ::tilemlir::layout::FragmentLayout getLayout() const;
    static FragmentLayoutAttr get(MLIRContext *context, const ::tilemlir::layout::FragmentLayout &layout);
  }];
}

def Tile_SharedLayoutAttr : Tile_Attr<"SharedLayout", "shared_layout"> {
  let summary = "where each element of a shared-memory tile lies";
  let description = [{
    `order` lists the dimensions from fastest to slowest; the fastest one is cut
    into panels of `panel` elements, which lie outermost, or where it is listed
    again (`[2, 1, 2, 0]`: slots of panels of rows). A panel row is `swizzle` (32,
    64, 128) bytes wide, and the index of a 16-byte chunk is XORed with low bits of
    the row index, as TMA, wgmma and `ldmatrix` have it; `swizzle = 0` is linear.

    ```mlir
    #tile.shared_layout<order = [1, 0], panel = 64, swizzle = 128>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$order,
    "int64_t":$panel,
    "int64_t":$swizzle
  );
  let assemblyFormat = "`<` `order` `=` `[` $order `]` `,` `panel` `=` $panel `,` `swizzle` `=` $swizzle `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of a tile of this shape and element size.
    ::tilemlir::layout::SharedLayout getLayout(ArrayRef<int64_t> shape, int64_t elementBits) const;
    static SharedLayoutAttr get(MLIRContext *context, const ::tilemlir::layout::SharedLayout &layout);
  }];
}

def Tile_ChoiceAttr : Tile_Attr<"Choice", "choice"> {
  let summary = "the instruction chosen for an operation, and why";
  let description = [{
    Set by `tile-select-instructions`, changed with a new reason whenever a
    later pass demotes the choice. `reason` is shown to users by `explain()`:
    why this path was taken, or why a faster one was not. `arguments` holds
    facts of the path (instruction shape, warp grid, vector bytes).

    ```mlir
    #tile.choice<mma_sync, "sm_80 has mma.sync", {instruction = [16, 8, 16], warps = [2, 2]}>
    ```
  }];
  let parameters = (ins "Path":$path, StringRefParameter<>:$reason,
                        OptionalParameter<"DictionaryAttr">:$arguments);
  let assemblyFormat = "`<` $path `,` $reason (`,` $arguments^)? `>`";
}

def Tile_LoopHintAttr : Tile_Attr<"LoopHint", "loop_hint"> {
  let summary = "how a counted `scf.for` is to be executed";
  let description = [{
    A discardable attribute of `scf.for`, named `tile.loop_hint`. `factor = 0`
    means all iterations.
    ```mlir
    scf.for %i = %a to %b step %c : i32 { ... } {tile.loop_hint = #tile.loop_hint<unroll, 0>}
    ```
  }];
  let parameters = (ins "LoopKind":$kind, DefaultValuedParameter<"int64_t", "0">:$factor);
  let assemblyFormat = "`<` $kind (`,` $factor^)? `>`";
}

def Tile_PipelineAttr : Tile_Attr<"Pipeline", "pipeline"> {
  let summary = "place of an operation in a software pipeline";
  let description = [{
    A discardable attribute named `tile.pipeline`, set by `tile-multibuffer`.
    The `scf.for` of a pipeline has the role `steady`: in iteration `k` it uses
    slot `(k - lower) mod slots` of each buffer that is loaded ahead. An
    `scf.if` with the role `issue` starts the loads of the iteration `ahead`
    steps later (inside the loop) or of one of the first `ahead` iterations (in
    the prologue before the loop). A loop with the role `ring` loads the slot
    that its ring variable names and uses it in the same iteration; once roles
    are split, loads run ahead as far as there are free slots.
    ```mlir
    scf.if %in { ... } {tile.pipeline = #tile.pipeline<issue, slots = 3, ahead = 2>}
    ```
  }];
  let parameters = (ins "PipelineRole":$role, "int64_t":$slots, "int64_t":$ahead);
  let assemblyFormat = "`<` $role `,` `slots` `=` $slots `,` `ahead` `=` $ahead `>`";
  let genVerifyDecl = 1;
}

def Tile_RoleAttr : Tile_Attr<"Role", "role"> {
  let summary = "a group of consecutive warps with code of its own";
  let description = [{
    Warps `first` to `first + warps - 1` of the block. `registers` is the
    number of registers per thread that the role asks for with `setmaxnreg`;
    0 leaves the launch value. With `single`, one elected thread runs the
    region, and the other threads skip it.
    ```mlir
    #tile.role<producer, first = 0, warps = 4, registers = 24, single = true>
    ```
  }];
  let parameters = (ins "RoleKind":$kind, "int64_t":$first, "int64_t":$warps,
    DefaultValuedParameter<"int64_t", "0">:$registers, DefaultValuedParameter<"bool", "false">:$single);
  let assemblyFormat = "`<` $kind `,` struct($first, $warps, $registers, $single) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getThreads() const { return getWarps() * 32; }
  }];
}

def Tile_RasterAttr : Tile_Attr<"Raster", "raster"> {
  let summary = "order in which blocks walk the first two grid dimensions";
  let description = [{
    Blocks are renumbered so that consecutive ones share a panel of `panelSize`
    rows (`row`) or columns (`column`) of the grid, which keeps the operands of
    a panel in L2.
  }];
  let parameters = (ins "int64_t":$panelSize, "RasterOrder":$order);
  let assemblyFormat = "`<` $panelSize `,` $order `>`";
}

def Tile_ExprAttr : Tile_Attr<"Expr", "expr"> {
  let summary = "closed integer expression that the host evaluates at launch";
  let description = [{
    Leaves: integers, `symbol("M")`, `dim(argument, axis)`,
    `stride(argument, axis)`, `scalar(argument)`, `sm_count()`. Nodes: `add`,
    `sub`, `mul`, `floordiv`, `ceildiv`, `mod`, `min`, `max` of two expressions.
    Arithmetic is on 64-bit integers; division by zero is a launch error.
    ```mlir
    #tile.expr<ceildiv(dim(0, 1), 128)>
    ```
  }];
  let parameters = (ins "ExprKind":$kind, "int64_t":$value, "int64_t":$axis,
    StringRefParameter<>:$name, ArrayRefParameter<"ExprAttr">:$operands);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static ExprAttr getConstant(MLIRContext *context, int64_t value);
    static ExprAttr getSymbol(MLIRContext *context, StringRef name);
    static ExprAttr getDim(MLIRContext *context, int64_t argument, int64_t axis);
    static ExprAttr getStride(MLIRContext *context, int64_t argument, int64_t axis);
    static ExprAttr getScalar(MLIRContext *context, int64_t argument);
    static ExprAttr getSmCount(MLIRContext *context);
    /// A binary node, folded when both operands are constants.
    static ExprAttr getBinary(ExprKind kind, ExprAttr lhs, ExprAttr rhs);
    bool isConstant() const { return getKind() == ExprKind::Constant; }
  }];
}

def Tile_ArgumentAttr : Tile_Attr<"Argument", "argument"> {
  let summary = "what the user declared about a kernel argument";
  let description = [{
    Attached to arguments of the traced `func.func` as `tile.argument`. `shape`
    and `strides` (in elements) are constants or symbols; `strides` is empty
    for row-major contiguous tensors. Scalars have an empty shape and
    `tensor = false`. `alignment` is in bytes and promised for the base.
    ```mlir
    #tile.argument<"A", tensor, shape = [#tile.expr<symbol("M")>, #tile.expr<64>], strides = [], alignment = 16>
    ```
  }];
  let parameters = (ins
    StringRefParameter<>:$name, "bool":$tensor,
    ArrayRefParameter<"ExprAttr">:$shape, ArrayRefParameter<"ExprAttr">:$strides,
    "int64_t":$alignment);
  let hasCustomAssemblyFormat = 1;
}

def Tile_TargetAttr : Tile_Attr<"Target", "target"> {
  let summary = "feature set that a module is compiled for";
  let description = [{
    `arch` is `cpu` or `sm_<NN>[a]`. `ptx` is the PTX ISA version times ten.
    ```mlir
    module attributes {tile.target = #tile.target<"sm_80", ptx = 86>} { ... }
    ```
  }];
  let parameters = (ins StringRefParameter<>:$arch, DefaultValuedParameter<"int64_t", "0">:$ptx);
  let assemblyFormat = "`<` $arch (`,` `ptx` `=` $ptx^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isCPU() const { return getArch() == "cpu"; }
    /// 80 for sm_80, 90 for sm_90a; 0 for the CPU.
    int64_t getComputeCapability() const;
    /// Whether the architecture-specific feature set ("a") was asked for.
    bool hasArchSpecificFeatures() const;
    /// Largest dynamic shared memory of a block in bytes.
    int64_t getSharedMemoryLimit() const;
    static constexpr int64_t kDefaultPTX = 86;
    int64_t getPTXVersion() const { return getPtx() ? getPtx() : kDefaultPTX; }
  }];
}

def Tile_OptionsAttr : Tile_Attr<"Options", "options"> {
  let summary = "compile options that change the generated code";
  let description = [{
    A closed dictionary on the module, `tile.options`. Keys absent have their
    default:
    | key | type | default | meaning |
    |---|---|---|---|
    | `fast_math` | bool | false | reassociation, approximate division, unrounded sums |
    | `noalias` | bool | true | written tensors overlap no other argument |
    | `alignment` | i64 | 16 | bytes that every tensor base and row pitch may be assumed to have; 0 = element aligned |
    | `disable_tma` | bool | false | |
    | `disable_wgmma` | bool | false | |
    | `disable_warp_specialized` | bool | false | |
    | `disable_shared_reuse` | bool | false | no lifetime reuse of shared memory |
    | `disable_vectorize_256` | bool | false | |
    | `disable_async_copy` | bool | false | no cp.async |
    | `disable_bounds_checks` | bool | false | the user promises that no access leaves its tensor |
    | `disable_defer_stores` | bool | false | persistent kernels store a tile before they go on to the next |
    | `disable_thread_sync` | bool | false | only the user's own barriers |
    | `line_info` | bool | true | |
    | `shared_limit` | i64 | of the target | bytes |
    | `ptxas_options` | array of strings | [] | |
  }];
  let parameters = (ins "DictionaryAttr":$values);
  let assemblyFormat = "`<` $values `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool getFlag(StringRef key, bool defaultValue) const;
    int64_t getInteger(StringRef key, int64_t defaultValue) const;
    /// Options of the module around `op`; defaults when it has none.
    static OptionsAttr of(Operation *op);
  }];
}

include "tilemlir/Dialect/Tile/IR/TileLaunchAttrs.td"

#endif // TILEMLIR_DIALECT_TILE_IR_TILEATTRS_TD
