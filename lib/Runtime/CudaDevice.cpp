//===- CudaDevice.cpp - Devices, contexts and loaded kernels ----*- C++ -*-===//
//
// Device limits and primary contexts are read once per process; modules are
// loaded in the relaxed capture mode so that a first launch may be captured.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/CudaDevice.h"
#include "tilemlir/Runtime/Failure.h"

#include <map>
#include <memory>
#include <mutex>

using namespace tilemlir::runtime;
using namespace tilemlir::runtime::cuda;

namespace {

struct DeviceEntry {
  DeviceProperties properties;
  Device handle = 0;
  Context context = nullptr;
};

std::mutex devicesMutex;

DeviceEntry &deviceEntry(int ordinal) {
  // Leaked on purpose: launches may run while static objects are destroyed.
  static auto *devices = new std::map<int, std::unique_ptr<DeviceEntry>>();
  std::lock_guard<std::mutex> lock(devicesMutex);
  std::unique_ptr<DeviceEntry> &slot = (*devices)[ordinal];
  if (slot)
    return *slot;
  const DriverTable &api = driver();
  int count = 0;
  check(api.deviceGetCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    throw Failure("no-such-device",
                  {{"device", int64_t{ordinal}}, {"count", int64_t{count}}});
  auto entry = std::make_unique<DeviceEntry>();
  check(api.deviceGet(&entry->handle, ordinal), "cuDeviceGet");
  DeviceProperties &properties = entry->properties;
  char name[256] = {};
  check(api.deviceGetName(name, sizeof(name) - 1, entry->handle),
        "cuDeviceGetName");
  properties.name = name;
  size_t bytes = 0;
  check(api.deviceTotalMem(&bytes, entry->handle), "cuDeviceTotalMem");
  properties.totalMemoryBytes = static_cast<int64_t>(bytes);
  // A driver older than an attribute answers with an error: the feature is then
  // absent and reads as zero.
  auto attribute = [&](DeviceAttribute id) {
    int value = 0;
    return api.deviceGetAttribute(&value, id, entry->handle) == kSuccess ? value
                                                                         : 0;
  };
  properties.computeCapabilityMajor = attribute(kComputeCapabilityMajor);
  properties.computeCapabilityMinor = attribute(kComputeCapabilityMinor);
  properties.multiprocessorCount = attribute(kMultiprocessorCount);
  properties.warpSize = attribute(kWarpSize);
  properties.maxThreadsPerBlock = attribute(kMaxThreadsPerBlock);
  properties.maxThreadsPerMultiprocessor =
      attribute(kMaxThreadsPerMultiprocessor);
  properties.maxBlocksPerMultiprocessor =
      attribute(kMaxBlocksPerMultiprocessor);
  properties.maxRegistersPerBlock = attribute(kMaxRegistersPerBlock);
  properties.maxRegistersPerMultiprocessor =
      attribute(kMaxRegistersPerMultiprocessor);
  properties.maxSharedBytesPerBlock = attribute(kMaxSharedMemoryPerBlock);
  properties.maxSharedBytesPerBlockOptin =
      attribute(kMaxSharedMemoryPerBlockOptin);
  properties.maxSharedBytesPerMultiprocessor =
      attribute(kMaxSharedMemoryPerMultiprocessor);
  properties.reservedSharedBytesPerBlock =
      attribute(kReservedSharedMemoryPerBlock);
  properties.l2Bytes = attribute(kL2CacheSize);
  properties.clockKilohertz = attribute(kClockRateKilohertz);
  properties.memoryClockKilohertz = attribute(kMemoryClockRateKilohertz);
  properties.memoryBusBits = attribute(kGlobalMemoryBusWidth);
  properties.clusterLaunch = attribute(kClusterLaunch) != 0;
  properties.cooperativeLaunch = attribute(kCooperativeLaunch) != 0;
  properties.tensorMaps = attribute(kTensorMapAccess) != 0;
  slot = std::move(entry);
  return *slot;
}

/// Sets the calling thread's capture mode to relaxed and restores it.
class RelaxedCapture {
public:
  RelaxedCapture() : api(driver()) {
    if (api.exchangeCaptureMode)
      active = api.exchangeCaptureMode(&mode) == kSuccess;
  }
  ~RelaxedCapture() {
    if (active)
      api.exchangeCaptureMode(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const DriverTable &api;
  int mode = kCaptureModeRelaxed;
  bool active = false;
};

} // namespace

int cuda::deviceCount() {
  int count = 0;
  check(driver().deviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

int cuda::driverVersion() {
  int version = 0;
  check(driver().driverGetVersion(&version), "cuDriverGetVersion");
  return version;
}

const DeviceProperties &cuda::deviceProperties(int ordinal) {
  return deviceEntry(ordinal).properties;
}

Context cuda::primaryContext(int ordinal) {
  DeviceEntry &entry = deviceEntry(ordinal);
  std::lock_guard<std::mutex> lock(devicesMutex);
  if (!entry.context)
    check(driver().primaryContextRetain(&entry.context, entry.handle),
          "cuDevicePrimaryCtxRetain");
  return entry.context;
}

ContextScope::ContextScope(Context wanted) {
  const DriverTable &api = driver();
  Context current = nullptr;
  check(api.contextGetCurrent(&current), "cuCtxGetCurrent");
  if (current == wanted)
    return;
  check(api.contextPush(wanted), "cuCtxPushCurrent");
  pushed = true;
}

ContextScope::~ContextScope() {
  Context previous = nullptr;
  if (pushed)
    driver().contextPop(&previous);
}

FunctionAttributes cuda::functionAttributes(Function function) {
  const DriverTable &api = driver();
  auto attribute = [&](FunctionAttribute id) {
    int value = 0;
    check(api.functionGetAttribute(&value, id, function), "cuFuncGetAttribute");
    return value;
  };
  FunctionAttributes attributes;
  attributes.registers = attribute(kFunctionRegisters);
  attributes.localBytes = attribute(kFunctionLocalBytes);
  attributes.sharedBytes = attribute(kFunctionSharedBytes);
  attributes.constantBytes = attribute(kFunctionConstantBytes);
  attributes.maxThreadsPerBlock = attribute(kFunctionMaxThreadsPerBlock);
  attributes.ptxVersion = attribute(kFunctionPtxVersion);
  attributes.binaryVersion = attribute(kFunctionBinaryVersion);
  return attributes;
}

LoadedModule::LoadedModule(int ordinal, const std::string &image)
    : device(ordinal) {
  const DriverTable &api = driver();
  ContextScope scope(ordinal);
  RelaxedCapture relaxed;
  char errorLog[8192] = {};
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  void *values[] = {errorLog,
                    reinterpret_cast<void *>(uintptr_t{sizeof(errorLog)})};
  Result result =
      api.moduleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (result == kSuccess)
    return;
  const DeviceProperties &properties = deviceProperties(ordinal);
  throw Failure("module-load",
                {{"error", errorText(result)},
                 {"log", std::string(errorLog)},
                 {"device", properties.name},
                 {"compute_capability",
                  std::to_string(properties.computeCapabilityMajor) + "." +
                      std::to_string(properties.computeCapabilityMinor)},
                 {"driver", int64_t{driverVersion()}}});
}

LoadedModule::~LoadedModule() {
  if (!module)
    return;
  // A module whose context is gone (process shutdown) unloads with an error
  // that nobody can act on.
  const DriverTable &api = driver();
  Context previous = nullptr;
  if (api.contextPush(primaryContext(device)) == kSuccess) {
    RelaxedCapture relaxed;
    api.moduleUnload(module);
    api.contextPop(&previous);
  }
}

Function LoadedModule::function(const std::string &name) const {
  ContextScope scope(device);
  Function function = nullptr;
  check(driver().moduleGetFunction(&function, module, name.c_str()),
        "cuModuleGetFunction", name);
  return function;
}

void cuda::allowDynamicShared(Function function, int64_t bytes,
                              const std::string &kernel, int ordinal) {
  const DriverTable &api = driver();
  const DeviceProperties &properties = deviceProperties(ordinal);
  int fixed = 0;
  check(api.functionGetAttribute(&fixed, kFunctionSharedBytes, function),
        "cuFuncGetAttribute", kernel);
  int64_t limit = properties.maxSharedBytesPerBlockOptin;
  if (bytes + fixed > limit)
    throw Failure("shared-memory", {{"kernel", kernel},
                                    {"bytes", bytes + fixed},
                                    {"limit", limit},
                                    {"device", properties.name}});
  if (bytes + fixed > properties.maxSharedBytesPerBlock)
    check(api.functionSetAttribute(function, kFunctionMaxDynamicSharedBytes,
                                   static_cast<int>(bytes)),
          "cuFuncSetAttribute", kernel);
}
