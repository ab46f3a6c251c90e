"""Settings: environment variables, compile options, TileLang's pass configuration, targets."""

from __future__ import annotations

import dataclasses
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
import tilemlir
import tilemlir.language as T
from tilemlir import errors
from tilemlir.compiler import options as options_module
from tilemlir.compiler.knobs import Knobs, knobs
from tilemlir.compiler.options import CompileOptions, PassConfigKey
from tilemlir.compiler.target import Target, parse
from tilemlir.frontend import FrontendError


def _text(error: Any, code: str) -> str:
    assert error.value.code == code
    return str(error.value)


class TestKnobs:
    def test_environment_default_and_scope(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TILEMLIR_NUM_THREADS", raising=False)
        assert knobs.num_threads == 0
        monkeypatch.setenv("TILEMLIR_NUM_THREADS", "3")
        assert knobs.num_threads == 3
        with knobs.scope(num_threads=5, disable_cache=True):
            assert knobs.num_threads == 5 and knobs.disable_cache is True
            with knobs.scope(num_threads=6):
                assert knobs.num_threads == 6 and knobs.disable_cache is True
            assert knobs.num_threads == 5
        assert knobs.num_threads == 3

    def test_scope_ends_with_an_exception_and_is_per_thread(self) -> None:
        seen = []
        with pytest.raises(KeyError), knobs.scope(verbose=True):
            thread = threading.Thread(target=lambda: seen.append(knobs.verbose))
            thread.start()
            thread.join()
            raise KeyError
        assert seen == [False] and knobs.verbose is False

    def test_paths_and_flags(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TILEMLIR_CACHE_DIR", "/x/y")
        assert knobs.cache_dir == Path("/x/y")
        for text, value in (("1", True), ("on", True), ("0", False), ("", False), ("FALSE", False)):
            monkeypatch.setenv("TILEMLIR_VERBOSE", text)
            assert knobs.verbose is value

    def test_bad_values_name_the_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TILEMLIR_NUM_THREADS", "many")
        with pytest.raises(errors.TileValueError) as caught:
            _ = knobs.num_threads
        assert _text(caught, "bad-knob") == (
            "environment variable TILEMLIR_NUM_THREADS is 'many', expected a whole number"
        )
        monkeypatch.setenv("TILEMLIR_VERBOSE", "maybe")
        with pytest.raises(errors.TileValueError, match="TILEMLIR_VERBOSE is 'maybe', expected 0 or 1"):
            _ = knobs.verbose

    def test_unknown_names(self) -> None:
        with pytest.raises(errors.TileValueError) as caught, knobs.scope(num_thread=1):
            pass
        assert _text(caught, "unknown-knob") == "there is no knob named 'num_thread'; did you mean 'num_threads'?"
        with pytest.raises(AttributeError, match="set TILEMLIR_VERBOSE, or use"):
            knobs.verbose = True  # type: ignore[misc]

    def test_every_knob_is_described(self) -> None:
        variables = [knob.variable for knob in Knobs.all()]
        assert len(set(variables)) == len(variables) > 5
        assert all(knob.help.endswith(".") and knob.variable.startswith("TILEMLIR_") for knob in Knobs.all())


class TestTarget:
    @pytest.mark.parametrize(
        ("given", "arch", "code"),
        [
            ("sm_80", "sm_80", ()),
            ("sm_90a", "sm_90a", ()),
            ("sm_100a", "sm_100a", ()),
            ({"kind": "cuda", "arch": "sm_90a"}, "sm_90a", ()),
            ({"arch": "sm_80", "code": ["sm_90"]}, "sm_80", ("sm_90",)),
            ("cuda -arch=sm_90a", "sm_90a", ()),
            ("compute_89", "sm_89", ()),
            ("cpu", "cpu", ()),
            ("llvm", "cpu", ()),
            ({"kind": "cpu"}, "cpu", ()),
            (Target("cuda", 86), "sm_86", ()),
        ],
    )
    def test_spellings(self, given: object, arch: str, code: tuple[str, ...]) -> None:
        target = parse(given)
        assert target.arch == arch == str(target) and target.code == code
        assert target.is_cpu == (arch == "cpu")

    @pytest.mark.parametrize(
        "given", ["sm_70", "sm_80a", "sm_9", "gpu", "", 80, {"arch": 80}, {"kind": "cpu", "arch": "sm_80"}, {"a": 1}]
    )
    def test_refusals(self, given: object) -> None:
        with pytest.raises(errors.TileValueError) as caught:
            parse(given)
        assert _text(caught, "unknown-target").startswith(
            f"unknown target {given!r}: allowed are 'auto', 'cuda', 'cpu'"
        )

    def test_default_comes_from_the_knob(self) -> None:
        with knobs.scope(target="sm_89"):
            assert parse(None).arch == "sm_89"

    def test_devices(self) -> None:
        assert parse("sm_80").runs_on((9, 0)) and not parse("sm_90").runs_on((8, 9))
        assert parse("sm_90a").runs_on((9, 0)) and not parse("sm_90a").runs_on((10, 0))
        # The same PTX is assembled for a newer device; "a" targets keep their own.
        assert parse("sm_80").assemble_for((9, 0)) == "sm_90"
        assert parse("sm_80").assemble_for(None) == "sm_80"
        assert parse("sm_90a").assemble_for((9, 0)) == "sm_90a"
        assert parse({"arch": "sm_80", "code": ["sm_86"]}).assemble_for((9, 0)) == "sm_86"
        assert not parse("cpu").runs_on((9, 0))


def test_every_knob_is_read() -> None:
    """A setting that nothing reads would be accepted and ignored."""
    package = Path(options_module.__file__).resolve().parents[1]
    text = "\n".join(path.read_text() for path in package.rglob("*.py") if path.name != "knobs.py")
    assert [knob.name for knob in Knobs.all() if not re.search(rf"\bknobs\.{knob.name}\b", text)] == []


def test_full_traceback() -> None:
    @T.prim_func
    def wrong(x: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def,valid-type]
        with T.Kernel(1, threads=64) as _:
            x[0, 0] = 1.0

    def frames() -> list[str]:
        with pytest.raises(FrontendError) as caught:
            tilemlir.lower(wrong, target="cpu")
        return [Path(str(entry.path)).name for entry in caught.traceback]

    assert frames()[-1] == "tracer.py"
    with knobs.scope(full_traceback=True):
        found = frames()
    assert "statements.py" in found[found.index("tracer.py") :]


class TestOptions:
    def test_pass_configs_that_have_an_effect(self) -> None:
        effects: dict[PassConfigKey, tuple[Any, dict[str, Any]]] = {
            PassConfigKey.TL_ENABLE_FAST_MATH: (True, {"fast_math": True}),
            PassConfigKey.TL_DISABLE_WARP_SPECIALIZED: (True, {"disable_warp_specialize": True}),
            PassConfigKey.TL_DISABLE_TMA_LOWER: (True, {"disable_tma": True}),
            PassConfigKey.TL_DISABLE_WGMMA: (True, {"disable_wgmma": True}),
            PassConfigKey.TL_ENABLE_ASYNC_COPY: (False, {"disable_async_copy": True}),
            PassConfigKey.TIR_USE_ASYNC_COPY: (False, {"disable_async_copy": True}),
            PassConfigKey.TL_DISABLE_SAFE_MEMORY_ACCESS: (True, {"disable_bounds_checks": True}),
            PassConfigKey.TL_DISABLE_THREAD_STORAGE_SYNC: (True, {"disable_thread_sync": True}),
            PassConfigKey.TL_DISABLE_SHARED_MEMORY_REUSE: (True, {"disable_shared_memory_reuse": True}),
            PassConfigKey.TL_PTXAS_REGISTER_USAGE_LEVEL: (10, {"register_level": 10}),
            PassConfigKey.TL_DEVICE_COMPILE_FLAGS: ("-O2", {"ptxas_flags": ("-O2",)}),
            PassConfigKey.TL_ENABLE_PTXAS_VERBOSE_OUTPUT: (True, {"verbose": True}),
            PassConfigKey.TL_ENABLE_DUMP_IR: (True, {"dump_dir": "dump_ir"}),
            PassConfigKey.TL_DUMP_IR_DIR: ("/d", {"dump_dir": "/d"}),
            PassConfigKey.CUDA_KERNELS_OUTPUT_DIR: ("/d", {"dump_dir": "/d"}),
            PassConfigKey.TL_PASS_PROFILE: (True, {"time_passes": True}),
            PassConfigKey.TIR_NOALIAS: (False, {"noalias": False}),
        }
        assert set(effects) == set(options_module._HONOURED)
        plain = CompileOptions.from_user("cpu")
        for key, (value, fields) in effects.items():
            for spelling in (key, key.value, key.name):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    assert CompileOptions.from_user("cpu", {spelling: value}) == dataclasses.replace(plain, **fields)

    def test_every_other_known_key_warns_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(options_module, "_warned", set())
        plain = CompileOptions.from_user("cpu")
        quiet = set(options_module._HONOURED) | set(options_module._ALWAYS_SO)
        for key in set(PassConfigKey) - quiet:
            with pytest.warns(UserWarning, match=f"pass_configs key '{key.value}' has no effect in tilemlir"):
                assert CompileOptions.from_user("cpu", {key: 1}) == plain
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                CompileOptions.from_user("cpu", {key: 1})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            CompileOptions.from_user("cpu", dict.fromkeys(options_module._ALWAYS_SO, True))

    def test_both_spellings_of_tir_keys(self) -> None:
        assert CompileOptions.from_user("cpu", {"tir.noalias": False}).noalias is False
        assert CompileOptions.from_user("cpu", {"tirx.noalias": False}).noalias is False

    def test_unknown_keys(self) -> None:
        with pytest.raises(errors.TileValueError) as caught:
            CompileOptions.from_user("cpu", {"tl.enable_fast_maht": True})
        assert _text(caught, "unknown-pass-config") == (
            "unknown pass_configs key 'tl.enable_fast_maht'; did you mean 'tl.enable_fast_math'?"
        )

    def test_every_field_is_read_by_the_compiler(self) -> None:
        """An option that nothing reads would be accepted and ignored."""
        package = Path(options_module.__file__).parent
        text = "\n".join(path.read_text() for path in package.glob("*.py") if path.name != "options.py")
        names = [field.name for field in dataclasses.fields(CompileOptions)]
        assert [name for name in names if f"options.{name}" not in text] == []

    def test_time_passes(self, capfd: pytest.CaptureFixture[str]) -> None:
        @T.prim_func
        def negate(x: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def,valid-type]
            with T.Kernel(1, threads=64) as _:
                for i in T.Parallel(64):
                    x[i] = -x[i]

        with knobs.scope(disable_cache=True):
            tilemlir.compile(negate, target="cpu")
            assert capfd.readouterr().err == ""
            tilemlir.compile(negate, target="cpu", pass_configs={"tl.pass_profile": True})
        assert "CanonicalizeKernel" in capfd.readouterr().err

    def test_own_field_names_work_too(self) -> None:
        assert CompileOptions.from_user("cpu", {"max_registers": 64}).max_registers == 64
        assert CompileOptions.from_user("cpu", {"tl.enable_fast_math": True}, fast_math=False).fast_math is False

    def test_compile_flags(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(options_module, "_warned", set())
        flags = "-O3 --use_fast_math -maxrregcount=128 -Xptxas -v,--warn-on-spills --ptxas-options=-dlcm=ca -lineinfo"
        found = CompileOptions.from_user("cpu", compile_flags=flags)
        assert found.fast_math and found.max_registers == 128
        assert found.ptxas_flags == ("-O3", "-v", "--warn-on-spills", "-dlcm=ca")
        assert CompileOptions.from_user("cpu", compile_flags=["-O3", "--maxrregcount 64"]).max_registers == 64
        with pytest.warns(UserWarning, match="there is no C.. compiler") as caught:
            found = CompileOptions.from_user("cpu", compile_flags=["-I/include", "-DX=1", "-std=c++17", "-I", "/y"])
        assert len(caught) == 4 and found.ptxas_flags == ()

    @pytest.mark.parametrize(
        ("field", "value", "text"),
        [
            ("max_registers", 300, "option max_registers is 300, expected 16 to 255"),
            ("register_level", 11, "option register_level is 11, expected 0 to 10"),
        ],
    )
    def test_ranges(self, field: str, value: int, text: str) -> None:
        with pytest.raises(errors.TileValueError) as caught:
            CompileOptions(**{field: value})  # type: ignore[arg-type]
        assert _text(caught, "bad-option") == text

    def test_keys_tell_compiled_code_apart(self) -> None:
        base = CompileOptions.from_user("sm_80")
        assert base.key() == CompileOptions.from_user("sm_80").key()
        assert base.key() == CompileOptions.from_user("sm_80", {"tl.dump_ir_path": "/x"}).key()
        others = [
            CompileOptions.from_user("sm_90"),
            CompileOptions.from_user("sm_90a"),
            CompileOptions.from_user({"arch": "sm_80", "code": ["sm_90"]}),
            CompileOptions.from_user("sm_80", fast_math=True),
            CompileOptions.from_user("sm_80", compile_flags="-O1"),
            CompileOptions.from_user("sm_80", noalias=False),
        ]
        assert len({base.key(), *(other.key() for other in others)}) == len(others) + 1

    def test_options_are_frozen(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            CompileOptions().fast_math = True  # type: ignore[misc]
