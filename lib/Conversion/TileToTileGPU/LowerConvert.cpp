//===- LowerConvert.cpp - tile.convert --------------------------*- C++ -*-===//
//
// Between layouts: other registers of the same thread, shuffles in the warp, or
// round trips through the scratch operand, piece by piece.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Dialect/Tile/Transforms/ConvertScratch.h"
#include "tilemlir/Dialect/Tile/Transforms/PartialResults.h"
#include "tilemlir/Layout/Conversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/BitVector.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

LogicalResult KernelLowering::lowerConvert(tile::ConvertOp op) {
  if (tile::getLaneCombination(op))
    return combineLanes(op);
  FailureOr<FragmentView> source = viewFragment(op, op.getSource());
  FailureOr<FragmentView> dest = viewFragment(op, op.getDest());
  if (failed(source) || failed(dest))
    return failure();
  if (op.getScratch())
    return convertThroughScratch(op, *source, *dest);
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

  switch (conversion->kind) {
  case layout::ConversionKind::Identity:
  case layout::ConversionKind::RegisterPermutation:
    for (auto [r, sourceRegister] : llvm::enumerate(conversion->sourceRegister))
      setDest(r, sourceValue(sourceRegister));
    break;
  case layout::ConversionKind::InWarpShuffle: {
    Value lane = ix.bitAnd(threadId(), layout::kWarpSize - 1);
    int64_t packed = conversion->elementsPerShuffle(type.getElementBits());
    // Narrow neighbours travel as one word.
    auto word = VectorType::get({packed}, scalar);
    auto sourceWord = [&](int64_t r) {
      if (packed == 1)
        return sourceValue(r);
      SmallVector<Value> elements;
      for (int64_t i = 0; i < packed; ++i)
        elements.push_back(sourceValue(r + i));
      Type integer = b.getIntegerType(packed * type.getElementBits());
      Value bits = vector::BitCastOp::create(
          b, loc, VectorType::get({1}, integer), fromElements(elements));
      return toElements(bits).front();
    };
    for (size_t r = 0; r < conversion->shuffles.size(); r += packed) {
      Value result;
      for (const layout::ShuffleStep &step : conversion->shuffles[r]) {
        Value value = sourceWord(step.sourceRegister);
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
      if (!result) {
        for (int64_t i = 0; i < packed; ++i)
          setDest(r + i, zero(scalar));
      } else if (packed == 1) {
        setDest(r, result);
      } else {
        Value whole = fromElements(result);
        SmallVector<Value> elements =
            toElements(vector::BitCastOp::create(b, loc, word, whole));
        for (int64_t i = 0; i < packed; ++i)
          setDest(r + i, elements[i]);
      }
    }
    break;
  }
  case layout::ConversionKind::ThroughShared:
    return op.emitOpError() << "needs a scratch operand (" << conversion->reason
                            << "); run tile-optimize-conversions";
  }
  writeRegisters(dest->alloc, to);
  return success();
}

LogicalResult KernelLowering::convertThroughScratch(tile::ConvertOp op,
                                                    const FragmentView &source,
                                                    const FragmentView &dest) {
  SmallVector<int64_t> shape = tile::getPieceSpace(op);
  std::vector<int64_t> space(shape.begin(), shape.end());
  auto from = source.layout.reshape(space);
  auto to = dest.layout.reshape(space);
  if (!from || !to)
    return op.emitOpError() << "cannot convert in pieces: "
                            << (from ? to.error() : from.error());
  FailureOr<layout::SharedLayout> scratch = sharedLayout(op, op.getScratch());
  if (failed(scratch))
    return failure();
  if (scratch->rank() != from->rank())
    return op.emitOpError() << "has scratch memory of rank " << scratch->rank()
                            << " for pieces of rank " << from->rank();
  layout::SharedConversion plan;
  plan.shape = space;
  plan.scratch = *scratch;
  Type scalar = cast<tile::BufferType>(op.getDest().getType()).getScalarType();
  SmallVector<Value> values = readRegisters(source.alloc);
  SmallVector<Value> results = readRegisters(dest.alloc);
  llvm::BitVector isNew(to->numRegisters(), true);
  bool warpLocal = layout::staysInWarp(*from, *to);
  auto meet = [&] {
    if (warpLocal)
      tile_gpu::WarpSyncOp::create(b, ix.loc());
    else
      meetThreads();
  };

  // The registers of a side that hold elements of a piece, where they lie in
  // the scratch, and in which threads.
  auto lanesOf = [&](const layout::FragmentLayout &layout, int64_t piece,
                     bool isStore) {
    std::vector<int64_t> origin = plan.origin(piece);
    const std::vector<int64_t> &extents = plan.scratch.shape();
    Value primary = isStore ? primaryPredicate(layout) : Value();
    ArrayRef<Coordinate> threadPart = threadOffsets(layout);
    SmallVector<std::pair<int64_t, LaneAccess>> lanes;
    for (int64_t r = 0; r < layout.numRegisters(); ++r) {
      layout::Occupancy held = layout::boxOccupancy(layout, r, origin, extents);
      if (held == layout::Occupancy::Never)
        continue;
      LaneAccess lane{Coordinates(threadPart), primary};
      std::vector<int64_t> constants = layout.registerOffset(r);
      for (int d = 0; d < layout.rank(); ++d) {
        Coordinate &coordinate = lane.coordinates[d];
        coordinate.constant += constants[d] - origin[d];
        int64_t extent = std::min(extents[d], layout.shape()[d] - origin[d]);
        if (held == layout::Occupancy::Sometimes &&
            !coordinate.isWithin(extent))
          lane.predicate = ix.both(
              lane.predicate,
              ix.lessUnsigned(ix.materialize(coordinate), ix.i32(extent)));
      }
      lanes.push_back({r, lane});
    }
    return lanes;
  };
  for (int64_t piece = 0; piece < plan.numPieces(); ++piece) {
    if (piece > 0)
      meet();
    SmallVector<LaneAccess> stores, loads;
    SmallVector<Value> stored;
    for (auto &[r, lane] : lanesOf(*from, piece, /*isStore=*/true)) {
      stores.push_back(lane);
      int64_t held = source.registers[r];
      stored.push_back(held < 0 ? zero(scalar) : values[held]);
    }
    if (failed(storeShared(op, op.getScratch(), stored, stores)))
      return failure();
    meet();
    auto lanes = lanesOf(*to, piece, /*isStore=*/false);
    for (auto &[r, lane] : lanes)
      loads.push_back(lane);
    FailureOr<SmallVector<Value>> loaded =
        loadShared(op, op.getScratch(), loads);
    if (failed(loaded))
      return failure();
    for (auto [lane, value] : llvm::zip_equal(lanes, *loaded)) {
      int64_t held = dest.registers[lane.first];
      if (held < 0)
        continue;
      // Threads that do not hold the register in this piece keep what another
      // piece gave them.
      Value predicate =
          isNew.test(lane.first) ? Value() : lane.second.predicate;
      isNew.reset(lane.first);
      results[held] = predicate
                          ? arith::SelectOp::create(b, ix.loc(), predicate,
                                                    value, results[held])
                                .getResult()
                          : value;
    }
  }
  writeRegisters(dest.alloc, results);
  return success();
}
