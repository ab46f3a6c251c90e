"""What explain() says: exact text of a fixed kernel, the JSON form, sizes, the CPU."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tilemlir as tile
import tilemlir.language as T
from tilemlir.compiler import machines
from tilemlir.errors import TileValueError
from tilemlir.frontend.errors import FrontendWarning

LINE = Path(__file__).read_text().splitlines().index("def product(m, n, k):") + 1


def product(m, n, k):
    @T.prim_func
    def fixed(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, 256), T.ceildiv(m, 128), threads=256) as (bx, by):
            a_shared = T.alloc_shared((128, 64), "float16")
            b_shared = T.alloc_shared((64, 256), "float16")
            result = T.alloc_fragment((128, 256), "float32")
            T.clear(result)
            for step in T.Pipelined(T.ceildiv(k, 64), num_stages=3):
                T.copy(a[by * 128, step * 64], a_shared)
                T.copy(b[step * 64, bx * 256], b_shared)
                T.gemm(a_shared, b_shared, result)
            T.copy(result, c[by * 128, bx * 256])

    return fixed


def softmax(rows):
    length = T.dynamic("length")

    @T.prim_func
    def normalize(x: T.Tensor((length, 128), "float32"), y: T.Tensor((length, 128), "float32"), steps: T.int32):
        with T.Kernel(T.ceildiv(length, rows), threads=128) as block:
            tile = T.alloc_fragment((rows, 128), "float32")
            for _ in T.serial(steps):
                T.copy(x[block * rows, 0], tile)
                for i, j in T.Parallel(rows, 128):
                    tile[i, j] = T.exp2(tile[i, j])
                T.copy(tile, y[block * rows, 0])

    return normalize


# What the assembler decides is not ours to fix.
ASSEMBLED = re.compile(r"^  registers     \d+ per thread, no spills$", re.MULTILINE)

AMPERE = """\
fixed for sm_80
  launch        grid 16 x 32, blocks of 256 threads
  pipeline      line {step}: 3 stages x 48 KiB = 144 KiB in flight (a_shared, b_shared)
  registers     N per thread, no spills
  shared memory 144 KiB of 163 KiB
                b_shared: 3x64x256 f16, 96 KiB at 0
                a_shared: 3x128x64 f16, 48 KiB at 98304
  fragment      result: 128x256 f32, 128 elements per thread
  occupancy     1 block per multiprocessor (8 of 64 warps), limited by registers and shared memory
  work          137 GFLOP f16 by mma_sync
                DRAM 101 MB at least, L2 1.64 GB, shared memory 4.29 GB read, 1.61 GB written
                a: 537 MB read, 33.6 MB unique
                b: 1.07 GB read, 33.6 MB unique
                c: 33.6 MB written, 33.6 MB unique
  roofline      at least 441 us, 312 TFLOP/s, limited by tensor cores (A100 SXM 80 GB)
                tensor cores 441 us, shared memory 220 us, DRAM 49.4 us
                512 blocks in 4.74 waves of 108
