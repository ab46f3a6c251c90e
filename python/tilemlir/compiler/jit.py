"""The ``@tile.jit`` decorator, in both styles of the language.

A *factory* returns a function decorated with ``@T.prim_func``; calling the decorated factory gives a compiled kernel.
A *kernel* contains ``with T.Kernel(...)`` itself; calling it with tensors compiles it for their dtypes and constant
sizes, runs it, and returns its outputs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, overload

from tilemlir import errors
from tilemlir.compiler import compile as compiling
from tilemlir.compiler.kernel import CompiledKernel
from tilemlir.compiler.options import CompileOptions

__all__ = ["JitFunction", "jit"]


def _contains_kernel(function: FunctionType) -> bool:
    """Whether the body itself, not a function nested in it, opens a kernel."""
    return any(name in ("Kernel", "ClusterKernel") for name in function.__code__.co_names)


class JitFunction:
    """What ``@tile.jit`` makes of a function.

    Attributes:
        function: the decorated function.
        eager: True for a kernel, False for a factory.
        out_idx: the outputs that the decorator was given.
        settings: its other arguments for :func:`tilemlir.compile`.
    """

    def __init__(self, function: FunctionType, out_idx: int | Sequence[int] | None, settings: dict[str, Any]) -> None:
        if not isinstance(function, FunctionType):
            raise errors.make("not-a-function", {"decorator": "@tile.jit", "found": repr(function)})
        functools.update_wrapper(self, function)
        self.function = function
        self.eager = _contains_kernel(function)
        self.out_idx = out_idx
        self.settings = settings
        self._signature = inspect.signature(function)
        self._kernels: dict[Any, CompiledKernel] = {}
        self._specializations: dict[Any, _Specialization] = {}
        if self.eager and out_idx is not None:
            raise errors.make("out-idx-with-kernel", {"function": function.__name__})

    def __repr__(self) -> str:
        return f"<tile.jit {'kernel' if self.eager else 'factory'} {self.function.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles (a factory), or compiles where necessary and runs (a kernel)."""
        if not self.eager:
            return self.compile(*args, **kwargs)
        specialization, values = self._specialize(args, kwargs)
        return specialization.kernel(*(values[name] for name in specialization.run_time))

    def compile(self, *args: Any, **kwargs: Any) -> CompiledKernel:
        """Compiles for the given arguments without running.

        Args:
            args, kwargs: arguments of the factory, or the tensors and constants that a kernel would be called with. A
                kernel is also compiled without tensors, from the values of its ``T.const`` sizes by name:
                ``matmul.compile(M=1024, N=1024, K=1024)``.

        Raises:
            TileError: as for :func:`tilemlir.compile`.
        """
        if self.eager:
            sizes = {name: value for name, value in kwargs.items() if name not in self._signature.parameters}
            if sizes or not self._has_all(args, kwargs):
                return self._compile_sizes(args, kwargs, sizes)
            return self._specialize(args, kwargs)[0].kernel
        key = _hashable((args, tuple(sorted(kwargs.items()))))
        kernel = self._kernels.get(key) if key is not None else None
        if kernel is None:
            kernel = compiling.compile(self._prim_func(args, kwargs), out_idx=self.out_idx, **self.settings)
            if key is not None:
                self._kernels[key] = kernel
        return kernel

    def get_kernel_source(self, *args: Any, **kwargs: Any) -> str:
        """The generated code for the given arguments, as :meth:`CompiledKernel.get_kernel_source`."""
        return self.compile(*args, **kwargs).get_kernel_source()

    def get_tir(self, *args: Any, **kwargs: Any) -> str:
        """The traced module in the ``tile`` dialect for the given arguments (the name is TileLang's)."""
        return self.compile(*args, **kwargs).asm["tile"]

    def par_compile(
        self, configs: Iterable[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[CompiledKernel | None]:
        """Compiles for several arguments on threads.

        Args:
            configs: per kernel a mapping of keyword arguments, or a sequence of arguments.
            num_workers: threads; None: Python's default for a thread pool.
            ignore_error: put None in place of a kernel that cannot be compiled, instead of raising.
        """

        def one(config: Any) -> CompiledKernel:
            return self.compile(**config) if isinstance(config, Mapping) else self.compile(*config)

        return compiling.compile_on_threads(one, configs, num_workers, ignore_error)

    def _prim_func(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        from tilemlir.language.functions import PrimFunc

        made = self.function(*args, **kwargs)
        if not isinstance(made, PrimFunc):
            raise errors.make("not-a-factory", {"function": self.function.__name__, "found": repr(made)})
        return made

    def _specialize(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[_Specialization, Mapping[str, Any]]:
        """The kernel for a call, and the call's arguments by parameter name."""
        from tilemlir.frontend import TensorSpec
        from tilemlir.interop import frameworks

        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        described: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            tensor = frameworks.tensor_signature(value)
            described[name] = value if tensor is None else TensorSpec(*tensor)
        exact = _hashable(tuple(described.items()))
        found = self._specializations.get(exact) if exact is not None else None
        if found is None:
            # Sizes that are not compiled in may differ from an earlier call's.
            found = next((one for one in self._specializations.values() if one.serves(described)), None)
            if found is None:
                found = self._trace_and_compile(described)
            if exact is not None:
                self._specializations[exact] = found
        return found, bound.arguments

    def _has_all(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError:
            return False
        return True

    def _compile_sizes(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], sizes: Mapping[str, Any]
    ) -> CompiledKernel:
        """A kernel for sizes that are given by name, in place of tensors."""
        from tilemlir import frontend

        others = {name: value for name, value in kwargs.items() if name not in sizes}
        bound = self._signature.bind_partial(*args, **others)
        bound.apply_defaults()
        key = _hashable((tuple(bound.arguments.items()), tuple(sorted(sizes.items()))))
        kernel = self._kernels.get(key) if key is not None else None
        if kernel is None:
            options = CompileOptions.from_user(
                self.settings.get("target"), self.settings.get("pass_configs"), self.settings.get("compile_flags")
            )
            kernel = compiling.compile_traced(
                lambda: frontend.trace(self.function, (), bound.arguments, constants=sizes), options
            )
            if key is not None:
                self._kernels[key] = kernel
        return kernel

    def _trace_and_compile(self, described: Mapping[str, Any]) -> _Specialization:
        from tilemlir import frontend

        positional, keywords = [], {}
        for name, value in described.items():
            if self._signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[name] = value
            else:
                positional.append(value)

        traced: list[Any] = []

        def trace() -> Any:
            traced.append(frontend.trace(self.function, positional, keywords))
            return traced[-1]

        settings = dict(self.settings)
        options = CompileOptions.from_user(
            settings.get("target"), settings.get("pass_configs"), settings.get("compile_flags")
        )
        kernel = compiling.compile_traced(trace, options)
        return _Specialization(described, traced[0], kernel)


class _Specialization:
    """One compiled version of a kernel, and the calls that it serves."""

    def __init__(self, described: Mapping[str, Any], traced: Any, kernel: CompiledKernel) -> None:
        self.kernel = kernel
        self.run_time = [one.name for index, one in enumerate(traced.arguments) if index not in traced.outputs]
        self._arguments = {one.name: one for one in traced.arguments}
        self._requirements = {name: self._requirement(name, value) for name, value in described.items()}

    def _requirement(self, parameter: str, value: Any) -> Any:
        """What of an argument is compiled in: a tensor's dtype, rank and constant sizes; a Python value as a whole."""
        argument = self._arguments.get(parameter)
        if argument is None:
            return value
        if argument.kind == "scalar":
            return None
        names = argument.specialized or (None,) * len(argument.shape)
        sizes = tuple(
            extent if name is not None or isinstance(declared, int) else None
            for extent, name, declared in zip(value.shape, names, argument.shape, strict=True)
        )
        return str(value.dtype), len(value.shape), sizes

    def serves(self, described: Mapping[str, Any]) -> bool:
        for name, value in described.items():
            argument = self._arguments.get(name)
            is_tensor = hasattr(value, "shape") and hasattr(value, "dtype")
            if argument is not None and argument.kind == "tensor" and not is_tensor:
                return False
            if argument is not None and argument.kind == "tensor" and len(value.shape) != len(argument.shape):
                return False
            if self._requirement(name, value) != self._requirements[name]:
                return False
        return described.keys() == self._requirements.keys()


def _hashable(key: Any) -> Any:
    """A key if it can be one, else None."""
    try:
        hash(key)
    except TypeError:
        return None
    return key


@overload
def jit(function: Callable[..., Any]) -> JitFunction: ...
@overload
def jit(
    function: None = None,
    *,
    out_idx: int | Sequence[int] | None = None,
    target: object = None,
    target_host: object = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: str | Iterable[str] | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    function: Any = None,
    *,
    out_idx: int | Sequence[int] | None = None,
    target: object = None,
    target_host: object = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: Mapping[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: str | Iterable[str] | None = None,
) -> Any:
    """Compiles a factory or a kernel when it is called; usable bare or with arguments.

    Args:
        function: the decorated function, when the decorator is used bare.
        out_idx: for factories, as in :func:`tilemlir.compile`; a kernel returns its ``T.empty`` outputs instead.
        target: as in :func:`tilemlir.compile`.
        target_host: accepted for compatibility.
        execution_backend: accepted for compatibility.
        verbose: as in :func:`tilemlir.compile`.
        pass_configs: as in :func:`tilemlir.compile`.
        debug_root_path: directory that receives every stage of each kernel.
        compile_flags: as in :func:`tilemlir.compile`.

    Raises:
        TileTypeError: when something else than a function is decorated.
        TileValueError: when ``out_idx`` is given for a kernel.
    """
    configs = dict(pass_configs or {})
    if debug_root_path is not None:
        configs["dump_dir"] = debug_root_path
    settings = {"target": target, "verbose": verbose, "pass_configs": configs, "compile_flags": compile_flags}
    if function is not None:
        return JitFunction(function, out_idx, settings)
    return lambda decorated: JitFunction(decorated, out_idx, settings)
