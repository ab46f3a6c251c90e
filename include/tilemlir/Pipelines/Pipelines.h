// The registered pass pipelines of tilemlir.
#ifndef TILEMLIR_PIPELINES_PIPELINES_H
#define TILEMLIR_PIPELINES_PIPELINES_H

namespace tilemlir {

/// Registers every pipeline of the project with MLIR's global pass registry.
void registerTilePipelines();

/// Registers `tile-cpu-pipeline`.
void registerCPUPipeline();

} // namespace tilemlir

#endif // TILEMLIR_PIPELINES_PIPELINES_H
