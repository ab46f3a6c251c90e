//===- KernelEmitter.cpp - one kernel as CPU functions ----------*- C++ -*-===//
//
// The entry point reads the parameters and passes every tensor and large buffer
// to a second function as a `noalias` argument, which is what lets LLVM
// vectorise loops over them. That function loops over its blocks.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

/// Buffers up to this size are stack slots, as long as all of them together
/// stay below the second limit.
static constexpr int64_t kStackBufferBytes = 8192, kStackBytes = 65536;
static constexpr int64_t kAlignment = 64;

func::FuncOp tilemlir::cpu::declareRuntimeFunction(OpBuilder &builder,
                                                   Location loc, StringRef name,
                                                   TypeRange inputs,
                                                   TypeRange results) {
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module)
    module = cast<ModuleOp>(builder.getInsertionBlock()->getParentOp());
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  auto function = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType(inputs, results));
  function.setPrivate();
  return function;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void KernelEmitter::requestScratch(Scratch use, int64_t bytes) {
  int64_t &size = scratchBytes[static_cast<int>(use)];
  size = std::max(size, bytes);
}

Value KernelEmitter::scratch(Scratch use) {
  return scratchAddress.lookup(static_cast<int>(use));
}

static int64_t alignUp(int64_t bytes) {
  return llvm::alignTo(bytes, kAlignment);
}

