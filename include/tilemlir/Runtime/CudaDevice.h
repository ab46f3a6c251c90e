//===- CudaDevice.h - Devices, contexts and loaded kernels ------*- C++ -*-===//
//
// What a launch needs from one CUDA device: its limits, its primary context
// (the one every framework on the CUDA runtime uses), and kernels loaded into
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_CUDADEVICE_H
#define TILEMLIR_RUNTIME_CUDADEVICE_H

#include "tilemlir/Runtime/CudaDriver.h"

#include <string>
#include <vector>

namespace tilemlir::runtime::cuda {

struct DeviceProperties {
  std::string name;
  int64_t totalMemoryBytes = 0;
  int computeCapabilityMajor = 0;
  int computeCapabilityMinor = 0;
  int multiprocessorCount = 0;
  int warpSize = 0;
  int maxThreadsPerBlock = 0;
  int maxThreadsPerMultiprocessor = 0;
  int maxBlocksPerMultiprocessor = 0;
  int maxRegistersPerBlock = 0;
  int maxRegistersPerMultiprocessor = 0;
  int maxSharedBytesPerBlock = 0;      ///< without opting in (48 KiB)
  int maxSharedBytesPerBlockOptin = 0; ///< the hardware's limit per block
  int maxSharedBytesPerMultiprocessor = 0;
  int reservedSharedBytesPerBlock = 0;
  int l2Bytes = 0;
  int clockKilohertz = 0;
  int memoryClockKilohertz = 0;
  int memoryBusBits = 0;
  bool clusterLaunch = false;
  bool cooperativeLaunch = false;
  bool tensorMaps = false;
};

int deviceCount();
int driverVersion(); ///< 13000 for CUDA 13.0

/// Limits of a device, read once and kept. Throws Failure("no-such-device").
const DeviceProperties &deviceProperties(int ordinal);

/// The device's primary context, retained once for the process. It is never
/// released: frameworks hold it for the same time.
Context primaryContext(int ordinal);

/// Makes a device's primary context current for the lifetime of the object. A
/// thread that already has it (the common case) pays one driver query.
class ContextScope {
public:
  explicit ContextScope(int ordinal) : ContextScope(primaryContext(ordinal)) {}
  explicit ContextScope(Context wanted);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  bool pushed = false;
};

struct FunctionAttributes {
  int registers = 0;
  int localBytes = 0;  ///< per thread: spills and indexed local arrays
  int sharedBytes = 0; ///< static
  int constantBytes = 0;
  int maxThreadsPerBlock = 0;
  int ptxVersion = 0;
  int binaryVersion = 0;
};
FunctionAttributes functionAttributes(Function function);

/// One image (cubin, fatbin or PTX text) loaded into one device. Loading works
/// during stream capture.
class LoadedModule {
public:
  /// PTX must be terminated by a zero byte, which std::string guarantees.
  LoadedModule(int ordinal, const std::string &image);
  ~LoadedModule();
  LoadedModule(LoadedModule &&other) noexcept
      : module(other.module), device(other.device) {
    other.module = nullptr;
  }
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;
  LoadedModule &operator=(LoadedModule &&) = delete;

  Function function(const std::string &name) const;

private:
  Module module = nullptr;
  int device;
};

/// Allows `bytes` of dynamic shared memory; throws Failure("shared-memory")
/// with the device's limit when it does not fit.
void allowDynamicShared(Function function, int64_t bytes,
                        const std::string &kernel, int ordinal);

} // namespace tilemlir::runtime::cuda

#endif // TILEMLIR_RUNTIME_CUDADEVICE_H
