//===- CollectReport.cpp - what was decided about a kernel ------*- C++ -*-===//
//
// Gathers choices, memory and threads of all kernels in one module attribute.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILECOLLECTREPORT
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
class TileCollectReportPass
    : public mlir::tile::impl::TileCollectReportBase<TileCollectReportPass> {
  void runOnOperation() override;

  Attribute describeKernel(KernelOp kernel);
  Attribute describeOperation(KernelOp kernel, Operation *op, StringRef name,
                              ChoiceAttr choice);
};
} // namespace

static void addPosition(Operation *op, NamedAttrList &entry) {
  FileLineColLoc loc = getFileLocation(op->getLoc());
  if (!loc)
    return;
  Builder builder(op->getContext());
  entry.set("location", builder.getStringAttr(loc.getFilename().getValue() +
                                              ":" + Twine(loc.getLine())));
  entry.set("file", loc.getFilename());
  entry.set("line", builder.getI64IntegerAttr(loc.getLine()));
  entry.set("column", builder.getI64IntegerAttr(loc.getColumn()));
}

Attribute TileCollectReportPass::describeKernel(KernelOp kernel) {
  Builder builder(&getContext());
  SmallVector<Attribute> buffers, fragments;
  kernel.walk([&](AllocOp alloc) {
    auto type = cast<BufferType>(alloc.getType());
    NamedAttrList entry;
    entry.set("name", builder.getStringAttr(getUserName(alloc)));
    entry.set("shape", builder.getI64ArrayAttr(type.getShape()));
    std::string dtype;
    llvm::raw_string_ostream(dtype) << type.getElementType();
    entry.set("dtype", builder.getStringAttr(dtype));
    if (type.isShared()) {
      entry.set("bytes", builder.getI64IntegerAttr(getSharedBytes(type)));
      if (Attribute offset = alloc->getAttr("tile.shared_offset"))
        entry.set("offset", offset);
      if (Attribute slots = alloc->getAttr("tile.slots"))
        entry.set("slots", slots);
      buffers.push_back(entry.getDictionary(&getContext()));
    } else if (type.isFragment()) {
      if (FragmentLayoutAttr layout = type.getFragmentLayout())
        entry.set("elements_per_thread",
                  builder.getI64IntegerAttr(layout.getNumRegisters()));
      fragments.push_back(entry.getDictionary(&getContext()));
    }
  });
  NamedAttrList entry;
  entry.set("kernel", kernel.getNameAttr());
  entry.set("op", builder.getStringAttr("kernel"));
  entry.set("threads", kernel.getThreadsAttr());
  if (Attribute bytes = kernel->getAttr("tile.shared_bytes"))
    entry.set("shared_bytes", bytes);
  if (TargetAttr target = getTarget(kernel)) {
    entry.set("target", builder.getStringAttr(target.getArch()));
    if (!target.isCPU())
      entry.set("shared_limit",
                builder.getI64IntegerAttr(target.getSharedMemoryLimit()));
  }
  entry.set("buffers", builder.getArrayAttr(buffers));
  entry.set("fragments", builder.getArrayAttr(fragments));
  addPosition(kernel, entry);
  return entry.getDictionary(&getContext());
}

Attribute TileCollectReportPass::describeOperation(KernelOp kernel,
                                                   Operation *op,
                                                   StringRef name,
                                                   ChoiceAttr choice) {
  Builder builder(&getContext());
  NamedAttrList entry;
  entry.set("kernel", kernel.getNameAttr());
  entry.set("op", builder.getStringAttr(name));
  entry.set("path", builder.getStringAttr(stringifyPath(choice.getPath())));
  entry.set("reason", builder.getStringAttr(choice.getReason()));
  if (choice.getArguments())
    entry.set("arguments", choice.getArguments());
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    if (isa<BufferType, MemRefType>(operand.getType()))
      operands.push_back(
          builder.getStringAttr(getUserName(getStorageRoot(operand))));
  entry.set("operands", builder.getArrayAttr(operands));
  addPosition(op, entry);
  return entry.getDictionary(&getContext());
}

void TileCollectReportPass::runOnOperation() {
  // A pipeline holds copies of one user operation: list them once.
  llvm::SetVector<Attribute> entries;
  getOperation().walk([&](KernelOp kernel) {
    entries.insert(describeKernel(kernel));
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto choice = op->getAttrOfType<ChoiceAttr>("choice"))
        entries.insert(describeOperation(kernel, op,
                                         op->getName().stripDialect(), choice));
      if (auto choice = op->getAttrOfType<ChoiceAttr>("tile.loop_choice"))
        entries.insert(describeOperation(kernel, op, "pipelined", choice));
    });
  });
  getOperation()->setAttr("tile.report",
                          ArrayAttr::get(&getContext(), entries.getArrayRef()));
}
