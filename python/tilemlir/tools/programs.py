"""Kernels named on a command line: runs the user's file, finds the function, binds its compile-time arguments."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tilemlir import errors
from tilemlir.compiler import compile as compiling
from tilemlir.compiler.jit import JitFunction
from tilemlir.compiler.kernel import CompiledKernel
from tilemlir.compiler.options import CompileOptions
from tilemlir.frontend import TensorSpec
from tilemlir.language.functions import PrimFunc

__all__ = ["Program", "find_program", "parse_assignments"]


@dataclass(frozen=True)
class Program:
    """A kernel function with everything that it is compiled from.

    Attributes:
        function: a ``PrimFunc``, or the plain function of a kernel under ``@tile.jit``.
        arguments: what a plain function is called with, by parameter: values, and ``TensorSpec`` for tensors.
        out_idx: outputs of a ``PrimFunc``.
        settings: target, pass_configs and compile_flags that the program's decorator gives.
    """

    function: Any
    arguments: Mapping[str, Any] = field(default_factory=dict)
    out_idx: int | Sequence[int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def options(self, target: str | None, pass_configs: Mapping[str, Any]) -> CompileOptions:
        """Compile options: those of the program, replaced by the arguments where they are given.

        Raises:
            TileValueError: for an unknown target or key.
        """
        configs = {**(self.settings.get("pass_configs") or {}), **pass_configs}
        return CompileOptions.from_user(
            target or self.settings.get("target"), configs, self.settings.get("compile_flags")
        )

    def trace(self) -> Any:
        """The traced function.

        Raises:
            FrontendError: the program is not legal.
        """
        return compiling.trace(self.function, self.out_idx, (), self.arguments)

    def compile(self, options: CompileOptions) -> CompiledKernel:
        """The compiled kernel; raises like :func:`tilemlir.compile`."""
        return compiling.compile_traced(self.trace, options)

    def lower(self, options: CompileOptions, stage: str) -> str:
        """The text of one stage that needs no assembler; raises like :func:`tilemlir.lower`."""
        return compiling.lower_traced(self.trace, options, stage)


_TENSOR = re.compile(r"(\w+)\[\s*(\d+(?:\s*,\s*\d+)*)?\s*\]")


def parse_assignments(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Values by name of ``NAME=VALUE`` texts.

    A value is a Python literal (``128``, ``True``, ``(64, 64)``), a tensor by type (``float16[1024,512]``, read as a
    ``TensorSpec``), or else the word itself (``float16``).

    Args:
        option: name of the option, for the error.
        texts: what was written.

    Raises:
        TileValueError: for a text without a name or a value.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise errors.make("argument-syntax", {"option": option, "found": text})
        values[name.strip()] = _parse_value(value.strip())
    return values


def _parse_value(text: str) -> Any:
    from tilemlir.language.dtypes import lookup

    tensor = _TENSOR.fullmatch(text)
    if tensor is not None and lookup(tensor[1]) is not None:
        return TensorSpec(tuple(int(extent) for extent in (tensor[2] or "").split(",") if extent), tensor[1])
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def find_program(reference: str, arguments: Mapping[str, Any], out_idx: Sequence[int] = ()) -> Program:
    """The kernel that a command line names.

    Args:
        reference: ``FILE`` or ``FILE:NAME``. Without a name, the one kernel at the top level of the file. NAME is a
            function with ``@T.prim_func`` or ``@tile.jit``, or a plain function that returns a ``@T.prim_func``.
        arguments: compile-time arguments of the function by name.
        out_idx: indices of output arguments; replaces what the decorator says.

    Raises:
        TileError: there is no such file or function, its arguments are wrong, or its own code fails.
    """
    file, name = _split(reference)
    module = _run(file)
    target = _lookup(module, file, name)
    outputs: int | Sequence[int] | None = list(out_idx) or None
    if isinstance(target, PrimFunc):
        if arguments:
            listed = ", ".join(arguments)
            raise errors.make("no-parameters", {"name": target.name, "arguments": listed})
        return Program(target, out_idx=outputs)
    if isinstance(target, JitFunction):
        bound = _bind(target.function, arguments, eager=target.eager)
        if target.eager:
            return Program(target.function, bound, outputs, target.settings)
        made = _call(target.function, bound)
        if not isinstance(made, PrimFunc):
            raise errors.make("not-a-factory", {"function": target.function.__name__, "found": repr(made)})
        return Program(made, out_idx=target.out_idx if outputs is None else outputs, settings=target.settings)
    made = _call(target, _bind(target, arguments))
    if not isinstance(made, PrimFunc):
        found = f"a function that returns {_describe(made)}"
        raise errors.make("not-a-kernel", {"name": target.__name__, "file": file, "found": found})
    return Program(made, out_idx=outputs)


def _split(reference: str) -> tuple[Path, str | None]:
    file, colon, name = reference.rpartition(":")
    if colon and name.isidentifier():
        return Path(file), name
    return Path(reference), None


def _run(file: Path) -> ModuleType:
    """The module of a file, run like an import: its ``if __name__ == "__main__"`` part is not."""
    if not file.is_file():
        raise errors.make("no-such-file", {"file": file})
    if file.suffix != ".py":
        raise errors.make("not-a-python-file", {"file": file})
    # Not the bare stem: a program called math.py must not take the place of the standard module.
    spec = importlib.util.spec_from_file_location(f"tilemlir_program_{file.stem}", file.resolve())
    assert spec is not None
    loader = spec.loader
    assert loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # As for `python FILE`, modules beside the file can be imported.
    sys.path.insert(0, str(file.resolve().parent))
    _guarded(f"'{file}'", lambda: loader.exec_module(module))
    return module


def _call(function: FunctionType, arguments: Mapping[str, Any]) -> Any:
    return _guarded(f"'{function.__name__}'", lambda: function(**arguments))


def _guarded(what: str, run: Callable[[], Any]) -> Any:
    """The result of the user's code; its exceptions become an error with the frames that are the user's."""
    try:
        return run()
    except errors.TileError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [one for one in frames if one.filename != __file__ and not one.filename.startswith("<frozen")]
        fields = {
            "what": what,
            "type": type(error).__name__,
            "message": error,
            "traceback": "".join(traceback.format_list(own)).rstrip("\n"),
        }
        raise errors.make("program-failed", fields) from error


def _kernels(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, (PrimFunc, JitFunction))]


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, (PrimFunc, JitFunction))
        or (isinstance(value, FunctionType) and value.__module__ == module.__name__)
    ]


def _lookup(module: ModuleType, file: Path, name: str | None) -> Any:
    if name is None:
        names = _kernels(module)
        if not names:
            example = next(iter(_functions(module)), "NAME")
            raise errors.make("no-kernel", {"file": file, "example": example})
        if len(names) > 1:
            listed = ", ".join(names)
            raise errors.make(
                "several-kernels", {"file": file, "count": len(names), "names": listed, "example": names[0]}
            )
        (name,) = names
    value = getattr(module, name, None)
    if value is None:
        close = difflib.get_close_matches(name, _functions(module), 1)
        closest = f"; did you mean '{close[0]}'?" if close else ""
        raise errors.make("unknown-kernel", {"file": file, "name": name, "closest": closest})
    if not isinstance(value, (PrimFunc, JitFunction, FunctionType)):
        raise errors.make("not-a-kernel", {"name": name, "file": file, "found": _describe(value)})
    return value


def _describe(value: object) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"


def _bind(function: FunctionType, arguments: Mapping[str, Any], *, eager: bool = False) -> dict[str, Any]:
    """Checks the arguments that a function is called with.

    Args:
        function: a factory, or the function of a kernel.
        arguments: by name.
        eager: for a kernel; its annotated parameters may stay open until a launch.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    names = ", ".join(name if one.default is one.empty else f"{name}=..." for name, one in parameters.items())
    described = f"{function.__name__}({names})"
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    for name in arguments:
        if name not in parameters and not takes_any:
            raise errors.make("unknown-parameter", {"signature": described, "argument": name})
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    missing = [
        name
        for name, one in parameters.items()
        if one.default is one.empty
        and one.kind not in variadic
        and name not in arguments
        and not (eager and one.annotation is not one.empty)
    ]
    if missing:
        example = f"{missing[0]}={'float16[1024,1024]' if eager else '1024'}"
        raise errors.make(
            "missing-arguments", {"signature": described, "names": ", ".join(missing), "example": example}
        )
    return dict(arguments)
