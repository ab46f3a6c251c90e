"""The exact text of errors: file and line, source line with carets, what was found, what is allowed, how to fix it."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import faulty_kernels
import pytest
from frontend_support import error_of
from tilemlir.frontend import CATALOGUE, FrontendError, SourceRange

EXPECTED = {
    "gemm_shape": """
FILE:N: error: the operands of T.gemm do not match: A has K = 32, B has K = 128 [gemm-operands]
 N |         T.gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^
  found: A 128x32 (a), B 128x32 (b), C 128x128 (c)
  allowed: A M x K, B K x N, C M x N; transpose_A takes K x M, transpose_B takes N x K
  fix: B looks like an N x K tile: pass transpose_B=True
""",
    "gemm_dtype": """
FILE:N: error: T.gemm cannot multiply these element types [dtype]
 N |         T.gemm(a, b, c)
   |         ^^^^^^^^^^^^^^^
  found: A float16, B float32, C float32
  allowed: A and B of one type (8-bit floats and 8-bit integers may mix among themselves), C float32, float16 or float64 for floats, int32 for integers
""",
    "rank": """
FILE:N: error: a store needs one index for each of the 2 dimensions of A [rank]
 N |         A[bx] = 1.0
   |         ^^^^^^^^^^^
  found: A: 64x64 float16 in global memory
  fix: use T.copy or T.fill to write more than one element
""",
    "rank3": """
FILE:N: error: A has 2 dimensions, but 3 indices are given [rank]
 N |             A[i, 0] = A[i, 0, 0]
   |                       ^^^^^^^^^^
  found: A: 64x64 float16 in global memory
  fix: give at most 2 indices
""",
    "undefined": """
FILE:N: error: the name A_shard is not defined [undefined-name]
 N |         T.copy(A, A_shard)
   |                   ^^^^^^^
  fix: did you mean A_shared?
""",
    "undefined_op": """
FILE:N: error: T has no aloc_shared [undefined-name]
 N |         A_shared = T.aloc_shared((64, 64), "float16")
   |                    ^^^^^^^^^^^^^
  fix: did you mean T.alloc_shared or T.alloc_var?
""",
    "symbolic": """
FILE:N: error: T.alloc_shared needs extents that are known when the kernel is compiled [symbolic-size]
 N |         A_shared = T.alloc_shared((D, 64), "float16")
   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: M in the shape of A_shared
  allowed: Python integers
  fix: use a block size that is an argument of the factory; T.const makes a size a constant
""",
    "dtype": """
