//===- ReportJSON.h - the compiler's report as JSON -------------*- C++ -*-===//
#ifndef TILEMLIR_TARGET_REPORTJSON_H
#define TILEMLIR_TARGET_REPORTJSON_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace tilemlir {

/// Writes the attribute `tile.report` of a module as a JSON array; an empty one
/// when the module has no report.
mlir::LogicalResult translateToReport(mlir::ModuleOp module,
                                      llvm::raw_ostream &os);

/// Registers `--tile-to-report`, which reads modules of these dialects.
void registerToReportTranslation(
    void (*registerDialects)(mlir::DialectRegistry &));

} // namespace tilemlir

#endif // TILEMLIR_TARGET_REPORTJSON_H
