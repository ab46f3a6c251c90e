//===- EmitAccess.cpp - element access, atomics, diagnostics ----*- C++ -*-===//
//
// Loads and stores of elements, read-modify-write on memory shared by the
// threads of the host, prints and assertions.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace tilemlir::cpu;

bool KernelEmitter::needsTest(Operation *op, std::optional<Bounds> bounds) {
  return bounds != Bounds::Full && !provenAccesses.contains(op) &&
         !OptionsAttr::of(kernel).getFlag("disable_bounds_checks", false);
}

LogicalResult KernelEmitter::emitLoad(LoadOp op) {
  Storage storage = getStorage(op.getSource());
  SmallVector<Value> indices = lookupI64(op.getIndices());
  auto load = [&] { return loadElement(storage, indices); };
  Value value;
  if (storage.isTensor && needsTest(op, op.getBounds()))
    value = s.choose(insideTensor(storage, indices), op.getType(), load, [&] {
      return safeValue(op.getSafeAttr(), storage.elementType);
    });
  else
    value = load();
  mapping.map(op.getResult(), value);
  return success();
}

LogicalResult KernelEmitter::emitStore(StoreOp op) {
  Storage storage = getStorage(op.getDest());
  SmallVector<Value> indices = lookupI64(op.getIndices());
  auto store = [&] { storeElement(storage, indices, lookup(op.getValue())); };
  if (storage.isTensor && needsTest(op, op.getBounds()))
    s.guard(insideTensor(storage, indices), store);
  else
    store();
  return success();
}

//===----------------------------------------------------------------------===//
// Atomics
//===----------------------------------------------------------------------===//

static LLVM::AtomicOrdering getOrdering(MemoryOrder order) {
  switch (order) {
  case MemoryOrder::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case MemoryOrder::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case MemoryOrder::Release:
    return LLVM::AtomicOrdering::release;
  case MemoryOrder::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  }
  llvm_unreachable("all orders are handled");
}

/// The single instruction for a kind; nothing when it needs a loop.
static std::optional<LLVM::AtomicBinOp> getInstruction(AtomicOp op, Type type) {
  bool isInteger = isa<IntegerType>(type) && !type.isInteger(1);
  if (!isInteger)
    return std::nullopt;
  bool isUnsigned = op.getIsUnsigned();
  switch (op.getKind()) {
  case AtomicKind::Add:
    return LLVM::AtomicBinOp::add;
  case AtomicKind::Max:
    return isUnsigned ? LLVM::AtomicBinOp::umax : LLVM::AtomicBinOp::max;
  case AtomicKind::Min:
    return isUnsigned ? LLVM::AtomicBinOp::umin : LLVM::AtomicBinOp::min;
  case AtomicKind::And:
    return LLVM::AtomicBinOp::_and;
  case AtomicKind::Or:
    return LLVM::AtomicBinOp::_or;
  case AtomicKind::Xor:
    return LLVM::AtomicBinOp::_xor;
  case AtomicKind::Exchange:
    return LLVM::AtomicBinOp::xchg;
  }
  llvm_unreachable("all kinds are handled");
}

Value KernelEmitter::combineAtomic(AtomicOp op, Value old, Value value) {
  bool isFloat = isa<FloatType>(value.getType());
  bool isUnsigned = op.getIsUnsigned() || value.getType().isInteger(1);
  switch (op.getKind()) {
  case AtomicKind::Add:
    return isFloat ? Value(s.create<arith::AddFOp>(old, value))
                   : Value(s.create<arith::AddIOp>(old, value));
  case AtomicKind::Max:
    if (isFloat)
      return s.create<arith::MaxNumFOp>(old, value);
    return isUnsigned ? Value(s.create<arith::MaxUIOp>(old, value))
                      : Value(s.create<arith::MaxSIOp>(old, value));
  case AtomicKind::Min:
    if (isFloat)
      return s.create<arith::MinNumFOp>(old, value);
    return isUnsigned ? Value(s.create<arith::MinUIOp>(old, value))
                      : Value(s.create<arith::MinSIOp>(old, value));
  case AtomicKind::And:
    return s.create<arith::AndIOp>(old, value);
  case AtomicKind::Or:
    return s.create<arith::OrIOp>(old, value);
  case AtomicKind::Xor:
    return s.create<arith::XOrIOp>(old, value);
  case AtomicKind::Exchange:
    return value;
  }
  llvm_unreachable("all kinds are handled");
}

