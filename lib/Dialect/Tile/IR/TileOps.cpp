//===- TileOps.cpp - operations of the `tile` dialect -----------*- C++ -*-===//
//
// Verifiers, folders and names of the operations.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileOps.cpp.inc"

static std::string describe(ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(sizes, os);
  os << ']';
  return text;
}

/// Block arguments of a kernel or loop body must all be i32.
static LogicalResult verifyIndexArguments(Operation *op, Region &body,
                                          size_t expected, StringRef what) {
  if (body.getNumArguments() != expected)
    return op->emitOpError() << "has " << expected << " " << what << " but "
                             << body.getNumArguments() << " block arguments";
  for (BlockArgument argument : body.getArguments())
    if (!argument.getType().isInteger(32))
      return op->emitOpError("block arguments must be i32, found ")
             << argument.getType();
  return success();
}

static void nameArguments(Region &region, ArrayRef<StringRef> names,
                          OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  nameArguments(region, {"bx", "by", "bz"}, setName);
}

LogicalResult KernelOp::verify() {
  size_t rank = getGrid().size();
  if (rank < 1 || rank > 3)
    return emitOpError("a grid has one to three extents, found ") << rank;
  int64_t threads = getThreads();
  if (threads < 1 || threads > 1024)
    return emitOpError("a block has 1 to 1024 threads, found ") << threads;
  if (auto shape = getThreadShape()) {
    int64_t product = 1;
    for (int64_t extent : *shape)
      product *= extent;
    if (shape->empty() || shape->size() > 3 || product != threads)
      return emitOpError("thread_shape ")
             << describe(*shape) << " does not multiply to " << threads
             << " threads";
  }
  if (auto cluster = getCluster()) {
    int64_t product = 1;
    for (int64_t extent : *cluster) {
      if (extent < 1)
        return emitOpError("cluster extents must be positive, found ")
               << describe(*cluster);
      product *= extent;
    }
    if (cluster->size() > 3 || product > 16)
      return emitOpError("a cluster has up to three extents and 16 blocks, "
                         "found ")
             << describe(*cluster);
  }
  if ((*this)->getParentOfType<KernelOp>())
    return emitOpError("kernels cannot be nested");
  return verifyIndexArguments(*this, getBody(), rank, "grid extents");
}

LogicalResult WorkspaceOp::verify() {
  auto type = cast<MemRefType>(getType());
  if (type.getNumDynamicDims() !=
      static_cast<int64_t>(getDynamicSizes().size()))
    return emitOpError("has ")
           << getDynamicSizes().size() << " sizes for "
           << type.getNumDynamicDims() << " dynamic extents";
  if (getKernel(*this))
    return emitOpError("is allocated by the host, outside of kernels");
  if (getZero() && getKept())
    return emitOpError("cannot be filled with zeros at every call and keep its "
                       "contents");
  return success();
}

//===----------------------------------------------------------------------===//
// Storage and views
//===----------------------------------------------------------------------===//

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getName())
    setName(getResult(), *getName());
}

LogicalResult AllocOp::verify() {
  if (!getKernel(*this))
    return emitOpError("buffers are allocated inside of tile.kernel");
  return success();
}

LogicalResult AnnotateLayoutOp::verify() {
  BufferType type = getBuffer().getType();
  return BufferType::verify([&] { return emitOpError(); }, type.getShape(),
                            type.getElementType(), type.getSpace(),
                            getLayout());
}

static LogicalResult verifyView(Operation *op, BufferType source,
                                BufferType result) {
  if (source.getSpace() != result.getSpace())
    return op->emitOpError("a view stays in the space of its source, found ")
           << source << " and " << result;
  if (result.getLayout())
    return op->emitOpError("a view takes the layout of its allocation and "
                           "carries none, found ")
           << result;
  return success();
}

LogicalResult SubviewOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (failed(verifyView(*this, source, result)))
    return failure();
  if (source.getElementType() != result.getElementType())
    return emitOpError("keeps the element type, found ")
           << source.getElementType() << " and " << result.getElementType();
  size_t rank = source.getRank();
  if (getOffsets().size() != rank || getSizes().size() != rank)
    return emitOpError("needs one offset and one size for each of the ")
           << rank << " dimensions, found " << getOffsets().size() << " and "
           << getSizes().size();
  for (auto [dim, offset, size] : llvm::enumerate(getOffsets(), getSizes())) {
    int64_t extent = source.getShape()[dim];
    APInt constant;
    int64_t start = matchPattern(offset, m_ConstantInt(&constant))
                        ? constant.getSExtValue()
                        : 0;
    if (size < 1 || start < 0 || start + size > extent)
      return emitOpError("part [")
             << start << ", " << start + size << ") leaves dimension " << dim
             << " of extent " << extent;
  }
  if (dropUnitSizes(getSizes()) != dropUnitSizes(result.getShape()))
    return emitOpError("sizes ")
           << describe(getSizes()) << " do not give shape "
           << describe(result.getShape());
  return success();
}

