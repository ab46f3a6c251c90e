"""Locations of operations, and the time that tracing takes to be useful."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import tilemlir.language as T
from tilemlir.frontend import range_of_location, trace


# fmt: off
@T.prim_func
def kernel(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
    with T.Kernel(1, threads=64) as bx:
        tile = T.alloc_shared((64, 64), "float16")
        总和 = 0; T.copy(A[0, 0],  # noqa: E702
                        tile)
        for i, j in T.Parallel(64, 64):
            B[i, j] = tile[i, j] * 2.0 + i
# fmt: on


def places() -> dict[str, Any]:
    """The source range of the last operation of each name."""
    found = {}

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    found[inner.operation.name] = range_of_location(inner.operation.location)
                    visit(inner.operation)

    visit(trace(kernel).module.operation)
    return found


def test_every_operation_has_the_users_range():
    first = kernel.function.__code__.co_firstlineno
    found = places()
    assert all(place is not None and place.file == __file__ for place in found.values())
    copy = found["tile.copy"]
    assert (copy.line - first, copy.end_line - first) == (4, 5)
    # Columns count characters, not bytes.
    assert copy.text[copy.column - 1 :].startswith("T.copy(A[0, 0]")
    product = found["arith.mulf"]
    assert product.line - first == 7
    assert product.text[product.column - 1 : product.end_column - 1] == "tile[i, j] * 2.0"
    total = found["arith.addf"]
    assert total.text[total.column - 1 : total.end_column - 1] == "tile[i, j] * 2.0 + i"
    loop = found["tile.parallel"]
    assert loop.text[loop.column - 1 : loop.end_column - 1] == "T.Parallel(64, 64)"
    assert found["tile.kernel"].text[found["tile.kernel"].column - 1 :].startswith("T.Kernel(1, threads=64)")


def test_locations_are_in_the_text():
    assert f'"{__file__}":' in trace(kernel).text
    assert inspect.getsourcefile(kernel.function) == __file__


def test_language_does_not_load_the_compiler():
    program = (
        "import sys, tilemlir.language as T\n"
        "import tilemlir.layout, tilemlir.intrinsics, tilemlir.frontend\n"
        "@T.prim_func\n"
        "def kernel(A: T.Tensor((8,), 'float32')):\n"
        "    pass\n"
        "assert not [name for name in sys.modules if name.startswith('tilemlir._mlir')], sys.modules\n"
        "assert 'numpy' not in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
