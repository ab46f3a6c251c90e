"""Calls of compiled kernels, on the GPU."""

import call_programs as calls
import pytest
from call_cases import *  # noqa: F403

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param


def test_first_call_inside_of_a_capture(target):
    """The kernel is compiled and loaded while a graph is captured; replays follow the input."""
    scale = calls.eager_scale(target)
    x = torch.randn(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = scale(x)
    for value in (1.0, -3.0, 0.5):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((y == 5 * value).all())


def test_stream_of_a_reduction_between_other_work(target):
    """Only the stream of the caller orders what was queued before and what comes after."""
    kernel = calls.compile_for(calls.product_and_sums(64, 64, False), target)
    a, b = (torch.zeros(256, 64, device="cuda").half(), torch.ones(64, 64, device="cuda").half())
    c, sums = torch.zeros(256, 64, device="cuda"), torch.zeros(256, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        a.fill_(2)
        kernel(a, b, c, sums)
        total = sums.sum()
    stream.synchronize()
    assert float(total) == 2 * 64 * 64 * 256