Value KernelEmitter::emitAtomicUpdate(AtomicOp op, const Storage &storage,
                                      ValueRange indices) {
  Value pointer = address(storage, indices);
  Value value = lookup(op.getValue());
  Type type = value.getType();
  // A buffer belongs to one block, and a block to one thread of the host.
  if (!storage.isTensor) {
    Value old = s.load(pointer, storage.elementType);
    s.store(combineAtomic(op, old, value), pointer, storage.elementType);
    return old;
  }
  LLVM::AtomicOrdering ordering = getOrdering(op.getMemoryOrder());
  if (auto instruction = getInstruction(op, type))
    return s.create<LLVM::AtomicRMWOp>(*instruction, pointer, value, ordering);

  // Compare and exchange the bits until no other thread came between.
  Type bits = b.getIntegerType(getElementBits(type));
  auto toBits = [&](Value from) -> Value {
    if (type.isInteger(1))
      return s.create<arith::ExtUIOp>(bits, from);
    return s.create<arith::BitcastOp>(bits, from);
  };
  auto fromBits = [&](Value from) -> Value {
    if (type.isInteger(1))
      return s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, from,
                                     s.zero(bits));
    return s.create<arith::BitcastOp>(type, from);
  };
  Value first = s.create<LLVM::LoadOp>(bits, pointer, storage.elementBytes());
  auto loop = s.create<scf::WhileOp>(TypeRange{bits}, ValueRange{first});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, bits, s.getLoc());
  Value expected = before->getArgument(0);
  Value desired = toBits(combineAtomic(op, fromBits(expected), value));
  LLVM::AtomicOrdering onFailure =
      ordering == LLVM::AtomicOrdering::acq_rel ||
              ordering == LLVM::AtomicOrdering::acquire
          ? LLVM::AtomicOrdering::acquire
          : LLVM::AtomicOrdering::monotonic;
  Value pair = s.create<LLVM::AtomicCmpXchgOp>(pointer, expected, desired,
                                               ordering, onFailure);
  Value found = s.create<LLVM::ExtractValueOp>(pair, ArrayRef<int64_t>{0});
  Value done = s.create<LLVM::ExtractValueOp>(pair, ArrayRef<int64_t>{1});
  Value again = s.create<arith::XOrIOp>(done, s.boolean(true));
  s.create<scf::ConditionOp>(again, ValueRange{found});
  Block *after = b.createBlock(&loop.getAfter(), {}, bits, s.getLoc());
  s.create<scf::YieldOp>(after->getArguments());
  b.setInsertionPointAfter(loop);
  return fromBits(loop.getResult(0));
}

LogicalResult KernelEmitter::emitAtomic(AtomicOp op) {
  Storage storage = getStorage(op.getDest());
  SmallVector<Value> indices = lookupI64(op.getIndices());
  bool isTested = storage.isTensor && needsTest(op, op.getBounds());
  if (!op.getResult()) {
    s.guard(isTested ? insideTensor(storage, indices) : s.boolean(true),
            [&] { emitAtomicUpdate(op, storage, indices); });
    return success();
  }
  Value old = s.choose(
      isTested ? insideTensor(storage, indices) : s.boolean(true),
      op.getResult().getType(),
      [&] { return emitAtomicUpdate(op, storage, indices); },
      [&] { return s.zero(op.getResult().getType()); });
  mapping.map(op.getResult(), old);
  return success();
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

Value KernelEmitter::globalText(StringRef text) {
  auto module = kernel->getParentOfType<ModuleOp>();
  std::string content = text.str();
  content.push_back('\0');
  OpBuilder::InsertionGuard guard(b);
  LLVM::GlobalOp global;
  for (auto existing : module.getOps<LLVM::GlobalOp>())
    if (auto value = dyn_cast_or_null<StringAttr>(existing.getValueOrNull());
        value && value.getValue() == content)
      global = existing;
  if (!global) {
    OpBuilder::InsertionGuard globalGuard(b);
    b.setInsertionPointToStart(module.getBody());
    std::string name;
    int number = 0;
    do
      name = "tilemlir_text_" + std::to_string(number++);
    while (module.lookupSymbol(name));
    global = LLVM::GlobalOp::create(
        b, s.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), content.size()),
        /*isConstant=*/true, LLVM::Linkage::Private, name,
        b.getStringAttr(content));
  }
  return s.create<LLVM::AddressOfOp>(s.pointerType(), global.getSymName());
}

