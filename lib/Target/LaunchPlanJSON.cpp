//===- LaunchPlanJSON.cpp - the launch plan as JSON -------------*- C++ -*-===//
//
// `tile-translate --tile-to-launch-plan` and the text that the runtime parses.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Target/LaunchPlanJSON.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::tile;
namespace json = llvm::json;

namespace {

/// Builds the JSON values of one plan.
struct PlanPrinter {
  LaunchPlanAttr plan;
  bool failed = false;

  json::Value expression(ExprAttr expr) {
    StringRef name = stringifyExprKind(expr.getKind());
    switch (expr.getKind()) {
    case ExprKind::Constant:
      return expr.getValue();
    case ExprKind::Symbol:
      return json::Array{name, symbolIndex(expr.getName())};
    case ExprKind::Dim:
    case ExprKind::Stride:
      return json::Array{name, expr.getValue(), expr.getAxis()};
    case ExprKind::Scalar:
      return json::Array{name, expr.getValue()};
    case ExprKind::SmCount:
      return json::Array{name};
    default:
      return json::Array{name, expression(expr.getOperands()[0]),
                         expression(expr.getOperands()[1])};
    }
  }

  int64_t symbolIndex(StringRef name) {
    for (auto [index, symbol] :
         llvm::enumerate(plan.getSymbols().getAsRange<LaunchSymbolAttr>()))
      if (symbol.getName() == name)
        return index;
    failed = true;
    return -1;
  }

  json::Array expressions(ArrayAttr list) {
    json::Array result;
    for (auto expr : list.getAsRange<ExprAttr>())
      result.push_back(expression(expr));
    return result;
  }

  static json::Array integers(DenseI64ArrayAttr list) {
    json::Array result;
    for (int64_t value : list.asArrayRef())
      result.push_back(value);
    return result;
  }

  json::Value dataType(Type type) {
    StringRef name = getDataTypeName(type);
    failed |= name.empty();
    return name;
  }

  /// Row-major strides; the launcher only checks them for strided tensors.
  json::Array contiguousStrides(ArrayAttr shape) {
    SmallVector<ExprAttr> strides;
    ExprAttr stride = ExprAttr::getConstant(plan.getContext(), 1);
    for (auto size : llvm::reverse(shape.getAsRange<ExprAttr>())) {
      strides.push_back(stride);
      stride = stride.isConstant() && stride.getValue() == 1
                   ? size
                   : ExprAttr::getBinary(ExprKind::Mul, stride, size);
    }
    json::Array result;
    for (ExprAttr expr : llvm::reverse(strides))
      result.push_back(expression(expr));
    return result;
  }

  json::Object argument(LaunchArgumentAttr attr) {
    json::Object result{{"name", attr.getName()},
                        {"kind", attr.getTensor() ? "tensor" : "scalar"},
                        {"dtype", dataType(attr.getElement())}};
    if (!attr.getTensor())
      return result;
    result["shape"] = expressions(attr.getShape());
    result["strided"] = attr.getStrided();
    result["strides"] = attr.getStrided() ? expressions(attr.getStrides())
                                          : contiguousStrides(attr.getShape());
    result["alignment"] = attr.getAlignment();
    // A tensor that no kernel touches counts as read.
    result["access"] = attr.getAccess() == Access::None
                           ? "read"
                           : stringifyAccess(attr.getAccess());
    return result;
  }

  json::Object parameter(LaunchParameterAttr attr) {
    json::Object result{{"kind", stringifyParameterKind(attr.getKind())}};
    switch (attr.getKind()) {
    case ParameterKind::Pointer:
    case ParameterKind::Scalar:
      result["argument"] = attr.getIndex();
      break;
    case ParameterKind::Workspace:
    case ParameterKind::TensorMap:
      result["index"] = attr.getIndex();
      break;
    case ParameterKind::Expr:
      result["dtype"] = dataType(attr.getType());
      result["value"] = expression(attr.getValue());
      break;
    }
    return result;
  }

  json::Object launch(LaunchAttr attr) {
    json::Array parameters;
    for (auto element : attr.getParameters().getAsRange<LaunchParameterAttr>())
      parameters.push_back(parameter(element));
    json::Object result{{"kernel", attr.getKernel()},
                        {"grid", expressions(attr.getGrid())},
                        {"cluster", integers(attr.getCluster())},
                        {"threads", attr.getThreads()},
                        {"shared_bytes", attr.getSharedBytes()},
                        {"cooperative", attr.getCooperative()},
                        {"parameters", std::move(parameters)}};
    if (attr.getProgrammaticSerialization())
      result["programmatic_serialization"] = true;
    return result;
  }

