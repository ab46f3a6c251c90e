//===- Pipelines.h - the registered pass pipelines --------------*- C++ -*-===//
#ifndef TILEMLIR_PIPELINES_PIPELINES_H
#define TILEMLIR_PIPELINES_PIPELINES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tilemlir {

/// The passes of `tile-pipeline` as text that `tile-opt --pass-pipeline` takes
/// inside of `builtin.module(...)`. `from` and `to` name the first and last
/// pass to run; empty means all. An empty target keeps that of the module.
std::string getTilePipeline(llvm::StringRef target = "", int64_t ptx = 0,
                            llvm::StringRef from = "", llvm::StringRef to = "");

/// Registers every pipeline of the project with MLIR's global pass registry.
void registerTilePipelines();

/// Registers `tile-cpu-pipeline`.
void registerCPUPipeline();

} // namespace tilemlir

#endif // TILEMLIR_PIPELINES_PIPELINES_H
