//===- RuntimeLauncher.h - The state of a loaded kernel ---------*- C++ -*-===//
//
// Everything a Launcher object owns, and the steps that a call and a prepared
// launch share.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_BINDINGS_RUNTIMELAUNCHER_H
#define TILEMLIR_BINDINGS_RUNTIMELAUNCHER_H

#include "RuntimeBindings.h"

#include "tilemlir/Runtime/CpuLauncher.h"
#include "tilemlir/Runtime/CudaLauncher.h"

#include <map>
#include <memory>

namespace tilemlir::bindings {

/// Buffers for the workspaces of one call, in plan order.
struct WorkspaceSet {
  std::vector<nanobind::object> tensors;
  std::vector<void *> pointers; ///< aligned into the tensors
  std::vector<int64_t> bytes;
};

class LauncherState {
public:
  LauncherState(nanobind::dict plan, nanobind::dict images,
                nanobind::object variants, nanobind::object keepAlive);

  /// The steps of a call before the launch. `inputs` are the caller's arguments
  /// in plan order. On return `call` is bound, checked and (unless a variant is
  /// wanted: result non-zero) its outputs are allocated into `outputs`; outputs
  /// that are there already are used.
  uint64_t bind(runtime::Call &call, PyObject *const *inputs,
                std::vector<nanobind::object> &outputs);

  /// Computes grids and parameters, gets workspaces and launches.
  void launch(runtime::Call &call, PyObject *prototype, bool computed);

  /// Puts positional and keyword arguments in plan order; throws
  /// Failure("argument-count" and others).
  void order(PyObject *const *arguments, size_t count, PyObject *keywords,
             PyObject **inputs) const;

  /// The launcher compiled without the assumptions that guards `violated` make;
  /// asked from Python once per set of guards.
  nanobind::handle variant(uint64_t violated, PyObject *self);

  /// None, the only output, or a list.
  nanobind::object result(const std::vector<nanobind::object> &outputs) const;

  runtime::LaunchProgram program;
  std::unique_ptr<runtime::cuda::CudaLauncher> cuda;
  std::unique_ptr<runtime::CpuLauncher> cpu;

  int traverse(visitproc visit, void *arg) const;

private:
  using WorkspaceKey = std::pair<int32_t, uintptr_t>; // device, stream

  /// Allocates on the call's device with the prototype's framework.
  nanobind::object allocate(const runtime::Call &call, PyObject *prototype,
                            nanobind::object shape, runtime::DataType dtype);
  WorkspaceSet takeWorkspaces(runtime::Call &call, WorkspaceKey key,
                              PyObject *prototype, bool reuse);
  void attachToGraph(runtime::cuda::Graph graph, WorkspaceSet set) const;
  runtime::cuda::Stream currentStream(const runtime::Call &call,
                                      PyObject *prototype) const;
  void launchCuda(runtime::Call &call, PyObject *prototype, bool computed);

  /// An allocation function, kept for the frameworks and devices seen. Types of
  /// prototypes live as long as the process (see readerOf).
  struct Allocator {
    PyTypeObject *prototype;
    runtime::DataType dtype;
    int32_t deviceType, deviceId;
    nanobind::object function;
  };
  std::vector<Allocator> allocators;

  nanobind::object variantsCallback, keepAlive;
  std::map<uint64_t, nanobind::object> variants;
  /// Idle sets; a set in use is out of the map, so that calls from several
  /// threads never share one between their launches.
  std::map<WorkspaceKey, std::vector<WorkspaceSet>> idleWorkspaces;
};

/// The Python object around a LauncherState.
struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  LauncherState *state;
  PyObject *weakReferences;
};

/// Returns the state of an initialised launcher, or throws.
LauncherState &stateOf(PyObject *launcher);

extern PyTypeObject *launcherType;

/// Storage for a call's arguments in plan order.
using InputArray = runtime::InlineBuffer<PyObject *, 24>;

PyObject *makePrepared(PyObject *launcher, PyObject *const *arguments,
                       size_t count, PyObject *keywords);
void addPreparedType(nanobind::module_ &module);

/// Drops tensors whose captured graph has been destroyed.
void releaseGraphWorkspaces();

} // namespace tilemlir::bindings

#endif // TILEMLIR_BINDINGS_RUNTIMELAUNCHER_H
