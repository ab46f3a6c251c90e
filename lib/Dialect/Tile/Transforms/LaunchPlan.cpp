//===- LaunchPlan.cpp - the launch plan of a function -----------*- C++ -*-===//
//
// Kernel parameters from the values a kernel captures, and the typed plan of
// arguments, symbols, workspaces, launches and guards.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

/// Marks a kernel whose blocks meet: all of them have to run at the same time
/// (T.sync_grid).
static constexpr StringLiteral kCooperative = "tile.cooperative";

static ArgumentAttr getDeclaration(func::FuncOp function, unsigned number) {
  return function.getArgAttrOfType<ArgumentAttr>(number, "tile.argument");
}

/// Strides of a strided tensor argument in elements; empty when the tensor is
/// row-major contiguous.
static FailureOr<SmallVector<ExprAttr>> getStrides(func::FuncOp function,
                                                   Value tensor) {
  SmallVector<ExprAttr> result;
  auto type = cast<MemRefType>(tensor.getType());
  if (type.getLayout().isIdentity())
    return result;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return emitError(tensor.getLoc())
           << "layout of " << type << " is not strided";
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument)
    return emitError(tensor.getLoc(), "only arguments may be strided");
  unsigned number = argument.getArgNumber();
  ArgumentAttr declared = getDeclaration(function, number);
  MLIRContext *context = tensor.getContext();
  for (auto [axis, stride] : llvm::enumerate(strides)) {
    if (!ShapedType::isDynamic(stride))
      result.push_back(ExprAttr::getConstant(context, stride));
    else if (declared && axis < declared.getStrides().size())
      result.push_back(declared.getStrides()[axis]);
    else
      result.push_back(ExprAttr::getStride(context, number, axis));
  }
  return result;
}

FailureOr<ExprAttr> HostExpressions::getStride(Value tensor, int64_t axis) {
  FailureOr<SmallVector<ExprAttr>> strides = getStrides(function, tensor);
  if (failed(strides))
    return failure();
  if (!strides->empty())
    return (*strides)[axis];
  ExprAttr product = ExprAttr::getConstant(tensor.getContext(), 1);
  for (int64_t i = axis + 1; i < getStorageRank(tensor.getType()); ++i) {
    FailureOr<ExprAttr> extent = getExtent(tensor, i);
    if (failed(extent))
      return failure();
    bool first = product.isConstant() && product.getValue() == 1;
    product =
        first ? *extent : ExprAttr::getBinary(ExprKind::Mul, product, *extent);
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Kernel parameters
//===----------------------------------------------------------------------===//

/// Workspaces of the function in program order.
static SmallVector<WorkspaceOp> getWorkspaces(func::FuncOp function) {
  SmallVector<WorkspaceOp> workspaces;
  function.walk([&](WorkspaceOp op) { workspaces.push_back(op); });
  return workspaces;
}

namespace {
/// Appends parameters, one per distinct expression.
struct ParameterList {
  KernelSignature &signature;
  MLIRContext *context;
  llvm::MapVector<std::pair<Attribute, Type>, unsigned> expressions;

  unsigned append(ParameterKind kind, int64_t index) {
    signature.parameters.push_back(
        LaunchParameterAttr::get(context, kind, index, Type(), ExprAttr()));
    return signature.parameters.size() - 1;
  }
  unsigned append(ExprAttr value, Type type) {
    auto [entry, inserted] =
        expressions.insert({{value, type}, signature.parameters.size()});
    if (inserted)
      signature.parameters.push_back(LaunchParameterAttr::get(
          context, ParameterKind::Expr, 0, type, value));
    return entry->second;
  }
  TensorExtent extent(ExprAttr value) {
    TensorExtent result;
    if (value.isConstant())
      result.constant = value.getValue();
    else
      result.parameter = append(value, IntegerType::get(context, 64));
    return result;
  }
};
} // namespace

FailureOr<KernelSignature> KernelSignature::compute(KernelOp kernel) {
  auto function = kernel->getParentOfType<func::FuncOp>();
  if (!function || kernel->getParentOp() != function)
    return kernel.emitOpError("must be at the top level of a function");
  KernelSignature signature;
  MLIRContext *context = kernel.getContext();
  ParameterList list{signature, context, {}};
  HostExpressions host(function);
  SmallVector<WorkspaceOp> workspaces = getWorkspaces(function);

  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(kernel.getBody(), captured);
  // Arguments first and in their order, so that small changes of a kernel's
  // body do not permute its parameters.
  SmallVector<Value> values;
  for (BlockArgument argument : function.getArguments())
    if (captured.contains(argument))
      values.push_back(argument);
  for (Value value : captured)
    if (!isa<BlockArgument>(value))
      values.push_back(value);

  for (Value value : values)
    if (isa<MemRefType>(value.getType())) {
      TensorBinding binding;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        binding.pointer =
            list.append(ParameterKind::Pointer, argument.getArgNumber());
      } else {
        auto *position = llvm::find(workspaces, value.getDefiningOp());
        if (position == workspaces.end())
          return emitError(value.getLoc(),
                           "a kernel uses arguments and workspaces of its "
                           "function only");
        binding.pointer = list.append(ParameterKind::Workspace,
                                      position - workspaces.begin());
      }
      signature.tensors.insert({value, binding});
    }
  for (auto &[tensor, binding] : signature.tensors) {
    for (int64_t axis = 0, rank = getStorageRank(tensor.getType()); axis < rank;
         ++axis) {
      FailureOr<ExprAttr> extent = host.getExtent(tensor, axis);
      if (failed(extent))
        return failure();
      binding.sizes.push_back(list.extent(*extent));
    }
    FailureOr<SmallVector<ExprAttr>> strides = getStrides(function, tensor);
    if (failed(strides))
      return failure();
    for (ExprAttr stride : *strides)
      binding.strides.push_back(list.extent(stride));
  }
  for (Value value : values) {
    if (isa<MemRefType>(value.getType()) || matchPattern(value, m_Constant()))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      signature.scalars.insert(
          {value, list.append(ParameterKind::Scalar, argument.getArgNumber())});
      continue;
    }
    Type type = value.getType();
    if (!type.isIntOrIndex())
      return emitError(value.getLoc())
             << "a value of type " << type
             << " is computed outside of a kernel and used inside; move its "
                "computation into the kernel";
    FailureOr<ExprAttr> expr = host.convert(value);
    if (failed(expr))
      return failure();
    if (type.isIndex())
      type = IntegerType::get(context, 64);
    signature.scalars.insert({value, list.append(*expr, type)});
  }
  return signature;
}

