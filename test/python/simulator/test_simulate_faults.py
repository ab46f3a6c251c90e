"""Faults put into the PTX of the chapter's matrix product: each is found, whatever the seed, and named at its line."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import simulated_products as kernels
from tilemlir.simulator import Settings, simulate

M, N = 128, 128


def changed(arch, k, pattern, replacement, which=0):
    """The product with one match of a pattern in its PTX replaced (-1: the last one; None: all)."""
    kernel = kernels.compiled_gemm(arch, M, N, k)
    text = kernel.asm["ptx"]
    matches = list(re.finditer(pattern, text))
    assert matches, f"the generated code has nothing like {pattern}"
    for match in reversed(matches if which is None else [matches[which]]):
        text = text[: match.start()] + match.expand(replacement) + text[match.end() :]
    return SimpleNamespace(
        name=kernel.name, target=kernel.target, launch_plan=kernel.launch_plan, asm={"ptx": text}, variant=None
    )


def findings(kernel, k, seed):
    """Kinds of what is found; a wrong result counts as `wrong`."""
    a, b = kernels.operands(M, N, k)
    result = simulate(kernel, a, b, settings=Settings(seed=seed, patience=100_000))
    kinds = {one.kind for one in result.report.findings}
    if not kinds:
        expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
        if not np.array_equal(result.outputs, expected):
            kinds.add("wrong")
    return kinds, result.report


WAIT = r"mbarrier\.try_wait\.parity\.shared::cta\.b64 complete, (\[%r\d+\]), (%r\d+);\n@complete bra"
INIT = r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\]), "
BYTES = r"(arrive\.expect_tx\S* _, \[%r\d+\]), 32768;"
NO_WAIT = r"setp.eq.b32 complete, 0, 0;\n@complete bra"
COPY = r"(cp\.async\.cg\.shared\.global \[%r\d+\]), \[(%rd\d+)\], 16"
FLIP = r"selp\.b32 (\s*%r\d+), 1, 0, (%p\d+);"
WORD = r"mov\.b32 (\s*%r\d+), 1073741888;"
EARLY = {"race", "uninitialised-read"}

#: name: pattern, replacement, which match, what is found.
HOPPER = {
    "producer_waits_for_wrong_parity": (r"xor\.b32 (\s*%r\d+, %r\d+), 1;", r"xor.b32 \1, 0;", 0, {"deadlock"}),
    "producer_does_not_wait": (WAIT, NO_WAIT, 0, {"race", "invalid", "over-arrival"}),
    "consumer_does_not_wait": (WAIT, NO_WAIT, 1, {"race"}),
    "full_barrier_counts_one_more": (INIT + "1;", r"\1, 2;", 0, {"deadlock"}),
    "empty_barrier_counts_one_more": (INIT + "4;", r"\1, 5;", 0, {"deadlock"}),
    "empty_barrier_counts_one_less": (INIT + "4;", r"\1, 3;", None, {"race", "missed-phase", "over-arrival"}),
    "too_many_bytes": (BYTES, r"\1, 32784;", 0, {"deadlock"}),
    "too_few_bytes": (BYTES, r"\1, 24576;", 0, {"invalid", "race", "deadlock"}),
    "barriers_not_fenced": (r"fence\.mbarrier_init\.release\.cluster;", "", None, {"missing-proxy-fence"}),
    "store_without_proxy_fence": (r"fence\.proxy\.async\S*;", "", 0, {"missing-proxy-fence"}),
    "store_without_barrier": (r"bar\.(warp\.)?sync \t(-1|2, 128);", "", -1, {"race"}),
    "store_not_waited_for": (r"(@%p\d+ )?cp\.async\.bulk\.wait_group\S* 0;", "", -1, {"work-left-at-exit"}),
    "product_not_waited_for": (r"wgmma\.wait_group\.sync\.aligned 0;", "", -1, {"register-in-flight"}),
    "slot_released_under_a_product": (r"wait_group\.sync\.aligned 1;", "wait_group.sync.aligned 3;", 0, {"race"}),
    "products_not_committed": (r"wgmma\.commit_group\.sync\.aligned;", "", 0, {"race", "register-in-flight"}),
    "products_without_fence": (r"wgmma\.fence\.sync\.aligned;", "", 0, {"invalid"}),
    "phase_not_flipped": (FLIP, r"selp.b32 \1, 0, 0, \2;", 0, {"deadlock", "race", "missed-phase", "over-arrival"}),
    "barrier_of_too_many_threads": (r"bar\.sync \t2, 128;", "bar.sync \t2, 160;", 0, {"deadlock", "invalid"}),
    "descriptor_stride": (WORD, r"mov.b32 \1, 1073741856;", 0, {"wrong"}),
    "descriptor_swizzle": (WORD, r"mov.b32 \1, -2147483584;", 0, {"wrong", "out-of-bounds"}),
}
AMPERE = {
    "loads_not_waited_for": (r"cp\.async\.wait_group \s*\d+;", "", 0, EARLY),
    "loads_not_committed": (r"cp\.async\.commit_group;", "", -1, EARLY),
    "one_group_too_few": (r"cp\.async\.wait_group \s*1;", "cp.async.wait_group 2;", 0, EARLY),
    "no_barrier_in_the_loop": (r"bar\.sync \s*0;", "", -1, {"race"}),
    "no_barrier_before_the_loop": (r"bar\.sync \s*0;", "", 0, EARLY),
    "copy_out_of_bounds": (COPY, r"\1, [\2+1048576], 16", 0, {"out-of-bounds"}),
    "copy_misaligned": (COPY, r"\1, [\2+2], 16", 0, {"misaligned"}),
    "store_to_an_input": (r"gemm_kernel_param_2\];", "gemm_kernel_param_0];", 0, {"read-only"}),
}
FAULTS = [("sm_90a", name) for name in HOPPER] + [("sm_80", name) for name in AMPERE]


@pytest.mark.parametrize(("arch", "name"), FAULTS)
def test_fault_is_found(arch, name):
    pattern, replacement, which, expected = (HOPPER if arch == "sm_90a" else AMPERE)[name]
    # A count that is one less lets the producer overtake only after some rounds.
    k = 1536 if name == "empty_barrier_counts_one_less" else 512
    kernel = changed(arch, k, pattern, replacement, which)
    for seed in range(3):
        kinds, report = findings(kernel, k, seed)
        assert kinds & expected, f"seed {seed}: {kinds or 'nothing'} was found\n{report}"
