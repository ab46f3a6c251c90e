//===- LowerWgmma.cpp - tile.gemm_async and tile.mma_wait -------*- C++ -*-===//
//
// A product is a fence, one wgmma for every k-step, block of 64 rows and piece
// of columns, and a commit. Accumulators in flight are the current value of
// their fragment; the wait makes them available under a new value.
//
//===----------------------------------------------------------------------===//
#include "GemmOperands.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

/// Registers of a fragment in the order of an instruction.
struct KernelLowering::MatrixRegisters {
  tile::AllocOp alloc;
  /// Registers of the allocation, and which of them are those of the matrix.
  SmallVector<Value> held;
  std::vector<int64_t> positions;

  SmallVector<Value> values() const {
    SmallVector<Value> result;
    for (int64_t position : positions)
      result.push_back(held[position]);
    return result;
  }
};

/// An operand in shared memory.
struct KernelLowering::WgmmaSource {
  layout::WgmmaOperand operand;
  Value buffer;
  /// Dimensions of the buffer, and where the warp group's part begins.
  int mnDim = 0, kDim = 1;
  Coordinate begin;
};

FailureOr<KernelLowering::MatrixRegisters>
KernelLowering::readMatrix(Operation *op, Value buffer,
                           const layout::FragmentLayout &required) {
  FailureOr<FragmentView> view = viewFragment(op, buffer);
  if (failed(view))
    return failure();
  auto matrix = asMatrix(view->layout);
  if (!matrix)
    return op->emitOpError(matrix.error());
  std::optional<std::vector<int64_t>> table =
      required.registerPermutation(*matrix);
  if (!table || llvm::is_contained(*table, -1))
    return op->emitOpError()
           << "operand '" << tile::getUserName(buffer)
           << "' is not laid out as wgmma needs it: " << matrix->str()
           << " instead of " << required.str();
  MatrixRegisters result;
  result.alloc = view->alloc;
  result.held = readRegisters(view->alloc);
  for (int64_t r : *table)
    result.positions.push_back(view->registers[r]);
  return result;
}

/// Number of the executing warp group in its role, by the warp id, which the
/// hardware keeps in uniform registers.
Value KernelLowering::warpGroup() {
  if (!once.warpGroup) {
    IndexBuilder at(b.getContext());
    at.builder().setInsertionPoint(entry);
    at.setLocation(kernel.getLoc());
    Value warp = tile_gpu::WarpIdOp::create(at.builder(), at.loc(),
                                            at.builder().getI32Type());
    if (role && role.getFirst())
      warp = at.sub(warp, at.i32(role.getFirst()));
    once.warpGroup =
        at.divide(warp, layout::kWarpGroupSize / layout::kWarpSize);
  }
  return once.warpGroup;
}

Coordinate KernelLowering::warpGroupOffset(int64_t before, int64_t groups,
                                           int64_t extent) {
  Coordinate result;
  if (groups == 1)
    return result;
  Value group = ix.divide(warpGroup(), before);
  if (before * groups * layout::kWarpGroupSize < threads)
    group = ix.remainder(group, groups);
  result.other = ix.mul(group, extent);
  result.otherDivisor = extent;
  return result;
}

