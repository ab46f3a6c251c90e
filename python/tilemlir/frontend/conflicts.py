"""Stores that iterations of T.Parallel provably fight over."""

from __future__ import annotations

from typing import Any

from .._mlir import ir
from .hosting import Hosting
from .values import Element, Scalar


class Conflicts(Hosting):
    """Refuses stores of T.Parallel whose place does not depend on an index that the value may depend on."""

    #: Indices and extents of the T.Parallel loop being traced, and the names that the user gave the indices.
    parallel_indices: tuple[Scalar, ...] = ()
    parallel_extents: tuple[Any, ...] = ()
    parallel_names: tuple[str, ...] = ()
    parallel_depth = -1
    region_depth = 0

    def store(self, target: Any, value: Any) -> None:
        """Writes a variable or an element, see :meth:`StorageAccess.store`."""
        if self.parallel is not None and isinstance(target, Element) and self.region_depth == self.parallel_depth:
            self._check_conflict(target, value)
        super().store(target, value)

    def _check_conflict(self, target: Element, value: Any) -> None:
        if not isinstance(value, Scalar) or value.constant is not None:
            return  # all iterations write the same value
        own = {id(index) for index in self.parallel_indices}  # == on scalars makes an operation
        used: set[int] = set()
        for index in target.indices:
            if isinstance(index, Scalar):
                for atom in index.terms()[0]:
                    if id(atom) not in own and self._is_inside(atom):
                        return  # may depend on anything
                    used.add(id(atom))
        free = [
            position
            for position, (index, extent) in enumerate(zip(self.parallel_indices, self.parallel_extents, strict=True))
            if id(index) not in used and isinstance(extent, int) and extent > 1
        ]
        for position in sorted(self._indices_behind(value).intersection(free)) if free else ():
            name = self.parallel_names[position] if position < len(self.parallel_names) else f"index {position}"
            self.fail(
                "parallel-conflict",
                f"all iterations of {name} write the same element of {target.storage.name}, in no order",
                found=f"a store without {name} in its place, in the T.Parallel loop of line {self.parallel_line}",
                allowed="one element per iteration",
                fix="combine values with T.reduce_sum, T.atomic_add or a T.serial loop",
            )

    def _indices_behind(self, scalar: Scalar) -> set[int]:
        """Positions of the indices of the loop that a value is computed from."""
        found: set[int] = set()
        seen: set[ir.Value] = set()
        pending = [scalar.value]
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            owner: Any = value.owner
            if isinstance(owner, ir.Block):
                if owner.owner.operation == self.parallel:
                    found.add(ir.BlockArgument(value).arg_number)
                continue
            if self._is_inside_operation(owner):
                pending.extend(owner.operation.operands)
        return found

    def _is_inside(self, scalar: Scalar) -> bool:
        """Whether a scalar is computed in the T.Parallel loop being traced."""
        owner: Any = scalar.value.owner
        return self._is_inside_operation(owner.owner if isinstance(owner, ir.Block) else owner)

    def _is_inside_operation(self, owner: Any) -> bool:
        while owner is not None:
            operation = owner.operation
            if operation == self.parallel:
                return True
            if operation.name in ("tile.kernel", "func.func"):
                return False
            owner = operation.parent
        return False