void KernelEmitter::collectMemory() {
  int64_t stackBytes = 0;
  auto inArena = [&](int64_t bytes) {
    if (bytes <= kStackBufferBytes && stackBytes + bytes <= kStackBytes) {
      stackBytes += bytes;
      return false;
    }
    return true;
  };
  kernel.walk([&](AllocOp alloc) {
    BufferType type = alloc.getType();
    int64_t bytes = type.getNumElements() * (type.getElementBits() / 8);
    if (type.isLocal())
      bytes *= threads.count();
    bytes = alignUp(std::max<int64_t>(bytes, 1));
    if (inArena(bytes)) {
      arenaBuffers.push_back({alloc, arenaBytes});
      arenaBytes += bytes;
    }
  });
  for (auto [use, bytes] : scratchBytes)
    if (inArena(bytes)) {
      arenaScratch.push_back({use, arenaBytes});
      arenaBytes += alignUp(bytes);
    }
  llvm::sort(arenaScratch);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Type getParameterType(LaunchParameterAttr parameter, Value scalar,
                             MLIRContext *context) {
  if (parameter.getKind() == ParameterKind::Expr)
    return parameter.getType();
  if (parameter.getKind() == ParameterKind::Scalar)
    return scalar.getType();
  return LLVM::LLVMPointerType::get(context);
}

/// A type of the launch array as LLVM stores it: floats without an LLVM type
/// and booleans as integers.
static Type getStoredType(Type type) {
  if (type.isIntOrFloat() && getElementBits(type) == 8)
    return IntegerType::get(type.getContext(), 8);
  return type;
}

LogicalResult KernelEmitter::emit() {
  FailureOr<KernelSignature> computed = KernelSignature::compute(kernel);
  if (failed(computed))
    return failure();
  signature = std::move(*computed);
  s.setLoc(kernel.getLoc());

  kernel.walk([&](Operation *op) {
    if (auto gemm = dyn_cast<GemmOp>(op))
      requestGemmScratch(gemm);
    if (auto print = dyn_cast<PrintOp>(op))
      if (print.getBuffer())
        requestScratch(Scratch::Text,
                       print.getBuffer().getType().getNumElements() * 8);
  });
  collectMemory();

  // Parameters, three grid extents, arena pieces, first and last block.
  DenseMap<unsigned, Value> scalarOf;
  for (auto &[value, index] : signature.scalars)
    scalarOf[index] = value;
  SmallVector<Type> inputs;
  for (auto [index, parameter] : llvm::enumerate(signature.parameters))
    inputs.push_back(getStoredType(
        getParameterType(parameter, scalarOf.lookup(index), b.getContext())));
  inputs.append(3, b.getI64Type());
  inputs.append(arenaBuffers.size() + arenaScratch.size(), s.pointerType());
  inputs.append(2, b.getI64Type());

  std::string name = getEntryName(kernel);
  auto blocks = func::FuncOp::create(b, kernel.getLoc(), name + "_blocks",
                                     b.getFunctionType(inputs, {}));
  blocks.setPrivate();
  blocks->setAttr("llvm.linkage", LLVM::LinkageAttr::get(
                                      b.getContext(), LLVM::Linkage::Internal));
  bool noalias = OptionsAttr::of(kernel).getFlag("noalias", true);
  for (auto [index, type] : llvm::enumerate(inputs)) {
    if (!isa<LLVM::LLVMPointerType>(type))
      continue;
    bool isArena = index >= signature.parameters.size();
    if (isArena || noalias)
      blocks.setArgAttr(index, "llvm.noalias", b.getUnitAttr());
    if (isArena)
      blocks.setArgAttr(index, "llvm.align", b.getI64IntegerAttr(kAlignment));
  }
  emitEntry(blocks);

  OpBuilder::InsertionGuard guard(b);
  Block *entry = blocks.addEntryBlock();
  b.setInsertionPointToStart(entry);
  bindParameters(blocks);
  unsigned argument = signature.parameters.size();
  Value grid[2] = {entry->getArgument(argument),
                   entry->getArgument(argument + 1)};
  Value first = entry->getArgument(entry->getNumArguments() - 2);
  Value last = entry->getArgument(entry->getNumArguments() - 1);

  LogicalResult result = success();
  auto loop = s.create<scf::ForOp>(first, last, s.i64(1));
  func::ReturnOp::create(b, kernel.getLoc());
  b.setInsertionPointToStart(loop.getBody());
  // Linear block ids run fastest along x.
  Value linear = loop.getInductionVar();
  Value row = s.fold<arith::DivUIOp>(linear, grid[0]);
  Value indices[3] = {s.fold<arith::RemUIOp>(linear, grid[0]),
                      s.fold<arith::RemUIOp>(row, grid[1]),
                      s.fold<arith::DivUIOp>(row, grid[1])};
  for (unsigned axis = 0; axis < 3; ++axis)
    blockIndex[axis] = s.fold<arith::TruncIOp>(b.getI32Type(), indices[axis]);
  for (BlockArgument index : kernel.getBody().getArguments()) {
    mapping.map(index, blockIndex[index.getArgNumber()]);
    wideIndices[index] = indices[index.getArgNumber()];
  }
  result = threads.isSingle() ? emitBlock(*kernel.getBodyBlock())
                              : emitThreadedBlock(*kernel.getBodyBlock());
  return result;
}

void KernelEmitter::emitEntry(func::FuncOp blocks) {
  OpBuilder::InsertionGuard guard(b);
  Type pointer = s.pointerType(), i64 = b.getI64Type();
  auto entry =
      func::FuncOp::create(b, kernel.getLoc(), getEntryName(kernel),
                           b.getFunctionType({pointer, pointer, i64, i64}, {}));
  Block *block = entry.addEntryBlock();
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  ArrayRef<Type> inputs = blocks.getFunctionType().getInputs();
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    Value slot = s.create<LLVM::LoadOp>(
        pointer, s.offset(block->getArgument(0), s.i64(8 * i)), 8);
    unsigned bytes = isa<LLVM::LLVMPointerType>(inputs[i])
                         ? 8
                         : inputs[i].getIntOrFloatBitWidth() / 8;
    arguments.push_back(s.create<LLVM::LoadOp>(inputs[i], slot, bytes));
  }
  for (int64_t axis = 0; axis < 3; ++axis)
    arguments.push_back(s.toI64(s.load(
        s.offset(block->getArgument(1), s.i64(4 * axis)), b.getI32Type())));
  if (arenaBytes > 0) {
    func::FuncOp acquire = declareRuntimeFunction(
        b, kernel.getLoc(), kScratchFunction, {i64}, {pointer});
    Value arena = s.create<func::CallOp>(acquire, ValueRange{s.i64(arenaBytes)})
                      .getResult(0);
    for (auto [value, offset] : arenaBuffers)
      arguments.push_back(s.offset(arena, s.i64(offset)));
    for (auto [use, offset] : arenaScratch)
      arguments.push_back(s.offset(arena, s.i64(offset)));
  }
  arguments.push_back(block->getArgument(2));
  arguments.push_back(block->getArgument(3));
  s.create<func::CallOp>(blocks, arguments);
  func::ReturnOp::create(b, kernel.getLoc());
}

