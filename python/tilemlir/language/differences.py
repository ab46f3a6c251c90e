"""Where names of the language differ from TileLang's, for its documentation.

TileLang 0.1.13 and 0.1.15 are meant. A name without an entry means the same there.
"""

from __future__ import annotations

#: The names that make 95 % of the uses in public TileLang programs for NVIDIA GPUs, most used first; element types are
#: one more.
FREQUENT = (
    "Tensor Kernel alloc_fragment copy alloc_shared ceildiv Pipelined Parallel gemm clear prim_func reduce_sum "
    "if_then_else exp2 empty const fill max reduce_max infinity serial GemmWarpPolicy min use_swizzle log2 "
    "annotate_layout alloc_var get_thread_binding atomic_add alloc_barrier dynamic tma_copy mbarrier_wait_parity "
    "floordiv alloc_local Layout unroll alloc_tmem mbarrier_arrive exp cast tcgen05_gemm vectorized access_ptr "
    "tcgen05_mma_arrive disable_warp_group_reg_alloc barrier_wait barrier_arrive macro call_extern reinterpret "
    "ClusterKernel assume block_rank_in_cluster alloc_cluster_barrier reduce_absmax PersistentTileScheduler "
    "set_max_nreg ws sync_threads import_source wgmma_gemm wait_wgmma rsqrt reshape StridedTensor Cast"
).split()

_REDUCTION = "the result may be in shared memory and may keep the dimension; it has a type of its own"
_EXPLICIT = "the program is checked when it is compiled: deadlocks, early reads and early overwrites are errors"

DIFFERENCES: dict[str, str] = {
    "Tensor": "sizes are checked at each call; a tensor that is not contiguous is an error that says so",
    "Kernel": "`threads` counts the threads that compute; a producer warp group that the compiler makes comes on top. "
    "`prelude` must be empty",
    "ClusterKernel": "the same as `T.Kernel(cluster_dims=...)`; the grid is rounded up to whole clusters",
    "alloc_shared": "`scope` has no effect: there is one arena, whose limit is checked when compiling",
    "alloc_fragment": "any shape; extents need not be powers of two",
    "alloc_local": "each thread's own, also in `T.copy` and `T.fill` of it",
    "alloc_global": "lives for one call; extents may be computed by the host part",
    "copy": "a tile of fewer dimensions than the tensor is matched to dimensions by the form of the start indices, and "
    "an ambiguous match is an error; reads outside of a tensor give zero, writes outside are dropped, for every path; "
    "becomes TMA where it can; "
    "`loop_layout` is refused",
    "Pipelined": "`num_stages=s` is exactly s slots; `sync` has no effect; a schedule that cannot be kept is reported",
    "Parallel": "`loop_layout` is refused, `prefer_async` has no effect; an extent never shrinks what other loops do",
    "gemm": 'float32 operands are rounded to tf32, `precision="ieee"` multiplies in full; `mbar` is refused; layout '
    "conflicts are converted instead of refused",
    "wgmma_gemm": _EXPLICIT,
    "GemmWarpPolicy": "no `from_warp_partition`",
    "reduce_sum": _REDUCTION,
    "reduce_max": _REDUCTION,
    "reduce_min": _REDUCTION,
    "reduce_abssum": _REDUCTION,
    "reduce_absmax": _REDUCTION,
    "reduce_any": "ours",
    "reduce_all": "ours",
    "any_of": "also of fragments",
    "all_of": "also of fragments",
    "cumsum": "any rank",
    "fill": "also of tensors in global memory",
    "clear": "also of tensors in global memory",
    "max": "a NaN operand gives the other operand; more than two operands",
    "min": "a NaN operand gives the other operand; more than two operands",
    "exp2": "8- and 16-bit floats are computed in float32 and rounded once; on GPUs a result below 2^-126 is 0",
    "exp": "8- and 16-bit floats are computed in float32 and rounded once",
    "log2": "8- and 16-bit floats are computed in float32 and rounded once",
    "rsqrt": "8- and 16-bit floats are computed in float32 and rounded once",
    "cast": "floats round to nearest even, integers wrap, float to integer truncates, 8-bit floats saturate; `round` "
    "other than `rn` and `rbits` are refused, `sat` has no effect",
    "Cast": "as `T.cast`",
    "dynamic": "may be used in arithmetic outside of the kernel",
    "symbolic": "the same as `T.dynamic`",
    "atomic_add": "every element type; `use_tma` is a request; shared memory too",
    "atomic_addx2": "each element atomic by itself; `return_prev` is refused",
    "atomic_addx4": "each element atomic by itself; `return_prev` is refused",
    "annotate_layout": "shared buffers only; a layout that no swizzle of rows expresses is an error",
    "Layout": "a function that is row panels with a 16-byte XOR swizzle",
    "alloc_barrier": _EXPLICIT,
    "mbarrier_wait_parity": _EXPLICIT,
    "mbarrier_arrive": _EXPLICIT,
    "barrier_wait": _EXPLICIT,
    "barrier_arrive": _EXPLICIT,
    "tma_copy": "blocks of `cluster_mask` expect the bytes themselves; " + _EXPLICIT,
    "ws": _EXPLICIT,
    "sync_grid": "the launch is cooperative by itself; not together with `cluster_dims`",
    "sync_threads": "rarely needed: accesses of different threads to shared memory are ordered by the compiler",
    "assume": "conditions on launch-time values are checked at each call",
    "print": "`warp_group_id` and `warp_id` have no effect",
    "device_assert": "`no_stack_info` has no effect; on the CPU the call raises",
    "unroll": "`explicit` has no effect",
    "serial": "a step known at run time must be positive",
    "reshape": "also of contiguous tensors and of fragments",
    "view": "another element type of buffers only",
    "Persistent": "`cluster_tile`, `order` and `dynamic` are ours",
    "cluster_sync": "a program that uses it gets no producer role from the compiler",
    "ptx": "ours",
    "num_sms": "ours",
    "annotate_l2_hit_ratio": "has no effect, with a warning",
}
