//===- RotateProducts.cpp - two products of a loop overlap ------*- C++ -*-===//
//
// A loop body of the form
//
//   S = A * B[n];  P = f(S);  C += P * D[n]
//
// keeps the tensor cores idle during f, and the threads idle during the
// products. Rotated, the second product of an iteration starts behind the first
// one of the next:
//
//   S = A * B[0];  wait;  P = f(S)
//   for n = 1 ..:
//     start S = A * B[n];  what f does to C;  start C += P * D[n - 1]
//     wait for S;  compute what of f touches neither P nor C
//     wait for C;  the rest of f
//   what f does to C;  C += P * D[last];  wait
//
// What f does to C (a rescaling) has time until P * D[n - 1] starts: it runs
// while the tensor cores work on S. Between two steps, where they have no work
// of this warp group, is only what S and P keep waiting.
//
// P is in flight while f computes the next one, so that f ends with the copy
// into the registers that the product reads. No product is in flight where an
// iteration ends.
//
// The slot of D goes back one iteration later, when its product is complete.
// The producer loads in the order of use: B[n], then D[n - 1]. In the order of
// the program, D[n] would keep B[n + 1] waiting, whose slot is free much
// earlier.
//
//===----------------------------------------------------------------------===//
#include "RotateProducts.h"

#include "InstructionSelection.h"
#include "MatrixProducts.h"

#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Dialect/Tile/Transforms/RingExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/UnitFactors.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

/// Registers of a loop beside its fragments: addresses, row statistics,
/// predicates.
static constexpr int64_t kRegistersOfLoop = 32;

static constexpr int64_t kWarpGroupThreads = 128;

/// Of a producer's ring loop in which some loads are those of the step before.
static constexpr StringLiteral kDelayedLoads = "tile.delayed_loads";

/// The named barrier of the turn of the first warp group: behind those that
/// roles meet at.
static constexpr int64_t kFirstTurn = 8;

namespace {
class ProductRotator {
public:
  ProductRotator(scf::ForOp loop, IntegerAnalysis &integers)
      : loop(loop), integers(integers), builder(loop.getContext()),
        loc(loop.getLoc()) {}

  Rotation run();

private:
  using Accesses = SmallVector<BufferAccess>;

  /// Whether the loop has the products; `reason` is set where it has them and
  /// cannot be rotated all the same.
  bool findProducts();
  bool splitBody();
  bool checkOperands();
  bool checkRegisters();
  /// Sets `turns` if the warp groups are to take turns, and can.
  void planTurns();
  void separateOperand();
  void classify();
  void delayAccumulator();
  bool isMovable(Operation *op);
  bool conflict(const Accesses &lhs, const Accesses &rhs);

  void clone(ArrayRef<Operation *> ops, IRMapping &mapping,
             bool takesTurn = false);
  void emitStep(Value iteration, bool hasPrevious);
  scf::ForOp findProducer();
  void delayLoads(scf::ForOp producer, bool runs);
  void startSecond(Value slot, Value iteration);
  void finishSecond(Value slot);
  void wait(ArrayRef<Value> fragments, int64_t pending) {
    MmaWaitOp::create(builder, loc, fragments, pending);
  }
  bool refuse(const Twine &why) {
    reason = why.str();
    return false;
  }

  scf::ForOp loop;
  IntegerAnalysis &integers;
  OpBuilder builder;
  Location loc;
  std::string reason;

  RingLoop ring;
  /// Products that start the iteration, and the one at its end.
  SmallVector<GemmOp> firsts;
  GemmOp second;
  /// The body: up to the last of the first products, between that and the
  /// second one (split in two by classify), and behind it.
  SmallVector<Operation *> before, early, late, behind;
  /// What of the late part has time until the second product starts.
  SmallVector<Operation *> delayed;
  /// Arrivals behind the second product, which give back what it reads.
  SmallVector<BarrierArriveOp> releases;
  /// Values that the shared operand of the second product is made of.
  SmallVector<Operation *> operandSlice;
  /// Registers of a thread that the products leave over.
  int64_t spareRegisters = 0;
  /// Warp groups that take turns; 0 when they do not.
  int64_t turns = 0;
  /// Fragments whose values stay behind the wait for the second product, so
  /// that its operand is computed from them only there.
  llvm::SetVector<Value> pinned;
};
} // namespace

