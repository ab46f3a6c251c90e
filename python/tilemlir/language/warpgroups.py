"""Warp groups with code of their own, their registers, and matrix products that the program waits for."""

from __future__ import annotations

from typing import Any

from . import context
from .compute import GemmWarpPolicy


class RoleFrame:
    """What ``T.ws(...)`` returns; only a ``with`` statement of a kernel can enter it."""

    def __init__(self, first: int, count: int, name: str) -> None:
        self.first = first
        self.count = count
        self.name = name

    def __enter__(self) -> Any:
        context.require("with T.ws(...)")
        raise context.OutsideKernelError(
            "with T.ws(...) was run by ordinary Python: it belongs into a kernel or a @T.macro"
        )

    def __exit__(self, *exception: Any) -> None:
        return None


def WarpSpecialize(*warp_group_idx: int) -> Any:
    """Code of some warp groups only: ``with T.ws(0):``, ``with T.ws(1, 2):``.

    ``warp_group_idx`` are numbers of groups of 128 threads of the block, one or several consecutive ones. They run the
    block together: tile operations in it are done by their threads, and fragments that it uses are spread over them.
    Other groups skip it and go on at once. ``threads=`` of the kernel counts all groups.
    """
    return context.require("T.ws").warp_groups(warp_group_idx)


ws = WarpSpecialize


def set_max_nreg(reg_count: int, is_inc: int) -> None:
    """Changes the registers per thread of the warp groups that are here (``setmaxnreg``).

    ``reg_count`` is a multiple of 8 from 24 to 256. ``is_inc`` 1 takes registers that other groups have given up, and
    waits for them; 0 gives up registers.
    """
    context.require("T.set_max_nreg").set_max_registers(reg_count, is_inc, "T.set_max_nreg")


def inc_max_nreg(reg_count: int) -> None:
    """``T.set_max_nreg(reg_count, 1)``."""
    context.require("T.inc_max_nreg").set_max_registers(reg_count, 1, "T.inc_max_nreg")


def dec_max_nreg(reg_count: int) -> None:
    """``T.set_max_nreg(reg_count, 0)``."""
    context.require("T.dec_max_nreg").set_max_registers(reg_count, 0, "T.dec_max_nreg")


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """Registers per thread of the producer warps that the compiler makes: ``reg_count``, a multiple of 8."""
    context.require("T.annotate_producer_reg_dealloc").role_registers(
        "producer", reg_count, "T.annotate_producer_reg_dealloc"
    )


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """Registers per thread of the consumer warps that the compiler makes: ``reg_count``, a multiple of 8."""
    context.require("T.annotate_consumer_reg_alloc").role_registers(
        "consumer", reg_count, "T.annotate_consumer_reg_alloc"
    )


def no_set_max_nreg() -> None:
    """All warps keep the registers that they were launched with."""
    context.require("T.no_set_max_nreg").keep_registers("T.no_set_max_nreg")


def disable_warp_group_reg_alloc() -> None:
    """All warps keep the registers that they were launched with; the same as :func:`no_set_max_nreg`."""
    context.require("T.disable_warp_group_reg_alloc").keep_registers("T.disable_warp_group_reg_alloc")


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Starts ``C += A @ B`` by wgmma, as one group; ``T.wait_wgmma`` waits for it.

    Until then ``C`` may only be the accumulator of further products, and the operands must not change. There is no
    fallback: what wgmma cannot multiply is an error.

    Args:
        A: M x K tile (K x M with ``transpose_A``) in shared memory or a fragment.
        B: K x N tile (N x K with ``transpose_B``) in shared memory.
        C: M x N accumulator, a fragment.
        policy: how warp groups divide the tile.
        clear_accum: start from zero instead of C.
        annotations: accepted; has no effect.
    """
    context.require("T.wgmma_gemm").wgmma_gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum)


def wait_wgmma(id: int) -> None:
    """Waits until at most ``id`` groups of ``T.wgmma_gemm`` are in flight; they complete in order."""
    context.require("T.wait_wgmma").wgmma_wait(id, "T.wait_wgmma")


def warpgroup_wait(num_mma: int) -> None:
    """Waits until at most ``num_mma`` groups are in flight; the same as :func:`wait_wgmma`."""
    context.require("T.warpgroup_wait").wgmma_wait(num_mma, "T.warpgroup_wait")


def warpgroup_arrive() -> None:
    """Orders register accesses before later products (``wgmma.fence``); ``T.wgmma_gemm`` does it by itself."""
    context.require("T.warpgroup_arrive").wgmma_instruction("wgmma.fence.sync.aligned;", "T.warpgroup_arrive")


def warpgroup_commit_batch() -> None:
    """Closes a group of products (``wgmma.commit_group``), an empty one after ``T.wgmma_gemm``, which closes its own.

    ``T.wait_wgmma`` counts empty groups too.
    """
    context.require("T.warpgroup_commit_batch").wgmma_commit()


def warpgroup_fence_operand(buffer_or_ptr: Any, offset: Any = 0, num_regs: Any = None, dtype: Any = None) -> None:
    """Accepted: waiting already keeps uses of ``buffer_or_ptr`` behind it.

    ``offset``, ``num_regs`` and ``dtype`` have no effect.
    """
    context.require("T.warpgroup_fence_operand").require_kernel("T.warpgroup_fence_operand")
