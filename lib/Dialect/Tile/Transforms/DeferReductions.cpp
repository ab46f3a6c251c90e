//===- DeferReductions.cpp - tile-defer-reductions --------------*- C++ -*-===//
//
// A sum over a row that is spread over lanes takes shuffles, and every one
// makes the warp wait for it. Lanes that keep sums of their own need them once,
// behind the loop: sums of sums, also of scaled ones, do not depend on when
// they are taken but for rounding.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/PartialResults.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/UnitFactors.h"
#include "tilemlir/Layout/Reduction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDEFERREDUCTIONS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

static constexpr llvm::StringLiteral kPartial = "partial";
static constexpr llvm::StringLiteral kKind = "kind";
static constexpr llvm::StringLiteral kDistances = "distances";
static constexpr llvm::StringLiteral kPropagate = "nan_propagate";

bool mlir::tile::isPartial(ReduceOp op) {
  ChoiceAttr choice = op.getChoiceAttr();
  return choice && choice.getArguments() &&
         choice.getArguments().contains(kPartial);
}

std::optional<LaneCombination> mlir::tile::getLaneCombination(ConvertOp op) {
  ChoiceAttr choice = op.getChoiceAttr();
  if (!choice || !choice.getArguments())
    return std::nullopt;
  auto kind = choice.getArguments().getAs<ReduceKindAttr>(kKind);
  auto distances = choice.getArguments().getAs<DenseI64ArrayAttr>(kDistances);
  if (!kind || !distances)
    return std::nullopt;
  return LaneCombination{kind.getValue(),
                         choice.getArguments().contains(kPropagate),
                         llvm::to_vector(distances.asArrayRef())};
}

/// The exchange between lanes that `op` does; nothing when there is none, or
/// when it is not one of lanes alone.
static std::optional<LaneCombination> getExchange(ReduceOp op) {
  layout::Result<FragmentView> source = getFragmentView(op.getSource());
  if (!source)
    return std::nullopt;
  layout::Result<layout::ReductionPlan> plan =
      layout::planReduction(source->layout, static_cast<int>(op.getDim()));
  if (!plan || plan->steps.empty() || plan->needsSharedMemory())
    return std::nullopt;
  LaneCombination result{op.getKind(), op.getNanPropagate(), {}};
  for (const layout::ReductionStep &step : plan->steps)
    llvm::append_range(result.distances, step.xorDistances);
  return result;
}

/// Sums may be multiplied before they are complete.
static bool isSum(ReduceKind kind) {
  return kind == ReduceKind::Sum || kind == ReduceKind::AbsSum;
}

/// Whether a result that is combined with itself stays the same.
static bool isIdempotent(ReduceKind kind) {
  return !isSum(kind) && kind != ReduceKind::BitXor;
}

/// Whether `buffer` holds zeros when `loop` begins: what touches it last in the
/// block of the loop fills it.
static bool beginsWithZeros(AllocOp buffer, Operation *loop) {
  SmallVector<Operation *> users = getHandleUsers(buffer.getResult());
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto fill = dyn_cast<FillOp>(op))
      if (fill.getDest() == buffer.getResult())
        return matchPattern(fill.getValue(), m_AnyZeroFloat()) ||
               matchPattern(fill.getValue(), m_Zero());
    if (llvm::any_of(users,
                     [&](Operation *user) { return op->isAncestor(user); }))
      return false;
  }
  return false;
}

/// Reductions into `buffer` that can leave their lanes apart while `loop` runs;
/// none when the loop does anything else with it.
static SmallVector<ReduceOp> findReductions(AllocOp buffer, Operation *loop,
                                            const LaneCombination &exchange) {
  SmallVector<ReduceOp> reductions;
  for (Operation *user : getHandleUsers(buffer.getResult())) {
    if (!loop->isProperAncestor(user))
      continue;
    if (auto reduce = dyn_cast<ReduceOp>(user)) {
      std::optional<LaneCombination> own = getExchange(reduce);
      if (reduce.getDest() != buffer.getResult() || reduce.getClear() ||
          getAllocation(reduce.getSource()) == buffer || isPartial(reduce) ||
          !own || !(*own == exchange))
        return {};
      reductions.push_back(reduce);
      continue;
    }
    auto parallel = user->getParentOfType<ParallelOp>();
    if (!isSum(exchange.kind) || !isa<LoadOp, StoreOp>(user) || !parallel ||
        !matchScalings(parallel))
      return {};
    // Loads of what is scaled are elements, not factors.
  }
  return reductions;
}

static void deferInLoop(AllocOp buffer, Operation *loop,
                        ArrayRef<ReduceOp> reductions,
                        const LaneCombination &exchange) {
  Builder attributes(loop->getContext());
  auto partial = ChoiceAttr::get(
      loop->getContext(), Path::Registers, "lanes are combined behind the loop",
      attributes.getDictionaryAttr(
          attributes.getNamedAttr(kPartial, attributes.getUnitAttr())));
  for (ReduceOp reduce : reductions)
    reduce.setChoiceAttr(partial);
  SmallVector<NamedAttribute> arguments{
      attributes.getNamedAttr(
          kDistances, attributes.getDenseI64ArrayAttr(exchange.distances)),
      attributes.getNamedAttr(
          kKind, ReduceKindAttr::get(loop->getContext(), exchange.kind))};
  if (exchange.nanPropagate)
    arguments.push_back(
        attributes.getNamedAttr(kPropagate, attributes.getUnitAttr()));
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  ReduceOp first = reductions.front();
  ConvertOp::create(
      builder, first.getLoc(), buffer.getResult(), buffer.getResult(), Value(),
      ChoiceAttr::get(loop->getContext(), Path::Shuffle,
                      "combines the lanes that reductions of the loop left "
                      "apart",
                      attributes.getDictionaryAttr(arguments)));
}

/// The outermost loop around `reduce` that allows it takes the exchange out.
static void deferReduction(ReduceOp reduce) {
  if (reduce.getClear() || isPartial(reduce))
    return;
  auto buffer = reduce.getDest().getDefiningOp<AllocOp>();
  std::optional<LaneCombination> exchange = getExchange(reduce);
  if (!buffer || !exchange || !reduce.getDest().getType().isFragment() ||
      reduce.getDest().getType().getScalarType().getIntOrFloatBitWidth() < 32)
    return;
  Operation *outermost = nullptr;
  SmallVector<ReduceOp> reductions;
  for (Operation *op = reduce->getParentOp(); op && !op->isAncestor(buffer);
       op = op->getParentOp()) {
    if (!isa<PipelinedOp, scf::ForOp, scf::WhileOp>(op))
      continue;
    SmallVector<ReduceOp> found = findReductions(buffer, op, *exchange);
    if (found.empty())
      break;
    if (isIdempotent(exchange->kind) || beginsWithZeros(buffer, op)) {
      outermost = op;
      reductions = std::move(found);
    }
  }
  if (outermost)
    deferInLoop(buffer, outermost, reductions, *exchange);
}

namespace {
struct DeferReductions : tile::impl::TileDeferReductionsBase<DeferReductions> {
  void runOnOperation() override {
    SmallVector<ReduceOp> reductions;
    getOperation()->walk(
        [&](ReduceOp reduce) { reductions.push_back(reduce); });
    for (ReduceOp reduce : reductions)
      deferReduction(reduce);
  }
};
} // namespace
