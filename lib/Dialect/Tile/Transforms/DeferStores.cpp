//===- DeferStores.cpp - tile-defer-stores ----------------------*- C++ -*-===//
//
// The result of a tile, converted to the type of the tensor, waits in registers
// and leaves in chunks, one behind each of the first products of the next tile.
// These are cut off the loop of products, so that the chunks have constant
// registers and the loop itself stays as it was.
//
// No flag says whether there is a tile to be stored: before the first one, its
// place is just past the end of the tensor, where TMA writes nothing.
//
//===----------------------------------------------------------------------===//
#include "AsyncProxy.h"
#include "IntegerAnalysis.h"
#include "LayoutLegalizer.h"
#include "MatrixProducts.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDEFERSTORES
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Registers for addresses, counters and what a chunk needs on its way.
static constexpr int64_t kOtherRegisters = 40;
/// Each chunk is a copy of the body of the loop of products.
static constexpr int64_t kMaxChunks = 8;
/// Places past the end of a tensor are multiples of this: boxes start at
/// multiples of 16 bytes.
static constexpr int64_t kPlaceGranularity = 256;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether `value` is the same in all iterations of `loop`.
static bool isInvariant(Value value, scf::ForOp loop) {
  Operation *parent = value.getParentRegion()->getParentOp();
  if (!loop->isAncestor(parent))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isInvariant(operand, loop);
         });
}

/// Computes an invariant value in front of `loop`.
static void hoist(Value value, scf::ForOp loop) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return;
  for (Value operand : op->getOperands())
    hoist(operand, loop);
  op->moveBefore(loop);
}

/// `value` as a sum of a value and a constant.
static std::pair<Value, int64_t> splitConstant(Value value) {
  int64_t distance = 0;
  while (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> constant = getConstantIntValue(sum.getRhs());
    if (!constant)
      break;
    distance += *constant;
    value = sum.getLhs();
  }
  return {value, distance};
}

static Value addConstant(OpBuilder &builder, Location loc, Value value,
                         int64_t distance) {
  if (distance == 0)
    return value;
  return builder.createOrFold<arith::AddIOp>(loc, value,
                                             makeIndex(builder, loc, distance));
}

//===----------------------------------------------------------------------===//
// One iteration as straight code
//===----------------------------------------------------------------------===//

/// Takes the condition of `accumulate` away where it is known.
static void simplifyProduct(GemmAsyncOp product) {
  if (!product.getAccumulate())
    return;
  std::optional<int64_t> accumulates =
      getConstantIntValue(product.getAccumulate());
  if (!accumulates)
    return;
  product.getAccumulateMutable().clear();
  if (*accumulates == 0)
    product.setClearAccum(true);
}

/// A product that certainly runs, and runs first, needs no zeros to add to.
static void startFromZero(GemmAsyncOp product) {
  if (product.getClearAccum() || product.getAccumulate() ||
      product.getC() != getStorageRoot(product.getC()))
    return;
  if (FillOp fill = findZeroFill(product.getC(), product)) {
    fill.erase();
    product.setClearAccum(true);
  }
}

/// Clones the operations of `block`, with constants folded and branches on
/// constants taken.
static void cloneFolded(OpBuilder &builder, Block &block, IRMapping &mapping) {
  for (Operation &op : block.without_terminator()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    std::optional<int64_t> condition;
    if (branch && branch.getNumResults() == 0)
      condition =
          getConstantIntValue(mapping.lookupOrDefault(branch.getCondition()));
    if (condition) {
      Block *taken = *condition ? branch.thenBlock() : branch.elseBlock();
      if (taken)
        cloneFolded(builder, *taken, mapping);
      continue;
    }
    Operation *copy = builder.clone(op, mapping);
    if (auto product = dyn_cast<GemmAsyncOp>(copy))
      simplifyProduct(product);
    SmallVector<Value> folded;
    if (copy->getNumRegions() != 0 || !isMemoryEffectFree(copy) ||
        failed(builder.tryFold(copy, folded)) || folded.empty())
      continue;
    mapping.map(op.getResults(), folded);
    copy->erase();
  }
}

