"""Tracing a whole function: from a Python function to a verified module."""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._mlir import ir
from ..compiler.knobs import knobs
from ..language import context as active
from ..language.annotations import TensorType
from ..language.dtypes import DType
from ..language.dtypes import lookup as lookup_dtype
from ..language.functions import Macro, PrimFunc, evaluate_annotations
from ..language.symbols import SymbolicExpr
from . import source as sources
from .errors import FrontendError, SourceRange
from .hosting import Argument, TensorSpec
from .loops import Loops
from .scopes import Frame
from .source import FunctionSource
from .statements import ReturnValue
from .values import RuntimeValue, Tensor

_DECLARATIONS = "T.Tensor(shape, dtype), T.StridedTensor(shape, strides, dtype), or a scalar type such as T.int32"


@dataclass(frozen=True)
class TracedFunction:
    """A function in the `tile` dialect.

    Attributes:
        module: the verified module; it holds one ``func.func``.
        name: the symbol name of the function.
        arguments: in the order of the function's arguments.
        outputs: positions of the arguments that the call allocates and returns, in the order of ``return``.
        symbols: where the launcher reads each launch-time size: name -> (argument, axis).
        constants: values of the ``T.const`` sizes that are compiled in.
        warnings: texts of what is legal but probably not meant.
    """

    module: ir.Module
    name: str
    arguments: tuple[Argument, ...]
    outputs: tuple[int, ...]
    symbols: Mapping[str, tuple[int, int]]
    constants: Mapping[str, int]
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """The module as text, with locations, as ``tile-opt`` reads it."""
        return str(self.module.operation.get_asm(enable_debug_info=True))


class Tracer(Loops):
    """Traces one function."""

    def __init__(self, context: ir.Context, source: FunctionSource, frame: Frame, eager: bool) -> None:
        super().__init__(context, source)
        self.frame = frame
        self.eager = eager
        #: Tensors of the call that the body has yet to declare; None where no tensor is at hand.
        self.undeclared: dict[str, TensorSpec | None] = {}
        #: Whether tensors may be missing, because the sizes are given by name.
        self.without_tensors = False
        #: Names of ``T.const`` sizes, in order.
        self.constant_names: list[str] = []

    def declare_local_tensor(self, name: str, declared: TensorType) -> None:
        """``A: T.Tensor[[M, K], dtype]`` in the body of a kernel of ``@tile.jit``."""
        if name not in self.undeclared:
            self.fail(
                "declaration", f"{name} is not a tensor parameter of {self.function_name}",
                found=f"a declaration of {name}",
                allowed=", ".join(self.undeclared) or "parameters that are passed a tensor",
            )  # fmt: skip
        spec = self.undeclared.pop(name)
        if spec is not None:
            self.bind_constants(name, declared, spec)
        self.frame.bind(name, self.declare_tensor(name, declared), 0)

    def declare_parameter(self, name: str, annotation: Any, given: Any, default: Any) -> None:
        """Declares one parameter, or binds it when it is a compile-time value."""
        frame = self.frame
        if isinstance(annotation, TensorType):
            if isinstance(given, TensorSpec):
                self.bind_constants(name, annotation, given)
            frame.bind(name, self.declare_tensor(name, annotation), 0)
            return
        if isinstance(given, TensorSpec):
            self.undeclared[name] = given
            frame.bind(name, given, 0)
            return
        empty = inspect.Parameter.empty
        dtype = None if annotation is empty else lookup_dtype(annotation)
        if dtype is not None and not (self.eager and isinstance(annotation, type)):
            frame.bind(name, self.declare_scalar(name, dtype), 0)
            return
        if given is not empty:
            frame.bind(name, given, 0)
            return
        if default is not empty:
            frame.bind(name, default, 0)
            return
        if annotation is empty and self.without_tensors:
            self.undeclared[name] = None
            return
        self.node = next(part for part in self._parameter_nodes() if part.arg == name)
        if annotation is empty:
            self.fail(
                "declaration", f"the parameter {name} has no declaration",
                allowed=_DECLARATIONS,
                fix=f'{name}: T.Tensor((M, N), "float16")',
            )  # fmt: skip
        self.fail(
            "declaration", f"the parameter {name} is declared as something that is not a kernel argument",
            found=repr(annotation),
            allowed=_DECLARATIONS,
        )  # fmt: skip

    def _parameter_nodes(self) -> list[Any]:
        arguments = self.source.tree.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    def declare_constants(self, names: Sequence[str]) -> None:
        """Called by ``T.const``; without tensors, the sizes must have been given."""
        self.constant_names += names
        missing = [name for name in names if name not in self.constants_of_call]
        if self.without_tensors and missing:
            self.fail(
                "symbolic-size", f"the size {missing[0]} has no value: there are no tensors to read it from",
                fix=f"compile({', '.join(f'{name}=...' for name in names)})",
            )  # fmt: skip

    def check_constants(self, given: Mapping[str, int]) -> None:
        """Refuses names that are neither parameters nor sizes."""
        for name, value in given.items():
            if name not in self.constant_names:
                self.fail(
                    "call", f"{self.function_name} has no parameter and no T.const size of the name {name}",
                    found=f"{name}={value!r}", allowed=", ".join(self.constant_names) or "no sizes",
                )  # fmt: skip

    def finish_outputs(self, returned: Any) -> None:
        """Checks what the function returns and orders its outputs."""
        values = list(returned) if isinstance(returned, (tuple, list)) else [] if returned is None else [returned]
        positions = []
        for value in values:
            position = next((i for i, tensor in enumerate(self.output_tensors) if tensor is value), None)
            if position is None:
                self.fail(
                    "output", "only tensors made by T.empty can be returned", found=self.describe(value),
                    fix="return the output: C = T.empty((M, N), dtype) ... return C",
                )  # fmt: skip
            positions.append(self.outputs[position])
        if len(set(positions)) != len(positions):
            self.fail("output", "an output is returned twice")
        missing = [tensor.name for i, tensor in enumerate(self.output_tensors) if self.outputs[i] not in positions]
        if missing:
            self.fail(
                "output", f"the output {missing[0]} is not returned",
                found=f"{missing[0]} = T.empty(...)", fix=f"return {', '.join(t.name for t in self.output_tensors)}",
            )  # fmt: skip
        self.outputs = positions

    def check_symbols(self) -> None:
        """Every launch-time size must be readable from an argument."""
        for argument in self.arguments:
            for extent in (*argument.shape, *(argument.strides or ())):
                if not isinstance(extent, SymbolicExpr):
                    continue
                for name in sorted(extent.symbols() - self.symbol_sources.keys()):
                    if self._stride_source(name):
                        continue
                    self.fail(
                        "declaration", f"the size {name} cannot be read from any argument",
                        found=f"{argument.name} has the extent {extent}",
                        allowed="sizes that are the whole extent of a dimension of a tensor argument",
                    )  # fmt: skip

    def _stride_source(self, name: str) -> bool:
        return any(
            isinstance(step, SymbolicExpr) and step.kind == "symbol" and step.name == name
            for argument in self.arguments
            for step in argument.strides or ()
        )


