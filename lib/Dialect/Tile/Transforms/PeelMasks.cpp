//===- PeelMasks.cpp - tile-peel-masks --------------------------*- C++ -*-===//
//
// Doubles parallel loops with masks: a copy without them runs where no element
// of the tile is masked, under a condition that all threads agree on. One
// branch for each step keeps the loop around in one piece: splitting its range
// would double products, waits and the advance of rings, too, where a branch
// doubles only the elementwise loop, and the loop may be rotated by others.
//
//===----------------------------------------------------------------------===//
#include "MaskConditions.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/ProgramSlice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPEELMASKS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Larger bodies cost more as code than their masks cost as time.
static constexpr int64_t kLargestBody = 32;

namespace {
/// A select or an scf.if of the body that discards one of its sides.
struct Mask {
  Operation *op = nullptr;
  Value predicate;
  /// The value of the predicate where something is kept.
  bool keeps = true;
};

class MaskPeeler {
public:
  MaskPeeler(ParallelOp loop, IntegerAnalysis &integers,
             const Uniformity &uniformity)
      : loop(loop), uniformity(uniformity),
        analysis(loop, integers, uniformity) {}

  /// Removes masks that hide nothing, or everything, wherever the loop runs.
  void removeDecided();
  /// Doubles the loop.
  void peel();

private:
  void findMasks();
  bool discards(Block &block, unsigned results);

  ParallelOp loop;
  const Uniformity &uniformity;
  MaskAnalysis analysis;
  SmallVector<Mask> masks;
};
} // namespace

/// Replaces `op` by what it does where its predicate is `value`.
static void keepSide(Operation *op, bool value) {
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    select.replaceAllUsesWith(value ? select.getTrueValue()
                                    : select.getFalseValue());
    select.erase();
    return;
  }
  auto branch = cast<scf::IfOp>(op);
  Region &taken = value ? branch.getThenRegion() : branch.getElseRegion();
  if (taken.empty()) {
    branch.erase();
    return;
  }
  Operation *yield = taken.front().getTerminator();
  branch->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  branch->getBlock()->getOperations().splice(Block::iterator(branch),
                                             taken.front().getOperations());
  branch.erase();
}

/// Whether `block` has no effect and yields what is the same for all elements.
bool MaskPeeler::discards(Block &block, unsigned results) {
  for (Operation &op : block.without_terminator())
    if (!isPure(&op))
      return false;
  Operation *yield = block.getTerminator();
  return results == 0 || llvm::all_of(yield->getOperands(), [&](Value value) {
           return analysis.isAvailable(value);
         });
}

void MaskPeeler::findMasks() {
  loop.getBody().walk([&](Operation *op) {
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      bool trueSide = analysis.isAvailable(select.getTrueValue());
      bool falseSide = analysis.isAvailable(select.getFalseValue());
      if (!(trueSide || falseSide) ||
          !select.getCondition().getType().isInteger(1))
        return;
      // Of two values that are there for all elements (what a product is added
      // to, say), zero is the one that does nothing.
      bool keeps = falseSide;
      if (trueSide && falseSide)
        keeps = !matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
                !matchPattern(select.getFalseValue(), m_Zero());
      masks.push_back({op, select.getCondition(), keeps});
      return;
    }
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      return;
    unsigned results = branch.getNumResults();
    bool thenSide = discards(*branch.thenBlock(), results);
    bool elseSide = branch.getElseRegion().empty() ||
                    discards(*branch.elseBlock(), results);
    if (thenSide != elseSide)
      masks.push_back({op, branch.getCondition(), elseSide});
  });
}

void MaskPeeler::removeDecided() {
  findMasks();
  // Inner masks come before those around them.
  SmallVector<Mask> open;
  bool removed = false;
  for (const Mask &mask : masks) {
    std::optional<bool> value;
    for (bool candidate : {mask.keeps, !mask.keeps}) {
      std::optional<MaskCondition> condition =
          analysis.require(mask.predicate, candidate);
      if (condition && condition->isAlways())
        value = candidate;
    }
    // What is discarded may hold masks.
    bool holdsOthers = llvm::any_of(open, [&](const Mask &other) {
      return mask.op->isProperAncestor(other.op);
    });
    if (!value || (holdsOthers && *value != mask.keeps))
      open.push_back(mask);
    else {
      // What is not kept goes with its masks.
      llvm::erase_if(open, [&](const Mask &other) {
        return mask.op->isProperAncestor(other.op);
      });
      keepSide(mask.op, *value);
      removed = true;
    }
  }
  if (removed)
    eraseDead(*loop.getBodyBlock());
}

