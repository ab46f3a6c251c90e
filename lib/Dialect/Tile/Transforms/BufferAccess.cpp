//===- BufferAccess.cpp - which elements an operation touches ---*- C++ -*-===//
//
// Indices are followed through constant additions and through the induction
// variables of tile.parallel and of constant loops, which is what tile programs
// are made of. Everything else widens to the whole dimension.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

Value mlir::tile::getStorageRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<SubviewOp, ReshapeOp, BitcastOp>(op) ||
        (isa<ViewLikeOpInterface>(op) && isa<MemRefType>(value.getType())))
      value = op->getOperand(0);
    else
      break;
  }
  return value;
}

bool mlir::tile::isWrittenBefore(const BufferAccess &read,
                                 ArrayRef<BufferAccess> accesses,
                                 Operation *scope) {
  SmallVector<ArrayRef<IndexRange>> parts;
  for (const BufferAccess &write : accesses) {
    if (write.root != read.root || !write.isExact || !write.isWrite ||
        write.isAtomic || !scope->isProperAncestor(write.op))
      continue;
    Operation *sibling = write.op->getBlock()->findAncestorOpInBlock(*read.op);
    if (sibling && write.op->isBeforeInBlock(sibling))
      parts.push_back(write.region);
  }
  return isCovered(getWholeRegion(read.root.getType()), parts);
}

SmallVector<IndexRange, 4> mlir::tile::getWholeRegion(Type type) {
  // Larger than any coordinate (32 bits), small enough to calculate with.
  constexpr int64_t kUnknownExtent = int64_t(1) << 40;
  SmallVector<IndexRange, 4> region;
  if (auto buffer = dyn_cast<BufferType>(type)) {
    for (int64_t extent : buffer.getShape())
      region.push_back({Value(), 0, extent});
    return region;
  }
  for (int64_t extent : cast<MemRefType>(type).getShape())
    region.push_back(
        {Value(), 0, ShapedType::isDynamic(extent) ? kUnknownExtent : extent});
  return region;
}

//===----------------------------------------------------------------------===//
// Index expressions
//===----------------------------------------------------------------------===//

namespace {
/// scale * variable + offset; `variable` is null for constants.
struct LinearIndex {
  Value variable;
  int64_t scale = 1;
  int64_t offset = 0;
};
} // namespace

static LinearIndex getLinearIndex(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return {Value(), 0, *constant};
  if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    if (std::optional<int64_t> constant = getConstantIntValue(add.getRhs())) {
      LinearIndex index = getLinearIndex(add.getLhs());
      index.offset += *constant;
      return index;
    }
  }
  if (auto multiply = value.getDefiningOp<arith::MulIOp>()) {
    if (std::optional<int64_t> constant =
            getConstantIntValue(multiply.getRhs())) {
      LinearIndex index = getLinearIndex(multiply.getLhs());
      index.scale *= *constant;
      index.offset *= *constant;
      return index;
    }
  }
  return {value, 1, 0};
}

/// Values of an induction variable with constant bounds: [first, last] with
/// steps of `step`; at least one.
static bool getConstantIterations(Value variable, int64_t &first, int64_t &last,
                                  int64_t &step) {
  auto argument = dyn_cast<BlockArgument>(variable);
  if (!argument)
    return false;
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto parallel = dyn_cast<ParallelOp>(parent)) {
    int64_t extent = parallel.getStaticExtents()[argument.getArgNumber()];
    if (ShapedType::isDynamic(extent) || extent < 1)
      return false;
    first = 0;
    last = extent - 1;
    step = 1;
    return true;
  }
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop || loop.getInductionVar() != variable)
    return false;
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  std::optional<int64_t> increment = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !increment || *increment < 1 || *lower >= *upper)
    return false;
  first = *lower;
  step = *increment;
  last = first + (*upper - 1 - first) / step * step;
  return true;
}

