"""Clusters of blocks: places in them, and barriers of all their threads."""

from __future__ import annotations

from typing import Any

from . import context


def get_cluster_dims() -> tuple[int, int, int]:
    """Blocks of a cluster along x, y and z, as Python integers."""
    extents: tuple[int, int, int] = context.require("T.get_cluster_dims").cluster_extents("T.get_cluster_dims")
    return extents


get_cluster_extents = get_cluster_dims


def get_cluster_extent(dim: int = 0) -> int:
    """Blocks of a cluster along grid dimension ``dim``, as a Python integer."""
    return get_cluster_dims()[dim]


def get_cluster_size() -> int:
    """Blocks of a cluster, as a Python integer."""
    x, y, z = get_cluster_dims()
    return x * y * z


def get_cluster_id(dim: int = 0) -> Any:
    """Index of the cluster (int32) among those along grid dimension ``dim``."""
    return context.require("T.get_cluster_id").cluster_index(dim, "T.get_cluster_id")


def cluster_arrive() -> None:
    """Arrives at the barrier of the cluster, which all threads of all of its blocks do; then ``T.cluster_wait()``.

    What the thread has written before is visible behind the waits of the others.
    """
    context.require("T.cluster_arrive").cluster_barrier("tile.cluster_arrive", "T.cluster_arrive")


def cluster_arrive_relaxed() -> None:
    """``T.cluster_arrive()`` that orders nothing the thread has written."""
    context.require("T.cluster_arrive_relaxed").cluster_barrier(
        "tile.cluster_arrive", "T.cluster_arrive_relaxed", relaxed=True
    )


def cluster_wait() -> None:
    """Waits until all threads of the cluster have arrived."""
    context.require("T.cluster_wait").cluster_barrier("tile.cluster_wait", "T.cluster_wait")


def cluster_sync() -> None:
    """Barrier of all threads of all blocks of the cluster: ``T.cluster_arrive()`` and ``T.cluster_wait()``."""
    cluster_arrive()
    cluster_wait()
