"""Compile options: one frozen record, and the mapping from TileLang's `pass_configs` and flags to it.

Every key that TileLang's programs may set is known here. It is either honoured (it changes a field of
`CompileOptions`) or has no effect in this compiler, in which case the user is told once.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from tilemlir import errors
from tilemlir.compiler.target import Target, parse

__all__ = ["CompileOptions", "PassConfigKey", "apply_compile_flags", "apply_pass_configs"]


class PassConfigKey(str, Enum):
    """TileLang's pass configuration keys. Values are the strings its programs may use instead."""

    TL_SIMPLIFY = "tl.Simplify"
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = "propagate_knowns_to_simplify_expressions"
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_ENABLE_AUTO_SCHEDULE = "tl.enable_auto_schedule"
    TL_ENABLE_AUTO_WARP_SPECIALIZATION = "tl.enable_auto_warp_specialization"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_ENABLE_FP32X2_REDUCTION = "tl.enable_fp32x2_reduction"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tir.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tirx.disable_cse_tir"
    TIR_SIMPLIFY = "tirx.Simplify"
    TIR_DISABLE_STORAGE_REWRITE = "tirx.disable_storage_rewrite"
    TIR_DISABLE_VECTORIZE = "tirx.disable_vectorize"
    TIR_USE_ASYNC_COPY = "tirx.use_async_copy"
    TIR_ENABLE_DEBUG = "tirx.enable_debug"
    TIR_MERGE_STATIC_SMEM = "tirx.merge_static_smem"
    TIR_ADD_LOWER_PASS = "tirx.add_lower_pass"
    TIR_NOALIAS = "tirx.noalias"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    """Everything besides the kernel's IR that decides the compiled code.

    Attributes:
        target: what to compile for.
        fast_math: approximate math functions, flush of subnormals, reassociation.
        disable_warp_specialize: no automatic producer warps.
        disable_tma: copies never use the tensor memory accelerator.
        disable_wgmma: matrix products never use wgmma.
        disable_async_copy: copies never use cp.async.
        disable_bounds_checks: the user promises that no access leaves its tensor.
        disable_defer_stores: persistent kernels store a tile before they go on to the next one.
        disable_thread_sync: no automatic barriers; the user's own only.
        disable_shared_memory_reuse: every shared buffer gets its own bytes.
        noalias: tensors do not overlap; checked at launch.
        aligned: tensors start on 16-byte boundaries; checked at launch.
        max_registers: limit per thread for the assembler; None: its own choice.
        register_level: ptxas's `--register-usage-level`, 0 to 10; None: its default.
        ptxas_flags: more flags for the assembler.
        dump_dir: directory for the stages of this kernel; None: none.
        time_passes: report the time of every pass on stderr, when passes run (kernels from the cache need none).
        verbose: report fallbacks and resources.
    """

    target: Target = dataclasses.field(default_factory=lambda: Target("cpu"))
    fast_math: bool = False
    disable_warp_specialize: bool = False
    disable_tma: bool = False
    disable_wgmma: bool = False
    disable_async_copy: bool = False
    disable_bounds_checks: bool = False
    disable_defer_stores: bool = False
    disable_thread_sync: bool = False
    disable_shared_memory_reuse: bool = False
    noalias: bool = True
    aligned: bool = True
    max_registers: int | None = None
    register_level: int | None = None
    ptxas_flags: tuple[str, ...] = ()
    dump_dir: str | None = None
    time_passes: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.max_registers is not None and not 16 <= self.max_registers <= 255:
            raise errors.make(
                "bad-option", {"option": "max_registers", "found": self.max_registers, "expected": "16 to 255"}
            )
        if self.register_level is not None and not 0 <= self.register_level <= 10:
            raise errors.make(
                "bad-option", {"option": "register_level", "found": self.register_level, "expected": "0 to 10"}
            )

    # Fields that change what is printed, not what is compiled.
    _NOT_IN_KEY = ("dump_dir", "time_passes", "verbose")

    def key(self) -> str:
        """A stable text of every field that affects the compiled code, for cache keys."""
        values = dataclasses.asdict(self)
        for name in self._NOT_IN_KEY:
            del values[name]
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_user(
        cls,
        target: object = None,
        pass_configs: Mapping[Any, Any] | None = None,
        compile_flags: str | Iterable[str] | None = None,
        **fields: Any,
    ) -> CompileOptions:
        """Options from what a user passes to `tile.compile` or `@tile.jit`.

        Args:
            target: see `tilemlir.compiler.target.parse`.
            pass_configs: TileLang's keys (`PassConfigKey` or strings), or names of fields of this class.
            compile_flags: assembler or nvcc flags.
            fields: fields of this class, which win over `pass_configs`.

        Raises:
            TileValueError: for an unknown key or a value out of range.
        """
        options = cls(target=parse(target))
        options = apply_pass_configs(options, pass_configs)
        options = apply_compile_flags(options, compile_flags)
        return dataclasses.replace(options, **fields) if fields else options


