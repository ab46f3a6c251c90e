"""From a kernel function to something that runs: trace, look in the cache, lower, assemble, load."""

from __future__ import annotations

import dataclasses
import json
import operator
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tilemlir import errors
from tilemlir.compiler import cache, lowering, toolchain
from tilemlir.compiler.kernel import CompiledKernel, Image, SimulatedKernel
from tilemlir.compiler.knobs import knobs
from tilemlir.compiler.lowering import Lowered
from tilemlir.compiler.options import CompileOptions
from tilemlir.compiler.target import Target
from tilemlir.frontend.errors import FrontendWarning

__all__ = [
    "clear_memory_cache",
    "compile",
    "compile_on_threads",
    "compile_traced",
    "lower",
    "lower_traced",
    "par_compile",
    "trace",
]

_memory = cache.MemoryCache()


def clear_memory_cache() -> None:
    """Forgets all kernels compiled by this process; those in use stay valid."""
    _memory.clear()


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
    return compile_traced(lambda: trace(func, out_idx), options)


def trace(
    func: Any,
    out_idx: int | Sequence[int] | None = None,
    arguments: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
) -> Any:
    """The traced form of a kernel function, with its outputs marked.

    Args:
        func: a function decorated with ``@T.prim_func``, or the plain function of a kernel under ``@tile.jit``.
        out_idx: as for :func:`compile`.
        arguments, keywords: what a plain function is called with, as for :func:`tilemlir.frontend.trace`.

    Raises:
        TileError: as for :func:`compile`.
    """
    from tilemlir import frontend

    traced = frontend.trace(func, arguments, keywords)
    if out_idx is not None:
        _set_outputs(traced, [out_idx] if isinstance(out_idx, int) else list(out_idx))
    return traced


def _set_outputs(traced: Any, out_idx: Sequence[int]) -> None:
    """Marks arguments as outputs on the traced function."""
    from tilemlir._mlir import ir

    count = len(traced.arguments)
    if traced.outputs:
        raise errors.make("out-idx-with-kernel", {"function": traced.name})
    outputs = []
    for index in out_idx:
        position = operator.index(index)
        if not -count <= position < count:
            raise errors.make("out-idx-range", {"function": traced.name, "index": index, "count": count})
        position %= count
        if traced.arguments[position].kind != "tensor":
            name = traced.arguments[position].name
            raise errors.make("out-idx-scalar", {"function": traced.name, "index": index, "argument": name})
        if position in outputs:
            raise errors.make("out-idx-twice", {"function": traced.name, "index": index})
        outputs.append(position)
    function = next(op for op in traced.module.body.operations if op.operation.name == "func.func")
    with traced.module.context:
        function.operation.attributes["tile.outputs"] = ir.DenseI64ArrayAttr.get(outputs)


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
    if stage not in lowering.STAGES or stage == "sass":
        raise KeyError(
            f"there is no stage {stage!r}; stages are {', '.join(k for k in lowering.STAGES if k != 'sass')}"
        )
    return lower_traced(lambda: trace(func, out_idx), CompileOptions.from_user(target, pass_configs), stage)


def lower_traced(trace: Callable[[], Any], options: CompileOptions, stage: str) -> str:
    """The text of one stage of what ``trace`` returns, as :func:`lower` gives it.

    Args:
        trace: makes a fresh traced function.
        options: compile options.
        stage: a stage that passes produce for the target.
    """
    traced = trace()
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

    def one(func: Any) -> CompiledKernel:
        return compile(func, out_idx=out_idx, **options)

    return compile_on_threads(one, funcs, num_workers, ignore_error)


def compile_on_threads(
    one: Callable[[Any], CompiledKernel], items: Iterable[Any], num_workers: int | None, ignore_error: bool
) -> list[CompiledKernel | None]:
    """Compiles each item on a pool of threads; results come in the order of the items.

    Args:
        one: compiles an item.
        items: what to compile.
        num_workers: threads; None: Python's default for a thread pool.
        ignore_error: put None in place of an item that cannot be compiled, instead of raising.
    """

    def attempt(item: Any) -> CompiledKernel | None:
        try:
            return one(item)
        except Exception:
            if ignore_error:
                return None
            raise

    with ThreadPoolExecutor(num_workers) as pool:
        return list(pool.map(attempt, items))


