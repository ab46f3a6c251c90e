//===- WorkReport.cpp - what a kernel does per launch -----------*- C++ -*-===//
//
// Counts floating-point operations and bytes. An entry says how much one
// execution does; how often it runs is said by the loops and conditions around
// it, as expressions of sizes, block indices and loop variables. Whoever reads
// the report evaluates them: sizes may be known at launch only.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Collective.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/KernelReport.h"
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
class WorkCounter {
public:
  explicit WorkCounter(KernelOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        expressions(kernel->getParentOfType<func::FuncOp>()) {}

  ArrayAttr run();

private:
  void visitRegion(Region &region);
  void visit(Operation *op);
  void visitLoop(scf::ForOp loop);
  void visitIf(scf::IfOp branch);
  void visitParallel(ParallelOp parallel);
  template <typename GemmLike> void addGemm(GemmLike gemm);
  void addCopy(Operation *op, Value source, ArrayRef<int64_t> sourceSizes,
               ValueRange sourceOffsets, Value dest,
               ArrayRef<int64_t> destSizes, ValueRange destOffsets);
  void addAccess(Operation *op, Value storage, ValueRange indices, bool reads,
                 bool writes);
  /// Floating-point arithmetic of the operations of `block` themselves.
  void addArithmetic(Block &block);

  /// An entry for `op` with its position, loops and conditions.
  NamedAttrList begin(Operation *op, StringRef kind);
  void finish(NamedAttrList &entry) {
    entries.push_back(entry.getDictionary(kernel.getContext()));
  }
  /// Adds an access of a tensor, or bytes that move in shared memory.
  void addTraffic(Operation *op, Value storage, int64_t bytes,
                  ValueRange offsets, bool reads, bool writes);
  ArrayAttr getDependences(ValueRange values);
  ArrayAttr toArray(ArrayRef<Attribute> values) {
    return builder.getArrayAttr(values);
  }
  IntegerAttr toInteger(int64_t value) {
    return builder.getI64IntegerAttr(value);
  }

  KernelOp kernel;
  Builder builder;
  HostExpressions expressions;
  SmallVector<Attribute> entries;
  /// Around the operation that is being visited.
  SmallVector<Attribute> loops, conditions;
  /// Executions of one visit: iterations of tile.parallel. Scalar code of a
  /// whole block counts once.
  int64_t multiplicity = 1;
  /// Some loop or condition has no expression: counted as run once.
  bool exact = true;
  int64_t numLoops = 0;
  /// Block indices, loop variables and what they are called.
  DenseMap<Value, StringAttr> names;
};
} // namespace

static int64_t getProduct(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

static int64_t getBits(Value storage) {
  return getElementBits(getStorageElementType(storage.getType()));
}

static bool isShared(Value storage) {
  auto type = dyn_cast<BufferType>(storage.getType());
  return type && type.isShared();
}

static std::string getTypeName(Value storage) {
  std::string name;
  llvm::raw_string_ostream(name) << getStorageElementType(storage.getType());
  return name;
}

NamedAttrList WorkCounter::begin(Operation *op, StringRef kind) {
  NamedAttrList entry;
  entry.set("kind", builder.getStringAttr(kind));
  entry.set("op", builder.getStringAttr(getUserOperationName(op)));
  if (FileLineColLoc loc = getFileLocation(op->getLoc())) {
    entry.set("line", toInteger(loc.getLine()));
    entry.set("column", toInteger(loc.getColumn()));
  }
  entry.set("loops", toArray(loops));
  entry.set("conditions", toArray(conditions));
  entry.set("exact", builder.getBoolAttr(exact));
  return entry;
}

/// The block indices and loop variables that `values` are computed from.
ArrayAttr WorkCounter::getDependences(ValueRange values) {
  llvm::SetVector<Value> slice(values.begin(), values.end());
  SmallVector<Attribute> found;
  for (unsigned next = 0; next < slice.size(); ++next) {
    Value value = slice[next];
    auto argument = dyn_cast<BlockArgument>(value);
    if (StringAttr name = names.lookup(value)) {
      found.push_back(name);
      // Blocks whose loops begin apart take different iterations.
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        slice.insert(loop.getLowerBound());
      continue;
    }
    if (!argument && isa<LoadOp>(value.getDefiningOp())) {
      // Variables and tables hold another value at any time.
      for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis)
        slice.insert(kernel.getBlockIndex(axis));
      for (Attribute loop : loops)
        found.push_back(cast<ArrayAttr>(loop)[0]);
      continue;
    }
    if (!argument) {
      value.getDefiningOp()->walk([&](Operation *op) {
        slice.insert(op->operand_begin(), op->operand_end());
      });
      continue;
    }
    // A carried value changes with its loop.
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      slice.insert(loop.getInductionVar());
  }
  llvm::sort(found, [](Attribute a, Attribute b) {
    return cast<StringAttr>(a).getValue() < cast<StringAttr>(b).getValue();
  });
  found.erase(llvm::unique(found), found.end());
  return toArray(found);
}

