//===- Memory.cpp - global, shared and local memory to NVVM -----*- C++ -*-===//
//
// Accesses without a predicate are plain loads and stores, which LLVM can
// combine; predicated ones are inline assembly, because a branch around each
// would keep the scheduler from having several in flight.
//
//===----------------------------------------------------------------------===//
#include "Patterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace tilemlir::to_nvvm;
namespace tile = mlir::tile;
namespace tile_gpu = mlir::tile_gpu;

namespace {

int64_t elementCount(Type registers) {
  auto vector = dyn_cast<VectorType>(registers);
  return vector ? vector.getNumElements() : 1;
}

Type withElement(Type registers, Type element) {
  auto vector = dyn_cast<VectorType>(registers);
  return vector ? Type(vector.clone(element)) : element;
}

/// Bytes in memory to registers: from i8 to i1 where needed.
Value fromMemory(OpBuilder &b, Location loc, Value value, Type registers) {
  if (!getElementTypeOrSelf(registers).isInteger(1))
    return value;
  Value none = LLVM::ConstantOp::create(b, loc, value.getType(),
                                        b.getZeroAttr(value.getType()));
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, value, none);
}

Value toMemory(OpBuilder &b, Location loc, Value value) {
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return value;
  return LLVM::ZExtOp::create(
      b, loc, withElement(value.getType(), b.getI8Type()), value);
}

/// How inline assembly holds `bytes` bytes: words of a type.
struct AsmWords {
  int64_t count = 1;
  unsigned bits = 32;
  const char *constraint = "r";
  std::string suffix; // .v4.b32
};

AsmWords wordsFor(int64_t bytes) {
  AsmWords words;
  if (bytes >= 4) {
    words.count = bytes / 4;
    words.suffix =
        words.count > 1 ? ".v" + std::to_string(words.count) + ".b32" : ".b32";
    return words;
  }
  words.bits = 16;
  words.constraint = "h";
  words.suffix = bytes == 2 ? ".b16" : ".b8";
  return words;
}

std::string wordList(int64_t count, int64_t first) {
  if (count == 1)
    return "$" + std::to_string(first);
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// `space` is "global" or "shared"; the pointer is passed as
/// `pointerConstraint`.
Value predicatedLoad(OpBuilder &b, Location loc, Type registers, Value pointer,
                     Value predicate, StringRef instruction,
                     StringRef pointerConstraint, bool readOnly) {
  Type element = memoryType(getElementTypeOrSelf(registers));
  int64_t count = elementCount(registers);
  int64_t bytes =
      count * std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
  AsmWords words = wordsFor(bytes);
  std::string text, constraints;
  for (int64_t i = 0; i < words.count; ++i) {
    text += "mov.b" + std::to_string(words.bits) + " $" + std::to_string(i) +
            ", 0;\n\t";
    constraints += std::string(i ? "," : "") + "=&" + words.constraint;
  }
  text += "@$" + std::to_string(words.count + 1) + " " + instruction.str() +
          words.suffix + " " + wordList(words.count, 0) + ", [$" +
          std::to_string(words.count) + "];";
  constraints += "," + pointerConstraint.str() + ",b";
  if (!readOnly)
    constraints += ",~{memory}";
  Type word = b.getIntegerType(words.bits);
  SmallVector<Type> types(words.count, word);
  Type result = words.count == 1
                    ? word
                    : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value loaded =
      inlineAsm(b, loc, result, text, constraints, {pointer, predicate}, true);
  // To the registers' type.
  Type flat = IntegerType::get(b.getContext(), bytes * 8);
  if (words.count > 1) {
    Type vectorType = VectorType::get({words.count}, word);
    Value vector = LLVM::PoisonOp::create(b, loc, vectorType);
    for (int64_t i = 0; i < words.count; ++i)
      vector = LLVM::InsertElementOp::create(
          b, loc, vector, LLVM::ExtractValueOp::create(b, loc, loaded, i),
          constant32(b, loc, i));
    loaded = vector;
  } else if (words.bits != bytes * 8) {
    loaded = LLVM::TruncOp::create(b, loc, flat, loaded);
  }
  Type target = withElement(registers, element);
  if (loaded.getType() != target)
    loaded = LLVM::BitcastOp::create(b, loc, target, loaded);
  return fromMemory(b, loc, loaded, registers);
}

void predicatedStore(OpBuilder &b, Location loc, Value value, Value pointer,
                     Value predicate, StringRef instruction,
                     StringRef pointerConstraint) {
  value = toMemory(b, loc, value);
  Type element = getElementTypeOrSelf(value.getType());
  int64_t bytes = elementCount(value.getType()) *
                  std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
  AsmWords words = wordsFor(bytes);
  Type word = b.getIntegerType(words.bits);
  SmallVector<Value> operands{pointer};
  if (words.count > 1) {
    Type vectorType = VectorType::get({words.count}, word);
    if (value.getType() != vectorType)
      value = LLVM::BitcastOp::create(b, loc, vectorType, value);
    for (int64_t i = 0; i < words.count; ++i)
      operands.push_back(
          LLVM::ExtractElementOp::create(b, loc, value, constant32(b, loc, i)));
  } else {
    Type flat = IntegerType::get(b.getContext(), bytes * 8);
    if (value.getType() != flat)
      value = LLVM::BitcastOp::create(b, loc, flat, value);
    if (flat != word)
      value = LLVM::ZExtOp::create(b, loc, word, value);
    operands.push_back(value);
  }
  operands.push_back(predicate);
  std::string constraints = pointerConstraint.str();
  for (int64_t i = 0; i < words.count; ++i)
    constraints += std::string(",") + words.constraint;
  constraints += ",b,~{memory}";
  std::string text = "@$" + std::to_string(words.count + 1) + " " +
                     instruction.str() + words.suffix + " [$0], " +
                     wordList(words.count, 1) + ";";
  inlineAsm(b, loc, Type(), text, constraints, operands, true);
}

/// Never written while the kernel runs: a readonly parameter without aliases.
bool isReadOnly(Value pointer) {
  auto argument = dyn_cast<BlockArgument>(pointer);
  if (!argument)
    return false;
  auto function =
      dyn_cast<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return false;
  unsigned index = argument.getArgNumber();
  return function.getArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName()) &&
         function.getArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName());
}

