"""Barriers, fences, atomics and shared memory in hand-written PTX: what is ordered, and what is reported."""

import numpy as np
import pytest
from ptx_runs import run

OUT = np.zeros(64, np.uint32)
INIT = """
mov.b32 %r1, arena;
setp.eq.u32 %p1, %t, 0;
@%p1 mbarrier.init.shared::cta.b64 [%r1], {count};
bar.sync 0;
"""
WAIT = """
{{ .reg .pred complete;
wait_{label}: mbarrier.try_wait.parity.shared::cta.b64 complete, [%r1], {parity};
@complete bra done_{label};
bra wait_{label};
done_{label}: }}
"""
#: Thread t stores t at 64 + 4 t and then loads what thread 63 - t stored.
STORE = "shl.b32 %r2, %t, 2; mov.b32 %r1, arena; add.s32 %r2, %r2, %r1; st.shared.b32 [%r2+64], %t;\n"
LOAD = """
sub.s32 %r3, 63, %t; shl.b32 %r3, %r3, 2; add.s32 %r3, %r3, %r1; ld.shared.b32 %r4, [%r3+64];
mad.wide.u32 %d9, %t, 4, %d0; st.global.b32 [%d9], %r4;
"""


def kinds(report):
    return {one.kind for one in report.findings}


@pytest.mark.parametrize("seed", range(4))
def test_barrier_orders(seed):
    copies, report = run(STORE + "bar.sync 0;" + LOAD, [OUT], shared=1024, threads=64, seed=seed)
    assert report.ok, str(report)
    assert copies[0].tolist() == list(range(63, -1, -1))


def test_race_names_both_places_and_threads():
    _, report = run(STORE + LOAD.replace("st.global", "add.s32 %r4, %r4, 0; st.global"), [OUT], shared=1024, threads=64)
    assert kinds(report) & {"race", "uninitialised-read"}
    races = [one for one in report.findings if one.kind == "race"]
    assert all("block (0, 0, 0), warp" in one.thread for one in report.findings)
    assert all(why == "written" or why == "read" for one in races for _, _, why in one.others)


@pytest.mark.parametrize("count", [64, 128])
def test_mbarrier_orders_when_enough_arrive(count):
    body = INIT.format(count=count) + STORE + "mbarrier.arrive.shared::cta.b64 _, [%r1];"
    body += WAIT.format(label=1, parity=0) + LOAD
    copies, report = run(body, [OUT], shared=1024, threads=64, seed=count)
    if count == 64:
        assert report.ok, str(report)
        assert copies[0].tolist() == list(range(63, -1, -1))
    else:
        assert kinds(report) == {"deadlock"}
        assert "needs 64 of 128 arrivals" in str(report)


def test_phases_alternate():
    body = INIT.format(count=64)
    for phase in range(4):
        body += "mbarrier.arrive.shared::cta.b64 _, [%r1];" + WAIT.format(label=phase, parity=phase & 1)
    assert run(body, [OUT], shared=1024, threads=64)[1].ok
    # The parity of a phase before the current one counts as done, that of the current one does not.
    wrong = INIT.format(count=64) + WAIT.format(label=0, parity=0)
    assert kinds(run(wrong, [OUT], shared=1024, threads=64)[1]) == {"deadlock"}
    assert run(INIT.format(count=64) + WAIT.format(label=0, parity=1), [OUT], shared=1024, threads=64)[1].ok


def test_over_arrival():
    body = INIT.format(count=3) + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 16;"
    body += "mbarrier.arrive.shared::cta.b64 _, [%r1];"
    assert kinds(run(body, [OUT], shared=1024, threads=32)[1]) == {"over-arrival"}