FailureOr<Value> KernelLowering::wgmmaDescriptor(Operation *op,
                                                 const WgmmaSource &source,
                                                 int64_t mn, int64_t k) {
  auto type = cast<tile::BufferType>(source.buffer.getType());
  tile::AllocOp alloc = tile::getAllocation(source.buffer);
  FailureOr<layout::SharedLayout> shared = sharedLayout(op, source.buffer);
  FailureOr<int64_t> start = sharedOffset(op, alloc);
  if (failed(shared) || failed(start))
    return failure();
  Coordinates coordinates(type.getRank());
  coordinates[source.mnDim] = source.begin;
  coordinates[source.mnDim].constant += mn;
  coordinates[source.kDim].constant += k;
  if (failed(mapToAllocation(op, source.buffer, coordinates)))
    return failure();

  // Constants are placed by the layout; what is dynamic has to move by whole
  // panels or patterns of the swizzle.
  std::vector<int64_t> constants;
  Value address;
  for (int d = 0; d < shared->rank(); ++d) {
    const Coordinate &coordinate = coordinates[d];
    bool fastest = d == shared->fastestDim();
    if (coordinate.thread)
      return op->emitOpError() << "operand '" << tile::getUserName(alloc)
                               << "' begins elsewhere in every thread";
    if (coordinate.other) {
      int64_t step = fastest ? shared->panelElements() : 1;
      int64_t bytes =
          fastest ? shared->panelBytes() : layout::strideBytes(*shared, d);
      int64_t pattern = 8 * shared->rowBytes();
      if (coordinate.otherDivisor % step ||
          (bytes * std::max<int64_t>(1, coordinate.otherDivisor / step)) %
              pattern)
        return op->emitOpError()
               << "operand '" << tile::getUserName(alloc)
               << "' begins at a multiple of " << coordinate.otherDivisor
               << " elements in dimension " << d
               << ", which a descriptor of wgmma cannot express";
      address =
          ix.add(address, ix.mul(ix.divide(coordinate.other, step), bytes));
    }
  }
  for (const Coordinate &coordinate : coordinates)
    constants.push_back(coordinate.constant);
  int64_t offset = *start + source.operand.startOffset(constants);
  return tile_gpu::WgmmaDescriptorOp::create(
             b, ix.loc(), b.getI64Type(), address ? address : ix.i32(0),
             static_cast<uint32_t>(offset), source.operand.leadingBytes(),
             source.operand.strideBytes(), source.operand.swizzleBytes())
      .getResult();
}

/// Does `value` come out of wgmma, in flight or waited for?
static bool comesFromWgmma(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tile_gpu::WgmmaOp, tile_gpu::WgmmaWaitOp>(op))
    return true;
  if (auto from = dyn_cast<vector::FromElementsOp>(op))
    return llvm::all_of(from.getElements(), [](Value element) {
      auto to = element.getDefiningOp<vector::ToElementsOp>();
      return to && comesFromWgmma(to.getSource());
    });
  return false;
}

/// Must the registers of `alloc` be computed before a fence at `product`? Not
/// if wgmma wrote them last, or if they come in from the iteration before in
/// flight: a fence that names registers in flight could make the compiler move
/// them.
static bool needsFence(tile::AllocOp alloc, tile::GemmAsyncOp product) {
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto write = dyn_cast<tile_gpu::WriteFragmentOp>(op)) {
      if (write.getBuffer() == alloc.getResult())
        return !comesFromWgmma(write.getValue());
      continue;
    }
    WalkResult inside = op->walk([&](tile_gpu::WriteFragmentOp write) {
      return write.getBuffer() == alloc.getResult() ? WalkResult::interrupt()
                                                    : WalkResult::advance();
    });
    if (inside.wasInterrupted())
      return true;
  }
  if (!isa<scf::ForOp, scf::WhileOp>(product->getParentOp()))
    return true;
  // A wait for the accumulator in the same iteration.
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<tile::MmaWaitOp>(op))
      for (Value fragment : wait.getFragments())
        if (tile::getAllocation(fragment) == alloc)
          return true;
  return false;
}