/// Comparisons of the counter of `loop`, which begins above `first`, with it.
static void foldComparisons(scf::ForOp loop, int64_t first) {
  SmallVector<arith::CmpIOp> comparisons;
  for (Operation *user : loop.getInductionVar().getUsers())
    if (auto compare = dyn_cast<arith::CmpIOp>(user))
      if (compare.getLhs() == loop.getInductionVar() &&
          getConstantIntValue(compare.getRhs()) == first)
        comparisons.push_back(compare);
  OpBuilder builder(loop.getContext());
  for (arith::CmpIOp compare : comparisons) {
    using Predicate = arith::CmpIPredicate;
    bool result;
    switch (compare.getPredicate()) {
    case Predicate::sgt:
    case Predicate::sge:
    case Predicate::ne:
      result = true;
      break;
    case Predicate::slt:
    case Predicate::sle:
    case Predicate::eq:
      result = false;
      break;
    default:
      continue;
    }
    builder.setInsertionPoint(compare);
    Value known = arith::ConstantOp::create(builder, compare.getLoc(),
                                            builder.getBoolAttr(result));
    SmallVector<Operation *> users(compare->getUsers());
    compare.getResult().replaceAllUsesWith(known);
    compare.erase();
    for (Operation *user : users) {
      if (auto product = dyn_cast<GemmAsyncOp>(user))
        simplifyProduct(product);
      auto branch = dyn_cast<scf::IfOp>(user);
      if (!branch || branch.getNumResults() != 0)
        continue;
      Block *taken = result ? branch.thenBlock() : branch.elseBlock();
      if (taken)
        for (Operation &inner :
             llvm::make_early_inc_range(taken->without_terminator()))
          inner.moveBefore(branch);
      branch.erase();
    }
  }
}

//===----------------------------------------------------------------------===//
// One loop over tiles
//===----------------------------------------------------------------------===//

namespace {
/// A part of the result on its way to the tensor.
struct Chunk {
  CopyOp writer;
  CopyAsyncOp store;
};

/// A coordinate of a chunk: a value that is carried to the next tile, or the
/// same for all tiles, and a constant.
struct Place {
  Value base;
  int64_t carried = -1, distance = 0;
};

class Deferral {
public:
  Deferral(scf::ForOp tiles, scf::ForOp products, IntegerAnalysis &integers)
      : tiles(tiles), products(products), integers(integers),
        loc(products.getLoc()) {}

  /// Why the stores stay where they are; empty if they can be deferred.
  std::string analyse();
  /// Whether there are enough products for all chunks in any case.
  bool isCertain() const { return certain; }
  void run();
  /// Appends to the reasons of the stores.
  void explain(const Twine &text);

  SmallVector<Chunk> chunks;
  scf::ForOp tiles, products;
  int64_t first = 0;

private:
  std::string findChunks();
  std::string checkProducts();
  std::string checkRegisters();
  std::string findPlaces();
  void moveValuesBehind(Operation *lastEarly, Operation *product);
  void store(OpBuilder &builder, Chunk chunk, ArrayRef<Place> place);
  Value past(OpBuilder &builder, Value tensor, int64_t dim);

  IntegerAnalysis &integers;
  Location loc;
  bool certain = false;
  AllocOp source, result, variables;
  /// By chunk and dimension of the tensor.
  SmallVector<SmallVector<Place>> places;
  /// Carried values, and a dimension of the tensor that each is a coordinate
  /// of.
  SmallVector<std::pair<Value, int64_t>> carried;
};
} // namespace