def compile_traced(trace: Callable[[], Any], options: CompileOptions) -> CompiledKernel:
    """Compiles what ``trace`` returns; called again with weaker assumptions when a launch guard asks for it.

    Args:
        trace: makes a fresh traced function (``module``, ``name``).
        options: compile options; ``noalias`` and ``aligned`` are the assumptions that launch guards check.
    """
    assembler = toolchain.find_assembler_ahead() if options.target.kind == "cuda" else None
    begin = time.perf_counter()
    traced = trace()
    traced_at = time.perf_counter()
    lowering.set_compile_attributes(traced.module, options)
    text = lowering.module_text(traced.module)
    arch = _assembler_arch(options.target)
    key = cache.make_key(text, options.key(), arch, "" if assembler is None else str(assembler()))

    def make() -> CompiledKernel:
        disk = cache.default_cache()
        files = disk.get(key) if disk is not None else None
        if files is None:
            lowered, remarks = _lower(traced.module, trace, options)
            lowered.milliseconds["trace"] = (traced_at - begin) * 1e3
            files = _artifacts(lowered, options, arch, remarks)
            if disk is not None:
                disk.put(key, files)
            _warn_of_spills(files)
        else:
            lowered = _from_artifacts(files)
        kernel = _load(trace, traced.name, options, lowered, _image(lowered, files))
        _dump(kernel, options)
        if options.verbose or knobs.verbose:
            print(kernel.explain(), file=sys.stderr)
        return kernel

    if knobs.disable_cache:
        return make()
    kernel: CompiledKernel = _memory.get_or_make(key, make)
    return kernel


def _lower(module: Any, trace: Callable[[], Any], options: CompileOptions) -> tuple[Lowered, list[str]]:
    """Lowers a module; without a producer role where only its buffers do not fit into shared memory.

    Buffers that a producer fills ahead live through the whole loop; without one, later buffers take their place.

    Args:
        module: the traced module with target and options; consumed.
        trace: makes a fresh one.
        options: compile options.

    Returns:
        What was made, and remarks for the report.

    Raises:
        FrontendError: when the program does not fit either way, about the first way.
    """
    try:
        return lowering.lower_traced(module, options.target, options.time_passes), []
    except errors.TileCompileError as error:
        if options.disable_warp_specialize or options.target.is_cpu or "bytes of shared memory, but" not in str(error):
            raise
        weaker = dataclasses.replace(options, disable_warp_specialize=True)
        again = trace()
        lowering.set_compile_attributes(again.module, weaker)
        try:
            lowered = lowering.lower_traced(again.module, weaker.target, weaker.time_passes)
        except errors.TileCompileError:
            raise error from None
        return lowered, [f"no producer warps: with them, {error.args[0]}"]


def _assembler_arch(target: Target) -> str:
    """What code is generated for: the device at hand if it runs the target, else the target; the features of a CPU."""
    if target.is_simulated:
        return "simulator"
    if target.is_cpu:
        from tilemlir._mlir._mlir_libs import _tilemlir

        return str(_tilemlir.describe_cpu())
    from tilemlir.interop import frameworks
    from tilemlir.runtime import cuda

    if cuda.device_count() == 0:
        return target.assemble_for(None)
    return target.assemble_for(cuda.device_properties(frameworks.current_device()).compute_capability)


