"""The explicit layer: barriers, copies by TMA, elections, inline PTX."""

from __future__ import annotations

from typing import Any

from .._mlir import ir
from ..language.dtypes import bool_, int32
from .arithmetic import python_type
from .clusters import Clusters
from .values import Barrier, Barriers, Buffer, Element, Region, Scalar, Storage, Tensor

#: What an mbarrier can count.
MAX_ARRIVALS = (1 << 20) - 1
#: Hardware barriers that a program may name; 0 is the one of all threads.
NAMED_BARRIERS = range(1, 16)

_TMA_CHOICE = '#tile.choice<tma, "T.tma_copy asks for it">'


class ExplicitBarriers(Clusters):
    """What a program that orders asynchronous work itself says."""

    #: Operations of the explicit layer that were traced.
    explicit_count = 0

    def use_explicit(self, what: str) -> None:
        """Notes an operation of the explicit layer, which stands in a kernel and outside of T.Parallel."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        self.unsafe_operations += 1
        self.explicit_count += 1
        state = self._current(what).explicit
        state.used = state.used or what

    # Which threads are here.

    def varies(self, value: Any) -> bool:
        """Whether the form of a scalar shows that it differs between the threads of a block."""
        if not isinstance(value, Scalar):
            return False
        pending, seen = [value.value], set()
        while pending:
            owner = pending.pop().owner
            if isinstance(owner, ir.Block):
                continue
            operation = owner.operation
            if operation.name in ("tile.thread_id", "tile.elect", "tile.ptx"):
                return True
            if operation.name == "tile.load" or hash(operation) in seen:
                continue
            seen.add(hash(operation))
            pending += list(operation.operands)
        return False

    def under_thread_condition(self) -> bool:
        """Whether the code being traced is under a condition that shows by its form to differ between threads."""
        operation = self.ip.block.owner.operation
        while operation.name not in ("tile.kernel", "tile.warp_specialize", "func.func"):
            if operation.name == "scf.if" and self.varies(Scalar(operation.operands[0], bool_)):
                return True
            operation = operation.parent.operation
        return False

    # Barriers.

    def alloc_barrier(self, arrive_count: Any) -> Barriers:
        """``T.alloc_barrier``: the barriers and their initialisation, at the top of the kernel."""
        self.use_explicit("T.alloc_barrier")
        if self.ip.block.owner.operation.name != "tile.kernel":
            self.fail(
                "barrier",
                "T.alloc_barrier initialises barriers once, when the kernel begins",
                found="a loop, condition or T.ws block around it",
                fix="move it to the top level of the kernel",
            )
        counts = tuple(arrive_count) if isinstance(arrive_count, (list, tuple)) else (arrive_count,)
        if not counts:
            self.fail("barrier", "T.alloc_barrier needs at least one barrier", found="an empty list of counts")
        for count in counts:
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_ARRIVALS:
                self.fail(
                    "barrier",
                    "the arrivals of a barrier are a compile-time integer",
                    found=f"arrive_count = {self.describe(count)}",
                    allowed=f"1 to {MAX_ARRIVALS}",
                    fix="128 when each thread of a warp group arrives, 1 when one thread does",
                )
        name = self.name_hint or "barriers"
        state = self._current("T.alloc_barrier").explicit
        saved = self.ip
        if state.barrier_sync is None:
            self.ip = ir.InsertionPoint.at_block_begin(self.pool.block)
            state.barrier_sync = self.emit("tile.sync_threads").operation
        self.ip = ir.InsertionPoint(state.barrier_sync)
        try:
            value = self.emit_alloc(self._barrier_type(len(counts)), name)
            self._init_barriers(value, counts)
        finally:
            self.ip = saved
        return Barriers(value, counts, name)

    def _barrier_type(self, count: int) -> ir.Type:
        return self.parse_type(f"!tile.buffer<{count}x!tile.barrier, shared>")

    def _init_barriers(self, value: ir.Value, counts: tuple[int, ...]) -> None:
        """Runs of barriers with the same count are initialised together."""
        start = 0
        for end in range(1, len(counts) + 1):
            if end < len(counts) and counts[end] == counts[start]:
                continue
            part = value
            if end - start < len(counts):
                # Not from the pool: its place is before everything that is there now.
                offset = self.value("arith.constant", self.i32, (), {"value": self.number_attribute(start, int32)})
                part = self.value(
                    "tile.subview", self._barrier_type(end - start), [value, offset],
                    {"sizes": self.integers([end - start])},
                )  # fmt: skip
            self.emit("tile.barrier_init", (), [part], {"arrivals": self.integer(counts[start])})
            start = end

    def barrier(self, barriers: Barriers, key: Any) -> Barrier:
        """``bars[key]``."""
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if isinstance(key, (tuple, slice)):
            self.fail("rank", f"{barriers.name} is a row of barriers: it takes one index", found=repr(key))
        index = self.scalar(key)
        count = len(barriers.counts)
        if isinstance(index, Scalar):
            if index.constant is not None:
                index = int(index.constant)
            else:
                index = self.index_value(index)
                if self.varies(index):
                    self.fail(
                        "barrier",
                        "the index of a barrier must be the same for all threads",
                        found=f"an index into {barriers.name} that depends on the thread",
                        fix="choose the barrier by T.ws(...), by a block or by a loop index",
                    )
                return Barrier(barriers, index)
        if isinstance(index, float) or not -count <= index < count:
            self.fail(
                "index",
                f"index {index} is outside of the barriers {barriers.name}",
                found=repr(barriers),
                allowed=f"{-count} to {count - 1}",
            )
        return Barrier(barriers, int(index) % count)

    def _barrier_operands(self, value: Any, what: str) -> list[ir.Value]:
        """The row and the index of a barrier that the user named."""
        if isinstance(value, Barriers):
            if len(value.counts) != 1:
                self.fail(
                    "barrier",
                    f"{what} takes one barrier",
                    found=f"{value!r}, without an index",
                    fix=f"name one of them: {value.name}[i]",
                )
            value = Barrier(value, 0)
        if not isinstance(value, Barrier):
            self.fail(
                "barrier",
                f"{what} takes a barrier",
                found=self.describe(value),
                allowed="what T.alloc_barrier gives, or one of a row: bars[i]",
            )
        return [value.barriers.value, self.index_value(value.index).value]

    def barrier_wait(self, barrier: Any, parity: Any, what: str) -> None:
        """``T.mbarrier_wait_parity``."""
        self.use_explicit(what)
        operands = self._barrier_operands(barrier, what)
        value = self.scalar(parity)
        if isinstance(value, Scalar):
            if not (value.dtype.is_integer or value.dtype.kind == "bool"):
                self.fail("barrier", f"the parity of {what} is an integer", found=self.describe(parity))
            is_bit = value.dtype.kind == "bool"
            value = self.as_type(value, int32)
            is_bit |= value.low is not None and value.high is not None and 0 <= value.low and value.high <= 1
            if not is_bit:
                value = self.index_value(self.binary("and", value, 1))
        elif isinstance(value, float) or value not in (0, 1):
            self.fail(
                "barrier",
                f"the parity of {what} is that of a phase",
                found=repr(value),
                allowed="0 or 1; a run-time integer, of which the last bit counts",
            )
        self.emit("tile.barrier_wait", (), [*operands, self.index_value(value).value])

    def barrier_arrive(self, barrier: Any, block: Any, what: str) -> None:
        """``T.mbarrier_arrive``: every thread that is here."""
        self.use_explicit(what)
        operands = self._barrier_operands(barrier, what)
        attributes = {"scope": self.attribute("#tile<arrival_scope thread>")}
        if block is not None:
            operands[1] = self._index_in_cluster(barrier, operands[1], block, what)
            attributes["tile.cluster_index"] = self._unit
        self.emit("tile.barrier_arrive", (), operands, attributes)

    def _index_in_cluster(self, barrier: Barrier | Barriers, index: ir.Value, block: Any, what: str) -> ir.Value:
        """The index of a barrier of ``block`` among those of all blocks of the cluster."""
        blocks = self.blocks_of_cluster(what)
        rank = self.scalar(block)
        if isinstance(rank, Scalar) and rank.constant is not None:
            rank = int(rank.constant)
        if isinstance(rank, Scalar):
            if not rank.dtype.is_integer or self.varies(rank):
                self.fail(
                    "barrier",
                    f"cta_id of {what} is an integer, the same for all threads",
                    found=self.describe(block),
                    fix="arrive at several blocks one after the other",
                )
        elif isinstance(rank, float) or not 0 <= rank < blocks:
            self.fail(
                "barrier", f"cta_id of {what} is the rank of a block of the cluster",
                found=repr(block), allowed=f"0 to {blocks - 1}",
            )  # fmt: skip
        row = barrier.barriers if isinstance(barrier, Barrier) else barrier
        first = self.binary("mul", rank, len(row.counts))
        return self.index_value(self.binary("add", first, Scalar(index, int32))).value

    def barrier_expect(self, barrier: Any, bytes_: Any, arrive: bool, what: str) -> None:
        """``T.mbarrier_expect_tx`` and ``T.mbarrier_arrive_expect_tx``."""
        self.use_explicit(what)
        operands = self._barrier_operands(barrier, what)
        if isinstance(bytes_, bool) or not isinstance(bytes_, int) or not 1 <= bytes_ < 1 << 20:
            self.fail(
                "barrier",
                f"the bytes of {what} are a compile-time integer",
                found=self.describe(bytes_),
                allowed=f"1 to {(1 << 20) - 1}",
            )
        self._emit_expect(operands, bytes_, arrive)

    def _emit_expect(self, operands: list[ir.Value], bytes_: int, arrive: bool) -> None:
        if self.under_thread_condition():
            attributes: dict[str, ir.Attribute] = {"bytes": self.integer(bytes_)}
            if arrive:
                attributes["arrive"] = self._unit
            self.emit("tile.thread_expect_tx", (), operands, attributes)
        elif arrive:
            scope = self.attribute("#tile<arrival_scope single>")
            self.emit("tile.barrier_arrive", (), operands, {"scope": scope, "expect": self.integer(bytes_)})
        else:
            self.emit("tile.barrier_expect_tx", (), operands, {"bytes": self.integer(bytes_)})

    # Copies by TMA.

    def tma_copy(self, src: Any, dst: Any, options: dict[str, Any]) -> None:
        """``T.tma_copy``."""
        what = "T.tma_copy"
        self.use_explicit(what)
        known = {"barrier", "cluster_mask", "leader_scope_threads", "eviction_policy"}
        for name in sorted(options.keys() - known):
            self.fail("argument", f"{what} has no annotation {name!r}", allowed=", ".join(sorted(known)))
        mask = options["cluster_mask"]
        if mask is not None:
            blocks = self.blocks_of_cluster(what)
            if isinstance(mask, bool) or not isinstance(mask, int) or not 0 < mask < 1 << blocks:
                self.fail(
                    "barrier",
                    f"cluster_mask of {what} has a bit for each block of the cluster that receives the load",
                    found=self.describe(mask),
                    allowed=f"1 to {(1 << blocks) - 1:#b}, a compile-time integer",
                )
        self.check_copy_sides(src, dst, what)
        leaders = options["leader_scope_threads"]
        if leaders is not None and leaders != self.threads_here():
            self.fail(
                "argument",
                f"{what} has one leader for all threads that are here",
                found=f"leader_scope_threads = {self.describe(leaders)}",
                allowed=f"None or {self.threads_here()}",
            )
        if self.under_thread_condition():
            self.fail(
                "barrier",
                f"{what} is started by one thread, which the compiler elects among all that are here",
                found="a condition around it that differs between threads",
                fix="take it out of the condition; T.ws(...) chooses warp groups",
            )
        source, dest = self.resolve_pair(src, dst, what)
        direction = (source.storage.scope(), dest.storage.scope())
        if direction not in (("global", "shared"), ("shared", "global")):
            self.fail(
                "barrier",
                f"{what} copies between a tensor and shared memory",
                found=f"{source.storage.describe()} to {dest.storage.describe()}",
                fix="T.copy takes buffers of any kind",
            )
        if source.dtype.name != dest.dtype.name:
            self.fail(
                "dtype",
                f"{what} cannot convert",
                found=f"{source.storage.describe()} to {dest.storage.describe()}",
                allowed="one element type on both sides",
            )
        loads = direction[0] == "global"
        barrier = options["barrier"]
        if loads and barrier is None:
            self.fail(
                "barrier",
                f"a load by {what} needs a barrier that tells when it is complete",
                found=f"{source.name} to {dest.name}, without barrier=",
                fix="full = T.alloc_barrier(...); T.tma_copy(..., barrier=full)",
            )
        if not loads and barrier is not None:
            self.fail(
                "barrier",
                f"a store by {what} completes without a barrier",
                found=f"{source.name} to {dest.name}, with barrier=",
                fix="leave it out, and wait with T.tma_store_wait()",
            )
        plain_source, plain_dest = self.base_region(source), self.base_region(dest)
        if plain_source is None or plain_dest is None:
            self.fail(
                "barrier", f"{what} needs rows of the tensor; this view has others",
                fix="copy from the tensor as it was declared",
            )  # fmt: skip
        source, dest = self._whole_side(plain_source, what), self._whole_side(plain_dest, what)
        bytes_ = dest.dtype.bytes
        for size in dest.sizes:
            bytes_ *= int(size or 1)
        attributes = self._copy_attributes({"eviction_policy": options["eviction_policy"], "prefer_instruction": "tma"})
        attributes["choice"] = self.attribute(_TMA_CHOICE)
        if mask is not None:
            if not loads:
                self.fail("barrier", f"cluster_mask of {what} is for loads", found="a store")
            attributes["tile.cluster_mask"] = self.integer(mask)
        operands: list[ir.Value] = []
        if loads:
            operands = self._barrier_operands(barrier, what)
            self._emit_expect(operands, bytes_, False)
        self._emit_copy_async(source, dest, operands, attributes)
        if not loads:
            self.emit("tile.bulk_commit")

    def _whole_side(self, region: Region, what: str) -> Region:
        """A part of a buffer as a buffer of its own."""
        if not isinstance(region.storage, Buffer) or tuple(region.sizes) == tuple(region.storage.shape):
            return region
        kept = tuple(size != 1 for size in region.sizes)
        if not any(kept):
            kept = (True,) * len(kept)
        buffer = self.subview(Region(region.storage, region.offsets, region.sizes, kept), what)
        return self._region_of(buffer)

    def _emit_copy_async(
        self, source: Region, dest: Region, barrier: list[ir.Value], attributes: dict[str, ir.Attribute]
    ) -> None:
        source_offsets = [self.index_value(offset).value for offset in source.offsets]
        dest_offsets = [self.index_value(offset).value for offset in dest.offsets]
        attributes |= self._safe_attribute(source.storage)
        attributes["source_sizes"] = self.integers(source.sizes)  # type: ignore[arg-type]
        attributes["dest_sizes"] = self.integers(dest.sizes)  # type: ignore[arg-type]
        attributes["operandSegmentSizes"] = self.segments(
            [1, len(source_offsets), 1, len(dest_offsets), bool(barrier), bool(barrier)]
        )
        operation = self.emit(
            "tile.copy_async", (),
            [source.storage.value, *source_offsets, dest.storage.value, *dest_offsets, *barrier], attributes,
        )  # fmt: skip
        if isinstance(source.storage, Tensor):
            self.global_reads.append((source.storage, operation))

    def tma_store_arrive(self) -> None:
        """``T.tma_store_arrive``."""
        self.use_explicit("T.tma_store_arrive")
        self.emit("tile.bulk_commit")

    def tma_store_wait(self, count: Any, read: Any) -> None:
        """``T.tma_store_wait``."""
        self.use_explicit("T.tma_store_wait")
        attributes: dict[str, ir.Attribute] = {"pending": self._group_count(count, "T.tma_store_wait")}
        if read:
            attributes["read"] = self._unit
        self.emit("tile.bulk_wait", (), (), attributes)

    def _group_count(self, count: Any, what: str) -> ir.Attribute:
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 64:
            self.fail(
                "barrier",
                f"{what} takes how many groups may be in flight, as a compile-time integer",
                found=self.describe(count),
                allowed="0 to 63",
            )
        return self.integer(count)

    def fence_proxy_async(self) -> None:
        """``T.fence_proxy_async``."""
        self.use_explicit("T.fence_proxy_async")
        self.emit("tile.fence_proxy")

    # Meetings of some threads.

    def threads_here(self) -> int:
        """Threads that run the code being traced together: of the block, or of the warp groups of T.ws."""
        raise NotImplementedError

    def named_barrier(self, number: Any, count: Any, wait: bool, what: str) -> None:
        """``T.named_barrier_sync`` and ``T.named_barrier_arrive``."""
        self.use_explicit(what)
        if isinstance(number, bool) or not isinstance(number, int) or number not in NAMED_BARRIERS:
            self.fail(
                "barrier",
                f"{what} names one of the hardware barriers by a compile-time integer",
                found=self.describe(number),
                allowed="1 to 15; 0 is the barrier of the whole block, T.sync_threads()",
            )
        self.check_thread_count(count, what)
        name = "tile.sync_threads" if wait else "tile.named_arrive"
        self.emit(name, (), (), {"id": self.integer(number), "count": self.integer(count)})

    def check_thread_count(self, count: Any, what: str) -> None:
        """Refuses a number of threads that a named barrier of this kernel cannot count."""
        shape = self._current(what).thread_shape
        threads = 1
        for extent in shape:
            threads *= extent
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= threads or count % 32:
            self.fail(
                "barrier",
                f"the threads that meet at {what} are whole warps of the block",
                found=f"{self.describe(count)} of {threads} threads",
                allowed=f"a multiple of 32 up to {threads}",
            )

    def sync_warp(self, mask: Any) -> None:
        """``T.sync_warp``."""
        self.use_explicit("T.sync_warp")
        if mask is not None and (not isinstance(mask, int) or mask & 0xFFFFFFFF != 0xFFFFFFFF):
            self.fail(
                "not-available", "T.sync_warp of some lanes is not available", found=self.describe(mask),
                allowed="all 32 lanes: T.sync_warp()",
            )  # fmt: skip
        self.emit("tile.warp_sync")

    def shuffle_elect(self, extent: Any) -> Scalar:
        """``T.shuffle_elect``."""
        self.use_explicit("T.shuffle_elect")
        if isinstance(extent, bool) or not isinstance(extent, int) or not 0 <= extent <= 1024 or extent % 32:
            self.fail(
                "argument",
                "T.shuffle_elect elects among whole warps",
                found=self.describe(extent),
                allowed="a multiple of 32; 0 for the whole block",
            )
        return Scalar(self.value("tile.elect", self.i1, (), {"threads": self.integer(extent)}), bool_)

    def dependent_launch(self, operation: str, what: str) -> None:
        """``T.pdl_sync`` and ``T.pdl_trigger``."""
        self.require_kernel(what)
        self.require_no_parallel(what)
        self.unsafe_operations += 1
        self.emit(operation)

    # Inline PTX.

    def ptx(self, text: Any, operands: tuple[Any, ...], outputs: Any) -> Any:
        """``T.ptx``."""
        self.require_kernel("T.ptx")
        self.unsafe_operations += 1
        if not isinstance(text, str) or not text.strip():
            self.fail("argument", "T.ptx takes the instructions as a text", found=self.describe(text))
        several = isinstance(outputs, (list, tuple))
        kinds = [self.element_type(kind) for kind in (outputs if several else [outputs] if outputs is not None else [])]
        values: list[ir.Value] = []
        for position, operand in enumerate(operands):
            if isinstance(operand, (Tensor, Buffer)):
                if operand.scope() not in ("global", "shared"):
                    self.fail(
                        "argument",
                        "T.ptx takes tensors and buffers in shared memory, which have an address",
                        found=operand.describe(),
                        fix="pass elements",
                    )
                values.append(operand.value)
                continue
            if isinstance(operand, (Storage, Region, Barriers, Barrier)):
                self.fail("argument", f"T.ptx cannot take operand {position}", found=self.describe(operand))
            scalar = self.scalar(operand)
            if not isinstance(scalar, Scalar):
                scalar = self.as_type(scalar, python_type(scalar))
            self._check_register(scalar.dtype, f"operand {position}")
            values.append(scalar.value)
        for position, kind in enumerate(kinds):
            self._check_register(kind, f"output {position}")
        made = self.emit("tile.ptx", [self.scalar_type(kind) for kind in kinds], values, {"text": self.string(text)})
        results = tuple(
            Scalar(result, kind, bare=True) for result, kind in zip(made.operation.results, kinds, strict=True)
        )
        return results if several else results[0] if results else None

    def _check_register(self, dtype: Any, what: str) -> None:
        if dtype.kind == "bool" or dtype.bits not in (16, 32, 64):
            self.fail(
                "dtype",
                "registers of T.ptx have 16, 32 or 64 bits",
                found=f"{what} of type {dtype}",
                fix="convert it: T.cast(x, 'int32')",
            )

    def check_copy_sides(self, src: Any, dst: Any, what: str) -> None:
        """Refuses sides of a copy that are not tensors, buffers or parts of them."""
        for side, value in (("source", src), ("destination", dst)):
            if not isinstance(value, (Storage, Region, Element)):
                self.fail(
                    "argument",
                    f"the {side} of {what} must be a tensor, a buffer, a slice or an element",
                    found=self.describe(value),
                )


__all__ = ["MAX_ARRIVALS", "NAMED_BARRIERS", "ExplicitBarriers"]
