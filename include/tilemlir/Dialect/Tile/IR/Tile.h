//===- Tile.h - the `tile` dialect ------------------------------*- C++ -*-===//
//
// Include this to use the dialect, its types, attributes and operations.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_IR_TILE_H
#define TILEMLIR_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/SharedLayout.h"

#include "tilemlir/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileAttrs.h.inc"

#include "tilemlir/Dialect/Tile/IR/TileDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileOps.h.inc"

namespace mlir::tile {

/// The allocation that `value` views, through any chain of view operations.
/// Null when `value` is not a buffer handle.
AllocOp getAllocation(Value value);

/// The layout of the allocation behind a buffer handle; null while open.
Attribute getLayout(Value buffer);

/// Element type without signedness: what a load yields.
Type getScalarType(Type elementType);

/// Bits that one element takes in memory (i1 takes a byte).
int64_t getElementBits(Type elementType);

/// Element type of a tensor or buffer.
Type getStorageElementType(Type type);

/// Rank of a tensor or buffer.
int64_t getStorageRank(Type type);

/// Sizes without the extents of 1.
SmallVector<int64_t> dropUnitSizes(ArrayRef<int64_t> sizes);

/// Name that users know a value by: of the allocation or of the kernel
/// argument; "<unnamed>" otherwise.
std::string getUserName(Value value);

/// Syntax of `#tile.expr` without the angle brackets.
ParseResult parseExpression(AsmParser &parser, ExprAttr &result);
void printExpression(AsmPrinter &printer, ExprAttr expr);

/// The kernel around `op`, or null.
KernelOp getKernel(Operation *op);

/// The role whose region holds `op`; null outside of roles.
RoleAttr getRole(Operation *op);

/// Number of threads that perform a collective operation at `op` together: of
/// its role, or of the kernel.
int64_t getCollectiveThreads(Operation *op);

/// Target of the module around `op`; null when none is set.
TargetAttr getTarget(Operation *op);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_IR_TILE_H
