"""What users read when tile-verify-sync refuses a program that orders its threads itself."""

# ruff: noqa: E501 (messages as they are)

from __future__ import annotations

import re
import warnings

import explicit_programs
import faulty_protocols
import pytest
import tilemlir as tile
from tilemlir import errors

TARGET = {"kind": "simulator", "arch": "sm_90a"}


def message_of(program):
    """The text of the error, with the file as FILE, and lines of code without their numbers and margins."""
    with pytest.raises(errors.TileCompileError) as caught:
        tile.compile(program, target=TARGET)
    text = str(caught.value).replace(faulty_protocols.__file__, "FILE")
    source = open(faulty_protocols.__file__).read().splitlines()

    def name(match):
        return f"«{source[int(match[1]) - 1].strip()}»"

    text = re.sub(r"FILE:(\d+)", name, text)
    text = re.sub(r"line (\d+)", name, text)
    return re.sub(r"^ *\d* +\|.*\n?", "", text, flags=re.M).rstrip() + "\n"


EXPECTED = {
    "nobody_begins": """
«T.named_barrier_sync(1, 256)»: error: deadlock: T.ws(0) waits at named barrier 1 (128 of 256 threads) since «T.named_barrier_sync(1, 256)»; T.ws(1) waits at named barrier 2 (128 of 256 threads) since «T.named_barrier_sync(2, 256)» [verification]
«T.named_barrier_sync(2, 256)»: note: T.ws(1) waits here
«T.named_barrier_sync(1, 256)»: note: T.ws(0), last step: sync_threads of named barrier 1, iteration 0 of the loop («for _ in T.serial(3):»)
«T.named_barrier_sync(2, 256)»: note: T.ws(1), last step: sync_threads of named barrier 2, iteration 0 of the loop («for _ in T.serial(3):»)
""",
    "turn_too_early": """
«T.copy(s, A)»: error: early read: copy_async of T.ws(1) reads s while fill of T.ws(0) may still fill it [verification]
«T.clear(s)»: note: the other access is here
«T.named_barrier_arrive(2, 256)»: note: T.ws(0), 3 before: named_arrive of named barrier 2, iteration 0 of the loop («for _ in T.serial(3):»)
«T.clear(s)»: note: T.ws(0), 2 before: sync_threads, iteration 0 of the loop («for _ in T.serial(3):»)
«T.clear(s)»: note: T.ws(0), 1 before: fill to s, iteration 0 of the loop («for _ in T.serial(3):»)
«T.named_barrier_sync(1, 256)»: note: T.ws(0), last step: sync_threads of named barrier 1, iteration 0 of the loop («for _ in T.serial(3):»)
«T.named_barrier_sync(2, 256)»: note: T.ws(1), 2 before: sync_threads of named barrier 2, iteration 0 of the loop («for _ in T.serial(3):»)
«T.copy(s, A)»: note: T.ws(1), 1 before: bulk_wait, iteration 0 of the loop («for _ in T.serial(3):»)
«T.copy(s, A)»: note: T.ws(1), last step: copy_async from s, iteration 0 of the loop («for _ in T.serial(3):»)
""",
    "silent_warps": """
«T.mbarrier_wait_parity(empty[step % 2], ((step // 2) % 2) ^ 1)»: error: phase overrun: empty[0] may complete the next phase before this wait of warp 7 of T.ws(1) returns [verification]
«T.mbarrier_arrive(empty[step % 2])»: note: the next phase completes here
«full = T.alloc_barrier([1] * 2)»: note: warp 0 of T.ws(0), 2 before: sync_threads
«T.mbarrier_wait_parity(full[step % 2], (step // 2) % 2)»: note: warp 0 of T.ws(0), 1 before: barrier_wait full[0], parity 0, iteration 0 of the loop («for step in T.serial(8):»)
«T.mbarrier_arrive(empty[step % 2])»: note: warp 0 of T.ws(0), last step: barrier_arrive empty[0], iteration 0 of the loop («for step in T.serial(8):»)
«T.mbarrier_wait_parity(empty[step % 2], ((step // 2) % 2) ^ 1)»: note: warp 4 of T.ws(1), 3 before: barrier_wait empty[0], parity 1, iteration 0 of the loop («for step in T.serial(8):»)
«T.tma_copy(A[step * 64, 0], s[step % 2, :, :], barrier=full[step % 2])»: note: warp 4 of T.ws(1), 2 before: barrier_expect_tx full[0], iteration 0 of the loop («for step in T.serial(8):»)
«T.tma_copy(A[step * 64, 0], s[step % 2, :, :], barrier=full[step % 2])»: note: warp 4 of T.ws(1), 1 before: copy_async full[0] to slot 0 of s, iteration 0 of the loop («for step in T.serial(8):»)
«T.mbarrier_arrive(full[step % 2])»: note: warp 4 of T.ws(1), last step: barrier_arrive full[0], iteration 0 of the loop («for step in T.serial(8):»)
""",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_message(name):
    assert message_of(getattr(faulty_protocols, name)) == EXPECTED[name].lstrip()


def test_caret():
    """The place of the fault, as all errors show it."""
    with pytest.raises(errors.TileCompileError) as caught:
        tile.compile(faulty_protocols.turn_too_early, target=TARGET)
    lines = str(caught.value).splitlines()
    assert re.fullmatch(r" \d+ \|                 T\.copy\(s, A\)", lines[1])
    assert re.fullmatch(r" +\|                 \^{12}", lines[2])


@pytest.mark.parametrize(
    "program",
    [
        explicit_programs.ping_pong(128, 3),
        explicit_programs.exchange(100, 3),
        explicit_programs.one_way(128, 2),
        explicit_programs.producer_consumer(9, 128),
        explicit_programs.tma_round_trip(104, 104),
        explicit_programs.gemm(128, 128, 256),
        explicit_programs.gemm(128, 128, 256, arrivals="all", in_flight=1),
        explicit_programs.gemm(256, 128, 256, consumers=2, in_flight=1),
    ],
)
def test_right_programs_are_verified(program):
    """No fault, and no warning that something could not be followed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tile.compile(program, target=TARGET)
