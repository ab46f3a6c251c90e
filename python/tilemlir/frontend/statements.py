"""Statements: assignment, conditions, macros, returns."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from .._mlir import ir
from ..language.annotations import Ref, TensorType
from ..language.dtypes import lookup as lookup_dtype
from ..language.functions import Macro
from ..language.kernel import KernelFrame
from ..language.symbols import SymbolicExpr
from ..language.warpgroups import RoleFrame
from . import source as sources
from .arithmetic import promote, python_type
from .errors import FrontendError
from .expressions import _BINARY, _MAX_MACRO_DEPTH, Expressions, is_runtime
from .scopes import MISSING, Frame, assigned_names, facts_of, loads_of
from .values import Element, Reference, Region, RuntimeValue, Scalar, Storage, Variable, with_article


class EndBlock(Exception):
    """The rest of a statement list cannot be reached."""


class BreakLoop(EndBlock):
    """A ``break`` that is decided while tracing."""


class ContinueLoop(EndBlock):
    """A ``continue`` that is decided while tracing."""


class ReturnValue(EndBlock):
    """A ``return`` at the top level of a function."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass
class LoopContext:
    """The innermost loop around the code being traced.

    Attributes:
        name: what the user wrote.
        traced: whether iterations happen in the kernel; loops over lists are unrolled while tracing.
        depth: region depth of its body.
        stop, skip: variables that ``break`` and ``continue`` set, where needed.
        events: how many run-time breaks and continues were traced so far.
        broke: whether a run-time break was traced.
        allows_break: False for loops without order.
    """

    name: str
    traced: bool
    depth: int
    stop: Variable | None = None
    skip: Variable | None = None
    events: int = 0
    broke: bool = False
    allows_break: bool = True


