//===- SpecializeWarps.cpp - tile-specialize-warps --------------*- C++ -*-===//
//
// Splits a kernel into a producer and consumers. Both regions start as copies
// of the whole program: whatever is not needed by a role is removed from its
// copy. Local variables are per thread, so that each role has its own.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Dialect/Tile/Transforms/ProgramSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// The operations of `top` that move into roles: those with an effect, those
/// whose result differs between roles (threads count from the first one of the
/// role), and those that depend on them. All roles may use the results of the
/// others.
static SmallVector<Operation *> getProgram(Block &top) {
  llvm::SetVector<Operation *> program;
  for (Operation &op : top) {
    bool common = !isa<ThreadIdOp>(op) &&
                  (isa<AllocOp>(op) ||
                   (op.getNumRegions() == 0 && isMemoryEffectFree(&op)));
    for (Value operand : op.getOperands())
      common &= !program.contains(operand.getDefiningOp());
    if (!common)
      program.insert(&op);
  }
  return program.takeVector();
}

/// Why the program cannot be split although copies are marked for a producer;
/// tile-plan-pipeline does not mark such programs.
static LogicalResult verifySplit(KernelOp kernel,
                                 ArrayRef<Operation *> produced,
                                 ArrayRef<Operation *> waits) {
  ClonableValues clonable(kernel);
  for (Operation *op : produced) {
    std::optional<std::string> reason = clonable.whyNotReached(op);
    if (!reason)
      reason = clonable.whyNotOperands(op);
    if (reason)
      return op->emitError("cannot be left to a producer role: ") << *reason;
  }
  for (Operation *wait : waits)
    if (std::optional<std::string> reason = clonable.whyNotReached(wait))
      return wait->emitError("cannot be done by a producer role: ") << *reason;
  if (kernel.getThreads() % 128 != 0)
    return kernel.emitError("cannot be split into roles: ")
           << kernel.getThreads() << " threads are no whole warp groups";
  return success();
}

static LogicalResult specialize(KernelOp kernel) {
  SmallVector<Operation *> produced;
  bool single = true;
  kernel.walk([&](Operation *op) {
    if (!op->hasAttr(kProduceName))
      return;
    produced.push_back(op);
    auto copy = dyn_cast<CopyOp>(op);
    single &=
        copy && copy.getChoice() && copy.getChoice()->getPath() == Path::Tma;
  });
  if (produced.empty())
    return success();
  // What earlier launches have written is loaded behind the waits for them.
  SmallVector<Operation *> waits;
  kernel.walk([&](DependencyWaitOp wait) { waits.push_back(wait); });
  if (failed(verifySplit(kernel, produced, waits)))
    return failure();

  Block *top = kernel.getBodyBlock();
  SmallVector<Operation *> loading(produced);
  llvm::append_range(loading, waits);
  ProgramSlice slice(kernel.getBody(), loading);
  SmallVector<Operation *> program = getProgram(*top);

  OpBuilder builder = OpBuilder::atBlockEnd(top);
  SmallVector<RoleAttr> automatic =
      getAutomaticRoles(kernel, kernel.getThreads() / 128, single);
  if (std::string why = whyNotRegisters(kernel, automatic); !why.empty())
    return kernel.emitError(why)
           << ", so that consumers would wait for ever; ask for fewer in "
              "T.annotate_producer_reg_dealloc and "
              "T.annotate_consumer_reg_alloc";
  SmallVector<Attribute> roles(automatic.begin(), automatic.end());
  auto split = WarpSpecializeOp::create(builder, kernel.getLoc(),
                                        builder.getArrayAttr(roles),
                                        ChoiceAttr(), roles.size());
  Block *producer = &split.getRegions()[0].emplaceBlock();
  Block *consumer = &split.getRegions()[1].emplaceBlock();

  // The producer: a copy, reduced to its loads and what they wait for.
  IRMapping mapping;
  OpBuilder inProducer = OpBuilder::atBlockEnd(producer);
  for (Operation *op : program)
    inProducer.clone(*op, mapping);
  llvm::DenseSet<Operation *> kept;
  for (Operation *op : program)
    op->walk([&](Operation *inner) {
      if (slice.contains(inner))
        kept.insert(mapping.lookup(inner));
    });
  pruneTo(*producer, [&](Operation *op) { return kept.contains(op); });
  eraseDead(*producer);

  // The consumers: the program itself, without the loads.
  for (Operation *op : program)
    op->moveBefore(consumer, consumer->end());
  for (Operation *op : produced)
    op->erase();
  eraseDead(*consumer);
  return success();
}

namespace {
class TileSpecializeWarpsPass
    : public mlir::tile::impl::TileSpecializeWarpsBase<
          TileSpecializeWarpsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      return failed(specialize(kernel)) ? WalkResult::interrupt()
                                        : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
