"""Conformance cases: small PTX kernels whose results on hardware are recorded, and on which the simulator is checked.

A case is a kernel over arrays. Arrays are unsigned or signed integers that hold bit patterns, so that nothing between
the kernel and the comparison rounds. `launch_plan` makes the plan with which both sides run it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Names of the launch plan for array types.
DTYPES = {
    "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One kernel with its inputs.

    Attributes:
        name: unique.
        group: file of the recorded results.
        body: PTX of the kernel; see `module_text`.
        arrays: arguments, in the order of the pointers %p0, %p1, ...
        written: indices of arrays that the kernel writes; these are recorded.
        kinds: of the elements of the written arrays for the comparison, such as `f32`, or `bits`.
        model: how far the simulator may be away; see `models`.
        covers: mnemonics that this case is there for.
        threads, grid, cluster, shared: of the launch.
        maps: tensor maps, as in a launch plan; parameters m0, m1, ...
        registers: declarations of further registers and variables.
        directives: of the entry.
        keep: `all`, or `sample` to record a hash and some of the elements.
        checks: whether the simulator looks for races as well.
    """

    name: str
    group: str
    body: str
    arrays: tuple[np.ndarray, ...]
    written: tuple[int, ...]
    kinds: tuple[str, ...]
    covers: tuple[str, ...]
    model: str = "exact"
    threads: int = 128
    grid: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    maps: tuple[dict[str, Any], ...] = ()
    registers: str = ""
    directives: str = ""
    keep: str = "all"
    checks: bool = True
    note: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes when the kernel or its inputs do."""
        digest = hashlib.sha256(module_text(self).encode())
        digest.update(repr((self.threads, self.grid, self.cluster, self.shared, self.maps)).encode())
        for array in self.arrays:
            digest.update(array.tobytes())
        return digest.hexdigest()[:16]


def module_text(case: Case) -> str:
    """The PTX module of a case.

    Its body finds pointers in %p0, %p1, ..., the thread's number in %t, its number in the grid in %g, and scratch
    registers %q (predicates), %h (16 bits), %r (32) and %d (64). Shared memory is `arena`.
    """
    names = [f".param .u64 a{i}" for i in range(len(case.arrays))]
    names += [f".param .align 64 .b8 m{i}[128]" for i in range(len(case.maps))]
    loads = "\n".join(f"  ld.param.b64 %p{i}, [a{i}];" for i in range(len(case.arrays)))
    cluster = ""
    if case.cluster != (1, 1, 1):
        cluster = ".explicitcluster .reqnctapercluster " + ", ".join(map(str, case.cluster))
    return f""".version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 arena[];
.visible .entry kernel({", ".join(names)}) .reqntid {case.threads}, 1, 1 {cluster} {case.directives}
{{
  .reg .pred %q<40>; .reg .b16 %h<64>; .reg .b32 %r<320>; .reg .b64 %d<64>; .reg .b64 %p<12>; .reg .b32 %t, %g;
  {case.registers}
{loads}
  mov.u32 %t, %tid.x;
  mov.u32 %g, %ctaid.x;
  mad.lo.s32 %g, %g, {case.threads}, %t;
{case.body}
  ret;
}}
"""


def launch_plan(case: Case) -> dict[str, Any]:
    """The launch plan of a case."""
    parameters: list[dict[str, Any]] = [{"kind": "pointer", "argument": i} for i in range(len(case.arrays))]
    parameters += [{"kind": "tensor_map", "index": i} for i in range(len(case.maps))]
    arguments = []
    for i, array in enumerate(case.arrays):
        strides = [int(np.prod(array.shape[axis + 1 :])) for axis in range(array.ndim)]
        arguments.append(
            {
                "name": f"a{i}", "kind": "tensor", "dtype": DTYPES[str(array.dtype)], "shape": list(array.shape),
                "strides": strides, "strided": False, "alignment": 16,
                "access": "readwrite" if i in case.written else "read",
            }
        )  # fmt: skip
    return {
        "version": 1, "target": "sm_90a", "name": "kernel", "arguments": arguments, "symbols": [], "outputs": [],
        "workspaces": [], "guards": [], "tensor_maps": [dict(one) for one in case.maps],
        "launches": [
            {
                "kernel": "kernel", "grid": list(case.grid), "cluster": list(case.cluster), "threads": case.threads,
                "shared_bytes": case.shared, "cooperative": False, "parameters": parameters,
            }
        ],
    }  # fmt: skip


def all_cases() -> dict[str, Case]:
    """Every case by name."""
    import conformance_matrix
    import conformance_memory
    import conformance_registers
    import conformance_tensor
    import conformance_threads
    import conformance_warpgroup

    found: dict[str, Case] = {}
    modules = (
        conformance_registers,
        conformance_threads,
        conformance_memory,
        conformance_matrix,
        conformance_warpgroup,
        conformance_tensor,
    )
    for module in modules:
        for case in module.cases():
            assert case.name not in found, case.name
            found[case.name] = case
    return found