void WorkCounter::addTraffic(Operation *op, Value storage, int64_t bytes,
                             ValueRange offsets, bool reads, bool writes) {
  bool tensor = isa<MemRefType>(storage.getType());
  if (!tensor && !isShared(storage))
    return;
  NamedAttrList entry = begin(op, tensor ? "tensor" : "shared");
  entry.set("bytes", toInteger(bytes * multiplicity));
  entry.set("name",
            builder.getStringAttr(getUserName(getStorageRoot(storage))));
  if (reads)
    entry.set("reads", builder.getUnitAttr());
  if (writes)
    entry.set("writes", builder.getUnitAttr());
  if (tensor) {
    entry.set("depends", getDependences(offsets));
    SmallVector<Attribute> extents;
    Value root = getStorageRoot(storage);
    for (int64_t axis = 0, rank = getStorageRank(root.getType()); axis < rank;
         ++axis) {
      FailureOr<ExprAttr> extent = expressions.getExtent(root, axis);
      if (succeeded(extent))
        extents.push_back(*extent);
    }
    entry.set("extents", toArray(extents));
    entry.set("element_bits", toInteger(getBits(root)));
  }
  finish(entry);
}

template <typename GemmLike> void WorkCounter::addGemm(GemmLike gemm) {
  Operation *op = gemm;
  Value a = gemm.getA(), b = gemm.getB(), c = gemm.getC();
  int64_t m = gemm.getM(), n = gemm.getN(), k = gemm.getK();
  NamedAttrList entry = begin(op, "product");
  entry.set("flops", toInteger(2 * m * n * k * multiplicity));
  entry.set("shape", builder.getI64ArrayAttr({m, n, k}));
  entry.set("types", builder.getStrArrayAttr(
                         {getTypeName(a), getTypeName(b), getTypeName(c)}));
  auto choice = op->getAttrOfType<ChoiceAttr>("choice");
  entry.set("path", builder.getStringAttr(
                        choice ? stringifyPath(choice.getPath()) : ""));
  finish(entry);

  // Bytes that the instructions read: an operand once for every group of
  // instructions that share nothing with the others.
  int64_t readsOfA = 1, readsOfB = 1;
  auto argument = [&](StringRef name, unsigned index) -> int64_t {
    auto arguments = choice ? choice.getArguments() : DictionaryAttr();
    auto list = arguments ? arguments.getAs<ArrayAttr>(name) : ArrayAttr();
    return list && index < list.size() ? cast<IntegerAttr>(list[index]).getInt()
                                       : 1;
  };
  Path path = choice ? choice.getPath() : Path::Simt;
  if (path == Path::WgmmaSS || path == Path::WgmmaRS) {
    readsOfA = std::max<int64_t>(1, n / argument("instruction", 1));
    readsOfB = std::max<int64_t>(1, m / argument("instruction", 0));
  } else if (path == Path::MmaSync) {
    readsOfA = argument("warps", 1);
    readsOfB = argument("warps", 0);
  }
  addTraffic(op, a, m * k * getBits(a) / 8 * readsOfA, {}, true, false);
  addTraffic(op, b, n * k * getBits(b) / 8 * readsOfB, {}, true, false);
}

