//===- CudaDriver.h - The CUDA driver, loaded at run time -------*- C++ -*-===//
//
// The part of the CUDA driver API that a launch needs, typed here and resolved
// with dlopen, so that the module imports without a GPU and builds without a
// CUDA toolkit. Types and constants follow the CUDA driver API reference
// (https://docs.nvidia.com/cuda/cuda-driver-api/); a test compares them with
// cuda.h where that header is installed.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_CUDADRIVER_H
#define TILEMLIR_RUNTIME_CUDADRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilemlir::runtime::cuda {

using Result = int;
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Graph = struct GraphTag *;
using UserObject = struct UserObjectTag *;

constexpr Result kSuccess = 0;
constexpr Result kOutOfMemory = 2;
constexpr Result kNoBinaryForGPU = 209;

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRateKilohertz = 13,
  kMultiprocessorCount = 16,
  kMemoryClockRateKilohertz = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kCooperativeLaunch = 95,
  kMaxSharedMemoryPerBlockOptin = 97,
  kMaxBlocksPerMultiprocessor = 106,
  kReservedSharedMemoryPerBlock = 111,
  kClusterLaunch = 120,
  kTensorMapAccess = 127,
};

enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionSharedBytes = 1,
  kFunctionConstantBytes = 2,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionNonPortableClusterSizeAllowed = 14,
};

enum LaunchAttributeId : int {
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchProgrammaticStreamSerialization = 6,
};

union LaunchAttributeValue {
  char bytes[64];
  struct {
    unsigned x, y, z;
  } clusterDimension;
  int cooperative;
  int programmaticStreamSerialization;
};

struct LaunchAttribute {
  int id;
  char padding[8 - sizeof(int)];
  LaunchAttributeValue value;
};

struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// An opaque tensor-map descriptor (CUtensorMap; 64-byte aligned before CUDA
/// 13).
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

enum TensorMapDataType : int {
  kMapUInt8 = 0,
  kMapUInt16 = 1,
  kMapUInt32 = 2,
  kMapInt32 = 3,
  kMapUInt64 = 4,
  kMapInt64 = 5,
  kMapFloat16 = 6,
  kMapFloat32 = 7,
  kMapFloat64 = 8,
  kMapBFloat16 = 9,
  kMapTFloat32 = 11,
};

enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferBytes = 6,
};

enum StreamCaptureStatus : int {
  kCaptureNone = 0,
  kCaptureActive = 1,
  kCaptureInvalidated = 2,
};
constexpr int kCaptureModeRelaxed = 2;
constexpr unsigned kUserObjectNoDestructorSync = 1;
constexpr unsigned kGraphUserObjectMove = 1;

