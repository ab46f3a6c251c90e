"""Operations on fragments over ranks, sizes, element types and threads, on the GPU."""

import pytest
import tilemlir as tile
from fragment_matrix import cases, check, program

pytest.importorskip("torch")
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", cases(), ids=str)
def test_operation(case, arch):
    kernel = tile.compile(program(case), target=arch)
    if not kernel.can_run:
        pytest.skip("this machine does not run the target")
    check(kernel, case)
