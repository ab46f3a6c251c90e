//===- ConvertScratch.cpp - Scratch memory of conversions -----------------===//
#include "tilemlir/Dialect/Tile/Transforms/ConvertScratch.h"

#include "LayoutLegalizer.h"

#include "tilemlir/Dialect/Tile/Transforms/FragmentViews.h"
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"
#include "tilemlir/Layout/Conversion.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

static constexpr StringLiteral kSpace = "space";
/// Between what the form costs and why it is needed.
static constexpr StringLiteral kBecause = " clocks: ";

SmallVector<int64_t> mlir::tile::getPieceSpace(ConvertOp op) {
  ChoiceAttr choice = op.getChoiceAttr();
  DictionaryAttr arguments = choice ? choice.getArguments() : DictionaryAttr();
  auto space = arguments ? arguments.getAs<ArrayAttr>(kSpace) : ArrayAttr();
  if (!space)
    return SmallVector<int64_t>(op.getSource().getType().getShape());
  SmallVector<int64_t> shape;
  for (IntegerAttr extent : space.getAsRange<IntegerAttr>())
    shape.push_back(extent.getInt());
  return shape;
}

LogicalResult mlir::tile::assignConvertScratch(ConvertOp op, int64_t maxBytes,
                                               StringRef reason) {
  layout::Result<FragmentView> source = getFragmentView(op.getSource());
  layout::Result<FragmentView> dest = getFragmentView(op.getDest());
  if (!source || !dest)
    return op.emitError("convert: ")
           << (source ? dest.error() : source.error());
  BufferType type = op.getSource().getType();
  layout::Result<layout::SharedConversion> plan = layout::planSharedConversion(
      source->layout, dest->layout, std::max<int64_t>(type.getElementBits(), 8),
      maxBytes);
  if (!plan)
    return op.emitError("convert: ") << plan.error();
  std::string why = reason.str();
  if (ChoiceAttr before = op.getChoiceAttr(); why.empty() && before)
    why = before.getReason().split(kBecause).second.str();

  MLIRContext *context = op.getContext();
  auto scratchType = BufferType::get(
      context, plan->scratch.shape(), type.getElementType(),
      MemorySpace::Shared, SharedLayoutAttr::get(context, plan->scratch));
  if (Value scratch = op.getScratch())
    scratch.setType(scratchType);
  else
    op.getScratchMutable().assign(
        createAllocation(op->getParentOfType<KernelOp>(), scratchType,
                         op.getSource(), "convert_scratch"));
  Builder builder(context);
  DictionaryAttr arguments;
  std::string form = "through shared memory";
  if (plan->numPieces() > 1) {
    form += llvm::formatv(" in {0} pieces of {1} bytes, as much as is left",
                          plan->numPieces(), plan->scratch.sizeBytes());
    if (ArrayRef<int64_t>(plan->shape) != type.getShape())
      arguments = builder.getDictionaryAttr(
          builder.getNamedAttr(kSpace, builder.getI64ArrayAttr(plan->shape)));
  }
  op.setChoiceAttr(ChoiceAttr::get(
      context, Path::Scratch,
      llvm::formatv("{0}, {1}{2}{3}", form, plan->clocks, kBecause, why).str(),
      arguments));
  return success();
}

static SmallVector<ConvertOp> getConversionsThroughScratch(KernelOp kernel) {
  SmallVector<ConvertOp> result;
  kernel.walk([&](ConvertOp op) {
    if (op.getScratch())
      result.push_back(op);
  });
  return result;
}

FailureOr<bool> mlir::tile::shrinkConvertScratch(KernelOp kernel,
                                                 int64_t maxBytes) {
  bool changed = false;
  for (ConvertOp op : getConversionsThroughScratch(kernel)) {
    auto type = cast<BufferType>(Value(op.getScratch()).getType());
    if (getSharedBytes(type) <= maxBytes)
      continue;
    // Copies of one conversion (of an iteration that was peeled) have one
    // scratch buffer and the same layouts.
    for (Operation *user :
         llvm::make_early_inc_range(Value(op.getScratch()).getUsers())) {
      auto copy = dyn_cast<ConvertOp>(user);
      if (copy && failed(assignConvertScratch(copy, maxBytes)))
        return failure();
    }
    changed |= Value(op.getScratch()).getType() != type;
  }
  return changed;
}

int64_t mlir::tile::getLargestConvertScratch(KernelOp kernel) {
  int64_t largest = 0;
  for (ConvertOp op : getConversionsThroughScratch(kernel))
    largest = std::max(largest, getSharedBytes(cast<BufferType>(
                                    Value(op.getScratch()).getType())));
  return largest;
}
