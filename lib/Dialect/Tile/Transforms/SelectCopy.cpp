//===- SelectCopy.cpp - Choosing the instruction of a copy ------*- C++ -*-===//
#include "InstructionSelection.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;

/// Is this side of a copy registers of threads, of which any number can be
/// moved together?
static bool isInRegisters(Value storage) {
  auto buffer = dyn_cast<BufferType>(storage.getType());
  return buffer && !buffer.isShared();
}

/// Width of the accesses to one side of a copy.
static AccessWidth getSideWidth(CopyOp op, Value storage, OperandRange offsets,
                                ArrayRef<int64_t> sizes,
                                IntegerAnalysis &integers) {
  if (sizes.empty())
    return {getElementBits(getStorageElementType(storage.getType())) / 8,
            "a single element is copied"};
  LinearForm last = getLinearForm(offsets.back());
  if (auto tensor = dyn_cast<TypedValue<MemRefType>>(storage))
    return getTensorAccessWidth(tensor, last, sizes.back(), integers, op);
  if (!isInRegisters(storage))
    return getSharedAccessWidth(storage, last, sizes.back(), integers);
  return {16, ""};
}

LogicalResult mlir::tile::selectCopy(CopyOp op, TargetAttr target,
                                     IntegerAnalysis &integers) {
  if (op.getChoiceAttr())
    return success();
  for (Value side : {op.getSource(), op.getDest()}) {
    auto buffer = dyn_cast<BufferType>(side.getType());
    if (buffer && buffer.getSpace() == MemorySpace::Tmem)
      return op.emitError("copy: tensor memory is not supported on ")
             << target.getArch();
  }
  std::string notTma;
  if (getTensorCopy(op)) {
    TmaPlan plan;
    notTma = refuseTma(op, target, integers, plan);
    if (notTma.empty()) {
      chooseTma(op, plan);
      return success();
    }
    // Older targets have nothing to explain.
    if (target.getComputeCapability() < 90)
      notTma.clear();
  }
  selectThreadCopy(op, target, integers, notTma);
  return success();
}

ChoiceAttr mlir::tile::getTmaChoice(MLIRContext *context, bool isLoad,
                                    const TmaPlan &plan, int64_t boxes) {
  std::string shape;
  for (int64_t extent : llvm::reverse(plan.box))
    shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  std::string reason = llvm::formatv("TMA {0} of {1} {2} of {3} elements",
                                     isLoad ? "load" : "store", boxes,
                                     boxes == 1 ? "box" : "boxes", shape);
  if (plan.swizzle)
    reason += llvm::formatv(", {0}-byte swizzle", plan.swizzle);
  if (!plan.whyBoxPerPanel.empty())
    reason += "; a box per panel: " + plan.whyBoxPerPanel;
  Builder builder(context);
  return ChoiceAttr::get(context, Path::Tma, reason,
                         builder.getDictionaryAttr(builder.getNamedAttr(
                             "box", builder.getI64ArrayAttr(plan.box))));
}

void mlir::tile::chooseTma(CopyOp op, const TmaPlan &plan) {
  bool isLoad = isa<MemRefType>(op.getSource().getType());
  op.setChoiceAttr(
      getTmaChoice(op.getContext(), isLoad, plan, plan.boxes.size()));
}

void mlir::tile::selectThreadCopy(CopyOp op, TargetAttr target,
                                  IntegerAnalysis &integers, StringRef notTma) {
  Value source = op.getSource(), dest = op.getDest();
  auto sourceBuffer = dyn_cast<BufferType>(source.getType());
  auto destBuffer = dyn_cast<BufferType>(dest.getType());

  Type sourceType = getStorageElementType(source.getType());
  Type destType = getStorageElementType(dest.getType());
  AccessWidth from = getSideWidth(op, source, op.getSourceOffsets(),
                                  op.getSourceSizes(), integers);
  AccessWidth to =
      getSideWidth(op, dest, op.getDestOffsets(), op.getDestSizes(), integers);
  // Converting copies move equally many elements on both sides. What counts is
  // the memory: conversion from or to registers narrows no access.
  int64_t sourceBytes = getElementBits(sourceType) / 8;
  int64_t destBytes = getElementBits(destType) / 8;
  if (isInRegisters(source) && !isInRegisters(dest))
    sourceBytes = 1;
  else if (isInRegisters(dest) && !isInRegisters(source))
    destBytes = 1;
  int64_t elements = std::max<int64_t>(
      1, std::min(from.bytes / sourceBytes, to.bytes / destBytes));
  const AccessWidth &narrow =
      from.bytes / sourceBytes <= to.bytes / destBytes ? from : to;
  // Rows of both sides have to be the same run of elements.
  if (op.getSourceSizes().empty() || op.getDestSizes().empty() ||
      op.getSourceSizes().back() != op.getDestSizes().back())
    elements = 1;
  int64_t bytes = elements * std::max(sourceBytes, destBytes);

  Builder builder(op.getContext());
  auto choose = [&](Path path, std::string reason, int64_t width) {
    if (!notTma.empty())
      reason += ("; " + notTma).str();
    DictionaryAttr arguments = builder.getDictionaryAttr(
        builder.getNamedAttr("bytes", builder.getI64IntegerAttr(width)));
    op.setChoiceAttr(ChoiceAttr::get(op.getContext(), path, reason, arguments));
  };

  bool toShared = !sourceBuffer && destBuffer && destBuffer.isShared();
  if (!toShared) {
    bool isLocal = (sourceBuffer && sourceBuffer.isLocal()) ||
                   (destBuffer && destBuffer.isLocal());
    std::string reason =
        llvm::formatv("{0} of {1} bytes",
                      isLocal ? "each thread copies for itself, by accesses"
                              : "per-thread accesses",
                      bytes);
    if (!narrow.reason.empty() && bytes < 16)
      reason += ": " + narrow.reason;
    return choose(Path::Simt, reason, bytes);
  }
  auto demote = [&](const Twine &why) {
    return choose(
        Path::Simt,
        llvm::formatv("loads and stores of {0} bytes: {1}", bytes, why.str()),
        bytes);
  };
  if (sourceType != destType)
    return demote("cp.async cannot convert " + getTypeName(sourceType) +
                  " to " + getTypeName(destType));
  if (op.getPrefer() == Path::Simt)
    return demote("asked for by the user");
  if (OptionsAttr::of(op).getFlag("disable_async_copy", false))
    return demote("asynchronous copies are disabled by disable_async_copy");
  if (TypedAttr safe = op.getSafeAttr()) {
    auto integer = dyn_cast<IntegerAttr>(safe);
    auto real = dyn_cast<FloatAttr>(safe);
    bool zero = (integer && integer.getValue().isZero()) ||
                (real && real.getValue().isPosZero());
    if (!zero && op.getBounds() != Bounds::Full)
      return demote("cp.async fills with zero, not with the safe value");
  }
  if (bytes < 4)
    return demote("cp.async moves at least 4 bytes; " + narrow.reason);
  std::string reason =
      llvm::formatv("cp.async of {0} bytes on {1}", bytes, target.getArch());
  if (bytes < 16)
    reason += "; " + narrow.reason;
  return choose(Path::CpAsync, reason, bytes);
}
