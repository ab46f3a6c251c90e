"""The generated reference in docs/reference is up to date with the ODS descriptions."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]


def test_reference_is_fresh(build_dir):
    script = REPOSITORY / "docs" / "generate.py"
    done = subprocess.run([sys.executable, script, "--check", "--build-dir", build_dir], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_operation_type_and_attribute_is_described():
    """An entry of the reference is more than its signature: the heading is followed by a summary in italics."""
    reference = REPOSITORY / "docs" / "reference"
    bare = []
    for name in ("tile.md", "tile-gpu.md"):
        lines = [line for line in (reference / name).read_text().splitlines() if line]
        for heading, following in itertools.pairwise(lines):
            if heading.startswith("### `") and not following.startswith("_"):
                bare.append(heading)
    assert bare == []


def test_tests_named_in_the_documentation_exist():
    """Names such as `kernels/edge_cases.py::test_gather`, with paths relative to test/."""
    tests = REPOSITORY / "test"
    named = set()
    for page in (REPOSITORY / "docs").glob("*.md"):
        named |= set(re.findall(r"`([\w/]+\.py)::(\w+)`", page.read_text()))
    assert len(named) > 50
    missing = []
    for path, name in sorted(named):
        body = ast.parse((tests / path).read_text()).body if (tests / path).is_file() else []
        if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in body):
            missing.append(f"{path}::{name}")
    assert missing == []
