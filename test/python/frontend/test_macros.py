"""Macros, closures, helper objects, and functions defined in other ways."""

from __future__ import annotations

import linecache

import pytest
import tilemlir.language as T
from frontend_support import error_of, operations, text_of
from tilemlir.frontend import trace


@T.macro
def scale_row(buffer, row, factor: T.float32 = 2.0):
    for j in T.Parallel(buffer.shape[1]):
        buffer[row, j] = buffer[row, j] * factor


@T.macro
def increment(counter: T.Ref, amount):
    counter = counter + amount
    counter += 1


@T.macro
def squared(x):
    y = x * x
    return y


def test_macro_by_value_and_by_reference():
    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            scale_row(A, bx)
            scale_row(A, row=bx, factor=3.0)
            count = T.alloc_var("int32", init=0)
            increment(count, 4)
            increment(C[bx], 1)
            C[0] = squared(count)

    names = operations(trace(kernel))
    assert names.count("tile.parallel") == 2
    text = text_of(kernel)
    assert text.count("!tile.buffer<i32, local>") == 1 + 2 * 2 + 1
    assert names.count("arith.muli") == 1


def test_macro_of_a_class():
    class Scheduler:
        def __init__(self, width):
            self.width = width
            self.seen = []

        @T.macro
        def position(self, index):
            self.seen.append("position")
            return index // self.width, index % self.width

    scheduler = Scheduler(8)

    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(64) as bx:
            row, column = scheduler.position(bx)
            A[row, column] = 1.0

    assert "tile.store" in text_of(kernel)
    assert scheduler.seen == ["position"]


def test_macro_locals_do_not_leak():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            squared(A[0])
            A[1] = y  # noqa: F821

    error = error_of(kernel)
    assert error.code == "undefined-name" and "y is not defined" in error.message


def test_errors_in_macros_name_both_places():
    @T.macro
    def wrong(buffer):
        buffer[0, 0, 0] = 1.0

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            wrong(A)

    text = str(error_of(kernel))
    assert "A has 1 dimension, but 3 indices are given" in text
    assert "note: in the macro wrong, called here" in text
    assert "wrong(A)" in text and "buffer[0, 0, 0]" in text


def test_call_site_locations():
    @T.prim_func
    def kernel(A: T.Tensor((8, 64), "float32")):
        with T.Kernel(8) as bx:
            scale_row(A, bx)

    text = trace(kernel).text
    assert "callsite(" in text


def test_recursion_ends_with_an_error():
    @T.macro
    def forever(x):
        forever(x)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            forever(A)

    assert "calls itself without end" in error_of(kernel).message


def test_notebook_cells(tmp_path):
    source = (
        "import tilemlir.language as T\n"
        "def factory(n):\n"
        "    @T.prim_func\n"
        '    def kernel(A: T.Tensor((n,), "float32")):\n'
        "        with T.Kernel(1) as bx:\n"
        "            A[0] = n\n"
        "    return kernel\n"
    )
    name = "<ipython-input-1>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict = {}
    exec(compile(source, name, "exec"), scope)
    traced = trace(scope["factory"](4))
    assert '"<ipython-input-1>":6:' in traced.text


def test_prompt_without_source():
    scope: dict = {"T": T}
    exec(compile('@T.prim_func\ndef kernel(A: T.Tensor((8,), "float32")):\n  pass\n', "<stdin>", "exec"), scope)
    error = error_of(scope["kernel"])
    assert error.code == "source"
    assert error.message == "the source text of kernel is not available"
    assert "define the kernel in a file or in a notebook cell" in error.fix


def test_postponed_annotations():
    """This file has `from __future__ import annotations`: the declarations above are evaluated late."""

    def factory(n, dtype):
        @T.prim_func
        def kernel(A: T.Tensor((n,), dtype), k: T.int32, m: int):
            with T.Kernel(1) as bx:
                A[k] = m

        return kernel

    text = text_of(factory(16, "float16"))
    assert "memref<16xf16>" in text and text.count("scalar>") == 2


def test_default_arguments_are_compile_time_values():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), block=4):
        with T.Kernel(T.ceildiv(8, block)) as bx:
            for i in T.Parallel(block):
                A[bx * block + i] = 1.0

    assert "tile.parallel [4]" in text_of(kernel)


def test_decorators_and_odd_layouts_of_source():
    # fmt: off
    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"),
        B: T.Tensor((8,),
  "float32"),
    ):
        with T.Kernel(1) as bx:
            """A docstring
at the margin."""
            A[0] = (B[0] +
    B[1])
    # a comment at the margin
            A[1] = 2.0
    # fmt: on

    assert operations(trace(kernel)).count("tile.store") == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "int8"])
def test_closures_share_one_parsed_source(dtype):
    def factory(kind):
        @T.prim_func
        def kernel(A: T.Tensor((8,), kind)):
            with T.Kernel(1) as bx:
                A[0] = 1

        return kernel

    assert "memref<8x" in text_of(factory(dtype))