StringRef hintSuffix(tile_gpu::CacheHint hint) {
  switch (hint) {
  case tile_gpu::CacheHint::None:
    return "";
  case tile_gpu::CacheHint::EvictFirst:
    return ".L1::evict_first";
  case tile_gpu::CacheHint::EvictLast:
    return ".L1::evict_last";
  }
  llvm_unreachable("unknown cache hint");
}

struct TensorPattern : LoweringPattern<tile_gpu::TensorOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::TensorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getPointer());
    return success();
  }
};

struct GlobalLoadPattern : LoweringPattern<tile_gpu::GlobalLoadOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::GlobalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type registers = getTypeConverter()->convertType(op.getResult().getType());
    Type element = getElementTypeOrSelf(registers);
    Value pointer = globalPointer(rewriter, loc, adaptor.getTensor(), element,
                                  adaptor.getOffset());
    bool readOnly = isReadOnly(adaptor.getTensor());
    if (adaptor.getPredicate() || op.getCache() != tile_gpu::CacheHint::None) {
      Value predicate = adaptor.getPredicate();
      if (!predicate)
        predicate = LLVM::ConstantOp::create(
            rewriter, loc, rewriter.getI1Type(), rewriter.getBoolAttr(true));
      std::string instruction = "ld.global";
      if (readOnly)
        instruction += ".nc";
      instruction += hintSuffix(op.getCache());
      rewriter.replaceOp(op,
                         predicatedLoad(rewriter, loc, registers, pointer,
                                        predicate, instruction, "l", readOnly));
      return success();
    }
    auto load = LLVM::LoadOp::create(
        rewriter, loc, withElement(registers, memoryType(element)), pointer,
        op.getAlignment().value_or(0));
    load.setInvariant(readOnly);
    rewriter.replaceOp(op, fromMemory(rewriter, loc, load, registers));
    return success();
  }
};

struct GlobalStorePattern : LoweringPattern<tile_gpu::GlobalStoreOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::GlobalStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value value = adaptor.getValue();
    Value pointer = globalPointer(rewriter, loc, adaptor.getTensor(),
                                  getElementTypeOrSelf(value.getType()),
                                  adaptor.getOffset());
    if (adaptor.getPredicate() || op.getCache() != tile_gpu::CacheHint::None) {
      Value predicate = adaptor.getPredicate();
      if (!predicate)
        predicate = LLVM::ConstantOp::create(
            rewriter, loc, rewriter.getI1Type(), rewriter.getBoolAttr(true));
      predicatedStore(rewriter, loc, value, pointer, predicate,
                      ("st.global" + hintSuffix(op.getCache())).str(), "l");
      rewriter.eraseOp(op);
      return success();
    }
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(
        op, toMemory(rewriter, loc, value), pointer,
        op.getAlignment().value_or(0));
    return success();
  }
};

struct SharedLoadPattern : LoweringPattern<tile_gpu::SharedLoadOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::SharedLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type registers = getTypeConverter()->convertType(op.getResult().getType());
    Value pointer = sharedPointer(rewriter, loc, adaptor.getAddress(),
                                  static_cast<int32_t>(op.getOffset()));
    if (adaptor.getPredicate()) {
      rewriter.replaceOp(op, predicatedLoad(rewriter, loc, registers, pointer,
                                            adaptor.getPredicate(), "ld.shared",
                                            "r", false));
      return success();
    }
    Type element = memoryType(getElementTypeOrSelf(registers));
    auto load =
        LLVM::LoadOp::create(rewriter, loc, withElement(registers, element),
                             pointer, op.getAlignment().value_or(0));
    rewriter.replaceOp(op, fromMemory(rewriter, loc, load, registers));
    return success();
  }
};

