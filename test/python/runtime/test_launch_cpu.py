"""Launching on the CPU: results, outputs, grids, threads, workspaces, variants, prepared launches."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from runtime_support import CLibrary, tensor, vector_add_plan
from tilemlir import _runtime, errors
from tilemlir.runtime import LoadedKernel

torch = pytest.importorskip("torch")


@pytest.fixture
def vector_add(c_kernels: CLibrary) -> LoadedKernel:
    return LoadedKernel(vector_add_plan(), {"vector_add": c_kernels["vector_add"]})


@pytest.fixture
def vector_add_in_place(c_kernels: CLibrary) -> LoadedKernel:
    return LoadedKernel(vector_add_plan(outputs=[]), {"vector_add": c_kernels["vector_add"]})


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 100_003])
def test_numpy_arguments_and_output(vector_add: LoadedKernel, n: int) -> None:
    generator = np.random.default_rng()
    a, b = generator.standard_normal((2, n), dtype=np.float32)
    c = vector_add(a, b)
    assert isinstance(c, np.ndarray) and c.dtype == np.float32 and c.shape == (n,)
    np.testing.assert_array_equal(c, a + b)
    assert n == 0 or c.ctypes.data % 64 == 0


@pytest.mark.parametrize("n", [0, 1, 64, 777])
def test_torch_arguments_and_output(vector_add: LoadedKernel, n: int) -> None:
    a, b = torch.randn(2, n).unbind()
    c = vector_add(a, b)
    assert isinstance(c, torch.Tensor) and c.dtype == torch.float32 and c.device.type == "cpu"
    assert torch.equal(c, a + b)


def test_in_place_output_with_guard_elements(vector_add_in_place: LoadedKernel) -> None:
    storage = torch.full((1000 + 128,), float("nan"))
    c = storage[64:-64]
    a, b = torch.randn(1000), torch.randn(1000)
    assert vector_add_in_place(a, b, c) is None
    assert torch.equal(c, a + b)
    assert torch.isnan(storage[:64]).all() and torch.isnan(storage[-64:]).all()


def test_parameters_that_require_gradients_and_subclasses(vector_add: LoadedKernel) -> None:
    a = torch.nn.Parameter(torch.randn(100))
    b = torch.randn(100)
    assert torch.equal(vector_add(a, b), (a + b).detach())


def test_keyword_arguments(vector_add: LoadedKernel) -> None:
    a, b = np.ones(5, np.float32), np.full(5, 2, np.float32)
    np.testing.assert_array_equal(vector_add(a, B=b), a + b)
    np.testing.assert_array_equal(vector_add(B=b, A=a), a + b)


def test_names_and_plan(vector_add: LoadedKernel) -> None:
    assert vector_add.argument_names == ["A", "B"]
    assert vector_add.output_names == ["C"]


def test_every_block_runs_once_with_x_fastest(c_kernels: CLibrary) -> None:
    grid = (5, 7, 3)
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [tensor("out", [105, 4], "i32", access="readwrite")],
        "outputs": [],
        "launches": [
            {
                "kernel": "record_blocks",
                "grid": list(grid),
                "threads": [32, 1, 1],
                "parameters": [{"kind": "pointer", "argument": 0}],
            }
        ],
    }
    kernel = LoadedKernel(plan, {"record_blocks": c_kernels["record_blocks"]})
    for threads in (1, 2, 5, 200):
        _runtime.set_thread_count(threads)
        try:
            out = np.zeros((105, 4), np.int32)
            kernel(out)
        finally:
            _runtime.set_thread_count(0)
        expected = [(1, x, y, z) for z in range(3) for y in range(7) for x in range(5)]
        np.testing.assert_array_equal(out, np.array(expected))


def _scalar_kernel(c_kernels: CLibrary) -> LoadedKernel:
    dtypes = ["i8", "u16", "i32", "u64", "f16", "bf16", "f32", "f64", "bool", "f8e4m3fn"]
    plan = {
        "version": 1,
        "target": "cpu",
        "name": "record_scalars",
        "arguments": [tensor("out", [10], "u64", access="write")]
        + [{"name": f"s_{dtype}", "kind": "scalar", "dtype": dtype} for dtype in dtypes],
        "outputs": [0],
        "launches": [
            {
                "kernel": "record_scalars",
                "grid": [1],
                "threads": 1,
                "parameters": [{"kind": "pointer", "argument": 0}]
                + [{"kind": "scalar", "argument": 1 + i} for i in range(len(dtypes))],
            }
        ],
    }
    return LoadedKernel(plan, {"record_scalars": c_kernels["record_scalars"]})


def test_scalar_arguments_arrive_bit_exact(c_kernels: CLibrary) -> None:
    kernel = _scalar_kernel(c_kernels)
    out = kernel(-3, 65535, -(2**31), 2**64 - 1, 1.5, 3.140625, -0.1, 1e300, True, 448.0)
    expected = [
        0xFD,
        0xFFFF,
        0x80000000,
        2**64 - 1,
        0x3E00,
        0x4049,
        int(np.float32(-0.1).view(np.uint32)),
        int(np.float64(1e300).view(np.uint64)),
        1,
        0x7E,
    ]
    # No tensor argument decides the framework: torch is loaded, so the output is torch's.
    assert isinstance(out, torch.Tensor) and out.numpy().tolist() == expected
    out = kernel(
        np.int8(4), np.uint16(5), np.int64(6), 7, np.float16(1), 2, np.float32(3), np.float64(4), np.bool_(0), 0
    )
    assert out.numpy().tolist()[:6] == [4, 5, 6, 7, 0x3C00, 0x4000] and out.numpy()[8] == 0


def test_expressions(c_kernels: CLibrary) -> None:
    m, n, s = ["symbol", 0], ["dim", 0, 1], ["scalar", 1]
    expressions = [
        (["add", m, n], lambda m, n, s: m + n),
        (["sub", m, ["mul", n, 3]], lambda m, n, s: m - 3 * n),
        (["floordiv", s, 4], lambda m, n, s: s // 4),
        (["ceildiv", s, 4], lambda m, n, s: -(-s // 4)),
        (["mod", s, 4], lambda m, n, s: s % 4),
        (["mod", s, -4], lambda m, n, s: s % -4),
        (["floordiv", s, -4], lambda m, n, s: s // -4),
        (["ceildiv", s, -4], lambda m, n, s: -(-s // -4)),
        (["min", m, ["max", n, s]], lambda m, n, s: min(m, max(n, s))),
        (["stride", 0, 0], lambda m, n, s: n),
        (["sm_count"], lambda m, n, s: _runtime.thread_count()),
        (["add", ["mul", 3, 4], ["min", 2, 1]], lambda m, n, s: 13),
    ]
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [
            tensor("a", [m, n]),
            {"name": "s", "kind": "scalar", "dtype": "i32"},
            tensor("out", [len(expressions)], "i64", access="write"),
        ],
        "symbols": [{"name": "M", "source": ["dim", 0, 0]}],
        "outputs": [2],
        "launches": [
            {
                "kernel": "record_expressions",
                "grid": [1, 1, 1],
                "threads": 1,
                "parameters": [
                    {"kind": "pointer", "argument": 2},
                    {"kind": "expr", "dtype": "i64", "value": len(expressions)},
                    *({"kind": "expr", "dtype": "i64", "value": tree} for tree, _ in expressions),
                ],
            }
        ],
    }
    kernel = LoadedKernel(plan, {"record_expressions": c_kernels["record_expressions"]})
    generator = np.random.default_rng()
    for _ in range(30):
        rows, columns = (int(value) for value in generator.integers(1, 50, 2))
        scalar = int(generator.integers(-100, 100))
        out = kernel(np.zeros((rows, columns), np.float32), scalar)
        assert out.tolist() == [compute(rows, columns, scalar) for _, compute in expressions]


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_strided_tensors(c_kernels: CLibrary, framework: str) -> None:
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [
            tensor(
                "src",
                [["dim", 0, 0], ["dim", 0, 1]],
                "i32",
                strided=True,
                strides=[["stride", 0, 0], ["stride", 0, 1]],
            ),
            tensor("dst", [["dim", 0, 0], ["dim", 0, 1]], "i32", access="write"),
        ],
        "outputs": [1],
        "launches": [
            {
                "kernel": "strided_copy",
                "grid": [["min", 1, ["dim", 0, 0]]],
                "threads": 32,
                "parameters": [
                    {"kind": "pointer", "argument": 0},
                    {"kind": "pointer", "argument": 1},
                    {"kind": "expr", "dtype": "i64", "value": ["dim", 0, 0]},
                    {"kind": "expr", "dtype": "i64", "value": ["dim", 0, 1]},
                    {"kind": "expr", "dtype": "i64", "value": ["stride", 0, 0]},
                    {"kind": "expr", "dtype": "i64", "value": ["stride", 0, 1]},
                ],
            }
        ],
    }
    kernel = LoadedKernel(plan, {"strided_copy": c_kernels["strided_copy"]})
    base: Any = np.arange(7 * 12, dtype=np.int32).reshape(7, 12)
    if framework == "torch":
        base = torch.from_numpy(base)
    views = [base, base.T, base[::2, 1:9:3], base[3:4], base[:, 5:6], base[2:2]]
    if framework == "numpy":
        views += [base[::-1, ::-2], np.broadcast_to(base[0], (4, 12))]
    else:
        views += [base[0].expand(4, 12)]
    for view in views:
        assert (np.asarray(kernel(view)) == np.asarray(view)).all()


def _sum_kernel(c_kernels: CLibrary) -> LoadedKernel:
    n, blocks = ["symbol", 0], ["ceildiv", ["symbol", 0], 64]
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [tensor("a", [n]), tensor("out", [1], access="write")],
        "symbols": [{"name": "n", "source": ["dim", 0, 0]}],
        "outputs": [1],
        "workspaces": [{"bytes": ["mul", blocks, 4], "zero": True}],
        "launches": [
            {
                "kernel": "partial_sums",
                "grid": [blocks],
                "threads": 64,
                "parameters": [
                    {"kind": "pointer", "argument": 0},
                    {"kind": "workspace", "index": 0},
                    {"kind": "expr", "dtype": "i32", "value": n},
                ],
            },
            {
                "kernel": "total_sum",
                "grid": [1],
                "threads": 1,
                "parameters": [
                    {"kind": "workspace", "index": 0},
                    {"kind": "pointer", "argument": 1},
                    {"kind": "expr", "dtype": "i32", "value": blocks},
                ],
            },
        ],
    }
    return LoadedKernel(plan, {name: c_kernels[name] for name in ("partial_sums", "total_sum")})


def test_workspace_is_zeroed_reused_and_grown(c_kernels: CLibrary) -> None:
    kernel = _sum_kernel(c_kernels)
    for n in (100, 1000, 10, 5000, 1, 0, 5000):
        a = np.random.default_rng().integers(-4, 5, n).astype(np.float32)
        assert kernel(a)[0] == a.sum()


def test_concurrent_calls_do_not_share_a_workspace(c_kernels: CLibrary) -> None:
    kernel = _sum_kernel(c_kernels)
    failures: list[str] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(200):
            a = generator.integers(-4, 5, int(generator.integers(1, 3000))).astype(np.float32)
            found = kernel(a)[0]
            if found != a.sum():
                failures.append(f"{found} != {a.sum()}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_empty_grid_launches_nothing_but_returns_the_output(c_kernels: CLibrary) -> None:
    # A launch of an empty grid would call this address.
    kernel = LoadedKernel(vector_add_plan(), {"vector_add": 1})
    empty = np.zeros(0, np.float32)
    assert kernel(empty, empty).shape == (0,)


def test_blocks_run_on_several_threads_also_after_fork(c_kernels: CLibrary) -> None:
    plan = {
        "version": 1,
        "target": "cpu",
        "arguments": [tensor("out", [2], "i64", access="readwrite")],
        "launches": [
            {
                "kernel": "meet",
                "grid": [3],
                "threads": 1,
                "parameters": [{"kind": "pointer", "argument": 0}],
            }
        ],
    }
    kernel = LoadedKernel(plan, {"meet": c_kernels["meet"]})

    def run() -> bool:
        out = np.zeros(2, np.int64)
        kernel(out)
        return out.tolist() == [3, 3]

    _runtime.set_thread_count(3)
    try:
        assert run()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if run() and run() else 1
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert run()
    finally:
        _runtime.set_thread_count(0)


def test_prepared_launch(vector_add: LoadedKernel, vector_add_in_place: LoadedKernel) -> None:
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    prepared = vector_add_in_place.prepare(a, b, c)
    assert prepared.outputs is None and prepared() is None
    assert torch.equal(c, a + b)
    a.add_(1)
    prepared()
    assert torch.equal(c, a + b)

    prepared = vector_add.prepare(a, B=b)
    first = prepared()
    assert first is prepared.outputs and torch.equal(first, a + b)
    b.zero_()
    assert prepared() is first and torch.equal(first, a)
    with pytest.raises(TypeError, match="takes no arguments"):
        prepared(a)
    with pytest.raises(errors.TileValueError):
        vector_add.prepare(a, b[:50])


def test_prepared_launch_keeps_its_arguments_alive(vector_add_in_place: LoadedKernel) -> None:
    arrays = [np.ones(10, np.float32) for _ in range(3)]
    prepared = vector_add_in_place.prepare(*arrays)
    output = arrays[2]
    del arrays
    gc.collect()
    prepared()
    np.testing.assert_array_equal(output, np.full(10, 2, np.float32))


def test_prepared_launch_with_workspace(c_kernels: CLibrary) -> None:
    a = np.arange(1000, dtype=np.float32) % 7
    prepared = _sum_kernel(c_kernels).prepare(a)
    for _ in range(3):
        assert prepared()[0] == a.sum()
        a += 1


def test_threads_share_a_prepared_launch_with_workspace(c_kernels: CLibrary) -> None:
    a = np.arange(20_000, dtype=np.float32) % 7
    prepared = _sum_kernel(c_kernels).prepare(a)
    wrong: list[float] = []

    def work() -> None:
        for _ in range(200):
            found = float(prepared()[0])
            if found != a.sum():
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_variants_are_asked_once_per_set_of_guards(c_kernels: CLibrary) -> None:
    images = {"vector_add": c_kernels["vector_add"]}
    asked: list[tuple[int, ...]] = []

    def variants(guards: tuple[int, ...]) -> LoadedKernel:
        asked.append(guards)
        return LoadedKernel(vector_add_plan(outputs=[]), images)

    guards = [
        {"kind": "aligned", "argument": 0, "bytes": 16},
        {"kind": "aligned", "argument": 1, "bytes": 16},
        {"kind": "noalias", "written": [2], "read": [0, 1]},
    ]
    kernel = LoadedKernel(vector_add_plan(outputs=[], guards=guards), images, variants)
    storage = torch.zeros(400)
    a, b, c = storage[:100], storage[100:200], storage[200:300]
    kernel(a, b, c)
    assert asked == []

    misaligned = torch.randn(101)[1:]
    for _ in range(2):
        kernel(misaligned, b, c)
        assert torch.equal(c, misaligned + b)
    assert asked == [(0,)]

    # c overlaps a, element by element ahead: still one pass from the front.
    overlapping = storage[0:100]
    b.fill_(1)
    a.fill_(2)
    kernel(a, b, overlapping)
    assert asked == [(0,), (2,)] and (a == 3).all()

    prepared = kernel.prepare(misaligned, b, c)
    prepared()
    assert torch.equal(c, misaligned + b)
    assert asked == [(0,), (2,)]


def test_empty_tensors_with_descriptors_take_the_variant_without(c_kernels: CLibrary) -> None:
    asked: list[tuple[int, ...]] = []
    images = {"vector_add": c_kernels["vector_add"]}

    def variants(guards: tuple[int, ...]) -> LoadedKernel:
        asked.append(guards)
        return LoadedKernel(vector_add_plan(outputs=[]), images)

    guards = [{"kind": "aligned", "argument": index, "bytes": 16} for index in (0, 1)]
    maps = [{"argument": 1, "dim_order": [0], "box": [8]}]
    kernel = LoadedKernel(vector_add_plan(outputs=[], guards=guards, tensor_maps=maps), images, variants)
    kernel(torch.zeros(4), torch.zeros(4), torch.zeros(4))
    assert asked == []
    kernel(torch.zeros(0), torch.zeros(0), torch.zeros(0))
    assert asked == [(1,)]


def test_touching_ranges_do_not_alias(c_kernels: CLibrary) -> None:
    guards = [{"kind": "noalias", "written": [2], "read": [0, 1]}]
    kernel = LoadedKernel(vector_add_plan(outputs=[], guards=guards), {"vector_add": c_kernels["vector_add"]})
    storage = torch.ones(300)
    kernel(storage[:100], storage[200:], storage[100:200])
    assert (storage[100:200] == 2).all()
    with pytest.raises(errors.TileRuntimeError, match="there is no compiler at hand"):
        kernel(storage[:100], storage[200:], storage[99:199])


def guarded_nothing(guard: dict[str, Any], c_kernels: CLibrary) -> LoadedKernel:
    """Two strided tensors behind one guard; no block runs, and a violation is an error because there is no variant."""
    plan = {
        "version": 1,
        "target": "cpu",
        "name": "guarded",
        "arguments": [
            tensor(name, [["dim", i, 0]], strided=True, strides=[["stride", i, 0]], access=access)
            for i, (name, access) in enumerate((("A", "read"), ("B", "write")))
        ],
        "guards": [guard],
        "launches": [{"kernel": "vector_add", "grid": [0], "threads": 1, "parameters": []}],
    }
    return LoadedKernel(plan, {"vector_add": c_kernels["vector_add"]})


def test_the_bytes_that_strided_tensors_span(c_kernels: CLibrary) -> None:
    kernel = guarded_nothing({"kind": "noalias", "written": [1], "read": [0]}, c_kernels)
    storage = np.zeros(100, np.float32)
    apart = [
        (storage[:50], storage[50:]),
        (storage[49::-1], storage[50:]),
        (storage[:50], storage[:49:-1]),
        (storage[0:49:2], storage[49:]),
        (storage[20:20], storage),  # empty: spans nothing
        (storage, storage[20:20]),
    ]
    for a, b in apart:
        kernel(a, b)
    meeting = [
        (storage[:51], storage[50:]),
        (storage[50::-1], storage[50:]),
        (storage[:50], storage[:48:-1]),
        (storage[0:99:2], storage[1:99:2]),  # interleaved: taken as overlapping
        (storage[10:11], storage),
    ]
    for a, b in meeting:
        with pytest.raises(errors.TileRuntimeError, match="there is no compiler at hand"):
            kernel(a, b)


@pytest.mark.parametrize("bytes_", [4, 64, 12, 20])
def test_alignment_guards(c_kernels: CLibrary, bytes_: int) -> None:
    kernel = guarded_nothing({"kind": "aligned", "argument": 0, "bytes": bytes_}, c_kernels)
    storage = np.zeros(256, np.float32)
    other = np.zeros(1, np.float32)
    held = 0
    for offset in range(128):
        a = storage[offset : offset + 5]
        if a.ctypes.data % bytes_ == 0:
            held += 1
            kernel(a, other)
        else:
            with pytest.raises(errors.TileRuntimeError, match="there is no compiler at hand"):
                kernel(a, other)
    assert held > 0


def test_optional_tensors_share_a_size(c_kernels: CLibrary) -> None:
    n = ["symbol", 0]
    plan = vector_add_plan()
    plan["arguments"] = [
        tensor("unused", [n], optional=True),
        tensor("A", [n]),
        tensor("B", [n]),
        tensor("C", [n], access="write"),
    ]
    plan["outputs"] = [3]
    for parameter in plan["launches"][0]["parameters"][:3]:
        parameter["argument"] += 1
    kernel = LoadedKernel(plan, {"vector_add": c_kernels["vector_add"]})
    a = np.ones(70, np.float32)
    np.testing.assert_array_equal(kernel(None, a, a), a + a)
    np.testing.assert_array_equal(kernel(a, a, a), a + a)
    with pytest.raises(errors.TileValueError, match="dimension 0 is 70, expected n = 3"):
        kernel(np.ones(3, np.float32), a, a)


def test_cycles_through_the_callback_are_collected(c_kernels: CLibrary) -> None:
    class Owner:
        def __init__(self) -> None:
            self.kernel = LoadedKernel(vector_add_plan(), {"vector_add": c_kernels["vector_add"]}, self.variants)

        def variants(self, guards: tuple[int, ...]) -> LoadedKernel:
            raise AssertionError

    owner = Owner()
    reference = weakref.ref(owner.kernel)
    del owner
    gc.collect()
    assert reference() is None


def test_bad_plans_are_refused_when_loaded(c_kernels: CLibrary) -> None:
    images = {"vector_add": c_kernels["vector_add"]}

    def message(**fields: Any) -> str:
        with pytest.raises(errors.TileRuntimeError) as caught:
            LoadedKernel(vector_add_plan(**fields), images)
        assert caught.value.code == "bad-plan"
        return str(caught.value)

    assert message(version=2) == "malformed launch plan: version 2; this runtime reads 1"
    assert "output 5 is not a tensor argument" in message(outputs=[5])
    assert "output 2 is listed twice" in message(outputs=[2, 2])
    assert "symbol 'n' is read from output 'C'" in message(symbols=[{"name": "n", "source": ["dim", 2, 0]}])
    assert "argument 0 has no dimension 3" in message(symbols=[{"name": "n", "source": ["dim", 0, 3]}])
    assert "unknown operator 'pow'" in message(symbols=[{"name": "n", "source": ["pow", 2, 3]}])
    launch = vector_add_plan()["launches"][0]
    assert "no entry for kernel 'missing'" in message(launches=[{**launch, "kernel": "missing"}])
    assert "field 'threads' is missing" in message(launches=[{k: v for k, v in launch.items() if k != "threads"}])
    assert "out of range" in message(launches=[{**launch, "parameters": [{"kind": "pointer", "argument": 9}]}])
    assert "wrong kind for argument 'A'" in message(
        launches=[{**launch, "parameters": [{"kind": "scalar", "argument": 0}]}]
    )
    assert "tensor maps do not exist on the cpu target" in message(
        launches=[{**launch, "parameters": [{"kind": "tensor_map", "index": 0}]}],
        tensor_maps=[{"argument": 0, "dim_order": [0], "box": [8]}],
    )
    assert "cooperative" in message(launches=[{**launch, "cooperative": True}])
