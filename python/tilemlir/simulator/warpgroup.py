"""Products by warp groups: wgmma.mma_async, its descriptors, fences and groups.

Semantics: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", with "Shared Memory Matrix
Layout", "Strides", "Matrix Descriptor Format" and "Register Fragments and Shared Memory Matrix Layouts". Products of a
warp group are done in order, each at any time between its issue by all four warps and the wait that covers it; operands
and accumulators are read then. Registers in flight may be named by products only.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilemlir.simulator.clocks import ASYNC, Clock
from tilemlir.simulator.loads_stores import report_write
from tilemlir.simulator.mma import ELEMENT_BITS, decode, encode_sums, fragment_a, read_words
from tilemlir.simulator.program import CONTROL, LANES, Program, Step, Words, opcode, words_of
from tilemlir.simulator.ptx_parser import Immediate, Instruction, Pair, Register, Vector
from tilemlir.simulator.report import Fault
from tilemlir.simulator.tensor_core import multiply_add
from tilemlir.simulator.tensor_memory import swizzle
from tilemlir.simulator.warp import ADVANCE, Group, Hold, Warp

if TYPE_CHECKING:
    from tilemlir.simulator.machine import Machine

__all__ = ["Descriptor", "Warpgroups"]

_SPANS = {0: 0, 1: 128, 2: 64, 3: 32}


class Descriptor:
    """A matrix descriptor.

    Attributes:
        start: byte address in the shared memory of a block.
        leading, stride: byte distances.
        span: bytes of the swizzling mode.
        base_offset: of the pattern; 0 for matrices in patterns that begin at multiples of 1024.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.start = (bits & 0x3FFF) << 4
        self.leading = (bits >> 16 & 0x3FFF) << 4
        self.stride = (bits >> 32 & 0x3FFF) << 4
        self.base_offset = bits >> 49 & 7
        self.span = _SPANS[bits >> 62 & 3]


