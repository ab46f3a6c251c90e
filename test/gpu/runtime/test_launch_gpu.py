"""Launching on a GPU with hand-written PTX: parameters, streams, graphs, workspaces, tensor maps, clusters."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tilemlir import errors
from tilemlir.compiler import toolchain
from tilemlir.profiler import Profiler, do_bench
from tilemlir.runtime import LoadedKernel, cuda

torch = pytest.importorskip("torch")

PROGRAMS = Path(__file__).parents[3] / "benchmarks" / "programs"
VECTOR_ADD = (PROGRAMS / "vector_add.ptx").read_text()

# Adds each thread's element of a to the workspace's counter of its block, atomically, then a second kernel copies them.
COUNT = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry count(.param .u64 a, .param .u64 w, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [w];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 128, %r3;
  setp.ge.s32 %p, %r4, %r1;
  @%p ret;
  mul.wide.s32 %d3, %r4, 4;
  add.s64 %d1, %d1, %d3;
  ld.global.f32 %f1, [%d1];
  mul.wide.s32 %d4, %r2, 4;
  add.s64 %d2, %d2, %d4;
  red.global.add.f32 [%d2], %f1;
  ret;
}
.visible .entry copy_counts(.param .u64 w, .param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .f32 %f<2>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [w];
  ld.param.u64 %d2, [out];
  mov.u32 %r1, %ctaid.x;
  mul.wide.s32 %d3, %r1, 4;
  add.s64 %d1, %d1, %d3;
  add.s64 %d2, %d2, %d3;
  ld.global.f32 %f1, [%d1];
  st.global.f32 [%d2], %f1;
  ret;
}
"""

# One thread loads a 16 x 32 box of a float32 matrix at (x, y) through a tensor map, and writes it out row by row.
TMA = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry tma_box(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  .shared .align 128 .b8 tile[2048];
  .shared .align 8 .b64 bar;
  ld.param.u64 %d2, [out];
  ld.param.u32 %r1, [x];
  ld.param.u32 %r2, [y];
  mov.b64 %d1, map;
  cvta.param.u64 %d1, %d1;
  mov.u32 %r3, bar;
  mov.u32 %r4, tile;
  mbarrier.init.shared.b64 [%r3], 1;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 2048;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d1, {%r1, %r2}], [%r3];
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%r3], 0;
  @!%p bra wait;
  mov.u32 %r5, 0;
copy:
  ld.shared.u32 %r6, [%r4];
  st.global.u32 [%d2], %r6;
  add.u32 %r4, %r4, 4;
  add.s64 %d2, %d2, 4;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p, %r5, 512;
  @%p bra copy;
  ret;
}
"""

CLUSTER = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry cluster_rank(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, %cluster_nctarank;
  mad.lo.u32 %r2, %r3, 100, %r2;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d1, %d1, %d2;
  st.global.u32 [%d1], %r2;
  ret;
}
"""


def argument(name: str, shape: list[Any], access: str = "read", dtype: str = "f32") -> dict[str, Any]:
    return {"name": name, "kind": "tensor", "dtype": dtype, "shape": shape, "access": access}


def load(ptx: str, plan: dict[str, Any]) -> LoadedKernel:
    """Assembles PTX for the current device (the driver does it where there is no ptxas) and loads it."""
    major, minor = torch.cuda.get_device_capability()
    image = toolchain.assemble(ptx, f"sm_{major}{minor}").image
    return LoadedKernel({"version": 1, **plan}, {entry["kernel"]: image for entry in plan["launches"]})


N = ["symbol", 0]


def vector_add_plan(outputs: list[int]) -> dict[str, Any]:
    return {
        "target": "sm_80",
        "name": "vector_add",
        "arguments": [argument("A", [N]), argument("B", [N]), argument("C", [N], "write")],
        "symbols": [{"name": "n", "source": ["dim", 0, 0]}],
        "outputs": outputs,
        "launches": [
            {
                "kernel": "vector_add",
                "grid": [["ceildiv", N, 128]],
                "threads": 128,
                "parameters": [
                    *({"kind": "pointer", "argument": index} for index in range(3)),
                    {"kind": "expr", "dtype": "i32", "value": N},
                ],
            }
        ],
    }


@pytest.fixture(scope="module")
def vector_add() -> LoadedKernel:
    return load(VECTOR_ADD, vector_add_plan([2]))


@pytest.fixture(scope="module")
def in_place() -> LoadedKernel:
    return load(VECTOR_ADD, vector_add_plan([]))


def randn(*shape: int) -> Any:
    return torch.randn(*shape, device="cuda")