operations
  test_report.py:{step}: pipelined: cp_async (ahead 2, slots 3)
      loads of a_shared, b_shared run 2 iterations ahead in 3 slots
  test_report.py:{a}: copy a -> a_shared: cp_async (bytes 16)
      cp.async of 16 bytes on sm_80
  test_report.py:{b}: copy b -> b_shared: cp_async (bytes 16)
      cp.async of 16 bytes on sm_80
  test_report.py:{gemm}: gemm a_shared, b_shared -> result: mma_sync (instruction [16, 8, 16], warps [2, 4, 1])
      mma.sync.m16n8k16 f16 x f16 -> f32 on sm_80
  test_report.py:{store}: copy result -> c: simt (bytes 4)
      per-thread accesses of 4 bytes: threads hold 2 consecutive elements of result"""

HOPPER = """\
fixed for sm_90a
  launch        grid 16 x 32, blocks of 384 threads (256 of the program, 128 of the producer)
  role          producer: warps 0-3, 24 registers, one elected thread: copy a -> a_shared (tma); copy b -> b_shared (tma)
                consumer: warps 4-11, 240 registers: gemm a_shared, b_shared -> result (wgmma_ss); copy result -> result.staging (stmatrix); copy result.staging -> c (tma)
  pipeline      line {step}: 3 stages x 48 KiB = 144 KiB in flight (a_shared, b_shared)
  channel       full_a_shared_b_shared: 3 barriers of 1 arrival and 48 KiB, producer -> consumer
                empty_a_shared_b_shared: 3 barriers of 8 arrivals, consumer -> producer
  registers     N per thread, no spills
  shared memory 147,512 bytes of 227 KiB
                result.staging: 128x256 f16, 64 KiB at 0
                b_shared: 3x64x256 f16, 96 KiB at 0
                a_shared: 3x128x64 f16, 48 KiB at 98304
                full_a_shared_b_shared: 3 barriers, 24 bytes at 147456
                empty_a_shared_b_shared: 3 barriers, 24 bytes at 147488
  fragment      result: 128x256 f32, 128 elements per thread
  occupancy     1 block per multiprocessor (12 of 64 warps), limited by registers and shared memory
  work          137 GFLOP f16 by wgmma_ss
                DRAM 101 MB at least, L2 1.64 GB, shared memory 2.72 GB read, 1.64 GB written
                a: 537 MB read, 33.6 MB unique
                b: 1.07 GB read, 33.6 MB unique
                c: 33.6 MB written, 33.6 MB unique
  roofline      at least 139 us, 989 TFLOP/s, limited by tensor cores (H200 SXM)
                tensor cores 139 us, shared memory 87.9 us, DRAM 21 us
                512 blocks in 3.88 waves of 132
