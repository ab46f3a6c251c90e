//===- RaiseLoops.cpp - tile-raise-loops ------------------------*- C++ -*-===//
//
// Element loops that copy or fill a rectangular region become one tile
// operation.
//
//===----------------------------------------------------------------------===//
#include "LinearForm.h"
#include "Uniformity.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILERAISELOOPS
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
/// A rectangular region walked by a loop: per dimension of the storage the
/// loop dimension (-1: none) and where the region starts.
struct LoopRegion {
  SmallVector<int> loopDims;
  SmallVector<LinearForm> starts;
  SmallVector<int64_t> sizes;
};
} // namespace

/// The region of `indices`, or nullopt if the access is not rectangular.
static std::optional<LoopRegion> getRegion(ParallelOp loop, Value storage,
                                           OperandRange indices,
                                           const Uniformity &uniformity) {
  LoopRegion region;
  SmallVector<bool> used(loop.getStaticExtents().size(), false);
  for (Value index : indices) {
    LinearForm form = getLinearForm(index);
    int loopDim = -1;
    for (auto [dim, argument] :
         llvm::enumerate(loop.getBody().getArguments())) {
      int64_t coefficient = form.getCoefficient(argument);
      if (coefficient == 0)
        continue;
      if (coefficient != 1 || loopDim != -1 || used[dim])
        return std::nullopt;
      loopDim = static_cast<int>(dim);
      used[dim] = true;
      form = form.without(argument);
    }
    for (auto [term, coefficient] : form.terms) {
      // The start has to be the same for all iterations and threads.
      if (loop.getBody().isAncestor(term.getParentRegion()) ||
          !uniformity.isUniform(term))
        return std::nullopt;
    }
    region.loopDims.push_back(loopDim);
    region.starts.push_back(form);
    region.sizes.push_back(loopDim < 0 ? 1 : loop.getStaticExtents()[loopDim]);
  }
  for (auto [dim, extent] : llvm::enumerate(loop.getStaticExtents()))
    if (extent != 1 && !used[dim])
      return std::nullopt;
  // A region that may leave its buffer is left as it is: only tensors clip.
  if (auto buffer = dyn_cast<BufferType>(storage.getType()))
    for (auto [dim, extent] : llvm::enumerate(buffer.getShape())) {
      const LinearForm &start = region.starts[dim];
      if (start.isConstant() &&
          (start.constant < 0 || start.constant + region.sizes[dim] > extent))
        return std::nullopt;
    }
  return region;
}

/// Both regions walk the loop dimensions of more than one iteration in the same
/// order.
static bool haveSameOrder(ParallelOp loop, const LoopRegion &a,
                          const LoopRegion &b) {
  auto order = [&](const LoopRegion &region) {
    SmallVector<int> dims;
    for (int dim : region.loopDims)
      if (dim >= 0 && loop.getStaticExtents()[dim] != 1)
        dims.push_back(dim);
    return dims;
  };
  return order(a) == order(b);
}

static Value materialize(ImplicitLocOpBuilder &b, const LinearForm &form) {
  Value sum;
  for (auto [term, coefficient] : form.terms) {
    Value value = term;
    if (value.getType().isIndex())
      value = arith::IndexCastOp::create(b, b.getI32Type(), value);
    else if (value.getType().getIntOrFloatBitWidth() < 32)
      value = arith::ExtSIOp::create(b, b.getI32Type(), value);
    else if (value.getType().getIntOrFloatBitWidth() > 32)
      value = arith::TruncIOp::create(b, b.getI32Type(), value);
    if (coefficient != 1)
      value = arith::MulIOp::create(
          b, value, arith::ConstantIntOp::create(b, coefficient, 32));
    sum = sum ? arith::AddIOp::create(b, sum, value).getResult() : value;
  }
  if (!sum)
    return arith::ConstantIntOp::create(b, form.constant, 32);
  if (form.constant != 0)
    sum = arith::AddIOp::create(
        b, sum, arith::ConstantIntOp::create(b, form.constant, 32));
  return sum;
}

static bool isPerThread(Value storage) {
  auto buffer = dyn_cast<BufferType>(storage.getType());
  return buffer && buffer.isLocal();
}

/// May both refer to the same memory?
static bool mayAlias(Value a, Value b) {
  if (isa<MemRefType>(a.getType()) && isa<MemRefType>(b.getType()))
    return a == b || !OptionsAttr::of(a.getDefiningOp()
                                          ? a.getDefiningOp()
                                          : a.getParentBlock()->getParentOp())
                          .getFlag("noalias", true);
  return getAllocation(a) && getAllocation(a) == getAllocation(b);
}

