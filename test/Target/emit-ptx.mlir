// RUN: tile-opt %s --tile-emit-ptx | filecheck %s
// RUN: tile-opt %s --tile-emit-ptx | tile-translate --tile-to-ptx | filecheck %s --check-prefix=PTX
// RUN: tile-translate --tile-to-ptx %s | filecheck %s --check-prefix=PTX
// RUN: tile-translate --tile-to-llvm-ir %s | filecheck %s --check-prefix=LLVM

// The text is kept in the module; line directives name the source.
// CHECK: gpu.binary @kernels{{ +}}[#gpu.object<#nvvm.target<{{.*}}chip = "sm_80"{{.*}}>, assembly = "
// CHECK-NOT: gpu.module
// PTX: .version 8.6
// PTX: .target sm_80
// PTX: .visible .entry store(
// PTX: .reqntid 32
// PTX: .loc
// PTX: st.global
// PTX-NOT: .section .debug_info
// LLVM: define ptx_kernel void @store(
module attributes {tile.target = #tile.target<"sm_80">} {
  gpu.module @kernels {
    llvm.func @store(%p: !llvm.ptr<1> {llvm.noalias}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %t, %q : i32, !llvm.ptr<1>
      llvm.return
    }
  }
}
