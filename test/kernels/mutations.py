"""How the mutation suite puts a fault into a kernel between two passes, or into its PTX, and sees who notices.

A fault in IR is a change of the module's text behind a pass; the rest of the pipeline runs on the changed text, with
`tile-verify-sync` where the fault is in front of it. What the verifier lets through is simulated, as are faults in PTX
and in the launch plan.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import subprocess
from types import SimpleNamespace
from typing import Any

from mutation_kernels import KERNELS, compiled
from mutation_table import PLAN, PTX, SIMULATOR, VERIFIER, Mutation
from tilemlir.compiler import lowering
from tilemlir.simulator import Settings, simulate
from tilemlir.tools.executables import executable_path

__all__ = ["Verdict", "mutate", "original", "run"]


@dataclasses.dataclass
class Verdict:
    """Who noticed a fault.

    Attributes:
        by: VERIFIER, SIMULATOR, or "" for nobody.
        kinds: kinds of findings of the simulator.
        text: everything that was said.
    """

    by: str
    kinds: set[str]
    text: str

    def confirms(self, mutation: Mutation) -> bool:
        """Whether who should notice the fault did, in the words that the table gives."""
        if self.by != mutation.by or mutation.message not in self.text:
            return False
        return self.text.startswith(mutation.finds) if self.by == VERIFIER else bool(self.kinds & set(mutation.finds))


@functools.cache
def original(kernel: str, level: str) -> str:
    """The unchanged text of a kernel at a level."""
    if level == PTX:
        return str(compiled(kernel).asm["ptx"])
    if level == PLAN:
        return json.dumps(compiled(kernel).launch_plan, indent=1)
    done = _tool("tile-opt", [f"--tile-pipeline=to={level}"], compiled(kernel).asm["tile"])
    assert done.returncode == 0, done.stderr
    return done.stdout


def mutate(mutation: Mutation) -> str:
    """The text with the fault in it."""
    text = original(mutation.kernel, mutation.level)
    matches = list(re.finditer(mutation.pattern, text))
    assert matches, f"{mutation.kernel} has nothing like {mutation.pattern} at the level {mutation.level}"
    for match in reversed(matches if mutation.which is None else [matches[mutation.which]]):
        text = text[: match.start()] + match.expand(mutation.replacement) + text[match.end() :]
    return text


def run(mutation: Mutation, seeds: range = range(1)) -> list[Verdict]:
    """Compiles and runs the kernel with the fault; one verdict for the verifier's refusal, else one for each seed."""
    text = mutate(mutation)
    kernel = compiled(mutation.kernel)
    faulty = SimpleNamespace(
        name=kernel.name, target=kernel.target, launch_plan=kernel.launch_plan, asm=dict(kernel.asm), variant=None
    )
    if mutation.level == PTX:
        faulty.asm["ptx"] = text
    elif mutation.level == PLAN:
        faulty.launch_plan = json.loads(text)
    else:
        rest = f"--tile-pipeline=from={_pass_behind(mutation.level, kernel.target)}"
        done = _tool("tile-opt", [rest], text)
        if done.returncode:
            first = re.search(r"error: ([^\n]*)", done.stderr)
            assert first, done.stderr
            return [Verdict(VERIFIER, set(), first[1])]
        faulty.asm["ptx"] = _tool("tile-translate", ["--tile-to-ptx"], done.stdout).stdout
    return [_simulated(faulty, mutation.kernel, seed) for seed in seeds]


def _simulated(kernel: Any, name: str, seed: int) -> Verdict:
    operands = KERNELS[name].operands()
    result = simulate(kernel, *operands, settings=Settings(seed=seed, patience=100_000))
    if not result.report.ok:
        return Verdict(SIMULATOR, {one.kind for one in result.report.findings}, str(result.report))
    if not KERNELS[name].agrees(result.outputs, operands):
        return Verdict(SIMULATOR, {"wrong result"}, "the result is wrong")
    return Verdict("", set(), str(result.report))


def _pass_behind(level: str, target: Any) -> str:
    """The pass that follows another one in the pipeline."""
    names = [re.search(r"tile-[\w-]+", one) for one in lowering.pass_names(target)]
    found = [name[0] for name in names if name]
    return found[found.index(level) + 1]


def _tool(name: str, arguments: list[str], text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [executable_path(name), *arguments, "-"], input=text, capture_output=True, text=True, check=False
    )
