//===- RuntimeTensor.cpp - Reading tensor and scalar arguments --*- C++ -*-===//
//
// Borrows the memory of framework tensors: by the DLPack C exchange API, by the
// array interface, through the Python half, or from a DLPack capsule. Converts
// Python numbers to the bits of a scalar parameter.
//
//===----------------------------------------------------------------------===//

#include "RuntimeBindings.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <unordered_map>

namespace nb = nanobind;
using namespace tilemlir::runtime;
using namespace tilemlir::bindings;

namespace {

constexpr int32_t kMaxRank = 16;

/// NumPy's C structure behind `__array_struct__`
/// (https://numpy.org/doc/stable/reference/arrays.interface.html).
struct ArrayInterface {
  int two;
  int rank;
  char kind;
  int itemBytes;
  int flags;
  Py_ssize_t *shape;
  Py_ssize_t *strides; ///< bytes
  void *data;
  PyObject *descriptor;
};
constexpr int kArrayNotSwapped = 0x200;
constexpr int kArrayWriteable = 0x400;

[[noreturn]] void unreadable(const std::string &argument, PyObject *object,
                             const std::string &reason) {
  throw Failure(
      "unreadable-tensor",
      {{"argument", argument}, {"type", typeName(object)}, {"reason", reason}});
}

/// Takes the first line of the pending Python error's text and clears the
/// error; what follows in frameworks' texts are native stack traces.
std::string takeErrorText() {
  nb::python_error error;
  auto text = nb::cast<std::string>(nb::str(error.value()));
  return text.substr(0, text.find('\n'));
}

const dlpack::ExchangeAPI *exchangeOf(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type),
                                             "__dlpack_c_exchange_api__");
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  nb::object owner = nb::steal(capsule);
  if (!PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    return nullptr;
  auto *header = static_cast<dlpack::ExchangeHeader *>(
      PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  while (header && header->version.major != 1)
    header = header->previous;
  auto *exchange = reinterpret_cast<const dlpack::ExchangeAPI *>(header);
  return exchange && exchange->tensorFromPyObject ? exchange : nullptr;
}

bool hasAttribute(PyObject *object, const char *name) {
  PyObject *value = PyObject_GetAttrString(object, name);
  if (!value)
    PyErr_Clear();
  Py_XDECREF(value);
  return value != nullptr;
}

/// The dtype of an array whose kind and size do not say it, by its name.
DLPackType namedArrayType(PyObject *object) {
  nb::object name = nb::steal(PyObject_GetAttrString(object, "dtype"));
  std::string text;
  if (name.ptr()) {
    nb::object attribute =
        nb::steal(PyObject_GetAttrString(name.ptr(), "name"));
    if (attribute.ptr() && nb::isinstance<nb::str>(attribute))
      text = nb::cast<std::string>(attribute);
  }
  PyErr_Clear();
  static const std::unordered_map<std::string, DLPackType> types = {
      {"bfloat16", {dlpack::kBfloat, 16, 1}},
      {"float8_e3m4", {dlpack::kFloat8_e3m4, 8, 1}},
      {"float8_e4m3", {dlpack::kFloat8_e4m3, 8, 1}},
      {"float8_e4m3b11fnuz", {dlpack::kFloat8_e4m3b11fnuz, 8, 1}},
      {"float8_e4m3fn", {dlpack::kFloat8_e4m3fn, 8, 1}},
      {"float8_e4m3fnuz", {dlpack::kFloat8_e4m3fnuz, 8, 1}},
      {"float8_e5m2", {dlpack::kFloat8_e5m2, 8, 1}},
      {"float8_e5m2fnuz", {dlpack::kFloat8_e5m2fnuz, 8, 1}},
      {"float8_e8m0fnu", {dlpack::kFloat8_e8m0fnu, 8, 1}},
  };
  auto found = types.find(text);
  return found == types.end() ? DLPackType{dlpack::kOpaqueHandle, 8, 1}
                              : found->second;
}

void setStorageShape(BorrowedTensor &tensor, int32_t rank) {
  tensor.view.rank = rank;
  tensor.view.shape = tensor.storage;
  tensor.view.strides = tensor.storage + kMaxRank;
}

bool readArray(PyObject *object, const std::string &argument,
               BorrowedTensor &tensor) {
  PyObject *capsule = PyObject_GetAttrString(object, "__array_struct__");
  if (!capsule)
    unreadable(argument, object, takeErrorText());
  tensor.owner = capsule;
  auto *array =
      static_cast<ArrayInterface *>(PyCapsule_GetPointer(capsule, nullptr));
  if (!array || array->two != 2) {
    PyErr_Clear();
    return false;
  }
  if (array->rank > kMaxRank)
    unreadable(argument, object,
               "it has " + std::to_string(array->rank) + " dimensions");
  if (array->itemBytes > 1 && !(array->flags & kArrayNotSwapped))
    unreadable(argument, object, "its bytes are in the other byte order");
  TensorView &view = tensor.view;
  view.data = array->data;
  view.deviceType = dlpack::kCPU;
  view.deviceId = 0;
  view.readOnly = !(array->flags & kArrayWriteable);
  auto bits = static_cast<uint8_t>(array->itemBytes * 8);
  switch (array->kind) {
  case 'i':
    view.dtype = {dlpack::kInt, bits, 1};
    break;
  case 'u':
    view.dtype = {dlpack::kUInt, bits, 1};
    break;
  case 'b':
    view.dtype = {dlpack::kBool, bits, 1};
    break;
  case 'c':
    view.dtype = {dlpack::kComplex, bits, 1};
    break;
  case 'f':
    view.dtype = array->itemBytes >= 2 ? DLPackType{dlpack::kFloat, bits, 1}
                                       : namedArrayType(object);
    break;
  default:
    view.dtype = namedArrayType(object);
  }
  setStorageShape(tensor, array->rank);
  for (int i = 0; i < array->rank; ++i) {
    tensor.storage[i] = array->shape[i];
    Py_ssize_t stride = array->strides[i];
    if (stride % array->itemBytes != 0 && array->shape[i] > 1)
      unreadable(argument, object,
                 "its strides are not whole elements (a field of a "
                 "structured array?)");
    tensor.storage[kMaxRank + i] = stride / array->itemBytes;
  }
  return true;
}

void fillFromDLTensor(const dlpack::Tensor &source, TensorView &view) {
  view.data = static_cast<char *>(source.data) + source.byteOffset;
  view.shape = source.shape;
  view.strides = source.strides;
  view.rank = source.ndim;
  view.deviceType = source.device.type;
  view.deviceId = source.device.id;
  view.dtype = {source.dtype.code, source.dtype.bits, source.dtype.lanes};
}

bool readCapsule(PyObject *object, const std::string &argument,
                 BorrowedTensor &tensor) {
  PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", nullptr);
  if (!capsule)
    unreadable(argument, object, takeErrorText());
  // The capsule stays unconsumed: its destructor releases the tensor when the
  // call is over.
  tensor.owner = capsule;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto *managed = static_cast<dlpack::ManagedTensorVersioned *>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    fillFromDLTensor(managed->tensor, tensor.view);
    tensor.view.readOnly = managed->flags & 1;
    return true;
  }
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto *managed = static_cast<dlpack::ManagedTensor *>(
        PyCapsule_GetPointer(capsule, "dltensor"));
    fillFromDLTensor(managed->tensor, tensor.view);
    return true;
  }
  return false;
}

