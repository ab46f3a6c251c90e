"""Test cases about calls: outputs, sizes, number of compilations, threads, torch.compile, printing, asserting.

Parametrised by the fixture ``target`` of the folder that imports them.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import call_programs as calls
import kernel_programs as programs
import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T
import torch
from tilemlir.compiler import lowering

generator = np.random.default_rng()


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by one with each module that is lowered."""
    lowered = []
    real = lowering.lower_traced

    def counting(*arguments):
        lowered.append(arguments[0])
        return real(*arguments)

    monkeypatch.setattr(lowering, "lower_traced", counting)
    monkeypatch.setenv("TILEMLIR_DISABLE_CACHE", "1")
    return lowered


@pytest.mark.parametrize("outputs_first", [False, True])
def test_several_outputs_and_one_compilation(target, outputs_first, compilations):
    """Twenty sizes, both outputs allocated by the call, a size that is first named by an output."""
    n, k = 40, 50
    program = calls.product_and_sums(n, k, outputs_first)
    kernel = tile.compile(program, target=target, out_idx=[0, 1] if outputs_first else [2, -1])
    device = programs.device_of(kernel)
    b = torch.from_numpy(generator.integers(-4, 5, (k, n))).half().to(device)
    for m in [0, 1, 7, 63, 64, 65, 130, *(int(m) for m in generator.integers(1, 400, 13))]:
        a = torch.from_numpy(generator.integers(-4, 5, (m, k))).half().to(device)
        c, sums = kernel(a, b)
        assert c.shape == (m, n) and sums.shape == (m,) and c.device == a.device
        torch.testing.assert_close(c, a.float() @ b.float(), rtol=0, atol=0)
        torch.testing.assert_close(sums, (a.float() @ b.float()).sum(1), rtol=0, atol=0)
    assert len(compilations) == 1


def test_one_compilation_under_the_decorator(target, compilations):
    scale = calls.eager_scale(target)
    device = programs.device_of(scale.compile(torch.zeros(1)))
    for n in range(20):
        x = torch.from_numpy(generator.standard_normal(n, np.float32)).to(device)
        torch.testing.assert_close(scale(x), x * 5)
    assert len(compilations) == 1


def test_results_follow_pointer_and_size(target):
    """The same kernel on other memory, other sizes and the first memory again."""
    kernel = tile.compile(calls.product_and_sums(8, 16, False), target=target)
    device = programs.device_of(kernel)
    b = torch.ones(16, 8, dtype=torch.float16, device=device)
    first = torch.ones(4, 16, dtype=torch.float16, device=device)
    for a in [first, first * 2, torch.ones(9, 16, device=device).half() * 3, first]:
        c = torch.full((len(a), 8), float("nan"), device=device)
        sums = torch.full((len(a),), float("nan"), device=device)
        kernel(a, b, c, sums)
        assert bool((c == 16 * a[0, 0]).all()) and bool((sums == 128 * a[0, 0]).all())


def test_threads_compile_and_launch(target):
    """Eight threads compile different kernels at the same time and run each other's."""
    size = 100
    kernels = {}

    def work(number):
        kernel = kernels[number] = programs.compile_for(calls.scaled(size, number + 2), target)
        device = programs.device_of(kernel)
        results = []
        for other, found in list(kernels.items()):
            x = torch.full((size,), float(number), device=device)
            y = torch.full((size,), float("nan"), device=device)
            for _ in range(5):
                found(x, y)
            results.append((other, number, y))
        return results

    with ThreadPoolExecutor(8) as pool:
        rounds = list(pool.map(work, range(24)))
    assert len(kernels) == 24
    for results in rounds:
        for factor, value, y in results:
            assert bool((y == value * (factor + 2)).all())


def test_threads_share_one_kernel(target):
    """The same program from eight threads is compiled once and launched by all."""
    program = calls.scaled(1000, 11)

    def work(number):
        kernel = programs.compile_for(program, target)
        device = programs.device_of(kernel)
        x = torch.full((1000,), float(number), device=device)
        y = torch.full((1000,), float("nan"), device=device)
        for _ in range(20):
            kernel(x, y)
        return kernel, bool((y == number * 11).all())

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(16)))
    assert all(right for _, right in results)
    assert len({id(kernel) for kernel, _ in results}) == 1


