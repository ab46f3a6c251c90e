"""A picture of a timeline: a lane per role, its copies, its products, and the phases of its mbarriers.

Needs matplotlib (`pip install tilemlir[plot]`). What is drawn comes from `tilemlir.simulator.trace`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilemlir import errors

if TYPE_CHECKING:
    from tilemlir.simulator.trace import Trace

__all__ = ["draw"]

Span = tuple[int, int]

_COLORS = {
    "runs": "#3b6fb6",
    "waits": "#d9d9d9",
    "load": "#e8852a",
    "store": "#a04a8f",
    "wgmma": "#3d9a50",
    "phase": "#222222",
}
#: Copies or products beside each other of which each still has a bar of its own.
_MOST_SUBLANES = 4
_MOST_BARRIERS = 16


def _merged(spans: Iterable[Span], gap: int) -> list[Span]:
    """Spans in order, those closer than `gap` joined."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def _stacked(spans: Sequence[Span]) -> list[tuple[int, int, int]]:
    """(begin, end, sublane) of spans that may overlap; the first free sublane is taken."""
    free = [0] * _MOST_SUBLANES
    placed = []
    for begin, end in sorted(spans):
        lane = next((i for i, until in enumerate(free) if until <= begin), min(range(len(free)), key=free.__getitem__))
        free[lane] = max(free[lane], end)
        placed.append((begin, end, lane))
    return placed


class _Lane:
    """One row of the picture."""

    def __init__(self, label: str, height: float) -> None:
        self.label = label
        self.height = height
        self.bars: list[tuple[str, list[Span], float, float]] = []
        self.marks: list[int] = []

    def bar(self, color: str, spans: list[Span], low: float = 0.0, height: float = 1.0) -> None:
        """Spans between two fractions of the lane's height."""
        self.bars.append((color, spans, low, height))


def _warp_label(warps: Sequence[int], acts: set[str], roles: bool) -> str:
    text = f"warp {warps[0]}" if len(warps) == 1 else f"warps {warps[0]}-{warps[-1]}"
    if not roles:
        return text
    role = "consumer" if "products" in acts else "producer" if "loads" in acts else "others"
    return f"{role} ({text})"