  json::Object tensorMap(TensorMapAttr attr) {
    json::Object result{
        {"argument", attr.getArgument()},
        {"dim_order", integers(attr.getDimOrder())},
        {"box", integers(attr.getBox())},
        {"element_strides", integers(attr.getElementStrides())},
        {"swizzle", attr.getSwizzle()},
        {"fill", attr.getFill() == TensorMapFill::NaN ? "nan" : "zero"},
        {"l2_promotion", attr.getL2Promotion()}};
    if (attr.getShape()) {
      result["shape"] = expressions(attr.getShape());
      result["strides"] = expressions(attr.getStrides());
    }
    if (attr.getOffset())
      result["offset"] = expression(attr.getOffset());
    if (attr.getDtype())
      result["dtype"] = dataType(attr.getDtype());
    return result;
  }

  json::Object guard(GuardAttr attr) {
    json::Object result{{"kind", stringifyGuardKind(attr.getKind())}};
    switch (attr.getKind()) {
    case GuardKind::Aligned:
      result["argument"] = attr.getArgument();
      result["bytes"] = attr.getBytes();
      break;
    case GuardKind::NoAlias:
      result["written"] = integers(attr.getWritten());
      result["read"] = integers(attr.getRead());
      break;
    case GuardKind::ExprTrue:
      result["value"] = expression(attr.getValue());
      result["message"] = attr.getMessage();
      break;
    }
    return result;
  }

  template <typename AttrT, typename Print>
  static json::Array list(ArrayAttr attributes, Print print) {
    json::Array result;
    for (auto element : attributes.getAsRange<AttrT>())
      result.push_back(print(element));
    return result;
  }

  json::Object print() {
    auto symbol = [&](LaunchSymbolAttr attr) {
      return json::Object{{"name", attr.getName()},
                          {"source", expression(attr.getSource())}};
    };
    auto workspace = [&](LaunchWorkspaceAttr attr) {
      json::Object object{{"bytes", expression(attr.getBytes())},
                          {"zero", attr.getZero()}};
      if (attr.getKept())
        object["kept"] = true;
      return object;
    };
    return json::Object{
        {"version", 1},
        {"name", plan.getName()},
        {"target", plan.getTarget()},
        {"arguments",
         list<LaunchArgumentAttr>(plan.getArguments(),
                                  [&](auto attr) { return argument(attr); })},
        {"symbols", list<LaunchSymbolAttr>(plan.getSymbols(), symbol)},
        {"outputs", integers(plan.getOutputs())},
        {"workspaces",
         list<LaunchWorkspaceAttr>(plan.getWorkspaces(), workspace)},
        {"launches", list<LaunchAttr>(plan.getLaunches(),
                                      [&](auto attr) { return launch(attr); })},
        {"tensor_maps",
         list<TensorMapAttr>(plan.getTensorMaps(),
                             [&](auto attr) { return tensorMap(attr); })},
        {"guards", list<GuardAttr>(plan.getGuards(),
                                   [&](auto attr) { return guard(attr); })}};
  }
};

} // namespace

LogicalResult tilemlir::printLaunchPlan(LaunchPlanAttr plan,
                                        llvm::raw_ostream &os) {
  PlanPrinter printer{plan};
  json::Object result = printer.print();
  if (printer.failed)
    return failure();
  os << json::Value(std::move(result)) << "\n";
  return success();
}

LogicalResult tilemlir::translateToLaunchPlan(ModuleOp module,
                                              llvm::raw_ostream &os) {
  auto plan = module->getAttrOfType<LaunchPlanAttr>("tile.launch_plan");
  if (!plan) {
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.getOps<KernelOp>().empty())
        functions.push_back(function);
    if (functions.size() != 1)
      return module.emitError()
             << "has no tile.launch_plan, and " << functions.size()
             << " functions with kernels instead of one";
    FailureOr<LaunchPlanAttr> built = buildLaunchPlan(functions.front());
    if (failed(built))
      return failure();
    plan = *built;
  }
  if (failed(printLaunchPlan(plan, os)))
    return module.emitError(
        "the launch plan names an unknown symbol, or an element type that "
        "arguments cannot have");
  return success();
}

void tilemlir::registerToLaunchPlanTranslation(
    void (*registerDialects)(DialectRegistry &)) {
  TranslateFromMLIRRegistration registration(
      "tile-to-launch-plan", "print the launch plan of a module as JSON",
      [](Operation *op, llvm::raw_ostream &os) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        if (!module)
          return op->emitError("expected a module");
        return translateToLaunchPlan(module, os);
      },
      registerDialects);
}
