//===- CudaLauncher.cpp - Launching a plan's kernels on CUDA ----*- C++ -*-===//
//
// Image loading, tensor-map encoding with a small cache, and the launch itself.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/CudaLauncher.h"

#include <algorithm>
#include <cstring>

using namespace tilemlir::runtime;
using namespace tilemlir::runtime::cuda;

CudaLauncher::CudaLauncher(const LaunchProgram &program,
                           const std::map<std::string, std::string> &sources)
    : program(program), caches(program.plan().tensorMaps.size()) {
  for (const auto &[name, image] : sources) {
    names.push_back(name);
    auto known = std::find(images.begin(), images.end(), image);
    imageOfKernel.push_back(static_cast<size_t>(known - images.begin()));
    if (known == images.end())
      images.push_back(image);
  }
  for (const Launch &launch : program.plan().launches) {
    auto found = std::find(names.begin(), names.end(), launch.kernel);
    if (found == names.end())
      program.fail("bad-plan",
                   {{"detail", "no image for kernel '" + launch.kernel + "'"}});
    kernelOfLaunch.push_back(static_cast<size_t>(found - names.begin()));
  }
}

CudaLauncher::DeviceState &CudaLauncher::findDevice(int ordinal) {
  std::lock_guard<std::mutex> lock(mutex);
  if (static_cast<size_t>(ordinal) >= devices.size())
    devices.resize(static_cast<size_t>(ordinal) + 1);
  std::unique_ptr<DeviceState> &slot = devices[static_cast<size_t>(ordinal)];
  if (!slot)
    slot = load(ordinal);
  recent.store(slot.get(), std::memory_order_release);
  return *slot;
}

std::unique_ptr<CudaLauncher::DeviceState>
CudaLauncher::load(int ordinal) const {
  const DeviceProperties &properties = deviceProperties(ordinal);
  auto state = std::make_unique<DeviceState>();
  state->ordinal = ordinal;
  state->context = primaryContext(ordinal);
  state->multiprocessors = properties.multiprocessorCount;
  for (const std::string &image : images)
    state->modules.push_back(std::make_unique<LoadedModule>(ordinal, image));
  for (size_t i = 0; i < names.size(); ++i)
    state->kernels.push_back(
        state->modules[imageOfKernel[i]]->function(names[i]));
  ContextScope scope(state->context);
  const auto &launches = program.plan().launches;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch &launch = launches[i];
    Function function = state->kernels[kernelOfLaunch[i]];
    state->functions.push_back(function);
    allowDynamicShared(function, launch.sharedBytes, launch.kernel, ordinal);
    uint32_t clusterSize =
        launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
    if (clusterSize > 1 &&
        (!properties.clusterLaunch || !driver().launchKernelEx))
      program.fail("no-clusters", {{"device", properties.name}});
    // Eight blocks is the portable limit of a cluster; more must be allowed.
    if (clusterSize > 8)
      check(driver().functionSetAttribute(
                function, kFunctionNonPortableClusterSizeAllowed, 1),
            "cuFuncSetAttribute", launch.kernel);
    if (launch.cooperative && !properties.cooperativeLaunch)
      program.fail("no-cooperative", {{"device", properties.name}});
  }
  return state;
}

namespace {

int mapDataType(DataType type) {
  switch (type) {
  case DataType::F16:
    return kMapFloat16;
  case DataType::BF16:
    return kMapBFloat16;
  case DataType::F32:
    return kMapFloat32;
  case DataType::F64:
    return kMapFloat64;
  case DataType::TF32:
    return kMapTFloat32;
  case DataType::I16:
  case DataType::U16:
    return kMapUInt16;
  case DataType::I32:
    return kMapInt32;
  case DataType::U32:
    return kMapUInt32;
  case DataType::I64:
    return kMapInt64;
  case DataType::U64:
    return kMapUInt64;
  default: // every 8-bit type
    return kMapUInt8;
  }
}

} // namespace

