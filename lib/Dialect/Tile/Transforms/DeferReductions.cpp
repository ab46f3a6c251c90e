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
#include "tilemlir/Layout/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether `buffer` holds zeros when `loop` begins: what touches it last in the
/// block of the loop fills it.
static bool beginsWithZeros(AllocOp buffer, Operation *loop) {
  SmallVector<Operation *> users = getHandleUsers(buffer.getResult());
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto fill = dyn_cast<FillOp>(op))
      if (fill.getDest() == buffer.getResult())
        return isZero(fill.getValue());
    if (llvm::any_of(users,
                     [&](Operation *user) { return op->isAncestor(user); }))
      return false;
  }
  return false;
}

namespace {
/// Fragments whose lanes can stay apart while a loop runs: those that
/// reductions collect into, and those that sums of them go to.
class Apart {
public:
  Apart(Operation *loop, LaneCombination exchange)
      : loop(loop), exchange(std::move(exchange)) {}

  /// Follows what the loop does with `first`, the result of a reduction. False
  /// when complete results are needed.
  bool follow(AllocOp first);
  /// Marks the reductions, and combines the lanes behind the loop.
  void defer();

private:
  bool followUses(LoadOp load);
  /// Whether `value` is a sum of what lanes hold apart, as every lane computes
  /// its own part of it.
  bool isPart(Value value) const;
  bool isDefined(AllocOp buffer) const;

  Operation *loop;
  LaneCombination exchange;
  llvm::SetVector<Operation *> buffers;
  llvm::SetVector<Operation *> reductions;
  SmallVector<Value> parts;
};
} // namespace

bool Apart::isPart(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return isa<BufferType>(load.getSource().getType()) &&
           buffers.contains(getAllocation(load.getSource()));
  if (isa_and_nonnull<arith::AddFOp>(op))
    return isPart(op->getOperand(0)) && isPart(op->getOperand(1));
  if (isa_and_nonnull<arith::MulFOp>(op))
    return isPart(op->getOperand(0)) != isPart(op->getOperand(1));
  return false;
}

/// What is loaded may be multiplied, added and stored to the same element.
bool Apart::followUses(LoadOp load) {
  SmallVector<Value> values{load.getResult()};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    parts.push_back(value);
    for (Operation *user : value.getUsers()) {
      if (auto store = dyn_cast<StoreOp>(user)) {
        auto dest = store.getDest().getDefiningOp<AllocOp>();
        if (!dest || store.getIndices() != load.getIndices() ||
            dest.getType() != load.getSource().getType())
          return false;
        buffers.insert(dest);
      } else if (isa<arith::AddFOp, arith::MulFOp>(user)) {
        values.push_back(user->getResult(0));
      } else {
        return false;
      }
    }
  }
  return true;
}

/// Whether the loop does not read what `buffer` held before, or that is zero.
bool Apart::isDefined(AllocOp buffer) const {
  if (isIdempotent(exchange.kind) || beginsWithZeros(buffer, loop))
    return true;
  SmallVector<Operation *> users = getHandleUsers(buffer.getResult());
  for (Operation *user : users)
    if (!loop->isProperAncestor(user) && !isa<FillOp>(user))
      return false;
  if (loop->getNumRegions() != 1)
    return false;
  for (Operation &op : loop->getRegion(0).front()) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && reduce.getDest() == buffer.getResult())
      return reduce.getClear();
    if (llvm::any_of(users,
                     [&](Operation *user) { return op.isAncestor(user); }))
      return false;
  }
  return false;
}

bool Apart::follow(AllocOp first) {
  buffers.insert(first);
  SmallVector<StoreOp> stores;
  for (size_t next = 0; next < buffers.size(); ++next) {
    auto buffer = cast<AllocOp>(buffers[next]);
    for (Operation *user : getHandleUsers(buffer.getResult())) {
      if (!loop->isProperAncestor(user))
        continue;
      if (auto reduce = dyn_cast<ReduceOp>(user)) {
        std::optional<LaneCombination> own = getExchange(reduce);
        if (reduce.getDest() != buffer.getResult() || isPartial(reduce) ||
            !own || !(*own == exchange))
          return false;
        reductions.insert(reduce);
      } else if (auto load = dyn_cast<LoadOp>(user)) {
        if (!isSum(exchange.kind) || !load->getParentOfType<ParallelOp>() ||
            load.getSource() != buffer.getResult() || !followUses(load))
          return false;
      } else if (auto store = dyn_cast<StoreOp>(user)) {
        stores.push_back(store);
      } else if (auto fill = dyn_cast<FillOp>(user)) {
        if (fill.getDest() != buffer.getResult() ||
            !(isIdempotent(exchange.kind) || isZero(fill.getValue())))
          return false;
      } else {
        return false;
      }
    }
  }
  for (Operation *op : reductions)
    if (buffers.contains(getAllocation(cast<ReduceOp>(op).getSource())))
      return false;
  for (StoreOp store : stores)
    if (!isPart(store.getValue()))
      return false;
  return llvm::all_of(parts, [&](Value value) { return isPart(value); }) &&
         llvm::all_of(buffers, [&](Operation *buffer) {
           return isDefined(cast<AllocOp>(buffer));
         });
}

void Apart::defer() {
  MLIRContext *context = loop->getContext();
  Builder attributes(context);
  auto partial = ChoiceAttr::get(
      context, Path::Registers, "lanes are combined behind the loop",
      attributes.getDictionaryAttr(
          attributes.getNamedAttr(kPartial, attributes.getUnitAttr())));
  for (Operation *reduce : reductions)
    cast<ReduceOp>(reduce).setChoiceAttr(partial);
  SmallVector<NamedAttribute> arguments{
      attributes.getNamedAttr(
          kDistances, attributes.getDenseI64ArrayAttr(exchange.distances)),
      attributes.getNamedAttr(kKind,
                              ReduceKindAttr::get(context, exchange.kind))};
  if (exchange.nanPropagate)
    arguments.push_back(
        attributes.getNamedAttr(kPropagate, attributes.getUnitAttr()));
  auto combine = ChoiceAttr::get(
      context, Path::Shuffle,
      "combines the lanes that reductions of the loop left apart",
      attributes.getDictionaryAttr(arguments));
  OpBuilder builder(context);
  builder.setInsertionPointAfter(loop);
  for (Operation *buffer : buffers) {
    Value handle = cast<AllocOp>(buffer).getResult();
    if (llvm::all_of(getHandleUsers(handle), [&](Operation *user) {
          return loop->isProperAncestor(user) || isa<FillOp>(user);
        }))
      continue;
    ConvertOp::create(builder, reductions.front()->getLoc(), handle, handle,
                      Value(), combine);
  }
}

/// The outermost loop around `reduce` that allows it takes the exchange out.
static void deferReduction(ReduceOp reduce) {
  auto buffer = reduce.getDest().getDefiningOp<AllocOp>();
  if (!buffer || isPartial(reduce))
    return;
  std::optional<LaneCombination> exchange = getExchange(reduce);
  BufferType type = reduce.getDest().getType();
  if (!exchange || !type.isFragment() ||
      type.getScalarType().getIntOrFloatBitWidth() < 32)
    return;
  std::optional<Apart> outermost;
  for (Operation *op = reduce->getParentOp(); op && !op->isAncestor(buffer);
       op = op->getParentOp()) {
    if (!isa<PipelinedOp, scf::ForOp, scf::WhileOp>(op))
      continue;
    Apart apart(op, *exchange);
    if (apart.follow(buffer))
      outermost = std::move(apart);
  }
  if (outermost)
    outermost->defer();
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
