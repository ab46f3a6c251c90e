//===- SelectTma.cpp - Which copies TMA can do ------------------*- C++ -*-===//
//
// Choosing TMA is a request: layout assignment may still find a layout that
// boxes do not fit, and then takes the choice back with a reason.
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Bases and strides of tensor maps are multiples of this.
static constexpr int64_t kTmaAlignment = 16;
static constexpr uint64_t kWarpThreads = 32;

//===----------------------------------------------------------------------===//
// The tensor
//===----------------------------------------------------------------------===//

/// Can a tensor map have elements of this type?
static bool isMapElement(Type type) {
  int64_t bits = getElementBits(type);
  return type.isIntOrFloat() && (bits == 8 || bits == 16 || bits == 32 ||
                                 (bits == 64 && !isa<ComplexType>(type)));
}

/// Bytes that divide the stride of a dimension.
static int64_t getStrideDivisor(BlockArgument tensor, int64_t dim,
                                Operation *user) {
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = getElementBits(type.getElementType()) / 8;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return bytes;
  if (!ShapedType::isDynamic(strides[dim]))
    return std::abs(strides[dim]) * bytes;
  if (!type.getLayout().isIdentity()) {
    ArgumentAttr declared = getDeclaration(tensor);
    if (declared && dim < static_cast<int64_t>(declared.getStrides().size()))
      return getExprDivisor(declared.getStrides()[dim]) * bytes;
    return bytes;
  }
  int64_t known = bytes;
  for (int64_t inner = dim + 1; inner < type.getRank(); ++inner)
    if (!type.isDynamicDim(inner))
      known *= type.getDimSize(inner);
  // A dynamic pitch is promised to be aligned like the base.
  if (type.isDynamicDim(type.getRank() - 1))
    return std::max(known, getPromisedAlignment(tensor, user));
  return known;
}

