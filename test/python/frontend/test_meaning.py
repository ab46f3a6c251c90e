"""What traced programs compute, on a plain interpreter and on the CPU target, against NumPy and plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tilemlir.language as T
from interpreter import interpret
from tilemlir.frontend import trace

pytestmark = pytest.mark.usefixtures("executor")


def test_gemm_with_edges():
    M, N, K = 20, 13, 17

    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, 8), T.ceildiv(M, 16)) as (bx, by):
            a = T.alloc_shared((16, 8), "float16")
            b = T.alloc_shared((8, 8), "float16")
            c = T.alloc_fragment((16, 8), "float")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 8), num_stages=2):
                T.copy(A[by * 16, k * 8], a)
                for j, i in T.Parallel(8, 8):
                    b[j, i] = B[bx * 8 + j, k * 8 + i]
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * 16, bx * 8])

    generator = np.random.default_rng()
    a = generator.standard_normal((M, K)).astype(np.float16)
    b = generator.standard_normal((N, K)).astype(np.float16)
    c = np.full((M, N), np.nan, np.float16)
    interpret(trace(kernel), a, b, c)
    reference = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.linalg.norm(c - reference) / np.linalg.norm(reference) < 1e-3


@pytest.mark.parametrize(("block_m", "block_n"), [(8, 8), (4, 8), (8, 4)])
def test_causal_attention_with_element_copies(block_m, block_n):
    batch, heads, seq, dim = 1, 2, 16, 4
    shape, scale = (batch, seq, heads, dim), dim**-0.5 * 1.44269504

    @T.prim_func
    def kernel(
        Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"),
        Out: T.Tensor(shape, "float16"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(seq, block_m), heads, batch) as (bx, by, bz):
            q = T.alloc_shared((block_m, dim), "float16")
            k = T.alloc_shared((block_n, dim), "float16")
            v = T.alloc_shared((block_n, dim), "float16")
            s = T.alloc_fragment((block_m, block_n), "float")
            p = T.alloc_fragment((block_m, block_n), "float16")
            acc = T.alloc_fragment((block_m, dim), "float")
            top, total, old = (T.alloc_fragment((block_m,), "float") for _ in range(3))
            T.copy(Q[bz, bx * block_m, by, 0], q)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity(s.dtype))
            for ko in T.Pipelined(T.ceildiv((bx + 1) * block_m, block_n), num_stages=2):
                T.copy(K[bz, ko * block_n, by, 0], k)
                T.copy(V[bz, ko * block_n, by, 0], v)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(block_m, block_n):
                    s[i, j] = T.if_then_else(
                        bx * block_m + i >= ko * block_n + j, s[i, j] * scale, -T.infinity(s.dtype)
                    )
                T.copy(top, old)
                T.reduce_max(s, top, dim=1, clear=False)
                for i in T.Parallel(block_m):
                    total[i] *= T.exp2(old[i] - top[i])
                for i, j in T.Parallel(block_m, dim):
                    acc[i, j] *= T.exp2(old[i] - top[i])
                for i, j in T.Parallel(block_m, block_n):
                    p[i, j] = T.exp2(s[i, j] - top[i])
                T.reduce_sum(p, total, dim=1, clear=False)
                T.gemm(p, v, acc)
            for i, j in T.Parallel(block_m, dim):
                acc[i, j] /= total[i]
            T.copy(acc, Out[bz, bx * block_m, by, 0])

    generator = np.random.default_rng()
    q, k, v = (generator.standard_normal(shape).astype(np.float16) for _ in range(3))
    out = np.full(shape, np.nan, np.float16)
    interpret(trace(kernel), q, k, v, out)
    scores = np.einsum("bihd,bjhd->bhij", q.astype(np.float64), k.astype(np.float64)) * dim**-0.5
    scores = np.where(np.tri(seq, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    reference = np.einsum("bhij,bjhd->bihd", weights, v.astype(np.float64))
    assert np.linalg.norm(out - reference) / np.linalg.norm(reference) < 2e-3


def control_flow(values, limit, write):
    """Python control flow of every kind; ``write(i, x)`` stores a result."""
    total = 0
    steps = 0
    for i in range(len(values)):
        x = values[i]
        if x < 0:
            continue
        if total > limit and i % 3 == 1:
            break
        if (x % 2 == 0 and not x == 4) or x in (3, 9):
            total += x
        elif 5 <= x < 8:
            total -= 1
            if x == 7:
                continue
            total *= 2
        else:
            y = x // 2 if x > 0 else -1
            total = total + y
        write(i, total)
        steps = i
    n = total
    while n > 1 and steps < 40:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps == 17:
            break
    for i in range(6, -1, -2):
        n = n * 3 - i
        if n % 7 == 0:
            break
    return n, steps, total


def test_control_flow_means_what_python_means():
    @T.prim_func
    def kernel(A: T.Tensor((24,), "int32"), B: T.Tensor((24,), "int32"), R: T.Tensor((3,), "int32"), limit: T.int32):
        with T.Kernel(1) as bx:
            total = 0
            steps = 0
            for i in range(24):
                x = A[i]
                if x < 0:
                    continue
                if total > limit and i % 3 == 1:
                    break
                if (x % 2 == 0 and not x == 4) or x in (3, 9):
                    total += x
                elif 5 <= x < 8:
                    total -= 1
                    if x == 7:
                        continue
                    total *= 2
                else:
                    y = x // 2 if x > 0 else -1
                    total = total + y
                B[i] = total
                steps = i
            n = total
            while n > 1 and steps < 40:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
                if steps == 17:
                    break
            for i in range(6, -1, -2):
                n = n * 3 - i
                if n % 7 == 0:
                    break
            R[0], R[1], R[2] = n, steps, total

    traced = trace(kernel)
    generator = np.random.default_rng()
    for limit in (0, 5, 20, 1000):
        for _ in range(4):
            a = generator.integers(-3, 12, 24).astype(np.int32)
            b, expected = np.full(24, -77, np.int32), np.full(24, -77, np.int32)
            r = np.zeros(3, np.int32)
            interpret(traced, a, b, r, limit)
            result = control_flow([int(x) for x in a], limit, expected.__setitem__)
            assert list(r) == list(result)
            assert list(b) == list(expected)


def test_break_and_continue_of_unrolled_loops():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), R: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            total = 0
            for i in [0, 1, 2, 3, 4, 5, 6, 7]:
                if i == 6:
                    break
                if A[i] == n:
                    continue
                if A[i] > 8:
                    break
                total += A[i]
                R[i] = total

    traced = trace(kernel)
    generator = np.random.default_rng()
    for _ in range(20):
        a = generator.integers(0, 10, 8).astype(np.int32)
        r, expected, total = np.zeros(8, np.int32), np.zeros(8, np.int32), 0
        interpret(traced, a, r, 3)
        for i in range(6):
            if a[i] == 3:
                continue
            if a[i] > 8:
                break
            total += a[i]
            expected[i] = total
        assert list(r) == list(expected)


def test_conditions_guard_accesses():
    """The interpreter refuses buffer accesses outside: the guards must really guard."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), R: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((8,), "int32")
            T.copy(A, s)
            for i in T.Parallel(8):
                R[i] = s[i - 1] if i > 0 else -1
                if i < 7 and s[i + 1] > 3:
                    R[i] += 100
                if i == 0 or s[i - 1] < 5:
                    R[i] += 1000
                R[i] += T.if_then_else(i + n < 8, s[i + n], 10000)

    a = np.array([5, 1, 9, 3, 4, 8, 2, 7], np.int32)
    for n in (0, 1, 5):
        r = np.zeros(8, np.int32)
        interpret(trace(kernel), a, r, n)
        for i in range(8):
            expected = a[i - 1] if i > 0 else -1
            expected += 100 if i < 7 and a[i + 1] > 3 else 0
            expected += 1000 if i == 0 or a[i - 1] < 5 else 0
            expected += a[i + n] if i + n < 8 else 10000
            assert r[i] == expected, i


