//===- CudaLauncher.h - Launching a plan's kernels on CUDA ------*- C++ -*-===//
//
// Loads a kernel's images into each device on first use, keeps the descriptors
// of recent tensor arguments, and enqueues the launches of a finished call.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_CUDALAUNCHER_H
#define TILEMLIR_RUNTIME_CUDALAUNCHER_H

#include "tilemlir/Runtime/CudaDevice.h"
#include "tilemlir/Runtime/LaunchProgram.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace tilemlir::runtime::cuda {

class CudaLauncher {
public:
  /// `images` holds one image per kernel of the plan; kernels that share an
  /// image are loaded once. `program` must outlive the launcher.
  CudaLauncher(const LaunchProgram &program,
               const std::map<std::string, std::string> &images);

  /// What one device needs; stable once returned.
  struct DeviceState {
    int ordinal;
    Context context;
    int multiprocessors;
    std::vector<std::unique_ptr<LoadedModule>> modules;
    std::vector<Function> functions; ///< per launch
    std::vector<Function> kernels;   ///< distinct kernels, in name order
  };

  /// Loads the images on first use. Takes no lock for the device of the call
  /// before.
  DeviceState &device(int ordinal) {
    DeviceState *known = recent.load(std::memory_order_acquire);
    return known && known->ordinal == ordinal ? *known : findDevice(ordinal);
  }

  /// Fills call.tensorMaps; throws Failure("tensor-map").
  void encodeTensorMaps(Call &call);

  /// Enqueues zero fills and all non-empty launches. The device's context must
  /// be current. Touches no Python state.
  void launch(Call &call, DeviceState &state, Stream stream) const;

  /// Names of the distinct kernels, in name order.
  const std::vector<std::string> &kernelNames() const { return names; }

  /// Blocks of a launch that fit one multiprocessor at the same time.
  int activeBlocks(int ordinal, size_t launch);

private:
  struct CachedMap {
    uint64_t address = 0;
    int64_t sizes[5] = {}, strides[5] = {};
    bool valid = false;
    TensorMap map;
  };
  static constexpr size_t kCachedMaps = 8;
  struct MapCache {
    CachedMap entries[kCachedMaps];
    size_t next = 0;
  };

  DeviceState &findDevice(int ordinal);
  std::unique_ptr<DeviceState> load(int ordinal) const;
  void encode(size_t index, CachedMap &entry) const;
  [[noreturn]] void failLaunch(Result result, size_t launch, const Call &call,
                               const DeviceState &state) const;

  const LaunchProgram &program;
  std::vector<std::string> names;
  std::vector<std::string> images;                   ///< distinct
  std::vector<size_t> imageOfKernel;                 ///< per distinct kernel
  std::vector<size_t> kernelOfLaunch;                ///< per launch
  std::vector<std::unique_ptr<DeviceState>> devices; ///< by ordinal
  std::vector<MapCache> caches;                      ///< per tensor map
  std::mutex mutex;                           ///< guards devices and caches
  std::atomic<DeviceState *> recent{nullptr}; ///< owned by `devices`
};

} // namespace tilemlir::runtime::cuda

#endif // TILEMLIR_RUNTIME_CUDALAUNCHER_H
