//===- LayoutPreparation.cpp - Operands to where they can be used ---------===//
#include "LayoutLegalizer.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

AllocOp mlir::tile::createAllocation(KernelOp kernel, BufferType type,
                                     Value like, StringRef suffix) {
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBodyBlock());
  std::string name = getUserName(like);
  AllocOp source = getAllocation(like);
  Location loc = source ? source.getLoc() : like.getLoc();
  return AllocOp::create(builder, loc, type,
                         builder.getStringAttr(name + "." + suffix.str()));
}

CopyOp mlir::tile::createWholeCopy(OpBuilder &builder, Location loc,
                                   Value source, Value dest) {
  auto sourceType = cast<BufferType>(source.getType());
  auto destType = cast<BufferType>(dest.getType());
  Value zero;
  if (sourceType.getRank() + destType.getRank() > 0)
    zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  SmallVector<Value> sourceOffsets(sourceType.getRank(), zero);
  SmallVector<Value> destOffsets(destType.getRank(), zero);
  CopyOp copy = CopyOp::create(
      builder, loc, source, sourceOffsets, sourceType.getShape(), dest,
      destOffsets, destType.getShape(), /*safe=*/TypedAttr(),
      /*bounds=*/BoundsAttr(), /*choice=*/ChoiceAttr(),
      /*disable_tma=*/false, /*eviction_policy=*/EvictionPolicyAttr(),
      /*prefer=*/PathAttr(), /*coalesced_width=*/IntegerAttr());
  Builder attributes(copy.getContext());
  int64_t bytes =
      std::max(sourceType.getElementBits(), destType.getElementBits()) / 8;
  copy.setChoiceAttr(
      ChoiceAttr::get(copy.getContext(), Path::Simt, kInsertedCopyReason,
                      attributes.getDictionaryAttr(attributes.getNamedAttr(
                          "bytes", attributes.getI64IntegerAttr(bytes)))));
  return copy;
}

/// Replaces an operand that lives in `from` space by a temporary in `to`.
static void moveOperand(Operation *op, OpOperand &operand, MemorySpace to,
                        StringRef suffix, bool reads, bool writes) {
  Value buffer = operand.get();
  auto type = cast<BufferType>(buffer.getType());
  AllocOp temporary = createAllocation(
      getKernel(op),
      BufferType::get(type.getShape(), type.getElementType(), to), buffer,
      suffix);
  OpBuilder builder(op);
  if (reads)
    createWholeCopy(builder, op->getLoc(), buffer, temporary);
  operand.set(temporary);
  if (writes) {
    builder.setInsertionPointAfter(op);
    createWholeCopy(builder, op->getLoc(), temporary, buffer);
  }
}

static LogicalResult prepare(ReduceOp op) {
  for (OpOperand *operand : {&op.getSourceMutable(), &op.getDestMutable()}) {
    auto type = cast<BufferType>(operand->get().getType());
    if (type.isFragment() || type.isShared())
      continue;
    return op.emitError("reduce: ")
           << getUserName(operand->get())
           << " must be in shared memory or a fragment, not in "
           << stringifyMemorySpace(type.getSpace()) << " storage";
  }
  if (op.getSource().getType().isShared())
    moveOperand(op, op.getSourceMutable(), MemorySpace::Fragment, "fragment",
                /*reads=*/true, /*writes=*/false);
  if (op.getDest().getType().isShared())
    moveOperand(op, op.getDestMutable(), MemorySpace::Fragment, "fragment",
                /*reads=*/!op.getClear(), /*writes=*/true);
  return success();
}

static LogicalResult prepare(GemmOp op) {
  ChoiceAttr choice = op.getChoiceAttr();
  if (!choice)
    return op.emitError("gemm: no instruction is chosen; run "
                        "tile-select-instructions first");
  if (op.getC().getType().isShared())
    moveOperand(op, op.getCMutable(), MemorySpace::Fragment, "fragment",
                /*reads=*/!op.getClearAccum(), /*writes=*/true);
  if (choice.getPath() == Path::Fma) {
    if (op.getA().getType().isFragment())
      moveOperand(op, op.getAMutable(), MemorySpace::Shared, "shared",
                  /*reads=*/true, /*writes=*/false);
    if (op.getB().getType().isFragment())
      moveOperand(op, op.getBMutable(), MemorySpace::Shared, "shared",
                  /*reads=*/true, /*writes=*/false);
  }
  return success();
}

LogicalResult mlir::tile::prepareForLayouts(KernelOp kernel) {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<ReduceOp, GemmOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (failed(reduce ? prepare(reduce) : prepare(cast<GemmOp>(op))))
      return failure();
  }
  return success();
}