/// Neither reads nor writes anything but values and views.
static bool isValue(Operation *op) {
  return isa<SubviewOp, ReshapeOp, BitcastOp>(op) || isPure(op);
}

bool ProductRotator::findProducts() {
  FailureOr<RingLoop> found = getRingLoop(loop);
  if (failed(found))
    return false;
  ring = *found;
  SmallVector<GemmOp> gemms;
  bool isNested = false;
  loop.getBody()->walk([&](GemmOp gemm) {
    if (!usesWgmma(gemm))
      return;
    gemms.push_back(gemm);
    isNested |=
        gemm->getBlock() != loop.getBody() || gemm->hasAttr(kUserProduct);
  });
  // One product computes from registers, and not what it starts with.
  if (gemms.size() < 2 || isNested)
    return false;
  second = gemms.pop_back_val();
  firsts = gemms;
  if (!second.getA().getType().isFragment() || second.getClearAccum())
    return false;
  return llvm::any_of(*loop.getBody(), [&](Operation &op) {
    // P is computed between the products.
    if (!firsts.back()->isBeforeInBlock(&op) || !op.isBeforeInBlock(second))
      return false;
    Accesses accesses;
    collectNestedAccesses(&op, accesses);
    return llvm::any_of(accesses, [&](const BufferAccess &access) {
      return access.isWrite && access.root == getStorageRoot(second.getA());
    });
  });
}

bool ProductRotator::splitBody() {
  if (ring.slots < 2)
    return refuse("with one slot, the second product would keep the first one "
                  "of the next step waiting");
  if (loop.getNumRegionIterArgs() || !matchPattern(loop.getStep(), m_One()))
    return refuse("the loop carries values, or does not count by one");
  bool seenFirst = false, seenSecond = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool orders = op.walk([](Operation *inner) {
                      return isa<SyncThreadsOp, PrintOp, AssertOp>(inner)
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    }).wasInterrupted();
    if (orders)
      return refuse(describeForUser(&op) + " keeps its place");
    if (&op == second) {
      seenSecond = true;
      continue;
    }
    if (seenSecond) {
      if (auto arrive = dyn_cast<BarrierArriveOp>(op)) {
        if (arrive.getIndex() != ring.slot ||
            arrive.getScope() != ArrivalScope::Warp)
          return refuse("the loop arrives at other barriers than those of its "
                        "slots");
        releases.push_back(arrive);
        continue;
      }
      // What is left is the step to the next slot, and other variables.
      bool isVariable = isValue(&op);
      if (auto load = dyn_cast<LoadOp>(op))
        isVariable = getAllocation(load.getSource()) &&
                     getAllocation(load.getSource()).getType().isLocal();
      if (auto store = dyn_cast<StoreOp>(op))
        isVariable = getAllocation(store.getDest()) &&
                     getAllocation(store.getDest()).getType().isLocal();
      if (!isVariable)
        return refuse(describeForUser(&op) + " comes behind the products");
      behind.push_back(&op);
      continue;
    }
    if (seenFirst) {
      early.push_back(&op);
      continue;
    }
    if (&op == firsts.front() && firsts.size() > 1)
      for (Operation *between = op.getNextNode(); between != firsts.back();
           between = between->getNextNode())
        if (!isValue(between) && !isa<GemmOp, BarrierWaitOp, LoadOp>(between))
          return refuse(describeForUser(between) +
                        " stands between the first products");
    before.push_back(&op);
    seenFirst = &op == firsts.back();
  }
  return true;
}

