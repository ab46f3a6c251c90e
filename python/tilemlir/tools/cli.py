"""The command `tilemlir`: what this installation found, and its kernel cache."""

from __future__ import annotations

import platform

import typer
from rich.console import Console
from rich.table import Table

import tilemlir
from tilemlir.compiler.cache import default_cache
from tilemlir.compiler.knobs import Knobs, knobs
from tilemlir.compiler.toolchain import find_assembler
from tilemlir.errors import TileRuntimeError
from tilemlir.runtime import cuda
from tilemlir.tools.executables import executable_path

__all__ = ["app", "main"]

app = typer.Typer(help="tilemlir: a tile compiler on MLIR.", no_args_is_help=True, add_completion=False)


def _assembler() -> str:
    try:
        return str(find_assembler())
    except TileRuntimeError as error:
        return f"none: {error}"


def _devices() -> list[str]:
    problem = cuda.driver_problem()
    if problem is not None:
        return [f"none: {problem}"]
    found = []
    for index in range(cuda.device_count()):
        device = cuda.device_properties(index)
        major, minor = device.compute_capability
        found.append(
            f"{index}: {device.name}, sm_{major}{minor}, {device.multiprocessor_count} multiprocessors, "
            f"{device.total_memory_bytes >> 30} GiB"
        )
    return found or ["none: the driver works but sees no device"]


@app.command()
def info() -> None:
    """Shows the versions, the assembler, the devices and the settings that a compilation would use."""
    table = Table(show_header=False, box=None)
    table.add_row("tilemlir", tilemlir.__version__)
    table.add_row("Python", platform.python_version())
    table.add_row("machine", f"{platform.system()} {platform.machine()}")
    table.add_row("tile-opt", str(executable_path("tile-opt")))
    table.add_row("assembler", _assembler())
    for line in _devices():
        table.add_row("device", line)
    cache = default_cache()
    table.add_row("cache", "disabled" if cache is None else str(cache.directory))
    for knob in Knobs.all():
        table.add_row(knob.variable, f"{getattr(knobs, knob.name)}  ({knob.help})")
    Console().print(table)


@app.command()
def cache(clear: bool = typer.Option(False, help="Remove every entry.")) -> None:
    """Shows what the disk cache of compiled kernels holds, or empties it."""
    disk = default_cache()
    if disk is None:
        typer.echo("The disk cache is disabled.")
        return
    held = disk.clear() if clear else disk.statistics()
    verb = "removed" if clear else "holds"
    typer.echo(f"{held.directory}: {verb} {held.entries} kernels, {held.bytes} bytes")


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
