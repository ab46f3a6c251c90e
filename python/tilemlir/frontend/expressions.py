"""Expressions: evaluating them in the two worlds of compile-time Python values and run-time values."""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import operator
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from .._mlir import ir
from ..language import scalars
from ..language.context import OutsideKernelError
from ..language.dtypes import DType, DTypeError, bool_, float32, int32
from ..language.functions import Macro, PrimFunc
from ..language.symbols import SymbolicExpr
from ..language.unavailable import NotAvailableError
from .errors import FrontendError
from .hosting import TensorSpec
from .scans import Scans
from .scopes import MISSING, Frame, is_simple
from .values import Barriers, Element, Reference, Region, RuntimeValue, Scalar, Storage, Variable

_BINARY: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("floormod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shl", operator.lshift),
    ast.RShift: ("shr", operator.rshift),
}
_UNARY: dict[type[ast.AST], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    ast.Invert: ("invert", operator.invert),
}
_COMPARE: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
#: Where a nested macro call is more likely a recursion without end than a program.
_MAX_MACRO_DEPTH = 64


#: Takes over the call of a builtin on run-time values; NotImplemented leaves the call to Python.
Handler = Callable[["Expressions", list[Any], dict[str, Any]], Any]


def is_runtime(value: Any) -> bool:
    """Whether operators on the value belong into the kernel."""
    return isinstance(value, (RuntimeValue, SymbolicExpr))


