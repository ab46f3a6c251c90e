"""Fixtures of the runtime tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from runtime_support import CLibrary


@pytest.fixture(scope="session")
def c_kernels(tmp_path_factory: pytest.TempPathFactory) -> CLibrary:
    """CPU kernel entries by name."""
    return CLibrary(tmp_path_factory.mktemp("kernels"))
