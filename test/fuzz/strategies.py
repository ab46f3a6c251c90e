"""Hypothesis strategies of whole programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from fuzz.kernels import KernelDrawer
from fuzz.operands import Operands
from fuzz.program import Program
from fuzz.work import work

#: Work (see ``work``) of a program that the simulator finishes in less than a minute.
MOST_WORK = 8e6


@st.composite
def programs(draw: Callable[[Any], Any], schedule: bool = True) -> Program:
    """A kernel function of one or two kernels with its data.

    Args:
        draw: given by hypothesis.
        schedule: draw a seed for the simulator's scheduler.
    """
    operands = Operands(draw)
    count = 2 if operands.chance(22) else 1
    kernels = []
    for number in range(count):
        operands.follows = number + 1 < count
        kernels.append(KernelDrawer(draw, operands, number).kernel())
        operands.next_kernel()
    seed = draw(st.integers(0, 9999))
    program = Program(
        tuple(operands.tensors),
        tuple(operands.scalars),
        tuple(kernels),
        seed,
        draw(st.integers(0, 99)) if schedule else 0,
    )
    assume(work(program) <= MOST_WORK)
    return program
