//===- SkipUnitFactors.cpp - tile-skip-unit-factors -------------*- C++ -*-===//
//
// Marks loops whose multiplications a warp may skip when all of its factors are
// one. What a vote costs (a comparison per factor, the vote, a branch) is small
// against 32 multiplications, so that little is lost where it never succeeds.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/UnitFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace mlir::tile {
#define GEN_PASS_DEF_TILESKIPUNITFACTORS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Fewer multiplications are done at once.
static constexpr int64_t kFewestMultiplications = 32;
/// Multiplications that a comparison of a factor with one has to save.
static constexpr int64_t kFewestPerFactor = 8;
/// Buffers through which a factor is followed.
static constexpr int kLongestChain = 8;

static constexpr llvm::StringLiteral kMultiplications = "multiplications";

std::optional<int64_t> mlir::tile::getSkippedMultiplications(ParallelOp loop) {
  ChoiceAttr choice = loop.getChoiceAttr();
  if (!choice || !choice.getArguments())
    return std::nullopt;
  auto count = choice.getArguments().getAs<IntegerAttr>(kMultiplications);
  return count ? std::optional<int64_t>(count.getInt()) : std::nullopt;
}

/// Operations of `loop` that `value` is computed by.
static void collectSlice(ParallelOp loop, Value value,
                         llvm::SetVector<Operation *> &slice) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op) || !slice.insert(op))
    return;
  for (Value operand : op->getOperands())
    collectSlice(loop, operand, slice);
}

std::optional<SmallVector<Scaling>> mlir::tile::matchScalings(ParallelOp loop) {
  if (!loop.hasStaticExtents())
    return std::nullopt;
  SmallVector<Scaling> scalings;
  llvm::DenseSet<Operation *> scaled;
  for (Operation &op : *loop.getBodyBlock()) {
    if (op.getNumRegions())
      return std::nullopt;
    auto store = dyn_cast<StoreOp>(op);
    if (!store) {
      auto load = dyn_cast<LoadOp>(op);
      auto type = load ? dyn_cast<BufferType>(load.getSource().getType())
                       : BufferType();
      if (load ? !type || !type.isFragment() : !isPure(&op))
        return std::nullopt;
      continue;
    }
    auto type = dyn_cast<BufferType>(store.getDest().getType());
    auto product = store.getValue().getDefiningOp<arith::MulFOp>();
    if (!type || !type.isFragment() || !product ||
        product->getBlock() != loop.getBodyBlock())
      return std::nullopt;
    auto isElement = [&](Value value) {
      auto load = value.getDefiningOp<LoadOp>();
      return load && load->getBlock() == loop.getBodyBlock() &&
             load.getSource() == store.getDest() &&
             load.getIndices() == store.getIndices();
    };
    Value element = product.getLhs(), factor = product.getRhs();
    if (!isElement(element))
      std::swap(element, factor);
    if (!isElement(element))
      return std::nullopt;
    scalings.push_back({element.getDefiningOp<LoadOp>(), store, factor});
    // A second store could read what the first one wrote.
    if (!scaled.insert(getAllocation(store.getDest())).second)
      return std::nullopt;
  }
  if (scalings.empty())
    return std::nullopt;
  for (const Scaling &scaling : scalings) {
    llvm::SetVector<Operation *> slice;
    collectSlice(loop, scaling.factor, slice);
    for (Operation *op : slice)
      if (auto load = dyn_cast<LoadOp>(op))
        if (scaled.contains(getAllocation(load.getSource())))
          return std::nullopt;
  }
  return scalings;
}

/// Calls `visit` for the operations in `scope` that write the storage of
/// `buffer`.
static void visitWriters(Value buffer, Operation *scope,
                         function_ref<void(Operation *)> visit) {
  AllocOp alloc = getAllocation(buffer);
  for (Operation *user : getHandleUsers(alloc)) {
    if (!scope->isProperAncestor(user))
      continue;
    SmallVector<BufferAccess> accesses;
    collectAccesses(user, accesses);
    if (llvm::any_of(accesses, [&](const BufferAccess &access) {
          return access.isWrite && access.root == alloc.getResult();
        }))
      visit(user);
  }
}

