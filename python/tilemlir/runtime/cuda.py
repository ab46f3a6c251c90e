"""The CUDA driver and its devices, as far as the host can see them. Everything works without a GPU."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from tilemlir import _runtime
from tilemlir.compiler.knobs import knobs

__all__ = ["DeviceProperties", "device_count", "device_properties", "driver_problem", "driver_version"]


@dataclasses.dataclass(frozen=True)
class DeviceProperties:
    """Limits of a CUDA device, from the driver's attributes. Sizes are in bytes, clocks in kHz, the bus in bits."""

    name: str
    total_memory_bytes: int
    compute_capability: tuple[int, int]
    multiprocessor_count: int
    warp_size: int
    max_threads_per_block: int
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    max_registers_per_block: int
    max_registers_per_multiprocessor: int
    max_shared_bytes_per_block: int
    max_shared_bytes_per_block_optin: int
    max_shared_bytes_per_multiprocessor: int
    reserved_shared_bytes_per_block: int
    l2_bytes: int
    clock_kilohertz: int
    memory_clock_kilohertz: int
    memory_bus_bits: int
    cluster_launch: bool
    cooperative_launch: bool
    tensor_maps: bool

    @property
    def memory_bytes_per_second(self) -> float:
        """Peak memory bandwidth: two transfers per memory clock over the bus; 0 when the driver hides the clock."""
        return 2.0 * self.memory_clock_kilohertz * 1e3 * self.memory_bus_bits / 8


def _use_library() -> None:
    if knobs.libcuda is not None:
        _runtime.set_driver_library(str(knobs.libcuda))


def driver_problem() -> str | None:
    """None when the CUDA driver works, else the reason why it does not."""
    _use_library()
    return _runtime.driver_problem()


def driver_version() -> int:
    """The CUDA version that the driver supports, 13000 for 13.0.

    Raises:
        TileRuntimeError: without a driver.
    """
    _use_library()
    return _runtime.driver_version()


def device_count() -> int:
    """The number of CUDA devices; 0 without a driver."""
    return _runtime.device_count() if driver_problem() is None else 0


@lru_cache(maxsize=64)
def device_properties(device: int = 0) -> DeviceProperties:
    """Limits of a device.

    Raises:
        TileRuntimeError: without a driver.
        TileValueError: when there is no such device.
    """
    _use_library()
    return DeviceProperties(**_runtime.device_properties(device))
