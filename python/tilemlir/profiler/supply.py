"""Input tensors for profiling and checking, made from a launch plan's arguments."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from tilemlir.interop import frameworks
from tilemlir.interop.dtypes import ElementType, element_type, numpy_dtype, torch_dtype

__all__ = ["TensorSupplyType", "make_tensor"]


class TensorSupplyType(Enum):
    """What input tensors hold."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


class _Recipe(NamedTuple):
    """Values to draw: `kind` is ``"constant"`` (low), ``"integers"`` or ``"uniform"`` in [low, high), or ``"normal"``.

    Drawn values are multiplied by `scale` and rounded when `whole`; negative ones are mirrored when `positive`.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    whole: bool = False
    positive: bool = False


def _recipe(supply: TensorSupplyType, entry: ElementType) -> _Recipe:
    unsigned = entry.short.startswith("u")
    integer = unsigned or entry.short.startswith("i")
    if supply in (TensorSupplyType.Zero, TensorSupplyType.One):
        return _Recipe("constant", 0.0 if supply is TensorSupplyType.Zero else 1.0)
    if entry.short == "bool":
        return _Recipe("integers", 0, 2)
    if supply is TensorSupplyType.Integer or (supply is TensorSupplyType.Auto and integer):
        # Small numbers: sums of products stay exact in every accumulator.
        return _Recipe("integers", 0 if unsigned else -2, 3)
    scale = 4.0 if integer else 1.0
    if supply is TensorSupplyType.Uniform or (supply is TensorSupplyType.Auto and entry.bits == 8):
        return _Recipe("uniform", -1.0, 1.0, scale, integer, unsigned)
    return _Recipe("normal", 0.0, 0.0, scale, integer, unsigned)


def _draw_numpy(recipe: _Recipe, shape: tuple[int, ...], seed: int | None) -> Any:
    import numpy

    generator = numpy.random.default_rng(seed)
    if recipe.kind == "constant":
        return numpy.full(shape, recipe.low)
    if recipe.kind == "integers":
        return generator.integers(int(recipe.low), int(recipe.high), shape)
    values = generator.standard_normal(shape) if recipe.kind == "normal" else generator.uniform(-1.0, 1.0, shape)
    values = numpy.abs(values) if recipe.positive else values
    return numpy.rint(values * recipe.scale) if recipe.whole else values


def _draw_torch(recipe: _Recipe, shape: tuple[int, ...], seed: int | None, device: str) -> Any:
    import torch

    generator = torch.Generator(device=device)
    generator.seed() if seed is None else generator.manual_seed(seed)
    options: dict[str, Any] = {"device": device, "dtype": torch.float32}
    if recipe.kind == "constant":
        return torch.full(shape, recipe.low, **options)
    options["generator"] = generator
    if recipe.kind == "integers":
        return torch.randint(int(recipe.low), int(recipe.high), shape, **options)
    values = torch.randn(shape, **options) if recipe.kind == "normal" else torch.rand(shape, **options) * 2.0 - 1.0
    values = values.abs() if recipe.positive else values
    return (values * recipe.scale).round() if recipe.whole else values


def make_tensor(
    dtype: object,
    shape: tuple[int, ...],
    supply: TensorSupplyType = TensorSupplyType.Auto,
    device: str = "cpu",
    framework: str | None = None,
    seed: int | None = None,
) -> Any:
    """A new tensor.

    Args:
        dtype: any name or dtype that `element_type` knows.
        shape: sizes in elements.
        supply: what it holds; `Auto` is standard normal for floats (uniform in [-1, 1] for 8-bit ones) and small whole
            numbers for integers.
        device: ``"cpu"`` or a CUDA device of torch, where the values are drawn.
        framework: ``"torch"`` or ``"numpy"``; None: torch on a GPU or when the program uses it.
        seed: for repeatable values; None draws fresh ones.
    """
    entry = element_type(dtype)
    recipe = _recipe(supply, entry)
    if framework is None:
        framework = "torch" if device != "cpu" or frameworks.loaded_torch() is not None else "numpy"
    if framework == "numpy":
        return _draw_numpy(recipe, shape, seed).astype(numpy_dtype(entry))
    return _draw_torch(recipe, shape, seed, device).to(torch_dtype(entry))
