"""Forms of names whose threads meet in memory, in the simulator: right, and free of races."""

import pytest

pytest.importorskip("torch")

from name_forms import check, load_forms

NAMES = (
    "cumsum cummax reduce_any reduce_sum any_of all_of atomic_add atomic_max Parallel reshape view transpose ws".split()
)
FORMS = [form for form in load_forms() if form.name in NAMES and "sm_90a" in form.targets and not form.refused]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.name}: {form.text}")
def test_form(form):
    check(form.build(), {"kind": "simulator", "arch": "sm_90a"})