static std::string makeIdentifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (result.empty() || llvm::isDigit(result.front()))
    result.insert(0, "_");
  return result;
}

std::string mlir::tile::getEntryName(KernelOp kernel) {
  Operation *root = kernel;
  while (root->getParentOp())
    root = root->getParentOp();
  llvm::StringSet<> taken;
  std::string result;
  root->walk<WalkOrder::PreOrder>([&](KernelOp other) {
    std::string base = makeIdentifier(other.getName()), name = base;
    for (int number = 1; !taken.insert(name).second; ++number)
      name = base + "_" + std::to_string(number);
    if (other != kernel)
      return WalkResult::advance();
    result = name;
    return WalkResult::interrupt();
  });
  return result;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Access mlir::tile::getAccess(BlockArgument argument) {
  bool reads = false, writes = false;
  for (Operation *user : argument.getUsers()) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(user);
    if (!interface)
      return Access::ReadWrite;
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffectsOnValue(argument, effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      reads |= isa<MemoryEffects::Read>(effect.getEffect());
      writes |= isa<MemoryEffects::Write>(effect.getEffect());
    }
  }
  return writes ? (reads ? Access::ReadWrite : Access::Write)
                : (reads ? Access::Read : Access::None);
}

static ArrayAttr toArray(MLIRContext *context, ArrayRef<ExprAttr> exprs) {
  SmallVector<Attribute> attributes(exprs.begin(), exprs.end());
  return ArrayAttr::get(context, attributes);
}

static void collectSymbols(ExprAttr expr, llvm::SetVector<StringRef> &names) {
  if (expr.getKind() == ExprKind::Symbol)
    names.insert(expr.getName());
  for (ExprAttr operand : expr.getOperands())
    collectSymbols(operand, names);
}

namespace {
/// Builds the parts of a plan one after the other.
struct PlanBuilder {
  func::FuncOp function;
  MLIRContext *context = function.getContext();
  HostExpressions host{function};
  SmallVector<Attribute> arguments, symbols, workspaces, launches, guards;

  LogicalResult addArguments();
  LogicalResult addSymbols();
  LogicalResult addWorkspaces();
  LogicalResult addLaunches();
  void addGuards();
  void addAssumption(AssumeOp assume);

  SmallVector<int64_t> getOutputs() {
    if (auto outputs =
            function->getAttrOfType<DenseI64ArrayAttr>("tile.outputs"))
      return llvm::to_vector(outputs.asArrayRef());
    return {};
  }
};
} // namespace