struct SharedStorePattern : LoweringPattern<tile_gpu::SharedStoreOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::SharedStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value pointer = sharedPointer(rewriter, loc, adaptor.getAddress(),
                                  static_cast<int32_t>(op.getOffset()));
    if (adaptor.getPredicate()) {
      predicatedStore(rewriter, loc, adaptor.getValue(), pointer,
                      adaptor.getPredicate(), "st.shared", "r");
      rewriter.eraseOp(op);
      return success();
    }
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(
        op, toMemory(rewriter, loc, adaptor.getValue()), pointer,
        op.getAlignment().value_or(0));
    return success();
  }
};

struct AsyncCopyPattern : LoweringPattern<tile_gpu::AsyncCopyOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::AsyncCopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = getTypeConverter()->convertType(tile::getScalarType(
        cast<MemRefType>(op.getTensor().getType()).getElementType()));
    Value source = globalPointer(rewriter, loc, adaptor.getTensor(), element,
                                 adaptor.getSourceOffset());
    Value dest = sharedPointer(rewriter, loc, adaptor.getAddress(),
                               static_cast<int32_t>(op.getOffset()));
    if (!adaptor.getPredicate()) {
      rewriter.replaceOpWithNewOp<NVVM::CpAsyncOp>(
          op, dest, source, op.getBytes(),
          op.getBypassL1() ? NVVM::LoadCacheModifierKind::CG
                           : NVVM::LoadCacheModifierKind::CA,
          adaptor.getValid());
      return success();
    }
    std::string bytes = std::to_string(op.getBytes());
    std::string text = std::string("cp.async.") +
                       (op.getBypassL1() ? "cg" : "ca") +
                       ".shared.global [$0], [$1], " + bytes;
    SmallVector<Value> operands{dest, source};
    std::string constraints = "r,l";
    if (adaptor.getValid()) {
      text += ", $2";
      operands.push_back(adaptor.getValid());
      constraints += ",r";
    }
    text = "@$" + std::to_string(operands.size()) + " " + text + ";";
    operands.push_back(adaptor.getPredicate());
    inlineAsm(rewriter, loc, Type(), text, constraints + ",b,~{memory}",
              operands, true);
    rewriter.eraseOp(op);
    return success();
  }
};

LLVM::AtomicBinOp atomicOperation(tile::AtomicKind kind, Type type,
                                  bool isUnsigned) {
  bool real = isa<FloatType>(type);
  switch (kind) {
  case tile::AtomicKind::Add:
    return real ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  case tile::AtomicKind::Max:
    return real         ? LLVM::AtomicBinOp::fmax
           : isUnsigned ? LLVM::AtomicBinOp::umax
                        : LLVM::AtomicBinOp::max;
  case tile::AtomicKind::Min:
    return real         ? LLVM::AtomicBinOp::fmin
           : isUnsigned ? LLVM::AtomicBinOp::umin
                        : LLVM::AtomicBinOp::min;
  case tile::AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case tile::AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case tile::AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case tile::AtomicKind::Exchange:
    return LLVM::AtomicBinOp::xchg;
  }
  llvm_unreachable("unknown atomic");
}

bool isAcquire(tile::MemoryOrder order) {
  return order == tile::MemoryOrder::Acquire ||
         order == tile::MemoryOrder::AcqRel;
}

bool isRelease(tile::MemoryOrder order) {
  return order == tile::MemoryOrder::Release ||
         order == tile::MemoryOrder::AcqRel;
}

/// Does `op` leave what is in memory as it is?
template <typename Op> bool isIdempotent(Op op) {
  if (op.getKind() != tile::AtomicKind::Or &&
      op.getKind() != tile::AtomicKind::Add)
    return false;
  return matchPattern(op.getValue(), m_Zero()) ||
         matchPattern(op.getValue(), m_AnyZeroFloat());
}