/// Whether a store puts back what it finds.
static bool isIdentity(StoreOp store) {
  auto load = store.getValue().getDefiningOp<LoadOp>();
  return load && load->getBlock() == store->getBlock() &&
         load.getSource() == store.getDest() &&
         load.getIndices() == store.getIndices() &&
         isa<BufferType>(store.getDest().getType());
}

/// What stays of a body without its masks.
static void simplifyBody(Block &body) {
  // Another store may come between what it puts back and what it finds, also
  // from inside of a condition.
  SmallVector<StoreOp> stores;
  body.walk([&](StoreOp store) { stores.push_back(store); });
  if (stores.size() == 1 && stores.front()->getBlock() == &body &&
      isIdentity(stores.front()))
    stores.front().erase();
  eraseDead(body);
}

static bool writesShared(ParallelOp loop) {
  return loop
      .walk([](Operation *op) {
        Value dest;
        if (auto store = dyn_cast<StoreOp>(op))
          dest = store.getDest();
        if (auto atomic = dyn_cast<AtomicOp>(op))
          dest = atomic.getDest();
        auto type = dest ? dyn_cast<BufferType>(dest.getType()) : BufferType();
        return type && type.isShared() ? WalkResult::interrupt()
                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

static int64_t countOperations(ParallelOp loop) {
  int64_t count = 0;
  loop.getBody().walk([&](Operation *op) {
    count += op->hasTrait<OpTrait::IsTerminator>() ? 0 : 1;
  });
  return count;
}

static void setReason(ParallelOp loop, const Twine &reason) {
  MLIRContext *context = loop.getContext();
  loop.setChoiceAttr(ChoiceAttr::get(
      context, Path::Simt, StringAttr::get(context, reason), DictionaryAttr()));
}

void MaskPeeler::peel() {
  findMasks();
  Operation *outer = getLoopAround(loop);
  if (!outer || !uniformity.isReachedUniformly(loop))
    return;
  std::vector<MaskCondition> conditions;
  SmallVector<Mask> peeled;
  for (const Mask &mask : masks) {
    std::optional<MaskCondition> condition =
        analysis.require(mask.predicate, mask.keeps);
    if (!condition || condition->isNever())
      continue;
    peeled.push_back(mask);
    conditions.push_back(*condition);
  }
  MaskCondition condition = MaskAnalysis::all(std::move(conditions));
  if (peeled.empty() || condition.isNever() || condition.isAlways() ||
      !condition.dependsOnElement || !analysis.changesIn(outer, condition))
    return;
  auto stays = [&](const Twine &reason) {
    if (!loop.getChoiceAttr())
      setReason(loop, "the mask is applied to every tile: " + reason);
  };
  if (writesShared(loop))
    return stays("the loop writes shared memory");
  if (int64_t count = countOperations(loop); count > kLargestBody)
    return stays("a copy of " + Twine(count) +
                 " operations without it would be too much code");

  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value all = analysis.emit(builder, condition);
  // The copy; masks are found in it by the way they were found in the loop.
  IRMapping mapping;
  auto copy = cast<ParallelOp>(builder.clone(*loop, mapping));
  for (const Mask &mask : peeled)
    keepSide(mapping.lookup(mask.op), mask.keeps);
  simplifyBody(*copy.getBodyBlock());
  setReason(loop, "masked: runs for tiles with an element that the mask hides");
  setReason(copy, "no mask: runs for tiles in which the mask hides nothing");
  if (isMemoryEffectFree(copy)) {
    // Nothing is left to do.
    copy.erase();
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value some = arith::XOrIOp::create(builder, loc, all, yes);
    auto branch =
        scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
    loop->moveBefore(branch.thenBlock()->getTerminator());
    return;
  }
  auto branch = scf::IfOp::create(builder, loc, all, /*withElseRegion=*/true);
  copy->moveBefore(branch.thenBlock()->getTerminator());
  loop->moveBefore(branch.elseBlock()->getTerminator());
}

namespace {
struct PeelMasks : tile::impl::TilePeelMasksBase<PeelMasks> {
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) {
      SmallVector<ParallelOp> loops;
      kernel.walk([&](ParallelOp loop) {
        if (loop.hasStaticExtents())
          loops.push_back(loop);
      });
      if (loops.empty())
        return;
      Uniformity uniformity(kernel);
      for (ParallelOp loop : loops) {
        // Operations come and go: nothing may be remembered about them.
        for (auto step : {&MaskPeeler::removeDecided, &MaskPeeler::peel}) {
          IntegerAnalysis integers(kernel);
          MaskPeeler peeler(loop, integers, uniformity);
          (peeler.*step)();
        }
      }
    });
  }
};
} // namespace
