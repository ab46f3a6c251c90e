//===- DataType.h - Element types of kernel arguments -----------*- C++ -*-===//
//
// The element types a launch plan may name, their sizes, their DLPack codes and
// the conversion of a host number to the bits a kernel parameter expects.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_DATATYPE_H
#define TILEMLIR_RUNTIME_DATATYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilemlir::runtime {

enum class DataType : uint8_t {
  F16,
  BF16,
  F32,
  F64,
  TF32, ///< f32 storage; the precision belongs to the operations.
  F8E4M3FN,
  F8E5M2,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool, ///< one byte, 0 or 1.
};

/// Parses a launch plan's short name ("f16", "i32", "bool"); nullopt when the
/// name is not one.
std::optional<DataType> parseDataType(std::string_view name);

/// The short name of a launch plan ("f16").
const char *shortName(DataType type);

/// The name a user knows ("float16").
const char *longName(DataType type);

/// Storage size in bytes.
int64_t byteWidth(DataType type);

bool isInteger(DataType type);
bool isSigned(DataType type);

/// Smallest and largest value of an integer type (bool: 0 and 1). The unsigned
/// maximum is returned as its bit pattern.
int64_t minimumValue(DataType type);
uint64_t maximumValue(DataType type);

/// DLPack's three-part type.
struct DLPackType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  bool operator==(const DLPackType &other) const {
    return code == other.code && bits == other.bits && lanes == other.lanes;
  }
};

/// The DLPack type a tensor with this element type must have.
DLPackType dlpackType(DataType type);

/// A readable name of any DLPack type, also of those no kernel takes
/// ("complex64", "float32x4").
std::string dlpackTypeName(DLPackType type);

/// The bits of `value` in a floating-point type, rounded to nearest even.
/// Values beyond the range become infinity, or NaN in f8e4m3fn, which has no
/// infinity (IEEE 754 and the OCP 8-bit format, without saturation).
uint64_t encodeFloat(DataType type, double value);

/// The value of floating-point bits, exact.
double decodeFloat(DataType type, uint64_t bits);

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_DATATYPE_H