/// Predicates of atomics have become control flow before. The backend drops the
/// order of read-modify-writes, so that it is stated by fences; loads and
/// stores have orders of their own.
template <typename Op>
LogicalResult rewriteAtomic(Op op, Value pointer, Value value, StringRef scope,
                            ConversionPatternRewriter &rewriter) {
  Location loc = op.getLoc();
  tile::MemoryOrder order = op.getMemoryOrder();
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  bool isNative = bits == 32 || bits == 64;
  if (isNative && op.getResult() && !isRelease(order) && isIdempotent(op)) {
    rewriter.replaceOp(
        op,
        LLVM::LoadOp::create(rewriter, loc, value.getType(), pointer,
                             /*alignment=*/bits / 8, /*isVolatile=*/false,
                             /*isNonTemporal=*/false, /*isInvariant=*/false,
                             /*isInvariantGroup=*/false,
                             isAcquire(order) ? LLVM::AtomicOrdering::acquire
                                              : LLVM::AtomicOrdering::monotonic,
                             scope)
            .getResult());
    return success();
  }
  if (isNative && !op.getResult() && !isAcquire(order) &&
      op.getKind() == tile::AtomicKind::Exchange) {
    LLVM::StoreOp::create(rewriter, loc, value, pointer,
                          /*alignment=*/bits / 8, /*isVolatile=*/false,
                          /*isNonTemporal=*/false, /*isInvariantGroup=*/false,
                          isRelease(order) ? LLVM::AtomicOrdering::release
                                           : LLVM::AtomicOrdering::monotonic,
                          scope);
    rewriter.eraseOp(op);
    return success();
  }
  if (isRelease(order))
    LLVM::FenceOp::create(rewriter, loc, LLVM::AtomicOrdering::release, scope);
  auto atomic = LLVM::AtomicRMWOp::create(
      rewriter, loc,
      atomicOperation(op.getKind(), value.getType(), op.getIsUnsigned()),
      pointer, value, LLVM::AtomicOrdering::monotonic, scope);
  if (isAcquire(order))
    LLVM::FenceOp::create(rewriter, loc, LLVM::AtomicOrdering::acquire, scope);
  if (op.getResult())
    rewriter.replaceOp(op, atomic.getRes());
  else
    rewriter.eraseOp(op);
  return success();
}

struct GlobalAtomicPattern : LoweringPattern<tile_gpu::GlobalAtomicOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::GlobalAtomicOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value pointer =
        globalPointer(rewriter, op.getLoc(), adaptor.getTensor(),
                      adaptor.getValue().getType(), adaptor.getOffset());
    return rewriteAtomic(op, pointer, adaptor.getValue(), "device", rewriter);
  }
};

struct SharedAtomicPattern : LoweringPattern<tile_gpu::SharedAtomicOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(tile_gpu::SharedAtomicOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value pointer = sharedPointer(rewriter, op.getLoc(), adaptor.getAddress(),
                                  static_cast<int32_t>(op.getOffset()));
    return rewriteAtomic(op, pointer, adaptor.getValue(), "block", rewriter);
  }
};

//===----------------------------------------------------------------------===//
// Local memory: rank-1 memrefs in private space
//===----------------------------------------------------------------------===//

struct AllocaPattern : LoweringPattern<memref::AllocaOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(memref::AllocaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    if (!type.hasStaticShape() || type.getRank() != 1)
      return rewriter.notifyMatchFailure(
          op, "local buffers have one static dimension");
    Type element =
        memoryType(getTypeConverter()->convertType(type.getElementType()));
    Value count = constant32(rewriter, op.getLoc(),
                             std::max<int64_t>(1, type.getNumElements()));
    rewriter.replaceOpWithNewOp<LLVM::AllocaOp>(
        op, LLVM::LLVMPointerType::get(rewriter.getContext()), element, count);
    return success();
  }
};

template <typename Op, typename Adaptor>
Value localPointer(Op op, Adaptor adaptor, Type element,
                   ConversionPatternRewriter &rewriter) {
  Value base = adaptor.getMemref();
  return LLVM::GEPOp::create(rewriter, op.getLoc(), base.getType(), element,
                             base, adaptor.getIndices());
}

struct LocalLoadPattern : LoweringPattern<memref::LoadOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type registers = getTypeConverter()->convertType(op.getType());
    Type element = memoryType(registers);
    Value pointer = localPointer(op, adaptor, element, rewriter);
    Value loaded =
        LLVM::LoadOp::create(rewriter, op.getLoc(), element, pointer);
    rewriter.replaceOp(op,
                       fromMemory(rewriter, op.getLoc(), loaded, registers));
    return success();
  }
};

struct LocalStorePattern : LoweringPattern<memref::StoreOp> {
  using LoweringPattern::LoweringPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value value = toMemory(rewriter, op.getLoc(), adaptor.getValue());
    Value pointer = localPointer(op, adaptor, value.getType(), rewriter);
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, value, pointer);
    return success();
  }
};

} // namespace

void tilemlir::to_nvvm::populateMemoryPatterns(const Lowering &lowering,
                                               RewritePatternSet &patterns) {
  patterns.add<TensorPattern, GlobalLoadPattern, GlobalStorePattern,
               SharedLoadPattern, SharedStorePattern, AsyncCopyPattern,
               GlobalAtomicPattern, SharedAtomicPattern, AllocaPattern,
               LocalLoadPattern, LocalStorePattern>(lowering);
}
