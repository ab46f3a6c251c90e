//===- TileAsyncOps.td - asynchronous operations ------------*- tablegen -*-===//
//
// Operations whose effect is complete only after a matching wait. Passes
// create them from pipelined loops; included by TileOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD
#define TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD

def Tile_CopyAsyncOp : Tile_CopyLikeOp<"copy_async"> {
  let summary = "start a copy from a tensor to shared memory";
  let description = [{
    Same operands and meaning as `tile.copy`, but the destination may be read
    only after a `tile.async_wait` that covers the group this copy was
    committed to, followed by a barrier. Lowered to `cp.async`.
    ```mlir
    tile.copy_async %A[%y, %k] [128, 32] to %slot[%c0, %c0] [128, 32] : memref<?x?xf16> to !tile.buffer<128x32xf16, shared>
    tile.async_commit
    tile.async_wait {pending = 1 : i64}
    ```
  }];
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "close the group of asynchronous copies started so far";
  let description = "Groups complete in order. An empty group is legal. `cp.async.commit_group`.";
  let assemblyFormat = "attr-dict";
}

def Tile_AsyncWaitOp : Tile_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups are in flight";
  let description = "Makes the executing thread's own copies visible to itself; other threads need a barrier. `cp.async.wait_group`.";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "attr-dict";
}

#endif // TILEMLIR_DIALECT_TILE_IR_TILEASYNCOPS_TD
