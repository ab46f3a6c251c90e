//===- OptimizeConversions.cpp - tile-optimize-conversions ------*- C++ -*-===//
//
// Removes conversions that nobody needs, takes them out of loops, merges equal
// ones, and gives conversions and reductions their form and scratch memory.
//
//===----------------------------------------------------------------------===//
#include "LayoutLegalizer.h"
#include "Uniformity.h"

#include "tilemlir/Dialect/Tile/Transforms/ConvertScratch.h"
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Layout/Conversion.h"
#include "tilemlir/Layout/Reduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEOPTIMIZECONVERSIONS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

//===----------------------------------------------------------------------===//
// Who reads and writes a buffer
//===----------------------------------------------------------------------===//

/// Operations that use `handle` or a view of it, views excluded.
static void collectUsers(Value handle, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : handle.getUses()) {
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(use.getOwner()))
      collectUsers(use.getOwner()->getResult(0), uses);
    else
      uses.push_back(&use);
  }
}

static bool hasEffect(OpOperand &use, bool write) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(use.getOwner());
  if (!effects)
    return true;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffectsOnValue(use.get(), instances);
  return llvm::any_of(instances, [&](const auto &effect) {
    return write ? isa<MemoryEffects::Write>(effect.getEffect())
                 : isa<MemoryEffects::Read>(effect.getEffect());
  });
}

static bool isReadOutside(AllocOp alloc, Operation *except) {
  SmallVector<OpOperand *> uses;
  collectUsers(alloc.getResult(), uses);
  return llvm::any_of(uses, [&](OpOperand *use) {
    return use->getOwner() != except && hasEffect(*use, /*write=*/false);
  });
}

/// Writers of a buffer below `scope`, `except` left out.
static bool isWrittenIn(AllocOp alloc, Operation *scope, Operation *except) {
  SmallVector<OpOperand *> uses;
  collectUsers(alloc.getResult(), uses);
  return llvm::any_of(uses, [&](OpOperand *use) {
    return use->getOwner() != except && scope->isAncestor(use->getOwner()) &&
           hasEffect(*use, /*write=*/true);
  });
}

static bool isTouchedIn(AllocOp alloc, Operation *scope,
                        ArrayRef<Operation *> except) {
  SmallVector<OpOperand *> uses;
  collectUsers(alloc.getResult(), uses);
  return llvm::any_of(uses, [&](OpOperand *use) {
    return !llvm::is_contained(except, use->getOwner()) &&
           scope->isAncestor(use->getOwner());
  });
}

/// The single writer of a buffer, if it is `writer`.
static bool isOnlyWriter(AllocOp alloc, Operation *writer) {
  SmallVector<OpOperand *> uses;
  collectUsers(alloc.getResult(), uses);
  return llvm::all_of(uses, [&](OpOperand *use) {
    return use->getOwner() == writer || !hasEffect(*use, /*write=*/true);
  });
}

