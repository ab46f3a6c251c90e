//===- OutlineKernels.cpp - the pass tile-outline-kernels -------*- C++ -*-===//
//
// Kernels become `llvm.func`s with a flat parameter list; the function around
// them becomes a launch plan.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Conversion/Passes.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tilemlir {
#define GEN_PASS_DEF_TILEOUTLINEKERNELS
#include "tilemlir/Conversion/Passes.h.inc"
} // namespace tilemlir

using namespace mlir;

namespace {

/// Address space of global memory in NVVM.
constexpr unsigned kGlobalSpace = 1;

class Outliner {
public:
  Outliner(tile::KernelOp kernel, const tile::KernelSignature &signature,
           gpu::GPUModuleOp gpuModule)
      : kernel(kernel), signature(signature), gpuModule(gpuModule),
        b(OpBuilder::atBlockEnd(gpuModule.getBody())) {}

  LogicalResult run();

private:
  Type parameterType(unsigned index);
  void setAttributes(LLVM::LLVMFuncOp function);
  Value extentValue(const tile::TensorExtent &extent, Type type);
  Value strideValue(const tile::TensorBinding &binding, unsigned axis,
                    Type type);
  void replaceTensorQueries(Value tensor, const tile::TensorBinding &binding);

  tile::KernelOp kernel;
  const tile::KernelSignature &signature;
  gpu::GPUModuleOp gpuModule;
  OpBuilder b;
  Block *entry = nullptr;
};

} // namespace

Type Outliner::parameterType(unsigned index) {
  tile::LaunchParameterAttr parameter = signature.parameters[index];
  if (parameter.getKind() == tile::ParameterKind::Expr)
    return parameter.getType();
  if (parameter.getKind() != tile::ParameterKind::Scalar)
    return LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
  for (auto &[value, position] : signature.scalars)
    if (position == index)
      return value.getType();
  return b.getI32Type();
}

void Outliner::setAttributes(LLVM::LLVMFuncOp function) {
  MLIRContext *context = b.getContext();
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid",
                    b.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(kernel.getThreads()), 1, 1}));
  if (std::optional<uint64_t> blocks = kernel.getMinBlocksPerSm())
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(*blocks));

  tile::OptionsAttr options = tile::OptionsAttr::of(kernel);
  bool noalias = options.getFlag("noalias", true);
  int64_t promised = options.getInteger("alignment", 16);
  for (auto &[tensor, binding] : signature.tensors) {
    auto type = cast<MemRefType>(tensor.getType());
    int64_t alignment = std::max<int64_t>(
        promised, tile::getElementBits(type.getElementType()) / 8);
    tile::Access access = tile::Access::ReadWrite;
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      access = tile::getAccess(argument);
      auto host = kernel->getParentOfType<func::FuncOp>();
      auto declared = host.getArgAttrOfType<tile::ArgumentAttr>(
          argument.getArgNumber(), "tile.argument");
      if (declared && declared.getAlignment() > 0 && promised > 0)
        alignment =
            std::max<int64_t>(tile::getElementBits(type.getElementType()) / 8,
                              std::min(promised, declared.getAlignment()));
    } else if (promised > 0) {
      alignment = 256;
    }
    unsigned index = binding.pointer;
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(alignment));
    if (noalias)
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                          UnitAttr::get(context));
    if (access == tile::Access::Read)
      function.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(),
                          UnitAttr::get(context));
  }
}

Value Outliner::extentValue(const tile::TensorExtent &extent, Type type) {
  Location loc = kernel.getLoc();
  if (!extent.parameter)
    return arith::ConstantOp::create(b, loc,
                                     b.getIntegerAttr(type, extent.constant));
  Value parameter = entry->getArgument(*extent.parameter);
  if (type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, parameter);
  return type.isInteger(32)
             ? arith::TruncIOp::create(b, loc, type, parameter).getResult()
             : parameter;
}

Value Outliner::strideValue(const tile::TensorBinding &binding, unsigned axis,
                            Type type) {
  if (!binding.strides.empty())
    return extentValue(binding.strides[axis], type);
  // Contiguous: the product of the inner sizes.
  Location loc = kernel.getLoc();
  Value product;
  for (const tile::TensorExtent &size :
       llvm::drop_begin(binding.sizes, axis + 1)) {
    Value factor = extentValue(size, type);
    product = product
                  ? b.createOrFold<arith::MulIOp>(
                        loc, product, factor, arith::IntegerOverflowFlags::nsw)
                  : factor;
  }
  return product ? product
                 : arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 1))
                       .getResult();
}

