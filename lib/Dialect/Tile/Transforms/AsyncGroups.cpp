//===- AsyncGroups.cpp - what asynchronous copies have in common *- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"

using namespace mlir;
using namespace mlir::tile;

CopyAsyncOp mlir::tile::makeAsynchronous(CopyOp copy, Value barrier,
                                         Value index) {
  OpBuilder builder(copy);
  auto result = CopyAsyncOp::create(
      builder, copy.getLoc(), copy.getSource(), copy.getSourceOffsets(),
      copy.getSourceSizes(), copy.getDest(), copy.getDestOffsets(),
      copy.getDestSizes(), copy.getSafeAttr(), copy.getBoundsAttr(),
      copy.getChoiceAttr(), copy.getDisableTma(), copy.getEvictionPolicyAttr(),
      copy.getPreferAttr(), copy.getCoalescedWidthAttr(), barrier, index);
  copy.erase();
  return result;
}

PipelineAttr mlir::tile::getPipeline(Operation *op, PipelineRole role) {
  auto attr = op->getAttrOfType<PipelineAttr>(kPipelineName);
  return attr && attr.getRole() == role ? attr : PipelineAttr();
}