/// Whether the program chooses one for `value` in some case.
static bool choosesOne(Value value, Operation *scope, int depth = 0) {
  if (depth > kLongestChain)
    return false;
  if (matchPattern(value, m_OneFloat()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return choosesOne(op->getOperand(0), scope, depth + 1);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return choosesOne(select.getTrueValue(), scope, depth + 1) ||
           choosesOne(select.getFalseValue(), scope, depth + 1);
  auto load = dyn_cast<LoadOp>(op);
  if (!load || !isa<BufferType>(load.getSource().getType()))
    return false;
  bool result = false;
  visitWriters(load.getSource(), scope, [&](Operation *writer) {
    if (auto store = dyn_cast<StoreOp>(writer)) {
      result |= choosesOne(store.getValue(), scope, depth + 1);
      return;
    }
    // Whole buffers: their elements have the forms of the source's.
    Value source;
    if (auto copy = dyn_cast<CopyOp>(writer))
      source = copy.getSource();
    else if (auto convert = dyn_cast<ConvertOp>(writer))
      source = convert.getSource();
    if (!source || !isa<BufferType>(source.getType()))
      return;
    visitWriters(source, scope, [&](Operation *first) {
      if (auto store = dyn_cast<StoreOp>(first))
        result |= choosesOne(store.getValue(), scope, depth + 1);
    });
  });
  return result;
}

namespace {
/// What a vote would look at.
struct Factors {
  /// Coordinates of the loop that they depend on.
  llvm::SmallDenseSet<unsigned> dims;
  bool changes = false;
  bool oneIsChosen = true;
};
} // namespace

static Factors describe(ParallelOp loop, ArrayRef<Scaling> scalings,
                        Operation *outer) {
  Factors factors;
  for (const Scaling &scaling : scalings) {
    llvm::SetVector<Operation *> slice;
    collectSlice(loop, scaling.factor, slice);
    auto visit = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && argument.getOwner() == loop.getBodyBlock())
        factors.dims.insert(argument.getArgNumber());
      else if (!loop->isAncestor(value.getParentRegion()->getParentOp()) &&
               !isa<BufferType>(value.getType()) &&
               outer->isAncestor(value.getParentRegion()->getParentOp()))
        factors.changes = true;
    };
    visit(scaling.factor);
    for (Operation *op : slice) {
      for (Value operand : op->getOperands())
        visit(operand);
      if (auto load = dyn_cast<LoadOp>(op))
        visitWriters(load.getSource(), outer,
                     [&](Operation *) { factors.changes = true; });
    }
    factors.oneIsChosen &= choosesOne(scaling.factor, outer);
  }
  return factors;
}

static void markLoop(ParallelOp loop) {
  Operation *outer = getLoopAround(loop);
  std::optional<SmallVector<Scaling>> scalings = matchScalings(loop);
  ChoiceAttr choice = loop.getChoiceAttr();
  if (!outer || !scalings || !loop.getLayoutAttr() ||
      (choice && choice.getPath() != Path::Simt))
    return;
  // Votes are taken by whole warps.
  const ::tilemlir::layout::FragmentLayout &layout =
      loop.getLayout()->getLayout();
  if (layout.numThreads() % 32 != 0)
    return;
  Factors factors = describe(loop, *scalings, outer);
  if (!factors.changes || !factors.oneIsChosen)
    return;
  std::set<std::vector<int64_t>> places;
  int64_t registers = 0;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    if (layout.occupancy(r) == ::tilemlir::layout::Occupancy::Never)
      continue;
    std::vector<int64_t> place = layout.registerOffset(r);
    for (size_t dim = 0; dim < place.size(); ++dim)
      if (!factors.dims.contains(static_cast<unsigned>(dim)))
        place[dim] = 0;
    places.insert(std::move(place));
    ++registers;
  }
  int64_t count = static_cast<int64_t>(scalings->size());
  int64_t multiplications = registers * count;
  int64_t different = static_cast<int64_t>(places.size()) * count;
  if (multiplications < kFewestMultiplications ||
      multiplications < kFewestPerFactor * different)
    return;
  Builder b(loop.getContext());
  std::string reason =
      (Twine(multiplications) + " multiplications of a thread by " +
       Twine(different) + (different == 1 ? " factor" : " factors") +
       " are skipped where all factors of a warp are 1")
          .str();
  loop.setChoiceAttr(ChoiceAttr::get(
      loop.getContext(), Path::Simt, b.getStringAttr(reason),
      b.getDictionaryAttr(
          {b.getNamedAttr("factors", b.getI64IntegerAttr(different)),
           b.getNamedAttr(kMultiplications,
                          b.getI64IntegerAttr(multiplications))})));
}

namespace {
struct SkipUnitFactors : tile::impl::TileSkipUnitFactorsBase<SkipUnitFactors> {
  void runOnOperation() override {
    getOperation()->walk([](ParallelOp loop) { markLoop(loop); });
  }
};
} // namespace
