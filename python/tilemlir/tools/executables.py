"""Console scripts that start the native tools of the package: tile-opt, tile-translate, tile-lsp-server."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import tilemlir


def executable_path(name: str) -> Path:
    """Path of the native tool `name`.

    In an installed package the tools lie in its `bin` folder; in a build tree they lie in the `bin` folder beside the
    assembled package.

    Raises:
        FileNotFoundError: if this installation holds no such tool.
    """
    package = Path(tilemlir.__file__).parent
    candidates = [package / "bin" / name, package.parent.parent / "bin" / name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"{name} is not part of this installation; looked in {', '.join(map(str, candidates))}")


def _run(name: str) -> NoReturn:
    path = executable_path(name)
    os.execv(path, [name, *sys.argv[1:]])


def tile_opt() -> NoReturn:
    """Replaces this process by `tile-opt`, which runs passes on MLIR files."""
    _run("tile-opt")


def tile_translate() -> NoReturn:
    """Replaces this process by `tile-translate`, which prints modules in other forms."""
    _run("tile-translate")


def tile_lsp_server() -> NoReturn:
    """Replaces this process by `tile-lsp-server`, the language server for `.mlir` files."""
    _run("tile-lsp-server")
