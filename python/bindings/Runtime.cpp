//===- Runtime.cpp - The Python module tilemlir._runtime --------*- C++ -*-===//
//
// Loading and launching of compiled kernels: devices, launchers, CPU threads
// and the functions compiled CPU code may call. Links neither MLIR nor LLVM.
//
//===----------------------------------------------------------------------===//

#include "RuntimeBindings.h"

#include "tilemlir/Runtime/CudaDevice.h"
#include "tilemlir/Runtime/HostHooks.h"
#include "tilemlir/Runtime/ThreadPool.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

Callbacks &tilemlir::bindings::callbacks() {
  static Callbacks instance;
  return instance;
}

void tilemlir::bindings::setError(const Failure &failure,
                                  const std::string &kernel) {
  try {
    nb::dict fields;
    for (const auto &[name, value] : failure.fields()) {
      if (const auto *number = std::get_if<int64_t>(&value))
        fields[name.c_str()] = nb::int_(*number);
      else
        fields[name.c_str()] = nb::str(std::get<std::string>(value).c_str());
    }
    if (!fields.contains("kernel"))
      fields["kernel"] = nb::str(kernel.c_str());
    if (!callbacks().makeError) {
      PyErr_SetString(PyExc_RuntimeError, failure.what());
      return;
    }
    nb::object error =
        nb::borrow(callbacks().makeError)(failure.code().c_str(), fields);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())),
                    error.ptr());
  } catch (nb::python_error &error) {
    error.restore();
  }
}

namespace {

/// nanobind functions let Failure through to here.
void translateFailure(const std::exception_ptr &pointer, void *) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Failure &failure) {
    setError(failure);
  }
}

void printToPython(const char *text, size_t length) {
  nb::gil_scoped_acquire acquired;
  PyObject *stream = PySys_GetObject("stdout"); // borrowed
  if (!stream || stream == Py_None)
    return;
  nb::object string = nb::steal(
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(length), "replace"));
  if (!string.ptr() || PyFile_WriteObject(string.ptr(), stream, Py_PRINT_RAW))
    PyErr_WriteUnraisable(stream);
}

nb::dict propertiesOf(int ordinal) {
  const cuda::DeviceProperties &p = cuda::deviceProperties(ordinal);
  nb::dict result;
  result["name"] = p.name;
  result["total_memory_bytes"] = p.totalMemoryBytes;
  result["compute_capability"] =
      nb::make_tuple(p.computeCapabilityMajor, p.computeCapabilityMinor);
  result["multiprocessor_count"] = p.multiprocessorCount;
  result["warp_size"] = p.warpSize;
  result["max_threads_per_block"] = p.maxThreadsPerBlock;
  result["max_threads_per_multiprocessor"] = p.maxThreadsPerMultiprocessor;
  result["max_blocks_per_multiprocessor"] = p.maxBlocksPerMultiprocessor;
  result["max_registers_per_block"] = p.maxRegistersPerBlock;
  result["max_registers_per_multiprocessor"] = p.maxRegistersPerMultiprocessor;
  result["max_shared_bytes_per_block"] = p.maxSharedBytesPerBlock;
  result["max_shared_bytes_per_block_optin"] = p.maxSharedBytesPerBlockOptin;
  result["max_shared_bytes_per_multiprocessor"] =
      p.maxSharedBytesPerMultiprocessor;
  result["reserved_shared_bytes_per_block"] = p.reservedSharedBytesPerBlock;
  result["l2_bytes"] = p.l2Bytes;
  result["clock_kilohertz"] = p.clockKilohertz;
  result["memory_clock_kilohertz"] = p.memoryClockKilohertz;
  result["memory_bus_bits"] = p.memoryBusBits;
  result["cluster_launch"] = p.clusterLaunch;
  result["cooperative_launch"] = p.cooperativeLaunch;
  result["tensor_maps"] = p.tensorMaps;
  return result;
}

void configure(nb::object makeError, nb::object describe, nb::object allocator,
               nb::object currentStream, nb::object currentDevice) {
  auto set = [](PyObject *&slot, nb::object value) {
    PyObject *previous = slot;
    slot = value.release().ptr();
    Py_XDECREF(previous);
  };
  Callbacks &slots = callbacks();
  set(slots.makeError, std::move(makeError));
  set(slots.describe, std::move(describe));
  set(slots.allocator, std::move(allocator));
  set(slots.currentStream, std::move(currentStream));
  set(slots.currentDevice, std::move(currentDevice));
}

} // namespace

NB_MODULE(_runtime, m) {
  m.doc() = "Loading and launching of compiled kernels.";
  // Kernels and their types live as long as the process; nothing to report.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translateFailure);
  setPrintSink(printToPython);

  m.def("configure", configure, "make_error"_a, "describe"_a, "allocator"_a,
        "current_stream"_a, "current_device"_a,
        "Installs the Python half's callbacks.");

  m.def("set_driver_library", cuda::setDriverLibrary, "path"_a,
        "Names the CUDA driver library to load. False once one is in use.");
  m.def(
      "driver_problem",
      []() -> nb::object {
        std::string reason;
        bool available;
        {
          nb::gil_scoped_release released; // cuInit may take a second
          available = cuda::driverAvailable(&reason);
        }
        if (available)
          return nb::none();
        return nb::str(reason.c_str());
      },
      "None when the CUDA driver works, else the reason why not.");
  m.def("driver_version", cuda::driverVersion,
        "The CUDA version of the driver, 13000 for 13.0.");
  m.def("device_count", cuda::deviceCount, "Number of CUDA devices.");
  m.def("device_properties", propertiesOf, "device"_a,
        "Limits of a CUDA device as a dict.");

  m.def("thread_count", threadCount, "Threads that a CPU launch may use.");
  m.def("set_thread_count", setThreadCount, "count"_a,
        "Fixes the number of threads of CPU launches; 0 is the default.");
  m.def(
      "host_symbols",
      []() {
        nb::dict symbols;
        for (const HostSymbol &symbol : hostSymbols())
          symbols[symbol.name] =
              nb::int_(reinterpret_cast<uintptr_t>(symbol.address));
        return symbols;
      },
      "Addresses of the C functions that compiled CPU kernels may call.");
  m.def(
      "check_plan",
      [](nb::dict plan) { LaunchProgram checked(parsePlan(plan)); }, "plan"_a,
      "Raises when a launch plan is malformed.");
  m.def(
      "encode_float",
      [](const std::string &dtype, double value) {
        std::optional<DataType> type = parseDataType(dtype);
        if (!type || isInteger(*type))
          throw nb::value_error("not a floating-point type");
        return encodeFloat(*type, value);
      },
      "dtype"_a, "value"_a,
      "The bits of a number in a floating-point type of a launch plan.");
  m.def(
      "decode_float",
      [](const std::string &dtype, uint64_t bits) {
        std::optional<DataType> type = parseDataType(dtype);
        if (!type || isInteger(*type))
          throw nb::value_error("not a floating-point type");
        return decodeFloat(*type, bits);
      },
      "dtype"_a, "bits"_a, "The number that bits stand for.");
  addLauncherTypes(m);
}
