//===- RuntimePlan.cpp - Launch plans from Python ---------------*- C++ -*-===//
//
// Reads the JSON form of a launch plan, given as Python dicts and lists, into
// the runtime's own structures.
//
//===----------------------------------------------------------------------===//

#include "RuntimeBindings.h"

#include <nanobind/stl/string.h>

#include <map>

namespace nb = nanobind;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

namespace {

[[noreturn]] void badPlan(const std::string &detail) {
  throw Failure("bad-plan", {{"detail", detail}});
}

template <typename T> T convert(nb::handle value, const char *what) {
  T result;
  if (!nb::try_cast<T>(value, result))
    badPlan(std::string(what) +
            " has the wrong type: " + nb::cast<std::string>(nb::repr(value)));
  return result;
}

nb::object field(nb::dict dict, const char *name) {
  nb::object value = nb::borrow(PyDict_GetItemString(dict.ptr(), name));
  if (!value.ptr())
    badPlan(std::string("field '") + name + "' is missing in " +
            nb::cast<std::string>(nb::repr(dict)));
  return value;
}

nb::object optionalField(nb::dict dict, const char *name) {
  nb::object value = nb::borrow(PyDict_GetItemString(dict.ptr(), name));
  return value.ptr() && !value.is_none() ? value : nb::object();
}

template <typename T> T get(nb::dict dict, const char *name) {
  return convert<T>(field(dict, name), name);
}

template <typename T> T get(nb::dict dict, const char *name, T fallback) {
  nb::object value = optionalField(dict, name);
  return value.ptr() ? convert<T>(value, name) : fallback;
}

nb::list asList(nb::handle value, const char *what) {
  if (!PySequence_Check(value.ptr()) || PyUnicode_Check(value.ptr()))
    badPlan(std::string(what) + " is not a list");
  return nb::list(value);
}

nb::list getList(nb::dict dict, const char *name) {
  nb::object value = optionalField(dict, name);
  return value.ptr() ? asList(value, name) : nb::list();
}

template <typename T>
std::vector<T> getVector(nb::dict dict, const char *name) {
  std::vector<T> values;
  for (nb::handle item : getList(dict, name))
    values.push_back(convert<T>(item, name));
  return values;
}

DataType parseType(nb::dict dict) {
  auto name = get<std::string>(dict, "dtype");
  std::optional<DataType> type = parseDataType(name);
  if (!type)
    badPlan("unknown dtype '" + name + "'");
  return *type;
}

ExpressionTree parseExpression(nb::handle value) {
  ExpressionTree tree;
  if (PyLong_Check(value.ptr())) {
    tree.value = convert<int64_t>(value, "an integer");
    return tree;
  }
  using Kind = ExpressionTree::Kind;
  static const std::map<std::string, Kind> kinds = {
      {"dim", Kind::Dim},
      {"stride", Kind::Stride},
      {"symbol", Kind::Symbol},
      {"scalar", Kind::Scalar},
      {"sm_count", Kind::SmCount},
      {"add", Kind::Add},
      {"sub", Kind::Sub},
      {"mul", Kind::Mul},
      {"floordiv", Kind::FloorDiv},
      {"ceildiv", Kind::CeilDiv},
      {"mod", Kind::Mod},
      {"min", Kind::Min},
      {"max", Kind::Max}};
  nb::list items = asList(value, "an expression");
  if (items.size() == 0)
    badPlan("an expression is empty");
  auto name = convert<std::string>(items[0], "an operator");
  auto found = kinds.find(name);
  if (found == kinds.end())
    badPlan("unknown operator '" + name + "'");
  tree.kind = found->second;
  size_t operands = tree.kind == Kind::SmCount ? 0
                    : tree.kind == Kind::Symbol || tree.kind == Kind::Scalar
                        ? 1
                        : 2;
  if (items.size() != operands + 1)
    badPlan("operator '" + name + "' needs " + std::to_string(operands) +
            " operands");
  if (tree.kind >= Kind::Add) {
    tree.operands.push_back(parseExpression(items[1]));
    tree.operands.push_back(parseExpression(items[2]));
  } else if (operands > 0) {
    tree.argument = convert<int32_t>(items[1], "an argument index");
    if (operands > 1)
      tree.axis = convert<int32_t>(items[2], "an axis");
  }
  return tree;
}

std::vector<ExpressionTree> getExpressions(nb::dict dict, const char *name) {
  std::vector<ExpressionTree> trees;
  for (nb::handle item : getList(dict, name))
    trees.push_back(parseExpression(item));
  return trees;
}

Argument parseArgument(nb::dict dict) {
  Argument argument;
  argument.name = get<std::string>(dict, "name");
  auto kind = get<std::string>(dict, "kind");
  if (kind == "tensor")
    argument.kind = ArgumentKind::Tensor;
  else if (kind == "scalar")
    argument.kind = ArgumentKind::Scalar;
  else if (kind == "pointer")
    argument.kind = ArgumentKind::Pointer;
  else
    badPlan("unknown argument kind '" + kind + "'");
  argument.optional = get<bool>(dict, "optional", false);
  if (argument.kind == ArgumentKind::Pointer) {
    argument.dtype = DataType::U64;
    argument.written = true;
    return argument;
  }
  argument.dtype = parseType(dict);
  if (argument.kind == ArgumentKind::Scalar)
    return argument;
  field(dict, "shape");
  argument.shape = getExpressions(dict, "shape");
  argument.strided = get<bool>(dict, "strided", false);
  if (argument.strided)
    argument.strides = getExpressions(dict, "strides");
  auto access = get<std::string>(dict, "access", "readwrite");
  if (access != "read" && access != "write" && access != "readwrite")
    badPlan("unknown access '" + access + "'");
  argument.read = access != "write";
  argument.written = access != "read";
  return argument;
}

Parameter parseParameter(nb::dict dict) {
  Parameter parameter;
  auto kind = get<std::string>(dict, "kind");
  if (kind == "pointer") {
    parameter.kind = ParameterKind::Pointer;
    parameter.index = get<int32_t>(dict, "argument");
  } else if (kind == "scalar") {
    parameter.kind = ParameterKind::Scalar;
    parameter.index = get<int32_t>(dict, "argument");
  } else if (kind == "expr") {
    parameter.kind = ParameterKind::Expression;
    parameter.dtype = parseType(dict);
    parameter.value = parseExpression(field(dict, "value"));
  } else if (kind == "workspace") {
    parameter.kind = ParameterKind::Workspace;
    parameter.index = get<int32_t>(dict, "index");
  } else if (kind == "tensor_map") {
    parameter.kind = ParameterKind::TensorMap;
    parameter.index = get<int32_t>(dict, "index");
  } else {
    badPlan("unknown parameter kind '" + kind + "'");
  }
  return parameter;
}

std::array<uint32_t, 3> parseExtents(nb::handle value, const char *what) {
  std::array<uint32_t, 3> extents = {1, 1, 1};
  if (PyLong_Check(value.ptr())) {
    extents[0] = convert<uint32_t>(value, what);
    return extents;
  }
  nb::list items = asList(value, what);
  if (items.size() > 3)
    badPlan(std::string(what) + " has more than three extents");
  for (size_t i = 0; i < items.size(); ++i)
    extents[i] = convert<uint32_t>(items[i], what);
  return extents;
}

Launch parseLaunch(nb::dict dict) {
  Launch launch;
  launch.kernel = get<std::string>(dict, "kernel");
  std::vector<ExpressionTree> grid = getExpressions(dict, "grid");
  if (grid.empty() || grid.size() > 3)
    badPlan("a grid has one to three extents");
  for (size_t i = 0; i < 3; ++i)
    launch.grid[i] = i < grid.size() ? grid[i] : ExpressionTree::constant(1);
  if (nb::object cluster = optionalField(dict, "cluster"); cluster.ptr())
    launch.cluster = parseExtents(cluster, "cluster");
  launch.threads = parseExtents(field(dict, "threads"), "threads");
  launch.sharedBytes = get<int64_t>(dict, "shared_bytes", 0);
  launch.cooperative = get<bool>(dict, "cooperative", false);
  launch.programmaticSerialization =
      get<bool>(dict, "programmatic_serialization", false);
  for (nb::handle item : getList(dict, "parameters"))
    launch.parameters.push_back(
        parseParameter(convert<nb::dict>(item, "a parameter")));
  return launch;
}

TensorMapPlan parseTensorMap(nb::dict dict, const LaunchPlan &plan) {
  TensorMapPlan map;
  map.argument = get<int32_t>(dict, "argument");
  if (map.argument < 0 ||
      map.argument >= static_cast<int32_t>(plan.arguments.size()))
    badPlan("a tensor map names an argument that does not exist");
  map.dtype = plan.arguments[map.argument].dtype;
  if (optionalField(dict, "dtype").ptr())
    map.dtype = parseType(dict);
  if (byteWidth(map.dtype) != byteWidth(plan.arguments[map.argument].dtype))
    badPlan("a tensor map's dtype differs in size from its argument's");
  map.dimOrder = getVector<int32_t>(dict, "dim_order");
  map.shape = getExpressions(dict, "shape");
  map.strides = getExpressions(dict, "strides");
  if (nb::object offset = optionalField(dict, "offset"); offset.ptr())
    map.offset = parseExpression(offset);
  map.box = getVector<uint32_t>(dict, "box");
  map.elementStrides = getVector<uint32_t>(dict, "element_strides");
  if (map.elementStrides.empty())
    map.elementStrides.assign(map.box.size(), 1);
  map.swizzle = get<int32_t>(dict, "swizzle", 0);
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 &&
      map.swizzle != 128)
    badPlan("a tensor map's swizzle is 0, 32, 64 or 128 bytes");
  map.l2Promotion = get<int32_t>(dict, "l2_promotion", 128);
  auto fill = get<std::string>(dict, "fill", "zero");
  if (fill != "zero" && fill != "nan")
    badPlan("a tensor map's fill is 'zero' or 'nan'");
  map.fillNaN = fill == "nan";
  return map;
}

