"""Work of a launch: sums over loops and conditions, closed forms, roofline."""

from __future__ import annotations

import random

import pytest
from tilemlir.compiler import machines, work
from tilemlir.runtime.plan import Environment


def product(loops, conditions=(), exact=True, flops=10, path="mma_sync", kind="f16"):
    return {
        "kind": "product",
        "op": "gemm",
        "path": path,
        "types": [kind, kind, "f32"],
        "flops": flops,
        "loops": loops,
        "conditions": list(conditions),
        "exact": exact,
    }


def tensor(name, loops, depends, extents, size=64, **access):
    return {
        "kind": "tensor",
        "op": "copy",
        "name": name,
        "bytes": size,
        "depends": depends,
        "extents": extents,
        "element_bits": 16,
        "loops": loops,
        "conditions": [],
        "exact": True,
        **(access or {"reads": True}),
    }


def symbol(name):
    return ["symbol", name]


def below(a, b):
    return ["min", ["max", ["sub", b, a], 0], 1]


def test_independent_loops_multiply():
    kernel = {"grid": [["ceildiv", symbol("N"), 16], 3], "work": [product([["i0", 0, symbol("K"), 2]])]}
    done = work.sum_work(kernel, Environment(symbols={"N": 33, "K": 7}))
    assert (done.blocks, done.exact) == (9, True)
    assert done.products == {("mma_sync", "f16"): 10 * 9 * 4}


def test_triangle_and_condition_match_enumeration():
    for _ in range(20):
        n, step, cut = random.randint(1, 9), random.randint(1, 3), random.randint(0, 12)
        loops = [["i0", symbol("block.x"), ["add", ["mul", symbol("block.y"), 2], 5], step]]
        condition = below(symbol("i0"), cut)
        kernel = {"grid": [n, 4], "work": [product(loops, [condition])]}
        expected = sum(i < cut for x in range(n) for y in range(4) for i in range(x, 2 * y + 5, step))
        done = work.sum_work(kernel, Environment())
        assert done.products[("mma_sync", "f16")] == 10 * expected
        assert done.exact


def test_long_loops_are_sampled_and_said_so():
    count = 1_000_000
    kernel = {"grid": [1], "work": [product([["i0", 0, count, 1], ["i1", 0, symbol("i0"), 1]])]}
    done = work.sum_work(kernel, Environment())
    assert not done.exact
    assert done.products[("mma_sync", "f16")] == pytest.approx(10 * count * (count - 1) / 2, rel=1e-3)


def test_unknown_loops_are_not_exact():
    assert not work.sum_work({"grid": [2], "work": [product([], exact=False)]}, Environment()).exact


def test_traffic_and_what_is_unique_of_it():
    loops = [["i0", 0, 4, 1]]
    kernel = {
        "grid": [8, 2],
        "work": [
            # Every block of a row reads the same tiles.
            tensor("a", loops, ["block.y", "i0"], [1 << 20]),
            # At most the whole tensor: 100 elements of 16 bits.
            tensor("b", loops, ["block.x", "i0"], [100]),
            tensor("c", [], ["block.x", "block.y"], [1 << 20], reads=True, writes=True),
        ],
    }
    done = work.sum_work(kernel, Environment())
    assert done.tensors["a"] == work.TensorTraffic("a", read=64 * 64, unique=64 * 8)
    assert done.tensors["b"] == work.TensorTraffic("b", read=64 * 64, unique=200)
    assert done.tensors["c"] == work.TensorTraffic("c", read=64 * 16, written=64 * 16, unique=64 * 32, atomic=True)
    assert done.traffic == 64 * (64 + 64 + 32)
    assert done.dram == 64 * 8 + 200 + 64 * 32


def test_missing_sizes_are_named():
    kernel = {"grid": [symbol("N")], "work": [product([["i0", 0, symbol("K"), 1], ["i1", 0, symbol("i0"), 1]])]}
    assert work.missing_sizes(kernel, Environment(symbols={"N": 4})) == ["K"]
    with pytest.raises(KeyError):
        work.sum_work(kernel, Environment(symbols={"N": 4}))


def test_formulas():
    arguments = [{"name": "a"}, {"name": "steps"}]
    kernel = {
        "grid": [["ceildiv", symbol("N"), 128], 4],
        "work": [
            product([["i0", 0, ["ceildiv", symbol("K"), 32], 1]], flops=100),
            product([["i0", 0, ["ceildiv", symbol("K"), 32], 1]], flops=50),
            product([["i0", 0, ["scalar", 1], 1], ["i1", 0, symbol("i0"), 1]], flops=2),
            tensor("a", [["i0", 2, ["dim", 0, 1], 2]], [], [5]),
        ],
    }
    assert work.formulas(kernel, arguments) == {
        "product flops": "600 * ceildiv(N, 128) * ceildiv(K, 32) + sum(i0 < steps: 8 * ceildiv(N, 128) * i0)",
        "bytes of a": "256 * ceildiv(N, 128) * ceildiv(a.shape[1] - 2, 2)",
    }


