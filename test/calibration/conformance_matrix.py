"""Conformance cases of matrix instructions of a warp: mma.sync, ldmatrix, stmatrix, movmatrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conformance import Case
from conformance_inputs import FORMATS, below, edges, encode, moderate, random_bits, unsigned, width

_ARENA = "  mov.u64 %d1, arena;\n  cvta.to.shared.u64 %d1, %d1;\n  cvt.u32.u64 %r1, %d1;\n"

#: What the elements of matrices are in one instance: (name, operands, accumulators).
FAMILIES = (
    ("whole", "no"), ("whole", "whole"), ("span 2", "no"), ("span 2", "span 4"), ("span 2", "span 12"),
    ("span 6", "no"), ("span 6", "span 12"), ("span 6", "span 12"), ("span 12", "no"), ("span 12", "span 24"),
    ("span 12", "span 12"), ("span 30", "no"), ("span 30", "span 60"), ("edges", "no"), ("edges", "edges"),
    ("tiny", "tiny"), ("cancel", "no"), ("cancel", "no"), ("cancel", "span 12"),
)  # fmt: skip


def elements(name: str, kind: str, count: int, family: str) -> np.ndarray:
    """Bit patterns of matrix elements.

    Args:
        name: of the stream.
        kind: element type.
        count: of elements.
        family: `whole` (small integers), `span N` (exponents within N of that of 1), `edges`, `tiny` (the lower end of
            the range of exponents), `no` (zeros), `ones`, `cancel` (large numbers of both signs among small ones: with
            `ones` as the other operand the large ones often cancel, and what is left of the small ones tells how many
            bits were kept and which elements are summed at once).
    """
    if family == "no":
        return np.zeros(count, unsigned(width(kind)))
    if kind in FORMATS:
        bits, exponent_bits, mantissa_bits = FORMATS[kind]
        if family == "whole":
            return encode(below(name, count, 15) - 7.0, kind)
        if family == "ones":
            return encode(np.ones(count), kind)
        if family == "cancel":
            top, low = (7, -6) if kind == "e4m3" else (12, -13)
            small = encode(2.0 ** (below(name + " small", count, -low) + low), kind)
            odd = random_bits(name, count, bits) & small.dtype.type(
                (1 << (23 if kind == "tf32" else mantissa_bits)) - 1
            )
            signs = (random_bits(name + " signs", count, 8) & np.uint8(1)).astype(small.dtype) << small.dtype.type(
                bits - 1
            )
            large = encode(np.full(count, 2.0**top), kind)
            pick = below(name + " pick", count, 4) == 0
            return (np.where(pick, large, small | odd) | signs).astype(small.dtype)
        if family == "edges":
            table = edges("f32" if kind == "tf32" else kind)
            near = moderate(name + " near", count, kind, 4)
            rare = below(name + " rare", count, 12) == 0
            return np.where(rare, table[below(name, count, len(table))], near).astype(near.dtype)
        if family == "tiny":
            mantissa_bits = 23 if kind == "tf32" else mantissa_bits
            raw = random_bits(name, count, bits)
            low = raw & raw.dtype.type((4 << mantissa_bits) - 1) if exponent_bits > 2 else raw
            if exponent_bits == 8:  # products of two such must not vanish altogether
                low = low + raw.dtype.type(((1 << 7) - 1 - 64) << mantissa_bits)
            return (low | (raw & raw.dtype.type(1 << (bits - 1)))).astype(raw.dtype)
        return moderate(name, count, kind, int(family.split()[1]), short=False)
    raw = random_bits(name, count, width(kind))
    if family == "edges":
        return edges(kind)[below(name, count, len(edges(kind)))]
    if family == "whole" and width(kind) == 32:
        return (raw.view(np.int32) >> np.int32(12)).view(np.uint32)
    return raw


#: shape, type of D and C, of A, of B, suffix.
PRODUCTS = (
    ("m16n8k8", "f32", "f16", "f16"), ("m16n8k8", "f16", "f16", "f16"), ("m16n8k16", "f32", "f16", "f16"),
    ("m16n8k16", "f16", "f16", "f16"), ("m16n8k8", "f32", "bf16", "bf16"), ("m16n8k16", "f32", "bf16", "bf16"),
    ("m16n8k4", "f32", "tf32", "tf32"), ("m16n8k8", "f32", "tf32", "tf32"), ("m16n8k32", "f32", "e4m3", "e4m3"),
    ("m16n8k32", "f32", "e4m3", "e5m2"), ("m16n8k32", "f32", "e5m2", "e4m3"), ("m16n8k32", "f32", "e5m2", "e5m2"),
    ("m8n8k4", "f64", "f64", "f64"), ("m16n8k4", "f64", "f64", "f64"), ("m16n8k8", "f64", "f64", "f64"),
    ("m16n8k16", "f64", "f64", "f64"),
    *[(f"m16n8k{k}", "s32", a, b) for k in (16, 32) for a in ("s8", "u8") for b in ("s8", "u8")],
)  # fmt: skip


def _product(shape: str, sums: str, a: str, b: str, saturate: bool) -> Case:
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    bits = 64 if a == "f64" else 32
    per, per_sum = bits // width(a), bits // width(sums)
    counts = (m * k // 32 // per, n * k // 32 // per, m * n // 32 // per_sum)
    mnemonic = f"mma.sync.aligned.{shape}.row.col.{'satfinite.' if saturate else ''}{sums}.{a}.{b}.{sums}"
    families = [(x, y) for x, y in FAMILIES if a in FORMATS or x == "whole"] * (1 if a in FORMATS else 4)
    arrays: list[list[np.ndarray]] = [[], [], []]
    for i, (operand, sum_family) in enumerate(families):
        for j, (kind, family, registers) in enumerate(
            zip((a, b, sums), (operand, operand, sum_family), counts, strict=True)
        ):
            if sums == "s32" and j == 2 and i % 4 == 3:
                family = "edges"
            if family == "cancel" and j == 1:
                family = "ones"
            count = registers * 32 * bits // width(kind)
            arrays[j].append(elements(f"{mnemonic} {i} {j}", kind, count, family))
    prefix, size = ("%d", 8) if bits == 64 else ("%r", 4)
    lines, names = [], []
    for j, registers in enumerate(counts):
        lines.append(f"  mad.wide.u32 %d1, %g, {size * registers}, %p{j};")
        own = [f"{prefix}{16 + 8 * j + i}" for i in range(registers)]
        names.append(own)
        lines += [f"  ld.global.b{bits} {register}, [%d1+{size * i}];" for i, register in enumerate(own)]
    out = [f"{prefix}{40 + i}" for i in range(counts[2])]
    groups = [f"{{{', '.join(one)}}}" for one in (out, *names)]
    lines.append(f"  {mnemonic} {', '.join(groups)};")
    lines.append(f"  mad.wide.u32 %d1, %g, {size * counts[2]}, %p3;")
    lines += [f"  st.global.b{bits} [%d1+{size * i}], {register};" for i, register in enumerate(out)]
    word = unsigned(bits)
    packed = [np.concatenate(parts).view(word) for parts in arrays]
    values = [*packed, np.zeros(len(families) * 32 * counts[2], word)]
    exact = sums in ("s32",)
    return Case(
        name=mnemonic, group="products", body="\n".join(lines),
        arrays=tuple(v.view(f"i{v.dtype.itemsize}") for v in values), written=(3,),
        kinds=("bits" if exact else sums if sums != "f16" else "f16x2",), covers=(mnemonic,),
        model="exact" if exact else "product", threads=32, grid=(len(families), 1, 1),
        keep="sample" if exact else "all", note={"a": a, "b": b, "sums": sums, "k": k},
    )  # fmt: skip


def _fragments() -> Iterator[Case]:
    """Matrices of 8 x 8 between shared memory and registers; rows anywhere."""
    for count in (1, 2, 4):
        for transposed in ("", ".trans"):
            rows = np.argsort(random_bits(f"rows {count}{transposed}", 256, 64)).astype(np.uint32)[:32] * 16
            data = random_bits(f"matrices {count}{transposed}", 4096, 8)
            registers = ", ".join(f"%r{10 + i}" for i in range(count))
            fill = (
                f"""{_ARENA}  mad.wide.u32 %d2, %t, 128, %p0;
  mad.lo.s32 %r2, %t, 128, %r1;
