// One call each to register everything that tile programs need: dialects,
// passes, pipelines, translations.
#ifndef TILEMLIR_INITALL_H
#define TILEMLIR_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilemlir {

/// Adds the `tile` and `tile_gpu` dialects, the upstream dialects they lower
/// to, and the external models (inliner, conversion to LLVM, translation to
/// LLVM IR) that the passes rely on.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes and the upstream passes that one needs beside them with
/// the global pass registry. Idempotent.
void registerAllPasses();

/// Registers our pipelines with the global pass registry. Idempotent.
void registerAllPipelines();

/// Registers the translations of tile-translate. Idempotent.
void registerAllTranslations();

} // namespace tilemlir

#endif // TILEMLIR_INITALL_H
