"""Complete kernels through tilemlir.compile on the GPU's general path, and on its own architecture."""

import pytest
from kernel_cases import *  # noqa: F403

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", params=["sm_80", "cuda"])
def target(request):
    return request.param


def test_current_stream_and_graph(target):
    import kernel_programs as programs
    import torch

    kernel = programs.compile_for(programs.gemm(128, 128, 64), target)
    a, b = (torch.randn(shape, device="cuda").half() for shape in ((128, 64), (64, 128)))
    c = torch.empty(128, 128, device="cuda", dtype=torch.float16)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        a.fill_(2)
        kernel(a, b, c)
    stream.synchronize()
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
    for value in (1.0, -3.0, 0.5):
        a.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=1e-2, atol=1e-1)
