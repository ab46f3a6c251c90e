"""From a kernel function to something that runs: trace, look in the cache, lower, assemble, load."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tilemlir.compiler import lowering
from tilemlir.compiler.kernel import CompiledKernel, Image
from tilemlir.compiler.lowering import Lowered
from tilemlir.compiler.options import CompileOptions

__all__ = ["compile", "compile_traced", "lower", "par_compile"]


def compile(
    func: Any,
    out_idx: int | Sequence[int] | None = None,
    execution_backend: str | None = None,
    target: object = None,
    target_host: object = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    compile_flags: str | Iterable[str] | None = None,
) -> CompiledKernel:
    """Compiles a kernel function.

    Args:
        func: a function decorated with ``@T.prim_func``.
        out_idx: argument indices that are outputs, negative ones counted from the end: they are allocated by the call
            and returned. None: all arguments are passed by the caller.
        execution_backend: accepted for compatibility; there is one back end per target.
        target: ``"cuda"``, ``"cpu"``, ``"sm_80"`` … ``"sm_100a"``, ``{"kind": "cuda", "arch": "sm_90a"}``; None: the
            GPU of this machine if it has one, else the CPU. No GPU is needed to compile for one.
        target_host: accepted for compatibility.
        verbose: report phases, fallbacks and resources on stderr.
        pass_configs: TileLang's keys (:class:`tilemlir.PassConfigKey` or strings) or fields of
            :class:`tilemlir.compiler.options.CompileOptions`.
        compile_flags: flags for the assembler, in nvcc's or ptxas's spelling.

    Raises:
        TileError: the program, an argument of this call, or a tool is at fault; the text names the place.
    """
    extra = {} if verbose is None else {"verbose": verbose}
    options = CompileOptions.from_user(target, pass_configs, compile_flags, **extra)
    return compile_traced(lambda: _trace(func, out_idx), options)


def _trace(func: Any, out_idx: int | Sequence[int] | None) -> Any:
    from tilemlir import frontend

    return frontend.trace(func, out_idx=out_idx)


def lower(
    func: Any,
    target: object = None,
    stage: str = "tile",
    out_idx: int | Sequence[int] | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
) -> str:
    """The text of one stage of a kernel function, without assembling or loading it.

    Args:
        func: a function decorated with ``@T.prim_func``.
        target: as for :func:`compile`.
        stage: ``tile``, ``tile_scheduled``, ``tile_gpu``, ``nvvm``, ``llvm`` or ``ptx``.
        out_idx: as for :func:`compile`.
        pass_configs: as for :func:`compile`.

    Raises:
        TileError: as for :func:`compile`.
        KeyError: for an unknown stage.
    """
    options = CompileOptions.from_user(target, pass_configs)
    if stage not in lowering.STAGES or stage == "sass":
        raise KeyError(f"there is no stage {stage!r}; stages are {', '.join(k for k in lowering.STAGES if k != 'sass')}")
    traced = _trace(func, out_idx)
    lowering.set_compile_attributes(traced.module, options)
    text = lowering.module_text(traced.module)
    if stage == "ptx":
        return lowering.lower_traced(traced.module, options.target).ptx
    return lowering.lower_to_stage(text, options.target, stage)


def par_compile(
    funcs: Iterable[Any],
    out_idx: int | Sequence[int] | None = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
    **options: Any,
) -> list[CompiledKernel | None]:
    """Compiles several kernel functions on threads; results come in the order of ``funcs``.

    Args:
        funcs: kernel functions.
        out_idx: as for :func:`compile`.
        num_workers: threads; None: Python's default for a thread pool.
        ignore_error: put None in place of a function that cannot be compiled, instead of raising.
        options: further arguments of :func:`compile`.
    """

    def one(func: Any) -> CompiledKernel | None:
        try:
            return compile(func, out_idx=out_idx, **options)
        except Exception:
            if ignore_error:
                return None
            raise

    with ThreadPoolExecutor(num_workers) as pool:
        return list(pool.map(one, funcs))


def compile_traced(trace: Callable[[], Any], options: CompileOptions) -> CompiledKernel:
    """Compiles what ``trace`` returns; called again with weaker assumptions when a launch guard asks for it.

    Args:
        trace: makes a fresh traced function (``module``, ``name``).
        options: compile options; ``noalias`` and ``aligned`` are the assumptions that launch guards check.
    """
    begin = time.perf_counter()
    traced = trace()
    traced_at = time.perf_counter()
    lowering.set_compile_attributes(traced.module, options)
    lowered, image = _build(traced, options)
    lowered.milliseconds["trace"] = (traced_at - begin) * 1e3
    return _load(trace, traced.name, options, lowered, image)


def _build(traced: Any, options: CompileOptions) -> tuple[Lowered, Image]:
    from tilemlir.compiler import cache

    text = lowering.module_text(traced.module)
    key = cache.key(text, options)
    stored = cache.load(key)
    if stored is None:
        lowered = lowering.lower_traced(traced.module, options.target)
        artifacts = _assemble(lowered, options)
        cache.store(key, lowered, artifacts)
    else:
        lowered, artifacts = stored
    return lowered, _image(artifacts, options)


def _assemble(lowered: Lowered, options: CompileOptions) -> Any:
    raise NotImplementedError


def _image(artifacts: Any, options: CompileOptions) -> Image:
    raise NotImplementedError


def _load(trace: Any, name: str, options: CompileOptions, lowered: Lowered, image: Image) -> CompiledKernel:
    raise NotImplementedError