// field, base name, exported name of that version, version asked of
// cuGetProcAddress (it fixes the signature), required, parameters.
// clang-format off
#define TILEMLIR_CUDA_SYMBOLS(X)                                                                                      \
  X(init, "cuInit", "cuInit", 2000, true, (unsigned flags))                                                            \
  X(driverGetVersion, "cuDriverGetVersion", "cuDriverGetVersion", 2020, true, (int *version))                          \
  X(getErrorName, "cuGetErrorName", "cuGetErrorName", 6000, true, (Result error, const char **text))                   \
  X(getErrorString, "cuGetErrorString", "cuGetErrorString", 6000, true, (Result error, const char **text))             \
  X(deviceGet, "cuDeviceGet", "cuDeviceGet", 2000, true, (Device *device, int ordinal))                                \
  X(deviceGetCount, "cuDeviceGetCount", "cuDeviceGetCount", 2000, true, (int *count))                                  \
  X(deviceGetName, "cuDeviceGetName", "cuDeviceGetName", 2000, true, (char *name, int length, Device device))          \
  X(deviceTotalMem, "cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020, true, (size_t *bytes, Device device))             \
  X(deviceGetAttribute, "cuDeviceGetAttribute", "cuDeviceGetAttribute", 2000, true,                                    \
    (int *value, int attribute, Device device))                                                                        \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, true,                          \
    (Context *context, Device device))                                                                                 \
  X(contextGetCurrent, "cuCtxGetCurrent", "cuCtxGetCurrent", 4000, true, (Context *context))                           \
  X(contextPush, "cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000, true, (Context context))                             \
  X(contextPop, "cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000, true, (Context *context))                               \
  X(moduleLoadDataEx, "cuModuleLoadDataEx", "cuModuleLoadDataEx", 2010, true,                                          \
    (Module *module, const void *image, unsigned optionCount, int *options, void **values))                            \
  X(moduleUnload, "cuModuleUnload", "cuModuleUnload", 2000, true, (Module module))                                     \
  X(moduleGetFunction, "cuModuleGetFunction", "cuModuleGetFunction", 2000, true,                                       \
    (Function *function, Module module, const char *name))                                                             \
  X(functionGetAttribute, "cuFuncGetAttribute", "cuFuncGetAttribute", 2020, true,                                      \
    (int *value, int attribute, Function function))                                                                    \
  X(functionSetAttribute, "cuFuncSetAttribute", "cuFuncSetAttribute", 9000, true,                                      \
    (Function function, int attribute, int value))                                                                     \
  X(launchKernel, "cuLaunchKernel", "cuLaunchKernel", 4000, true,                                                      \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,              \
     unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters, void **extra))                           \
  X(launchKernelEx, "cuLaunchKernelEx", "cuLaunchKernelEx", 11060, false,                                              \
    (const LaunchConfig *config, Function function, void **parameters, void **extra))                                  \
  X(tensorMapEncodeTiled, "cuTensorMapEncodeTiled", "cuTensorMapEncodeTiled", 12000, false,                            \
    (TensorMap *map, int dataType, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *byteStrides,    \
     const uint32_t *box, const uint32_t *elementStrides, int interleave, int swizzle, int l2Promotion, int oobFill))  \
  X(occupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                           \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, true,                                                         \
    (int *blocks, Function function, int threads, size_t sharedBytes))                                                 \
  X(streamGetCaptureInfo, "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030, false,                         \
    (Stream stream, int *status, uint64_t *id, Graph *graph, const void **dependencies, size_t *dependencyCount))      \
  X(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", 10010, false,       \
    (int *mode))                                                                                                       \
  X(memsetD8Async, "cuMemsetD8Async", "cuMemsetD8Async", 3020, true,                                                   \
    (DevicePointer pointer, unsigned char value, size_t bytes, Stream stream))                                         \
  X(userObjectCreate, "cuUserObjectCreate", "cuUserObjectCreate", 11030, false,                                        \
    (UserObject *object, void *data, void (*destroy)(void *), unsigned references, unsigned flags))                    \
  X(graphRetainUserObject, "cuGraphRetainUserObject", "cuGraphRetainUserObject", 11030, false,                         \
    (Graph graph, UserObject object, unsigned count, unsigned flags))
// clang-format on

/// The resolved functions. Optional ones may be null on old drivers.
struct DriverTable {
#define TILEMLIR_DECLARE(field, base, exported, version, required, parameters) \
  Result(*field) parameters = nullptr;
  TILEMLIR_CUDA_SYMBOLS(TILEMLIR_DECLARE)
#undef TILEMLIR_DECLARE
};

/// Names the library to load instead of libcuda.so.1. Effective before the
/// first call of `driver()`; returns false afterwards.
bool setDriverLibrary(const std::string &path);

/// Loads and initialises the driver once. Throws Failure("no-cuda-driver") with
/// the reason; the reason is remembered.
const DriverTable &driver();

/// True when `driver()` succeeds; otherwise `reason` says why not.
bool driverAvailable(std::string *reason = nullptr);

/// "CUDA_ERROR_INVALID_VALUE: invalid argument".
std::string errorText(Result result);

/// Throws Failure("cuda-error") naming the call unless `result` is success.
void check(Result result, const char *call, const std::string &kernel = {});

} // namespace tilemlir::runtime::cuda

#endif // TILEMLIR_RUNTIME_CUDADRIVER_H
