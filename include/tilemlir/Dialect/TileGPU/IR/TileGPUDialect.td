//===- TileGPUDialect.td - the `tile_gpu` dialect -----------*- tablegen -*-===//
//
// The dialect and the base classes of its operations and attributes. A
// `TileGPU_<Name>` record becomes the C++ class `<Name>`.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUDIALECT
#define TILEMLIR_DIALECT_TILEGPU_IR_TILEGPUDIALECT

include "mlir/IR/OpBase.td"

def TileGPU_Dialect : Dialect {
  let name = "tile_gpu";
  let cppNamespace = "::mlir::tile_gpu";
  let summary = "What one GPU thread does: registers, addresses, instructions.";
  let description = [{
    Code of this dialect is written for one thread. No layout question is open:
    who holds which element was decided before.

    **Machine model.** Threads of a block are numbered by `thread_id`; 32
    consecutive ones form a warp. A warp operation (`ldmatrix`, `stmatrix`,
    `mma`, `shuffle`) is executed by all 32 threads of a warp together, and
    each thread gives and receives its part.

    **Registers** are SSA values: scalars, or vectors with one element per
    register of a fragment, in the order of the layout's register index.

    **Global memory** is a `memref` and a *linear element offset* (`i64`) from
    its first element; strides have already been multiplied in. A false
    predicate suppresses the access: a load yields zeros, a store does nothing.
    An address that no true predicate covers is never touched.

    **Shared memory** is one arena per block, addressed by `i32` byte offsets
    from its start (which is aligned to 1024 bytes). The `offset` attribute is
    added to the operand: operands are per-thread bases, attributes are the
    constants that fit into an instruction.

    **Alignment.** `alignment` (bytes) is a promise about the address; a vector
    access is done in as few instructions as it allows.

    **Asynchronous copies** started by a thread belong to the group that the
    thread commits next. `async_wait` makes the data of all but the newest
    `pending` groups visible to the executing thread; `barrier` then makes it
    visible to the others. Reading the destination earlier is an error that
    the simulator reports.

    **Bulk copies** (`tma_*`, `bulk_*`) are done by the tensor memory accelerator
    in the *async proxy*. Loads report their bytes to an mbarrier; stores belong
    to the bulk group that the executing thread commits next. Generic stores to
    shared memory become visible to a bulk store, or to `wgmma`, by `fence_proxy`
    of the writing threads and a barrier.

    **mbarriers** are 8 bytes of shared memory at a multiple of 8. A phase is
    complete when all arrivals and all expected bytes have come; the phases of a
    barrier alternate between parity 0 and 1, beginning with 0.

    **Single threads.** Operations that one thread executes (`tma_*`, `bulk_*`,
    `mbarrier_init`, `mbarrier_expect_tx`) stand in `scf.if` under
    `tile_gpu.elect`, itself in a branch that is uniform over the warp.

    **Warpgroups** are four consecutive warps whose first index is a multiple of
    four. All 128 threads execute a `wgmma`, which is asynchronous: between it and
    the `wgmma_wait` that covers it nobody may touch its registers; that wait
    gives the value anew.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();\nvoid registerTypes();";
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::tile::TileDialect"
  ];
}

class TileGPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<TileGPU_Dialect, mnemonic, traits>;

#endif
