// Embeds the tile dialects in a C++ program: reads a module from stdin, runs
// the pipeline given as argument, prints it.
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilemlir::registerAllDialects(registry);
  tilemlir::registerAllPasses();
  tilemlir::registerAllPipelines();

  mlir::MLIRContext context(registry);
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input) {
    llvm::errs() << "cannot read stdin\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*input), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;

  mlir::PassManager passes(&context);
  if (argc > 1 && mlir::failed(mlir::parsePassPipeline(argv[1], passes)))
    return 1;
  if (mlir::failed(passes.run(*module)))
    return 1;

  // The classes of the dialect are usable, not only its textual form.
  int kernels = 0;
  module->walk([&](mlir::tile::KernelOp) { ++kernels; });
  llvm::outs() << "// kernels: " << kernels << "\n" << *module << "\n";
  return 0;
}
