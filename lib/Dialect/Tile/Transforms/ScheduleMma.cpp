//===- ScheduleMma.cpp - matrix products in flight --------------*- C++ -*-===//
//
// wgmma is asynchronous. Every gemm that uses it becomes a start and a wait.
// In a ring loop whose products only add to accumulators that nothing else in
// the loop touches, the products of one iteration stay in flight during the
// next; the slot that they read is given back one iteration later.
//
// The depth is 1 at most (more gains nothing), and products never stay in
// flight across a condition: the registers of an accumulator in flight must not
// meet others in a phi. With few slots it is 0: a slot whose products are done
// is given back only when the next ones have started, so that one load less is
// under way all the time. Measured on an H200 with three slots, 8192^3 and
// 4096^3: 8 to 10 % slower than without, with one block per multiprocessor, up
// to 9 % with two. In a loop over tiles products stay in flight all the same:
// they hide the stores of the tile before (tile-defer-stores).
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"

#include "InstructionSelection.h"
#include "IntegerAnalysis.h"
#include "MatrixProducts.h"
#include "RotateProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESCHEDULEMMA
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Groups that one wait can leave in flight: the largest operand of
/// `wgmma.wait_group`.
static constexpr int64_t kMaxPendingGroups = 7;

/// With fewer slots, products do not stay in flight outside of loops over
/// tiles.
static constexpr int64_t kMinSlotsInFlight = 4;

bool mlir::tile::usesWgmma(GemmOp gemm) {
  return getWgmmaChoice(gemm.getChoiceAttr()).has_value();
}

GemmAsyncOp mlir::tile::startProduct(GemmOp gemm, Value accumulate) {
  OpBuilder builder(gemm);
  auto async = GemmAsyncOp::create(
      builder, gemm.getLoc(), gemm.getA(), gemm.getB(), gemm.getC(),
      gemm.getTransposeA(), gemm.getTransposeB(), gemm.getClearAccum(),
      gemm.getPolicy(), gemm.getPrecision(), gemm.getAUnsigned(),
      gemm.getBUnsigned(), gemm.getChoiceAttr(), accumulate);
  async->setDiscardableAttrs(gemm->getDiscardableAttrDictionary());
  gemm.erase();
  return async;
}

/// Fragments whose registers a product reads or writes.
static void addFragments(GemmAsyncOp gemm, llvm::SetVector<Value> &fragments) {
  fragments.insert(gemm.getC());
  if (gemm.getA().getType().isFragment())
    fragments.insert(gemm.getA());
}

static void wait(OpBuilder &builder, Location loc, ArrayRef<Value> fragments,
                 int64_t pending) {
  MmaWaitOp::create(builder, loc, fragments, pending);
}

FillOp mlir::tile::findZeroFill(Value accumulator, Operation *point) {
  Value root = getStorageRoot(accumulator);
  SmallVector<Operation *> users = getHandleUsers(root);
  for (Operation *op = point->getPrevNode(); op; op = op->getPrevNode()) {
    if (llvm::none_of(users,
                      [&](Operation *user) { return op->isAncestor(user); }))
      continue;
    auto fill = dyn_cast<FillOp>(op);
    if (!fill || fill.getDest() != root)
      return {};
    bool isZero = matchPattern(fill.getValue(), m_PosZeroFloat()) ||
                  matchPattern(fill.getValue(), m_Zero());
    return isZero ? fill : FillOp();
  }
  return {};
}

namespace {
/// Products of a ring loop that stay in flight until the next iteration.
class LoopSchedule {
public:
  LoopSchedule(scf::ForOp loop, IntegerAnalysis &integers)
      : loop(loop), integers(integers), builder(loop.getContext()),
        loc(loop.getLoc()) {}

  /// Changes nothing and gives false when the products cannot stay in flight.
  bool run();

private:
  bool collect();
  /// The fill with zero that starts `accumulator`, if the loop runs at least
  /// once.
  FillOp findFill(Value accumulator);
  bool runsAtLeastOnce();
  /// Whether the products of an iteration are left in flight.
  bool staysInFlight();
  Value isFirst(bool negated);
  void setBehindLoop();
  void releaseLater();

