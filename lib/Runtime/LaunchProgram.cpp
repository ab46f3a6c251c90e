//===- LaunchProgram.cpp - Executing a launch plan --------------*- C++ -*-===//
//
// The per-call half: binding and checking arguments, symbols, guards, grids and
// parameter values. This is the hot path of every launch.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/LaunchProgram.h"
#include "tilemlir/Runtime/DLPack.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace tilemlir::runtime;
using Kind = ExpressionTree::Kind;

namespace {

std::string listText(const int64_t *values, int32_t count) {
  std::string text = "(";
  for (int32_t i = 0; i < count; ++i) {
    if (i)
      text += ", ";
    text += std::to_string(values[i]);
  }
  return text + (count == 1 ? ",)" : ")");
}

std::string deviceText(int32_t type, int32_t id) {
  switch (type) {
  case dlpack::kCPU:
    return "cpu";
  case dlpack::kCUDA:
  case dlpack::kCUDAManaged:
    return "cuda:" + std::to_string(id);
  case dlpack::kCUDAHost:
    return "pinned host memory";
  default:
    return "DLPack device type " + std::to_string(type);
  }
}

} // namespace

void LaunchProgram::begin(Call &call) const {
  size_t count = launchPlan.arguments.size();
  call.slots.resize(slotCount);
  call.pointers.resize(count);
  call.scalars.resize(count);
  call.present.resize(count);
  call.begins.resize(count);
  call.ends.resize(count);
  call.workspaces.resize(launchPlan.workspaces.size());
  call.workspaceBytes.resize(launchPlan.workspaces.size());
  call.workspaceIsNew.resize(launchPlan.workspaces.size());
  call.values.resize(parameterCount);
  call.parameters.resize(parameterCount);
  call.grids.resize(3 * launches.size());
  call.tensorMaps.resize(launchPlan.tensorMaps.size());
  call.firstTensor = -1;
}

void LaunchProgram::bindTensor(Call &call, int32_t index,
                               const TensorView &view) const {
  const CompiledArgument &compiled = compiledArguments[index];
  // Named by messages and read by nothing else.
  const Argument &argument = launchPlan.arguments[index];
  if (compiled.kind == ArgumentKind::Tensor) {
    if (!(view.dtype == compiled.dtype))
      fail("dtype", {{"argument", argument.name},
                     {"found", dlpackTypeName(view.dtype)},
                     {"expected", longName(argument.dtype)}});
    if (view.rank != compiled.rank)
      fail("rank", {{"argument", argument.name},
                    {"found", int64_t{view.rank}},
                    {"shape", listText(view.shape, view.rank)},
                    {"expected", int64_t{compiled.rank}}});
  }
  bool rightType = onCpu ? view.deviceType == dlpack::kCPU ||
                               view.deviceType == dlpack::kCUDAHost
                         : view.deviceType == dlpack::kCUDA ||
                               view.deviceType == dlpack::kCUDAManaged;
  if (!rightType)
    fail("device", {{"argument", argument.name},
                    {"found", deviceText(view.deviceType, view.deviceId)},
                    {"expected", onCpu ? "cpu" : "cuda"},
                    {"target", launchPlan.target}});
  if (call.firstTensor < 0) {
    call.firstTensor = index;
    call.deviceType = view.deviceType;
    call.deviceId = view.deviceId;
  } else if (!onCpu && view.deviceId != call.deviceId) {
    fail("device-mismatch",
         {{"argument", argument.name},
          {"found", deviceText(view.deviceType, view.deviceId)},
          {"first", launchPlan.arguments[call.firstTensor].name},
          {"expected", deviceText(call.deviceType, call.deviceId)}});
  }
  if (view.readOnly && compiled.written)
    fail("read-only", {{"argument", argument.name}});
  call.pointers[index] = view.data;
  call.present[index] = true;
  if (compiled.kind != ArgumentKind::Tensor)
    return;
  const int32_t rank = view.rank;
  int64_t *dims = call.slots.data() + compiled.dimSlot;
  int64_t *strides = dims + rank;
  bool empty = false;
  for (int32_t axis = 0; axis < rank; ++axis) {
    dims[axis] = view.shape[axis];
    empty |= dims[axis] == 0;
    // Kernels compute places along a dimension in 32 bits.
    if (dims[axis] > std::numeric_limits<int32_t>::max())
      fail("extent-limit", {{"argument", argument.name},
                            {"axis", int64_t{axis}},
                            {"size", dims[axis]}});
  }
  if (compiled.strided && view.strides) {
    for (int32_t axis = 0; axis < rank; ++axis)
      strides[axis] = view.strides[axis];
  } else {
    // Strides of dimensions of extent 1 say nothing about memory and frameworks
    // fill them freely; the kernel sees the canonical ones.
    int64_t expected = 1;
    bool contiguous = true;
    for (int32_t axis = rank - 1; axis >= 0; --axis) {
      strides[axis] = expected;
      contiguous &=
          !view.strides || dims[axis] == 1 || view.strides[axis] == expected;
      expected *= dims[axis];
    }
    if (!contiguous && !empty)
      fail("not-contiguous", {{"argument", argument.name},
                              {"shape", listText(dims, rank)},
                              {"found", listText(view.strides, rank)},
                              {"expected", listText(strides, rank)}});
  }
  auto address = reinterpret_cast<uintptr_t>(view.data);
  if ((address & (compiled.bytes - 1)) != 0)
    fail("misaligned", {{"argument", argument.name},
                        {"bytes", byteWidth(argument.dtype)},
                        {"dtype", longName(argument.dtype)}});
  if (!view.data && !empty)
    fail("null-data",
         {{"argument", argument.name}, {"shape", listText(dims, rank)}});
  setSpan(call, index);
}

