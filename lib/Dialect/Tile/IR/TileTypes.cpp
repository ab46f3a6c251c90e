//===- TileTypes.cpp - types of the `tile` dialect --------------*- C++ -*-===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_TYPEDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tilemlir/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  StringRef spaceName;
  Attribute layout;
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  SMLoc spaceLoc = parser.getCurrentLocation();
  if (parser.parseKeyword(&spaceName))
    return {};
  std::optional<MemorySpace> space = symbolizeMemorySpace(spaceName);
  if (!space) {
    parser.emitError(spaceLoc) << "unknown memory space '" << spaceName
                               << "', expected shared, fragment, local or tmem";
    return {};
  }
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(layout))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), shape, elementType,
                                       *space, layout);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << '<';
  for (int64_t extent : getShape())
    printer << extent << 'x';
  printer << getElementType() << ", " << stringifyMemorySpace(getSpace());
  if (getLayout())
    printer << ", " << getLayout();
  printer << '>';
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType,
                                 MemorySpace space, Attribute layout) {
  for (int64_t extent : shape)
    if (extent < 1)
      return emitError() << "buffer extents must be at least 1, found "
                         << extent;
  if (isa<BarrierType>(elementType)) {
    if (space != MemorySpace::Shared)
      return emitError() << "barriers need a buffer in shared space, found "
                         << stringifyMemorySpace(space);
  } else if (!elementType.isIntOrFloat())
    return emitError() << "buffer elements must be integers or floats, found "
                       << elementType;
  if (!layout)
    return success();
  if (auto fragment = dyn_cast<FragmentLayoutAttr>(layout)) {
    if (space != MemorySpace::Fragment)
      return emitError() << "a fragment layout needs a buffer in fragment "
                            "space, found "
                         << stringifyMemorySpace(space);
    if (fragment.getShape() != shape)
      return emitError() << "fragment layout of shape [" << fragment.getShape()
                         << "] on a buffer of shape [" << shape << "]";
    return success();
  }
  if (auto shared = dyn_cast<SharedLayoutAttr>(layout)) {
    if (space != MemorySpace::Shared)
      return emitError() << "a shared layout needs a buffer in shared space, "
                            "found "
                         << stringifyMemorySpace(space);
    ArrayRef<int64_t> order = shared.getOrder();
    size_t rank = order.size();
    if (tilemlir::layout::findPanels(order) < rank)
      --rank;
    if (rank != shape.size())
      return emitError() << "shared layout of rank " << rank
                         << " on a buffer of rank " << shape.size();
    std::string problem = tilemlir::layout::SharedLayout::verify(
        shape.vec(), mlir::tile::getElementBits(elementType),
        std::vector<int>(order.begin(), order.end()), shared.getPanel(),
        shared.getSwizzle());
    if (!problem.empty())
      return emitError() << problem;
    return success();
  }
  return emitError() << "unknown layout attribute " << layout;
}

int64_t BufferType::getNumElements() const {
  int64_t count = 1;
  for (int64_t extent : getShape())
    count *= extent;
  return count;
}

int64_t BufferType::getElementBits() const {
  return mlir::tile::getElementBits(getElementType());
}

Type BufferType::getScalarType() const {
  return mlir::tile::getScalarType(getElementType());
}

BufferType BufferType::withLayout(Attribute layout) const {
  return get(getContext(), getShape(), getElementType(), getSpace(), layout);
}

BufferType BufferType::withShape(ArrayRef<int64_t> shape) const {
  return get(getContext(), shape, getElementType(), getSpace(), Attribute());
}

FragmentLayoutAttr BufferType::getFragmentLayout() const {
  return dyn_cast_or_null<FragmentLayoutAttr>(getLayout());
}

SharedLayoutAttr BufferType::getSharedLayout() const {
  return dyn_cast_or_null<SharedLayoutAttr>(getLayout());
}
