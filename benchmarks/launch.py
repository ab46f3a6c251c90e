"""Host cost of a launch with three tensors, beside Triton: microseconds per call, and the ratio.

The kernel is a vector add of 1024 floats, so that the GPU is never the limit; calls are timed in batches shorter than
the launch queue, with the queue drained in between, so that no call waits for the GPU.

    python benchmarks/launch.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import peers

VECTOR_ADD = (peers.PROGRAMS / "vector_add.ptx").read_text()


def our_kernel(outputs: list[int]) -> Any:
    """The PTX above behind a launch plan with a dynamic size, checks and guards as the compiler makes them."""
    import torch
    from tilemlir.compiler import toolchain
    from tilemlir.runtime import LoadedKernel

    n = ["symbol", 0]
    plan = {
        "version": 1,
        "target": "sm_80",
        "name": "vector_add",
        "arguments": [
            {"name": name, "kind": "tensor", "dtype": "f32", "shape": [n], "access": access}
            for name, access in (("A", "read"), ("B", "read"), ("C", "write"))
        ],
        "symbols": [{"name": "n", "source": ["dim", 0, 0]}],
        "outputs": outputs,
        "guards": [
            *({"kind": "aligned", "argument": index, "bytes": 16} for index in range(3)),
            {"kind": "noalias", "written": [2], "read": [0, 1]},
        ],
        "launches": [
            {
                "kernel": "vector_add",
                "grid": [["ceildiv", n, 128], 1, 1],
                "threads": 128,
                "parameters": [
                    *({"kind": "pointer", "argument": index} for index in range(3)),
                    {"kind": "expr", "dtype": "i32", "value": n},
                ],
            }
        ],
    }
    major, minor = torch.cuda.get_device_capability()
    return LoadedKernel(plan, {"vector_add": toolchain.assemble(VECTOR_ADD, f"sm_{major}{minor}").image})


def triton_kernel() -> Callable[[Any, Any, Any], Any]:
    """The same in Triton, called as its users do."""
    import triton
    import triton.language as tl

    @triton.jit
    def vector_add(a, b, c, n, BLOCK: tl.constexpr):
        index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = index < n
        tl.store(c + index, tl.load(a + index, mask=mask) + tl.load(b + index, mask=mask), mask=mask)

    def run(a: Any, b: Any, c: Any) -> None:
        n = a.shape[0]
        vector_add[(triton.cdiv(n, 128),)](a, b, c, n, BLOCK=128)

    return run


def microseconds(run: Callable[[], Any], batch: int, batches: int) -> float:
    """Median over batches of the host time per call."""
    import torch

    for _ in range(batch):
        run()
    times = []
    for _ in range(batches):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(batch):
            run()
        times.append((time.perf_counter() - begin) / batch * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def main() -> None:
    """Prints one line per way to launch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=500, help="calls per batch (the queue holds about 1000)")
    parser.add_argument("--batches", type=int, default=41)
    parser.add_argument("--rounds", type=int, default=5, help="the best round of each way counts")
    arguments = parser.parse_args()

    import torch

    a, b, c = torch.randn(3, 1024, device="cuda").unbind()
    in_place, returning = our_kernel([]), our_kernel([2])
    in_place(a, b, c)
    assert torch.equal(c, a + b) and torch.equal(returning(a, b), a + b)
    prepared = in_place.prepare(a, b, c)
    ways: dict[str, Callable[[], Any]] = {
        "tilemlir, three tensors": lambda: in_place(a, b, c),
        "tilemlir, two tensors and a new output": lambda: returning(a, b),
        "tilemlir, prepared": prepared,
        "torch.add(a, b, out=c)": lambda: torch.add(a, b, out=c),
    }
    if peers.available("triton"):
        run = triton_kernel()
        run(a, b, c)
        ways["triton, three tensors"] = lambda: run(a, b, c)
    # Several rounds over all ways, so that none profits from its place and a busy moment of the host spoils none.
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            times[name].append(microseconds(way, arguments.batch, arguments.batches))
    best = {name: min(values) for name, values in times.items()}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: host time per launch")
    for name, value in best.items():
        print(f"  {name:42s} {value:6.2f} us")
    if "triton, three tensors" in best:
        ratio = best["tilemlir, three tensors"] / best["triton, three tensors"]
        prepared_ratio = best["tilemlir, prepared"] / best["triton, three tensors"]
        print(f"  ratio to Triton: {ratio:.2f} (prepared: {prepared_ratio:.2f})")
    else:
        print("  triton is not installed: no ratio")


if __name__ == "__main__":
    main()