bool ProductRotator::checkOperands() {
  // Registers of products that run at the same time.
  llvm::SmallDenseSet<Value> own = {getStorageRoot(second.getC()),
                                    getStorageRoot(second.getA())};
  Accesses accesses;
  for (Operation *op : before)
    collectNestedAccesses(op, accesses);
  for (const BufferAccess &access : accesses)
    if (own.contains(access.root))
      return refuse("'" + getUserName(access.root) +
                    "' is used in front of the first product");
  if (own.size() < 2)
    return refuse("the second product computes its own operand");

  // Shared memory that it reads is written by the producer only.
  accesses.clear();
  for (Operation &op : *loop.getBody())
    collectNestedAccesses(&op, accesses);
  for (const BufferAccess &access : accesses)
    if (access.isWrite && access.root == getStorageRoot(second.getB()))
      return refuse("the loop writes '" + getUserName(access.root) +
                    "', which the second product reads");

  // It can be told from the slot and the iteration.
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> worklist = {second.getB()};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (value == ring.slot || !def || !loop->isProperAncestor(def) ||
        !slice.insert(def))
      continue;
    if (!isValue(def) || def->getBlock() != loop.getBody())
      return refuse("the place of '" + getUserName(second.getB()) +
                    "' is computed by " + describeForUser(def));
    llvm::append_range(worklist, def->getOperands());
  }
  operandSlice = slice.takeVector();
  llvm::sort(operandSlice, [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  });
  return true;
}

bool ProductRotator::checkRegisters() {
  auto role = dyn_cast_or_null<RoleAttr>(getRole(loop));
  if (!role)
    return refuse("the loop belongs to no consumer role");
  auto kernel = loop->getParentOfType<KernelOp>();
  int64_t threads = role.getThreads();
  int64_t held = std::max<int64_t>(
      countRegistersAtLaunch(kernel, kernel.getLaunchThreads()),
      role.getRegisters());
  llvm::SmallDenseSet<Value> fragments;
  int64_t needed = kRegistersOfLoop;
  auto add = [&](Value fragment) {
    Value root = getStorageRoot(fragment);
    auto type = cast<BufferType>(root.getType());
    if (!type.isFragment() || !fragments.insert(root).second)
      return;
    // Threads may hold the same elements; without a layout none do.
    FragmentLayoutAttr layout = type.getFragmentLayout();
    int64_t elements =
        layout ? layout.getNumRegisters() : type.getNumElements() / threads;
    needed += elements * type.getElementBits() / 32;
  };
  for (GemmOp gemm : firsts) {
    add(gemm.getA());
    add(gemm.getC());
  }
  add(second.getA());
  add(second.getC());
  if (needed > held)
    return refuse("the products need about " + Twine(needed) +
                  " registers of a thread at the same time, and it has " +
                  Twine(held));
  spareRegisters = held - needed;
  return true;
}

bool ProductRotator::conflict(const Accesses &lhs, const Accesses &rhs) {
  for (const BufferAccess &a : lhs)
    for (const BufferAccess &b : rhs)
      if (a.root == b.root && (a.isWrite || b.isWrite) &&
          mayOverlap(a.region, b.region))
        return true;
  return false;
}

/// Gives the second product registers of its own, and the threads those of the
/// program, unless all that the threads do to them is one copy at the end.
void ProductRotator::separateOperand() {
  Value root = getStorageRoot(second.getA());
  SmallVector<Operation *> users;
  for (Operation *user : getHandleUsers(root))
    if (loop->isProperAncestor(user) && user != second)
      users.push_back(user);
  if (users.size() == 1)
    if (auto copy = dyn_cast<CopyOp>(users.front());
        copy && copy.getDest() == root && copy->getBlock() == loop.getBody() &&
        isa<BufferType>(copy.getSource().getType())) {
      Value source = getStorageRoot(copy.getSource());
      Accesses writes;
      collectAccesses(copy, writes);
      bool isWhole = llvm::any_of(writes, [&](const BufferAccess &access) {
        return access.isWrite && access.isExact &&
               contains(access.region, getWholeRegion(root.getType()));
      });
      if (isWhole && cast<BufferType>(source.getType()).isFragment()) {
        pinned.insert(source);
        return;
      }
    }

  auto alloc = root.getDefiningOp<AllocOp>();
  OpBuilder atAlloc(alloc->getContext());
  atAlloc.setInsertionPointAfter(alloc);
  auto operand = cast<AllocOp>(atAlloc.clone(*alloc));
  operand.setNameAttr(atAlloc.getStringAttr(getUserName(root) + "_operand"));
  OpBuilder atProduct(second);
  auto choice = ChoiceAttr::get(loop.getContext(), Path::Registers,
                                "the product before still reads the registers "
                                "of its operand",
                                DictionaryAttr());
  auto copy = ConvertOp::create(atProduct, loc, root, operand.getResult(),
                                Value(), choice);
  IRMapping views;
  views.map(root, operand.getResult());
  SmallVector<Operation *> chain;
  for (Value view = second.getA(); view != root;
       view = view.getDefiningOp()->getOperand(0))
    chain.push_back(view.getDefiningOp());
  for (Operation *view : llvm::reverse(chain))
    atProduct.clone(*view, views);
  second.getAMutable().assign(views.lookup(second.getA()));
  early.push_back(copy);
  for (Operation *op = copy->getNextNode(); op != second;
       op = op->getNextNode())
    early.push_back(op);
  pinned.insert(root);
}