def test_torch_compile_goes_around_a_kernel(target):
    """torch.compile leaves a kernel to ordinary Python: one graph before it, one after, the same results."""
    kernel = tile.compile(calls.product_and_sums(8, 16, False), target=target, out_idx=[2, 3])
    device = programs.device_of(kernel)
    b = torch.randn(16, 8, device=device).half()

    def function(a):
        c, sums = kernel(a * 2, b)
        return c + 1, sums - 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    for m in (4, 9, 33):
        a = torch.randn(m, 16, device=device).half()
        for found, expected in zip(compiled(a), function(a), strict=True):
            assert torch.equal(found, expected)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"CompiledKernel|callable object"):
        torch.compile(function, backend="eager", fullgraph=True)(a)


def test_kernel_as_a_custom_operator(target):
    """Wrapped as an operator of torch a kernel is part of one graph, for every number of rows."""
    kernel = tile.compile(calls.product_and_sums(8, 16, False), target=target, out_idx=[2, 3])
    device = programs.device_of(kernel)

    @torch.library.custom_op(f"tilemlir_tests::product_and_sums_{target}", mutates_args=())
    def operator(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        c, sums = kernel(a, b)
        return c, sums

    @operator.register_fake
    def _(a, b):
        rows = a.shape[0]
        return a.new_empty((rows, 8), dtype=torch.float32), a.new_empty((rows,), dtype=torch.float32)

    b = torch.randn(16, 8, device=device).half()

    def function(a):
        c, sums = operator(a * 2, b)
        return c + 1, sums - 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for m in (4, 9, 33):
        a = torch.randn(m, 16, device=device).half()
        for found, expected in zip(compiled(a), function(a), strict=True):
            assert torch.equal(found, expected)


def other_process(what, target):
    """Runs call_programs as a program; where there is no device for the target, skips."""
    programs.device_of(calls.compile_for(calls.printing, target))
    script = Path(calls.__file__)
    command = [sys.executable, str(script), what, target]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_print(target):
    result = other_process("print", target)
    assert result.returncode == 0, result.stderr
    out = result.stdout
    if target == "cpu":
        assert "tile:  block=(1, 0, 0) float16 [4, 5, 6, 7]" in out
        assert "held =  block=(1, 0, 0) int32 [1, 2, 3, 4]" in out
    else:
        # One line per element, from the thread that holds it.
        found = re.findall(r"tile: .*?(\d+\.0*)$", out, re.MULTILINE)
        assert sorted(float(one) for one in found) == [4, 5, 6, 7], out
        found = re.findall(r"held = .*?(-?\d+)$", out, re.MULTILINE)
        assert sorted(int(one) for one in found) == [1, 2, 3, 4], out
    assert len(re.findall(r"number: .*-3", out)) == 1
    assert len(re.findall(r"small: .*\b4(\.0*)?$", out, re.MULTILINE)) == 1
    assert len(re.findall(r"byte: .*253", out)) == 1
    assert out.count("100% text") == 1


def test_device_assert(target):
    result = other_process("assert", target)
    text = result.stdout + result.stderr
    assert result.returncode != 0, text
    assert "x must be positive" in text
    assert re.search(r"call_programs\.py:\d+|call_programs\.py\D+\d+", text)
    assert "the assertion was not noticed" not in text


@T.prim_func
def too_much_shared(x: T.Tensor((1024, 1024), "float32")):
    with T.Kernel(1, threads=128) as _:
        first = T.alloc_shared((256, 256), "float32")
        second = T.alloc_shared((256, 128), "float32")
        T.copy(x[0, 0], first)
        T.copy(x[0, 256], second)
        T.copy(first, x[256, 0])
        T.copy(second, x[512, 0])


def test_too_much_shared_memory_names_each_buffer(target):
    if target == "cpu":
        pytest.skip("the CPU has no such limit")
    with pytest.raises(tile.errors.TileError) as caught:
        programs.compile_for(too_much_shared, target)
    text = str(caught.value)
    assert "call_cases.py" in text
    assert re.search(r"first\D+262144", text) and re.search(r"second\D+131072", text)
    assert "internal" not in text.lower() and "tile-opt" not in text