def test_named_barriers_count_threads():
    one = "setp.lt.u32 %p1, %t, 32; @%p1 bra FIRST; bar.arrive 1, 64; bra END; FIRST: bar.sync 1, {n}; END:"
    assert run(one.format(n=64), [OUT], threads=64)[1].ok
    assert kinds(run(one.format(n=96), [OUT], threads=64)[1]) <= {"invalid", "deadlock"}
    assert kinds(run("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1, 64;", [OUT], threads=64)[1]) == {"deadlock"}


def test_lanes_that_part_meet_again():
    body = """
    mov.b32 %r1, 0; and.b32 %r2, %t, 3;
    LOOP: setp.ge.u32 %p1, %r1, %r2; @%p1 bra OUT; add.s32 %r1, %r1, 1; bra LOOP;
    OUT: bar.warp.sync -1; shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;
    mad.wide.u32 %d9, %t, 4, %d0; st.global.b32 [%d9], %r3;
    """
    copies, report = run(body, [OUT[:32]], threads=32)
    assert report.ok, str(report)
    assert copies[0].tolist() == [(i ^ 1) & 3 for i in range(32)]


def test_aligned_instruction_in_divergent_code():
    body = "setp.lt.u32 %p1, %t, 16; @%p1 bra A; bar.warp.sync -1; A: ret;"
    assert kinds(run(body.replace("ret;", "bar.warp.sync 0xffff; ret;"), [OUT], threads=32)[1]) <= {"deadlock"}


FLAG = """
mov.u32 %r1, %ctaid.x; setp.eq.u32 %p2, %r1, 0; setp.eq.u32 %p1, %t, 0;
@!%p2 bra READER;
@%p1 st.global.b32 [%d0+64], 42;
{release}
@%p1 st.{store}.global.b32 [%d0], 1;
ret;
READER:
@!%p1 ret;
SPIN: ld.{load}.global.b32 %r2, [%d0]; setp.eq.u32 %p3, %r2, 0; @%p3 bra SPIN;
{acquire}
ld.global.b32 %r3, [%d0+64]; st.global.b32 [%d0+128], %r3;
"""


@pytest.mark.parametrize(
    ("store", "load", "fences", "ordered"),
    [
        ("release.gpu", "acquire.gpu", ("", ""), True),
        ("relaxed.gpu", "relaxed.gpu", ("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), True),
        ("volatile", "volatile", ("membar.gl;", "membar.gl;"), True),
        ("relaxed.gpu", "acquire.gpu", ("", ""), False),
        ("release.gpu", "relaxed.gpu", ("", ""), False),
    ],
)
def test_flags_in_global_memory(store, load, fences, ordered):
    body = FLAG.format(store=store, load=load, release=fences[0], acquire=fences[1])
    for seed in range(3):
        copies, report = run(body, [OUT], grid=(2, 1, 1), seed=seed)
        if ordered:
            assert report.ok, str(report)
            assert copies[0][32] == 42
        else:
            assert kinds(report) == {"race"}


def test_plain_polling_is_a_race():
    body = FLAG.format(store="relaxed.gpu", load="weak", release="", acquire="").replace("ld.weak", "ld")
    assert "race" in kinds(run(body, [OUT], grid=(2, 1, 1))[1])


def test_a_flag_that_nobody_sets_is_a_livelock():
    body = "SPIN: ld.acquire.gpu.global.b32 %r2, [%d0]; setp.eq.u32 %p3, %r2, 0; @%p3 bra SPIN;"
    assert kinds(run(body, [OUT])[1]) == {"livelock"}


def test_atomics():
    body = """
    mov.u32 %r1, 3; atom.global.add.u32 %r2, [%d0], %r1; red.global.max.u32 [%d0+4], %t;
    mad.wide.u32 %d9, %t, 4, %d1; st.global.b32 [%d9], %r2; atom.global.cas.b32 %r3, [%d0+8], %t, 100;
    """
    copies, report = run(body, [np.zeros(4, np.uint32), OUT[:32]], written=(0, 1))
    assert report.ok, str(report)
    assert copies[0].tolist() == [96, 31, 100, 0]
    assert sorted(copies[1].tolist()) == list(range(0, 96, 3))


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("ld.global.b32 %r1, [%d0+256];", "out-of-bounds", "0 bytes behind the end of argument 'p0' (256 bytes)"),
        ("ld.global.b32 %r1, [%d0+-4];", "out-of-bounds", "4 bytes in front of argument 'p0'"),
        ("ld.global.b32 %r1, [%d0+2];", "misaligned", "4 bytes at byte 2 of argument 'p0'"),
        ("ld.shared.b32 %r1, [arena+1024];", "out-of-bounds", "the shared memory (1024 bytes)"),
        ("mov.b32 %r1, 0; ld.shared.b32 %r1, [%r1];", "out-of-bounds", "in front of the shared memory"),
        ("ld.shared.b32 %r1, [arena]; add.s32 %r1, %r1, 1;", "uninitialised-read", "which nobody wrote"),
        ("trap;", "assertion", "stops itself"),
        ("setmaxnreg.inc.sync.aligned.u32 20;", "invalid", "20 registers are not in 24..256"),
    ],
)
def test_faults_of_one_instruction(body, kind, text):
    _, report = run(body, [OUT], shared=1024)
    assert kinds(report) == {kind}, str(report)
    assert text in str(report)


