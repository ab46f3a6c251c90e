//===- RuntimePrepared.cpp - Launches with fixed arguments ------*- C++ -*-===//
//
// The Python type PreparedLaunch: a checked call kept ready, so that repeating
// it costs the driver's launch and little else.
//
//===----------------------------------------------------------------------===//

#include "RuntimeLauncher.h"

#include <cstddef>
#include <structmember.h>

namespace nb = nanobind;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

namespace {

struct PreparedState {
  nb::object launcher; ///< keeps the LauncherState alive
  std::vector<nb::object> inputs, outputs;
  nb::object result;
  nb::object prototype;
  Call call;
  bool empty = false; ///< nothing to launch
  bool busy = false;  ///< a thread is launching `call` with its workspaces
};

/// Launches the kept call. Without workspaces that only reads it. With them it
/// writes their addresses into the call, so that a second thread, which can get
/// here while the first has released the interpreter, binds a call of its own.
void launchPrepared(PreparedState &prepared, LauncherState &launcher) {
  PyObject *prototype = prepared.prototype.ptr();
  if (launcher.program.plan().workspaces.empty()) {
    launcher.launch(prepared.call, prototype, /*computed=*/true);
    return;
  }
  if (prepared.busy) {
    std::vector<PyObject *> inputs;
    for (const nb::object &input : prepared.inputs)
      inputs.push_back(input.ptr());
    Call call;
    launcher.bind(call, inputs.data(), prepared.outputs);
    launcher.launch(call, prototype, /*computed=*/false);
    return;
  }
  struct Busy {
    bool &flag;
    explicit Busy(bool &flag) : flag(flag) { flag = true; }
    ~Busy() { flag = false; }
  } busy(prepared.busy);
  launcher.launch(prepared.call, prototype, /*computed=*/true);
}

struct PreparedObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PreparedState *state;
};

PyTypeObject *preparedType = nullptr;

PyObject *preparedCall(PyObject *self, PyObject *const *, size_t flaggedCount,
                       PyObject *keywords) {
  if (PyVectorcall_NARGS(flaggedCount) != 0 ||
      (keywords && PyTuple_GET_SIZE(keywords) != 0)) {
    PyErr_SetString(PyExc_TypeError,
                    "a prepared launch takes no arguments: they were fixed by "
                    "prepare()");
    return nullptr;
  }
  PreparedState *prepared = reinterpret_cast<PreparedObject *>(self)->state;
  PyObject *result = nullptr;
  guarded(prepared->launcher.ptr(), [&] {
    LauncherState &launcher = stateOf(prepared->launcher.ptr());
    if (!prepared->empty)
      launchPrepared(*prepared, launcher);
    result = nb::object(prepared->result).release().ptr();
  });
  return result;
}

int preparedTraverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  PreparedState *state = reinterpret_cast<PreparedObject *>(self)->state;
  if (!state)
    return 0;
  Py_VISIT(state->launcher.ptr());
  Py_VISIT(state->result.ptr());
  for (const nb::object &input : state->inputs)
    Py_VISIT(input.ptr());
  return 0;
}

void preparedDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete reinterpret_cast<PreparedObject *>(self)->state;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject *preparedOutputs(PyObject *self, void *) {
  PreparedState *state = reinterpret_cast<PreparedObject *>(self)->state;
  return nb::object(state->result).release().ptr();
}

} // namespace

PyObject *tilemlir::bindings::makePrepared(PyObject *launcher,
                                           PyObject *const *arguments,
                                           size_t count, PyObject *keywords) {
  PyObject *result = nullptr;
  guarded(launcher, [&] {
    LauncherState &state = stateOf(launcher);
    InputArray inputs;
    inputs.resize(state.program.inputCount());
    state.order(arguments, count, keywords, inputs.data());
    auto prepared = std::make_unique<PreparedState>();
    if (uint64_t violated =
            state.bind(prepared->call, inputs.data(), prepared->outputs)) {
      nb::handle variant = state.variant(violated, launcher);
      result = makePrepared(variant.ptr(), arguments, count, keywords);
      if (!result)
        throw nb::python_error();
      return;
    }
    for (size_t i = 0; i < state.program.inputCount(); ++i) {
      prepared->inputs.push_back(nb::borrow(inputs[i]));
      if (state.program.inputArguments()[i] == prepared->call.firstTensor)
        prepared->prototype = prepared->inputs.back();
    }
    if (!prepared->prototype.ptr() && !prepared->outputs.empty())
      prepared->prototype = prepared->outputs.front();
    prepared->launcher = nb::borrow(launcher);
    prepared->result = state.result(prepared->outputs);
    if (state.program.plan().workspaces.empty())
      prepared->empty = !state.program.finish(prepared->call);
    if (state.cuda && !prepared->empty)
      state.cuda->encodeTensorMaps(prepared->call);
    auto *object = reinterpret_cast<PreparedObject *>(
        preparedType->tp_alloc(preparedType, 0));
    if (!object)
      throw nb::python_error();
    object->vectorcall = preparedCall;
    object->state = prepared.release();
    result = reinterpret_cast<PyObject *>(object);
  });
  return result;
}

void tilemlir::bindings::addPreparedType(nb::module_ &module) {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                   offsetof(PreparedObject, vectorcall),
                                   READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {
      {"outputs", preparedOutputs, nullptr,
       "What a call returns: None, one tensor or a list.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char *>("A launch whose arguments were checked by prepare(). "
                          "Calling it launches on the current stream.")},
      {Py_tp_dealloc, reinterpret_cast<void *>(preparedDealloc)},
      {Py_tp_traverse, reinterpret_cast<void *>(preparedTraverse)},
      {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {0, nullptr}};
  static PyType_Spec spec = {
      "tilemlir._runtime.PreparedLaunch", sizeof(PreparedObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
          Py_TPFLAGS_DISALLOW_INSTANTIATION,
      slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.ptr())
    throw nb::python_error();
  preparedType = reinterpret_cast<PyTypeObject *>(type.ptr());
  module.attr("PreparedLaunch") = type;
  type.release();
}
