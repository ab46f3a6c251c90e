// C API: registration of dialects, passes and pipelines.
#include "tilemlir-c/Registration.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"
#include "tilemlir/InitAll.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tile, tile, mlir::tile::TileDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(TileGPU, tile_gpu,
                                      mlir::tile_gpu::TileGPUDialect)

void tilemlirRegisterAllDialects(MlirDialectRegistry registry) {
  tilemlir::registerAllDialects(*unwrap(registry));
}

void tilemlirRegisterAllPasses() { tilemlir::registerAllPasses(); }

void tilemlirRegisterAllPipelines() { tilemlir::registerAllPipelines(); }

const char *tilemlirGetVersion() { return TILEMLIR_VERSION; }
