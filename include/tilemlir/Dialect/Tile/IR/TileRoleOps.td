//===- TileRoleOps.td - operations of warp roles ------------*- tablegen -*-===//
//
// Code that different warps of a block run at the same time; included by
// TileOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEROLEOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEROLEOPS_TD

def Tile_WarpSpecializeOp : Tile_Op<"warp_specialize", [NoTerminator, RecursiveMemoryEffects]> {
  let summary = "regions that different warps run at the same time";
  let description = [{
    One region for each role, in the same order. The warps of a role run its
    region once; warps of no role go on at once. Values of the kernel may be
    used; `local` buffers of the kernel are per thread and so differ between
    roles. Collective operations in a region are performed by the threads of
    that role together; fragments are spread over them, by their number in the
    role. `tile.thread_id` counts from the first thread of an automatic role
    (`producer`, `consumer`); in roles that the program names (`user`) it is
    the number in the block.

    The roles of `tile-specialize-warps`: the consumers are the threads that
    the program sees; a producer comes on top, as the first warps of the block.

    ```mlir
    tile.warp_specialize [#tile.role<producer, first = 0, warps = 4, registers = 24, single = true>,
                          #tile.role<consumer, first = 4, warps = 8, registers = 240>] {
      scf.for ... { tile.barrier_wait %empty[...] ... tile.copy_async ... }
    }, {
      scf.for ... { tile.barrier_wait %full[...] ... tile.gemm_async ... }
    }
    ```
  }];
  let arguments = (ins TypedArrayAttrBase<Tile_RoleAttr, "roles">:$roles, OptionalAttr<Tile_ChoiceAttr>:$choice);
  let regions = (region VariadicRegion<SizedRegion<1>>:$regions);
  let assemblyFormat = "$roles attr-dict-with-keyword $regions";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RoleAttr getRole(unsigned index) { return ::llvm::cast<RoleAttr>(getRoles()[index]); }
  }];
}

def Tile_SetMaxRegistersOp : Tile_Op<"set_max_registers", [MemoryEffects<[MemWrite]>]> {
  let summary = "ask for another number of registers per thread";
  let description = [{
    All warps of a warp group execute it. `count` is a multiple of 8 from 24
    to 256. Written by the program itself (`T.set_max_nreg`); automatic roles
    say it in their `registers`. `setmaxnreg`.
    ```mlir
    tile.set_max_registers {count = 240 : i64, increase}
    ```
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$increase);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILEROLEOPS_TD