def test_addresses_in_registers_of_32_bits_wrap_around():
    """A difference of positions is a base below zero, which the constant offset brings back."""
    body = """
    mov.b32 %r1, arena; shl.b32 %r2, %t, 2; sub.s32 %r3, %r1, %r2; sub.s32 %r3, %r3, 65536;
    st.shared.b32 [%r3+65660], %t; ld.shared.b32 %r4, [%r3+65660];
    mul.wide.u32 %d9, %t, 4; add.s64 %d9, %d9, %d0; st.global.b32 [%d9], %r4;
    setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [%r3+65792], 1;
    """
    copies, report = run(body, [OUT], shared=1024)
    assert report.ok, str(report)
    assert copies[0][:32].tolist() == list(range(32))


@pytest.mark.parametrize(("blocks", "fault"), [(2, False), (1, True)])
def test_registers_at_launch_are_those_of_blocks_side_by_side(blocks, fault):
    """Two blocks of 256 threads leave 128 registers to each: 24 + 232 = 2 * 128. One has 255."""
    body = """
    setp.lt.u32 %p1, %t, 128;
    @%p1 bra FEW;
    setmaxnreg.inc.sync.aligned.u32 232;
    bra.uni END;
    FEW: setmaxnreg.dec.sync.aligned.u32 24;
    END:
    """
    _, report = run(body, [OUT], threads=256, directives=f".minnctapersm {blocks}")
    assert kinds(report) == ({"register-pool"} if fault else set()), str(report)


def test_uninitialised_values_that_nobody_uses_are_no_fault():
    assert run("ld.shared.b32 %r1, [arena]; mov.b32 %r1, 0;", [OUT], shared=1024)[1].ok


def test_input_is_not_writable():
    _, report = run("st.global.b32 [%d0], 1;", [OUT, OUT])
    assert kinds(report) == {"read-only"}