def _artifacts(lowered: Lowered, options: CompileOptions, arch: str, remarks: Sequence[str]) -> dict[str, bytes]:
    """Files of a cache entry, by name."""
    files = {
        "tile.mlir": lowered.tile.encode(),
        "plan.json": json.dumps(lowered.plan).encode(),
        "report.json": json.dumps(lowered.report).encode(),
    }
    if options.target.is_cpu:
        files["kernel.o"] = lowered.object_code
        return files
    if options.target.is_simulated:
        files["kernel.ptx"] = lowered.ptx.encode()
        return files
    begin = time.perf_counter()
    assembly = toolchain.assemble(
        lowered.ptx,
        arch,
        max_registers=options.max_registers,
        register_level=options.register_level,
        flags=options.ptxas_flags,
    )
    lowered.milliseconds["assemble"] = (time.perf_counter() - begin) * 1e3
    files["kernel.ptx"] = lowered.ptx.encode()
    files["kernel.image"] = assembly.image
    resources = {
        name: {
            "registers": one.registers,
            "spill_bytes": one.spill_store_bytes + one.spill_load_bytes,
            "stack_bytes": one.stack_bytes,
            "notes": list(one.notes),
        }
        for name, one in assembly.resources.items()
    }
    assembled = {"arch": assembly.arch, "tool": str(assembly.tool), "resources": resources}
    assembled["notes"] = [*remarks, *assembly.notes]
    files["assembly.json"] = json.dumps(assembled).encode()
    return files


def _warn_of_spills(files: Mapping[str, bytes]) -> None:
    """Says which kernels keep values in local memory, because their tiles do not fit into the registers."""
    for name, one in json.loads(files.get("assembly.json", b"{}")).get("resources", {}).items():
        if one["spill_bytes"]:
            warnings.warn(
                f"kernel {name} moves {one['spill_bytes']} bytes per thread between registers and local memory: its "
                f"tiles need more than the {one['registers']} registers that a thread has; take smaller tiles or more "
                "threads",
                FrontendWarning,
                stacklevel=2,
            )


def _from_artifacts(files: Mapping[str, bytes]) -> Lowered:
    return Lowered(
        tile=files["tile.mlir"].decode(),
        plan=json.loads(files["plan.json"]),
        report=json.loads(files["report.json"]),
        ptx=files.get("kernel.ptx", b"").decode(),
        object_code=files.get("kernel.o", b""),
    )


def _image(lowered: Lowered, files: Mapping[str, bytes]) -> Image:
    if lowered.object_code:
        from tilemlir._mlir._mlir_libs import _tilemlir
        from tilemlir.runtime import host_symbols

        engine = _tilemlir.CpuImage(lowered.object_code, host_symbols())
        entries = {launch["kernel"]: engine.entry(launch["kernel"]) for launch in lowered.plan["launches"]}
        return Image(entries, {}, (), engine)
    if "assembly.json" not in files:  # for the simulator
        return Image({launch["kernel"]: files["kernel.ptx"] for launch in lowered.plan["launches"]}, {})
    assembled = json.loads(files["assembly.json"])
    code = {launch["kernel"]: files["kernel.image"] for launch in lowered.plan["launches"]}
    return Image(code, assembled["resources"], tuple(assembled["notes"]))


def _load(
    trace: Callable[[], Any], name: str, options: CompileOptions, lowered: Lowered, image: Image
) -> CompiledKernel:
    guards = lowered.plan.get("guards", ())

    def variant(violated: tuple[int, ...]) -> CompiledKernel:
        kinds = {guards[index]["kind"] for index in violated}
        weaker = dataclasses.replace(
            options,
            aligned=options.aligned and "aligned" not in kinds,
            noalias=options.noalias and "noalias" not in kinds,
        )
        return compile_traced(trace, weaker)

    def disassemble() -> str:
        return toolchain.disassemble(next(iter(image.code.values())))  # type: ignore[arg-type]

    made = SimulatedKernel if options.target.is_simulated else CompiledKernel
    return made(name, options, lowered, image, variant, disassemble)


def _dump(kernel: CompiledKernel, options: CompileOptions) -> None:
    """Writes every stage to the dump directory, if one is set."""
    directory = options.dump_dir or knobs.dump_dir
    if directory is not None:
        kernel.write_stages(directory)