FILE:N: error: 'float17' is not an element type; allowed are bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, tfloat32, float32, float64, float8_e4m3fn, float8_e5m2 [dtype]
 N |         A_shared = T.alloc_shared((64, 64), "float17")
   |                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    "try_": """
FILE:N: error: try is not allowed in a kernel [syntax]
 N |         try:
   |         ^^^^
  fix: check values with conditions
""",
    "walrus": """
FILE:N: error: the walrus operator := is not allowed in a kernel [syntax]
 N |         A[0, (n := 3)] = 1
   |               ^^^^^^
  fix: assign the value on a line of its own
""",
    "while_true": """
FILE:N: error: the condition of this while loop is always true [control-flow]
 N |         while True:
   |               ^^^^
  found: a compile-time condition
  allowed: conditions on run-time values, or on names that the loop assigns
  fix: for i in T.serial(n) with break, or a variable (T.alloc_var) as condition
""",
    "nested_parallel": """
FILE:N: error: T.Parallel loops cannot be nested [collective-in-parallel]
 N |             for j in T.Parallel(64):
   |                      ^^^^^^^^^^^^^^
  found: the T.Parallel loop that begins at line N
  fix: write one loop, for i, j in T.Parallel(m, n), or make the inner one T.serial
""",
    "copy_in_parallel": """
FILE:N: error: T.copy is done by all threads together and cannot be inside of T.Parallel [collective-in-parallel]
 N |             T.copy(A, s)
   |             ^^^^^^^^^^^^
  found: the T.Parallel loop that begins at line N
  allowed: element reads, stores, atomics and scalar code
  fix: move it before or after the loop
""",
    "copy_shape": """
FILE:N: error: the two sides of T.copy differ in shape [copy-shape]
 N |         T.copy(A, s)
   |         ^^^^^^^^^^^^
  found: A gives 64x64 and s gives 32x32
  allowed: the same extents, apart from dimensions of extent 1
""",
    "slice_shape": """
FILE:N: error: the two sides of T.copy differ in shape [copy-shape]
 N |         T.copy(A[0:32, 0:64], s)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^
  found: A gives 32x64 and s gives 32x32
  allowed: the same extents, apart from dimensions of extent 1
""",
    "oob": """
FILE:N: error: index 32 is outside of dimension 0 of s [index]
 N |         s[32, 0] = 1
   |         ^^^^^^^^^^^^
  found: s: 32x32 float16 in shared memory
  allowed: -32 to 31
""",
    "in_front": """
FILE:N: error: index -65 is outside of dimension 0 of A [index]
 N |         A[-65, 0] = 1
   |         ^^^^^^^^^^^^^
  found: A: 64x64 float16 in global memory
  allowed: -64 or more
""",
    "slice_oob": """
FILE:N: error: the slice of dimension 0 of s is partly outside [index]
 N |         T.copy(A[0, 0], s[16:48, :])
   |                         ^^^^^^^^^^^
  found: 16 to 48 of extent 32
""",
    "outside": """
FILE:N: error: T.alloc_shared must be inside of a kernel [kernel]
 N |     s = T.alloc_shared((32, 32), "float16")
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: host code, outside of any T.Kernel
  fix: move it into a block: with T.Kernel(...) as bx:
""",
    "nested_kernel": """
FILE:N: error: kernels cannot be nested [kernel]
 N |         with T.Kernel(1) as by:
   |              ^^^^^^^^^^^
  found: T.Kernel inside of the kernel that begins at line N
  fix: write the second T.Kernel after the first one; they run one after the other
""",
    "float_index": """
FILE:N: error: an index must be an integer, found a float32 [index]
 N |         A[bx / 2, 0] = 1
   |         ^^^^^^^^^^^^^^^^
  fix: convert it: T.cast(x, 'int32')
""",
    "float_grid": """
FILE:N: error: grid extent 0 must be an integer [argument]
 N |     with T.Kernel(64 / 32) as bx:
   |          ^^^^^^^^^^^^^^^^^
  found: 2.0
  fix: use T.ceildiv(n, block) instead of n / block
""",
    "threads": """
FILE:N: error: a block has 1 to 1024 threads [argument]
 N |     with T.Kernel(1, threads=2048) as bx:
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^
  found: threads = 2048 (2048 threads)
""",
    "loop_arity": """
FILE:N: error: T.Parallel gives 1 index, 2 names are given [call]
 N |         for i, j in T.Parallel(64):
   |                     ^^^^^^^^^^^^^^
  found: (i, j)
""",
    "kernel_arity": """
FILE:N: error: 3 values cannot be given to 2 names [call]
 N |     with T.Kernel(1, 2, 3) as (bx, by):
   |                               ^^^^^^^^
  found: (bx, by)
""",
    "wrong_call": """
FILE:N: error: T.alloc_shared is called with wrong arguments: missing a required argument: 'dtype' [call]
 N |         s = T.alloc_shared((64, 64))
   |             ^^^^^^^^^^^^^^^^^^^^^^^^
  allowed: T.alloc_shared(shape, dtype, scope='shared.dyn')
""",
    "wrong_keyword": """
FILE:N: error: T.copy is called with wrong arguments: got an unexpected keyword argument 'swizle' [call]
 N |         T.copy(A, s, swizle=True)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^
  allowed: T.copy(src, dst, *, coalesced_width=None, disable_tma=False, eviction_policy=None, prefer_instruction=None, annotations=None, loop_layout=None)
""",
    "not_available": """
FILE:N: error: T.alloc_tmem: tcgen05 and tensor memory of sm_100 are not available yet; T.gemm into a T.alloc_fragment accumulator runs there on the general path [not-available]
 N |         b = T.alloc_tmem((128, 64), "float32")
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    "rebind_kind": """
FILE:N: error: x holds an int32 since line N and cannot become a float16 here [rebinding]
 N |             x = x + A[i, 0]
   |             ^^^^^^^^^^^^^^^
  found: a float16 assigned under run-time control flow
  fix: give it its type at the start: x = T.alloc_var('float16', init=...), or convert the value: T.cast(..., 'int32')
""",
    "rebind_buffer": """
FILE:N: error: s cannot be given another value under run-time control flow [rebinding]
 N |             s = t
   |             ^^^^^
  found: s is s: 64x64 float16 in shared memory, the new value is t: 64x64 float16 in shared memory
  allowed: scalars, which become variables of the kernel
  fix: use another name, or decide at compile time
