"""Barriers and asynchronous copies that the program itself orders: the explicit layer of sm_90 and up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import context


def alloc_barrier(arrive_count: int | Sequence[int]) -> Any:
    """Barriers (mbarriers) in shared memory, initialised when the kernel begins.

    Args:
        arrive_count: how many arrivals complete a phase: of one barrier, or of each barrier of a row, as in
            ``T.alloc_barrier([128] * stages)``. A thread that calls ``T.barrier_arrive`` is one arrival.

    Returns:
        The barriers; ``bars[i]`` is one of them, with a compile-time or run-time index. A single barrier may be used
        without an index.
    """
    return context.require("T.alloc_barrier").alloc_barrier(arrive_count)


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """Waits until the phase of ``mbarrier`` with this parity has completed.

    ``parity`` is 0 or 1, or a run-time integer of which the last bit counts. A fresh barrier is in phase 0: waiting for
    parity 1 returns at once.
    """
    context.require("T.mbarrier_wait_parity").barrier_wait(mbarrier, parity, "T.mbarrier_wait_parity")


def barrier_wait(mbarrier: Any, parity: Any) -> None:
    """Waits for the phase ``parity`` of ``mbarrier``; the same as :func:`mbarrier_wait_parity`."""
    context.require("T.barrier_wait").barrier_wait(mbarrier, parity, "T.barrier_wait")


def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """Arrives on ``mbarrier``: every thread that is here, once.

    What the thread has read and written before is done when the phase completes. With ``cta_id``, the rank of a block
    of the cluster (see ``T.block_rank_in_cluster``), the barrier is that of the other block: its initialisation has to
    be known there (``T.cluster_sync()`` behind ``T.alloc_barrier``), and no block may leave the kernel before others
    have arrived. It tells the other block that asynchronous copies and products are done with what they read; writes
    of threads are published by ``T.cluster_sync``.
    """
    context.require("T.mbarrier_arrive").barrier_arrive(mbarrier, cta_id, "T.mbarrier_arrive")


def barrier_arrive(mbarrier: Any) -> None:
    """Arrives on ``mbarrier``; the same as :func:`mbarrier_arrive`."""
    context.require("T.barrier_arrive").barrier_arrive(mbarrier, None, "T.barrier_arrive")


def mbarrier_expect_tx(mbarrier: Any, tx: int) -> None:
    """Makes the phase of ``mbarrier`` wait for ``tx`` bytes of asynchronous copies too.

    One thread says so for all that are here; under a condition on the thread (``if T.shuffle_elect(128):``) the
    threads that it admits do. ``T.tma_copy`` does it by itself.
    """
    context.require("T.mbarrier_expect_tx").barrier_expect(mbarrier, tx, False, "T.mbarrier_expect_tx")


def mbarrier_arrive_expect_tx(mbarrier: Any, tx: int) -> None:
    """:func:`mbarrier_expect_tx` on ``mbarrier`` for ``tx`` bytes, and an arrival of the same thread."""
    context.require("T.mbarrier_arrive_expect_tx").barrier_expect(mbarrier, tx, True, "T.mbarrier_arrive_expect_tx")


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: int | None = None,
    leader_scope_threads: int | None = None,
    eviction_policy: str | None = None,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Starts a copy by TMA between a tensor and shared memory; the program waits for it.

    A load expects its bytes on ``barrier`` and completes with a phase of it; somebody still has to arrive. A store is
    complete after ``T.tma_store_wait``; before it, ``T.fence_proxy_async`` and a barrier of the threads that wrote the
    shared memory are needed. It must not begin in front of the tensor: hardware stops with an illegal instruction
    (measured on an H200), where a load finds zeros. One thread starts the copy for all that are here. There is no
    fallback: what TMA cannot copy is an error.

    Args:
        src: where to read; regions as for ``T.copy``.
        dst: where to write.
        barrier: of ``T.alloc_barrier``; needed for loads.
        cluster_mask: ranks of the blocks of the cluster that receive the load, as bits: at the same place of their
            shared memory, and on the same barrier of each. This block expects the bytes by itself; the others have to
            expect them (``T.mbarrier_expect_tx``).
        leader_scope_threads: threads that share one leader; only all threads of the warp groups that are here.
        eviction_policy: ``"evict_normal"``, ``"evict_first"`` or ``"evict_last"``.
        annotations: the same keywords as a dictionary.
    """
    options = {
        "barrier": barrier,
        "cluster_mask": cluster_mask,
        "leader_scope_threads": leader_scope_threads,
        "eviction_policy": eviction_policy,
        **(annotations or {}),
    }
    context.require("T.tma_copy").tma_copy(src, dst, options)


def tma_store_arrive() -> None:
    """Closes the group of stores by TMA that were started so far; ``T.tma_copy`` does it by itself."""
    context.require("T.tma_store_arrive").tma_store_arrive()


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """Waits until at most ``count`` groups of stores by TMA are in flight.

    With ``read``, until their shared memory may be overwritten; without, until what they wrote can be read.
    """
    context.require("T.tma_store_wait").tma_store_wait(count, read)


def fence_proxy_async() -> None:
    """Orders a thread's accesses to shared memory before later ones of TMA and wgmma."""
    context.require("T.fence_proxy_async").fence_proxy_async()


def named_barrier_arrive(barrier_id: int, thread_count: int) -> None:
    """Counts as arrived at hardware barrier ``barrier_id`` (1 to 15) without waiting.

    ``thread_count`` threads take part; those that wait call ``T.sync_threads(barrier_id, thread_count)``.
    """
    context.require("T.named_barrier_arrive").named_barrier(barrier_id, thread_count, False, "T.named_barrier_arrive")


def named_barrier_sync(barrier_id: int, thread_count: int) -> None:
    """Waits at hardware barrier ``barrier_id`` (1 to 15) until ``thread_count`` threads have arrived."""
    context.require("T.named_barrier_sync").named_barrier(barrier_id, thread_count, True, "T.named_barrier_sync")


def sync_warp(mask: int | None = None) -> None:
    """Barrier of the threads of a warp; ``mask``, if given, must name all 32 of them."""
    context.require("T.sync_warp").sync_warp(mask)


def shuffle_elect(thread_extent: int) -> Any:
    """True in one thread of each ``thread_extent`` consecutive ones (a multiple of 32); 0 is one thread of the block.

    All threads of a warp have to call it together.
    """
    return context.require("T.shuffle_elect").shuffle_elect(thread_extent)


def pdl_trigger() -> None:
    """Allows the next kernel of the stream to begin before this one has ended (``griddepcontrol``)."""
    context.require("T.pdl_trigger").dependent_launch("tile.launch_dependents", "T.pdl_trigger")


def pdl_sync() -> None:
    """Waits until the kernels before this one are complete; makes the launch one that may begin before they are."""
    context.require("T.pdl_sync").dependent_launch("tile.dependency_wait", "T.pdl_sync")


def ptx(text: str, *operands: Any, outputs: Any = None) -> Any:
    """Inline PTX, executed by every thread that is here.

    Args:
        text: instructions. ``$0``, ``$1``, ... are the outputs, then the operands; ``$$`` is a dollar sign.
        operands: run-time scalars of 16, 32 or 64 bits, Python numbers (int32 and float32), tensors (their 64-bit
            address), whole buffers in shared memory (their 32-bit address in the shared window).
        outputs: an element type, a sequence of them, or None.

    Returns:
        A scalar, a tuple of them, or None, as ``outputs`` says.
    """
    return context.require("T.ptx").ptx(text, operands, outputs)