def needs_capability(major: int) -> None:
    if torch.cuda.get_device_capability()[0] < major:
        pytest.skip(f"needs compute capability {major}.0")


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 100_003])
def test_results_and_outputs(vector_add: LoadedKernel, n: int) -> None:
    a, b = randn(2, n).unbind()
    c = vector_add(a, b)
    assert c.device == a.device and c.shape == (n,) and torch.equal(c, a + b)


def test_nothing_outside_of_the_output_is_touched(in_place: LoadedKernel) -> None:
    storage = torch.full((1000 + 256,), float("nan"), device="cuda")
    a, b = randn(2, 1000).unbind()
    assert in_place(a, b, storage[128:-128]) is None
    assert torch.equal(storage[128:-128], a + b)
    assert storage[:128].isnan().all() and storage[-128:].isnan().all()


def test_prepared_launch(in_place: LoadedKernel) -> None:
    a, b = randn(2, 1000).unbind()
    c = torch.empty_like(a)
    prepared = in_place.prepare(a, b, c)
    for _ in range(3):
        a.add_(1)
        prepared()
        assert torch.equal(c, a + b)


def test_current_stream_is_used(in_place: LoadedKernel) -> None:
    a, b = torch.zeros(2, 1 << 20, device="cuda").unbind()
    c = torch.full_like(a, float("nan"))
    prepared = in_place.prepare(a, b, c)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for run in (lambda: in_place(a, b, c), prepared):
        a.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            a.fill_(2)
            run()
        # Only this stream is waited for; on another one the sum would not have seen the fill.
        stream.synchronize()
        assert torch.equal(c, torch.full_like(c, 2))


def test_graph_capture_and_replay(in_place: LoadedKernel) -> None:
    a, b = randn(2, 5000).unbind()
    c, d = torch.empty_like(a), torch.empty_like(a)
    # A fresh kernel: its image is loaded during the capture.
    fresh = load(VECTOR_ADD, vector_add_plan([]))
    prepared = in_place.prepare(c, c, d)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        fresh(a, b, c)
        prepared()
    for _ in range(3):
        a.copy_(randn(5000))
        d.fill_(float("nan"))
        graph.replay()
        assert torch.equal(c, a + b) and torch.equal(d, 2 * (a + b))


def count_kernel() -> LoadedKernel:
    blocks = ["ceildiv", N, 128]
    return load(
        COUNT,
        {
            "target": "sm_80",
            "name": "count",
            "arguments": [argument("A", [N]), argument("out", [blocks], "write")],
            "symbols": [{"name": "n", "source": ["dim", 0, 0]}],
            "outputs": [1],
            "workspaces": [{"bytes": ["mul", blocks, 4], "zero": True}],
            "launches": [
                {
                    "kernel": "count",
                    "grid": [blocks],
                    "threads": 128,
                    "parameters": [
                        {"kind": "pointer", "argument": 0},
                        {"kind": "workspace", "index": 0},
                        {"kind": "expr", "dtype": "i32", "value": N},
                    ],
                },
                {
                    "kernel": "copy_counts",
                    "grid": [blocks],
                    "threads": 1,
                    "parameters": [{"kind": "workspace", "index": 0}, {"kind": "pointer", "argument": 1}],
                },
            ],
        },
    )


