"""tilemlir: a tile compiler on MLIR.

    import tilemlir as tile
    import tilemlir.language as T

Kernels are written at block level in Python (``tilemlir.language``), compiled with :func:`compile` or :func:`jit`, and
called with torch tensors or NumPy arrays. Names are imported when they are first used, so that importing the package
costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tilemlir.compiler.compile import compile, lower, par_compile
    from tilemlir.compiler.jit import jit
    from tilemlir.compiler.kernel import CompiledKernel
    from tilemlir.compiler.options import PassConfigKey
    from tilemlir.language.scalars import cdiv, next_power_of_2
    from tilemlir.profiler import Profiler, TensorSupplyType

#: Public name -> module that defines it.
_PUBLIC = {
    "CompiledKernel": "tilemlir.compiler.kernel",
    "PassConfigKey": "tilemlir.compiler.options",
    "Profiler": "tilemlir.profiler",
    "TensorSupplyType": "tilemlir.profiler",
    "cdiv": "tilemlir.language.scalars",
    "compile": "tilemlir.compiler.compile",
    "jit": "tilemlir.compiler.jit",
    "lower": "tilemlir.compiler.compile",
    "next_power_of_2": "tilemlir.language.scalars",
    "par_compile": "tilemlir.compiler.compile",
}
#: Submodules that are reached as attributes, such as ``tilemlir.language``.
_MODULES = (
    "carver",
    "compiler",
    "errors",
    "frontend",
    "interop",
    "intrinsics",
    "language",
    "layout",
    "profiler",
    "runtime",
    "testing",
)

__all__ = [
    "CompiledKernel",
    "PassConfigKey",
    "Profiler",
    "TensorSupplyType",
    "__version__",
    "cdiv",
    "compile",
    "jit",
    "lower",
    "next_power_of_2",
    "par_compile",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"tilemlir.{name}")
    raise AttributeError(f"module 'tilemlir' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_MODULES})
