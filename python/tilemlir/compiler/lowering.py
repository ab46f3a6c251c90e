"""Runs the registered pass pipelines: from a traced module to PTX or to a CPU image.

The order of the passes lives in the compiler library; this module only names the pipeline, cuts it at a stage when
somebody wants to look, and turns failures into errors.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tilemlir.compiler import diagnostics
from tilemlir.compiler.options import CompileOptions
from tilemlir.compiler.target import Target

__all__ = [
    "STAGES",
    "Lowered",
    "lower_to_stage",
    "lower_traced",
    "module_options",
    "pass_names",
    "set_compile_attributes",
]

#: Stages of a GPU compilation in order, and the last pass of each (None: the traced module, or made outside of MLIR).
STAGES: dict[str, str | None] = {
    "tile": None,
    "tile_scheduled": "tile-collect-report",
    "tile_gpu": "tile-gpu-promote-fragments",
    "nvvm": "tile-gpu-to-nvvm",
    "llvm": None,
    "ptx": "tile-emit-ptx",
    "sass": None,
}


@dataclass
class Lowered:
    """Everything that the compiler library made of one module.

    Attributes:
        tile: the traced module as text, with locations; ``tile-opt`` replays the pipeline from it.
        plan: the launch plan (see ``tilemlir.runtime``).
        report: what ``explain()`` shows: choices with reasons, memory, stages.
        ptx: PTX text for a GPU target, empty for the CPU.
        object_code: relocatable machine code for the CPU, empty for a GPU.
        milliseconds: time per phase.
    """

    tile: str
    plan: dict[str, Any]
    report: list[dict[str, Any]]
    ptx: str = ""
    object_code: bytes = b""
    milliseconds: dict[str, float] = field(default_factory=dict)


def pipeline_text(target: Target) -> str:
    """The registered pipeline of a target, in the syntax of ``tile-opt --pass-pipeline``."""
    name = "tile-cpu-pipeline" if target.is_cpu else "tile-pipeline"
    return f"builtin.module({name})"


def split_passes(expanded: str) -> list[str]:
    """The top-level passes of ``builtin.module(a,b{c=d e=f},g(h))``."""
    body = expanded[expanded.index("(") + 1 : expanded.rindex(")")]
    passes, depth, start = [], 0, 0
    for position, character in enumerate(body):
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth == 0:
            passes.append(body[start:position])
            start = position + 1
    passes.append(body[start:])
    return [one.strip() for one in passes if one.strip()]


def pass_names(target: Target) -> list[str]:
    """All passes of a target's pipeline in order, with their options, as the compiler library registers them."""
    from tilemlir._mlir import ir, passmanager

    with ir.Context():
        return split_passes(str(passmanager.PassManager.parse(pipeline_text(target))))


def module_options(options: CompileOptions) -> dict[str, bool | int | list[str]]:
    """The options that passes read, as the entries of ``#tile.options`` (defaults left out)."""
    flags = {
        "fast_math": options.fast_math,
        "disable_tma": options.disable_tma,
        "disable_wgmma": options.disable_wgmma,
        "disable_warp_specialized": options.disable_warp_specialize,
        "disable_async_copy": options.disable_async_copy,
        "disable_bounds_checks": options.disable_bounds_checks,
        "disable_defer_stores": options.disable_defer_stores,
        "disable_thread_sync": options.disable_thread_sync,
        "disable_shared_reuse": options.disable_shared_memory_reuse,
    }
    values: dict[str, bool | int | list[str]] = {name: True for name, value in flags.items() if value}
    if not options.noalias:
        values["noalias"] = False
    if not options.aligned:
        values["alignment"] = 0
    return values


def set_compile_attributes(module: Any, options: CompileOptions) -> None:
    """Puts target and options on a module, where the passes read them."""
    from tilemlir._mlir import ir

    attributes = module.operation.attributes
    attributes["tile.target"] = ir.Attribute.parse(f'#tile.target<"{options.target.arch}">', module.context)
    entries = sorted(module_options(options).items())
    values = ", ".join(f"{key} = {_attribute_text(value)}" for key, value in entries)
    attributes["tile.options"] = ir.Attribute.parse(f"#tile.options<{{{values}}}>", module.context)


def _attribute_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(json.dumps(str(item)) for item in value) + "]"
    raise TypeError(f"option value {value!r} has no attribute form")


def module_text(module: Any) -> str:
    """A module as text with locations, which ``tile-opt`` reads back."""
    return str(module.operation.get_asm(enable_debug_info=True))


def run_passes(module: Any, pipeline: str, timing: bool = False) -> None:
    """Runs a textual pipeline on a module in place.

    Args:
        module: of the bindings.
        pipeline: in the syntax of ``tile-opt --pass-pipeline``.
        timing: print the time of every pass on stderr.

    Raises:
        FrontendError: the program cannot be compiled, at a place in the user's source.
        InternalCompilerError: a fault of the compiler.
    """
    from tilemlir._mlir import ir, passmanager

    context = module.context
    # A failed pass may leave the module half rewritten: what a replay needs is the module before.
    before = module.operation.clone()
    manager = passmanager.PassManager.parse(pipeline, context)
    if timing:
        manager.enable_timing()
    with diagnostics.collect(context) as found:
        try:
            manager.run(module.operation)
            return
        except ir.MLIRError as error:
            found.extend(
                (d.message, d.location, [(n.message, n.location) for n in d.notes]) for d in error.error_diagnostics
            )
    diagnostics.raise_failure(found, pipeline, str(before.get_asm(enable_debug_info=True)))


def lower_to_stage(tile: str, target: Target, stage: str) -> str:
    """The text of one stage, recomputed from the traced module.

    Args:
        tile: the traced module (:attr:`Lowered.tile`).
        target: what it was compiled for.
        stage: a stage of :data:`STAGES` that passes produce.
    """
    from tilemlir._mlir import ir

    if stage == "tile":
        return tile
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(tile)
        if target.is_cpu:
            run_passes(module, pipeline_text(target))
        else:
            last = STAGES["nvvm" if stage == "llvm" else stage]
            passes = pass_names(target)
            # An entry may be nested, as in "gpu.module(tile-gpu-to-nvvm{...})".
            end = next(index for index, one in enumerate(passes) if last in re.split(r"[({})]", one))
            run_passes(module, f"builtin.module({','.join(passes[: end + 1])})")
        if stage == "llvm":
            from tilemlir._mlir._mlir_libs import _tilemlir

            translate = _tilemlir.translate_to_llvm_ir if target.is_cpu else _tilemlir.translate_gpu_to_llvm_ir
            return str(translate(module))
        return str(module)


def lower_traced(module: Any, target: Target, timing: bool = False) -> Lowered:
    """Runs the whole pipeline of a target on a traced module that carries target and options.

    The module is consumed: it holds the last stage afterwards. ``timing`` prints the time of every pass on stderr.
    """
    import time

    from tilemlir._mlir._mlir_libs import _tilemlir

    text = module_text(module)
    begin = time.perf_counter()
    run_passes(module, pipeline_text(target), timing)
    passes_done = time.perf_counter()
    lowered = Lowered(
        tile=text,
        plan=json.loads(_tilemlir.launch_plan(module)),
        report=json.loads(_tilemlir.report(module)),
    )
    lowered.milliseconds["passes"] = (passes_done - begin) * 1e3
    if target.is_cpu:
        lowered.object_code = _tilemlir.compile_cpu(module)
        lowered.milliseconds["codegen"] = (time.perf_counter() - passes_done) * 1e3
    else:
        lowered.ptx = _tilemlir.ptx(module)
    return lowered
