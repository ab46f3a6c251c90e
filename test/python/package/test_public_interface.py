"""Every public name of the package is described and typed, and no lazily imported name is hidden by a module."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tilemlir

PACKAGE = Path(tilemlir.__file__).parent


def module_names() -> list[str]:
    """Every module of ours; the bindings of MLIR are generated, and `__main__` is a program."""
    found = pkgutil.walk_packages(tilemlir.__path__, "tilemlir.", onerror=lambda name: None)
    names = [one.name for one in found if not one.name.startswith(("tilemlir._mlir", "tilemlir._runtime"))]
    return ["tilemlir", *(name for name in names if not name.endswith("__main__"))]


MODULES = module_names()
#: What programs call: the package itself, the language, layouts, profiling and the test helpers.
USERS = [f"tilemlir.{name}" for name in (*tilemlir.__all__, "language", "layout", "profiler", "runtime", "testing")]


def is_ours(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").startswith("tilemlir")


def public_names(module: types.ModuleType) -> list[str]:
    """What a module exports: `__all__`, or the names without underscore that it defines itself."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public functions, properties and classes in the body of a class."""
    for name, value in vars(cls).items():
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, functools.cached_property):
            value = value.func
        if isinstance(value, property):
            value = value.fget
        if inspect.isfunction(value) or (inspect.isclass(value) and is_ours(value)):
            yield name, value


def own_doc(value: Any) -> str:
    """The docstring that the source gives; not one that Python inherits or makes up."""
    doc = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    doc = (doc or "").strip()
    if inspect.isclass(value):
        if dataclasses.is_dataclass(value) and doc.startswith(f"{value.__name__}("):
            return ""
        if issubclass(value, enum.Enum) and doc == "An enumeration.":
            return ""
        if issubclass(value, tuple) and doc.startswith(f"{value.__name__}("):
            return ""
    return doc


def walk(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield prefix, value
    if inspect.isclass(value):
        for name, member in members(value):
            # An override without docstring means what the method of the base says.
            inherited = any(hasattr(base, name) for base in value.__mro__[1:] if is_ours(base))
            if not inherited or own_doc(member):
                yield from walk(f"{prefix}.{name}", member)


def described() -> list[tuple[str, Any]]:
    """All public functions and classes by their full name, each once."""
    found: dict[int, tuple[str, Any]] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            value = getattr(module, name)
            value = inspect.unwrap(value) if callable(value) else value
            if (inspect.isfunction(value) or inspect.isclass(value)) and is_ours(value):
                for full, one in walk(f"{module_name}.{name}", value):
                    found.setdefault(id(one), (full, one))
    return list(found.values())


DESCRIBED = described()


def test_the_walk_finds_the_interface() -> None:
    names = {name for name, _ in DESCRIBED}
    assert len(MODULES) > 60
    assert len(names) > 400
    for name in (
        "tilemlir.compile",
        "tilemlir.CompiledKernel.explain",
        "tilemlir.language.copy",
        "tilemlir.language.alloc_shared",
        "tilemlir.errors.TileError",
        "tilemlir.compiler.cache.DiskCache.get",
    ):
        assert name in names


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_described(name: str) -> None:
    assert (importlib.import_module(name).__doc__ or "").strip()


def test_public_names_exist() -> None:
    for name in MODULES:
        module = importlib.import_module(name)
        public = public_names(module)
        assert len(set(public)) == len(public), name
        missing = [one for one in public if not hasattr(module, one)]
        assert missing == [], name


def test_public_names_are_described() -> None:
    assert [name for name, value in DESCRIBED if not own_doc(value)] == []


def test_first_paragraphs_end() -> None:
    """The first paragraph stands for itself in a list."""
    bad = []
    for name, value in DESCRIBED:
        paragraph = " ".join(own_doc(value).split("\n\n")[0].split())
        if not paragraph.endswith((".", ":", "?")):
            bad.append(f"{name}: {paragraph}")
    assert bad == []


def test_public_functions_are_typed() -> None:
    """Parameters and results of public functions have annotations that can be evaluated."""
    bare = []
    for name, value in DESCRIBED:
        if not inspect.isfunction(value):
            continue
        parameters = list(inspect.signature(value).parameters.values())
        if "." in value.__qualname__ and parameters and parameters[0].name in ("self", "cls"):
            parameters = parameters[1:]
        bare += [f"{name}({one.name})" for one in parameters if one.annotation is one.empty]
        if "return" not in value.__annotations__:
            bare.append(f"{name} ->")
    assert bare == []


def parameter_names(value: Any) -> list[str]:
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]


def test_documented_arguments_exist() -> None:
    """What an `Args:` section names is a parameter."""
    wrong = []
    for name, value in DESCRIBED:
        documented = argument_names(own_doc(value))
        if documented is not None and not documented <= set(parameter_names(value)):
            wrong.append(f"{name}: documents {sorted(documented)}, takes {parameter_names(value)}")
    assert wrong == []


def test_arguments_of_the_users_interface_are_described() -> None:
    """Functions that kernels and programs call mention each of their parameters, or the function that describes them.

    A single operand, and operands that are called a and b, need no words.
    """
    silent = []
    for name, value in DESCRIBED:
        if not inspect.isfunction(value) or name.endswith("__call__"):
            continue
        if not any(name == user or name.startswith(f"{user}.") for user in USERS):
            continue
        doc = own_doc(value)
        parameters = parameter_names(value)
        missing = [one for one in parameters if len(one) > 1 and not re.search(rf"\b{one}\b", doc)]
        refers = re.search(r":func:|:meth:|as for|; see|See ", doc)
        if missing and len(parameters) > 1 and not refers:
            silent.append(f"{name}: {', '.join(missing)}")
    assert silent == []


def argument_names(doc: str) -> set[str] | None:
    """Names in the `Args:` section of a docstring, or None when there is none."""
    lines = inspect.cleandoc(doc).splitlines()
    if "Args:" not in lines:
        return None
    names: set[str] = set()
    for line in lines[lines.index("Args:") + 1 :]:
        if line and not line.startswith(" "):
            break
        if line.startswith("    ") and not line.startswith("     ") and ":" in line:
            names |= {one.strip().lstrip("*") for one in line.partition(":")[0].split(",")}
    return names


def raised_codes(function: types.FunctionType) -> bool:
    """Whether the body itself, not a nested function, raises an error of ours."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    pending = list(ast.iter_child_nodes(tree))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None and "errors.make" in ast.unparse(node.exc):
            return True
        pending += ast.iter_child_nodes(node)
    return False


def test_errors_are_described() -> None:
    """A public function that raises an error of the catalogue says so."""
    silent = [
        name
        for name, value in DESCRIBED
        if inspect.isfunction(value)
        and raised_codes(value)
        and not any(word in own_doc(value) for word in ("Raises", "raises", "Refuse", "refuse"))
    ]
    assert silent == []


def test_submodules_do_not_hide_public_names() -> None:
    """Importing a submodule sets it as attribute of its package: it must not take the place of a public function."""
    lazy = {f"tilemlir.{name}" for name in tilemlir.__all__}
    for name in MODULES:
        lazy |= {f"{name}.{one}" for one in getattr(importlib.import_module(name), "_LAZY", ())}
    assert lazy & set(MODULES) == set()
    code = (
        f"import importlib, tilemlir\nfor name in {MODULES!r}: importlib.import_module(name)\n"
        "print([name for name in tilemlir.__all__ if type(getattr(tilemlir, name)).__name__ == 'module'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
