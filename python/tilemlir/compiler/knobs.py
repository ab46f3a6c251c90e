"""Every environment variable that tilemlir reads, as a typed descriptor.

`knobs.name` is the value now: an override of the innermost `scope`, else the environment variable, else the default.
The environment is read at each access, so tests and notebooks may change it. No other file of the package reads the
environment for settings of ours.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from tilemlir import errors

__all__ = ["Knob", "Knobs", "knobs"]

T = TypeVar("T")

_overrides: ContextVar[dict[str, Any]] = ContextVar("tilemlir_knobs", default={})  # noqa: B039


def _flag(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("", "0", "false", "no", "off"):
        return False
    raise ValueError("0 or 1")


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError("a whole number") from None
    if value < 0:
        raise ValueError("a whole number that is not negative")
    return value


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


def _text(text: str) -> str:
    return text


class Knob(Generic[T]):
    """One setting.

    Attributes:
        variable: name of the environment variable.
        default: value when it is unset.
        help: what it does, one sentence.
    """

    def __init__(self, variable: str, default: T, parse: Callable[[str], T], help: str) -> None:
        self.variable = variable
        self.default = default
        self.help = help
        self._parse = parse
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Knob[T]: ...
    @overload
    def __get__(self, instance: Knobs, owner: type) -> T: ...
    def __get__(self, instance: Knobs | None, owner: type) -> Knob[T] | T:
        if instance is None:
            return self
        overrides = _overrides.get()
        if self.name in overrides:
            return overrides[self.name]  # type: ignore[no-any-return]
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        try:
            return self._parse(text)
        except ValueError as error:
            raise errors.make(
                "bad-knob", {"variable": self.variable, "found": repr(text), "expected": str(error)}
            ) from None

    def __set__(self, instance: Knobs, value: T) -> None:
        raise AttributeError(f"set {self.variable}, or use knobs.scope({self.name}=...)")


class Knobs:
    """All settings; use the instance `knobs`."""

    cache_dir = Knob(
        "TILEMLIR_CACHE_DIR", None, _path, "Directory of the disk cache; unset: the user's cache directory."
    )
    cache_size_mb = Knob("TILEMLIR_CACHE_SIZE_MB", 4096, _count, "Size limit of the disk cache in MiB; 0: no limit.")
    disable_cache = Knob("TILEMLIR_DISABLE_CACHE", False, _flag, "Compile every kernel anew and store nothing.")
    num_threads = Knob("TILEMLIR_NUM_THREADS", 0, _count, "Threads of a CPU launch; 0: all available processors.")
    target = Knob("TILEMLIR_TARGET", "auto", _text, "Target of kernels compiled without one.")
    simulate = Knob("TILEMLIR_SIMULATE", False, _flag, "Run kernels for CUDA targets in the simulator.")
    simulate_seed = Knob("TILEMLIR_SIMULATE_SEED", 0, _count, "Seed of the simulator's scheduler.")
    ptxas = Knob("TILEMLIR_PTXAS", None, _path, "The ptxas program to use.")
    nvdisasm = Knob("TILEMLIR_NVDISASM", None, _path, "The nvdisasm program to use.")
    libcuda = Knob("TILEMLIR_LIBCUDA", None, _path, "The CUDA driver library to load instead of libcuda.so.1.")
    dump_dir = Knob("TILEMLIR_DUMP_DIR", None, _path, "Directory that receives every stage of every compiled kernel.")
    verbose = Knob("TILEMLIR_VERBOSE", False, _flag, "Report compilations and fallbacks on stderr.")
    full_traceback = Knob(
        "TILEMLIR_FULL_TRACEBACK", False, _flag, "Keep the compiler's own frames in the traceback of an error."
    )

    @classmethod
    def all(cls) -> list[Knob[Any]]:
        """Every knob, in order of definition."""
        return [value for value in vars(cls).values() if isinstance(value, Knob)]

    @contextmanager
    def scope(self, **values: Any) -> Iterator[Knobs]:
        """Overrides knobs inside a `with` block, for the current thread or task.

        Raises:
            TileValueError: for a name that is no knob.
        """
        known = {knob.name for knob in self.all()}
        for name in values:
            if name not in known:
                match = difflib.get_close_matches(name, known, 1)
                raise errors.make(
                    "unknown-knob", {"name": name, "closest": f"; did you mean '{match[0]}'?" if match else ""}
                )
        token = _overrides.set({**_overrides.get(), **values})
        try:
            yield self
        finally:
            _overrides.reset(token)


knobs = Knobs()
