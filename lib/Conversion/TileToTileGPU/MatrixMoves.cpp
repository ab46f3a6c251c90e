//===- MatrixMoves.cpp - ldmatrix and stmatrix of a fragment ----*- C++ -*-===//
#include "MatrixMoves.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

SmallVector<MatrixGroup>
tilemlir::to_gpu::groupMatrices(ArrayRef<int64_t> matrices) {
  SmallVector<MatrixGroup> groups;
  while (!matrices.empty()) {
    size_t count = matrices.size() >= 4 ? 4 : matrices.size() >= 2 ? 2 : 1;
    groups.emplace_back(matrices.take_front(count));
    matrices = matrices.drop_front(count);
  }
  return groups;
}

std::optional<int> KernelLowering::contiguousDimension(Operation *op,
                                                       Value buffer) {
  FailureOr<layout::SharedLayout> layout = sharedLayout(op, buffer);
  if (failed(layout))
    return std::nullopt;
  int64_t rank = cast<tile::BufferType>(buffer.getType()).getRank();
  auto mapped = [&](int64_t step) {
    Coordinates coordinates(rank);
    if (step >= 0)
      coordinates[step] = Coordinate::get(1);
    if (failed(mapToAllocation(op, buffer, coordinates)))
      coordinates.clear();
    return coordinates;
  };
  Coordinates origin = mapped(-1);
  for (int64_t d = 0; d < rank; ++d) {
    if (cast<tile::BufferType>(buffer.getType()).getShape()[d] == 1)
      continue;
    Coordinates next = mapped(d);
    bool matches = next.size() == origin.size() && !next.empty();
    for (size_t i = 0; i < next.size() && matches; ++i) {
      int64_t expected = static_cast<int>(i) == layout->fastestDim() ? 1 : 0;
      matches = next[i].hasSameBase(origin[i]) &&
                next[i].constant - origin[i].constant == expected;
    }
    if (matches)
      return d;
  }
  return std::nullopt;
}

FailureOr<SmallVector<SharedAddress>> KernelLowering::matrixAddresses(
    Operation *op, Value buffer, ArrayRef<Coordinate> offsets,
    ArrayRef<int> iterationDim, const layout::FragmentLayout &fragment,
    const layout::MatrixAccess &access,
    ArrayRef<SmallVector<int64_t, 4>> groups) {
  // Row coordinates by thread; groups that differ by a constant share a table.
  std::vector<std::vector<std::vector<int64_t>>> tables; // [table][dim][thread]
  int rank = fragment.rank();
  SmallVector<Coordinates> threadParts;
  // By table: its groups, and their coordinates.
  SmallVector<SmallVector<size_t>> groupsOf;
  SmallVector<SmallVector<Coordinates>> addressed;
  for (auto [number, group] : llvm::enumerate(groups)) {
    std::vector<int64_t> matrices(group.begin(), group.end());
    std::vector<std::vector<int64_t>> table(rank,
                                            std::vector<int64_t>(threads));
    for (int64_t t = 0; t < threads; ++t) {
      std::vector<int64_t> row =
          layout::matrixRowCoordinate(fragment, access, t, matrices);
      for (int d = 0; d < rank; ++d)
        table[d][t] = row[d];
    }
    std::vector<int64_t> delta(rank);
    size_t chosen = tables.size();
    for (size_t i = 0; i < tables.size() && chosen == tables.size(); ++i) {
      bool constant = true;
      for (int d = 0; d < rank && constant; ++d) {
        delta[d] = table[d][0] - tables[i][d][0];
        for (int64_t t = 0; t < threads && constant; ++t)
          constant = table[d][t] - tables[i][d][t] == delta[d];
      }
      if (constant)
        chosen = i;
    }
    if (chosen == tables.size()) {
      Coordinates parts;
      for (int d = 0; d < rank; ++d)
        parts.push_back(threadCoordinate(table[d]));
      tables.push_back(std::move(table));
      threadParts.push_back(parts);
      groupsOf.emplace_back();
      addressed.emplace_back();
      delta.assign(rank, 0);
    }
    Coordinates coordinates(offsets);
    for (auto [dim, from] : llvm::enumerate(iterationDim)) {
      if (from < 0)
        continue;
      Coordinate part = threadParts[chosen][from];
      part.constant += delta[from];
      coordinates[dim] = ix.add(coordinates[dim], part);
    }
    if (failed(mapToAllocation(op, buffer, coordinates)))
      return failure();
    groupsOf[chosen].push_back(number);
    addressed[chosen].push_back(coordinates);
  }
  // Addresses share bases with those of the same table.
  SmallVector<SharedAddress> result(groups.size());
  for (auto [numbers, coordinates] : llvm::zip_equal(groupsOf, addressed)) {
    FailureOr<SmallVector<SharedAddress>> addresses =
        sharedAddresses(op, buffer, coordinates);
    if (failed(addresses))
      return failure();
    for (auto [number, address] : llvm::zip_equal(numbers, *addresses))
      result[number] = address;
  }
  return result;
}