def trace(
    function: Any,
    arguments: Sequence[Any] = (),
    keywords: Mapping[str, Any] | None = None,
    *,
    context: ir.Context | None = None,
    name: str | None = None,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    constants: Mapping[str, int] | None = None,
) -> TracedFunction:
    """Traces a function to the `tile` dialect.

    Args:
        function: a ``@T.prim_func``, or the plain function of a kernel under ``@tile.jit``.
        arguments, keywords: for a plain function, what it is called with: compile-time values, and a
            :class:`TensorSpec` for each tensor.
        context: an MLIR context of ours; a new one without threads by default.
        name: symbol name; the function's name by default.
        target: architecture for the module attribute ``tile.target``, as in ``"sm_80"`` or ``"cpu"``.
        options: values of the module attribute ``tile.options``.
        constants: for a plain function without tensors at hand, the values of its ``T.const`` sizes by name.

    Raises:
        FrontendError: for programs that are not legal; it names the user's file, line and columns.
    """
    eager = not isinstance(function, PrimFunc)
    plain = function.function if isinstance(function, (PrimFunc, Macro)) else function
    if not isinstance(plain, types.FunctionType):
        raise FrontendError(
            "declaration", "only functions can be compiled", found=repr(function),
            allowed="functions decorated with @T.prim_func, or kernels of @tile.jit",
        )  # fmt: skip
    source = sources.of_function(plain)
    if context is None:
        context = ir.Context()
        context.enable_multithreading(False)
    frame = Frame(plain, source, 0, getattr(function, "scope", None))
    tracer = Tracer(context, source, frame, eager)
    if constants is not None:
        tracer.without_tensors = True
    previous = active.activate(tracer)
    try:
        _trace(tracer, function, plain, arguments, dict(keywords or {}), name or plain.__name__, constants or {})
    except FrontendError as error:
        # The user's place is in the message; the frames of the evaluator would only bury it.
        frames = error.__traceback__ if knobs.full_traceback else None
        raise tracer.located(error).with_traceback(frames) from error.__cause__
    finally:
        active.activate(previous)
    _set_module_attributes(tracer, target, options)
    verify(tracer.module)
    return TracedFunction(
        tracer.module,
        tracer.function_name,
        tuple(tracer.arguments),
        tuple(tracer.outputs),
        dict(tracer.symbol_sources),
        dict(tracer.constants_of_call),
        tuple(tracer.warnings),
    )


