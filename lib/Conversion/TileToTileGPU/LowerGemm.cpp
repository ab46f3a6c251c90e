//===- LowerGemm.cpp - tile.gemm through mma.sync ---------------*- C++ -*-===//
//
// Operands come from shared memory (ldmatrix where the layout allows, else
// element loads packed into registers) or from fragments in operand layout.
// The k-steps are unrolled; which loads run ahead of which multiplications is
// left to the instruction scheduler.
//
//===----------------------------------------------------------------------===//
#include "GemmOperands.h"
#include "MatrixMoves.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/WarpPartition.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace tilemlir;
using namespace tilemlir::to_gpu;

struct KernelLowering::MmaOperandLoader {
  Operation *op;
  Value buffer;
  layout::MmaFragment fragment;
  Type elementType;
  bool roundTF32 = false;
  /// Elements per 32-bit register.
  int64_t packed = 2;
  /// Dimensions of the buffer by dimension of the fragment (leading unit
  /// dimensions of the buffer are skipped).
  SmallVector<int> iterationDim;

  /// Operand held by the program: scalars by register of `fragment`.
  SmallVector<Value> registers;
  /// Operand in shared memory, moved by ldmatrix.
  std::optional<layout::MatrixAccess> access;
  /// Addresses of the groups of each k-step.
  SmallVector<SmallVector<MatrixGroup>> groups;
  SmallVector<SharedAddress> addresses;
  SmallVector<int64_t> firstAddress;

  /// Operand in shared memory that element accesses read: k-steps whose
  /// elements are neighbours, and what was loaded for them.
  int64_t stepsTogether = 1;
  int64_t firstStep = -1;
  SmallVector<Value> loaded;

  int64_t wordsPerAtom() const { return fragment.registersPerAtom / packed; }
};

/// Leading unit dimensions are skipped; the last two are the matrix.
static SmallVector<int> matrixDimensions(int64_t rank) {
  SmallVector<int> result(rank, -1);
  result[rank - 2] = 0;
  result[rank - 1] = 1;
  return result;
}

layout::Result<layout::FragmentLayout>
tilemlir::to_gpu::asMatrix(layout::FragmentLayout layout) {
  while (layout.rank() > 2) {
    auto dropped = layout.dropUnitDim(0);
    if (!dropped)
      return dropped;
    layout = *dropped;
  }
  return layout;
}

FailureOr<std::unique_ptr<KernelLowering::MmaOperandLoader>>
KernelLowering::prepareOperand(tile::GemmOp op, Value buffer,
                               const layout::MmaFragment &fragment,
                               bool roundTF32) {
  auto type = cast<tile::BufferType>(buffer.getType());
  auto loader = std::make_unique<MmaOperandLoader>();
  loader->op = op;
  loader->buffer = buffer;
  loader->fragment = fragment;
  loader->elementType = type.getElementType();
  loader->roundTF32 = roundTF32;
  loader->packed = 32 / type.getElementBits();
  loader->iterationDim = matrixDimensions(type.getRank());

  if (type.isFragment()) {
    FailureOr<FragmentView> view = viewFragment(op, buffer);
    if (failed(view))
      return failure();
    auto matrix = asMatrix(view->layout);
    if (!matrix)
      return op.emitOpError(matrix.error());
    std::optional<std::vector<int64_t>> table =
        fragment.layout.registerPermutation(*matrix);
    if (!table)
      return op.emitOpError()
             << "operand '" << tile::getUserName(buffer)
             << "' is not laid out as mma.sync needs it: " << matrix->str()
             << " instead of " << fragment.layout.str();
    SmallVector<Value> held = readRegisters(view->alloc);
    for (int64_t r : *table)
      loader->registers.push_back(r < 0 ? zero(type.getScalarType())
                                        : held[view->registers[r]]);
    return loader;
  }

  // Shared memory, by ldmatrix if the contiguous dimension allows.
  std::optional<int> contiguous = contiguousDimension(op, buffer);
  int contiguousIteration = contiguous ? loader->iterationDim[*contiguous] : -1;
  if (contiguousIteration < 0)
    return loader;
  // Warps may have rows beyond the tile: what they load there is multiplied,
  // and the sums are padding.
  auto access =
      layout::matchMatrixAccess(fragment.layout, type.getElementBits(),
                                contiguousIteration, /*allowPadding=*/true);
  if (!access)
    return loader;
  // Rows of 16 bytes must be whole in the buffer.
  FailureOr<layout::SharedLayout> shared = sharedLayout(op, buffer);
  if (failed(shared))
    return failure();
  if ((shared->contiguousElements() * shared->elementBits()) % 128 ||
      shared->rowBytes() % 16)
    return loader;
  loader->access = *access;
  int64_t perAtom = fragment.registersPerAtom / access->registersPerMatrix;
  SmallVector<MatrixGroup> all;
  for (int64_t step = 0; step < fragment.innerAtoms; ++step) {
    SmallVector<MatrixGroup> groups;
    SmallVector<int64_t> matrices;
    for (int64_t outer = 0; outer < fragment.outerAtoms; ++outer) {
      for (int64_t i = 0; i < perAtom; ++i)
        matrices.push_back(fragment.firstRegister(outer, step) /
                               access->registersPerMatrix +
                           i);
      // Atoms of which some warps have none are addressed on their own.
      if (outer + 1 < fragment.outerAtoms && !fragment.layout.hasPadding())
        continue;
      llvm::append_range(groups, groupMatrices(matrices));
      matrices.clear();
    }
    loader->groups.push_back(groups);
    loader->firstAddress.push_back(all.size());
    all.append(loader->groups.back());
  }
  Coordinates origin(type.getRank());
  FailureOr<SmallVector<SharedAddress>> addresses = matrixAddresses(
      op, buffer, origin, loader->iterationDim, fragment.layout, *access, all);
  if (failed(addresses))
    return failure();
  loader->addresses = *addresses;
  return loader;
}

