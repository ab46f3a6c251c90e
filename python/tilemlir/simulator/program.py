"""A PTX kernel prepared for execution: one Python closure per instruction, found through a registry of opcodes.

Every engine registers the opcodes that it executes with `opcode`; a mnemonic belongs to the longest registered prefix.
An instruction that nobody registered, or a modifier that its builder does not know, is an error that names it.

Registers live in rows of 32 lanes. A `Layout` numbers them: registers of the text first, then special registers and
addresses of variables (filled when a warp starts), then constants shared by all warps.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilemlir.simulator.ptx_parser import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

__all__ = [
    "BRANCH",
    "CONTROL",
    "LANES",
    "PLAIN",
    "Program",
    "Step",
    "UnsupportedInstruction",
    "Words",
    "opcode",
    "type_bits",
    "words_of",
]

LANES = 32

#: Kinds of steps: `fn(warp, mask)`; a branch; `fn(warp, group, mask)`, which returns whether the group advances.
PLAIN, BRANCH, CONTROL = 0, 1, 2

#: PTX type to (bits of its register class, name of the row list with that view).
_TYPES: dict[str, tuple[int, str]] = {
    "pred": (1, "p"),
    "b8": (16, "u16"), "u8": (16, "u16"), "s8": (16, "s16"),
    "b16": (16, "u16"), "u16": (16, "u16"), "s16": (16, "s16"), "f16": (16, "f16"), "bf16": (16, "u16"),
    "b32": (32, "u32"), "u32": (32, "u32"), "s32": (32, "s32"), "f32": (32, "f32"), "f16x2": (32, "u32"),
    "bf16x2": (32, "u32"), "tf32": (32, "u32"),
    "b64": (64, "u64"), "u64": (64, "u64"), "s64": (64, "s64"), "f64": (64, "f64"),
}  # fmt: skip


class UnsupportedInstruction(NotImplementedError):
    """An instruction that no engine executes; the message has the mnemonic and its PTX line."""

    def __init__(self, instruction: Instruction, what: str = "") -> None:
        detail = f": {what}" if what else ""
        super().__init__(f"PTX line {instruction.line}: '{instruction.name}' is not simulated{detail}")
        self.instruction = instruction


def type_bits(name: str) -> int:
    """Bits of the register class that holds a PTX type such as `f32`."""
    return _TYPES[name][0]


@dataclass
class Step:
    """One instruction, ready to run.

    Attributes:
        kind: PLAIN, BRANCH or CONTROL.
        fn: what it does.
        guard: row of its predicate, or -1.
        negated: whether the guard is inverted.
        instruction: where it comes from.
        words: 32-bit registers that it reads or writes, for the check of registers in flight.
        copy: (destination, source) for a plain 32-bit move, else None.
    """

    kind: int
    fn: Callable[..., Any]
    guard: int
    negated: bool
    instruction: Instruction
    words: frozenset[int]
    copy: tuple[int, int] | None = None
    target: int = -1


Builder = Callable[["Program", Instruction], "Callable[..., Any] | tuple[int, Callable[..., Any]]"]
_BUILDERS: dict[str, Builder] = {}


def opcode(*names: str) -> Callable[[Builder], Builder]:
    """Registers a builder for mnemonics that begin with one of `names`."""

    def register(builder: Builder) -> Builder:
        for name in names:
            _BUILDERS[name] = builder
        return builder

    return register


def words_of(operands: Iterable[Operand]) -> Iterable[int]:
    """Rows of the 32-bit registers that `operands` name."""
    for operand in operands:
        if isinstance(operand, Register):
            if operand.bits == 32:
                yield operand.index
        elif isinstance(operand, Vector):
            yield from words_of(operand.items)
        elif isinstance(operand, Address):
            yield from words_of((operand.base, *operand.rest))
        elif isinstance(operand, Pair):
            yield from words_of((operand.first, operand.second))


class Program:
    """A kernel of a PTX module, compiled.

    Attributes:
        function, module: what was parsed.
        steps: one per instruction.
        counts: registers by class, specials included (constants come behind).
        specials: by class, name to row.
        constants: by class, bit patterns in row order.
        swapped: registers with the addresses of compare-and-swap instructions.
        uses: words of all mnemonics, to leave out state that the kernel cannot need.
    """

    def __init__(self, module: Module, function: Function) -> None:
        self.module = module
        self.function = function
        self.counts = {bits: function.registers.get(bits, 0) for bits in (1, 16, 32, 64)}
        self.registers = dict(self.counts)
        self.specials: dict[int, dict[str, int]] = {bits: {} for bits in self.counts}
        self.constants: dict[int, dict[int, int]] = {bits: {} for bits in self.counts}
        # Rows of constants are negative while steps are built, since specials are still being added.
        self.uses = {name for one in function.instructions for name in (one.opcode, one.name, *one.modifiers)}
        # LLVM begins loops of compare-and-swap with a plain load, whose value is only compared.
        self.swapped = {
            one.operands[1].base
            for one in function.instructions
            if one.opcode == "atom" and "cas" in one.modifiers and isinstance(one.operands[1], Address)
        }
        self._collect_specials()
        self.steps = [self._step(one) for one in function.instructions]

    # Rows ------------------------------------------------------------------------------------------------------------

    def _collect_specials(self) -> None:
        """Special registers and symbols get rows in every class before constants do."""

        def visit(operands: Iterable[Operand]) -> None:
            for operand in operands:
                if isinstance(operand, Special):
                    self._special(operand.name)
                elif isinstance(operand, Symbol):
                    self._special("&" + operand.name)
                elif isinstance(operand, Vector):
                    visit(operand.items)
                elif isinstance(operand, Address):
                    visit((operand.base, *operand.rest))

        for one in self.function.instructions:
            if one.opcode != "bra":
                visit(one.operands)
        for bits in (16, 32, 64):
            for name in self.specials[bits]:
                self.specials[bits][name] = self.counts[bits]
                self.counts[bits] += 1

    def _special(self, name: str) -> None:
        for bits in (32, 64):
            self.specials[bits][name] = 0

    def constant(self, bits: int, pattern: int) -> int:
        """Row of a constant of a register class with the given bits."""
        table = self.constants[bits]
        pattern &= (1 << bits) - 1
        return self.counts[bits] + table.setdefault(pattern, len(table))

    def source(self, operand: Operand, kind: str) -> int:
        """Row of an operand that is read as a PTX type.

        Args:
            operand: a register, a constant, a special register or the address of a variable.
            kind: the type, such as `s32`; constants are encoded in it.

        Raises:
            ValueError: for other operands, or a register of another class.
        """
        bits = _TYPES[kind][0]
        if isinstance(operand, Register):
            if operand.bits != bits:
                raise ValueError(f"register {operand.name} has {operand.bits} bits, .{kind} needs {bits}")
            return operand.index
        if isinstance(operand, Immediate):
            value = operand.value
            if isinstance(value, float):
                code = {32: "<f", 64: "<d", 16: "<e"}[bits]
                return self.constant(bits, int.from_bytes(struct.pack(code, value), "little"))
            return self.constant(bits, value)
        if isinstance(operand, Special):
            return self.specials[bits][operand.name]
        if isinstance(operand, Symbol):
            return self.specials[bits]["&" + operand.name]
        raise ValueError(f"operand {operand} cannot be read")

    def destination(self, operand: Operand, kind: str) -> int:
        """Row of a register that is written as a PTX type; -1 for `_`."""
        if isinstance(operand, Sink):
            return -1
        if not isinstance(operand, Register) or operand.bits != _TYPES[kind][0]:
            raise ValueError(f"operand {operand} cannot be written as .{kind}")
        return operand.index

    def rows(self, kind: str) -> str:
        """Name of the warp's row list for a PTX type."""
        return _TYPES[kind][1]

    def register_row(self, operand: Operand) -> tuple[int, str, int]:
        """(bits, unsigned row list, row) of an operand, whatever its class is."""
        if not isinstance(operand, Register):
            raise ValueError(f"operand {operand} is not a register")
        return operand.bits, {1: "p", 16: "u16", 32: "u32", 64: "u64"}[operand.bits], operand.index

    # Steps -----------------------------------------------------------------------------------------------------------

    def _step(self, one: Instruction) -> Step:
        guard = one.guard.index if one.guard is not None else -1
        words = frozenset(words_of(one.operands))
        copy = None
        if one.opcode == "mov" and len(one.operands) == 2 and guard < 0:
            first, second = one.operands
            if isinstance(first, Register) and isinstance(second, Register) and first.bits == second.bits == 32:
                copy = (first.index, second.index)
        if one.opcode == "bra":
            return Step(BRANCH, _no_function, guard, one.guard_negated, one, words, None, one.target)
        parts = one.name.split(".")
        for length in range(len(parts), 0, -1):
            builder = _BUILDERS.get(".".join(parts[:length]))
            if builder is not None:
                break
        else:
            raise UnsupportedInstruction(one)
        try:
            made = builder(self, one)
        except (ValueError, KeyError, IndexError, AttributeError) as error:
            raise UnsupportedInstruction(one, str(error)) from error
        kind, fn = made if isinstance(made, tuple) else (PLAIN, made)
        return Step(kind, fn, guard, one.guard_negated, one, words, copy)

    def constant_rows(self, bits: int) -> np.ndarray:
        """All constants of a class as rows of 32 lanes."""
        patterns = list(self.constants[bits])
        dtype = {1: np.bool_, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
        column: np.ndarray = np.array(patterns, dtype=dtype).reshape(-1, 1)
        rows = np.repeat(column, LANES, axis=1)
        rows.flags.writeable = False
        return rows


def _no_function(*_: Any) -> None:
    raise AssertionError("branches have no function")


@dataclass
class Words:
    """The modifiers of an instruction, taken one by one; what is left over is unknown.

    Attributes:
        left: modifiers not taken yet.
    """

    left: list[str] = field(default_factory=list)

    def take(self, *names: str) -> str | None:
        """Removes and returns the first modifier that is one of `names`."""
        for word in self.left:
            if word in names:
                self.left.remove(word)
                return word
        return None

    def finish(self) -> None:
        """Raises ValueError when modifiers are left."""
        if self.left:
            raise ValueError("unknown modifier ." + ".".join(self.left))