LogicalResult KernelLowering::lowerGemmAsync(tile::GemmAsyncOp op) {
  std::optional<tile::WgmmaChoice> choice =
      tile::getWgmmaChoice(op.getChoiceAttr());
  if (!choice)
    return op.emitOpError("has no wgmma instruction chosen");
  auto aType = cast<tile::BufferType>(op.getA().getType());
  auto bType = cast<tile::BufferType>(op.getB().getType());
  auto cType = cast<tile::BufferType>(op.getC().getType());
  std::optional<tile_gpu::MatrixType> aKind =
      matrixType(aType.getElementType(), op.getAUnsigned());
  std::optional<tile_gpu::MatrixType> bKind =
      matrixType(bType.getElementType(), op.getBUnsigned());
  if (!aKind || !bKind)
    return op.emitOpError()
           << "wgmma does not multiply " << aType.getElementType() << " by "
           << bType.getElementType();
  const layout::WarpGrid &groups = choice->groups;
  if (groups.numWarps() * layout::kWarpGroupSize != threads)
    return op.emitOpError()
           << "its choice divides the tile among " << groups.numWarps()
           << " warp groups, there are " << threads << " threads";
  int64_t rows = op.getM() / groups.warpsM, columns = op.getN() / groups.warpsN;

  // Operands.
  auto source = [&](Value buffer, bool isA,
                    bool transposed) -> FailureOr<WgmmaSource> {
    auto type = cast<tile::BufferType>(buffer.getType());
    WgmmaSource result;
    result.buffer = buffer;
    int first = static_cast<int>(type.getRank()) - 2;
    result.mnDim = isA != transposed ? first : first + 1;
    result.kDim = isA != transposed ? first + 1 : first;
    result.begin = isA ? warpGroupOffset(1, groups.warpsM, rows)
                       : warpGroupOffset(groups.warpsM, groups.warpsN, columns);
    layout::Result<layout::WgmmaOperand> operand = sharedOperand(op, result);
    if (!operand)
      return op.emitOpError()
             << "operand '" << tile::getUserName(buffer)
             << "' cannot be read by wgmma: " << operand.error();
    result.operand = *operand;
    return result;
  };
  WgmmaSource aSource;
  SmallVector<Value> aWords;
  layout::MmaFragment aFragment;
  if (choice->registerA) {
    auto fragment = tile::getWgmmaFragment(op, tile::GemmOperand::A);
    if (!fragment)
      return op.emitOpError(fragment.error());
    aFragment = *fragment;
    FailureOr<MatrixRegisters> registers =
        readMatrix(op, op.getA(), fragment->layout);
    if (failed(registers))
      return failure();
    // Four 32-bit registers for each block of rows and k-step.
    SmallVector<Value> elements = registers->values();
    for (size_t r = 0; r < elements.size(); r += fragment->registersPerAtom)
      aWords.push_back(vector::BitCastOp::create(
          b, ix.loc(), VectorType::get({4}, b.getI32Type()),
          fromElements(
              ArrayRef<Value>(elements).slice(r, fragment->registersPerAtom))));
  } else {
    FailureOr<WgmmaSource> found =
        source(op.getA(), /*isA=*/true, op.getTransposeA());
    if (failed(found))
      return failure();
    aSource = *found;
  }
  FailureOr<WgmmaSource> bSource =
      source(op.getB(), /*isA=*/false, op.getTransposeB());
  if (failed(bSource))
    return failure();

  // The accumulator.
  auto c = tile::getWgmmaFragment(op, tile::GemmOperand::C);
  if (!c)
    return op.emitOpError(c.error());
  FailureOr<MatrixRegisters> accumulator = readMatrix(op, op.getC(), c->layout);
  if (failed(accumulator))
    return failure();
  SmallVector<Value> sums;
  SmallVector<Value> elements = accumulator->values();
  auto sumType = VectorType::get({c->registersPerAtom}, cType.getScalarType());
  for (int64_t atom = 0; atom < c->outerAtoms * c->innerAtoms; ++atom)
    sums.push_back(op.getClearAccum()
                       ? ub::PoisonOp::create(b, ix.loc(), sumType).getResult()
                       : fromElements(ArrayRef<Value>(elements).slice(
                             atom * c->registersPerAtom, c->registersPerAtom)));

  // The fence, behind the computation of what is read from registers.
  SmallVector<Value> before(aWords);
  bool fencesSums = !op.getClearAccum() && needsFence(accumulator->alloc, op);
  if (fencesSums)
    before.append(sums);
  SmallVector<Type> types(ValueRange(before).getTypes());
  auto fence = tile_gpu::WgmmaFenceOp::create(b, ix.loc(), types, before);
  for (auto [i, output] : llvm::enumerate(fence.getOutputs()))
    (i < aWords.size() ? aWords[i] : sums[i - aWords.size()]) = output;

  // The products.
  int64_t steps = op.getK() / choice->k;
  auto shape =
      b.getDenseI64ArrayAttr({layout::kWgmmaRows, choice->n, choice->k});
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Value> bDescriptors;
    for (int64_t j = 0; j < c->innerAtoms; ++j) {
      FailureOr<Value> descriptor =
          wgmmaDescriptor(op, *bSource, j * choice->n, step * choice->k);
      if (failed(descriptor))
        return failure();
      bDescriptors.push_back(*descriptor);
    }
    Value scale;
    if (step == 0)
      scale = op.getClearAccum() ? ix.i1(false) : op.getAccumulate();
    for (int64_t i = 0; i < c->outerAtoms; ++i) {
      Value a;
      if (choice->registerA) {
        a = aWords[aFragment.firstRegister(i, step) /
                   aFragment.registersPerAtom];
      } else {
        FailureOr<Value> descriptor = wgmmaDescriptor(
            op, aSource, i * layout::kWgmmaRows, step * choice->k);
        if (failed(descriptor))
          return failure();
        a = *descriptor;
      }
      for (int64_t j = 0; j < c->innerAtoms; ++j) {
        Value &sum = sums[j + c->innerAtoms * i];
        sum = tile_gpu::WgmmaOp::create(
            b, ix.loc(), sum.getType(), a, bDescriptors[j], sum, scale, shape,
            *aKind, *bKind,
            /*transpose_a=*/!choice->registerA && aSource.operand.isMNMajor(),
            /*transpose_b=*/bSource->operand.isMNMajor(), /*negate_a=*/false,
            /*negate_b=*/false, /*saturate=*/false);
      }
    }
  }
  tile_gpu::WgmmaCommitOp::create(b, ix.loc());

  SmallVector<Value> held = accumulator->held;
  size_t r = 0;
  for (Value sum : sums)
    for (Value element : toElements(sum))
      held[accumulator->positions[r++]] = element;
  writeRegisters(accumulator->alloc, held);
  return success();
}

