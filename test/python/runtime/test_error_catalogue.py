"""The catalogue: every code has a text, and every code that the native runtime throws is in it."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from tilemlir import errors

ROOT = Path(__file__).parents[3]
NATIVE = [*(ROOT / "lib/Runtime").glob("*.cpp"), *(ROOT / "python/bindings").glob("Runtime*")]


def test_native_codes_are_in_the_catalogue() -> None:
    codes: set[str] = set()
    for path in NATIVE:
        text = path.read_text()
        codes |= set(re.findall(r'(?:Failure|fail)\(\s*"([a-z-]+)"', text))
        for first, second in re.findall(r'fail\(\w[\w.]*\s*\?\s*"([a-z-]+)"\s*:\s*"([a-z-]+)"', text):
            codes |= {first, second}
    assert len(codes) > 30
    assert codes <= set(errors.CATALOGUE)


@pytest.mark.parametrize("code", errors.CATALOGUE)
def test_texts_format_and_end_without_a_full_stop(code: str) -> None:
    entry = errors.CATALOGUE[code]
    names = {name for text in (entry.text, entry.fix) for _, name, _, _ in string.Formatter().parse(text) if name}
    error = errors.make(code, dict.fromkeys(names, "X"))
    assert type(error) is entry.exception and error.code == code
    assert not entry.text.endswith(".")
    assert entry.fix == "" or entry.fix.endswith((".", "}"))


def test_exceptions_are_the_builtin_kinds_too() -> None:
    assert issubclass(errors.TileTypeError, TypeError)
    assert issubclass(errors.TileValueError, ValueError)
    assert issubclass(errors.TileRuntimeError, RuntimeError)
    assert issubclass(errors.TileAssertionError, AssertionError)
    assert all(issubclass(entry.exception, errors.TileError) for entry in errors.CATALOGUE.values())


def test_fields_are_kept() -> None:
    error = errors.make("no-such-device", {"device": 3, "count": 1})
    assert error.fields == {"device": 3, "count": 1}
    assert str(error) == "there is no CUDA device 3: this machine has 1"


def test_unknown_codes_are_programming_errors() -> None:
    with pytest.raises(KeyError):
        errors.make("no-such-code")