std::string Deferral::findChunks() {
  SmallVector<CopyAsyncOp> stores;
  tiles.getBody()->walk([&](CopyAsyncOp copy) {
    if (isBulkStore(copy))
      stores.push_back(copy);
  });
  if (stores.empty())
    return "";
  for (CopyAsyncOp store : stores) {
    if (store->getBlock() != tiles.getBody())
      return "it is under a condition or in a loop of its own";
    if (!products->isBeforeInBlock(store))
      return "it comes before the products";
    if (!isPerWarp(store))
      return "one thread stores for all warps";
    CopyOp writer;
    for (Operation *op = store->getPrevNode(); op != products && !writer;
         op = op->getPrevNode()) {
      auto copy = dyn_cast<CopyOp>(op);
      if (copy && copy.getDest() == store.getSource())
        writer = copy;
      else if (isBulkStore(op) &&
               cast<CopyAsyncOp>(op).getSource() == store.getSource())
        break;
    }
    if (!writer)
      return "its staging buffer is not filled just before it";
    chunks.push_back({writer, store});
  }
  for (Chunk &chunk : chunks) {
    auto alloc = chunk.writer.getSource().getDefiningOp<AllocOp>();
    if (!alloc || (source && source != alloc))
      return "several results, or views of one, are stored";
    source = alloc;
    for (Value offset : chunk.writer.getSourceOffsets())
      if (!getConstantIntValue(offset))
        return "its part of the result is not constant";
    if (chunk.store.getDest() != chunks.front().store.getDest())
      return "several tensors are stored";
    if (getStorageElementType(chunk.writer.getDest().getType()) !=
        getStorageElementType(chunks.front().writer.getDest().getType()))
      return "its chunks have different types";
  }
  if (static_cast<int64_t>(chunks.size()) > kMaxChunks)
    return llvm::formatv("it has {0} chunks, more than {1} are not worth their "
                         "code",
                         chunks.size(), kMaxChunks);
  // What follows the result must not notice that it is not stored yet.
  for (Operation *op = chunks.front().writer; op; op = op->getNextNode()) {
    bool isChunk = llvm::any_of(chunks, [&](const Chunk &chunk) {
      return op == chunk.writer || op == chunk.store;
    });
    auto isLocal = [](Value storage) {
      auto type = dyn_cast<BufferType>(storage.getType());
      return type && type.isLocal();
    };
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    auto arrive = dyn_cast<BarrierArriveOp>(op);
    if (isChunk || isMemoryEffectFree(op) ||
        op->hasTrait<OpTrait::IsTerminator>() ||
        isa<SubviewOp, ReshapeOp, BitcastOp>(op) ||
        (load && isLocal(load.getSource())) ||
        (store && isLocal(store.getDest())) ||
        (arrive && arrive.getScope() == ArrivalScope::Warp))
      continue;
    return describeForUser(op) + " comes after it in the loop over tiles";
  }
  return "";
}

std::string Deferral::checkProducts() {
  std::optional<int64_t> lower = getConstantIntValue(products.getLowerBound());
  if (!lower || getConstantIntValue(products.getStep()) != 1 ||
      products.getNumRegionIterArgs() != 0)
    return "the loop of products does not count by one from a constant";
  first = *lower;
  bool starts = false, inFlight = false;
  for (Operation &op : *products.getBody()) {
    auto wait = dyn_cast<MmaWaitOp>(op);
    starts |= isa<GemmAsyncOp>(op);
    inFlight |= starts && wait && wait.getPending() > 0;
  }
  if (!inFlight)
    return "the products of the next tile do not stay in flight";
  int64_t count = chunks.size();
  IntegerRange upper = integers.getRange(products.getUpperBound());
  certain = upper.lower >= first + count;
  if (upper.upper < first + count)
    return llvm::formatv("a tile has fewer products than the {0} chunks of the "
                         "result",
                         count);
  if (!certain && !isInvariant(products.getUpperBound(), tiles))
    return "the number of products may differ from tile to tile";
  return "";
}

static int64_t countRegisters(BufferType type, int64_t bits) {
  int64_t elements = type.getFragmentLayout().getLayout().numRegisters();
  return (elements * bits + 31) / 32;
}

/// What is live during the products: fragments that they use or that keep their
/// contents meanwhile, and the result of the tile before.
std::string Deferral::checkRegisters() {
  BufferType type = source.getType();
  if (!type.getFragmentLayout())
    return getUserName(source) + " has no layout";
  int64_t bits = getElementBits(
      getStorageElementType(chunks.front().writer.getDest().getType()));
  int64_t needed = countRegisters(type, bits) + kOtherRegisters;
  Block *body = tiles.getBody();
  KernelOp kernel = getKernel(tiles);
  kernel.walk([&](AllocOp alloc) {
    if (!alloc.getType().isFragment() || !alloc.getType().getFragmentLayout())
      return;
    bool usedInRole = false, onlyBehind = true;
    for (Operation *user : getHandleUsers(alloc)) {
      usedInRole |= getRole(user) == getRole(tiles);
      Operation *place = body->findAncestorOpInBlock(*user);
      onlyBehind &= place && products->isBeforeInBlock(place);
    }
    if (usedInRole && !onlyBehind)
      needed +=
          countRegisters(alloc.getType(), alloc.getType().getElementBits());
  });
  RoleAttr role = getRole(tiles);
  int64_t limit =
      role && role.getRegisters()
          ? role.getRegisters()
          : std::min(::tilemlir::layout::kMaxThreadRegisters,
                     countRegistersAtLaunch(kernel, kernel.getLaunchThreads()));
  if (needed > limit)
    return llvm::formatv("the result and what the products need take about {0} "
                         "registers, a thread has {1}",
                         needed, limit);
  return "";
}

