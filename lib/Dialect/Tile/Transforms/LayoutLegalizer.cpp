//===- LayoutLegalizer.cpp - Conversions between layouts --------*- C++ -*-===//
#include "LayoutLegalizer.h"
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/FragmentAccess.h"
#include "tilemlir/Layout/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

LayoutLegalizer::LayoutLegalizer(KernelOp kernel, LayoutSolver &solver)
    : kernel(kernel), solver(solver) {}

LogicalResult LayoutLegalizer::run() {
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<ParallelOp, GemmOp, ReduceOp, CopyOp>(op) ||
        (isa<LoadOp, StoreOp>(op) && !op->getParentOfType<ParallelOp>()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    LogicalResult result = success();
    if (auto loop = dyn_cast<ParallelOp>(op))
      result = legalize(loop);
    else if (auto gemm = dyn_cast<GemmOp>(op))
      result = legalize(gemm);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      result = legalize(reduce);
    else if (auto copy = dyn_cast<CopyOp>(op))
      result = legalize(copy);
    else if (auto load = dyn_cast<LoadOp>(op))
      result = legalizeScalarAccess(op, load.getSource(), load.getIndices(),
                                    /*isWrite=*/false);
    else if (auto store = dyn_cast<StoreOp>(op))
      result = legalizeScalarAccess(op, store.getDest(), store.getIndices(),
                                    /*isWrite=*/true);
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

AllocOp LayoutLegalizer::createFragment(Value like,
                                        const FragmentLayout &layout,
                                        StringRef suffix) {
  auto type = cast<BufferType>(like.getType());
  AllocOp alloc =
      createAllocation(kernel,
                       BufferType::get(type.getShape(), type.getElementType(),
                                       MemorySpace::Fragment),
                       like, suffix);
  solver.setLayout(alloc, layout, "temporary");
  return alloc;
}

/// The chain of views from the allocation to `buffer`, outermost first.
static SmallVector<Operation *> getViewChain(Value buffer) {
  SmallVector<Operation *> chain;
  while (!isa<AllocOp>(buffer.getDefiningOp())) {
    chain.push_back(buffer.getDefiningOp());
    buffer = buffer.getDefiningOp()->getOperand(0);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// The same views of a shared copy of the allocation. Each new view stands
/// behind the one it mirrors, where its offsets are available.
static Value mirrorViews(Value buffer, Value sharedAllocation) {
  Value current = sharedAllocation;
  for (Operation *view : getViewChain(buffer)) {
    OpBuilder builder(view->getContext());
    builder.setInsertionPointAfter(view);
    Operation *clone = builder.clone(*view);
    clone->setOperand(0, current);
    auto type = cast<BufferType>(view->getResult(0).getType());
    clone->getResult(0).setType(BufferType::get(
        type.getShape(), type.getElementType(), MemorySpace::Shared));
    current = clone->getResult(0);
  }
  return current;
}

static AllocOp createSharedTwin(KernelOp kernel, Value buffer) {
  AllocOp alloc = getAllocation(buffer);
  BufferType type = alloc.getType();
  return createAllocation(kernel,
                          BufferType::get(type.getShape(),
                                          type.getElementType(),
                                          MemorySpace::Shared),
                          alloc, "scratch");
}

Value LayoutLegalizer::shareContents(Operation *op, Value buffer) {
  // The copy is collective. Nothing writes a fragment under control flow that
  // threads take differently (tile-verify-uniformity), so the contents in front
  // of such control flow are those inside of it.
  if (!uniformity)
    uniformity.emplace(kernel);
  Operation *point = op;
  for (Operation *parent = op->getParentOp(); parent != kernel;
       parent = parent->getParentOp())
    if (uniformity->getDivergentOperand(parent))
      point = parent;
  AllocOp twin = createSharedTwin(kernel, buffer);
  OpBuilder builder(point);
  createWholeCopy(builder, op->getLoc(), getAllocation(buffer), twin);
  return mirrorViews(buffer, twin);
}

static bool areConstant(ValueRange values) {
  return llvm::all_of(
      values, [](Value value) { return matchPattern(value, m_Constant()); });
}

void LayoutLegalizer::convertOperand(Operation *op, OpOperand &operand,
                                     const FragmentLayout &layout, bool reads,
                                     bool writes) {
  Value buffer = operand.get();
  AllocOp temporary = createFragment(buffer, layout, "converted");
  // A view that is not a set of registers goes through a shared twin of the
  // allocation, which can be viewed at will.
  bool direct = static_cast<bool>(solver.getViewLayout(buffer));
  Value twin, twinView;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto makeTwin = [&] {
    if (twin)
      return;
    twin = createSharedTwin(kernel, buffer);
    twinView = mirrorViews(buffer, twin);
  };
  auto convert = [&](Value from, Value to) {
    ConvertOp::create(builder, loc, from, to, Value(), ChoiceAttr());
  };
  if (reads) {
    if (direct) {
      convert(buffer, temporary);
    } else {
      makeTwin();
      createWholeCopy(builder, loc, getAllocation(buffer), twin);
      createWholeCopy(builder, loc, twinView, temporary);
    }
  }
  operand.set(temporary);
  if (!writes)
    return;
  builder.setInsertionPointAfter(op);
  if (direct) {
    convert(temporary, buffer);
  } else {
    makeTwin();
    createWholeCopy(builder, loc, getAllocation(buffer), twin);
    createWholeCopy(builder, loc, temporary, twinView);
    createWholeCopy(builder, loc, twin, getAllocation(buffer));
  }
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

/// Every thread that holds an accessed element runs the iteration that writes
/// it, so that no copy of the element is left behind.
static bool writesAllHolders(const layout::FragmentLayout &iteration,
                             const layout::FragmentLayout &operand,
                             ArrayRef<layout::AccessIndex> access) {
  layout::Result<layout::FragmentLayout> owners =
      LayoutSolver::getIterationLayout(operand, access,
                                       ArrayRef<int64_t>(iteration.shape()));
  return owners && iteration.contains(*owners);
}

static bool fits(const layout::FragmentLayout &iteration,
                 const layout::Result<layout::FragmentLayout> &operand,
                 const FragmentUse &use) {
  if (!operand || !use.access.projected)
    return false;
  if (!layout::projectedAccess(iteration, *operand, *use.access.projected))
    return false;
  return !use.isWrite ||
         writesAllHolders(iteration, *operand, *use.access.projected);
}

bool LayoutLegalizer::overwrites(ParallelOp loop, const HandleUses &handle) {
  auto type = cast<BufferType>(handle.buffer.getType());
  return llvm::any_of(handle.uses, [&](const FragmentUse &use) {
    if (!use.isWrite || use.op->getParentOp() != loop)
      return false;
    for (auto [dim, index] : llvm::enumerate(*use.access.projected)) {
      int64_t extent = index.iterationDim == layout::AccessIndex::kConstant
                           ? 1
                           : loop.getStaticExtents()[index.iterationDim];
      if (index.offset != 0 || extent != type.getShape()[dim])
        return false;
    }
    return true;
  });
}

/// Points the accesses in `uses` to `buffer`.
static void redirect(ArrayRef<FragmentUse> uses, Value buffer) {
  for (const FragmentUse &use : uses) {
    if (auto load = dyn_cast<LoadOp>(use.op))
      load.getSourceMutable().assign(buffer);
    else
      cast<StoreOp>(use.op).getDestMutable().assign(buffer);
  }
}

LogicalResult LayoutLegalizer::convertHandle(ParallelOp loop,
                                             const HandleUses &handle,
                                             const FragmentLayout &layout) {
  AllocOp temporary = createFragment(handle.buffer, layout, "converted");
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  if (handle.reads || !overwrites(loop, handle))
    ConvertOp::create(builder, loc, handle.buffer, temporary, Value(),
                      ChoiceAttr());
  redirect(handle.uses, temporary);
  if (handle.writes) {
    builder.setInsertionPointAfter(loop);
    ConvertOp::create(builder, loc, temporary, handle.buffer, Value(),
                      ChoiceAttr());
  }
  return success();
}

void LayoutLegalizer::readThroughShared(ParallelOp loop,
                                        const HandleUses &handle) {
  AllocOp twin = createSharedTwin(kernel, handle.buffer);
  OpBuilder builder(loop);
  createWholeCopy(builder, loop.getLoc(), getAllocation(handle.buffer), twin);
  redirect(handle.uses, mirrorViews(handle.buffer, twin));
}

void LayoutLegalizer::writeThroughShared(ParallelOp loop,
                                         const HandleUses &handle) {
  AllocOp alloc = getAllocation(handle.buffer);
  AllocOp twin = createSharedTwin(kernel, handle.buffer);
  OpBuilder builder(loop);
  createWholeCopy(builder, loop.getLoc(), alloc, twin);
  redirect(handle.uses, mirrorViews(handle.buffer, twin));
  builder.setInsertionPointAfter(loop);
  createWholeCopy(builder, loop.getLoc(), twin, alloc);
}

/// Does each iteration write an element of its own, at constant distances from
/// the loop variables?
static bool writesOwnElements(ParallelOp loop, const FragmentUse &use) {
  if (!use.access.projected)
    return false;
  SmallVector<bool> covered(loop.getStaticExtents().size(), false);
  for (const layout::AccessIndex &index : *use.access.projected)
    if (index.iterationDim != layout::AccessIndex::kConstant)
      covered[index.iterationDim] = true;
  for (auto [dim, extent] : llvm::enumerate(loop.getStaticExtents()))
    if (extent != 1 && !covered[dim])
      return false;
  return true;
}

/// Says why the write of `use` cannot be done.
static LogicalResult refuseWrite(ParallelOp loop, const FragmentUse &use) {
  InFlightDiagnostic error =
      use.op->emitError("fragment ")
      << getUserName(use.buffer)
      << " would be written by threads that do not own the element: ";
  if (!use.access.projected)
    error << "index " << use.access.irregularDim
          << " is not a loop variable plus a constant";
  else
    error << "several iterations write the same element";
  error.attachNote(loop.getLoc())
      << "in this loop; each of its variables has to select the element, or "
         "the result has to go to a shared buffer";
  return failure();
}

LogicalResult LayoutLegalizer::legalizeHandle(ParallelOp loop,
                                              const HandleUses &handle,
                                              bool &changesLoop) {
  const FragmentLayout iteration = *solver.getLayout(loop);
  layout::Result<FragmentLayout> view = solver.getViewLayout(handle.buffer);
  if (llvm::all_of(handle.uses, [&](const FragmentUse &use) {
        return fits(iteration, view, use);
      }))
    return success();

  // A fragment laid out for this loop, if there is one for all its uses.
  ArrayRef<int64_t> shape =
      cast<BufferType>(handle.buffer.getType()).getShape();
  bool isInnerView =
      loop.getBody().isAncestor(Value(handle.buffer).getParentRegion());
  if (view && !isInnerView)
    for (const FragmentUse &use : handle.uses) {
      if (!use.access.projected)
        continue;
      layout::Result<FragmentLayout> own = LayoutSolver::getOperandLayout(
          iteration, *use.access.projected, shape);
      if (own && llvm::all_of(handle.uses, [&](const FragmentUse &other) {
            return fits(iteration, own, other);
          }))
        return convertHandle(loop, handle, *own);
    }
  if (!handle.writes) {
    readThroughShared(loop, handle);
    return success();
  }
  // Reads that do not fit see the contents from before the loop: iterations are
  // unordered, so no read may depend on the write of another iteration.
  HandleUses misfits{handle.buffer, {}, true, false};
  bool writesFit = true;
  for (const FragmentUse &use : handle.uses) {
    if (fits(iteration, view, use))
      continue;
    misfits.uses.push_back(use);
    if (!use.isWrite)
      continue;
    writesFit = false;
    if (!writesOwnElements(loop, use))
      return refuseWrite(loop, use);
  }
  if (writesFit) {
    readThroughShared(loop, misfits);
    return success();
  }
  // Replicas would read the memory while the primary one writes it.
  if (handle.reads && iteration.numReplicas() > 1) {
    solver.runOnce(loop);
    changesLoop = true;
    return success();
  }
  writeThroughShared(loop, handle);
  return success();
}

LogicalResult LayoutLegalizer::legalize(ParallelOp loop) {
  llvm::MapVector<Value, HandleUses> handles;
  for (const FragmentUse &use : getFragmentUses(loop)) {
    HandleUses &handle = handles[use.buffer];
    handle.buffer = use.buffer;
    handle.uses.push_back(use);
    (use.isWrite ? handle.writes : handle.reads) = true;
  }
  for (auto &entry : handles) {
    bool changesLoop = false;
    if (failed(legalizeHandle(loop, entry.second, changesLoop)))
      return failure();
    if (changesLoop)
      return legalize(loop);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tile operations
//===----------------------------------------------------------------------===//

LogicalResult LayoutLegalizer::legalize(GemmOp gemm) {
  if (!usesMatrixInstruction(gemm)) {
    // The accumulator of an fma gemm may have any layout, if it is a set of
    // registers.
    if (solver.getViewLayout(gemm.getC()))
      return success();
    BufferType type = gemm.getC().getType();
    convertOperand(
        gemm, gemm.getCMutable(),
        LayoutSolver::getBlocked(gemm, type.getShape(), 4, type.getRank() - 1),
        !gemm.getClearAccum(), true);
    return success();
  }
  auto check = [&](GemmOperand operand, OpOperand &value, bool reads,
                   bool writes) -> LogicalResult {
    if (!cast<BufferType>(value.get().getType()).isFragment())
      return success();
    layout::Result<FragmentLayout> required = getMatrixLayout(gemm, operand);
    if (!required)
      return gemm.emitError("gemm: ") << required.error();
    layout::Result<FragmentLayout> view = solver.getViewLayout(value.get());
    if (view && view->isSameMap(*required))
      return success();
    // A conversion behind the product would not wait for it.
    if (gemm->hasAttr(kUserProduct))
      return gemm.emitError("T.wgmma_gemm: the fragment ")
             << getUserName(value.get())
             << " is used elsewhere in a way that spreads it over threads "
                "differently; copy it to a fragment of its own";
    convertOperand(gemm, value, *required, reads, writes);
    return success();
  };
  if (failed(check(GemmOperand::A, gemm.getAMutable(), true, false)) ||
      failed(check(GemmOperand::B, gemm.getBMutable(), true, false)))
    return failure();
  return check(GemmOperand::C, gemm.getCMutable(), !gemm.getClearAccum(), true);
}

LogicalResult LayoutLegalizer::legalize(ReduceOp reduce) {
  layout::Result<FragmentLayout> source =
      solver.getViewLayout(reduce.getSource());
  if (!source) {
    BufferType type = reduce.getSource().getType();
    convertOperand(reduce, reduce.getSourceMutable(),
                   LayoutSolver::getBlocked(reduce, type.getShape(),
                                            128 / type.getElementBits(),
                                            type.getRank() - 1),
                   true, false);
    source = solver.getViewLayout(reduce.getSource());
  }
  layout::Result<FragmentLayout> natural =
      layout::project(*source, static_cast<int>(reduce.getDim()));
  if (!natural)
    return reduce.emitError("reduce: ") << natural.error();
  FragmentLayout required = *natural;
  if (reduce.getDest().getType().getRank() == required.rank() + 1)
    required = required.insertUnitDim(static_cast<int>(reduce.getDim()));
  layout::Result<FragmentLayout> dest = solver.getViewLayout(reduce.getDest());
  if (!dest || !dest->isSameMap(required))
    convertOperand(reduce, reduce.getDestMutable(), required,
                   !reduce.getClear(), true);
  return success();
}

LogicalResult LayoutLegalizer::legalize(CopyOp copy) {
  auto sourceType = dyn_cast<BufferType>(copy.getSource().getType());
  auto destType = dyn_cast<BufferType>(copy.getDest().getType());
  bool fromFragment = sourceType && sourceType.isFragment();
  bool toFragment = destType && destType.isFragment();
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  if (fromFragment && toFragment) {
    layout::Result<FragmentLayout> from =
        solver.getViewLayout(copy.getSource());
    layout::Result<FragmentLayout> to = solver.getViewLayout(copy.getDest());
    bool whole = copy.getSourceSizes() == sourceType.getShape() &&
                 copy.getDestSizes() == destType.getShape();
    layout::Result<FragmentLayout> seen = from;
    if (from && ArrayRef<int64_t>(from->shape()) != destType.getShape() &&
        whole)
      seen = from->reshape(destType.getShape().vec());
    if (whole && seen && to && seen->isSameMap(*to))
      return success();
    if (whole && from && to && sourceType.getShape() == destType.getShape()) {
      if (sourceType.getElementType() == destType.getElementType()) {
        ConvertOp::create(builder, loc, copy.getSource(), copy.getDest(),
                          Value(), ChoiceAttr());
        copy.erase();
        return success();
      }
      // Move the narrower elements.
      if (sourceType.getElementBits() <= destType.getElementBits())
        convertOperand(copy, copy.getSourceMutable(), *to, true, false);
      else
        convertOperand(copy, copy.getDestMutable(), *from, false, true);
      return success();
    }
    // Parts of fragments, and shapes that differ by unit dimensions.
    AllocOp scratch = createAllocation(
        kernel,
        BufferType::get(copy.getSourceSizes(), sourceType.getElementType(),
                        MemorySpace::Shared),
        copy.getSource(), "scratch");
    CopyOp first = createWholeCopy(builder, loc, scratch, scratch);
    first.getSourceMutable().assign(copy.getSource());
    first.getSourceOffsetsMutable().assign(copy.getSourceOffsets());
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
    copy.getSourceMutable().assign(scratch);
    copy.getSourceOffsetsMutable().assign(
        SmallVector<Value>(scratch.getType().getRank(), zero));
    if (failed(legalize(first)))
      return failure();
    return legalize(copy);
  }
  // Each thread reads all of the region for itself.
  if (fromFragment && destType && destType.isLocal()) {
    layout::Result<FragmentLayout> view =
        solver.getViewLayout(copy.getSource());
    if (!view || !view->isFullyReplicated() ||
        !areConstant(copy.getSourceOffsets()))
      copy.getSourceMutable().assign(shareContents(copy, copy.getSource()));
    return success();
  }
  // Between a fragment and memory: the fragment side must be registers.
  if (fromFragment && !solver.getViewLayout(copy.getSource())) {
    AllocOp twin = createSharedTwin(kernel, copy.getSource());
    createWholeCopy(builder, loc, getAllocation(copy.getSource()), twin);
    copy.getSourceMutable().assign(mirrorViews(copy.getSource(), twin));
  }
  if (toFragment && !solver.getViewLayout(copy.getDest())) {
    Value dest = copy.getDest();
    AllocOp twin = createSharedTwin(kernel, dest);
    createWholeCopy(builder, loc, getAllocation(dest), twin);
    copy.getDestMutable().assign(mirrorViews(dest, twin));
    builder.setInsertionPointAfter(copy);
    createWholeCopy(builder, loc, twin, getAllocation(dest));
  }
  return success();
}

LogicalResult LayoutLegalizer::legalizeScalarAccess(Operation *op, Value buffer,
                                                    OperandRange indices,
                                                    bool isWrite) {
  auto type = dyn_cast<BufferType>(buffer.getType());
  if (!type || !type.isFragment())
    return success();
  layout::Result<FragmentLayout> view = solver.getViewLayout(buffer);
  if (view && view->isFullyReplicated() && areConstant(indices))
    return success();
  if (isWrite)
    return op->emitError("fragment ")
           << getUserName(buffer)
           << " is spread over threads; write its elements in T.Parallel, or "
              "use a shared buffer";
  cast<LoadOp>(op).getSourceMutable().assign(shareContents(op, buffer));
  return success();
}