/// Remembers the bytes [begin, end) that the elements of an argument span; for
/// an empty one a range that meets no other. Interleaved strided tensors count
/// as overlapping: the slower variant is still right.
void LaunchProgram::setSpan(Call &call, int32_t index) const {
  const CompiledArgument &compiled = compiledArguments[index];
  const int64_t *sizes = call.slots.data() + compiled.dimSlot;
  const int64_t *steps = sizes + compiled.rank;
  auto bytes = static_cast<int64_t>(compiled.bytes);
  int64_t below = 0, above = 0;
  for (int32_t axis = 0; axis < compiled.rank; ++axis) {
    if (sizes[axis] == 0) {
      call.begins[index] = std::numeric_limits<uintptr_t>::max();
      call.ends[index] = 0;
      return;
    }
    int64_t span = (sizes[axis] - 1) * steps[axis] * bytes;
    (span < 0 ? below : above) += span;
  }
  auto base = reinterpret_cast<uintptr_t>(call.pointers[index]);
  call.begins[index] = base + static_cast<uintptr_t>(below);
  call.ends[index] = base + static_cast<uintptr_t>(above + bytes);
}

void LaunchProgram::bindScalar(Call &call, int32_t argument,
                               uint64_t bits) const {
  call.scalars[argument] = bits;
  call.present[argument] = true;
  call.slots[scalarSlots + argument] = static_cast<int64_t>(bits);
}

void LaunchProgram::bindPointer(Call &call, int32_t argument,
                                void *pointer) const {
  call.pointers[argument] = pointer;
  call.present[argument] = true;
}

void LaunchProgram::bindNone(Call &call, int32_t index) const {
  const Argument &argument = launchPlan.arguments[index];
  if (!argument.optional)
    fail("none-argument", {{"argument", argument.name}});
  call.pointers[index] = nullptr;
  call.present[index] = false;
  int64_t *dims = call.slots.data() + dimSlots[index];
  std::fill(dims, dims + 2 * ranks[index], 0);
}

