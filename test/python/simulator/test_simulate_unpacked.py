"""Products of an operand that is unpacked in registers from narrower integers, on both generations: exact."""

import numpy as np
import pytest
import tilemlir as tile
import tilemlir.language as T

#: Bits of a number, its storage type, the type of the operands, along K.
FORMS = [
    (4, "uint8", "float16", 128),
    (4, "uint8", "bfloat16", 64),
    (4, "int32", "float16", 32),
    (8, "uint8", "float16", 64),
    (8, "int8", "float16", 64),
    (2, "uint8", "float16", 64),
    (4, "uint8", "float16", 16),
]


def product(bits, storage, dtype, k, m, n, unpack_a, threads=64):
    """C = A @ B^T, A of m x k packed if ``unpack_a``, else B of n x k; numbers are 8 or half their range too large."""
    per = 8 * np.dtype(storage).itemsize // bits
    rows, columns = (m, n) if unpack_a else (n, m)
    zero = 0 if storage == "int8" else 1 << (bits - 1)

    @T.prim_func
    def unpacked_product(
        packed: T.Tensor((rows, k // per), storage),
        other: T.Tensor((columns, k), dtype),
        c: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(1, threads=threads) as block:
            packed_tile = T.alloc_shared((rows, k // per), storage)
            other_tile = T.alloc_shared((columns, k), dtype)
            numbers = T.alloc_fragment((rows, k), dtype)
            sums = T.alloc_fragment((m, n), "float32")
            T.copy(packed[block * rows, 0], packed_tile)
            T.copy(other[block * columns, 0], other_tile)
            for i, j in T.Parallel(rows, k):
                if per == 1:
                    numbers[i, j] = T.cast(packed_tile[i, j], dtype) - zero
                else:
                    field = packed_tile[i, j // per] >> (j % per * bits) & ((1 << bits) - 1)
                    numbers[i, j] = T.cast(field, dtype) - zero
            if unpack_a:
                T.gemm(numbers, other_tile, sums, transpose_B=True, clear_accum=True)
            else:
                T.gemm(other_tile, numbers, sums, transpose_B=True, clear_accum=True)
            T.copy(sums, c)

    return unpacked_product


@pytest.mark.parametrize("unpack_a", [True, False])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_unpacked(form, arch, unpack_a):
    torch = pytest.importorskip("torch")
    bits, storage, dtype, k = form
    m, n = (64, 16) if unpack_a else (16, 32)
    kernel = tile.compile(product(*form, m, n, unpack_a), target={"kind": "simulator", "arch": arch})
    generator = np.random.default_rng()
    info = np.iinfo(storage)
    per = 8 * np.dtype(storage).itemsize // bits
    rows, columns = (m, n) if unpack_a else (n, m)
    words = generator.integers(info.min, info.max, (rows, k // per), dtype=storage, endpoint=True)
    other = generator.integers(-4, 5, (columns, k))
    if per == 1:
        numbers = words.astype(np.int64)
    else:
        fields = [words.astype(np.int64) >> bits * i & (1 << bits) - 1 for i in range(per)]
        numbers = np.stack(fields, 2).reshape(rows, k)
    if storage != "int8":
        numbers = numbers - (1 << (bits - 1))
    c = torch.full((m, n), torch.nan)
    kernel(torch.from_numpy(words), torch.from_numpy(other).to(getattr(torch, dtype)), c)
    wanted = numbers @ other.T if unpack_a else other @ numbers.T
    np.testing.assert_array_equal(c.numpy(), wanted.astype(np.float32))
    run = dict(next(op for op in kernel.explain().to_dict()["operations"] if op["op"] == "gemm")["arguments"])
    assert run["run"] == min(16, k // 4)
