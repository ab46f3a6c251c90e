//===- CudaDriver.cpp - The CUDA driver library, loaded at run time -------===//
//
// Finds libcuda, resolves the table of functions and turns error codes to text.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/CudaDriver.h"
#include "tilemlir/Runtime/Failure.h"

#include <dlfcn.h>
#include <mutex>

using namespace tilemlir::runtime;
using namespace tilemlir::runtime::cuda;

namespace {

struct LoadedDriver {
  DriverTable table;
  std::string failure; ///< empty when the table is usable
};

std::mutex libraryMutex;
std::string libraryPath; // NOLINT: set before the first use only
bool libraryUsed = false;

/// Resolves through cuGetProcAddress, which returns the entry point with the
/// signature of the version asked for, whatever the installed driver's newest
/// is; the exported name serves drivers that do not know the request.
class SymbolResolver {
public:
  explicit SymbolResolver(void *library) : library(library) {
    procAddressV2 =
        reinterpret_cast<ProcAddressV2>(dlsym(library, "cuGetProcAddress_v2"));
    if (!procAddressV2)
      procAddressV1 =
          reinterpret_cast<ProcAddressV1>(dlsym(library, "cuGetProcAddress"));
  }

  void *resolve(const char *base, const char *exported, int version) const {
    void *address = nullptr;
    if (procAddressV2) {
      int status = 0;
      if (procAddressV2(base, &address, version, 0, &status) == kSuccess &&
          address)
        return address;
    } else if (procAddressV1) {
      if (procAddressV1(base, &address, version, 0) == kSuccess && address)
        return address;
    }
    return dlsym(library, exported);
  }

private:
  using ProcAddressV1 = Result (*)(const char *, void **, int, uint64_t);
  using ProcAddressV2 = Result (*)(const char *, void **, int, uint64_t, int *);
  void *library;
  ProcAddressV1 procAddressV1 = nullptr;
  ProcAddressV2 procAddressV2 = nullptr;
};

LoadedDriver loadDriver() {
  std::string path;
  {
    std::lock_guard<std::mutex> lock(libraryMutex);
    path = libraryPath.empty() ? "libcuda.so.1" : libraryPath;
    libraryUsed = true;
  }
  LoadedDriver loaded;
  // Never closed: functions and contexts outlive any owner we could name.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    loaded.failure = reason ? reason : "cannot load " + path;
    return loaded;
  }
  SymbolResolver resolver(library);
#define TILEMLIR_RESOLVE(field, base, exported, version, required, parameters) \
  if (void *address = resolver.resolve(base, exported, version))               \
    loaded.table.field =                                                       \
        reinterpret_cast<decltype(loaded.table.field)>(address);               \
  else if (required && loaded.failure.empty())                                 \
    loaded.failure = path + " has no " base;
  TILEMLIR_CUDA_SYMBOLS(TILEMLIR_RESOLVE)
#undef TILEMLIR_RESOLVE
  if (!loaded.failure.empty())
    return loaded;
  if (Result result = loaded.table.init(0); result != kSuccess) {
    const char *name = nullptr;
    loaded.table.getErrorName(result, &name);
    loaded.failure = std::string("cuInit failed: ") +
                     (name ? name : std::to_string(result).c_str());
  }
  return loaded;
}

const LoadedDriver &loadedDriver() {
  static const LoadedDriver loaded = loadDriver();
  return loaded;
}

} // namespace

bool cuda::setDriverLibrary(const std::string &path) {
  std::lock_guard<std::mutex> lock(libraryMutex);
  if (libraryUsed)
    return false;
  libraryPath = path;
  return true;
}

const DriverTable &cuda::driver() {
  const LoadedDriver &loaded = loadedDriver();
  if (!loaded.failure.empty())
    throw Failure("no-cuda-driver", {{"reason", loaded.failure}});
  return loaded.table;
}

bool cuda::driverAvailable(std::string *reason) {
  const LoadedDriver &loaded = loadedDriver();
  if (reason)
    *reason = loaded.failure;
  return loaded.failure.empty();
}

std::string cuda::errorText(Result result) {
  const char *name = nullptr;
  const char *description = nullptr;
  const LoadedDriver &loaded = loadedDriver();
  if (loaded.table.getErrorName)
    loaded.table.getErrorName(result, &name);
  if (loaded.table.getErrorString)
    loaded.table.getErrorString(result, &description);
  std::string text = name ? name : "CUDA error " + std::to_string(result);
  if (description)
    text += std::string(": ") + description;
  return text;
}

void cuda::check(Result result, const char *call, const std::string &kernel) {
  if (result == kSuccess)
    return;
  throw Failure(
      "cuda-error",
      {{"call", call}, {"error", errorText(result)}, {"kernel", kernel}});
}
