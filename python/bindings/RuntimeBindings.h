//===- RuntimeBindings.h - Shared parts of tilemlir._runtime ----*- C++ -*-===//
//
// What the source files of the runtime module share: the plan parser, the
// reader of tensor arguments, the callbacks into the Python half, and error
// translation.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_BINDINGS_RUNTIMEBINDINGS_H
#define TILEMLIR_BINDINGS_RUNTIMEBINDINGS_H

#include "tilemlir/Runtime/DLPack.h"
#include "tilemlir/Runtime/LaunchPlan.h"
#include "tilemlir/Runtime/LaunchProgram.h"

#include <nanobind/nanobind.h>

namespace tilemlir::bindings {

/// Functions of the Python half, set once by `tilemlir.runtime` through
/// `configure()`. Owned references; null before.
struct Callbacks {
  /// (code: str, fields: dict) -> Exception
  PyObject *makeError = nullptr;
  /// (object) -> None | (pointer, DLPack type code, bits, shape, strides in
  /// elements | None, device type, device id, read only)
  PyObject *describe = nullptr;
  /// (prototype | None, dtype: str, device type, device id) -> a function from
  /// a shape tuple to a new tensor, aligned to at least 64 bytes
  PyObject *allocator = nullptr;
  /// (prototype | None, device id) -> int
  PyObject *currentStream = nullptr;
  /// () -> int, for calls without tensors
  PyObject *currentDevice = nullptr;
};
Callbacks &callbacks();

/// Sets the Python error for a Failure; the text comes from the catalogue. A
/// failure that names no kernel is about `kernel`.
void setError(const runtime::Failure &failure, const std::string &kernel = {});

/// Reads a launch plan given as the dict of its JSON form. Throws
/// Failure("bad-plan").
runtime::LaunchPlan parsePlan(nanobind::dict plan);

/// How arguments of one Python type are read.
enum class ReaderKind : uint8_t {
  Unknown,  ///< not a tensor
  Exchange, ///< DLPack C exchange API (PyTorch from 2.10 on)
  Array,    ///< __array_struct__ (NumPy)
  Describe, ///< the Python callback
  Capsule,  ///< __dlpack__
};

struct TypeReader {
  PyTypeObject *type = nullptr;
  ReaderKind kind = ReaderKind::Unknown;
  const runtime::dlpack::ExchangeAPI *exchange = nullptr;
};

/// The reader of an object's type, decided once per type.
const TypeReader &readerOf(PyObject *object);

/// A borrowed tensor, with what keeps its fields alive.
struct BorrowedTensor {
  runtime::TensorView view;
  PyObject *owner = nullptr; ///< owned reference or null
  int64_t storage[2 * 16];   ///< shape and strides when the source has none
  BorrowedTensor() = default;
  BorrowedTensor(const BorrowedTensor &) = delete;
  BorrowedTensor &operator=(const BorrowedTensor &) = delete;
  ~BorrowedTensor() { Py_XDECREF(owner); }
};

/// Reads a tensor argument. Returns false, with no Python error set, when the
/// object is not a tensor; throws Failure("unreadable-tensor") when it is one
/// that has no plain memory.
bool readTensor(PyObject *object, const std::string &argument,
                BorrowedTensor &tensor);

/// Reads a scalar argument into the bits of `dtype`. Throws Failure.
uint64_t readScalar(const runtime::LaunchProgram &program, int32_t argument,
                    PyObject *object);

/// The name of an object's type as a user writes it ("torch.Tensor").
std::string typeName(PyObject *object);

/// The kernel's name of a launcher object, empty before it is initialised.
std::string kernelName(PyObject *launcher);

/// Runs `function` and turns what it throws into the Python error; false then.
/// `launcher` may be null.
template <typename Function>
bool guarded(PyObject *launcher, Function &&function) {
  try {
    function();
    return true;
  } catch (const runtime::Failure &failure) {
    setError(failure, launcher ? kernelName(launcher) : std::string());
  } catch (nanobind::python_error &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

/// Adds the types Launcher and PreparedLaunch to the module.
void addLauncherTypes(nanobind::module_ &module);

} // namespace tilemlir::bindings

#endif // TILEMLIR_BINDINGS_RUNTIMEBINDINGS_H