LogicalResult PlanBuilder::addArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    ArgumentAttr declared = getDeclaration(function, number);
    std::string name =
        declared ? declared.getName().str() : "arg" + std::to_string(number);
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      if (!argument.getType().isIntOrFloat())
        return emitError(argument.getLoc())
               << "argument '" << name << "' has type " << argument.getType()
               << "; arguments are tensors and scalars";
      arguments.push_back(LaunchArgumentAttr::get(
          context, name, false, argument.getType(), toArray(context, {}),
          toArray(context, {}), false, 0, Access::Read));
      continue;
    }
    SmallVector<ExprAttr> shape;
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      FailureOr<ExprAttr> extent = host.getExtent(argument, axis);
      if (failed(extent))
        return failure();
      shape.push_back(*extent);
    }
    FailureOr<SmallVector<ExprAttr>> strides = getStrides(function, argument);
    if (failed(strides))
      return failure();
    bool strided = !type.getLayout().isIdentity();
    arguments.push_back(LaunchArgumentAttr::get(
        context, name, true, type.getElementType(), toArray(context, shape),
        toArray(context, *strides), strided,
        declared ? declared.getAlignment() : 0, getAccess(argument)));
  }
  return success();
}

LogicalResult PlanBuilder::addSymbols() {
  llvm::SetVector<StringRef> names;
  using Visit = function_ref<void(size_t, ExprAttr, ExprAttr)>;
  auto forEach = [&](Visit visit) {
    for (auto [number, attribute] : llvm::enumerate(arguments)) {
      auto argument = cast<LaunchArgumentAttr>(attribute);
      for (auto [axis, size] :
           llvm::enumerate(argument.getShape().getAsRange<ExprAttr>()))
        visit(number, size, ExprAttr::getDim(context, number, axis));
      for (auto [axis, stride] :
           llvm::enumerate(argument.getStrides().getAsRange<ExprAttr>()))
        visit(number, stride, ExprAttr::getStride(context, number, axis));
    }
  };
  forEach(
      [&](size_t, ExprAttr expr, ExprAttr) { collectSymbols(expr, names); });
  SmallVector<int64_t> outputs = getOutputs();
  for (StringRef name : names) {
    // An output is allocated from the symbols, so it can be their source only
    // when the caller passes it.
    ExprAttr source, outputSource;
    forEach([&](size_t number, ExprAttr expr, ExprAttr position) {
      if (expr.getKind() != ExprKind::Symbol || expr.getName() != name)
        return;
      bool isOutput = llvm::is_contained(outputs, static_cast<int64_t>(number));
      ExprAttr &target = isOutput ? outputSource : source;
      if (!target)
        target = position;
    });
    if (!source)
      source = outputSource;
    if (!source)
      return function.emitError()
             << "the size '" << name
             << "' is used but is no extent or stride of an argument by itself";
    symbols.push_back(LaunchSymbolAttr::get(context, name, source));
  }
  return success();
}

LogicalResult PlanBuilder::addWorkspaces() {
  for (WorkspaceOp workspace : getWorkspaces(function)) {
    auto type = cast<MemRefType>(workspace.getType());
    int64_t bytes = getElementBits(type.getElementType()) / 8;
    ExprAttr size = ExprAttr::getConstant(context, bytes);
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      FailureOr<ExprAttr> extent = host.getExtent(workspace, axis);
      if (failed(extent))
        return failure();
      size = ExprAttr::getBinary(ExprKind::Mul, *extent, size);
    }
    workspaces.push_back(LaunchWorkspaceAttr::get(
        context, size, workspace.getZero(), workspace.getKept()));
  }
  return success();
}

LogicalResult PlanBuilder::addLaunches() {
  for (KernelOp kernel : function.getOps<KernelOp>()) {
    SmallVector<ExprAttr> grid;
    for (Value extent : kernel.getGrid()) {
      FailureOr<ExprAttr> expr = host.convert(extent);
      if (failed(expr))
        return failure();
      grid.push_back(*expr);
    }
    grid.resize(3, ExprAttr::getConstant(context, 1));
    SmallVector<int64_t> cluster;
    if (auto declared = kernel.getCluster())
      cluster.assign(declared->begin(), declared->end());
    cluster.resize(3, 1);
    FailureOr<KernelSignature> signature = KernelSignature::compute(kernel);
    if (failed(signature))
      return failure();
    SmallVector<Attribute> parameters(signature->parameters.begin(),
                                      signature->parameters.end());
    int64_t sharedBytes = 0;
    if (auto bytes = kernel->getAttrOfType<IntegerAttr>("tile.shared_bytes"))
      sharedBytes = bytes.getInt();
    launches.push_back(LaunchAttr::get(
        context, getEntryName(kernel), toArray(context, grid),
        DenseI64ArrayAttr::get(context, cluster), kernel.getThreads(),
        sharedBytes, kernel->hasAttr(kCooperative),
        ArrayAttr::get(context, parameters),
        /*programmatic_serialization=*/false));
  }
  if (launches.empty())
    return function.emitError("holds no tile.kernel to launch");
  return success();
}

