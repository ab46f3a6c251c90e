"""pytest configuration shared by test/python, test/gpu and test/embed."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


def gpu_problem():
    """None when a CUDA device can be used, else the reason why not."""
    from tilemlir.runtime import cuda

    problem = cuda.driver_problem()
    if problem is None and cuda.device_count() == 0:
        problem = "the CUDA driver works but sees no device"
    return problem


def pytest_collection_modifyitems(items):
    """Everything below test/gpu carries the marker `gpu`; tests with it are skipped where no device is found.

    A test that looks at what all others compiled goes last.
    """
    items.sort(key=lambda item: item.name == "test_everything_that_this_run_compiled")
    for item in items:
        if (REPOSITORY / "test" / "gpu") in item.path.parents:
            item.add_marker(pytest.mark.gpu)
    if any(item.get_closest_marker("gpu") for item in items):
        problem = gpu_problem()
        if problem is not None:
            for item in items:
                if item.get_closest_marker("gpu"):
                    item.add_marker(pytest.mark.skip(reason=f"no GPU: {problem}"))


@pytest.fixture(scope="session")
def build_dir():
    """The CMake build folder: TILEMLIR_BUILD_DIR, or build/ of this checkout."""
    path = Path(os.environ.get("TILEMLIR_BUILD_DIR", REPOSITORY / "build"))
    if not (path / "CMakeCache.txt").is_file():
        pytest.skip(f"no build folder at {path}; set TILEMLIR_BUILD_DIR")
    return path


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory, monkeypatch):
    """Keeps tests away from the user's kernel cache."""
    if "TILEMLIR_CACHE_DIR" not in os.environ:
        monkeypatch.setenv("TILEMLIR_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernel-cache"))
