"""Clusters: the place of a block in its cluster, barriers of all its blocks, and tiles that a cluster works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .conflicts import Conflicts
from .values import Scalar


def _is_number_of_sms(value: Any) -> bool:
    return isinstance(value, Scalar) and getattr(value.value.owner, "name", "") == "tile.sm_count"


class Clusters(Conflicts):
    """What programs say about clusters."""

    def cluster_extents(self, what: str) -> tuple[int, int, int]:
        """Blocks of a cluster along x, y and z."""
        extents = (*self._current(what).cluster, 1, 1, 1)
        return (extents[0], extents[1], extents[2])

    def cluster_index(self, axis: Any, what: str) -> Any:
        """The index of the cluster in the grid along ``axis``."""
        extents = self.cluster_extents(what)
        if axis not in (0, 1, 2):
            self.fail("argument", f"{what} takes an axis", found=repr(axis), allowed="0, 1 or 2")
        if axis >= len(self._current(what).indices):
            return 0
        return self.math("floordiv", (self.block_index(axis), extents[axis]))

    def cluster_barrier(self, operation: str, what: str, relaxed: bool = False) -> None:
        """``T.cluster_arrive`` and ``T.cluster_wait``."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        self.unsafe_operations += 1
        self.emit(operation, (), (), {"relaxed": self._unit} if relaxed else {})

    def blocks_of_cluster(self, what: str) -> int:
        """Blocks of a cluster, which has several."""
        x, y, z = self.cluster_extents(what)
        if x * y * z == 1:
            self.fail(
                "barrier", f"{what} names other blocks, and this kernel has no clusters",
                fix="T.Kernel(..., cluster_dims=2)",
            )  # fmt: skip
        return x * y * z

    # The grid.

    def grid_meeting(self, what: str) -> tuple[Any, Any, Any]:
        """For a barrier of all blocks: a counter that is zero at first, the number of this block, and that of all."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        self.unsafe_operations += 1
        state = self._current(what)
        if state.cluster:
            self.fail(
                "not-available",
                f"{what} in a kernel with cluster_dims is not available yet",
                fix="T.cluster_sync() is the barrier of a cluster; leave cluster_dims out for one of the grid",
            )
        state.operation.attributes["tile.cooperative"] = self._unit
        if state.meeting is None:
            saved, self.name_hint = self.name_hint, "blocks_arrived"
            state.meeting = self.alloc_global((1,), "int32", "once")
            self.name_hint = saved
        block: Any = 0
        with self.on_host():
            blocks: Any = 1
            for extent in state.extents:
                blocks = self.binary("mul", blocks, extent)
        for axis in reversed(range(len(state.indices))):
            block = self.binary("add", self.binary("mul", block, state.extents[axis]), self.block_index(axis))
        return state.meeting, block, blocks

    # Persistent kernels.

    def _is_block_index(self, value: Any, workers: Any) -> bool:
        """Whether workers are the blocks of a grid of one dimension."""
        state = self._current("T.Persistent")
        if len(state.indices) != 1 or not isinstance(value, Scalar) or value.value != state.indices[0].value:
            return False
        extent = state.extents[0]
        if isinstance(extent, Scalar) and isinstance(workers, Scalar):
            return extent.value == workers.value or (_is_number_of_sms(extent) and _is_number_of_sms(workers))
        return not isinstance(extent, Scalar) and not isinstance(workers, Scalar) and bool(extent == workers)

    def cluster_tile(self, asked: Any, worker: Any, workers: Any, rank: int) -> tuple[int, ...] | None:
        """Tiles per dimension that a cluster works on at a time in T.Persistent; None where blocks work alone."""
        blocks = 1
        for extent in self.cluster_extents("T.Persistent"):
            blocks *= extent
        if blocks == 1 or not self._is_block_index(worker, workers):
            if asked is not None and blocks > 1:
                self.fail(
                    "argument",
                    "cluster_tile of T.Persistent needs the blocks of a grid of one dimension as workers",
                    found="another index, or another number of workers than the grid has",
                    fix="with T.Kernel(count, cluster_dims=2) as block: ... T.Persistent(tiles, count, block)",
                )
            if asked is None or blocks > 1:
                return None
        shape = (blocks, *[1] * (rank - 1)) if asked is None else asked
        if (
            not isinstance(shape, Sequence)
            or len(shape) != rank
            or not all(isinstance(extent, int) and not isinstance(extent, bool) and extent > 0 for extent in shape)
        ):
            self.fail(
                "argument", "cluster_tile of T.Persistent has a positive integer for each dimension",
                found=repr(asked), allowed=f"{rank} integers",
            )  # fmt: skip
        count = 1
        for extent in shape:
            count *= extent
        if count != blocks:
            self.fail(
                "argument", "the tiles of cluster_tile are those of the blocks of a cluster",
                found=f"{tuple(shape)!r}: {count} tiles for {blocks} blocks",
            )  # fmt: skip
        return None if blocks == 1 else tuple(shape)

    def rounded_quotient(self, value: Any, divisor: int) -> Any:
        """``value / divisor``, rounded up."""
        return -(-value // divisor) if isinstance(value, int) else self.math("ceildiv", (value, divisor))

    def complete_clusters(self, blocks: int) -> Any:
        """Rounds the grid of one dimension up to clusters of ``blocks``; gives the number of clusters."""
        state = self._current("T.Persistent")
        extent = state.extents[0]
        with self.on_host():
            clusters = self.rounded_quotient(extent, blocks)
            whole = self.binary("mul", clusters, blocks)
            operand = self.index_value(whole).value
        state.operation.operands[0] = operand
        state.extents = (whole,)
        return clusters

    def mask_effects_beyond(self, index: Any, extent: Any) -> None:
        """What follows in the region has no effect outside unless ``index`` is below ``extent``."""
        exists = self.compare("lt", index, extent)
        if isinstance(exists, Scalar):
            self.emit("tile.mask_effects", (), [exists.value])


__all__ = ["Clusters"]
