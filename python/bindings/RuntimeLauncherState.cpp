//===- RuntimeLauncherState.cpp - The steps of a launch ---------*- C++ -*-===//
//
// Argument order, binding, outputs, workspaces, variants and the launch itself,
// shared by plain calls and prepared launches.
//
//===----------------------------------------------------------------------===//

#include "RuntimeLauncher.h"

#include "tilemlir/Runtime/ThreadPool.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <mutex>

namespace nb = nanobind;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

namespace {

constexpr uintptr_t kWorkspaceAlignment = 256;

/// Releases the interpreter for the lifetime of the object.
class WithoutGil {
public:
  WithoutGil() : state(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state); }
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

private:
  PyThreadState *state;
};

std::mutex graphMutex;
std::vector<WorkspaceSet *> releasedByGraphs; // guarded by graphMutex
std::atomic<bool> anyReleased{false};

// Runs on a driver thread that may call neither CUDA nor Python: it only puts
// the set aside for the next launch to drop.
void graphDestroyed(void *data) {
  std::lock_guard<std::mutex> lock(graphMutex);
  releasedByGraphs.push_back(static_cast<WorkspaceSet *>(data));
  anyReleased.store(true, std::memory_order_release);
}

} // namespace

void tilemlir::bindings::releaseGraphWorkspaces() {
  if (!anyReleased.load(std::memory_order_acquire))
    return;
  std::vector<WorkspaceSet *> released;
  {
    std::lock_guard<std::mutex> lock(graphMutex);
    released.swap(releasedByGraphs);
    anyReleased.store(false, std::memory_order_release);
  }
  for (WorkspaceSet *set : released)
    delete set;
}

LauncherState::LauncherState(nb::dict plan, nb::dict images,
                             nb::object variants, nb::object keepAlive)
    : program(parsePlan(plan)), variantsCallback(std::move(variants)),
      keepAlive(std::move(keepAlive)) {
  if (program.plan().isCpu()) {
    std::map<std::string, uintptr_t> entries;
    for (auto [name, entry] : images)
      entries[nb::cast<std::string>(name)] = nb::cast<uintptr_t>(entry);
    cpu = std::make_unique<CpuLauncher>(program, entries);
    return;
  }
  std::map<std::string, std::string> contents;
  for (auto [name, image] : images) {
    char *data = nullptr;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(image.ptr(), &data, &length) != 0)
      throw nb::python_error();
    contents[nb::cast<std::string>(name)] =
        std::string(data, static_cast<size_t>(length));
  }
  cuda = std::make_unique<cuda::CudaLauncher>(program, contents);
}

void LauncherState::order(PyObject *const *arguments, size_t count,
                          PyObject *keywords, PyObject **inputs) const {
  const std::vector<int32_t> &expected = program.inputArguments();
  size_t keywordCount =
      keywords ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  auto failCount = [&]() {
    std::string names;
    for (int32_t argument : expected)
      names +=
          (names.empty() ? "" : ", ") + program.plan().arguments[argument].name;
    std::string outputs;
    for (int32_t argument : program.plan().outputs)
      outputs += (outputs.empty() ? "" : ", ") +
                 program.plan().arguments[argument].name;
    program.fail("argument-count",
                 {{"found", static_cast<int64_t>(count + keywordCount)},
                  {"expected", static_cast<int64_t>(expected.size())},
                  {"names", names},
                  {"outputs", outputs}});
  };
  if (count > expected.size())
    failCount();
  for (size_t i = 0; i < count; ++i)
    inputs[i] = arguments[i];
  if (keywordCount == 0) {
    if (count != expected.size())
      failCount();
    return;
  }
  std::fill(inputs + count, inputs + expected.size(), nullptr);
  for (size_t i = 0; i < keywordCount; ++i) {
    PyObject *keyword = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
    const char *name = PyUnicode_AsUTF8(keyword);
    if (!name)
      throw nb::python_error();
    size_t place = 0;
    while (place < expected.size() &&
           program.plan().arguments[expected[place]].name != name)
      ++place;
    if (place == expected.size()) {
      bool isOutput =
          std::any_of(program.plan().outputs.begin(),
                      program.plan().outputs.end(), [&](int32_t output) {
                        return program.plan().arguments[output].name == name;
                      });
      program.fail(isOutput ? "output-passed" : "unknown-argument",
                   {{"argument", name}});
    }
    if (inputs[place])
      program.fail("argument-twice", {{"argument", name}});
    inputs[place] = arguments[count + i];
  }
  if (std::find(inputs, inputs + expected.size(), nullptr) !=
      inputs + expected.size())
    failCount();
}

