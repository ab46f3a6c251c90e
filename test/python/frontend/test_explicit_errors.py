"""The exact text of errors of the explicit layer: warp groups, barriers, copies by TMA, products in flight, PTX."""

from __future__ import annotations

import re
from pathlib import Path

import faulty_explicit
import pytest
import tilemlir
import tilemlir.language as T
from frontend_support import error_of
from tilemlir.frontend import CATALOGUE, FrontendError

EXPECTED = {
    "group_of_threads": """
FILE:N: error: T.ws names warp groups of 128 threads [warp-groups]
 N |         with T.ws(0):
   |              ^^^^^^^
  found: a kernel of 192 threads
  allowed: threads= a multiple of 128, which counts all groups
""",
    "group_number": """
FILE:N: error: T.ws takes numbers of warp groups of the block, as compile-time integers [warp-groups]
 N |         with T.ws(2):
   |              ^^^^^^^
  found: 2
  allowed: 0 to 1 in a kernel of 256 threads
""",
    "group_gap": """
FILE:N: error: the groups of one T.ws are consecutive [warp-groups]
 N |         with T.ws(0, 2):
   |              ^^^^^^^^^^
  found: T.ws(0, 2)
  fix: write a @T.macro with the code, and call it in a T.ws of each group
""",
    "group_none": """
FILE:N: error: T.ws takes numbers of warp groups of the block, as compile-time integers [warp-groups]
 N |         with T.ws():
   |              ^^^^^^
  found: no number
  allowed: 0 in a kernel of 128 threads
""",
    "group_nested": """
FILE:N: error: T.ws blocks cannot be nested [warp-groups]
 N |             with T.ws(0):
   |                  ^^^^^^^
  found: the T.ws block that begins at line N
  fix: name all groups in one T.ws, or write the blocks one after the other
""",
    "group_on_host": """
FILE:N: error: T.ws must be inside of a kernel [kernel]
 N |     with T.ws(0):
   |          ^^^^^^^
  found: host code, outside of any T.Kernel
  fix: move it into a block: with T.Kernel(...) as bx:
""",
    "group_in_parallel": """
FILE:N: error: T.ws is done by all threads together and cannot be inside of T.Parallel [collective-in-parallel]
 N |             with T.ws(0):
   |                  ^^^^^^^
  found: the T.Parallel loop that begins at line N
  allowed: element reads, stores, atomics and scalar code
  fix: move it before or after the loop
""",
    "group_named": """
FILE:N: error: with T.ws(...) gives nothing to name [syntax]
 N |         with T.ws(0) as g:
   |                         ^
  found: g
""",
    "group_break": """
FILE:N: error: break in a T.ws block cannot leave a loop around it, which all groups run [control-flow]
 N |                 break
   |                 ^^^^^
  fix: put the loop into the T.ws block
""",
    "shared_fragment": """
FILE:N: error: the fragment c belongs to the threads that use it, and they differ [warp-groups]
 N |             T.copy(c, A)
   |             ^^^^^^^^^^^^
  found: T.ws(0) here, all threads before
  fix: use a fragment in T.ws blocks of the same groups only; shared memory passes tiles between groups
FILE:N: note: the other use
 N |         T.clear(c)
   |         ^^^^^^^^^^
""",
    "arrivals": """
FILE:N: error: the arrivals of a barrier are a compile-time integer [barrier]
 N |         bars = T.alloc_barrier([128, 0])
   |                ^^^^^^^^^^^^^^^^^^^^^^^^^
  found: arrive_count = 0
  allowed: 1 to 1048575
  fix: 128 when each thread of a warp group arrives, 1 when one thread does
""",
    "barrier_in_loop": """
FILE:N: error: T.alloc_barrier initialises barriers once, when the kernel begins [barrier]
 N |             bar = T.alloc_barrier(1)
   |                   ^^^^^^^^^^^^^^^^^^
  found: a loop, condition or T.ws block around it
  fix: move it to the top level of the kernel
""",
    "barrier_index": """
FILE:N: error: index 2 is outside of the barriers bars [index]
 N |         T.barrier_arrive(bars[2])
   |                          ^^^^^^^
  found: bars: 2 barriers
  allowed: -2 to 1
""",
    "barrier_by_thread": """
FILE:N: error: the index of a barrier must be the same for all threads [barrier]
 N |         T.barrier_arrive(bars[tx // 64])
   |                          ^^^^^^^^^^^^^^
  found: an index into bars that depends on the thread
  fix: choose the barrier by T.ws(...), by a block or by a loop index
""",
    "barrier_of_row": """
FILE:N: error: T.barrier_arrive takes one barrier [barrier]
 N |         T.barrier_arrive(bars)
   |         ^^^^^^^^^^^^^^^^^^^^^^
  found: bars: 2 barriers, without an index
  fix: name one of them: bars[i]
""",
    "no_barrier": """
FILE:N: error: T.mbarrier_arrive takes a barrier [barrier]
 N |         T.mbarrier_arrive(s)
   |         ^^^^^^^^^^^^^^^^^^^^
  found: s: 64 float16 in shared memory
  allowed: what T.alloc_barrier gives, or one of a row: bars[i]
""",
    "parity": """
FILE:N: error: the parity of T.mbarrier_wait_parity is that of a phase [barrier]
 N |         T.mbarrier_wait_parity(bar, 2)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: 2
  allowed: 0 or 1; a run-time integer, of which the last bit counts
""",
    "load_without_barrier": """
FILE:N: error: a load by T.tma_copy needs a barrier that tells when it is complete [barrier]
 N |         T.tma_copy(A, s)
   |         ^^^^^^^^^^^^^^^^
  found: A to s, without barrier=
  fix: full = T.alloc_barrier(...); T.tma_copy(..., barrier=full)
""",
    "store_with_barrier": """
FILE:N: error: a store by T.tma_copy completes without a barrier [barrier]
 N |         T.tma_copy(s, A, barrier=bar)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: s to A, with barrier=
  fix: leave it out, and wait with T.tma_store_wait()
""",
    "tma_fragment": """
FILE:N: error: T.tma_copy copies between a tensor and shared memory [barrier]
 N |         T.tma_copy(A, f, barrier=bar)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: A: 64 float16 in global memory to f: 64 float16 in a fragment
  fix: T.copy takes buffers of any kind
""",
    "tma_converts": """
FILE:N: error: T.tma_copy cannot convert [dtype]
 N |         T.tma_copy(A, s, barrier=bar)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: A: 64 float16 in global memory to s: 64 float32 in shared memory
  allowed: one element type on both sides
""",
    "tma_by_thread": """
FILE:N: error: T.tma_copy is started by one thread, which the compiler elects among all that are here [barrier]
 N |             T.tma_copy(A, s, barrier=bar)
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: a condition around it that differs between threads
  fix: take it out of the condition; T.ws(...) chooses warp groups
""",
    "named_number": """
FILE:N: error: T.named_barrier_sync names one of the hardware barriers by a compile-time integer [barrier]
 N |         T.named_barrier_sync(16, 128)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: 16
  allowed: 1 to 15; 0 is the barrier of the whole block, T.sync_threads()
""",
    "named_count": """
FILE:N: error: the threads that meet at T.named_barrier_arrive are whole warps of the block [barrier]
 N |         T.named_barrier_arrive(1, 100)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: 100 of 128 threads
  allowed: a multiple of 32 up to 128
""",
    "registers": """
FILE:N: error: the registers of T.set_max_nreg are a compile-time integer [argument]
 N |         T.set_max_nreg(100, 1)
   |         ^^^^^^^^^^^^^^^^^^^^^^
  found: 100
  allowed: a multiple of 8 from 24 to 256
""",
    "product_operand": """
FILE:N: error: B of T.wgmma_gemm is in shared memory [gemm-operands]
 N |         T.wgmma_gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^^^^^^^
  found: b: 32x64 float16 in a fragment
  fix: copy it to a T.alloc_shared buffer
""",
    "product_tile": """
FILE:N: error: T.wgmma_gemm makes tiles of 64 rows and of columns in steps of 8 [gemm-operands]
 N |         T.wgmma_gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^^^^^^^
  found: C 32x64 (c)
  allowed: M a multiple of 64, N a multiple of 8
""",
    "product_type": """
FILE:N: error: T.wgmma_gemm does not multiply this element type [gemm-operands]
 N |         T.wgmma_gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^^^^^^^
  found: A float32, B float32
  allowed: float16, bfloat16, 8-bit floats and integers
  fix: T.gemm rounds float32 to tf32 first
""",
    "product_major": """
FILE:N: error: wgmma of int8 reads operands along K only [gemm-operands]
 N |         T.wgmma_gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^^^^^^^
  found: B without transpose_B
  allowed: A M x K, B N x K with transpose_B=True
""",
    "product_forgotten": """
FILE:N: error: this product is never waited for [barrier]
 N |             T.wgmma_gemm(a, b, c)
   |             ^^^^^^^^^^^^^^^^^^^^^
  found: T.wgmma_gemm without a T.wait_wgmma behind it in the same code
  fix: T.wait_wgmma(0) before C is used
""",
    "ptx_register": """
FILE:N: error: registers of T.ptx have 16, 32 or 64 bits [dtype]
 N |         T.ptx("mov.b32 $0, $1;", s[0], outputs="int32")
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: operand 0 of type int8
  fix: convert it: T.cast(x, 'int32')
""",
    "ptx_fragment": """
FILE:N: error: T.ptx takes tensors and buffers in shared memory, which have an address [argument]
 N |         T.ptx("// $0", f)
   |         ^^^^^^^^^^^^^^^^^
  found: f: 64 float16 in a fragment
  fix: pass elements
""",
    "election": """
FILE:N: error: T.shuffle_elect elects among whole warps [argument]
 N |         if T.shuffle_elect(48):
   |            ^^^^^^^^^^^^^^^^^^^
  found: 48
  allowed: a multiple of 32; 0 for the whole block
""",
}