void Outliner::replaceTensorQueries(Value tensor,
                                    const tile::TensorBinding &binding) {
  for (Operation *user : llvm::make_early_inc_range(tensor.getUsers())) {
    Value value;
    if (auto query = dyn_cast<tile_gpu::ExtentOp>(user)) {
      value = extentValue(binding.sizes[query.getAxis()], query.getType());
    } else if (auto query = dyn_cast<tile_gpu::StrideOp>(user)) {
      value = strideValue(binding, query.getAxis(), query.getType());
    } else if (auto query = dyn_cast<memref::DimOp>(user)) {
      if (std::optional<int64_t> axis = query.getConstantIndex())
        value = extentValue(binding.sizes[*axis], query.getType());
    }
    if (!value)
      continue;
    user->getResult(0).replaceAllUsesWith(value);
    user->erase();
  }
}

LogicalResult Outliner::run() {
  Location loc = kernel.getLoc();
  MLIRContext *context = b.getContext();
  SmallVector<Type> types;
  for (unsigned i = 0; i < signature.parameters.size(); ++i)
    types.push_back(parameterType(i));
  auto functionType =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(b, loc, tile::getEntryName(kernel),
                                           functionType);
  setAttributes(function);
  entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);

  // What the body uses from outside.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(kernel.getBody(), captured);
  Region &body = kernel.getBody();
  auto replaceInside = [&](Value value, Value replacement) {
    replaceAllUsesInRegionWith(value, replacement, body);
  };
  SmallVector<std::pair<Value, const tile::TensorBinding *>> tensors;
  for (auto &[tensor, binding] : signature.tensors) {
    Value local = tile_gpu::TensorOp::create(
        b, loc, tensor.getType(), entry->getArgument(binding.pointer));
    replaceInside(tensor, local);
    tensors.push_back({local, &binding});
  }
  for (auto &[value, position] : signature.scalars) {
    Value parameter = entry->getArgument(position);
    if (value.getType().isIndex())
      parameter =
          arith::IndexCastOp::create(b, loc, value.getType(), parameter);
    replaceInside(value, parameter);
  }
  for (Value value : captured) {
    Operation *def = value.getDefiningOp();
    if (def && def->hasTrait<OpTrait::ConstantLike>())
      replaceInside(value, b.clone(*def)->getResult(
                               cast<OpResult>(value).getResultNumber()));
  }
  for (BlockArgument index : kernel.getBodyBlock()->getArguments())
    index.replaceAllUsesWith(tile_gpu::BlockIdOp::create(b, loc, b.getI32Type(),
                                                         index.getArgNumber())
                                 .getResult());
  SmallVector<Operation *> assumptions;
  kernel.walk([&](tile::AssumeOp assume) { assumptions.push_back(assume); });
  for (Operation *assume : assumptions)
    assume->erase();

  for (auto &[tensor, binding] : tensors)
    replaceTensorQueries(tensor, *binding);
  // replaceTensorQueries emitted behind what is in the entry block so far.
  entry->getOperations().splice(entry->end(),
                                kernel.getBodyBlock()->getOperations());
  b.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange());
  WalkResult left = function.walk([](Operation *op) {
    Dialect *dialect = op->getDialect();
    if (!dialect || dialect->getNamespace() != "tile")
      return WalkResult::advance();
    op->emitOpError("cannot be outlined; run tile-to-tile-gpu and "
                    "tile-gpu-promote-fragments");
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}

namespace {
struct OutlineKernels : tilemlir::impl::TileOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> hosts;
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.getOps<tile::KernelOp>().empty())
        hosts.push_back(function);
    if (hosts.empty())
      return;
    if (hosts.size() > 1) {
      hosts[1].emitOpError("launches kernels, as does @")
          << hosts[0].getName() << "; a module has one launch plan";
      return signalPassFailure();
    }
    func::FuncOp host = hosts.front();
    FailureOr<tile::LaunchPlanAttr> plan = tile::buildLaunchPlan(host);
    if (failed(plan))
      return signalPassFailure();
    SmallVector<tile::KernelOp> kernels(host.getOps<tile::KernelOp>());
    SmallVector<tile::KernelSignature> signatures;
    for (tile::KernelOp kernel : kernels) {
      FailureOr<tile::KernelSignature> signature =
          tile::KernelSignature::compute(kernel);
      if (failed(signature))
        return signalPassFailure();
      signatures.push_back(*signature);
    }
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto gpuModule = gpu::GPUModuleOp::create(b, host.getLoc(), "kernels");
    for (auto [kernel, signature] : llvm::zip_equal(kernels, signatures))
      if (failed(Outliner(kernel, signature, gpuModule).run()))
        return signalPassFailure();
    host.erase();
    module->setAttr("tile.launch_plan", *plan);
  }
};
} // namespace
