//===- LaunchProgramCompile.cpp - Compiling a launch plan -------*- C++ -*-===//
//
// Turns a launch plan into slots and flat expressions, and refuses plans that
// contradict themselves before any call is made.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/LaunchProgram.h"

#include <algorithm>
#include <limits>

using namespace tilemlir::runtime;
using Kind = ExpressionTree::Kind;

LaunchProgram::LaunchProgram(LaunchPlan plan)
    : launchPlan(std::move(plan)), onCpu(launchPlan.isCpu()) {
  layOutSlots();
  compile();
}

void LaunchProgram::badPlan(const std::string &detail) const {
  fail("bad-plan", {{"detail", detail}});
}

void LaunchProgram::fail(const char *code, Failure::Fields fields) const {
  fields.emplace_back("kernel", launchPlan.name);
  throw Failure(code, std::move(fields));
}

void LaunchProgram::layOutSlots() {
  const auto &arguments = launchPlan.arguments;
  outputFlags.assign(arguments.size(), 0);
  for (int32_t output : launchPlan.outputs) {
    if (output < 0 || output >= static_cast<int32_t>(arguments.size()) ||
        arguments[output].kind != ArgumentKind::Tensor)
      badPlan("output " + std::to_string(output) + " is not a tensor argument");
    if (outputFlags[output])
      badPlan("output " + std::to_string(output) + " is listed twice");
    if (arguments[output].strided || arguments[output].optional)
      badPlan("output '" + arguments[output].name +
              "' may be neither strided nor optional");
    outputFlags[output] = 1;
  }
  int32_t next = 1; // slot 0: multiprocessor count
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    int32_t rank = argument.kind == ArgumentKind::Tensor
                       ? static_cast<int32_t>(argument.shape.size())
                       : 0;
    if (argument.strided &&
        static_cast<int32_t>(argument.strides.size()) != rank)
      badPlan("argument '" + argument.name +
              "' needs one stride per dimension");
    ranks.push_back(rank);
    dimSlots.push_back(next);
    compiledArguments.push_back(
        {argument.kind, dlpackType(argument.dtype), argument.strided,
         argument.written, rank, next,
         static_cast<uint64_t>(byteWidth(argument.dtype))});
    next += 2 * rank;
    if (!outputFlags[i])
      inputs.push_back(static_cast<int32_t>(i));
  }
  symbolSlots = next;
  next += static_cast<int32_t>(launchPlan.symbols.size());
  scalarSlots = next;
  next += static_cast<int32_t>(arguments.size());
  slotCount = next;
}

int32_t LaunchProgram::slotOf(const ExpressionTree &leaf) const {
  auto argumentCount = static_cast<int32_t>(launchPlan.arguments.size());
  switch (leaf.kind) {
  case Kind::SmCount:
    return 0;
  case Kind::Symbol:
    if (leaf.argument < 0 ||
        leaf.argument >= static_cast<int32_t>(launchPlan.symbols.size()))
      badPlan("symbol " + std::to_string(leaf.argument) + " does not exist");
    return symbolSlots + leaf.argument;
  case Kind::Scalar:
    if (leaf.argument < 0 || leaf.argument >= argumentCount ||
        launchPlan.arguments[leaf.argument].kind != ArgumentKind::Scalar ||
        !isInteger(launchPlan.arguments[leaf.argument].dtype))
      badPlan("argument " + std::to_string(leaf.argument) +
              " is not an integer scalar");
    return scalarSlots + leaf.argument;
  default:
    if (leaf.argument < 0 || leaf.argument >= argumentCount || leaf.axis < 0 ||
        leaf.axis >= ranks[leaf.argument])
      badPlan("argument " + std::to_string(leaf.argument) +
              " has no dimension " + std::to_string(leaf.axis));
    return dimSlots[leaf.argument] + leaf.axis +
           (leaf.kind == Kind::Stride ? ranks[leaf.argument] : 0);
  }
}

int32_t LaunchProgram::sourceArgumentOf(const ExpressionTree &tree) const {
  if (tree.kind == Kind::Dim || tree.kind == Kind::Stride)
    return tree.argument;
  for (const ExpressionTree &operand : tree.operands)
    if (int32_t found = sourceArgumentOf(operand); found >= 0)
      return found;
  return -1;
}

