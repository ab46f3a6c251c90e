"""Conformance cases of memory: loads and stores of all widths, asynchronous copies by threads, atomics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conformance import Case
from conformance_inputs import below, edges, random_bits, typed, unsigned, width

_PREFIX = {8: "%h", 16: "%h", 32: "%r", 64: "%d"}
_ARENA = "  mov.u64 %d1, arena;\n  cvta.to.shared.u64 %d1, %d1;\n  cvt.u32.u64 %r1, %d1;\n"


def _signed(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.itemsize == 1 else array.view(f"i{array.dtype.itemsize}")


def _case(name: str, body: str, arrays: list[np.ndarray], covers: tuple[str, ...], **more: object) -> Case:
    written = more.pop("written", (len(arrays) - 1,))
    kinds = more.pop("kinds", ("bits",) * len(written))  # type: ignore[arg-type]
    return Case(
        name=name, group="memory", body=body, arrays=tuple(_signed(a) for a in arrays), written=written, kinds=kinds,
        covers=covers, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _vector(bits: int, count: int, first: int) -> tuple[str, str]:
    """Suffix of the mnemonic and the operand of a vector of registers."""
    names = [f"{_PREFIX[bits]}{first + i}" for i in range(count)]
    if count == 1:
        return f".b{bits}", names[0]
    return f".v{count}.b{bits}", "{" + ", ".join(names) + "}"


def _vectors() -> Iterator[Case]:
    """Global to shared memory and back, each thread its own piece, read by another thread."""
    hints = [
        "",
        ".nc",
        ".relaxed.gpu",
        ".acquire.gpu",
        ".volatile",
        ".L1::no_allocate",
        ".L2::128B",
        ".nc.L1::no_allocate",
    ]
    for bits, count in [(b, c) for b in (8, 16, 32, 64) for c in (1, 2, 4) if b * c <= 128]:
        suffix, registers = _vector(bits, count, 8)
        size = bits * count // 8
        data = random_bits(f"vector {bits} {count}", 128 * size, 8)
        lines, covers = [_ARENA.rstrip()], []
        kept = hints if bits == 32 else hints[:2]
        out = np.full(128 * size * len(kept), 0xA5, np.uint8)
        for i, hint in enumerate(kept):
            if hint in (".relaxed.gpu", ".acquire.gpu", ".volatile") and count > 1:
                continue
            if hint == ".L2::128B":
                load = f"ld.global.L2::128B{suffix}"
            elif hint == ".L1::no_allocate":
                load = f"ld.global.L1::no_allocate{suffix}"
            elif hint == ".nc.L1::no_allocate":
                load = f"ld.global.nc.L1::no_allocate{suffix}"
            elif hint == ".nc":
                load = f"ld.global.nc{suffix}"
            else:
                load = f"ld{hint}.global{suffix}"
            store = f"st.global{suffix}"
            if hint in (".relaxed.gpu", ".volatile"):
                store = f"st{hint}.global{suffix}"
            if hint == ".acquire.gpu":
                store = f"st.release.gpu.global{suffix}"
            covers += [load, store, f"st.shared{suffix}", f"ld.shared{suffix}"]
            lines += [
                f"  mad.wide.u32 %d2, %t, {size}, %p0;", f"  {load} {registers}, [%d2];",
                f"  mad.lo.s32 %r2, %t, {size}, %r1;", f"  st.shared{suffix} [%r2], {registers};", "  bar.sync 0;",
                "  xor.b32 %r3, %t, 37;", f"  mad.lo.s32 %r4, %r3, {size}, %r1;",
                f"  ld.shared{suffix} {registers}, [%r4];", f"  mad.wide.u32 %d3, %t, {size}, %p1;",
                f"  {store} [%d3+{i * 128 * size}], {registers};", "  bar.sync 0;",
            ]  # fmt: skip
        yield _case(
            f"vectors {suffix}", "\n".join(lines), [data, out], tuple(dict.fromkeys(covers)), shared=4096, keep="sample"
        )
    for bits, kind in ((8, "s8"), (8, "u8"), (16, "s16"), (16, "u16")):
        data = random_bits(f"extended {kind}", 128, bits)
        body = f"""  mad.wide.u32 %d2, %t, {bits // 8}, %p0;
  ld.global.{kind} %r2, [%d2];
  mad.wide.u32 %d3, %t, 4, %p1;
  st.global.b32 [%d3], %r2;
  ld.global.{kind} %d4, [%d2];
  mad.wide.u32 %d5, %t, 8, %p2;
  st.global.b64 [%d5], %d4;"""
        arrays = [data, np.zeros(128, np.uint32), np.zeros(128, np.uint64)]
        yield _case(f"ld.global.{kind} into more bits", body, arrays, (f"ld.global.{kind}",), written=(1, 2))


def _places() -> Iterator[Case]:
    """Local memory, generic addresses, parameters."""
    data = random_bits("local", 128 * 4, 32)
    body = """  mad.wide.u32 %d2, %t, 16, %p0;
  ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d2];
  mov.u64 %d3, place;
  cvta.local.u64 %d4, %d3;
  st.local.b32 [place], %r10;
  st.local.b64 [place+8], %d2;
  st.local.v2.b32 [place+16], {%r11, %r12};
  and.b32 %r2, %t, 3;
  mul.wide.u32 %d5, %r2, 4;
  add.s64 %d6, %d3, %d5;
  st.local.b32 [%d6+32], %r13;
  st.b32 [%d4+4], %r12;
  ld.local.b32 %r14, [%d6+32];
  ld.local.v2.b32 {%r15, %r16}, [place+16];
  ld.b32 %r17, [%d4];
  ld.local.b32 %r18, [place+4];
  ld.local.b64 %d7, [place+8];
  sub.s64 %d7, %d7, %p0;
  cvt.u32.u64 %r19, %d7;
  mad.wide.u32 %d8, %t, 24, %p1;
  st.global.b32 [%d8], %r14;
  st.global.b32 [%d8+4], %r15;
  st.global.b32 [%d8+8], %r16;
  st.global.b32 [%d8+12], %r17;
  st.global.b32 [%d8+16], %r18;
  st.global.b32 [%d8+20], %r19;"""
    covers = ("st.local.b32", "ld.local.b32", "st.local.b64", "ld.local.b64", "st.local.v2.b32", "ld.local.v2.b32",
              "cvta.local.u64", "ld.b32", "st.b32")  # fmt: skip
    yield _case(
        "local memory", body, [data, np.zeros(128 * 6, np.uint32)], covers, registers=".local .align 16 .b8 place[64];"
    )
    body = """  mov.u64 %d1, arena;
  cvta.to.shared.u64 %d2, %d1;
  cvt.u32.u64 %r1, %d2;
  cvta.shared.u64 %d3, %d2;
  cvta.to.global.u64 %d4, %p0;
  cvta.global.u64 %d5, %d4;
  mad.wide.u32 %d6, %t, 4, %d5;
  ld.b32 %r2, [%d6];
  mad.wide.u32 %d7, %t, 4, %d3;
  st.b32 [%d7], %r2;
  bar.sync 0;
  xor.b32 %r3, %t, 5;
  mad.lo.s32 %r4, %r3, 4, %r1;
  ld.shared.b32 %r5, [%r4];
  isspacep.shared %q1, %d7;
  isspacep.global %q2, %d7;
  selp.b32 %r6, 1, 0, %q1;
  selp.b32 %r7, 2, 0, %q2;
  or.b32 %r6, %r6, %r7;
  mad.wide.u32 %d8, %t, 8, %p1;
  st.global.v2.b32 [%d8], {%r5, %r6};"""
    covers = ("cvta.to.shared.u64", "cvta.shared.u64", "cvta.to.global.u64", "cvta.global.u64", "isspacep.shared",
              "isspacep.global", "ld.b32", "st.b32")  # fmt: skip
    yield _case(
        "generic addresses", body.replace("mov.u64 %d1, arena;", "cvta.shared.u64 %d1, arena_low;").replace(
            "cvta.shared.u64 %d1, arena_low;", "mov.u64 %d9, arena;\n  cvta.shared.u64 %d1, %d9;"
        ),
        [data[:128], np.zeros(256, np.uint32)], covers, shared=1024,
    )  # fmt: skip


def _asynchronous() -> Iterator[Case]:
    for operation, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        mnemonic = f"cp.async.{operation}.shared.global"
        data = random_bits(mnemonic + str(size), 128 * size, 8)
        valid = (below(mnemonic, 128, size + 1)).astype(np.uint32)
        valid[:8] = np.array([0, size, 0, size, size, 1, 2, 3], np.uint32)
        body = f"""{_ARENA}  mad.wide.u32 %d2, %t, {size}, %p0;
  mad.lo.s32 %r2, %t, {size}, %r1;
  mad.wide.u32 %d3, %t, 4, %p1;
  ld.global.b32 %r3, [%d3];
  mov.b32 %r7, -1;
  st.shared.b32 [%r2+{128 * size}], %r7;
  {mnemonic} [%r2], [%d2], {size};
  cp.async.commit_group;
  {mnemonic} [%r2+{128 * size}], [%d2], {size}, %r3;
  cp.async.commit_group;
  cp.async.wait_group 1;
  cp.async.wait_group 0;
  bar.sync 0;
  xor.b32 %r4, %t, 3;
  mad.lo.s32 %r5, %r4, {size}, %r1;
  mad.wide.u32 %d5, %t, {size}, %p2;