operations
  test_report.py:{step}: pipelined: tma (slots 3)
      a producer role loads a_shared, b_shared into a ring of 3 slots
  test_report.py:{a}: copy a -> a_shared: tma (box [64, 128])
      TMA load of 1 box of 128x64 elements, 128-byte swizzle
  test_report.py:{b}: copy b -> b_shared: tma (box [64, 64, 4])
      TMA load of 1 box of 4x64x64 elements, 128-byte swizzle
  test_report.py:{gemm}: gemm a_shared, b_shared -> result: wgmma_ss (instruction [64, 256, 16], warpgroups [2, 1])
      wgmma.m64n256k16 f16 x f16 -> f32 on sm_90a, A from shared memory
  test_report.py:{store}: copy result -> result.staging: stmatrix (bytes 16)
      the fragment is made of 8x8 matrices of 16-bit elements
  test_report.py:{store}: copy result.staging -> c: tma (box [64, 16])
      TMA store of 4 boxes of 16x64 elements, 128-byte swizzle; each warp stores what it has written"""  # noqa: E501


@pytest.mark.parametrize(("target", "expected"), [("sm_80", AMPERE), ("sm_90a", HOPPER)])
def test_text_of_a_product(target, expected):
    report = tile.compile(product(4096, 4096, 4096), target=target).explain()
    places = {name: LINE + line for name, line in [("step", 8), ("a", 9), ("b", 10), ("gemm", 11), ("store", 12)]}
    assert ASSEMBLED.sub("  registers     N per thread, no spills", str(report)) == expected.format(**places)


def test_work_of_a_product_is_exact():
    m, n, k = 1000, 777, 555
    data = tile.compile(product(m, n, k), target="sm_80").explain().to_dict()["kernels"][0]["work"]
    blocks, steps = 4 * 8, 9
    assert data["exact"]
    assert data["blocks"] == blocks
    assert data["flops"] == 2 * 128 * 256 * 64 * blocks * steps
    moved = {one["name"]: (one["read_bytes"], one["written_bytes"], one["unique_bytes"]) for one in data["tensors"]}
    assert moved == {
        "a": (128 * 64 * 2 * blocks * steps, 0, m * k * 2),
        "b": (256 * 64 * 2 * blocks * steps, 0, k * n * 2),
        "c": (0, 128 * 256 * 2 * blocks, m * n * 2),
    }


def test_dynamic_sizes_are_formulas_until_they_are_given():
    kernel = tile.compile(softmax(8), target="sm_80")
    text = str(kernel.explain())
    assert "  launch        grid ceildiv(length, 8), blocks of 128 threads" in text
    assert "  work          special functions = 1024 * ceildiv(length, 8) * steps" in text
    assert "                bytes of x = 4096 * ceildiv(length, 8) * steps" in text
    assert "  roofline      depends on length: explain(length=...) evaluates it" in text
    assert "depends on steps: explain(steps=...) evaluates it" in str(kernel.explain(length=800))
    data = kernel.explain(length=801, steps=3).to_dict()["kernels"][0]
    assert data["work"]["special"] == 1024 * 101 * 3
    assert data["work"]["tensors"][0]["read_bytes"] == 4096 * 101 * 3
    # The same rows in every step.
    assert data["work"]["tensors"][0]["unique_bytes"] == 801 * 128 * 4
    assert data["roofline"]["limiter"] == "DRAM"
    assert data["roofline"]["machine"] == "A100 SXM 80 GB"
    with pytest.raises(TileValueError) as caught:
        kernel.explain(n=3)
    assert "has no dynamic size or scalar argument 'n': it has length, steps" in str(caught.value)
    with pytest.raises(TileValueError, match=r"steps.*expected a whole number"):
        kernel.explain(steps=2.5)


def test_rates_of_a_device(monkeypatch):
    from tilemlir.runtime import cuda

    class Properties:
        name = "Some GPU"
        compute_capability = (9, 0)
        multiprocessor_count = 66
        clock_kilohertz = 1_000_000
        memory_bytes_per_second = 1e12

    monkeypatch.setattr(cuda, "device_properties", lambda device: Properties())
    roofline = tile.compile(product(4096, 4096, 4096), target="sm_90a").explain(device=3).to_dict()["kernels"][0]["roofline"]  # noqa: E501  # fmt: skip
    assert roofline["machine"] == "Some GPU"
    assert roofline["bound_microseconds"] == pytest.approx(2 * 4096**3 / (4096 * 66 * 1000))
    assert roofline["microseconds"]["DRAM"] == pytest.approx(3 * 4096**2 * 2 / 1e6)
    assert machines.machine_of_device(0).megahertz == 1000


def test_cpu_says_what_is_not_reported():
    report = tile.compile(product(256, 256, 128), target="cpu").explain()
    assert str(report).splitlines() == [
        "fixed for cpu",
        "  launch        grid 1 x 2, blocks of 256 threads",
        "operations",
        f"  test_report.py:{LINE + 3}: kernel: simt",
        "      nothing depends on the thread id: a block is one sequence of vectorised loops",
        f"  test_report.py:{LINE + 11}: gemm a_shared, b_shared -> result: fma",
        "      operands are packed once per tile for a register-blocked loop of multiply-adds",
        "compiled for the CPU: blocks are spread over the threads of this machine. Shared memory and fragments are "
        "arrays; registers, occupancy and a roofline bound are reported for GPUs only",
    ]
    kernel = report.to_dict()["kernels"][0]
    assert kernel["work"] is None and kernel["roofline"] is None


def test_spills_are_warned_of_and_reported():
    """Also when the user's own limit is the cause."""
    with pytest.warns(FrontendWarning, match=r"kernel fixed moves \d+ bytes per thread .* the 64 registers"):
        kernel = tile.compile(product(1024, 1024, 512), target="sm_80", pass_configs={"max_registers": 64})
    assert re.search(r"  registers     64 per thread, SPILLS \d+ bytes to local memory", str(kernel.explain()))


def test_rich_tables_hold_every_fact():
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=400, record=True, file=open("/dev/null", "w"))
    report = tile.compile(product(4096, 4096, 4096), target="sm_90a").explain()
    console.print(report)
    printed = console.export_text()
    for kernel in report.kernels:
        for _, text in report.facts(kernel):
            assert text in printed
    for one in report.operations:
        assert one["reason"] in printed


# ----------------------------------------------------------------------------------------------------------------------
# JSON
# ----------------------------------------------------------------------------------------------------------------------

NUMBER = (int, float)


class Optional:
    """A key that may be missing, or a value that may be null."""

    def __init__(self, form):
        self.form = form