std::string Deferral::findPlaces() {
  for (Chunk &chunk : chunks) {
    bool leaves = false;
    SmallVector<Place> place;
    for (auto [dim, offset] : llvm::enumerate(chunk.store.getDestOffsets())) {
      auto [base, distance] = splitConstant(offset);
      if (isInvariant(base, tiles)) {
        place.push_back({base, -1, distance});
        continue;
      }
      auto *found = llvm::find_if(carried, [&, base = base](auto &entry) {
        return entry.first == base;
      });
      int64_t index = found - carried.begin();
      if (found == carried.end())
        carried.emplace_back(base, dim);
      leaves |=
          carried[index].second == static_cast<int64_t>(dim) && distance >= 0;
      place.push_back({Value(), index, distance});
    }
    // Some coordinate must be able to keep it out of the tensor.
    if (!leaves)
      return "its place does not change from tile to tile";
    places.push_back(std::move(place));
  }
  return "";
}

std::string Deferral::analyse() {
  if (std::string why = findChunks(); !why.empty() || chunks.empty())
    return why;
  for (auto check : {&Deferral::checkProducts, &Deferral::checkRegisters,
                     &Deferral::findPlaces})
    if (std::string why = (this->*check)(); !why.empty())
      return why;
  return "";
}

void Deferral::explain(const Twine &text) {
  tiles.getBody()->walk([&](CopyAsyncOp store) {
    ChoiceAttr choice = store.getChoiceAttr();
    if (isBulkStore(store) && choice)
      store.setChoiceAttr(ChoiceAttr::get(
          store.getContext(), choice.getPath(),
          (choice.getReason() + "; " + text).str(), choice.getArguments()));
  });
}

/// What only the code behind the products uses is computed behind the first
/// one, while the tensor cores work, and held there. `lastEarly` is the last
/// operation in front of the products.
void Deferral::moveValuesBehind(Operation *lastEarly, Operation *product) {
  Block *body = tiles.getBody();
  auto isLate = [&](Operation *op) {
    if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
        !isMemoryEffectFree(op) || op->hasTrait<OpTrait::ConstantLike>())
      return false;
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      Operation *place = body->findAncestorOpInBlock(*user);
      return place && product->isBeforeInBlock(place);
    });
  };
  // Users come after what they use: from the end, each is moved in front of its
  // users.
  llvm::SetVector<Operation *> late;
  for (Operation *op = lastEarly; op;) {
    Operation *previous = op->getPrevNode();
    if (isLate(op)) {
      op->moveAfter(product);
      late.insert(op);
    }
    op = previous;
  }
  if (late.empty())
    return;
  OpBuilder builder(tiles.getContext());
  builder.setInsertionPointAfter(late.front());
  for (Operation *op : llvm::reverse(late))
    for (Value value : op->getResults()) {
      auto isOutside = [&](OpOperand &use) {
        return !late.contains(use.getOwner());
      };
      if (!value.getType().isSignlessInteger() ||
          llvm::none_of(value.getUses(), isOutside))
        continue;
      Value held = PinOp::create(builder, op->getLoc(), value.getType(), value);
      value.replaceUsesWithIf(held, [&](OpOperand &use) {
        return isOutside(use) && use.getOwner() != held.getDefiningOp();
      });
      for (auto &[base, dim] : carried)
        if (base == value)
          base = held;
    }
}

/// The first place past the end of `tensor` in dimension `dim`.
Value Deferral::past(OpBuilder &builder, Value tensor, int64_t dim) {
  auto type = cast<MemRefType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return makeIndex(builder, loc,
                     llvm::alignTo(type.getDimSize(dim), kPlaceGranularity));
  Value position = arith::ConstantIndexOp::create(builder, loc, dim);
  Value extent = memref::DimOp::create(builder, loc, tensor, position);
  extent =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), extent);
  Value granularity = makeIndex(builder, loc, kPlaceGranularity);
  Value rounded = arith::AddIOp::create(
      builder, loc, extent, makeIndex(builder, loc, kPlaceGranularity - 1));
  rounded = arith::DivUIOp::create(builder, loc, rounded, granularity);
  return arith::MulIOp::create(builder, loc, rounded, granularity);
}

