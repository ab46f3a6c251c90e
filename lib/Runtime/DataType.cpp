//===- DataType.cpp - Element types of kernel arguments ---------*- C++ -*-===//
//
// One table of the element types, and the rounding of host numbers to them.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/DataType.h"
#include "tilemlir/Runtime/DLPack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

using namespace tilemlir::runtime;

namespace {

struct TypeEntry {
  DataType type;
  const char *shortName;
  const char *longName;
  uint8_t bytes;
  uint8_t dlpackCode;
};

// Indexed by DataType.
constexpr TypeEntry table[] = {
    {DataType::F16, "f16", "float16", 2, dlpack::kFloat},
    {DataType::BF16, "bf16", "bfloat16", 2, dlpack::kBfloat},
    {DataType::F32, "f32", "float32", 4, dlpack::kFloat},
    {DataType::F64, "f64", "float64", 8, dlpack::kFloat},
    {DataType::TF32, "tf32", "float32", 4, dlpack::kFloat},
    {DataType::F8E4M3FN, "f8e4m3fn", "float8_e4m3fn", 1,
     dlpack::kFloat8_e4m3fn},
    {DataType::F8E5M2, "f8e5m2", "float8_e5m2", 1, dlpack::kFloat8_e5m2},
    {DataType::I8, "i8", "int8", 1, dlpack::kInt},
    {DataType::I16, "i16", "int16", 2, dlpack::kInt},
    {DataType::I32, "i32", "int32", 4, dlpack::kInt},
    {DataType::I64, "i64", "int64", 8, dlpack::kInt},
    {DataType::U8, "u8", "uint8", 1, dlpack::kUInt},
    {DataType::U16, "u16", "uint16", 2, dlpack::kUInt},
    {DataType::U32, "u32", "uint32", 4, dlpack::kUInt},
    {DataType::U64, "u64", "uint64", 8, dlpack::kUInt},
    {DataType::Bool, "bool", "bool", 1, dlpack::kBool},
};

const TypeEntry &entry(DataType type) {
  return table[static_cast<unsigned>(type)];
}

/// A binary floating-point format narrower than double.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity; ///< false: the top exponent holds numbers, all ones is NaN.
};

FloatFormat formatOf(DataType type) {
  switch (type) {
  case DataType::F16:
    return {5, 10, true};
  case DataType::BF16:
    return {8, 7, true};
  case DataType::F8E4M3FN:
    return {4, 3, false};
  case DataType::F8E5M2:
    return {5, 2, true};
  default:
    return {8, 23, true};
  }
}

} // namespace

std::optional<DataType>
tilemlir::runtime::parseDataType(std::string_view name) {
  for (const TypeEntry &candidate : table)
    if (name == candidate.shortName)
      return candidate.type;
  return std::nullopt;
}

const char *tilemlir::runtime::shortName(DataType type) {
  return entry(type).shortName;
}

const char *tilemlir::runtime::longName(DataType type) {
  return entry(type).longName;
}

int64_t tilemlir::runtime::byteWidth(DataType type) {
  return entry(type).bytes;
}

bool tilemlir::runtime::isInteger(DataType type) {
  return type >= DataType::I8;
}

bool tilemlir::runtime::isSigned(DataType type) { return type < DataType::U8; }

int64_t tilemlir::runtime::minimumValue(DataType type) {
  if (!isInteger(type) || !isSigned(type))
    return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * byteWidth(type));
}

uint64_t tilemlir::runtime::maximumValue(DataType type) {
  if (type == DataType::Bool)
    return 1;
  uint64_t all = ~uint64_t{0} >> (64 - 8 * byteWidth(type));
  return isSigned(type) ? all >> 1 : all;
}

DLPackType tilemlir::runtime::dlpackType(DataType type) {
  const TypeEntry &found = entry(type);
  return {found.dlpackCode, static_cast<uint8_t>(found.bytes * 8), 1};
}

