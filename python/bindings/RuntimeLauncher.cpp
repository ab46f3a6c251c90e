//===- RuntimeLauncher.cpp - The callable kernel ----------------*- C++ -*-===//
//
// The Python type Launcher. It is a plain CPython type rather than a nanobind
// class because the vectorcall protocol saves the argument tuple of every call.
// Python classes may derive from it.
//
//===----------------------------------------------------------------------===//

#include "RuntimeLauncher.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <structmember.h>

namespace nb = nanobind;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

PyTypeObject *tilemlir::bindings::launcherType = nullptr;

LauncherState &tilemlir::bindings::stateOf(PyObject *launcher) {
  auto *object = reinterpret_cast<LauncherObject *>(launcher);
  if (!object->state) {
    PyErr_SetString(PyExc_RuntimeError, "the launcher is not initialised");
    throw nb::python_error();
  }
  return *object->state;
}

std::string tilemlir::bindings::kernelName(PyObject *launcher) {
  auto *object = reinterpret_cast<LauncherObject *>(launcher);
  return object->state ? object->state->program.plan().name : std::string();
}

namespace {

PyObject *launcherCall(PyObject *self, PyObject *const *arguments,
                       size_t flaggedCount, PyObject *keywords) {
  auto count = static_cast<size_t>(PyVectorcall_NARGS(flaggedCount));
  PyObject *result = nullptr;
  guarded(self, [&] {
    LauncherState &state = stateOf(self);
    InputArray inputs;
    inputs.resize(state.program.inputCount());
    state.order(arguments, count, keywords, inputs.data());
    Call call;
    std::vector<nb::object> outputs;
    if (uint64_t violated = state.bind(call, inputs.data(), outputs)) {
      nb::handle variant = state.variant(violated, self);
      result = PyObject_Vectorcall(variant.ptr(), arguments, count, keywords);
      if (!result)
        throw nb::python_error();
      return;
    }
    PyObject *prototype = nullptr;
    if (call.firstTensor >= 0) {
      if (state.program.isOutput(call.firstTensor)) {
        prototype = outputs.front().ptr();
      } else {
        // Input positions equal argument positions minus the outputs before.
        const auto &order = state.program.inputArguments();
        size_t place = 0;
        while (order[place] != call.firstTensor)
          ++place;
        prototype = inputs[place];
      }
    }
    state.launch(call, prototype, /*computed=*/false);
    result = state.result(outputs).release().ptr();
  });
  return result;
}

PyObject *launcherNew(PyTypeObject *type, PyObject *, PyObject *) {
  auto *object = reinterpret_cast<LauncherObject *>(type->tp_alloc(type, 0));
  if (!object)
    return nullptr;
  object->vectorcall = launcherCall;
  object->state = nullptr;
  object->weakReferences = nullptr;
  return reinterpret_cast<PyObject *>(object);
}

int launcherInit(PyObject *self, PyObject *arguments, PyObject *keywords) {
  static const char *names[] = {"plan", "images", "variants", "keep_alive",
                                nullptr};
  PyObject *plan = nullptr, *images = nullptr;
  PyObject *variants = Py_None, *keepAlive = Py_None;
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "O!O!|OO:Launcher", const_cast<char **>(names),
          &PyDict_Type, &plan, &PyDict_Type, &images, &variants, &keepAlive))
    return -1;
  auto *object = reinterpret_cast<LauncherObject *>(self);
  bool done = guarded(self, [&] {
    auto state = std::make_unique<LauncherState>(
        nb::borrow<nb::dict>(plan), nb::borrow<nb::dict>(images),
        nb::borrow(variants), nb::borrow(keepAlive));
    delete object->state;
    object->state = state.release();
  });
  return done ? 0 : -1;
}

int launcherTraverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  auto *object = reinterpret_cast<LauncherObject *>(self);
  return object->state ? object->state->traverse(visit, arg) : 0;
}

int launcherClear(PyObject *self) {
  auto *object = reinterpret_cast<LauncherObject *>(self);
  LauncherState *state = object->state;
  object->state = nullptr;
  delete state;
  return 0;
}

void launcherDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  auto *object = reinterpret_cast<LauncherObject *>(self);
  if (object->weakReferences)
    PyObject_ClearWeakRefs(self);
  launcherClear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *launcherPrepare(PyObject *self, PyObject *const *arguments,
                          Py_ssize_t count, PyObject *keywords) {
  return makePrepared(self, arguments, static_cast<size_t>(count), keywords);
}