/// Elements that `index` reaches with `size` elements from each position, over
/// all iterations of `parallel`; `isExact` is cleared when fewer may be hit.
static IndexRange getRange(Value index, int64_t size, ParallelOp parallel,
                           int64_t extent, bool &isExact) {
  LinearIndex linear = getLinearIndex(index);
  if (!linear.variable)
    return {Value(), linear.offset, size};
  Region *body = parallel ? &parallel.getBody() : nullptr;
  bool inside = body && body->isAncestor(linear.variable.getParentRegion());
  if (!inside) {
    if (linear.scale == 1)
      return {linear.variable, linear.offset, size};
    IndexRange range{index, 0, size};
    while (auto add = range.base.getDefiningOp<arith::AddIOp>()) {
      std::optional<int64_t> constant = getConstantIntValue(add.getRhs());
      if (!constant)
        break;
      range.base = add.getLhs();
      range.offset += *constant;
    }
    return range;
  }
  int64_t first, last, step;
  if (getConstantIterations(linear.variable, first, last, step) &&
      linear.scale > 0) {
    int64_t start = linear.scale * first + linear.offset;
    int64_t end = linear.scale * last + linear.offset + size;
    isExact &= linear.scale * step <= size;
    if (start >= 0 && end <= extent)
      return {Value(), start, end - start};
  }
  isExact = false;
  return {Value(), 0, extent};
}

//===----------------------------------------------------------------------===//
// Regions through views
//===----------------------------------------------------------------------===//

/// `part` of a view whose source range is `window`.
static IndexRange compose(IndexRange window, IndexRange part) {
  if (!part.base)
    return {window.base, window.offset + part.offset, part.size};
  if (!window.base)
    return {part.base, window.offset + part.offset, part.size};
  return window;
}

/// Rewrites `region` of `view` as a region of its allocation.
static void mapToRoot(Value view, SmallVectorImpl<IndexRange> &region,
                      bool &isExact) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto subview = dyn_cast<SubviewOp>(op)) {
      ArrayRef<int64_t> sizes = subview.getSizes();
      ArrayRef<int64_t> shape = subview.getType().getShape();
      SmallVector<IndexRange, 4> result;
      bool unused = true;
      size_t next = 0;
      for (auto [dim, size] : llvm::enumerate(sizes)) {
        IndexRange window =
            getRange(subview.getOffsets()[dim], size, ParallelOp(),
                     subview.getSource().getType().getShape()[dim], unused);
        if (size == 1) {
          result.push_back(window);
          continue;
        }
        while (next < shape.size() && shape[next] == 1)
          ++next;
        result.push_back(compose(window, region[next++]));
      }
      region.assign(result.begin(), result.end());
      view = subview.getSource();
      continue;
    }
    if (isa<ReshapeOp, BitcastOp>(op)) {
      Value source = op->getOperand(0);
      auto type = cast<BufferType>(view.getType());
      bool whole = ArrayRef<IndexRange>(region) ==
                   ArrayRef<IndexRange>(getWholeRegion(type));
      isExact &= whole;
      auto all = getWholeRegion(cast<BufferType>(source.getType()));
      region.assign(all.begin(), all.end());
      view = source;
      continue;
    }
    break;
  }
}

static void addAccess(Operation *op, Value storage,
                      SmallVector<IndexRange, 4> region, BufferAccess flags,
                      SmallVectorImpl<BufferAccess> &accesses) {
  BufferAccess access = flags;
  access.op = op;
  access.root = getStorageRoot(storage);
  if (isa<BufferType>(storage.getType()))
    mapToRoot(storage, region, access.isExact);
  else if (access.root != storage)
    region = getWholeRegion(access.root.getType());
  access.region = std::move(region);
  accesses.push_back(std::move(access));
}

