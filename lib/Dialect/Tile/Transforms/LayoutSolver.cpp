//===- LayoutSolver.cpp - Finding layouts of fragments and loops *- C++ -*-===//
//
// Levels: layouts that users pinned; accumulators of matrix instructions;
// propagation; operands of matrix instructions; propagation; then free choices,
// largest first, each followed by propagation.
//
//===----------------------------------------------------------------------===//
#include "LayoutSolver.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/BlockedLayout.h"
#include "tilemlir/Layout/Reduction.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Fragments that scalar code reads or writes are held by every thread up to
/// this many elements.
static constexpr int64_t kMaxReplicatedElements = 64;

SmallVector<FragmentUse> mlir::tile::getFragmentUses(ParallelOp loop) {
  SmallVector<FragmentUse> uses;
  loop.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto type = dyn_cast<BufferType>(load.getSource().getType());
      if (type && type.isFragment())
        uses.push_back({op, load.getSource(), false,
                        analyzeAccess(load.getIndices(), loop)});
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      auto type = dyn_cast<BufferType>(store.getDest().getType());
      if (type && type.isFragment())
        uses.push_back({op, store.getDest(), true,
                        analyzeAccess(store.getIndices(), loop)});
    }
  });
  return uses;
}

Operation *mlir::tile::getFirstUser(AllocOp fragment) {
  SmallVector<Value> handles = {fragment.getResult()};
  while (!handles.empty()) {
    Value handle = handles.pop_back_val();
    for (Operation *user : handle.getUsers()) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
        handles.push_back(user->getResult(0));
      else if (!isa<AnnotateLayoutOp>(user))
        return user;
    }
  }
  return fragment;
}

LayoutSolver::LayoutSolver(KernelOp kernel, IntegerAnalysis &integers)
    : kernel(kernel), integers(integers) {
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      if (alloc.getType().isFragment())
        fragments.insert({alloc, std::nullopt});
    } else if (auto loop = dyn_cast<ParallelOp>(op)) {
      loops.insert({loop, std::nullopt});
    }
  });
}

const layout::FragmentLayout *LayoutSolver::getLayout(AllocOp alloc) const {
  auto it = fragments.find(alloc);
  return it != fragments.end() && it->second ? &it->second->layout : nullptr;
}

const layout::FragmentLayout *LayoutSolver::getLayout(ParallelOp loop) const {
  auto it = loops.find(loop);
  return it != loops.end() && it->second ? &it->second->layout : nullptr;
}

StringRef LayoutSolver::getReason(ParallelOp loop) const {
  auto it = loops.find(loop);
  return it != loops.end() && it->second ? StringRef(it->second->reason)
                                         : StringRef();
}

void LayoutSolver::setLayout(AllocOp alloc, const FragmentLayout &layout,
                             StringRef reason) {
  fragments[alloc] = Entry{layout, reason.str()};
}

/// Does the loop read memory that it also writes? Only the primary replica
/// stores, and nothing says when the others read.
static bool readsWhatItWrites(ParallelOp loop) {
  llvm::SmallPtrSet<Value, 4> read, written;
  auto add = [](llvm::SmallPtrSet<Value, 4> &roots, Value storage) {
    auto type = dyn_cast<BufferType>(storage.getType());
    if (!type || type.isShared())
      roots.insert(getStorageRoot(storage));
  };
  loop.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      add(read, load.getSource());
    else if (auto store = dyn_cast<StoreOp>(op))
      add(written, store.getDest());
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      add(written, atomic.getDest());
  });
  bool mayAlias = !OptionsAttr::of(loop).getFlag("noalias", true);
  return llvm::any_of(read, [&](Value root) {
    bool isTensor = isa<MemRefType>(root.getType());
    return llvm::any_of(written, [&](Value other) {
      return root == other ||
             (mayAlias && isTensor && isa<MemRefType>(other.getType()));
    });
  });
}

