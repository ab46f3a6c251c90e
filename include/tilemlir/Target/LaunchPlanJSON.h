//===- LaunchPlanJSON.h - the launch plan as JSON ---------------*- C++ -*-===//
#ifndef TILEMLIR_TARGET_LAUNCHPLANJSON_H
#define TILEMLIR_TARGET_LAUNCHPLANJSON_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilemlir {

/// Writes a plan as JSON (version 1).
mlir::LogicalResult printLaunchPlan(mlir::tile::LaunchPlanAttr plan,
                                    llvm::raw_ostream &os);

/// Writes the plan of a module as JSON: the attribute `tile.launch_plan` of a
/// module with outlined kernels, else the plan of its only function that holds
/// kernels.
mlir::LogicalResult translateToLaunchPlan(mlir::ModuleOp module,
                                          llvm::raw_ostream &os);

/// Registers `--tile-to-launch-plan`, which reads modules of these dialects.
void registerToLaunchPlanTranslation(
    void (*registerDialects)(mlir::DialectRegistry &));

} // namespace tilemlir

#endif // TILEMLIR_TARGET_LAUNCHPLANJSON_H