static void addWhole(Operation *op, Value storage, BufferAccess flags,
                     SmallVectorImpl<BufferAccess> &accesses) {
  flags.isExact = true;
  addAccess(op, storage, getWholeRegion(storage.getType()), flags, accesses);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static BufferAccess makeRead() { return {}; }
static BufferAccess makeWrite() {
  BufferAccess access;
  access.isWrite = true;
  return access;
}

static void addRegion(Operation *op, Value storage, OperandRange offsets,
                      ArrayRef<int64_t> sizes, BufferAccess flags,
                      SmallVectorImpl<BufferAccess> &accesses) {
  SmallVector<IndexRange, 4> region;
  flags.isExact = true;
  for (auto [offset, size, whole] :
       llvm::zip(offsets, sizes, getWholeRegion(storage.getType())))
    region.push_back(
        getRange(offset, size, ParallelOp(), whole.size, flags.isExact));
  addAccess(op, storage, std::move(region), flags, accesses);
}

/// The layout by which a copy between a fragment and shared memory touches
/// shared memory: thread by thread what it holds, if it is plain loads or
/// stores of the whole fragment.
static ThreadMap getCopyThreads(CopyOp copy) {
  if (!copy.getChoice() || copy.getChoice()->getPath() != Path::Simt)
    return {};
  // Elements of the box are counted from its corner: buffers from 0, tensors
  // from offsets that are compared with those of the other access.
  auto startsAtZero = [](Value storage, OperandRange offsets) {
    return !isa<BufferType>(storage.getType()) ||
           llvm::all_of(offsets, [](Value offset) {
             return getConstantIntValue(offset) == 0;
           });
  };
  if (!startsAtZero(copy.getSource(), copy.getSourceOffsets()) ||
      !startsAtZero(copy.getDest(), copy.getDestOffsets()))
    return {};
  for (Value side : {copy.getSource(), copy.getDest()}) {
    auto type = dyn_cast<BufferType>(side.getType());
    if (type && type.isFragment() && side.getDefiningOp<AllocOp>() &&
        copy.getSourceSizes() == type.getShape() &&
        copy.getDestSizes() == type.getShape())
      return {type.getFragmentLayout()};
  }
  return {};
}

template <typename CopyT>
static void addCopy(CopyT copy, SmallVectorImpl<BufferAccess> &accesses) {
  ThreadMap threads;
  if constexpr (std::is_same_v<CopyT, CopyOp>)
    threads = getCopyThreads(copy);
  threads.warps = copy->template getAttrOfType<FragmentLayoutAttr>(kWarpLayout);
  BufferAccess read = makeRead(), write = makeWrite();
  write.isAsync = isa<CopyAsyncOp>(copy.getOperation());
  read.threads = write.threads = threads;
  addRegion(copy, copy.getSource(), copy.getSourceOffsets(),
            copy.getSourceSizes(), read, accesses);
  addRegion(copy, copy.getDest(), copy.getDestOffsets(), copy.getDestSizes(),
            write, accesses);
}

static void addScratch(Operation *op, Value scratch,
                       SmallVectorImpl<BufferAccess> &accesses) {
  if (!scratch)
    return;
  BufferAccess write = makeWrite(), read = makeRead();
  write.isScratch = read.isScratch = true;
  addWhole(op, scratch, write, accesses);
  addWhole(op, scratch, read, accesses);
}

/// An element access, inside `parallel` if that is not null.
static void addElement(Operation *owner, Operation *op, ParallelOp parallel,
                       Value storage, OperandRange indices, BufferAccess flags,
                       SmallVectorImpl<BufferAccess> &accesses) {
  SmallVector<IndexRange, 4> region;
  // Guarded accesses may touch less than their range.
  flags.isExact = !parallel || (op->getParentOp() == parallel &&
                                parallel.hasStaticExtents());
  bool identity = parallel && op->getParentOp() == parallel;
  llvm::SmallDenseSet<Value> used;
  auto whole = getWholeRegion(storage.getType());
  for (auto [dim, index] : llvm::enumerate(indices)) {
    region.push_back(
        getRange(index, 1, parallel, whole[dim].size, flags.isExact));
    // The diagonal [i, i] is smaller than the box around it.
    Value variable = getLinearIndex(index).variable;
    if (variable && !used.insert(variable).second)
      flags.isExact = false;
    auto argument = dyn_cast<BlockArgument>(index);
    identity &= argument && argument.getOwner()->getParentOp() == parallel &&
                argument.getArgNumber() == dim;
  }
  if (identity && storage.getDefiningOp<AllocOp>() && parallel.getLayout() &&
      indices.size() == parallel.getStaticExtents().size())
    flags.threads = {*parallel.getLayout()};
  addAccess(owner, storage, std::move(region), flags, accesses);
}

static void addElementOp(Operation *owner, Operation *op, ParallelOp parallel,
                         SmallVectorImpl<BufferAccess> &accesses) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LoadOp>([&](LoadOp load) {
        addElement(owner, op, parallel, load.getSource(), load.getIndices(),
                   makeRead(), accesses);
      })
      .Case<StoreOp>([&](StoreOp store) {
        addElement(owner, op, parallel, store.getDest(), store.getIndices(),
                   makeWrite(), accesses);
      })
      .Case<AtomicOp>([&](AtomicOp atomic) {
        BufferAccess access = makeWrite();
        access.isAtomic = true;
        addElement(owner, op, parallel, atomic.getDest(), atomic.getIndices(),
                   access, accesses);
      });
}