uint64_t LauncherState::bind(Call &call, PyObject *const *inputs,
                             std::vector<nb::object> &outputs) {
  program.begin(call);
  const LaunchPlan &plan = program.plan();
  const std::vector<int32_t> &expected = program.inputArguments();
  PyObject *prototype = nullptr;
  for (size_t i = 0; i < expected.size(); ++i) {
    int32_t index = expected[i];
    const Argument &argument = plan.arguments[index];
    PyObject *object = inputs[i];
    if (argument.kind == ArgumentKind::Scalar) {
      program.bindScalar(call, index, readScalar(program, index, object));
      continue;
    }
    if (object == Py_None) {
      program.bindNone(call, index);
      continue;
    }
    if (argument.kind == ArgumentKind::Pointer && PyLong_Check(object)) {
      auto address = PyLong_AsUnsignedLongLong(object);
      if (PyErr_Occurred())
        throw nb::python_error();
      program.bindPointer(call, index, reinterpret_cast<void *>(address));
      continue;
    }
    BorrowedTensor tensor;
    if (!readTensor(object, argument.name, tensor))
      program.fail("not-a-tensor",
                   {{"argument", argument.name}, {"found", typeName(object)}});
    program.bindTensor(call, index, tensor.view);
    if (!prototype)
      prototype = object;
  }
  for (int32_t output : plan.outputs)
    call.present[output] = false;
  bool haveDevice = call.firstTensor >= 0;
  if (!haveDevice && cuda) {
    nb::object device =
        nb::steal(PyObject_CallNoArgs(callbacks().currentDevice));
    if (!device.ptr())
      throw nb::python_error();
    call.deviceType = dlpack::kCUDA;
    call.deviceId = nb::cast<int32_t>(device);
  } else if (!haveDevice) {
    call.deviceType = dlpack::kCPU;
    call.deviceId = 0;
  }
  program.resolve(call, cuda ? cuda->device(call.deviceId).multiprocessors
                             : threadCount());
  if (uint64_t violated = program.violatedGuards(call))
    return violated;
  const bool haveOutputs = !outputs.empty();
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    int32_t output = plan.outputs[i];
    const Argument &argument = plan.arguments[output];
    int64_t sizes[16];
    int32_t rank = program.rank(output);
    if (rank > 16)
      program.fail("bad-plan",
                   {{"detail", "an output has over 16 dimensions"}});
    if (!haveOutputs) {
      program.outputShape(call, output, sizes);
      nb::object shape = nb::steal(PyTuple_New(rank));
      for (int32_t axis = 0; axis < rank; ++axis)
        PyTuple_SET_ITEM(shape.ptr(), axis, PyLong_FromLongLong(sizes[axis]));
      outputs.push_back(allocate(call, prototype, shape, argument.dtype));
    }
    BorrowedTensor borrowed;
    if (!readTensor(outputs[i].ptr(), argument.name, borrowed))
      program.fail("not-a-tensor", {{"argument", argument.name},
                                    {"found", typeName(outputs[i].ptr())}});
    program.bindTensor(call, output, borrowed.view);
  }
  return 0;
}

