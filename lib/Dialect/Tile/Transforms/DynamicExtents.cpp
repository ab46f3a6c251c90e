//===- DynamicExtents.cpp - Static extents for parallel loops ---*- C++ -*-===//
#include "DynamicExtents.h"

#include "LayoutSolver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Iterations of one chunk per thread, when a dynamic dimension is cut.
static constexpr int64_t kChunkPerThread = 4;

/// The extent of a fragment that dimension `dim` of the loop indexes: buffer
/// accesses are inside, so the loop is no longer than that.
static std::optional<int64_t> getFragmentExtent(ParallelOp loop, int dim) {
  std::optional<int64_t> smallest;
  for (const FragmentUse &use : getFragmentUses(loop)) {
    // A guarded access says nothing about the loop.
    if (!use.access.projected || use.op->getParentOp() != loop)
      continue;
    for (auto [position, index] : llvm::enumerate(*use.access.projected)) {
      if (index.iterationDim != dim)
        continue;
      int64_t extent =
          cast<BufferType>(use.buffer.getType()).getShape()[position] -
          index.offset;
      smallest = smallest ? std::min(*smallest, extent) : extent;
    }
  }
  return smallest;
}

/// Folds extents that are constants by now.
static void foldExtents(ParallelOp loop) {
  SmallVector<int64_t> extents(loop.getStaticExtents());
  SmallVector<Value> dynamic;
  unsigned next = 0;
  for (int64_t &extent : extents) {
    if (!ShapedType::isDynamic(extent))
      continue;
    Value value = loop.getExtents()[next++];
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      extent = std::max<int64_t>(constant.getSExtValue(), 0);
    else
      dynamic.push_back(value);
  }
  loop.setStaticExtents(extents);
  loop.getExtentsMutable().assign(dynamic);
}

static void makeStatic(ParallelOp loop) {
  SmallVector<int64_t> extents(loop.getStaticExtents());
  int64_t threads = getCollectiveThreads(loop);
  int64_t staticSize = 1;
  SmallVector<std::pair<unsigned, Value>> guarded, chunked;
  unsigned next = 0;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (!ShapedType::isDynamic(extent)) {
      staticSize *= extent;
      continue;
    }
    Value limit = loop.getExtents()[next++];
    if (std::optional<int64_t> fragment =
            getFragmentExtent(loop, static_cast<int>(dim))) {
      extent = *fragment;
      staticSize *= extent;
      guarded.push_back({static_cast<unsigned>(dim), limit});
    } else {
      chunked.push_back({static_cast<unsigned>(dim), limit});
    }
  }
  // The last dynamic dimension takes the chunk, the others one iteration each.
  for (auto [position, entry] : llvm::enumerate(llvm::reverse(chunked))) {
    int64_t chunk = 1;
    while (position == 0 &&
           chunk * std::max<int64_t>(staticSize, 1) < threads * kChunkPerThread)
      chunk *= 2;
    extents[entry.first] = chunk;
  }

  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value zero = arith::ConstantIntOp::create(b, 0, 32);
  SmallVector<Value> starts(extents.size());
  for (auto [dim, limit] : chunked) {
    Value step = arith::ConstantIntOp::create(b, extents[dim], 32);
    auto chunks = scf::ForOp::create(b, zero, limit, step);
    starts[dim] = chunks.getInductionVar();
    b.setInsertionPointToStart(chunks.getBody());
  }
  loop->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  loop.setStaticExtents(extents);
  loop.getExtentsMutable().clear();

  Block *body = loop.getBodyBlock();
  SmallVector<Operation *> inner;
  for (Operation &op : *body)
    inner.push_back(&op);
  b.setInsertionPointToStart(body);
  Value inside;
  auto guard = [&](unsigned dim, Value limit) {
    Value index = body->getArgument(dim);
    if (starts[dim]) {
      auto sum = arith::AddIOp::create(b, starts[dim], index);
      index.replaceAllUsesExcept(sum.getResult(), sum);
      index = sum;
    }
    Value below =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, limit);
    inside =
        inside ? arith::AndIOp::create(b, inside, below).getResult() : below;
  };
  for (auto [dim, limit] : guarded)
    guard(dim, limit);
  for (auto [dim, limit] : chunked)
    guard(dim, limit);
  auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  for (Operation *op : inner)
    op->moveBefore(branch.thenBlock()->getTerminator());
}

void mlir::tile::makeExtentsStatic(KernelOp kernel) {
  SmallVector<ParallelOp> loops;
  kernel.walk([&](ParallelOp loop) { loops.push_back(loop); });
  for (ParallelOp loop : loops) {
    foldExtents(loop);
    if (llvm::is_contained(loop.getStaticExtents(), 0)) {
      loop.erase();
      continue;
    }
    if (!loop.hasStaticExtents())
      makeStatic(loop);
  }
}
