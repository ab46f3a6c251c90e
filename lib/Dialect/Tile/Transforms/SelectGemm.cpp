//===- SelectGemm.cpp - Choosing the instruction of a gemm ------*- C++ -*-===//
//
// mma.sync and multiply-adds; SelectWgmma.cpp has the instructions of warp
// groups.
//
// Sources of the instruction table: PTX ISA, "Warp-level matrix instructions:
// mma" (types, shapes, and the targets and PTX versions they need).
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Layout/Conversion.h"
#include "tilemlir/Layout/WgmmaFragments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

std::string mlir::tile::getTypeName(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

namespace {
/// What mma.sync needs for a pair of operand types and an accumulator.
struct MmaRule {
  /// Empty when there is an instruction.
  std::string refusal;
  int64_t minCapability = 80;
  /// PTX version of the half-depth form; 0 if there is none.
  int64_t halfDepthPTX = 70;
};
} // namespace

static bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

static MmaRule getMmaRule(GemmOp op) {
  Type a = op.getA().getType().getElementType();
  Type b = op.getB().getType().getElementType();
  Type c = op.getC().getType().getElementType();
  MmaRule rule;
  auto refuse = [&](const Twine &allowed) {
    rule.refusal =
        ("mma.sync has no " + getTypeName(a) + " x " + getTypeName(b) + " -> " +
         getTypeName(c) + ", only " + allowed)
            .str();
    return rule;
  };
  if (a.isF16() && b.isF16())
    return c.isF32() || c.isF16() ? rule : refuse("accumulators f16 and f32");
  if (a.isBF16() && b.isBF16())
    return c.isF32() ? rule : refuse("the accumulator f32");
  if (a.isF32() && b.isF32()) {
    if (op.getPrecision() == Precision::IEEE) {
      rule.refusal =
          "precision ieee asks for f32 multiplications, which tensor "
          "cores do not have";
      return rule;
    }
    return c.isF32() ? rule : refuse("the accumulator f32 for tf32");
  }
  if (isFloat8(a) && isFloat8(b)) {
    rule.minCapability = 89;
    rule.halfDepthPTX = 87;
    return c.isF32() ? rule : refuse("the accumulator f32 for 8-bit floats");
  }
  if (a.isInteger(8) && b.isInteger(8))
    return c.isInteger(32) ? rule : refuse("the accumulator i32");
  rule.refusal =
      "mma.sync does not multiply " + getTypeName(a) + " by " + getTypeName(b);
  return rule;
}

/// Does the accumulator, directly or through element loops and copies of the
/// same kernel, become operand A of another gemm from registers?
static bool feedsRegisterOperand(GemmOp op) {
  AllocOp c = getAllocation(op.getC());
  if (!c)
    return false;
  auto touches = [](Value handle, auto callback) {
    SmallVector<Value> worklist{handle};
    while (!worklist.empty())
      for (Operation *user : worklist.pop_back_val().getUsers()) {
        if (isa<SubviewOp, ReshapeOp, BitcastOp>(user))
          worklist.push_back(user->getResult(0));
        callback(user);
      }
  };
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<AllocOp> queue{c};
  seen.insert(c);
  while (!queue.empty()) {
    AllocOp alloc = queue.pop_back_val();
    bool found = false;
    auto enqueue = [&](Value value) {
      AllocOp next = getAllocation(value);
      if (next && next.getType().isFragment() && seen.insert(next).second &&
          next.getType().getRank() >= 2)
        queue.push_back(next);
    };
    touches(alloc.getResult(), [&](Operation *user) {
      if (auto gemm = dyn_cast<GemmOp>(user)) {
        if (gemm != op && getAllocation(gemm.getA()) == alloc &&
            alloc.getType().isFragment())
          found = true;
      } else if (auto copy = dyn_cast<CopyOp>(user)) {
        if (getAllocation(copy.getSource()) == alloc)
          enqueue(copy.getDest());
      } else if (auto load = dyn_cast<LoadOp>(user)) {
        if (auto loop = load->getParentOfType<ParallelOp>())
          loop.walk([&](StoreOp store) { enqueue(store.getDest()); });
      }
    });
    if (found)
      return true;
  }
  return false;
}

/// Another product into the accumulator of `op` that has its operand A in
/// registers. Both have to spread their warps alike, or the accumulator changes
/// layout between them.
static GemmOp findRegisterPartner(GemmOp op) {
  AllocOp c = getAllocation(op.getC());
  if (!c || !c.getType().isFragment())
    return {};
  GemmOp partner;
  op->getParentOfType<KernelOp>().walk([&](GemmOp other) {
    if (other != op && getAllocation(other.getC()) == c &&
        other.getA().getType().isFragment() && other.getM() == op.getM() &&
        other.getN() == op.getN())
      partner = other;
  });
  return partner;
}

/// Is everything in `buffer` written by loops that read elements of another
/// width from memory and no other fragment of the same rank? Such loops take
/// any layout.
static bool isUnpacked(Value buffer) {
  AllocOp alloc = getAllocation(buffer);
  auto type = cast<BufferType>(buffer.getType());
  if (!alloc || !type.isFragment() || alloc.getResult() != buffer)
    return false;
  bool converts = false;
  for (Operation *user : alloc->getUsers()) {
    if (isa<GemmOp>(user))
      continue;
    auto store = dyn_cast<StoreOp>(user);
    auto loop = store ? store->getParentOfType<ParallelOp>() : ParallelOp();
    if (!loop)
      return false;
    bool free = true;
    loop.walk([&](LoadOp load) {
      auto source = dyn_cast<BufferType>(load.getSource().getType());
      if (source && source.isFragment())
        free &= source.getRank() < type.getRank();
      else if (!source || source.isShared())
        converts |=
            getElementBits(getStorageElementType(load.getSource().getType())) !=
            type.getElementBits();
    });
    if (!free)
      return false;
  }
  return converts;
}

bool mlir::tile::isUnpackedInRegisters(GemmOp op) {
  Value a = op.getA(), b = op.getB();
  // The other operand is read in the same order from rows along K.
  if (isUnpacked(a))
    return cast<BufferType>(b.getType()).isShared() && op.getTransposeB();
  if (isUnpacked(b))
    return cast<BufferType>(a.getType()).isShared() && !op.getTransposeA();
  return false;
}

/// Neighbours along K per thread for an operand that is unpacked in registers:
/// 32 bytes, which the other operand gives from swizzled rows without bank
/// conflicts, or less if K is short.
static int64_t getRun(GemmOp op, const MmaSyncChoice &choice) {
  int64_t bits = op.getA().getType().getElementBits();
  if (!isUnpackedInRegisters(op))
    return 0;
  int64_t least = choice.k / 4;
  for (int64_t run = 32 * 8 / bits; run >= least; run /= 2)
    if (run % least == 0 && op.getK() % (4 * run) == 0)
      return run;
  return 0;
}

static LogicalResult verifySpaces(GemmOp op) {
  auto check = [&](StringRef operand, Value value,
                   bool accumulator) -> LogicalResult {
    auto type = cast<BufferType>(value.getType());
    if (type.isShared() || type.isFragment())
      return success();
    return op.emitError("gemm: ")
           << operand << " (" << getUserName(value) << ") is in "
           << stringifyMemorySpace(type.getSpace()) << " storage, "
           << (accumulator ? "an accumulator" : "an operand")
           << " must be in shared memory or a fragment";
  };
  return success(succeeded(check("A", op.getA(), false)) &&
                 succeeded(check("B", op.getB(), false)) &&
                 succeeded(check("C", op.getC(), true)));
}

PartitionPolicy mlir::tile::getPartitionPolicy(GemmOp op) {
  if (op.getPolicy() == WarpPolicy::FullRow)
    return {layout::WarpPolicy::FullRow, ""};
  if (op.getPolicy() == WarpPolicy::FullCol)
    return {layout::WarpPolicy::FullCol, ""};
  if (feedsRegisterOperand(op))
    return {layout::WarpPolicy::FullRow,
            "; warps along M because the result becomes operand A of another "
            "gemm from registers"};
  if (op.getA().getType().isFragment())
    return {layout::WarpPolicy::FullRow,
            "; warps along M because A is in registers"};
  if (findRegisterPartner(op))
    return {layout::WarpPolicy::FullRow,
            "; warps along M as in the other product into this accumulator, "
            "whose A is in registers"};
  return {};
}

/// Multiply-adds of 16-bit elements that mma.sync does per clock of a
/// multiprocessor (A100 whitepaper: 4 tensor cores of 256; H100 does not reach
/// more than twice of it this way).
static constexpr int64_t kMultiplyAddsPerClock = 1024;
/// Registers of a thread that sums and weights leave to the rest.
static constexpr int64_t kRegistersBesideSums = 40;
/// Bytes that shared memory moves per clock (CUDA C++ programming guide).
static constexpr int64_t kSharedBytesPerClock = 128;

/// Whether two products of which the first one's result is the second one's
/// operand A take less time with the rows spread over all warps, some of which
/// then have fewer or none, than with columns spread too, whereupon rows have
/// to be reduced and exchanged between warps. `m`, `n`, `k` are the sizes of
/// either product, `columns` those of what is exchanged.
static bool preferWholeRows(int64_t m, int64_t n, int64_t k, int64_t columns,
                            int64_t bits, const layout::WarpGrid &grid,
                            const layout::WarpGrid &rows) {
  if (grid.warpsN == 1 || rows == grid)
    return false;
  // Sums in f32 of both products (whose other size is taken to be that of this
  // product's other operand) and 16-bit weights have to fit into registers,
  // with some left for addresses and operands.
  auto registers = [&](const layout::WarpGrid &grid) {
    int64_t others = n + k - columns;
    return layout::rowsOfWarp(m, grid) *
               ((columns + others) / grid.warpsN + columns * bits / 32) /
               layout::kWarpSize +
           kRegistersBesideSums;
  };
  int64_t available = std::min<int64_t>(
      layout::kMaxThreadRegisters,
      layout::registersAtLaunch(rows.numWarps() * layout::kWarpSize));
  if (registers(rows) > available && registers(grid) < registers(rows))
    return false;
  auto multiplyAdds = [&](const layout::WarpGrid &grid) {
    return grid.numWarps() * layout::rowsOfWarp(m, grid) * (n / grid.warpsN) *
           k;
  };
  int64_t saved =
      2 * (multiplyAdds(rows) - multiplyAdds(grid)) / kMultiplyAddsPerClock;
  // Every warp reads all columns of its rows; a maximum and a sum of each row
  // cross warps as well. Each of the three takes a barrier on either side.
  int64_t exchanged =
      m * columns * bits / 8 * (1 + grid.warpsN) / kSharedBytesPerClock +
      6 * layout::kBarrierClocks;
  return saved < exchanged;
}

LogicalResult mlir::tile::selectGemm(GemmOp op, TargetAttr target) {
  if (op.getChoiceAttr())
    return success();
  if (failed(verifySpaces(op)))
    return failure();
  MLIRContext *context = op.getContext();
  Type a = op.getA().getType().getElementType();
  Type b = op.getB().getType().getElementType();
  Type c = op.getC().getType().getElementType();
  auto chooseFma = [&](const Twine &reason) {
    std::string text = reason.str();
    op.setChoiceAttr(ChoiceAttr::get(
        context, Path::Fma, "one multiply-add per thread and element: " + text,
        {}));
    return success();
  };

  layout::Result<ChoiceAttr> wgmma = chooseWgmma(op, target);
  if (wgmma) {
    op.setChoiceAttr(*wgmma);
    return success();
  }
  int64_t threads = getCollectiveThreads(op);
  if (threads % layout::kWarpSize != 0)
    return chooseFma(llvm::formatv(
        "{0} threads are no whole warps, which mma.sync needs", threads));
  MmaRule rule = getMmaRule(op);
  if (!rule.refusal.empty())
    return chooseFma(rule.refusal);
  if (target.getComputeCapability() < rule.minCapability)
    return chooseFma(llvm::formatv(
        "mma.sync with {0} operands needs sm_{1}, the target is {2}",
        getTypeName(a), rule.minCapability, target.getArch()));

  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  int64_t bits = op.getA().getType().getElementBits();
  int64_t fullK = layout::mmaAtomK(bits);
  bool hasHalf =
      rule.halfDepthPTX && target.getPTXVersion() >= rule.halfDepthPTX;
  int64_t smallestK = hasHalf ? fullK / 2 : fullK;
  if (k % smallestK != 0)
    return chooseFma(llvm::formatv(
        "K = {0} is no multiple of {1}, the smallest K of mma.sync for {2}", k,
        smallestK, getTypeName(a)));
  MmaSyncChoice choice;
  choice.k = k % fullK == 0 ? fullK : fullK / 2;

  PartitionPolicy policy = getPartitionPolicy(op);
  layout::Result<layout::WarpGrid> grid = layout::partitionWarps(
      m, n, threads / layout::kWarpSize, policy.policy, choice.m, choice.n);
  if (!grid)
    return chooseFma("mma.sync m16n8 does not fit: " + grid.error());
  choice.grid = *grid;
  bool feeds = feedsRegisterOperand(op);
  GemmOp partner = feeds ? GemmOp() : findRegisterPartner(op);
  if ((feeds || partner || op.getA().getType().isFragment()) &&
      op.getPolicy() != WarpPolicy::FullCol &&
      op.getC().getType().isFragment()) {
    layout::Result<layout::WarpGrid> rows = layout::partitionRows(
        m, n, threads / layout::kWarpSize, choice.m, choice.n);
    // What decides about the partner decides about this product as well.
    int64_t depth =
        partner && !op.getA().getType().isFragment() ? partner.getK() : k;
    if (rows &&
        preferWholeRows(m, n, depth, feeds ? n : depth, bits, *grid, *rows)) {
      choice.grid = *rows;
      int64_t rowsPerWarp = layout::rowsOfWarp(m, *rows);
      int64_t busy = (m + rowsPerWarp - 1) / rowsPerWarp * rows->replicas;
      policy.reason += llvm::formatv(
          "; {0} of {1} warps have rows, which costs less than to exchange "
          "parts of rows",
          busy, rows->numWarps());
    }
  }
  choice.run = getRun(op, choice);

  std::string instruction =
      llvm::formatv("mma.sync.m16n8k{0} {1} x {2} -> {3}", choice.k,
                    a.isF32() ? "tf32" : getTypeName(a),
                    b.isF32() ? "tf32" : getTypeName(b), getTypeName(c));
  std::string reason = instruction + " on " + target.getArch().str();
  if (a.isF32())
    reason += "; f32 operands are rounded to tf32";
  if (target.getComputeCapability() >= 90)
    reason += "; " + wgmma.error();
  // ldmatrix moves 16-byte rows along K; only 16-bit elements can be transposed
  // on the way.
  if (bits != 16) {
    if (op.getA().getType().isShared() && op.getTransposeA())
      reason += "; A is read element by element because K is not contiguous";
    if (op.getB().getType().isShared() && !op.getTransposeB())
      reason += "; B is read element by element because K is not contiguous";
  }
  reason += policy.reason;
  if (choice.run)
    reason += llvm::formatv("; each thread takes {0} neighbours along K, to "
                            "unpack whole words",
                            choice.run);
  if (choice.grid.replicas > 1)
    reason += llvm::formatv("; {0} of {1} warps repeat the work of others",
                            choice.grid.numWarps() -
                                choice.grid.warpsM * choice.grid.warpsN,
                            choice.grid.numWarps());
  op.setChoiceAttr(ChoiceAttr::get(context, Path::MmaSync, reason,
                                   getMmaSyncArguments(context, choice)));
  return success();
}