layout::Result<layout::WgmmaOperand>
KernelLowering::sharedOperand(Operation *op, const WgmmaSource &source) {
  tile::AllocOp alloc = tile::getAllocation(source.buffer);
  FailureOr<layout::SharedLayout> shared = sharedLayout(op, alloc);
  if (failed(shared))
    return layout::Error{"it has no layout"};
  // Dimensions of the allocation: those that move with the view's.
  auto type = cast<tile::BufferType>(source.buffer.getType());
  auto find = [&](int dim) -> int {
    Coordinates probe(type.getRank()), origin(type.getRank());
    probe[dim].constant = 1;
    if (failed(mapToAllocation(op, source.buffer, probe)) ||
        failed(mapToAllocation(op, source.buffer, origin)))
      return -1;
    for (auto [d, pair] : llvm::enumerate(llvm::zip_equal(probe, origin)))
      if (std::get<0>(pair).constant == std::get<1>(pair).constant + 1)
        return static_cast<int>(d);
    return -1;
  };
  return layout::WgmmaOperand::create(*shared, find(source.mnDim),
                                      find(source.kDim));
}

LogicalResult KernelLowering::lowerMmaWait(tile::MmaWaitOp op) {
  SmallVector<tile::AllocOp> fragments;
  SmallVector<Value> values;
  for (Value fragment : op.getFragments()) {
    tile::AllocOp alloc = tile::getAllocation(fragment);
    if (llvm::is_contained(fragments, alloc))
      continue;
    fragments.push_back(alloc);
    VectorType type =
        tile_gpu::getRegisterType(cast<tile::BufferType>(alloc.getType()));
    values.push_back(
        tile_gpu::ReadFragmentOp::create(b, ix.loc(), type, alloc));
  }
  SmallVector<Type> types(ValueRange(values).getTypes());
  auto wait = tile_gpu::WgmmaWaitOp::create(b, ix.loc(), types, op.getPending(),
                                            values);
  for (auto [alloc, value] : llvm::zip_equal(fragments, wait.getOutputs()))
    tile_gpu::WriteFragmentOp::create(b, ix.loc(), value, alloc);
  return success();
}
