// Registers dialects, passes and pipelines, ours and the upstream ones used
// with them.
#include "tilemlir/InitAll.h"

#include "Upstream.h"

#include "tilemlir/Conversion/Passes.h"
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h"
#include "tilemlir/Pipelines/Pipelines.h"
#include "tilemlir/Target/LaunchPlanJSON.h"
#include "tilemlir/Target/PTX.h"
#include "tilemlir/Target/Passes.h"
#include "tilemlir/Target/ReportJSON.h"

#include "mlir/IR/DialectRegistry.h"

#include <mutex>

using namespace mlir;

void tilemlir::registerAllDialects(DialectRegistry &registry) {
  registerUpstreamDialects(registry);
  registry.insert<tile::TileDialect, tile_gpu::TileGPUDialect>();
}

void tilemlir::registerAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerUpstreamPasses();
    tile::registerTileTransformsPasses();
    tile_gpu::registerTileGPUTransformsPasses();
    registerTilemlirConversionPasses();
    registerTilemlirTargetPasses();
  });
}

void tilemlir::registerAllPipelines() {
  static std::once_flag once;
  std::call_once(once, [] { registerTilePipelines(); });
}

void tilemlir::registerAllTranslations() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerToLaunchPlanTranslation(registerAllDialects);
    registerToReportTranslation(registerAllDialects);
    registerPTXTranslations();
  });
}