""",
    "loop_local": """
FILE:N: error: x has no value here: it is assigned only inside of a block of run-time control flow (line N) [undefined-name]
 N |         A[0, 0] = x
   |                   ^
  fix: give x a value before, at the level where it is used
""",
    "carried": """
FILE:N: error: total is carried from one iteration of T.Parallel to the next, but iterations have no order [rebinding]
 N |             total += A[i, 0]
   |             ^^^^^
  allowed: names that an iteration assigns before it reads them
  fix: accumulate in a buffer with T.reduce_sum, or use T.serial
""",
    "break_parallel": """
FILE:N: error: break is not allowed in T.Parallel, whose iterations have no order [control-flow]
 N |                 break
   |                 ^^^^^
  fix: guard the body with if, or use T.serial
""",
    "return_in_if": """
FILE:N: error: return is not allowed inside of run-time control flow [control-flow]
 N |             return
   |             ^^^^^^
  fix: assign the result to a variable (T.alloc_var) and return it at the end
""",
    "list_index": """
FILE:N: error: a Python container needs a compile-time index [compile-time-value]
 N |         A[0, 0] = [1, 2, 3][n]
   |                   ^^^^^^^^^^^^
  found: a run-time index into a list
  fix: put the values into a buffer (T.alloc_local), or loop over the container, which unrolls the loop
""",
    "buffer_arith": """
FILE:N: error: the operator * is not defined for these operands [argument]
 N |         s = s * 2.0
   |             ^^^^^^^
  found: s: 64x64 float16 in a fragment and 2.0
  allowed: run-time scalars and numbers; whole buffers are combined element by element in T.Parallel
""",
    "buffer_aug": """
FILE:N: error: s is a whole buffer and has no arithmetic of its own [argument]
 N |         s *= 2.0
   |         ^^^^^^^^
  fix: loop over its elements with T.Parallel
""",
    "matmul_op": """
FILE:N: error: the operator @ is not allowed in a kernel [syntax]
 N |         t = s @ s
   |             ^^^^^
  fix: T.gemm(A, B, C) multiplies tiles
""",
    "reduce_shape": """
FILE:N: error: the output of T.reduce_max has the wrong shape [reduce-shape]
 N |         T.reduce_max(s, m, dim=1)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^
  found: s 64x32 along dimension 1 into m 32
  allowed: 64 or 64x1
""",
    "atomic_fragment": """
FILE:N: error: T.atomic_add acts on global or shared memory [argument]
 N |         T.atomic_add(s[0, 0], 1.0)
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: s: 64x32 float16 in a fragment
  fix: a fragment or local buffer has one owner: use an ordinary assignment
""",
    "helper_raises": """
FILE:N: error: int raised ValueError while tracing: invalid literal for int() with base 10: 'x' [call]
 N |         A[0, 0] = int("x")
   |                   ^^^^^^^^
""",
    "helper_if": """
FILE:N: error: a run-time value has no truth value while tracing [compile-time-value]
 N |         A[0, 0] = plain_helper(n)
   |                   ^^^^^^^^^^^^^^^
  found: a bool that is known only when the kernel runs
  fix: write the condition in the kernel or in a @T.macro, where it becomes control flow of the kernel
""",
    "assertion": """
