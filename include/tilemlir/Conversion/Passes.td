//===- Passes.td - passes that leave one dialect for another -*- tablegen -*-===//
#ifndef TILEMLIR_CONVERSION_PASSES
#define TILEMLIR_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def TileToCPU : Pass<"tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "tile kernels to functions of the host";
  let description = [{
    Turns the one function of a module that holds kernels into a module attribute
    `tile.launch_plan`, and each kernel into two functions: the entry point with
    the signature `void (void *const *parameters, const int32_t *grid, int64_t
    first_block, int64_t last_block)`, and one that runs a range of blocks, whose
    tensors and large buffers are `noalias` arguments. Buffers are plain memory of
    the calling thread. Kernels in which nothing depends on the thread id run with
    one thread per block; others as loops over the threads that are split at
    collective operations. Accepts IR after any pass up to `tile-multibuffer`;
    layouts, choices and asynchrony do not change the meaning.

    ```mlir
    func.func @clear(%C: memref<64xf32>) {
      %one = arith.constant 1 : i32
      tile.kernel "clear" grid(%one) threads(128) {
      ^bb0(%bx: i32):
        tile.parallel [64] {
        ^bb1(%i: i32):
          %zero = arith.constant 0.0 : f32
          tile.store %zero, %C[%i] {bounds = #tile<bounds full>} : f32, memref<64xf32>
        }
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @clear(%parameters: !llvm.ptr, %grid: !llvm.ptr, %first: i64, %last: i64) {
      ...
      call @clear_blocks(%C, %x, %y, %z, %first, %last)
    }
    func.func private @clear_blocks(%C: !llvm.ptr {llvm.noalias}, %x: i64, %y: i64, %z: i64, %first: i64, %last: i64) {
      scf.for %block = %first to %last step %c1 : i64 {
        scf.for %i = %c0 to %c64 step %c1 : i64 {
          %bytes = arith.muli %i, %c4 : i64
          %p = llvm.getelementptr %C[%bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
          llvm.store %zero, %p {alignment = 4 : i64} : f32, !llvm.ptr
        }
      }
    }
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "int64_t", "256", "width of the vector registers that gemm and reduce aim at">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandSmallFloats : Pass<"tile-expand-small-floats"> {
  let summary = "arithmetic on 8 and 16 bit floats in f32";
  let description = [{
    Arithmetic and math operations on f16, bf16, f8E4M3FN and f8E5M2 are done in
    f32; extensions and truncations become integer code without library calls.
    Truncation rounds once to nearest even, also from f64; the 8-bit formats
    saturate to the largest finite value, as `cvt.rn.satfinite` of PTX. Conversions
    of floats to integers saturate and give 0 for NaN, as `cvt.rzi`.

    ```mlir
    %c = arith.addf %a, %b : bf16
    ```
    becomes
    ```mlir
    %a32 = ...  // bits of %a shifted left by 16
    %b32 = ...
    %c32 = arith.addf %a32, %b32 : f32
    %c = ...    // bits of %c32, rounded, shifted right by 16
    ```
  }];
  let options = [
    Option<"nativeF16", "native-f16", "bool", "true", "the host converts between f16 and f32 itself (F16C, or any AArch64)">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandMath : Pass<"tile-expand-math"> {
  let summary = "exp, exp2, log, log2 and tanh of f32 as vectorisable arithmetic";
  let description = [{
    Replaces these operations of the `math` dialect on f32 by branch-free code
    within 2 ulp, right for infinities, NaN, zeros and subnormals. Other functions
    and types are left to libm.

    ```mlir
    %y = math.exp2 %x : f32
    ```
    becomes
    ```mlir
    %n = ...            // nearest integer
    %r = arith.subf %x, %n : f32
    %p = ...            // polynomial in %r by llvm.intr.fmuladd
    %y = ...            // %p * 2^%n
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def TileToTileGPU : Pass<"tile-to-tile-gpu", "::mlir::ModuleOp"> {
  let summary = "distribute kernels over the threads of a block";
  let description = [{
    Replaces the collective operations of `tile` by what one thread does, in
    `tile_gpu`, `arith`, `math` and `vector`; control flow stays. Every
    fragment must have a layout, every shared buffer a layout and a
    `tile.shared_offset`, every parallel loop a layout, every gemm a choice.

    Each thread handles the elements that the layout gives it, one register
    after the other, unrolled. Neighbouring registers are loaded and stored
    together where layout, alignment and bounds allow; parts of an address that
    depend on the thread alone are computed at the top of the kernel. Elements
    out of bounds and padding registers are predicated. Replicas compute, but
    do not store to memory or perform atomics. Fragments are read and written
    as whole vectors by `read_fragment` and `write_fragment`.

    ```mlir
    // before
    %f = tile.alloc "f" : !tile.buffer<16x8xf32, fragment, #l>
    tile.fill %f, %zero : !tile.buffer<16x8xf32, fragment, #l>, f32
    // after
    %v = vector.from_elements %zero, %zero, %zero, %zero : vector<4xf32>
    tile_gpu.write_fragment %v, %f : vector<4xf32>, !tile.buffer<16x8xf32, fragment, #l>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tile_gpu::TileGPUDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"
  ];
}

def TileOutlineKernels : Pass<"tile-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels become functions of a gpu.module, the host half a launch plan";
  let description = [{
    Every `tile.kernel` becomes an `llvm.func` in `gpu.module @kernels` with the
    parameters of `KernelSignature`: base pointers, then the sizes, strides and
    host integers that the kernel uses. Each host function is replaced by its
    launch plan, the module attribute `tile.launch_plan`.

    ```mlir
    // before
    func.func @f(%A: memref<?x64xf16>) { ... tile.kernel "copy" grid(%g) threads(128) { ... } }
    // after
    gpu.module @kernels {
      llvm.func @copy(%A: !llvm.ptr<1> {llvm.align = 16, llvm.noalias}, %m: i64)
        attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} { ... }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::tile_gpu::TileGPUDialect"
  ];
}

def TileGPUToNVVM : Pass<"tile-gpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "tile_gpu, arith, math, scf and vector to llvm and nvvm";
  let description = [{
    Registers become LLVM values, shared memory one external symbol in address
    space 3. Floating point operations may be contracted to fused multiply-adds.
    Elementary functions are expanded, none is a library call.

    ```mlir
    // before
    %a = tile_gpu.ldmatrix %p + 512 : vector<4xi32>
    // after
    %q = llvm.getelementptr %arena[%p] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %r = llvm.getelementptr %q[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %s = nvvm.ldmatrix %r {num = 4 : i32, ...} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    ```
  }];
  let dependentDialects = [
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::nvgpu::NVGPUDialect"
  ];
}

#endif // TILEMLIR_CONVERSION_PASSES
