"""Loops of kernels. Python's ``range`` is :func:`serial`; loops over tuples and lists are unrolled while tracing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import context


@dataclass(eq=False)
class Loop:
    """A loop that only a ``for`` statement of a kernel can run.

    Attributes:
        kind: ``serial, unroll, vectorized, parallel, pipelined, grid`` or ``persistent``.
        name: what the user wrote, as in ``T.Pipelined``.
        bounds: ``(start, stop, step)`` or the extents of each dimension.
        options: keywords of the loop.
    """

    kind: str
    name: str
    bounds: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Any]:
        context.require(self.name)
        raise context.OutsideKernelError(
            f"a loop over {self.name}(...) was run by ordinary Python: the function that contains it has to be "
            f"decorated with @T.macro"
        )


def _range(kind: str, name: str, start: Any, stop: Any, step: Any, **options: Any) -> Loop:
    if stop is None:
        start, stop = 0, start
    return Loop(kind, name, (start, stop, 1 if step is None else step), options)


def serial(start: Any, stop: Any = None, step: Any = None, **annotations: Any) -> Any:
    """A sequential loop, ``for i in T.serial(n)`` or ``T.serial(start, stop, step)``; the same as ``range``.

    A step that is known only at run time must be positive. ``annotations`` are accepted and have no effect.
    """
    return _range("serial", "T.serial", start, stop, step)


Serial = serial


def unroll(
    start: Any, stop: Any = None, step: Any = None, *, explicit: bool = False, unroll_factor: int | None = None
) -> Any:
    """A sequential loop whose iterations are laid out one after the other in the generated code.

    Args:
        start, stop, step: as for ``range``.
        explicit: accepted; unrolling is always done by the compiler.
        unroll_factor: iterations per turn of a loop that remains; None: all, which needs a constant trip count.
    """
    return _range("unroll", "T.unroll", start, stop, step, factor=unroll_factor or 0)


Unroll = unroll


def vectorized(start: Any, stop: Any = None, step: Any = None) -> Any:
    """A loop whose iterations should become one vector access; ``start``, ``stop`` and ``step`` as for ``range``."""
    return _range("vectorized", "T.vectorized", start, stop, step)


Vectorized = vectorized


def Parallel(
    *extents: Any, coalesced_width: int | None = None, loop_layout: Any = None, prefer_async: Any = None
) -> Any:
    """Iterations without order, spread over the threads of the block: ``for i, j in T.Parallel(M, N)``.

    The body holds scalar code on elements of tensors and buffers; tile operations are not allowed in it. Extents may
    be launch-time values; an extent never shrinks what other loops do.

    Args:
        extents: iterations per dimension; the last one varies fastest over neighbouring threads.
        coalesced_width: elements per access that the loop should use.
        loop_layout: not available yet.
        prefer_async: accepted; whether loads run ahead is decided by ``T.Pipelined``.
    """
    return Loop("parallel", "T.Parallel", extents, {"coalesced_width": coalesced_width, "loop_layout": loop_layout})


parallel = Parallel


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: Sequence[int] | None = None,
    stage: Sequence[int] | None = None,
    sync: Any = None,
    group: Any = None,
    ping_pong: bool = False,
) -> Any:
    """A sequential loop whose loads run ahead of its computation.

    Args:
        start, stop: ``T.Pipelined(n)`` counts from 0 to n; ``T.Pipelined(start, stop)`` from start.
        num_stages: slots of each buffer that is filled ahead; 0 runs the loop serially.
        order, stage: one entry per top-level statement with an effect; override the planned schedule. -1 leaves the
            choice to the compiler. Computation in a lower stage than the rest runs for the next iteration; loads of
            shared memory go with their first use, ``num_stages`` deep.
        group: lists of statement numbers; ``order`` and ``stage`` then have one entry per group.
        sync: accepted from older programs and ignored.
        ping_pong: lets the warp groups take turns at starting the products of a loop in which one product feeds
            another from registers (sm_90a). Whether it pays depends on the sizes: measure it.
    """
    if stop is None:
        start, stop = 0, start
    options = {"num_stages": num_stages, "order": order, "stage": stage, "group": group, "ping_pong": ping_pong}
    return Loop("pipelined", "T.Pipelined", (start, stop, 1), options)


def grid(*extents: Any) -> Any:
    """Nested sequential loops: ``for i, j in T.grid(M, N)``."""
    return Loop("grid", "T.grid", extents)


def Persistent(
    domain: Sequence[Any],
    wave_size: Any,
    index: Any,
    group_size: int = 8,
    num_stages: int = 0,
    cluster_tile: Sequence[int] | None = None,
    ping_pong: bool = False,
    order: Sequence[int] | None = None,
    dynamic: bool = False,
) -> Any:
    """Tiles of ``domain`` that worker ``index`` of ``wave_size`` handles, one after the other.

    ``for bx, by in T.Persistent([tiles_m, tiles_n], T.num_sms(), block)``: every tile is visited once by one worker.
    Two-dimensional domains are walked in groups of ``group_size`` rows, so that concurrent workers share operands.
    ``num_stages``: with a producer role (sm_90a), loads of a tile that stand outside of the loop inside fill this many
    slots ahead, while consumers work on the tile before; 0 leaves them to the consumers. Without one it has no effect:
    the loop inside of a tile is the one to pipeline.

    In a kernel of one grid dimension with ``cluster_dims``, whose blocks are the workers, the blocks of a cluster work
    on neighbouring tiles at the same time: ``cluster_tile`` (with as many tiles as a cluster has blocks) of them per
    dimension of the domain; by default all along the first one, so that with rows first they share the columns'
    operand. ``group_size`` then counts clusters. The grid is rounded up to whole clusters. Tiles beyond the domain
    have no effect.

    ``ping_pong``: on sm_90a, with a producer role and ``threads=128``, two warp groups of 128 threads take turns on
    the tiles of a block, so that one multiplies while the other one stores its result. Tiles must not depend on each
    other. Where it does not apply, the block works on one tile at a time, and ``explain()`` says why.

    ``order`` names the dimensions from the slowest to the fastest, instead of groups of rows; ``~d`` walks dimension d
    from its last index to the first: ``order=(0, ~1, 2)``.

    ``dynamic=True`` takes tiles from a counter that all blocks share, so that one with short tiles gets more of them:
    with the longest tiles first, all end at about the same time. The first tile of a block is its own number. The
    next one is fetched while a tile is worked on, and the counter is back at zero after the launch. The workers must be
    the blocks of a grid of one dimension, without clusters, and the loop stands at the top level of the kernel and has
    no ``break``. On a CPU the tiles of a block are those of the static schedule.
    """
    options = {
        "wave_size": wave_size,
        "index": index,
        "group_size": group_size,
        "num_stages": num_stages,
        "cluster_tile": cluster_tile,
        "ping_pong": ping_pong,
        "order": order,
        "dynamic": dynamic,
    }
    return Loop("persistent", "T.Persistent", tuple(domain), options)


def num_sms() -> Any:
    """Number of multiprocessors of the device (int32; 1 on a CPU), for the extents of a persistent grid."""
    return context.require("T.num_sms").sm_count()
