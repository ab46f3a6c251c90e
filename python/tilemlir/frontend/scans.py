"""Operations on whole tiles that are written in terms of others: scans, transposition, questions about truth."""

from __future__ import annotations

from typing import Any

from ..language.dtypes import bool_, int32
from .values import Buffer, Element, RuntimeValue, Scalar, Variable
from .warpgroups import WarpGroups


class Scans(WarpGroups):
    """``T.cumsum``, ``T.cummax``, ``T.transpose``, ``T.any_of``, ``T.all_of``, ``T.reduce_any``, ``T.reduce_all``."""

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

    def truth_of(self, kind: str, source: Any, what: str) -> Any:
        """``T.any_of`` and ``T.all_of``: a truth value that is the same for all threads.

        Of a local buffer each thread asks for itself.
        """
        self.require_kernel(what)
        self.require_no_parallel(what)
        buffer = self.whole_buffer(source, what)
        if buffer.scope() == "local":
            return self._truth_of_local(kind, buffer)
        bits = self._truth_bits(buffer, what)
        while bits.shape != (1,):
            shape = bits.shape[:-1] or (1,)
            bits = self._reduced_bits(kind, bits, bits.ndim - 1, shape, what)
        return self.compare("ne", self.load(Element(bits, (0,))), 0)

    def reduce_truth(self, kind: str, source: Any, out: Any, dim: Any, clear: bool, what: str) -> None:
        """``T.reduce_any`` and ``T.reduce_all`` along one dimension."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        buffer, dest = self.whole_buffer(source, what), self.whole_buffer(out, what)
        axis = self.reduced_axis(buffer, dest, dim, what)
        bits = self._reduced_bits(kind, self._truth_bits(buffer, what), axis, tuple(dest.shape), what)

        def body(indices: tuple[Scalar, ...]) -> None:
            truth = self.compare("ne", self.load(Element(bits, indices)), 0)
            if not clear:
                old = self.compare("ne", self.load(Element(dest, indices)), 0)
                truth = self.logical("or" if kind == "any" else "and", old, truth)
            self.store(Element(dest, indices), truth)

        self.emit_parallel(tuple(dest.shape), body)

    def _truth_bits(self, buffer: Buffer, what: str) -> Buffer:
        """1 where an element of a tile is not zero, else 0."""
        self.name_hint = f"{buffer.name}_truth"
        bits = self.alloc("fragment", list(buffer.shape), int32, what)
        self.name_hint = None

        def body(indices: tuple[Scalar, ...]) -> None:
            truth = self.compare("ne", self.load(Element(buffer, indices)), 0)
            self.store(Element(bits, indices), self.as_type(truth, int32))

        self.emit_parallel(tuple(buffer.shape), body)
        return bits

    def _reduced_bits(self, kind: str, bits: Buffer, axis: int, shape: Any, what: str) -> Buffer:
        self.name_hint = bits.name
        result = self.alloc("fragment", list(shape), int32, what)
        self.name_hint = None
        self.reduce("bitor" if kind == "any" else "bitand", bits, result, axis, True, False, what)
        return result

    def _truth_of_local(self, kind: str, buffer: Buffer) -> Any:
        made = self._alloc_outside_parallel(self.buffer_type((), int32, "local"), "truth")
        answer = Variable(made, int32, "truth")
        self.store(answer, 0 if kind == "any" else 1)

        def nest(indices: tuple[Scalar, ...]) -> None:
            if len(indices) < buffer.ndim:
                self.counted(0, buffer.shape[len(indices)], 1, None, lambda index: nest((*indices, index)))
                return
            truth = self.as_type(self.compare("ne", self.load(Element(buffer, indices)), 0), int32)
            self.store(answer, self.binary("or" if kind == "any" else "and", self.load(answer), truth))

        nest(())
        return self.compare("ne", self.load(answer), 0)

    def counted(self, start: Any, stop: Any, step: Any, hint: str | None, body: Any) -> None:
        """An ``scf.for`` whose body is traced by ``body(index)``."""
        raise NotImplementedError
