//===- OutlineKernels.cpp - the pass tile-outline-kernels -------*- C++ -*-===//
//
// Kernels become `llvm.func`s with a flat parameter list; the function around
// them becomes a launch plan. Tensor descriptors are the last parameters.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Conversion/Passes.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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

/// Bytes of a descriptor, and their alignment as a parameter.
constexpr int64_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

/// What a block takes of shared memory beside its own; one block may have all
/// that a multiprocessor has but this (CUDA programming guide, "compute
/// capabilities").
constexpr int64_t kReservedPerBlock = 1024;

/// Descriptors of all kernels of a function: what the launcher encodes.
class TensorMapList {
public:
  explicit TensorMapList(func::FuncOp function)
      : context(function.getContext()), host(function) {}

  /// Position in the plan of the descriptor that `op` names.
  FailureOr<int64_t> add(tile_gpu::TensorMapOp op);

  ArrayAttr getAttribute() const {
    return ArrayAttr::get(context,
                          SmallVector<Attribute>(maps.begin(), maps.end()));
  }

private:
  FailureOr<tile::ExprAttr> bind(tile::ExprAttr expr, Value tensor);
  FailureOr<ArrayAttr> bind(ArrayRef<tile::ExprAttr> list, Value tensor);

  MLIRContext *context;
  tile::HostExpressions host;
  llvm::SetVector<Attribute> maps;
};

class Outliner {
public:
  /// `maps` are the descriptors of the kernel in the order of their parameters.
  Outliner(tile::KernelOp kernel, const tile::KernelSignature &signature,
           const llvm::SetVector<int64_t> &maps,
           const DenseMap<Operation *, int64_t> &mapOf,
           gpu::GPUModuleOp gpuModule)
      : kernel(kernel), signature(signature), maps(maps), mapOf(mapOf),
        gpuModule(gpuModule), b(OpBuilder::atBlockEnd(gpuModule.getBody())) {}

  LogicalResult run();

private:
  Type parameterType(unsigned index);
  void setAttributes(LLVM::LLVMFuncOp function);
  Value extentValue(const tile::TensorExtent &extent, Type type);
  Value strideValue(const tile::TensorBinding &binding, unsigned axis,
                    Type type);
  void replaceTensorQueries(Value tensor, const tile::TensorBinding &binding);
  void replaceTensorMaps();

  tile::KernelOp kernel;
  const tile::KernelSignature &signature;
  const llvm::SetVector<int64_t> &maps;
  const DenseMap<Operation *, int64_t> &mapOf;
  gpu::GPUModuleOp gpuModule;
  OpBuilder b;
  Block *entry = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// An expression over the sizes and strides of `tensor` as one over those of
/// the call.
FailureOr<tile::ExprAttr> TensorMapList::bind(tile::ExprAttr expr,
                                              Value tensor) {
  if (expr.getKind() == tile::ExprKind::Dim)
    return host.getExtent(tensor, expr.getAxis());
  if (expr.getKind() == tile::ExprKind::Stride)
    return host.getStride(tensor, expr.getAxis());
  if (expr.getOperands().empty())
    return expr;
  FailureOr<tile::ExprAttr> lhs = bind(expr.getOperands()[0], tensor);
  FailureOr<tile::ExprAttr> rhs = bind(expr.getOperands()[1], tensor);
  if (failed(lhs) || failed(rhs))
    return failure();
  return tile::ExprAttr::getBinary(expr.getKind(), *lhs, *rhs);
}

FailureOr<ArrayAttr> TensorMapList::bind(ArrayRef<tile::ExprAttr> list,
                                         Value tensor) {
  SmallVector<Attribute> bound;
  for (tile::ExprAttr expr : list) {
    FailureOr<tile::ExprAttr> value = bind(expr, tensor);
    if (failed(value))
      return failure();
    bound.push_back(*value);
  }
  return ArrayAttr::get(context, bound);
}

FailureOr<int64_t> TensorMapList::add(tile_gpu::TensorMapOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getTensor());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return op.emitOpError("needs an argument of the function around the "
                          "kernel; other tensors have no descriptors");
  tile_gpu::TensorMapAttr record = op.getRecord();
  FailureOr<ArrayAttr> shape = bind(record.getSizes(), argument);
  FailureOr<ArrayAttr> strides = bind(record.getStrides(), argument);
  if (failed(shape) || failed(strides))
    return failure();
  tile::ExprAttr offset = record.getOffset();
  if (offset) {
    FailureOr<tile::ExprAttr> bound = bind(offset, argument);
    if (failed(bound))
      return failure();
    offset = *bound;
  }
  SmallVector<int64_t> elementStrides(record.getElementStrides());
  if (elementStrides.empty())
    elementStrides.assign(record.getBox().size(), 1);
  auto integers = [&](ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(context, values);
  };
  auto map = tile::TensorMapAttr::get(
      context, argument.getArgNumber(), integers({}), integers(record.getBox()),
      integers(elementStrides), record.getSwizzle(), record.getFill(), *shape,
      *strides, offset, record.getDtype(), record.getL2Promotion());
  maps.insert(map);
  return llvm::find(maps, map) - maps.begin();
}

