"""Launching: ``T.Kernel`` and the indices of blocks and threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import context

#: Threads of a block when ``threads=`` is left out.
DEFAULT_THREADS = 128


class KernelFrame:
    """What ``T.Kernel(...)`` returns; only a ``with`` statement of a kernel function can enter it."""

    def __init__(self, grid: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.grid = grid
        self.options = options

    def __enter__(self) -> Any:
        context.require("with T.Kernel(...)")
        raise context.OutsideKernelError(
            "with T.Kernel(...) was run by ordinary Python: it belongs into a function decorated with @T.prim_func"
        )

    def __exit__(self, *exception: Any) -> None:
        return None


def Kernel(
    *blocks: Any,
    threads: int | Sequence[int] | None = None,
    cluster_dims: int | Sequence[int] | None = None,
    prelude: str | None = None,
) -> Any:
    """One launch: ``with T.Kernel(grid_x, grid_y, threads=128) as (bx, by):``.

    Args:
        blocks: one to three grid extents, x first: integers, or integer scalars of the host part. An empty grid
            launches nothing; without extents there is one block.
        threads: threads of a block, 128 by default; an integer, or up to three extents whose product counts.
        cluster_dims: blocks of a cluster per grid dimension (sm_90 and up).
        prelude: accepted for CUDA C++ text elsewhere; must be empty here, because no CUDA C++ is generated.

    Returns:
        For ``as``: the block indices (int32), one variable for a grid of one dimension, a tuple otherwise.

    A function may hold several kernels; they run one after the other.
    """
    return context.require("T.Kernel").kernel(blocks, threads, cluster_dims, prelude)


def ClusterKernel(
    *blocks: Any,
    cluster_dims: int | Sequence[int],
    threads: int | Sequence[int] | None = None,
    prelude: str | None = None,
) -> Any:
    """:func:`Kernel` with ``cluster_dims`` given."""
    return context.require("T.ClusterKernel").kernel(blocks, threads, cluster_dims, prelude)


def get_thread_binding(dim: int = 0) -> Any:
    """Index of the executing thread (int32) along ``dim`` of the shape given as ``threads=``; 0 to 2."""
    return context.require("T.get_thread_binding").thread_index(dim)


def thread_binding(start: int = 0, extent: Any = None, thread: str = "threadIdx.x") -> Any:
    """Index of the executing thread or block along the axis that ``thread`` names, as in ``"threadIdx.x"``.

    ``start`` must be 0; ``extent`` is given by the kernel and not needed.
    """
    builder = context.require("T.thread_binding")
    kind, _, axis = thread.partition(".")
    if start != 0 or kind not in ("threadIdx", "blockIdx") or axis not in ("x", "y", "z"):
        raise ValueError(f"the axis is threadIdx or blockIdx with .x, .y or .z, from 0; found {thread!r} from {start}")
    dim = "xyz".index(axis)
    return builder.thread_index(dim) if kind == "threadIdx" else builder.block_index(dim)


def get_thread_bindings() -> Any:
    """Indices of the executing thread, one per dimension of ``threads=``."""
    return context.require("T.get_thread_bindings").thread_indices()


def get_thread_extent(dim: int = 0) -> int:
    """Number of threads along ``dim`` of the shape given as ``threads=``, as a Python integer."""
    return int(context.require("T.get_thread_extent").thread_extents()[dim])


def get_thread_extents() -> tuple[int, ...]:
    """Threads per dimension, three Python integers."""
    return tuple(context.require("T.get_thread_extents").thread_extents())


def get_lane_idx(warp_size: int = 32) -> Any:
    """Index of the executing thread in its warp (int32)."""
    return context.require("T.get_lane_idx").linear_thread_index() % warp_size


def get_warp_idx(warp_size: int = 32) -> Any:
    """Index of the warp of the executing thread in its block (int32)."""
    return context.require("T.get_warp_idx").linear_thread_index() // warp_size


get_warp_idx_sync = get_warp_idx


def get_warp_group_idx(warp_size: int = 32, warps_per_group: int = 4) -> Any:
    """Index of the warp group of the executing thread in its block (int32).

    A group has ``warps_per_group`` warps of ``warp_size`` threads.
    """
    return context.require("T.get_warp_group_idx").linear_thread_index() // (warp_size * warps_per_group)


def get_block_binding(dim: int = 0) -> Any:
    """Index of the block (int32) along grid dimension ``dim``."""
    return context.require("T.get_block_binding").block_index(dim)


def get_block_bindings() -> Any:
    """Indices of the block, one per grid dimension."""
    return context.require("T.get_block_bindings").block_indices()


def get_block_extent(dim: int = 0) -> Any:
    """Number of blocks along grid dimension ``dim``."""
    return context.require("T.get_block_extent").block_extent(dim)


def block_rank_in_cluster() -> Any:
    """Number of the block (int32) in its cluster, the first grid dimension fastest; 0 in a kernel without clusters."""
    return context.require("T.block_rank_in_cluster").block_rank()


def sync_threads(barrier_id: int | None = None, arrive_count: int | None = None) -> None:
    """Barrier of all threads of the block, or of ``arrive_count`` threads at the named barrier ``barrier_id``.

    The compiler inserts the barriers that tile operations need; this one is for code that shares memory by thread id.
    """
    context.require("T.sync_threads").sync_threads(barrier_id, arrive_count)
