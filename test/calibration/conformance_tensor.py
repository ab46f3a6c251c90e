"""Conformance cases of the tensor memory accelerator: boxes, swizzles, clipping, reductions, multicast, bulk copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from conformance import Case
from conformance_inputs import below, edges, encode, random_bits, typed, unsigned, width

_ARENA = "  mov.u64 %d1, arena;\n  cvta.to.shared.u64 %d1, %d1;\n  cvt.u32.u64 %r1, %d1;\n"
_SIZES = {"u8": 1, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4, "tf32": 4, "i64": 8, "u64": 8}
_ARRAYS = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}


def _signed(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.itemsize == 1 else array.view(f"i{array.dtype.itemsize}")


def _map(argument: int, shape: Sequence[int], strides: Sequence[int], box: Sequence[int], dtype: str, swizzle: int = 0,
         fill: str = "zero", steps: Sequence[int] | None = None) -> dict[str, Any]:  # fmt: skip
    return {
        "argument": argument, "dim_order": [0], "shape": list(shape),
        "strides": list(strides), "box": list(box), "element_strides": list(steps or [1] * len(shape)), "swizzle": swizzle,
        "fill": fill, "dtype": dtype,
    }  # fmt: skip


def _coordinates(rank: int, first: int) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(rank)) + "}"


def _load_coordinates(rank: int, pointer: str) -> str:
    text = f"  mad.wide.u32 %d4, %r2, {4 * rank}, {pointer};\n"
    return text + "".join(f"  ld.global.b32 %r{20 + i}, [%d4+{4 * i}];\n" for i in range(rank))


def _fill(size: int, value: int) -> str:
    """Sets shared memory, so that bytes that no copy writes are known too."""
    text = f"  mov.b32 %r8, {value};\n  mad.lo.s32 %r9, %t, 16, %r1;\n"
    for offset in range(0, size, 2048):
        if offset + 2048 <= size:
            text += f"  st.shared.v4.b32 [%r9+{offset}], {{%r8, %r8, %r8, %r8}};\n"
        else:
            text += f"  setp.lt.u32 %q5, %t, {(size - offset) // 16};\n  @%q5 st.shared.v4.b32 [%r9+{offset}], {{%r8, %r8, %r8, %r8}};\n"
    return text


def _copy_out(size: int, pointer: str, step: int) -> str:
    text = f"  mad.wide.u32 %d5, %r2, {step}, {pointer};\n  mad.wide.u32 %d5, %t, 16, %d5;\n  mad.lo.s32 %r9, %t, 16, %r1;\n"
    for offset in range(0, size, 2048):
        guard = ""
        if offset + 2048 > size:
            text += f"  setp.lt.u32 %q5, %t, {(size - offset) // 16};\n"
            guard = "@%q5 "
        text += f"  {guard}ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r9+{offset}];\n"
        text += f"  {guard}st.global.v4.b32 [%d5+{offset}], {{%r10, %r11, %r12, %r13}};\n"
    return text


def _copy_in(size: int, pointer: str, step: int) -> str:
    text = f"  mad.wide.u32 %d5, %r2, {step}, {pointer};\n  mad.wide.u32 %d5, %t, 16, %d5;\n  mad.lo.s32 %r9, %t, 16, %r1;\n"
    for offset in range(0, size, 2048):
        guard = ""
        if offset + 2048 > size:
            text += f"  setp.lt.u32 %q5, %t, {(size - offset) // 16};\n"
            guard = "@%q5 "
        text += f"  {guard}ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%d5+{offset}];\n"
        text += f"  {guard}st.shared.v4.b32 [%r9+{offset}], {{%r10, %r11, %r12, %r13}};\n"
    return text


def _wait(parity: int = 0) -> str:
    return f"""wait{parity}:
  mbarrier.try_wait.parity.shared::cta.b64 %q3, [%r3], {parity};
  @!%q3 bra wait{parity};
