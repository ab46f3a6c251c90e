"""The forms of the language's names: one small program each, with what it must compute.

``FORMS`` is filled by the modules ``name_forms_*``. Tests run every form on every target, and the page of names in the
documentation lists them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilemlir as tile
import tilemlir.language as T
from tilemlir.compiler.target import parse

generator = np.random.default_rng()


@dataclass
class Case:
    """A program and what one call must do.

    Attributes:
        program: the traced function; its parameters are the inputs, then the outputs.
        inputs: arrays (NumPy, or torch tensors for types that NumPy lacks) and numbers.
        outputs: what outputs hold afterwards.
        initial: what outputs hold before, by position; others are filled with ones bits (NaN).
        tolerance: of elements, relative to 1 or to the element if it is larger.
        jit: instead of a program: a function of the target that makes a function of the inputs, as ``@tile.jit`` does.
    """

    program: Any
    inputs: list[Any]
    outputs: list[Any]
    initial: dict[int, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    jit: Callable[[str], Callable[..., Any]] | None = None


@dataclass(frozen=True)
class Form:
    """One way to write a name.

    Attributes:
        name: the name, as in ``T.<name>``.
        text: how the form is written.
        build: makes the program.
        targets: where it works.
        refused: instead of working, the text that its error contains.
    """

    name: str
    text: str
    build: Callable[[], Case]
    targets: tuple[str, ...]
    refused: str = ""


ALL = ("cpu", "sm_80", "sm_90a")
GPU = ("sm_80", "sm_90a")
HOPPER = ("sm_90a",)
FORMS: list[Form] = []
GUARD = 256  # bytes before and after an output


def form(name: str, text: str, targets: tuple[str, ...] = ALL, refused: str = "") -> Callable[[Any], Any]:
    """Registers the decorated function, which returns a :class:`Case`."""

    def register(build: Callable[[], Case]) -> Callable[[], Case]:
        FORMS.append(Form(name, text, build, targets, refused))
        return build

    return register


def load_forms() -> list[Form]:
    """All forms; needs torch."""
    for module in ("compute", "control", "memory", "scalars"):
        importlib.import_module(f"name_forms_{module}")
    return FORMS


def numbers(shape: Any, dtype: str = "float32", low: int = -4, high: int = 4) -> Any:
    """Small whole numbers, whose sums and products are exact; a torch tensor."""
    import torch

    values = generator.integers(low, high + 1, shape)
    if dtype.startswith(("uint", "int")):
        return torch.from_numpy(np.asarray(values).astype(dtype))
    return torch.from_numpy(np.asarray(values)).to(getattr(torch, dtype))


def elementwise(
    function: Callable[..., Any], inputs: list[Any], expected: Any, dtype: str, tolerance: float = 0.0
) -> Case:
    """``function`` of the elements of one to three vectors."""
    size = len(inputs[0])
    kinds = [str(one.dtype).removeprefix("torch.") for one in inputs]

    if len(inputs) == 1:

        @T.prim_func
        def kernel(x: T.Tensor((size,), kinds[0]), y: T.Tensor((size,), dtype)):
            with T.Kernel(1, threads=64) as _:
                for i in T.Parallel(size):
                    y[i] = function(x[i])

    elif len(inputs) == 2:

        @T.prim_func
        def kernel(x: T.Tensor((size,), kinds[0]), z: T.Tensor((size,), kinds[1]), y: T.Tensor((size,), dtype)):
            with T.Kernel(1, threads=64) as _:
                for i in T.Parallel(size):
                    y[i] = function(x[i], z[i])

    else:

        @T.prim_func
        def kernel(x: T.Tensor((size,), kinds[0]), z: T.Tensor((size,), kinds[1]), w: T.Tensor((size,), kinds[2]),
                   y: T.Tensor((size,), dtype)):  # fmt: skip
            with T.Kernel(1, threads=64) as _:
                for i in T.Parallel(size):
                    y[i] = function(x[i], z[i], w[i])

    return Case(kernel, inputs, [expected], tolerance=tolerance)


def check(case: Case, target: Any) -> None:
    """Compiles the program of ``case`` for a target that this machine runs, calls it, and compares."""
    import torch

    device = parse(target).device
    arguments = [value.to(device) if isinstance(value, torch.Tensor) else value for value in case.inputs]
    if case.jit is not None:
        made = case.jit(target)(*arguments)
        results = made if isinstance(made, (list, tuple)) else [made]
    else:
        results = _call_guarded(tile.compile(case.program, target=target), case, arguments, device)
    for expected, result in zip(case.outputs, results, strict=True):
        got, wanted = result.cpu(), expected
        assert got.dtype == wanted.dtype
        if got.dtype.is_floating_point:
            got, wanted = got.double(), wanted.double()
        np.testing.assert_allclose(
            got.numpy(), wanted.numpy(), rtol=case.tolerance, atol=case.tolerance, equal_nan=True
        )


def _call_guarded(kernel: Any, case: Case, arguments: list[Any], device: str) -> list[Any]:
    """The outputs of one call; bytes around them must not change."""
    import torch

    memories, results = [], []
    for position, expected in enumerate(case.outputs):
        size = expected.numel() * expected.element_size()
        memory = torch.full((size + 2 * GUARD,), 0xFF, dtype=torch.uint8, device=device)
        result = memory[GUARD : GUARD + size].view(expected.dtype).view(expected.shape)
        if position in case.initial:
            result.copy_(case.initial[position])
        memories.append(memory)
        results.append(result)
    kernel(*arguments, *results)
    for memory in memories:
        raw = memory.cpu()
        assert bool((raw[:GUARD] == 0xFF).all() and (raw[-GUARD:] == 0xFF).all()), "bytes around an output were written"
    return results
