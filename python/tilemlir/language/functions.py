"""``@T.prim_func`` and ``@T.macro``: functions that are traced instead of called."""

from __future__ import annotations
import __future__

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

from . import context
from .dtypes import lookup


class TracedSource:
    """A Python function together with the names that its body can see.

    Nothing is read or parsed before the function is compiled.

    Attributes:
        function: the function as Python defined it.
        name: its name.
        scope: local names of the defining function, kept only when annotations are strings and have to be evaluated
            later (``from __future__ import annotations``).
    """

    def __init__(self, function: FunctionType, scope: dict[str, Any] | None) -> None:
        self.function = function
        self.name = function.__name__
        self.scope = scope
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def annotations(self) -> dict[str, Any]:
        """Annotations of the parameters, evaluated. Raises NameError for a name that is not visible here."""
        return evaluate_annotations(self.function, self.scope)


def evaluate_annotations(
    function: FunctionType, scope: dict[str, Any] | None = None, *, skip_unknown: bool = False
) -> dict[str, Any]:
    """The annotations of a function, with those that Python kept as text evaluated.

    A text is kept for all annotations of a file with ``from __future__ import annotations``, and where the user wrote
    one. In the second case the name of an element type, as in ``n: "int32"``, stays what it is.

    Args:
        function: the function as Python defined it.
        scope: local names of the defining function.
        skip_unknown: leave out annotations with unknown names instead of raising NameError; they are for type checkers.
    """
    code = function.__code__
    postponed = bool(code.co_flags & __future__.annotations.compiler_flag)
    names = dict(scope or {})
    for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[free] = cell.cell_contents
        except ValueError:
            continue
    result: dict[str, Any] = {}
    for name, value in function.__annotations__.items():
        if isinstance(value, str) and (postponed or lookup(value) is None):
            try:
                value = eval(value, function.__globals__, names)
            except NameError as error:
                if skip_unknown:
                    continue
                raise NameError(f"annotation of {name!r}: {error}") from None
        result[name] = value
    return result


class PrimFunc(TracedSource):
    """A kernel function. Compile it with ``tilemlir.compile``; it cannot be called directly."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a kernel function has to be compiled first."""
        raise context.OutsideKernelError(
            f"{self.name} is a kernel function and is not called by itself: compile it with "
            f"tilemlir.compile({self.name}, out_idx=...) and call the result"
        )

    def __repr__(self) -> str:
        return f"<T.prim_func {self.__qualname__}>"


class Macro(TracedSource):
    """A function whose body is traced into each kernel that calls it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Traces the body into the kernel that calls it."""
        return context.require(f"the macro {self.name}").call_macro(self, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self

        def bound(*args: Any, **kwargs: Any) -> Any:
            return self(instance, *args, **kwargs)

        return bound

    def __repr__(self) -> str:
        return f"<T.macro {self.__qualname__}>"


def _scope_of_caller(function: FunctionType, depth: int) -> dict[str, Any] | None:
    if any(isinstance(value, str) for value in function.__annotations__.values()):
        return dict(sys._getframe(depth).f_locals)
    return None


def _checked(function: object, decorator: str) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise TypeError(f"{decorator} decorates a function; found {function!r}")
    return function


@overload
def prim_func(function: Callable[..., Any]) -> PrimFunc: ...
@overload
def prim_func(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], PrimFunc]: ...
def prim_func(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Marks a function as a kernel function.

    Each parameter is annotated with ``T.Tensor(...)``, ``T.StridedTensor(...)`` or a scalar type. The body holds
    integer code that the host runs, and one or more ``with T.Kernel(...)`` blocks. Decorating costs nothing: the
    source is read when the function is compiled. Closures, globals and default values are compile-time values.
    ``options`` are accepted and have no effect.
    """
    if function is None:
        return lambda f: PrimFunc(_checked(f, "@T.prim_func"), _scope_of_caller(f, 2))
    return PrimFunc(_checked(function, "@T.prim_func"), _scope_of_caller(_checked(function, "@T.prim_func"), 2))


@overload
def macro(function: Callable[..., Any]) -> Macro: ...
@overload
def macro(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Macro]: ...
def macro(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Marks a function to be traced into the kernels that call it.

    Arguments are passed by value: buffers as handles, scalars as their current value. A parameter annotated with
    ``T.Ref`` takes a variable or an element by reference. A macro may return values, but not from inside of run-time
    control flow. ``options`` are accepted and have no effect.
    """
    if function is None:
        return lambda f: Macro(_checked(f, "@T.macro"), _scope_of_caller(f, 2))
    return Macro(_checked(function, "@T.macro"), _scope_of_caller(_checked(function, "@T.macro"), 2))
