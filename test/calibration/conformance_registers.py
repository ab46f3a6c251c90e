"""Conformance cases of register instructions: arithmetic, logic, comparisons, conversions, moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conformance import Case
from conformance_inputs import FORMATS, operands, random_bits, unsigned, width

COUNT = 1024
_PREFIX = {8: "%h", 16: "%h", 32: "%r", 64: "%d"}


def elementwise(
    name: str,
    instruction: str,
    result: str,
    sources: tuple[str, ...],
    covers: tuple[str, ...] = (),
    model: str = "exact",
    count: int = COUNT,
    keep: str | None = None,
    inputs: list[np.ndarray] | None = None,
    group: str = "registers",
) -> Case:
    """A case with one thread per element.

    Args:
        name: of the case.
        instruction: PTX with `{d}` for the result and `{0}`, `{1}`, ... for the sources.
        result, sources: PTX types. 8-bit results come in 32-bit registers, 8-bit sources in 16-bit ones.
        covers: mnemonics; by default that of the instruction.
        model: of the comparison.
        count: elements, a multiple of 128.
        keep: see `Case`; floats are kept, integers sampled.
        inputs: operands, when the usual ones do not fit.
        group: file of the results.
    """
    values = inputs or operands(name, sources, count)
    lines = []
    for i, kind in enumerate(sources):
        bits = width(kind)
        load = f"ld.global.{'s8' if kind == 's8' else 'u8'}" if bits == 8 else f"ld.global.b{bits}"
        lines += [
            f"  mad.wide.u32 %d{40 + i}, %g, {bits // 8}, %p{i};",
            f"  {load} {_PREFIX[bits]}{40 + i}, [%d{40 + i}];",
        ]
    into = max(width(result), 32) if width(result) == 8 else width(result)
    names = {"d": f"{_PREFIX[into]}50"}
    text = instruction.format(*[f"{_PREFIX[width(k)]}{40 + i}" for i, k in enumerate(sources)], **names)
    lines += ["  " + text]
    lines += [
        f"  mad.wide.u32 %d50, %g, {into // 8}, %p{len(sources)};"
        if into < 64
        else f"  mad.wide.u32 %d51, %g, 8, %p{len(sources)};"
    ]
    lines += [f"  st.global.b{into} [{'%d50' if into < 64 else '%d51'}], {names['d']};"]
    out = (
        np.full(count, 0xA5, unsigned(into))
        if into == 8
        else np.zeros(count, unsigned(into)) + unsigned(into).type(0x5A)
    )
    arrays = tuple(_signed(array) for array in [*values, out])
    floating = result in FORMATS or result in ("f16x2", "bf16x2")
    mnemonic = instruction.split()[0]
    return Case(
        name=name, group=group, body="\n".join(lines), arrays=arrays, written=(len(sources),),
        kinds=(result if floating else "bits",), covers=covers or (mnemonic,), model=model, grid=(count // 128, 1, 1),
        keep=keep or ("all" if floating else "sample"),
    )  # fmt: skip


def _signed(array: np.ndarray) -> np.ndarray:
    """The same bits in a type that every framework has."""
    size = array.dtype.itemsize
    return array if size == 1 else array.view(f"i{size}")


def _simple(mnemonic: str, result: str, *sources: str, model: str = "exact", name: str = "") -> Case:
    """`mnemonic d, a, b, ...;`"""
    arguments = ", ".join("{" + str(i) + "}" for i in range(len(sources)))
    return elementwise(name or mnemonic, f"{mnemonic} {{d}}, {arguments};", result, sources, model=model)


def _float_arithmetic() -> Iterator[Case]:
    for kind, roundings in (("f32", ("", ".rn", ".ftz", ".rz", ".rm", ".rp", ".sat")), ("f64", ("", ".rn")),
                            ("f16", ("",)), ("bf16", ("",)), ("f16x2", ("",)), ("bf16x2", ("",))):  # fmt: skip
        for operation in ("add", "sub", "mul"):
            for rounding in roundings:
                yield _simple(f"{operation}{rounding}.{kind}", kind, kind, kind)
        for rounding in (".rn", ".rn.ftz", ".rz", ".rm", ".rp") if kind == "f32" else (".rn",):
            yield _simple(f"fma{rounding}.{kind}", kind, kind, kind, kind)
        for operation in ("min", "max"):
            for nan in ("",) if kind == "f64" else ("", ".NaN"):
                yield _simple(f"{operation}{nan}.{kind}", kind, kind, kind)
        for operation in ("abs", "neg"):
            yield _simple(f"{operation}.{kind}", kind, kind)
        if kind == "f32":
            for operation in ("min", "max"):
                yield _simple(f"{operation}.ftz.f32", kind, kind, kind)
            yield _simple("abs.ftz.f32", kind, kind)
            yield _simple("neg.ftz.f32", kind, kind)
        if kind in ("f32", "f64"):
            yield _simple(f"div.rn.{kind}", kind, kind, kind)
            yield _simple(f"sqrt.rn.{kind}", kind, kind)
            yield _simple(f"rcp.rn.{kind}", kind, kind)
            yield _simple(f"copysign.{kind}", kind, kind, kind)
    yield _simple("div.rn.ftz.f32", "f32", "f32", "f32")
    for kind in ("f32", "f64"):
        for question in ("finite", "infinite", "number", "notanumber"):
            text = f"testp.{question}.{kind} %q1, {{0}};\n  selp.b32 {{d}}, 1, 0, %q1;"
            yield elementwise(f"testp.{question}.{kind}", text, "b32", (kind,))


#: Approximate functions: the result may be this many units in the last place from the exact value rounded.
APPROXIMATE = (
    "ex2.approx.f32", "ex2.approx.ftz.f32", "lg2.approx.f32", "lg2.approx.ftz.f32", "rcp.approx.f32",
    "rcp.approx.ftz.f32", "rsqrt.approx.f32", "rsqrt.approx.ftz.f32", "sqrt.approx.f32", "sqrt.approx.ftz.f32",
    "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32", "ex2.approx.f16", "ex2.approx.f16x2",
    "ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16x2", "tanh.approx.f16", "tanh.approx.f16x2", "tanh.approx.bf16",
    "tanh.approx.bf16x2",
)  # fmt: skip


def _approximate() -> Iterator[Case]:
    for mnemonic in APPROXIMATE:
        kind = mnemonic.rsplit(".", 1)[1]
        yield elementwise(
            mnemonic, f"{mnemonic} {{d}}, {{0}};", kind, (kind,), model="function", count=4096, group="functions"
        )
    for mnemonic in ("div.approx.f32", "div.full.f32", "div.approx.ftz.f32"):
        text = f"{mnemonic} {{d}}, {{0}}, {{1}};"
        yield elementwise(mnemonic, text, "f32", ("f32", "f32"), model="function", count=4096, group="functions")


def _integer_arithmetic() -> Iterator[Case]:
    kinds = ("s16", "u16", "s32", "u32", "s64", "u64")
    for kind in kinds:
        for operation in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            yield _simple(f"{operation}.{kind}", kind, kind, kind)
        for operation in ("div", "rem"):
            name = f"{operation}.{kind}"
            a, b = operands(name, (kind, kind), COUNT)
            b[b == 0] = 3
            if kind[0] == "s":  # the one quotient that does not fit
                lowest = a == a.dtype.type(1 << (width(kind) - 1))
                b[lowest & (b == b.dtype.type((1 << width(kind)) - 1))] = 9
            text = f"{name} {{d}}, {{0}}, {{1}};"
            yield elementwise(name, text, kind, (kind, kind), inputs=[a, b])
        yield _simple(f"mad.lo.{kind}", kind, kind, kind, kind)
        if kind[0] == "s":
            yield _simple(f"abs.{kind}", kind, kind)
            yield _simple(f"neg.{kind}", kind, kind)
        if width(kind) < 64:
            wide = kind[0] + str(2 * width(kind))
            yield _simple(f"mul.wide.{kind}", wide, kind, kind)
            yield _simple(f"mad.wide.{kind}", wide, kind, kind, wide)
        yield _simple(f"mad.hi.{kind}", kind, kind, kind, kind)
    yield _simple("add.sat.s32", "s32", "s32", "s32")
    yield _simple("sub.sat.s32", "s32", "s32", "s32")
    for kind in ("s16x2", "u16x2"):
        for operation in ("min", "max"):
            mnemonic = f"{operation}.{kind}"
            yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}}, {{1}};", "b32", ("b32", "b32"))
    for first in ("s32", "u32"):
        for second in ("s32", "u32"):
            yield _simple(f"dp4a.{first}.{second}", "b32", "b32", "b32", "b32")


def _logic() -> Iterator[Case]:
    for bits in ("b16", "b32", "b64"):
        for operation in ("and", "or", "xor"):
            yield _simple(f"{operation}.{bits}", bits, bits, bits)
        yield _simple(f"not.{bits}", bits, bits)
        amounts = (random_bits("amounts", COUNT, 8) % (2 * width(bits) - 20)).astype(np.uint32)
        for mnemonic in (f"shl.{bits}", f"shr.{bits}", f"shr.u{bits[1:]}", f"shr.s{bits[1:]}"):
            (a,) = operands(mnemonic, (bits,), COUNT)
            text = f"{mnemonic} {{d}}, {{0}}, {{1}};"
            yield elementwise(mnemonic, text, bits, (bits, "b32"), inputs=[a, amounts])
        if bits != "b16":
            for operation in ("popc", "clz"):
                yield _simple(f"{operation}.{bits}", "b32", bits)
            yield _simple(f"brev.{bits}", bits, bits)
            for kind in ("s", "u"):
                for shift in ("", ".shiftamt"):
                    yield _simple(f"bfind{shift}.{kind}{bits[1:]}", "b32", bits)
                mnemonic = f"bfe.{kind}{bits[1:]}"
                (a,) = operands(mnemonic, (bits,), COUNT)
                start, length = ((random_bits(mnemonic + x, COUNT, 8) % 80).astype(np.uint32) for x in "sl")
                text = f"{mnemonic} {{d}}, {{0}}, {{1}}, {{2}};"
                yield elementwise(mnemonic, text, bits, (bits, "b32", "b32"), inputs=[a, start, length])
            mnemonic = f"bfi.{bits}"
            a, b = operands(mnemonic, (bits, bits), COUNT)
            text = f"{mnemonic} {{d}}, {{0}}, {{1}}, {{2}}, {{3}};"
            yield elementwise(mnemonic, text, bits, (bits, bits, "b32", "b32"), inputs=[a, b, start, length])
        yield elementwise(
            f"selp.{bits}", f"setp.lt.s32 %q1, {{2}}, 0;\n  selp.{bits} {{d}}, {{0}}, {{1}}, %q1;", bits,
            (bits, bits, "b32"), (f"selp.{bits}",),
        )  # fmt: skip
    for kind in ("f32", "f64"):
        yield elementwise(
            f"selp.{kind}", f"setp.lt.s32 %q1, {{2}}, 0;\n  selp.{kind} {{d}}, {{0}}, {{1}}, %q1;", "b" + kind[1:],
            ("b" + kind[1:], "b" + kind[1:], "b32"), (f"selp.{kind}",),
        )  # fmt: skip
    for direction in "lr":
        for mode in ("wrap", "clamp"):
            mnemonic = f"shf.{direction}.{mode}.b32"
            a, b = operands(mnemonic, ("b32", "b32"), COUNT)
            amounts = (random_bits(mnemonic, COUNT, 8) % 80).astype(np.uint32)
            text = f"{mnemonic} {{d}}, {{0}}, {{1}}, {{2}};"
            yield elementwise(mnemonic, text, "b32", ("b32",) * 3, inputs=[a, b, amounts])
    yield elementwise("prmt.b32", "prmt.b32 {d}, {0}, {1}, {2};", "b32", ("b32",) * 3)
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield elementwise(f"prmt.b32.{mode}", f"prmt.b32.{mode} {{d}}, {{0}}, {{1}}, {{2}};", "b32", ("b32",) * 3)
    for table in (0x96, 0xE8, 0x1B, 0x80):
        text = f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {table};"
        yield elementwise(f"lop3.b32 {table:#x}", text, "b32", ("b32",) * 3, ("lop3.b32",))
    for by in ("s32", "f32"):
        yield _simple(f"slct.b32.{by}", "b32", "b32", "b32", by)
    yield _simple("set.lt.u32.f32", "b32", "f32", "f32")
    yield _simple("set.eq.f32.f32", "f32", "f32", "f32")
    yield _simple("set.ge.u32.s32", "b32", "s32", "s32")
    lines = ["and.b32 %r1, {0}, 1;", "setp.ne.b32 %q1, %r1, 0;", "and.b32 %r1, {0}, 2;", "setp.ne.b32 %q2, %r1, 0;",
             "mov.b32 {d}, 0;"]  # fmt: skip
    tests = ["and.pred %q3, %q1, %q2;", "or.pred %q3, %q1, %q2;", "xor.pred %q3, %q1, %q2;", "not.pred %q3, %q1;",
             "mov.pred %q3, %q2;", "setp.lt.and.s32 %q3, {0}, 0, %q1;", "setp.lt.or.s32 %q3, {0}, 0, !%q1;",
             "setp.lt.xor.s32 %q3|%q4, {0}, 0, %q1;\n  not.pred %q4, %q4;\n  and.pred %q3, %q3, %q4;"]  # fmt: skip
    for i, test in enumerate(tests):
        lines += [test, f"selp.b32 %r2, {1 << i}, 0, %q3;", "or.b32 {d}, {d}, %r2;"]
    covered = ("and.pred", "or.pred", "xor.pred", "not.pred", "mov.pred")
    yield elementwise("predicates", "\n  ".join(lines), "b32", ("b32",), covered)


def _comparisons() -> Iterator[Case]:
    equal, order = ("eq", "ne"), ("lt", "le", "gt", "ge")
    unordered = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
    table = {
        "b16": equal, "b32": equal, "b64": equal, "s16": equal + order, "s32": equal + order, "s64": equal + order,
        "u16": equal + order + ("lo", "ls", "hi", "hs"), "u32": equal + order + ("lo", "ls", "hi", "hs"),
        "u64": equal + order + ("lo", "ls", "hi", "hs"),
    }  # fmt: skip
    for kind in ("f32", "f64", "f16", "bf16"):
        table[kind] = equal + order + unordered
    table["ftz.f32"] = equal + order + unordered
    for kind, names in table.items():
        source = kind.rsplit(".", 1)[-1]
        lines = ["mov.b32 {d}, 0;"]
        for i, name in enumerate(names):
            lines += [
                f"setp.{name}.{kind} %q1, {{0}}, {{1}};",
                f"selp.b32 %r2, {1 << i}, 0, %q1;",
                "or.b32 {d}, {d}, %r2;",
            ]
        yield elementwise(
            f"setp.{kind}", "\n  ".join(lines), "b32", (source, source), tuple(f"setp.{name}.{kind}" for name in names)
        )


def _conversions() -> Iterator[Case]:
    integers = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
    floats = ("f16", "bf16", "f32", "f64")

    def one(mnemonic: str, group: str = "conversions") -> Case:
        into, source = mnemonic.split(".")[-2:]
        return elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}};", into, (source,), group=group)

    for into in integers:
        for source in integers:
            if into != source:
                yield one(f"cvt.{into}.{source}")
                if into in ("s8", "u8", "s16", "u16", "s32", "u32") and source in ("s32", "u32", "s64"):
                    yield one(f"cvt.sat.{into}.{source}")
    for source in floats:
        for into in integers[2:] if source == "bf16" else integers:
            for mode in ("rzi", "rni", "rmi", "rpi") if source == "f32" else ("rzi",):
                yield one(f"cvt.{mode}.{into}.{source}")
            yield one(f"cvt.rn.{source}.{into}")
        if source != "bf16":
            for mode in ("rzi", "rni", "rmi", "rpi"):
                yield one(f"cvt.{mode}.{source}.{source}")
    for mode in ("rz", "rm", "rp"):
        yield one(f"cvt.{mode}.f32.s32")
        yield one(f"cvt.{mode}.f32.f64")
        yield one(f"cvt.{mode}.f64.s64")
    for mnemonic in (
        "cvt.rn.f16.f32", "cvt.rz.f16.f32", "cvt.rn.relu.f16.f32", "cvt.rn.bf16.f32", "cvt.rz.bf16.f32",
        "cvt.rn.relu.bf16.f32", "cvt.rn.f32.f64", "cvt.rn.f16.f64", "cvt.rn.bf16.f64", "cvt.f32.f16", "cvt.f64.f16",
        "cvt.f32.bf16", "cvt.f64.bf16", "cvt.f64.f32", "cvt.rn.bf16.f16", "cvt.rn.f16.bf16", "cvt.sat.f32.f32",
        "cvt.ftz.f32.f16", "cvt.rn.ftz.f16.f32", "cvt.sat.f32.f16", "cvt.rn.sat.f16.f32", "cvt.rni.ftz.f32.f32",
    ):  # fmt: skip
        yield one(mnemonic)
    for mnemonic in ("cvt.rna.tf32.f32", "cvt.rn.tf32.f32", "cvt.rz.tf32.f32", "cvt.rn.relu.tf32.f32"):
        yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}};", "f32", ("f32",), group="conversions")
    for into in ("f16x2", "bf16x2"):
        for mode in ("rn", "rz", "rn.relu", "rz.relu"):
            mnemonic = f"cvt.{mode}.{into}.f32"
            yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}}, {{1}};", into, ("f32", "f32"), group="conversions")
    for kind in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            mnemonic = f"cvt.rn{relu}.f16x2.{kind}"
            yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}};", "f16x2", (kind,), group="conversions")
            mnemonic = f"cvt.rn.satfinite{relu}.{kind}.f32"
            yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}}, {{1}};", "b16", ("f32", "f32"), group="conversions")
            mnemonic = f"cvt.rn.satfinite{relu}.{kind}.f16x2"
            yield elementwise(mnemonic, f"{mnemonic} {{d}}, {{0}};", "b16", ("f16x2",), group="conversions")


def _moves() -> Iterator[Case]:
    for kind in ("b16", "b32", "b64"):
        yield _simple(f"mov.{kind}", kind, kind)
    yield _simple("mov.u32", "b32", "b32")
    yield _simple("mov.f32", "b32", "b32")
    yield _simple("mov.u64", "b64", "b64")
    yield elementwise("mov pack b32", "mov.b32 {d}, {{{0}, {1}}};", "b32", ("b16", "b16"), ("mov.b32",))
    yield elementwise("mov pack b64", "mov.b64 {d}, {{{0}, {1}}};", "b64", ("b32", "b32"), ("mov.b64",))
    yield elementwise(
        "mov unpack b32", "mov.b32 {{%h1, %h2}}, {0};\n  mov.b32 {d}, {{%h2, %h1}};", "b32", ("b32",), ("mov.b32",)
    )
    yield elementwise(
        "mov unpack b64", "mov.b64 {{%r1, %r2}}, {0};\n  mov.b64 {d}, {{%r2, %r1}};", "b64", ("b64",), ("mov.b64",)
    )
    yield elementwise(
        "mov unpack quarters", "mov.b64 {{%h1, %h2, %h3, %h4}}, {0};\n  mov.b64 {d}, {{%h3, %h1, %h4, %h2}};", "b64",
        ("b64",), ("mov.b64",),
    )  # fmt: skip
    yield elementwise(
        "branches",
        "mov.b32 {d}, 0;\n  and.b32 %r1, {0}, 15;\nagain:\n  setp.eq.b32 %q1, %r1, 0;\n  @%q1 bra done;\n"
        "  add.s32 {d}, {d}, %r1;\n  sub.s32 %r1, %r1, 1;\n  bra.uni again;\ndone:\n  xor.b32 {d}, {d}, {0};",
        "b32", ("b32",), ("bra", "bra.uni", "ret"),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    """All cases of register instructions."""
    yield from _float_arithmetic()
    yield from _approximate()
    yield from _integer_arithmetic()
    yield from _logic()
    yield from _comparisons()
    yield from _conversions()
    yield from _moves()
