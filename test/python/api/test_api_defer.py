"""Programs of the tests of deferred stores through tilemlir.compile on the CPU: what they mean."""

import pytest
from defer_cases import (  # noqa: F401
    test_result_that_is_read,
    test_two_results,
    test_work_between_products_and_store,
)


@pytest.fixture(scope="module")
def target():
    return "cpu"