void KernelEmitter::bindParameters(func::FuncOp blocks) {
  auto extent = [&](const TensorExtent &known) {
    return known.parameter ? Value(blocks.getArgument(*known.parameter))
                           : s.i64(known.constant);
  };
  for (auto &[value, binding] : signature.tensors) {
    Storage storage;
    storage.isTensor = true;
    storage.base = blocks.getArgument(binding.pointer);
    storage.elementType = getStorageElementType(value.getType());
    for (const TensorExtent &size : binding.sizes)
      storage.sizes.push_back(extent(size));
    Value bytes = s.i64(storage.elementBytes());
    storage.strides.resize(storage.rank());
    Value stride = bytes;
    for (int64_t axis = storage.rank() - 1; axis >= 0; --axis) {
      if (!binding.strides.empty()) {
        storage.strides[axis] = s.mul(extent(binding.strides[axis]), bytes);
        continue;
      }
      storage.strides[axis] = stride;
      stride = s.mul(stride, storage.sizes[axis]);
    }
    tensors[value] = storage;
  }
  for (auto &[value, parameter] : signature.scalars) {
    Value argument = blocks.getArgument(parameter);
    Type type = value.getType();
    if (type.isInteger(1))
      argument = s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, argument,
                                         s.zero(argument.getType()));
    else if (type.isIndex())
      argument = s.create<arith::IndexCastOp>(type, argument);
    else if (argument.getType() != type)
      argument = s.create<arith::BitcastOp>(type, argument);
    mapping.map(value, argument);
  }

  // Constants of the host half are not parameters.
  kernel.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<arith::ConstantOp>();
          constant && !kernel->isProperAncestor(constant) &&
          !mapping.contains(operand))
        mapping.map(operand, b.clone(*constant)->getResult(0));
  });

  unsigned next = signature.parameters.size() + 3;
  for (auto [alloc, offset] : arenaBuffers)
    buffers[alloc] = blocks.getArgument(next++);
  for (auto [use, offset] : arenaScratch)
    scratchAddress[use] = blocks.getArgument(next++);
  kernel.walk([&](AllocOp alloc) {
    if (buffers.count(alloc))
      return;
    BufferType type = alloc.getType();
    int64_t bytes = type.getNumElements() * (type.getElementBits() / 8);
    if (type.isLocal())
      bytes *= threads.count();
    buffers[alloc] = s.stackSlot(b.getI8Type(), std::max<int64_t>(bytes, 1));
  });
  for (auto [use, bytes] : scratchBytes)
    if (!scratchAddress.count(use))
      scratchAddress[use] = s.stackSlot(b.getI8Type(), bytes);
}

//===----------------------------------------------------------------------===//
// Values and program order
//===----------------------------------------------------------------------===//

Value KernelEmitter::lookupI64(Value original) {
  if (Value wide = wideIndices.lookup(original))
    return wide;
  // Coordinates stay below 2^31, so sums of them do not wrap; distributing the
  // extension shows LLVM that neighbouring indices are neighbouring addresses.
  if (Operation *op = original.getDefiningOp();
      op && original.getType().isInteger(32)) {
    auto reachesLoop = [&](Value value) {
      return wideIndices.count(value) ||
             (value.getDefiningOp() &&
              isa<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()));
    };
    if (isa<arith::AddIOp, arith::SubIOp>(op) &&
        llvm::any_of(op->getOperands(), reachesLoop) &&
        llvm::all_of(op->getOperands(), [&](Value operand) {
          return wideIndices.count(operand) || mapping.contains(operand) ||
                 operand.getDefiningOp<arith::ConstantOp>();
        })) {
      Value lhs = lookupI64(op->getOperand(0));
      Value rhs = lookupI64(op->getOperand(1));
      return isa<arith::AddIOp>(op) ? s.add(lhs, rhs) : s.sub(lhs, rhs);
    }
  }
  if (auto constant = ScalarBuilder::constantOf(original);
      constant && !original.getType().isInteger(1))
    return s.i64(*constant);
  return s.toI64(lookup(original));
}

