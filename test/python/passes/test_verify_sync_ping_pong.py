"""tile-verify-sync on warp groups that take turns, right and with broken turns."""

import re
import subprocess

import ping_pong_programs
import pytest
import tilemlir as tile

TARGET = {"kind": "cuda", "arch": "sm_90a"}
WAIT = re.compile(r"^ *tile\.barrier_wait %turns\[.*$", re.MULTILINE)
HAND_OVER = re.compile(r"^ *tile\.barrier_arrive %turns\[.*$", re.MULTILINE)
PARITY = re.compile(r"tile\.store %c1_i32\w*, %turn_parity")


def without(pattern, number):
    """Takes occurrence ``number`` of ``pattern`` out of a text."""

    def change(text):
        found = list(pattern.finditer(text))[number]
        return text[: found.start()] + text[found.end() :]

    return change


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (None, ""),
        (without(WAIT, 0), "error: "),
        (without(WAIT, 1), "error: "),
        (without(HAND_OVER, 0), "error: "),
        (without(HAND_OVER, 1), "error: "),
        (lambda text: PARITY.sub("tile.store %c0_i32, %turn_parity", text, count=1), "error: "),
    ],
    ids=["right", "first wait", "second wait", "first hand-over", "second hand-over", "initial parity"],
)
def test_verifier_sees_broken_turns(change, verdict, tmp_path, tile_opt):
    kernel = tile.compile(ping_pong_programs.gemm(512, 512, 512, 4, block=(64, 64, 64)), target=TARGET)
    kernel.write_stages(tmp_path)
    (traced,) = tmp_path.rglob("0_tile.mlir")

    def run(pipeline, text):
        return subprocess.run([tile_opt, pipeline], input=text, capture_output=True, text=True, check=False)

    before = run("--tile-pipeline=to=tile-ping-pong", traced.read_text())
    assert before.returncode == 0, before.stderr
    text = before.stdout if change is None else change(before.stdout)
    assert (text == before.stdout) == (change is None)
    result = run("--tile-pipeline=from=tile-multicast-copies to=tile-verify-sync", text)
    assert (result.returncode != 0) == bool(verdict), result.stderr
    assert verdict in result.stderr
    assert "not verified" not in result.stderr
