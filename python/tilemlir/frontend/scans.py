"""Operations on whole tiles that are written in terms of others: scans and transposition."""

from __future__ import annotations

from typing import Any

from ..language.dtypes import bool_
from .values import Buffer, Element, RuntimeValue, Scalar, Variable
from .warpgroups import WarpGroups


class Scans(WarpGroups):
    """``T.cumsum``, ``T.cummax``, ``T.transpose``."""

    def scan(self, kind: str, source: Any, dest: Any, dim: Any, reverse: Any, what: str) -> None:
        """A running sum or maximum along one dimension.

        Every line along ``dim`` is one iteration of a parallel loop that walks the line, in shared memory.
        """
        self.require_kernel(what)
        self.require_no_parallel(what)
        buffer = self.whole_buffer(source, what)
        target = buffer if dest is None else self.whole_buffer(dest, what)
        if isinstance(dim, RuntimeValue) or not isinstance(dim, int) or not -buffer.ndim <= dim < buffer.ndim:
            self.fail(
                "argument",
                f"dim of {what} must be a compile-time integer that names a dimension",
                found=f"{dim!r} for {buffer.describe()}",
            )
        if tuple(target.shape) != tuple(buffer.shape):
            self.fail(
                "copy-shape",
                f"source and destination of {what} differ in shape",
                found=f"{buffer.describe()} and {target.describe()}",
            )
        axis = dim % buffer.ndim
        line = self._in_shared_memory(buffer, target, what)
        length = line.shape[axis]
        assert isinstance(length, int)
        others = tuple(extent for position, extent in enumerate(line.shape) if position != axis)
        running = self._running_variable(line)

        def body(indices: tuple[Scalar, ...]) -> None:
            def element(position: Any) -> Element:
                at = list(indices) if others else []
                at.insert(axis, position)
                return Element(line, tuple(at))

            first = length - 1 if reverse else 0
            self.store(running, self.load(element(first)))

            def step(index: Scalar) -> None:
                position = self.binary("sub", length - 1, index) if reverse else index
                value = self.load(element(position))
                old = self.load(running)
                new = self.binary("add", old, value) if kind == "sum" else self.math("max", (old, value))
                self.store(running, new)
                self.store(element(position), new)

            self.counted(1, length, 1, None, step)

        self.emit_parallel(others or (1,), body)
        if line is not target:
            self.copy(line, target, {})

    def _in_shared_memory(self, buffer: Buffer, target: Buffer, what: str) -> Buffer:
        """The elements where the scan is done: the destination itself when it is shared memory."""
        if target.scope() == "shared":
            if target is not buffer:
                self.copy(buffer, target, {})
            return target
        self.name_hint = f"{target.name}_scan"
        line = self.alloc("shared", list(target.shape), target.dtype, what)
        self.name_hint = None
        self.copy(buffer, line, {})
        return line

    def _running_variable(self, line: Buffer) -> Variable:
        kind = line.dtype
        if kind.name == bool_.name:
            self.fail("dtype", "truth values cannot be summed", found=line.describe())
        made = self._alloc_outside_parallel(self.buffer_type((), kind, "local"), "running")
        return Variable(made, kind, "running")

    def transpose(self, source: Any, dest: Any) -> None:
        """``T.transpose``: ``dest[j, i] = source[i, j]`` of matrices in shared memory."""
        what = "T.transpose"
        self.require_kernel(what)
        self.require_no_parallel(what)
        buffer, target = self.whole_buffer(source, what), self.whole_buffer(dest, what)
        if buffer.ndim != 2 or tuple(target.shape) != tuple(reversed(buffer.shape)):
            self.fail(
                "copy-shape",
                f"{what} takes an M x N and an N x M matrix",
                found=f"{buffer.describe()} and {target.describe()}",
            )

        def body(indices: tuple[Scalar, ...]) -> None:
            i, j = indices
            self.store(Element(target, (j, i)), self.load(Element(buffer, (i, j))))

        self.emit_parallel(tuple(buffer.shape), body)

    def counted(self, start: Any, stop: Any, step: Any, hint: str | None, body: Any) -> None:
        """An ``scf.for`` whose body is traced by ``body(index)``."""
        raise NotImplementedError
