//===- LowerConvert.cpp - tile.convert --------------------------*- C++ -*-===//
//
// Between layouts: other registers of the same thread, shuffles in the warp, or
// a round trip through the scratch operand.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Layout/Conversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

LogicalResult KernelLowering::lowerConvert(tile::ConvertOp op) {
  FailureOr<FragmentView> source = viewFragment(op, op.getSource());
  FailureOr<FragmentView> dest = viewFragment(op, op.getDest());
  if (failed(source) || failed(dest))
    return failure();
  Location loc = ix.loc();
  auto type = cast<tile::BufferType>(op.getDest().getType());
  Type scalar = type.getScalarType();
  auto conversion = layout::classifyConversion(source->layout, dest->layout);
  if (!conversion)
    return op.emitOpError() << "cannot convert: " << conversion.error();
  SmallVector<Value> from = readRegisters(source->alloc);
  SmallVector<Value> to = readRegisters(dest->alloc);
  auto sourceValue = [&](int64_t r) {
    int64_t held = r < 0 ? -1 : source->registers[r];
    return held < 0 ? zero(scalar) : from[held];
  };
  auto setDest = [&](int64_t r, Value value) {
    if (dest->registers[r] >= 0)
      to[dest->registers[r]] = value;
  };

  bool throughScratch =
      conversion->kind == layout::ConversionKind::ThroughShared ||
      (op.getScratch() && op.getChoice() &&
       op.getChoice()->getPath() == tile::Path::Scratch);
  if (!throughScratch) {
    switch (conversion->kind) {
    case layout::ConversionKind::Identity:
    case layout::ConversionKind::RegisterPermutation:
      for (auto [r, sourceRegister] :
           llvm::enumerate(conversion->sourceRegister))
        setDest(r, sourceValue(sourceRegister));
      break;
    case layout::ConversionKind::InWarpShuffle: {
      Value lane = ix.bitAnd(threadId(), layout::kWarpSize - 1);
      for (auto [r, steps] : llvm::enumerate(conversion->shuffles)) {
        Value result;
        for (const layout::ShuffleStep &step : steps) {
          Value value = sourceValue(step.sourceRegister);
          if (!step.isLocal) {
            std::vector<int64_t> lanes(threads);
            for (int64_t t = 0; t < threads; ++t)
              lanes[t] = step.sourceLane[t % layout::kWarpSize];
            Value sourceLane = threadFunction(lanes);
            if (!sourceLane)
              sourceLane = ix.i32(0);
            value = tile_gpu::ShuffleOp::create(b, loc, value.getType(),
                                                tile_gpu::ShuffleKind::Index,
                                                value, sourceLane);
          }
          if (!result) {
            result = value;
            continue;
          }
          // Lanes of this step's mask: bit `lane` of the mask.
          Value mask = ix.i32(static_cast<int32_t>(step.laneMask));
          Value shifted = arith::ShRUIOp::create(b, loc, mask, lane);
          Value bit = arith::TruncIOp::create(b, loc, b.getI1Type(), shifted);
          result = arith::SelectOp::create(b, loc, bit, value, result);
        }
        setDest(r, result ? result : zero(scalar));
      }
      break;
    }
    case layout::ConversionKind::ThroughShared:
      llvm_unreachable("handled below");
    }
    writeRegisters(dest->alloc, to);
    return success();
  }

  if (!op.getScratch())
    return op.emitOpError() << "needs a scratch operand (" << conversion->reason
                            << "); run tile-optimize-conversions";
  int64_t bits = std::max<int64_t>(8, type.getElementBits());
  auto plan = layout::planSharedConversion(source->layout, dest->layout, bits);
  if (!plan)
    return op.emitOpError()
           << "cannot convert through shared memory: " << plan.error();
  tile::AllocOp scratch = tile::getAllocation(op.getScratch());
  auto scratchType = cast<tile::BufferType>(scratch.getType());
  FailureOr<int64_t> base = sharedOffset(op, scratch);
  if (failed(base))
    return failure();
  int64_t available =
      scratchType.getNumElements() * elementBytes(scratchType.getElementType());
  if (plan->scratch.sizeBytes() > available)
    return op.emitOpError() << "needs " << plan->scratch.sizeBytes()
                            << " bytes of scratch, has " << available;

  // The scratch buffer is addressed under the plan's layout, whatever its type.
  auto lanesOf = [&](const FragmentView &view) {
    SmallVector<LaneAccess> lanes;
    ArrayRef<Coordinate> threadPart = threadOffsets(view.layout);
    for (int64_t r = 0; r < view.layout.numRegisters(); ++r) {
      Coordinates coordinates(threadPart);
      std::vector<int64_t> constants = view.layout.registerOffset(r);
      for (int d = 0; d < view.layout.rank(); ++d)
        coordinates[d].constant += constants[d];
      lanes.push_back({coordinates, {}});
    }
    return lanes;
  };
  auto run = [&](const FragmentView &view, bool isStore, int64_t count) {
    SmallVector<LaneAccess> lanes = lanesOf(view);
    Value primary = isStore ? primaryPredicate(view.layout) : Value();
    auto alignment = b.getI64IntegerAttr(count * bits / 8);
    for (int64_t r = 0; r < view.layout.numRegisters(); r += count) {
      if (view.layout.occupancy(r) == layout::Occupancy::Never)
        continue;
      Value predicate = ix.both(primary, occupancyPredicate(view.layout, r));
      Value address = swizzledOffset(plan->scratch, lanes[r].coordinates);
      if (isStore) {
        SmallVector<Value> values;
        for (int64_t i = 0; i < count; ++i)
          values.push_back(sourceValue(r + i));
        Value value = count == 1 ? values.front() : fromElements(values);
        tile_gpu::SharedStoreOp::create(b, loc, value, address,
                                        static_cast<uint32_t>(*base), predicate,
                                        alignment);
        continue;
      }
      Type registers = count == 1 ? scalar : VectorType::get({count}, scalar);
      Value loaded = tile_gpu::SharedLoadOp::create(
          b, loc, registers, address, static_cast<uint32_t>(*base), predicate,
          alignment);
      SmallVector<Value> values =
          count == 1 ? SmallVector<Value>{loaded} : toElements(loaded);
      for (int64_t i = 0; i < count; ++i)
        setDest(r + i, values[i]);
    }
  };
  run(*source, /*isStore=*/true, plan->storeElements);
  if (plan->warpLocal)
    tile_gpu::WarpSyncOp::create(b, loc);
  else
    meetThreads();
  run(*dest, /*isStore=*/false, plan->loadElements);
  writeRegisters(dest->alloc, to);
  return success();
}