PyObject *launcherLoad(PyObject *self, PyObject *device) {
  bool done = guarded(self, [&] {
    LauncherState &state = stateOf(self);
    if (state.cuda)
      state.cuda->device(nb::cast<int>(nb::handle(device)));
  });
  return done ? Py_NewRef(Py_None) : nullptr;
}

PyObject *launcherFunctionAttributes(PyObject *self, PyObject *device) {
  nb::dict result;
  bool done = guarded(self, [&] {
    LauncherState &state = stateOf(self);
    if (!state.cuda)
      return;
    auto &loaded = state.cuda->device(nb::cast<int>(nb::handle(device)));
    cuda::ContextScope scope(loaded.context);
    const auto &names = state.cuda->kernelNames();
    for (size_t i = 0; i < names.size(); ++i) {
      auto attributes = cuda::functionAttributes(loaded.kernels[i]);
      nb::dict entry;
      entry["registers"] = attributes.registers;
      entry["local_bytes"] = attributes.localBytes;
      entry["shared_bytes"] = attributes.sharedBytes;
      entry["constant_bytes"] = attributes.constantBytes;
      entry["max_threads_per_block"] = attributes.maxThreadsPerBlock;
      entry["ptx_version"] = attributes.ptxVersion;
      entry["binary_version"] = attributes.binaryVersion;
      result[names[i].c_str()] = entry;
    }
  });
  return done ? result.release().ptr() : nullptr;
}

PyObject *launcherActiveBlocks(PyObject *self, PyObject *arguments) {
  int device = 0, launch = 0;
  if (!PyArg_ParseTuple(arguments, "ii:active_blocks", &device, &launch))
    return nullptr;
  int blocks = 0;
  bool done = guarded(self, [&] {
    LauncherState &state = stateOf(self);
    if (launch < 0 ||
        static_cast<size_t>(launch) >= state.program.plan().launches.size()) {
      PyErr_SetString(PyExc_IndexError, "launch index out of range");
      throw nb::python_error();
    }
    blocks = state.cuda
                 ? state.cuda->activeBlocks(device, static_cast<size_t>(launch))
                 : 0;
  });
  return done ? PyLong_FromLong(blocks) : nullptr;
}

} // namespace

void tilemlir::bindings::addLauncherTypes(nb::module_ &module) {
  static PyMethodDef methods[] = {
      {"prepare",
       reinterpret_cast<PyCFunction>(
           reinterpret_cast<void (*)()>(launcherPrepare)),
       METH_FASTCALL | METH_KEYWORDS,
       "prepare(*args, **kwargs)\n--\n\n"
       "Checks the arguments once and returns a PreparedLaunch: calling it\n"
       "launches with these arguments and skips every check. The arguments'\n"
       "memory must stay valid and keep its shape; outputs are allocated now\n"
       "and are the same objects on every call."},
      {"load", launcherLoad, METH_O,
       "load(device)\n--\n\nLoads the kernels into a device now."},
      {"function_attributes", launcherFunctionAttributes, METH_O,
       "function_attributes(device)\n--\n\n"
       "What the driver says about each kernel: a dict by kernel name of\n"
       "registers per thread, local bytes per thread, static shared bytes,\n"
       "constant bytes, the largest block, PTX and binary versions."},
      {"active_blocks", launcherActiveBlocks, METH_VARARGS,
       "active_blocks(device, launch)\n--\n\n"
       "Blocks of a launch of the plan that fit one multiprocessor."},
      {nullptr, nullptr, 0, nullptr}};
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall),
       READONLY, nullptr},
      {"__weaklistoffset__", T_PYSSIZET,
       offsetof(LauncherObject, weakReferences), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char *>(
           "Launcher(plan, images, variants=None, keep_alive=None)\n--\n\n"
           "A loaded kernel: checks its arguments against a launch plan and\n"
           "launches. `images` maps kernel names to cubin or PTX bytes, or to\n"
           "entry addresses on the CPU.")},
      {Py_tp_new, reinterpret_cast<void *>(launcherNew)},
      {Py_tp_init, reinterpret_cast<void *>(launcherInit)},
      {Py_tp_dealloc, reinterpret_cast<void *>(launcherDealloc)},
      {Py_tp_traverse, reinterpret_cast<void *>(launcherTraverse)},
      {Py_tp_clear, reinterpret_cast<void *>(launcherClear)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr}};
  static PyType_Spec spec = {
      "tilemlir._runtime.Launcher", sizeof(LauncherObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
          Py_TPFLAGS_HAVE_VECTORCALL,
      slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.ptr())
    throw nb::python_error();
  launcherType = reinterpret_cast<PyTypeObject *>(type.ptr());
  module.attr("Launcher") = type;
  type.release(); // the module lives as long as the process
  addPreparedType(module);
}