OpFoldResult SubviewOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() != getType())
    return {};
  return llvm::all_of(
             adaptor.getOffsets(),
             [](Attribute offset) { return matchPattern(offset, m_Zero()); })
             ? OpFoldResult(getSource())
             : OpFoldResult();
}

LogicalResult ReshapeOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (failed(verifyView(*this, source, result)))
    return failure();
  if (source.getElementType() != result.getElementType() ||
      source.getNumElements() != result.getNumElements())
    return emitOpError("keeps the elements, found ")
           << source << " and " << result;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<ReshapeOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

LogicalResult BitcastOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (failed(verifyView(*this, source, result)))
    return failure();
  if (source.getRank() != result.getRank() || source.getRank() == 0 ||
      source.getShape().drop_back() != result.getShape().drop_back() ||
      source.getShape().back() * source.getElementBits() !=
          result.getShape().back() * result.getElementBits())
    return emitOpError("keeps the bytes of every row, found ")
           << source << " and " << result;
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? OpFoldResult(getSource())
                                            : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

static LogicalResult verifySide(Operation *op, StringRef side, Value storage,
                                OperandRange offsets, ArrayRef<int64_t> sizes) {
  size_t rank = getStorageRank(storage.getType());
  if (offsets.size() != rank || sizes.size() != rank)
    return op->emitOpError()
           << side << " of rank " << rank
           << " needs as many offsets and sizes, "
           << "found " << offsets.size() << " and " << sizes.size();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size < 1)
      return op->emitOpError()
             << side << " sizes must be at least 1, found " << describe(sizes);
    auto buffer = dyn_cast<BufferType>(storage.getType());
    if (!buffer)
      continue;
    APInt constant;
    int64_t start = matchPattern(offsets[dim], m_ConstantInt(&constant))
                        ? constant.getSExtValue()
                        : 0;
    if (start < 0 || start + size > buffer.getShape()[dim])
      return op->emitOpError() << side << " part [" << start << ", "
                               << start + size << ") leaves dimension " << dim
                               << " of extent " << buffer.getShape()[dim];
  }
  return success();
}

template <typename OpT> static LogicalResult verifyCopy(OpT op) {
  if (failed(verifySide(op, "source", op.getSource(), op.getSourceOffsets(),
                        op.getSourceSizes())) ||
      failed(verifySide(op, "destination", op.getDest(), op.getDestOffsets(),
                        op.getDestSizes())))
    return failure();
  if (dropUnitSizes(op.getSourceSizes()) != dropUnitSizes(op.getDestSizes()))
    return op.emitOpError("copies ")
           << describe(op.getSourceSizes()) << " to "
           << describe(op.getDestSizes()) << ", which differ in shape";
  Type element = getScalarType(getStorageElementType(op.getSource().getType()));
  if (op.getSafeAttr() && op.getSafeAttr().getType() != element)
    return op.emitOpError("safe value has type ")
           << op.getSafeAttr().getType() << ", expected " << element;
  return success();
}

LogicalResult CopyOp::verify() { return verifyCopy(*this); }

LogicalResult CopyAsyncOp::verify() {
  if (failed(verifyCopy(*this)))
    return failure();
  bool fromTensor = isa<MemRefType>(getSource().getType());
  Value shared = fromTensor ? getDest() : getSource();
  auto buffer = dyn_cast<BufferType>(shared.getType());
  bool toTensor = isa<MemRefType>(getDest().getType());
  if (fromTensor == toTensor || !buffer || !buffer.isShared())
    return emitOpError("copies between a tensor and shared memory, found ")
           << getSource().getType() << " to " << getDest().getType();
  if (getStorageElementType(getSource().getType()) !=
      getStorageElementType(getDest().getType()))
    return emitOpError("does not convert, found ")
           << getStorageElementType(getSource().getType()) << " and "
           << getStorageElementType(getDest().getType());
  if (!getBarrier() != !getBarrierIndex())
    return emitOpError("needs a barrier and its index, or neither");
  if (getBarrier() && toTensor)
    return emitOpError("to a tensor completes with tile.bulk_wait, not on a "
                       "barrier");
  return success();
}