"""


_SETUP = """  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %q1, %t, 0;
  @%q1 mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
"""


def _rounded(size: int) -> int:
    return -(-size // 128) * 128


def _load(
    name: str, shape: Sequence[int], box: Sequence[int], corners: Sequence[Sequence[int]], dtype: str = "f16",
    swizzle: int = 0, fill: str = "zero", hint: bool = False, pitch: int | None = None, steps: Sequence[int] | None = None,
) -> Case:  # fmt: skip
    """Boxes at some corners; a block each. Shapes and boxes begin with the fastest dimension."""
    rank, size = len(shape), _SIZES[dtype]
    strides = [1]
    for axis in range(1, rank):
        strides.append(strides[-1] * ((pitch or shape[0]) if axis == 1 else shape[axis - 1]))
    counts = [-(-extent // step) for extent, step in zip(box, steps or [1] * rank, strict=True)]
    box_bytes = int(np.prod(counts)) * size
    # Rows narrower than the swizzle's span may be placed a span apart.
    pitch_bytes = max(counts[0] * size, swizzle)
    area = _rounded(box_bytes // (counts[0] * size) * pitch_bytes) + 128
    total = strides[-1] * shape[-1]
    data = random_bits(name, total, 8 * size).view(_ARRAYS[size])
    if dtype in ("f32", "tf32"):
        data = typed(name, total, "f32").view(np.int32)
    mnemonic = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    tail = ""
    if hint:
        mnemonic += ".L2::cache_hint"
        tail = ", %d7"
    body = f"""{_ARENA}  add.s32 %r3, %r1, {area};
{_fill(area, 0x3C5A3C5A)}{_SETUP}  bar.sync 0;
{_load_coordinates(rank, "%p1")}  mov.b64 %d7, 1297036692682702848;
  mov.b64 %d6, m0;
  cvta.param.u64 %d6, %d6;
  @%q1 prefetch.tensormap [%d6];
  @%q1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {box_bytes};
  @%q1 {mnemonic} [%r1], [%d6, {_coordinates(rank, 20)}], [%r3]{tail};
{_wait()}{_copy_out(area, "%p2", area)}"""
    arrays = (data, np.array(corners, np.int32).reshape(-1), np.zeros(len(corners) * area, np.uint8))
    covers = (mnemonic, "prefetch.tensormap", "cvta.param.u64", "mbarrier.arrive.expect_tx.shared::cta.b64")
    return Case(
        name=f"tensor load {name}", group="tensors", body=body, arrays=arrays, written=(2,), kinds=("bits",), covers=covers,
        grid=(len(corners), 1, 1), shared=area + 128, maps=(_map(0, shape, strides, box, dtype, swizzle, fill, steps),),
        keep="sample",
    )  # fmt: skip


def _loads() -> Iterator[Case]:
    yield _load("1d", (200,), (64,), [(0,), (136,), (192,), (-16,), (-64,), (400,)])
    yield _load("1d u8", (208,), (48,), [(0,), (176,), (-32,)], "u8")
    corners2 = [(0, 0), (32, 8), (48, 20), (-16, -3), (64, 5), (8, 30), (-64, 0)]
    for span in (0, 32, 64, 128):
        yield _load(f"2d swizzle {span}", (72, 24), (16 if span == 32 else 32, 16), corners2, swizzle=span)
    yield _load("2d whole swizzle 128", (136, 40), (64, 32), [(0, 0), (64, 16), (128, 8), (-32, 24)], swizzle=128)
    yield _load("2d f32 swizzle 128", (72, 40), (32, 16), [(0, 0), (64, 32), (-4, -1)], "f32", 128)
    yield _load("2d u8 swizzle 64", (144, 40), (64, 16), [(0, 0), (128, 32), (-16, -1)], "u8", 64)
    yield _load("2d narrow swizzle 128", (72, 40), (24, 16), [(0, 0), (64, 32), (-8, -1)], "f16", 128)
    yield _load("2d i64", (24, 9), (8, 4), [(0, 0), (16, 6), (-2, -1), (20, 8)], "i64")
    yield _load("2d tf32", (32, 8), (16, 8), [(0, 0), (16, 0), (-4, 2)], "tf32")
    for dtype in ("f16", "bf16", "f32"):
        yield _load(f"2d {dtype} fills with NaN", (40, 9), (32, 8), [(0, 0), (24, 4), (-8, -2)], dtype, fill="nan")
    yield _load("2d padded rows", (37, 9), (32, 8), [(0, 0), (32, 4), (24, -2)], pitch=48)
    yield _load("2d every other row", (40, 21), (32, 8), [(0, 0), (8, 5), (32, 15), (0, -3)], steps=(1, 2))
    yield _load("2d with hint", (72, 24), (32, 16), corners2, hint=True)
    yield _load("3d", (40, 9, 5), (16, 4, 2), [(0, 0, 0), (24, 6, 4), (-8, -2, -1), (32, 8, 3), (0, 0, 9)])
    yield _load("3d swizzle 64", (72, 9, 5), (32, 4, 3), [(0, 0, 0), (48, 6, 4), (-8, -2, -1)], swizzle=64)
    yield _load("4d", (24, 5, 4, 3), (8, 3, 2, 2), [(0, 0, 0, 0), (16, 4, 3, 2), (-8, 1, -1, 1), (8, 2, 2, -1)])
    yield _load(
        "4d swizzle 128", (72, 5, 4, 3), (64, 3, 2, 2), [(0, 0, 0, 0), (16, 4, 3, 2), (-8, 1, -1, 1)], swizzle=128
    )
    corners5 = [(0, 0, 0, 0, 0), (8, 3, 2, 2, 1), (-8, 1, -1, 1, 0), (8, 2, 2, -1, 1), (0, 0, 0, 0, -1)]
    yield _load("5d", (24, 4, 3, 3, 2), (16, 2, 2, 2, 2), corners5)
    yield _load("5d swizzle 32", (24, 4, 3, 3, 2), (16, 2, 2, 2, 1), corners5, swizzle=32)


def _store(
    name: str, shape: Sequence[int], box: Sequence[int], corners: Sequence[Sequence[int]], dtype: str = "f16",
    swizzle: int = 0, hint: bool = False, pitch: int | None = None, reduction: str = "",
) -> Case:  # fmt: skip
    """Boxes of shared memory stored at some corners, or combined with what is there."""
    rank, size = len(shape), _SIZES[dtype]
    strides = [1]
    for axis in range(1, rank):
        strides.append(strides[-1] * ((pitch or shape[0]) if axis == 1 else shape[axis - 1]))
    box_bytes = int(np.prod(box)) * size
    area = _rounded(box_bytes)
    total = strides[-1] * shape[-1]
    kind = {"i32": "s32", "i64": "s64"}.get(dtype, dtype)
    tensor = random_bits(name + " tensor", total, 8 * size)
    source = random_bits(name + " source", len(corners) * area // size, 8 * size)
    if reduction:
        tensor, source = typed(name + " tensor", total, kind), typed(name + " source", len(source), kind)
        if kind in ("f16", "bf16", "f32"):
            table = edges(kind)
            rare = below(name + " rare", len(source), 5) == 0
            source = np.where(rare, table[below(name, len(source), len(table))], source)
            if reduction == "add":
                tensor = np.where(np.arange(total) % 4, tensor, encode(below(name + "w", total, 9), kind))
        tensor, source = tensor.astype(unsigned(width(kind))), source.astype(unsigned(width(kind)))
    prefix = "cp.reduce" if reduction else "cp"
    middle = f".{reduction}" if reduction else ""
    mnemonic = f"{prefix}.async.bulk.tensor.{rank}d.global.shared::cta{middle}.tile.bulk_group"
    tail = ""
    if hint:
        mnemonic += ".L2::cache_hint"
        tail = ", %d7"
    body = f"""{_ARENA}  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %q1, %t, 0;
{_copy_in(area, "%p0", area)}  fence.proxy.async.shared::cta;
  bar.sync 0;
{_load_coordinates(rank, "%p1")}  mov.b64 %d7, 1297036692682702848;
  mov.b64 %d6, m0;
  cvta.param.u64 %d6, %d6;
  @!%q1 bra out;
  {mnemonic} [%d6, {_coordinates(rank, 20)}], [%r1]{tail};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
  cp.async.bulk.wait_group 0;