static bool raiseCopy(ParallelOp loop, LoadOp load, StoreOp store,
                      const Uniformity &uniformity) {
  // The value may be converted on the way, as tile.copy does it.
  Value value = store.getValue();
  if (Operation *cast = value.getDefiningOp();
      isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(cast) &&
      cast->getOperand(0) == load.getResult()) {
    if (auto truncate = dyn_cast<arith::TruncFOp>(cast))
      if (truncate.getRoundingmode() &&
          *truncate.getRoundingmode() != arith::RoundingMode::to_nearest_even)
        return false;
    value = load.getResult();
  }
  if (value != load.getResult() || isPerThread(load.getSource()) ||
      isPerThread(store.getDest()) ||
      mayAlias(load.getSource(), store.getDest()))
    return false;
  // Integers of different signedness have the same scalar type, but a copy
  // would convert between them: equal widths keep all bits.
  std::optional<LoopRegion> source =
      getRegion(loop, load.getSource(), load.getIndices(), uniformity);
  std::optional<LoopRegion> dest =
      getRegion(loop, store.getDest(), store.getIndices(), uniformity);
  if (!source || !dest || !haveSameOrder(loop, *source, *dest))
    return false;
  // Between fragments only whole ones are copied without shared memory; a loop
  // runs where the elements are.
  auto isPartOfFragment = [](Value storage, ArrayRef<int64_t> sizes) {
    auto buffer = dyn_cast<BufferType>(storage.getType());
    return buffer && buffer.isFragment() && buffer.getShape() != sizes;
  };
  auto isFragment = [](Value storage) {
    auto buffer = dyn_cast<BufferType>(storage.getType());
    return buffer && buffer.isFragment();
  };
  if (isFragment(load.getSource()) && isFragment(store.getDest()) &&
      (isPartOfFragment(load.getSource(), source->sizes) ||
       isPartOfFragment(store.getDest(), dest->sizes)))
    return false;
  ImplicitLocOpBuilder b(store.getLoc(), loop);
  SmallVector<Value> sourceStarts, destStarts;
  for (const LinearForm &start : source->starts)
    sourceStarts.push_back(materialize(b, start));
  for (const LinearForm &start : dest->starts)
    destStarts.push_back(materialize(b, start));
  CopyOp::create(b, load.getSource(), sourceStarts, source->sizes,
                 store.getDest(), destStarts, dest->sizes, load.getSafeAttr(),
                 /*bounds=*/BoundsAttr(), /*choice=*/ChoiceAttr(),
                 /*disable_tma=*/false,
                 /*eviction_policy=*/EvictionPolicyAttr(),
                 /*prefer=*/PathAttr(), loop.getCoalescedWidthAttr());
  loop.erase();
  return true;
}

static bool raiseFill(ParallelOp loop, StoreOp store,
                      const Uniformity &uniformity) {
  auto buffer = dyn_cast<BufferType>(store.getDest().getType());
  Value value = store.getValue();
  bool constant = matchPattern(value, m_Constant());
  bool outside = !loop.getBody().isAncestor(value.getParentRegion());
  if (!buffer || buffer.isLocal() || (!constant && !outside) ||
      !uniformity.isUniform(value))
    return false;
  std::optional<LoopRegion> region =
      getRegion(loop, store.getDest(), store.getIndices(), uniformity);
  if (!region || ArrayRef<int64_t>(region->sizes) != buffer.getShape())
    return false;
  for (const LinearForm &start : region->starts)
    if (!start.isConstant() || start.constant != 0)
      return false;
  ImplicitLocOpBuilder b(store.getLoc(), loop);
  if (!outside)
    value = b.clone(*value.getDefiningOp())->getResult(0);
  FillOp::create(b, store.getDest(), value);
  loop.erase();
  return true;
}

static bool raise(ParallelOp loop, const Uniformity &uniformity) {
  if (!loop.hasStaticExtents() ||
      llvm::any_of(loop.getStaticExtents(),
                   [](int64_t extent) { return extent < 1; }))
    return false;
  LoadOp load;
  StoreOp store;
  for (Operation &op : *loop.getBodyBlock()) {
    if (auto found = dyn_cast<LoadOp>(op)) {
      if (load)
        return false;
      load = found;
    } else if (auto found = dyn_cast<StoreOp>(op)) {
      if (store)
        return false;
      store = found;
    } else if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op)) {
      return false;
    }
  }
  if (!store)
    return false;
  return load ? raiseCopy(loop, load, store, uniformity)
              : raiseFill(loop, store, uniformity);
}

namespace {
struct RaiseLoops : tile::impl::TileRaiseLoopsBase<RaiseLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](KernelOp kernel) {
      Uniformity uniformity(kernel);
      SmallVector<ParallelOp> loops;
      kernel.walk([&](ParallelOp loop) { loops.push_back(loop); });
      for (ParallelOp loop : loops)
        raise(loop, uniformity);
    });
  }
};
} // namespace