class Statements(Expressions):
    """Executes statement nodes."""

    loop: LoopContext | None = None

    # Lists of statements.

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Traces statements one after the other."""
        for position, statement in enumerate(statements):
            loop = self.loop
            events = loop.events if loop else 0
            self.statement(statement)
            rest = statements[position + 1 :]
            if loop is not None and loop.events != events and rest:
                self.run_guarded(loop, rest)
                return

    def run_guarded(self, loop: LoopContext, statements: Sequence[ast.stmt]) -> None:
        """What follows a conditional break or continue happens only where neither was taken."""
        self.promote_names(assigned_names(statements))
        operation = self.emit("scf.if", (), [self.loop_goes_on(loop).value], regions=2)
        with self.region(self.add_block(operation, 0)):
            self._run_to_end(statements)
            self.emit("scf.yield")

    def loop_goes_on(self, loop: LoopContext) -> Scalar:
        """Whether neither break nor continue was taken in this iteration."""
        flags = [self.load(flag) for flag in (loop.stop, loop.skip) if flag is not None]
        taken = flags[0]
        for flag in flags[1:]:
            taken = self.logical("or", taken, flag)
        going: Scalar = self.logical_not(taken)
        return going

    def _run_to_end(self, statements: Sequence[ast.stmt]) -> None:
        """Runs the statements of a region; a break or continue in it ends only the region."""
        try:
            self.run(statements)
        except (BreakLoop, ContinueLoop):
            if self.loop is not None and self.loop.depth == self.region_depth:
                raise

    def statement(self, node: ast.stmt) -> None:
        """Traces one statement."""
        saved = self.node
        self.node = node
        try:
            method = getattr(self, f"_stmt_{type(node).__name__}", None) or self._unsupported_statement
            method(node)
        finally:
            self.node = saved

    _UNSUPPORTED: ClassVar[dict[str, tuple[str, str]]] = {
        "Try": ("try", "check values with conditions"),
        "TryStar": ("try", "check values with conditions"),
        "Raise": ("raise", "T.device_assert stops a kernel with a message"),
        "Import": ("import", "import at the top of the file"),
        "ImportFrom": ("import", "import at the top of the file"),
        "ClassDef": ("a class definition", "define classes outside of the kernel"),
        "FunctionDef": ("a function definition", "define a @T.macro outside of the kernel"),
        "AsyncFunctionDef": ("async", ""),
        "AsyncFor": ("async", ""),
        "AsyncWith": ("async", ""),
        "Global": ("global", "pass values as arguments"),
        "Nonlocal": ("nonlocal", "use T.alloc_var for a variable that is assigned in several places"),
        "Delete": ("del", "leave it out; buffers live as long as they are used"),
        "Match": ("match", "write if and elif"),
    }

    def _unsupported_statement(self, node: ast.stmt) -> NoReturn:
        text, fix = self._UNSUPPORTED.get(type(node).__name__, (type(node).__name__, ""))
        self.fail("syntax", f"{text} is not allowed in a kernel", fix=fix)

    @contextmanager
    def region(self, block: ir.Block) -> Any:
        """Traces into a block of run-time control flow. Names that it binds are not visible after it."""
        frame = self.frame
        saved_locals = dict(frame.locals)
        saved_bound = dict(frame.bound_at)
        self.region_depth += 1
        line = getattr(self.node, "lineno", 0)
        try:
            with self.inside(block):
                yield
        finally:
            self.region_depth -= 1
            self.region_names = {name: value for name, value in frame.locals.items() if name not in saved_locals}
            frame.locals, frame.bound_at = saved_locals, saved_bound
            for name in self.region_names:
                frame.unavailable.setdefault(name, ("assigned only inside of a block of run-time control flow", line))

    # Names.

    def promote_names(self, names: Set[str]) -> None:
        """Turns outer scalars that a region rebinds into variables."""
        frame = self.frame
        for name in sorted(names):
            value = frame.locals.get(name, MISSING)
            if isinstance(value, (bool, int, float, Scalar, SymbolicExpr)):
                frame.locals[name] = self.make_variable(name, value)

    def make_variable(self, name: str, value: Any) -> Variable:
        """A variable that stands for a Python name, holding its present value."""
        current = self.scalar(value)
        dtype = current.dtype if isinstance(current, Scalar) else python_type(current)
        allocated = self._alloc_outside_parallel(self.buffer_type((), dtype, "local"), name)
        variable = Variable(allocated, dtype, name, implicit=True, line=getattr(self.node, "lineno", 0))
        self.store(variable, current)
        return variable

    def assign(self, target: ast.AST, value: Any, fresh: bool = False) -> None:
        """Binds or stores ``value``. ``fresh`` marks the result of a call, which may be a new variable."""
        saved = self.node
        if isinstance(target, ast.Name):
            self._assign_name(target.id, value, fresh)
            return
        self.node = target
        try:
            if isinstance(target, (ast.Tuple, ast.List)):
                self._unpack(target, value, fresh)
            elif isinstance(target, ast.Subscript):
                container = self.expr(target.value)
                key = self.expr(target.slice)
                self.node = saved
                self._store_subscript(container, key, value)
            elif isinstance(target, ast.Attribute):
                owner = self.expr(target.value)
                self._python(lambda: setattr(owner, target.attr, value))
            else:
                self.fail("syntax", "this cannot be assigned to", found=ast.unparse(target))
        finally:
            self.node = saved

    def _store_subscript(self, container: Any, key: Any, value: Any) -> None:
        if isinstance(container, (Storage, Region, Variable)):
            self.store(self.subscript_value(container, key), value)
            return
        if isinstance(container, RuntimeValue):
            self.fail("rank", "a scalar cannot be indexed", found=self.describe(container))
        if is_runtime(key):
            self.subscript_value(container, key)
        self._python(lambda: container.__setitem__(key, value))

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, fresh: bool) -> None:
        items = value if isinstance(value, (tuple, list)) else self.compile_time_items(value, target)
        starred = [position for position, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        if starred:
            before, after = starred[0], len(target.elts) - starred[0] - 1
            if len(items) >= before + after:
                end = len(items) - after
                items = [*items[:before], list(items[before:end]), *items[end:]]
        if len(items) != len(target.elts):
            self.fail(
                "call",
                f"{len(items)} value{'s' if len(items) != 1 else ''} cannot be given to {len(target.elts)} names",
                found=ast.unparse(target),
            )  # fmt: skip
        for part, item in zip(target.elts, items, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, item, fresh)

    def _assign_name(self, name: str, value: Any, fresh: bool) -> None:
        frame = self.frame
        old = frame.locals.get(name, MISSING)
        same_level = frame.bound_at.get(name, 0) == self.region_depth
        if name in frame.references:
            self.store(old, value)
            return
        if isinstance(old, Variable) and not (fresh and isinstance(value, Variable) and same_level):
            if isinstance(value, (RuntimeValue, bool, int, float, SymbolicExpr)):
                if old.implicit:
                    if same_level:
                        frame.bind(name, value, self.region_depth)
                        return
                    self._check_implicit(old, value)
                self.store(old, value)
                return
            if not same_level:
                self._refuse_rebinding(name, old, value)
        elif old is not MISSING and not same_level and not isinstance(value, type(old)):
            self._refuse_rebinding(name, old, value)
        elif old is not MISSING and not same_level and isinstance(old, (Storage, Region, list, dict, str)):
            self._refuse_rebinding(name, old, value)
        frame.bind(name, value, self.region_depth)

    def _refuse_rebinding(self, name: str, old: Any, value: Any) -> None:
        self.fail(
            "rebinding",
            f"{name} cannot be given another value under run-time control flow",
            found=f"{name} is {self.describe(old)}, the new value is {self.describe(value)}",
            allowed="scalars, which become variables of the kernel",
            fix="use another name, or decide at compile time",
        )

    def _check_implicit(self, variable: Variable, value: Any) -> None:
        """A Python name has the type of its first value; a later one must not lose anything by conversion to it."""
        scalar = self.scalar(value)
        dtype = scalar.dtype if isinstance(scalar, Scalar) else python_type(scalar)
        if not isinstance(scalar, Scalar):
            if variable.dtype.is_float or dtype.kind == "bool" or (dtype.is_integer and variable.dtype.is_integer):
                return
        elif promote(variable.dtype, dtype).name == variable.dtype.name:
            return
        self.fail(
            "rebinding",
            f"{variable.name} holds {with_article(variable.dtype)} since line {variable.line} and cannot become "
            f"{with_article(dtype)} here",
            found=f"{with_article(dtype)} assigned under run-time control flow",
            fix=f"give it its type at the start: {variable.name} = T.alloc_var({str(dtype)!r}, init=...), "
            f"or convert the value: T.cast(..., {str(variable.dtype)!r})",
        )

    def snapshot(self, value: Any, node: ast.AST) -> Any:
        """The value that an assignment binds: what a reference holds now, not the reference."""
        if isinstance(value, Element) or (isinstance(value, Variable) and not isinstance(node, ast.Call)):
            return self.load(value)
        if (
            isinstance(node, (ast.Tuple, ast.List))
            and isinstance(value, (tuple, list))
            and len(node.elts) == len(value)
        ):
            return type(value)(self.snapshot(item, part) for item, part in zip(value, node.elts, strict=True))
        return value

    # Simple statements.

    def _stmt_Assign(self, node: ast.Assign) -> None:
        value = self.snapshot(self._named_value(node.targets[0], node.value), node.value)
        for part in node.targets:
            self.assign(part, value, isinstance(node.value, ast.Call))

    def _named_value(self, target: ast.AST, value: ast.expr) -> Any:
        """The value of an assignment; buffers that it makes are called after the names they are given."""
        pairs = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if pairs and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            if not any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts)):  # type: ignore[attr-defined]
                return tuple(
                    self._named_value(*pair)
                    for pair in zip(target.elts, value.elts, strict=True)  # type: ignore[attr-defined]
                )
        saved = self.name_hint
        self.name_hint = target.id if isinstance(target, ast.Name) else None
        try:
            return self.expr(value)
        finally:
            self.name_hint = saved

    def _stmt_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            old = self.lookup(target.id)
            value = self.expr(node.value)
            if isinstance(old, (Storage, Region)):
                self.fail(
                    "argument", f"{target.id} is a whole buffer and has no arithmetic of its own",
                    fix="loop over its elements with T.Parallel",
                )  # fmt: skip
            result = self.apply_binary(type(node.op), old, value)
            if isinstance(self.frame.locals.get(target.id, MISSING), Variable):
                self._assign_name(target.id, result, False)
            else:
                self.assign(target, self.snapshot(result, node))
            return
        if isinstance(target, ast.Subscript):
            container = self.expr(target.value)
            key = self.expr(target.slice)
            element = self.subscript_value(container, key)
            value = self.expr(node.value)
            if isinstance(element, Region):
                self.store(element, 0)
            result = self.apply_binary(type(node.op), element, value)
            if isinstance(element, Reference) and isinstance(container, (Storage, Region, Variable)):
                self.store(element, result)
            else:
                self._store_subscript(container, key, result)
            return
        if isinstance(target, ast.Attribute):
            owner = self.expr(target.value)
            old = self._python(lambda: getattr(owner, target.attr))
            result = self.apply_binary(type(node.op), old, self.expr(node.value))
            if isinstance(old, Variable):
                self.store(old, result)
            else:
                self._python(lambda: setattr(owner, target.attr, result))
            return
        self.fail("syntax", "this cannot be assigned to", found=ast.unparse(target))

    def _stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.names_constants = True
        try:
            annotation = self.expr(node.annotation)
        finally:
            self.names_constants = False
        if node.value is None:
            if isinstance(annotation, TensorType) and isinstance(node.target, ast.Name):
                self.declare_local_tensor(node.target.id, annotation)
                return
            self.fail(
                "declaration", "a declaration without a value is for tensors of the call",
                found=ast.unparse(node), allowed="A: T.Tensor[[M, K], dtype] for a parameter A of @tile.jit",
            )  # fmt: skip
        saved = self.name_hint
        self.name_hint = node.target.id if isinstance(node.target, ast.Name) else None
        try:
            value = self.snapshot(self.expr(node.value), node.value)
        finally:
            self.name_hint = saved
        dtype = lookup_dtype(annotation)
        if (
            dtype is not None
            and not isinstance(annotation, type)
            and isinstance(value, (RuntimeValue, bool, int, float))
        ):
            if not isinstance(value, Variable):
                value = self.cast(value, dtype)
        self.assign(node.target, value, isinstance(node.value, ast.Call))

    def declare_local_tensor(self, name: str, declared: TensorType) -> None:
        """Declares a tensor of the call in the body of a kernel of ``@tile.jit``."""
        raise NotImplementedError

    def _stmt_Expr(self, node: ast.Expr) -> None:
        self.expr(node.value)

    def _stmt_Pass(self, node: ast.Pass) -> None:
        return

    def _stmt_Assert(self, node: ast.Assert) -> None:
        test = self.expr(node.test)
        if is_runtime(test):
            self.fail(
                "compile-time-value", "assert checks compile-time conditions; this one is known only at run time",
                fix="T.device_assert(condition, message) checks in the kernel, T.assume(condition) promises",
            )  # fmt: skip
        if not self._truth(test):
            message = "" if node.msg is None else f": {self.expr(node.msg)}"
            self.fail("call", f"the assertion {ast.unparse(node.test)} fails{message}")

    def _stmt_Return(self, node: ast.Return) -> None:
        if self.region_depth != self.frame.depth:
            self.fail(
                "control-flow", "return is not allowed inside of run-time control flow",
                fix="assign the result to a variable (T.alloc_var) and return it at the end",
            )  # fmt: skip
        if self.kernel_state is not None and not self.call_sites:
            self.fail("control-flow", "return is not allowed inside of a kernel", fix="return after the T.Kernel block")
        value = None if node.value is None else self.snapshot(self.expr(node.value), node.value)
        raise ReturnValue(value)

    def _stmt_Break(self, node: ast.Break) -> None:
        loop = self.loop
        assert loop is not None  # Python's parser refuses it elsewhere
        if not loop.allows_break:
            self.fail(
                "control-flow", f"break is not allowed in {loop.name}, whose iterations have no order",
                fix="guard the body with if, or use T.serial",
            )  # fmt: skip
        if loop.depth == self.region_depth and not loop.traced:
            raise BreakLoop
        assert loop.stop is not None
        self.store(loop.stop, True)
        loop.events += 1
        loop.broke = True
        raise BreakLoop

    def _stmt_Continue(self, node: ast.Continue) -> None:
        loop = self.loop
        assert loop is not None
        if loop.depth == self.region_depth:
            raise ContinueLoop
        assert loop.skip is not None
        self.store(loop.skip, True)
        loop.events += 1
        raise ContinueLoop

    # Conditions.

    def _stmt_If(self, node: ast.If) -> None:
        test = self.expr(node.test)
        if is_runtime(test):
            self.node = node.test
            condition = self.boolean(test)
            self.node = node
            if isinstance(condition, Scalar):
                self._run_time_if(node, condition)
                return
            test = condition
        self.run(node.body if self._truth(test) else node.orelse)

    def _run_time_if(self, node: ast.If, condition: Scalar) -> None:
        self.require_kernel("a condition on run-time values")
        self.promote_names(facts_of(node).assigned)
        operation = self.emit("scf.if", (), [condition.value], regions=2)
        branches = [node.body, node.orelse] if node.orelse else [node.body]
        blocks: list[ir.Block] = []
        names: list[dict[str, Any]] = []
        for position, statements in enumerate(branches):
            block = self.add_block(operation, position)
            blocks.append(block)
            with self.region(block):
                self._run_to_end(statements)
            names.append(self.region_names)
        if len(names) == 2:
            for name in sorted(names[0].keys() & names[1].keys()):
                self._merge_name(node, name, operation, blocks, [names[0][name], names[1][name]])
        for block in blocks:
            with self.inside(block):
                self.emit("scf.yield")

    def _merge_name(
        self, node: ast.If, name: str, operation: ir.Operation, blocks: list[ir.Block], values: list[Any]
    ) -> None:
        """A name that both branches bind becomes a variable, if it is read outside of them."""
        frame = self.frame
        if loads_of(name, frame.source.tree) == loads_of(name, node):
            return
        if not all(isinstance(value, (Scalar, Variable, bool, int, float)) for value in values):
            return
        kinds = [value.dtype if isinstance(value, RuntimeValue) else None for value in values]
        if kinds[0] is not None and kinds[1] is not None:
            dtype = promote(kinds[0], kinds[1])
        else:
            dtype = self.common_of_branches(
                *(
                    Scalar(value.value, value.dtype) if isinstance(value, (Scalar, Variable)) else value
                    for value in values
                )
            )
        saved = self.ip
        self.ip = ir.InsertionPoint(operation.operation)
        variable = Variable(
            self._alloc_outside_parallel(self.buffer_type((), dtype, "local"), name), dtype, name, implicit=True,
            line=node.lineno,
        )  # fmt: skip
        self.ip = saved
        for block, value in zip(blocks, values, strict=True):
            with self.inside(block):
                self.store(variable, value)
        frame.bind(name, variable, self.region_depth)

    # Blocks of kernels.

    def _stmt_With(self, node: ast.With) -> None:
        if len(node.items) != 1:
            self.fail("syntax", "with takes one T.Kernel(...) in a kernel function", found=ast.unparse(node.items[0]))
        item = node.items[0]
        frame = self.expr(item.context_expr)
        if isinstance(frame, RoleFrame):
            self.run_role(node, frame)
            return
        if not isinstance(frame, KernelFrame):
            self.fail("syntax", "with is for T.Kernel(...) and T.ws(...)", found=ast.unparse(item.context_expr))
        self.node = item.context_expr
        names = self.frame
        saved_locals, saved_bound = dict(names.locals), dict(names.bound_at)
        with self.launch(frame) as indices:
            self.node = node
            if item.optional_vars is not None:
                single = len(indices) == 1 and isinstance(item.optional_vars, ast.Name)
                self.assign(item.optional_vars, indices[0] if single else indices)
            self.run(node.body)
        for name in names.locals.keys() - saved_locals.keys():
            names.unavailable[name] = ("part of a kernel that has ended", node.lineno)
        names.locals, names.bound_at = saved_locals, saved_bound

    def promote_role_names(self, node: ast.With) -> None:
        """Turns outer scalars that a T.ws block rebinds into variables."""
        self.promote_names(assigned_names(node.body))

    def run_region(self, node: ast.With, block: ir.Block) -> None:
        """Traces the statements of a T.ws block."""
        self.node = node
        with self.region(block):
            self._run_to_end(node.body)

    # Macros.

    def call_macro(self, macro: Macro, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Traces the body of a macro here."""
        if len(self.call_sites) >= _MAX_MACRO_DEPTH:
            self.fail("control-flow", f"the macro {macro.name} calls itself without end")
        try:
            bound = inspect.signature(macro.function).bind(*arguments, **keywords)
        except TypeError as error:
            self.fail("call", f"the macro {macro.name} is called with wrong arguments: {error}")
        bound.apply_defaults()
        try:
            source = sources.of_function(macro.function)
        except FrontendError as error:
            raise self.located(error) from None
        annotations = self._python(macro.annotations)
        frame = Frame(macro.function, source, self.region_depth, macro.scope)
        for name, value in bound.arguments.items():
            if annotations.get(name) is Ref:
                if not isinstance(value, Reference):
                    self.fail(
                        "call", f"the parameter {name} of the macro {macro.name} is a reference",
                        found=self.describe(value), allowed="a variable (T.alloc_var) or an element such as A[i]",
                    )  # fmt: skip
                frame.references.add(name)
            elif isinstance(value, Reference):
                value = self.load(value)
            frame.bind(name, value, self.region_depth)
        saved = (self.frame, self.source, self.node, self.loop)
        self.call_sites.append(self.location())
        self.call_ranges.append((macro.name, self.here()))
        self.frame, self.source, self.loop = frame, source, None
        try:
            self.run(source.tree.body)
        except ReturnValue as result:
            return result.value
        finally:
            self.frame, self.source, self.node, self.loop = saved
            self.call_sites.pop()
            self.call_ranges.pop()
        return None


def run_with_loop(tracer: Statements, loop: LoopContext, body: Callable[[], None]) -> None:
    """Runs ``body`` as the body of ``loop``; a continue decided while tracing ends it."""
    saved = tracer.loop
    tracer.loop = loop
    try:
        body()
    except ContinueLoop:
        pass
    finally:
        tracer.loop = saved


__all__ = ["_BINARY", "BreakLoop", "LoopContext", "ReturnValue", "Statements", "run_with_loop"]