std::string tilemlir::runtime::dlpackTypeName(DLPackType type) {
  static const char *const names[] = {"int",
                                      "uint",
                                      "float",
                                      "opaque",
                                      "bfloat",
                                      "complex",
                                      "bool",
                                      "float8_e3m4",
                                      "float8_e4m3",
                                      "float8_e4m3b11fnuz",
                                      "float8_e4m3fn",
                                      "float8_e4m3fnuz",
                                      "float8_e5m2",
                                      "float8_e5m2fnuz",
                                      "float8_e8m0fnu",
                                      "float6_e2m3fn",
                                      "float6_e3m2fn",
                                      "float4_e2m1fn"};
  std::string name = type.code < std::size(names)
                         ? names[type.code]
                         : "type code " + std::to_string(type.code);
  // The names from bool on carry their width already.
  bool widthInName = type.code >= dlpack::kBool && type.code < std::size(names);
  if (!widthInName)
    name += std::to_string(type.bits);
  if (type.lanes > 1)
    name += 'x' + std::to_string(type.lanes);
  return name;
}

uint64_t tilemlir::runtime::encodeFloat(DataType type, double value) {
  if (type == DataType::F64) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  FloatFormat format = formatOf(type);
  const uint64_t signBit =
      std::signbit(value)
          ? uint64_t{1} << (format.exponentBits + format.mantissaBits)
          : 0;
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const uint64_t topExponent = (uint64_t{1} << format.exponentBits) - 1;
  const uint64_t mantissaMask = (uint64_t{1} << format.mantissaBits) - 1;
  const uint64_t infinity = topExponent << format.mantissaBits;
  const uint64_t quietNaN =
      format.hasInfinity ? infinity | (uint64_t{1} << (format.mantissaBits - 1))
                         : infinity | mantissaMask;
  const uint64_t overflow = format.hasInfinity ? infinity : quietNaN;
  if (std::isnan(value))
    return signBit | quietNaN;
  double magnitude = std::fabs(value);
  if (magnitude == 0.0)
    return signBit;
  if (std::isinf(magnitude))
    return signBit | overflow;
  // magnitude = fraction * 2^exponent with fraction in [1, 2).
  int exponent = std::ilogb(magnitude);
  int lowest = 1 - bias; // below it numbers are subnormal
  int scale = std::max(exponent, lowest) - format.mantissaBits;
  // An integer count of units in the last place; double holds it exactly before
  // rounding because scalbn only changes the exponent. nearbyint rounds to even
  // under the default mode.
  double units = std::nearbyint(std::scalbn(magnitude, -scale));
  auto count = static_cast<uint64_t>(units);
  if (exponent < lowest)
    return signBit | count; // a carry into the lowest normal is right as is
  uint64_t biased = static_cast<uint64_t>(exponent + bias);
  uint64_t bits = (biased << format.mantissaBits) +
                  (count - (uint64_t{1} << format.mantissaBits));
  uint64_t largest =
      format.hasInfinity ? infinity - 1 : (infinity | mantissaMask) - 1;
  return signBit | (bits > largest ? overflow : bits);
}

double tilemlir::runtime::decodeFloat(DataType type, uint64_t bits) {
  if (type == DataType::F64) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  FloatFormat format = formatOf(type);
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const uint64_t topExponent = (uint64_t{1} << format.exponentBits) - 1;
  const uint64_t mantissaMask = (uint64_t{1} << format.mantissaBits) - 1;
  uint64_t mantissa = bits & mantissaMask;
  uint64_t exponent = (bits >> format.mantissaBits) & topExponent;
  bool negative = (bits >> (format.mantissaBits + format.exponentBits)) & 1;
  double value;
  if (exponent == topExponent && format.hasInfinity)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == topExponent && !format.hasInfinity &&
           mantissa == mantissaMask)
    value = std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::scalbn(static_cast<double>(mantissa),
                        1 - bias - format.mantissaBits);
  else
    value = std::scalbn(
        static_cast<double>(mantissa | (uint64_t{1} << format.mantissaBits)),
        static_cast<int>(exponent) - bias - format.mantissaBits);
  return negative ? -value : value;
}
