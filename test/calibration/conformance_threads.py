"""Conformance cases of what threads do together: shuffles, votes, barriers, special registers, clusters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conformance import Case
from conformance_inputs import below, random_bits, typed

_WARPS = 16


def _words(name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(array.view(f"i{array.dtype.itemsize}") if array.dtype.itemsize > 1 else array for array in arrays)


def per_lane(
    name: str, text: str, covers: tuple[str, ...], sources: tuple[np.ndarray, ...], results: int = 2, **more: object
) -> Case:
    """A case whose threads each load a 32-bit word per source and store some words.

    Args:
        name: of the case.
        text: PTX; sources are in %r40, %r41, ..., results in %r50, %r51, ...
        covers: mnemonics.
        sources: uint32 arrays.
        results: words per thread.
        more: further attributes of the case.
    """
    count = len(sources[0])
    threads = int(more.pop("threads", 128))  # type: ignore[call-overload]
    lines = []
    for i in range(len(sources)):
        lines += [f"  mad.wide.u32 %d{i}, %g, 4, %p{i};", f"  ld.global.b32 %r{40 + i}, [%d{i}];"]
    lines += [text, f"  mad.wide.u32 %d10, %g, {4 * results}, %p{len(sources)};"]
    lines += [f"  st.global.b32 [%d10+{4 * i}], %r{50 + i};" for i in range(results)]
    out = np.full(count * results, 0x5A, np.uint32)
    return Case(
        name=name, group="threads", body="\n".join(lines), arrays=_words(name, *sources, out),
        written=(len(sources),), kinds=("bits",), covers=covers, threads=threads,
        grid=(count // threads, 1, 1), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _shuffles() -> Iterator[Case]:
    count = 32 * _WARPS
    value = random_bits("shuffled", count, 32)
    amounts = below("shuffle amounts", count, 40).astype(np.uint32)
    for mode, clamp in (("idx", 31), ("bfly", 31), ("up", 0), ("down", 31)):
        for segment in (32, 8):
            c = clamp | (32 - segment) << 8
            mnemonic = f"shfl.sync.{mode}.b32"
            text = f"""  mov.b32 %r50, 0;
  {mnemonic} %r50|%q1, %r40, %r41, {c}, -1;
  selp.b32 %r51, 1, 0, %q1;"""
            yield per_lane(f"{mnemonic} of {segment}", text, (mnemonic,), (value, amounts))
    text = """  setp.lt.u32 %q2, %r42, 12;
  mov.b32 %r50, %r40;
  mov.b32 %r51, 7;
  @!%q2 bra skip;
  shfl.sync.bfly.b32 %r50|%q1, %r40, 3, 31, 4095;
  selp.b32 %r51, 1, 0, %q1;