"""
        for i in range(size // 4):
            for half in (0, 128 * size):
                body += f"  ld.shared.b32 %r6, [%r5+{half + 4 * i}];\n  st.global.b32 [%d5+{half + 4 * i}], %r6;\n"
        covers = (mnemonic, "cp.async.commit_group", "cp.async.wait_group")
        out = np.full(256 * size, 0xA5, np.uint8)
        yield _case(f"{mnemonic} {size}", body, [data, valid, out], covers, shared=8192)
    data = random_bits("cp.async mbarrier", 128 * 16, 8)
    body = f"""{_ARENA}  setp.eq.u32 %q1, %t, 0;
  @%q1 mbarrier.init.shared::cta.b64 [%r1], 128;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mad.wide.u32 %d2, %t, 16, %p0;
  mad.lo.s32 %r2, %t, 16, %r1;
  cp.async.cg.shared.global [%r2+64], [%d2], 16;
  cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %q2, [%r1], 0;
  @!%q2 bra wait;
  xor.b32 %r3, %t, 77;
  mad.lo.s32 %r4, %r3, 16, %r1;
  ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r4+64];
  mad.wide.u32 %d3, %t, 16, %p1;
  st.global.v4.b32 [%d3], {{%r10, %r11, %r12, %r13}};"""
    covers = ("cp.async.mbarrier.arrive.noinc.shared::cta.b64",)
    yield _case("cp.async and mbarrier", body, [data, np.zeros(2048, np.uint8)], covers, shared=8192)


_ATOMICS = {
    "u32": ("add", "min", "max", "inc", "dec"), "s32": ("add", "min", "max"), "b32": ("and", "or", "xor", "exch", "cas"),
    "u64": ("add", "min", "max"), "s64": ("min", "max"), "b64": ("and", "or", "xor", "exch", "cas"), "f32": ("add",),
    "f64": ("add",), "noftz.f16": ("add",), "noftz.bf16": ("add",), "noftz.f16x2": ("add",), "noftz.bf16x2": ("add",),
}  # fmt: skip


def _atomics() -> Iterator[Case]:
    """Each thread its own element, so that order does not matter: the old value, and what memory holds then."""
    for full_kind, operations in _ATOMICS.items():
        kind = full_kind.rsplit(".", 1)[-1]
        bits = width(kind)
        prefix = _PREFIX[bits]
        for operation in operations:
            for space in ("global", "shared"):
                mnemonic = f"atom.{space}.{operation}.{full_kind}"
                covers = [mnemonic]
                before = typed(f"{operation} {full_kind} before", 256, kind)
                value = typed(f"{operation} {full_kind} value", 256, kind)
                table = edges(kind.removesuffix("x2"))
                if not kind.endswith("x2"):
                    before[:160] = table[below(full_kind, 160, len(table))]
                    value[:160] = table[below(full_kind + "v", 160, len(table))]
                other = np.where(np.arange(256) % 2, before, value).astype(before.dtype)
                third = f", {prefix}22" if operation == "cas" else ""
                size = bits // 8
                body = f"""{_ARENA}  mad.wide.u32 %d2, %g, {size}, %p0;
  mad.wide.u32 %d3, %g, {size}, %p1;
  mad.wide.u32 %d4, %g, {size}, %p2;
  mad.wide.u32 %d5, %g, {size}, %p3;
  ld.global.b{bits} {prefix}21, [%d3];
  ld.global.b{bits} {prefix}22, [%d4];
