//===- TensorMaps.cpp - descriptors and bulk copies of `tile_gpu` -*- C++
//-*-===//
//
// The tensor_map type and record, verification of what uses them, and the
// registration of types and attributes.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile_gpu;

#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.cpp.inc"

void TileGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tilemlir/Dialect/TileGPU/IR/TileGPUTypes.cpp.inc"
      >();
}

void TileGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilemlir/Dialect/TileGPU/IR/TileGPUAttrs.cpp.inc"
      >();
}

/// Limits of descriptors.
static constexpr int64_t kMaxMapRank = 5, kMaxBoxExtent = 256,
                         kMaxElementStride = 8;

//===----------------------------------------------------------------------===//
// Type
//===----------------------------------------------------------------------===//

/// Element types that descriptors know.
static bool isMapElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, FloatTF32Type,
             Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Bytes of an element in memory.
static int64_t getMapElementBytes(Type type) {
  return isa<FloatTF32Type>(type) ? 4 : tile::getElementBits(type) / 8;
}

static LogicalResult verifyBox(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> box) {
  if (box.empty() || static_cast<int64_t>(box.size()) > kMaxMapRank)
    return emitError() << "a tensor map has 1 to 5 dimensions, not "
                       << box.size();
  for (int64_t extent : box)
    if (extent < 1 || extent > kMaxBoxExtent)
      return emitError() << "extents of a box are 1 to 256, found " << extent;
  return success();
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> box, Type element) {
  if (!isMapElement(element))
    return emitError() << "tensor maps have no elements of type " << element;
  if (failed(verifyBox(emitError, box)))
    return failure();
  int64_t bytes = box.front() * getMapElementBytes(element);
  if (bytes % 16)
    return emitError() << "rows of a box are multiples of 16 bytes, found "
                       << bytes;
  return success();
}

int64_t TensorMapType::getBoxBytes() {
  int64_t bytes = getMapElementBytes(getElement());
  for (int64_t extent : getBox())
    bytes *= extent;
  return bytes;
}

Type TensorMapType::parse(AsmParser &parser) {
  SmallVector<int64_t> box;
  Type element;
  if (parser.parseLess() ||
      parser.parseDimensionList(box, /*allowDynamic=*/false) ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<TensorMapType>(parser.getContext(), box, element);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getBox())
    printer << extent << 'x';
  printer << getElement() << '>';
}

//===----------------------------------------------------------------------===//
// Record
//===----------------------------------------------------------------------===//

LogicalResult
TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<tile::ExprAttr> sizes,
                      ArrayRef<tile::ExprAttr> strides, tile::ExprAttr,
                      ArrayRef<int64_t> box, ArrayRef<int64_t> elementStrides,
                      int64_t swizzle, Type dtype, tile::TensorMapFill fill,
                      int64_t l2Promotion) {
  if (failed(verifyBox(emitError, box)))
    return failure();
  if (sizes.size() != box.size() || strides.size() != box.size())
    return emitError() << "a box of " << box.size()
                       << " dimensions in a map of " << sizes.size();
  if (!strides.front().isConstant() || strides.front().getValue() != 1)
    return emitError() << "the fastest dimension must have stride 1";
  if (!elementStrides.empty() && elementStrides.size() != box.size())
    return emitError() << elementStrides.size()
                       << " element strides for a box of " << box.size()
                       << " dimensions";
  for (int64_t stride : elementStrides)
    if (stride < 1 || stride > kMaxElementStride)
      return emitError() << "element strides are 1 to 8, found " << stride;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "swizzle is 0, 32, 64 or 128 bytes, found "
                       << swizzle;
  if (!llvm::is_contained({0, 64, 128, 256}, l2Promotion))
    return emitError() << "l2_promotion is 0, 64, 128 or 256 bytes, found "
                       << l2Promotion;
  if (dtype && !isMapElement(dtype))
    return emitError() << "tensor maps have no elements of type " << dtype;
  if (dtype && fill == tile::TensorMapFill::NaN && !isa<FloatType>(dtype))
    return emitError() << "integers cannot be filled with nan";
  return success();
}