skip:
  bar.warp.sync -1;"""
    lanes = np.arange(count, dtype=np.uint32) % 32
    yield per_lane("shfl.sync of some lanes", text, ("shfl.sync.bfly.b32", "bar.warp.sync"), (value, amounts, lanes))


def _votes() -> Iterator[Case]:
    count = 32 * _WARPS
    bits = random_bits("votes", count, 32) & np.uint32(1)
    warp = np.arange(count) // 32
    bits[warp % 4 == 0] = 1
    bits[warp % 4 == 1] = 0
    lines = ["  setp.ne.b32 %q1, %r40, 0;", "  mov.b32 %r50, 0;"]
    for i, mode in enumerate(("all", "any", "uni")):
        lines += [
            f"  vote.sync.{mode}.pred %q2, %q1, -1;",
            f"  selp.b32 %r1, {1 << i}, 0, %q2;",
            "  or.b32 %r50, %r50, %r1;",
        ]
    lines += ["  vote.sync.ballot.b32 %r51, %q1, -1;", "  activemask.b32 %r52;"]
    names = tuple(f"vote.sync.{mode}" for mode in ("all.pred", "any.pred", "uni.pred", "ballot.b32"))
    yield per_lane("vote.sync", "\n".join(lines), (*names, "activemask.b32"), (bits,), 3)
    text = """  elect.sync %r51|%q1, -1;
  mov.b32 %r50, 0;
  vote.sync.ballot.b32 %r1, %q1, -1;
  popc.b32 %r50, %r1;
  shl.b32 %r2, 1, %r51;
  setp.eq.b32 %q2, %r1, %r2;
  selp.b32 %r51, 1, 0, %q2;"""
    yield per_lane("elect.sync", text, ("elect.sync",), (bits,))
    values = typed("redux", count, "s32")
    for kind, operations in (
        ("u32", ("add", "min", "max")),
        ("s32", ("add", "min", "max")),
        ("b32", ("and", "or", "xor")),
    ):
        for operation in operations:
            mnemonic = f"redux.sync.{operation}.{kind}"
            yield per_lane(mnemonic, f"  {mnemonic} %r50, %r40, -1;", (mnemonic,), (values,), 1)
    few = below("matched", count, 5).astype(np.uint32)
    few[warp % 4 == 0] = 3
    text = """  match.any.sync.b32 %r50, %r40, -1;
  match.all.sync.b32 %r51|%q1, %r40, -1;
  selp.b32 %r52, 1, 0, %q1;"""
    yield per_lane("match", text, ("match.any.sync.b32", "match.all.sync.b32"), (few,), 3)


def _specials() -> Iterator[Case]:
    names = ("%tid.x", "%tid.y", "%ntid.x", "%ntid.y", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y",
             "%nctaid.z", "%laneid", "%lanemask_lt", "%lanemask_le", "%lanemask_eq", "%lanemask_ge", "%lanemask_gt",
             "%cluster_ctarank", "%cluster_nctarank", "%cluster_ctaid.x", "%cluster_ctaid.y", "%clusterid.x",
             "%clusterid.y", "%nclusterid.x", "%nclusterid.y", "%cluster_nctaid.x", "%cluster_nctaid.y",
             "%dynamic_smem_size")  # fmt: skip
    lines = ["  mov.u32 %r1, %ctaid.y;", "  mov.u32 %r2, %nctaid.x;", "  mov.u32 %r3, %ctaid.x;",
             "  mad.lo.s32 %r1, %r1, %r2, %r3;", "  mad.lo.s32 %r1, %r1, 64, %t;",
             f"  mad.wide.u32 %d1, %r1, {4 * len(names)}, %p0;"]  # fmt: skip
    for i, name in enumerate(names):
        lines += [f"  mov.u32 %r4, {name};", f"  st.global.b32 [%d1+{4 * i}], %r4;"]
    out = np.zeros(4 * 6 * 64 * len(names), np.int32)
    yield Case(
        name="special registers", group="threads", body="\n".join(lines), arrays=(out,), written=(0,),
        kinds=("bits",), covers=("mov.u32",), threads=64, grid=(4, 6, 1), cluster=(2, 3, 1), shared=2048,
    )  # fmt: skip


def _barriers() -> Iterator[Case]:
    """Named barriers between producers and consumers: what one half stores, the other one reads."""
    text = """  mov.u64 %d1, arena;
  cvta.to.shared.u64 %d1, %d1;
  cvt.u32.u64 %r1, %d1;
  shl.b32 %r2, %t, 2;
  add.s32 %r3, %r1, %r2;
  mov.b32 %r10, 0;
  mov.b32 %r50, 0;
  mov.b32 %r51, 0;
  setp.ge.u32 %q1, %t, 64;
  @%q1 bra consume;
produce:
  add.s32 %r4, %r40, %r10;
  st.shared.b32 [%r3], %r4;
  ARRIVE 1, 128;
  WAIT 2, 128;
  add.s32 %r10, %r10, 1;
  setp.lt.s32 %q2, %r10, 5;
  @%q2 bra produce;
  bra done;
consume:
  WAIT 1, 128;
  xor.b32 %r5, %r2, 260;
  add.s32 %r5, %r5, %r1;
  ld.shared.b32 %r6, [%r5];
  mad.lo.s32 %r50, %r50, 31, %r6;
  ARRIVE 2, 128;
  add.s32 %r10, %r10, 1;
  setp.lt.s32 %q2, %r10, 5;
  @%q2 bra consume;