"""
                if operation == "cas":  # compares with the second, stores the first
                    arguments = f"{prefix}22, {prefix}21"
                else:
                    arguments = f"{prefix}21"
                del third
                if space == "global":
                    body += f"  {mnemonic} {prefix}23, [%d2], {arguments};\n  st.global.b{bits} [%d5], {prefix}23;\n"
                    if operation not in ("exch", "cas"):
                        covers.append("red" + mnemonic[4:])
                        body += f"  red{mnemonic[4:]} [%d2], {arguments};\n"
                else:
                    body += f"""  mad.lo.s32 %r2, %t, {size}, %r1;
  ld.global.b{bits} {prefix}24, [%d2];
  st.shared.b{bits} [%r2], {prefix}24;
  {mnemonic} {prefix}23, [%r2], {arguments};
  st.global.b{bits} [%d5], {prefix}23;
  ld.shared.b{bits} {prefix}24, [%r2];
  st.global.b{bits} [%d2], {prefix}24;
"""
                floating = kind if kind in ("f32", "f64") else kind if kind.startswith(("f16", "bf16")) else "bits"
                out = np.zeros(256, unsigned(bits))
                yield _case(
                    mnemonic, body, [before, value, other, out], tuple(covers), written=(0, 3),
                    kinds=(floating, floating), grid=(2, 1, 1), shared=2048,
                )  # fmt: skip
    for kind in ("f32", "b32"):
        for operation in ("add",) if kind == "f32" else ("cas",):
            mnemonic = f"atom.relaxed.gpu.global.{operation}.{kind}"
            before, value = typed(mnemonic + "b", 128, "f32"), typed(mnemonic + "v", 128, "f32")
            value[::3] = before[::3]
            argument = "%r21, %r22" if operation == "cas" else "%r21"
            body = f"""  mad.wide.u32 %d2, %g, 4, %p0;
  mad.wide.u32 %d3, %g, 4, %p1;
  mad.wide.u32 %d5, %g, 4, %p2;
  ld.global.b32 %r21, [%d3];
  not.b32 %r22, %r21;
  {mnemonic} %r23, [%d2], {argument};
  st.global.b32 [%d5], %r23;"""
            kinds = (kind if kind == "f32" else "bits",) * 2
            arrays = [before, value, np.zeros(128, np.uint32)]
            yield _case(mnemonic, body, arrays, (mnemonic,), written=(0, 2), kinds=kinds)
    # All threads on few places: only the end is determined.
    value = random_bits("contended", 1024, 32) >> np.uint32(12)
    body = """  mad.wide.u32 %d2, %g, 4, %p0;
  ld.global.b32 %r2, [%d2];
  and.b32 %r3, %g, 3;
  mad.wide.u32 %d3, %r3, 4, %p1;
  atom.global.add.u32 %r4, [%d3], %r2;
  atom.global.max.s32 %r4, [%d3+16], %r2;
  red.global.add.u32 [%d3+32], %r2;
  red.relaxed.gpu.global.xor.b32 [%d3+48], %r2;"""
    covers = ("atom.global.add.u32", "atom.global.max.s32", "red.global.add.u32", "red.relaxed.gpu.global.xor.b32")
    yield _case("contended atomics", body, [value, np.zeros(16, np.uint32)], covers, grid=(8, 1, 1))


def cases() -> Iterator[Case]:
    """All cases of memory."""
    yield from _vectors()
    yield from _places()
    yield from _asynchronous()
    yield from _atomics()