void WorkCounter::addCopy(Operation *op, Value source,
                          ArrayRef<int64_t> sourceSizes,
                          ValueRange sourceOffsets, Value dest,
                          ArrayRef<int64_t> destSizes, ValueRange destOffsets) {
  // Each thread copies for itself where a local buffer takes part.
  int64_t outer = multiplicity;
  if (!isCollective(op))
    multiplicity *= getCollectiveThreads(op);
  addTraffic(op, source, getProduct(sourceSizes) * getBits(source) / 8,
             sourceOffsets, true, false);
  addTraffic(op, dest, getProduct(destSizes) * getBits(dest) / 8, destOffsets,
             false, true);
  multiplicity = outer;
}

/// Operations of one floating-point result that occupy the units for
/// transcendental functions; a quotient takes a reciprocal.
static bool isSpecialFunction(Operation *op) {
  return isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
             math::Log10Op, math::Log1pOp, math::SinOp, math::CosOp,
             math::TanhOp, math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op);
}

static bool isFloatArithmetic(Operation *op) {
  return isa<math::FmaOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::NegFOp>(op);
}

void WorkCounter::addArithmetic(Block &block) {
  int64_t flops = 0, special = 0;
  Operation *first = nullptr;
  for (Operation &op : block) {
    if (!isSpecialFunction(&op) && !isFloatArithmetic(&op))
      continue;
    if (!first)
      first = &op;
    if (isSpecialFunction(&op))
      special += 1;
    else
      flops += isa<math::FmaOp>(op) ? 2 : 1;
  }
  if (!first)
    return;
  NamedAttrList entry = begin(first, "arithmetic");
  entry.set("flops", toInteger(flops * multiplicity));
  entry.set("special", toInteger(special * multiplicity));
  finish(entry);
}

void WorkCounter::visitLoop(scf::ForOp loop) {
  ExprAttr lower = expressions.convertOrNull(loop.getLowerBound());
  ExprAttr upper = expressions.convertOrNull(loop.getUpperBound());
  ExprAttr step = expressions.convertOrNull(loop.getStep());
  bool known = lower && upper && step, outer = exact;
  if (known) {
    auto name = builder.getStringAttr("i" + Twine(numLoops++));
    names[loop.getInductionVar()] = name;
    expressions.bind(loop.getInductionVar(),
                     ExprAttr::getSymbol(builder.getContext(), name));
    loops.push_back(toArray({name, lower, upper, step}));
  }
  exact &= known;
  visitRegion(loop.getRegion());
  if (known)
    loops.pop_back();
  exact = outer;
}

/// Of a part that starts the loads of a later iteration of a pipeline: whether
/// it stands in the loop, and not in front of it.
static bool isIssueInLoop(scf::IfOp branch) {
  auto loop = dyn_cast<scf::ForOp>(branch->getParentOp());
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  return loop && compare && compare.getLhs() == loop.getInductionVar();
}

void WorkCounter::visitIf(scf::IfOp branch) {
  if (branch->hasAttr(kTurn)) {
    // Of two groups that take turns, the first one stands for both.
    auto roles = branch->getParentOfType<WarpSpecializeOp>();
    if (&roles.getRegions()[1] == branch->getParentOp()->getParentRegion())
      visitRegion(branch.getThenRegion());
    return;
  }
  if (getPipeline(branch, PipelineRole::Issue)) {
    // The parts in front of the loop and those inside together do the loads of
    // every iteration once.
    if (isIssueInLoop(branch))
      visitRegion(branch.getThenRegion());
    return;
  }
  ExprAttr condition = expressions.convertCondition(branch.getCondition());
  bool outer = exact;
  if (!condition) {
    exact = false;
    visitRegion(branch.getThenRegion());
    visitRegion(branch.getElseRegion());
    exact = outer;
    return;
  }
  conditions.push_back(condition);
  visitRegion(branch.getThenRegion());
  conditions.back() = ExprAttr::getBinary(
      ExprKind::Sub, ExprAttr::getConstant(builder.getContext(), 1), condition);
  visitRegion(branch.getElseRegion());
  conditions.pop_back();
}

