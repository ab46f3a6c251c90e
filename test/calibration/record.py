"""Records what hardware gives for the conformance cases. Needs a GPU of compute capability 9.0, torch and tilemlir.

    python test/calibration/record.py OUT [--only TEXT]

writes OUT/GROUP.npz and OUT.tgz with all of them, to be put into test/calibration/recorded. A case that fails on hardware (an illegal instruction
ends its process) is reported and left out; the others of its group run in a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import conformance
import conformance_results

#: float32 functions whose distance from the correctly rounded result is found for every input, and its reference.
SWEEPS = {
    "ex2.approx.f32": "exp2", "ex2.approx.ftz.f32": "exp2", "lg2.approx.f32": "log2", "lg2.approx.ftz.f32": "log2",
    "rcp.approx.f32": "reciprocal", "rcp.approx.ftz.f32": "reciprocal", "rsqrt.approx.f32": "rsqrt",
    "rsqrt.approx.ftz.f32": "rsqrt", "sqrt.approx.f32": "sqrt", "sqrt.approx.ftz.f32": "sqrt", "sin.approx.f32": "sin",
    "cos.approx.f32": "cos", "tanh.approx.f32": "tanh",
}  # fmt: skip


def run_cases(cases: list[conformance.Case], progress: Path) -> tuple[dict[str, list[np.ndarray]], list[str]]:
    """Runs cases in this process; the arrays that each wrote, and a line per failure.

    The name of the running case is kept in `progress`.

    Raises:
        RuntimeError: when the device is unusable after a case.
    """
    import torch
    from tilemlir.compiler import toolchain
    from tilemlir.runtime import LoadedKernel

    results, failures = {}, []
    with ThreadPoolExecutor(12) as pool:
        images = [pool.submit(toolchain.assemble, conformance.module_text(case), "sm_90a") for case in cases]
        for case, image in zip(cases, images, strict=True):
            progress.write_text(case.name)
            tensors = [torch.from_numpy(array.copy()).cuda() for array in case.arrays]
            try:
                kernel = LoadedKernel(conformance.launch_plan(case), {"kernel": image.result().image})
                kernel(*tensors)
            except Exception as error:  # of the plan or the assembler; those of the device come with the next line
                failures.append(f"{case.name}: {error}")
                continue
            torch.cuda.synchronize()
            results[case.name] = [tensors[i].cpu().numpy() for i in case.written]
    progress.write_text("")
    return results, failures


def run_apart(cases: list[conformance.Case], folder: Path) -> tuple[dict[str, list[np.ndarray]], list[str]]:
    """The same, each case in a process of its own, several at a time: a fault ends only its process."""
    import tilemlir.runtime
    import torch

    del torch, tilemlir
    results, failures = {}, []
    waiting, running = list(cases), {}
    while waiting or running:
        while waiting and len(running) < 8:
            case = waiting.pop(0)
            path = folder / f"apart-{len(waiting)}.npz"
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    found, failed = run_cases([case], path.with_suffix(".progress"))
                    if found:
                        np.savez(path, *found[case.name])
                        status = 0
                    else:
                        path.with_suffix(".txt").write_text(failed[0])
                except BaseException as error:
                    path.with_suffix(".txt").write_text(str(error).splitlines()[0])
                os._exit(status)
            running[pid] = (case, path, time.perf_counter())
        for pid, (case, path, begin) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.perf_counter() - begin > 20:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                done, status = pid, 1
                path.with_suffix(".txt").write_text("timeout")
            if done:
                del running[pid]
                if status == 0:
                    with np.load(path) as data:
                        results[case.name] = [data[f"arr_{i}"] for i in range(len(case.written))]
                else:
                    failures.append(f"{case.name}: {path.with_suffix('.txt').read_text()}")
                for suffix in (".npz", ".txt", ".progress"):
                    path.with_suffix(suffix).unlink(missing_ok=True)
        time.sleep(0.01)
    return results, failures


def sweep(mnemonic: str, function: str) -> dict[str, list[int]]:
    """Distances from the correctly rounded result over all 2^32 inputs.

    Returns:
        By the upper 9 bits of the input (sign and exponent): the largest distance in units of the last place of the
        float32 results' order, the number of inputs whose results are not both NaN, and the largest distance where
        denormal results count as zero.
    """
    import torch
    from tilemlir.compiler import toolchain
    from tilemlir.runtime import LoadedKernel

    chunk = 1 << 25
    body = f"""  ld.global.b32 %r1, [%p0];
  add.s32 %r2, %r1, %g;
  {mnemonic} %r3, %r2;
  mad.wide.u32 %d1, %g, 4, %p1;
  st.global.b32 [%d1], %r3;"""
    arrays = (np.zeros(1, np.int32), np.zeros(chunk, np.int32))
    case = conformance.Case(mnemonic, "", body, arrays, (1,), ("f32",), (), threads=256, grid=(chunk // 256, 1, 1))
    image = toolchain.assemble(conformance.module_text(case), "sm_90a").image
    kernel = LoadedKernel(conformance.launch_plan(case), {"kernel": image})
    out = torch.empty(chunk, dtype=torch.int32, device="cuda")
    index = torch.arange(chunk, dtype=torch.int64, device="cuda")

    def ordered(bits: torch.Tensor) -> torch.Tensor:
        wide = bits.to(torch.int64)
        return torch.where(wide < 0, -(wide & 0x7FFFFFFF), wide)

    found: dict[str, list[int]] = {"distance": [0] * 512, "nan": [0] * 512, "flushed": [0] * 512}
    for begin in range(0, 1 << 32, chunk):
        start = torch.tensor([begin - (1 << 32) if begin >= 1 << 31 else begin], dtype=torch.int32, device="cuda")
        kernel(start, out)
        bits = (index + begin).to(torch.int32)
        exact = getattr(torch, function)(bits.view(torch.float32).double()).float()
        got = out.view(torch.float32)
        nan, number = torch.isnan(exact), torch.isnan(got)
        both = nan & number
        distance = (ordered(out) - ordered(exact.view(torch.int32))).abs()
        distance = torch.where(nan | number, torch.zeros_like(distance), distance)
        tiny = 2.0**-126
        flat = torch.where(exact.abs() < tiny, exact * 0, exact)
        flat_got = torch.where(got.abs() < tiny, got * 0, got)
        flushed = (ordered(flat_got.view(torch.int32)) - ordered(flat.view(torch.int32))).abs()
        flushed = torch.where(nan | number, torch.zeros_like(flushed), flushed)
        for name, values in (("distance", distance), ("nan", ((nan | number) & ~both).long()), ("flushed", flushed)):
            top = values.reshape(-1, 1 << 23)
            amounts = top.sum(1) if name == "nan" else top.max(1).values
            for i, amount in enumerate(amounts.tolist()):
                found[name][(begin >> 23) + i] = amount
    return found


def child(job: str, folder: Path, skip: set[str], only: str) -> int:
    """The cases of some groups, or the sweeps."""
    if job == "sweeps":
        found = {mnemonic: sweep(mnemonic, function) for mnemonic, function in SWEEPS.items()}
        (folder / "sweeps.json").write_text(json.dumps(found))
        return 0
    groups = job.split(",")
    cases = [c for c in conformance.all_cases().values() if c.group in groups and c.name not in skip and only in c.name]
    if job == "tensors":
        results, failures = run_apart(cases, folder)
    else:
        results, failures = run_cases(cases, folder / f"{groups[0]}.progress")
    import torch

    about = {"device": torch.cuda.get_device_name(), "capability": str(torch.cuda.get_device_capability())}
    for group in groups:
        conformance_results.write(folder / f"{group}.npz", [c for c in cases if c.group == group], results, about)
    print("\n".join(failures))
    return 0


def record(job: str, folder: Path, only: str) -> list[str]:
    """Runs a job in processes of its own until all that can run has run; a line per failure."""
    failures: list[str] = []
    skip: set[str] = set()
    for _ in range(4):
        command = [
            sys.executable,
            __file__,
            str(folder),
            "--job",
            job,
            "--only",
            only,
            "--skip",
            json.dumps(sorted(skip)),
        ]
        output = ""
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            output = result.stdout
            lines = [line for line in result.stderr.splitlines() if "rror" in line]
            problem = " ".join(lines[-3:]) if result.returncode else None
        except subprocess.TimeoutExpired:
            problem = "timeout"
        failures += output.split("\n")
        if problem is None:
            break
        progress = folder / f"{job.split(',')[0]}.progress"
        name = progress.read_text() if progress.exists() else ""
        failures.append(f"{job}: {name or 'start'}: {problem}")
        if not name or name in skip:
            break
        skip.add(name)
    return [failure for failure in failures if failure]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--jobs", default="", help="groups of cases to record, as GROUP,GROUP;GROUP;sweeps")
    parser.add_argument("--job", help="what a process of its own does: groups of cases, or sweeps")
    parser.add_argument("--skip", default="[]")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.job:
        sys.exit(child(options.job, options.out, set(json.loads(options.skip)), options.only))
    begin = time.perf_counter()
    groups = sorted({case.group for case in conformance.all_cases().values()})
    # Tensor copies and wgmma end their process when something is wrong: apart from the others.
    apart = ["tensors", "warpgroup"]
    jobs = [",".join(group for group in groups if group not in apart), *apart, "sweeps"]
    if options.jobs:
        jobs = options.jobs.split(";")
    with ThreadPoolExecutor(len(jobs)) as pool:
        for job, failures in zip(jobs, pool.map(lambda job: record(job, options.out, options.only), jobs), strict=True):
            print(f"{job}: {time.perf_counter() - begin:.1f} s, {len(failures)} failures")
            for failure in failures:
                print(failure[:300])
    for path in options.out.glob("*.progress"):
        path.unlink()
    total = sum(path.stat().st_size for path in options.out.iterdir())
    with tarfile.open(options.out.with_suffix(".tgz"), "w:gz") as archive:
        archive.add(options.out, options.out.name)
    print(f"{time.perf_counter() - begin:.1f} s, {total} bytes in {options.out}")


if __name__ == "__main__":
    main()