Value KernelEmitter::blockIndices() {
  Value slot = s.stackSlot(b.getI32Type(), 3);
  for (int64_t axis = 0; axis < 3; ++axis)
    s.store(blockIndex[axis], s.offset(slot, s.i64(4 * axis)), b.getI32Type());
  return slot;
}

/// Storage type whose launch-plan name shows how to print a value.
static Type getPrintedType(Type type, bool isUnsigned) {
  auto integer = dyn_cast<IntegerType>(type);
  if (integer && isUnsigned && integer.getWidth() > 1)
    return IntegerType::get(type.getContext(), integer.getWidth(),
                            IntegerType::Unsigned);
  return type;
}

LogicalResult KernelEmitter::emitPrint(PrintOp op) {
  Type pointer = s.pointerType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  func::FuncOp hook = declareRuntimeFunction(
      b, op.getLoc(), kPrintFunction,
      {pointer, pointer, i32, pointer, pointer, i64}, {});
  Value message = globalText(op.getMessage());
  Value block = blockIndices();
  auto print = [&](Value threadIndex, StringRef type, Value values,
                   int64_t count) {
    Value name = type.empty() ? Value(s.create<LLVM::ZeroOp>(pointer))
                              : globalText(type);
    if (!values)
      values = s.create<LLVM::ZeroOp>(pointer);
    s.create<func::CallOp>(hook, ValueRange{message, block, threadIndex, name,
                                            values, s.i64(count)});
  };
  auto nameOf = [&](Type type) {
    return getDataTypeName(getPrintedType(type, op.getIsUnsigned()));
  };

  if (op.getBuffer()) {
    Storage storage = getStorage(op.getBuffer());
    BufferType type = op.getBuffer().getType();
    Value values = storage.base;
    if (!storage.isContiguous()) {
      values = scratch(Scratch::Text);
      Storage packed =
          getContiguous(values, storage.elementType, type.getShape());
      s.nest(packed.sizes, [&](ValueRange indices) {
        storeElement(packed, indices, loadElement(storage, indices));
      });
    }
    print(s.i32(-1), nameOf(type.getElementType()), values,
          type.getNumElements());
  }

  auto printScalars = [&](Value threadIndex) {
    for (Value scalar : op.getScalars()) {
      Type type = scalar.getType();
      Value slot = s.stackSlot(b.getI8Type(), 8);
      s.store(lookup(scalar), slot, type);
      print(threadIndex, nameOf(type), slot, 1);
    }
    if (op.getScalars().empty() && !op.getBuffer())
      print(threadIndex, "", Value(), 0);
  };
  if (parallelIteration)
    printScalars(s.i32(-1));
  else if (thread)
    printScalars(s.fold<arith::TruncIOp>(i32, thread));
  else if (!op.getScalars().empty() || !op.getBuffer())
    // Nothing depends on the thread, but every thread reaches the operation.
    s.loop(s.i64(0), s.i64(kernel.getThreads()), 1, [&](Value index) {
      printScalars(s.fold<arith::TruncIOp>(i32, index));
    });
  return success();
}

LogicalResult KernelEmitter::emitAssert(AssertOp op) {
  Type pointer = s.pointerType();
  func::FuncOp hook = declareRuntimeFunction(
      b, op.getLoc(), kAssertFunction, {pointer, b.getI64Type(), pointer}, {});
  Value failed =
      s.create<arith::XOrIOp>(lookup(op.getCondition()), s.boolean(true));
  s.guard(failed, [&] {
    auto position = op.getLoc()->findInstanceOf<FileLineColLoc>();
    Value file = position ? globalText(position.getFilename().getValue())
                          : Value(s.create<LLVM::ZeroOp>(pointer));
    s.create<func::CallOp>(
        hook, ValueRange{file, s.i64(position ? position.getLine() : 0),
                         globalText(op.getMessage())});
  });
  return success();
}
