"""The tile language: what may be written in a kernel. Use it as ``import tilemlir.language as T``.

Importing this package does not load the compiler. Kernel operations called outside of a kernel raise
:class:`~tilemlir.language.context.OutsideKernelError`.
"""

from __future__ import annotations

from typing import Any

from . import unavailable as _unavailable
from .annotations import (
    Buffer,
    FragmentBuffer,
    LocalBuffer,
    Ref,
    SharedBuffer,
    StridedTensor,
    Tensor,
    TensorType,
)
from .atomics import (
    atomic_add,
    atomic_addx2,
    atomic_addx4,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_store,
)
from .compute import (
    GemmWarpPolicy,
    gemm,
    reduce,
    reduce_absmax,
    reduce_abssum,
    reduce_bitand,
    reduce_bitor,
    reduce_bitxor,
    reduce_max,
    reduce_min,
    reduce_sum,
)
from .context import OutsideKernelError
from .dtypes import (
    DType,
    DTypeError,
    bfloat16,
    bool_,
    dtype,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    infinity,
    int8,
    int16,
    int32,
    int64,
    max_value,
    min_value,
    tfloat32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .functions import Macro, PrimFunc, macro, prim_func
from .hints import (
    annotate_layout,
    annotate_min_blocks_per_sm,
    annotate_safe_value,
    assume,
    device_assert,
    print,
    use_swizzle,
)
from .kernel import (
    Kernel,
    get_block_binding,
    get_block_bindings,
    get_block_extent,
    get_thread_binding,
    get_thread_bindings,
    get_thread_extent,
    get_thread_extents,
    sync_threads,
)
from .loops import (
    Parallel,
    Persistent,
    Pipelined,
    Serial,
    Unroll,
    Vectorized,
    grid,
    num_sms,
    serial,
    unroll,
    vectorized,
)
from .memory import (
    alloc_fragment,
    alloc_global,
    alloc_local,
    alloc_shared,
    alloc_var,
    clear,
    copy,
    empty,
    fill,
    reshape,
    view,
)
from .scalars import (
    Cast,
    Select,
    abs,
    align_up,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    cdiv,
    ceil,
    ceildiv,
    clamp,
    clz,
    copysign,
    cos,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    max,
    min,
    nearbyint,
    popcount,
    pow,
    reinterpret,
    round,
    rsqrt,
    shift_left,
    shift_right,
    sigmoid,
    sin,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from .symbols import SymbolicExpr, const, dynamic, symbolic
from .unavailable import NotAvailableError

float8_e4m3 = float8_e4m3fn
bool = bool_  # noqa: A001 - T.bool is the name programs use
float = float32  # noqa: A001
int = int32  # noqa: A001

__all__ = [_name for _name in dir() if not _name.startswith("_") and _name not in ("annotations", "Any")]


def __getattr__(name: str) -> Any:
    if name in _unavailable.REASONS:
        return _unavailable.make(name)
    raise AttributeError(f"module 'tilemlir.language' has no attribute {name!r}")
