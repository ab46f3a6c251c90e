"""A tour: layouts, rasterisation, pipelining, compiling, checking, looking, timing.

python examples/quickstart.py
"""

from __future__ import annotations

import numpy as np
import tilemlir as tile
import tilemlir.language as T
from tilemlir.layout import make_swizzled_layout


def gemm_relu(m, n, k, block_m=128, block_n=128, block_k=32):
    """C = max(A @ B, 0), with the knobs of the language turned by hand."""

    @T.prim_func
    def gemm_relu_kernel(
        a: T.Tensor((m, k), "float16"),
        b: T.Tensor((k, n), "float16"),
        c: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block_n), T.ceildiv(m, block_m), threads=128) as (column, row):
            a_tile = T.alloc_shared((block_m, block_k), "float16")
            b_tile = T.alloc_shared((block_k, block_n), "float16")
            accumulator = T.alloc_fragment((block_m, block_n), "float32")

            # 1. Shared-memory layouts: chosen by the compiler unless pinned here.
            T.annotate_layout({a_tile: make_swizzled_layout(a_tile), b_tile: make_swizzled_layout(b_tile)})
            # 2. Walk the grid in panels of 8 rows, so that operands stay in L2.
            T.use_swizzle(panel_size=8)

            T.clear(accumulator)
            # 3. Three slots per tile: loads run two steps ahead of the products.
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=3):
                T.copy(a[row * block_m, step * block_k], a_tile)
                # A copy may also be written element by element.
                for i, j in T.Parallel(block_k, block_n):
                    b_tile[i, j] = b[step * block_k + i, column * block_n + j]
                T.gemm(a_tile, b_tile, accumulator)
            for i, j in T.Parallel(block_m, block_n):
                accumulator[i, j] = T.max(accumulator[i, j], 0.0)
            T.copy(accumulator, c[row * block_m, column * block_n])

    return gemm_relu_kernel


def main() -> None:
    size = 1024
    # 4. Compile. Argument 2 is an output: the call allocates and returns it.
    kernel = tile.compile(gemm_relu(size, size, size), out_idx=[2])
    print(f"compiled for {kernel.target}")

    # 5. Run and check.
    generator = np.random.default_rng()
    a = generator.standard_normal((size, size), dtype=np.float32).astype(np.float16)
    b = generator.standard_normal((size, size), dtype=np.float32).astype(np.float16)
    reference = np.maximum(a.astype(np.float32) @ b.astype(np.float32), 0)
    if kernel.target.device == "cpu":
        result = np.asarray(kernel(a, b))
    else:
        import torch

        device_a, device_b = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        device_c = kernel(device_a, device_b)
        torch.testing.assert_close(device_c, torch.relu(device_a @ device_b), rtol=1e-2, atol=1e-2)
        result = device_c.cpu().numpy()
    error = np.linalg.norm(result.astype(np.float32) - reference) / np.linalg.norm(reference)
    print(f"relative error against float32: {error:.2e}")
    if not error < 1e-3:
        raise SystemExit("the result is wrong")

    # 6. Look at what the compiler chose and made.
    print(kernel.explain())
    source = kernel.get_kernel_source()
    print(f"{len(source.splitlines())} lines of generated code, beginning with")
    print("\n".join(source.splitlines()[:8]))

    # 7. Time it.
    milliseconds = kernel.get_profiler().do_bench()
    print(f"latency: {milliseconds:.3f} ms, {2 * size**3 / milliseconds / 1e9:.2f} TFLOP/s")


if __name__ == "__main__":
    main()
