"""What the multiprocessors of each architecture can hold and do: the facts behind occupancy and roofline.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Arithmetic Instructions"
(resources of a multiprocessor; results per clock), and NVIDIA's architecture white papers and data sheets named in
:class:`Machine` (multiprocessors, boost clock, tensor cores without sparsity, memory bandwidth).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

__all__ = ["Machine", "machine_of_device", "occupancy", "reference_machine", "warps_per_multiprocessor"]

# CUDA C++ Programming Guide, technical specifications per compute capability: registers and threads of a
# multiprocessor, blocks of a multiprocessor, shared memory of a multiprocessor in KiB. Registers are handed out in
# units of 256 per warp, shared memory with 1 KiB of overhead per block.
_MULTIPROCESSOR = {
    80: (65536, 2048, 32, 164),
    86: (65536, 1536, 16, 100),
    87: (65536, 1536, 16, 164),
    89: (65536, 1536, 24, 100),
    90: (65536, 2048, 32, 228),
    100: (65536, 2048, 32, 228),
    120: (65536, 1536, 24, 100),
}


def occupancy(capability: int, threads: int, registers: int, shared_bytes: int) -> tuple[int, str] | None:
    """Blocks that fit on one multiprocessor at the same time, and what limits them (all that allow no more).

    Args:
        capability: compute capability, such as 80.
        threads: per block.
        registers: per thread, as the assembler reports them.
        shared_bytes: dynamic shared memory per block.

    Returns:
        None for a capability whose limits are not known here.
    """
    known = [one for one in _MULTIPROCESSOR if one <= capability]
    if not known or threads <= 0:
        return None
    register_file, thread_limit, block_limit, shared_kib = _MULTIPROCESSOR[max(known)]
    warps = -(-threads // 32)
    limits = {"blocks": block_limit, "threads": thread_limit // (warps * 32)}
    if registers > 0:
        per_warp = -(-registers * 32 // 256) * 256
        limits["registers"] = register_file // (per_warp * warps)
    limits["shared memory"] = shared_kib * 1024 // (-(-shared_bytes // 128) * 128 + 1024)
    fewest = min(limits.values())
    return fewest, " and ".join(name for name, limit in limits.items() if limit == fewest)


def warps_per_multiprocessor(capability: int) -> int | None:
    """Warps that a multiprocessor of this compute `capability` holds; None when it is not known here."""
    known = [one for one in _MULTIPROCESSOR if one <= capability]
    return _MULTIPROCESSOR[max(known)][1] // 32 if known else None


@dataclasses.dataclass(frozen=True)
class Machine:
    """Peak rates of a GPU.

    Attributes:
        name: of the product.
        capability: compute capability, such as 90.
        multiprocessors: that are enabled.
        megahertz: boost clock that the rates of the data sheet are for.
        dram_gigabytes: bandwidth of the memory in GB/s.
        tensor_flops: operations per clock and multiprocessor of dense products by element type of the operands; a
            multiply-add is two.
        mma_sync_share: part of ``tensor_flops`` that ``mma.sync`` reaches.
        float_flops: f32 operations per clock and multiprocessor; a multiply-add is two.
        special_results: transcendental functions per clock and multiprocessor.
        shared_bytes: that shared memory reads or writes per clock and multiprocessor.
        source: where the numbers are from.
    """

    name: str
    capability: int
    multiprocessors: int
    megahertz: float
    dram_gigabytes: float
    tensor_flops: Mapping[str, int]
    float_flops: int
    source: str
    mma_sync_share: float = 1.0
    special_results: int = 16
    shared_bytes: int = 128

    def tensor_rate(self, operand: str, path: str) -> float | None:
        """Operations per clock and multiprocessor of a product, None where the tensor cores have no such type.

        Args:
            operand: element type of its operands as MLIR writes it: ``"f16"``, ``"f8E4M3FN"``, ``"i8"``, ...
            path: how it is done: ``"wgmma_ss"``, ``"mma_sync"``, ...; ``"fma"`` takes the f32 units.
        """
        if path not in ("mma_sync", "wgmma_ss", "wgmma_rs", "tcgen05"):
            return float(self.float_flops)
        kind = {"bf16": "f16", "f32": "tf32", "ui8": "i8"}.get(operand, "f8" if operand.startswith("f8") else operand)
        peak = self.tensor_flops.get(kind)
        if peak is None:
            return None
        return peak * (self.mma_sync_share if path == "mma_sync" else 1.0)


def _tensor(f16: int, f8: bool = True, f64: int = 0) -> dict[str, int]:
    """Rates relative to f16: half for tf32, double for 8 bits."""
    rates = {"f16": f16, "tf32": f16 // 2, "i8": 2 * f16}
    if f8:
        rates["f8"] = 2 * f16
    if f64:
        rates["f64"] = f64
    return rates


_MACHINES = (
    Machine(
        "A100 SXM 80 GB", 80, 108, 1410, 2039, _tensor(2048, f8=False, f64=128), 128,
        "NVIDIA A100 Tensor Core GPU Architecture white paper; A100 80 GB data sheet",
    ),
    Machine(
        "RTX A6000", 86, 84, 1800, 768, _tensor(1024, f8=False), 256,
        "NVIDIA Ampere GA102 GPU Architecture white paper",
    ),
    Machine("L40S", 89, 142, 2520, 864, _tensor(1024), 256, "NVIDIA Ada GPU Architecture white paper; L40S data sheet"),
    Machine(
        "H200 SXM", 90, 132, 1830, 4800, _tensor(4096, f64=256), 256,
        "NVIDIA H100 Tensor Core GPU Architecture white paper; H200 data sheet; mma.sync as measured by Luo et al., "
        "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (2024)",
        mma_sync_share=0.63,
    ),
    Machine(
        "B200", 100, 148, 1850, 8000, _tensor(8192, f64=128), 256,
        "NVIDIA Blackwell Architecture technical brief, for tcgen05; mma.sync reaches less",
    ),
    Machine(
        "RTX PRO 6000 Blackwell", 120, 188, 2617, 1792, _tensor(1024), 256,
        "NVIDIA RTX Blackwell PRO GPU Architecture white paper",
    ),
)  # fmt: skip


def reference_machine(capability: int) -> Machine | None:
    """The product that stands for a compute `capability` in estimates, or None when none is known here."""
    # Chips of one generation before Hopper differ in their tensor cores; later ones are told apart by generation.
    for one in _MACHINES:
        if one.capability == capability or (capability >= 90 and one.capability // 10 == capability // 10):
            return one
    return None


def machine_of_device(device: int) -> Machine | None:
    """The peak rates of CUDA device number `device`: its own clocks and counts with the rates of its architecture.

    Raises:
        TileRuntimeError: without a driver.
        TileValueError: when there is no such device.
    """
    from tilemlir.runtime import cuda

    properties = cuda.device_properties(device)
    major, minor = properties.compute_capability
    architecture = reference_machine(10 * major + minor)
    if architecture is None:
        return None
    bandwidth = properties.memory_bytes_per_second / 1e9
    return dataclasses.replace(
        architecture,
        name=properties.name,
        multiprocessors=properties.multiprocessor_count,
        megahertz=properties.clock_kilohertz / 1e3 or architecture.megahertz,
        dram_gigabytes=bandwidth or architecture.dram_gigabytes,
        source=f"the driver; rates per clock: {architecture.source}",
    )