/// Why no map of the tensor can be made for the plan; empty if one can.
static std::string refuseTensor(Value tensor, const TmaPlan &plan,
                                Operation *user) {
  std::string name = getUserName(tensor);
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return name + " is no argument of the function";
  auto type = cast<MemRefType>(tensor.getType());
  int64_t bytes = getElementBits(type.getElementType()) / 8;
  if (llvm::is_contained(type.getShape(), 0))
    return name + " is empty";
  int64_t promised = getPromisedAlignment(argument, user);
  if (promised % kTmaAlignment != 0)
    return llvm::formatv("the base of {0} is only known to be aligned to {1} "
                         "bytes, maps need 16",
                         name, promised);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return name + " has no strided layout";
  if (ShapedType::isDynamic(offset) || offset * bytes % kTmaAlignment != 0)
    return name + " starts at an offset that is no multiple of 16 bytes";
  if (strides[plan.dims.front()] != 1)
    return llvm::formatv("dimension {0} of {1}, along which shared memory is "
                         "filled, is not contiguous",
                         plan.dims.front(), name);
  for (auto [position, dim] : llvm::enumerate(plan.dims)) {
    // Panels are as far apart as they are wide.
    if (position == 0 || static_cast<int64_t>(position) == plan.panelPosition)
      continue;
    int64_t divisor = getStrideDivisor(argument, dim, user);
    if (divisor == 0)
      return llvm::formatv("dimension {0} of {1} has stride 0", dim, name);
    if (divisor % kTmaAlignment != 0)
      return llvm::formatv("the stride of dimension {0} of {1} is only known "
                           "to be a multiple of {2} bytes, maps need 16",
                           dim, name, divisor);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Other accesses to the tensor
//===----------------------------------------------------------------------===//

/// What the kernel around `copy` does with `tensor` elsewhere: TMA is not
/// ordered with ordinary accesses to global memory.
static std::string refuseOtherAccesses(CopyOp copy, Value tensor, bool isLoad) {
  KernelOp kernel = getKernel(copy);
  std::string name = getUserName(tensor);
  if (!OptionsAttr::of(copy).getFlag("noalias", true))
    return "tensors may overlap in this variant, and TMA is not ordered with "
           "ordinary accesses";
  SmallVector<BufferAccess> mine, all;
  collectAccesses(copy, mine);
  collectNestedAccesses(kernel, all);
  const BufferAccess *own = llvm::find_if(
      mine, [&](const BufferAccess &access) { return access.root == tensor; });
  for (const BufferAccess &access : all) {
    if (access.root != tensor || access.op == copy.getOperation())
      continue;
    if (isLoad && access.isWrite)
      return "the kernel also writes " + name;
    if (!isLoad && !access.isWrite)
      return "the kernel also reads " + name;
    if (isLoad)
      continue;
    // Stores to places that are known to be different need no order. Places
    // can be compared within one iteration of the loops around both.
    bool sameLoops = access.op->getParentRegion() == copy->getParentRegion();
    if (!sameLoops || own == mine.end() ||
        mayOverlap(access.region, own->region))
      return "the kernel writes " + name + " in several places";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The copy
//===----------------------------------------------------------------------===//

std::string mlir::tile::refuseTma(Operation *user, TargetAttr target) {
  OptionsAttr options = OptionsAttr::of(user);
  if (target.getComputeCapability() < 90)
    return target.getArch().str() + " has no TMA";
  if (target.getComputeCapability() != 90)
    return "TMA is generated for sm_90 only";
  // What the program asks for by name stays.
  if (!user->hasAttr(kUserCopy) && options.getFlag("disable_tma", false))
    return "TMA is disabled by disable_tma";
  if (getKernel(user).getThreads() < kWarpThreads)
    return "TMA is started by a thread elected from a whole warp";
  return "";
}

std::string mlir::tile::refuseTma(CopyOp op, TargetAttr target,
                                  IntegerAnalysis &integers, TmaPlan &plan) {
  std::optional<TensorCopy> copy = getTensorCopy(op);
  if (!copy)
    return "TMA moves between tensors and shared memory only";
  if (std::string why = refuseTma(op, target); !why.empty())
    return why;
  if (op.getDisableTma())
    return "TMA is disabled for this copy by disable_tma";
  if (op.getPrefer() && *op.getPrefer() != Path::Tma)
    return (stringifyPath(*op.getPrefer()) + " is asked for by the user").str();
  Type tensorType = getStorageElementType(copy->tensor.storage.getType());
  auto bufferType = cast<BufferType>(copy->buffer.storage.getType());
  if (tensorType != bufferType.getElementType())
    return "TMA cannot convert " +
           getTypeName(getStorageElementType(op.getSource().getType())) +
           " to " + getTypeName(getStorageElementType(op.getDest().getType()));
  if (!isMapElement(tensorType))
    return "maps have no elements of type " + getTypeName(tensorType);
  if (TypedAttr safe = op.getSafeAttr(); safe && copy->isLoad) {
    auto integer = dyn_cast<IntegerAttr>(safe);
    auto real = dyn_cast<FloatAttr>(safe);
    bool zero = (integer && integer.getValue().isZero()) ||
                (real && real.getValue().isPosZero());
    if (!zero && op.getBounds() != Bounds::Full)
      return "TMA fills with zero, not with the safe value";
  }
  // A program that asks for TMA orders it with its other accesses.
  if (!op->hasAttr(kUserCopy))
    if (std::string why =
            refuseOtherAccesses(op, copy->tensor.storage, copy->isLoad);
        !why.empty())
      return why;

  AllocOp alloc = getAllocation(copy->buffer.storage);
  BufferType type = alloc.getType();
  layout::Result<layout::SharedLayout> shared =
      type.getSharedLayout()
          ? type.getSharedLayout().getLayout(type.getShape(),
                                             type.getElementBits())
          : getCanonicalSharedLayout(type.getShape(), type.getElementBits());
  if (!shared)
    return shared.error();
  if (!type.getSharedLayout())
    shared = layout::withOuterDims(*shared, getSlotDims(alloc));
  layout::Result<TmaPlan> found =
      planTma(copy->tensor, copy->buffer, *shared, op, integers);
  if (!found)
    return found.error();
  // Slots of a pipelined buffer follow each other without gaps.
  int64_t slotBytes = type.getNumElements() * type.getElementBits() / 8;
  bool mayHaveSlots =
      llvm::any_of(getHandleUsers(alloc.getResult()), [](Operation *user) {
        for (auto loop = user->getParentOfType<PipelinedOp>(); loop;
             loop = loop->getParentOfType<PipelinedOp>())
          if (loop.getNumStages() > 1)
            return true;
        return false;
      });
  if (mayHaveSlots && slotBytes % 128 != 0)
    return llvm::formatv("a slot of {0} has {1} bytes, no multiple of 128",
                         getUserName(alloc), slotBytes);
  if (std::string why = refuseTensor(copy->tensor.storage, *found, op);
      !why.empty())
    return why;
  // Measured on an H200, for loads and stores of all element sizes and with and
  // without swizzle: a box that does not start at 16 bytes along the innermost
  // dimension is an illegal instruction.
  int64_t dim = found->dims.front();
  int64_t bytes = getElementBits(tensorType) / 8;
  int64_t divisor = integers.getDivisor(copy->tensor.offsets[dim]);
  if (divisor * bytes % kTmaAlignment != 0)
    return llvm::formatv("the start in dimension {0} of {1} is only known to "
                         "be a multiple of {2} bytes, TMA needs 16",
                         dim, getUserName(copy->tensor.storage),
                         divisor * bytes);
  // Measured on an H200: a store that begins in front of the first element, in
  // any dimension, is an illegal instruction. A load finds zeros there. Who
  // asks for TMA by name has to know where it stores.
  if (!copy->isLoad && !op->hasAttr(kUserCopy) &&
      op.getBounds() != Bounds::Full)
    for (auto [index, offset] : llvm::enumerate(copy->tensor.offsets))
      if (integers.getRange(offset).lower < 0)
        return llvm::formatv("a store must not begin in front of a tensor, and "
                             "the start in dimension {0} of {1} is not known "
                             "to be at least 0 (T.assume says so)",
                             index, getUserName(copy->tensor.storage));
  // Measured on an H200: a store that reaches over the end of a row writes
  // what the box holds up to the next 16 bytes. Loads end at the last element.
  int64_t row =
      getExtentDivisor(copy->tensor.storage, dim, op, integers) * bytes;
  if (!copy->isLoad && op.getBounds() != Bounds::Full &&
      row % kTmaAlignment != 0)
    return llvm::formatv("stores end at multiples of 16 bytes, and dimension "
                         "{0} of {1} is only known to be a multiple of {2}",
                         dim, getUserName(copy->tensor.storage), row);
  plan = std::move(*found);
  return "";
}
