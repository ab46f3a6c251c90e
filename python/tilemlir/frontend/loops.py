"""Loops: ``for`` over ranges, ``T.Parallel``, ``T.Pipelined`` and compile-time iterables, and ``while``."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any

from .._mlir import ir
from ..language.dtypes import bool_, int32
from ..language.loops import Loop
from ..language.symbols import SymbolicExpr
from .builder import DYNAMIC
from .expressions import is_runtime
from .scopes import facts_of, loads_of
from .statements import BreakLoop, LoopContext, Statements, run_with_loop
from .values import RuntimeValue, Scalar, Variable


class Loops(Statements):
    """Executes loops."""

    # Dispatch.

    def _stmt_For(self, node: ast.For) -> None:
        if node.orelse:
            self.fail("syntax", "for ... else is not allowed in a kernel", fix="set a variable before break")
        loop = self._iterable(node.iter)
        if not isinstance(loop, Loop):
            self._unrolled_for(node, loop)
            return
        self.node = node.iter
        self.require_kernel(f"a loop over {loop.name}")
        if loop.kind == "parallel":
            self._parallel_for(node, loop)
        elif loop.kind == "pipelined":
            self._pipelined_for(node, loop)
        elif loop.kind == "grid":
            self._grid_for(node, loop)
        elif loop.kind == "persistent":
            self._persistent_for(node, loop)
        else:
            self._serial_for(node, loop)

    def _iterable(self, node: ast.expr) -> Any:
        """What a loop runs over; ``range`` is T.serial."""
        if isinstance(node, ast.Call) and not node.keywords and self.expr(node.func) is builtins.range:
            bounds = [self.expr(argument) for argument in node.args]
            if not 1 <= len(bounds) <= 3:
                self.fail("call", "range takes one to three arguments", found=ast.unparse(node))
            start, stop = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
            return Loop("serial", "range", (start, stop, bounds[2] if len(bounds) == 3 else 1))
        value = self.expr(node)
        if isinstance(value, range):
            return Loop("serial", "range", (value.start, value.stop, value.step))
        return value

    def _unrolled_for(self, node: ast.For, value: Any) -> None:
        """A loop over compile-time items happens while tracing."""
        self.node = node.iter
        items = self.compile_time_items(value, node.iter)
        self.node = node
        loop = LoopContext("this loop", False, self.region_depth)
        can_break, can_continue = facts_of(node).breaks, facts_of(node).continues
        flags: list[Variable] = []
        if self.kernel_state is not None:
            if can_break:
                loop.stop = self._flag("loop_stopped")
                flags.append(loop.stop)
            if can_continue:
                loop.skip = self._flag("iteration_skipped")
                flags.append(loop.skip)
        for item in items:
            if loop.skip is not None and loop.events:
                self.store(loop.skip, False)

            def iteration(item: Any = item) -> None:
                self.assign(node.target, item)
                self.run(node.body)

            try:
                if loop.broke:
                    assert loop.stop is not None
                    self.promote_names(facts_of(node).assigned)
                    operation = self.emit("scf.if", (), [self.logical_not(self.load(loop.stop)).value], regions=2)
                    with self.region(self.add_block(operation, 0)):
                        loop.depth = self.region_depth
                        try:
                            run_with_loop(self, loop, iteration)
                        finally:
                            self.emit("scf.yield")
                            loop.depth = self.region_depth - 1
                else:
                    run_with_loop(self, loop, iteration)
            except BreakLoop:
                break
        if not loop.events:
            for flag in flags:
                self._erase_flag(flag)

    # Flags of break and continue.

    def _flag(self, name: str) -> Variable:
        made = self._alloc_outside_parallel(self.buffer_type((), bool_, "local"), name)
        variable = Variable(made, bool_, name, line=getattr(self.node, "lineno", 0))
        self.store(variable, False)
        return variable

    @staticmethod
    def _erase_flag(flag: Variable) -> None:
        """Removes a flag that nothing but its own initialisations uses."""
        for use in list(flag.value.uses):
            use.owner.operation.erase()
        flag.value.owner.operation.erase()

    def _loop_context(self, node: ast.For | ast.While, name: str, allows_break: bool = True) -> LoopContext:
        """The context of a loop of the kernel, with flags for the break and continue that it contains."""
        loop = LoopContext(name, True, self.region_depth + 1, allows_break=allows_break)
        if facts_of(node).breaks and allows_break:
            loop.stop = self._flag("loop_stopped")
        if facts_of(node).continues:
            loop.skip = self._flag("iteration_skipped")
        return loop

    def traced_body(self, node: ast.For | ast.While, loop: LoopContext, bind: Callable[[], None]) -> None:
        """The body of a loop of the kernel, inside of its region: nothing happens once the loop was broken."""
        if loop.skip is not None:
            self.store(loop.skip, False)

        def body() -> None:
            bind()
            self.run(node.body)

        if loop.stop is None:
            run_with_loop(self, loop, body)
            return
        going = self.logical_not(self.load(loop.stop))
        operation = self.emit("scf.if", (), [going.value], regions=2)
        with self.region(self.add_block(operation, 0)):
            loop.depth = self.region_depth
            try:
                run_with_loop(self, loop, body)
            except BreakLoop:
                pass
            self.emit("scf.yield")

    # Targets.

    def _bind_targets(self, node: ast.For, values: Sequence[Any], name: str) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self._bind_loop_name(target.id, values[0] if len(values) == 1 else tuple(values))
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or not all(isinstance(part, ast.Name) for part in target.elts):
            self.fail("syntax", f"the loop over {name} needs plain names for its indices", found=ast.unparse(target))
        if len(target.elts) != len(values):
            self.fail(
                "call",
                f"{name} gives {len(values)} ind{'ices' if len(values) != 1 else 'ex'}, "
                f"{len(target.elts)} name{'s' if len(target.elts) != 1 else ''} are given",
                found=ast.unparse(target),
            )
        for part, value in zip(target.elts, values, strict=True):
            assert isinstance(part, ast.Name)
            self._bind_loop_name(part.id, value)

    def _bind_loop_name(self, name: str, value: Any) -> None:
        self.frame.bind(name, value, self.region_depth)

    # Counted loops.

    def _bound(self, value: Any, name: str) -> Any:
        result = self.scalar(value)
        if isinstance(result, Scalar):
            if not result.dtype.is_integer:
                self.fail(
                    "argument", f"the bounds of {name} must be integers", found=self.describe(result),
                    fix="use // or T.ceildiv instead of /",
                )  # fmt: skip
            return result if result.constant is None else int(result.constant)
        if isinstance(result, float):
            self.fail(
                "argument", f"the bounds of {name} must be integers", found=repr(result),
                fix="use // or T.ceildiv instead of /",
            )  # fmt: skip
        return int(result)

    @staticmethod
    def _low(value: Any) -> int | None:
        return value.low if isinstance(value, Scalar) else value

    @staticmethod
    def _high(value: Any) -> int | None:
        return value.high if isinstance(value, Scalar) else value

    def counted(
        self,
        start: Any,
        stop: Any,
        step: Any,
        hint: str | None,
        body: Callable[[Scalar], None],
        *,
        ping_pong: bool = False,
    ) -> None:
        """An ``scf.for`` whose body is traced by ``body(index)``."""
        reverse = not isinstance(step, Scalar) and step < 0
        first = start
        if reverse:
            # scf.for counts upwards only: count the iterations and compute the index from them.
            trips = (
                self.math("ceildiv", (self.binary("sub", start, stop), -step))
                if is_runtime(start) or is_runtime(stop)
                else max(0, -((stop - start) // -step))
            )
            first, last, stride = 0, trips, 1
        else:
            last, stride = stop, step
        operands = [self.index_value(bound).value for bound in (first, last, stride)]
        operation = self.emit("scf.for", (), operands, regions=1)
        if hint is not None:
            operation.operation.attributes["tile.loop_hint"] = self.attribute(hint)
        if ping_pong:
            operation.operation.attributes["tile.ping_pong"] = self.attribute("unit")
        block = self.add_block(operation, 0, 1)
        low, high = self._low(first), self._high(last)
        multiple = 1
        if isinstance(stride, int):
            multiple = _gcd_with(first, stride)
        index = Scalar(
            block.arguments[0], int32, low=low, high=None if high is None else high - 1, multiple=multiple, bare=True
        )
        with self.region(block):
            body(self.binary("sub", start, self.binary("mul", index, -step)) if reverse else index)
            self.emit("scf.yield")

    def _serial_for(self, node: ast.For, loop: Loop) -> None:
        start, stop, step = (self._bound(value, loop.name) for value in loop.bounds)
        if step == 0 and isinstance(step, int):
            self.fail("argument", f"the step of {loop.name} must not be zero")
        hint = None
        if loop.kind == "unroll":
            factor = loop.options.get("factor", 0)
            hint = "#tile.loop_hint<unroll>" if not factor else f"#tile.loop_hint<unroll, {factor}>"
        elif loop.kind == "vectorized":
            hint = "#tile.loop_hint<vectorized>"
        place = self.node
        self.node = node
        self.promote_names(facts_of(node).assigned)
        context = self._loop_context(node, loop.name)
        self.node = place
        self.counted(
            start, stop, step, hint,
            lambda index: self.traced_body(node, context, lambda: self._bind_targets(node, [index], loop.name)),
        )  # fmt: skip

    def _grid_for(self, node: ast.For, loop: Loop) -> None:
        extents = [self._bound(extent, loop.name) for extent in loop.bounds]
        if not extents:
            self.fail("argument", "T.grid takes at least one extent")
        self.promote_names(facts_of(node).assigned)
        context = self._loop_context(node, loop.name)
        context.depth = self.region_depth + len(extents)
        indices: list[Scalar] = []

        def nest(position: int) -> None:
            if position == len(extents):
                self.traced_body(node, context, lambda: self._bind_targets(node, indices, loop.name))
                return

            def inner(index: Scalar) -> None:
                indices.append(index)
                nest(position + 1)

            self.counted(0, extents[position], 1, None, inner)

        nest(0)

    def _persistent_for(self, node: ast.For, loop: Loop) -> None:
        extents = [self._bound(extent, loop.name) for extent in loop.bounds]
        if not extents:
            self.fail("argument", "T.Persistent needs the extents of its tiles")
        total: Any = extents[0]
        for extent in extents[1:]:
            total = self.binary("mul", total, extent)
        group = self._bound(loop.options["group_size"], loop.name)
        if not isinstance(group, int) or group < 1:
            self.fail("argument", "group_size of T.Persistent must be a positive compile-time integer")
        stages = self._stages(loop)
        ping_pong, dynamic = loop.options["ping_pong"], loop.options["dynamic"]
        for name, value in {"ping_pong": ping_pong, "dynamic": dynamic}.items():
            if not isinstance(value, bool):
                self.fail("argument", f"{name} of T.Persistent must be True or False at compile time")
        if ping_pong and dynamic:
            self.fail(
                "argument", "T.Persistent has tiles from a counter or groups that take turns, not both",
                found="dynamic=True and ping_pong=True",
            )  # fmt: skip
        self.promote_names(facts_of(node).assigned)
        context = self._loop_context(node, loop.name)
        worker, workers = (
            self._bound(loop.options["index"], loop.name),
            self._bound(loop.options["wave_size"], loop.name),
        )

        order = self._tile_order(loop.options["order"], len(extents))

        def locate(tile: Scalar, extents: Sequence[Any]) -> list[Any]:
            if order is not None:
                return self._in_order(tile, extents, order)
            return self._grouped(tile, extents, group) if len(extents) == 2 else self._row_major(tile, extents)

        if dynamic:
            self._dynamic_tiles(node, loop, context, total, worker, workers, lambda tile: locate(tile, extents))
            return
        shape = self.cluster_tile(loop.options["cluster_tile"], worker, workers, len(extents))
        if shape is None:

            def body(tile: Scalar) -> None:
                indices = locate(tile, extents)
                self._tile(node, context, stages, lambda: self._bind_targets(node, indices, loop.name))

            self.counted(worker, total, workers, None, body, ping_pong=ping_pong)
            return

        # Clusters take tiles of clusters, and each block its own part of them. All blocks of a cluster go through the
        # same iterations; where a cluster reaches over the end, some of its tiles do not exist.
        blocks = 1
        for extent in shape:
            blocks *= extent
        clusters = self.complete_clusters(blocks)
        rank = self.block_rank()
        coarse = [self.rounded_quotient(extent, size) for extent, size in zip(extents, shape, strict=True)]
        total = coarse[0]
        for extent in coarse[1:]:
            total = self.binary("mul", total, extent)

        def cluster_body(tile: Scalar) -> None:
            indices: list[Any] = []
            rest = rank
            for index, size, extent in zip(locate(tile, coarse), shape, extents, strict=True):
                if size > 1:
                    place = self.math("floormod", (rest, size))
                    rest = self.math("floordiv", (rest, size))
                    index = self.binary("add", self.binary("mul", index, size), place)
                    if not isinstance(extent, int) or extent % size:
                        self.mask_effects_beyond(index, extent)
                indices.append(index)
            self._tile(node, context, stages, lambda: self._bind_targets(node, indices, loop.name))

        self.counted(self.cluster_index(0, loop.name), total, clusters, None, cluster_body, ping_pong=ping_pong)

    def _tile(self, node: ast.For, context: LoopContext, stages: int, bind: Callable[[], None]) -> None:
        """The body of a loop over tiles; with stages, one iteration of a loop whose loads a producer role may start."""
        if not stages:
            self.traced_body(node, context, bind)
            return
        operands = [self.index_value(bound).value for bound in (0, 1)]
        operation = self.emit("tile.pipelined", (), operands, {"num_stages": self.integer(stages)}, regions=1)
        block = self.add_block(operation, 0, 1)
        context.depth += 1
        explicit = self.explicit_count
        with self.region(block):
            self.traced_body(node, context, bind)
        reason = (
            f"break in {context.name}" if context.broke
            else f"the body of {context.name} orders its asynchronous work itself" if self.explicit_count != explicit
            else None
        )  # fmt: skip
        if reason is None:
            return
        for inner in list(block.operations):
            inner.operation.move_before(operation.operation)
        operation.operation.erase()
        place = self.here()
        self.warn(f"{place.file}:{place.line}: {reason}: num_stages={stages} has no effect")

    def _dynamic_tiles(
        self, node: ast.For, loop: Loop, context: LoopContext, total: Any, worker: Any, workers: Any,
        locate: Callable[[Scalar], list[Any]],
    ) -> None:  # fmt: skip
        """Tiles from a counter: the next one is fetched at the beginning of a tile, and known at its end."""
        what = "T.Persistent(dynamic=True)"
        if self.cluster_extents(what) != (1, 1, 1) or loop.options["cluster_tile"] is not None:
            self.fail("argument", f"{what} gives tiles to single blocks", found="a kernel with clusters")
        if not self._is_block_index(worker, workers):
            self.fail(
                "argument", f"the workers of {what} are the blocks of a grid of one dimension",
                found="another index, or another number of workers than the grid has",
                fix="with T.Kernel(count) as block: ... T.Persistent(tiles, count, block, dynamic=True)",
            )  # fmt: skip
        if self.ip.block.owner.operation.name != "tile.kernel":
            self.fail(
                "argument", f"{what} stands at the top level of a kernel", found="a loop, a condition or T.ws around it"
            )
        if facts_of(node).breaks:
            self.fail(
                "syntax", f"a loop over {what} cannot be left early: its block has fetched the next tile by then",
                fix="use a flag and continue, or leave out dynamic=True",
            )  # fmt: skip
        self.name_hint = "tile_counter"
        counter = self.alloc_global((1,), int32, "once").value
        self.name_hint = None
        number, count = self.index_value(total).value, self.index_value(workers).value
        tile_type = self.buffer_type((), int32, "local")
        following = Variable(self._alloc_outside_parallel(tile_type, "next_tile"), int32, "next_tile", line=node.lineno)
        self.store(following, worker)
        operation = self.emit("scf.while", (), (), regions=2)
        before, after = self.add_block(operation, 0), self.add_block(operation, 1)
        with self.region(before):
            exists = self.as_type(self.compare("lt", self.load(following), total), bool_)
            self.emit("scf.condition", (), [exists.value])
        with self.region(after):
            # Known to be a tile here; said in a form from which ranges follow.
            tile = self.math("max", (self.math("min", (self.load(following), self.binary("sub", total, 1))), 0))
            high = self._high(total)
            tile = Scalar(tile.value, int32, low=0, high=None if high is None else max(high - 1, 0))
            fetched = self.value("tile.fetch_tile", tile.value.type, [counter, tile.value, number, count])
            self._tile(node, context, self._stages(loop), lambda: self._bind_targets(node, locate(tile), loop.name))
            segments = {"operandSegmentSizes": self.segments([1, 1, 0, 0])}
            shared = self.value("tile.share_tile", tile.value.type, [counter, fetched], segments)
            self.store(following, Scalar(shared, int32, low=0))
            self.emit("scf.yield")

    def _tile_order(self, order: Any, rank: int) -> list[int] | None:
        """Dimensions of a domain from the slowest to the fastest; ~d for one that is walked from its end."""
        if order is None:
            return None
        dims = list(order) if isinstance(order, Sequence) and not isinstance(order, str) else []
        numbers = [dim for dim in dims if isinstance(dim, int) and not isinstance(dim, bool)]
        if len(numbers) != len(dims) or sorted(max(dim, ~dim) for dim in numbers) != list(range(rank)):
            self.fail(
                "argument", "order of T.Persistent names every dimension of the domain once, the slowest first",
                found=repr(order), allowed=f"the numbers 0 to {rank - 1}; ~d for d from its last index to the first",
            )  # fmt: skip
        return numbers

    def _in_order(self, tile: Any, extents: Sequence[Any], order: Sequence[int]) -> list[Any]:
        walked = self._row_major(tile, [extents[max(dim, ~dim)] for dim in order])
        indices: list[Any] = [0] * len(order)
        for dim, index in zip(order, walked, strict=True):
            place = max(dim, ~dim)
            last = self.binary("sub", extents[place], 1)
            indices[place] = self.binary("sub", last, index) if dim < 0 else index
        return indices

    def _row_major(self, tile: Any, extents: Sequence[Any]) -> list[Any]:
        indices: list[Any] = []
        for extent in reversed(extents[1:]):
            indices.insert(0, self.math("floormod", (tile, extent)))
            tile = self.math("floordiv", (tile, extent))
        return [tile, *indices]

    def _grouped(self, tile: Any, extents: Sequence[Any], group: int) -> list[Any]:
        """Two-dimensional tiles in groups of rows, column by column inside of a group; the last one may be smaller."""
        rows, columns = extents
        per_group = self.binary("mul", columns, group)
        number = self.math("floordiv", (tile, per_group))
        inside = self.math("floormod", (tile, per_group))
        first = self.binary("mul", number, group)
        height = self.math("min", (self.binary("sub", rows, first), group))
        # At least one tile exists here, so the group has at least one row.
        height = self.math("max", (height, 1))
        row = self.binary("add", first, self.math("floormod", (inside, height)))
        return [row, self.math("floordiv", (inside, height))]

    # Parallel and pipelined loops.

    def emit_parallel(self, extents: tuple[Any, ...], body: Callable[[tuple[Scalar, ...]], None]) -> None:
        """A ``tile.parallel`` over ``extents`` whose body is traced by ``body(indices)``."""
        self._parallel(tuple(self._bound(extent, "T.Parallel") for extent in extents), None, body)

    def _parallel(
        self, extents: tuple[Any, ...], width: int | None, body: Callable[[tuple[Scalar, ...]], None]
    ) -> None:
        operands = [self.index_value(extent).value for extent in extents if isinstance(extent, Scalar)]
        attributes: dict[str, ir.Attribute] = {
            "static_extents": self.integers([DYNAMIC if isinstance(extent, Scalar) else extent for extent in extents])
        }
        if width is not None:
            attributes["coalesced_width"] = self.integer(width)
        operation = self.emit("tile.parallel", (), operands, attributes, regions=1)
        block = self.add_block(operation, 0, len(extents))
        indices = tuple(
            Scalar(block.arguments[axis], int32, low=0, high=_less_one(self._high(extent)), bare=True)
            for axis, extent in enumerate(extents)
        )
        self.parallel, self.parallel_line = operation.operation, getattr(self.node, "lineno", 0)
        self.parallel_indices, self.parallel_extents = indices, extents
        try:
            with self.region(block):
                self.parallel_depth = self.region_depth
                body(indices)
        finally:
            self.parallel = None

    def _parallel_for(self, node: ast.For, loop: Loop) -> None:
        if self.parallel is not None:
            self.fail(
                "collective-in-parallel", "T.Parallel loops cannot be nested",
                found=f"the T.Parallel loop that begins at line {self.parallel_line}",
                fix="write one loop, for i, j in T.Parallel(m, n), or make the inner one T.serial",
            )  # fmt: skip
        if loop.options.get("loop_layout") is not None:
            self.fail("not-available", "T.Parallel(loop_layout=...) is not available yet", fix="leave it out")
        if not loop.bounds:
            self.fail("argument", "T.Parallel takes at least one extent")
        extents = tuple(self._bound(extent, "T.Parallel") for extent in loop.bounds)
        for extent in extents:
            if isinstance(extent, int) and extent < 0:
                self.fail("argument", "the extents of T.Parallel must not be negative", found=str(extent))
        self._hide_parallel_names(node)
        width = loop.options.get("coalesced_width")
        context = self._loop_context(node, "T.Parallel", allows_break=False)
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        self.parallel_names = tuple(ast.unparse(target) for target in targets)
        self._parallel(
            extents, width,
            lambda indices: self.traced_body(node, context, lambda: self._bind_targets(node, indices, "T.Parallel")),
        )  # fmt: skip

    def _hide_parallel_names(self, node: ast.For) -> None:
        """Outer scalars that the body of T.Parallel rebinds: temporaries of an iteration hide them, else an error."""
        frame = self.frame
        for name in sorted(facts_of(node).assigned):
            if not isinstance(frame.locals.get(name), (bool, int, float, Scalar, SymbolicExpr)):
                continue
            first = next(part for part in node.body if _mentions(part, name))
            if isinstance(first, ast.Assign) and not loads_of(name, first.value):
                del frame.locals[name]
                frame.unavailable[name] = ("assigned in a T.Parallel loop", node.lineno)
                continue
            self.node = next(
                part
                for statement in node.body
                for part in ast.walk(statement)
                if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
            )
            self.fail(
                "rebinding",
                f"{name} is carried from one iteration of T.Parallel to the next, but iterations have no order",
                allowed="names that an iteration assigns before it reads them",
                fix="accumulate in a buffer with T.reduce_sum, or use T.serial",
            )

    def _pipelined_for(self, node: ast.For, loop: Loop) -> None:
        self.require_no_parallel("T.Pipelined")
        start, stop = (self._bound(value, "T.Pipelined") for value in loop.bounds[:2])
        stages = self._stages(loop)
        attributes: dict[str, ir.Attribute] = {"num_stages": self.integer(stages)}
        ping_pong = loop.options["ping_pong"]
        if not isinstance(ping_pong, bool):
            self.fail("argument", "ping_pong of T.Pipelined must be True or False at compile time")
        if ping_pong:
            attributes["tile.take_turns"] = self.attribute("unit")
        order, stage = loop.options["order"], loop.options["stage"]
        if (order is None) != (stage is None) or (order is not None and len(order) != len(stage)):
            self.fail("argument", "order and stage of T.Pipelined are given together, with one entry per statement")
        if order is not None:
            if loop.options["group"] is not None:
                order, stage = self._ungrouped(order, stage, loop.options["group"])
            attributes["order"], attributes["stage"] = self.integers(order), self.integers(stage)
        self.node = node
        self.promote_names(facts_of(node).assigned)
        context = self._loop_context(node, "T.Pipelined")
        self.node = node.iter
        operands = [self.index_value(start).value, self.index_value(stop).value]
        operation = self.emit("tile.pipelined", (), operands, attributes, regions=1)
        block = self.add_block(operation, 0, 1)
        low, high = self._low(start), self._high(stop)
        index = Scalar(block.arguments[0], int32, low=low, high=_less_one(high), bare=True)
        explicit = self.explicit_count
        with self.region(block):
            self.traced_body(node, context, lambda: self._bind_targets(node, [index], "T.Pipelined"))
        if self.explicit_count != explicit and stages:
            operation.operation.attributes["num_stages"] = self.integer(0)
            place = self.here()
            self.warn(
                f"{place.file}:{place.line}: the body of T.Pipelined orders its asynchronous work itself: "
                f"num_stages={stages} has no effect"
            )
        if context.broke and stages:
            operation.operation.attributes["num_stages"] = self.integer(0)
            place = self.here()
            self.warn(
                f"{place.file}:{place.line}: break in T.Pipelined makes the loop serial: "
                f"num_stages={stages} has no effect"
            )

    def _stages(self, loop: Loop) -> int:
        stages = loop.options["num_stages"]
        if isinstance(stages, RuntimeValue) or not isinstance(stages, int) or stages < 0:
            self.fail(
                "argument", f"num_stages of {loop.name} must be a compile-time integer of at least 0",
                found=repr(stages),
            )  # fmt: skip
        return stages

    def _ungrouped(
        self, order: Sequence[int], stage: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> tuple[list[int], list[int]]:
        """Entries of groups of statements as entries of statements; within a group these keep their sequence."""
        members = [statement for group in groups for statement in group]
        placed = [position for position in order if position >= 0]
        if len(groups) != len(order) or sorted(members) != list(range(len(members))) or len(set(placed)) != len(placed):
            self.fail(
                "argument",
                "group of T.Pipelined holds every statement number once, with one entry of order and stage per group",
                found=f"group={[list(group) for group in groups]}, order={list(order)}, stage={list(stage)}",
            )
        orders, stages = [-1] * len(members), [-1] * len(members)
        place = 0
        for index in sorted(range(len(groups)), key=lambda index: order[index]):
            for statement in sorted(groups[index]):
                stages[statement] = stage[index]
                if order[index] >= 0:
                    orders[statement] = place
                    place += 1
        return orders, stages

    def no_effect(self, name: str, reason: str) -> None:
        """Says that a hint is accepted and ignored."""
        place = self.here()
        self.warn(f"{place.file}:{place.line}: {name} has no effect: {reason}")

    # While.

    def _stmt_While(self, node: ast.While) -> None:
        if node.orelse:
            self.fail("syntax", "while ... else is not allowed in a kernel", fix="set a variable before break")
        self.node = node.test
        if isinstance(node.test, ast.Constant) and node.test.value:
            self._endless()
        self.require_kernel("a while loop")
        self.node = node
        self.promote_names(facts_of(node).assigned)
        context = self._loop_context(node, "while")
        operation = self.emit("scf.while", (), (), regions=2)
        before, after = self.add_block(operation, 0), self.add_block(operation, 1)
        self.node = node.test
        static: bool | None = None
        with self.region(before):
            if context.stop is not None:
                going = self.logical_not(self.load(context.stop))
                test = self.conditional(going, lambda: self._while_test(node), lambda: False)
            else:
                value = self._while_test(node)
                if not isinstance(value, Scalar):
                    static = bool(value)
                test = self.as_type(value, bool_)
            self.emit("scf.condition", (), [test.value])
        if static is True:
            self._endless()
        with self.region(after):
            self.node = node
            self.traced_body(node, context, lambda: None)
            self.emit("scf.yield")

    def _while_test(self, node: ast.While) -> Any:
        value = self.expr(node.test)
        if is_runtime(value):
            return self.boolean(value)
        test = self._truth(value)
        if test:
            self._endless()
        return test

    def _endless(self) -> None:
        self.fail(
            "control-flow",
            "the condition of this while loop is always true",
            found="a compile-time condition",
            allowed="conditions on run-time values, or on names that the loop assigns",
            fix="for i in T.serial(n) with break, or a variable (T.alloc_var) as condition",
        )


def _gcd_with(first: Any, stride: int) -> int:
    import math

    return math.gcd(first.multiple if isinstance(first, Scalar) else first, stride)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _less_one(value: int | None) -> int | None:
    return None if value is None else value - 1


__all__ = ["Loops", "SymbolicExpr"]