/// Operations of other dialects, and ours without a special case: whole
/// storages, by their declared effects.
static void addByEffects(Operation *op,
                         SmallVectorImpl<BufferAccess> &accesses) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  for (Value operand : op->getOperands()) {
    if (!isa<BufferType, MemRefType>(operand.getType()))
      continue;
    bool reads = !interface, writes = !interface;
    if (interface) {
      SmallVector<MemoryEffects::EffectInstance> effects;
      interface.getEffectsOnValue(operand, effects);
      for (const MemoryEffects::EffectInstance &effect : effects) {
        reads |= isa<MemoryEffects::Read>(effect.getEffect());
        writes |= isa<MemoryEffects::Write>(effect.getEffect());
      }
    }
    if (reads)
      addWhole(op, operand, makeRead(), accesses);
    if (writes)
      addWhole(op, operand, makeWrite(), accesses);
  }
}

void mlir::tile::collectAccesses(Operation *op,
                                 SmallVectorImpl<BufferAccess> &accesses) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<CopyOp, CopyAsyncOp>([&](auto copy) { addCopy(copy, accesses); })
      .Case<LoadOp, StoreOp, AtomicOp>(
          [&](auto) { addElementOp(op, op, ParallelOp(), accesses); })
      .Case<ReduceOp>([&](ReduceOp reduce) {
        addWhole(op, reduce.getSource(), makeRead(), accesses);
        if (!reduce.getClear())
          addWhole(op, reduce.getDest(), makeRead(), accesses);
        addScratch(op, reduce.getScratch(), accesses);
        addWhole(op, reduce.getDest(), makeWrite(), accesses);
      })
      .Case<ConvertOp>([&](ConvertOp convert) {
        addWhole(op, convert.getSource(), makeRead(), accesses);
        addScratch(op, convert.getScratch(), accesses);
        addWhole(op, convert.getDest(), makeWrite(), accesses);
      })
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) {
        addWhole(op, gemm.getA(), makeRead(), accesses);
        addWhole(op, gemm.getB(), makeRead(), accesses);
        if (!gemm.getClearAccum())
          addWhole(op, gemm.getC(), makeRead(), accesses);
        addWhole(op, gemm.getC(), makeWrite(), accesses);
      })
      .Case<ParallelOp>([&](ParallelOp parallel) {
        size_t first = accesses.size();
        parallel.getBody().walk([&](Operation *inner) {
          if (isa<LoadOp, StoreOp, AtomicOp>(inner))
            addElementOp(op, inner, parallel, accesses);
          else if (!isa<SubviewOp, ReshapeOp, BitcastOp, memref::DimOp>(
                       inner) &&
                   inner->getNumRegions() == 0)
            addByEffects(inner, accesses);
        });
        // The staging buffer is all that such a loop writes.
        if (auto warps = op->getAttrOfType<FragmentLayoutAttr>(kWarpLayout))
          for (size_t i = first; i < accesses.size(); ++i)
            if (accesses[i].isWrite)
              accesses[i].threads.warps = warps;
      })
      .Case<ShareTileOp>([&](ShareTileOp share) {
        if (!share.getSlot())
          return addScratch(op, share.getNumbers(), accesses);
        addElement(op, op, ParallelOp(), share.getNumbers(),
                   OperandRange(share.getSlotMutable()),
                   share.getFetched() ? makeWrite() : makeRead(), accesses);
      })
      .Case<AllocOp, SubviewOp, ReshapeOp, BitcastOp, AnnotateLayoutOp>(
          [](auto) {})
      .Default([&](Operation *) {
        if (op->getNumRegions() == 0 && !isa<ViewLikeOpInterface>(op) &&
            !isa<memref::DimOp>(op))
          addByEffects(op, accesses);
      });
}

