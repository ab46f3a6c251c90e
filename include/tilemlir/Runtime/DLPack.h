//===- DLPack.h - The DLPack binary interface -------------------*- C++ -*-===//
//
// The structures of DLPack 1.x that the launcher reads: a borrowed tensor, the
// two managed forms a capsule may hold, and the table of C functions a
// framework publishes as `__dlpack_c_exchange_api__`. Layouts follow the
// DLPack 1.3 specification (https://dmlc.github.io/dlpack/latest/c_api.html).
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_DLPACK_H
#define TILEMLIR_RUNTIME_DLPACK_H

#include <cstdint>

namespace tilemlir::runtime::dlpack {

/// Device types that a kernel can meet.
enum DeviceType : int32_t {
  kCPU = 1,
  kCUDA = 2,
  kCUDAHost = 3,
  kCUDAManaged = 13,
};

/// Type codes.
enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kOpaqueHandle = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8_e3m4 = 7,
  kFloat8_e4m3 = 8,
  kFloat8_e4m3b11fnuz = 9,
  kFloat8_e4m3fn = 10,
  kFloat8_e4m3fnuz = 11,
  kFloat8_e5m2 = 12,
  kFloat8_e5m2fnuz = 13,
  kFloat8_e8m0fnu = 14,
  kFloat6_e2m3fn = 15,
  kFloat6_e3m2fn = 16,
  kFloat4_e2m1fn = 17,
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

struct Device {
  int32_t type;
  int32_t id;
};

struct Type {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  Type dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null means contiguous before DLPack 1.2.
  uint64_t byteOffset;
};

struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *);
};

struct ManagedTensorVersioned {
  Version version;
  void *context;
  void (*deleter)(ManagedTensorVersioned *);
  uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader *previous;
};

/// The table behind `type(x).__dlpack_c_exchange_api__` (capsule name
/// "dlpack_exchange_api"). All functions return 0 on success and set a Python
/// error otherwise.
struct ExchangeAPI {
  ExchangeHeader header;
  int (*allocate)(Tensor *prototype, ManagedTensorVersioned **out,
                  void *errorContext,
                  void (*setError)(void *context, const char *kind,
                                   const char *message));
  int (*managedTensorFromPyObject)(void *object, ManagedTensorVersioned **out);
  int (*managedTensorToPyObject)(ManagedTensorVersioned *tensor, void **out);
  int (*tensorFromPyObject)(void *object, Tensor *out); ///< may be null.
  int (*currentWorkStream)(int32_t deviceType, int32_t deviceId, void **out);
};

} // namespace tilemlir::runtime::dlpack

#endif // TILEMLIR_RUNTIME_DLPACK_H
