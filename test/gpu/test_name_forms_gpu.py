"""Every form of the language's names, on the GPU: with code for sm_80 and for the device."""

import pytest
import tilemlir as tile

pytest.importorskip("torch")

from name_forms import check, load_forms


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("form", load_forms(), ids=lambda form: f"{form.name}: {form.text}")
def test_form(form, target):
    if target not in form.targets or form.refused:
        pytest.skip("not a form of this target")
    case = form.build()
    if case.jit is None and not tile.compile(case.program, target=target).can_run:
        pytest.skip("this machine does not run the target")
    check(case, target)