POSITION = {"location": Optional(str), "file": Optional(str), "line": Optional(int), "column": Optional(int)}
BUFFER = {"name": str, "shape": [int], "dtype": str}
SCHEMA = {
    "kernel": str,
    "target": str,
    "notes": [str],
    "operations": [
        {
            "kernel": str,
            "op": str,
            "path": str,
            "reason": str,
            "operands": [str],
            "arguments": Optional(dict),
            "buffers": Optional([str]),
            "bytes_in_flight": Optional(int),
            **POSITION,
        }
    ],
    "kernels": [
        {
            "kernel": str,
            "target": Optional(str),
            "threads": int,
            "program_threads": Optional(int),
            "grid": list,
            "cluster": Optional([int]),
            "shared_bytes": int,
            "shared_limit": Optional(int),
            "buffers": Optional([{**BUFFER, "bytes": int, "offset": Optional(int), "slots": Optional(int)}]),
            "fragments": Optional([{**BUFFER, "elements_per_thread": Optional(int)}]),
            "roles": Optional(
                [
                    {
                        "role": str,
                        "first_warp": int,
                        "warps": int,
                        "threads": int,
                        "registers": Optional(int),
                        "single_thread": bool,
                        "operations": [{"op": str, "path": str, "operands": [str], "line": Optional(int)}],
                    }
                ]
            ),
            "channels": Optional(
                [{"name": str, "barriers": int, "arrivals": [int], "bytes": int, "arrive": [str], "wait": [str]}]
            ),
            "registers": Optional(int),
            "spill_bytes": Optional(int),
            "stack_bytes": Optional(int),
            "notes": Optional([str]),
            "blocks_per_multiprocessor": Optional(int),
            "limited_by": Optional(str),
            "work": Optional(
                {
                    "formulas": dict,
                    "unknown": Optional(str),
                    "exact": Optional(bool),
                    "blocks": Optional(int),
                    "flops": Optional(NUMBER),
                    "products": Optional([{"path": str, "type": str, "flops": NUMBER}]),
                    "arithmetic": Optional(NUMBER),
                    "special": Optional(NUMBER),
                    "shared_read_bytes": Optional(NUMBER),
                    "shared_written_bytes": Optional(NUMBER),
                    "dram_bytes": Optional(NUMBER),
                    "tensors": Optional(
                        [{"name": str, "read_bytes": NUMBER, "written_bytes": NUMBER, "unique_bytes": NUMBER}]
                    ),
                }
            ),
            "roofline": Optional(
                {
                    "machine": str,
                    "source": str,
                    "multiprocessors": int,
                    "megahertz": NUMBER,
                    "dram_gigabytes_per_second": NUMBER,
                    "microseconds": dict,
                    "bound_microseconds": NUMBER,
                    "limiter": str,
                    "teraflops": NUMBER,
                }
            ),
            **POSITION,
        }
    ],
}


def conform(value, form, place="report"):
    """Fails with the place in the document when `value` has another form."""
    if isinstance(form, Optional):
        if value is not None:
            conform(value, form.form, place)
    elif isinstance(form, dict):
        assert isinstance(value, dict), place
        assert set(value) <= set(form), (place, set(value) - set(form))
        for key, part in form.items():
            assert key in value or isinstance(part, Optional), f"{place}.{key} is missing"
            conform(value.get(key), part, f"{place}.{key}")
    elif isinstance(form, list):
        assert isinstance(value, list), place
        for index, part in enumerate(value):
            conform(part, form[0], f"{place}[{index}]")
    else:
        assert isinstance(value, form), (place, value)
        assert form is not int or not isinstance(value, bool), (place, value)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "cpu"])
@pytest.mark.parametrize("program", [lambda: product(512, 512, 256), lambda: softmax(8)])
def test_json_has_the_documented_form(target, program):
    report = tile.compile(program(), target=target).explain()
    data = json.loads(report.to_json())
    conform(data, SCHEMA)
    assert report.to_json(indent=None).count("\n") == 0
    documented = (Path(__file__).parents[3] / "docs" / "explain.md").read_text()
    for kernel in data["kernels"]:
        for key in [*kernel, *(kernel["work"] or {}), *(kernel["roofline"] or {})]:
            assert re.search(rf"`(kernels\[\]\.)?{key}(\[\])?`", documented), key
    assert not any("async" in one["op"] for one in data["operations"])


def test_schema_refuses_other_forms():
    data = tile.compile(softmax(8), target="sm_80").explain().to_dict()
    for broken in ({**data, "extra": 1}, {k: v for k, v in data.items() if k != "notes"}, {**data, "kernel": 3}):
        with pytest.raises(AssertionError):
            conform(broken, SCHEMA)
