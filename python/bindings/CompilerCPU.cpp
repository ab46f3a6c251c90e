// Python bindings of launch plans and of code for the host's CPU, part of the
// module `_tilemlir`.
#include "CompilerBindings.h"

#include "tilemlir-c/CPU.h"

#include "mlir-c/Diagnostics.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {

/// Appends what a C function prints.
void append(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

/// Collects the diagnostics of a context while it lives.
class Diagnostics {
public:
  explicit Diagnostics(MlirContext context)
      : context(context), handler(mlirContextAttachDiagnosticHandler(
                              context, collectOne, this, nullptr)) {}
  ~Diagnostics() { mlirContextDetachDiagnosticHandler(context, handler); }
  std::string text;

private:
  static MlirLogicalResult collectOne(MlirDiagnostic diagnostic, void *self) {
    std::string &text = static_cast<Diagnostics *>(self)->text;
    if (!text.empty())
      text += '\n';
    mlirDiagnosticPrint(diagnostic, append, &text);
    return mlirLogicalResultSuccess();
  }
  MlirContext context;
  MlirDiagnosticHandlerID handler;
};

MlirStringRef view(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

/// Object code in the process.
class Image {
public:
  Image(nb::bytes object, const std::map<std::string, uint64_t> &symbols) {
    std::vector<MlirStringRef> names;
    std::vector<uint64_t> addresses;
    for (const auto &[name, address] : symbols) {
      names.push_back(view(name));
      addresses.push_back(address);
    }
    std::string error;
    image = tilemlirCPUImageLoad(
        mlirStringRefCreate(object.c_str(), object.size()), names.size(),
        names.data(), addresses.data(), append, &error);
    if (!image.ptr)
      throw nb::value_error(error.c_str());
  }
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;
  ~Image() { tilemlirCPUImageDestroy(image); }

  uint64_t entry(const std::string &name) {
    std::string error;
    uint64_t address =
        tilemlirCPUImageLookup(image, view(name), append, &error);
    if (!address)
      throw nb::key_error(error.c_str());
    return address;
  }

  std::map<std::string, uint64_t> entries() {
    std::map<std::string, uint64_t> result;
    tilemlirCPUImageForEachEntry(
        image,
        [](MlirStringRef name, uint64_t address, void *map) {
          (*static_cast<std::map<std::string, uint64_t> *>(
              map))[std::string(name.data, name.length)] = address;
        },
        &result);
    return result;
  }

private:
  TilemlirCPUImage image = {nullptr};
};

} // namespace

std::string tilemlir::bindings::collect(MlirModule module, Printer print,
                                        const char *what) {
  Diagnostics errors(mlirOperationGetContext(mlirModuleGetOperation(module)));
  std::string text;
  if (mlirLogicalResultIsFailure(print(module, append, &text)))
    throw nb::value_error((std::string(what) + ": " + errors.text).c_str());
  return text;
}

using tilemlir::bindings::collect;

void tilemlir::bindings::bindCPU(nb::module_ &m) {
  m.def(
      "launch_plan",
      [](MlirModule module) {
        return collect(module, tilemlirLaunchPlanToJSON, "no launch plan");
      },
      nb::arg("module"),
      "The launch plan of a module as JSON text (version 1).");
  m.def(
      "report",
      [](MlirModule module) {
        return collect(module, tilemlirReportToJSON, "no report");
      },
      nb::arg("module"),
      "What the compiler decided about a module, as a JSON array.");
  m.def(
      "translate_to_llvm_ir",
      [](MlirModule module) {
        return collect(module, tilemlirTranslateToLLVMIR,
                       "no translation to LLVM IR");
      },
      nb::arg("module"), "LLVM IR of a module in the LLVM dialect, as text.");
  m.def(
      "compile_cpu",
      [](MlirModule module) {
        std::string object =
            collect(module, tilemlirCPUCompile, "no code for the CPU");
        return nb::bytes(object.data(), object.size());
      },
      nb::arg("module"),
      "Object code of a module in the LLVM dialect (after tile-cpu-pipeline) "
      "for the CPU of this machine. Load it with CpuImage.");
  m.def(
      "describe_cpu",
      [] {
        std::string text;
        tilemlirCPUDescribeHost(append, &text);
        return text;
      },
      "Name and features of the CPU that compile_cpu generates code for; part "
      "of the key of a cached object.");
  m.def(
      "undefined_symbols",
      [](nb::bytes object) {
        std::vector<std::string> names;
        MlirLogicalResult result = tilemlirCPUGetUndefinedSymbols(
            mlirStringRefCreate(object.c_str(), object.size()),
            [](MlirStringRef name, void *list) {
              static_cast<std::vector<std::string> *>(list)->emplace_back(
                  name.data, name.length);
            },
            &names);
        if (mlirLogicalResultIsFailure(result))
          throw nb::value_error(names.empty() ? "not an object"
                                              : names.back().c_str());
        return names;
      },
      nb::arg("object"), "Names that object code needs from its environment.");
  nb::class_<Image>(m, "CpuImage",
                    "Object code loaded into the process. Entry addresses are "
                    "valid as long as the image lives. `symbols` maps names of "
                    "runtime functions to addresses (_runtime.host_symbols()).")
      .def(nb::init<nb::bytes, const std::map<std::string, uint64_t> &>(),
           nb::arg("object"),
           nb::arg("symbols") = std::map<std::string, uint64_t>())
      .def("entry", &Image::entry, nb::arg("name"),
           "Address of a kernel's entry point. KeyError when there is none.")
      .def_prop_ro("entries", &Image::entries,
                   "Addresses of all entry points by name.");
  m.def(
      "load_cpu",
      [](nb::bytes object, const std::map<std::string, uint64_t> &symbols) {
        return new Image(object, symbols);
      },
      nb::arg("object"), nb::arg("symbols"), nb::rv_policy::take_ownership,
      "Loads object code into the process: CpuImage(object, symbols).");
}
