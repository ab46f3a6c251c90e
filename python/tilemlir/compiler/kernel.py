"""A compiled kernel: call it, look at every stage of it, ask why it is as it is, time it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilemlir import errors
from tilemlir.compiler import lowering, machines, toolchain
from tilemlir.compiler.lowering import Lowered
from tilemlir.compiler.options import CompileOptions
from tilemlir.compiler.report import Report
from tilemlir.compiler.target import Target
from tilemlir.runtime import LoadedKernel

if TYPE_CHECKING:
    from tilemlir.profiler import Profiler

__all__ = ["CompiledKernel", "SimulatedKernel", "Stages", "stage_names"]

_GPU_STAGES = ("tile", "tile_scheduled", "tile_gpu", "nvvm", "llvm", "ptx", "sass")
_CPU_STAGES = ("tile", "llvm")


def stage_names(target: Target, available: bool = False) -> tuple[str, ...]:
    """The stages of a target in order.

    Args:
        target: what is compiled for.
        available: leave out machine code when it cannot be shown for want of a disassembler.
    """
    if target.is_cpu:
        return _CPU_STAGES
    if target.is_simulated:  # PTX is what the simulator runs: nothing is assembled
        return _GPU_STAGES[:-1]
    return _GPU_STAGES if not available or toolchain.find_disassembler() else _GPU_STAGES[:-1]


class Stages(Mapping[str, str]):
    """Text of every compiler stage by name; stages that were not kept are computed when asked for.

    ``tile`` is what the tracer wrote, ``tile_scheduled`` the same after all tile passes, ``tile_gpu`` the hardware
    level with registers, ``nvvm`` and ``llvm`` the last two levels, ``ptx`` and ``sass`` the results (``sass`` is
    listed only where a disassembler is installed, and never for the simulator, which runs PTX). The CPU has ``tile``
    and ``llvm``.
    """

    def __init__(self, target: Target, lowered: Lowered, disassemble: Callable[[], str]) -> None:
        self._target = target
        self._disassemble = disassemble
        self._known: dict[str, str] = {"tile": lowered.tile}
        if not target.is_cpu:
            self._known["ptx"] = lowered.ptx

    def __getitem__(self, stage: str) -> str:
        if stage not in stage_names(self._target):
            raise KeyError(f"there is no stage {stage!r} for {self._target}; stages are {', '.join(self)}")
        if stage not in self._known:
            if stage == "sass":
                self._known[stage] = self._disassemble()
            else:
                self._known[stage] = lowering.lower_to_stage(self._known["tile"], self._target, stage)
        return self._known[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(stage_names(self._target, available=True))

    def __len__(self) -> int:
        return len(stage_names(self._target, available=True))

    def items(self) -> ItemsView[str, str]:
        """All stages in order; computes those that were not kept."""
        return super().items()


@dataclasses.dataclass(frozen=True)
class Image:
    """Machine code of a kernel function and what the assembler said about it.

    Attributes:
        code: by launch name: a cubin, or on the CPU the address of an entry.
        resources: by launch name: ``registers``, ``spill_bytes``, ``shared_bytes`` and so on; empty on the CPU.
        notes: remarks of the assembler.
        owner: what keeps ``code`` valid, such as the JIT engine.
    """

    code: Mapping[str, bytes | int]
    resources: Mapping[str, Mapping[str, Any]]
    notes: Sequence[str] = ()
    owner: object = None


class CompiledKernel(LoadedKernel):
    """A kernel function compiled for one target.

    Calling it takes the arguments of the kernel function without its outputs (``out_idx``), in order or by name:
    torch tensors for CUDA targets, torch tensors or NumPy arrays for the CPU, Python numbers for scalars. Outputs are
    allocated by the framework of the first tensor and returned: one value, or a list. The launch goes to the
    framework's current stream, and may be captured in a CUDA graph.

    Attributes:
        name: of the kernel function.
        target: what it was compiled for.
        options: all compile options.
        out_idx: indices of the arguments that are outputs.
        asm: every compiler stage as text.
        milliseconds: time that each phase of the compilation took; empty when it came from the cache.
    """

    # The call itself is the native launcher's: nothing of Python runs between the user and the driver.
    def __init__(
        self,
        name: str,
        options: CompileOptions,
        lowered: Lowered,
        image: Image,
        variants_callback: Callable[[tuple[int, ...]], LoadedKernel],
        disassemble: Callable[[], str],
    ) -> None:
        super().__init__(lowered.plan, image.code, variants_callback, image.owner)
        self.name = name
        self.options = options
        self.target = options.target
        self.asm = Stages(options.target, lowered, disassemble)
        self.milliseconds = lowered.milliseconds
        self.out_idx: list[int] = list(lowered.plan.get("outputs", ()))
        self._lowered = lowered
        self._image = image
        self._variant = variants_callback

    def __repr__(self) -> str:
        return f"<tilemlir kernel {self.name} for {self.target}>"

    @property
    def params(self) -> list[Mapping[str, Any]]:
        """Declared arguments in order: name, kind, dtype, shape, strides, access."""
        return list(self._lowered.plan["arguments"])

    @property
    def cubin(self) -> Mapping[str, bytes]:
        """Machine code by launch name; empty on the CPU."""
        return {name: code for name, code in self._image.code.items() if isinstance(code, bytes)}

    @property
    def can_run(self) -> bool:
        """Whether this machine can run the kernel: except for the CPU and the simulator, it needs a device."""
        if self.target.kind != "cuda":
            return True
        from tilemlir.runtime import cuda

        return any(
            self.target.runs_on(cuda.device_properties(device).compute_capability)
            for device in range(cuda.device_count())
        )

    def simulate(self, *args: Any, seed: int = 0, settings: Any = None, **kwargs: Any) -> Any:
        """Runs the kernel's PTX in the simulator and returns its outputs, as a call would; no GPU is needed.

        Args:
            args, kwargs: arguments of the call: NumPy arrays, torch tensors on the CPU, numbers.
            seed: of the adversarial scheduler; one seed gives one run.
            settings: ``tilemlir.simulator.Settings`` for everything else; its seed counts then.

        Raises:
            TileRuntimeError: naming every fault that was found: races, missing fences, deadlocks, accesses out of
                bounds, each with the line of the program and of the PTX.
            TileError: for arguments that do not fit the kernel.
        """
        from tilemlir.simulator import run

        return run.call(self, args, kwargs, settings or run.Settings(seed=seed))

    def variant(self, guards: tuple[int, ...]) -> CompiledKernel:
        """The kernel compiled without the assumptions that launch guards check.

        Args:
            guards: indices of the guards in the launch plan.
        """
        return self._variant(guards)  # type: ignore[return-value]

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The generated code: PTX for CUDA targets, LLVM IR for the CPU.

        Args:
            kernel_only: without it, the launch plan follows as comments.
        """
        source = self.asm["llvm" if self.target.is_cpu else "ptx"]
        if kernel_only:
            return source
        import json

        prefix = "; " if self.target.is_cpu else "// "
        plan = json.dumps(self._lowered.plan, indent=2).splitlines()
        return source + "\n" + "\n".join(prefix + line for line in ["launch plan", *plan]) + "\n"

    def get_host_source(self) -> str:
        """The launch plan as JSON: no host code is generated."""
        import json

        return json.dumps(self._lowered.plan, indent=2)

    def show_source(self) -> None:
        """Prints :meth:`get_kernel_source`."""
        print(self.get_kernel_source())

    def export_sources(self, path: str) -> None:
        """Writes :meth:`get_kernel_source` to a file."""
        Path(path).write_text(self.get_kernel_source())

    def write_stages(self, directory: str | Path) -> list[Path]:
        """Writes every stage, the launch plan and the report into a folder named after the kernel.

        Args:
            directory: where that folder is made.

        Returns:
            The files in order: ``0_tile.mlir`` and so on, ``plan.json``, ``explain.json``.
        """
        folder = Path(directory) / self.name
        folder.mkdir(parents=True, exist_ok=True)
        suffixes = {"llvm": "ll", "ptx": "ptx", "sass": "sass"}
        texts = {f"{n}_{stage}.{suffixes.get(stage, 'mlir')}": self.asm[stage] for n, stage in enumerate(self.asm)}
        texts["plan.json"] = self.get_host_source()
        texts["explain.json"] = self.explain().to_json()
        for name, text in texts.items():
            (folder / name).write_text(text)
        return [folder / name for name in texts]

    def explain(self, *, device: int | None = None, **sizes: int) -> Report:
        """How every operation was compiled and why; print it, show it with rich, or take ``.to_json()``.

        Args:
            device: number of the CUDA device whose peak rates the roofline is for; a common product of the target's
                architecture when omitted.
            sizes: values of dynamic sizes and scalar arguments by name, such as ``M=4096``.

        Raises:
            TileValueError: for a name that is no dynamic size or scalar of this kernel.
        """
        names = [one["name"] for one in self._lowered.plan["symbols"]]
        names += [one["name"] for one in self.params if one["kind"] == "scalar"]
        for name, value in sizes.items():
            if not isinstance(value, int):
                raise errors.make("bad-option", {"option": name, "found": repr(value), "expected": "a whole number"})
            if name not in names:
                raise errors.make(
                    "unknown-explain-size", {"name": name, "kernel": self.name, "sizes": ", ".join(names) or "none"}
                )
        machine = None
        if device is not None:
            machine = machines.machine_of_device(device)
        elif not self.target.is_cpu:
            machine = machines.reference_machine(self.target.capability)
        kernels = [one for one in self._lowered.report if "path" not in one]
        operations = [one for one in self._lowered.report if "path" in one]
        # In the order of the source; what macros of other files do comes last.
        files = {one.get("kernel"): one.get("file") for one in kernels}
        operations.sort(
            key=lambda one: (
                list(files).index(one.get("kernel")) if one.get("kernel") in files else len(files),
                one.get("file") != files.get(one.get("kernel")),
                one.get("line", 0),
                one.get("column", 0),
            )
        )
        return Report(
            self.name,
            str(self.target),
            operations=operations,
            kernels=kernels,
            resources=self._image.resources,
            notes=self._image.notes,
            arguments=self.params,
            sizes=sizes,
            machine=machine,
        )

    def get_profiler(self, tensor_supply_type: Any = None) -> Profiler:
        """A profiler that supplies inputs, times launches and checks results.

        Args:
            tensor_supply_type: ``tilemlir.profiler.TensorSupplyType``; its ``Auto`` when omitted.
        """
        from tilemlir.profiler import Profiler, TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)


class SimulatedKernel(CompiledKernel):
    """A kernel whose calls run in the simulator, with arguments in host memory; see `CompiledKernel.simulate`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Simulates a call with `args` and `kwargs`; the seed is the `simulate_seed` knob's."""
        from tilemlir.simulator import run

        return run.call(self, args, kwargs, run.current_settings())
