"""Compiled kernels on disk and in memory.

A disk entry is a directory of files with a manifest. It appears by one rename, so readers never see half an entry and
writers never wait for each other; only eviction takes a lock. Keys are hashes of everything that decides the content:
see `make_key`. An entry that does not match its manifest is dropped and compiled anew. A directory that cannot be
written disables the disk cache with a warning: compiling goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import tilemlir
from tilemlir.compiler.knobs import knobs

__all__ = ["CacheStatistics", "DiskCache", "MemoryCache", "default_cache", "default_directory", "make_key", "versions"]

_MANIFEST = "manifest.json"
# Evict down to this share of the limit, so that eviction is rare.
_KEEP_SHARE = 0.8
# Leftovers of writers that died are removed after this many seconds.
_STALE_SECONDS = 3600


def default_directory() -> Path:
    """The cache directory: the `cache_dir` knob, else the platform's directory for user caches.

    On Linux that is ``$XDG_CACHE_HOME/tilemlir`` or ``~/.cache/tilemlir``, on macOS ``~/Library/Caches/tilemlir``, on
    Windows ``%LOCALAPPDATA%/tilemlir/Cache``.
    """
    if knobs.cache_dir is not None:
        return knobs.cache_dir
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tilemlir"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tilemlir" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilemlir"


@lru_cache(maxsize=1)
def versions() -> str:
    """A text that changes whenever the compiler does: the package's version and its native libraries' identity.

    A library is identified by size and modification time, so that a rebuilt developer tree never meets old entries.
    """
    package = Path(tilemlir.__file__).parent
    parts = [tilemlir.__version__]
    for library in sorted([*package.glob("*.so"), *package.glob("_mlir/_mlir_libs/*.so*")]):
        status = library.stat()
        parts.append(f"{library.name}:{status.st_size}:{status.st_mtime_ns}")
    return "\n".join(parts)


def make_key(*parts: str | bytes) -> str:
    """A hexadecimal key of the compiler's versions and the given parts (IR text, options, tool versions).

    Parts are hashed with their lengths, so that moving bytes between neighbours changes the key.
    """
    digest = hashlib.sha256()
    for part in (versions(), *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True)
class CacheStatistics:
    """What a disk cache holds: its directory, number of entries and their bytes."""

    directory: Path
    entries: int
    bytes: int


class DiskCache:
    """Entries by key in a directory.

    Args:
        directory: made when the first entry is stored.
        limit_bytes: total size kept; 0 for no limit.
    """

    def __init__(self, directory: Path, limit_bytes: int = 0) -> None:
        self.directory = directory
        self.limit_bytes = limit_bytes
        self._writable = True
        self._stored_bytes = 0

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key

    def get(self, key: str) -> dict[str, bytes] | None:
        """The files of an entry by name, or None."""
        path = self._path(key)
        try:
            manifest = json.loads((path / _MANIFEST).read_bytes())
            files = {}
            for name, expected in manifest["files"].items():
                data = (path / name).read_bytes()
                if hashlib.sha256(data).hexdigest() != expected:
                    raise ValueError(name)
                files[name] = data
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            # Absent (or evicted just now), or damaged: then it must go, or nobody could store the key again.
            if path.exists():
                shutil.rmtree(path, ignore_errors=True)
            return None
        try:
            os.utime(path)  # recently used
        except OSError:
            pass  # a read-only cache keeps its order
        return files

    def put(self, key: str, files: Mapping[str, bytes]) -> bool:
        """Stores an entry; an entry that exists already stays. Returns whether it is in the cache now."""
        if not self._writable:
            return False
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=self.directory))
            try:
                digests = {}
                for name, data in files.items():
                    if os.path.basename(name) != name or name == _MANIFEST:
                        raise ValueError(f"{name!r} cannot name a cached file")
                    (temporary / name).write_bytes(data)
                    digests[name] = hashlib.sha256(data).hexdigest()
                (temporary / _MANIFEST).write_text(json.dumps({"files": digests}))
                try:
                    os.rename(temporary, path)
                except OSError:
                    # Another process was faster; the content is the same.
                    if not path.is_dir():
                        raise
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        except OSError as error:
            self._writable = False
            warnings.warn(f"the kernel cache at {self.directory} cannot be written ({error})", stacklevel=3)
            return False
        self._stored_bytes += sum(map(len, files.values()))
        # Looking at the whole directory is slow: do it when this process alone stored a noticeable share.
        if self.limit_bytes and self._stored_bytes > self.limit_bytes * (1 - _KEEP_SHARE) / 4:
            self._stored_bytes = 0
            self.evict()
        return True

    def _entries(self) -> list[tuple[float, int, Path]]:
        """(last use in seconds, bytes, path) of every entry."""
        entries = []
        for path in self.directory.glob("??/*"):
            try:
                size = sum(file.stat().st_size for file in path.iterdir())
                entries.append((path.stat().st_mtime, size, path))
            except OSError:
                continue  # evicted meanwhile
        return entries

    def evict(self) -> int:
        """Removes the least recently used entries above the limit, and leftovers. Returns the bytes removed."""
        import filelock

        try:
            lock = filelock.FileLock(self.directory / ".lock", timeout=0)
            with lock:
                for leftover in self.directory.glob(".new-*"):
                    if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                        shutil.rmtree(leftover, ignore_errors=True)
                entries = sorted(self._entries())
                total = sum(size for _, size, _ in entries)
                if not self.limit_bytes or total <= self.limit_bytes:
                    return 0
                removed = 0
                for _, size, path in entries:
                    if total - removed <= self.limit_bytes * _KEEP_SHARE:
                        break
                    self._remove(path)
                    removed += size
                return removed
        except (filelock.Timeout, OSError):
            return 0  # another process is at it, or the directory is gone

    def _remove(self, path: Path) -> None:
        # Renamed first: a reader meets a whole entry or none.
        doomed = self.directory / f".new-{path.name}-{os.getpid()}"
        os.rename(path, doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def clear(self) -> CacheStatistics:
        """Removes every entry; returns what was there."""
        before = self.statistics()
        for _, _, path in self._entries():
            try:
                self._remove(path)
            except OSError:
                continue  # another process was faster
        return before

    def statistics(self) -> CacheStatistics:
        """What the cache holds now."""
        entries = self._entries()
        return CacheStatistics(self.directory, len(entries), sum(size for _, size, _ in entries))


class MemoryCache:
    """Objects by key for the life of the process; thread-safe. Concurrent makers of one key wait for the first."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: str) -> Any | None:
        """The object, or None."""
        return self._objects.get(key)

    def get_or_make(self, key: str, make: Any) -> Any:
        """The object; `make()` produces it once, however many threads ask."""
        found = self._objects.get(key)
        if found is not None:
            return found
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            found = self._objects.get(key)
            if found is None:
                found = make()
                self._objects[key] = found
        with self._guard:
            self._locks.pop(key, None)
        return found

    def clear(self, keys: Iterable[str] | None = None) -> None:
        """Forgets all objects, or those of the given keys."""
        if keys is None:
            self._objects.clear()
        else:
            for key in keys:
                self._objects.pop(key, None)


@lru_cache(maxsize=8)
def _cache_at(directory: Path, limit_bytes: int) -> DiskCache:
    return DiskCache(directory, limit_bytes)


def default_cache() -> DiskCache | None:
    """The user's disk cache as the knobs say, or None when caching is disabled."""
    if knobs.disable_cache:
        return None
    return _cache_at(default_directory(), knobs.cache_size_mb << 20)