void LaunchProgram::resolve(Call &call, int64_t smCount) const {
  int64_t *slots = call.slots.data();
  slots[0] = smCount;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const CompiledSymbol &symbol = symbols[i];
    if (symbol.sourceArgument < 0 || call.present[symbol.sourceArgument]) {
      slots[symbol.slot] = symbol.source.evaluate(slots);
      continue;
    }
    auto found = std::find_if(
        symbol.alternatives.begin(), symbol.alternatives.end(),
        [&](const auto &place) { return call.present[place.first]; });
    if (found == symbol.alternatives.end())
      fail("unknown-size",
           {{"symbol", launchPlan.symbols[i].name},
            {"argument", launchPlan.arguments[symbol.sourceArgument].name}});
    slots[symbol.slot] = slots[found->second];
  }
  for (const SizeCheck &check : checks)
    if (slots[check.slot] != check.expected.evaluate(slots))
      checkSizes(call, check);
}

// Out of line: a size that differs is an error unless nothing depends on it.
void LaunchProgram::checkSizes(const Call &call, const SizeCheck &check) const {
  if (!call.present[check.argument])
    return;
  const Argument &argument = launchPlan.arguments[check.argument];
  const int64_t *sizes = dims(call, check.argument);
  int32_t count = ranks[check.argument];
  bool empty = std::find(sizes, sizes + count, 0) != sizes + count;
  // A stride is never used along an extent of one, or in an empty tensor.
  if (check.isStride && (sizes[check.axis] == 1 || empty))
    return;
  int64_t expected = check.expected.evaluate(call.slots.data());
  fail(check.isStride ? "stride" : "shape",
       {{"argument", argument.name},
        {"axis", int64_t{check.axis}},
        {"found", call.slots[check.slot]},
        {"shape", listText(sizes, count)},
        {"strides", listText(sizes + count, count)},
        {"expected", describeValue(call, *check.tree, expected)}});
}

void LaunchProgram::outputShape(const Call &call, int32_t argument,
                                int64_t *shape) const {
  for (int32_t axis = 0; axis < ranks[argument]; ++axis) {
    int64_t size = outputShapes[argument][axis].evaluate(call.slots.data());
    if (size < 0)
      fail("negative-size",
           {{"argument", launchPlan.arguments[argument].name},
            {"axis", int64_t{axis}},
            {"size", size},
            {"expression",
             describe(launchPlan.arguments[argument].shape[axis])}});
    if (size > std::numeric_limits<int32_t>::max())
      fail("extent-limit", {{"argument", launchPlan.arguments[argument].name},
                            {"axis", int64_t{axis}},
                            {"size", size}});
    shape[axis] = size;
  }
}

bool LaunchProgram::holds(const Call &call, const CompiledGuard &guard) const {
  switch (guard.kind) {
  case GuardKind::Aligned: {
    if (!call.present[guard.argument])
      return true;
    for (int32_t slot = guard.firstExtent; slot < guard.lastExtent; ++slot)
      if (call.slots[slot] == 0)
        return false;
    auto address = reinterpret_cast<uintptr_t>(call.pointers[guard.argument]);
    if ((guard.bytes & (guard.bytes - 1)) != 0) // no power of two
      return address % guard.bytes == 0 &&
             (guard.rowSlot < 0 ||
              static_cast<uint64_t>(call.slots[guard.rowSlot]) *
                      guard.elementBytes % guard.bytes ==
                  0);
    uint64_t low = address;
    if (guard.rowSlot >= 0)
      low |=
          static_cast<uint64_t>(call.slots[guard.rowSlot]) * guard.elementBytes;
    return (low & (guard.bytes - 1)) == 0;
  }
  case GuardKind::NoAlias:
    for (auto [left, right] : guard.pairs)
      if (call.present[left] && call.present[right] &&
          call.begins[left] < call.ends[right] &&
          call.begins[right] < call.ends[left])
        return false;
    return true;
  case GuardKind::ExpressionTrue:
    return guard.value.evaluate(call.slots.data()) != 0;
  }
  return false;
}