def _truth(field: str, negated: bool = False) -> Callable[[CompileOptions, Any], CompileOptions]:
    def apply(options: CompileOptions, value: Any) -> CompileOptions:
        change: dict[str, Any] = {field: bool(value) != negated}
        return dataclasses.replace(options, **change)

    return apply


def _register_level(options: CompileOptions, value: Any) -> CompileOptions:
    return options if value is None else dataclasses.replace(options, register_level=int(value))


def _dump_dir(options: CompileOptions, value: Any) -> CompileOptions:
    return dataclasses.replace(options, dump_dir=str(value))


def _dump_ir(options: CompileOptions, value: Any) -> CompileOptions:
    if not value or options.dump_dir is not None:
        return options
    return dataclasses.replace(options, dump_dir="dump_ir")


def _device_flags(options: CompileOptions, value: Any) -> CompileOptions:
    return apply_compile_flags(options, value)


_K = PassConfigKey
_HONOURED: dict[PassConfigKey, Callable[[CompileOptions, Any], CompileOptions]] = {
    _K.TL_ENABLE_FAST_MATH: _truth("fast_math"),
    _K.TL_DISABLE_WARP_SPECIALIZED: _truth("disable_warp_specialize"),
    _K.TL_DISABLE_TMA_LOWER: _truth("disable_tma"),
    _K.TL_DISABLE_WGMMA: _truth("disable_wgmma"),
    _K.TL_ENABLE_ASYNC_COPY: _truth("disable_async_copy", negated=True),
    _K.TIR_USE_ASYNC_COPY: _truth("disable_async_copy", negated=True),
    _K.TL_DISABLE_SAFE_MEMORY_ACCESS: _truth("disable_bounds_checks"),
    _K.TL_DISABLE_THREAD_STORAGE_SYNC: _truth("disable_thread_sync"),
    _K.TL_DISABLE_SHARED_MEMORY_REUSE: _truth("disable_shared_memory_reuse"),
    _K.TL_PTXAS_REGISTER_USAGE_LEVEL: _register_level,
    _K.TL_DEVICE_COMPILE_FLAGS: _device_flags,
    _K.TL_ENABLE_PTXAS_VERBOSE_OUTPUT: _truth("verbose"),
    _K.TL_ENABLE_DUMP_IR: _dump_ir,
    _K.TL_DUMP_IR_DIR: _dump_dir,
    _K.CUDA_KERNELS_OUTPUT_DIR: _dump_dir,
    _K.TL_PASS_PROFILE: _truth("time_passes"),
    _K.TIR_NOALIAS: _truth("noalias"),
}

# Honoured in every compilation, so that asking for it (or for nothing else) needs no warning.
_ALWAYS_SO = {
    _K.TL_EMIT_LINE_DIRECTIVES: "line information is always on",
    _K.TL_DISABLE_OUT_OF_BOUND_WARNING: "there is no such warning",
    _K.TL_DISABLE_BUFFER_INIT_CHECK: "there is no such check",
}