/// Takes out of `early` what has to wait for the second product, and what
/// depends on that.
void ProductRotator::classify() {
  Accesses held;
  for (Value fragment : {second.getA(), second.getC()}) {
    BufferAccess access;
    access.root = getStorageRoot(fragment);
    access.isWrite = true;
    access.region = getWholeRegion(access.root.getType());
    held.push_back(access);
  }
  llvm::SmallDenseSet<Operation *> waiting;
  SmallVector<Operation *> now;
  for (Operation *op : early) {
    Accesses accesses;
    collectNestedAccesses(op, accesses);
    bool waits = conflict(held, accesses);
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (Operation *top = loop.getBody()->findAncestorOpInBlock(*def))
            waits |= waiting.contains(top);
    });
    if (!waits) {
      now.push_back(op);
      continue;
    }
    waiting.insert(op);
    late.push_back(op);
    llvm::append_range(held, accesses);
  }
  early = std::move(now);
}

/// Whether `op` computes elements of buffers from others and from values that
/// are known where the second product starts: of the slot, of the iteration,
/// and of what stands in front of the loop.
bool ProductRotator::isMovable(Operation *op) {
  if (!isa<ParallelOp>(op))
    return false;
  auto isKnown = [&](Value value) {
    Operation *owner = value.getParentRegion()->getParentOp();
    return value == ring.slot || value == loop.getInductionVar() ||
           op->isAncestor(owner) || !loop->isAncestor(owner);
  };
  return !op->walk([&](Operation *inner) {
              bool isOther = !inner->getNumRegions() &&
                             !isa<LoadOp, StoreOp>(inner) &&
                             !isMemoryEffectFree(inner);
              return isOther || !llvm::all_of(inner->getOperands(), isKnown)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
}

/// Takes out of `late` what computes the accumulator, if nothing that runs
/// until the next product needs it, or changes what it is computed from.
void ProductRotator::delayAccumulator() {
  Value accumulator = getStorageRoot(second.getC());
  Value operand = getStorageRoot(second.getA());
  Accesses following;
  for (ArrayRef<Operation *> ops : {ArrayRef(before), ArrayRef(behind)})
    for (Operation *op : ops)
      collectNestedAccesses(op, following);
  // Those of the next iteration have other places under the same index.
  for (BufferAccess &access : following)
    access.region = getWholeRegion(access.root.getType());
  SmallVector<Operation *> stays;
  for (Operation *op : llvm::reverse(late)) {
    Accesses accesses;
    collectNestedAccesses(op, accesses);
    // Without a branch around it, ptxas mixes it with the start of the
    // products, and spills where they leave no register over.
    bool isDelayed = isMovable(op) && !conflict(following, accesses) &&
                     (spareRegisters > 0 ||
                      getSkippedMultiplications(cast<ParallelOp>(op))) &&
                     llvm::all_of(accesses, [&](const BufferAccess &access) {
                       // Slots of shared memory may be given back by then.
                       auto type = dyn_cast<BufferType>(access.root.getType());
                       return type && type.isFragment() &&
                              access.root != operand &&
                              (!access.isWrite || access.root == accumulator);
                     });
    if (isDelayed) {
      delayed.push_back(op);
      continue;
    }
    stays.push_back(op);
    llvm::append_range(following, accesses);
  }
  late.assign(stays.rbegin(), stays.rend());
  std::reverse(delayed.begin(), delayed.end());
}

void ProductRotator::planTurns() {
  if (!loop->hasAttr(kTakeTurns))
    return;
  loop->removeAttr(kTakeTurns);
  int64_t groups = getRole(loop).getThreads() / kWarpGroupThreads;
  if (groups < 2) {
    reason = "one warp group takes no turns";
    return;
  }
  // A group that has the turn must not wait for a slot.
  for (Operation *op = firsts.front(); op != firsts.back();
       op = op->getNextNode())
    if (isa<BarrierWaitOp>(op)) {
      reason = "the warp groups take no turns, because they wait for operands "
               "between their products";
      return;
    }
  turns = groups;
  reason = "the warp groups take turns at starting products";
}

void ProductRotator::clone(ArrayRef<Operation *> ops, IRMapping &mapping,
                           bool takesTurn) {
  for (Operation *op : ops) {
    if (takesTurn && op == firsts.front())
      TakeTurnOp::create(builder, loc, kFirstTurn, turns, /*ends=*/false);
    Operation *copy = builder.clone(*op, mapping);
    if (auto gemm = dyn_cast<GemmOp>(copy); gemm && usesWgmma(gemm))
      startProduct(gemm);
  }
}

void ProductRotator::startSecond(Value slot, Value iteration) {
  IRMapping mapping;
  mapping.map(ring.slot, slot);
  mapping.map(loop.getInductionVar(), iteration);
  clone(delayed, mapping);
  for (Operation *op : operandSlice)
    builder.clone(*op, mapping);
  startProduct(cast<GemmOp>(builder.clone(*second, mapping)));
}

void ProductRotator::finishSecond(Value slot) {
  SmallVector<Value> fragments = {second.getC(), second.getA()};
  llvm::append_range(fragments, pinned);
  wait(fragments, 0);
  IRMapping mapping;
  mapping.map(ring.slot, slot);
  for (BarrierArriveOp release : releases)
    builder.clone(*release, mapping);
}

/// One iteration, with the second product of the one before if there is one.
void ProductRotator::emitStep(Value iteration, bool hasPrevious) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), iteration);
  clone(before, mapping, hasPrevious && turns);
  Value previous;
  if (hasPrevious) {
    previous =
        getPreviousSlot(builder, loc, mapping.lookup(ring.slot), ring.slots);
    Value one = makeIndex(builder, loc, 1);
    startSecond(previous, arith::SubIOp::create(builder, loc, iteration, one));
    if (turns)
      PassTurnOp::create(builder, loc, kFirstTurn, turns, /*begins=*/false);
  }
  llvm::SetVector<Value> results;
  for (GemmOp first : firsts) {
    results.insert(first.getC());
    if (first.getA().getType().isFragment())
      results.insert(first.getA());
  }
  wait(results.getArrayRef(), hasPrevious);
  clone(early, mapping);
  if (hasPrevious)
    finishSecond(previous);
  clone(late, mapping);
  clone(behind, mapping);
}