done:
  bar.sync 0;"""
    value = random_bits("barriers", 256, 32)
    for arrive, wait in (("barrier.cta.arrive.aligned", "barrier.cta.sync.aligned"), ("bar.arrive", "bar.sync"),
                         ("barrier.arrive.aligned", "barrier.sync.aligned"), ("barrier.arrive", "barrier.sync")):  # fmt: skip
        body = text.replace("ARRIVE", arrive).replace("WAIT", wait)
        yield per_lane(f"{arrive} and {wait}", body, (arrive, wait, "bar.sync"), (value,), shared=1024)


def _clusters() -> Iterator[Case]:
    """Stores into another block's shared memory, remote arrivals, barriers of the cluster."""
    text = """  mov.u64 %d1, arena;
  cvta.to.shared.u64 %d1, %d1;
  cvt.u32.u64 %r1, %d1;
  mov.u32 %r2, %cluster_ctarank;
  add.s32 %r3, %r2, 1;
  and.b32 %r3, %r3, 3;
  mapa.shared::cluster.u32 %r4, %r1, %r3;
  shl.b32 %r5, %t, 2;
  add.s32 %r6, %r4, %r5;
  barrier.cluster.arrive.RELEASEaligned;
  barrier.cluster.wait.ACQUIREaligned;
  st.shared::cluster.b32 [%r6], %r40;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  add.s32 %r7, %r1, %r5;
  ld.shared.b32 %r50, [%r7];
  ld.shared::cluster.b32 %r51, [%r6];
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;"""
    value = random_bits("clusters", 512, 32)
    for name, release, acquire in (("relaxed", "relaxed.", "acquire."), ("plain", "", "")):
        covered = ("mapa.shared::cluster.u32", f"barrier.cluster.arrive.{release}aligned",
                   f"barrier.cluster.wait.{acquire}aligned", "barrier.cluster.arrive.release.aligned",
                   "barrier.cluster.wait.acquire.aligned", "st.shared::cluster.b32", "ld.shared::cluster.b32")  # fmt: skip
        body = text.replace("RELEASE", release).replace("ACQUIRE", acquire)
        yield per_lane(f"cluster memory, {name}", body, covered, (value,), cluster=(4, 1, 1), shared=1024)
    remote = """  mov.u64 %d1, arena;
  cvta.to.shared.u64 %d1, %d1;
  cvt.u32.u64 %r1, %d1;
  setp.eq.u32 %q1, %t, 0;
  @%q1 mbarrier.init.shared::cta.b64 [%r1], 2;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.b32 %r8, 0;
  mov.b32 %r50, 0;
again:
  setp.lt.u32 %q2, %t, 2;
  mapa.shared::cluster.u32 %r4, %r1, %t;
  @%q2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
  and.b32 %r9, %r8, 1;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q3, [%r1], %r9;
  @!%q3 bra wait;
  add.s32 %r50, %r50, %r40;
  bar.sync 0;
  add.s32 %r8, %r8, 1;
  setp.lt.s32 %q4, %r8, 5;
  @%q4 bra again;
  mov.b32 %r51, %r8;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;"""
    covered = ("mbarrier.arrive.release.cluster.shared::cluster.b64", "fence.mbarrier_init.release.cluster",
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64")  # fmt: skip
    yield per_lane("remote arrivals", remote, covered, (value[:256],), cluster=(2, 1, 1), shared=1024)
    plain = remote.replace("mbarrier.arrive.release.cluster.shared::cluster", "mbarrier.arrive.shared::cluster")
    plain = plain.replace("mbarrier.try_wait.parity.acquire.cluster", "mbarrier.try_wait.parity")
    yield per_lane(
        "remote arrivals without scope", plain, ("mbarrier.arrive.shared::cluster.b64",), (value[:256],),
        cluster=(2, 1, 1), shared=1024,
    )  # fmt: skip


def _mbarriers() -> Iterator[Case]:
    """What mbarriers answer along a fixed course of arrivals, by one thread."""
    course = [
        "  mov.u64 %d1, arena;", "  cvta.to.shared.u64 %d1, %d1;", "  cvt.u32.u64 %r1, %d1;",
        "  mbarrier.init.shared::cta.b64 [%r1], 3;",
    ]  # fmt: skip
    results = 0

    def test(complete: int) -> None:
        """Asks for both phases; one that is not complete without waiting, since a later arrival may end the wait."""
        nonlocal results
        for parity in (0, 1):
            for kind in ("test_wait", "try_wait") if parity == complete else ("test_wait",):
                course.append(f"  mbarrier.{kind}.parity.shared::cta.b64 %q1, [%r1], {parity};")
                course.append(f"  selp.b32 %r{60 + results}, 1, 0, %q1;")
                results += 1

    test(1)
    for _ in range(2):
        course.append("  mbarrier.arrive.shared::cta.b64 %d2, [%r1];")
        test(1)
    course.append("  mbarrier.arrive.shared::cta.b64 %d2, [%r1];")
    test(0)
    course.append("  mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [%r1], 64;")
    course.append("  mbarrier.arrive.shared::cta.b64 %d2, [%r1], 2;")
    test(0)
    course.append("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48;")
    test(0)
    course.append("  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;")
    course.append("  mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 32;")
    test(1)
    course.append("  mbarrier.arrive_drop.shared::cta.b64 %d2, [%r1];")
    course.append("  mbarrier.arrive.shared::cta.b64 %d2, [%r1], 2;")
    test(0)
    course.append("  mbarrier.arrive.shared::cta.b64 %d2, [%r1], 2;")
    test(1)
    course.append("  mbarrier.inval.shared::cta.b64 [%r1];")
    course += [f"  st.global.b32 [%p0+{4 * i}], %r{60 + i};" for i in range(results)]
    body = "\n".join(["  setp.ne.u32 %q9, %t, 0;", "  @%q9 bra out;", *course, "out:"])
    covered = {line.split()[0] for line in course if "mbarrier" in line}
    yield Case(
        name="mbarrier", group="threads", body=body, arrays=(np.zeros(results, np.int32),), written=(0,),
        kinds=("bits",), covers=tuple(sorted(covered)), threads=32, shared=1024, registers="",
    )  # fmt: skip
    text = """  mov.u64 %d1, arena;
  cvta.to.shared.u64 %d1, %d1;
  cvt.u32.u64 %r1, %d1;
  mov.b32 %r2, 0;
  setp.eq.u32 %q1, %t, 0;
  @%q1 mbarrier.init.shared::cta.b64 [%r1], 96;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mov.b32 %r50, 0;
again:
  shl.b32 %r3, %t, 2;
  add.s32 %r3, %r3, %r1;
  setp.lt.u32 %q2, %t, 32;
  @%q2 bra consume;
  add.s32 %r4, %r40, %r2;
  st.shared.b32 [%r3+16], %r4;
  mbarrier.arrive.shared::cta.b64 _, [%r1];
  bra join;
consume:
  and.b32 %r5, %r2, 1;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %q3, [%r1], %r5;
  @!%q3 bra wait;
  ld.shared.b32 %r6, [%r3+144];
  ld.shared.b32 %r7, [%r3+400];
  xor.b32 %r6, %r6, %r7;
  mad.lo.s32 %r50, %r50, 31, %r6;
join:
  bar.sync 0;
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %q4, %r2, 6;
  @%q4 bra again;
  mov.b32 %r51, %r2;"""
    value = random_bits("rings", 256, 32)
    covered2 = ("mbarrier.init.shared::cta.b64", "mbarrier.arrive.shared::cta.b64",
                "mbarrier.try_wait.parity.shared::cta.b64", "bar.sync")  # fmt: skip
    yield per_lane("mbarrier of threads", text, covered2, (value,), shared=1024)


def _registers_of_groups() -> Iterator[Case]:
    text = """  setp.ge.u32 %q1, %t, 128;
  @%q1 bra more;
  setmaxnreg.dec.sync.aligned.u32 40;
  mad.lo.s32 %r50, %r40, 3, 1;
  bra done;
more:
  setmaxnreg.inc.sync.aligned.u32 208;
  mad.lo.s32 %r50, %r40, 5, 2;
done:
  mov.b32 %r51, 1;"""
    value = random_bits("setmaxnreg", 256, 32)
    covered = ("setmaxnreg.inc.sync.aligned.u32", "setmaxnreg.dec.sync.aligned.u32")
    yield per_lane("setmaxnreg", text, covered, (value,), threads=256, directives=".maxnreg 128")


def _fences() -> Iterator[Case]:
    names = ("fence.acq_rel.gpu", "fence.release.gpu", "fence.acquire.gpu", "fence.sc.gpu", "fence.acq_rel.cta",
             "fence.proxy.async.shared::cta", "fence.proxy.async", "fence.proxy.async.global",
             "membar.gl", "membar.cta", "fence.acq_rel.cluster", "griddepcontrol.wait",
             "griddepcontrol.launch_dependents")  # fmt: skip
    value = random_bits("fences", 128, 32)
    text = "\n".join(f"  {name};" for name in names) + "\n  mov.b32 %r50, %r40;"
    yield per_lane("fences", text, names, (value,), 1)


def cases() -> Iterator[Case]:
    """All cases of communication and synchronisation."""
    yield from _shuffles()
    yield from _votes()
    yield from _specials()
    yield from _barriers()
    yield from _clusters()
    yield from _mbarriers()
    yield from _registers_of_groups()
    yield from _fences()