/// Source and destination of an operation that moves a whole buffer: a
/// conversion, or a copy of a whole fragment to scratch memory.
static std::optional<std::pair<AllocOp, AllocOp>> getMove(Operation *op) {
  Value source, dest;
  if (auto convert = dyn_cast<ConvertOp>(op)) {
    source = convert.getSource();
    dest = convert.getDest();
  } else if (auto copy = dyn_cast<CopyOp>(op)) {
    source = copy.getSource();
    dest = copy.getDest();
    auto sourceType = dyn_cast<BufferType>(source.getType());
    auto destType = dyn_cast<BufferType>(dest.getType());
    if (!sourceType || !destType || !sourceType.isFragment() ||
        !destType.isShared() ||
        copy.getSourceSizes() != sourceType.getShape() ||
        copy.getDestSizes() != destType.getShape())
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  // Only whole allocations are moved around.
  auto from = getAllocation(source), to = getAllocation(dest);
  if (!from || to.getResult() != dest)
    return std::nullopt;
  return std::make_pair(from, to);
}

//===----------------------------------------------------------------------===//
// Removal and motion
//===----------------------------------------------------------------------===//

/// Conversions to fragments that nobody reads.
static bool removeUnread(KernelOp kernel) {
  SmallVector<ConvertOp> dead;
  kernel.walk([&](ConvertOp convert) {
    AllocOp dest = getAllocation(convert.getDest());
    if (dest && !isReadOutside(dest, convert))
      dead.push_back(convert);
  });
  for (ConvertOp convert : dead)
    convert.erase();
  return !dead.empty();
}

/// A later conversion of unchanged data to the same layout repeats an earlier
/// one in the same block.
static bool mergeEqual(KernelOp kernel) {
  bool changed = false;
  SmallVector<ConvertOp> converts;
  kernel.walk([&](ConvertOp convert) { converts.push_back(convert); });
  llvm::SmallPtrSet<Operation *, 8> erased;
  for (size_t i = 0; i < converts.size(); ++i) {
    ConvertOp first = converts[i];
    if (erased.contains(first))
      continue;
    AllocOp kept = getAllocation(first.getDest());
    if (!kept || kept.getResult() != first.getDest() ||
        !isOnlyWriter(kept, first))
      continue;
    for (size_t j = i + 1; j < converts.size(); ++j) {
      ConvertOp second = converts[j];
      if (erased.contains(second) || second->getBlock() != first->getBlock() ||
          second.getSource() != first.getSource())
        continue;
      AllocOp repeated = getAllocation(second.getDest());
      if (!repeated || repeated == kept ||
          repeated.getResult() != second.getDest() ||
          repeated.getType() != kept.getType() ||
          !isOnlyWriter(repeated, second))
        continue;
      AllocOp source = getAllocation(first.getSource());
      bool unchanged = true;
      for (Operation *op = first->getNextNode(); op != second;
           op = op->getNextNode())
        unchanged &= !isWrittenIn(source, op, nullptr);
      if (!unchanged)
        continue;
      repeated.getResult().replaceUsesWithIf(
          kept.getResult(),
          [&](OpOperand &use) { return use.getOwner() != second; });
      erased.insert(second);
      changed = true;
    }
  }
  for (Operation *op : erased)
    op->erase();
  return changed;
}

/// The loop around `op`, if `op` stands directly in its body.
static Operation *getEnclosingLoop(Operation *op) {
  Operation *parent = op->getParentOp();
  return isa<scf::ForOp, PipelinedOp>(parent) ? parent : nullptr;
}

/// A move of data that does not change in a loop is done once in front of it.
static bool hoistInvariant(KernelOp kernel) {
  SmallVector<Operation *> moves;
  kernel.walk([&](Operation *op) {
    if (getMove(op))
      moves.push_back(op);
  });
  bool changed = false;
  for (Operation *op : moves) {
    Operation *loop = getEnclosingLoop(op);
    if (!loop)
      continue;
    auto [source, dest] = *getMove(op);
    bool operandsOutside = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return def &&
             (!loop->isAncestor(def) || def->hasTrait<OpTrait::ConstantLike>());
    });
    if (!operandsOutside || isWrittenIn(source, loop, nullptr) ||
        !isOnlyWriter(dest, op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); loop->isAncestor(def))
        def->moveBefore(loop);
    op->moveBefore(loop);
    changed = true;
  }
  return changed;
}