out:"""
    arrays = (_signed(source), np.array(corners, np.int32).reshape(-1), _signed(tensor))
    covers = (mnemonic, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read", "cp.async.bulk.wait_group")
    floating = kind in ("f16", "bf16", "f32") and bool(reduction)
    return Case(
        name=f"tensor {reduction or 'store'} {name}", group="tensors", body=body, arrays=arrays, written=(2,),
        kinds=(kind if floating else "bits",), covers=covers, grid=(len(corners), 1, 1), shared=area + 128,
        maps=(_map(2, shape, strides, box, dtype, swizzle),), keep="all" if floating else "sample",
    )  # fmt: skip


def _stores() -> Iterator[Case]:
    yield _store("1d", (200,), (64,), [(0,), (64,), (168,)])
    corners2 = [(0, 0), (32, 3), (64, 20)]
    for span in (0, 32, 64):
        yield _store(f"2d swizzle {span}", (72, 24), (16 if span == 32 else 32, 8), corners2, swizzle=span)
    yield _store("2d swizzle 128", (136, 24), (64, 8), [(0, 0), (64, 3), (128, 20)], swizzle=128)
    yield _store("2d inside", (72, 24), (32, 8), [(0, 0), (32, 8)])
    yield _store("2d f32 swizzle 128", (72, 24), (32, 8), [(0, 0), (64, 20)], "f32", 128)
    yield _store("2d u8", (144, 24), (48, 8), [(0, 0), (128, 20)], "u8")
    yield _store("2d i64", (24, 9), (8, 4), [(0, 0), (16, 6)], "i64")
    yield _store("2d with hint", (72, 24), (32, 8), corners2, hint=True)
    yield _store("2d padded rows", (37, 20), (32, 8), [(0, 0), (32, 8), (8, 16)], pitch=48)
    yield _store("3d", (40, 9, 5), (16, 4, 2), [(0, 0, 0), (32, 6, 4)])
    yield _store("4d", (24, 5, 4, 3), (8, 3, 2, 2), [(0, 0, 0, 0), (16, 4, 3, 2)])
    yield _store("5d", (24, 4, 3, 3, 2), (16, 2, 2, 2, 1), [(0, 0, 0, 0, 0), (8, 2, 2, 2, 1)])


def _reductions() -> Iterator[Case]:
    table = [("add", kind) for kind in ("f16", "bf16", "f32", "i32", "u32", "u64")]
    table += [(op, kind) for op in ("min", "max") for kind in ("f16", "bf16", "i32", "u32")]
    table += [("and", "u32"), ("or", "u32"), ("xor", "u32"), ("inc", "u32"), ("dec", "u32")]
    for operation, kind in table:
        yield _store(f"2d {kind}", (40, 12), (16, 8), [(0, 0), (32, 3), (16, 8)], kind, reduction=operation)


def _multicast() -> Iterator[Case]:
    """Each block of a cluster loads a quarter of a tile for the blocks of a mask."""
    for hint in (False, True):
        mnemonic = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        mnemonic += ".L2::cache_hint" if hint else ""
        masks = np.array([0b1111, 0b0101, 0b1010, 0b0110], np.int32)
        expected = [sum(512 for mask in masks if mask >> rank & 1) for rank in range(4)]
        table = np.array(expected, np.int32)
        body = f"""{_ARENA}  add.s32 %r3, %r1, 2048;
{_fill(2048, 0x3C5A3C5A)}{_SETUP}  mov.u32 %r4, %cluster_ctarank;
  mul.wide.u32 %d8, %r4, 4;
  add.s64 %d9, %d8, %p1;
  ld.global.b32 %r5, [%d9];
  ld.global.b32 %r6, [%d9+16];
  cvt.u16.u32 %h1, %r5;
  bar.sync 0;
  @%q1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r6;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mad.lo.s32 %r7, %r4, 512, %r1;
  mov.b32 %r20, 8;
  mad.lo.s32 %r21, %r4, 8, -3;
  mov.b64 %d7, 1297036692682702848;
  mov.b64 %d6, m0;
  cvta.param.u64 %d6, %d6;
  @%q1 {mnemonic} [%r7], [%d6, {{%r20, %r21}}], [%r3], %h1{", %d7" if hint else ""};
{_wait()}{_copy_out(2048, "%p2", 2048)}  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.acquire.aligned;"""
        data = random_bits("multicast", 48 * 27, 16).view(np.int16)
        arrays = (data, np.concatenate([masks, table]), np.zeros(4 * 2048, np.uint8))
        yield Case(
            name=f"multicast{' with hint' if hint else ''}", group="tensors", body=body, arrays=arrays, written=(2,),
            kinds=("bits",), covers=(mnemonic,), grid=(4, 1, 1), cluster=(4, 1, 1), shared=2304,
            maps=(_map(0, (48, 27), (1, 48), (32, 8), "f16"),), keep="sample",
        )  # fmt: skip


def _bulk() -> Iterator[Case]:
    """Copies of consecutive bytes."""
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    store = "cp.async.bulk.global.shared::cta.bulk_group"
    body = f"""{_ARENA}  add.s32 %r3, %r1, 4096;
{_SETUP}  bar.sync 0;
  @!%q1 bra out;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2064;
  {load} [%r1], [%p0], 2048, [%r3];
  {load} [%r1+2048], [%p0+2080], 16, [%r3];
{_wait()}  {store} [%p1+16], [%r1+32], 2032;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
out:"""
    data = random_bits("bulk", 4096, 8)
    yield Case(
        name="bulk copies", group="tensors", body=body, arrays=(data, np.full(4096, 0xA5, np.uint8)), written=(1,),
        kinds=("bits",), covers=(load, store), shared=4224, keep="sample",
    )  # fmt: skip
    for operation, kind in (("add", "u32"), ("add", "s32"), ("min", "s32"), ("max", "u32"), ("and", "b32"), ("xor", "b32"),
                            ("inc", "u32"), ("dec", "u32"), ("add", "u64"), ("add", "f32"), ("add.noftz", "f16"),
                            ("add.noftz", "bf16"), ("min", "f16"), ("max", "bf16")):  # fmt: skip
        mnemonic = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{kind}"
        size = width(kind) // 8
        body = f"""{_ARENA}  mov.u32 %r2, %ctaid.x;
  setp.eq.u32 %q1, %t, 0;
{_copy_in(2048, "%p0", 2048)}  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%q1 bra out;
  {mnemonic} [%p1], [%r1], 2048;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
out:"""
        source = typed(mnemonic + " source", 2048 // size, kind if kind != "b32" else "u32")
        target = typed(mnemonic + " target", 2048 // size, kind if kind != "b32" else "u32")
        floating = kind in ("f16", "bf16", "f32")
        yield Case(
            name=mnemonic, group="tensors", body=body, arrays=(_signed(source), _signed(target)), written=(1,),
            kinds=(kind if floating else "bits",), covers=(mnemonic,), shared=2048, keep="all" if floating else "sample",
        )  # fmt: skip


def cases() -> Iterator[Case]:
    """All cases of bulk and tensor copies."""
    yield from _loads()
    yield from _stores()
    yield from _reductions()
    yield from _multicast()
    yield from _bulk()
