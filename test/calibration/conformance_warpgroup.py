"""Conformance cases of wgmma: every element type, operand form, swizzle and order of dimensions.

Shared memory holds an image of small integers, so that products are exact and their results say which bytes a
descriptor means. Further cases have few, wide-ranging elements and say how sums are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conformance import Case
from conformance_inputs import FORMATS, below, encode, random_bits, width
from conformance_matrix import FAMILIES, elements

_SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor(start: int, leading: int, stride: int, swizzle: int) -> int:
    """Bits of a matrix descriptor: byte offset into the arena, byte distances, bytes of the swizzling mode."""
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | _SWIZZLES[swizzle] << 62


def _k_major() -> list[tuple[int, int, int, int]]:
    """(start, leading, stride, swizzle) of K-major matrices. With a swizzle the leading distance has no meaning."""
    found = [(0, 128, 256, 0), (48, 1040, 144, 0), (2048, 256, 512, 0), (4112, 4096, 128, 0)]
    for span in (32, 64, 128):
        found += [(1024, 16, 8 * span, span), (3072, 4096, 16 * span, span)]
        found += [(1024 + 32 * i, 16, 8 * span, span) for i in range(1, span // 32)]
    return found


def _mn_major(count: int) -> list[tuple[int, int, int, int]]:
    """The same for matrices whose rows are M or N: both distances matter."""
    found = [(0, 2048 if count > 128 else 1024, 128, 0), (48, 16384, 144, 0), (2048, 256, 512, 0)]
    for span in (32, 64, 128):
        block = 8 * span
        found += [(1024, 2 * block, block, span), (1024, block, 16384, span)]
        if count <= 128:
            found += [(2048, 4 * block, block, span)]
    return found


def _reach(place: tuple[int, int, int, int], rows: int, depth: int, size: int, mn_major: bool) -> int:
    """An upper bound of the bytes from the arena's begin that a matrix touches."""
    start, leading, stride, span = place
    if not mn_major:
        extent = (rows // 8) * stride + (leading if not span else 0)
    elif span:
        extent = -(-rows * size // span) * leading + (depth // 8) * stride
    else:
        extent = -(-rows * size // 16) * stride + (depth // 8) * leading
    return start + extent + 1024


def _case(
    name: str, sums: str, a: str, b: str, n: int, orders: tuple[bool, bool], registers: bool, blocks: int,
    image: np.ndarray, image_step: int, image_bytes: int, descriptors: np.ndarray, sources: np.ndarray, fragments: np.ndarray,
    model: str, keep: str, negate: tuple[int, int] = (1, 1), saturate: bool = False,
) -> Case:  # fmt: skip
    depth = 256 // width(a)
    per = 2 if sums == "f16" else 1
    amount = n // 2 // per
    suffix = ".satfinite" if saturate else ""
    mnemonic = f"wgmma.mma_async.sync.aligned.m64n{n}k{depth}{suffix}.{sums}.{a}.{b}"
    if saturate:
        mnemonic = f"wgmma.mma_async.sync.aligned.m64n{n}k{depth}.{sums}.{a}.{b}.satfinite"
    d = ", ".join(f"%r{64 + i}" for i in range(amount))
    lines = ["  mov.u64 %d1, arena;", "  cvta.to.shared.u64 %d1, %d1;", "  cvt.u32.u64 %r1, %d1;",
             "  mov.u32 %r2, %ctaid.x;", f"  mad.wide.u32 %d2, %r2, {image_step}, %p0;",
             "  mad.wide.u32 %d2, %t, 16, %d2;", "  mad.lo.s32 %r3, %t, 16, %r1;"]  # fmt: skip
    for offset in range(0, image_bytes, 2048):
        lines += [f"  ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d2+{offset}];",
                  f"  st.shared.v4.b32 [%r3+{offset}], {{%r4, %r5, %r6, %r7}};"]  # fmt: skip
    lines += ["  fence.proxy.async.shared::cta;", "  bar.sync 0;", "  mad.wide.u32 %d3, %r2, 32, %p1;",
              "  ld.global.v2.b64 {%d4, %d5}, [%d3];", "  ld.global.b64 %d6, [%d3+16];", "  setp.ne.b64 %q1, %d6, 0;",
              "  shr.u32 %r8, %r1, 4;", "  cvt.u64.u32 %d7, %r8;", "  add.s64 %d4, %d4, %d7;", "  add.s64 %d5, %d5, %d7;",
              f"  mad.wide.u32 %d8, %g, {4 * amount}, %p2;"]  # fmt: skip
    lines += [f"  ld.global.b32 %r{64 + i}, [%d8+{4 * i}];" for i in range(amount)]
    if registers:
        lines += ["  mad.wide.u32 %d9, %g, 16, %p3;", "  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d9];"]
    numbers = []
    if a not in ("s8", "u8"):
        numbers += [negate[0], negate[1]]
    if a in ("f16", "bf16"):
        numbers += ([] if registers else [int(orders[0])]) + [int(orders[1])]
    first = "{%r10, %r11, %r12, %r13}" if registers else "%d4"
    tail = "".join(f", {x}" for x in numbers)
    lines += ["  wgmma.fence.sync.aligned;", f"  {mnemonic} {{{d}}}, {first}, %d5, %q1{tail};",
              "  wgmma.commit_group.sync.aligned;", "  wgmma.wait_group.sync.aligned 0;",
              f"  mad.wide.u32 %d10, %g, {4 * amount}, %p4;"]  # fmt: skip
    lines += [f"  st.global.b32 [%d10+{4 * i}], %r{64 + i};" for i in range(amount)]
    out = np.full(blocks * 128 * amount, 0x5A, np.int32)
    arrays = (image, descriptors, sources, fragments, out)
    covers = [mnemonic, "wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"]
    exact = model == "exact"
    kind = "bits" if exact else "f16x2" if sums == "f16" else sums
    return Case(
        name=name, group="warpgroup", body="\n".join(lines), arrays=arrays, written=(4,), kinds=(kind,),
        covers=tuple(covers), model=model, threads=128, grid=(blocks, 1, 1), shared=image_bytes, keep=keep,
        note={"a": a, "b": b, "sums": sums, "k": depth},
    )  # fmt: skip


def _small(name: str, kind: str, size: int) -> np.ndarray:
    """Bytes of small numbers of a type."""
    count = size * 8 // width(kind)
    if kind in FORMATS:
        return encode(below(name, count, 9) - 4.0, kind).view(np.uint8)
    return random_bits(name, size, 8)


def _layout_case(
    sums: str, a: str, b: str, n: int, orders: tuple[bool, bool] = (False, False), registers: bool = False,
    negate: tuple[int, int] = (1, 1), saturate: bool = False,
) -> Case:  # fmt: skip
    depth, size = 256 // width(a), width(a) // 8
    form = "registers" if registers else "shared"
    name = f"wgmma n{n} {sums} {a} {b} {form} {'MN' if orders[0] else 'K'} {'MN' if orders[1] else 'K'}"
    if negate != (1, 1):
        name += f" {negate[0]} {negate[1]}"
    if saturate:
        name += " saturated"
    image_bytes = 98304 if n > 96 else 40960
    lefts = _mn_major(64) if orders[0] else _k_major()
    rights = _mn_major(n) if orders[1] else _k_major()
    rights = [one for one in rights if _reach(one, n, depth, size, orders[1]) <= image_bytes]
    lefts = [one for one in lefts if _reach(one, 64, depth, size, orders[0]) <= image_bytes]
    # All places for one width of each type; elsewhere a few, which change with the width.
    blocks = max(len(rights), 1 if registers else len(lefts)) if n == 64 else 3
    first = 0 if n == 64 else 3 * (n // 8)
    words = []
    for i in range(blocks):
        left, right = lefts[(first + i * 5) % len(lefts)], rights[(first + i) % len(rights)]
        words += [descriptor(*left), descriptor(*right), i % 2, 0]
    descriptors = np.array(words, np.uint64).view(np.int64)
    image = _small(f"{a} image", a, image_bytes)
    limit = 1000
    if a != b and a in FORMATS:  # the same bytes are read as both types: keep their magnitudes small
        image = np.where(np.arange(image_bytes) // 8 % 2, image, _small(f"{b} image", b, image_bytes)) & np.uint8(0xBF)
        limit = 4
    amount = n // 2 // (2 if sums == "f16" else 1)
    count = blocks * 128 * amount
    if sums == "s32":
        sources = (random_bits(name + " sums", count, 32).view(np.int32) >> np.int32(1 if saturate else 10)).view(
            np.int32
        )
        if saturate:
            sources = np.where(
                sources > 0, np.int32(2**31 - 1) - (sources & 4095), np.int32(-(2**31)) + (sources & 4095)
            )
    elif sums == "f16":
        sources = encode(below(name + " sums", 2 * count, 101) - 50.0, "f16").view(np.int32)
    else:
        sources = encode(below(name + " sums", count, 2 * limit + 1) - float(limit), "f32").view(np.int32)
    fragments = _small(name + " fragments", a, blocks * 128 * 16).view(np.int32)
    return _case(
        name, sums, a, b, n, orders, registers, blocks, image, 0, image_bytes, descriptors,
        np.ascontiguousarray(sources.astype(np.int32)), fragments, "exact", "sample", negate, saturate,
    )  # fmt: skip


def _rounding_case(sums: str, a: str, b: str, registers: bool = False) -> Case:
    """N = 8, K-major without swizzle; a block per family of elements."""
    depth = 256 // width(a)
    blocks = len(FAMILIES)
    name = f"wgmma rounding {sums} {a} {b}{' registers' if registers else ''}"
    images, sources, fragments = [], [], []
    for i, (family, sum_family) in enumerate(FAMILIES):
        left = elements(f"{name} a {i}", a, 64 * depth, family).view(np.uint8)
        right = elements(f"{name} b {i}", b, 8 * depth, "ones" if family == "cancel" else family).view(np.uint8)
        image = np.zeros(4096, np.uint8)
        image[: len(left)] = left
        image[2048 : 2048 + len(right)] = right
        images.append(image)
        per = 2 if sums == "f16" else 1
        sources.append(elements(f"{name} c {i}", sums, 128 * 4, sum_family).view(np.int32)[: 128 * 4 // per])
        fragments.append(left.view(np.int32)[:512])
    words = np.array([[descriptor(0, 128, 256, 0), descriptor(2048, 128, 256, 0), 1, 0]] * blocks, np.uint64)
    return _case(
        name, sums, a, b, 8, (False, False), registers, blocks, np.concatenate(images), 4096, 4096,
        words.reshape(-1).view(np.int64), np.concatenate(sources), np.concatenate(fragments), "product", "all",
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """All cases of products by warp groups."""
    for n in range(8, 257, 8):
        yield _layout_case("f32", "f16", "f16", n)
    for n in (8, 64, 96, 256):
        for orders in ((False, True), (True, False), (True, True)):
            yield _layout_case("f32", "f16", "f16", n, orders)
        for transposed in (False, True):
            yield _layout_case("f32", "f16", "f16", n, (False, transposed), True)
    for n in (8, 64, 256):
        yield _layout_case("f16", "f16", "f16", n)
        yield _layout_case("f16", "f16", "f16", n, (True, True))
        yield _layout_case("f16", "f16", "f16", n, (False, False), True)
    for orders in ((False, False), (False, True), (True, False), (True, True)):
        yield _layout_case("f32", "bf16", "bf16", 64, orders)
    yield _layout_case("f32", "bf16", "bf16", 128, (False, True), True)
    yield _layout_case("f32", "bf16", "bf16", 256)
    others = [("f32", "tf32", "tf32"), *[("f32", x, y) for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2")],
              *[("s32", x, y) for x in ("s8", "u8") for y in ("s8", "u8")]]  # fmt: skip
    for sums, a, b in others:
        for n in (8, 64, 256) if a == b else (96,):
            if sums == "s32" and n == 64:
                n = 96
            yield _layout_case(sums, a, b, n)
            yield _layout_case(sums, a, b, n, (False, False), True)
    for negate in ((-1, 1), (1, -1), (-1, -1)):
        yield _layout_case("f32", "f16", "f16", 16, (False, False), False, negate)
    yield _layout_case("s32", "s8", "s8", 32, saturate=True)
    for sums, a, b in [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), *others[:5]]:
        yield _rounding_case(sums, a, b)
    yield _rounding_case("f32", "f16", "f16", True)
    yield _rounding_case("f32", "e4m3", "e4m3", True)
    yield _rounding_case("f16", "e4m3", "e4m3")
