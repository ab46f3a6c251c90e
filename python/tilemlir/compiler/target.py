"""What a kernel is compiled for: a CPU, or a CUDA architecture.

A target names the feature set. When the device is newer, the same PTX is assembled for it; architectures with an "a"
suffix have features of exactly that chip and run nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tilemlir import errors
from tilemlir.compiler.knobs import knobs

__all__ = ["Target", "detect", "parse"]

# Capabilities whose "a" variant exists and carries instructions we use (PTX ISA, section on .target).
_ARCH_SPECIFIC = {90, 100, 101, 103, 110, 120, 121}
_OLDEST = 80


@dataclass(frozen=True)
class Target:
    """A compilation target.

    Attributes:
        kind: ``"cpu"``, ``"cuda"``, or ``"simulator"`` for code of a CUDA architecture that runs in the simulator.
        capability: compute capability as an integer (80 for sm_80); 0 on the CPU.
        arch_specific: True for ``sm_90a`` and its like.
        code: architectures to assemble for, such as ``("sm_90",)``; empty: the architecture itself, or the device found
            at load time.
    """

    kind: str
    capability: int = 0
    arch_specific: bool = False
    code: tuple[str, ...] = field(default=())

    @property
    def arch(self) -> str:
        """``"sm_90a"``, or ``"cpu"``."""
        if self.kind == "cpu":
            return "cpu"
        return f"sm_{self.capability}{'a' if self.arch_specific else ''}"

    @property
    def is_cpu(self) -> bool:
        """True for the CPU."""
        return self.kind == "cpu"

    @property
    def is_simulated(self) -> bool:
        """True when calls run in the simulator."""
        return self.kind == "simulator"

    @property
    def device(self) -> str:
        """Where arguments live, as torch names it: ``"cuda"`` for GPUs, ``"cpu"`` for the CPU and the simulator."""
        return "cuda" if self.kind == "cuda" else "cpu"

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Whether kernels of this target run on a device of a compute capability such as ``(9, 0)``."""
        if self.kind != "cuda":
            return False
        device = capability[0] * 10 + capability[1]
        return device == self.capability if self.arch_specific else device >= self.capability

    def assemble_for(self, capability: tuple[int, int] | None) -> str:
        """The architecture to hand to the assembler for a device, or for the target itself when there is none.

        The same PTX is assembled for a newer device; an "a" target keeps its own architecture.
        """
        if self.code:
            return self.code[0]
        if capability is None or self.arch_specific or not self.runs_on(capability):
            return self.arch
        return f"sm_{capability[0] * 10 + capability[1]}"

    def __str__(self) -> str:
        return f"{self.arch} in the simulator" if self.is_simulated else self.arch


def _unknown(target: object) -> errors.TileError:
    return errors.make("unknown-target", {"target": repr(target)})


def _from_arch(arch: str, target: object, code: tuple[str, ...] = ()) -> Target:
    match = re.fullmatch(r"(?:sm|compute)_(\d{2,3})(a?)", arch)
    if match is None:
        raise _unknown(target)
    capability = int(match[1])
    specific = match[2] == "a"
    if capability < _OLDEST or (specific and capability not in _ARCH_SPECIFIC):
        raise _unknown(target)
    return Target("cuda", capability, specific, code)


def _device_target() -> Target | None:
    from tilemlir.runtime import cuda

    if cuda.driver_problem() is not None or cuda.device_count() == 0:
        return None
    from tilemlir.interop import frameworks

    major, minor = cuda.device_properties(frameworks.current_device()).compute_capability
    capability = major * 10 + minor
    if capability < _OLDEST:
        raise errors.make("unknown-target", {"target": f"sm_{capability} (the current device)"})
    return Target("cuda", capability, capability in _ARCH_SPECIFIC)


def detect() -> Target:
    """The current CUDA device's architecture, or the CPU when there is no usable GPU."""
    return _device_target() or Target("cpu")


def parse(target: object = None) -> Target:
    """The target that a user's description means.

    With the `simulate` knob, CUDA targets become simulated ones; where no architecture is named, sm_90a.

    Args:
        target: None (the `target` knob, by default ``"auto"``), ``"auto"``, ``"cuda"`` (the device found),
            ``"cpu"``/``"llvm"``/``"c"``, ``"sm_80"`` … ``"sm_100a"``, a mapping such as
            ``{"kind": "cuda", "arch": "sm_90a", "code": ["sm_90"]}`` or ``{"kind": "simulator", "arch": "sm_90a"}``,
            or a `Target`.

    Raises:
        TileValueError: for anything else.
        TileRuntimeError: for ``"cuda"`` without a GPU.
    """
    if isinstance(target, Target):
        return target
    if target is None:
        target = knobs.target
    if knobs.simulate:
        return _simulated(target)
    return _parse(target)


def _simulated(target: object) -> Target:
    """A target with the simulator in place of a GPU."""
    if target in ("auto", "cuda"):
        target = "sm_90a"
    found = _parse(target)
    return replace(found, kind="simulator", code=()) if found.kind == "cuda" else found


def _parse(target: object) -> Target:
    if isinstance(target, Mapping):
        unknown = set(target) - {"kind", "arch", "code"}
        kind = target.get("kind", "cuda")
        arch = target.get("arch")
        if unknown or (arch is not None and not isinstance(arch, str)):
            raise _unknown(target)
        code = target.get("code", ())
        codes = (code,) if isinstance(code, str) else tuple(code)
        if kind == "cuda" and arch is not None:
            return _from_arch(arch, target, codes)
        if kind == "simulator" and not codes:
            return replace(_from_arch(arch or "sm_90a", target), kind="simulator")
        if not isinstance(kind, str) or arch is not None or codes:
            raise _unknown(target)
        target = kind
    if not isinstance(target, str):
        raise _unknown(target)
    # TVM's command-line form: "cuda -arch=sm_90a".
    words = target.split()
    if len(words) == 2 and words[0] == "cuda" and words[1].startswith("-arch="):
        return _from_arch(words[1].removeprefix("-arch="), target)
    if target == "auto":
        return detect()
    if target in ("cpu", "llvm", "c"):
        return Target("cpu")
    if target == "cuda":
        found = _device_target()
        if found is None:
            from tilemlir.runtime import cuda

            raise errors.make("no-cuda-driver", {"reason": cuda.driver_problem() or "it reports no device"})
        return found
    return _from_arch(target, target)