/// Takes every descriptor from its parameter.
void Outliner::replaceTensorMaps() {
  SmallVector<tile_gpu::TensorMapOp> operations;
  kernel.walk([&](tile_gpu::TensorMapOp op) { operations.push_back(op); });
  DenseMap<std::pair<int64_t, Type>, Value> handles;
  for (tile_gpu::TensorMapOp op : operations) {
    int64_t map = mapOf.lookup(op);
    Value &handle = handles[{map, op.getType()}];
    if (!handle) {
      unsigned position =
          signature.parameters.size() + (llvm::find(maps, map) - maps.begin());
      handle = tile_gpu::TensorMapParameterOp::create(
          b, op.getLoc(), op.getType(), entry->getArgument(position));
    }
    op.replaceAllUsesWith(handle);
    op.erase();
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

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

/// Whether the launch of `kernel` begins early, and waits for those in front.
static bool waitsForLaunches(tile::KernelOp kernel) {
  return kernel
      .walk([](tile_gpu::GriddepcontrolWaitOp) {
        return WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Whether inline PTX may tell other blocks about tensors, or be told.
static bool mayOrder(tile_gpu::PtxOp op) {
  constexpr StringLiteral kFences[] = {"fence.acq_rel", "fence.sc", "membar"};
  return llvm::any_of(op.getOperandTypes(), llvm::IsaPred<MemRefType>) ||
         llvm::any_of(kFences, [&](StringRef fence) {
           return op.getText().contains(fence);
         });
}

/// No second block fits on a multiprocessor: each has too much shared memory.
static bool isAloneForItsMemory(tile::KernelOp kernel) {
  auto bytes = kernel->getAttrOfType<IntegerAttr>("tile.shared_bytes");
  tile::TargetAttr target = tile::getTarget(kernel);
  return bytes && target && !target.isCPU() &&
         2 * (bytes.getInt() + kReservedPerBlock) >
             target.getSharedMemoryLimit() + kReservedPerBlock;
}

void Outliner::setAttributes(LLVM::LLVMFuncOp function) {
  MLIRContext *context = b.getContext();
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid",
                    b.getDenseI32ArrayAttr(
                        {static_cast<int32_t>(kernel.getThreads()), 1, 1}));
  // Without it the assembler ignores changes of the number of registers, and
  // spills where warps go different ways to make room for more blocks (seen:
  // 64 registers for 256 threads, where 126 do without spills; 32 for 384, with
  // twenty times the spills of 168).
  bool hasRoles = false;
  kernel.walk([&](Operation *op) {
    hasRoles |= isa<tile_gpu::SetMaxRegistersOp, tile_gpu::WarpIdOp>(op);
  });
  if (std::optional<uint64_t> blocks = kernel.getMinBlocksPerSm())
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(*blocks));
  else if (hasRoles || isAloneForItsMemory(kernel))
    function->setAttr("nvvm.minctasm", b.getI32IntegerAttr(1));
  if (std::optional<ArrayRef<int64_t>> cluster = kernel.getCluster()) {
    SmallVector<int32_t> extents(cluster->begin(), cluster->end());
    extents.resize(3, 1);
    if (llvm::any_of(extents, [](int32_t extent) { return extent != 1; }))
      function->setAttr("nvvm.cluster_dim", b.getDenseI32ArrayAttr(extents));
  }
  for (unsigned i = 0; i < maps.size(); ++i) {
    unsigned index = signature.parameters.size() + i;
    auto bytes = LLVM::LLVMArrayType::get(b.getI8Type(), kTensorMapBytes);
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(bytes));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(kTensorMapAlignment));
    function.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                        UnitAttr::get(context));
  }

  tile::OptionsAttr options = tile::OptionsAttr::of(kernel);
  bool noalias = options.getFlag("noalias", true);
  int64_t promised = options.getInteger("alignment", 16);
  // Blocks that wait for each other see what others have written. Of memory
  // without aliases the optimiser assumes that only its own stores change it,
  // and may load it on the wrong side of a barrier.
  bool communicates =
      kernel
          .walk([](Operation *op) {
            auto atomic = dyn_cast<tile_gpu::GlobalAtomicOp>(op);
            auto arrive = dyn_cast<tile_gpu::ClusterArriveOp>(op);
            auto ptx = dyn_cast<tile_gpu::PtxOp>(op);
            bool orders = (atomic && atomic.getMemoryOrder() !=
                                         tile::MemoryOrder::Relaxed) ||
                          (arrive && !arrive.getRelaxed()) ||
                          (ptx && mayOrder(ptx));
            return orders ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  // Launches in front of this one may still write what it only reads.
  bool beginsEarly = waitsForLaunches(kernel);
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
    if (noalias && (access == tile::Access::Read || !communicates))
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                          UnitAttr::get(context));
    if (access == tile::Access::Read && !beginsEarly)
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
  types.append(maps.size(), LLVM::LLVMPointerType::get(context));
  auto functionType =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(b, loc, tile::getEntryName(kernel),
                                           functionType);
  setAttributes(function);
  entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);

  replaceTensorMaps();
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
    TensorMapList maps(host);
    SmallVector<llvm::SetVector<int64_t>> mapsOfKernel(kernels.size());
    DenseMap<Operation *, int64_t> mapOf;
    for (size_t i = 0; i < kernels.size(); ++i) {
      tile::KernelOp kernel = kernels[i];
      llvm::SetVector<int64_t> &used = mapsOfKernel[i];
      FailureOr<tile::KernelSignature> signature =
          tile::KernelSignature::compute(kernel);
      if (failed(signature))
        return signalPassFailure();
      signatures.push_back(*signature);
      WalkResult walked = kernel.walk([&](tile_gpu::TensorMapOp op) {
        FailureOr<int64_t> position = maps.add(op);
        if (failed(position))
          return WalkResult::interrupt();
        mapOf[op] = *position;
        used.insert(*position);
        return WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return signalPassFailure();
    }
    *plan = complete(*plan, kernels, maps, mapsOfKernel);
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto gpuModule = gpu::GPUModuleOp::create(b, host.getLoc(), "kernels");
    for (auto [kernel, signature, used] :
         llvm::zip_equal(kernels, signatures, mapsOfKernel))
      if (failed(Outliner(kernel, signature, used, mapOf, gpuModule).run()))
        return signalPassFailure();
    host.erase();
    module->setAttr("tile.launch_plan", *plan);
  }

  /// Adds the descriptors, and which launches may begin early.
  tile::LaunchPlanAttr complete(tile::LaunchPlanAttr plan,
                                ArrayRef<tile::KernelOp> kernels,
                                const TensorMapList &maps,
                                ArrayRef<llvm::SetVector<int64_t>> used) {
    MLIRContext *context = &getContext();
    SmallVector<Attribute> launches;
    for (auto [attribute, kernel, indices] :
         llvm::zip_equal(plan.getLaunches(), kernels, used)) {
      auto launch = cast<tile::LaunchAttr>(attribute);
      SmallVector<Attribute> parameters(launch.getParameters().getValue());
      for (int64_t index : indices)
        parameters.push_back(tile::LaunchParameterAttr::get(
            context, tile::ParameterKind::TensorMap, index, Type(),
            tile::ExprAttr()));
      launches.push_back(tile::LaunchAttr::get(
          context, launch.getKernel(), launch.getGrid(), launch.getCluster(),
          launch.getThreads(), launch.getSharedBytes(), launch.getCooperative(),
          ArrayAttr::get(context, parameters), waitsForLaunches(kernel)));
    }
    return tile::LaunchPlanAttr::get(context, plan.getName(), plan.getTarget(),
                                     plan.getArguments(), plan.getSymbols(),
                                     plan.getOutputs(), plan.getWorkspaces(),
                                     ArrayAttr::get(context, launches),
                                     maps.getAttribute(), plan.getGuards());
  }
};
} // namespace