OPERATORS = ["+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "==", "!="]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint32"])
@pytest.mark.parametrize("sign", OPERATORS)
def test_integer_operators(dtype, sign):
    out = "int64" if sign not in ("<", "<=", "==", "!=") else "bool"
    apply = eval(f"lambda a, b: a {sign} b")

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), B: T.Tensor((64,), dtype), R: T.Tensor((64,), out)):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                R[i] = apply(A[i], B[i])

    low, high = (0, 9) if dtype.startswith("u") else (-9, 9)
    generator = np.random.default_rng()
    a, b = (generator.integers(low, high, 64).astype(dtype) for _ in range(2))
    b[b == 0] = 2
    if sign == "-" and dtype.startswith("u"):
        a, b = np.maximum(a, b), np.minimum(a, b)
    r = np.zeros(64, out)
    interpret(trace(kernel), a, b, r)
    assert list(r) == [apply(int(x), int(y)) for x, y in zip(a, b, strict=True)]


def test_large_unsigned_values():
    @T.prim_func
    def kernel(
        A: T.Tensor((4,), "uint32"),
        B: T.Tensor((4,), "uint8"),
        R: T.Tensor((12,), "uint32"),
        F: T.Tensor((2,), "float64"),
    ):
        with T.Kernel(1) as bx:
            a = A[0]
            R[0] = a // 3
            R[1] = a % 10
            R[2] = a >> 28
            R[3] = T.max(a, 5)
            R[4] = T.if_then_else(a > 7, 1, 2)
            R[5] = B[0] + 1
            R[6] = T.cast(B[0], "int32") << 4
            R[7] = a & 0xFFFF0000
            R[8] = T.reinterpret(T.cast(-1, "int32"), "uint32")
            F[0] = a
            F[1] = B[0] * 2

    a, b = np.full(4, 0xF0000005, np.uint32), np.full(4, 255, np.uint8)
    r, f = np.zeros(12, np.uint32), np.zeros(2, np.float64)
    interpret(trace(kernel), a, b, r, f)
    value = 0xF0000005
    assert list(r[:9]) == [value // 3, value % 10, 15, value, 1, 256, 255 << 4, 0xF0000000, 0xFFFFFFFF]
    assert list(f) == [value, 510]


@pytest.mark.parametrize(("rows", "columns", "group"), [(8, 8, 8), (5, 7, 3), (1, 9, 8), (9, 1, 4), (6, 6, 1)])
def test_persistent_visits_every_tile_once(rows, columns, group):
    @T.prim_func
    def kernel(R: T.Tensor((rows, columns), "int32")):
        with T.Kernel(5) as worker:
            for y, x in T.Persistent([rows, columns], 5, worker, group_size=group):
                R[y, x] += 1

    r = np.zeros((rows, columns), np.int32)
    interpret(trace(kernel), r)
    assert (r == 1).all()


def test_wide_indices():
    @T.prim_func
    def kernel(I: T.Tensor((5,), "int64"), A: T.Tensor((8,), "int32"), R: T.Tensor((5,), "int32")):
        with T.Kernel(1) as bx:
            for i in T.Parallel(5):
                R[i] = A[I[i]]

    indices = np.array([0, 7, 1 << 33, -1, -(1 << 40)], np.int64)
    r = np.full(5, -1, np.int32)
    interpret(trace(kernel), indices, np.arange(10, 18, dtype=np.int32), r)
    assert list(r) == [10, 17, 0, 0, 0]


def test_floor_semantics_of_floats_and_constants():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32"), R: T.Tensor((6,), "float32"), n: T.int32):
        with T.Kernel(1) as bx:
            R[0] = A[0] // 2.0
            R[1] = A[0] % 2.0
            R[2] = T.fmod(A[0], 2.0)
            R[3] = (n - 10) // 4
            R[4] = (n - 10) % 4
            R[5] = T.truncmod(n - 10, 4)

    r = np.zeros(6, np.float32)
    interpret(trace(kernel), np.full(4, -3.5, np.float32), r, 3)
    assert list(r) == [-3.5 // 2.0, -3.5 % 2.0, -1.5, -7 // 4, -7 % 4, -3]


def test_macros_and_references():
    @T.macro
    def push(counter: T.Ref, out, value):
        out[counter] = value
        counter += 1

    @T.macro
    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            c = a + b
            a = b
            b = c
        return a

    @T.prim_func
    def kernel(R: T.Tensor((8,), "int32"), C: T.Tensor((1,), "int32"), n: T.int32):
        with T.Kernel(1) as bx:
            count = T.alloc_var("int32", init=0)
            for k in range(4):
                push(count, R, k * 10 + n)
            push(C[0], R, fibonacci(n))
            R[7] = count

    r, c = np.zeros(8, np.int32), np.full(1, 5, np.int32)
    interpret(trace(kernel), r, c, 7)
    assert list(r) == [7, 17, 27, 37, 0, 13, 0, 4] and c[0] == 6


def test_views_and_bit_patterns():
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "float32"), R: T.Tensor((4, 8), "int32")):
        with T.Kernel(1) as bx:
            s = T.alloc_shared((2, 4, 8), "float32")
            T.clear(s)
            T.copy(A, s[1, :, :])
            flat = T.reshape(s, (8, 8))
            for i, j in T.Parallel(4, 8):
                R[i, j] = T.reinterpret(flat[i + 4, j], "int32")

    a = np.random.default_rng().standard_normal((4, 8)).astype(np.float32)
    r = np.zeros((4, 8), np.int32)
    interpret(trace(kernel), a, r)
    assert (r == a.view(np.int32)).all()