/// Do iterations have an effect or a result that must not be repeated in every
/// replica? (Stores are left to the primary replica by lowering.)
static bool mustRunOnce(ParallelOp loop) {
  if (readsWhatItWrites(loop))
    return true;
  WalkResult result = loop.walk([](Operation *op) {
    auto atomic = dyn_cast<AtomicOp>(op);
    bool once = isa<PrintOp>(op) || (atomic && atomic.getResult() &&
                                     !atomic.getResult().use_empty());
    return once ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The same layout with replicas left idle: their digits reach only padding.
static layout::FragmentLayout
withoutReplicas(const layout::FragmentLayout &layout) {
  std::vector<layout::Mode> threadModes = layout.threadModes();
  for (layout::Mode &mode : threadModes)
    if (mode.isReplica() && layout.rank() > 0)
      mode = layout::Mode{mode.extent, 0, layout.shape()[0]};
  layout::Result<layout::FragmentLayout> result =
      layout::FragmentLayout::create(layout.shape(), std::move(threadModes),
                                     layout.registerModes());
  return result ? *result : layout;
}

void LayoutSolver::setLayout(ParallelOp loop, const FragmentLayout &layout,
                             StringRef reason) {
  loops[loop] =
      Entry{mustRunOnce(loop) ? withoutReplicas(layout) : layout, reason.str()};
}

void LayoutSolver::runOnce(ParallelOp loop) {
  std::optional<Entry> &entry = loops[loop];
  entry->layout = withoutReplicas(entry->layout);
}

layout::Result<layout::FragmentLayout>
LayoutSolver::getViewLayout(Value buffer) const {
  AllocOp alloc = getAllocation(buffer);
  const FragmentLayout *known = alloc ? getLayout(alloc) : nullptr;
  if (!known)
    return layout::Error{"the fragment has no layout yet"};
  layout::Result<FragmentView> view = getFragmentView(buffer, *known);
  if (!view)
    return layout::Error{view.error()};
  return view->layout;
}

bool LayoutSolver::assignView(Value buffer, const FragmentLayout &layout,
                              StringRef reason) {
  AllocOp alloc = getAllocation(buffer);
  if (!alloc || getLayout(alloc))
    return false;
  Result<FragmentLayout> outer = getAllocationLayoutForView(buffer, layout);
  if (!outer)
    return false;
  setLayout(alloc, *outer, reason);
  return true;
}

//===----------------------------------------------------------------------===//
// Layouts of iterations and operands
//===----------------------------------------------------------------------===//

layout::Result<layout::FragmentLayout>
LayoutSolver::getIterationLayout(const FragmentLayout &operand,
                                 ArrayRef<layout::AccessIndex> access,
                                 ArrayRef<int64_t> extents) {
  FragmentLayout sliced = operand;
  std::vector<int> iterationDim(access.size(), layout::kReplica);
  std::vector<bool> covered(extents.size(), false);
  for (auto [dim, index] : llvm::enumerate(access)) {
    bool constant = index.iterationDim == layout::AccessIndex::kConstant;
    int64_t size = constant ? 1 : extents[index.iterationDim];
    int64_t available = sliced.shape()[dim];
    if (index.offset < 0 || index.offset + size > available)
      return layout::Error{"the loop runs over more than the fragment"};
    if (size != available) {
      // Without the registers that the loop does not reach. Where threads hold
      // the rest, it is padding.
      Result<layout::RegisterSlice> slice =
          sliced.sliceRegisters(static_cast<int>(dim), index.offset, size);
      if (slice)
        sliced = slice->layout;
      else if (index.offset != 0 || constant)
        return layout::Error{slice.error()};
    }
    if (constant)
      continue;
    if (covered[index.iterationDim])
      return layout::Error{"a loop variable indexes two dimensions"};
    covered[index.iterationDim] = true;
    iterationDim[dim] = index.iterationDim;
  }
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (!covered[dim] && extent != 1)
      return layout::Error{"the fragment does not span dimension " +
                           std::to_string(dim) + " of the loop"};
  // Modes of unit dimensions only reach padding. Threads with such a digit
  // other than zero hold nothing and run no iteration.
  auto anchor = llvm::find_if(iterationDim,
                              [](int dim) { return dim != layout::kReplica; });
  std::vector<layout::Mode> threadModes, registerModes;
  auto map = [&](layout::Mode mode, std::vector<layout::Mode> &modes) {
    if (!mode.isReplica()) {
      int dim = iterationDim[mode.dim];
      if (dim == layout::kReplica) {
        if (mode.extent == 1)
          return true;
        if (anchor == iterationDim.end())
          return false;
        // Beyond every extent: padding.
        mode.stride = extents[*anchor];
        dim = *anchor;
      }
      mode.dim = dim;
    }
    modes.push_back(mode);
    return true;
  };
  for (const layout::Mode &mode : sliced.threadModes())
    if (!map(mode, threadModes))
      return layout::Error{"the fragment is padded in a constant dimension"};
  for (const layout::Mode &mode : sliced.registerModes())
    if (!map(mode, registerModes))
      return layout::Error{"the fragment is padded in a constant dimension"};
  return FragmentLayout::create(extents.vec(), std::move(threadModes),
                                std::move(registerModes));
}

layout::Result<layout::FragmentLayout>
LayoutSolver::getOperandLayout(const FragmentLayout &iteration,
                               ArrayRef<layout::AccessIndex> access,
                               ArrayRef<int64_t> shape) {
  // Dimensions at a constant index lie in registers; the others follow the
  // iterations.
  std::vector<layout::AccessIndex> followed;
  std::vector<int64_t> followedShape;
  for (auto [dim, index] : llvm::enumerate(access)) {
    if (index.iterationDim == layout::AccessIndex::kConstant && shape[dim] != 1)
      continue;
    followed.push_back(index);
    followedShape.push_back(shape[dim]);
  }
  Result<FragmentLayout> result =
      layout::layoutForAccess(iteration, followed, followedShape);
  for (auto [dim, index] : llvm::enumerate(access)) {
    if (!result)
      return result;
    if (index.iterationDim == layout::AccessIndex::kConstant && shape[dim] != 1)
      result = result->insertDimInRegisters(static_cast<int>(dim), shape[dim]);
  }
  return result;
}

layout::FragmentLayout LayoutSolver::getBlocked(Operation *user,
                                                ArrayRef<int64_t> shape,
                                                int64_t vectorElements,
                                                int64_t fastest) {
  int64_t threads = getCollectiveThreads(user);
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  while (vectorElements > 1 && elements / vectorElements < threads)
    vectorElements /= 2;
  std::vector<int> order;
  if (!shape.empty())
    order.push_back(static_cast<int>(fastest));
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim)
    if (dim != fastest)
      order.push_back(static_cast<int>(dim));
  Result<FragmentLayout> result =
      layout::blocked(shape.vec(), threads, vectorElements, order);
  if (!result)
    result = layout::fullyReplicated(shape.vec(), threads);
  return *result;
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

LogicalResult LayoutSolver::assignPinned() {
  for (auto &[alloc, entry] : fragments) {
    FragmentLayoutAttr attr = alloc.getType().getFragmentLayout();
    if (!attr)
      continue;
    int64_t threads = getCollectiveThreads(getFirstUser(alloc));
    if (attr.getNumThreads() != threads)
      return alloc->emitError("the layout of fragment ")
             << getUserName(alloc) << " is over " << attr.getNumThreads()
             << " threads, the kernel has " << threads;
    entry = Entry{attr.getLayout(), "pinned by the user"};
  }
  for (auto &[loop, entry] : loops)
    if (FragmentLayoutAttr attr = loop.getLayoutAttr()) {
      int64_t threads = getCollectiveThreads(loop);
      if (attr.getNumThreads() != threads)
        return loop->emitError("the layout of the loop is over ")
               << attr.getNumThreads() << " threads, the kernel has "
               << threads;
      setLayout(loop, attr.getLayout(), "given");
    }
  return success();
}

LogicalResult LayoutSolver::assignAccumulators() {
  LogicalResult result = success();
  auto assign = [&](GemmOp gemm, bool mma) {
    BufferType type = gemm.getC().getType();
    if (!type.isFragment() || usesMatrixInstruction(gemm) != mma)
      return;
    if (!mma) {
      int64_t fastest = type.getRank() - 1;
      assignView(gemm.getC(), getBlocked(gemm, type.getShape(), 4, fastest),
                 "accumulator of a gemm without matrix instruction");
      return;
    }
    Result<FragmentLayout> accumulator = getMatrixLayout(gemm, GemmOperand::C);
    if (!accumulator) {
      result = gemm.emitError("gemm: ") << accumulator.error();
      return;
    }
    int64_t threads = getCollectiveThreads(gemm);
    if (accumulator->numThreads() != threads) {
      result = gemm.emitError("gemm: the chosen warps have ")
               << accumulator->numThreads() << " threads, the kernel has "
               << threads;
      return;
    }
    assignView(gemm.getC(), *accumulator,
               getMmaSyncChoice(gemm) ? "accumulator of mma.sync"
                                      : "accumulator of wgmma");
  };
  kernel.walk([&](GemmOp gemm) { assign(gemm, true); });
  kernel.walk([&](GemmOp gemm) { assign(gemm, false); });
  return result;
}

LogicalResult LayoutSolver::assignRegisterOperands() {
  LogicalResult result = success();
  kernel.walk([&](GemmOp gemm) {
    if (!usesMatrixInstruction(gemm))
      return;
    for (GemmOperand operand : {GemmOperand::A, GemmOperand::B}) {
      Value buffer = operand == GemmOperand::A ? gemm.getA() : gemm.getB();
      if (!cast<BufferType>(buffer.getType()).isFragment())
        continue;
      Result<FragmentLayout> required = getMatrixLayout(gemm, operand);
      if (!required) {
        result = gemm.emitError("gemm: ") << required.error();
        return;
      }
      if (assignView(buffer, *required, "operand of a matrix instruction"))
        propagate();
    }
  });
  return result;
}

void LayoutSolver::assignReplicated() {
  auto assign = [&](Operation *op, Value buffer) {
    auto type = dyn_cast<BufferType>(buffer.getType());
    if (!type || !type.isFragment() || op->getParentOfType<ParallelOp>())
      return;
    AllocOp alloc = getAllocation(buffer);
    if (getLayout(alloc) ||
        alloc.getType().getNumElements() > kMaxReplicatedElements)
      return;
    Result<FragmentLayout> replicated = layout::fullyReplicated(
        alloc.getType().getShape().vec(), getCollectiveThreads(op));
    if (replicated)
      setLayout(alloc, *replicated, "accessed by scalar code");
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      assign(op, load.getSource());
    else if (auto store = dyn_cast<StoreOp>(op))
      assign(op, store.getDest());
  });
}

LogicalResult LayoutSolver::solve() {
  if (failed(assignPinned()))
    return failure();
  if (failed(assignAccumulators()))
    return failure();
  propagate();
  if (failed(assignRegisterOperands()))
    return failure();
  assignReplicated();
  propagate();
  while (assignFree())
    propagate();
  return success();
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

void LayoutSolver::propagate() {
  bool changed = true;
  while (changed) {
    changed = false;
    kernel.walk([&](Operation *op) { changed |= propagateThrough(op); });
  }
}

bool LayoutSolver::propagateThrough(Operation *op) {
  if (auto loop = dyn_cast<ParallelOp>(op))
    return propagateThrough(loop);
  if (auto copy = dyn_cast<CopyOp>(op))
    return propagateThrough(copy);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return propagateThrough(reduce);
  return false;
}

bool LayoutSolver::propagateThrough(ParallelOp loop) {
  SmallVector<FragmentUse> uses = getFragmentUses(loop);
  if (!getLayout(loop)) {
    // Among the fragments that span the loop the one with the widest elements
    // decides, because converting the others is cheaper; then those written.
    const FragmentUse *best = nullptr;
    FragmentLayout bestLayout;
    auto weigh = [](const FragmentUse &use) {
      return std::make_pair(
          cast<BufferType>(use.buffer.getType()).getElementBits(), use.isWrite);
    };
    for (const FragmentUse &use : uses) {
      if (!use.access.projected || (best && weigh(use) <= weigh(*best)))
        continue;
      Result<FragmentLayout> view = getViewLayout(use.buffer);
      if (!view)
        continue;
      Result<FragmentLayout> iteration = getIterationLayout(
          *view, *use.access.projected, loop.getStaticExtents());
      if (!iteration)
        continue;
      best = &use;
      bestLayout = *iteration;
    }
    if (!best)
      return false;
    setLayout(loop, bestLayout, "follows " + getUserName(best->buffer));
    return true;
  }
  bool changed = false;
  const FragmentLayout iteration = *getLayout(loop);
  for (const FragmentUse &use : uses) {
    if (!use.access.projected || getLayout(getAllocation(use.buffer)))
      continue;
    Result<FragmentLayout> operand =
        getOperandLayout(iteration, *use.access.projected,
                         cast<BufferType>(use.buffer.getType()).getShape());
    if (operand)
      changed |= assignView(use.buffer, *operand, "follows a loop");
  }
  return changed;
}

/// Does the copy move a whole fragment to a whole fragment?
static bool copiesWholeFragments(CopyOp copy) {
  auto source = dyn_cast<BufferType>(copy.getSource().getType());
  auto dest = dyn_cast<BufferType>(copy.getDest().getType());
  return source && dest && source.isFragment() && dest.isFragment() &&
         copy.getSourceSizes() == source.getShape() &&
         copy.getDestSizes() == dest.getShape();
}

bool LayoutSolver::propagateThrough(CopyOp copy) {
  if (!copiesWholeFragments(copy))
    return false;
  auto pass = [&](Value from, Value to) {
    Result<FragmentLayout> known = getViewLayout(from);
    if (!known || getLayout(getAllocation(to)))
      return false;
    ArrayRef<int64_t> shape = cast<BufferType>(to.getType()).getShape();
    if (ArrayRef<int64_t>(known->shape()) != shape)
      known = known->reshape(shape.vec());
    return known && assignView(to, *known, "follows " + getUserName(from));
  };
  return pass(copy.getSource(), copy.getDest()) ||
         pass(copy.getDest(), copy.getSource());
}

bool LayoutSolver::propagateThrough(ReduceOp reduce) {
  if (!reduce.getSource().getType().isFragment() ||
      !reduce.getDest().getType().isFragment() ||
      getLayout(getAllocation(reduce.getDest())))
    return false;
  Result<FragmentLayout> source = getViewLayout(reduce.getSource());
  if (!source)
    return false;
  Result<FragmentLayout> result =
      layout::project(*source, static_cast<int>(reduce.getDim()));
  if (!result)
    return false;
  if (reduce.getDest().getType().getRank() == result->rank() + 1)
    result = result->insertUnitDim(static_cast<int>(reduce.getDim()));
  return assignView(reduce.getDest(), *result,
                    "result of reducing " + getUserName(reduce.getSource()));
}

//===----------------------------------------------------------------------===//
// Free choices
//===----------------------------------------------------------------------===//

bool LayoutSolver::assignFree() {
  AllocOp bestAlloc;
  ParallelOp bestLoop;
  int64_t bestSize = -1;
  auto loopSize = [](ParallelOp loop) {
    int64_t size = 1;
    for (int64_t extent : loop.getStaticExtents())
      size *= extent;
    return size;
  };
  // Ties go to fragments: their loops follow.
  for (auto &[alloc, entry] : fragments)
    if (!entry && alloc.getType().getNumElements() > bestSize) {
      bestSize = alloc.getType().getNumElements();
      bestAlloc = alloc;
    }
  for (auto &[loop, entry] : loops)
    if (!entry && loopSize(loop) > bestSize) {
      bestSize = loopSize(loop);
      bestLoop = loop;
    }
  if (bestLoop)
    assignFree(bestLoop);
  else if (bestAlloc)
    assignFree(bestAlloc);
  return bestLoop || bestAlloc;
}

int64_t LayoutSolver::getPreferredVector(AllocOp alloc) {
  int64_t bits = alloc.getType().getElementBits();
  std::optional<int64_t> narrowest;
  SmallVector<Value> worklist{alloc.getResult()};
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
        worklist.push_back(user->getResult(0));
      auto copy = dyn_cast<CopyOp>(user);
      ChoiceAttr choice = copy ? copy.getChoiceAttr() : ChoiceAttr();
      if (!choice || !choice.getArguments())
        continue;
      Value other = getAllocation(copy.getSource()) == alloc ? copy.getDest()
                                                             : copy.getSource();
      auto bytes = choice.getArguments().getAs<IntegerAttr>("bytes");
      if (!bytes || !isa<MemRefType>(other.getType()))
        continue;
      int64_t elements = std::max<int64_t>(
          1, bytes.getInt() * 8 /
                 getElementBits(getStorageElementType(other.getType())));
      narrowest = narrowest ? std::min(*narrowest, elements) : elements;
    }
  }
  return narrowest ? *narrowest : std::max<int64_t>(128 / bits, 1);
}

void LayoutSolver::assignFree(AllocOp alloc) {
  BufferType type = alloc.getType();
  // A fragment that is used in parts is spread such that each part is a set of
  // registers.
  for (Operation *user : alloc.getResult().getUsers()) {
    auto part = dyn_cast<SubviewOp>(user);
    if (!part)
      continue;
    ArrayRef<int64_t> shape = part.getType().getShape();
    if (assignView(
            part.getResult(),
            getBlocked(
                getFirstUser(alloc), shape, getPreferredVector(alloc),
                std::max<int64_t>(static_cast<int64_t>(shape.size()) - 1, 0)),
            "free choice for its parts"))
      return;
  }
  setLayout(alloc,
            getBlocked(getFirstUser(alloc), type.getShape(),
                       getPreferredVector(alloc),
                       std::max<int64_t>(type.getRank() - 1, 0)),
            "free choice");
}

void LayoutSolver::assignFree(ParallelOp loop) {
  ArrayRef<int64_t> extents = loop.getStaticExtents();
  Block *body = loop.getBodyBlock();
  // Each access that runs through memory without gaps along one loop dimension
  // votes for it; tensors count more than shared memory.
  SmallVector<int64_t> votes(extents.size(), 0), vectors(extents.size(), 16);
  auto vote = [&](Operation *op, Value storage, OperandRange indices) {
    if (indices.empty())
      return;
    auto buffer = dyn_cast<BufferType>(storage.getType());
    if (buffer && !buffer.isShared())
      return;
    LinearForm last = getLinearForm(indices.back());
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      Value variable = body->getArgument(dim);
      if (extent == 1 || last.getCoefficient(variable) != 1 ||
          llvm::any_of(indices.drop_back(), [&](Value index) {
            return getLinearForm(index).getCoefficient(variable) != 0;
          }))
        continue;
      LinearForm start = last.without(variable);
      AccessWidth width =
          buffer ? getSharedAccessWidth(storage, start, extent, integers)
                 : getTensorAccessWidth(cast<TypedValue<MemRefType>>(storage),
                                        start, extent, integers, op);
      votes[dim] += buffer ? 1 : 4;
      int64_t bytes =
          getElementBits(getStorageElementType(storage.getType())) / 8;
      vectors[dim] =
          std::min(vectors[dim], std::max<int64_t>(1, width.bytes / bytes));
    }
  };
  loop.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      vote(op, load.getSource(), load.getIndices());
    else if (auto store = dyn_cast<StoreOp>(op))
      vote(op, store.getDest(), store.getIndices());
    else if (auto atomic = dyn_cast<AtomicOp>(op))
      vote(op, atomic.getDest(), atomic.getIndices());
  });
  int64_t fastest =
      std::max<int64_t>(static_cast<int64_t>(extents.size()) - 1, 0);
  for (int64_t dim = fastest; dim >= 0 && !extents.empty(); --dim)
    if (votes[dim] > votes[fastest])
      fastest = dim;
  int64_t vector =
      !extents.empty() && votes[fastest] > 0 ? vectors[fastest] : 1;
  if (auto width = loop.getCoalescedWidth())
    vector = std::min<int64_t>(vector, std::max<int64_t>(*width, 1));
  // An empty loop runs nowhere; any layout will do.
  SmallVector<int64_t> shape;
  for (int64_t extent : extents)
    shape.push_back(std::max<int64_t>(extent, 1));
  setLayout(loop, getBlocked(loop, shape, vector, fastest),
            llvm::formatv("free choice: neighbouring threads along dimension "
                          "{0}, {1} elements each",
                          fastest, vector)
                .str());
}
