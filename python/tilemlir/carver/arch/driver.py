"""Limits of a CUDA device, under TileLang's names."""

from __future__ import annotations

from tilemlir.runtime import cuda

__all__ = [
    "get_device_name",
    "get_max_dynamic_shared_size_bytes",
    "get_num_sms",
    "get_registers_per_block",
    "get_shared_memory_per_block",
]


def get_device_name(device: int = 0) -> str:
    """Marketing name of a device.

    Raises:
        TileRuntimeError: without a CUDA driver.
    """
    return cuda.device_properties(device).name


def get_num_sms(device: int = 0) -> int:
    """Number of multiprocessors of a device: the natural grid size of a persistent kernel.

    Raises:
        TileRuntimeError: without a CUDA driver.
    """
    return cuda.device_properties(device).multiprocessor_count


def get_shared_memory_per_block(device: int = 0) -> int:
    """Bytes of shared memory that a block has without asking for more.

    Raises:
        TileRuntimeError: without a CUDA driver.
    """
    return cuda.device_properties(device).max_shared_bytes_per_block


def get_max_dynamic_shared_size_bytes(device: int = 0) -> int:
    """Most bytes of dynamic shared memory that a block may ask for.

    Raises:
        TileRuntimeError: without a CUDA driver.
    """
    return cuda.device_properties(device).max_shared_bytes_per_block_optin


def get_registers_per_block(device: int = 0) -> int:
    """Registers of 32 bits that a block may use.

    Raises:
        TileRuntimeError: without a CUDA driver.
    """
    return cuda.device_properties(device).max_registers_per_block
