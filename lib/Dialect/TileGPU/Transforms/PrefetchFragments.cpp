//===- PrefetchFragments.cpp - operands of the next iteration ---*- C++ -*-===//
//
// Rotates pipelined loops so that the latency between a barrier and the first
// matrix product is hidden behind the last products of the iteration before.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h"

#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile_gpu {
#define GEN_PASS_DEF_TILEGPUPREFETCHFRAGMENTS
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h.inc"
} // namespace mlir::tile_gpu

using namespace mlir;
using namespace mlir::tile_gpu;

namespace {

/// The parts of a loop body that the rotation moves.
struct Structure {
  AsyncWaitOp wait;
  BarrierOp barrier;
  /// Loads of the first k-step, in order.
  SmallVector<Operation *> firstLoads;
  /// First product of the last k-step.
  Operation *lastProducts = nullptr;
};

bool isLoad(Operation *op) { return isa<LdmatrixOp, SharedLoadOp>(op); }

/// Finds the structure, or nullopt if the loop does not have it.
std::optional<Structure> analyze(scf::ForOp loop) {
  Structure result;
  bool loadsEnded = false;
  Operation *lastLoad = nullptr, *lastCopy = nullptr;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
      if (result.wait || lastLoad)
        return std::nullopt;
      result.wait = wait;
    } else if (auto barrier = dyn_cast<BarrierOp>(op)) {
      if (result.barrier || !result.wait || lastLoad || barrier.getId())
        return std::nullopt;
      result.barrier = barrier;
    } else if (isLoad(&op)) {
      if (!result.barrier)
        return std::nullopt;
      if (!loadsEnded)
        result.firstLoads.push_back(&op);
      lastLoad = &op;
      result.lastProducts = nullptr;
    } else if (isa<MmaOp>(op)) {
      loadsEnded = true;
      if (!result.lastProducts)
        result.lastProducts = &op;
    } else if (isa<AsyncCopyOp, AsyncCommitOp>(op)) {
      // Copies write slots that nobody reads before the next barrier.
      if (!result.barrier)
        return std::nullopt;
      lastCopy = &op;
    } else if (op.getNumRegions() || !isMemoryEffectFree(&op)) {
      return std::nullopt;
    }
  }
  // A second k-step is needed to hide behind.
  bool several = lastLoad && !result.firstLoads.empty() &&
                 lastLoad != result.firstLoads.back();
  if (!result.barrier || !several || !result.lastProducts)
    return std::nullopt;
  // The wait counts groups: it must not move in front of a commit.
  if (lastCopy && result.lastProducts->isBeforeInBlock(lastCopy))
    return std::nullopt;
  return result;
}

/// Operations of the loop body that `values` need, in program order; false when
/// one of them is not free of effects.
bool collectSlice(scf::ForOp loop, ArrayRef<Value> values,
                  llvm::SetVector<Operation *> &slice) {
  SmallVector<Value> worklist(values);
  llvm::SmallPtrSet<Operation *, 32> found;
  while (!worklist.empty()) {
    Operation *def = worklist.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != loop.getBody() || !found.insert(def).second)
      continue;
    if (!isMemoryEffectFree(def) || isa<MmaOp>(def))
      return false;
    llvm::append_range(worklist, def->getOperands());
  }
  for (Operation &op : *loop.getBody())
    if (found.contains(&op))
      slice.insert(&op);
  return true;
}

class Rotation {
public:
  Rotation(scf::ForOp loop, const Structure &structure)
      : loop(loop), structure(structure) {}

  bool run() {
    SmallVector<Value> addresses;
    for (Operation *load : structure.firstLoads)
      llvm::append_range(addresses, load->getOperands());
    if (!collectSlice(loop, addresses, addressSlice))
      return false;
    // Next values of the iteration arguments that the addresses depend on.
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<Value> next;
    auto note = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == loop.getBody() &&
          argument.getArgNumber() > 0) {
        unsigned index = argument.getArgNumber() - 1;
        nextValues[argument] = yield.getOperand(index);
        next.push_back(yield.getOperand(index));
      }
    };
    llvm::for_each(addresses, note);
    for (Operation *op : addressSlice)
      llvm::for_each(op->getOperands(), note);
    if (!collectSlice(loop, next, nextSlice))
      return false;
    rotate(yield);
    return true;
  }

private:
  /// Clones the wait, the barrier and the first loads; `mapping` says what the
  /// iteration arguments are there.
  SmallVector<Value> emitLoads(OpBuilder &b, IRMapping mapping) {
    b.clone(*structure.wait);
    b.clone(*structure.barrier);
    for (Operation *op : addressSlice)
      b.clone(*op, mapping);
    SmallVector<Value> results;
    for (Operation *load : structure.firstLoads)
      results.push_back(b.clone(*load, mapping)->getResult(0));
    return results;
  }

  void rotate(scf::YieldOp yield) {
    OpBuilder before(loop);
    IRMapping initial;
    initial.map(loop.getInductionVar(), loop.getLowerBound());
    for (auto [argument, init] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      initial.map(argument, init);
    SmallVector<Value> first = emitLoads(before, initial);

    // The next iteration's loads, in front of the last products.
    OpBuilder inside(structure.lastProducts);
    IRMapping ahead;
    for (Operation *op : nextSlice)
      inside.clone(*op, ahead);
    IRMapping mapping;
    for (auto &[argument, value] : nextValues)
      mapping.map(argument, ahead.lookupOrDefault(value));
    mapping.map(loop.getInductionVar(),
                arith::AddIOp::create(inside, loop.getLoc(),
                                      loop.getInductionVar(), loop.getStep())
                    .getResult());
    SmallVector<Value> loaded = emitLoads(inside, mapping);

    SmallVector<Value> inits(loop.getInitArgs());
    inits.append(first);
    OpBuilder b(loop);
    auto created =
        scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(),
                           loop.getUpperBound(), loop.getStep(), inits);
    created->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    created.getRegion().takeBody(loop.getRegion());
    Block *body = created.getBody();
    for (Operation *load : structure.firstLoads) {
      load->getResult(0).replaceAllUsesWith(
          body->addArgument(load->getResult(0).getType(), load->getLoc()));
      load->erase();
    }
    structure.wait->erase();
    structure.barrier->erase();
    yield->insertOperands(yield->getNumOperands(), loaded);
    loop->replaceAllUsesWith(
        created->getResults().take_front(loop->getNumResults()));
    loop->erase();
  }

  scf::ForOp loop;
  Structure structure;
  llvm::SetVector<Operation *> addressSlice, nextSlice;
  llvm::MapVector<Value, Value> nextValues;
};

struct PrefetchFragments
    : mlir::tile_gpu::impl::TileGPUPrefetchFragmentsBase<PrefetchFragments> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (std::optional<Structure> structure = analyze(loop))
        Rotation(loop, *structure).run();
  }
};

} // namespace
