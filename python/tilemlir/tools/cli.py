"""The command `tilemlir`: compiles kernels of a Python file, shows how, and looks after the installation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

import tilemlir
from tilemlir import errors
from tilemlir.compiler.diagnostics import InternalCompilerError

__all__ = ["app", "main"]

_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    # Plain text: the same on a terminal, in a log and in a pipe.
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(help="A tile compiler on MLIR: block-level Python kernels for NVIDIA GPUs and the CPU.", **_SETTINGS)
cache_app = typer.Typer(help="The cache of compiled kernels on disk.", **_SETTINGS)
app.add_typer(cache_app, name="cache")

Kernel = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:NAME]",
        help="A Python file and the kernel in it: a function with @T.prim_func or @tile.jit, or a plain function that "
        "returns a @T.prim_func. NAME may be left out when the file decorates one kernel.",
        show_default=False,
    ),
]
TargetOption = Annotated[
    Optional[str],  # noqa: UP045 - typer evaluates it on Python 3.10 as well
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="cpu, cuda (the GPU of this machine), sm_80 ... sm_100a. Default: the program's, else this machine's.",
        show_default=False,
    ),
]
Arguments = Annotated[
    list[str],
    typer.Option(
        "--arg",
        "-a",
        metavar="NAME=VALUE",
        help="A compile-time argument: a Python literal, a word, or a tensor's type such as float16[1024,512]. "
        "May be repeated.",
        show_default=False,
    ),
]
PassConfigs = Annotated[
    list[str],
    typer.Option(
        "--pass-config",
        "-p",
        metavar="KEY=VALUE",
        help="A compile option, as in pass_configs of tilemlir.compile. May be repeated.",
        show_default=False,
    ),
]
Outputs = Annotated[
    list[int],
    typer.Option(
        "--out-idx", metavar="INDEX", help="An argument that is an output. May be repeated.", show_default=False
    ),
]


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"tilemlir {tilemlir.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _program(kernel: str, arguments: list[str], out_idx: list[int]) -> Any:
    from tilemlir.tools import programs

    return programs.find_program(kernel, programs.parse_assignments("arg", arguments), out_idx)


def _options(program: Any, target: str | None, pass_configs: list[str]) -> Any:
    from tilemlir.tools import programs

    return program.options(target, programs.parse_assignments("pass-config", pass_configs))


@app.command("compile")
def compile_command(
    kernel: Kernel,
    target: TargetOption = None,
    arguments: Arguments = [],  # noqa: B006 - typer makes a new list per call
    pass_configs: PassConfigs = [],  # noqa: B006
    out_idx: Outputs = [],  # noqa: B006
    output: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--output", "-o", metavar="DIRECTORY", help="Write every stage, plan and report there.", show_default=False
        ),
    ] = None,
) -> None:
    """Compiles a kernel and prints the resources that it uses."""
    program = _program(kernel, arguments, out_idx)
    compiled = program.compile(_options(program, target, pass_configs))
    typer.echo(f"{compiled.name} for {compiled.target}")
    for line in [*compiled.explain().summary(), *compiled.explain().notes]:
        typer.echo(line)
    phases = compiled.milliseconds
    if phases:
        listed = ", ".join(f"{name} {value:.0f}" for name, value in phases.items())
        typer.echo(f"compiled in {sum(phases.values()):.0f} ms ({listed})")
    else:
        typer.echo("taken from the cache")
    if output is not None:
        for path in compiled.write_stages(output):
            typer.echo(f"wrote {path}")


@app.command()
def stages(
    kernel: Kernel,
    stage: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[STAGE]", help="The stage to print; without it, all are listed.", show_default=False),
    ] = None,
    target: TargetOption = None,
    arguments: Arguments = [],  # noqa: B006
    pass_configs: PassConfigs = [],  # noqa: B006
    out_idx: Outputs = [],  # noqa: B006
) -> None:
    """Lists the compiler stages of a kernel, or prints one.

    Stages of a GPU target are tile, tile_scheduled, tile_gpu, nvvm, llvm, ptx and sass; of the CPU, tile and llvm.
    """
    from tilemlir.compiler import kernel as kernels

    program = _program(kernel, arguments, out_idx)
    options = _options(program, target, pass_configs)
    names = kernels.stage_names(options.target)
    if stage is None:
        for name in kernels.stage_names(options.target, available=True):
            text = program.compile(options).asm[name] if name == "sass" else program.lower(options, name)
            typer.echo(f"{name:<14} {len(text.splitlines()):>6} lines")
        return
    if stage not in names:
        fields = {"stage": stage, "target": options.target, "stages": ", ".join(names)}
        raise errors.make("unknown-stage", fields)
    text = program.compile(options).asm[stage] if stage == "sass" else program.lower(options, stage)
    typer.echo(text, nl=not text.endswith("\n"))


@app.command()
def explain(
    kernel: Kernel,
    target: TargetOption = None,
    arguments: Arguments = [],  # noqa: B006
    pass_configs: PassConfigs = [],  # noqa: B006
    out_idx: Outputs = [],  # noqa: B006
    sizes: Annotated[
        list[str],
        typer.Option(
            "--size",
            "-s",
            metavar="NAME=VALUE",
            help="A dynamic size or scalar argument, for the work and the roofline. May be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    device: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--device",
            metavar="NUMBER",
            help="The GPU of this machine whose peak rates the roofline is for. Default: a common product.",
            show_default=False,
        ),
    ] = None,
    as_table: Annotated[bool, typer.Option("--table", help="Print tables as wide as the terminal.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Prints how each operation was compiled, and why; memory, roles, occupancy and the roofline bound."""
    from tilemlir.tools import programs

    program = _program(kernel, arguments, out_idx)
    values = programs.parse_assignments("size", sizes)
    report = program.compile(_options(program, target, pass_configs)).explain(device=device, **values)
    if as_table:
        from rich.console import Console

        Console().print(report)
    else:
        typer.echo(report.to_json() if as_json else str(report))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def simulate(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(metavar="SCRIPT [ARGUMENTS]", help="A Python program, and its arguments.")],
    target: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--target", "-t", metavar="TARGET", help="sm_80 or sm_90a, for kernels compiled without a target."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the scheduler; the same seed gives the same run.")] = 0,
    runs: Annotated[int, typer.Option(help="Runs, with seeds from --seed upwards.")] = 1,
    trace: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write a timeline for Perfetto there.", show_default=False),
    ] = None,
    picture: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Draw the timeline as a PNG there (needs matplotlib).", show_default=False),
    ] = None,
    bank_conflicts: Annotated[bool, typer.Option(help="Count bank conflicts of shared memory.")] = False,
) -> None:
    """Runs a program with its kernels in the simulator: no GPU is needed, and faults are named.

    Exits with 1 when a kernel is faulty.
    """
    from tilemlir.tools import simulation

    seeds = range(seed, seed + runs)
    if simulation.simulate_script(script, context.args, seeds, target, trace, picture, bank_conflicts):
        raise typer.Exit(1)


