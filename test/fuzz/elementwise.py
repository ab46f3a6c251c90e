"""Draws parallel loops: which elements they write, where they read, under which conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fuzz.elements import ELEMENTS
from fuzz.expressions import Expressions
from fuzz.operands import Bound, load_of, plus, scaled
from fuzz.program import (
    Assign,
    Atomic,
    Binary,
    Buffer,
    Compare,
    Const,
    Expr,
    Guard,
    Load,
    Logic,
    Parallel,
    Statement,
    Var,
    value_of,
)

if TYPE_CHECKING:
    from fuzz.kernels import KernelDrawer

_NAMES = ("p", "q", "r", "t")


class ElementwiseDrawer:
    """Parallel loops of the kernel that a drawer makes."""

    def __init__(self, kernel: KernelDrawer) -> None:
        self.kernel = kernel

    def statement(self) -> list[Statement]:
        """A loop that writes a buffer, an output, or adds to a tensor atomically."""
        k = self.kernel
        choice = k.integer(0, 9)
        if choice <= 5:
            return self.change(k.buffer())
        if choice <= 7:
            return self._to_tensor()
        if choice == 8:
            return self._atomics()
        return self._two_buffers()

    def change(self, buffer: Buffer) -> list[Statement]:
        """A loop that writes a buffer, from itself and others."""
        k = self.kernel
        names = _NAMES[: len(buffer.shape)]
        before: list[Statement] = []
        form = k.integer(0, 9)
        extents = buffer.shape
        indices: tuple[Expr, ...] = tuple(Var(name) for name in names)
        whole = True
        if form == 7 and any(extent > 1 for extent in extents):
            extents = tuple(k.integer(1, extent) for extent in extents)
            whole = extents == buffer.shape
        elif form == 8 and len(extents) > 1:
            extents = extents[::-1]
            indices = indices[::-1]
        elif form == 9 and buffer.space == "shared":
            axis = k.integer(0, len(extents) - 1)
            mirrored = Binary("-", Const(extents[axis] - 1), indices[axis])
            indices = (*indices[:axis], mirrored, *indices[axis + 1 :])
        target = load_of(buffer.name, buffer.dtype, indices)
        guarded = k.chance(20)
        if buffer.name not in k.defined and (not whole or guarded or k.chance(25)):
            before += k.define(buffer)
        readable = buffer.name in k.defined
        own = [target] if readable else []
        expressions = self._expressions(names, extents, {buffer.name}, own)
        value = expressions.of_type(buffer.dtype, k.integer(1, 3))
        op = ""
        if readable and k.chance(25) and self._augments(buffer.dtype, value):
            op = k.pick(["+", "-"])
        body: tuple[Assign | Guard, ...] = (Assign(target, value, op),)
        if guarded:
            body = (self._guard(body[0], target, expressions),)
        k.defined.add(buffer.name)
        k.stored.discard(buffer.name)
        return [*before, Parallel(names, extents, body)]

    @staticmethod
    def _augments(dtype: str, value: Expr) -> bool:
        return dtype != "bool" and (ELEMENTS[dtype].is_float or not ELEMENTS[value.dtype].is_float)

    def _guard(self, assign: Assign, target: Load, expressions: Expressions) -> Guard:
        k = self.kernel
        otherwise: tuple[Assign, ...] = ()
        if k.chance(40):
            otherwise = (Assign(target, expressions.of_type(target.dtype, 1)),)
        if k.chance(60):
            # Bounds of indices, which the compiler reasons about.
            left = k.pick(expressions.indices)
            test: Expr = Compare(k.pick(["<", ">=", "<=", "!="]), left, Const(k.integer(0, 40)))
            if k.chance(30):
                test = Logic(k.pick(["and", "or"]), test, Compare(">", k.pick(expressions.indices), Const(k.integer(0, 8))))  # noqa: E501  # fmt: skip
        else:
            test = expressions.truth(1)
        return Guard(test, (assign,), otherwise)

    def _two_buffers(self) -> list[Statement]:
        """Two statements in one loop; the second sees what the first wrote in the same iteration."""
        k = self.kernel
        first = k.buffer()
        before = k.defined_or_new(first)
        second = k.new_buffer(k.pick(["fragment", "shared"]), first.shape, k.operands.dtype())
        names = _NAMES[: len(first.shape)]
        indices = tuple(Var(name) for name in names)
        one, two = (load_of(buffer.name, buffer.dtype, indices) for buffer in (first, second))
        expressions = self._expressions(names, first.shape, {first.name, second.name}, [one])
        assigns = (
            Assign(one, expressions.of_type(first.dtype, 1)),
            Assign(two, expressions.of_type(second.dtype, 2)),
        )
        k.defined |= {first.name, second.name}
        k.stored -= {first.name, second.name}
        return [*before, Parallel(names, first.shape, assigns)]

    def _to_tensor(self) -> list[Statement]:
        """A loop that writes elements of an output directly."""
        k = self.kernel
        k.outputs += 1
        if k.outputs > 5:
            return []
        shape = self._shape_of_some_buffer()
        names = _NAMES[: len(shape)]
        dtype = k.operands.dtype()
        region = k.operands.destination(shape, dtype, k.unique, [], False)
        tensor = k.operands.tensor(region.name)
        places = iter(Var(name) for name in names)
        indices: list[Expr] = []
        offsets = region.offsets or (Const(0),) * len(shape)
        for offset, extent in zip(offsets, region.extents or shape, strict=True):
            if extent is None:
                indices.append(offset)
            else:
                place = next(places)
                zero = isinstance(offset, Const) and offset.value == 0
                indices.append(place if zero else Binary("+", offset, place))
        expressions = self._expressions(names, shape, {tensor.name}, [])
        target = load_of(tensor.name, dtype, indices)
        body: tuple[Assign | Guard, ...] = (Assign(target, expressions.of_type(dtype, k.integer(1, 3))),)
        if k.chance(25):
            body = (self._guard(body[0], target, expressions),)
        return [Parallel(names, shape, body)]

    def _shape_of_some_buffer(self) -> tuple[int, ...]:
        k = self.kernel
        buffer = k.defined_buffer()
        return buffer.shape if buffer is not None and k.chance(70) else k.shape()

    def _atomics(self) -> list[Statement]:
        """A loop that combines elements into a tensor, many into one place."""
        k = self.kernel
        shape = self._shape_of_some_buffer()
        names = _NAMES[: len(shape)]
        dtype = k.pick(["int32", "int32", "uint32", "int64", "float32"])
        bins = k.integer(1, 40)
        tensor = k.operands.accumulator(dtype, (bins,))
        k.outputs += 1
        expressions = self._expressions(names, shape, {tensor.name}, [])
        place: Expr = expressions.index()
        if k.chance(50):
            place = Binary("%", place, Const(bins))
        if dtype == "float32":
            value: Expr = Const(float(k.integer(0, 3)))
            op = "add"
        else:
            value = expressions.integral(1)
            op = k.pick(["add", "max", "min", "or"])
        body: tuple[Atomic | Guard, ...] = (Atomic(op, load_of(tensor.name, dtype, (place,)), value),)
        if k.chance(25):
            body = (Guard(expressions.truth(1), body),)
        return [Parallel(names, shape, body)]

    # What an expression may read.

    def _expressions(
        self, names: Sequence[str], extents: Sequence[int], written: set[str], own: list[Load]
    ) -> Expressions:
        k = self.kernel
        inner = [Bound(name, 0, extent - 1) for name, extent in zip(names, extents, strict=True)]
        scope = [*inner, *k.scope]

        def leaf(kind: str) -> Load | None:
            options: list[Load | Buffer] = [one for one in own if _is(one.dtype, kind)]
            options += [
                one for one in k.buffers if one.name in k.defined and one.name not in written and _is(one.dtype, kind)
            ]
            if options and not k.chance(15):
                choice = k.pick(options)
                if isinstance(choice, Load):
                    return choice
                indices = [self._inside(extent, inner, k.scope) for extent in choice.shape]
                return load_of(choice.name, choice.dtype, indices)
            return self._tensor_leaf(kind, inner, k.scope, written)

        indices: list[Expr] = [bound.var for bound in scope]
        indices += [Var(one.name) for one in k.operands.scalars if one.dtype == "int32"]
        return Expressions(k.draw, leaf, indices)

    def _inside(self, extent: int, inner: Sequence[Bound], outer: Sequence[Bound]) -> Expr:
        """An index that is inside of a buffer's dimension, whatever the values."""
        k = self.kernel
        fitting = [bound for bound in inner if bound.most < extent]
        exact = [bound for bound in inner if bound.most == extent - 1]
        choice = k.integer(0, 11)
        if choice <= 6 and exact:
            return k.pick(exact).var
        if choice == 7 and exact:
            return Binary("-", Const(extent - 1), k.pick(exact).var)
        if choice == 8 and inner:
            return Binary("%", plus(k.pick(inner).var, k.integer(0, 9)), Const(extent))
        if choice == 9 and inner:
            bound = k.pick(inner)
            divisor = -(-(bound.most + 1) // extent)
            return Binary("//", bound.var, Const(max(divisor, 2)))
        uniform = [bound for bound in outer if bound.most < extent]
        if choice == 10 and uniform:
            return k.pick(uniform).var
        if fitting:
            return k.pick(fitting).var
        return Const(k.integer(0, extent - 1))

    def _tensor_leaf(self, kind: str, inner: Sequence[Bound], outer: Sequence[Bound], written: set[str]) -> Load | None:
        """An element of an input; reads outside give zero."""
        k = self.kernel
        options = [
            one
            for one in k.operands.tensors
            if one.name[0] == "A" and one.data != "flags" and _is(one.dtype, kind) and one.name not in written
        ]
        if options and (len(k.operands.tensors) > 7 or k.chance(50)):
            tensor = k.pick(options)
        elif kind == "bool" or len(k.operands.tensors) > 10:
            return None
        else:
            rank = k.integer(1, min(2, len(inner)))
            dtype = k.operands.dtype()
            if not _is(dtype, kind):
                dtype = "float32" if kind == "float" else "int32"
            sizes = []
            for bound in inner[-rank:]:
                blocks = k.pick([1, 2, 3])
                sizes.append(max((bound.most + 1) * blocks - k.pick([0, 0, 1, 3]), 1))
            tensor = k.operands.input(dtype, tuple(k.operands.size(size) for size in sizes))
        indices = [self._anywhere(value_of(size), inner, outer) for size in tensor.shape]
        return load_of(tensor.name, tensor.dtype, indices)

    def _anywhere(self, size: int, inner: Sequence[Bound], outer: Sequence[Bound]) -> Expr:
        """An index of a tensor, which may lie outside."""
        k = self.kernel
        bound = k.pick(inner)
        choice = k.integer(0, 9)
        if choice <= 4 and outer:
            return Binary("+", scaled(k.pick(outer), bound.most + 1), bound.var)
        if choice <= 6:
            return bound.var
        if choice == 7:
            return plus(bound.var, k.integer(-3, 3))
        if choice == 8:
            return Binary("-", Const(max(size - 1, 1)), bound.var)
        return k.pick(outer).var if outer else Const(0)


def _is(dtype: str, kind: str) -> bool:
    element = ELEMENTS[dtype]
    return {"float": element.is_float, "int": element.is_integer, "bool": element.kind == "bool"}[kind]
