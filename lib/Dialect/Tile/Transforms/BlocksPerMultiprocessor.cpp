//===- BlocksPerMultiprocessor.cpp - Blocks that run side by side ---------===//
//
// One group of consumers alone cannot hide the latency of its loads, its
// prologue and its epilogue; a second block on the multiprocessor fills these
// gaps. What prevents it are the registers at launch, which threads of the
// producer get as many of as consumers: with half as many at launch, and
// setmaxnreg in both roles, the consumers have nearly what they had.
//
//===----------------------------------------------------------------------===//
#include "BlocksPerMultiprocessor.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

static constexpr int64_t kBlocksSideBySide = 2, kGroupThreads = 128;
/// Shared memory of a multiprocessor, and what each block takes of it beside
/// its own (CUDA programming guide, compute capability 9.0).
static constexpr int64_t kSharedOfMultiprocessor = 228 * 1024,
                         kReservedPerBlock = 1024;
/// Multiprocessors of the largest chip: a grid that is not larger has each
/// block alone on one.
static constexpr int64_t kMostMultiprocessors = 132;
/// Registers that a consumer needs beside its fragments.
static constexpr int64_t kRegistersBesideFragments = 48;

/// Does the program start as many blocks as there are multiprocessors, or no
/// more than there may be?
static bool isFewBlocks(KernelOp kernel) {
  int64_t blocks = 1;
  for (Value extent : kernel.getGrid()) {
    std::optional<int64_t> constant = getConstantIntValue(extent);
    blocks = constant && blocks > 0 ? blocks * *constant : 0;
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    (void)getBackwardSlice(extent, &slice, options);
    if (llvm::any_of(slice, [](Operation *op) { return isa<SmCountOp>(op); }))
      return true;
  }
  return blocks > 0 && blocks <= kMostMultiprocessors;
}

/// 32-bit registers that fragments and local arrays of `region` take at most.
static int64_t countRegisters(Region &region) {
  llvm::SetVector<AllocOp> buffers;
  region.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<BufferType>(operand.getType());
      if (type && (type.isFragment() || type.isLocal()))
        buffers.insert(getAllocation(operand));
    }
  });
  int64_t bits = 0;
  for (AllocOp alloc : buffers) {
    BufferType type = alloc.getType();
    FragmentLayoutAttr fragment = type.getFragmentLayout();
    bits += (fragment ? fragment.getNumRegisters() : type.getNumElements()) *
            type.getElementBits();
  }
  return llvm::divideCeil(bits, 32);
}

void mlir::tile::shareMultiprocessor(KernelOp kernel, int64_t sharedBytes) {
  if (!canSpecialize(getTarget(kernel)) || kernel.getMinBlocksPerSm() ||
      kernel.getCluster() || kernel->hasAttr("tile.role_registers") ||
      kBlocksSideBySide * (sharedBytes + kReservedPerBlock) >
          kSharedOfMultiprocessor ||
      isFewBlocks(kernel))
    return;
  WarpSpecializeOp split;
  bool fits = true;
  int64_t threads = kernel.getLaunchThreads();
  kernel.walk([&](Operation *op) {
    if (auto found = dyn_cast<WarpSpecializeOp>(op)) {
      fits &= !split;
      split = found;
    }
    auto product = dyn_cast<GemmAsyncOp>(op);
    if (std::optional<WgmmaChoice> choice =
            product ? getWgmmaChoice(product.getChoiceAttr()) : std::nullopt)
      fits &= choice->n <= layout::wgmmaColumnsForThreads(
                               kBlocksSideBySide * threads,
                               product.getC().getType().getElementBits());
    fits &= !isa<SetMaxRegistersOp>(op);
  });
  if (!fits || !split || split.getRoles().size() != 2)
    return;
  RoleAttr producer = split.getRole(0), consumer = split.getRole(1);
  if (producer.getKind() != RoleKind::Producer ||
      consumer.getKind() != RoleKind::Consumer || producer.getRegisters() ||
      consumer.getRegisters() || consumer.getThreads() != kGroupThreads ||
      producer.getThreads() != kGroupThreads)
    return;
  int64_t atLaunch = layout::registersAtLaunch(kBlocksSideBySide * threads);
  int64_t kept = producer.getSingle() ? 24 : 40;
  int64_t available = 2 * atLaunch - kept;
  int64_t needed =
      countRegisters(split.getRegions()[1]) + kRegistersBesideFragments;
  // What needs no more than it has at launch is not held back by it.
  if (needed <= atLaunch || needed > available)
    return;
  auto withRegisters = [&](RoleAttr role, int64_t registers) {
    return RoleAttr::get(role.getContext(), role.getKind(), role.getFirst(),
                         role.getWarps(), registers, role.getSingle());
  };
  Builder builder(kernel.getContext());
  split.setRolesAttr(builder.getArrayAttr(
      {withRegisters(producer, kept), withRegisters(consumer, available)}));
  kernel.setMinBlocksPerSm(kBlocksSideBySide);
}
