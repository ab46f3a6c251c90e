"""Matrix multiplication and reductions of tiles."""

from __future__ import annotations

from enum import Enum
from typing import Any

from . import context


class GemmWarpPolicy(Enum):
    """How the warps of a block divide the output tile of a gemm.

    ``Square`` splits rows and columns evenly, ``FullRow`` gives each warp whole rows, ``FullCol`` whole columns.
    """

    Square = "square"
    FullRow = "full_row"
    FullCol = "full_col"


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: bool = False,
    k_pack: int = 1,
    mbar: Any = None,
    *,
    precision: str = "tf32",
) -> None:
    """``C += A @ B`` on tiles.

    Args:
        A: M x K tile (K x M with ``transpose_A``) in shared memory or a fragment.
        B: K x N tile (N x K with ``transpose_B``).
        C: M x N accumulator, whose element type products are accumulated in. Leading unit dimensions are allowed.
        policy: how warps divide the tile.
        clear_accum: start from zero instead of C.
        k_pack: accepted; has no effect on NVIDIA GPUs and CPUs.
        mbar: must be None; completion is tracked by the compiler.
        precision: for float32 operands: ``"tf32"`` rounds them to tf32, ``"ieee"`` multiplies in full precision.
    """
    context.require("T.gemm").gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum, k_pack, mbar, precision)


def reduce(buffer: Any, out: Any, reduce_type: str, dim: int = -1, clear: bool = True) -> None:
    """Combines the elements of ``buffer`` along ``dim`` into ``out``.

    Args:
        buffer: tile of any rank.
        out: the shape of ``buffer`` without ``dim``, or with extent 1 there.
        reduce_type: ``sum, max, min, abssum, absmax, bitand, bitor, bitxor, any`` or ``all``.
        dim: the dimension that disappears; negative counts from the end.
        clear: whether ``out`` is overwritten; otherwise its old contents take part.
    """
    context.require("T.reduce").reduce(reduce_type, buffer, out, dim, clear, False, "T.reduce")


def reduce_sum(buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1) -> None:
    """Sum along ``dim``; see :func:`reduce`. ``batch`` is accepted and has no effect."""
    context.require("T.reduce_sum").reduce("sum", buffer, out, dim, clear, False, "T.reduce_sum")


def reduce_max(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False
) -> None:
    """Maximum along ``dim``; NaN is ignored unless ``nan_propagate``. See :func:`reduce`."""
    context.require("T.reduce_max").reduce("max", buffer, out, dim, clear, nan_propagate, "T.reduce_max")


def reduce_min(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False
) -> None:
    """Minimum along ``dim``; NaN is ignored unless ``nan_propagate``. See :func:`reduce`."""
    context.require("T.reduce_min").reduce("min", buffer, out, dim, clear, nan_propagate, "T.reduce_min")


def reduce_abssum(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Sum of absolute values along ``dim``; see :func:`reduce`."""
    context.require("T.reduce_abssum").reduce("abssum", buffer, out, dim, clear, False, "T.reduce_abssum")


def reduce_absmax(
    buffer: Any, out: Any, dim: int = -1, clear: bool = True, batch: int = 1, nan_propagate: bool = False
) -> None:
    """Largest absolute value along ``dim``; see :func:`reduce`."""
    context.require("T.reduce_absmax").reduce("absmax", buffer, out, dim, clear, nan_propagate, "T.reduce_absmax")


def reduce_bitand(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Bitwise and of integers along ``dim``; see :func:`reduce`."""
    context.require("T.reduce_bitand").reduce("bitand", buffer, out, dim, clear, False, "T.reduce_bitand")


def reduce_bitor(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Bitwise or of integers along ``dim``; see :func:`reduce`."""
    context.require("T.reduce_bitor").reduce("bitor", buffer, out, dim, clear, False, "T.reduce_bitor")


def reduce_bitxor(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Bitwise exclusive or of integers along ``dim``; see :func:`reduce`."""
    context.require("T.reduce_bitxor").reduce("bitxor", buffer, out, dim, clear, False, "T.reduce_bitxor")


def reduce_any(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Whether any element along ``dim`` is not zero, converted to the type of ``out``; see :func:`reduce`."""
    context.require("T.reduce_any").reduce_truth("any", buffer, out, dim, clear, "T.reduce_any")


def reduce_all(buffer: Any, out: Any, dim: int = -1, clear: bool = True) -> None:
    """Whether no element along ``dim`` is zero, converted to the type of ``out``; see :func:`reduce`."""
    context.require("T.reduce_all").reduce_truth("all", buffer, out, dim, clear, "T.reduce_all")


def any_of(buffer: Any) -> Any:
    """Whether any element of ``buffer``, a tile or a part of one, is not zero; a truth value for conditions.

    It is the same for all threads of the block; of a ``T.alloc_local`` buffer each thread asks for itself.
    """
    return context.require("T.any_of").truth_of("any", buffer, "T.any_of")


def all_of(buffer: Any) -> Any:
    """Whether no element of ``buffer``, a tile or a part of one, is zero; see :func:`any_of`."""
    return context.require("T.all_of").truth_of("all", buffer, "T.all_of")


def cumsum(src: Any, dst: Any = None, dim: int = 0, reverse: bool = False) -> None:
    """Running sum along ``dim``, from the end with ``reverse``.

    Args:
        src: a tile in shared memory or a fragment.
        dst: a tile of the same shape; ``src`` itself by default.
        dim: the dimension that is walked; negative counts from the end.
        reverse: start at the last element.
    """
    context.require("T.cumsum").scan("sum", src, dst, dim, reverse, "T.cumsum")


def cummax(src: Any, dst: Any = None, dim: int = 0, reverse: bool = False) -> None:
    """Running maximum along ``dim``; see :func:`cumsum`. NaN is ignored once a number was seen."""
    context.require("T.cummax").scan("max", src, dst, dim, reverse, "T.cummax")


def transpose(src: Any, dst: Any) -> None:
    """``dst[j, i] = src[i, j]`` for matrices in shared memory."""
    context.require("T.transpose").transpose(src, dst)