namespace {
/// A copy of a whole buffer onto itself does nothing.
struct RemoveSelfCopy : OpRewritePattern<CopyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CopyOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getSource() != op.getDest() ||
        op.getSourceOffsets() != op.getDestOffsets() ||
        op.getSourceSizes() != op.getDestSizes())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void CopyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<RemoveSelfCopy>(context);
}

LogicalResult FillOp::verify() {
  if (getValue().getType() != getDest().getType().getScalarType())
    return emitOpError("value has type ")
           << getValue().getType() << ", expected "
           << getDest().getType().getScalarType();
  return success();
}

//===----------------------------------------------------------------------===//
// Gemm and reductions
//===----------------------------------------------------------------------===//

template <typename OpT>
static FailureOr<std::pair<int64_t, int64_t>>
getMatrixShape(OpT op, StringRef operand, BufferType type) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() < 2 ||
      llvm::any_of(shape.drop_back(2), [](int64_t size) { return size != 1; }))
    return op.emitOpError("operand ")
           << operand << " must be a matrix, found shape " << describe(shape);
  return std::make_pair(shape[shape.size() - 2], shape.back());
}

template <typename OpT> static int64_t getRows(OpT op) {
  ArrayRef<int64_t> shape = op.getC().getType().getShape();
  return shape[shape.size() - 2];
}
template <typename OpT> static int64_t getDepth(OpT op) {
  ArrayRef<int64_t> shape = op.getA().getType().getShape();
  return op.getTransposeA() ? shape[shape.size() - 2] : shape.back();
}

int64_t GemmOp::getM() { return getRows(*this); }
int64_t GemmOp::getN() { return getC().getType().getShape().back(); }
int64_t GemmOp::getK() { return getDepth(*this); }
int64_t GemmAsyncOp::getM() { return getRows(*this); }
int64_t GemmAsyncOp::getN() { return getC().getType().getShape().back(); }
int64_t GemmAsyncOp::getK() { return getDepth(*this); }

template <typename OpT> static LogicalResult verifyGemm(OpT op) {
  auto a = getMatrixShape(op, "A", op.getA().getType());
  auto b = getMatrixShape(op, "B", op.getB().getType());
  auto c = getMatrixShape(op, "C", op.getC().getType());
  if (failed(a) || failed(b) || failed(c))
    return failure();
  if (op.getTransposeA())
    std::swap(a->first, a->second);
  if (op.getTransposeB())
    std::swap(b->first, b->second);
  if (a->first != c->first || b->second != c->second || a->second != b->first)
    return op.emitOpError("operands do not match: A is ")
           << a->first << "x" << a->second << ", B is " << b->first << "x"
           << b->second << ", C is " << c->first << "x" << c->second;
  Type aType = op.getA().getType().getElementType();
  Type bType = op.getB().getType().getElementType();
  Type cType = op.getC().getType().getElementType();
  bool isFloat = isa<FloatType>(aType);
  if (isa<FloatType>(bType) != isFloat || isa<FloatType>(cType) != isFloat)
    return op.emitOpError("mixes integers and floats: ")
           << aType << ", " << bType << ", " << cType;
  if (getElementBits(aType) != getElementBits(bType))
    return op.emitOpError("A and B differ in element size: ")
           << aType << " and " << bType;
  return success();
}

LogicalResult GemmOp::verify() { return verifyGemm(*this); }

LogicalResult GemmAsyncOp::verify() {
  if (!getC().getType().isFragment())
    return emitOpError("accumulates into a fragment, found ")
           << getC().getType();
  return verifyGemm(*this);
}