Attribute TensorMapAttr::parse(AsmParser &parser, Type) {
  SmallVector<tile::ExprAttr> sizes, strides;
  tile::ExprAttr offset;
  SmallVector<int64_t> box, elementStrides;
  int64_t swizzle = 0, l2Promotion = 128;
  Type dtype;
  auto fill = tile::TensorMapFill::Zero;
  auto parseIntegers = [&](SmallVectorImpl<int64_t> &values) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(values.emplace_back());
    });
  };
  auto parseField = [&]() -> ParseResult {
    SMLoc at = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (key == "dims")
      return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return failure(tile::parseExpression(parser, sizes.emplace_back()) ||
                       parser.parseColon() ||
                       tile::parseExpression(parser, strides.emplace_back()));
      });
    if (key == "offset")
      return tile::parseExpression(parser, offset);
    if (key == "box")
      return parseIntegers(box);
    if (key == "element_strides")
      return parseIntegers(elementStrides);
    if (key == "swizzle")
      return parser.parseInteger(swizzle);
    if (key == "dtype")
      return parser.parseType(dtype);
    if (key == "l2_promotion")
      return parser.parseInteger(l2Promotion);
    if (key != "fill")
      return parser.emitError(at) << "unknown field '" << key << "'";
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<tile::TensorMapFill> parsed =
        tile::symbolizeTensorMapFill(name);
    if (!parsed)
      return parser.emitError(at)
             << "fill is zero or nan, not '" << name << "'";
    fill = *parsed;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField))
    return {};
  return parser.getChecked<TensorMapAttr>(parser.getContext(), sizes, strides,
                                          offset, box, elementStrides, swizzle,
                                          dtype, fill, l2Promotion);
}