@app.command()
def env(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False) -> None:
    """Prints what a compilation here would use.

    That is: versions, tools, devices, the cache and the settings that environment variables make.
    """
    from tilemlir.tools import environment

    rows = environment.facts()
    if as_json:
        grouped: dict[str, list[str]] = {}
        for name, value in rows:
            grouped.setdefault(name, []).append(value)
        typer.echo(json.dumps({k: v if k == "device" else v[0] for k, v in grouped.items()}, indent=2))
        return
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}")


@app.command()
def doctor() -> None:
    """Checks that every part of the installation works.

    Exits with 1 when one fails. A warning says what does not work for want of something optional.
    """
    from tilemlir.tools import environment

    failed = False
    for finding in environment.run_checks():
        typer.echo(f"{finding.status.value:<8} {finding.name}: {finding.text}")
        failed |= finding.status is environment.Status.FAILED
    if failed:
        raise typer.Exit(1)


def _disk_cache() -> Any:
    """The cache on disk, also when compilations are told not to use it."""
    from tilemlir.compiler.cache import default_cache
    from tilemlir.compiler.knobs import knobs

    with knobs.scope(disable_cache=False):
        return default_cache()


@cache_app.command("info")
def cache_info() -> None:
    """Prints where the cache is and what it holds."""
    from tilemlir.compiler.knobs import knobs

    disk = _disk_cache()
    held = disk.statistics()
    limit = f"limit {disk.limit_bytes} bytes" if disk.limit_bytes else "no limit"
    unused = "; TILEMLIR_DISABLE_CACHE is set, so compilations do not use it" if knobs.disable_cache else ""
    typer.echo(f"{held.directory}: {_count(held)}, {limit}{unused}")


@cache_app.command("clear")
def cache_clear() -> None:
    """Removes every compiled kernel from the cache."""
    removed = _disk_cache().clear()
    typer.echo(f"{removed.directory}: removed {_count(removed)}")


def _count(held: Any) -> str:
    return f"{held.entries} {'kernel' if held.entries == 1 else 'kernels'}, {held.bytes} bytes"


def main() -> None:
    """Entry point of the console script. Exits with 1 for a program that does not compile, 2 for wrong usage."""
    try:
        # The same name however the interpreter was started.
        app(prog_name="tilemlir")
    except (errors.TileError, InternalCompilerError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
