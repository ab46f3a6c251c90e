//===- Pipelines.cpp - the registered pass pipelines ------------*- C++ -*-===//
//
// The order of the passes lives here and nowhere else.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// From a traced module to PTX.
static constexpr llvm::StringLiteral kTilePasses[] = {
    "tile-canonicalize-kernel",
    "tile-map-blocks",
    "tile-raise-loops",
    "tile-analyze-bounds",
    "tile-verify-uniformity",
    "tile-peel-masks",
    "tile-select-instructions",
    "tile-stage-stores",
    "tile-assign-layouts",
    "tile-optimize-conversions",
    "tile-defer-reductions",
    "tile-skip-unit-factors",
    "tile-plan-pipeline",
    "tile-multibuffer",
    "tile-specialize-warps",
    "tile-ping-pong",
    "tile-multicast-copies",
    "tile-insert-mbarriers",
    "tile-schedule-mma",
    "tile-defer-stores",
    // Before the barriers: reuse of memory by several buffers needs them too.
    "tile-allocate-memory",
    "tile-insert-sync",
    "tile-verify-sync",
    "tile-collect-report",
    "tile-to-tile-gpu",
    "tile-gpu-promote-fragments",
    "tile-gpu-prefetch-fragments",
    "tile-gpu-expand-double-math",
    "tile-outline-kernels",
    "gpu.module(tile-gpu-to-nvvm)",
    "tile-emit-ptx",
};

namespace {
struct TilePipelineOptions : PassPipelineOptions<TilePipelineOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Architecture, e.g. sm_80; default: of the module")};
  Option<int64_t> ptx{*this, "ptx", llvm::cl::desc("PTX ISA version times ten"),
                      llvm::cl::init(0)};
  Option<std::string> from{*this, "from",
                           llvm::cl::desc("First pass to run; default: all")};
  Option<std::string> to{*this, "to",
                         llvm::cl::desc("Last pass to run; default: all")};
};
} // namespace

/// "gpu.module(tile-gpu-to-nvvm)" -> "tile-gpu-to-nvvm".
static StringRef passName(StringRef entry) {
  size_t open = entry.find('(');
  return open == StringRef::npos ? entry
                                 : entry.slice(open + 1, entry.rfind(')'));
}

std::string tilemlir::getTilePipeline(StringRef target, int64_t ptx,
                                      StringRef from, StringRef to) {
  std::string text = "tile-set-target{";
  if (!target.empty())
    text += "target=" + target.str() + " ";
  text += "ptx=" + std::to_string(ptx) + "}";
  bool running = from.empty();
  for (StringRef entry : kTilePasses) {
    running |= passName(entry) == from;
    if (running)
      text += "," + entry.str();
    if (passName(entry) == to)
      break;
  }
  return text;
}

void tilemlir::registerTilePipelines() {
  registerCPUPipeline();
  registerPassPipeline(
      "tile-pipeline", "All passes from a traced module to PTX",
      [](OpPassManager &manager, StringRef text,
         function_ref<LogicalResult(const Twine &)> error) -> LogicalResult {
        TilePipelineOptions options;
        if (failed(options.parseFromString(text)))
          return error("invalid options of tile-pipeline: " + text);
        for (StringRef name : {StringRef(options.from), StringRef(options.to)})
          if (!name.empty() && llvm::none_of(kTilePasses, [&](StringRef entry) {
                return passName(entry) == name;
              }))
            return error("tile-pipeline has no pass " + name);
        return parsePassPipeline(getTilePipeline(options.target, options.ptx,
                                                 options.from, options.to),
                                 manager);
      },
      [](function_ref<void(const detail::PassOptions &)> visit) {
        visit(TilePipelineOptions());
      });
}
