"""The programs of examples/ that are no plain GEMMs, beside PyTorch and copy bandwidth in one run.

Attention is compared with cuDNN through torch, split-KV decoding, norms, softmax and casts with the bandwidth of a
device copy of the bytes that they must move, the 4-bit product with cuBLAS in float16. All contenders run on the same
random inputs, interleaved in random order, each from an L2 cache without them, and where bandwidth counts with as many
dirty lines as the call leaves behind: each pays for its own traffic (measure.py says how). Of the configurations of a
program the fastest is taken. Wrong results are refused.

    python benchmarks/examples.py
    python benchmarks/examples.py --program attention --program attention_tuned --target sm_90a
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilemlir as tile
import torch
from rich.console import Console
from rich.table import Table

# The examples first: attention.py is a name of both folders.
sys.path[:0] = [str(Path(__file__).parents[1] / "examples"), str(Path(__file__).parent)]

from measure import fastest, interleave  # noqa: E402

Call = Callable[[], Any]


@dataclass
class Task:
    """One shape of a program.

    Attributes:
        shape: what is shown.
        operations: floating-point operations of a call; 0 where bandwidth counts.
        moved: bytes that a call must move; 0 where operations count.
        kernels: kernels by configuration.
        arguments: of a call, outputs last.
        reference: what PyTorch does instead, which gives the outputs, or None.
        peer: what the reference is called.
        written: bytes that a call writes, where bandwidth counts.
    """

    shape: str
    operations: float
    moved: float
    kernels: dict[tuple, tile.CompiledKernel]
    arguments: list[Any]
    reference: Call | None
    peer: str
    written: float = 0


def half(*shape: int) -> torch.Tensor:
    """Normal float16 numbers."""
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def brain(*shape: int) -> torch.Tensor:
    """Normal bfloat16 numbers."""
    return torch.randn(*shape, device="cuda").to(torch.bfloat16)


def variants(factory: Callable[..., Any], sizes: tuple, target: str, **choices: list[Any]) -> dict[tuple, Any]:
    """Kernels of those combinations of ``choices`` that compile without spills."""
    kernels: dict[tuple, Any] = {}
    for values in zip(*choices.values(), strict=True):
        try:
            kernel = tile.compile(factory(*sizes, **dict(zip(choices, values, strict=True))), target=target)
        except tile.errors.TileError as error:
            print(f"{factory.__name__} {values}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if not any(one.get("spill_bytes") for one in kernel.explain().to_dict()["kernels"]):
            kernels[values] = kernel
    return kernels


def cudnn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Call:
    """Attention by cuDNN on the same memory."""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))

    def call() -> torch.Tensor:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
            ).transpose(1, 2)

    return call


def attention_tasks(target: str, tuned: bool) -> Iterator[Task]:
    """Attention of B x S = 16384 and 16 heads."""
    import attention
    import attention_tuned

    factory = attention_tuned.attention_tuned if tuned else attention.attention
    for dim in (64, 128):
        for causal in (True, False):
            for length in (1024, 2048, 4096, 8192, 16384):
                batch, heads = 16384 // length, 16
                kernels = variants(
                    factory, (batch, heads, length, dim, causal), target, block_m=[128, 128, 192, 192, 64],
                    block_n=[64, 128, 128, 64, 64], num_stages=[2, 2, 2, 2, 2], threads=[256, 256, 384, 384, 128],
                )  # fmt: skip
                q, k, v = (half(batch, length, heads, dim) for _ in range(3))
                operations = 4.0 * batch * heads * length * length * dim / (2 if causal else 1)
                shape = f"{batch} x {heads} x {length} x {dim}, {'causal' if causal else 'full'}"
                call = cudnn(q, k, v, causal)
                yield Task(shape, operations, 0, kernels, [q, k, v, torch.empty_like(q)], call, "cuDNN")


def gqa_tasks(target: str) -> Iterator[Task]:
    """Grouped-query attention."""
    from attention_gqa import attention_gqa

    for length in (2048, 8192):
        batch, heads, groups, dim = 16384 // length, 32, 4, 128
        kernels = variants(
            attention_gqa, (batch, heads, groups, length, dim), target, block_m=[128, 128, 192], block_n=[64, 128, 64],
            threads=[256, 256, 384],
        )  # fmt: skip
        q, k, v = half(batch, length, heads, dim), half(batch, length, groups, dim), half(batch, length, groups, dim)
        operations = 2.0 * batch * heads * length * length * dim
        shape = f"{batch} x {heads}/{groups} x {length} x {dim}, causal"
        yield Task(
            shape, operations, 0, kernels, [q, k, v, torch.empty_like(q)], cudnn(q, k, v, True), "cuDNN"
        )  # fmt: skip


def window_tasks(target: str) -> Iterator[Task]:
    """A sliding window."""
    from attention_window import attention_window

    batch, heads, length, dim, window = 4, 32, 8192, 64, 128
    kernels = variants(
        attention_window, (batch, heads, length, dim, window), target, block_m=[128, 64], block_n=[64, 64],
        threads=[256, 128],
    )  # fmt: skip
    q, k, v = (half(batch, length, heads, dim) for _ in range(3))
    sinks = torch.randn(heads, device="cuda")
    operations = 4.0 * batch * heads * length * window * dim
    shape = f"{batch} x {heads} x {length} x {dim}, window {window}"
    yield Task(shape, operations, 0, kernels, [q, k, v, sinks, torch.empty_like(q)], None, "")


def decode_tasks(target: str) -> Iterator[Task]:
    """One query over a cache."""
    from attention_decode import attention_decode

    for batch, length in ((16, 8192), (64, 4096), (1, 65536)):
        heads, groups, dim = 32, 4, 128
        splits = max(1, 264 // (batch * groups))  # two blocks per multiprocessor
        kernels = {}
        for count in {splits, 2 * splits}:
            found = variants(
                attention_decode, (batch, heads, groups, length, dim, count), target, block_n=[64, 64, 32, 128],
                num_stages=[3, 2, 6, 2],
            )  # fmt: skip
            kernels |= {(count, *key): value for key, value in found.items()}
        q, k, v = half(batch, heads, dim), half(batch, length, groups, dim), half(batch, length, groups, dim)
        call = cudnn(q[:, None], k, v, False)
        moved = 2.0 * 2 * k.numel()
        arguments = [q, k, v, torch.empty_like(q)]
        yield Task(
            f"{batch} x {heads}/{groups} x {length} x {dim}", 0, moved, kernels, arguments, lambda c=call: c()[:, 0],
            "cuDNN", 2.0 * q.numel(),
        )  # fmt: skip


def linear_tasks(target: str) -> Iterator[Task]:
    """Linear attention."""
    from linear_attention import linear_attention

    batch, heads, length, dim = 4, 32, 8192, 128
    kernels = variants(
        linear_attention, (batch, heads, length, dim, dim), target, chunk=[64, 64, 128], block_v=[64, 128, 64],
        threads=[128, 256, 256],
    )  # fmt: skip
    q, k, v = (brain(batch, length, heads, dim) for _ in range(3))
    moved = 4.0 * 2 * q.numel()
    yield Task(
        f"{batch} x {heads} x {length} x {dim}",
        0,
        moved,
        kernels,
        [q, k, v, torch.empty_like(v)],
        None,
        "",
        2.0 * v.numel(),
    )


def row_tasks(target: str, name: str) -> Iterator[Task]:
    """Norms, softmax and casts."""
    module = __import__(name)
    factory = getattr(module, name)
    for rows, columns in ((16384, 4096), (8192, 8192), (4096, 16384)):
        blocks = [8, 16, 32, 32] if name == "cast_fp8" else [1, 1, 1, 1]
        threads = [128, 128, 128, 256] if name == "cast_fp8" else [128, 256, 512, 1024]
        kernels = variants(factory, (columns,), target, block=blocks, threads=threads)
        x = half(rows, columns) if name == "softmax" else brain(rows, columns)
        moved = 2.0 * 2 * x.numel()
        weight, bias = brain(columns), brain(columns)
        out = torch.empty_like(x)
        if name == "softmax":
            task = Task("", 0, moved, kernels, [x, out], lambda x=x: torch.nn.functional.softmax(x, 1), "torch")
        elif name == "rms_norm":
            task = Task(
                "", 0, moved, kernels, [x, weight, out],
                lambda x=x, w=weight, c=columns: torch.nn.functional.rms_norm(x, (c,), w, 1e-6), "torch",
            )  # fmt: skip
        elif name == "layer_norm":
            task = Task(
                "", 0, moved, kernels, [x, weight, bias, out],
                lambda x=x, w=weight, b=bias, c=columns: torch.nn.functional.layer_norm(x, (c,), w, b), "torch",
            )  # fmt: skip
        else:
            scale = torch.empty(rows, columns // 128, device="cuda")
            arguments = [x, out.to(torch.float8_e4m3fn), scale]
            task = Task("", 0, 3.0 * x.numel() + 4 * scale.numel(), kernels, arguments, None, "")
        task.shape = f"{rows} x {columns}"
        task.written = task.moved - 2.0 * x.numel()
        yield task


def dequantized_tasks(target: str) -> Iterator[Task]:
    """The 4-bit product."""
    from gemm_dequantized import GROUP, gemm_dequantized, pack

    m, n, k = 16, 8192, 8192
    kernels = variants(
        gemm_dequantized, (m, n, k), target, splits=[4, 4, 4, 4, 4, 4, 6, 2], groups=[2, 2, 2, 1, 1, 1, 1, 2],
        num_stages=[2, 3, 4, 3, 4, 6, 4, 7], threads=[128] * 7 + [256], blocks=[2] * 6 + [3, 1],
    )  # fmt: skip
    a = half(m, k)
    numbers = torch.randint(0, 16, (n, k), device="cuda")
    b = pack(numbers)
    scale = torch.rand(n, k // GROUP, device="cuda").half() / 8
    weights = ((numbers.half() - 8) * scale.repeat_interleave(GROUP, 1)).T
    out = torch.empty(m, n, device="cuda", dtype=torch.float16)
    moved = n * k / 2 + 2 * scale.numel() + 2 * m * (n + k)
    yield Task(
        f"{m} x {n} x {k}", 0, moved, kernels, [a, b, scale, out], lambda: a @ weights, "cuBLAS f16", 2.0 * m * n
    )


PROGRAMS: dict[str, Callable[[str], Iterator[Task]]] = {
    "attention": lambda target: attention_tasks(target, tuned=False),
    "attention_tuned": lambda target: attention_tasks(target, tuned=True),
    "attention_gqa": gqa_tasks,
    "attention_window": window_tasks,
    "attention_decode": decode_tasks,
    "linear_attention": linear_tasks,
    "softmax": lambda target: row_tasks(target, "softmax"),
    "rms_norm": lambda target: row_tasks(target, "rms_norm"),
    "layer_norm": lambda target: row_tasks(target, "layer_norm"),
    "cast_fp8": lambda target: row_tasks(target, "cast_fp8"),
    "gemm_dequantized": dequantized_tasks,
}


def check(task: Task) -> None:
    """Refuses to time wrong kernels. Programs without a reference are checked by running the example."""
    if task.reference is None:
        return
    wanted = task.reference().float()
    for key, kernel in task.kernels.items():
        task.arguments[-1].fill_(float("nan"))
        kernel(*task.arguments)
        error = float((task.arguments[-1].float() - wanted).norm() / wanted.norm())
        if not error < 5e-3:
            raise SystemExit(f"{task.shape} {key} is wrong: relative error {error:.2e}")


def run(name: str, target: str, rounds: int) -> None:
    """Prints the table of one program."""
    table = Table(title=f"{name}, {torch.cuda.get_device_name()}, for {target}")
    for column in ("shape", "ours", "peer", "peer / ours", "copy / ours", "configuration"):
        table.add_column(column, justify="right" if column not in ("shape", "configuration") else "left")
    for task in PROGRAMS[name](target):
        if not task.kernels:
            table.add_row(task.shape, "", "", "", "", "no configuration compiles without spills")
            continue
        check(task)
        calls = {
            " ".join(map(str, key)): functools.partial(kernel, *task.arguments) for key, kernel in task.kernels.items()
        }
        key = fastest(calls, written=task.written if task.moved else None)
        contenders: dict[str, Call] = {"ours": calls[key]}
        if task.reference is not None:
            contenders["peer"] = task.reference
        if task.moved:
            source, dest = (torch.empty(int(task.moved) // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
            contenders["copy"] = functools.partial(dest.copy_, source)
        written = {"ours": task.written, "peer": task.written, "copy": task.moved / 2} if task.moved else None
        medians = interleave(contenders, rounds, cool=False, written=written)

        def rate(who: str, task: Task = task, medians: dict[str, float] = medians) -> str:
            if who not in medians:
                return ""
            amount, unit = (task.operations / 1e9, "TFLOP/s") if task.operations else (task.moved / 1e6, "GB/s")
            return f"{amount / medians[who]:.0f} {unit}"

        ratios = [f"{medians[who] / medians['ours']:.2f}" if who in medians else "" for who in ("peer", "copy")]
        peer = f"{rate('peer')} {task.peer}" if task.reference is not None else ""
        table.add_row(task.shape, rate("ours"), peer, *ratios, key)
    Console(width=150).print(table)


def main() -> None:
    """Prints one table per program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="may be repeated; default: all")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    for name in arguments.program or PROGRAMS:
        run(name, arguments.target, arguments.rounds)


if __name__ == "__main__":
    main()
