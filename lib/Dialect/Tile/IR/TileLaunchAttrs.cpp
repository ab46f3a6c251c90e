//===- TileLaunchAttrs.cpp - verification of the launch plan ----*- C++ -*-===//
//
// The lists of a plan are array attributes; their element kinds and the indices
// between them are checked here.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;

using EmitError = function_ref<InFlightDiagnostic()>;

template <typename AttrT>
static LogicalResult verifyList(EmitError emitError, StringRef what,
                                ArrayAttr list) {
  for (Attribute element : list)
    if (!isa<AttrT>(element))
      return emitError() << what << " must hold " << AttrT::name
                         << " attributes, found " << element;
  return success();
}

static LogicalResult verifyIndex(EmitError emitError, StringRef what,
                                 int64_t index, size_t size) {
  if (index >= 0 && index < static_cast<int64_t>(size))
    return success();
  return emitError() << what << " " << index << " of " << size;
}

LogicalResult LaunchAttr::verify(EmitError emitError, StringRef, ArrayAttr grid,
                                 DenseI64ArrayAttr cluster, int64_t threads,
                                 int64_t, bool, ArrayAttr parameters, bool) {
  if (grid.size() != 3 || cluster.size() != 3)
    return emitError() << "grid and cluster have three extents, found "
                       << grid.size() << " and " << cluster.size();
  if (threads < 1 || threads > 1024)
    return emitError() << "a block has 1 to 1024 threads, found " << threads;
  return failure(failed(verifyList<ExprAttr>(emitError, "grid", grid)) ||
                 failed(verifyList<LaunchParameterAttr>(emitError, "parameters",
                                                        parameters)));
}

LogicalResult
TensorMapAttr::verify(EmitError emitError, int64_t, DenseI64ArrayAttr dimOrder,
                      DenseI64ArrayAttr box, DenseI64ArrayAttr elementStrides,
                      int64_t, TensorMapFill, ArrayAttr shape,
                      ArrayAttr strides, ExprAttr, Type, int64_t) {
  if (!shape != !strides || (shape && shape.size() != strides.size()))
    return emitError() << "shape and strides of a view belong together";
  if (shape && (failed(verifyList<ExprAttr>(emitError, "shape", shape)) ||
                failed(verifyList<ExprAttr>(emitError, "strides", strides))))
    return failure();
  int64_t rank = shape ? shape.size() : dimOrder.size();
  if (box.size() != rank || elementStrides.size() != rank)
    return emitError() << "a tensor map of " << rank << " dimensions has "
                       << box.size() << " extents of a box and "
                       << elementStrides.size() << " element strides";
  return success();
}

LogicalResult LaunchPlanAttr::verify(EmitError emitError, StringRef, StringRef,
                                     ArrayAttr arguments, ArrayAttr symbols,
                                     DenseI64ArrayAttr outputs,
                                     ArrayAttr workspaces, ArrayAttr launches,
                                     ArrayAttr tensorMaps, ArrayAttr guards) {
  if (failed(
          verifyList<LaunchArgumentAttr>(emitError, "arguments", arguments)) ||
      failed(verifyList<LaunchSymbolAttr>(emitError, "symbols", symbols)) ||
      failed(verifyList<LaunchWorkspaceAttr>(emitError, "workspaces",
                                             workspaces)) ||
      failed(verifyList<LaunchAttr>(emitError, "launches", launches)) ||
      failed(verifyList<TensorMapAttr>(emitError, "tensor_maps", tensorMaps)) ||
      failed(verifyList<GuardAttr>(emitError, "guards", guards)))
    return failure();
  for (int64_t output : outputs.asArrayRef())
    if (failed(verifyIndex(emitError, "output", output, arguments.size())))
      return failure();
  for (auto launch : launches.getAsRange<LaunchAttr>())
    for (auto parameter :
         launch.getParameters().getAsRange<LaunchParameterAttr>()) {
      size_t size = 0;
      switch (parameter.getKind()) {
      case ParameterKind::Pointer:
      case ParameterKind::Scalar:
        size = arguments.size();
        break;
      case ParameterKind::Workspace:
        size = workspaces.size();
        break;
      case ParameterKind::TensorMap:
        size = tensorMaps.size();
        break;
      case ParameterKind::Expr:
        if (!parameter.getType() || !parameter.getValue())
          return emitError() << "an expr parameter needs a type and a value";
        continue;
      }
      if (failed(verifyIndex(emitError,
                             stringifyParameterKind(parameter.getKind()),
                             parameter.getIndex(), size)))
        return failure();
    }
  return success();
}
