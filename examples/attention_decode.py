"""Attention of one query over a long cache: parts of the cache in different blocks, then one result from the parts.

python examples/attention_decode.py
python examples/attention_decode.py --length 999 --splits 5 --dim 80
python examples/attention_decode.py --target sm_90a       # cross-compile
"""

from __future__ import annotations

import argparse

import tilemlir as tile
import tilemlir.language as T
import torch


def attention_decode(batch, heads, groups, length, dim, splits, block_n=64, num_stages=2, threads=128):
    """One query per sequence, (batch, heads, dim), over keys (batch, length, groups, dim), float16.

    Heads that share a key head are rows of a tile. A second kernel weighs the parts by the sums of their weights.
    """
    share, steps = heads // groups, -(-length // block_n)  # block `split` takes every `splits`-th step
    rows = max(16, share)  # the fewest rows of a matrix instruction
    scale = dim**-0.5 * 1.44269504

    @T.prim_func
    def attention_decode_kernel(
        q: T.Tensor((batch, heads, dim), "float16"),
        k: T.Tensor((batch, length, groups, dim), "float16"),
        v: T.Tensor((batch, length, groups, dim), "float16"),
        out: T.Tensor((batch, heads, dim), "float16"),
    ):
        parts = T.alloc_global((batch, heads, splits, dim), "float32")
        sums = T.alloc_global((batch, heads, splits), "float32")
        with T.Kernel(groups, splits, batch, threads=threads) as (group, split, sequence):
            q_tile = T.alloc_shared((rows, dim), "float16")
            k_tile, v_tile = T.alloc_shared((block_n, dim), "float16"), T.alloc_shared((block_n, dim), "float16")
            scores = T.alloc_fragment((rows, block_n), "float32")
            weights = T.alloc_fragment((rows, block_n), "float16")
            result = T.alloc_fragment((rows, dim), "float32")
            top, before = T.alloc_fragment((rows,), "float32"), T.alloc_fragment((rows,), "float32")
            running, total = T.alloc_fragment((rows, block_n), "float32"), T.alloc_fragment((rows,), "float32")
            T.copy(q[sequence, group * share : group * share + rows, 0:dim], q_tile)
            T.clear(result)
            T.clear(running)
            T.fill(top, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(T.max(steps - split, 0), splits), num_stages=num_stages):
                at = (step * splits + split) * block_n
                T.copy(k[sequence, at : at + block_n, group, 0:dim], k_tile)
                T.gemm(q_tile, k_tile, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullCol)
                for i, j in T.Parallel(rows, block_n):
                    scores[i, j] = T.if_then_else(at + j < length, scores[i, j] * scale, -T.infinity("float32"))
                T.copy(top, before)
                T.reduce_max(scores, top, dim=1, clear=False)
                for i in T.Parallel(rows):
                    before[i] = T.exp2(before[i] - top[i])
                for i, j in T.Parallel(rows, block_n):
                    weights[i, j] = T.exp2(scores[i, j] - top[i])
                    running[i, j] = running[i, j] * before[i] + weights[i, j]  # warps add up behind the loop
                for i, j in T.Parallel(rows, dim):
                    result[i, j] *= before[i]
                T.copy(v[sequence, at : at + block_n, group, 0:dim], v_tile)
                T.gemm(weights, v_tile, result, policy=T.GemmWarpPolicy.FullCol)
            T.reduce_sum(running, total, dim=1)
            for i, j in T.Parallel(share, dim):
                parts[sequence, group * share + i, split, j] = T.if_then_else(split < steps, result[i, j] / total[i], 0)
            for i in T.Parallel(share):
                sums[sequence, group * share + i, split] = T.log2(total[i]) + top[i]

        with T.Kernel(heads, batch, threads=threads) as (head, sequence):
            held, mixed = T.alloc_fragment((splits, dim), "float32"), T.alloc_fragment((dim,), "float32")
            weight = T.alloc_fragment((splits,), "float32")
            largest, whole = T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            T.pdl_sync()  # launched before the parts are there
            T.copy(parts[sequence, head, :, :], held)
            T.copy(sums[sequence, head, :], weight)
            T.reduce_max(weight, largest, dim=0)
            for i in T.Parallel(splits):
                weight[i] = T.exp2(weight[i] - largest[0])
            T.reduce_sum(weight, whole, dim=0)
            for i, j in T.Parallel(splits, dim):
                held[i, j] *= weight[i]
            T.reduce_sum(held, mixed, dim=0)
            for j in T.Parallel(dim):
                out[sequence, head, j] = mixed[j] / whole[0]

    return attention_decode_kernel


def check(kernel: tile.CompiledKernel, batch: int, heads: int, groups: int, length: int, dim: int) -> float:
    """Relative error (Frobenius norm) on random tensors, against float64."""
    device = kernel.target.device
    q = torch.randn(batch, heads, dim, dtype=torch.float16, device=device)
    k, v = (torch.randn(batch, length, groups, dim, dtype=torch.float16, device=device) for _ in range(2))
    out = torch.full_like(q, torch.nan)
    kernel(q, k, v, out)
    k, v = (x.double().repeat_interleave(heads // groups, 2) for x in (k, v))
    weights = (torch.einsum("bhd,bjhd->bhj", q.double(), k) * dim**-0.5).softmax(-1)
    reference = torch.einsum("bhj,bjhd->bhd", weights, v)
    return float((out.double() - reference).norm() / reference.norm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in {"batch": 2, "heads": 8, "groups": 2, "length": 1000, "dim": 64, "splits": 4}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--target", default=None, help="cpu, sm_80 ... sm_100a; default: what this machine has")
    *sizes, splits, target = vars(parser.parse_args()).values()
    kernel = tile.compile(attention_decode(*sizes, splits), target=target)
    print("decoding, batch {}, {} heads over {}, {} keys of {}; target:".format(*sizes), kernel.target)
    if not kernel.can_run:
        print("compiled only: this machine does not run that target")
        return
    print(f"relative error {(error := check(kernel, *sizes)):.2e}")
    if not error < 1e-3:
        raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