/// The copies of a chunk of the result that waits in registers.
void Deferral::store(OpBuilder &builder, Chunk chunk, ArrayRef<Place> place) {
  IRMapping mapping;
  mapping.map(chunk.writer.getSource(), result.getResult());
  auto writer = cast<CopyOp>(builder.clone(*chunk.writer, mapping));
  // Constants at the top of the kernel dominate every place.
  auto constants = [&](OperandRange values) {
    SmallVector<Value> known;
    for (Value value : values)
      known.push_back(makeIndex(builder, loc, *getConstantIntValue(value)));
    return known;
  };
  writer.getSourceOffsetsMutable().assign(
      constants(chunk.writer.getSourceOffsets()));
  writer.getDestOffsetsMutable().assign(
      constants(chunk.writer.getDestOffsets()));

  SmallVector<Value> offsets;
  for (const Place &coordinate : place) {
    Value base = coordinate.base;
    if (coordinate.carried >= 0)
      base = LoadOp::create(builder, loc, builder.getI32Type(),
                            variables.getResult(),
                            makeIndex(builder, loc, coordinate.carried),
                            TypedAttr(), BoundsAttr());
    offsets.push_back(addConstant(builder, loc, base, coordinate.distance));
  }
  auto store = cast<CopyAsyncOp>(builder.clone(*chunk.store));
  store.getSourceOffsetsMutable().assign(
      constants(chunk.store.getSourceOffsets()));
  store.getDestOffsetsMutable().assign(offsets);
  // Before the first tile it is outside.
  store.setBoundsAttr(
      BoundsAttr::get(builder.getContext(), Bounds::Predicated));
}

