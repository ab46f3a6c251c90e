"""Names of related tile languages that this version cannot compile yet.

They exist so that a program that uses one gets an error that says so, at its line, instead of an AttributeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import TileError


class NotAvailableError(TileError, NotImplementedError):
    """A known feature that is not available in this version."""

    code = "not-available"


_RAW_CUDA = "inline CUDA C++ has no place in a compiler that emits PTX itself; write the operation in the tile language"
_EXPLICIT = (
    "this part of the explicit layer is not available yet; T.tma_copy, T.wgmma_gemm and barriers are, and plain T.copy "
    "and T.gemm in T.Pipelined are scheduled by the compiler"
)
_GRID = (
    "a barrier of all blocks needs them to be on the device together, which no launch here promises; write two "
    "T.Kernel blocks, which run one after the other"
)

#: name -> what to do instead
REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("call_extern", "call_pure_extern", "call_intrin", "import_source", "CUDASourceCodeKernel"), _RAW_CUDA
    ),
    **dict.fromkeys(
        (
            "alloc_cluster_barrier async_copy copy_cluster tcgen05_gemm alloc_tmem deallocate_tmem ptx_cp_async "
            "ptx_commit_group ptx_wait_group ptx_ldmatrix tma_load"
        ).split(),
        _EXPLICIT,
    ),
    **dict.fromkeys(
        "ptr make_tensor make_tensor_from_addr access_ptr address_of".split(),
        "raw pointers are not available yet; pass tensors and index them",
    ),
    "sync_grid": _GRID,
    **dict.fromkeys(
        "gemm_sp gemm_blockscaled tcgen05_gemm_blockscaled mma_gemm_blockscaled".split(),
        "sparse and block-scaled matrix products are not available yet",
    ),
    **dict.fromkeys(
        "Fragment PartialFragment".split(),
        "layouts given as functions are not available yet; use tilemlir.layout.make_swizzled_layout, or leave the "
        "choice to the compiler",
    ),
    **dict.fromkeys(
        (
            "im2col c2d_im2col alloc_reducer reducer_init reducer_update finalize_reducer any_of all_of "
            "warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor shfl_sync shfl_xor "
            "shfl_down shfl_up ballot ballot_sync any_sync all_sync activemask match_any_sync match_all_sync "
            "syncthreads_count syncthreads_and syncthreads_or "
            "rng_init rng_rand rng_rand_float PersistentTileScheduler BaseTileScheduler "
            "annotate_compile_flags annotate_pass_configs hypot ldexp Ramp Broadcast Shuffle "
            "extract_lane dp4a  block_rank_in_cluster cluster_arrive cluster_wait cluster_sync "
            "loop_break thread_return alloc_buffer fast_rcp add2 sub2 mul2 fma2 max2 min2 abs2 "
            "ieee_add ieee_sub ieee_mul ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt ieee_fdiv ldg32 ldg64 ldg128 ldg256 "
            "stg32 stg64 stg128 stg256 index_to_coordinates"
        ).split(),
        "it is not available yet",
    ),
}


def make(name: str) -> Callable[..., Any]:
    """A function that raises the error for ``name``."""

    def unavailable(*args: Any, **kwargs: Any) -> Any:
        raise NotAvailableError(f"T.{name}: {REASONS[name]}")

    unavailable.__name__ = name
    unavailable.__doc__ = f"Not available: {REASONS[name]}."
    return unavailable
