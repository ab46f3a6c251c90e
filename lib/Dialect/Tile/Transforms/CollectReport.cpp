//===- CollectReport.cpp - what was decided about a kernel ------*- C++ -*-===//
//
// Gathers choices, memory and threads of all kernels in one module attribute.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/KernelReport.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
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

void mlir::tile::describePosition(Operation *op, NamedAttrList &entry) {
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

ArrayAttr mlir::tile::describeOperands(Operation *op) {
  Builder builder(op->getContext());
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    if (isa<BufferType, MemRefType>(operand.getType()) &&
        !isa<BarrierType>(getStorageElementType(operand.getType())))
      operands.push_back(
          builder.getStringAttr(getUserName(getStorageRoot(operand))));
  return builder.getArrayAttr(operands);
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
    if (isa<BarrierType>(type.getElementType()))
      dtype = "barrier";
    else
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
  entry.set("kernel", builder.getStringAttr(getEntryName(kernel)));
  entry.set("op", builder.getStringAttr("kernel"));
  entry.set("threads", builder.getI64IntegerAttr(kernel.getLaunchThreads()));
  entry.set("program_threads", kernel.getThreadsAttr());
  entry.set("grid", describeGrid(kernel));
  if (std::optional<ArrayRef<int64_t>> cluster = kernel.getCluster())
    entry.set("cluster", builder.getI64ArrayAttr(*cluster));
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
  entry.set("roles", describeRoles(kernel));
  entry.set("channels", describeChannels(kernel));
  entry.set("work", describeWork(kernel));
  describePosition(kernel, entry);
  return entry.getDictionary(&getContext());
}

Attribute TileCollectReportPass::describeOperation(KernelOp kernel,
                                                   Operation *op,
                                                   StringRef name,
                                                   ChoiceAttr choice) {
  Builder builder(&getContext());
  NamedAttrList entry;
  entry.set("kernel", builder.getStringAttr(getEntryName(kernel)));
  entry.set("op", builder.getStringAttr(name));
  entry.set("path", builder.getStringAttr(stringifyPath(choice.getPath())));
  entry.set("reason", builder.getStringAttr(choice.getReason()));
  if (choice.getArguments())
    entry.set("arguments", choice.getArguments());
  entry.set("operands", describeOperands(op));
  describePosition(op, entry);
  return entry.getDictionary(&getContext());
}

/// The ring whose position `slot` is computed from; null for other numbers.
static AllocOp getRing(Value slot) {
  SmallVector<Value> worklist = {slot};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    if (auto load = dyn_cast<LoadOp>(op)) {
      AllocOp ring = getAllocation(load.getSource());
      if (ring && ring->hasAttr(kRing))
        return ring;
    } else if (op->getNumRegions() == 0) {
      llvm::append_range(worklist, op->getOperands());
    }
  }
  return {};
}

/// The ring behind a view of a slot of a buffer; null elsewhere.
static AllocOp getRingOfSlot(Value buffer) {
  AllocOp ring;
  while (auto view = buffer.getDefiningOp<SubviewOp>()) {
    buffer = view.getSource();
    ring = getRing(view.getOffsets().front());
  }
  return ring;
}

/// The buffers of several slots that `loop` uses: what its pipeline keeps in
/// flight. Loops inside and around it have pipelines of their own.
static void collectPipelineBuffers(scf::ForOp loop,
                                   llvm::SetVector<Operation *> &buffers) {
  FailureOr<RingLoop> own = getRingLoop(loop);
  loop.getBody()->walk([&](Operation *op) {
    if (isa<SubviewOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      if (!isa<BufferType>(operand.getType()))
        continue;
      AllocOp ring = getRingOfSlot(operand);
      if (ring && succeeded(own) && ring != own->ring)
        continue;
      AllocOp alloc = getAllocation(operand);
      auto type = cast<BufferType>(alloc.getType());
      if (type.isShared() && alloc->hasAttr("tile.slots") &&
          !isa<BarrierType>(type.getElementType()))
        buffers.insert(alloc);
    }
  });
}

void TileCollectReportPass::runOnOperation() {
  // A pipeline holds copies of one user operation, and each role its own loop:
  // list them once.
  llvm::MapVector<Attribute, llvm::SetVector<Operation *>> entries;
  Builder builder(&getContext());
  getOperation().walk([&](KernelOp kernel) {
    entries[describeKernel(kernel)];
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto choice = op->getAttrOfType<ChoiceAttr>("choice"))
        entries[describeOperation(kernel, op, getUserOperationName(op),
                                  choice)];
      if (auto choice = op->getAttrOfType<ChoiceAttr>("tile.loop_choice"))
        collectPipelineBuffers(
            cast<scf::ForOp>(op),
            entries[describeOperation(kernel, op, "pipelined", choice)]);
    });
  });
  SmallVector<Attribute> report;
  for (auto &[entry, buffers] : entries) {
    if (buffers.empty()) {
      report.push_back(entry);
      continue;
    }
    NamedAttrList pipeline(cast<DictionaryAttr>(entry));
    SmallVector<Attribute> names;
    int64_t bytes = 0;
    for (Operation *buffer : buffers) {
      auto alloc = cast<AllocOp>(buffer);
      names.push_back(builder.getStringAttr(getUserName(alloc)));
      bytes += getSharedBytes(cast<BufferType>(alloc.getType()));
    }
    pipeline.set("buffers", builder.getArrayAttr(names));
    pipeline.set("bytes_in_flight", builder.getI64IntegerAttr(bytes));
    report.push_back(pipeline.getDictionary(&getContext()));
  }
  getOperation()->setAttr("tile.report", ArrayAttr::get(&getContext(), report));
}
