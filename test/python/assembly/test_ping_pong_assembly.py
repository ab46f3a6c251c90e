"""Products of which two warp groups take turns are assembled for sm_90a: no spills, roles, reasons."""

import json

import ping_pong_programs
import pytest
from tilemlir import compile as compile_kernel

TARGET = {"kind": "cuda", "arch": "sm_90a"}


def loop_reasons(kernel):
    return [one["reason"] for one in kernel.explain().operations if one["op"] == "pipelined"]


@pytest.mark.parametrize("block", [(128, 128, 64), (64, 256, 64), (64, 128, 64)])
def test_taking_turns(block):
    kernel = compile_kernel(ping_pong_programs.gemm(4096, 4096, 4096, 132, block=block, stages=4), target=TARGET)
    explained = kernel.explain()
    assert all(reason.endswith("; two warp groups take turns on the tiles") for reason in loop_reasons(kernel))
    for resources in explained.resources.values():
        assert resources["spill_bytes"] == 0, resources
    source = kernel.get_kernel_source()
    # A producer and two groups of consumers, each with a loop of products and a store of its own.
    assert source.count("setmaxnreg.inc") == 2
    assert source.count("setmaxnreg.dec") == 1
    (entry,) = json.loads(explained.to_json())["kernels"]
    assert entry["threads"] == 384
    # The floating-point operations of a tile are counted once.
    assert entry["work"]["flops"] == 2 * 4096**3


@pytest.mark.parametrize(
    ("program", "arch", "why"),
    [
        (
            lambda: ping_pong_programs.gemm(512, 512, 512, 4, threads=256),
            "sm_90a",
            "each of two warp groups has a tile",
        ),
        (lambda: ping_pong_programs.running_sum(512, 512, 512, 4), "sm_90a", "fill (line "),
        (lambda: ping_pong_programs.gemm(512, 512, 512, 4), "sm_80", "there is no producer role"),
    ],
)
def test_reasons(program, arch, why):
    kernel = compile_kernel(program(), target={"kind": "cuda", "arch": arch})
    reasons = loop_reasons(kernel)
    assert any("no ping-pong: " + why in one for one in reasons), reasons
