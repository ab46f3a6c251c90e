//===- TileDialect.td - definition of the `tile` dialect ----*- tablegen -*-===//
//
// The dialect itself and the base classes of its operations, types and
// attributes. A `Tile_<Name>` record becomes the C++ class `<Name>`.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEDIALECT_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
  let summary = "Block-level kernels: what the user of a tile language wrote.";
  let description = [{
    A kernel is written for one thread block. Its data lives in global tensors
    (`memref`), and in buffers that the kernel allocates (`!tile.buffer`) in
    shared memory, in fragments (registers spread over the threads of a block)
    or in per-thread local storage.

    Semantics. The body of `tile.kernel` is executed once per block. Tile
    operations (`copy`, `gemm`, `fill`, `reduce`, `parallel`, ...) are
    collective: the threads of the block together perform them once. They must
    be reached under control flow that is uniform over the block. Scalar
    operations, and `local` buffers, are per thread. Buffers are mutable
    handles; operations read and write them in program order, and every
    operation behaves as if it had completed before the next one starts,
    except for the explicitly asynchronous ones.

    Global accesses are checked: a read outside of a tensor yields zero (or
    the `safe` value of the operation), a write outside is dropped.

    Scalars use the `arith` and `math` dialects, control flow is `scf`.
    Coordinates are `i32`; linear offsets are `i64` and computed by lowering.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::math::MathDialect"
  ];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
  }];
  let discardableAttrs = (ins
    "::mlir::tile::LoopHintAttr":$loop_hint,
    "::mlir::tile::ArgumentAttr":$argument,
    "::mlir::DenseI64ArrayAttr":$outputs,
    "::mlir::tile::TargetAttr":$target,
    "::mlir::tile::OptionsAttr":$options,
    "::mlir::tile::LaunchPlanAttr":$launch_plan,
    // Of loads in a tile.pipelined: iterations that they start early.
    "::mlir::IntegerAttr":$ahead,
    // Of scf.for and scf.if: the place in a software pipeline.
    "::mlir::tile::PipelineAttr":$pipeline,
    // Of scf.for that was a tile.pipelined: what was decided about it.
    "::mlir::tile::ChoiceAttr":$loop_choice,
    // Of tile.alloc: number of slots (leading dimension) of a buffer whose
    // contents are only used inside of the pipelines that fill it.
    "::mlir::IntegerAttr":$slots,
    // Of copies in a ring loop: they belong to the producer role.
    "::mlir::UnitAttr":$produce,
    // Of a tile.alloc of two local i32, slot and phase: the slots of the ring
    // whose position it holds.
    "::mlir::IntegerAttr":$ring,
    // Of tile.alloc: byte offset in the shared memory of the block.
    "::mlir::IntegerAttr":$shared_offset,
    // Of tile.kernel: bytes of shared memory of a block.
    "::mlir::IntegerAttr":$shared_bytes,
    // Of the module: what explain() shows, see tile-collect-report.
    "::mlir::ArrayAttr":$report
  );
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

class Tile_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILEDIALECT_TD