void Deferral::run() {
  KernelOp kernel = getKernel(tiles);
  MLIRContext *context = kernel.getContext();
  Type element =
      getStorageElementType(chunks.front().writer.getDest().getType());
  BufferType type = source.getType();
  result = createAllocation(kernel,
                            BufferType::get(context, type.getShape(), element,
                                            MemorySpace::Fragment,
                                            type.getFragmentLayout()),
                            source, "deferred");
  OpBuilder builder = OpBuilder::atBlockBegin(kernel.getBodyBlock());
  variables =
      AllocOp::create(builder, kernel.getLoc(),
                      BufferType::get({static_cast<int64_t>(carried.size())},
                                      builder.getI32Type(), MemorySpace::Local),
                      builder.getStringAttr("deferred"));
  for (SmallVector<Place> &place : places)
    for (Place &coordinate : place)
      if (coordinate.base)
        hoist(coordinate.base, tiles);

  // Nothing to be stored yet.
  builder.setInsertionPoint(tiles);
  Value none = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(result.getType().getScalarType()));
  FillOp::create(builder, loc, result.getResult(), none);
  Value tensor = chunks.front().store.getDest();
  auto remember = [&](int64_t index, Value value) {
    StoreOp::create(builder, loc, value, variables.getResult(),
                    makeIndex(builder, loc, index), BoundsAttr());
  };
  for (auto [index, entry] : llvm::enumerate(carried))
    remember(index, past(builder, tensor, entry.second));

  // The first products, and a chunk of the tile before behind each.
  builder.setInsertionPoint(products);
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    IRMapping mapping;
    mapping.map(products.getInductionVar(),
                makeIndex(builder, loc, first + number));
    Operation *before = products->getPrevNode();
    cloneFolded(builder, *products.getBody(), mapping);
    store(builder, chunk, places[number]);
    if (number != 0)
      continue;
    Operation *begin =
        before ? before->getNextNode() : &tiles.getBody()->front();
    GemmAsyncOp last;
    for (Operation *op = begin; op != products; op = op->getNextNode())
      if (auto product = dyn_cast<GemmAsyncOp>(op)) {
        startFromZero(product);
        last = product;
      }
    moveValuesBehind(begin->getPrevNode(), last);
  }
  products.getLowerBoundMutable().assign(
      makeIndex(builder, loc, first + chunks.size()));
  foldComparisons(products, first);

  // The result of this tile waits for the next one.
  builder.setInsertionPoint(chunks.front().writer);
  SmallVector<Value> zeros(type.getRank(), makeIndex(builder, loc, 0));
  CopyOp::create(
      builder, loc, source.getResult(), zeros, type.getShape(),
      result.getResult(), zeros, type.getShape(), TypedAttr(), BoundsAttr(),
      ChoiceAttr::get(context, Path::Registers,
                      "the result is kept until the next tile", {}),
      /*disable_tma=*/false, EvictionPolicyAttr(), PathAttr(), IntegerAttr());
  PinFragmentOp::create(builder, loc, result.getResult());
  // Coordinates may be computed behind the first of the stores.
  builder.setInsertionPoint(tiles.getBody()->getTerminator());
  for (auto [index, entry] : llvm::enumerate(carried))
    remember(index, entry.first);

  // The last tile. Stores of the one before it may be to the same place.
  builder.setInsertionPointAfter(tiles);
  auto wait = BulkWaitOp::create(builder, loc, /*pending=*/0, /*read=*/false);
  wait->setAttr(kPerWarp, builder.getUnitAttr());
  for (auto [chunk, place] : llvm::zip_equal(chunks, places))
    store(builder, chunk, place);
  for (Chunk &chunk : chunks) {
    chunk.store.erase();
    chunk.writer.erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static std::string describe(int64_t chunks) {
  return llvm::formatv("deferred: behind the first {0} products of the next "
                       "tile",
                       chunks);
}

/// Two forms, one of which has enough products for all chunks.
static void deferIfLongEnough(Deferral &original, IntegerAnalysis &integers) {
  scf::ForOp tiles = original.tiles, products = original.products;
  int64_t chunks = original.chunks.size();
  hoist(products.getUpperBound(), tiles);
  OpBuilder builder(tiles);
  Location loc = products.getLoc();
  Value enough = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, products.getUpperBound(),
      makeIndex(builder, loc, original.first + chunks));
  auto branch =
      scf::IfOp::create(builder, loc, enough, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto longTiles = cast<scf::ForOp>(builder.clone(*tiles));
  scf::ForOp longProducts;
  for (auto [from, to] : llvm::zip_equal(tiles.getBody()->getOperations(),
                                         longTiles.getBody()->getOperations()))
    if (&from == products)
      longProducts = cast<scf::ForOp>(to);
  tiles->moveBefore(branch.elseBlock()->getTerminator());
  original.explain(llvm::formatv("not deferred: used where a tile has fewer "
                                 "than {0} products",
                                 chunks)
                       .str());

  Deferral deferral(longTiles, longProducts, integers);
  if (!deferral.analyse().empty())
    llvm_unreachable("a copy of a loop differs from it");
  deferral.explain(describe(chunks));
  deferral.run();
}

namespace {
struct DeferStores : tile::impl::TileDeferStoresBase<DeferStores> {
  void defer(KernelOp kernel) {
    IntegerAnalysis integers(kernel);
    SmallVector<std::pair<scf::ForOp, scf::ForOp>> loops;
    kernel.walk([&](scf::ForOp products) {
      auto tiles = dyn_cast<scf::ForOp>(products->getParentOp());
      if (tiles && getPipeline(products, PipelineRole::Ring))
        loops.emplace_back(tiles, products);
    });
    for (auto [tiles, products] : loops) {
      Deferral deferral(tiles, products, integers);
      std::string why = deferral.analyse();
      if (deferral.chunks.empty() && why.empty())
        continue;
      int64_t rings = llvm::count_if(loops, [&, tiles = tiles](auto &pair) {
        return pair.first == tiles;
      });
      if (why.empty() && rings > 1)
        why = "a tile has several loops of products";
      if (why.empty() && tiles->hasAttr(kPingPong))
        why = "the other warp group multiplies meanwhile";
      if (why.empty() && tiles.getNumResults() != 0)
        why = "the loop over tiles carries values";
      if (!why.empty()) {
        deferral.explain("not deferred: " + why);
        continue;
      }
      if (!deferral.isCertain()) {
        deferIfLongEnough(deferral, integers);
        continue;
      }
      deferral.explain(describe(deferral.chunks.size()));
      deferral.run();
    }
  }

  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    bool valid = true;
    getOperation()->walk([&](Operation *op) {
      if (auto kernel = dyn_cast<KernelOp>(op))
        kernels.push_back(kernel);
      FragmentLayoutAttr layout = getWarpLayout(op);
      if (!layout || !isBulkStore(op))
        return;
      auto plan = planWarpStore(op, layout);
      if (plan)
        return;
      op->emitError("copy_async: warps cannot store their parts under "
                    "tile.warp_layout: ")
          << plan.error();
      valid = false;
    });
    if (!valid)
      return signalPassFailure();
    for (KernelOp kernel : kernels)
      if (!OptionsAttr::of(kernel).getFlag("disable_defer_stores", false) &&
          !kernel->hasAttr("tile.explicit"))
        defer(kernel);
  }
};
} // namespace
