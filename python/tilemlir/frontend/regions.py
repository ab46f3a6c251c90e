"""Which region an element such as ``A[bz, k * 64, head, 0]`` names in a copy.

The rule for a tile of lower rank than the tensor. Tile dimensions are matched to tensor dimensions in order. Whether a
tile dimension of extent ``e`` may lie at a start index is told by the form of the index alone:

* *yes*: a multiple of ``e`` (``bx * e``, ``0``);
* *no*: a bare index (a block index, a loop variable, a loaded value, a quotient, a constant that is no multiple);
* *maybe*: a sum or product that is not known to be a multiple.

Matches with a *no* are discarded, those with most *yes* preferred, and among equals those whose extents fit into the
dimensions; but one that takes more run-time multiples (``bx * e``, not ``0``) stays, because they are no accident, and
a dimension may well be shorter than a tile. A unique match is taken; otherwise the copy is an error that shows the
slice form. Dimensions that are left over have extent 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..language.symbols import SymbolicExpr
from .values import Scalar

YES, MAYBE, NO = 2, 1, 0


def classify(index: Any, extent: int) -> int:
    """Whether a tile dimension of this extent may begin at ``index``: YES, MAYBE or NO."""
    if isinstance(index, Scalar):
        if index.multiple % extent == 0:
            return YES
        if index.constant is not None:
            return NO
        return NO if index.bare else MAYBE
    if isinstance(index, SymbolicExpr):
        return YES if extent == 1 else (NO if index.kind == "symbol" else MAYBE)
    return YES if int(index) % extent == 0 else NO


def _is_constant(index: Any) -> bool:
    return index.constant is not None if isinstance(index, Scalar) else not isinstance(index, SymbolicExpr)


@dataclass(frozen=True)
class Match:
    """One way to lay a tile over a tensor.

    Attributes:
        dims: the tensor dimension of each tile dimension.
        yes: number of tile dimensions that certainly begin at a multiple of their extent.
        multiples: number of those whose start is not a constant.
        fits: whether every extent is at most that of its dimension (where that is a constant).
    """

    dims: tuple[int, ...]
    yes: int
    multiples: int
    fits: bool


def matches(indices: Sequence[Any], shape: Sequence[Any], tile: Sequence[int]) -> list[Match]:
    """All ways to lay a tile over a tensor that have no *no*, best ones only.

    Args:
        indices: start index per tensor dimension.
        shape: extents of the tensor, integers or launch-time sizes.
        tile: extents of the tile, none of them 1.

    Returns:
        The matches that the rule cannot tell apart: one when the copy is clear, none when every match has a *no*.
    """
    found: list[Match] = []
    for dims in combinations(range(len(indices)), len(tile)):
        kinds = [classify(indices[dim], extent) for dim, extent in zip(dims, tile, strict=True)]
        if NO in kinds:
            continue
        fits = all(
            not isinstance(shape[dim], int) or extent <= shape[dim] for dim, extent in zip(dims, tile, strict=True)
        )
        multiples = sum(kind == YES and not _is_constant(indices[dim]) for dim, kind in zip(dims, kinds, strict=True))
        found.append(Match(dims, kinds.count(YES), multiples, fits))
    if not found:
        return []
    most = max(match.yes for match in found)
    found = [match for match in found if match.yes == most]
    fitting = [match.multiples for match in found if match.fits]
    if fitting:
        found = [match for match in found if match.fits or match.multiples > max(fitting)]
    return found
