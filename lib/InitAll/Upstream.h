// Registration of the upstream dialects and passes, in files of their own:
// their headers are large and never change.
#ifndef TILEMLIR_LIB_INITALL_UPSTREAM_H
#define TILEMLIR_LIB_INITALL_UPSTREAM_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilemlir {

/// The upstream dialects that ours lower to, and the external models that the
/// passes rely on.
void registerUpstreamDialects(mlir::DialectRegistry &registry);

/// The upstream passes that one needs beside ours.
void registerUpstreamPasses();

} // namespace tilemlir

#endif // TILEMLIR_LIB_INITALL_UPSTREAM_H