nb::object LauncherState::allocate(const Call &call, PyObject *prototype,
                                   nb::object shape, DataType dtype) {
  PyTypeObject *type = prototype ? Py_TYPE(prototype) : nullptr;
  auto known = std::find_if(
      allocators.begin(), allocators.end(), [&](const Allocator &entry) {
        return entry.prototype == type && entry.dtype == dtype &&
               entry.deviceType == call.deviceType &&
               entry.deviceId == call.deviceId;
      });
  if (known == allocators.end()) {
    nb::object function = nb::borrow(callbacks().allocator)(
        prototype ? nb::borrow(prototype) : nb::none(), shortName(dtype),
        call.deviceType, call.deviceId);
    allocators.push_back(
        {type, dtype, call.deviceType, call.deviceId, std::move(function)});
    known = std::prev(allocators.end());
  }
  nb::object tensor =
      nb::steal(PyObject_CallOneArg(known->function.ptr(), shape.ptr()));
  if (!tensor.ptr())
    throw nb::python_error();
  return tensor;
}

WorkspaceSet LauncherState::takeWorkspaces(Call &call, WorkspaceKey key,
                                           PyObject *prototype, bool reuse) {
  program.sizeWorkspaces(call);
  size_t count = program.plan().workspaces.size();
  WorkspaceSet set;
  std::vector<WorkspaceSet> &idle = idleWorkspaces[key];
  if (reuse && !idle.empty()) {
    set = std::move(idle.back());
    idle.pop_back();
  } else {
    set.tensors.resize(count);
    set.pointers.assign(count, nullptr);
    set.bytes.assign(count, -1);
  }
  for (size_t i = 0; i < count; ++i) {
    call.workspaceIsNew[i] = set.bytes[i] < call.workspaceBytes[i];
    if (call.workspaceIsNew[i]) {
      set.tensors[i] = nb::object(); // free the small one first
      int64_t bytes = call.workspaceBytes[i];
      nb::object shape =
          nb::make_tuple(bytes + static_cast<int64_t>(kWorkspaceAlignment));
      set.tensors[i] = allocate(call, prototype, shape, DataType::U8);
      BorrowedTensor borrowed;
      if (!readTensor(set.tensors[i].ptr(), "workspace", borrowed))
        program.fail("not-a-tensor",
                     {{"argument", "workspace"},
                      {"found", typeName(set.tensors[i].ptr())}});
      auto address = reinterpret_cast<uintptr_t>(borrowed.view.data);
      set.pointers[i] = reinterpret_cast<void *>(
          (address + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1));
      set.bytes[i] = bytes;
    }
    call.workspaces[i] = set.pointers[i];
  }
  return set;
}

void LauncherState::attachToGraph(cuda::Graph graph, WorkspaceSet set) const {
  const cuda::DriverTable &api = cuda::driver();
  if (!api.userObjectCreate || !api.graphRetainUserObject)
    program.fail("capture-unsupported",
                 {{"driver", int64_t{cuda::driverVersion()}}});
  auto owned = std::make_unique<WorkspaceSet>(std::move(set));
  cuda::UserObject object = nullptr;
  cuda::check(api.userObjectCreate(&object, owned.get(), graphDestroyed, 1,
                                   cuda::kUserObjectNoDestructorSync),
              "cuUserObjectCreate", program.plan().name);
  owned.release(); // the driver's reference calls graphDestroyed
  cuda::check(
      api.graphRetainUserObject(graph, object, 1, cuda::kGraphUserObjectMove),
      "cuGraphRetainUserObject", program.plan().name);
}

cuda::Stream LauncherState::currentStream(const Call &call,
                                          PyObject *prototype) const {
  if (prototype) {
    const TypeReader &reader = readerOf(prototype);
    if (reader.kind == ReaderKind::Exchange) {
      void *stream = nullptr;
      if (reader.exchange->currentWorkStream(dlpack::kCUDA, call.deviceId,
                                             &stream) != 0)
        throw nb::python_error();
      return static_cast<cuda::Stream>(stream);
    }
  }
  nb::object id = nb::int_(call.deviceId);
  PyObject *arguments[] = {prototype ? prototype : Py_None, id.ptr()};
  nb::object stream = nb::steal(
      PyObject_Vectorcall(callbacks().currentStream, arguments, 2, nullptr));
  if (!stream.ptr())
    throw nb::python_error();
  return reinterpret_cast<cuda::Stream>(nb::cast<uintptr_t>(stream));
}