FILE:N: error: the assertion A.shape[0] % 48 == 0 fails: rows must be a multiple of 48 [call]
 N |         assert A.shape[0] % 48 == 0, "rows must be a multiple of 48"
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    "assertion_rt": """
FILE:N: error: assert checks compile-time conditions; this one is known only at run time [compile-time-value]
 N |         assert n > 0
   |         ^^^^^^^^^^^^
  fix: T.device_assert(condition, message) checks in the kernel, T.assume(condition) promises
""",
    "declared": """
FILE:N: error: the parameter A has no declaration [declaration]
 N | def declared(A, n: T.int32):
   |              ^
  allowed: T.Tensor(shape, dtype), T.StridedTensor(shape, strides, dtype), or a scalar type such as T.int32
  fix: A: T.Tensor((M, N), "float16")
""",
    "declared2": """
FILE:N: error: a parameter of declared2 is declared with an unknown name: annotation of 'A': name 'whatever' is not defined [undefined-name]
 N | def declared2(A: "whatever", n: T.int32):
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  allowed: T.Tensor(shape, dtype), T.StridedTensor(shape, strides, dtype), or a scalar type such as T.int32
""",
    "unsourced": """
FILE:N: error: the size M cannot be read from any argument [declaration]
 N |     with T.Kernel(D) as bx:
   |          ^^^^^^^^^^^
  allowed: sizes that are the whole extent of a dimension of a tensor argument
  fix: declare a tensor with M as one of its extents, or pass it: M: T.int32
""",
    "store_slice": """
FILE:N: error: a store needs one index for each of the 2 dimensions of A [rank]
 N |         A[0, :] = 1
   |         ^^^^^^^^^^^
  found: A: 64x64 float16 in global memory
  fix: use T.copy or T.fill to write more than one element
""",
    "literal": """
FILE:N: error: 300 does not fit into uint8 [dtype]
 N |         A[0, 0] = 300
   |         ^^^^^^^^^^^^^
  allowed: 0 to 255
""",
    "layout": """
FILE:N: error: the layout of s must come from tilemlir.layout [layout]
 N |         T.annotate_layout({s: lambda i, j: i})
   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: the function lambda_
  allowed: make_swizzled_layout(buffer), make_linear_layout(buffer)
""",
    "fstring": """
FILE:N: error: a run-time value cannot be used as text; use T.print to print it from the kernel [compile-time-value]
 N |         T.print(f"n = {n}")
   |                 ^^^^^^^^^^
  found: an int32 that is known only when the kernel runs
  allowed: values that are known while tracing: numbers, closure variables, arguments of the factory
""",
    "host_if": """
FILE:N: error: a condition on run-time values must be inside of a kernel [kernel]
 N |     if D > 5:
   |     ^^^^^^^^^
  found: host code, outside of any T.Kernel
  fix: move it into a block: with T.Kernel(...) as bx:
""",
    "dyn_slice": """
FILE:N: error: the extent of dimension 0 of the slice of A is not a constant [symbolic-size]
 N |         T.copy(A[0:n, 0:64], s)
   |                ^^^^^^^^^^^^
  allowed: slices such as A[i * 64 : (i + 1) * 64], whose ends differ by a constant
  fix: write A[start : start + 64] with a compile-time extent
""",
    "iterate": """
FILE:N: error: this can be iterated only by the kernel, not while tracing [compile-time-value]
 N |         for row in A:
   |                    ^
  found: A
  allowed: lists, tuples, dictionaries, range with constant bounds
""",
    "conflict": """
FILE:N: error: all iterations of j write the same element of R, in no order [parallel-conflict]
 N |             R[i] += A[i, j]
   |             ^^^^^^^^^^^^^^^
  found: a store without j in its place, in the T.Parallel loop of line N
  allowed: one element per iteration
  fix: combine values with T.reduce_sum, T.atomic_add or a T.serial loop
""",
    "no_kernel": """
FILE:N: error: no_kernel has no kernel [kernel]
 N | def no_kernel(A: T.Tensor((64, 64), "float16"), n: T.int32):
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: with T.Kernel(grid, threads=128) as bx: ...
""",
    "too_long": """
FILE:N: error: B is too long along dimension 1 [declaration]
 N | def too_long(A: T.Tensor((4, 2**31 - 1), "uint8"), B: T.Tensor((4, 2**31), "uint8")):
   |                                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: 2147483648 elements
  allowed: fewer than 2**31 along one dimension; the number of all elements may be larger
  fix: give the tensor more dimensions
""",
    "long_view": """
FILE:N: error: the view of A is too long along dimension 0 [declaration]
 N |         B = T.reshape(A, (2**32,))
   |             ^^^^^^^^^^^^^^^^^^^^^^
  found: 4294967296 elements
  allowed: fewer than 2**31 along one dimension; the number of all elements may be larger
  fix: give the tensor more dimensions
""",
    "workspace_size": """
FILE:N: error: the extents of a workspace must be known at launch [symbolic-size]
 N |         scratch = T.alloc_global((bx + 1, 64), "float16")
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: a run-time int32 that is computed in the kernel
  allowed: integers, T.dynamic sizes, T.num_sms(), scalar arguments, and integer expressions of them
""",
    "workspace_zeros": """
FILE:N: error: zero= of T.alloc_global says when the memory is filled with zeros [argument]
 N |     scratch = T.alloc_global((4, 64), "float16", zero="twice")
   |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: 'twice'
  allowed: True (at every call), "once" (when it is allocated), False
""",
    "workspace_type": """
FILE:N: error: the extents of a workspace must be integers [symbolic-size]
 N |     scratch = T.alloc_global((x, 64), "float16")
   |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: a run-time float32
""",
    "tiles_worker": """
FILE:N: error: the workers of T.Persistent(dynamic=True) are the blocks of a grid of one dimension [argument]
 N |         for i, in T.Persistent([64], 4, bx, dynamic=True):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: another index, or another number of workers than the grid has
  fix: with T.Kernel(count) as block: ... T.Persistent(tiles, count, block, dynamic=True)
""",
    "tiles_cluster": """
FILE:N: error: T.Persistent(dynamic=True) gives tiles to single blocks [argument]
 N |         for i, in T.Persistent([64], 8, bx, dynamic=True):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: a kernel with clusters
""",
    "tiles_nested": """
FILE:N: error: T.Persistent(dynamic=True) stands at the top level of a kernel [argument]
 N |             for i, in T.Persistent([64], 8, bx, dynamic=True):
   |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: a loop, a condition or T.ws around it
""",
    "tiles_break": """
FILE:N: error: a loop over T.Persistent(dynamic=True) cannot be left early: its block has fetched the next tile by then [syntax]
 N |         for i, in T.Persistent([64], 8, bx, dynamic=True):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: use a flag and continue, or leave out dynamic=True
""",
    "tiles_order": """
FILE:N: error: order of T.Persistent names every dimension of the domain once, the slowest first [argument]
 N |         for i, j in T.Persistent([8, 8], 8, bx, order=(0, ~0)):
   |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: (0, -1)
  allowed: the numbers 0 to 1; ~d for d from its last index to the first
""",
    "tiles_turns": """
FILE:N: error: T.Persistent has tiles from a counter or groups that take turns, not both [argument]
 N |         for i, in T.Persistent([64], 8, bx, dynamic=True, ping_pong=True):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: dynamic=True and ping_pong=True
""",
    "tiles_dynamic": """
FILE:N: error: dynamic of T.Persistent must be True or False at compile time [argument]
 N |         for i, in T.Persistent([64], 8, bx, dynamic=n):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    "tiles_stages": """
