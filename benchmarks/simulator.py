"""How long the simulator takes: the chapter's matrix product and attention, for both generations.

python benchmarks/simulator.py [--seed N]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import tilemlir as tile

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import attention
import gemm
from tilemlir.simulator import Settings, simulate


def measure(name: str, kernel: tile.CompiledKernel, arguments: list[np.ndarray], seed: int) -> None:
    """Prints wall time and processor time of one simulated call, checks included."""
    wall, processor = time.perf_counter(), time.process_time()
    report = simulate(kernel, *arguments, settings=Settings(seed=seed)).report
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    state = "no fault" if report.ok else f"{len(report.findings)} faults"
    print(f"{name:<42} {wall:7.2f} s {processor:7.2f} s of processor {report.instructions:>9} instructions, {state}")


def main() -> None:
    """Runs all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the scheduler")
    seed = parser.parse_args().seed
    generator = np.random.default_rng()

    def half(*shape: int) -> np.ndarray:
        return generator.standard_normal(shape, dtype=np.float32).astype(np.float16)

    for arch in ("sm_80", "sm_90a"):
        target = {"kind": "cuda", "arch": arch}
        product = tile.compile(gemm.gemm(256, 256, 256, block_k=64), out_idx=[2], target=target)
        measure(f"matrix product 256 x 256 x 256, {arch}", product, [half(256, 256), half(256, 256)], seed)
        for causal in (False, True):
            program = attention.attention(1, 2, 256, 64, causal)
            kernel = tile.compile(program, out_idx=[3], target=target)
            shapes = [tuple(parameter["shape"]) for parameter in kernel.params[:3]]
            name = f"attention 2 heads x 256 x 64{', causal' if causal else ''}, {arch}"
            measure(name, kernel, [half(*shape) for shape in shapes], seed)


if __name__ == "__main__":
    main()
