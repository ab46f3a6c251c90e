"""What `tile-verify-sync` costs: its time beside that of all passes and of the assembler, over the golden kernels.

python benchmarks/verify_sync.py [--samples 5]

Times are of the processor, that of the assembler included, so that other work on the machine matters little. Compile
time is that from the traced module to the cubin; tracing would come on top.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
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


def processor_seconds() -> float:
    """What this process and its children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(text: str, arch: str, samples: int) -> tuple[float, float, float]:
    """Seconds of the verifier, of all passes, and of the assembler, on one traced module."""
    context = ir.Context()
    target = parse({"kind": "cuda", "arch": arch})

    def run(pipeline: str, source: str) -> tuple[float, str, Any]:
        module = ir.Module.parse(source, context)
        manager = passmanager.PassManager.parse(f"builtin.module({pipeline})", context)
        manager.enable_verifier(False)
        begin = processor_seconds()
        manager.run(module.operation)
        return processor_seconds() - begin, lowering.module_text(module), module

    def timed(source: str) -> float:
        module = ir.Module.parse(source, context)
        manager = passmanager.PassManager.parse("builtin.module(tile-verify-sync)", context)
        begin = time.process_time()
        manager.run(module.operation)
        return time.process_time() - begin

    _, before, _ = run("tile-pipeline{to=tile-insert-sync}", text)
    # Short enough for one interruption to double it: the fastest of many.
    verify = min(timed(before) for _ in range(4 * samples))
    passes = statistics.median(run("tile-pipeline", text)[0] for _ in range(samples))
    from tilemlir._mlir._mlir_libs import _tilemlir

    ptx = _tilemlir.ptx(run("tile-pipeline", text)[2])
    assemble = []
    for _ in range(samples):
        begin = processor_seconds()
        toolchain.assemble(ptx, target.assemble_for(None))
        assemble.append(processor_seconds() - begin)
    return verify, passes, statistics.median(assemble)


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