uint64_t LaunchProgram::violatedGuards(const Call &call) const {
  uint64_t violated = 0;
  for (size_t i = 0; i < guards.size(); ++i) {
    if (holds(call, guards[i]))
      continue;
    const Guard &guard = launchPlan.guards[i];
    if (!guard.selectsVariant)
      fail("guard", {{"message", guard.message},
                     {"expression", guard.kind == GuardKind::ExpressionTrue
                                        ? describe(guard.value)
                                        : std::string("noalias/aligned")}});
    violated |= uint64_t{1} << i;
  }
  return violated;
}

void LaunchProgram::sizeWorkspaces(Call &call) const {
  for (size_t i = 0; i < workspaceSizes.size(); ++i) {
    int64_t bytes = workspaceSizes[i].evaluate(call.slots.data());
    if (bytes < 0)
      fail("arithmetic", {{"operation", "workspace size"},
                          {"left", bytes},
                          {"right", int64_t{0}}});
    call.workspaceBytes[i] = bytes;
  }
}

bool LaunchProgram::finish(Call &call) const {
  static constexpr int64_t gridLimits[3] = {2147483647, 65535, 65535};
  const int64_t *slots = call.slots.data();
  bool anything = false;
  size_t next = 0;
  for (size_t index = 0; index < launches.size(); ++index) {
    const CompiledLaunch &launch = launches[index];
    const Launch &plan = launchPlan.launches[index];
    int64_t *extents = call.grids.data() + 3 * index;
    bool empty = false;
    for (int axis = 0; axis < 3; ++axis) {
      int64_t extent = launch.grid[axis].evaluate(slots);
      if (extent < 0)
        fail("grid-limit", {{"axis", int64_t{axis}},
                            {"extent", extent},
                            {"expression", describe(plan.grid[axis])},
                            {"limit", gridLimits[axis]}});
      int64_t cluster = plan.cluster[axis];
      extents[axis] = (extent + cluster - 1) / cluster * cluster;
      empty |= extent == 0;
    }
    if (!empty) {
      anything = true;
      for (int axis = 0; axis < 3; ++axis) {
        // The CPU entry takes the grid as int32.
        int64_t limit = onCpu ? gridLimits[0] : gridLimits[axis];
        if (extents[axis] > limit)
          fail("grid-limit", {{"axis", int64_t{axis}},
                              {"extent", extents[axis]},
                              {"expression", describe(plan.grid[axis])},
                              {"limit", limit}});
      }
    }
    for (size_t i = 0; i < launch.parameters.size(); ++i, ++next) {
      const CompiledParameter &parameter = launch.parameters[i];
      uint64_t &slot = call.values[next];
      call.parameters[next] = &slot;
      switch (parameter.kind) {
      case ParameterKind::Pointer:
        slot = reinterpret_cast<uintptr_t>(call.pointers[parameter.index]);
        break;
      case ParameterKind::Workspace:
        slot = reinterpret_cast<uintptr_t>(call.workspaces[parameter.index]);
        break;
      case ParameterKind::Scalar:
        slot = call.scalars[parameter.index];
        break;
      case ParameterKind::TensorMap:
        call.parameters[next] = &call.tensorMaps[parameter.index];
        break;
      case ParameterKind::Expression: {
        int64_t value = parameter.value.evaluate(slots);
        bool fits = value >= parameter.minimum && value <= parameter.maximum;
        if (!fits && !empty)
          fail("parameter-range",
               {{"expression", describe(plan.parameters[i].value)},
                {"value", value},
                {"dtype", longName(parameter.dtype)}});
        slot = static_cast<uint64_t>(value); // little-endian: low bytes first
        break;
      }
      }
    }
  }
  return anything;
}
