"""Kernels of which several blocks share a multiprocessor fit the registers that are left to them, or are refused.

A block has 65536 registers, of which each of ``blocks`` side by side gets its part; instructions of warp groups whose
sums do not fit are refused by the assembler (C7602), and roles that ask for more than there are wait for ever.
"""

import re
from pathlib import Path

import pytest
import tilemlir.language as T
from tilemlir import compile as compile_kernel
from tilemlir import errors

TARGET = {"kind": "cuda", "arch": "sm_90a"}


def product(block_m, block_n, threads, blocks, registers=()):
    """C = A @ B with a pipelined loop, ``blocks`` per multiprocessor and ``registers`` of producer and consumers."""

    @T.prim_func
    def kernel(
        a: T.Tensor((4096, 4096), "float16"), b: T.Tensor((4096, 4096), "float16"), c: T.Tensor((4096, 4096), "float16")
    ):
        with T.Kernel(4096 // block_n, 4096 // block_m, threads=threads) as (x, y):
            a_tile = T.alloc_shared((block_m, 32), "float16")
            b_tile = T.alloc_shared((32, block_n), "float16")
            sums = T.alloc_fragment((block_m, block_n), "float32")
            if blocks:
                T.annotate_min_blocks_per_sm(blocks)
            if registers:
                T.annotate_producer_reg_dealloc(registers[0])
            if len(registers) > 1:
                T.annotate_consumer_reg_alloc(registers[1])
            T.clear(sums)
            for step in T.Pipelined(128, num_stages=3):
                T.copy(a[y * block_m, step * 32], a_tile)
                T.copy(b[step * 32, x * block_n], b_tile)
                T.gemm(a_tile, b_tile, sums)
            T.copy(sums, c[y * block_m, x * block_n])

    return kernel


def budgets(kernel):
    """Threads at launch, and what roles set their registers to."""
    source = kernel.get_kernel_source()
    threads = int(re.search(r"\.reqntid (\d+)", source).group(1))
    return threads, *(sorted(int(one) for one in re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32 +(\d+)", source)))


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
@pytest.mark.parametrize(("block_m", "block_n", "threads"), [(64, 128, 128), (128, 128, 256), (192, 128, 384)])
@pytest.mark.filterwarnings("ignore:.*between registers and local memory")
def test_blocks_fit(block_m, block_n, threads, blocks):
    """The assembler takes all of them, with at most the registers that so many blocks leave to a thread."""
    kernel = compile_kernel(product(block_m, block_n, threads, blocks), target=TARGET)
    launched, *roles = budgets(kernel)
    at_launch = 65536 // (blocks * launched) // 8 * 8
    (resources,) = kernel.explain().resources.values()
    assert resources["registers"] <= min(at_launch, 255)
    if roles:
        producer, consumer = roles
        assert launched == threads + 128
        assert 128 * producer + threads * consumer <= launched * at_launch


@pytest.mark.parametrize(
    ("block", "threads", "blocks", "expected"),
    [
        # What a program without a wish for blocks gets, too.
        ((128, 128), 256, 0, (384, 24, 240)),
        ((128, 128), 256, 1, (384, 24, 240)),
        ((192, 128), 384, 1, (512, 24, 160)),
        # Two blocks of three warp groups: 80 registers at launch, of which the producer keeps 24.
        ((128, 128), 256, 2, (384, 24, 104)),
        ((64, 128), 128, 2, (256, 24, 232)),
        ((192, 64), 384, 2, (512, 24, 72)),
        # The sums do not fit what consumers would have beside a producer.
        ((192, 128), 384, 2, (384,)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*between registers and local memory")
def test_roles(block, threads, blocks, expected):
    kernel = compile_kernel(product(*block, threads, blocks), target=TARGET)
    assert budgets(kernel) == expected
    (resources,) = kernel.explain().resources.values()
    assert len(expected) == 1 or resources["spill_bytes"] == 0, resources


def test_kept_by_the_producer():
    """Consumers are given what a producer leaves whose registers the program names."""
    assert budgets(compile_kernel(product(128, 128, 256, 0, (40,)), target=TARGET)) == (384, 40, 232)


def error_of(program):
    """The text of the error, with the file as FILE and without numbers of lines."""
    with pytest.raises(errors.TileCompileError) as caught:
        compile_kernel(program, target=TARGET)
    text = re.sub(re.escape(__file__) + r":\d+", f"{Path(__file__).name}:N", str(caught.value))
    return re.sub(r"^ \d+ \|", " N |", re.sub(r"^ +\|", "   |", text, flags=re.M), flags=re.M)


@pytest.mark.parametrize(
    ("registers", "blocks", "asked", "threads", "there"),
    [
        ((24, 240), 2, 64512, "384 threads in each of 2 blocks on a multiprocessor", 30720),
        ((24, 248), 0, 66560, "384 threads", 64512),
    ],
)
def test_too_many_for_roles(registers, blocks, asked, threads, there):
    assert error_of(product(128, 128, 256, blocks, registers)) == (
        f"test_register_budgets.py:N: error: the roles of the kernel ask for {asked} registers together, and {threads} "
        f"have {there}, so that consumers would wait for ever; ask for fewer in T.annotate_producer_reg_dealloc and "
        "T.annotate_consumer_reg_alloc [verification]\n"
        " N |         with T.Kernel(4096 // block_n, 4096 // block_m, threads=threads) as (x, y):\n"
        "   |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    )


def groups(blocks, taken):
    """Warp groups that the program names, the first of which takes registers."""

    @T.prim_func
    def kernel(c: T.Tensor((64, 2), "float32")):
        with T.Kernel(64, threads=256) as x:
            if blocks:
                T.annotate_min_blocks_per_sm(blocks)
            with T.ws(1):
                T.set_max_nreg(24, 0)
                c[x, 1] = 1.0
            with T.ws(0):
                T.set_max_nreg(taken, 1)
                c[x, 0] = 2.0

    return kernel


def test_named_groups():
    assert budgets(compile_kernel(groups(2, 232), target=TARGET)) == (256, 24, 232)
    assert budgets(compile_kernel(groups(0, 240), target=TARGET)) == (256, 24, 240)
    assert error_of(groups(2, 240)) == (
        "test_register_budgets.py:N: error: T.set_max_nreg would wait for ever: its warp groups ask for 30720 "
        "registers, others keep 3072, and 256 threads in each of 2 blocks on a multiprocessor have 32768 "
        "[verification]\n"
        " N |                 T.set_max_nreg(taken, 1)\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^^^^^"
    )