@functools.lru_cache(maxsize=4096)
def _places(
    low: int, leading: int, stride: int, span: int, rows: int, depth: int, width: int, mn_major: bool
) -> np.ndarray:
    """Byte offsets of the elements (row, k) of a matrix whose start has the given low 10 bits, minus the rest of it.

    Rows are M of A and N of B. K-major matrices consist of 8 rows of `span` bytes (16 without swizzle); MN-major ones
    of 8 values of k with `span` bytes of rows each.
    """
    row, k = np.arange(rows)[:, None], np.arange(depth)[None, :]
    if not mn_major:
        byte = k * width
        if span:
            offsets = (row // 8) * stride + (row % 8) * span + byte
        else:
            offsets = (row // 8) * stride + (row % 8) * 16 + (byte // 16) * leading + byte % 16
    else:
        byte = row * width
        if span:
            offsets = (byte // span) * leading + byte % span + (k // 8) * stride + (k % 8) * span
        else:
            offsets = (byte // 16) * stride + byte % 16 + (k // 8) * leading + (k % 8) * 16
    return swizzle(offsets + low, span)


class _Product:
    """One wgmma of a warp group, on its way."""

    def __init__(self, engine: _Engine, number: int, form: _Form, warp: Warp) -> None:
        self.engine = engine
        self.number = number
        self.form = form
        self.pc = warp.pc
        self.first = warp
        self.warps: dict[int, Warp] = {}
        self.operands: tuple[int | None, int, bool] | None = None
        self.clock: Clock | None = None
        self.done = False
        self.begin = 0

    @property
    def issued(self) -> bool:
        """Whether all four warps have issued it."""
        return len(self.warps) == 4


class _Engine:
    """The queue of products of one warp group."""

    def __init__(self, machine: Machine, block: Any, index: int) -> None:
        self.machine = machine
        self.block = block
        self.index = index
        self.products: list[_Product] = []
        self.executed = 0
        name = f"the products of warps {4 * index} to {4 * index + 3} of slot {block.slot}"
        self.component = machine.agent((block.slot, "wgmma", index), name)
        self.first_epoch = machine.epochs.get(self.component, 0)

    def ready(self, product: _Product) -> bool:
        """Whether a product is the next one and all warps have issued it."""
        return product.issued and product.number == self.executed

    def run_to(self, number: int) -> bool:
        """Executes products until `number` are done; False when a warp has not issued one of them."""
        while self.executed < number:
            if self.executed >= len(self.products) or not self.products[self.executed].issued:
                return False
            self.execute(self.products[self.executed])
        return True

    def execute(self, product: _Product) -> None:
        """Reads operands and accumulators now, and writes the sums."""
        if product.done:
            return
        product.done = True
        self.executed += 1
        first, pc = product.first, product.first.pc
        first.pc = product.pc
        product.form.execute(self, product)
        first.pc = pc


class _State:
    """What one warp has issued."""

    def __init__(self) -> None:
        self.issued = 0
        self.groups: list[int] = []
        self.fenced = False


class Warpgroups:
    """All warp groups of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._engines: dict[tuple[int, int], _Engine] = {}

    def engine(self, w: Warp) -> _Engine:
        """The queue of a warp's group."""
        key = (id(w.block), w.index // 4)
        found = self._engines.get(key)
        if found is None:
            if len(w.block.warps) < (w.index // 4 + 1) * 4:
                raise self.machine.fault("invalid", "wgmma in a warp group of fewer than four warps", w)
            found = self._engines[key] = _Engine(self.machine, w.block, w.index // 4)
        return found

    def touch(self, w: Warp, group: Group, step: Step) -> int:
        """A register in flight is named by an instruction: ADVANCE to execute it, STAY to try again later."""
        instruction = step.instruction
        named = [word for word in step.words if word in w.busy]
        written = _written(instruction)
        read = set(words_of(instruction.operands[1:] if written else instruction.operands))
        used = [word for word in named if w.busy[word].kind == "poison" and word in read]
        for word in used:
            if step.copy is not None:
                w.busy[step.copy[0]] = w.busy[word]
                return ADVANCE
            finding = w.busy.pop(word).finding
            if finding is not None:
                place = (instruction.location, instruction.line, "used")
                self.machine.note(dataclasses.replace(finding, others=(*finding.others, place)))
        for word in written:
            if word in w.busy and w.busy[word].kind == "poison":
                del w.busy[word]
        held = {word: w.busy[word] for word in named if word in w.busy}
        if instruction.opcode == "wgmma" or not held:
            return ADVANCE
        engine = self.engine(w)
        latest = max(hold.number for hold in held.values())
        sums = [word for word, hold in held.items() if hold.kind == "sum"]
        wrong = [word for word in sums if step.copy is None or word in written]
        wrong += [word for word in held if word in written and word not in sums]
        if not sums and not wrong:
            return ADVANCE  # operands may be read by others
        if wrong and ("flight", w.pc) not in w.state:
            w.state["flight", w.pc] = True
            hold = held[wrong[0]]
            verb = "writes" if wrong[0] in written else "reads"
            what = "an accumulator" if hold.kind == "sum" else "an operand"
            message = f"{verb} {what} of a product that no wait covers yet"
            others = [(hold.pc, "the product is")]
            self.machine.note(self.machine.finding("register-in-flight", message, w, None, others))
        # The value is there when the product is done: moves, which compilers insert, then see what they mean.
        if engine.executed < latest and not engine.run_to(latest):
            return group.wait(lambda: engine.run_to(latest), "the other warps of its warp group to issue a product")
        if step.copy is not None and step.copy[1] in w.busy and not wrong:
            w.busy[step.copy[0]] = w.busy[step.copy[1]]
        return ADVANCE


def _written(instruction: Instruction) -> set[int]:
    """32-bit registers that an instruction writes: those of its first operand, except where it only names inputs."""
    if instruction.opcode in ("st", "stmatrix", "red", "bra", "bar", "barrier") or not instruction.operands:
        return set()
    first = instruction.operands[0]
    items = first.items if isinstance(first, Vector) else (first.first,) if isinstance(first, Pair) else (first,)
    return {item.index for item in items if isinstance(item, Register) and item.bits == 32}


def _state(w: Warp) -> _State:
    found: _State | None = w.state.get("wgmma")
    if found is None:
        found = w.state["wgmma"] = _State()
    return found


class _Form:
    """Shape, types and operands of a wgmma instruction."""

    def __init__(self, p: Program, one: Instruction) -> None:
        words = Words(list(one.modifiers))
        for word in ("mma_async", "sync", "aligned"):
            words.take(word)
        self.saturate = words.take("satfinite") is not None
        shape = words.left.pop(0)
        n, k = shape.removeprefix("m64n").split("k")
        self.n, self.k = int(n), int(k)
        self.sum_kind, self.a_kind, self.b_kind = words.left
        if not shape.startswith("m64n") or self.k * ELEMENT_BITS[self.a_kind] != 256 or self.n % 8 or self.n > 256:
            raise ValueError("shape")
        operands = list(one.operands)
        d = operands.pop(0)
        assert isinstance(d, Vector)
        self.d_rows = np.array([p.destination(item, "b32") for item in d.items])
        self.per = 2 if self.sum_kind == "f16" else 1
        if len(self.d_rows) * self.per != self.n // 2:
            raise ValueError("number of accumulators")
        a = operands.pop(0)
        self.a_words = None
        self.a_registers: list[int] = []
        self.a_row = -1
        if isinstance(a, Vector):
            self.a_words = read_words(p, a, "b32")
            self.a_registers = [item.index for item in a.items if isinstance(item, Register)]
        else:
            self.a_row = p.source(a, "u64")
        self.b_row = p.source(operands.pop(0), "u64")
        scale = operands.pop(0)
        self.scale_row = p.source(scale, "pred") if isinstance(scale, Register) else -1
        self.scale = bool(scale.value) if isinstance(scale, Immediate) else True
        numbers = [int(item.value) for item in operands if isinstance(item, Immediate)]
        self.negate_a = self.negate_b = 1
        self.a_major = self.b_major = False
        if self.a_kind not in ("s8", "u8"):
            self.negate_a, self.negate_b = numbers[:2]
            numbers = numbers[2:]
        if self.a_kind in ("f16", "bf16"):
            if self.a_words is None:
                self.a_major = bool(numbers.pop(0))
            self.b_major = bool(numbers.pop(0))
        self.width = ELEMENT_BITS[self.a_kind] // 8
        self.flops = 2 * 64 * self.n * self.k

    def matrix(self, engine: _Engine, bits: int, rows: int, mn_major: bool, w: Warp) -> np.ndarray:
        """Byte offsets in shared memory of the elements (row, k) of a matrix."""
        descriptor = Descriptor(bits)
        if descriptor.base_offset:
            raise engine.machine.fault("invalid", "base offsets of matrix descriptors are not simulated", w)
        offset = descriptor.start - (engine.block.shared.base & 0x3FFFF)
        low = offset & 1023
        places = _places(
            low, descriptor.leading, descriptor.stride, descriptor.span, rows, self.k, self.width, mn_major
        ) + (offset - low)
        if offset < 0 or int(places.max()) + self.width > engine.block.shared.size:
            raise engine.machine.fault(
                "out-of-bounds",
                f"a matrix descriptor ({bits:#x}) reaches {engine.block.shared.where(int(places.max()))}",
                w,
            )
        return places

    def check(self, engine: _Engine, product: _Product, epoch: int) -> None:
        """Races of the operands in shared memory, for all four warps at once."""
        shadow, machine = engine.block.shared.shadow, engine.machine
        if shadow is None or not machine.checks:
            return
        assert product.operands is not None and product.clock is not None
        a, b, _ = product.operands
        w = product.first
        parts = [(b, self.n, self.b_major)] + ([] if a is None else [(a, 64, self.a_major)])
        for bits, rows, major in parts:
            index = np.unique(shadow.granules(self.matrix(engine, bits, rows, major, w).reshape(-1), self.width))[None]
            found = shadow.find_write(index, np.full((1, 1), -1), product.clock, ASYNC, False)
            if found is not None:
                saved, w.pc = w.pc, product.pc
                report_write(w, engine.block.shared, 0, found[1], found[2], "reads")
                w.pc = saved
            row = len(engine.block.warps) + min(engine.index, 2)
            shadow.note_read(index, engine.component, epoch, row, product.pc)

    def execute(self, engine: _Engine, product: _Product) -> None:
        """Computes the product from what operands hold now."""
        assert product.operands is not None
        a_bits, b_bits, scale = product.operands
        element = np.dtype(f"u{self.width}")
        view = engine.block.shared.view(self.width)
        w = product.first
        warps = [product.warps[i] for i in sorted(product.warps)]
        if a_bits is None:
            assert self.a_words is not None
            index = fragment_a(16, self.k, 4 // self.width)
            parts = [np.ascontiguousarray(self.a_words(one)).view(element).reshape(-1)[index] for one in warps]
            a = decode(np.concatenate(parts), self.a_kind)
        else:
            a = decode(view[self.matrix(engine, a_bits, 64, self.a_major, w) // self.width], self.a_kind)
        b = decode(view[self.matrix(engine, b_bits, self.n, self.b_major, w) // self.width], self.b_kind)
        if self.negate_a * self.negate_b < 0:
            a = -a
        before = self._accumulators(warps) if scale else None
        if self.sum_kind == "s32":
            whole = a @ b.T
            sums = encode_sums(whole if before is None else whole + before, self.saturate)
        else:
            sums = multiply_add(a, b.T, before, self.a_kind, self.b_kind, self.sum_kind, True)
        # (warp, h, g, n / 8, t, e) to registers (n / 8, h, e) of lanes (g, t).
        parts_of = sums.reshape(4, 2, 8, self.n // 8, 4, 2)
        for one, part in zip(warps, parts_of, strict=True):
            ordered = part.transpose(2, 0, 4, 1, 3) if self.per == 1 else part.transpose(2, 0, 1, 3, 4)
            bits = np.ascontiguousarray(ordered).reshape(-1).view(np.uint32)
            one.words[self.d_rows] = bits.reshape(len(self.d_rows), LANES)
        engine.machine.count("operations by wgmma", self.flops)
        if engine.machine.trace is not None:
            engine.machine.trace.product(w, product.begin)

    def _accumulators(self, warps: list[Warp]) -> np.ndarray:
        result = np.empty((4, 2, 8, self.n // 8, 4, 2))
        for i, one in enumerate(warps):
            words = one.words[self.d_rows]
            if self.per == 2:
                values = words.view(np.float16).astype(np.float64).reshape(self.n // 8, 2, 8, 4, 2)
                result[i] = values.transpose(1, 2, 0, 3, 4)
            else:
                kind = np.int32 if self.sum_kind == "s32" else np.float32
                values = words.view(kind).astype(np.float64).reshape(self.n // 8, 2, 2, 8, 4)
                result[i] = values.transpose(1, 3, 0, 4, 2)
        return result.reshape(64, self.n)


@opcode("wgmma.mma_async")
def _mma_async(p: Program, one: Instruction) -> Any:
    form = _Form(p, one)

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        machine = w.machine
        engine, state = machine.warpgroups.engine(w), _state(w)
        a = None if form.a_row < 0 else int(w.u64[form.a_row][0])
        b = int(w.u64[form.b_row][0])
        scale = form.scale if form.scale_row < 0 else bool(w.p[form.scale_row][0])
        for row, value in ((form.a_row, a), (form.b_row, b)):
            if value is not None and (w.u64[row] != np.uint64(value)).any():
                raise machine.fault("invalid", "a matrix descriptor differs among the lanes of a warp", w)
        number = state.issued
        if number == len(engine.products):
            engine.products.append(_Product(engine, number, form, w))
        product = engine.products[number]
        if product.form is not form:
            found = machine.finding(
                "invalid", "the warps of a warp group issue different products", w, None, [(product.pc, "the other is")]
            )
            raise Fault(found)
        if product.operands is None:
            product.operands = (a, b, scale)
        elif product.operands != (a, b, scale):
            raise machine.fault("invalid", "matrix descriptors differ among the warps of a warp group", w)
        _check_registers(w, form, engine)
        product.warps[w.index % 4] = w
        for _, clock in w.clocks(None):
            product.clock = clock if product.clock is None else np.minimum(product.clock, clock)
        state.issued += 1
        for row in form.d_rows.tolist():
            w.busy[row] = Hold("sum", state.issued, w.pc)
        for row in form.a_registers:
            if row not in w.busy:
                w.busy[row] = Hold("operand", state.issued, w.pc)
        if product.issued:
            form.check(engine, product, engine.first_epoch + product.number + 1)
            machine.epochs[engine.component] = engine.first_epoch + product.number + 1
            product.begin = machine.trace.now() if machine.trace is not None else 0
            machine.start(lambda: engine.execute(product), one.name, lambda: engine.ready(product) or product.done)
        machine.progress += 1
        return ADVANCE

    return CONTROL, run


def _check_registers(w: Warp, form: _Form, engine: _Engine) -> None:
    """Accumulators of the same shape may be chained; operands in registers must not be in flight as sums."""
    machine = w.machine
    for row in form.a_registers:
        entry = w.busy.get(row)
        if entry is not None and entry.kind == "sum":
            machine.note(
                machine.finding(
                    "register-in-flight",
                    "an operand is the accumulator of a product that no wait covers yet",
                    w,
                    None,
                    [(entry.pc, "the product is")],
                )
            )
    state = _state(w)
    if not state.fenced:
        machine.note(machine.finding("invalid", "the first product of a warp has no wgmma.fence in front of it", w))
        state.fenced = True


@opcode("wgmma.fence")
def _fence(p: Program, one: Instruction) -> Any:
    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        _state(w).fenced = True
        return ADVANCE

    return CONTROL, run


@opcode("wgmma.commit_group")
def _commit(p: Program, one: Instruction) -> Any:
    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        state = _state(w)
        state.groups.append(state.issued)
        return ADVANCE

    return CONTROL, run


@opcode("wgmma.wait_group")
def _wait(p: Program, one: Instruction) -> Any:
    amount = one.operands[0]
    if not isinstance(amount, Immediate):
        raise ValueError("a count that is no constant")
    pending = int(amount.value)

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        state = _state(w)
        if len(state.groups) <= pending:
            return ADVANCE
        engine = w.machine.warpgroups.engine(w)
        number = state.groups[len(state.groups) - 1 - pending]
        if not engine.run_to(number):
            return group.wait(
                lambda: engine.run_to(number), "the other warps of its warp group to issue their products"
            )
        w.learn(merged_all(group, mask), engine.component, engine.first_epoch + number)
        w.busy = {row: entry for row, entry in w.busy.items() if entry.kind == "poison" or entry.number > number}
        return ADVANCE

    return CONTROL, run


def merged_all(group: Group, mask: Any) -> Any:
    """Lanes that execute an instruction, as a mask; None means all 32."""
    return group.mask if mask is None else mask
