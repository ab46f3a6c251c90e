"""A kernel that is ready to launch: its launch plan, its images, and what to do when a guard does not hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilemlir import _runtime, errors
from tilemlir.compiler.knobs import knobs
from tilemlir.interop import frameworks

__all__ = ["LoadedKernel", "PreparedLaunch", "host_symbols"]

PreparedLaunch = _runtime.PreparedLaunch

_runtime.configure(
    make_error=errors.make,
    describe=frameworks.describe,
    allocator=frameworks.allocator,
    current_stream=frameworks.current_stream,
    current_device=frameworks.current_device,
)
if knobs.libcuda is not None:
    _runtime.set_driver_library(str(knobs.libcuda))


def host_symbols() -> dict[str, int]:
    """Addresses of the C functions that compiled CPU kernels may call, by name, for the JIT's symbol table."""
    return dict(_runtime.host_symbols())


class LoadedKernel(_runtime.Launcher):
    """A launch plan with the images of its kernels.

    Calling it checks the arguments against the plan, allocates the outputs with the framework of the first tensor
    argument, and launches on that framework's current stream (CUDA) or over the process's thread pool (CPU). Arguments
    are the plan's arguments without its outputs, by position or name. A call returns None, one output, or a list.

    Args:
        plan: the launch plan, as the dict of its JSON form or as JSON text.
        images: per kernel name a cubin or PTX text (bytes), or on the CPU the entry's address.
        variants_callback: called with the indices of the guards that did not hold; returns a `LoadedKernel` compiled
            without those assumptions. Its result is kept per set of guards.
        keep_alive: any object that owns what `images` point to, such as the JIT engine.

    Attributes:
        launch_plan: the plan as a dict.

    Raises:
        TileRuntimeError: for a malformed plan, or a kernel without an image.
    """

    launch_plan: Mapping[str, Any]

    # `__init__` takes what `Launcher.__init__` takes, in a friendlier form; the call itself stays native.
    def __init__(
        self,
        plan: Mapping[str, Any] | str,
        images: Mapping[str, bytes | int],
        variants_callback: Callable[[tuple[int, ...]], LoadedKernel] | None = None,
        keep_alive: object = None,
    ) -> None:
        parsed = json.loads(plan) if isinstance(plan, str) else dict(plan)
        super().__init__(parsed, dict(images), variants_callback, keep_alive)
        self.launch_plan = parsed
        if parsed["target"] == "cpu":
            _runtime.set_thread_count(knobs.num_threads)

    @property
    def argument_names(self) -> Sequence[str]:
        """Names of the arguments that a call takes, in order."""
        outputs = set(self.launch_plan.get("outputs", ()))
        return [entry["name"] for i, entry in enumerate(self.launch_plan["arguments"]) if i not in outputs]

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the outputs, in the order a call returns them."""
        return [self.launch_plan["arguments"][index]["name"] for index in self.launch_plan.get("outputs", ())]
