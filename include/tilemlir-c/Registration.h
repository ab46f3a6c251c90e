/* C API: registration of dialects, passes and pipelines. */
#ifndef TILEMLIR_C_REGISTRATION_H
#define TILEMLIR_C_REGISTRATION_H

#include "mlir-c/IR.h"
#include "tilemlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tile, tile);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(TileGPU, tile_gpu);

/* Adds the tile dialects, the upstream dialects they lower to, and their
 * external models to `registry`. */
TILEMLIR_CAPI_EXPORTED void
tilemlirRegisterAllDialects(MlirDialectRegistry registry);

/* Registers all passes, ours and the upstream ones used with them, with the
 * global pass registry. Idempotent. */
TILEMLIR_CAPI_EXPORTED void tilemlirRegisterAllPasses(void);

/* Registers all pipelines with the global pass registry. Idempotent. */
TILEMLIR_CAPI_EXPORTED void tilemlirRegisterAllPipelines(void);

/* The version of tilemlir, such as "0.1.0". */
TILEMLIR_CAPI_EXPORTED const char *tilemlirGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* TILEMLIR_C_REGISTRATION_H */