void TensorMapAttr::print(AsmPrinter &printer) const {
  auto printIntegers = [&](ArrayRef<int64_t> values) {
    printer << '[';
    llvm::interleaveComma(values, printer);
    printer << ']';
  };
  printer << "<dims = [";
  llvm::interleaveComma(llvm::zip_equal(getSizes(), getStrides()), printer,
                        [&](auto dim) {
                          tile::printExpression(printer, std::get<0>(dim));
                          printer << " : ";
                          tile::printExpression(printer, std::get<1>(dim));
                        });
  printer << ']';
  if (getOffset()) {
    printer << ", offset = ";
    tile::printExpression(printer, getOffset());
  }
  printer << ", box = ";
  printIntegers(getBox());
  if (!getElementStrides().empty()) {
    printer << ", element_strides = ";
    printIntegers(getElementStrides());
  }
  if (getSwizzle())
    printer << ", swizzle = " << getSwizzle();
  if (getDtype())
    printer << ", dtype = " << getDtype();
  if (getFill() != tile::TensorMapFill::Zero)
    printer << ", fill = " << tile::stringifyTensorMapFill(getFill());
  if (getL2Promotion() != 128)
    printer << ", l2_promotion = " << getL2Promotion();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// tensor_map
//===----------------------------------------------------------------------===//

/// Type of the elements that a descriptor with this record has.
static Type getMapElement(TensorMapAttr record, Value tensor) {
  return record.getDtype()
             ? record.getDtype()
             : cast<MemRefType>(tensor.getType()).getElementType();
}

void TensorMapOp::build(OpBuilder &b, OperationState &state, Value tensor,
                        TensorMapAttr record) {
  build(b, state,
        TensorMapType::get(b.getContext(), record.getBox(),
                           getMapElement(record, tensor)),
        tensor, record);
}

/// Dimensions that an expression names must exist.
static LogicalResult verifyExpression(Operation *op, tile::ExprAttr expr,
                                      int64_t rank) {
  bool named = expr.getKind() == tile::ExprKind::Dim ||
               expr.getKind() == tile::ExprKind::Stride;
  if (named && expr.getValue() != 0)
    return op->emitOpError(
        "sizes and strides in a record are those of the tensor, dim(0, i) and "
        "stride(0, i)");
  if (named && (expr.getAxis() < 0 || expr.getAxis() >= rank))
    return op->emitOpError()
           << "dimension " << expr.getAxis() << " of a tensor of rank " << rank;
  for (tile::ExprAttr operand : expr.getOperands())
    if (failed(verifyExpression(op, operand, rank)))
      return failure();
  return success();
}

LogicalResult TensorMapOp::verify() {
  auto tensor = cast<MemRefType>(getTensor().getType());
  TensorMapAttr record = getRecord();
  TensorMapType type = getResult().getType();
  Type element = getMapElement(record, getTensor());
  if (type.getBox() != record.getBox() || type.getElement() != element)
    return emitOpError() << "a map with this record has type "
                         << TensorMapType::get(getContext(), record.getBox(),
                                               element);
  if (getMapElementBytes(element) !=
      tile::getElementBits(tensor.getElementType()) / 8)
    return emitOpError() << "elements of " << tensor.getElementType()
                         << " cannot be read as " << element;
  if (record.getFill() == tile::TensorMapFill::NaN && !isa<FloatType>(element))
    return emitOpError() << "a map of " << element
                         << " cannot be filled with nan";
  int64_t rowBytes = record.getBox().front() * getMapElementBytes(element);
  if (record.getSwizzle() && rowBytes > record.getSwizzle())
    return emitOpError() << "rows of the box have " << rowBytes
                         << " bytes, a swizzle of " << record.getSwizzle()
                         << " bytes allows no more than that";
  auto verifyAll = [&](ArrayRef<tile::ExprAttr> list) {
    return llvm::all_of(list, [&](tile::ExprAttr expr) {
      return succeeded(verifyExpression(*this, expr, tensor.getRank()));
    });
  };
  if (!verifyAll(record.getSizes()) || !verifyAll(record.getStrides()))
    return failure();
  return record.getOffset()
             ? verifyExpression(*this, record.getOffset(), tensor.getRank())
             : success();
}

void TensorMapOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  bool reads = false, writes = false;
  for (Operation *user : getResult().getUsers()) {
    // Whatever else takes a map may do anything with it.
    bool known = isa<TmaLoadOp, TmaStoreOp, TmaPrefetchMapOp>(user);
    reads |= !known || isa<TmaLoadOp>(user);
    writes |= !known || isa<TmaStoreOp>(user);
  }
  if (reads)
    effects.emplace_back(MemoryEffects::Read::get(), &getTensorMutable());
  if (writes)
    effects.emplace_back(MemoryEffects::Write::get(), &getTensorMutable());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static LogicalResult verifyCoordinates(Operation *op, TensorMapType map,
                                       size_t count) {
  if (static_cast<int64_t>(count) != map.getRank())
    return op->emitOpError() << count << " coordinates in a map of "
                             << map.getRank() << " dimensions";
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyCoordinates(*this, getMap().getType(), getCoordinates().size());
}

LogicalResult TmaStoreOp::verify() {
  return verifyCoordinates(*this, getMap().getType(), getCoordinates().size());
}

std::string mlir::tile_gpu::getReductionSuffix(ReductionKind kind,
                                               Type element) {
  using Kind = ReductionKind;
  bool ordered = kind == Kind::Add || kind == Kind::Min || kind == Kind::Max;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    unsigned width = integer.getWidth();
    std::string bits = std::to_string(width);
    if (width != 32 && width != 64)
      return "";
    if (kind == Kind::Inc || kind == Kind::Dec)
      return width == 32 ? "u32" : "";
    if (!ordered)
      return "b" + bits;
    // Two's complement addition of 64 bits has one name.
    bool isUnsigned =
        integer.isUnsigned() || (kind == Kind::Add && width == 64);
    return (isUnsigned ? "u" : "s") + bits;
  }
  if (!ordered)
    return "";
  if (element.isF16() || element.isBF16()) {
    std::string name = element.isF16() ? "f16" : "bf16";
    return kind == Kind::Add ? "noftz." + name : name;
  }
  if (kind != Kind::Add)
    return "";
  return element.isF32() ? "f32" : element.isF64() ? "f64" : "";
}

static LogicalResult verifyReduction(Operation *op, ReductionKind kind,
                                     Type element) {
  if (getReductionSuffix(kind, element).empty())
    return op->emitOpError()
           << "no bulk reduction '" << stringifyReductionKind(kind) << "' of "
           << element;
  return success();
}

LogicalResult TmaReduceOp::verify() {
  if (failed(
          verifyReduction(*this, getKind(), getMap().getType().getElement())))
    return failure();
  return verifyCoordinates(*this, getMap().getType(), getCoordinates().size());
}

LogicalResult BulkReduceOp::verify() {
  return verifyReduction(
      *this, getKind(),
      cast<MemRefType>(getTensor().getType()).getElementType());
}