LogicalResult ReduceOp::verify() {
  ArrayRef<int64_t> source = getSource().getType().getShape();
  ArrayRef<int64_t> dest = getDest().getType().getShape();
  if (getDim() < 0 || getDim() >= static_cast<int64_t>(source.size()))
    return emitOpError("dimension ")
           << getDim() << " of a buffer of rank " << source.size();
  SmallVector<int64_t> kept(source), dropped;
  kept[getDim()] = 1;
  for (auto [dim, size] : llvm::enumerate(source))
    if (static_cast<int64_t>(dim) != static_cast<int64_t>(getDim()))
      dropped.push_back(size);
  bool rankOne = source.size() == 1 && dest.size() == 1 && dest[0] == 1;
  if (dest != ArrayRef<int64_t>(kept) && dest != ArrayRef<int64_t>(dropped) &&
      !rankOne)
    return emitOpError("reduces ")
           << describe(source) << " along dimension " << getDim() << " to "
           << describe(dest) << ", expected " << describe(dropped) << " or "
           << describe(kept);
  bool bits = getKind() == ReduceKind::BitAnd ||
              getKind() == ReduceKind::BitOr || getKind() == ReduceKind::BitXor;
  if (bits && !isa<IntegerType>(getSource().getType().getElementType()))
    return emitOpError("bitwise reductions need integers, found ")
           << getSource().getType().getElementType();
  return success();
}

LogicalResult ConvertOp::verify() {
  BufferType source = getSource().getType(), dest = getDest().getType();
  if (source.getShape() != dest.getShape() ||
      source.getElementType() != dest.getElementType())
    return emitOpError("keeps shape and element type, found ")
           << source << " and " << dest;
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ParallelOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  nameArguments(region, {"i", "j", "k", "l"}, setName);
}

LogicalResult ParallelOp::verify() {
  size_t dynamic = llvm::count(getStaticExtents(), ShapedType::kDynamic);
  if (dynamic != getExtents().size())
    return emitOpError("has ") << getExtents().size() << " operands for "
                               << dynamic << " dynamic extents";
  for (int64_t extent : getStaticExtents())
    if (extent < 0 && extent != ShapedType::kDynamic)
      return emitOpError("extents must not be negative, found ") << extent;
  WalkResult result = getBody().walk([&](Operation *inner) {
    if (isa<ParallelOp, PipelinedOp, CopyOp, CopyAsyncOp, GemmOp, FillOp,
            ReduceOp, ConvertOp, SyncThreadsOp, AllocOp, KernelOp>(inner)) {
      InFlightDiagnostic error = inner->emitOpError(
          "is collective and cannot be inside of tile.parallel");
      error.attachNote(getLoc()) << "the parallel loop is here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return verifyIndexArguments(*this, getBody(), getStaticExtents().size(),
                              "extents");
}

void PipelinedOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameArguments(region, {"k"}, setName);
}

LogicalResult PipelinedOp::verify() {
  int64_t stages = getNumStages();
  if (stages < 0)
    return emitOpError("num_stages must not be negative, found ") << stages;
  if (getStage().has_value() != getOrder().has_value() ||
      (getStage() && getStage()->size() != getOrder()->size()))
    return emitOpError("stage and order must be given together and have the "
                       "same length");
  return verifyIndexArguments(*this, getBody(), 1, "induction variable");
}

//===----------------------------------------------------------------------===//
// Element access
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccess(Operation *op, Value storage, size_t indices,
                                  Type value) {
  size_t rank = getStorageRank(storage.getType());
  if (indices != rank)
    return op->emitOpError("has ")
           << indices << " indices for a storage of rank " << rank;
  Type element = getScalarType(getStorageElementType(storage.getType()));
  if (value && value != element)
    return op->emitOpError("value has type ")
           << value << ", expected " << element;
  return success();
}

LogicalResult LoadOp::verify() {
  if (getSafeAttr() && getSafeAttr().getType() != getType())
    return emitOpError("safe value has type ")
           << getSafeAttr().getType() << ", expected " << getType();
  return verifyAccess(*this, getSource(), getIndices().size(), getType());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getDest(), getIndices().size(),
                      getValue().getType());
}

LogicalResult AtomicOp::verify() {
  if (auto buffer = dyn_cast<BufferType>(getDest().getType()))
    if (!buffer.isShared())
      return emitOpError("acts on global or shared memory, found ") << buffer;
  if (getResult() && getResult().getType() != getValue().getType())
    return emitOpError("yields the type of its value, found ")
           << getResult().getType();
  bool bits = getKind() == AtomicKind::And || getKind() == AtomicKind::Or ||
              getKind() == AtomicKind::Xor;
  if (bits && !getValue().getType().isInteger())
    return emitOpError("bitwise atomics need integers, found ")
           << getValue().getType();
  return verifyAccess(*this, getDest(), getIndices().size(),
                      getValue().getType());
}