def test_remote_shared_memory():
    body = """
    mov.b32 %r1, arena; mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1; mapa.shared::cluster.u32 %r7, %r1, %r6;
    setp.eq.u32 %p1, %t, 0; add.s32 %r8, %r5, 10;
    @%p1 st.shared::cluster.b32 [%r7], %r8;
    barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
    ld.shared.b32 %r9, [%r1]; mul.wide.u32 %d9, %r5, 4; add.s64 %d9, %d9, %d0; @%p1 st.global.b32 [%d9], %r9;
    """
    copies, report = run(body, [OUT], shared=64, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert report.ok, str(report)
    assert copies[0][:2].tolist() == [11, 10]
    relaxed = body.replace("arrive.release", "arrive.relaxed")
    assert kinds(run(relaxed, [OUT], shared=64, grid=(2, 1, 1), cluster=(2, 1, 1))[1]) & {"race", "uninitialised-read"}


@pytest.mark.parametrize("fence", ["fence.proxy.async.shared::cta;", ""])
def test_copies_of_threads_read_by_an_engine(fence):
    body = INIT.format(count=32) + (
        """
        shl.b32 %r2, %t, 4; add.s32 %r3, %r1, %r2; cvt.u64.u32 %d9, %r2; add.s64 %d9, %d9, %d0;
        cp.async.cg.shared.global [%r3+128], [%d9], 16;
        cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
        """
        + WAIT.format(label=0, parity=0)
        + fence
        + """
        bar.warp.sync -1; add.s32 %r4, %r1, 128;
        @%p1 cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r4], 512;
        @%p1 cp.async.bulk.commit_group;
        @%p1 cp.async.bulk.wait_group 0;
        """
    )
    source = np.random.default_rng().integers(0, 2**32, 128, dtype=np.uint32)
    for seed in range(4):
        copies, report = run(body, [source, np.zeros(128, np.uint32)], shared=1024, seed=seed)
        if fence:
            assert report.ok, str(report)
            np.testing.assert_array_equal(copies[1], source)
        else:
            assert kinds(report) == {"missing-proxy-fence"}


def test_bulk_loads_complete_a_phase_and_reductions_add():
    body = INIT.format(count=1) + (
        """
        @%p1 fence.mbarrier_init.release.cluster;
        @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
        add.s32 %r4, %r1, 256;
        @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d0], 256, [%r1];
        """
        + WAIT.format(label=0, parity=0)
        + """
        @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r4], 256;
        @%p1 cp.async.bulk.commit_group;
        @%p1 cp.async.bulk.wait_group.read 0;
        """
    )
    source = np.arange(64, dtype=np.uint32)
    for seed in range(4):
        copies, report = run(body, [source, source], shared=1024, seed=seed, grid=(3, 1, 1))
        assert report.ok, str(report)
        np.testing.assert_array_equal(copies[1], 4 * source)


@pytest.mark.parametrize("fence", ["fence.proxy.async.shared::cta;", "membar.cta;", ""])
@pytest.mark.parametrize("meet", ["mbarrier.arrive.shared::cta.b64 _, [%r5];", "bar.warp.sync -1;"])
def test_engine_overwrites_what_threads_read(fence, meet):
    # A load that was issued may still be in flight behind an arrival: only a proxy fence keeps the engine from it.
    load = """
        @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
        @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d0], 128, [%r1];
        """
    body = INIT.format(count=1) + (
        "add.s32 %r4, %r1, 128; add.s32 %r5, %r1, 8; @%p1 mbarrier.init.shared::cta.b64 [%r5], 32;"
        "@%p1 fence.mbarrier_init.release.cluster; bar.warp.sync -1;"
        + load
        + WAIT.format(label=0, parity=0)
        + "shl.b32 %r2, %t, 2; add.s32 %r2, %r2, %r4; ld.shared.u32 %r3, [%r2];"
        + fence
        + meet
        + (WAIT.format(label=1, parity=0).replace("[%r1]", "[%r5]") if "mbarrier" in meet else "")
        + load
        + WAIT.format(label=2, parity=1)
        + "shl.b32 %r2, %t, 2; cvt.u64.u32 %d9, %r2; add.s64 %d9, %d9, %d1; st.global.u32 [%d9], %r3;"
    )
    source = np.random.default_rng().integers(0, 2**32, 32, dtype=np.uint32)
    copies, report = run(body, [source, np.zeros(32, np.uint32)], shared=1024)
    if "proxy" in fence:
        assert report.ok, str(report)
        np.testing.assert_array_equal(copies[1], source)
    else:
        assert kinds(report) == {"missing-proxy-fence"}
        assert "read by block (0, 0, 0), warp 0" in str(report)
