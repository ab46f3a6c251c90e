"""Warp-level matrix instructions: mma.sync, ldmatrix, stmatrix, movmatrix.

Fragments: PTX ISA, "Matrix Fragments for mma.m16n8k16 ..." and its neighbours. With g = lane / 4, t = lane % 4 and
registers that hold `per` elements, A has element (g + 8 (r mod 2), per t + e + 4 per (r / 2)) in register r, B has
(per t + e + 4 per r, g), C has (g + 8 (r / 2), 2 t + r mod 2). `tensor_core` says how sums are rounded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tilemlir.simulator.loads_stores import address_reader, check_read, check_write, locate
from tilemlir.simulator.program import CONTROL, LANES, Program, Words, opcode
from tilemlir.simulator.ptx_parser import Instruction, Operand, Register, Vector
from tilemlir.simulator.small_floats import bf16_to_f32, fp8_to_f32, truncate_tf32
from tilemlir.simulator.tensor_core import multiply_add
from tilemlir.simulator.warp import ADVANCE, Group, Warp

__all__ = ["ELEMENT_BITS", "decode", "encode_sums", "fragment_a", "read_words"]

#: Bits of the element types of matrix operands.
ELEMENT_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8}

_G, _T = np.arange(LANES) // 4, np.arange(LANES) % 4


def decode(words: np.ndarray, kind: str) -> np.ndarray:
    """Values of matrix elements as float64.

    Args:
        words: unsigned integers of the element's width, any shape.
        kind: element type, such as `bf16`.
    """
    if kind == "f16":
        return words.view(np.float16).astype(np.float64)
    if kind == "bf16":
        return bf16_to_f32(words).astype(np.float64)
    if kind == "tf32":
        return truncate_tf32(words).astype(np.float64)
    if kind == "f64":
        values: np.ndarray = words.view(np.float64)
        return values
    if kind in ("s8", "u8"):
        return words.view(np.int8 if kind == "s8" else np.uint8).astype(np.float64)
    return fp8_to_f32(words.view(np.uint8), kind).astype(np.float64)


def encode_sums(sums: np.ndarray, saturate: bool = False) -> np.ndarray:
    """Bits of 32-bit integer accumulators from exact float64 sums.

    Args:
        sums: whole numbers.
        saturate: clamp instead of wrapping around.
    """
    whole = sums.astype(np.int64)
    if saturate:
        whole = np.clip(whole, -(2**31), 2**31 - 1)
    return (whole & 0xFFFFFFFF).astype(np.uint32)


@functools.cache
def fragment_a(rows: int, depth: int, per: int) -> np.ndarray:
    """Index of element (row, k) of A in the flattened (register, lane, element) array of a fragment.

    Args:
        rows: of the fragment, 8 or 16.
        depth: K.
        per: elements per register.
    """
    halves = rows // 8
    index = np.zeros((rows, depth), np.int64)
    for r in range(halves * depth // (4 * per)):
        for e in range(per):
            row = _G + 8 * (r % halves)
            column = per * _T + e + 4 * per * (r // halves)
            index[row, column] = (r * LANES + np.arange(LANES)) * per + e
    return index


@functools.cache
def _fragment_b(depth: int, per: int) -> np.ndarray:
    index = np.zeros((depth, 8), np.int64)
    for r in range(depth // (4 * per)):
        for e in range(per):
            index[per * _T + e + 4 * per * r, _G] = (r * LANES + np.arange(LANES)) * per + e
    return index


@functools.cache
def _fragment_c(rows: int, per: int) -> np.ndarray:
    """For accumulators; `per` is 2 for pairs of halves in a register, else 1."""
    index = np.zeros((rows, 8), np.int64)
    for r in range(rows * 8 // (LANES * per)):
        for e in range(per):
            if per == 2:
                row, column = _G + 8 * r, 2 * _T + e
            else:
                row, column = _G + 8 * (r // 2), 2 * _T + r % 2
            index[row, column] = (r * LANES + np.arange(LANES)) * per + e
    return index


def read_words(p: Program, operand: Operand, kind: str) -> Callable[[Warp], np.ndarray]:
    """Reads the registers of a vector operand as an array (register, lane).

    Args:
        p: the program.
        operand: a vector, or one register.
        kind: `b32` or `f64`.
    """
    items = operand.items if isinstance(operand, Vector) else (operand,)
    rows = [p.source(item, kind) for item in items]
    if kind == "b32" and all(isinstance(item, Register) for item in items):
        index = np.array(rows)
        return lambda w: w.words[index]
    name = "u32" if kind == "b32" else "u64"
    return lambda w: np.stack([getattr(w, name)[row] for row in rows])


def _elements(
    p: Program, operand: Operand, kind: str, index: np.ndarray, element: np.dtype[Any]
) -> Callable[[Warp], np.ndarray]:
    """Reads the elements of a fragment, as unsigned integers of their width, in the order of `index`.

    Args:
        p: the program.
        operand: a vector of registers.
        kind: of the registers, `b32` or `f64`.
        index: positions in the flattened (register, lane, element) array.
        element: unsigned integer of an element's width.
    """
    items = operand.items if isinstance(operand, Vector) else (operand,)
    if kind == "b32" and all(isinstance(item, Register) for item in items):
        per = LANES * (4 // element.itemsize)
        rows = np.array([p.source(item, kind) for item in items])
        places = rows[index // per] * per + index % per  # straight from the registers of the warp
        return lambda w: w.words.view(element).reshape(-1)[places]
    words = read_words(p, operand, kind)
    return lambda w: np.ascontiguousarray(words(w)).view(element).reshape(-1)[index]


def _shape(word: str) -> tuple[int, int, int]:
    m, rest = word[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


@opcode("mma")
def _mma(p: Program, one: Instruction) -> Any:
    words = Words(list(one.modifiers))
    words.take("sync")
    words.take("aligned")
    m, n, k = _shape(words.left.pop(0))
    if words.left[:2] != ["row", "col"]:
        raise ValueError("layouts of operands")
    del words.left[:2]
    saturate = words.take("satfinite") is not None
    d_kind, a_kind, b_kind, c_kind = words.left
    bits = ELEMENT_BITS[a_kind]
    if n != 8 or (m, bits) not in {(16, 8), (16, 16), (16, 32), (16, 64), (8, 64), (8, 8)}:
        raise ValueError("shape")
    double = a_kind == "f64"
    width = 64 if double else 32
    per = width // bits
    register = "f64" if double else "b32"
    d_items = one.operands[0].items  # type: ignore[union-attr]
    d_rows = [p.destination(item, register) for item in d_items]
    element = np.dtype(f"u{bits // 8}")
    c_element = np.dtype("u2") if c_kind == "f16" else np.dtype(f"u{width // 8}")
    d_element = np.dtype("u2") if d_kind == "f16" else np.dtype(f"u{width // 8}")
    read_a = _elements(p, one.operands[1], register, fragment_a(m, k, per), element)
    read_b = _elements(p, one.operands[2], register, _fragment_b(k, per), element)
    read_c = _elements(p, one.operands[3], register, _fragment_c(m, 2 if c_kind == "f16" else 1), c_element)
    d_index = _fragment_c(m, 2 if d_kind == "f16" else 1).reshape(-1)
    d_array = np.array(d_rows)

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        a, b, c_bits = decode(read_a(w), a_kind), decode(read_b(w), b_kind), read_c(w)
        if c_kind == "s32":
            c = c_bits.view(np.int32).astype(np.float64)
        else:
            c = c_bits.view({"f32": np.float32, "f16": np.float16, "f64": np.float64}[c_kind]).astype(np.float64)
        if d_kind == "s32":
            result = encode_sums(a @ b + c, saturate)
        else:
            result = multiply_add(a, b, c, a_kind, b_kind, d_kind, False).view(d_element)
        flat = np.empty(m * 8, d_element)
        flat[d_index] = result.reshape(-1)
        out = flat.view(np.uint64 if double else np.uint32).reshape(len(d_rows), LANES)
        if double:
            for row, values in zip(d_rows, out, strict=True):
                w.u64[row][...] = values
        else:
            w.words[d_array] = out
        w.machine.count("mma instructions")
        return ADVANCE

    return CONTROL, run


def _matrix_words(words: Words) -> tuple[int, bool]:
    words.take("sync")
    words.take("aligned")
    if words.take("m8n8") is None:
        raise ValueError("shape")
    count = {"x1": 1, "x2": 2, "x4": 4}[words.take("x1", "x2", "x4") or ""]
    transposed = words.take("trans") is not None
    words.take("shared", "shared::cta")
    if words.take("b16") is None:
        raise ValueError("type")
    words.finish()
    return count, transposed


@opcode("ldmatrix")
def _ldmatrix(p: Program, one: Instruction) -> Any:
    count, transposed = _matrix_words(Words(list(one.modifiers)))
    operand = one.operands[0]
    items = operand.items if isinstance(operand, Vector) else (operand,)
    rows = np.array([p.destination(item, "b32") for item in items])
    if len(rows) != count:
        raise ValueError("number of registers")
    address = address_reader(p, one.operands[1])
    used = np.arange(8 * count)

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        data = np.empty((8 * count, 8), np.uint16)
        for buffer, offsets, lanes in locate(w, "shared", address(w)[used], used, 16):
            if w.machine.checks and buffer.shadow is not None:
                poison = check_read(w, buffer, buffer.shadow.granules(offsets, 16), lanes, poisons=True)
                if poison is not None:
                    w.taint(rows.tolist(), poison)
            if w.machine.banks:
                for start in range(0, len(offsets), 8):
                    w.machine.banks.count(w, offsets[start : start + 8], 16)
            data[lanes] = buffer.view(2)[(offsets >> 1)[:, None] + np.arange(8)]
        matrices = data.reshape(count, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        w.words[rows] = matrices.reshape(count, LANES, 2).view(np.uint32).reshape(count, LANES)
        return ADVANCE

    return CONTROL, run


@opcode("stmatrix")
def _stmatrix(p: Program, one: Instruction) -> Any:
    count, transposed = _matrix_words(Words(list(one.modifiers)))
    values = read_words(p, one.operands[1], "b32")
    address = address_reader(p, one.operands[0])
    used = np.arange(8 * count)

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        matrices = np.ascontiguousarray(values(w)).view(np.uint16).reshape(count, 8, 8)
        if transposed:
            matrices = matrices.transpose(0, 2, 1)
        data = np.ascontiguousarray(matrices).reshape(8 * count, 8)
        for buffer, offsets, lanes in locate(w, "shared", address(w)[used], used, 16):
            if w.machine.checks and buffer.shadow is not None:
                index = buffer.shadow.granules(offsets, 16)
                held = buffer.view(2)[(offsets >> 1)[:, None] + np.arange(8)]
                check_write(w, buffer, index, lanes, same=lambda: np.array_equal(held, data[lanes]))  # noqa: B023
            if w.machine.banks:
                for start in range(0, len(offsets), 8):
                    w.machine.banks.count(w, offsets[start : start + 8], 16)
            buffer.view(2)[(offsets >> 1)[:, None] + np.arange(8)] = data[lanes]
        w.machine.progress += 1
        return ADVANCE

    return CONTROL, run


@opcode("movmatrix")
def _movmatrix(p: Program, one: Instruction) -> Any:
    d, a = p.destination(one.operands[0], "b32"), p.source(one.operands[1], "b32")

    def run(w: Warp, group: Group, mask: Any) -> int:
        if (parked := w.park(group, None)) is not None:
            return parked
        matrix = w.u32[a].copy().view(np.uint16).reshape(8, 8).T
        w.u32[d][...] = np.ascontiguousarray(matrix).reshape(LANES, 2).view(np.uint32).reshape(-1)
        return ADVANCE

    return CONTROL, run