Guard parseGuard(nb::dict dict) {
  Guard guard;
  auto kind = get<std::string>(dict, "kind");
  guard.message = get<std::string>(dict, "message", "");
  std::string fallback = "variant";
  if (kind == "aligned") {
    guard.kind = GuardKind::Aligned;
    guard.argument = get<int32_t>(dict, "argument");
    guard.bytes = get<int64_t>(dict, "bytes");
  } else if (kind == "noalias") {
    guard.kind = GuardKind::NoAlias;
    guard.written = getVector<int32_t>(dict, "written");
    guard.read = getVector<int32_t>(dict, "read");
  } else if (kind == "expr_true") {
    guard.kind = GuardKind::ExpressionTrue;
    guard.value = parseExpression(field(dict, "value"));
    fallback = "error";
  } else {
    badPlan("unknown guard kind '" + kind + "'");
  }
  auto action = get<std::string>(dict, "on_failure", fallback);
  if (action != "variant" && action != "error")
    badPlan("a guard's on_failure is 'variant' or 'error'");
  guard.selectsVariant = action == "variant";
  return guard;
}

} // namespace

LaunchPlan tilemlir::bindings::parsePlan(nb::dict dict) {
  LaunchPlan plan;
  auto version = get<int64_t>(dict, "version");
  if (version != 1)
    badPlan("version " + std::to_string(version) + "; this runtime reads 1");
  plan.target = get<std::string>(dict, "target");
  for (nb::handle item : getList(dict, "arguments"))
    plan.arguments.push_back(
        parseArgument(convert<nb::dict>(item, "an argument")));
  for (nb::handle item : getList(dict, "symbols")) {
    auto symbol = convert<nb::dict>(item, "a symbol");
    plan.symbols.push_back({get<std::string>(symbol, "name"),
                            parseExpression(field(symbol, "source"))});
  }
  plan.outputs = getVector<int32_t>(dict, "outputs");
  for (nb::handle item : getList(dict, "workspaces")) {
    auto workspace = convert<nb::dict>(item, "a workspace");
    plan.workspaces.push_back({parseExpression(field(workspace, "bytes")),
                               get<bool>(workspace, "zero", false),
                               get<bool>(workspace, "kept", false)});
  }
  for (nb::handle item : getList(dict, "launches"))
    plan.launches.push_back(parseLaunch(convert<nb::dict>(item, "a launch")));
  for (nb::handle item : getList(dict, "tensor_maps"))
    plan.tensorMaps.push_back(
        parseTensorMap(convert<nb::dict>(item, "a tensor map"), plan));
  for (nb::handle item : getList(dict, "guards"))
    plan.guards.push_back(parseGuard(convert<nb::dict>(item, "a guard")));
  plan.name = get<std::string>(
      dict, "name", plan.launches.empty() ? "" : plan.launches[0].kernel);
  return plan;
}
