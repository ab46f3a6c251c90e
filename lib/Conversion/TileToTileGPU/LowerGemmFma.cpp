//===- LowerGemmFma.cpp - tile.gemm with scalar multiply-adds ---*- C++ -*-===//
//
// For what tensor cores do not do: IEEE f32, f64, odd shapes. Every thread
// computes its elements of the accumulator; operands are read from shared
// memory, or from fragments where the thread holds what it needs.
//
//===----------------------------------------------------------------------===//
#include "KernelLowering.h"

#include "tilemlir/Layout/FragmentAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Multiply-adds per thread up to which the loop over k is unrolled.
static constexpr int64_t kMaxUnrolledMultiplies = 2048;
/// k values per iteration of a loop that is not.
static constexpr int64_t kChunk = 8;

LogicalResult KernelLowering::lowerGemmFma(tile::GemmOp op) {
  auto aType = cast<tile::BufferType>(op.getA().getType());
  auto bType = cast<tile::BufferType>(op.getB().getType());
  auto cType = cast<tile::BufferType>(op.getC().getType());
  if (!cType.isFragment())
    return op.emitOpError()
           << "accumulates in '" << tile::getUserName(op.getC())
           << "', which is no fragment";
  FailureOr<FragmentView> viewOr = viewFragment(op, op.getC());
  if (failed(viewOr))
    return failure();
  FragmentView view = *viewOr;
  layout::FragmentLayout layout = view.layout;
  while (layout.rank() > 2) {
    auto dropped = layout.dropUnitDim(0);
    if (!dropped)
      return op.emitOpError(dropped.error());
    layout = *dropped;
  }
  int64_t k = op.getK();
  Type sumType = cType.getScalarType();
  SmallVector<Value> held = readRegisters(view.alloc);
  int64_t count = layout.numRegisters();
  SmallVector<Value> acc(count);
  SmallVector<bool> used(count);
  int64_t multiplies = 0;
  for (int64_t r = 0; r < count; ++r) {
    used[r] = view.registers[r] >= 0 &&
              layout.occupancy(r) != layout::Occupancy::Never;
    multiplies += used[r] ? k : 0;
    acc[r] = op.getClearAccum() || !used[r] ? zero(sumType)
                                            : held[view.registers[r]];
  }
  ArrayRef<Coordinate> threadPart = threadOffsets(layout);

  // Values of one operand for k in [start, start + width), by register and k.
  auto readOperand = [&](Value buffer, tile::BufferType type, int64_t outerDim,
                         bool transposed, bool isA, bool isUnsigned,
                         Coordinate start, int64_t width)
      -> FailureOr<std::map<std::pair<int64_t, int64_t>, Value>> {
    // Storage position of the outer (m or n) and k dimensions.
    bool kLast = isA ? !transposed : transposed;
    int64_t rank = type.getRank();
    int64_t kDim = kLast ? rank - 1 : rank - 2,
            oDim = kLast ? rank - 2 : rank - 1;
    std::map<std::pair<int64_t, int64_t>, Value> result;
    std::map<int64_t, int64_t> firstWithOffset;
    SmallVector<std::pair<int64_t, int64_t>> wanted;
    Type elementType = type.getElementType();
    if (isUnsigned && elementType.isInteger(8))
      elementType = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
    if (type.isFragment()) {
      if (!start.isConstant())
        return op.emitOpError(
            "cannot index an operand in registers by a loop variable");
      FailureOr<FragmentView> operand = viewFragment(op, buffer);
      if (failed(operand))
        return failure();
      SmallVector<Value> registers = readRegisters(operand->alloc);
      for (int64_t kk = 0; kk < width; ++kk) {
        std::vector<layout::AccessIndex> access(
            rank, layout::AccessIndex::constant(0));
        access[oDim] = layout::AccessIndex::iteration(outerDim);
        access[kDim] = layout::AccessIndex::constant(start.constant + kk);
        auto table = layout::projectedAccess(layout, operand->layout, access);
        if (!table)
          return op.emitOpError()
                 << "operand '" << tile::getUserName(buffer)
                 << "' must be in shared memory here: " << table.error();
        for (int64_t r = 0; r < count; ++r) {
          if (!used[r])
            continue;
          Value value =
              registers[operand->registers[table->operandRegister[r]]];
          result[{r, kk}] =
              convertScalars(value, elementType, cType.getElementType())
                  .front();
        }
      }
      return result;
    }
    SmallVector<LaneAccess> lanes;
    auto addLane = [&](int64_t r, int64_t kk) {
      Coordinates coordinates(rank);
      coordinates[oDim] = threadPart[outerDim];
      coordinates[oDim].constant += layout.registerOffset(r)[outerDim];
      coordinates[kDim] = start;
      coordinates[kDim].constant += kk;
      lanes.push_back({coordinates, occupancyPredicate(layout, r)});
      wanted.push_back({r, kk});
    };
    SmallVector<int64_t> distinct;
    for (int64_t r = 0; r < count; ++r)
      if (used[r] &&
          firstWithOffset.emplace(layout.registerOffset(r)[outerDim], r).second)
        distinct.push_back(r);
    // Neighbours in memory are neighbouring lanes.
    if (kLast) {
      for (int64_t r : distinct)
        for (int64_t kk = 0; kk < width; ++kk)
          addLane(r, kk);
    } else {
      for (int64_t kk = 0; kk < width; ++kk)
        for (int64_t r : distinct)
          addLane(r, kk);
    }
    FailureOr<SmallVector<Value>> loaded = load(op, buffer, lanes, false, {});
    if (failed(loaded))
      return failure();
    SmallVector<Value> converted =
        convertScalars(*loaded, elementType, cType.getElementType());
    std::map<std::pair<int64_t, int64_t>, Value> byOffset;
    for (auto [place, value] : llvm::zip_equal(wanted, converted))
      byOffset[place] = value;
    for (int64_t r = 0; r < count; ++r)
      if (used[r])
        for (int64_t kk = 0; kk < width; ++kk)
          result[{r, kk}] = byOffset[{
              firstWithOffset[layout.registerOffset(r)[outerDim]], kk}];
    return result;
  };
  auto step = [&](Coordinate start, int64_t width,
                  SmallVector<Value> &sums) -> LogicalResult {
    auto a = readOperand(op.getA(), aType, 0, op.getTransposeA(), true,
                         op.getAUnsigned(), start, width);
    auto bb = readOperand(op.getB(), bType, 1, op.getTransposeB(), false,
                          op.getBUnsigned(), start, width);
    if (failed(a) || failed(bb))
      return failure();
    for (int64_t kk = 0; kk < width; ++kk)
      for (int64_t r = 0; r < count; ++r) {
        if (!used[r])
          continue;
        Value x = (*a)[{r, kk}], y = (*bb)[{r, kk}];
        if (isa<FloatType>(sumType)) {
          sums[r] = math::FmaOp::create(b, ix.loc(), x, y, sums[r]);
        } else {
          Value product = arith::MulIOp::create(b, ix.loc(), x, y);
          sums[r] = arith::AddIOp::create(b, ix.loc(), sums[r], product);
        }
      }
    return success();
  };

  bool inRegisters = aType.isFragment() || bType.isFragment();
  if (multiplies <= kMaxUnrolledMultiplies || inRegisters || k % kChunk) {
    for (int64_t start = 0; start < k; start += kChunk)
      if (failed(
              step(Coordinate::get(start), std::min(kChunk, k - start), acc)))
        return failure();
  } else {
    auto loop =
        scf::ForOp::create(b, ix.loc(), ix.i32(0), ix.i32(k), ix.i32(kChunk),
                           ValueRange{fromElements(acc)});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ix.pushScope();
    SmallVector<Value> sums = toElements(loop.getRegionIterArgs().front());
    Coordinate start;
    start.other = loop.getInductionVar();
    start.otherDivisor = kChunk;
    LogicalResult done = step(start, kChunk, sums);
    if (succeeded(done))
      scf::YieldOp::create(b, ix.loc(), fromElements(sums));
    ix.popScope();
    if (failed(done))
      return failure();
    b.setInsertionPointAfter(loop);
    acc = toElements(loop.getResult(0));
    for (int64_t r = 0; r < count; ++r)
      if (used[r])
        held[view.registers[r]] = acc[r];
    writeRegisters(view.alloc, held);
    return success();
  }
  for (int64_t r = 0; r < count; ++r)
    if (used[r])
      held[view.registers[r]] = acc[r];
  writeRegisters(view.alloc, held);
  return success();
}
