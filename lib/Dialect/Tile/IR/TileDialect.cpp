//===- TileDialect.cpp - the `tile` dialect and shared queries --*- C++ -*-===//
//
// Registration of the dialect, verification of its discardable attributes,
// and the small queries on buffers that all passes share.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "tilemlir/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "tilemlir/Dialect/Tile/IR/TileEnums.cpp.inc"

namespace {
/// A kernel is a launch, with the checks of its arguments: it stays also where
/// its body has no effect. This comes on top of the effects of the body.
struct LaunchEffect
    : MemoryEffectOpInterface::ExternalModel<LaunchEffect, KernelOp> {
  void
  getEffects(Operation *,
             SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Write::get());
  }
};
} // namespace

void TileDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/Tile/IR/TileThreadOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.cpp.inc"
      >();
  KernelOp::attachInterface<LaunchEffect>(*getContext());
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

AllocOp mlir::tile::getAllocation(Value value) {
  while (value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    if (auto alloc = dyn_cast<AllocOp>(op))
      return alloc;
    value = llvm::TypeSwitch<Operation *, Value>(op)
                .Case<SubviewOp, ReshapeOp, BitcastOp>(
                    [](auto view) { return view.getSource(); })
                .Default([](Operation *) { return Value(); });
  }
  return {};
}

Attribute mlir::tile::getLayout(Value buffer) {
  AllocOp alloc = getAllocation(buffer);
  return alloc ? cast<BufferType>(alloc.getType()).getLayout() : Attribute();
}

Type mlir::tile::getScalarType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

int64_t mlir::tile::getElementBits(Type elementType) {
  if (isa<BarrierType>(elementType))
    return 64;
  int64_t bits = elementType.getIntOrFloatBitWidth();
  return bits == 1 ? 8 : bits;
}

Type mlir::tile::getStorageElementType(Type type) {
  if (auto buffer = dyn_cast<BufferType>(type))
    return buffer.getElementType();
  return cast<MemRefType>(type).getElementType();
}

int64_t mlir::tile::getStorageRank(Type type) {
  if (auto buffer = dyn_cast<BufferType>(type))
    return buffer.getRank();
  return cast<MemRefType>(type).getRank();
}

SmallVector<int64_t> mlir::tile::dropUnitSizes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> result;
  llvm::copy_if(sizes, std::back_inserter(result),
                [](int64_t size) { return size != 1; });
  return result;
}

std::string mlir::tile::getUserName(Value value) {
  if (AllocOp alloc = getAllocation(value))
    return alloc.getName() ? alloc.getName()->str() : "<unnamed>";
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (function && argument.getOwner()->isEntryBlock())
      if (auto declared = function.getArgAttrOfType<ArgumentAttr>(
              argument.getArgNumber(), "tile.argument"))
        return declared.getName().str();
  }
  if (auto workspace = value.getDefiningOp<WorkspaceOp>())
    if (workspace.getName())
      return workspace.getName()->str();
  return "<unnamed>";
}

KernelOp mlir::tile::getKernel(Operation *op) {
  if (auto kernel = dyn_cast<KernelOp>(op))
    return kernel;
  return op->getParentOfType<KernelOp>();
}

TargetAttr mlir::tile::getTarget(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>("tile.target"))
      return target;
  return {};
}
