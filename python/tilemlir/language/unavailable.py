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


_RAW_CUDA = (
    "inline CUDA C++ has no place in a compiler that emits PTX itself; write single instructions as T.ptx(...) and the "
    "rest in the tile language, in a @T.macro where it is used often"
)
_TENSOR_MEMORY = (
    "tcgen05 and tensor memory of sm_100 are not available yet; T.gemm into a T.alloc_fragment accumulator runs there "
    "on the general path"
)
_BLOCK_SCALED = "sparse and block-scaled matrix products are not available yet"
_CLUSTER = (
    "mbarriers and copies between the blocks of a cluster are not available to programs yet; in a T.Kernel with "
    "cluster_dims, plain T.copy in T.Pipelined is shared by the blocks where they load the same, and T.cluster_sync "
    "is their barrier"
)
_EXPLICIT = (
    "this part of the explicit layer is not available yet; T.tma_copy, T.wgmma_gemm and barriers are, and plain T.copy "
    "and T.gemm in T.Pipelined are scheduled by the compiler"
)
_POINTERS = (
    "raw pointers are not available yet; pass tensors and buffers and index them: T.copy of a slice moves what one "
    "thread or the whole block needs"
)
_SCHEDULER = "it is not available yet; T.Persistent walks tiles with one block per multiprocessor"
_REDUCER = "deferred reductions are not available yet; T.reduce_sum and its relatives with clear=False accumulate"
_WARP = (
    "communication inside of a warp has no names yet; T.reduce_* and T.any_of combine tiles, and T.ptx writes a single "
    "instruction"
)
_ROUNDING = "arithmetic with a rounding mode is not available as a name; + - * / round to nearest, T.ptx writes others"

#: name -> what to do instead
REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("call_extern", "call_pure_extern", "call_intrin", "call_packed", "import_source", "CUDASourceCodeKernel"),
        _RAW_CUDA,
    ),
    **dict.fromkeys(
        (
            "alloc_tmem deallocate_tmem tcgen05_gemm tcgen05_mma tcgen05_mma_arrive tcgen05_before_thread_sync "
            "tcgen05_after_thread_sync tcgen05_cp_warpx4 tcgen05_sf_warp_transpose alloc_tcgen05_smem_desc "
            "alloc_tcgen05_instr_desc initialize_tcgen05_descriptor clc_try_cancel clc_try_cancel_multicast "
            "clc_is_canceled clc_get_first_ctaid_x clc_get_first_ctaid_y clc_get_first_ctaid_z"
        ).split(),
        _TENSOR_MEMORY,
    ),
    **dict.fromkeys(
        (
            "gemm_sp gemm_blockscaled tcgen05_gemm_blockscaled tcgen05_mma_blockscaled tcgen05_gemm_sp wgmma_gemm_sp "
            "mma_gemm_blockscaled"
        ).split(),
        _BLOCK_SCALED,
    ),
    **dict.fromkeys("alloc_cluster_barrier copy_cluster".split(), _CLUSTER),
    **dict.fromkeys("async_copy ptx_cp_async ptx_commit_group ptx_wait_group ptx_ldmatrix tma_load".split(), _EXPLICIT),
    **dict.fromkeys("ptr make_tensor make_tensor_from_addr access_ptr address_of".split(), _POINTERS),
    **dict.fromkeys("PersistentTileScheduler BaseTileScheduler".split(), _SCHEDULER),
    **dict.fromkeys("alloc_reducer reducer_init reducer_update finalize_reducer".split(), _REDUCER),
    **dict.fromkeys(
        (
            "warp_reduce_sum warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor shfl_sync shfl_xor "
            "shfl_down shfl_up ballot ballot_sync any_sync all_sync activemask match_any_sync match_all_sync "
            "syncthreads_count syncthreads_and syncthreads_or"
        ).split(),
        _WARP,
    ),
    **dict.fromkeys(
        "ieee_add ieee_sub ieee_mul ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt ieee_fdiv fast_rcp".split(), _ROUNDING
    ),
    **dict.fromkeys(
        "Fragment PartialFragment".split(),
        "layouts of fragments are chosen by the compiler; T.Layout and tilemlir.layout.make_swizzled_layout describe "
        "shared memory",
    ),
    **dict.fromkeys(
        (
            "im2col c2d_im2col rng_init rng_rand rng_rand_float annotate_compile_flags annotate_pass_configs hypot "
            "ldexp Ramp Broadcast Shuffle extract_lane dp4a loop_break thread_return alloc_buffer add2 sub2 mul2 fma2 "
            "max2 min2 abs2 ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256"
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
