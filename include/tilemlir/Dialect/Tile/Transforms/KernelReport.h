//===- KernelReport.h - facts about a kernel as attributes ------*- C++ -*-===//
//
// The parts of `tile.report` that need an analysis: work per launch, roles and
// channels. All results are arrays of dictionaries (see tile-collect-report).
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_KERNELREPORT_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_KERNELREPORT_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// The name of `op` as users wrote it: asynchronous forms are called as the
/// operation that they do.
StringRef getUserOperationName(Operation *op);

/// Adds `location` (file:line), `file`, `line` and `column` of `op`, where the
/// IR has a position.
void describePosition(Operation *op, NamedAttrList &entry);

/// Names of the tensors and buffers that `op` works on, barriers left out.
ArrayAttr describeOperands(Operation *op);

/// What the kernel does per launch: one entry for every operation that computes
/// or moves data, with the loops and conditions around it.
ArrayAttr describeWork(KernelOp kernel);

/// Extents of the grid as `#tile.expr`; the text "?" where there is no host
/// form.
ArrayAttr describeGrid(KernelOp kernel);

/// The roles of the kernel's warps: registers and what each of them does.
ArrayAttr describeRoles(KernelOp kernel);

/// The barriers in shared memory: number, arrivals and bytes per phase, and the
/// roles that arrive and wait.
ArrayAttr describeChannels(KernelOp kernel);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_KERNELREPORT_H
