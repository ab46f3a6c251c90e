"""The disk and memory caches."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest
from tilemlir.compiler import cache
from tilemlir.compiler.cache import DiskCache, MemoryCache, make_key
from tilemlir.compiler.knobs import knobs

FILES = {"kernel.cubin": b"\0\1\2", "plan.json": b"{}"}


def test_roundtrip_and_absence(tmp_path: Path) -> None:
    store = DiskCache(tmp_path / "cache")
    key = make_key("a")
    assert store.get(key) is None
    assert store.put(key, FILES)
    assert store.get(key) == FILES
    assert DiskCache(tmp_path / "cache").get(key) == FILES
    # A second writer of the same key changes nothing.
    assert store.put(key, FILES) and store.get(key) == FILES
    assert not list((tmp_path / "cache").glob(".new-*"))
    assert store.statistics().entries == 1


def test_keys() -> None:
    assert make_key("a", "b") == make_key("a", b"b")
    assert len({make_key("a", "b"), make_key("ab"), make_key("ab", ""), make_key("b", "a")}) == 4
    assert len(make_key("x")) == 64


@pytest.mark.parametrize("damage", ["content", "truncated manifest", "missing file", "manifest of another shape"])
def test_damaged_entries_are_dropped(tmp_path: Path, damage: str) -> None:
    store = DiskCache(tmp_path)
    key = make_key("a")
    store.put(key, FILES)
    entry = tmp_path / key[:2] / key
    if damage == "content":
        (entry / "kernel.cubin").write_bytes(b"\0\1\3")
    elif damage == "truncated manifest":
        (entry / "manifest.json").write_text('{"files": {"ker')
    elif damage == "missing file":
        (entry / "kernel.cubin").unlink()
    else:
        (entry / "manifest.json").write_text("[]")
    assert store.get(key) is None
    assert store.put(key, FILES) and store.get(key) == FILES


def test_names_cannot_leave_the_entry(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot name a cached file"):
        DiskCache(tmp_path).put(make_key("a"), {"../x": b""})
    assert not list(tmp_path.glob(".new-*"))


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    store = DiskCache(tmp_path, limit_bytes=10_000)
    keys = [make_key(str(i)) for i in range(8)]
    for age, key in enumerate(keys):
        DiskCache(tmp_path).put(key, {"data": bytes(2000)})
        old = time.time() - 1000 + age
        os.utime(tmp_path / key[:2] / key, (old, old))
    assert store.get(keys[0]) is not None  # used now
    assert store.evict() > 0
    kept = [key for key in keys if store.get(key) is not None]
    assert keys[0] in kept and keys[1] not in kept and keys[7] in kept
    assert store.statistics().bytes <= 10_000


def test_storing_evicts_by_itself(tmp_path: Path) -> None:
    store = DiskCache(tmp_path, limit_bytes=50_000)
    for i in range(60):
        store.put(make_key(str(i)), {"data": bytes(3000)})
    assert store.statistics().bytes <= 60_000


def test_an_unwritable_directory_warns_once_and_goes_on(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    store = DiskCache(blocker / "cache")
    with pytest.warns(UserWarning, match="cannot be written"):
        assert store.put(make_key("a"), FILES) is False
    assert store.put(make_key("a"), FILES) is False
    assert store.get(make_key("a")) is None


def _writer(directory: str, seed: int) -> None:
    store = DiskCache(Path(directory), limit_bytes=30_000)
    for i in range(50):
        key = make_key(str((i * 7 + seed) % 20))
        store.put(key, {"data": key.encode() * 40})
        found = store.get(key)
        assert found is None or found == {"data": key.encode() * 40}


def test_many_processes_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_writer, args=(str(tmp_path), seed)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 6


def test_memory_cache_makes_each_object_once() -> None:
    store = MemoryCache()
    made: list[int] = []

    def make() -> object:
        time.sleep(0.01)
        made.append(1)
        return object()

    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(store.get_or_make("k", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(map(id, results))) == 1
    store.clear(["k"])
    assert store.get("k") is None


def test_a_failing_maker_is_tried_again() -> None:
    store = MemoryCache()
    with pytest.raises(ZeroDivisionError):
        store.get_or_make("k", lambda: 1 // 0)
    assert store.get_or_make("k", lambda: 5) == 5


def test_default_cache_follows_the_knobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with knobs.scope(cache_dir=tmp_path, cache_size_mb=1):
        found = cache.default_cache()
        assert found is not None and found.directory == tmp_path and found.limit_bytes == 1 << 20
    with knobs.scope(disable_cache=True):
        assert cache.default_cache() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.delenv("TILEMLIR_CACHE_DIR", raising=False)
    assert cache.default_directory() == Path("/somewhere/tilemlir")
