"""Estimates the work of a described program, so that none is drawn that takes minutes where every lane is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from fuzz.program import (
    Binary,
    Buffer,
    Const,
    Copy,
    Expr,
    Gemm,
    If,
    Kernel,
    Loop,
    Parallel,
    Persistent,
    Program,
    Reduce,
    Scan,
    Statement,
    TileAtomic,
    Transpose,
    Var,
    value_of,
    walk,
)

#: Types of operands that tensor cores multiply, of which one instruction stands for thousands of operations.
TENSOR_CORE_TYPES = {"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"}
TENSOR_CORE_SHARE = 1 / 16


def work(program: Program) -> float:
    """Operations of single lanes, about: elements times operators, and multiply-adds of products.

    Loops count with the greatest number of iterations that the launch can give them, both sides of conditions count.
    """
    scalars = {one.name: int(one.value) for one in program.scalars}
    return sum(_kernel(kernel, scalars) for kernel in program.kernels)


def _kernel(kernel: Kernel, scalars: Mapping[str, int]) -> float:
    extents = [-(-value_of(one[0]) // one[1]) if isinstance(one, tuple) else value_of(one) for one in kernel.grid]
    most = {**scalars, **{name: extent - 1 for name, extent in zip(kernel.names, extents, strict=True)}}
    return prod(extents) * _body(kernel.body, most, {one.name: one for one in kernel.buffers})


def _body(body: Sequence[Statement], most: Mapping[str, int], buffers: Mapping[str, Buffer]) -> float:
    return sum(_statement(one, most, buffers) for one in body)


def _statement(one: Statement, most: Mapping[str, int], buffers: Mapping[str, Buffer]) -> float:
    if isinstance(one, Loop):
        trips = max(_most(one.stop, most) - one.start, 0)
        return trips * _body(one.body, {**most, one.name: trips + one.start - 1}, buffers)
    if isinstance(one, Persistent):
        inside = {**most, **{name: extent - 1 for name, extent in zip(one.names, one.domain, strict=True)}}
        return -(-prod(one.domain) // one.workers) * _body(one.body, inside, buffers)
    if isinstance(one, If):
        return _body(one.then, most, buffers) + _body(one.otherwise, most, buffers)
    if isinstance(one, Gemm):
        a, c = buffers[one.a], buffers[one.c]
        on_tensor_cores = a.dtype in TENSOR_CORE_TYPES or (a.dtype == "float32" and one.precision == "tf32")
        steps = a.shape[0 if one.transpose_a else 1]
        return prod(c.shape) * steps * (TENSOR_CORE_SHARE if on_tensor_cores else 1)
    if isinstance(one, Parallel):
        return prod(one.extents) * sum(1 for _ in walk(one.body))
    if isinstance(one, (Reduce, Scan, Transpose, TileAtomic)):
        return prod(buffers[one.source].shape)
    if isinstance(one, Copy):
        names = [side.name for side in (one.source, one.dest) if side.name in buffers]
        return max(prod(buffers[name].shape) for name in names) if names else 0
    return prod(buffers[one.name].shape)


def _most(expr: Expr, most: Mapping[str, int]) -> int:
    """The greatest value of the end of a loop: numbers, names and sums of these."""
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        return most[expr.name]
    if isinstance(expr, Binary) and expr.op == "+":
        return _most(expr.left, most) + _most(expr.right, most)
    raise NotImplementedError(f"the end of a loop as {expr!r}")