void LaunchProgram::compile() {
  Expression::SlotOf slots = [this](const ExpressionTree &leaf) {
    return slotOf(leaf);
  };
  const auto &arguments = launchPlan.arguments;
  for (size_t i = 0; i < launchPlan.symbols.size(); ++i) {
    const ExpressionTree &source = launchPlan.symbols[i].source;
    int32_t argument = sourceArgumentOf(source);
    if (argument >= 0 && outputFlags[argument])
      badPlan("symbol '" + launchPlan.symbols[i].name +
              "' is read from output '" + arguments[argument].name + "'");
    CompiledSymbol symbol{symbolSlots + static_cast<int32_t>(i),
                          Expression(source, slots),
                          argument,
                          {}};
    for (int32_t other : inputs)
      for (int32_t axis = 0; axis < ranks[other]; ++axis) {
        const ExpressionTree &size = arguments[other].shape[axis];
        if (size.kind == Kind::Symbol &&
            size.argument == static_cast<int32_t>(i))
          symbol.alternatives.emplace_back(other, dimSlots[other] + axis);
      }
    symbols.push_back(std::move(symbol));
  }
  compileChecks(slots);
  for (const Workspace &workspace : launchPlan.workspaces)
    workspaceSizes.emplace_back(workspace.bytes, slots);
  int32_t selecting = 0;
  for (const Guard &guard : launchPlan.guards) {
    auto isTensor = [&](int32_t argument) {
      return argument >= 0 &&
             argument < static_cast<int32_t>(arguments.size()) &&
             arguments[argument].kind == ArgumentKind::Tensor;
    };
    bool valid = guard.kind != GuardKind::Aligned ||
                 (isTensor(guard.argument) && guard.bytes > 0);
    valid &= std::all_of(guard.written.begin(), guard.written.end(), isTensor);
    valid &= std::all_of(guard.read.begin(), guard.read.end(), isTensor);
    if (!valid)
      badPlan("a guard names an argument that is not a tensor");
    compileGuard(guard, slots);
    selecting += guard.selectsVariant;
  }
  if (launchPlan.guards.size() > 64 && selecting)
    badPlan("more than 64 guards");
  for (const TensorMapPlan &map : launchPlan.tensorMaps) {
    if (map.argument < 0 ||
        map.argument >= static_cast<int32_t>(arguments.size()) ||
        arguments[map.argument].kind != ArgumentKind::Tensor)
      badPlan("a tensor map names an argument that is not a tensor");
    size_t rank = map.shape.empty() ? map.dimOrder.size() : map.shape.size();
    bool validOrder =
        std::all_of(map.dimOrder.begin(), map.dimOrder.end(), [&](int32_t dim) {
          return dim >= 0 && dim < ranks[map.argument];
        });
    if (rank == 0 || rank > 5 || map.box.size() != rank ||
        map.elementStrides.size() != rank || !validOrder ||
        (!map.shape.empty() && map.strides.size() != rank))
      badPlan("a tensor map of '" + arguments[map.argument].name +
              "' has inconsistent dimensions");
    CompiledMap compiled;
    for (const ExpressionTree &size : map.shape)
      compiled.shape.emplace_back(size, slots);
    for (const ExpressionTree &stride : map.strides)
      compiled.strides.emplace_back(stride, slots);
    compiled.offset = Expression(map.offset, slots);
    maps.push_back(std::move(compiled));
  }
  for (const Launch &launch : launchPlan.launches) {
    CompiledLaunch compiled;
    for (int axis = 0; axis < 3; ++axis)
      compiled.grid[axis] = Expression(launch.grid[axis], slots);
    for (uint32_t extent : launch.cluster)
      if (extent == 0)
        badPlan("a cluster extent is zero");
    for (const Parameter &parameter : launch.parameters) {
      size_t limit = parameter.kind == ParameterKind::Workspace
                         ? launchPlan.workspaces.size()
                     : parameter.kind == ParameterKind::TensorMap
                         ? launchPlan.tensorMaps.size()
                         : arguments.size();
      if (parameter.kind != ParameterKind::Expression &&
          (parameter.index < 0 ||
           static_cast<size_t>(parameter.index) >= limit))
        badPlan("a parameter of '" + launch.kernel + "' is out of range");
      if (parameter.kind == ParameterKind::TensorMap && launchPlan.isCpu())
        badPlan("tensor maps do not exist on the cpu target");
      bool needsScalar = parameter.kind == ParameterKind::Scalar;
      bool needsPointer = parameter.kind == ParameterKind::Pointer;
      if ((needsScalar || needsPointer) &&
          (arguments[parameter.index].kind == ArgumentKind::Scalar) !=
              needsScalar)
        badPlan("a parameter of '" + launch.kernel +
                "' has the wrong kind for argument '" +
                arguments[parameter.index].name + "'");
      DataType dtype =
          needsScalar ? arguments[parameter.index].dtype : parameter.dtype;
      if (parameter.kind == ParameterKind::Expression && !isInteger(dtype))
        badPlan("an expression parameter must be an integer");
      CompiledParameter entry{
          parameter.kind,  dtype,
          parameter.index, Expression(parameter.value, slots),
          /*minimum=*/0,   /*maximum=*/0};
      if (parameter.kind == ParameterKind::Expression) {
        // Values are 64-bit signed: no u64 above that range can occur.
        entry.minimum = minimumValue(dtype);
        entry.maximum = static_cast<int64_t>(std::min(
            maximumValue(dtype),
            static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
      }
      compiled.parameters.push_back(std::move(entry));
    }
    parameterOffsets.push_back(parameterCount);
    parameterCount += compiled.parameters.size();
    launches.push_back(std::move(compiled));
  }
}

void LaunchProgram::compileGuard(const Guard &guard,
                                 const Expression::SlotOf &slotOf) {
  CompiledGuard compiled;
  compiled.kind = guard.kind;
  compiled.argument = guard.argument;
  compiled.bytes = static_cast<uint64_t>(guard.bytes);
  compiled.rowSlot = -1;
  compiled.elementBytes = 0;
  compiled.value = Expression(guard.value, slotOf);
  if (guard.kind == GuardKind::Aligned) {
    // Code may take the rows of a contiguous tensor as aligned like its base.
    // The compiler has checked a constant row length; a dynamic one is known
    // only by the call.
    const Argument &argument = launchPlan.arguments[guard.argument];
    int32_t rank = ranks[guard.argument];
    if (rank >= 2 && !argument.strided &&
        argument.shape.back().kind != Kind::Constant)
      compiled.rowSlot = dimSlots[guard.argument] + rank - 1;
    compiled.elementBytes = static_cast<uint64_t>(byteWidth(argument.dtype));
    bool hasMap =
        std::any_of(launchPlan.tensorMaps.begin(), launchPlan.tensorMaps.end(),
                    [&](const TensorMapPlan &map) {
                      return map.argument == guard.argument;
                    });
    if (hasMap) {
      compiled.firstExtent = dimSlots[guard.argument];
      compiled.lastExtent = compiled.firstExtent + rank;
    }
  }
  for (int32_t written : guard.written) {
    for (int32_t read : guard.read)
      if (written != read)
        compiled.pairs.emplace_back(written, read);
    for (int32_t other : guard.written)
      if (written < other)
        compiled.pairs.emplace_back(written, other);
  }
  guards.push_back(std::move(compiled));
}

void LaunchProgram::compileChecks(const Expression::SlotOf &slotsOf) {
  const auto &arguments = launchPlan.arguments;
  outputShapes.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto argument = static_cast<int32_t>(i);
    for (int32_t axis = 0; axis < ranks[i]; ++axis) {
      const ExpressionTree &size = arguments[i].shape[axis];
      int32_t slot = dimSlots[i] + axis;
      Expression expected(size, slotsOf);
      if (outputFlags[i]) {
        outputShapes[i].push_back(expected);
        continue;
      }
      bool definesSymbol =
          size.kind == Kind::Symbol &&
          launchPlan.symbols[size.argument].source.kind == Kind::Dim &&
          symbols[size.argument].source.isSlot(slot);
      if (!definesSymbol && !expected.isSlot(slot))
        checks.push_back({argument, axis, slot, false, expected, &size});
    }
    if (!arguments[i].strided)
      continue;
    for (int32_t axis = 0; axis < ranks[i]; ++axis) {
      const ExpressionTree &stride = arguments[i].strides[axis];
      int32_t slot = dimSlots[i] + ranks[i] + axis;
      Expression expected(stride, slotsOf);
      bool definesSymbol = stride.kind == Kind::Symbol &&
                           symbols[stride.argument].source.isSlot(slot);
      if (!definesSymbol && !expected.isSlot(slot))
        checks.push_back({argument, axis, slot, true, expected, &stride});
    }
  }
}

std::string LaunchProgram::describe(const ExpressionTree &tree) const {
  const auto &arguments = launchPlan.arguments;
  switch (tree.kind) {
  case Kind::Constant:
    return std::to_string(tree.value);
  case Kind::Dim:
    return arguments[tree.argument].name + ".shape[" +
           std::to_string(tree.axis) + "]";
  case Kind::Stride:
    return arguments[tree.argument].name + ".strides[" +
           std::to_string(tree.axis) + "]";
  case Kind::Symbol:
    return launchPlan.symbols[tree.argument].name;
  case Kind::Scalar:
    return arguments[tree.argument].name;
  case Kind::SmCount:
    return "sm_count";
  default:
    break;
  }
  std::string left = describe(tree.operands[0]);
  std::string right = describe(tree.operands[1]);
  switch (tree.kind) {
  case Kind::Add:
    return "(" + left + " + " + right + ")";
  case Kind::Sub:
    return "(" + left + " - " + right + ")";
  case Kind::Mul:
    return "(" + left + " * " + right + ")";
  case Kind::FloorDiv:
    return "(" + left + " // " + right + ")";
  case Kind::Mod:
    return "(" + left + " % " + right + ")";
  case Kind::CeilDiv:
    return "ceildiv(" + left + ", " + right + ")";
  case Kind::Min:
    return "min(" + left + ", " + right + ")";
  default:
    return "max(" + left + ", " + right + ")";
  }
}

std::string LaunchProgram::describeValue(const Call &call,
                                         const ExpressionTree &tree,
                                         int64_t value) const {
  if (tree.kind == Kind::Constant)
    return std::to_string(value);
  std::string text = describe(tree) + " = " + std::to_string(value);
  if (tree.kind != Kind::Symbol)
    return text;
  const ExpressionTree &source = launchPlan.symbols[tree.argument].source;
  if (source.kind == Kind::Dim && call.present[source.argument])
    text += " (dimension " + std::to_string(source.axis) + " of '" +
            launchPlan.arguments[source.argument].name + "')";
  else
    text += " (" + describe(source) + ")";
  return text;
}