void CudaLauncher::encode(size_t index, CachedMap &entry) const {
  const DriverTable &api = driver();
  const TensorMapPlan &plan = program.plan().tensorMaps[index];
  const Argument &argument = program.plan().arguments[plan.argument];
  auto rank = static_cast<uint32_t>(plan.box.size());
  int64_t width = byteWidth(plan.dtype);
  if (!api.tensorMapEncodeTiled)
    program.fail("no-tensor-maps", {{"driver", int64_t{driverVersion()}}});
  uint64_t sizes[5];
  uint64_t byteStrides[5];
  for (uint32_t i = 0; i < rank; ++i) {
    sizes[i] = static_cast<uint64_t>(entry.sizes[i]);
    int64_t stride = entry.strides[i] * width;
    // Along an extent of one the stride is never used, yet it must be legal.
    if (i > 0 && entry.sizes[i] == 1)
      stride = (stride <= 0 ? 16 : (stride + 15) / 16 * 16);
    byteStrides[i] = static_cast<uint64_t>(stride);
  }
  // CU_TENSOR_MAP_SWIZZLE_{NONE,32B,64B,128B}, then
  // CU_TENSOR_MAP_L2_PROMOTION_*.
  int swizzle = plan.swizzle == 128  ? 3
                : plan.swizzle == 64 ? 2
                : plan.swizzle == 32 ? 1
                                     : 0;
  int promotion = plan.l2Promotion == 256   ? 3
                  : plan.l2Promotion == 128 ? 2
                  : plan.l2Promotion == 64  ? 1
                                            : 0;
  Result result = api.tensorMapEncodeTiled(
      &entry.map, mapDataType(plan.dtype), rank,
      reinterpret_cast<void *>(entry.address), sizes, byteStrides + 1,
      plan.box.data(), plan.elementStrides.data(), /*interleave=*/0, swizzle,
      promotion, plan.fillNaN ? 1 : 0);
  if (result == kSuccess)
    return;
  std::string description = "address " + std::to_string(entry.address);
  auto append = [&](const char *name, auto *values, uint32_t count) {
    description += std::string(", ") + name + " (";
    for (uint32_t i = 0; i < count; ++i)
      description += (i ? ", " : "") + std::to_string(values[i]);
    description += ")";
  };
  append("sizes", sizes, rank);
  append("byte strides", byteStrides + 1, rank - 1);
  append("box", plan.box.data(), rank);
  description += ", swizzle " + std::to_string(plan.swizzle) + " bytes";
  program.fail("tensor-map", {{"argument", argument.name},
                              {"error", errorText(result)},
                              {"map", description}});
}