LogicalResult KernelLowering::copyMatrices(Operation *op, Value buffer,
                                           ArrayRef<Coordinate> offsets,
                                           ArrayRef<int> iterationDim,
                                           const FragmentView &view,
                                           Type fragmentType, Type elementType,
                                           bool isLoad) {
  int64_t bits = tile::getElementBits(elementType);
  std::optional<int> contiguous = contiguousDimension(op, buffer);
  int contiguousIteration = contiguous ? iterationDim[*contiguous] : -1;
  if (contiguousIteration < 0)
    return op->emitOpError(
        "no dimension of the copied part is contiguous in shared memory");
  auto access =
      layout::matchMatrixAccess(view.layout, bits, contiguousIteration);
  if (!access)
    return op->emitOpError()
           << (isLoad ? "ldmatrix" : "stmatrix")
           << " cannot move this fragment: " << access.error();
  SmallVector<int64_t> numbers;
  for (int64_t i = 0; i < access->numMatrices; ++i)
    numbers.push_back(i);
  SmallVector<MatrixGroup> groups = groupMatrices(numbers);
  FailureOr<SmallVector<SharedAddress>> addresses = matrixAddresses(
      op, buffer, offsets, iterationDim, view.layout, *access, groups);
  if (failed(addresses))
    return failure();
  int64_t perMatrix = access->registersPerMatrix;
  Type scalar = tile::getScalarType(elementType);
  SmallVector<Value> registers = readRegisters(view.alloc);
  if (!isLoad) {
    // Those of the part, as they are to be stored.
    SmallVector<Value> part;
    for (int64_t held : view.registers)
      part.push_back(held < 0 ? zero(tile::getScalarType(fragmentType))
                              : registers[held]);
    registers = convertScalars(part, fragmentType, elementType);
  }
  for (auto [group, address] : llvm::zip_equal(groups, *addresses)) {
    int64_t count = group.size();
    auto words = VectorType::get({count}, b.getI32Type());
    auto elements = VectorType::get({count * perMatrix}, scalar);
    if (isLoad) {
      Value loaded = tile_gpu::LdmatrixOp::create(
          b, ix.loc(), words, address.base,
          static_cast<uint32_t>(address.offset), access->transposed);
      SmallVector<Value> values =
          toElements(vector::BitCastOp::create(b, ix.loc(), elements, loaded));
      for (auto [i, value] : llvm::enumerate(values))
        registers[view.registers[group[i / perMatrix] * perMatrix +
                                 i % perMatrix]] = value;
      continue;
    }
    SmallVector<Value> values;
    for (int64_t i = 0; i < count * perMatrix; ++i)
      values.push_back(
          registers[group[i / perMatrix] * perMatrix + i % perMatrix]);
    Value packed =
        vector::BitCastOp::create(b, ix.loc(), words, fromElements(values));
    tile_gpu::StmatrixOp::create(b, ix.loc(), packed, address.base,
                                 static_cast<uint32_t>(address.offset),
                                 access->transposed);
  }
  if (isLoad)
    writeRegisters(view.alloc, registers);
  return success();
}
