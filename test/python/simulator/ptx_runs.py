"""Hand-written PTX in the simulator: one block, arrays in, arrays out."""

import numpy as np
from tilemlir.simulator.run import Settings, simulate_plan

NAMES = {"float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "uint32": "u32", "int64": "i64",
         "uint64": "u64", "uint16": "u16", "int16": "i16", "uint8": "u8", "int8": "i8"}  # fmt: skip


def kernel_text(body, count, shared=0, threads=32, registers="", directives=""):
    """A module whose parameters p0, p1, ... are pointers; %d0, %d1, ... hold them, %t the thread's number."""
    parameters = ", ".join(f".param .u64 p{i}" for i in range(count))
    loads = "\n".join(f"ld.param.u64 %d{i}, [p{i}];" for i in range(count))
    return f"""
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 arena[];
.visible .entry kernel({parameters}) .reqntid {threads}, 1, 1 {directives}
{{
.reg .pred %p<16>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .b32 %t; .reg .b64 %o<8>;
{registers}
{loads}
mov.u32 %t, %tid.x;
{body}
ret;
}}
"""


def run(body, arrays, shared=0, threads=32, grid=(1, 1, 1), seed=0, cluster=(1, 1, 1), registers="", written=(-1,),
        directives=""):  # fmt: skip
    """Runs a body over copies of arrays; the copies as it left them, and the report.

    Args:
        body: PTX; see `kernel_text`.
        arrays: NumPy arrays, in the order of the parameters.
        shared, threads, grid, cluster: of the launch.
        seed: of the scheduler.
        registers: declarations.
        written: indices of the arrays that the kernel may write.
        directives: of the kernel.
    """
    copies = [array.copy() for array in arrays]
    written = [index % len(arrays) for index in written]
    plan = {
        "version": 1,
        "target": "sm_90a",
        "name": "kernel",
        "arguments": [
            {
                "name": f"p{i}", "kind": "tensor", "dtype": NAMES[str(array.dtype)], "shape": list(array.shape),
                "strides": [1], "access": "readwrite" if i in written else "read",
            }
            for i, array in enumerate(arrays)
        ],
        "symbols": [], "outputs": [], "workspaces": [], "tensor_maps": [], "guards": [],
        "launches": [
            {
                "kernel": "kernel", "grid": list(grid), "cluster": list(cluster), "threads": threads,
                "shared_bytes": shared, "parameters": [{"kind": "pointer", "argument": i} for i in range(len(arrays))],
            }
        ],
    }  # fmt: skip
    text = kernel_text(body, len(arrays), shared, threads, registers, directives)
    settings = Settings(seed=seed, patience=20_000)
    return copies, simulate_plan("kernel", plan, text, copies, {}, settings).report


def elementwise(instruction, result, *operands):
    """The results of an instruction for each of 32 lanes.

    Args:
        instruction: with `{d}` for its destination and `{0}`, `{1}`, ... for its sources.
        result: dtype of the destination.
        operands: arrays of 32 values.
    """
    prefix = {1: "%h", 2: "%h", 4: "%r", 8: "%d"}
    lines = []
    names = []
    for i, array in enumerate(operands):
        size = array.dtype.itemsize
        name = f"{prefix[size]}{20 + i}"
        names.append(name)
        kind = {1: "u8", 2: "b16", 4: "b32", 8: "b64"}[size]
        lines += [f"mad.wide.u32 %o{i}, %t, {size}, %d{i};", f"ld.global.{kind} {name}, [%o{i}];"]
    size = np.dtype(result).itemsize
    into = f"{prefix[size]}40"
    lines += [instruction.format(*names, d=into), f"mad.wide.u32 %o7, %t, {size}, %d{len(operands)};"]
    lines += [f"st.global.b{8 * size} [%o7], {into};"]
    copies, report = run("\n".join(lines), [*operands, np.zeros(32, result)])
    assert report.ok, str(report)
    return copies[-1]
