//===- RoleReport.cpp - roles and channels of a kernel ----------*- C++ -*-===//
//
// Who does what, and through which barriers the roles speak with each other.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/KernelReport.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

/// The copies, products and so on of a region, each once.
static ArrayAttr describeDeeds(Region &region) {
  Builder builder(region.getContext());
  llvm::SetVector<Attribute> deeds;
  region.walk([&](Operation *op) {
    auto choice = op->getAttrOfType<ChoiceAttr>("choice");
    if (!choice)
      return;
    NamedAttrList entry;
    entry.set("op", builder.getStringAttr(getUserOperationName(op)));
    entry.set("path", builder.getStringAttr(stringifyPath(choice.getPath())));
    entry.set("operands", describeOperands(op));
    if (FileLineColLoc loc = getFileLocation(op->getLoc()))
      entry.set("line", builder.getI64IntegerAttr(loc.getLine()));
    deeds.insert(entry.getDictionary(region.getContext()));
  });
  return builder.getArrayAttr(deeds.getArrayRef());
}

ArrayAttr mlir::tile::describeRoles(KernelOp kernel) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> entries;
  kernel.walk([&](WarpSpecializeOp roles) {
    for (auto [index, region] : llvm::enumerate(roles.getRegions())) {
      RoleAttr role = roles.getRole(index);
      int64_t registers = role.getRegisters();
      region.walk([&](SetMaxRegistersOp set) { registers = set.getCount(); });
      NamedAttrList entry;
      entry.set("role",
                builder.getStringAttr(stringifyRoleKind(role.getKind())));
      entry.set("first_warp", builder.getI64IntegerAttr(role.getFirst()));
      entry.set("warps", builder.getI64IntegerAttr(role.getWarps()));
      entry.set("threads", builder.getI64IntegerAttr(role.getThreads()));
      if (registers)
        entry.set("registers", builder.getI64IntegerAttr(registers));
      entry.set("single_thread", builder.getBoolAttr(role.getSingle()));
      entry.set("operations", describeDeeds(region));
      entries.push_back(entry.getDictionary(kernel.getContext()));
    }
  });
  return builder.getArrayAttr(entries);
}

namespace {
/// What happens on the barriers of one allocation.
struct BarrierUse {
  llvm::SetVector<int64_t> arrivals;
  llvm::SetVector<Attribute> arriving, waiting;
  /// Bytes expected per loop (null: outside of loops) in one phase.
  DenseMap<Operation *, int64_t> bytes;

  int64_t getBytes() const {
    int64_t most = 0;
    for (auto [loop, sum] : bytes)
      most = std::max(most, sum);
    return most;
  }
};
} // namespace

static StringAttr getRoleName(Operation *op) {
  RoleAttr role = getRole(op);
  return StringAttr::get(op->getContext(),
                         role ? stringifyRoleKind(role.getKind())
                              : StringRef("all threads"));
}

ArrayAttr mlir::tile::describeChannels(KernelOp kernel) {
  Builder builder(kernel.getContext());
  llvm::MapVector<Operation *, BarrierUse> channels;
  auto channelOf = [&](Value barriers) -> BarrierUse & {
    return channels[getAllocation(barriers)];
  };
  auto loopOf = [](Operation *op) -> Operation * {
    return op->getParentOfType<scf::ForOp>();
  };
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (isa<BarrierType>(alloc.getType().getElementType()))
        channels.insert({op, BarrierUse()});
    } else if (auto init = dyn_cast<BarrierInitOp>(op)) {
      channelOf(init.getBarriers()).arrivals.insert(init.getArrivals());
    } else if (auto wait = dyn_cast<BarrierWaitOp>(op)) {
      channelOf(wait.getBarriers()).waiting.insert(getRoleName(op));
    } else if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
      BarrierUse &channel = channelOf(arrive.getBarriers());
      channel.arriving.insert(getRoleName(op));
      if (std::optional<int64_t> expected = arrive.getExpect())
        channel.bytes[loopOf(op)] += *expected;
    } else if (auto expect = dyn_cast<BarrierExpectTxOp>(op)) {
      channelOf(expect.getBarriers()).bytes[loopOf(op)] += expect.getBytes();
    }
  });
  SmallVector<Attribute> entries;
  for (auto &[op, channel] : channels) {
    auto alloc = cast<AllocOp>(op);
    int64_t count = 1;
    for (int64_t extent : cast<BufferType>(alloc.getType()).getShape())
      count *= extent;
    NamedAttrList entry;
    entry.set("name", builder.getStringAttr(getUserName(alloc)));
    entry.set("barriers", builder.getI64IntegerAttr(count));
    entry.set("arrivals",
              builder.getI64ArrayAttr(channel.arrivals.getArrayRef()));
    entry.set("bytes", builder.getI64IntegerAttr(channel.getBytes()));
    entry.set("arrive", builder.getArrayAttr(channel.arriving.getArrayRef()));
    entry.set("wait", builder.getArrayAttr(channel.waiting.getArrayRef()));
    entries.push_back(entry.getDictionary(kernel.getContext()));
  }
  return builder.getArrayAttr(entries);
}
