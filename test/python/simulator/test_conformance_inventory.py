"""Every instruction that the compiler emits has a conformance case.

Instructions come from golden kernels and examples that are compiled here, and from all kernels that the tests of this
run compiled before (their cache); so a new instruction anywhere is noticed where it is first tested.
"""

import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "calibration"))
sys.path.insert(0, str(Path(__file__).parents[1] / "assembly"))
import conformance
from kernels import CORPUS, GEMMS, corpus_text, gemm_text
from test_assembly import compile_to_ptx

#: Instructions that a case cannot compare, and why.
EXEMPT = {
    "call.uni": "calls vprintf and the functions of failed assertions; test_simulation_report compares what they print",
    "st.param.b32": "arguments of such calls",
    "st.param.b64": "arguments of such calls",
    "ld.param.b32": "scalars, checked by every kernel that takes one",
    "ld.param.b64": "pointers, which every case takes",
    "cvta.to.local.u64": "the inverse of cvta.local, which has a case",
    "trap": "ends the kernel",
    "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint": (
        "the same copy without the hint, and with it in two dimensions, have cases"
    ),
    "ld.shared.s8": "the load of an unsigned byte, and sign extension, have cases",
    "ld.global.nc.s8": "the load of an unsigned byte, and sign extension, have cases",
}

_MNEMONIC = re.compile(r"^(?:@!?%\w+\s+)?([a-z][a-z0-9]*(?:[.:]+[A-Za-z0-9_]+)*)(?=\s|$)")


def mnemonics(ptx):
    """Mnemonics of a module; the widths of wgmma count as one."""
    found = set()
    for line in ptx.splitlines():
        for part in line.split("//")[0].split(";"):
            text = part.strip().lstrip("{").strip()
            match = _MNEMONIC.match(text)
            if match and not text.startswith(".") and not text.endswith(":"):
                found.add(re.sub(r"m64n\d+k", "m64nNk", match[1]))
    return found


#: Ranks of boxes have cases as plain loads, masks of blocks one of rank 2.
MULTICAST = {
    f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster{hint}"
    for rank in range(1, 6)
    for hint in ("", ".L2::cache_hint")
}
COVERED = MULTICAST | {
    re.sub(r"m64n\d+k", "m64nNk", name) for case in conformance.all_cases().values() for name in case.covers
}


def check(found):
    missing = sorted(found - COVERED - set(EXEMPT))
    assert not missing, f"instructions without a conformance case (test/calibration): {missing}"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_golden_kernels(build_dir, target):
    found = set()
    for gemm in GEMMS.values():
        found |= mnemonics(compile_to_ptx(build_dir, gemm_text(gemm, target)))
    for path in sorted(CORPUS.glob("*.mlir")):
        found |= mnemonics(compile_to_ptx(build_dir, corpus_text(path.stem, target)))
    assert len(found) > 60  # the list is not empty by mistake
    check(found)


def test_parser_of_mnemonics():
    text = """.target sm_90a
    { .reg .b16 t; mov.b32 {t, %rs1}, %r1; }
    @!%p1 bra.uni $L__BB0_2;
$L__BB0_2:
    wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%r1}, %rd1, %rd2, 1, 1, 1;
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2; // comment; with words
    ret;"""
    expected = {"mov.b32", "bra.uni", "wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16", "ret",
                "mbarrier.try_wait.parity.shared::cta.b64"}  # fmt: skip
    assert mnemonics(text) == expected


def test_everything_that_this_run_compiled():
    """Goes last (see conftest.py): the kernels that the tests before it have left in the cache."""
    folder = os.environ.get("TILEMLIR_CACHE_DIR")
    assert folder
    found = set()
    for path in Path(folder).rglob("*.ptx"):
        text = path.read_text()
        if re.search(r"^\.target (sm_80|sm_90a)$", text, re.MULTILINE):
            found |= mnemonics(text)
    check(found)