def _lanes(trace: Trace, process: str, gap: int) -> list[_Lane]:
    events = [event for event in trace.events if event[2] == process]
    warps = sorted({event[3] for event in events if event[3] < 1000})
    acts = {warp: trace.acts.get((process, warp), set()) for warp in warps}
    everything: set[str] = set().union(*acts.values()) if acts else set()
    roles = "products" in everything and any("loads" in act and "products" not in act for act in acts.values())
    groups: dict[int, list[int]] = {}
    for warp in warps:
        groups.setdefault(warp // 4 if len(warps) > 4 or "products" in everything else warp, []).append(warp)
    lanes = []
    for members in groups.values():
        lane = _Lane(_warp_label(members, set().union(*[acts[warp] for warp in members]), roles), 1.0)
        mine = [event for event in events if event[3] in members]
        for color, category in (("waits", "wait"), ("runs", "run")):
            lane.bar(color, _merged([(e[0], e[1]) for e in mine if e[5] == category], gap))
        lanes.append(lane)
    copies = [event for event in events if event[5] == "copy"]
    for name, kind in (("loads", "load"), ("stores", "store")):
        spans = [(e[0], e[1]) for e in copies if (".global.shared" in e[6]) == (kind == "store")]
        if spans:
            lane = _Lane(f"{name} on their way", 1.0)
            for begin, end, place in _stacked(spans):
                lane.bar(kind, [(begin, end)], place / _MOST_SUBLANES, 1 / _MOST_SUBLANES)
            lanes.append(lane)
    for row in sorted({event[3] for event in events if event[5] == "product"}):
        lane = _Lane(f"wgmma of group {row - 1100}", 1.0)
        for begin, end, place in _stacked([(e[0], e[1]) for e in events if e[3] == row]):
            lane.bar("wgmma", [(begin, end)], place / _MOST_SUBLANES, 1 / _MOST_SUBLANES)
        lanes.append(lane)
    barriers = list(dict.fromkeys(event[4] for event in events if event[5] == "barrier"))
    names = {name: re.sub(r"^mbarrier (\d+): phase .*$", r"mbarrier at \1", name) for name in barriers}
    distinct = sorted(set(names.values()))
    if len(distinct) > _MOST_BARRIERS:
        distinct, names = ["mbarriers"], dict.fromkeys(barriers, "mbarriers")
    for shown in distinct:
        lane = _Lane(shown, 0.45)
        lane.marks = [event[0] for event in events if event[5] == "barrier" and names[event[4]] == shown]
        lanes.append(lane)
    return lanes


def draw(trace: Trace, path: str | Path, blocks: int = 2) -> None:
    """Draws a timeline into a PNG.

    Args:
        trace: what was recorded.
        path: of the file.
        blocks: how many blocks are drawn, the first ones of the run.

    Raises:
        TileRuntimeError: without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
    except ImportError:
        raise errors.make("no-matplotlib", {"what": "A picture of the timeline"}) from None
    processes = list(dict.fromkeys(event[2] for event in trace.events))
    shown = processes[:blocks]
    begin = min((event[0] for event in trace.events if event[2] in shown), default=0)
    end = max((event[1] for event in trace.events if event[2] in shown), default=1)
    gap = (end - begin) // 3000
    parts: list[tuple[str, list[_Lane]]] = [(process, _lanes(trace, process, gap)) for process in shown]
    height = sum(lane.height for _, lanes in parts for lane in lanes) + 0.9 * len(parts)
    figure = Figure(figsize=(16, 1.6 + 0.34 * height), layout="constrained")
    axes = figure.subplots()
    position, ticks, labels = 0.0, [], []
    for process, lanes in parts:
        axes.text(begin, position + 0.62, process, fontsize=10, fontweight="bold", va="center")
        position += 0.9
        for lane in lanes:
            _draw_lane(axes, lane, position)
            ticks.append(position + lane.height / 2)
            labels.append(lane.label)
            position += lane.height
    axes.set_yticks(ticks, labels, fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(position + 0.2, 0)
    axes.set_xlim(begin, end + max((end - begin) // 200, 1))
    axes.xaxis.grid(True, color="#eeeeee", zorder=0)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("time in warp instructions of the whole machine, in the scheduler's order (not cycles)")
    left_out = len(processes) - len(shown)
    more = f"; {left_out} more blocks are not drawn" if left_out else ""
    figure.suptitle(f"{trace.title}{more}", fontsize=12)
    used = {color for _, lanes in parts for lane in lanes for color, spans, _, _ in lane.bars if spans}
    texts = {"runs": "runs", "waits": "waits", "load": "load, issue to arrival", "store": "store", "wgmma": "product"}
    handles: list[Any] = [Patch(color=_COLORS[name], label=text) for name, text in texts.items() if name in used]
    if any(lane.marks for _, lanes in parts for lane in lanes):
        handles.append(Patch(color=_COLORS["phase"], label="| phase of an mbarrier completes"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9, frameon=False)
    figure.savefig(path, dpi=120)


def _draw_lane(axes: Any, lane: _Lane, top: float) -> None:
    for color, spans, low, height in lane.bars:
        bars = [(begin, max(end - begin, 1)) for begin, end in spans]
        room = 0.84 * lane.height
        axes.broken_barh(
            bars, (top + 0.08 * lane.height + low * room, 0.92 * height * room), facecolors=_COLORS[color], zorder=2
        )
    if lane.marks:
        axes.plot(
            lane.marks, [top + lane.height / 2] * len(lane.marks), "|", color=_COLORS["phase"], markersize=9, zorder=3
        )
        axes.axhline(top + lane.height / 2, color="#dddddd", linewidth=0.7, zorder=1)
