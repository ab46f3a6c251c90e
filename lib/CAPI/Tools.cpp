// C API: the main functions of tile-opt, tile-translate and tile-lsp-server.
#include "tilemlir-c/Tools.h"

#include "tilemlir/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int tilemlirOptMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilemlir::registerAllDialects(registry);
  tilemlir::registerAllPasses();
  tilemlir::registerAllPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "tile-opt: runs tilemlir passes on MLIR files\n", registry));
}

int tilemlirTranslateMain(int argc, char **argv) {
  tilemlir::registerAllTranslations();
  return mlir::asMainReturnCode(mlir::mlirTranslateMain(
      argc, argv, "tile-translate: translates tile modules to other forms"));
}

int tilemlirLspServerMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilemlir::registerAllDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirLspServerMain(argc, argv, registry));
}