/// The loop of the producer that fills the ring; null if there is none, or if
/// several threads load.
scf::ForOp ProductRotator::findProducer() {
  auto roles = loop->getParentOfType<WarpSpecializeOp>();
  scf::ForOp found;
  for (unsigned index = 0; index < roles.getRoles().size(); ++index) {
    RoleAttr role = roles.getRole(index);
    if (role.getKind() != RoleKind::Producer || !role.getSingle())
      continue;
    roles.getRegions()[index].walk([&](scf::ForOp candidate) {
      FailureOr<RingLoop> other = getRingLoop(candidate);
      if (succeeded(other) && other->ring == ring.ring)
        found = candidate;
    });
  }
  return found;
}

/// Lets the producer load what the second product reads one step later.
void ProductRotator::delayLoads(scf::ForOp producer, bool runs) {
  // Another role of consumers may have asked for it before.
  if (producer.getNumRegionIterArgs() || producer->hasAttr(kDelayedLoads))
    return;
  // The barriers of the slots that the second product gives back, and of the
  // copies that fill them.
  llvm::SmallDenseSet<Value> barriers;
  for (BarrierArriveOp release : releases)
    barriers.insert(release.getBarriers());
  Value buffer = getStorageRoot(second.getB());
  producer.getBody()->walk([&](CopyAsyncOp copy) {
    if (copy.getBarrier() && getStorageRoot(copy.getDest()) == buffer)
      barriers.insert(copy.getBarrier());
  });
  // Not those that the first products wait for too.
  for (Operation *op : before)
    if (auto wait = dyn_cast<BarrierWaitOp>(op))
      if (barriers.contains(wait.getBarriers()))
        return;
  llvm::SmallDenseSet<Operation *> delayed;
  for (Operation &op : producer.getBody()->without_terminator()) {
    bool isLoad = false, isOther = false;
    op.walk([&](Operation *inner) {
      Value barrier;
      if (auto wait = dyn_cast<BarrierWaitOp>(inner))
        barrier = wait.getBarriers();
      else if (auto arrive = dyn_cast<BarrierArriveOp>(inner))
        barrier = arrive.getBarriers();
      else if (auto expect = dyn_cast<BarrierExpectTxOp>(inner))
        barrier = expect.getBarriers();
      else if (auto copy = dyn_cast<CopyAsyncOp>(inner))
        barrier = copy.getBarrier();
      else
        return;
      (barrier && barriers.contains(barrier) ? isLoad : isOther) = true;
    });
    if (isLoad && isOther)
      return;
    if (isLoad)
      delayed.insert(&op);
  }
  if (delayed.empty())
    return;

  // Values that they need: of the iteration, and of the position in the ring.
  llvm::SetVector<Operation *> slice;
  SmallVector<Operation *> worklist(delayed.begin(), delayed.end());
  SmallVector<LoadOp> slots, phases;
  while (!worklist.empty()) {
    SmallVector<Operation *> defs;
    worklist.pop_back_val()->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (Operation *top = producer.getBody()->findAncestorOpInBlock(*def))
            defs.push_back(top);
    });
    for (Operation *def : defs) {
      if (delayed.contains(def) || !slice.insert(def))
        continue;
      if (auto load = dyn_cast<LoadOp>(def)) {
        APInt index;
        if (getAllocation(load.getSource()) == ring.ring &&
            matchPattern(load.getIndices().front(), m_ConstantInt(&index))) {
          (index.isZero() ? slots : phases).push_back(load);
          continue;
        }
        if (!isa<MemRefType>(load.getSource().getType()))
          return;
      } else if (!isValue(def)) {
        return;
      }
      worklist.push_back(def);
    }
  }
  // What moves the position, and what comes before.
  SmallVector<Operation *> loads, position;
  for (Operation &op : producer.getBody()->without_terminator()) {
    if (delayed.contains(&op))
      continue;
    auto store = dyn_cast<StoreOp>(op);
    bool moves = store && getAllocation(store.getDest()) == ring.ring;
    (moves || !position.empty() ? position : loads).push_back(&op);
  }
  for (Operation *op : position)
    if (!isValue(op) && !isa<LoadOp, StoreOp>(op))
      return;

  auto load = [&](int64_t index) -> Value {
    return LoadOp::create(builder, loc, builder.getI32Type(),
                          ring.ring.getResult(), makeIndex(builder, loc, index),
                          TypedAttr(), BoundsAttr());
  };
  auto emitLoads = [&](ArrayRef<Operation *> ops, Value iteration,
                       IRMapping &mapping) {
    mapping.map(producer.getInductionVar(), iteration);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
  };
  auto emitDelayed = [&](Value iteration) {
    Value slot = load(0), phase = load(1);
    Value wrapped =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, slot,
                              makeIndex(builder, loc, 0));
    Value flips =
        arith::ExtUIOp::create(builder, loc, builder.getI32Type(), wrapped);
    slot = getPreviousSlot(builder, loc, slot, ring.slots);
    phase = arith::XOrIOp::create(builder, loc, phase, flips);
    IRMapping mapping;
    mapping.map(producer.getInductionVar(), iteration);
    for (LoadOp op : slots)
      mapping.map(op.getResult(), slot);
    for (LoadOp op : phases)
      mapping.map(op.getResult(), phase);
    for (Operation &op : producer.getBody()->without_terminator()) {
      bool isPosition =
          llvm::is_contained(slots, &op) || llvm::is_contained(phases, &op);
      if (delayed.contains(&op) || (slice.contains(&op) && !isPosition))
        builder.clone(op, mapping);
    }
  };

  builder.setInsertionPoint(producer);
  Value one = makeIndex(builder, loc, 1);
  Value lower = producer.getLowerBound(), upper = producer.getUpperBound();
  if (!runs) {
    Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                      upper, lower);
    auto guarded = scf::IfOp::create(builder, loc, any,
                                     /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  {
    IRMapping mapping;
    emitLoads(loads, lower, mapping);
    emitLoads(position, lower, mapping);
  }
  Value next = arith::AddIOp::create(builder, loc, lower, one);
  auto rotated =
      scf::ForOp::create(builder, loc, next, upper, producer.getStep());
  rotated->setAttrs(producer->getAttrs());
  rotated->setAttr(kDelayedLoads, builder.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(rotated.getBody()->getTerminator());
    Value iteration = rotated.getInductionVar();
    IRMapping mapping;
    emitLoads(loads, iteration, mapping);
    emitDelayed(arith::SubIOp::create(builder, loc, iteration, one));
    emitLoads(position, iteration, mapping);
  }
  emitDelayed(arith::SubIOp::create(builder, loc, upper, one));
  producer.erase();
}