"""
                + "".join(
                    f"  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d2+{i}];\n  st.shared.v4.b32 [%r2+{i}], {{%r4, %r5, %r6, %r7}};\n"
                    for i in range(0, 128, 16)
                )
                + "  bar.warp.sync -1;\n  mad.wide.u32 %d3, %t, 4, %p1;\n  ld.global.b32 %r3, [%d3];\n  add.s32 %r3, %r3, %r1;\n"
            )
            mnemonic = f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
            body = fill + f"  {mnemonic} {{{registers}}}, [%r3];\n  mad.wide.u32 %d4, %t, {4 * count}, %p2;\n"
            body += "".join(f"  st.global.b32 [%d4+{4 * i}], %r{10 + i};\n" for i in range(count))
            arrays = (data, rows.view(np.int32), np.zeros(32 * count, np.int32))
            yield Case(mnemonic, "matrices", body, arrays, (2,), ("bits",), (mnemonic,), threads=32, shared=4096)
            mnemonic = f"stmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
            values = random_bits(mnemonic, 32 * count, 32)
            body = fill + f"  mad.wide.u32 %d4, %t, {4 * count}, %p2;\n"
            body += "".join(f"  ld.global.b32 %r{10 + i}, [%d4+{4 * i}];\n" for i in range(count))
            body += f"  {mnemonic} [%r3], {{{registers}}};\n  bar.warp.sync -1;\n  mad.wide.u32 %d5, %t, 128, %p3;\n"
            body += "".join(
                f"  ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r2+{i}];\n  st.global.v4.b32 [%d5+{i}], {{%r4, %r5, %r6, %r7}};\n"
                for i in range(0, 128, 16)
            )
            arrays4 = (data, rows.view(np.int32), values.view(np.int32), np.zeros(4096, np.uint8))
            yield Case(
                mnemonic,
                "matrices",
                body,
                arrays4,
                (3,),
                ("bits",),
                (mnemonic,),
                threads=32,
                shared=4096,
                keep="sample",
            )
    mnemonic = "movmatrix.sync.aligned.m8n8.trans.b16"
    body = f"""  mad.wide.u32 %d2, %t, 4, %p0;
  ld.global.b32 %r2, [%d2];
  {mnemonic} %r3, %r2;
  mad.wide.u32 %d3, %t, 4, %p1;
  st.global.b32 [%d3], %r3;"""
    arrays2 = (random_bits(mnemonic, 32, 32).view(np.int32), np.zeros(32, np.int32))
    yield Case(mnemonic, "matrices", body, arrays2, (1,), ("bits",), (mnemonic,), threads=32)


def cases() -> Iterator[Case]:
    """All cases of warp-level matrix instructions."""
    for shape, sums, a, b in PRODUCTS:
        yield _product(shape, sums, a, b, False)
        if sums == "s32":
            yield _product(shape, sums, a, b, True)
    yield from _fragments()