bool readDescription(PyObject *object, const std::string &argument,
                     BorrowedTensor &tensor) {
  PyObject *result = PyObject_CallOneArg(callbacks().describe, object);
  if (!result)
    unreadable(argument, object, takeErrorText());
  tensor.owner = result;
  if (result == Py_None)
    return false;
  auto fields = nb::borrow<nb::tuple>(result);
  TensorView &view = tensor.view;
  view.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(fields[0]));
  view.dtype = {nb::cast<uint8_t>(fields[1]), nb::cast<uint8_t>(fields[2]), 1};
  auto shape = nb::cast<nb::tuple>(fields[3]);
  if (shape.size() > static_cast<size_t>(kMaxRank))
    unreadable(argument, object,
               "it has " + std::to_string(shape.size()) + " dimensions");
  setStorageShape(tensor, static_cast<int32_t>(shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    tensor.storage[i] = nb::cast<int64_t>(shape[i]);
  if (fields[4].is_none()) {
    view.strides = nullptr;
  } else {
    auto strides = nb::cast<nb::tuple>(fields[4]);
    for (size_t i = 0; i < shape.size(); ++i)
      tensor.storage[kMaxRank + i] = nb::cast<int64_t>(strides[i]);
  }
  view.deviceType = nb::cast<int32_t>(fields[5]);
  view.deviceId = nb::cast<int32_t>(fields[6]);
  view.readOnly = nb::cast<bool>(fields[7]);
  return true;
}

/// Whether a tensor's memory holds its values with the sign flipped. torch does
/// so lazily for imaginary parts of conjugates; such views step over the real
/// parts or have one element, so that ordinary tensors are not asked.
bool isLazilyNegated(PyObject *object, const TensorView &view) {
  int64_t expected = 1;
  bool ordinary = view.rank > 0;
  for (int32_t axis = view.rank - 1; axis >= 0 && ordinary; --axis) {
    ordinary = !view.strides || view.strides[axis] == expected;
    expected *= view.shape[axis];
  }
  if (ordinary)
    return false;
  PyObject *negated = PyObject_CallMethod(object, "is_neg", nullptr);
  if (!negated) {
    PyErr_Clear(); // not torch
    return false;
  }
  nb::object owner = nb::steal(negated);
  return negated == Py_True;
}

TypeReader decideReader(PyObject *object) {
  TypeReader reader;
  reader.type = Py_TYPE(object);
  if ((reader.exchange = exchangeOf(reader.type)))
    reader.kind = ReaderKind::Exchange;
  else if (hasAttribute(object, "__array_struct__"))
    reader.kind = ReaderKind::Array;
  else {
    PyObject *description =
        callbacks().describe ? PyObject_CallOneArg(callbacks().describe, object)
                             : Py_NewRef(Py_None);
    // An object that fails to describe itself is a tensor all the same: the
    // reader reports the error.
    if (!description)
      PyErr_Clear();
    if (description != Py_None)
      reader.kind = ReaderKind::Describe;
    else if (hasAttribute(object, "__dlpack__"))
      reader.kind = ReaderKind::Capsule;
    Py_XDECREF(description);
  }
  return reader;
}

} // namespace

