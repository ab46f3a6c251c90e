//===- Passes.td - passes that run an LLVM back end ---------*- tablegen -*-===//
#ifndef TILEMLIR_TARGET_PASSES
#define TILEMLIR_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def TileSetTarget : Pass<"tile-set-target", "::mlir::ModuleOp"> {
  let summary = "set the target of a module";
  let description = [{
    Writes the module attribute `tile.target`; without the option the module
    keeps its own, or gets the default.
    ```mlir
    // before                  // after tile-set-target{target=sm_80}
    module { ... }             module attributes {tile.target = #tile.target<"sm_80">} { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"", "Architecture, e.g. sm_80 or sm_90a">,
    Option<"ptx", "ptx", "int64_t", "0", "PTX ISA version times ten; 0 is the default">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileEmitPTX : Pass<"tile-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "compile modules of kernels to PTX";
  let description = [{
    Each `gpu.module` in the LLVM and NVVM dialects becomes a `gpu.binary` whose
    object holds the PTX text. Line information consists of directives only and
    does not change the code.

    ```mlir
    // before
    gpu.module @kernels { llvm.func @copy(...) attributes {nvvm.kernel} { ... } }
    // after
    gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">, format = assembly, "...">]
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

#endif // TILEMLIR_TARGET_PASSES
