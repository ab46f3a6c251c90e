"""The faults of the mutation suite. docs/reference/mutations.md is made of this table; test_mutations.py proves it."""

from __future__ import annotations

import dataclasses

__all__ = ["MUTATIONS", "PLAN", "PTX", "SIMULATOR", "VERIFIER", "Mutation"]

#: Levels that are no pass.
PTX, PLAN = "PTX", "launch plan"
VERIFIER, SIMULATOR = "verifier", "simulator"


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A fault.

    Attributes:
        name: of the test.
        fault: what is wrong, in words.
        kernel: key of :data:`mutation_kernels.KERNELS`.
        level: the pass behind which the module is changed, or PTX or PLAN.
        pattern: regular expression of what is replaced.
        replacement: of the match, with groups.
        finds: what notices it: the first words of the verifier's message, or kinds of findings of the simulator of
            which each run has one; ``wrong result`` where no check is possible.
        message: part of what is said, for the table.
        which: the match that is changed; None for all.
        by: who has to notice it: VERIFIER or SIMULATOR, which runs what the verifier lets through.
    """

    name: str
    fault: str
    kernel: str
    level: str
    pattern: str
    replacement: str
    finds: tuple[str, ...]
    message: str
    which: int | None = 0
    by: str = SIMULATOR


_SYNC = "tile-insert-sync"
_MBARRIERS = "tile-insert-mbarriers"
_GPU = "tile-gpu-prefetch-fragments"

# Parts of the module's text.
_ROUND = r"(arith\.xori %\d+, )%c1_i32\w*( : i32\s+tile\.barrier_wait)"
_FLIP = r"(arith\.extui %\d+ : i1 to i32\s+%\d+ = arith\.xori %\d+, )%\d+"
_COUNT = r"(tile\.barrier_init %{}\w* \{{arrivals = ){}( : i64)"
_RELEASE = r"tile\.barrier_arrive %empty\w*\[%\w+\] +warp[^\n]*\n"
_STORE = r"tile\.copy_async %[\w.]*staging\w*\["

#: Noticed by tile-verify-sync. In order of the table: name, fault, kernel, level, pattern, replacement, first words of
#: the message, part of it.
_VERIFIED = [
    Mutation(
        "initial_parity", "the producer waits for the other parity of empty slots", "gemm", _SYNC,
        _ROUND, r"\1%c0_i32\2", ("deadlock",), "producer waits for parity 0 of empty_a_tile_b_tile[0]",
    ),
    Mutation(
        "consumer_parity", "the consumers wait for the other parity of full slots", "attention", _MBARRIERS,
        r"(tile\.barrier_wait %full\w*\[%\w+\], )%\w+", r"\1%c1_i32", ("early read", "phase overrun"), "",
    ),
    Mutation(
        "producer_flip", "the producer's phase does not flip when the ring wraps", "persistent", _SYNC,
        _FLIP, r"\1%c0_i32", ("over-arrival",), "full_a_tile_b_tile[0] takes 1 arrival in a phase",
    ),
    Mutation(
        "consumer_flip", "the consumer's phase does not flip when the ring wraps", "gemm", _SYNC,
        _FLIP, r"\1%c0_i32", ("phase overrun",), "a phase that it knows to be complete", which=1,
    ),
    Mutation(
        "peeled_flip", "the flip is lost in one of the iterations that the deferred store peels", "persistent", _SYNC,
        _FLIP, r"\1%c0_i32", ("phase overrun", "deadlock"), "full_a_tile_b_tile", which=2,
    ),
    Mutation(
        "release_under_product", "a slot is given back while the product that reads it is in flight", "gemm", _SYNC,
        r"tile\.mma_wait \{pending = 1 : i64\}", "tile.mma_wait {pending = 2 : i64}",
        ("early overwrite",), "while gemm_async of consumer may still read it",
    ),
    Mutation(
        "release_too_early", "a slot is given back before anybody waits for it to be full", "cluster", _SYNC,
        r"(tile\.barrier_wait %full\w*(\[%\w+\])[^\n]*\n)",
        r"tile.barrier_arrive %empty_a_tile_b_tile\2 warp : <2x!tile.barrier, shared>\n\1",
        ("over-arrival",), "empty_a_tile_b_tile",
    ),
    Mutation(
        "release_of_wrong_slot", "a peeled iteration gives back the slot that it reads, not the one before",
        "persistent", _SYNC,
        r"(tile\.barrier_wait %full\w*\[(%\d+)\](?:(?!barrier_wait)[\s\S])*?"
        r"tile\.barrier_arrive %empty\w*\[)%\d+",
        r"\1\2",
        ("over-arrival",),
        "empty_a_tile_b_tile[1] takes 8 arrivals in a phase",
    ),
    Mutation(
        "release_missing", "consumers give no slot back", "cp_async_ring", _SYNC,
        _RELEASE, "", ("deadlock",), "producer waits for parity",
    ),
    Mutation(
        "release_of_own_block", "shared slots are given back to the own block only", "cluster", _SYNC,
        r"\{tile\.reach = \[array<i64: 1>\]\}", "", ("deadlock",), "of block 0", which=None,
    ),
    Mutation(
        "release_to_wrong_block", "shared slots are given back along the other axis of the cluster", "cluster", _SYNC,
        r"tile\.reach = \[array<i64: 1>\]", "tile.reach = [array<i64: 0>]", ("deadlock",), "of block 0",
    ),
    Mutation(
        "more_arrivals", "an empty slot waits for one warp more than there are", "gemm", _SYNC,
        _COUNT.format("empty", 4), r"\g<1>5\2", ("deadlock",), "(4 of 5 arrivals)",
    ),
    Mutation(
        "fewer_arrivals", "an empty slot waits for half of the warps", "persistent", _SYNC,
        _COUNT.format("empty", 8), r"\g<1>4\2", ("over-arrival",), "empty_a_tile_b_tile[0] takes 4 arrivals",
    ),
    Mutation(
        "arrivals_of_one_block", "an empty slot that two blocks read waits for the warps of one", "cluster", _SYNC,
        _COUNT.format("empty", 8), r"\g<1>4\2", ("over-arrival",), "full_a_tile_b_tile[0] of block 0 takes 1 arrival",
    ),
    Mutation(
        "arrivals_without_copies", "a full slot waits for the thread that expects bytes, not for cp.async",
        "cp_async_ring", _SYNC, _COUNT.format("full", 129), r"\g<1>1\2", ("over-arrival",), "takes 1 arrival",
    ),
    Mutation(
        "arrival_before_copies", "threads arrive without waiting for their cp.async", "cp_async_ring", _SYNC,
        r"thread \{cp_async\}", "thread", ("early read",), "while copy_async of producer may still fill it",
    ),
    Mutation(
        "too_many_bytes", "more bytes are expected than are copied", "gemm", _SYNC,
        r"expect = 32768", "expect = 32784", ("wrong number of bytes",), "expects 32784 bytes",
    ),
    Mutation(
        "half_of_the_bytes", "bytes of one operand are not expected", "cluster", _SYNC,
        r"expect = 16384", "expect = 8192", ("wrong number of bytes",),
        "that this copy of 4096 bytes belongs to may complete without them",
    ),
    Mutation(
        "copy_to_wrong_barrier", "a copy signals the barrier of another slot", "gemm", _SYNC,
        r"(tile\.copy_async [^\n]* barrier %full\w*\[)%\d+", r"\1%c0_i32", ("wrong number of bytes",),
        "full_a_tile_b_tile",
    ),
    Mutation(
        "copy_to_wrong_slot", "a copy fills the slot after the one that is free", "persistent", _SYNC,
        r"(%\d+ = tile\.subview %b_tile\[)%\d+", r"\1%c0_i32", ("early overwrite",), "writes slot 0 of b_tile while",
    ),
    Mutation(
        "read_of_wrong_slot", "a product reads a slot that it has not waited for", "gemm", _SYNC,
        r"(%\d+ = tile\.subview %b_tile\[)%\d+", r"\1%c1_i32", ("early read",), "slot 1 of b_tile", which=1,
    ),
    Mutation(
        "products_not_waited_for", "the accumulator is stored while products are in flight", "persistent", _SYNC,
        r"tile\.mma_wait %acc [^\n]*\n", "", ("early overwrite", "early use"), "",
    ),
    Mutation(
        "store_not_waited_for", "the block ends while a bulk store reads its shared memory", "gemm", _SYNC,
        r"tile\.bulk_wait [^\n]*\n", "", ("asynchronous work is left at the end of the kernel",), "no tile.bulk_wait",
    ),
    Mutation(
        "staging_overwritten", "the result is staged where the one before is still being stored", "persistent", _SYNC,
        r"tile\.bulk_wait \{pending = 1[^\n]*\n", "", ("early overwrite",), "acc.staging",
    ),
    Mutation(
        "store_before_lanes_meet", "a lane stores what others of its warp still write", "persistent", _SYNC,
        rf"tile\.warp_sync\n(\s*{_STORE})", r"\1", ("early read",), "a tile.warp_sync is missing",
    ),
    Mutation(
        "staging_in_slots", "the result is staged in a slot that other warps may still read", "gemm", _SYNC,
        r"tile\.sync_threads\n(\s*tile\.copy %accumulator\[)", r"\1", ("early overwrite",), "accumulator.staging",
    ),
    Mutation(
        "barriers_not_published", "roles begin before the barriers are initialised", "persistent", _SYNC,
        r"tile\.sync_threads\n(\s*tile\.warp_specialize)", r"\1",
        ("full_a_tile_b_tile[0] may be used before it is initialised",), "",
    ),
    Mutation(
        "cluster_not_met", "a block uses the other one's barriers before these are initialised", "cluster", _SYNC,
        r"tile\.cluster_arrive \{relaxed\}\n\s*tile\.cluster_wait\n(\s*tile\.warp_specialize)",
        r"tile.sync_threads\n\1", ("full_a_tile_b_tile[0] of block 1 may be used before it is initialised",), "",
    ),
    Mutation(
        "early_exit", "a block leaves while others may still arrive at its barriers", "cluster", _SYNC,
        r"tile\.cluster_arrive \{relaxed\}\n\s*tile\.cluster_wait\n(\s*\}\n\s*return)", r"\1", ("early exit",),
        "may have left the kernel",
    ),
    Mutation(
        "too_many_groups", "one group of cp.async more is left in flight", "gemm_sm80", _SYNC,
        r"tile\.async_wait \{pending = 1", "tile.async_wait {pending = 2", ("early read",), "while copy_async",
    ),
    Mutation(
        "no_barrier_in_loop", "slots are filled again without a barrier", "gemm_sm80", _SYNC,
        r"tile\.sync_threads\n(\s*scf\.if %\d+ \{\s+%\d+ = arith\.muli)", r"\1", ("early read", "early overwrite"), "",
    ),
    Mutation(
        "barrier_clash", "two groups of warps take turns on barriers of the same number", "ping_pong", _SYNC,
        r"(tile\.sync_threads \{[^}]*id = )2", r"\g<1>1", ("over-arrival", "deadlock", "early overwrite"), "", which=0,
    ),
    Mutation(
        "turn_not_given", "a group does not tell the other one that it is its turn", "ping_pong", _SYNC,
        r"tile\.named_arrive \{[^}]*id = 2[^\n]*\n", "", ("deadlock",), "named barrier 2", which=-1,
    ),
    Mutation(
        "elected_thread", "one thread of the group is elected where one of each warp has to arrive", "explicit", _SYNC,
        r"tile\.elect \{threads = 32", "tile.elect {threads = 128", ("deadlock",), "(1 of 4 arrivals)",
    ),
    Mutation(
        "silent_warps", "one thread arrives for its group, whose other warps may miss a phase of what they wait for",
        "explicit", _SYNC, r"(?s)(tile\.barrier_init [^\n]*arrivals = )4(.*?tile\.elect \{threads = )32",
        r"\g<1>1\g<2>128", ("phase overrun",), "may complete the next phase before this wait of warp 7 of T.ws(1)",
    ),
    Mutation(
        "tile_overwritten", "the producer does not wait until the tile before the last one has been read",
        "dynamic_tiles", _SYNC, r"tile\.barrier_wait %empty_tile[^\n]*\n", "",
        ("early overwrite",), "share_tile of producer writes slot 0 of tile_numbers",
    ),
    Mutation(
        "tile_not_waited_for", "the consumers do not wait for the number of their next tile", "dynamic_tiles", _SYNC,
        r"tile\.barrier_wait %full_tile[^\n]*\n", "", ("early read",), "share_tile of consumer reads slot 0",
    ),
    Mutation(
        "tile_not_released", "the consumers do not say that they have read a number", "dynamic_tiles", _SYNC,
        r"tile\.barrier_arrive %empty_tile[^\n]*\n", "", ("deadlock",), "parity 0 of empty_tile[0] (0 of 4 arrivals)",
    ),
    Mutation(
        "tile_released_early", "the consumers give back the slot of a number and then read it", "dynamic_tiles", _SYNC,
        r"(%\w+ = tile\.share_tile %0 through[^\n]*\n\s*)(tile\.barrier_arrive %empty_tile[^\n]*\n)", r"\2\1",
        ("early read",), "while share_tile of producer may still fill it",
    ),
    Mutation(
        "tile_of_wrong_slot", "the consumers always read the first slot of the numbers", "dynamic_tiles", _SYNC,
        r"(tile\.share_tile %0 through [^\n]* slot )%\w+", r"\1%c0_i32", ("early read",), "slot 0 of tile_numbers",
    ),
]  # fmt: skip

#: Noticed by the simulator, in IR: what the verifier does not look at.
_SIMULATED = [
    Mutation(
        "store_without_fence", "a bulk store reads what threads wrote without a proxy fence", "persistent", _SYNC,
        r"tile\.fence_proxy\n", "", ("missing-proxy-fence",), "without a proxy fence in between",
    ),
    Mutation(
        "product_without_fence", "wgmma reads what cp.async wrote without a proxy fence", "cp_async_ring", _SYNC,
        r"tile\.fence_proxy\n", "", ("missing-proxy-fence",), "without a proxy fence in between",
    ),
    Mutation(
        "reads_without_fence", "a slot that threads have read is loaded again without a proxy fence", "multiply_add",
        _SYNC, r"tile\.fence_proxy\n", "", ("missing-proxy-fence",), "without a proxy fence in between",
    ),
    Mutation(
        "deferred_guard", "the store that the first tile has no result for is not outside of the tensor",
        "persistent", _SYNC, r"tile\.store %c\d+_i32, (%deferred\[)", r"tile.store %c0_i32, \1",
        ("race", "wrong result"), "", which=None,
    ),
    Mutation(
        "sums_not_cleared", "the first product of a tile adds to the sums of the one before", "persistent", _SYNC,
        r", clear_accum", "", ("wrong result",), "the result is wrong",
    ),
    Mutation(
        "descriptor_stride", "eight rows of an operand are 512 bytes apart for wgmma", "gemm", _GPU,
        r"stride_bytes = 1024", "stride_bytes = 512", ("wrong result",), "the result is wrong", which=None,
    ),
    Mutation(
        "descriptor_swizzle", "wgmma reads 128-byte swizzled rows as 64-byte swizzled", "gemm", _GPU,
        r"swizzle = 128 : i64\} : i64",
        "swizzle = 64 : i64} : i64",
        ("out-of-bounds",), "a matrix descriptor", which=None,
    ),
    Mutation(
        "descriptor_of_next_step", "a product reads the columns of the one after", "cluster", _GPU,
        r"(tile_gpu\.wgmma_descriptor %\d+) \+ 32 ", r"\1 + 64 ", ("wrong result",), "the result is wrong",
    ),
    Mutation(
        "map_without_swizzle", "the tensor map of an operand does not swizzle", "gemm", PLAN,
        r'"swizzle": 128', '"swizzle": 0', ("wrong result", "invalid"), "",
    ),
    Mutation(
        "map_with_half_box", "the boxes of a tensor map are half as high", "cluster", PLAN,
        r'("box": \[\s*64,\s*)64', r"\g<1>32", ("deadlock", "wrong result", "uninitialised-read"), "",
    ),
    Mutation(
        "sums_without_barrier", "the row sums of warps are exchanged without a barrier", "softmax", _GPU,
        r"tile_gpu\.barrier\n", "", ("race",), "", which=1,
    ),
    Mutation(
        "flag_before_parts", "one thread says that a partial sum is there while others still write it", "split_k",
        _SYNC, r"tile\.sync_threads\n", "", ("race",), "", which=1,
    ),
    Mutation(
        "parts_before_flag", "threads read partial sums without waiting for the one that saw the flag", "split_k",
        _SYNC, r"tile\.sync_threads\n", "", ("race",), "", which=2,
    ),
    Mutation(
        "flag_not_released", "the flag of a partial sum orders nothing before it", "split_k", _SYNC,
        r", memory_order = #tile<memory_order release>", "", ("race",), "",
    ),
    Mutation(
        "flag_not_acquired", "reading the flag of a partial sum orders nothing behind it", "split_k", _SYNC,
        r", memory_order = #tile<memory_order acquire>", "", ("race",), "",
    ),
]  # fmt: skip

_WAIT = r"mbarrier\.try_wait\.parity\.shared::cta\.b64 complete, (\[%r\d+\]), (%r\d+);\n@complete bra"
_INIT = r"(mbarrier\.init\.shared::cta\.b64 \[%r\d+\]), "
_BYTES = r"(arrive\.expect_tx\S* _, \[%r\d+\]), 32768;"
_NO_WAIT = r"setp.eq.b32 complete, 0, 0;\n@complete bra"
_COPY = r"(cp\.async\.cg\.shared\.global \[%r\d+\]), \[(%rd\d+)\], 16"
_PTX_FLIP = r"selp\.b32 (\s*%r\d+), 1, 0, (%p\d+);"
_WORD = r"mov\.b32 (\s*%r\d+), 1073741888;"
_EARLY = ("race", "uninitialised-read")

#: In PTX: fault, pattern, replacement, match, findings.
_HOPPER = [
    ("the producer waits for the wrong parity", r"xor\.b32 (\s*%r\d+, %r\d+), 1;", r"xor.b32 \1, 0;", 0, ("deadlock",)),
    ("the producer does not wait", _WAIT, _NO_WAIT, 0, ("race", "invalid", "over-arrival")),
    ("the consumer does not wait", _WAIT, _NO_WAIT, 1, ("race",)),
    ("the full barrier counts one more", _INIT + "1;", r"\1, 2;", 0, ("deadlock",)),
    ("the empty barrier counts one more", _INIT + "4;", r"\1, 5;", 0, ("deadlock",)),
    ("more bytes are expected than come", _BYTES, r"\1, 32784;", 0, ("deadlock",)),
    ("fewer bytes are expected than come", _BYTES, r"\1, 24576;", 0, ("invalid", "race", "deadlock")),
    ("barriers are not fenced", r"fence\.mbarrier_init\.release\.cluster;", "", None, ("missing-proxy-fence",)),
    ("a store without proxy fence", r"fence\.proxy\.async\S*;", "", 0, ("missing-proxy-fence",)),
    ("a store without barrier", r"bar\.(warp\.)?sync \t(-1|2, 128);", "", -1, ("race",)),
    (
        "a store that is not waited for", r"(@%p\d+ )?cp\.async\.bulk\.wait_group\S* 0;", "", -1,
        ("work-left-at-exit",),
    ),
    ("a product that is not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", "", -1, ("register-in-flight",)),
    ("a slot released under a product", r"wait_group\.sync\.aligned 1;", "wait_group.sync.aligned 3;", 0, ("race",)),
    (
        "products that are not committed", r"wgmma\.commit_group\.sync\.aligned;", "", 0,
        ("race", "register-in-flight"),
    ),
    ("products without fence", r"wgmma\.fence\.sync\.aligned;", "", 0, ("invalid",)),
    (
        "a phase that does not flip", _PTX_FLIP, r"selp.b32 \1, 0, 0, \2;", 0,
        ("deadlock", "race", "missed-phase", "over-arrival"),
    ),
    (
        "a named barrier of too many threads", r"bar\.sync \t2, 128;", "bar.sync \t2, 160;", 0,
        ("deadlock", "invalid"),
    ),
    ("the stride of a descriptor", _WORD, r"mov.b32 \1, 1073741856;", 0, ("wrong result",)),
    ("the swizzle of a descriptor", _WORD, r"mov.b32 \1, -2147483584;", 0, ("wrong result", "out-of-bounds")),
]  # fmt: skip
_AMPERE = [
    ("loads that are not waited for", r"cp\.async\.wait_group \s*\d+;", "", 0, _EARLY),
    ("loads that are not committed", r"cp\.async\.commit_group;", "", -1, _EARLY),
    ("one group too few", r"cp\.async\.wait_group \s*1;", "cp.async.wait_group 2;", 0, _EARLY),
    ("no barrier in the loop", r"bar\.sync \s*0;", "", -1, ("race",)),
    ("no barrier before the loop", r"bar\.sync \s*0;", "", 0, _EARLY),
    ("a copy out of bounds", _COPY, r"\1, [\2+1048576], 16", 0, ("out-of-bounds",)),
    ("a misaligned copy", _COPY, r"\1, [\2+2], 16", 0, ("misaligned",)),
    ("a store to an input", r"gemm_kernel_param_2\];", "gemm_kernel_param_0];", 0, ("read-only",)),
]


def _ptx(kernel: str, faults: list[tuple[str, str, str, int | None, tuple[str, ...]]]) -> list[Mutation]:
    return [
        Mutation(f"ptx_{kernel}_{index}", fault, kernel, PTX, pattern, replacement, finds, "", which)
        for index, (fault, pattern, replacement, which, finds) in enumerate(faults)
    ]


MUTATIONS = [
    *(dataclasses.replace(one, by=VERIFIER) for one in _VERIFIED),
    *_SIMULATED,
    *_ptx("gemm", _HOPPER),
    # A count that is one less lets the producer overtake only after some rounds.
    *_ptx(
        "gemm_long",
        [
            (
                "the empty barrier counts one less",
                _INIT + "4;",
                r"\1, 3;",
                None,
                ("race", "missed-phase", "over-arrival"),
            )
        ],
    ),
    *_ptx("gemm_sm80", _AMPERE),
]