def test_workspaces_on_streams_and_in_graphs() -> None:
    kernel = count_kernel()

    def expected(a: Any) -> Any:
        return torch.nn.functional.pad(a, (0, -len(a) % 128)).view(-1, 128).sum(1)

    def numbers(n: int) -> Any:
        return torch.randint(-4, 5, (n,), device="cuda").float()

    for n in (100, 5000, 10, 5000, 1):
        a = numbers(n)
        assert torch.equal(kernel(a), expected(a))
    captured = numbers(3000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        first = kernel(captured)
        second = kernel(first)
    other = numbers(3000)
    stream = torch.cuda.Stream()
    for _ in range(5):
        captured.copy_(numbers(3000))
        stream.wait_stream(torch.cuda.current_stream())
        graph.replay()
        # An eager launch on another stream at the same time has a workspace of its own.
        with torch.cuda.stream(stream):
            eager = kernel(other)
        torch.cuda.synchronize()
        assert torch.equal(first, expected(captured)) and torch.equal(second, expected(first))
        assert torch.equal(eager, expected(other))
    del graph, first, second
    torch.cuda.synchronize()
    assert torch.equal(kernel(other), expected(other))


@pytest.mark.parametrize(("x", "y"), [(0, 0), (8, 3), (36, 0), (0, 60), (-4, -1), (100, 100)])
def test_tensor_map(x: int, y: int) -> None:
    needs_capability(9)
    kernel = load(
        TMA,
        {
            "target": "sm_90",
            "name": "tma_box",
            "arguments": [
                argument("A", [["dim", 0, 0], ["dim", 0, 1]]),
                {"name": "x", "kind": "scalar", "dtype": "i32"},
                {"name": "y", "kind": "scalar", "dtype": "i32"},
                argument("out", [16, 32], "write"),
            ],
            "outputs": [3],
            "tensor_maps": [{"argument": 0, "dim_order": [1, 0], "box": [32, 16], "swizzle": 0, "fill": "zero"}],
            "launches": [
                {
                    "kernel": "tma_box",
                    "grid": [1],
                    "threads": 1,
                    "parameters": [
                        {"kind": "tensor_map", "index": 0},
                        {"kind": "pointer", "argument": 3},
                        {"kind": "scalar", "argument": 1},
                        {"kind": "scalar", "argument": 2},
                    ],
                }
            ],
        },
    )
    for a in (randn(64, 48), randn(64, 40), randn(1, 48)):
        padded = torch.zeros(400, 400, device="cuda")
        padded[100 : 100 + a.shape[0], 100 : 100 + a.shape[1]] = a
        expected = padded[100 + y : 116 + y, 100 + x : 132 + x]
        assert torch.equal(kernel(a, x, y), expected)
    with pytest.raises(errors.TileValueError, match="cannot be described to the tensor memory accelerator"):
        kernel(randn(64, 47), 0, 0)


def test_clusters() -> None:
    needs_capability(9)
    kernel = load(
        CLUSTER,
        {
            "target": "sm_90",
            "arguments": [argument("out", [["dim", 0, 0]], "write", "i32")],
            "launches": [
                {
                    "kernel": "cluster_rank",
                    "grid": [6],
                    "cluster": [4, 1, 1],
                    "threads": 32,
                    "parameters": [{"kind": "pointer", "argument": 0}],
                }
            ],
        },
    )
    out = torch.zeros(8, dtype=torch.int32, device="cuda")
    kernel(out)
    assert out.tolist() == [400, 401, 402, 403] * 2


def test_refusals_launch_nothing(in_place: LoadedKernel) -> None:
    a, b = randn(2, 100).unbind()
    c = torch.full_like(a, float("nan"))
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((a, b), "argument-count"),
        ((a, b.cpu(), c), "device"),
        ((a.half(), b, c), "dtype"),
        ((a, b[:50], c), "shape"),
        ((a, b[None], c), "rank"),
        ((a[::2], b[:50], c[:50]), "not-contiguous"),
        ((a, 3, c), "not-a-tensor"),
        ((a, None, c), "none-argument"),
    ]
    for arguments, code in cases:
        with pytest.raises(errors.TileError) as caught:
            in_place(*arguments)
        assert caught.value.code == code
    torch.cuda.synchronize()
    assert c.isnan().all()
    in_place(a, b, c)
    assert torch.equal(c, a + b)


def test_another_thread_without_a_context(in_place: LoadedKernel) -> None:
    a, b = randn(2, 1000).unbind()
    c = torch.empty_like(a)
    torch.cuda.synchronize()
    problems: list[BaseException] = []

    def work() -> None:
        try:
            in_place(a, b, c)
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not problems and torch.equal(c, a + b)


def test_a_device_that_is_not_current(vector_add: LoadedKernel) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    a, b = torch.randn(2, 1000, device="cuda:1").unbind()
    c = vector_add(a, b)
    assert c.device == a.device and torch.equal(c, a + b) and torch.cuda.current_device() == 0


def test_what_the_driver_knows(vector_add: LoadedKernel) -> None:
    attributes = vector_add.function_attributes(torch.cuda.current_device())["vector_add"]
    assert 0 < attributes["registers"] < 64 and attributes["local_bytes"] == 0
    assert vector_add.active_blocks(torch.cuda.current_device(), 0) >= 8
    properties = cuda.device_properties(torch.cuda.current_device())
    torch_properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    assert properties.name == torch_properties.name
    assert properties.multiprocessor_count == torch_properties.multi_processor_count
    assert properties.compute_capability == torch.cuda.get_device_capability()


@pytest.mark.parametrize("backend", ["event", "cudagraph", "cupti", "wall"])
def test_timing_backends(in_place: LoadedKernel, backend: Any) -> None:
    a, b = randn(2, 1 << 22).unbind()
    c = torch.empty_like(a)
    found = do_bench(lambda: in_place(a, b, c), warmup=5, rep=10, backend=backend)
    assert isinstance(found, float) and 0 < found < 1000


def test_profiler(vector_add: LoadedKernel) -> None:
    profiler = Profiler(vector_add)
    profiler.assert_allclose(lambda a, b: a + b, dynamic_symbolic_constraints={"n": 1000})
    assert profiler.do_bench(dynamic_symbolic_constraints={"n": 1000}, n_warmup=1, n_repeat=3) > 0
