//===- SelectWgmma.cpp - Choosing matrix instructions of warp groups ------===//
//
// Source of the rules: PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions" (shapes, types, and which operands may be transposed).
//
//===----------------------------------------------------------------------===//
#include "InstructionSelection.h"

#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/ProducerRole.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

/// Threads of a block at most.
static constexpr int64_t kMaxThreads = 1024;

/// Columns up to which unpacking an operand in registers takes longer than
/// mma.sync takes to read the other one from shared memory.
static constexpr int64_t kMaxUnpackedColumns = 64;

/// Empty when wgmma multiplies these types into this accumulator.
static std::string refuseTypes(GemmOp op, bool isRounded) {
  Type a = op.getA().getType().getElementType();
  Type b = op.getB().getType().getElementType();
  Type c = op.getC().getType().getElementType();
  auto isFloat8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  auto refuse = [&](StringRef allowed) {
    return "wgmma has no " + getTypeName(a) + " x " + getTypeName(b) + " -> " +
           getTypeName(c) + ", only " + allowed.str();
  };
  if ((a.isF16() && b.isF16()) || (isFloat8(a) && isFloat8(b)))
    return c.isF32() || c.isF16() ? "" : refuse("accumulators f16 and f32");
  if (a.isBF16() && b.isBF16())
    return c.isF32() ? "" : refuse("the accumulator f32");
  if (a.isInteger(8) && b.isInteger(8))
    return c.isInteger(32) ? "" : refuse("the accumulator i32");
  if (a.isF32() && b.isF32()) {
    if (!isRounded)
      return "wgmma truncates f32 operands to tf32 instead of rounding them, "
             "unless TMA has rounded them";
    return c.isF32() ? "" : refuse("the accumulator f32");
  }
  return "wgmma does not multiply " + getTypeName(a) + " by " + getTypeName(b);
}

/// Empty when the target has wgmma, and the user has not forbidden it.
static std::string refuseTarget(GemmOp op, TargetAttr target) {
  if (!target.hasArchSpecificFeatures())
    return "wgmma needs the arch-specific target (sm_90a)";
  if (target.getComputeCapability() != 90)
    return "wgmma exists on sm_90a only, the target is " +
           target.getArch().str();
  OptionsAttr options = OptionsAttr::of(op);
  // What the program asks for by name stays.
  if (!op->hasAttr(kUserProduct) && options.getFlag("disable_wgmma", false))
    return "wgmma is turned off by disable_wgmma";
  return "";
}

layout::Result<ChoiceAttr> mlir::tile::chooseWgmma(GemmOp op, TargetAttr target,
                                                   bool isRounded) {
  auto refuse = [](const auto &text) {
    return layout::Error{std::string(text)};
  };
  std::string refusal = refuseTarget(op, target);
  if (refusal.empty())
    refusal = refuseTypes(op, isRounded);
  if (!refusal.empty())
    return refuse(refusal);
  int64_t threads = getCollectiveThreads(op);
  if (threads % layout::kWarpGroupSize != 0)
    return refuse(llvm::formatv("wgmma needs whole warp groups of 128 threads, "
                                "the kernel has {0}",
                                threads)
                      .str());
  if (!op.getB().getType().isShared())
    return refuse("wgmma reads B from shared memory, it is in a fragment");

  if (op.getA().getType().isFragment() && isUnpackedInRegisters(op) &&
      op.getN() <= kMaxUnpackedColumns)
    return refuse(llvm::formatv("wgmma fixes where threads hold K, but A ({0}) "
                                "is unpacked in registers for {1} columns "
                                "only",
                                getUserName(op.getA()), op.getN())
                      .str());

  WgmmaChoice choice;
  choice.registerA = op.getA().getType().isFragment();
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  int64_t bits = op.getA().getType().getElementBits();
  choice.k = layout::mmaAtomK(bits);
  if (k % choice.k != 0)
    return refuse(
        llvm::formatv("K = {0} is no multiple of {1}, the K of wgmma for {2}",
                      k, choice.k,
                      getTypeName(op.getA().getType().getElementType()))
            .str());

  // An instruction with many columns reads fewer bytes of shared memory for
  // the same work than one with few; so warp groups stand along M unless there
  // are not enough rows, or the user says otherwise.
  PartitionPolicy policy = getPartitionPolicy(op);
  if (policy.policy == layout::WarpPolicy::Square)
    policy.policy = layout::WarpPolicy::FullRow;
  layout::Result<layout::WarpGrid> grid =
      layout::partitionWarps(m, n, threads / layout::kWarpGroupSize,
                             policy.policy, layout::kWgmmaRows, 8);
  if (!grid)
    return refuse("wgmma m64n8 does not fit: " + grid.error());
  choice.groups = *grid;
  // A producer may come on top of the threads that the program sees, unless it
  // names its roles itself.
  KernelOp kernel = getKernel(op);
  int64_t launched = kernel.getLaunchThreads();
  if (!getRole(op))
    launched =
        std::min((countConsumerGroups(kernel) + 1) * layout::kWarpGroupSize,
                 kMaxThreads);
  int64_t limit =
      layout::wgmmaColumnsForThreads(countThreadsSideBySide(kernel, launched),
                                     op.getC().getType().getElementBits());
  choice.n = layout::wgmmaColumns(
      n / grid->warpsN, op.getA().getType().getElementType().isInteger(8),
      limit);

  for (GemmOperand operand : {GemmOperand::A, GemmOperand::B}) {
    if (operand == GemmOperand::A && choice.registerA)
      continue;
    layout::Result<int64_t> swizzle = getWgmmaMaxSwizzle(op, operand, choice);
    if (!swizzle)
      return refuse(
          std::string("wgmma cannot read ") +
          (operand == GemmOperand::A ? "A (" : "B (") +
          getUserName(operand == GemmOperand::A ? op.getA() : op.getB()) +
          "): " + swizzle.error());
  }

  std::string reason = llvm::formatv(
      "wgmma.m64n{0}k{1} {2} x {3} -> {4} on {5}, A from {6}", choice.n,
      choice.k, getTypeName(op.getA().getType().getElementType()),
      getTypeName(op.getB().getType().getElementType()),
      getTypeName(op.getC().getType().getElementType()), target.getArch(),
      choice.registerA ? "registers" : "shared memory");
  if (isRounded)
    reason += "; TMA rounds f32 operands to tf32, ties to even";
  reason += policy.reason;
  if (grid->replicas > 1)
    reason += llvm::formatv(
        "; {0} of {1} warp groups repeat the work of others",
        grid->numWarps() - grid->warpsM * grid->warpsN, grid->numWarps());
  MLIRContext *context = op.getContext();
  return ChoiceAttr::get(context,
                         choice.registerA ? Path::WgmmaRS : Path::WgmmaSS,
                         reason, getWgmmaArguments(context, choice));
}