  scf::ForOp loop;
  IntegerAnalysis &integers;
  OpBuilder builder;
  Location loc;
  int64_t slots = 0;
  SmallVector<GemmOp> gemms;
  llvm::SetVector<Value> accumulators;
  /// Arrivals behind the first product: they give slots back.
  SmallVector<BarrierArriveOp> releases;
};
} // namespace

/// The other warp group need not wait for the last product to be complete.
void LoopSchedule::setBehindLoop() {
  Operation *last = loop;
  while (last->getNextNode() && last->getNextNode()->hasAttr(kHandOver))
    last = last->getNextNode();
  builder.setInsertionPointAfter(last);
}

bool LoopSchedule::collect() {
  auto pipeline = loop->getAttrOfType<PipelineAttr>(kPipelineName);
  if (!pipeline || pipeline.getRole() != PipelineRole::Ring ||
      pipeline.getSlots() < 2)
    return false;
  slots = pipeline.getSlots();
  WalkResult result = loop.getBody()->walk([&](GemmOp gemm) {
    if (!usesWgmma(gemm))
      return WalkResult::advance();
    // Registers of A in flight would have to outlive the iteration.
    if (gemm->getBlock() != loop.getBody() || gemm.getClearAccum() ||
        gemm->hasAttr(kUserProduct) || gemm.getA().getType().isFragment())
      return WalkResult::interrupt();
    gemms.push_back(gemm);
    accumulators.insert(gemm.getC());
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || gemms.empty() ||
      gemms.size() > kMaxPendingGroups)
    return false;
  // Nothing else in the loop may touch the accumulators.
  llvm::SmallDenseSet<Value> roots;
  for (Value accumulator : accumulators)
    if (!roots.insert(getStorageRoot(accumulator)).second)
      return false;
  for (Value root : roots)
    for (Operation *user : getHandleUsers(root))
      if (loop->isProperAncestor(user) && !llvm::is_contained(gemms, user))
        return false;
  // What the products read may only be overwritten by the producer, who waits
  // for the slot.
  SmallVector<BufferAccess> accesses;
  for (Operation &op : *loop.getBody())
    collectNestedAccesses(&op, accesses);
  for (GemmOp gemm : gemms)
    for (Value operand : {gemm.getA(), gemm.getB()})
      if (llvm::any_of(accesses, [&](const BufferAccess &access) {
            return access.isWrite && access.root == getStorageRoot(operand);
          }))
        return false;
  for (auto arrive : loop.getBody()->getOps<BarrierArriveOp>())
    if (gemms.front()->isBeforeInBlock(arrive))
      releases.push_back(arrive);
  return true;
}

bool LoopSchedule::runsAtLeastOnce() {
  return integers.getRange(loop.getLowerBound()).upper <
         integers.getRange(loop.getUpperBound()).lower;
}

bool LoopSchedule::staysInFlight() {
  return slots >= kMinSlotsInFlight || (getLoopAround(loop) && slots > 1);
}

FillOp LoopSchedule::findFill(Value accumulator) {
  return runsAtLeastOnce() ? findZeroFill(accumulator, loop) : FillOp();
}

/// Is this the first iteration (or not the first)?
Value LoopSchedule::isFirst(bool negated) {
  return arith::CmpIOp::create(builder, loc,
                               negated ? arith::CmpIPredicate::sgt
                                       : arith::CmpIPredicate::eq,
                               loop.getInductionVar(), loop.getLowerBound());
}

/// Each arrival gives back the slot of the iteration before; the last slot goes
/// back behind the loop.
void LoopSchedule::releaseLater() {
  if (releases.empty())
    return;
  // Positions advance once in an iteration: the slot before is a ring step
  // away, in this pass through the loop or the last one.
  Value notFirst = isFirst(/*negated=*/true);
  llvm::MapVector<Value, Value> previous;
  for (BarrierArriveOp release : releases)
    if (!previous.contains(release.getIndex()))
      previous[release.getIndex()] =
          getPreviousSlot(builder, loc, release.getIndex(), slots);
  auto branch = scf::IfOp::create(builder, loc, notFirst,
                                  /*withElseRegion=*/false);
  for (BarrierArriveOp release : releases) {
    OpBuilder inner = branch.getThenBodyBuilder();
    auto later = cast<BarrierArriveOp>(inner.clone(*release));
    later.getIndexMutable().assign(previous[release.getIndex()]);
  }

  // The position has moved one further than the last slot.
  setBehindLoop();
  if (!runsAtLeastOnce()) {
    Value ran =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                              loop.getUpperBound(), loop.getLowerBound());
    auto guarded =
        scf::IfOp::create(builder, loc, ran, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  llvm::MapVector<Value, Value> last;
  for (BarrierArriveOp release : releases) {
    Value slot = release.getIndex();
    if (!last.contains(slot)) {
      auto load = slot.getDefiningOp<LoadOp>();
      Value position =
          LoadOp::create(builder, loc, builder.getI32Type(), load.getSource(),
                         makeIndex(builder, loc, 0), TypedAttr(), BoundsAttr());
      last[slot] = getPreviousSlot(builder, loc, position, slots);
    }
    auto later = cast<BarrierArriveOp>(builder.clone(*release));
    later.getIndexMutable().assign(last[slot]);
    release.erase();
  }
}

bool LoopSchedule::run() {
  if (!collect())
    return false;
  // Slots come from the position of the ring.
  for (BarrierArriveOp release : releases)
    if (release.getScope() != ArrivalScope::Warp ||
        !release.getIndex().getDefiningOp<LoadOp>())
      return false;

  int64_t groups = gemms.size();
  llvm::SmallDenseSet<Value> started;
  GemmAsyncOp last;
  for (GemmOp gemm : gemms) {
    Value accumulate;
    Value accumulator = gemm.getC();
    if (started.insert(accumulator).second)
      if (FillOp fill = findFill(accumulator)) {
        // The first product starts the sum; until then there is none.
        builder.setInsertionPoint(fill);
        Value none = ub::PoisonOp::create(builder, fill.getLoc(),
                                          fill.getValue().getType());
        fill.getValueMutable().assign(none);
        builder.setInsertionPoint(gemm);
        accumulate = isFirst(/*negated=*/true);
      }
    last = startProduct(gemm, accumulate);
  }
  builder.setInsertionPointAfter(last);
  // What an iteration waits for here, without its registers, is still in flight
  // as far as these are concerned.
  bool inFlight = staysInFlight();
  wait(builder, last.getLoc(), {}, inFlight ? groups : 0);
  if (inFlight)
    releaseLater();
  setBehindLoop();
  wait(builder, last.getLoc(), accumulators.getArrayRef(), 0);
  return true;
}

/// In a loop that loads ahead, the loads for a later iteration start while the
/// products run. Their slot is none that this iteration reads; the iteration
/// that read it last has waited for its products.
static void issueBehind(GemmAsyncOp product) {
  auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
  auto getRole = [](Operation *op) -> std::optional<PipelineRole> {
    auto pipeline = op->getAttrOfType<PipelineAttr>(kPipelineName);
    return pipeline ? std::optional(pipeline.getRole()) : std::nullopt;
  };
  if (!loop || getRole(loop) != PipelineRole::Steady)
    return;
  SmallVector<Operation *> issued;
  for (Operation &op : *loop.getBody()) {
    if (&op == product)
      break;
    if (getRole(&op) == PipelineRole::Issue ||
        (isa<AsyncCommitOp>(op) && !issued.empty()))
      issued.push_back(&op);
  }
  Operation *position = product;
  for (Operation *op : issued) {
    op->moveAfter(position);
    position = op;
  }
}

/// Products that follow each other, with nothing but values and views between
/// them, start together and are waited for together.
static void scheduleInPlace(KernelOp kernel) {
  SmallVector<GemmOp> gemms;
  kernel.walk([&](GemmOp gemm) {
    if (!usesWgmma(gemm))
      return;
    // The program waits for it by itself.
    if (gemm->hasAttr(kUserProduct))
      startProduct(gemm)->removeAttr(kUserProduct);
    else
      gemms.push_back(gemm);
  });
  llvm::SetVector<Value> fragments;
  for (GemmOp gemm : gemms) {
    // A sum that starts from zero needs no zeros in registers.
    if (gemm.getC() == getStorageRoot(gemm.getC()))
      if (FillOp fill = findZeroFill(gemm.getC(), gemm)) {
        fill.erase();
        gemm.setClearAccum(true);
      }
    Operation *next = gemm->getNextNode();
    while (next && (isa<SubviewOp, ReshapeOp, BitcastOp>(next) || isPure(next)))
      next = next->getNextNode();
    GemmAsyncOp async = startProduct(gemm);
    addFragments(async, fragments);
    auto follower = dyn_cast_or_null<GemmOp>(next);
    bool together = follower && usesWgmma(follower);
    // Its A may be what this one computes.
    if (together && follower.getA().getType().isFragment())
      together = llvm::none_of(fragments, [&](Value fragment) {
        return getStorageRoot(fragment) == getStorageRoot(follower.getA());
      });
    // Two views of one accumulator have registers in common.
    if (together)
      together = llvm::none_of(fragments, [&](Value fragment) {
        return fragment != follower.getC() &&
               getStorageRoot(fragment) == getStorageRoot(follower.getC());
      });
    if (together)
      continue;
    OpBuilder builder(async->getContext());
    builder.setInsertionPointAfter(async);
    wait(builder, async.getLoc(), fragments.getArrayRef(), 0);
    issueBehind(async);
    fragments.clear();
  }
}

/// Adds to what the report says about `loop`.
static void addReason(scf::ForOp loop, const Twine &text) {
  constexpr StringLiteral name = "tile.loop_choice";
  if (auto choice = loop->getAttrOfType<ChoiceAttr>(name))
    loop->setAttr(name,
                  ChoiceAttr::get(loop.getContext(), choice.getPath(),
                                  (choice.getReason() + "; " + text).str(),
                                  choice.getArguments()));
}

static bool isProducer(Operation *op) {
  RoleAttr role = getRole(op);
  return role && role.getKind() == RoleKind::Producer;
}

/// Lets the products of loops in which one feeds another overlap.
static void rotateLoops(KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops) {
    IntegerAnalysis integers(kernel);
    Rotation rotation = rotateProducts(loop, integers);
    if (rotation.loop)
      addReason(rotation.loop,
                "the last product of a step runs beside the first one, and the "
                "computation, of the next" +
                    (rotation.reason.empty() ? "" : "; " + rotation.reason));
    else if (!rotation.reason.empty())
      addReason(loop, "products run one after the other: " + rotation.reason);
    else if (loop->hasAttr(kTakeTurns) && !isProducer(loop))
      addReason(loop, "ping_pong has no effect: it is for loops in which one "
                      "product feeds another from registers");
  }
}

static LogicalResult verify(GemmOp gemm) {
  ChoiceAttr choice = gemm.getChoiceAttr();
  if (!choice ||
      (choice.getPath() != Path::WgmmaSS && choice.getPath() != Path::WgmmaRS))
    return success();
  if (!usesWgmma(gemm))
    return gemm.emitError("gemm: the choice of wgmma does not name the "
                          "instruction [64, n, k] and the warp groups [along "
                          "M, along N]");
  BufferType type = gemm.getC().getType();
  if (!type.isFragment())
    return gemm.emitError("gemm: wgmma accumulates in a fragment, ")
           << getUserName(gemm.getC()) << " is in "
           << stringifyMemorySpace(type.getSpace())
           << " storage; run tile-assign-layouts first";
  return success();
}

namespace {
struct ScheduleMma : tile::impl::TileScheduleMmaBase<ScheduleMma> {
  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      WalkResult valid = kernel.walk([](GemmOp gemm) {
        return failed(verify(gemm)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
      });
      if (valid.wasInterrupted())
        return signalPassFailure();
      rotateLoops(kernel);
      IntegerAnalysis integers(kernel);
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        LoopSchedule(loop, integers).run();
      scheduleInPlace(kernel);
    }
  }
};
} // namespace
