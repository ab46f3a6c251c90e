"""The CUDA half of the launcher on a recording driver. Run by test_cuda_launcher.py in a process of its own, because a
process uses one driver library."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tilemlir import errors
from tilemlir.compiler import target
from tilemlir.interop import frameworks
from tilemlir.runtime import LoadedKernel, cuda

library = ctypes.CDLL(os.environ["TILEMLIR_LIBCUDA"])
library.fake_log.restype = ctypes.c_char_p


def log() -> list[str]:
    """Lines since the last call."""
    lines: list[str] = library.fake_log().decode().splitlines()
    library.fake_reset()
    return lines


class Tensor:
    """A "device" tensor: host memory that claims to be a GPU's."""

    def __init__(self, array: np.ndarray, device: int = 0) -> None:
        self.array = array
        self.device = type("Device", (), {"id": device})()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__array_interface__, "version": 3, "strides": self.array.strides}


def zeros(*shape: int, dtype: Any = np.float32, device: int = 0, offset: int = 0) -> Tensor:
    raw = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 512, np.uint8)
    start = -raw.ctypes.data % 256 + offset
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return Tensor(raw[start : start + size].view(dtype).reshape(shape), device)


@pytest.fixture(autouse=True)
def allocator(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Outputs and workspaces come from here; streams are 7."""
    allocated: list[Tensor] = []

    def allocator(prototype: object, dtype: str, device_type: int, device_id: int) -> Callable[..., Tensor]:
        assert device_type == 2

        def allocate(shape: tuple[int, ...]) -> Tensor:
            made = zeros(*shape, dtype={"f32": np.float32, "u8": np.uint8}[dtype], device=device_id)
            made.array.fill(3)
            allocated.append(made)
            return made

        return allocate

    from tilemlir import _runtime

    _runtime.configure(errors.make, frameworks.describe, allocator, lambda prototype, device: 7, lambda: 0)
    log()
    return allocated


def argument(name: str, shape: list[Any], access: str = "read", **fields: Any) -> dict[str, Any]:
    return {"name": name, "kind": "tensor", "dtype": "f32", "shape": shape, "access": access, **fields}


def plan(launches: list[dict[str, Any]], arguments: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {"version": 1, "target": "sm_90a", "name": "k", "arguments": arguments, "launches": launches, **fields}


def launch(kernel: str, *parameters: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kernel": kernel, "grid": [1], "threads": 128, "parameters": list(parameters), **fields}


POINTER = {"kind": "pointer", "argument": 0}


def test_device_and_target() -> None:
    assert cuda.driver_problem() is None and cuda.device_count() == 2 and cuda.driver_version() == 13000
    properties = cuda.device_properties(0)
    assert properties.name == "Fake H200" and properties.compute_capability == (9, 0)
    assert properties.multiprocessor_count == 132 and properties.cluster_launch and properties.l2_bytes == 0
    with pytest.raises(errors.TileValueError, match="there is no CUDA device 5: this machine has 2"):
        cuda.device_properties(5)
    assert target.parse("auto").arch == "sm_90a" and target.parse("cuda").arch == "sm_90a"


def test_a_launch_loads_lazily_and_passes_parameters() -> None:
    a = zeros(10, 4)
    kernel = LoadedKernel(
        plan(
            [
                launch(
                    "ppil",
                    POINTER,
                    {"kind": "expr", "dtype": "i32", "value": ["dim", 0, 0]},
                    {"kind": "expr", "dtype": "i64", "value": ["mul", ["sm_count"], -1]},
                    grid=[["dim", 0, 0], 2],
                    threads=[32, 4],
                )
            ],
            [argument("a", [["dim", 0, 0], 4])],
        ),
        {"ppil": b"cubin"},
    )
    assert log() == []
    kernel(a)
    lines = log()
    # The device, its context, then the image in relaxed capture mode; nothing synchronises.
    assert "load cubin" in lines and lines.count("capture mode 2") == 1 and lines.count("capture mode 0") == 1
    assert "synchronize" not in lines
    expected = [
        "launch ppil grid 10 2 1 block 32 4 1 shared 0 stream 7",
        f"  pointer {a.array.ctypes.data}",
        "  int 10",
        "  long -132",
    ]
    assert [line for line in lines if line.startswith(("launch", "  "))] == expected
    kernel(a)
    assert log() == ["push 0", *expected, "pop"]
    # A tensor on the other device loads there.
    kernel(zeros(3, 4, device=1))
    lines = log()
    assert (
        "load cubin" in lines and "push 1" in lines and "launch ppil grid 3 2 1 block 32 4 1 shared 0 stream 7" in lines
    )


def test_devices_must_agree() -> None:
    kernel = LoadedKernel(plan([launch("p")], [argument("a", [1]), argument("b", [1])]), {"p": b"x"})
    with pytest.raises(errors.TileValueError) as caught:
        kernel(zeros(1), zeros(1, device=1))
    assert str(caught.value) == (
        "argument 'b' of kernel 'k' is on cuda:1, but 'a' is on cuda:0. Move all tensors to one device."
    )
    with pytest.raises(errors.TileValueError, match=r"'a' of kernel 'k' is on cpu, .* needs cuda memory"):
        kernel(np.zeros(1, np.float32), zeros(1))
    assert not [line for line in log() if line.startswith("launch")]


def test_two_kernels_of_one_image_load_once() -> None:
    kernel = LoadedKernel(plan([launch("one"), launch("two")], [argument("a", [1])]), {"one": b"both", "two": b"both"})
    kernel(zeros(1))
    lines = log()
    assert lines.count("load both") == 1 and "function one" in lines and "function two" in lines
    assert sum(line.startswith("launch ") for line in lines) == 2
    del kernel
    assert "unload" in log()


def test_attributes_of_a_launch() -> None:
    kernel = LoadedKernel(
        plan(
            [
                launch("c", grid=[5, 3], cluster=[2, 1, 1], shared_bytes=200_000),
                launch("g", cooperative=True),
                launch("d", programmatic_serialization=True),
                launch("n", grid=[16], cluster=[16, 1, 1]),
            ],
            [argument("a", [1])],
        ),
        dict.fromkeys("cgdn", b"x"),
    )
    kernel(zeros(1))
    lines = log()
    assert "attribute c 8=200000" in lines and "attribute n 14=1" in lines
    launches = [line for line in lines if line.startswith(("launch", "cluster"))]
    # The grid is rounded up to whole clusters.
    assert launches == [
        "cluster 2 1 1",
        "launch c grid 6 3 1 block 128 1 1 shared 200000 stream 7",
        "launch attribute 2=1",
        "launch g grid 1 1 1 block 128 1 1 shared 0 stream 7",
        "launch attribute 6=1",
        "launch d grid 1 1 1 block 128 1 1 shared 0 stream 7",
        "cluster 16 1 1",
        "launch n grid 16 1 1 block 128 1 1 shared 0 stream 7",
    ]


def test_too_much_shared_memory_names_the_bytes() -> None:
    kernel = LoadedKernel(plan([launch("p", shared_bytes=232_000)], [argument("a", [1])]), {"p": b"x"})
    for _ in range(2):
        with pytest.raises(errors.TileValueError) as caught:
            kernel(zeros(1))
        # The kernel's 1024 static bytes count too.
        assert str(caught.value) == (
            "kernel 'p' needs 233024 bytes of shared memory, Fake H200 allows 232448 per block. "
            "Use smaller tiles or fewer pipeline stages."
        )


def test_driver_refusals() -> None:
    kernel = LoadedKernel(plan([launch("p")], [argument("a", [1])]), {"p": b"bad"})
    with pytest.raises(errors.TileRuntimeError) as caught:
        kernel(zeros(1))
    assert str(caught.value) == (
        "the driver refused a compiled kernel on Fake H200 (compute capability 9.0, CUDA 13000): "
        "CUDA_ERROR_NO_BINARY_FOR_GPU: an error\nptxas error: wrong architecture. "
        "Compile for this device's architecture."
    )
    kernel = LoadedKernel(plan([launch("p", shared_bytes=5)], [argument("a", [1])]), {"p": b"x"})
    library.fake_fail_launch(1)
    with pytest.raises(errors.TileRuntimeError) as caught:
        kernel(zeros(1))
    assert str(caught.value) == (
        "launching 'p' failed: CUDA_ERROR_INVALID_VALUE: invalid argument (grid (1, 1, 1), cluster (1, 1, 1), "
        "threads (128, 1, 1), 5 bytes of dynamic shared memory)"
    )
    kernel(zeros(1))
    kernel = LoadedKernel(plan([launch("p", grid=[265], cooperative=True)], [argument("a", [1])]), {"p": b"x"})
    library.fake_fail_launch(720)
    with pytest.raises(errors.TileValueError) as caught:
        kernel(zeros(1))
    assert str(caught.value) == (
        "kernel 'p' synchronises its whole grid of 265 blocks, but only 264 fit the device at once. "
        "Launch at most that many blocks."
    )


def test_tensor_maps_are_encoded_once_per_pointer_shape_and_strides() -> None:
    maps = [{"argument": 0, "dim_order": [1, 0], "box": [64, 32], "element_strides": [1, 1], "swizzle": 128}]
    kernel = LoadedKernel(
        plan(
            [launch("pm", {"kind": "tensor_map", "index": 0})],
            [argument("a", [["dim", 0, 0], ["dim", 0, 1]])],
            tensor_maps=maps,
        ),
        {"pm": b"x"},
    )
    a, b = zeros(10, 64), zeros(10, 64)
    encoded = "encode type 7 rank 2 dims 64 10 strides 256 box 64 32 swizzle 3 promotion 2 fill 0"

    def run(tensor: Tensor) -> tuple[list[str], str]:
        kernel(tensor)
        lines = log()
        return [line for line in lines if line.startswith("encode")], next(line for line in lines if "map" in line)

    first, map_a = run(a)
    assert first == [encoded] and map_a.endswith("aligned 1")
    second, map_b = run(b)
    assert second == [encoded] and map_b != map_a
    assert run(a) == ([], map_a) and run(b) == ([], map_b)
    # Same pointer, other shape.
    assert run(Tensor(a.array[:5]))[0] == [
        "encode type 7 rank 2 dims 64 5 strides 256 box 64 32 swizzle 3 promotion 2 fill 0"
    ]
    for rows in range(1, 9):
        run(Tensor(a.array[:rows]))
    assert run(a)[1].endswith("aligned 1")
    # Nothing to describe: a map of zeros that is never dereferenced.
    assert run(Tensor(a.array[:0])) == ([], "  map 0 aligned 1")


def test_a_tensor_map_of_a_view_and_its_refusal() -> None:
    maps = [
        {
            "argument": 0,
            "shape": [8, ["dim", 0, 0], ["ceildiv", ["dim", 0, 1], 8]],
            "strides": [1, ["dim", 0, 1], 8],
            "offset": ["mul", ["dim", 0, 1], 2],
            "dtype": "i32",
            "box": [8, 16, 2],
            "swizzle": 32,
            "l2_promotion": 256,
            "fill": "nan",
        }
    ]
    kernel = LoadedKernel(
        plan(
            [launch("pm", {"kind": "tensor_map", "index": 0})],
            [argument("a", [["dim", 0, 0], ["dim", 0, 1]])],
            tensor_maps=maps,
        ),
        {"pm": b"x"},
    )
    kernel(zeros(10, 64))
    assert "encode type 3 rank 3 dims 8 10 8 strides 256 32 box 8 16 2 swizzle 1 promotion 3 fill 1" in log()
    bad = zeros(10, 63)
    with pytest.raises(errors.TileValueError) as caught:
        kernel(bad)
    assert str(caught.value) == (
        "argument 'a' of kernel 'k' cannot be described to the tensor memory accelerator: CUDA_ERROR_INVALID_VALUE: "
        f"invalid argument (address {bad.array.ctypes.data + 2 * 63 * 4}, sizes (8, 10, 8), byte strides (252, 32), "
        "box (8, 16, 2), swizzle 32 bytes)"
    )


def _workspace_kernel(zeros: str = "zero") -> LoadedKernel:
    return LoadedKernel(
        plan(
            [launch("pp", {"kind": "workspace", "index": 0}, grid=[["dim", 0, 0]])],
            [argument("a", [["dim", 0, 0]]), argument("out", [["dim", 0, 0]], "write")],
            outputs=[1],
            workspaces=[{"bytes": ["mul", ["dim", 0, 0], 8], zeros: True}],
        ),
        {"pp": b"x"},
    )


def _workspace_pointer() -> int:
    lines = log()
    assert any(line.startswith("memset 0 bytes ") for line in lines)
    return int(next(line.split()[1] for line in lines if line.startswith("  pointer")))


def test_workspaces_are_kept_per_stream_and_outputs_are_fresh(allocator: list[Tensor]) -> None:
    kernel = _workspace_kernel()
    first, second = kernel(zeros(4)), kernel(zeros(4))
    assert first is not second and first.array.shape == (4,)
    assert [made.array.dtype for made in allocator] == [np.float32, np.uint8, np.float32]
    assert not allocator[1].array[allocator[1].array.ctypes.data % 256 : 32].all()
    kernel(zeros(4))
    pointer = _workspace_pointer()
    assert pointer % 256 == 0
    kernel(zeros(4))
    assert _workspace_pointer() == pointer
    allocator.clear()
    kernel(zeros(100))  # grows
    assert [made.array.dtype for made in allocator] == [np.float32, np.uint8]
    allocator.clear()
    kernel(zeros(0))
    assert [made.array.dtype for made in allocator] == [np.float32]


def test_kept_workspaces_are_zeroed_when_they_are_allocated(allocator: list[Tensor]) -> None:
    kernel = _workspace_kernel("kept")

    def memsets() -> list[str]:
        return [line for line in log() if line.startswith("memset")]

    kernel(zeros(4))
    first = memsets()
    assert len(first) == 1 and first[0].startswith("memset 0 bytes 32 ")
    kernel(zeros(4))
    kernel(zeros(2))
    assert memsets() == []
    kernel(zeros(100))  # grows
    assert [line.split()[3] for line in memsets()] == ["800"]
    prepared = kernel.prepare(zeros(100))
    prepared()
    assert memsets() == []
    library.fake_capture(1)
    try:
        kernel(zeros(4))
    finally:
        library.fake_capture(0)
    assert len(memsets()) == 1
    kernel(zeros(4))
    assert memsets() == []


def test_a_captured_launch_gets_its_own_workspace_for_the_life_of_the_graph(allocator: list[Tensor]) -> None:
    kernel = _workspace_kernel()
    kernel(zeros(4))
    eager = _workspace_pointer()
    allocator.clear()
    library.fake_capture(1)
    try:
        kernel(zeros(4))
    finally:
        library.fake_capture(0)
    captured = _workspace_pointer()
    assert captured != eager
    workspace = weakref.ref(allocator[1])
    allocator.clear()
    kernel(zeros(4))
    assert _workspace_pointer() == eager
    allocator.clear()
    assert workspace() is not None
    library.fake_destroy_graph()
    kernel(zeros(4))
    assert workspace() is None


def test_prepared_launch(allocator: list[Tensor]) -> None:
    a = zeros(4)
    kernel = LoadedKernel(
        plan([launch("pp", POINTER, grid=[["dim", 0, 0]])], [argument("a", [["dim", 0, 0]])]), {"pp": b"x"}
    )
    prepared = kernel.prepare(a)
    log()
    for _ in range(2):
        assert prepared() is None
        assert log() == [
            "push 0",
            "launch pp grid 4 1 1 block 128 1 1 shared 0 stream 7",
            f"  pointer {a.array.ctypes.data}",
            "pop",
        ]
    empty = kernel.prepare(zeros(0))
    log()
    empty()
    assert log() == []
    prepared = _workspace_kernel().prepare(a)
    log()
    assert prepared() is prepared.outputs
    assert _workspace_pointer() % 256 == 0


def test_empty_grid_skips_the_launch() -> None:
    kernel = LoadedKernel(
        plan(
            [launch("p", grid=[["dim", 0, 0]]), launch("always", grid=[1])],
            [argument("a", [["dim", 0, 0]])],
        ),
        {"p": b"x", "always": b"x"},
    )
    kernel(zeros(0))
    assert [line for line in log() if line.startswith("launch")] == [
        "launch always grid 1 1 1 block 128 1 1 shared 0 stream 7"
    ]


def test_what_the_driver_knows_about_a_kernel() -> None:
    kernel = LoadedKernel(plan([launch("p")], [argument("a", [1])]), {"p": b"x"})
    kernel.load(0)
    assert kernel.function_attributes(0) == {
        "p": {
            "registers": 90,
            "local_bytes": 16,
            "shared_bytes": 1024,
            "constant_bytes": 0,
            "max_threads_per_block": 1024,
            "ptx_version": 80,
            "binary_version": 90,
        }
    }
    assert kernel.active_blocks(0, 0) == 2
    with pytest.raises(IndexError):
        kernel.active_blocks(0, 1)


def test_misaligned_tensors_ask_for_a_variant() -> None:
    asked = []

    def variants(guards: tuple[int, ...]) -> LoadedKernel:
        asked.append(guards)
        return LoadedKernel(plan([launch("general")], [argument("a", [4])]), {"general": b"x"})

    kernel = LoadedKernel(
        plan([launch("fast")], [argument("a", [4])], guards=[{"kind": "aligned", "argument": 0, "bytes": 16}]),
        {"fast": b"x"},
        variants,
    )
    for tensor, name in ((zeros(4), "fast"), (zeros(4, offset=4), "general"), (zeros(4, offset=16), "fast")):
        kernel(tensor)
        assert any(line.startswith(f"launch {name} ") for line in log())
    assert asked == [(0,)]


def test_unaligned_dynamic_rows_ask_for_a_variant() -> None:
    """Rows of 4-byte elements: 16-byte accesses need a multiple of 4, which only the launch can tell."""
    asked = []
    arguments = [argument("a", [["symbol", 0], ["symbol", 1]]), argument("b", [["symbol", 0], 5])]
    symbols = [{"name": "m", "source": ["dim", 0, 0]}, {"name": "n", "source": ["dim", 0, 1]}]

    def variants(guards: tuple[int, ...]) -> LoadedKernel:
        asked.append(guards)
        return LoadedKernel(plan([launch("general")], arguments, symbols=symbols), {"general": b"x"})

    guards = [{"kind": "aligned", "argument": number, "bytes": 16} for number in (0, 1)]
    kernel = LoadedKernel(plan([launch("fast")], arguments, symbols=symbols, guards=guards), {"fast": b"x"}, variants)
    # The constant row length of b was the compiler's business.
    for columns, name in ((8, "fast"), (6, "general"), (4, "fast"), (1, "general")):
        kernel(zeros(3, columns), zeros(3, 5))
        assert any(line.startswith(f"launch {name} ") for line in log()), columns
    assert asked == [(0,)]