def test_formula_of_a_triangle():
    kernel = {"grid": [7], "work": [product([["i0", symbol("block.x"), 12, 2]], [below(symbol("i0"), 4)], flops=4)]}
    assert work.formulas(kernel, []) == {
        "product flops": "sum(block.x < 7, i0 in range(block.x, 12, 2): 4 * (min(max(4 - i0, 0), 1)))"
    }


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (["mul", ["add", symbol("M"), 1], 2], "(M + 1) * 2"),
        (["sub", symbol("M"), ["sub", symbol("N"), 1]], "M - (N - 1)"),
        (["floordiv", ["mul", symbol("M"), 3], 4], "M * 3 // 4"),
        (["mod", symbol("M"), ["mul", 2, symbol("N")]], "M % (2 * N)"),
        (["min", ["sm_count"], ["stride", 0, 1]], "min(multiprocessors, a.strides[1])"),
    ],
)
def test_expressions_as_text(expression, text):
    assert work.describe_expression(expression, [{"name": "a"}]) == text


def test_roofline_takes_the_slowest_unit():
    machine = machines.reference_machine(80)
    done = work.Work(blocks=1, products={("mma_sync", "f16"): 312e6})
    bound = work.roofline(done, machine)
    # 312 TFLOP/s on the data sheet: a microsecond.
    assert bound.limiter == "tensor cores"
    assert bound.bound == pytest.approx(1.0, rel=2e-3)
    assert bound.teraflops == pytest.approx(312, rel=2e-3)
    done.tensors["a"] = work.TensorTraffic("a", read=1e9, unique=2039e6)
    assert work.roofline(done, machine).limiter == "DRAM"
    assert work.roofline(done, machine).bound == pytest.approx(1000)
    done.shared_read = 128 * 108 * 1410 * 2000
    done.shared_written = 128 * 108 * 1410 * 1500
    assert work.roofline(done, machine).limiter == "shared memory"
    done.special = 16 * 108 * 1410 * 3000
    assert work.roofline(done, machine).limiter == "special functions"
    done.arithmetic = 128 * 108 * 1410 * 4000
    assert work.roofline(done, machine).limiter == "f32 units"
    assert work.roofline(done, machine).bound == pytest.approx(4000)


@pytest.mark.parametrize(
    ("capability", "name", "teraflops"),
    [
        (80, "A100 SXM 80 GB", 312),
        (89, "L40S", 366),
        (90, "H200 SXM", 989),
        (100, "B200", 2243),
        (120, "RTX PRO 6000 Blackwell", 504),
    ],
)
def test_reference_machines(capability, name, teraflops):
    machine = machines.reference_machine(capability)
    assert machine.name == name
    rate = machine.tensor_rate("bf16", "wgmma_ss") * machine.multiprocessors * machine.megahertz / 1e6
    assert rate == pytest.approx(teraflops, rel=2e-2)


def test_machines_that_are_not_known():
    assert machines.reference_machine(75) is None
    assert machines.reference_machine(87) is None
    assert machines.reference_machine(103).name == "B200"


def test_tensor_rates():
    hopper = machines.reference_machine(90)
    assert hopper.tensor_rate("f8E4M3FN", "wgmma_ss") == 8192
    assert hopper.tensor_rate("f32", "wgmma_ss") == 2048
    assert hopper.tensor_rate("f16", "mma_sync") == pytest.approx(0.63 * 4096)
    assert hopper.tensor_rate("f16", "fma") == 256
    assert machines.reference_machine(80).tensor_rate("f8E5M2", "mma_sync") is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((80, 128, 236, 49152), (2, "registers")),
        ((80, 1024, 32, 0), (2, "threads and registers")),
        ((90, 32, 16, 0), (32, "blocks")),
        ((90, 256, 64, 200 * 1024), (1, "shared memory")),
        ((75, 256, 64, 0), None),
    ],
)
def test_occupancy(arguments, expected):
    assert machines.occupancy(*arguments) == expected


def test_unique_bytes_under_a_causal_mask():
    loops = [["i0", 0, ["add", symbol("block.x"), 1], 1]]
    kernel = {"grid": [8, 3], "work": [tensor("k", loops, ["block.y", "i0"], [1 << 20])]}
    done = work.sum_work(kernel, Environment())
    assert done.tensors["k"] == work.TensorTraffic("k", read=64 * 3 * 36, unique=64 * 3 * 8)