_warned: set[str] = set()


def _warn_once(key: str, text: str) -> None:
    if key not in _warned:
        _warned.add(key)
        warnings.warn(text, stacklevel=5)


def apply_pass_configs(options: CompileOptions, pass_configs: Mapping[Any, Any] | None) -> CompileOptions:
    """Applies TileLang's pass configuration to options.

    A key that is known but has no effect in this compiler warns once per process. `tir.` and `tirx.` spellings are the
    same key.

    Raises:
        TileValueError: for a key that neither TileLang nor this compiler knows.
    """
    fields = {field.name for field in dataclasses.fields(CompileOptions)} - {"target"}
    for key, value in (pass_configs or {}).items():
        name = key.value if isinstance(key, PassConfigKey) else str(key)
        known = _find_key(name)
        if known is None:
            if name in fields:
                options = dataclasses.replace(options, **{name: value})
                continue
            choices = [entry.value for entry in PassConfigKey] + sorted(fields)
            match = difflib.get_close_matches(name, choices, 1)
            raise errors.make(
                "unknown-pass-config", {"key": name, "closest": f"; did you mean '{match[0]}'?" if match else ""}
            )
        if known in _HONOURED:
            options = _HONOURED[known](options, value)
        elif known not in _ALWAYS_SO:
            _warn_once(name, f"pass_configs key '{name}' has no effect in tilemlir")
    return options


def _find_key(name: str) -> PassConfigKey | None:
    for candidate in (name, name.replace("tir.", "tirx.", 1), name.replace("tirx.", "tir.", 1)):
        try:
            return PassConfigKey(candidate)
        except ValueError:
            continue
    return PassConfigKey.__members__.get(name)


_VALUE_FLAGS = ("-I", "-D", "-U", "-include", "-isystem", "-L", "-l", "-Xcompiler", "--compiler-options")


def apply_compile_flags(options: CompileOptions, flags: str | Iterable[str] | None) -> CompileOptions:
    """Applies nvcc-style flags to options.

    `-O<n>`, `--use_fast_math`, `-maxrregcount`, `--ptxas-options`/`-Xptxas` and flags of ptxas itself are honoured;
    flags of a C++ compiler (include paths, defines, language versions) have no effect and warn once.
    """
    if flags is None:
        return options
    words = shlex.split(flags) if isinstance(flags, str) else [word for flag in flags for word in shlex.split(flag)]
    ptxas: list[str] = list(options.ptxas_flags)
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, _, value = word.partition("=")
        if word in ("--use_fast_math", "-use_fast_math"):
            options = dataclasses.replace(options, fast_math=True)
        elif name in ("-Xptxas", "--ptxas-options", "-Xptxas-options"):
            if not value and position < len(words):
                value = words[position]
                position += 1
            ptxas += [flag for flag in value.split(",") if flag]
        elif name in ("-maxrregcount", "--maxrregcount"):
            if not value and position < len(words):
                value = words[position]
                position += 1
            options = dataclasses.replace(options, max_registers=int(value))
        elif word in ("-O0", "-O1", "-O2", "-O3"):
            ptxas.append(word)
        elif word in ("-lineinfo", "--generate-line-info"):
            pass  # always on
        elif word.startswith(_VALUE_FLAGS):
            if word in _VALUE_FLAGS and position < len(words):
                position += 1
            _warn_once(word, f"compile flag '{word}' has no effect in tilemlir: there is no C++ compiler")
        elif word.startswith(("-std", "--std", "-w", "--expt", "--extended-lambda", "-g", "-G")):
            _warn_once(word, f"compile flag '{word}' has no effect in tilemlir: there is no C++ compiler")
        else:
            ptxas.append(word)
    return dataclasses.replace(options, ptxas_flags=tuple(ptxas))
