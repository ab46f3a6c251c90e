//===- MemoryAccess.cpp - How wide accesses to memory can be ----*- C++ -*-===//
#include "MemoryAccess.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;

/// Largest access of one thread.
static constexpr int64_t kWidestAccess = 16;

/// Largest power of two that divides `value`; 16 for 0.
static int64_t powerOfTwoPart(int64_t value) {
  return value == 0 ? kWidestAccess
                    : std::min<int64_t>(kWidestAccess, value & -value);
}

ArgumentAttr mlir::tile::getDeclaration(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument || !argument.getOwner()->isEntryBlock())
    return {};
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ArgumentAttr>(
                        argument.getArgNumber(), "tile.argument")
                  : ArgumentAttr();
}

int64_t mlir::tile::getPromisedAlignment(Value tensor, Operation *user) {
  int64_t elementBytes =
      getElementBits(getStorageElementType(tensor.getType())) / 8;
  int64_t promised = OptionsAttr::of(user).getInteger("alignment", 16);
  ArgumentAttr declared = getDeclaration(tensor);
  if (declared && declared.getTensor() && declared.getAlignment() > 0)
    promised = std::min(promised, declared.getAlignment());
  return std::max(promised == 0 ? elementBytes : powerOfTwoPart(promised),
                  elementBytes);
}

/// Narrows `width` to what divides `value` bytes.
static void limit(AccessWidth &width, int64_t value, const Twine &reason) {
  int64_t bytes = powerOfTwoPart(value);
  if (bytes >= width.bytes)
    return;
  width.bytes = bytes;
  width.reason = reason.str();
}

AccessWidth mlir::tile::getTensorAccessWidth(TypedValue<MemRefType> tensor,
                                             const LinearForm &lastOffset,
                                             int64_t extent,
                                             IntegerAnalysis &integers,
                                             Operation *user) {
  MemRefType type = tensor.getType();
  int64_t elementBytes = getElementBits(type.getElementType()) / 8;
  std::string name = getUserName(tensor);
  AccessWidth width{kWidestAccess, ""};
  if (type.getRank() == 0)
    return {elementBytes, name + " is a scalar"};
  int64_t promised = getPromisedAlignment(tensor, user);
  limit(width, promised,
        "the base of " + name + " is only known to be aligned to " +
            Twine(promised) + " bytes");

  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return {elementBytes, name + " has no strided layout"};
  if (strides.back() != 1)
    return {elementBytes,
            "the last dimension of " + name + " is not contiguous"};
  bool contiguous = type.getLayout().isIdentity();
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (!ShapedType::isDynamic(strides[dim])) {
      limit(width, strides[dim] * elementBytes,
            "the stride of dimension " + Twine(dim) + " of " + name + " is " +
                Twine(strides[dim] * elementBytes) + " bytes");
      continue;
    }
    // A dynamic pitch of a contiguous tensor is promised to be aligned like the
    // base, strides that the caller chooses are not.
    if (!contiguous)
      limit(width, elementBytes,
            "the stride of dimension " + Twine(dim) + " of " + name +
                " is dynamic");
  }
  int64_t divisor = integers.getDivisor(lastOffset);
  limit(width, divisor * elementBytes,
        "the start in the last dimension of " + name +
            " is only known to be a multiple of " + Twine(divisor) +
            " elements");
  limit(width, extent * elementBytes,
        "a row of the region has " + Twine(extent * elementBytes) + " bytes");
  width.bytes = std::max(width.bytes, elementBytes);
  return width;
}

AccessWidth mlir::tile::getSharedAccessWidth(Value buffer,
                                             const LinearForm &lastOffset,
                                             int64_t extent,
                                             IntegerAnalysis &integers) {
  auto type = cast<BufferType>(buffer.getType());
  int64_t elementBytes = type.getElementBits() / 8;
  std::string name = getUserName(buffer);
  AccessWidth width{kWidestAccess, ""};
  if (type.getRank() == 0)
    return {elementBytes, name + " is a scalar"};
  if (auto attr = dyn_cast_or_null<SharedLayoutAttr>(getLayout(buffer))) {
    AllocOp alloc = getAllocation(buffer);
    auto allocType = cast<BufferType>(alloc.getType());
    ArrayRef<int64_t> order = attr.getOrder();
    if (!order.empty() && order.front() != allocType.getRank() - 1 &&
        allocType.getShape().back() != 1)
      return {elementBytes, "the layout of " + name +
                                " does not keep its last dimension contiguous"};
    limit(width, attr.getPanel() * allocType.getElementBits() / 8,
          "panels of the layout of " + name + " are narrow");
  }
  // Rows of all views are as long as those of the allocation.
  for (Value value = buffer; value;) {
    auto viewType = cast<BufferType>(value.getType());
    bool single = viewType.getNumElements() == viewType.getShape().back();
    if (!single)
      limit(width, viewType.getShape().back() * viewType.getElementBits() / 8,
            "a row of " + name + " has " +
                Twine(viewType.getShape().back() * viewType.getElementBits() /
                      8) +
                " bytes");
    Operation *op = value.getDefiningOp();
    if (auto subview = dyn_cast<SubviewOp>(op)) {
      LinearForm start = getLinearForm(subview.getOffsets().back());
      limit(width, integers.getDivisor(start) * viewType.getElementBits() / 8,
            "the view of " + name + " starts at an unaligned column");
    }
    value = isa<AllocOp>(op) ? Value() : op->getOperand(0);
  }
  int64_t divisor = integers.getDivisor(lastOffset);
  limit(width, divisor * elementBytes,
        "the start in the last dimension of " + name +
            " is only known to be a multiple of " + Twine(divisor) +
            " elements");
  limit(width, extent * elementBytes,
        "a row of the region has " + Twine(extent * elementBytes) + " bytes");
  width.bytes = std::max(width.bytes, elementBytes);
  return width;
}