void LauncherState::launchCuda(Call &call, PyObject *prototype, bool computed) {
  cuda::CudaLauncher::DeviceState &device = cuda->device(call.deviceId);
  const std::vector<Workspace> &workspaces = program.plan().workspaces;
  if (computed && workspaces.empty()) {
    cuda::Stream stream = currentStream(call, prototype);
    cuda::ContextScope scope(device.context);
    WithoutGil released;
    cuda->launch(call, device, stream);
    return;
  }
  // Without workspaces an empty call ends here; with them the parameters need
  // their addresses first, which cost nothing more once allocated.
  if (workspaces.empty()) {
    if (!program.finish(call))
      return;
    cuda->encodeTensorMaps(call);
    cuda::Stream stream = currentStream(call, prototype);
    cuda::ContextScope scope(device.context);
    WithoutGil released;
    cuda->launch(call, device, stream);
    return;
  }
  releaseGraphWorkspaces();
  cuda::Stream stream = currentStream(call, prototype);
  cuda::ContextScope scope(device.context);
  const cuda::DriverTable &api = cuda::driver();
  int status = cuda::kCaptureNone;
  cuda::Graph graph = nullptr;
  if (api.streamGetCaptureInfo)
    cuda::check(api.streamGetCaptureInfo(stream, &status, nullptr, &graph,
                                         nullptr, nullptr),
                "cuStreamGetCaptureInfo", program.plan().name);
  bool capturing = status == cuda::kCaptureActive;
  WorkspaceKey key(call.deviceId, reinterpret_cast<uintptr_t>(stream));
  WorkspaceSet set = takeWorkspaces(call, key, prototype, !capturing);
  if (program.finish(call)) {
    if (!computed)
      cuda->encodeTensorMaps(call);
    WithoutGil released;
    cuda->launch(call, device, stream);
  }
  if (capturing)
    attachToGraph(graph, std::move(set));
  else
    idleWorkspaces[key].push_back(std::move(set));
}

void LauncherState::launch(Call &call, PyObject *prototype, bool computed) {
  if (cuda) {
    launchCuda(call, prototype, computed);
    return;
  }
  if (program.plan().workspaces.empty()) {
    if (computed || program.finish(call)) {
      WithoutGil released;
      cpu->launch(call);
    }
    return;
  }
  WorkspaceKey key(-1, 0);
  WorkspaceSet set = takeWorkspaces(call, key, prototype, true);
  if (program.finish(call)) {
    WithoutGil released;
    cpu->launch(call);
  }
  idleWorkspaces[key].push_back(std::move(set));
}

nb::handle LauncherState::variant(uint64_t violated, PyObject *self) {
  auto found = variants.find(violated);
  if (found != variants.end())
    return found->second;
  nb::list guards;
  for (size_t i = 0; i < program.plan().guards.size(); ++i)
    if (violated >> i & 1)
      guards.append(nb::int_(i));
  if (!variantsCallback.ptr() || variantsCallback.is_none())
    program.fail("no-variant",
                 {{"guards", nb::cast<std::string>(nb::repr(guards))}});
  nb::object variant = variantsCallback(nb::tuple(guards));
  if (!PyObject_TypeCheck(variant.ptr(), launcherType) || variant.is(self))
    program.fail("no-variant",
                 {{"guards", nb::cast<std::string>(nb::repr(guards))}});
  return variants.emplace(violated, std::move(variant)).first->second;
}

nb::object LauncherState::result(const std::vector<nb::object> &outputs) const {
  if (outputs.empty())
    return nb::none();
  if (outputs.size() == 1)
    return outputs.front();
  nb::list list;
  for (const nb::object &output : outputs)
    list.append(output);
  return list;
}

int LauncherState::traverse(visitproc visit, void *arg) const {
  Py_VISIT(variantsCallback.ptr());
  Py_VISIT(keepAlive.ptr());
  for (const auto &entry : variants)
    Py_VISIT(entry.second.ptr());
  return 0;
}