const TypeReader &tilemlir::bindings::readerOf(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  static const TypeReader *last = nullptr;
  if (last && last->type == type)
    return *last;
  static auto *readers = new std::unordered_map<PyTypeObject *, TypeReader>();
  auto found = readers->find(type);
  if (found == readers->end()) {
    TypeReader reader = decideReader(object);
    // A type that was freed could share its address with a later one.
    Py_INCREF(reinterpret_cast<PyObject *>(type));
    found = readers->emplace(type, reader).first;
  }
  last = &found->second;
  return found->second;
}

bool tilemlir::bindings::readTensor(PyObject *object,
                                    const std::string &argument,
                                    BorrowedTensor &tensor) {
  const TypeReader &reader = readerOf(object);
  switch (reader.kind) {
  case ReaderKind::Exchange: {
    dlpack::Tensor borrowed;
    if (reader.exchange->tensorFromPyObject(object, &borrowed) != 0)
      unreadable(argument, object, takeErrorText());
    fillFromDLTensor(borrowed, tensor.view);
    if (isLazilyNegated(object, tensor.view))
      unreadable(argument, object, "it is negated lazily; call .resolve_neg()");
    return true;
  }
  case ReaderKind::Array:
    return readArray(object, argument, tensor);
  case ReaderKind::Describe:
    return readDescription(object, argument, tensor);
  case ReaderKind::Capsule:
    return readCapsule(object, argument, tensor);
  case ReaderKind::Unknown:
    break;
  }
  return false;
}

std::string tilemlir::bindings::typeName(PyObject *object) {
  nb::handle type(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  auto name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  auto module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  return module == "builtins" ? name : module + "." + name;
}

uint64_t tilemlir::bindings::readScalar(const LaunchProgram &program,
                                        int32_t index, PyObject *object) {
  const Argument &argument = program.plan().arguments[index];
  const DataType dtype = argument.dtype;
  auto wrongType = [&]() {
    // Tensors convert to numbers by reading memory, on a GPU after waiting for
    // it: a launch must do neither behind the caller's back.
    bool isTensor = !PyFloat_Check(object) && !PyLong_Check(object) &&
                    readerOf(object).kind == ReaderKind::Exchange;
    program.fail("scalar-type", {{"argument", argument.name},
                                 {"found", typeName(object)},
                                 {"expected", longName(dtype)},
                                 {"tensor", int64_t{isTensor}}});
  };
  if (!PyFloat_Check(object) && !PyLong_Check(object) &&
      readerOf(object).kind == ReaderKind::Exchange)
    wrongType();
  if (!isInteger(dtype)) {
    double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      wrongType();
    }
    return encodeFloat(dtype, value);
  }
  PyObject *number = PyNumber_Index(object);
  if (!number) {
    PyErr_Clear();
    std::string found = typeName(object);
    if (dtype != DataType::Bool ||
        (found != "numpy.bool" && found != "numpy.bool_"))
      wrongType();
    return PyObject_IsTrue(object) == 1;
  }
  nb::object owner = nb::steal(number);
  auto outOfRange = [&]() {
    program.fail("scalar-range",
                 {{"argument", argument.name},
                  {"found", nb::cast<std::string>(nb::str(owner))},
                  {"dtype", longName(dtype)},
                  {"minimum", std::to_string(minimumValue(dtype))},
                  {"maximum", std::to_string(maximumValue(dtype))}});
  };
  if (isSigned(dtype)) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || value < minimumValue(dtype) ||
        value > static_cast<long long>(maximumValue(dtype)))
      outOfRange();
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  unsigned long long value = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred() || value > maximumValue(dtype)) {
    PyErr_Clear();
    outOfRange();
  }
  return value;
}