class Expressions(Scans):
    """Evaluates expression nodes."""

    frame: Frame
    #: Whether ``T.const`` sizes keep their names, as in the declaration of a tensor.
    names_constants = False
    #: Number of run-time regions around the code being traced.
    region_depth = 0

    def expr(self, node: ast.AST) -> Any:
        """The value of an expression."""
        saved = self.node
        self.node = node
        try:
            method = getattr(self, f"_expr_{type(node).__name__}", None) or self._unsupported_expression
            return method(node)
        finally:
            self.node = saved

    def _unsupported_expression(self, node: ast.AST) -> NoReturn:
        if isinstance(node, ast.NamedExpr):
            self.fail(
                "syntax", "the walrus operator := is not allowed in a kernel",
                fix="assign the value on a line of its own",
            )  # fmt: skip
        names = {"Await": "await", "Yield": "yield", "YieldFrom": "yield from"}
        kind = type(node).__name__
        self.fail("syntax", f"{names.get(kind, kind)} cannot be used in a kernel", allowed="expressions on scalars")

    # Leaves.

    def _expr_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _expr_Name(self, node: ast.Name) -> Any:
        return self.resolve_constant(self.lookup(node.id))

    def resolve_constant(self, value: Any) -> Any:
        """A ``T.const`` size as an integer once its value is known."""
        if type(value) is SymbolicExpr and self.constants_of_call and not self.names_constants:
            return self._resolve(value)
        return value

    def lookup(self, name: str) -> Any:
        """The value of a name; an error when it has none here."""
        frame = self.frame
        found = frame.lookup(name)
        if found is not MISSING:
            return found
        if name in frame.unavailable:
            reason, line = frame.unavailable[name]
            self.fail(
                "undefined-name", f"{name} has no value here: it is {reason} (line {line})",
                fix=f"give {name} a value before, at the level where it is used",
            )  # fmt: skip
        close = frame.suggestions(name)
        self.fail(
            "undefined-name", f"the name {name} is not defined",
            fix=f"did you mean {' or '.join(close)}?" if close else "",
        )  # fmt: skip

    def _expr_Attribute(self, node: ast.Attribute) -> Any:
        value = self.expr(node.value)
        try:
            return self.resolve_constant(getattr(value, node.attr))
        except AttributeError:
            pass
        except FrontendError as error:
            raise self.located(error) from None
        if isinstance(value, types.ModuleType):
            what = ast.unparse(node.value)
            close = difflib.get_close_matches(node.attr, [n for n in dir(value) if not n.startswith("_")], 2, 0.6)
            self.fail(
                "undefined-name", f"{what} has no {node.attr}",
                fix=f"did you mean {' or '.join(f'{what}.{name}' for name in close)}?" if close else "",
            )  # fmt: skip
        self.fail(
            "undefined-name", f"{ast.unparse(node.value)} has no attribute {node.attr}", found=self.describe(value)
        )

    # Operators.

    def _expr_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.expr(node.left), self.expr(node.right)
        return self.apply_binary(type(node.op), left, right)

    def apply_binary(self, op: type[ast.AST], left: Any, right: Any) -> Any:
        """A binary operator in the world that its operands belong to."""
        if op not in _BINARY:
            self.fail("syntax", "the operator @ is not allowed in a kernel", fix="T.gemm(A, B, C) multiplies tiles")
        name, function = _BINARY[op]
        if isinstance(left, RuntimeValue) or isinstance(right, RuntimeValue):
            return self.binary(name, left, right)
        if isinstance(left, SymbolicExpr) or isinstance(right, SymbolicExpr):
            if (
                name not in ("add", "sub", "mul", "floordiv", "floormod")
                or isinstance(left, float)
                or isinstance(right, float)
            ):
                return self.binary(name, left, right)
        if isinstance(left, (Storage, Region)) or isinstance(right, (Storage, Region)):
            self.binary(name, left, right)
        return self._python(lambda: function(left, right))

    def _python(self, compute: Callable[[], Any]) -> Any:
        """Compile-time Python, with its exceptions placed."""
        try:
            return compute()
        except FrontendError as error:
            raise self.located(error) from None
        except Exception as error:
            raise self.located(
                FrontendError(
                    "compile-time-value", f"evaluating this while tracing raised {type(error).__name__}: {error}"
                )
            ) from error

    def _expr_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.expr(node.operand)
        if isinstance(node.op, ast.Not):
            return self.logical_not(value) if is_runtime(value) else not self._truth(value)
        name, function = _UNARY[type(node.op)]
        if isinstance(value, RuntimeValue) or (isinstance(value, SymbolicExpr) and name != "neg"):
            return self.unary(name, value)
        return self._python(lambda: function(value))

    def _truth(self, value: Any) -> bool:
        if isinstance(value, (Storage, Region)):
            return True
        return bool(self._python(lambda: bool(value)))

    def _expr_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)

        def rest(position: int) -> Any:
            value = self.expr(node.values[position])
            if position == len(node.values) - 1:
                return value
            if not is_runtime(value):
                return rest(position + 1) if self._truth(value) == is_and else value
            test = self.boolean(value)
            if not isinstance(test, Scalar):
                return rest(position + 1) if test == is_and else test
            following = node.values[position + 1 :]
            if all(is_simple(part) for part in following):
                other = rest(position + 1)
                return self.logical("and" if is_and else "or", test, other if is_runtime(other) else self._truth(other))

            def other_side() -> Any:
                value = rest(position + 1)
                return self.boolean(value) if is_runtime(value) else self._truth(value)

            if is_and:
                return self.conditional(test, other_side, lambda: False)
            return self.conditional(test, lambda: True, other_side)

        return rest(0)

    def _expr_Compare(self, node: ast.Compare) -> Any:
        left = self.expr(node.left)
        result: Any = True
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.expr(part)
            test = self._compare(op, left, right)
            if not is_runtime(test):
                if not test:
                    return test
            else:
                result = test if result is True else self.logical("and", result, test)
            left = right
        return result

    def _compare(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Is):
            return left is right
        if isinstance(op, ast.IsNot):
            return left is not right
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._contains(left, right, isinstance(op, ast.NotIn))
        name, function = _COMPARE[type(op)]
        if isinstance(left, (Storage, Region, DType, str)) or isinstance(right, (Storage, Region, DType, str)):
            return self._python(lambda: function(left, right))
        if left is None or right is None:
            return self._python(lambda: function(left, right))
        if is_runtime(left) or is_runtime(right):
            if isinstance(left, SymbolicExpr) and isinstance(right, SymbolicExpr) and left == right:
                return name in ("eq", "le", "ge")
            return self.compare(name, left, right)
        return self._python(lambda: function(left, right))

    def _contains(self, value: Any, container: Any, negate: bool) -> Any:
        if not is_runtime(value) and not (
            isinstance(container, (list, tuple)) and any(is_runtime(item) for item in container)
        ):
            return self._python(lambda: (value in container) != negate)
        if not isinstance(container, (list, tuple, set, frozenset)):
            self.fail(
                "compile-time-value", "a run-time value can be looked for only in a list, tuple or set",
                found=self.describe(container),
            )  # fmt: skip
        result: Any = False
        for item in container:
            result = self.logical("or", result, self.compare("eq", value, item))
        return self.logical_not(result) if negate else result

    def _expr_IfExp(self, node: ast.IfExp) -> Any:
        test = self.expr(node.test)
        return self._choose(test, node.body, node.orelse)

    def _choose(self, test: Any, then: ast.expr, otherwise: ast.expr) -> Any:
        if not is_runtime(test):
            return self.expr(then if self._truth(test) else otherwise)
        condition = self.boolean(test)
        if not isinstance(condition, Scalar):
            return self.expr(then if condition else otherwise)
        if is_simple(then) and is_simple(otherwise):
            return self.select(condition, self.expr(then), self.expr(otherwise))
        return self.conditional(condition, lambda: self.expr(then), lambda: self.expr(otherwise))

    def conditional(self, test: Scalar, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Scalar:
        """A value of which only the chosen side is evaluated.

        Both sides are traced into a branch first. When they hold nothing but harmless operations they are moved out of
        it and a select takes its place, which later passes handle best.
        """
        self.require_kernel("a choice between run-time values")
        scratch = self.emit("scf.if", (), [test.value], regions=2)
        blocks = [self.add_block(scratch, 0), self.add_block(scratch, 1)]
        before = self.unsafe_operations
        values: list[Any] = []
        self.region_depth += 1
        for block, side in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                values.append(self.scalar(side()))
        self.region_depth -= 1
        if all(isinstance(value, bool) for value in values):
            dtype = bool_
        else:
            dtype = self.common_of_branches(values[0], values[1])
        typed: list[Scalar] = []
        for block, value in zip(blocks, values, strict=True):
            with self.inside(block):
                typed.append(self.as_type(value, dtype))
        scratch_operation = scratch.operation
        if self.unsafe_operations == before:
            for block in blocks:
                for operation in list(block.operations):
                    operation.operation.move_before(scratch_operation)
            scratch_operation.erase()
            if dtype.kind == "bool" and typed[1].constant == 0:
                return Scalar(self.value("arith.andi", self.i1, [test.value, typed[0].value]), bool_)
            if dtype.kind == "bool" and typed[0].constant == 1:
                return Scalar(self.value("arith.ori", self.i1, [test.value, typed[1].value]), bool_)
            made = self.value("arith.select", self.scalar_type(dtype), [test.value, typed[0].value, typed[1].value])
            return self.merged(made, typed[0], typed[1])
        final = self.emit("scf.if", [self.scalar_type(dtype)], [test.value], regions=2).operation
        for position, (block, value) in enumerate(zip(blocks, typed, strict=True)):
            with self.inside(block):
                self.emit("scf.yield", (), [value.value])
            block.append_to(final.regions[position])
        scratch_operation.erase()
        return self.merged(final.results[0], typed[0], typed[1])

    # Containers.

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                result.extend(self.compile_time_items(self.expr(node.value), node.value))
            else:
                result.append(self.expr(node))
        return result

    def _expr_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._elements(node.elts))

    def _expr_List(self, node: ast.List) -> Any:
        return self._elements(node.elts)

    def _expr_Set(self, node: ast.Set) -> Any:
        return self._python(lambda: set(self._elements(node.elts)))

    def _expr_Dict(self, node: ast.Dict) -> Any:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.expr(value))
            else:
                result[self.expr(key)] = self.expr(value)
        return result

    def _expr_Slice(self, node: ast.Slice) -> Any:
        lower, upper, step = (None if part is None else self.expr(part) for part in (node.lower, node.upper, node.step))
        return slice(lower, upper, step)

    def _expr_Subscript(self, node: ast.Subscript) -> Any:
        value = self.expr(node.value)
        with self.reading_once(node.slice):
            return self.subscript_value(value, self.expr(node.slice))

    @contextmanager
    def reading_once(self, node: ast.expr) -> Iterator[None]:
        """Reads each variable only once in the key of a subscript that has slices, so that their ends compare."""
        saved = self._loaded_variables
        if any(isinstance(part, ast.Slice) for part in ast.walk(node)):
            self._loaded_variables = {}
        try:
            yield
        finally:
            self._loaded_variables = saved

    def subscript_value(self, value: Any, key: Any) -> Any:
        """``value[key]`` in the world that the value belongs to."""
        if isinstance(value, Storage):
            return self.subscript(value, key)
        if isinstance(value, Region):
            return self.subscript_region(value, key)
        if isinstance(value, (Variable, Barriers)):
            return self._python(lambda: value[key])
        if isinstance(value, RuntimeValue):
            self.fail("rank", "a scalar cannot be indexed", found=self.describe(value))
        if isinstance(value, TensorSpec):
            self.fail(
                "declaration", "this tensor of the call is not declared yet", found=repr(value),
                fix="declare it at the beginning of the body: A: T.Tensor[[M, N], dtype]",
            )  # fmt: skip
        if is_runtime(key):
            self.fail(
                "compile-time-value",
                "a Python container needs a compile-time index",
                found=f"a run-time index into a {type(value).__name__}",
                fix="put the values into a buffer (T.alloc_local), or loop over the container, which unrolls the loop",
            )
        return self.resolve_constant(self._python(lambda: value[key]))

    def _expr_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return "".join(str(self.expr(part)) for part in node.values)

    def _expr_FormattedValue(self, node: ast.FormattedValue) -> Any:
        value = self.expr(node.value)
        specification = "" if node.format_spec is None else self.expr(node.format_spec)
        if node.conversion in (ord("r"), ord("s"), ord("a")):
            conversions: dict[int, Callable[[Any], str]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
            value = conversions[node.conversion](value)
        return self._python(lambda: format(value, specification))

    # Comprehensions and lambdas.

    def _expr_ListComp(self, node: ast.ListComp) -> Any:
        return self._comprehension(node.generators, lambda: self.expr(node.elt))

    def _expr_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._comprehension(node.generators, lambda: self.expr(node.elt))

    def _expr_SetComp(self, node: ast.SetComp) -> Any:
        return set(self._comprehension(node.generators, lambda: self.expr(node.elt)))

    def _expr_DictComp(self, node: ast.DictComp) -> Any:
        return dict(self._comprehension(node.generators, lambda: (self.expr(node.key), self.expr(node.value))))

    def _comprehension(self, generators: list[ast.comprehension], element: Callable[[], Any]) -> list[Any]:
        result: list[Any] = []
        saved = dict(self.frame.locals)

        def run(position: int) -> None:
            if position == len(generators):
                result.append(element())
                return
            generator = generators[position]
            for item in self.compile_time_items(self.expr(generator.iter), generator.iter):
                self.assign(generator.target, item)
                for condition in generator.ifs:
                    test = self.expr(condition)
                    if is_runtime(test):
                        self.fail("compile-time-value", "a comprehension needs compile-time conditions")
                    if not self._truth(test):
                        break
                else:
                    run(position + 1)

        try:
            run(0)
        finally:
            self.frame.locals = saved
        return result

    def compile_time_items(self, value: Any, node: ast.AST) -> list[Any]:
        """The items of a compile-time iterable."""
        from ..language.loops import Loop

        if isinstance(value, (Loop, RuntimeValue, Storage, Region, SymbolicExpr)):
            self.fail(
                "compile-time-value", "this can be iterated only by the kernel, not while tracing",
                found=ast.unparse(node), allowed="lists, tuples, dictionaries, range with constant bounds",
            )  # fmt: skip
        items: list[Any] = self._python(lambda: list(value))
        return items

    def _expr_Lambda(self, node: ast.Lambda) -> Any:
        frame = self.frame
        names = [argument.arg for argument in node.args.args]
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
            self.fail("syntax", "a lambda in a kernel takes plain positional parameters only")

        def lambda_(*values: Any) -> Any:
            if len(values) != len(names):
                raise TypeError(f"this lambda takes {len(names)} arguments, {len(values)} are given")
            saved_frame, saved_locals = self.frame, dict(frame.locals)
            self.frame = frame
            frame.locals.update(zip(names, values, strict=True))
            try:
                return self.expr(node.body)
            finally:
                frame.locals = saved_locals
                self.frame = saved_frame

        return lambda_

    # Calls.

    def _expr_Call(self, node: ast.Call) -> Any:
        function = self.expr(node.func)
        if function is scalars.if_then_else and len(node.args) == 3 and not node.keywords:
            return self._choose(self.expr(node.args[0]), node.args[1], node.args[2])
        arguments = self._elements(node.args)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.expr(keyword.value)
            if keyword.arg is None:
                keywords.update(self._python(partial(dict, value)))
            else:
                keywords[keyword.arg] = value
        known = isinstance(function, (type, types.BuiltinFunctionType))
        special: Handler | None = _BUILTINS.get(function) if known else None
        if special is not None:
            handled = special(self, arguments, keywords)
            if handled is not NotImplemented:
                return handled
        return self.call(function, arguments, keywords, node)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """Calls a function of the language, a macro, or plain Python."""
        if isinstance(function, Macro):
            return self.call_macro(function, tuple(arguments), keywords)
        name = ast.unparse(node.func)
        if not callable(function):
            self.fail("call", f"{name} cannot be called", found=self.describe(function))
        if isinstance(function, PrimFunc):
            self.fail(
                "call", f"{name} is a kernel function and cannot be called from another one", fix="make it a @T.macro"
            )
        try:
            return function(*arguments, **keywords)
        except FrontendError as error:
            raise self.located(error) from None
        except NotAvailableError as error:
            raise self.located(FrontendError("not-available", str(error))) from None
        except DTypeError as error:
            code = "not-available" if "not available" in str(error) else "dtype"
            raise self.located(FrontendError(code, str(error))) from None
        except OutsideKernelError as error:
            raise self.located(FrontendError("kernel", str(error))) from None
        except TypeError as error:
            mismatch = self._signature_mismatch(function, arguments, keywords)
            if mismatch is None:
                if _is_ours(function) and not str(error):
                    raise
                raise self._call_failed(name, error) from error
            raise self.located(
                FrontendError(
                    "call", f"{name} is called with wrong arguments: {mismatch}", allowed=_signature(name, function)
                )
            ) from None
        except NotImplementedError as error:
            raise self.located(FrontendError("not-available", str(error))) from error
        except Exception as error:
            if _is_ours(function) and not isinstance(error, ValueError):
                raise  # a fault of the front end, not of the program
            raise self._call_failed(name, error) from error

    def _call_failed(self, name: str, error: Exception) -> FrontendError:
        return self.located(FrontendError("call", f"{name} raised {type(error).__name__} while tracing: {error}"))

    @staticmethod
    def _signature_mismatch(function: Any, arguments: list[Any], keywords: dict[str, Any]) -> str | None:
        try:
            inspect.signature(function).bind(*arguments, **keywords)
        except TypeError as error:
            return str(error)
        except ValueError:
            return None
        return None

    def call_macro(self, macro: Macro, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Traces the body of a macro here."""
        raise NotImplementedError

    def assign(self, target: ast.AST, value: Any) -> None:
        """Binds or stores a value."""
        raise NotImplementedError


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("tilemlir.")


def _signature(name: str, function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return f"{name}{signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)}"


def _extremum(name: str) -> Handler:
    def run(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        values = list(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
        if keywords or not any(is_runtime(value) for value in values):
            return NotImplemented
        result = values[0]
        for value in values[1:]:
            result = tracer.math(name, (result, value))
        return result

    return run


def _conversion(dtype: DType) -> Handler:
    def run(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if len(arguments) != 1 or keywords or not is_runtime(arguments[0]):
            return NotImplemented
        if dtype.kind == "bool":
            return tracer.boolean(arguments[0])
        return tracer.cast(arguments[0], dtype)

    return run


def _abs(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return tracer.math("abs", tuple(arguments)) if len(arguments) == 1 and is_runtime(arguments[0]) else NotImplemented


def _pow(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return (
        tracer.binary("pow", *arguments) if len(arguments) == 2 and any(map(is_runtime, arguments)) else NotImplemented
    )


def _round(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return (
        tracer.math("nearbyint", tuple(arguments))
        if len(arguments) == 1 and is_runtime(arguments[0])
        else NotImplemented
    )


def _print(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if any(isinstance(argument, (RuntimeValue, Storage, Region)) for argument in arguments):
        tracer.fail("call", "print shows compile-time values while tracing", fix="T.print prints from the kernel")
    return NotImplemented


def _refuse(name: str, hint: str) -> Handler:
    def run(tracer: Expressions, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        values = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
        if any(is_runtime(value) for value in values):
            tracer.fail("compile-time-value", f"{name} needs compile-time values", fix=hint)
        return NotImplemented

    return run


_BUILTINS: dict[Any, Handler] = {
    builtins.max: _extremum("max"),
    builtins.min: _extremum("min"),
    builtins.int: _conversion(int32),
    builtins.float: _conversion(float32),
    builtins.bool: _conversion(bool_),
    builtins.abs: _abs,
    builtins.pow: _pow,
    builtins.round: _round,
    builtins.print: _print,
    builtins.any: _refuse("any", "combine the conditions with or"),
    builtins.all: _refuse("all", "combine the conditions with and"),
    builtins.range: _refuse("range", "use range in a for statement, where it becomes a loop of the kernel"),
}

__all__ = ["MISSING", "Element", "Expressions", "Reference", "ir", "is_runtime"]