def test_dynamic_sizes_and_edges():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 12), "float32"), B: T.Tensor((M, 12), "float32")):
        with T.Kernel(T.ceildiv(M, 8)) as bx:
            s = T.alloc_shared((8, 16), "float32")
            T.annotate_safe_value({A: 5.0})
            T.copy(A[bx * 8, 0], s)
            for i, j in T.Parallel(8, 16):
                s[i, j] = s[i, j] + s[i, 15]
            T.copy(s, B[bx * 8, 0])

    traced = trace(kernel)
    for rows in (0, 1, 8, 21):
        a = np.random.default_rng().standard_normal((rows, 12)).astype(np.float32)
        b = np.full((rows, 12), np.nan, np.float32)
        interpret(traced, a, b)
        assert (b == a + np.float32(5)).all()


@pytest.mark.parametrize("space", ["shared", "fragment"])
@pytest.mark.parametrize(("dim", "reverse"), [(0, False), (1, False), (-1, True), (0, True)])
def test_scans(space, dim, reverse):
    @T.prim_func
    def kernel(A: T.Tensor((5, 7), "float32"), S: T.Tensor((5, 7), "float32"), X: T.Tensor((5, 7), "float32")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((5, 7), "float32") if space == "shared" else T.alloc_fragment((5, 7), "float32")
            b = T.alloc_fragment((5, 7), "float32")
            T.copy(A, a)
            T.cummax(a, b, dim=dim, reverse=reverse)
            T.cumsum(a, dim=dim, reverse=reverse)
            T.copy(a, S)
            T.copy(b, X)

    a = np.random.default_rng().integers(-9, 9, (5, 7)).astype(np.float32)
    s, x = np.zeros_like(a), np.zeros_like(a)
    interpret(trace(kernel), a, s, x)
    turned = np.flip(a, dim) if reverse else a
    sums, tops = np.cumsum(turned, dim), np.maximum.accumulate(turned, dim)
    assert (s == (np.flip(sums, dim) if reverse else sums)).all()
    assert (x == (np.flip(tops, dim) if reverse else tops)).all()


def test_scan_of_a_vector_and_transposition():
    @T.prim_func
    def kernel(A: T.Tensor((9,), "int32"), B: T.Tensor((3, 5), "int32"), C: T.Tensor((5, 3), "int32")):
        with T.Kernel(1) as bx:
            a = T.alloc_shared((9,), "int32")
            T.copy(A, a)
            T.cumsum(a)
            T.copy(a, A)
            b, c = T.alloc_shared((3, 5), "int32"), T.alloc_shared((5, 3), "int32")
            T.copy(B, b)
            T.transpose(b, c)
            T.copy(c, C)

    a = np.arange(9, dtype=np.int32)
    b, c = np.arange(15, dtype=np.int32).reshape(3, 5), np.zeros((5, 3), np.int32)
    interpret(trace(kernel), a, b, c)
    assert list(a) == list(np.cumsum(np.arange(9))) and (c == b.T).all()


@pytest.mark.parametrize(
    ("base", "shape", "tile"),
    [
        ((2, 3, 4, 8), (24, 8), (7, 8)),
        ((24, 8), (2, 3, 4, 8), (1, 3, 5, 8)),
        ((6, 4), (24,), (16,)),
        ((24,), (6, 4), (4, 4)),
        ((4, 6), (6, 4), (4, 4)),
        ((5, 1, 8), (5, 8), (3, 8)),
        ((5, 8), (1, 5, 1, 8), (1, 3, 1, 8)),
    ],
)
def test_views_of_tensors(base, shape, tile):
    blocks = [-(-extent // size) for extent, size in zip(shape, tile, strict=True)]
    count = int(np.prod(blocks))

    @T.prim_func
    def kernel(A: T.Tensor(base, "int32"), B: T.Tensor(base, "int32"), S: T.Tensor((4,), "int32")):
        a, b = T.reshape(A, shape), T.Tensor(shape, "int32", B.data)
        with T.Kernel(count) as bx:
            s = T.alloc_shared(tile, "int32")
            start = [bx // int(np.prod(blocks[d + 1 :])) % blocks[d] * tile[d] for d in range(len(tile))]
            T.copy(a[tuple(start)], s)
            T.copy(s, b[tuple(start)])
            S[0] = a[tuple(0 for _ in shape)]

    a = np.random.default_rng().integers(1, 99, base).astype(np.int32)
    b, s = np.zeros(base, np.int32), np.zeros(4, np.int32)
    interpret(trace(kernel), a, b, s)
    assert (a == b).all() and s[0] == a.flat[0]


def test_view_with_launch_time_extents():
    B = T.dynamic("B")

    @T.prim_func
    def kernel(A: T.Tensor((B, 3, 4), "int32"), R: T.Tensor((B, 3, 4), "int32")):
        with T.Kernel(B) as bx:
            rows, out = T.reshape(A, (B * 3, 4)), T.view(R, (B * 3, 4))
            for i, j in T.Parallel(3, 5):
                out[bx * 3 + i, j] = rows[bx * 3 + i, j] + 1

    a = np.random.default_rng().integers(1, 99, (5, 3, 4)).astype(np.int32)
    r = np.zeros_like(a)
    interpret(trace(kernel), a, r)
    assert (r == a + 1).all()


def test_atomics_convert_and_combine():
    @T.prim_func
    def kernel(
        C: T.Tensor((8, 8), "float16"),
        H: T.Tensor((4,), "int32"),
        M: T.Tensor((1,), "uint32"),
        I: T.Tensor((32,), "uint8"),
    ):
        with T.Kernel(3) as bx:
            tile = T.alloc_fragment((8, 8), "float32")
            for i, j in T.Parallel(8, 8):
                tile[i, j] = i * 8 + j + bx
            T.atomic_add(C[0, 0], tile)
            for i in T.Parallel(32):
                T.atomic_add(H[I[i]], 1)
                T.atomic_max(M[0], I[i] + 0x80000000)

    c, h, m = np.zeros((8, 8), np.float16), np.zeros(4, np.int32), np.zeros(1, np.uint32)
    indices = np.random.default_rng().integers(0, 4, 32).astype(np.uint8)
    interpret(trace(kernel), c, h, m, indices)
    assert (c == np.arange(64).reshape(8, 8) * 3 + 3).all()
    assert list(h) == [3 * int((indices == k).sum()) for k in range(4)]
    assert m[0] == 0x80000000 + int(indices.max())


def test_two_kernels_share_a_workspace():
    M = T.dynamic("M")

    @T.prim_func
    def kernel(A: T.Tensor((M, 12), "float32"), S: T.Tensor((M,), "float32"), n: T.int32):
        partial = T.alloc_global((M, 3), "float32")
        with T.Kernel(3, M) as (bx, by):
            x, s = T.alloc_fragment((4,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(A[by, bx * 4], x)
            T.reduce_sum(x, s, dim=0)
            partial[by, bx] = s[0]
        with T.Kernel(T.ceildiv(M, 4)) as bx:
            for i in T.Parallel(4):
                total = T.alloc_var("float32", init=0.0)
                for k in T.serial(T.min(n, 3)):
                    total += partial[bx * 4 + i, k]
                S[bx * 4 + i] = total

    for rows, n in ((5, 3), (1, 9), (8, 2), (0, 3)):
        a = np.random.default_rng().integers(-9, 9, (rows, 12)).astype(np.float32)
        s = np.full(rows, np.nan, np.float32)
        interpret(trace(kernel), a, s, n)
        assert (s == a[:, : 4 * min(n, 3)].sum(1)).all()


def test_workspace_of_a_size_computed_on_the_host():
    @T.prim_func
    def kernel(S: T.Tensor((1,), "int32"), n: T.int32):
        partial = T.alloc_global((n, T.max(n - 2, 1)), "int32")
        with T.Kernel(n, T.max(n - 2, 1)) as (bx, by):
            partial[bx, by] = bx * 10 + by
        with T.Kernel(1):
            total = T.alloc_var("int32", init=0)
            for i in T.serial(n + 1):  # one row more than there is: zeros
                for j in T.serial(n):
                    total += partial[i, j]
            S[0] = total

    for n in (1, 2, 7):
        s = np.full(1, -1, np.int32)
        interpret(trace(kernel), s, n)
        assert s[0] == sum(i * 10 + j for i in range(n) for j in range(max(n - 2, 1)))


def test_strided_tensors():
    R, C = T.dynamic("R, C")

    @T.prim_func
    def kernel(A: T.StridedTensor((6, 5), (R, C), "int32"), B: T.Tensor((6, 5), "int32")):
        with T.Kernel(2) as bx:
            s = T.alloc_shared((4, 8), "int32")
            T.copy(A[bx * 4, 0], s)
            T.copy(s, B[bx * 4, 0])

    traced = trace(kernel)
    base = np.random.default_rng().integers(0, 99, (20, 20)).astype(np.int32)
    for a in (base[:6, :5], base[:5, :6].T, base[1:13:2, 3:18:3], base[6:0:-1, :5]):
        b = np.zeros((6, 5), np.int32)
        interpret(traced, a, b)
        assert (a == b).all()


def test_order_of_reads_and_writes():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32"), R: T.Tensor((8,), "int32")):
        with T.Kernel(1) as bx:
            v = T.alloc_var("int32", init=1)
            before = v
            v += A[0]
            pair = (v, A[1])
            v = 100
            A[1] = 50
            R[0], R[1], R[2], R[3] = before, pair[0], pair[1], v
            A[0], A[1] = A[1], A[0]
            R[4], R[5] = A[0], A[1]
            v, w = v + 1, v
            R[6], R[7] = v, w

    a, r = np.array([7, 8, 0, 0, 0, 0, 0, 0], np.int32), np.zeros(8, np.int32)
    interpret(trace(kernel), a, r)
    assert list(r) == [1, 8, 8, 100, 50, 7, 101, 100]


FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: 10.0**x, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor, "ceil": np.ceil,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "nearbyint": np.rint, "trunc": np.trunc,
    "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "abs": np.abs,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "erf": np.vectorize(math.erf),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_math_functions(name, dtype):
    out = "bool" if name.startswith("is") else dtype

    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), R: T.Tensor((64,), out)):
        with T.Kernel(1) as bx:
            for i in T.Parallel(64):
                R[i] = getattr(T, name)(A[i])

    a = np.random.default_rng().uniform(-3, 3, 64).astype(dtype)
    a[:6] = [0.5, -0.5, 1.5, 2.5, -2.5, 0]
    if name.startswith("is"):
        a[:4] = [np.nan, np.inf, -np.inf, 0]
    if name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt"):
        a = np.abs(a) + np.asarray(0.125, dtype)
    r = np.zeros(64, out)
    interpret(trace(kernel), a, r)
    with np.errstate(all="ignore"):
        reference = FUNCTIONS[name](a.astype(np.float64))
    if out == "bool":
        assert (r == reference).all()
    else:
        np.testing.assert_allclose(
            r.astype(np.float64), reference, rtol=2e-3 if dtype == "float16" else 3e-6, atol=1e-6
        )