SmallVector<Value> KernelEmitter::lookupI64(ValueRange originals) {
  SmallVector<Value> result;
  for (Value original : originals)
    result.push_back(lookupI64(original));
  return result;
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emitOperation(&op)))
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitOperation(Operation *op) {
  s.setLoc(op->getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllocOp, SubviewOp, ReshapeOp, BitcastOp, AnnotateLayoutOp,
            AssumeOp, SyncThreadsOp, AsyncCommitOp, AsyncWaitOp>(
          [](Operation *) { return success(); })
      .Case<CopyOp, CopyAsyncOp>([&](auto copy) { return emitCopy(copy); })
      .Case([&](FillOp fill) { return emitFill(fill); })
      .Case([&](GemmOp gemm) { return emitGemm(gemm); })
      .Case([&](ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](ConvertOp convert) { return emitConvert(convert); })
      .Case([&](ParallelOp parallel) { return emitParallel(parallel); })
      .Case([&](PipelinedOp loop) { return emitPipelined(loop); })
      .Case([&](LoadOp load) { return emitLoad(load); })
      .Case([&](StoreOp store) { return emitStore(store); })
      .Case([&](AtomicOp atomic) { return emitAtomic(atomic); })
      .Case([&](PrintOp print) { return emitPrint(print); })
      .Case([&](AssertOp assertion) { return emitAssert(assertion); })
      .Case([&](ThreadIdOp id) {
        mapping.map(id.getResult(), threadId(id.getAxis()));
        return success();
      })
      .Case([&](SmCountOp count) {
        return count.emitOpError("is a value of the host; move it outside of "
                                 "the kernel");
      })
      .Case([&](arith::CmpIOp compare) {
        // A guard that was tested in front of the loop.
        if (provenAccesses.contains(compare))
          mapping.map(compare.getResult(), s.boolean(true));
        else
          b.clone(*compare, mapping);
        return success();
      })
      .Case([&](memref::DimOp dim) -> LogicalResult {
        std::optional<int64_t> axis = dim.getConstantIndex();
        auto tensor = tensors.find(dim.getSource());
        if (!axis || tensor == tensors.end())
          return dim.emitOpError("needs a constant dimension of a kernel "
                                 "argument or workspace");
        mapping.map(dim.getResult(),
                    s.create<arith::IndexCastOp>(b.getIndexType(),
                                                 tensor->second.sizes[*axis]));
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (other->getNumRegions() > 0)
          return emitStructured(other);
        if (llvm::any_of(other->getOperandTypes(),
                         llvm::IsaPred<BufferType, MemRefType>) ||
            llvm::any_of(other->getResultTypes(),
                         llvm::IsaPred<BufferType, MemRefType>))
          return other->emitOpError("has no form on the CPU: buffers and "
                                    "tensors are used by tile operations");
        b.clone(*other, mapping);
        return success();
      });
}

LogicalResult KernelEmitter::emitStructured(Operation *op) {
  if (!isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::IndexSwitchOp,
           scf::ExecuteRegionOp>(op))
    return op->emitOpError("has no form on the CPU: control flow inside of "
                           "kernels is scf.if, scf.for, scf.while, "
                           "scf.index_switch and scf.execute_region");
  Operation *copy = b.cloneWithoutRegions(*op, mapping);
  copy->removeDiscardableAttr("tile.loop_hint");
  for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions()))
    for (Block &block : from) {
      Block *target = new Block();
      to.push_back(target);
      for (BlockArgument argument : block.getArguments())
        mapping.map(argument,
                    target->addArgument(argument.getType(), argument.getLoc()));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(target);
      if (auto loop = dyn_cast<scf::ForOp>(op);
          loop && loop.getInductionVar().getType().isInteger(32))
        wideIndices[loop.getInductionVar()] =
            s.toI64(mapping.lookup(loop.getInductionVar()));
      if (failed(emitBlock(block)))
        return failure();
    }
  return success();
}

LogicalResult KernelEmitter::emitPipelined(PipelinedOp op) {
  auto loop = s.create<scf::ForOp>(lookup(op.getLower()), lookup(op.getUpper()),
                                   s.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  wideIndices[op.getInductionVar()] = s.toI64(loop.getInductionVar());
  return threads.isSingle() ? emitBlock(*op.getBodyBlock())
                            : emitThreadedBlock(*op.getBodyBlock());
}