def _trace(
    tracer: Tracer,
    function: Any,
    plain: types.FunctionType,
    arguments: Sequence[Any],
    keywords: dict[str, Any],
    name: str,
    constants: Mapping[str, int],
) -> None:
    tracer.begin_function(name)
    tracer.constants_of_call.update(constants)
    signature = inspect.signature(plain)
    given: dict[str, Any] = {}
    if tracer.eager:
        try:
            given = dict(signature.bind_partial(*arguments, **keywords).arguments)
        except TypeError as error:
            tracer.fail("call", f"{name} is called with wrong arguments: {error}", allowed=f"{name}{signature}")
        annotations = tracer._python(lambda: evaluate_annotations(plain, skip_unknown=True))
    else:
        try:
            annotations = function.annotations()
        except NameError as error:
            tracer.fail(
                "undefined-name", f"a parameter of {name} is declared with an unknown name: {error}",
                allowed=_DECLARATIONS,
            )  # fmt: skip
    empty = inspect.Parameter.empty
    for parameter in signature.parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            tracer.fail("declaration", f"a kernel function cannot take *{parameter.name}", fix="name each argument")
        tracer.node = next(part for part in tracer._parameter_nodes() if part.arg == parameter.name)
        tracer.declare_parameter(
            parameter.name,
            annotations.get(parameter.name, empty),
            given.get(parameter.name, empty),
            parameter.default,
        )
    tracer.node = tracer.source.tree
    returned: Any = None
    try:
        tracer.run(tracer.source.tree.body)
    except ReturnValue as result:
        returned = result.value
        returns = [node for node in tracer.source.tree.body if type(node).__name__ == "Return"]
        tracer.node = returns[-1] if returns else tracer.source.tree
    if returned is not None and not tracer.output_tensors and not isinstance(returned, (RuntimeValue, Tensor)):
        if isinstance(returned, (PrimFunc, types.FunctionType)):
            raise FrontendError("output", "this function returns a kernel function; it is a factory, call it first")
    tracer.finish_outputs(returned)
    tracer.node = tracer.source.tree
    tracer.check_constants(constants)
    if tracer.undeclared:
        missing = next(iter(tracer.undeclared))
        tracer.fail(
            "declaration", f"the tensor parameter {missing} is never declared",
            fix=f"{missing}: T.Tensor[[M, N], dtype] at the beginning of the body, or in the parameter list",
        )  # fmt: skip
    tracer.check_symbols()
    if not tracer.kernel_count:
        tracer.fail("kernel", f"{name} has no kernel", fix="with T.Kernel(grid, threads=128) as bx: ...")
    tracer.end_function()


def _set_module_attributes(tracer: Tracer, target: str | None, options: Mapping[str, Any] | None) -> None:
    attributes = tracer.module.operation.attributes
    if target is not None:
        attributes["tile.target"] = tracer.attribute(f'#tile.target<"{target}">')
    if options is not None:
        texts = []
        for key, value in sorted(options.items()):
            if isinstance(value, bool):
                texts.append(f"{key} = {str(value).lower()}")
            elif isinstance(value, int):
                texts.append(f"{key} = {value} : i64")
            else:
                texts.append(f"{key} = [{', '.join(repr_string(item) for item in value)}]")
        attributes["tile.options"] = tracer.attribute(f"#tile.options<{{{', '.join(texts)}}}>")


def repr_string(text: str) -> str:
    """A string in MLIR's syntax."""
    escaped = text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A")
    return f'"{escaped}"'


def verify(module: ir.Module) -> None:
    """Verifies a traced module; what MLIR rejects becomes an error at the user's line.

    Raises:
        FrontendError: with the reason that the dialect gives.
    """
    try:
        valid = module.operation.verify()
    except ir.MLIRError as error:
        raise _verification_error(error) from None
    if not valid:
        raise FrontendError("verification", "the compiler rejects the traced program")


def _verification_error(error: ir.MLIRError) -> FrontendError:
    diagnostics = list(error.error_diagnostics)
    if not diagnostics:
        return FrontendError("verification", f"the compiler rejects the traced program: {error}")
    first = diagnostics[0]
    made = FrontendError(
        "verification",
        f"the compiler rejects this operation: {_plain(first.message)}",
        location=range_of_location(first.location),
    )
    for note in first.notes:
        if note.message.startswith("see current operation"):
            continue  # IR, which is not the user's language
        made.add_note_at(_plain(note.message), range_of_location(note.location))
    return made


def _plain(message: str) -> str:
    """A diagnostic without the quoted operation name that MLIR puts in front."""
    text = message.strip()
    if text.startswith("'") and "' op " in text:
        name, text = text[1:].split("' op ", 1)
        return f"{name.removeprefix('tile.')} {text}"
    return text


def range_of_location(location: Any) -> SourceRange | None:
    """The user's source range of an MLIR location: the innermost place of a macro expansion."""
    while location is not None and location.is_a_callsite():
        location = location.callee
    if location is None or not location.is_a_file():
        return None
    filename, line = location.filename, location.start_line
    return SourceRange(
        filename if isinstance(filename, str) else filename.value,
        line,
        location.start_col,
        location.end_line,
        location.end_col,
        linecache.getline(filename if isinstance(filename, str) else filename.value, line).rstrip("\n"),
    )


__all__ = ["DType", "TracedFunction", "Tracer", "range_of_location", "trace", "verify"]