/// Packs elements into 32-bit registers.
static Value packWords(OpBuilder &b, Location loc, Value elements,
                       int64_t words) {
  return vector::BitCastOp::create(
      b, loc, VectorType::get({words}, b.getI32Type()), elements);
}

SmallVector<Value> KernelLowering::loadOperand(MmaOperandLoader &loader,
                                               int64_t step) {
  const layout::MmaFragment &fragment = loader.fragment;
  int64_t words = loader.wordsPerAtom();
  SmallVector<Value> atoms;
  auto roundWord = [&](Value word) -> Value {
    if (!loader.roundTF32)
      return word;
    Value real = arith::BitcastOp::create(b, ix.loc(), b.getF32Type(), word);
    Value rounded =
        tile_gpu::RoundTF32Op::create(b, ix.loc(), b.getF32Type(), real);
    return arith::BitcastOp::create(b, ix.loc(), b.getI32Type(), rounded);
  };
  if (loader.access) {
    SmallVector<Value> all;
    int64_t address = loader.firstAddress[step];
    for (const MatrixGroup &group : loader.groups[step]) {
      const SharedAddress &at = loader.addresses[address++];
      Value loaded = tile_gpu::LdmatrixOp::create(
          b, ix.loc(),
          VectorType::get({static_cast<int64_t>(group.size())}, b.getI32Type()),
          at.base, static_cast<uint32_t>(at.offset), loader.access->transposed);
      all.append(toElements(loaded));
    }
    for (Value &word : all)
      word = roundWord(word);
    for (int64_t outer = 0; outer < fragment.outerAtoms; ++outer)
      atoms.push_back(
          fromElements(ArrayRef<Value>(all).slice(outer * words, words)));
    return atoms;
  }

  ArrayRef<Value> elements = loader.registers;
  int64_t group = step / loader.stepsTogether * loader.stepsTogether;
  if (loader.registers.empty()) {
    // Only the registers of this step, and of those whose elements are in the
    // same vectors, are loaded.
    if (group != loader.firstStep) {
      SmallVector<LaneAccess> lanes;
      ArrayRef<Coordinate> threadPart = threadOffsets(fragment.layout);
      auto type = cast<tile::BufferType>(loader.buffer.getType());
      for (int64_t outer = 0; outer < fragment.outerAtoms; ++outer)
        for (int64_t i = 0;
             i < loader.stepsTogether * fragment.registersPerAtom; ++i) {
          int64_t number = fragment.firstRegister(outer, group) + i;
          std::vector<int64_t> constants =
              fragment.layout.registerOffset(number);
          Coordinates coordinates(type.getRank());
          for (auto [dim, from] : llvm::enumerate(loader.iterationDim))
            if (from >= 0) {
              coordinates[dim] = threadPart[from];
              coordinates[dim].constant += constants[from];
            }
          lanes.push_back(
              {coordinates, occupancyPredicate(fragment.layout, number)});
        }
      FailureOr<SmallVector<Value>> loaded =
          load(loader.op, loader.buffer, lanes, false, {});
      if (failed(loaded))
        return {};
      loader.loaded = *loaded;
      loader.firstStep = group;
    }
    elements = loader.loaded;
  }
  for (int64_t outer = 0; outer < fragment.outerAtoms; ++outer) {
    int64_t first = loader.registers.empty()
                        ? (outer * loader.stepsTogether + step - group) *
                              fragment.registersPerAtom
                        : fragment.firstRegister(outer, step);
    Value packed = packWords(
        b, ix.loc(),
        fromElements(elements.slice(first, fragment.registersPerAtom)), words);
    if (loader.roundTF32) {
      SmallVector<Value> rounded = toElements(packed);
      for (Value &word : rounded)
        word = roundWord(word);
      packed = fromElements(rounded);
    }
    atoms.push_back(packed);
  }
  return atoms;
}