Rotation ProductRotator::run() {
  if (!findProducts())
    return {};
  if (!splitBody() || !checkOperands() || !checkRegisters())
    return {scf::ForOp(), reason};
  for (GemmOp first : firsts)
    if (first == firsts.front() && first.getC() == getStorageRoot(first.getC()))
      if (FillOp fill = findZeroFill(first.getC(), first);
          fill && fill->getBlock() == loop.getBody()) {
        llvm::erase(before, fill);
        fill.erase();
        first.setClearAccum(true);
      }
  separateOperand();
  classify();
  delayAccumulator();
  planTurns();

  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  bool runs = integers.getRange(lower).upper < integers.getRange(upper).lower;
  if (scf::ForOp producer = findProducer())
    delayLoads(producer, runs);

  builder.setInsertionPoint(loop);
  Value one = makeIndex(builder, loc, 1);
  if (!runs) {
    Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                      upper, lower);
    auto guarded = scf::IfOp::create(builder, loc, any,
                                     /*withElseRegion=*/false);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  emitStep(lower, /*hasPrevious=*/false);
  Value next = arith::AddIOp::create(builder, loc, lower, one);
  if (turns)
    PassTurnOp::create(builder, loc, kFirstTurn, turns, /*begins=*/true);
  auto rotated = scf::ForOp::create(builder, loc, next, upper, loop.getStep());
  rotated->setAttrs(loop->getAttrs());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(rotated.getBody()->getTerminator());
    emitStep(rotated.getInductionVar(), /*hasPrevious=*/true);
  }
  if (turns)
    TakeTurnOp::create(builder, loc, kFirstTurn, turns, /*ends=*/true);
  // Behind the loop the position has moved one further than the last slot.
  Value position =
      LoadOp::create(builder, loc, builder.getI32Type(), ring.ring.getResult(),
                     makeIndex(builder, loc, 0), TypedAttr(), BoundsAttr());
  Value last = getPreviousSlot(builder, loc, position, ring.slots);
  startSecond(last, arith::SubIOp::create(builder, loc, upper, one));
  pinned.clear();
  finishSecond(last);
  loop.erase();
  return {rotated, reason};
}

Rotation mlir::tile::rotateProducts(scf::ForOp loop,
                                    IntegerAnalysis &integers) {
  return ProductRotator(loop, integers).run();
}