FILE:N: error: num_stages of T.Persistent must be a compile-time integer of at least 0 [argument]
 N |         for i, in T.Persistent([64], 8, bx, num_stages=-1):
   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  found: -1
""",
}


def normalized(error: FrontendError) -> str:
    """The text with file and line numbers replaced."""
    text = str(error).replace(faulty_kernels.__file__, "FILE")
    text = re.sub(r"FILE:\d+", "FILE:N", text)
    text = re.sub(r"^ \d+ \|", " N |", text, flags=re.M)
    text = re.sub(r"^ +\| ", "   | ", text, flags=re.M)
    return re.sub(r"\bline \d+", "line N", text)


@pytest.mark.parametrize("name", EXPECTED)
def test_text(name):
    assert normalized(error_of(getattr(faulty_kernels, name))) == EXPECTED[name].strip("\n")


def test_every_faulty_kernel_has_its_text():
    defined = re.findall(r"@T.prim_func\ndef (\w+)", Path(faulty_kernels.__file__).read_text())
    assert sorted(defined) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_line_and_carets(name):
    """The place is in the faulty kernel, and the range is the text of one construct of that line."""
    error = error_of(getattr(faulty_kernels, name))
    place = error.location
    assert place is not None and error.code in CATALOGUE
    lines = Path(faulty_kernels.__file__).read_text().splitlines()
    assert place.text.rstrip() == lines[place.line - 1]
    marked = place.text[place.column - 1 : place.end_column - 1 if place.end_line == place.line else None]
    assert marked and not marked.startswith(" ")
    first = getattr(faulty_kernels, name).function.__code__.co_firstlineno
    assert first <= place.line <= first + 12


def test_no_frames_of_the_evaluator():
    error = error_of(faulty_kernels.undefined)
    frames = traceback.extract_tb(error.__traceback__)
    assert [frame.name for frame in frames if "tilemlir" in frame.filename and "test" not in frame.filename] == [
        "trace"
    ]


def test_codes_are_checked():
    with pytest.raises(KeyError):
        FrontendError("no-such-code", "text")


def test_ranges_over_several_lines_mark_to_the_end_of_the_first():
    assert SourceRange("f", 3, 5, 4, 2, "    T.copy(A,").render() == [" 3 |     T.copy(A,", "   |     ^^^^^^^^^"]
