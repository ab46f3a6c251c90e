"""Makes a failing program smaller by leaving out parts of its description.

Hypothesis shrinks what it drew; where many draws hang on one another it stops early. What it leaves is cut here by the
structure of the program: statements, branches, loops, kernels, extents of the grid, options, unused arguments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fuzz.program import (
    Assign,
    Binary,
    Cast,
    Const,
    Copy,
    Dim,
    Gemm,
    Guard,
    If,
    Kernel,
    Load,
    Loop,
    Parallel,
    Persistent,
    Program,
    Region,
    Select,
    Tensor,
    TileAtomic,
    Unary,
    Var,
    walk,
)

_BODIES = (If, Loop, Persistent, Parallel, Guard)


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program found that still fails.

    Args:
        program: that fails.
        fails: whether another one fails in the same way.
        seconds: after which to stop.
    """
    deadline = time.time() + seconds
    changed = True
    while changed:
        changed = False
        for candidate in candidates(program):
            if time.time() > deadline:
                return program
            candidate = without_unused(candidate)
            if candidate != program and fails(candidate):
                program, changed = candidate, True
                break
    return program


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the boldest cuts first."""
    for position in range(len(program.kernels)):
        if len(program.kernels) > 1:
            yield replace(program, kernels=_without(program.kernels, position))
    for position, kernel in enumerate(program.kernels):
        for smaller in _kernels(kernel):
            yield replace(program, kernels=(*program.kernels[:position], smaller, *program.kernels[position + 1 :]))
    for position, tensor in enumerate(program.tensors):
        for other in _tensors(tensor):
            yield replace(program, tensors=(*program.tensors[:position], other, *program.tensors[position + 1 :]))


def _without(items: tuple, position: int) -> tuple:
    return (*items[:position], *items[position + 1 :])


def _kernels(kernel: Kernel) -> Iterator[Kernel]:
    for body in _bodies(kernel.body):
        yield replace(kernel, body=body)
    for axis, extent in enumerate(kernel.grid):
        if extent != 1:
            yield replace(kernel, grid=(*kernel.grid[:axis], 1, *kernel.grid[axis + 1 :]))
    if kernel.swizzle:
        yield replace(kernel, swizzle=0)
    if kernel.clusters:
        yield replace(kernel, clusters=())
    if kernel.threads != 128:
        yield replace(kernel, threads=128)
    for expression in _expressions(kernel.body):
        yield replace(kernel, body=expression)


def _bodies(body: tuple) -> Iterator[tuple]:
    """Bodies with one statement less, or with one replaced by what is in it."""
    for position in range(len(body)):
        yield _without(body, position)
    for position, one in enumerate(body):
        before, after = body[:position], body[position + 1 :]
        if isinstance(one, (If, Guard)):
            yield (*before, *one.then, *after)
            if one.otherwise:
                yield (*before, replace(one, otherwise=()), *after)
        if isinstance(one, (Loop, Persistent)):
            if not any(_uses(one.body, name) for name in (getattr(one, "names", None) or (one.name,))):
                yield (*before, *one.body, *after)
        if isinstance(one, Loop):
            if one.kind == "pipelined" and one.stages > 1:
                yield (*before, replace(one, stages=one.stages - 1), *after)
            if not isinstance(one.stop, Const):
                for count in (1, 2, 3):
                    yield (*before, replace(one, stop=Const(count)), *after)
            elif one.stop.value > 1:
                yield (*before, replace(one, stop=Const(one.stop.value - 1)), *after)
        if isinstance(one, Gemm):
            if one.policy != "Square":
                yield (*before, replace(one, policy="Square"), *after)
        if isinstance(one, _BODIES):
            for name in ("then", "otherwise") if isinstance(one, (If, Guard)) else ("body",):
                for inner in _bodies(getattr(one, name)):
                    if inner or name == "otherwise":
                        yield (*before, replace(one, **{name: inner}), *after)


def _uses(node: object, name: str) -> bool:
    return any(isinstance(one, Var) and one.name == name for one in walk(node))


def _expressions(node: Any) -> Iterator[Any]:
    """The same with one expression replaced by one of its operands, or one region written as a whole."""
    if isinstance(node, tuple):
        for position, part in enumerate(node):
            for other in _expressions(part):
                yield (*node[:position], other, *node[position + 1 :])
        return
    if not is_dataclass(node):
        return
    if isinstance(node, Binary) and node.op not in ("//", "%"):
        yield from (part for part in (node.left, node.right) if not isinstance(part, Const))
    if isinstance(node, Unary):
        yield node.operand
    if isinstance(node, Cast):
        yield node.operand
    if isinstance(node, Select):
        yield node.then
        yield node.otherwise
    for field in fields(node):
        if field.name in ("shape", "grid", "buffers", "target"):
            continue
        for other in _expressions(getattr(node, field.name)):
            yield replace(node, **{field.name: other})


def _tensors(tensor: Tensor) -> Iterator[Tensor]:
    if tensor.shift:
        yield replace(tensor, shift=0)
    if tensor.workspace:
        yield replace(tensor, workspace=False)
    if tensor.strides is not None:
        yield replace(tensor, strides=None)
    if any(isinstance(size, Dim) for size in tensor.shape):
        yield replace(tensor, shape=tuple(size.value if isinstance(size, Dim) else size for size in tensor.shape))
    if tensor.data not in ("", "small", "flags"):
        yield replace(tensor, data="small")


def without_unused(program: Program) -> Program:
    """A program without arguments and buffers that nothing uses."""
    used = {getattr(one, "name", None) for one in walk(program.kernels) if isinstance(one, (Region, Load, Var, Dim))}
    for one in walk(program.kernels):
        if isinstance(one, Dim):
            used |= {tensor.name for tensor in program.tensors if one in tensor.shape}
        if is_dataclass(one) and not isinstance(one, (Copy, TileAtomic, Assign)):
            used |= {getattr(one, name, None) for name in ("a", "b", "c", "source", "dest") if isinstance(getattr(one, name, None), str)}  # noqa: E501  # fmt: skip
            if type(one).__name__ == "Fill":
                used.add(one.name)
        if isinstance(one, TileAtomic):
            used.add(one.source)
    kernels = tuple(
        replace(kernel, buffers=tuple(buffer for buffer in kernel.buffers if buffer.name in used))
        for kernel in program.kernels
    )
    tensors = tuple(tensor for tensor in program.tensors if tensor.name in used)
    scalars = tuple(scalar for scalar in program.scalars if scalar.name in used)
    return replace(program, kernels=kernels, tensors=tensors, scalars=scalars)


__all__ = ["candidates", "reduced", "without_unused"]
