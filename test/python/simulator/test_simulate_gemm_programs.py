"""The GEMM programs of the benchmarks in the simulator: exact, and free of races, missing fences and deadlocks."""

import numpy as np
import pytest
import tilemlir as tile
from gemm_program_cases import programs

TARGET = {"kind": "cuda", "arch": "sm_90a"}

CASES = {
    "decode": ("tile_matmul", (16, 72, 264), {"block_m": 16, "block_n": 64, "block_k": 128, "swap": True}, 128),
    "24 rows": (
        "tile_matmul",
        (20, 72, 136),
        {"block_m": 24, "block_n": 64, "block_k": 128, "swap": True},
        128,
    ),
    "three warp groups": ("tile_matmul", (96, 200, 136), {"block_m": 96, "block_n": 192, "swap": True}, 384),
    "many sums": ("tile_matmul", (176, 264, 136), {"block_m": 176, "block_n": 256, "swap": True}, 256),
    "one group": ("tile_matmul", (72, 128, 136), {"block_m": 64, "block_n": 128}, 128),
    "cluster of 8": ("tile_matmul", (144, 512, 136), {"block_m": 144, "block_n": 64, "cluster": (1, 8)}, 128),
    "cluster of 2": ("tile_matmul", (128, 200, 136), {"block_m": 64, "block_n": 192, "cluster": (2, 1)}, 384),
    "split 2": ("split_matmul", (136, 200, 520), {"block_m": 128, "block_n": 128, "splits": 2}, 256),
    "split 4": ("split_matmul", (128, 64, 512), {"block_m": 128, "block_n": 64, "splits": 4}, 256),
}


@pytest.mark.parametrize("layout", ["kn", "nk"])
@pytest.mark.parametrize("case", CASES)
def test_program(case, layout):
    name, (m, n, k), config, threads = CASES[case]
    if "cluster" in config:
        config = config | {"swap": True, "rows_first": False}
    program = getattr(programs, name)(m, n, k, layout=layout, num_stages=2, threads=threads, **config)
    kernel = tile.compile(program, target=TARGET)
    generator = np.random.default_rng()
    a = generator.integers(-3, 4, (m, k)).astype(np.float16)
    b = generator.integers(-3, 4, (k, n)).astype(np.float16)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    kernel.simulate(a, b if layout == "kn" else np.ascontiguousarray(b.T), c, seed=int(generator.integers(1 << 30)))
    np.testing.assert_array_equal(c, expected)
