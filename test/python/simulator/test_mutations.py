"""Each fault of the mutation suite is noticed by who the table says; the unchanged kernels have none."""

import mutations
import pytest
from mutation_kernels import KERNELS, compiled
from mutation_table import MUTATIONS, PLAN, PTX, VERIFIER
from tilemlir.simulator import Settings, simulate

SEEDS = range(3)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_fault_is_noticed(mutation):
    assert mutations.mutate(mutation) != mutations.original(mutation.kernel, mutation.level)
    for seed, verdict in enumerate(mutations.run(mutation, SEEDS)):
        assert verdict.confirms(mutation), f"seed {seed}: {verdict.by or 'nobody'} says {verdict.text}"


@pytest.mark.parametrize("name", KERNELS)
def test_no_fault_without_mutation(name):
    """Of benchmarks/schedules.py, which runs hundreds of seeds, a few."""
    subject = KERNELS[name]
    for seed in SEEDS:
        operands = subject.operands()
        result = simulate(compiled(name), *operands, settings=Settings(seed=seed))
        assert result.report.ok, str(result.report)
        assert subject.agrees(result.outputs, operands)


def test_size_of_the_suite():
    """At least 40 faults, 12 of them in IR, on all kernels; each has a name of its own."""
    assert len(MUTATIONS) == len({one.name for one in MUTATIONS}) >= 40
    assert sum(one.level not in (PTX, PLAN) for one in MUTATIONS) >= 12
    assert {one.kernel for one in MUTATIONS} == set(KERNELS)
    # What no check sees may show in the result: for few faults.
    assert sum("wrong result" in one.finds for one in MUTATIONS) <= len(MUTATIONS) // 6
    assert all(one.by == VERIFIER or "wrong result" not in one.finds or len(one.finds) <= 3 for one in MUTATIONS)