void mlir::tile::collectNestedAccesses(
    Operation *op, SmallVectorImpl<BufferAccess> &accesses) {
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    collectAccesses(inner, accesses);
    return isa<ParallelOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
}

//===----------------------------------------------------------------------===//
// Relations of regions
//===----------------------------------------------------------------------===//

bool mlir::tile::mayOverlap(ArrayRef<IndexRange> lhs,
                            ArrayRef<IndexRange> rhs) {
  for (auto [left, right] : llvm::zip(lhs, rhs)) {
    if (left.base != right.base)
      continue;
    if (left.offset + left.size <= right.offset ||
        right.offset + right.size <= left.offset)
      return false;
  }
  return true;
}

bool mlir::tile::contains(ArrayRef<IndexRange> outer,
                          ArrayRef<IndexRange> inner) {
  if (outer.size() != inner.size())
    return false;
  return llvm::all_of(llvm::zip(outer, inner), [](auto pair) {
    const IndexRange &out = std::get<0>(pair), &in = std::get<1>(pair);
    return out.base == in.base && out.offset <= in.offset &&
           in.offset + in.size <= out.offset + out.size;
  });
}

bool mlir::tile::isCovered(ArrayRef<IndexRange> box,
                           ArrayRef<ArrayRef<IndexRange>> parts) {
  for (ArrayRef<IndexRange> part : parts)
    if (contains(part, box))
      return true;
  // Cut the box along one dimension in which some part ends, and prove both
  // halves; a part that holds a half ends the recursion.
  for (ArrayRef<IndexRange> part : parts) {
    if (part.size() != box.size())
      continue;
    int cutDim = -1;
    int64_t cut = 0;
    bool touches = true;
    for (auto [dim, pair] : llvm::enumerate(llvm::zip(part, box))) {
      const IndexRange &have = std::get<0>(pair), &want = std::get<1>(pair);
      if (have.base != want.base || have.offset + have.size <= want.offset ||
          want.offset + want.size <= have.offset) {
        touches = false;
        break;
      }
      if (cutDim < 0 && have.offset > want.offset) {
        cutDim = dim;
        cut = have.offset;
      } else if (cutDim < 0 &&
                 have.offset + have.size < want.offset + want.size) {
        cutDim = dim;
        cut = have.offset + have.size;
      }
    }
    if (!touches || cutDim < 0)
      continue;
    SmallVector<IndexRange, 4> low(box), high(box);
    low[cutDim].size = cut - low[cutDim].offset;
    high[cutDim].size -= low[cutDim].size;
    high[cutDim].offset = cut;
    return isCovered(low, parts) && isCovered(high, parts);
  }
  return false;
}

bool mlir::tile::isLoop(Operation *op) {
  return isa<LoopLikeOpInterface, PipelinedOp, scf::WhileOp>(op) &&
         !isa<ParallelOp>(op);
}

Operation *mlir::tile::getLoopAround(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent && !isa<KernelOp>(parent);
       parent = parent->getParentOp())
    if (isLoop(parent))
      return parent;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

FileLineColLoc mlir::tile::getFileLocation(Location loc) {
  FileLineColLoc result;
  loc->walk([&](Location inner) {
    if (auto range = dyn_cast<FileLineColRange>(inner)) {
      result = FileLineColLoc::get(range.getFilename(), range.getStartLine(),
                                   range.getStartColumn());
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result;
}

std::string mlir::tile::describeForUser(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  if (FileLineColLoc loc = getFileLocation(op->getLoc()))
    text += " (line " + std::to_string(loc.getLine()) + ")";
  return text;
}
