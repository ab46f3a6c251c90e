"""What `tile-verify-sync` costs: its time beside that of all passes and of the assembler, over the golden kernels.

python benchmarks/verify_sync.py [--samples 5]

The time of a kernel from its traced module to the cubin counts as compile time; tracing would come on top.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "test" / "kernels"))
sys.path.insert(0, str(Path(__file__).parent.parent / "test" / "python" / "assembly"))

import cluster_programs
import defer_programs
import kernels as golden
from mutation_kernels import KERNELS
from tilemlir._mlir import ir, passmanager
from tilemlir.compiler import compile, lowering, toolchain
from tilemlir.compiler.target import parse

TARGETS = ("sm_80", "sm_90a")


def modules() -> dict[tuple[str, str], str]:
    """Traced modules by name and architecture."""
    texts = {}
    for arch in TARGETS:
        for name, gemm in golden.GEMMS.items():
            if gemm.capability <= int(arch[3:5]):
                texts[f"gemm {name}", arch] = golden.gemm_text(gemm, arch)
        for path in sorted(golden.CORPUS.glob("*.mlir")):
            texts[f"corpus {path.stem}", arch] = golden.corpus_text(path.stem, arch)
    sizes = (4096, 4096, 4096)
    programs: dict[str, Any] = {
        "gemm 128x256x64, 4 stages": defer_programs.gemm(*sizes, workers=132, block=(128, 256, 64), stages=4),
        "gemm in clusters of 2": cluster_programs.gemm(*sizes, (2, 1)),
        "gemm in clusters of 8": cluster_programs.gemm(*sizes, (2, 4)),
        "persistent gemm in clusters of 2": cluster_programs.persistent_gemm(*sizes),
        **{f"mutation suite: {name}": one.make() for name, one in KERNELS.items()},
    }
    for name, program in programs.items():
        arch = KERNELS[name.partition(": ")[2]].arch if ": " in name else "sm_90a"
        texts[name, arch] = compile.lower(program, target={"kind": "cuda", "arch": arch}, stage="tile")
    return texts


def median(samples: int, work: Callable[[], None]) -> float:
    """Seconds of processor and tools that ``work`` takes."""
    times = []
    for _ in range(samples):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def measure(text: str, arch: str, samples: int) -> tuple[float, float, float]:
    """Seconds of the verifier, of all passes, and of the assembler, on one traced module."""
    context = ir.Context()
    target = parse({"kind": "cuda", "arch": arch})

    def run(pipeline: str, source: str) -> tuple[float, str, Any]:
        module = ir.Module.parse(source, context)
        manager = passmanager.PassManager.parse(f"builtin.module({pipeline})", context)
        manager.enable_verifier(False)
        begin = time.perf_counter()
        manager.run(module.operation)
        return time.perf_counter() - begin, lowering.module_text(module), module

    _, before, _ = run("tile-pipeline{to=tile-insert-sync}", text)
    verify = statistics.median(run("tile-verify-sync", before)[0] for _ in range(4 * samples))
    passes = statistics.median(run("tile-pipeline", text)[0] for _ in range(samples))
    from tilemlir._mlir._mlir_libs import _tilemlir

    ptx = _tilemlir.ptx(run("tile-pipeline", text)[2])
    assemble = median(samples, lambda: toolchain.assemble(ptx, target.assemble_for(None)))
    return verify, passes, assemble


def main() -> None:
    """Prints a line for each kernel and the share over all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=5)
    samples = parser.parse_args().samples
    total, shares = [0.0, 0.0], {}
    print(f"{'kernel':<48} {'verifier':>9} {'passes':>9} {'assembler':>9}  share")
    for (name, arch), text in modules().items():
        verify, passes, assemble = measure(text, arch, samples)
        share = verify / (passes + assemble)
        shares[f"{name}, {arch}"] = share
        total[0] += verify
        total[1] += passes + assemble
        print(
            f"{name + ', ' + arch:<48} {verify * 1e3:6.2f} ms {passes * 1e3:6.1f} ms {assemble * 1e3:6.1f} ms "
            f"{share:6.1%}",
            flush=True,
        )
    worst = max(shares, key=lambda name: shares[name])
    print(f"share of compile time: {total[0] / total[1]:.2%}; at most {shares[worst]:.1%} ({worst})")


if __name__ == "__main__":
    main()