def normalized(error: FrontendError) -> str:
    """The text with file and line numbers replaced."""
    text = str(error).replace(faulty_explicit.__file__, "FILE")
    text = re.sub(r"FILE:\d+", "FILE:N", text)
    text = re.sub(r"^ \d+ \|", " N |", text, flags=re.M)
    text = re.sub(r"^ +\| ", "   | ", text, flags=re.M)
    return re.sub(r"\bline \d+", "line N", text)


@pytest.mark.parametrize("name", EXPECTED)
def test_text(name):
    error = error_of(getattr(faulty_explicit, name))
    assert normalized(error) == EXPECTED[name].strip("\n")
    assert error.code in CATALOGUE


def test_every_faulty_kernel_has_its_text():
    defined = re.findall(r"@T.prim_func\ndef (\w+)", Path(faulty_explicit.__file__).read_text())
    assert sorted(defined) == sorted(EXPECTED)


def test_cpu():
    """What needs threads at the same time is an error on the CPU target, at the line of the program."""

    @T.prim_func
    def barriers(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            bar = T.alloc_barrier(128)
            with T.ws(0):
                T.barrier_arrive(bar)
            A[bx] = 1.0

    @T.prim_func
    def meeting(A: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            T.sync_grid()
            A[bx] = 1.0

    with pytest.raises(FrontendError, match="needs blocks that run at the same time"):
        tilemlir.compile(meeting, target="cpu")

    @T.prim_func
    def inline(A: T.Tensor((64,), "int32")):
        with T.Kernel(1) as bx:
            A[bx] = T.ptx("mov.b32 $0, 1;", outputs="int32")

    with pytest.raises(FrontendError) as caught:
        tilemlir.compile(barriers, target="cpu")
    assert (
        str(caught.value)
        .splitlines()[0]
        .endswith(
            "error: T.alloc_barrier needs threads that run at the same time, which the CPU target does not have; "
            "compile for a GPU, or run the kernel on the simulator [verification]"
        )
    )
    assert caught.value.location.render()[1].split("|")[1].strip() == "^" * len("T.alloc_barrier(128)")
    with pytest.raises(FrontendError, match="code of a GPU, which the CPU target cannot run") as caught:
        tilemlir.compile(inline, target="cpu")
    assert caught.value.location.text.strip().startswith("A[bx] = T.ptx(")