void CudaLauncher::encodeTensorMaps(Call &call) {
  const auto &plans = program.plan().tensorMaps;
  if (plans.empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  const int64_t *slots = call.slots.data();
  for (size_t index = 0; index < plans.size(); ++index) {
    const TensorMapPlan &plan = plans[index];
    const LaunchProgram::CompiledMap &compiled = program.compiledMap(index);
    size_t rank = plan.box.size();
    CachedMap key;
    key.address = reinterpret_cast<uintptr_t>(call.pointers[plan.argument]) +
                  static_cast<uint64_t>(compiled.offset.evaluate(slots) *
                                        byteWidth(plan.dtype));
    bool empty = !call.present[plan.argument];
    const int64_t *dims = program.dims(call, plan.argument);
    const int64_t *strides = program.strides(call, plan.argument);
    for (size_t i = 0; i < rank; ++i) {
      if (compiled.shape.empty()) {
        key.sizes[i] = dims[plan.dimOrder[i]];
        key.strides[i] = strides[plan.dimOrder[i]];
      } else {
        key.sizes[i] = compiled.shape[i].evaluate(slots);
        key.strides[i] = compiled.strides[i].evaluate(slots);
      }
      empty |= key.sizes[i] == 0;
    }
    // A map of an empty tensor is never dereferenced and cannot be encoded.
    if (empty) {
      std::memset(&call.tensorMaps[index], 0, sizeof(TensorMap));
      continue;
    }
    MapCache &cache = caches[index];
    CachedMap *hit = nullptr;
    for (CachedMap &entry : cache.entries)
      if (entry.valid && entry.address == key.address &&
          std::equal(key.sizes, key.sizes + rank, entry.sizes) &&
          std::equal(key.strides, key.strides + rank, entry.strides)) {
        hit = &entry;
        break;
      }
    if (!hit) {
      encode(index, key);
      key.valid = true;
      hit = &cache.entries[cache.next];
      cache.next = (cache.next + 1) % kCachedMaps;
      *hit = key;
    }
    call.tensorMaps[index] = hit->map;
  }
}

void CudaLauncher::launch(Call &call, DeviceState &state, Stream stream) const {
  const DriverTable &api = driver();
  const LaunchPlan &plan = program.plan();
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (program.needsZeros(call, i))
      check(api.memsetD8Async(
                reinterpret_cast<DevicePointer>(call.workspaces[i]), 0,
                static_cast<size_t>(call.workspaceBytes[i]), stream),
            "cuMemsetD8Async", plan.name);
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    if (program.isEmpty(call, i))
      continue;
    const Launch &launch = plan.launches[i];
    const int64_t *grid = program.grid(call, i);
    bool clustered =
        launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1;
    Result result;
    if (!clustered && !launch.cooperative &&
        !launch.programmaticSerialization) {
      result = api.launchKernel(
          state.functions[i], static_cast<unsigned>(grid[0]),
          static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2]),
          launch.threads[0], launch.threads[1], launch.threads[2],
          static_cast<unsigned>(launch.sharedBytes), stream,
          program.parameters(call, i), nullptr);
    } else {
      LaunchAttribute attributes[3] = {};
      LaunchConfig config = {};
      config.gridX = static_cast<unsigned>(grid[0]);
      config.gridY = static_cast<unsigned>(grid[1]);
      config.gridZ = static_cast<unsigned>(grid[2]);
      config.blockX = launch.threads[0];
      config.blockY = launch.threads[1];
      config.blockZ = launch.threads[2];
      config.sharedBytes = static_cast<unsigned>(launch.sharedBytes);
      config.stream = stream;
      config.attributes = attributes;
      if (clustered) {
        LaunchAttribute &attribute = attributes[config.attributeCount++];
        attribute.id = kLaunchClusterDimension;
        attribute.value.clusterDimension = {
            launch.cluster[0], launch.cluster[1], launch.cluster[2]};
      }
      if (launch.cooperative) {
        LaunchAttribute &attribute = attributes[config.attributeCount++];
        attribute.id = kLaunchCooperative;
        attribute.value.cooperative = 1;
      }
      if (launch.programmaticSerialization) {
        LaunchAttribute &attribute = attributes[config.attributeCount++];
        attribute.id = kLaunchProgrammaticStreamSerialization;
        attribute.value.programmaticStreamSerialization = 1;
      }
      if (!api.launchKernelEx)
        program.fail("no-cooperative", {{"device", "this CUDA driver"}});
      result = api.launchKernelEx(&config, state.functions[i],
                                  program.parameters(call, i), nullptr);
    }
    if (result != kSuccess)
      failLaunch(result, i, call, state);
  }
}

void CudaLauncher::failLaunch(Result result, size_t index, const Call &call,
                              const DeviceState &state) const {
  const Launch &launch = program.plan().launches[index];
  const int64_t *grid = program.grid(call, index);
  auto triple = [](auto a, auto b, auto c) {
    return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " +
           std::to_string(c) + ")";
  };
  int64_t threads =
      int64_t{launch.threads[0]} * launch.threads[1] * launch.threads[2];
  int blocks = 0;
  driver().occupancyMaxActiveBlocks(&blocks, state.functions[index],
                                    static_cast<int>(threads),
                                    static_cast<size_t>(launch.sharedBytes));
  if (launch.cooperative &&
      grid[0] * grid[1] * grid[2] > int64_t{blocks} * state.multiprocessors)
    program.fail("cooperative-too-large",
                 {{"launch", launch.kernel},
                  {"blocks", grid[0] * grid[1] * grid[2]},
                  {"limit", int64_t{blocks} * state.multiprocessors}});
  program.fail("launch-failed",
               {{"launch", launch.kernel},
                {"error", errorText(result)},
                {"grid", triple(grid[0], grid[1], grid[2])},
                {"cluster", triple(launch.cluster[0], launch.cluster[1],
                                   launch.cluster[2])},
                {"threads", triple(launch.threads[0], launch.threads[1],
                                   launch.threads[2])},
                {"shared", launch.sharedBytes}});
}

int CudaLauncher::activeBlocks(int ordinal, size_t index) {
  DeviceState &state = device(ordinal);
  ContextScope scope(state.context);
  const Launch &launch = program.plan().launches.at(index);
  int blocks = 0;
  check(driver().occupancyMaxActiveBlocks(
            &blocks, state.functions[index],
            static_cast<int>(launch.threads[0] * launch.threads[1] *
                             launch.threads[2]),
            static_cast<size_t>(launch.sharedBytes)),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor", launch.kernel);
  return blocks;
}