/// A fragment that a loop converts to another layout, works on, and converts
/// back, without touching it otherwise, is converted around the loop.
static bool hoistRoundTrips(KernelOp kernel) {
  SmallVector<ConvertOp> converts;
  kernel.walk([&](ConvertOp convert) { converts.push_back(convert); });
  bool changed = false;
  for (ConvertOp in : converts) {
    Operation *loop = getEnclosingLoop(in);
    auto original = in.getSource().getDefiningOp<AllocOp>();
    auto temporary = in.getDest().getDefiningOp<AllocOp>();
    if (!loop || !original || !temporary)
      continue;
    ConvertOp out;
    for (ConvertOp other : converts)
      if (other->getBlock() == in->getBlock() && in->isBeforeInBlock(other) &&
          other.getSource() == in.getDest() &&
          other.getDest() == in.getSource())
        out = other;
    if (!out || isTouchedIn(original, loop, {in, out}))
      continue;
    // Every use of the temporary in the loop lies between the two.
    SmallVector<OpOperand *> uses;
    collectUsers(temporary.getResult(), uses);
    bool between = llvm::all_of(uses, [&](OpOperand *use) {
      if (use->getOwner() == in || use->getOwner() == out)
        return true;
      if (!loop->isAncestor(use->getOwner()))
        return false;
      Operation *top = in->getBlock()->findAncestorOpInBlock(*use->getOwner());
      return top && in->isBeforeInBlock(top) && top->isBeforeInBlock(out);
    });
    if (!between)
      continue;
    in->moveBefore(loop);
    out->moveAfter(loop);
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// No limit on scratch memory: tile-allocate-memory cuts conversions into
/// pieces where it runs out.
static constexpr int64_t kWholeFragment = int64_t(1) << 40;

static LogicalResult chooseForm(ConvertOp op) {
  if (op.getChoiceAttr())
    return success();
  layout::Result<FragmentView> source = getFragmentView(op.getSource());
  layout::Result<FragmentView> dest = getFragmentView(op.getDest());
  if (!source || !dest)
    return op.emitError("convert: ")
           << (source ? dest.error() : source.error());
  layout::Result<layout::Conversion> conversion =
      layout::classifyConversion(source->layout, dest->layout);
  if (!conversion)
    return op.emitError("convert: ") << conversion.error();
  MLIRContext *context = op.getContext();
  switch (conversion->kind) {
  case layout::ConversionKind::Identity:
    op.setChoiceAttr(ChoiceAttr::get(context, Path::Registers,
                                     "both layouts are the same map", {}));
    return success();
  case layout::ConversionKind::RegisterPermutation:
    op.setChoiceAttr(
        ChoiceAttr::get(context, Path::Registers,
                        "threads keep their elements in other registers", {}));
    return success();
  case layout::ConversionKind::InWarpShuffle: {
    // Shared memory where it takes less time.
    int64_t bits =
        std::max<int64_t>(op.getSource().getType().getElementBits(), 8);
    int64_t clocks = layout::conversionClocks(
        *conversion, source->layout.numThreads(), bits);
    layout::Result<layout::SharedConversion> shared =
        layout::planSharedConversion(source->layout, dest->layout, bits);
    int64_t shuffles =
        conversion->numShuffles() / conversion->elementsPerShuffle(bits);
    if (shared && shared->clocks < clocks)
      return assignConvertScratch(
          op, kWholeFragment,
          llvm::formatv("{0} shuffles would take {1}", shuffles, clocks).str());
    op.setChoiceAttr(ChoiceAttr::get(
        context, Path::Shuffle,
        llvm::formatv("{0} shuffle{1} inside each warp, {2} clocks{3}: {4}",
                      shuffles, shuffles == 1 ? "" : "s", clocks,
                      shared ? llvm::formatv(" (through shared memory {0})",
                                             shared->clocks)
                                   .str()
                             : "",
                      conversion->reason)
            .str(),
        {}));
    return success();
  }
  case layout::ConversionKind::ThroughShared:
    break;
  }
  return assignConvertScratch(op, kWholeFragment, conversion->reason);
}

Type mlir::tile::getReductionType(ReduceOp op) {
  Type type = op.getDest().getType().getScalarType();
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(op.getContext());
  if (type.isInteger() && type.getIntOrFloatBitWidth() < 32)
    return IntegerType::get(op.getContext(), 32);
  return type;
}

static LogicalResult chooseForm(ReduceOp op) {
  layout::Result<FragmentView> source = getFragmentView(op.getSource());
  if (!source)
    return op.emitError("reduce: ") << source.error();
  layout::Result<layout::ReductionPlan> plan =
      layout::planReduction(source->layout, static_cast<int>(op.getDim()));
  if (!plan)
    return op.emitError("reduce: ") << plan.error();
  MLIRContext *context = op.getContext();
  if (plan->steps.empty()) {
    op.setChoiceAttr(ChoiceAttr::get(
        context, Path::Registers,
        "each thread holds whole lines of the reduced dimension", {}));
    return success();
  }
  if (!plan->needsSharedMemory()) {
    op.setChoiceAttr(ChoiceAttr::get(
        context, Path::Shuffle,
        "the reduced dimension is spread over lanes of one warp", {}));
    return success();
  }
  if (op.getScratch())
    return success();
  int64_t partials = plan->sharedPartials();
  std::vector<int64_t> shape{partials, plan->result.numElements()};
  Type type = getReductionType(op);
  layout::Result<layout::SharedLayout> scratchLayout =
      layout::SharedLayout::rowMajor(shape, getElementBits(type));
  AllocOp scratch = createAllocation(
      getKernel(op),
      BufferType::get(context, shape, type, MemorySpace::Shared,
                      SharedLayoutAttr::get(context, *scratchLayout)),
      op.getSource(), "reduce_scratch");
  op.getScratchMutable().assign(scratch);
  op.setChoiceAttr(ChoiceAttr::get(
      context, Path::Scratch,
      llvm::formatv("{0} partial results of each line meet in shared memory",
                    partials)
          .str(),
      {}));
  return success();
}

namespace {
struct OptimizeConversions
    : tile::impl::TileOptimizeConversionsBase<OptimizeConversions> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (failed(optimize(kernel)))
        return signalPassFailure();
  }

  LogicalResult optimize(KernelOp kernel) {
    bool changed = true;
    while (changed) {
      changed = removeUnread(kernel);
      changed |= mergeEqual(kernel);
      changed |= hoistInvariant(kernel);
      changed |= hoistRoundTrips(kernel);
    }
    SmallVector<AllocOp> unused;
    kernel.walk([&](AllocOp alloc) {
      if (alloc->use_empty())
        unused.push_back(alloc);
    });
    for (AllocOp alloc : unused)
      alloc.erase();
    SmallVector<Operation *> ops;
    kernel.walk([&](Operation *op) {
      if (isa<ConvertOp, ReduceOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      auto convert = dyn_cast<ConvertOp>(op);
      if (failed(convert ? chooseForm(convert)
                         : chooseForm(cast<ReduceOp>(op))))
        return failure();
    }
    return success();
  }
};
} // namespace