void WorkCounter::visitParallel(ParallelOp parallel) {
  int64_t outer = multiplicity;
  bool outerExact = exact;
  for (int64_t extent : parallel.getStaticExtents()) {
    exact &= !ShapedType::isDynamic(extent);
    multiplicity *= ShapedType::isDynamic(extent) ? 1 : extent;
  }
  visitRegion(parallel.getBody());
  multiplicity = outer;
  exact = outerExact;
}

void WorkCounter::addAccess(Operation *op, Value storage, ValueRange indices,
                            bool reads, bool writes) {
  addTraffic(op, storage, std::max<int64_t>(1, getBits(storage) / 8), indices,
             reads, writes);
}

void WorkCounter::visitRegion(Region &region) {
  for (Block &block : region) {
    addArithmetic(block);
    for (Operation &op : block)
      visit(&op);
  }
}

void WorkCounter::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) { visitLoop(loop); })
      .Case([&](scf::IfOp branch) { visitIf(branch); })
      .Case([&](ParallelOp parallel) { visitParallel(parallel); })
      .Case<GemmOp, GemmAsyncOp>([&](auto gemm) { addGemm(gemm); })
      .Case<CopyOp, CopyAsyncOp>([&](auto copy) {
        addCopy(copy, copy.getSource(), copy.getSourceSizes(),
                copy.getSourceOffsets(), copy.getDest(), copy.getDestSizes(),
                copy.getDestOffsets());
      })
      .Case([&](FillOp fill) {
        if (auto type = dyn_cast<BufferType>(fill.getDest().getType()))
          addTraffic(op, fill.getDest(),
                     getProduct(type.getShape()) * getBits(fill.getDest()) / 8,
                     {}, false, true);
      })
      .Case([&](ReduceOp reduce) {
        auto type = cast<BufferType>(reduce.getSource().getType());
        NamedAttrList entry = begin(op, "arithmetic");
        entry.set("flops", toInteger(getProduct(type.getShape())));
        entry.set("special", toInteger(0));
        finish(entry);
      })
      .Case([&](LoadOp load) {
        addAccess(op, load.getSource(), load.getIndices(), true, false);
      })
      .Case([&](StoreOp store) {
        addAccess(op, store.getDest(), store.getIndices(), false, true);
      })
      .Case([&](AtomicOp atomic) {
        addAccess(op, atomic.getDest(), atomic.getIndices(), true, true);
      })
      .Default([&](Operation *other) {
        // Loops of unknown length run at least once for the report.
        bool outer = exact;
        exact &= !isLoop(other);
        for (Region &region : other->getRegions())
          visitRegion(region);
        exact = outer;
      });
}

ArrayAttr WorkCounter::run() {
  static constexpr StringLiteral axes[] = {"block.x", "block.y", "block.z"};
  for (auto [axis, name] : llvm::enumerate(axes)) {
    if (axis >= kernel.getGrid().size())
      break;
    Value index = kernel.getBlockIndex(axis);
    names[index] = builder.getStringAttr(name);
    expressions.bind(index, ExprAttr::getSymbol(builder.getContext(), name));
  }
  visitRegion(kernel.getBody());
  return toArray(entries);
}

StringRef mlir::tile::getUserOperationName(Operation *op) {
  StringRef name = op->getName().stripDialect();
  name.consume_back("_async");
  return name;
}

ArrayAttr mlir::tile::describeWork(KernelOp kernel) {
  return WorkCounter(kernel).run();
}

ArrayAttr mlir::tile::describeGrid(KernelOp kernel) {
  HostExpressions expressions(kernel->getParentOfType<func::FuncOp>());
  Builder builder(kernel.getContext());
  SmallVector<Attribute> extents;
  for (Value extent : kernel.getGrid()) {
    ExprAttr expr = expressions.convertOrNull(extent);
    extents.push_back(expr ? Attribute(expr)
                           : Attribute(builder.getStringAttr("?")));
  }
  return builder.getArrayAttr(extents);
}