void PlanBuilder::addAssumption(AssumeOp assume) {
  ExprAttr value = host.convertCondition(assume.getCondition());
  if (!value || (value.isConstant() && value.getValue() != 0))
    return;
  std::string message = "an assumption of the kernel does not hold";
  if (auto position = assume.getLoc()->findInstanceOf<FileLineColLoc>())
    message += " (" + position.getFilename().str() + ":" +
               std::to_string(position.getLine()) + ")";
  auto none = DenseI64ArrayAttr::get(context, {});
  guards.push_back(GuardAttr::get(context, GuardKind::ExprTrue, 0, 0, none,
                                  none, value, message));
}

void PlanBuilder::addGuards() {
  OptionsAttr options = OptionsAttr::of(function);
  TargetAttr target = getTarget(function);
  auto none = DenseI64ArrayAttr::get(context, {});
  SmallVector<int64_t> written, read;
  for (auto [number, attribute] : llvm::enumerate(arguments)) {
    auto argument = cast<LaunchArgumentAttr>(attribute);
    if (!argument.getTensor() || argument.getAccess() == Access::None)
      continue;
    bool isWritten = argument.getAccess() != Access::Read;
    (isWritten ? written : read).push_back(number);
    // The CPU uses element alignment.
    if (!target || target.isCPU())
      continue;
    int64_t bytes = options.getInteger("alignment", 16);
    if (argument.getAlignment())
      bytes = std::min(bytes, argument.getAlignment());
    if (bytes * 8 > getElementBits(argument.getElement()))
      guards.push_back(GuardAttr::get(context, GuardKind::Aligned, number,
                                      bytes, none, none, ExprAttr(), ""));
  }
  if (options.getFlag("noalias", true) && !written.empty() &&
      written.size() + read.size() > 1)
    guards.push_back(GuardAttr::get(context, GuardKind::NoAlias, 0, 0,
                                    DenseI64ArrayAttr::get(context, written),
                                    DenseI64ArrayAttr::get(context, read),
                                    ExprAttr(), ""));
  function.walk([&](AssumeOp assume) { addAssumption(assume); });
}

FailureOr<LaunchPlanAttr> mlir::tile::buildLaunchPlan(func::FuncOp function) {
  PlanBuilder builder{function};
  if (failed(builder.addArguments()) || failed(builder.addSymbols()) ||
      failed(builder.addWorkspaces()) || failed(builder.addLaunches()))
    return failure();
  builder.addGuards();
  MLIRContext *context = function.getContext();
  TargetAttr target = getTarget(function);
  return LaunchPlanAttr::getChecked(
      [&] { return function.emitError(); }, context, function.getName(),
      target ? target.getArch() : StringRef("cpu"),
      ArrayAttr::get(context, builder.arguments),
      ArrayAttr::get(context, builder.symbols),
      DenseI64ArrayAttr::get(context, builder.getOutputs()),
      ArrayAttr::get(context, builder.workspaces),
      ArrayAttr::get(context, builder.launches), ArrayAttr::get(context, {}),
      ArrayAttr::get(context, builder.guards));
}

StringRef mlir::tile::getDataTypeName(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return "bool";
    case 8:
      return isUnsigned ? "u8" : "i8";
    case 16:
      return isUnsigned ? "u16" : "i16";
    case 32:
      return isUnsigned ? "u32" : "i32";
    case 64:
      return isUnsigned ? "u64" : "i64";
    default:
      return "";
    }
  }
  return llvm::TypeSwitch<Type, StringRef>(type)
      .Case([](Float16Type) { return "f16"; })
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](FloatTF32Type) { return "tf32"; })
      .Case([](Float32Type) { return "f32"; })
      .Case([](Float64Type) { return "f64"; })
      .Case([](Float8E4M3FNType) { return "f8e4m3fn"; })
      .Case([](Float8E5M2Type) { return "f8e5m2"; })
      .Default([](Type) { return ""; });
}