std::optional<tile_gpu::MatrixType>
tilemlir::to_gpu::matrixType(Type type, bool isUnsigned) {
  if (type.isF16())
    return tile_gpu::MatrixType::F16;
  if (type.isBF16())
    return tile_gpu::MatrixType::BF16;
  if (type.isF32())
    return tile_gpu::MatrixType::TF32;
  if (isa<Float8E4M3FNType>(type))
    return tile_gpu::MatrixType::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return tile_gpu::MatrixType::F8E5M2;
  if (type.isInteger(8))
    return isUnsigned || type.isUnsignedInteger() ? tile_gpu::MatrixType::U8
                                                  : tile_gpu::MatrixType::S8;
  return std::nullopt;
}

/// Integers under `key` of a choice's arguments.
static SmallVector<int64_t> integersOf(tile::ChoiceAttr choice, StringRef key) {
  SmallVector<int64_t> result;
  if (!choice.getArguments())
    return result;
  Attribute attr = choice.getArguments().get(key);
  if (auto array = dyn_cast_or_null<ArrayAttr>(attr))
    for (Attribute element : array)
      if (auto integer = dyn_cast<IntegerAttr>(element))
        result.push_back(integer.getInt());
  if (auto dense = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    result.append(dense.asArrayRef().begin(), dense.asArrayRef().end());
  return result;
}

LogicalResult KernelLowering::lowerGemm(tile::GemmOp op) {
  if (!op.getChoice())
    return op.emitOpError(
        "has no instruction chosen; run tile-select-instructions");
  switch (op.getChoice()->getPath()) {
  case tile::Path::MmaSync:
    return lowerGemmMma(op);
  case tile::Path::Fma:
  case tile::Path::Simt:
    return lowerGemmFma(op);
  case tile::Path::WgmmaSS:
  case tile::Path::WgmmaRS:
    return op.emitOpError("uses wgmma, which is asynchronous; run "
                          "tile-schedule-mma");
  default:
    return op.emitOpError() << "cannot be lowered with "
                            << tile::stringifyPath(op.getChoice()->getPath())
                            << "; this back end has mma_sync and fma";
  }
}

LogicalResult KernelLowering::lowerGemmMma(tile::GemmOp op) {
  tile::ChoiceAttr choice = *op.getChoice();
  auto aType = cast<tile::BufferType>(op.getA().getType());
  auto bType = cast<tile::BufferType>(op.getB().getType());
  auto cType = cast<tile::BufferType>(op.getC().getType());
  std::optional<tile_gpu::MatrixType> aKind =
      matrixType(aType.getElementType(), op.getAUnsigned());
  std::optional<tile_gpu::MatrixType> bKind =
      matrixType(bType.getElementType(), op.getBUnsigned());
  if (!aKind || !bKind)
    return op.emitOpError()
           << "mma.sync does not multiply " << aType.getElementType() << " by "
           << bType.getElementType();
  SmallVector<int64_t> instruction = integersOf(choice, "instruction");
  SmallVector<int64_t> warps = integersOf(choice, "warps");
  if (warps.size() < 2 || threads % layout::kWarpSize)
    return op.emitOpError("its choice does not say how warps divide the tile");
  int64_t atomK = instruction.size() == 3
                      ? instruction[2]
                      : layout::mmaAtomK(aType.getElementBits());
  layout::WarpGrid grid;
  grid.warpsM = warps[0];
  grid.warpsN = warps[1];
  grid.replicas = warps.size() > 2
                      ? warps[2]
                      : threads / layout::kWarpSize / (warps[0] * warps[1]);
  if (grid.numWarps() * layout::kWarpSize != threads)
    return op.emitOpError()
           << "its choice divides the tile among " << grid.numWarps()
           << " warps, the kernel has " << threads << " threads";

  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  auto c = layout::mmaAccumulator(m, n, grid);
  std::optional<tile::MmaSyncChoice> chosen = tile::getMmaSyncChoice(op);
  int64_t run = chosen ? chosen->run : 0;
  auto a = layout::mmaOperandA(m, k, aType.getElementBits(), atomK, grid,
                               op.getTransposeA(), run);
  auto bb = layout::mmaOperandB(k, n, bType.getElementBits(), atomK, grid,
                                op.getTransposeB(), run);
  if (!c || !a || !bb)
    return op.emitOpError() << "mma.sync does not fit: "
                            << (!c   ? c.error()
                                : !a ? a.error()
                                     : bb.error());

  // The accumulator: registers of a fragment, or loaded from shared memory.
  Type scalar = cType.getScalarType();
  SmallVector<Value> acc(c->layout.numRegisters());
  SmallVector<Value> held;
  std::optional<FragmentView> view;
  std::vector<int64_t> table;
  SmallVector<LaneAccess> lanes;
  if (cType.isFragment()) {
    FailureOr<FragmentView> found = viewFragment(op, op.getC());
    if (failed(found))
      return failure();
    view = *found;
    auto matrix = asMatrix(view->layout);
    if (!matrix)
      return op.emitOpError(matrix.error());
    std::optional<std::vector<int64_t>> permutation =
        c->layout.registerPermutation(*matrix);
    if (!permutation)
      return op.emitOpError()
             << "accumulator '" << tile::getUserName(op.getC())
             << "' is not laid out as mma.sync needs it: " << matrix->str()
             << " instead of " << c->layout.str();
    table = *permutation;
    held = readRegisters(view->alloc);
    for (size_t r = 0; r < table.size(); ++r)
      acc[r] = table[r] < 0 ? zero(scalar) : held[view->registers[table[r]]];
  } else {
    ArrayRef<Coordinate> threadPart = threadOffsets(c->layout);
    SmallVector<int> dims = matrixDimensions(cType.getRank());
    Value primary = primaryPredicate(c->layout);
    for (int64_t r = 0; r < c->layout.numRegisters(); ++r) {
      std::vector<int64_t> constants = c->layout.registerOffset(r);
      Coordinates coordinates(cType.getRank());
      for (auto [dim, from] : llvm::enumerate(dims))
        if (from >= 0) {
          coordinates[dim] = threadPart[from];
          coordinates[dim].constant += constants[from];
        }
      lanes.push_back({coordinates, occupancyPredicate(c->layout, r)});
    }
    FailureOr<SmallVector<Value>> loaded =
        load(op, op.getC(), lanes, false, {});
    if (failed(loaded))
      return failure();
    acc = *loaded;
    for (LaneAccess &lane : lanes)
      lane.predicate = ix.both(lane.predicate, primary);
    if (primary)
      tile_gpu::WarpSyncOp::create(b, ix.loc());
  }
  if (op.getClearAccum())
    acc.assign(acc.size(), zero(scalar));

  bool tf32 = *aKind == tile_gpu::MatrixType::TF32;
  auto aLoader = prepareOperand(op, op.getA(), *a, tf32);
  auto bLoader = prepareOperand(op, op.getB(), *bb, tf32);
  if (failed(aLoader) || failed(bLoader))
    return failure();
  if (run)
    for (auto *loader : {aLoader->get(), bLoader->get()})
      loader->stepsTogether = run / (atomK / 4);

  SmallVector<Value> atoms;
  for (int64_t i = 0; i < c->outerAtoms * c->innerAtoms; ++i)
    atoms.push_back(fromElements(ArrayRef<Value>(acc).slice(4 * i, 4)));
  auto shape = b.getDenseI64ArrayAttr({16, 8, atomK});
  for (int64_t step = 0; step < a->innerAtoms; ++step) {
    SmallVector<Value> aAtoms = loadOperand(**aLoader, step);
    SmallVector<Value> bAtoms = loadOperand(**bLoader, step);
    if (aAtoms.empty() || bAtoms.empty())
      return failure();
    for (int64_t i = 0; i < c->outerAtoms; ++i)
      for (int64_t jj = 0; jj < c->innerAtoms; ++jj) {
        // Back and forth along N: the register of B is reused at the turn.
        int64_t j = i % 2 ? c->innerAtoms - 1 - jj : jj;
        Value &sum = atoms[c->firstRegister(i, j) / 4];
        sum = tile_gpu::MmaOp::create(b, ix.loc(), sum.getType(), aAtoms[i],
                                      bAtoms[j], sum, shape, *aKind, *bKind);
      }
  }
  for (auto [i, atom] : llvm::enumerate(atoms)) {
    SmallVector<Value> values = toElements(atom);
    for (int64_t r = 0; r < 4; ++r)
      acc[4 * i + r] = values[r];
  }
  if (!view)
    return store(op, op.getC(), acc, lanes, false);
  for (size_t r = 0; r < table.size(); ++r)
    if (table[r] >= 0)
      held[view->registers[table[r]]] = acc[r];
  writeRegisters(view->alloc, held);
  return success();
}
