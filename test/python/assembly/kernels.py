"""Golden kernels as traced modules: gemms of every operand type, and the corpus of the pass tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["GEMMS", "Gemm", "corpus_text", "gemm_text"]

CORPUS = Path(__file__).parents[2] / "corpus"


@dataclass(frozen=True)
class Gemm:
    """C = A B with a pipelined loop over K.

    Attributes:
        element: MLIR type of A and B.
        accumulator: MLIR type of the accumulator and of C.
        tile: rows, columns and depth of a block's tile.
        threads: threads of a block.
        transpose_a: A is stored K x M.
        transpose_b: B is stored N x K.
        precision: of f32 operands, "" or "ieee".
        dynamic: sizes are known at launch only.
        capability: lowest sm_XX.
    """

    element: str = "f16"
    accumulator: str = "f32"
    tile: tuple[int, int, int] = (128, 128, 32)
    threads: int = 128
    transpose_a: bool = False
    transpose_b: bool = False
    precision: str = ""
    dynamic: bool = False
    capability: int = 80


GEMMS = {
    "f16": Gemm(),
    "f16_dynamic": Gemm(dynamic=True),
    "f16_transposed": Gemm(transpose_a=True, transpose_b=True),
    "f16_256_threads": Gemm(tile=(128, 256, 32), threads=256),
    "f16_accumulator": Gemm(accumulator="f16", tile=(64, 64, 32)),
    "f16_96": Gemm(tile=(96, 96, 32), threads=96),
    "bf16": Gemm(element="bf16"),
    "tf32": Gemm(element="f32", tile=(64, 64, 32)),
    "f32_ieee": Gemm(element="f32", tile=(64, 64, 16), precision="ieee"),
    "f64": Gemm(element="f64", accumulator="f64", tile=(32, 32, 16)),
    "i8": Gemm(element="i8", accumulator="i32", tile=(64, 64, 64), transpose_b=True),
    "i8_row_major": Gemm(element="i8", accumulator="i32", tile=(64, 64, 64)),
    "f8": Gemm(element="f8E4M3FN", tile=(64, 64, 64), transpose_b=True, capability=89),
}


def gemm_text(gemm: Gemm, arch: str) -> str:
    """The traced module of a 1024 x 1024 x 1024 gemm, with three stages, for a target."""
    m, n, k = gemm.tile
    size = "?" if gemm.dynamic else "1024"
    a, b, c = (f"memref<{size}x{size}x{t}>" for t in (gemm.element, gemm.element, gemm.accumulator))
    tile_a = (k, m) if gemm.transpose_a else (m, k)
    tile_b = (n, k) if gemm.transpose_b else (k, n)
    at_a = "%ko, %y" if gemm.transpose_a else "%y, %ko"
    at_b = "%x, %ko" if gemm.transpose_b else "%ko, %x"
    attributes = [name for name in ("transpose_a", "transpose_b") if getattr(gemm, name)]
    if gemm.precision:
        attributes.append(f"precision = #tile<precision {gemm.precision}>")
    options = f"{{{', '.join(attributes)}}} " if attributes else ""
    zero = "0" if gemm.accumulator.startswith("i") else "0.0"

    def buffer(shape: tuple[int, int], element: str, space: str) -> str:
        return f"!tile.buffer<{shape[0]}x{shape[1]}x{element}, {space}>"

    shared_a = buffer(tile_a, gemm.element, "shared")
    shared_b = buffer(tile_b, gemm.element, "shared")
    accumulator = buffer((m, n), gemm.accumulator, "fragment")
    return f"""
module attributes {{tile.target = #tile.target<"{arch}">}} {{
func.func @gemm(%A: {a}, %B: {b}, %C: {c}) attributes {{tile.outputs = array<i64: 2>}} {{
  %gx = arith.constant {-(-1024 // n)} : i32
  %gy = arith.constant {-(-1024 // m)} : i32
  tile.kernel "gemm" grid(%gx, %gy) threads({gemm.threads}) {{
  ^bb0(%bx: i32, %by: i32):
    %c0 = arith.constant 0 : i32
    %trips = arith.constant {-(-1024 // k)} : i32
    %tile_m = arith.constant {m} : i32
    %tile_n = arith.constant {n} : i32
    %tile_k = arith.constant {k} : i32
    %zero = arith.constant {zero} : {gemm.accumulator}
    %a = tile.alloc "A_shared" : {shared_a}
    %b = tile.alloc "B_shared" : {shared_b}
    %acc = tile.alloc "C_local" : {accumulator}
    %y = arith.muli %by, %tile_m : i32
    %x = arith.muli %bx, %tile_n : i32
    tile.fill %acc, %zero : {accumulator}, {gemm.accumulator}
    tile.pipelined %c0 to %trips stages(3) {{
    ^bb0(%i: i32):
      %ko = arith.muli %i, %tile_k : i32
      tile.copy %A[{at_a}] {list(tile_a)} to %a[%c0, %c0] {list(tile_a)} : {a} to {shared_a}
      tile.copy %B[{at_b}] {list(tile_b)} to %b[%c0, %c0] {list(tile_b)} : {b} to {shared_b}
      tile.gemm %a, %b, %acc {options}: {shared_a}, {shared_b}, {accumulator}
    }}
    tile.copy %acc[%c0, %c0] [{m}, {n}] to %C[%y, %x] [{m}, {n}] : {accumulator} to {c}
  }}
  return
}}
}}
"""


def corpus_text(name: str, arch: str) -> str:
    """A kernel of the corpus for a target, its instructions chosen by the compiler."""
    text = (CORPUS / f"{name}.mlir").read_text()
    text = re.sub(r" \{choice = #tile\.choice<[^>]*>\}", "", text)
    text, replaced = re.subn(r'#tile\.target<"[^"]*">', f'#tile.target<"{arch}">', text)
    assert replaced == 1, f"{name}.mlir names its target {replaced} times"
    return text
