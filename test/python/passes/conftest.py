"""Fixtures of the tests on pass output: tile-opt, and the modules beside the tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tile_opt(build_dir: Path) -> Path:
    """Path of tile-opt in the build folder."""
    return build_dir / "bin" / "tile-opt"
