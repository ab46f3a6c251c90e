"""Every form of the language's names computes what it should on the CPU, and assembles for GPUs without spills."""

import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir.compiler import toolchain
from tilemlir.errors import TileError
from tilemlir.language import unavailable
from tilemlir.language.differences import DIFFERENCES, FREQUENT

pytest.importorskip("torch")

from name_forms import check, load_forms

FORMS = load_forms()


def name_of(form):
    return f"{form.name}: {form.text}"


def assembler_problem():
    try:
        return "" if toolchain.find_assembler().kind == "ptxas" else "the driver says nothing about registers"
    except TileError as error:
        return str(error)


@pytest.mark.parametrize("form", FORMS, ids=name_of)
def test_form(form, capfd):
    case = form.build()
    only_cpu = assembler_problem() or case.jit  # which compiles when it is called
    for target in ("cpu",) if only_cpu else form.targets:
        if target not in form.targets:
            continue
        if form.refused:
            with pytest.raises(TileError) as caught:
                tile.compile(case.program, target=target)
            assert form.refused in str(caught.value)
            assert "name_forms_" in str(caught.value)  # the place in the program
            continue
        if target == "cpu":
            check(case, target)
        else:
            kernel = tile.compile(case.program, target=target)
            for one in kernel.explain().to_dict()["kernels"]:
                assert one["spill_bytes"] == 0, one


def test_texts_of_forms_are_unique():
    texts = [name_of(form) for form in FORMS]
    assert sorted(set(texts)) == sorted(texts)


def test_every_frequent_name_works_or_is_refused():
    with_forms = {form.name for form in FORMS}
    for name in FREQUENT:
        if name not in unavailable.REASONS:
            assert hasattr(T, name)
            assert name in with_forms, name


def test_differences_name_what_exists():
    assert all(hasattr(T, name) for name in DIFFERENCES)
    assert not set(T.__all__) & set(unavailable.REASONS)
