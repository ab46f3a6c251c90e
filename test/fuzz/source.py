"""Prints a described program as the Python text of a tilemlir kernel."""

from __future__ import annotations

import textwrap

from fuzz.program import (
    Assign,
    Atomic,
    Binary,
    Cast,
    Compare,
    Const,
    Copy,
    Dim,
    Expr,
    Fill,
    Gemm,
    Guard,
    If,
    Kernel,
    Load,
    Logic,
    Loop,
    Parallel,
    Persistent,
    Program,
    Reduce,
    Region,
    Scan,
    Select,
    Size,
    Tensor,
    TileAtomic,
    Transpose,
    Unary,
    Var,
    walk,
)

_FUNCTIONS = {"min": "T.min", "max": "T.max"}


def expression(expr: Expr) -> str:
    """The text of an expression, with parentheses around every operation."""
    if isinstance(expr, Const):
        return repr(expr.value) if expr.type is None else f'T.cast({expr.value!r}, "{expr.type}")'
    if isinstance(expr, Var):
        return expr.name
    if isinstance(expr, Load):
        return f"{expr.name}[{', '.join(bare(index) for index in expr.indices)}]"
    if isinstance(expr, Binary) and expr.op in _FUNCTIONS:
        return f"{_FUNCTIONS[expr.op]}({bare(expr.left)}, {bare(expr.right)})"
    if isinstance(expr, (Binary, Compare)):
        return f"({expression(expr.left)} {expr.op} {expression(expr.right)})"
    if isinstance(expr, Logic):
        return f"({expression(expr.left)} {expr.op} {expression(expr.right)})"
    if isinstance(expr, Unary):
        if expr.op in "-":
            return f"(-{expression(expr.operand)})"
        if expr.op == "not":
            return f"(not {expression(expr.operand)})"
        return f"T.{expr.op}({bare(expr.operand)})"
    if isinstance(expr, Cast):
        return f'T.cast({bare(expr.operand)}, "{expr.dtype}")'
    assert isinstance(expr, Select)
    parts = [expression(part) for part in (expr.condition, expr.then, expr.otherwise)]
    if expr.ternary:
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    return f"T.if_then_else({', '.join(parts)})"


def bare(expr: Expr) -> str:
    """The text of an expression without the outermost parentheses."""
    text = expression(expr)
    if isinstance(expr, (Binary, Compare, Logic)) and text.startswith("("):
        return text[1:-1]
    return text


def _size(size: Size) -> str:
    return size.name if isinstance(size, Dim) else str(size)


def _extent(extent: object) -> str:
    if isinstance(extent, tuple):
        return f"T.ceildiv({_size(extent[0])}, {extent[1]})"
    return _size(extent)


def _shape(shape: tuple[Size, ...]) -> str:
    return "(" + ", ".join(_size(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"


def region(part: Region) -> str:
    """One side of a copy."""
    if part.form == "whole":
        return part.name
    if part.form == "element":
        return f"{part.name}[{', '.join(bare(offset) for offset in part.offsets)}]"
    places = []
    for offset, extent in zip(part.offsets, part.extents, strict=True):
        if extent is None:
            places.append(bare(offset))
        elif isinstance(offset, Const):
            places.append(f"{offset.value}:{offset.value + extent}")
        else:
            places.append(f"{bare(offset)} : {bare(offset)} + {extent}")
    return f"{part.name}[{', '.join(places)}]"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines] or ["    pass"]


def _elementwise(statement: object) -> list[str]:
    if isinstance(statement, Assign):
        return [f"{expression(statement.target)} {statement.op}= {bare(statement.value)}"]
    if isinstance(statement, Atomic):
        return [f"T.atomic_{statement.op}({expression(statement.target)}, {bare(statement.value)})"]
    assert isinstance(statement, Guard)
    return _branches(statement.condition, statement.then, statement.otherwise, _elementwise)


def _branches(condition: Expr, then: tuple, otherwise: tuple, print_one: object) -> list[str]:
    lines = [f"if {bare(condition)}:", *_indented([line for one in then for line in print_one(one)])]
    if otherwise:
        lines += ["else:", *_indented([line for one in otherwise for line in print_one(one)])]
    return lines


def statement_lines(statement: object) -> list[str]:
    """The lines of a statement."""
    if isinstance(statement, Copy):
        return [f"T.copy({region(statement.source)}, {region(statement.dest)})"]
    if isinstance(statement, Fill):
        return [f"T.fill({statement.name}, {statement.value!r})" if statement.value else f"T.clear({statement.name})"]
    if isinstance(statement, Gemm):
        options = [f"transpose_{side}=True" for side, on in (("A", statement.transpose_a), ("B", statement.transpose_b)) if on]  # noqa: E501  # fmt: skip
        options += [f"policy=T.GemmWarpPolicy.{statement.policy}"] if statement.policy != "Square" else []
        options += ["clear_accum=True"] if statement.clear else []
        options += ['precision="ieee"'] if statement.precision == "ieee" else []
        return [f"T.gemm({', '.join([statement.a, statement.b, statement.c, *options])})"]
    if isinstance(statement, Parallel):
        extents = ", ".join(map(str, statement.extents))
        body = [line for one in statement.body for line in _elementwise(one)]
        return [f"for {', '.join(statement.names)} in T.Parallel({extents}):", *_indented(body)]
    if isinstance(statement, Reduce):
        tail = "" if statement.clear else ", clear=False"
        return [f"T.reduce_{statement.kind}({statement.source}, {statement.dest}, dim={statement.dim}{tail})"]
    if isinstance(statement, Scan):
        dest = "" if statement.dest is None else f", {statement.dest}"
        tail = ", reverse=True" if statement.reverse else ""
        return [f"T.cum{statement.kind}({statement.source}{dest}, dim={statement.dim}{tail})"]
    if isinstance(statement, Transpose):
        return [f"T.transpose({statement.source}, {statement.dest})"]
    if isinstance(statement, TileAtomic):
        return [f"T.atomic_{statement.op}({region(statement.dest)}, {statement.source})"]
    if isinstance(statement, If):
        return _branches(statement.condition, statement.then, statement.otherwise, statement_lines)
    body = [line for one in statement.body for line in statement_lines(one)]
    if isinstance(statement, Persistent):
        domain = ", ".join(map(str, statement.domain))
        head = f"T.Persistent([{domain}], {statement.workers}, {statement.index}, group_size={statement.group})"
        return [f"for {', '.join(statement.names)} in {head}:", *_indented(body)]
    assert isinstance(statement, Loop)
    bounds = f"{statement.start}, {bare(statement.stop)}" if statement.start else bare(statement.stop)
    if statement.kind == "pipelined":
        head = f"T.Pipelined({bounds}, num_stages={statement.stages})"
    else:
        head = f"T.{statement.kind}({bounds})"
    return [f"for {statement.name} in {head}:", *_indented(body)]


def kernel_lines(kernel: Kernel) -> list[str]:
    """The ``with T.Kernel`` block of a kernel."""
    names = kernel.names[0] if len(kernel.names) == 1 else f"({', '.join(kernel.names)})"
    lines = [f"T.use_swizzle({kernel.swizzle})"] if kernel.swizzle else []
    for buffer in kernel.buffers:
        lines.append(f'{buffer.name} = T.alloc_{buffer.space}({_shape(buffer.shape)}, "{buffer.dtype}")')
    for statement in kernel.body:
        lines += statement_lines(statement)
    grid = ", ".join(_extent(extent) for extent in kernel.grid)
    options = f"threads={kernel.threads}"
    if kernel.clusters:
        options += f", cluster_dims={_shape(kernel.clusters)}"
    return [f"with T.Kernel({grid}, {options}) as {names}:", *_indented(lines)]


def _declaration(tensor: Tensor) -> str:
    if tensor.strides is None:
        return f'{tensor.name}: T.Tensor({_shape(tensor.shape)}, "{tensor.dtype}")'
    names = ", ".join(stride_names(tensor)) + ("," if len(tensor.shape) == 1 else "")
    return f'{tensor.name}: T.StridedTensor({_shape(tensor.shape)}, ({names}), "{tensor.dtype}")'


def stride_names(tensor: Tensor) -> list[str]:
    """Names of the launch-time strides of a tensor."""
    return [f"{tensor.name}_s{axis}" for axis in range(len(tensor.shape))]


def source(program: Program) -> str:
    """The module text: imports, launch-time sizes, and one function ``kernel``."""
    dims = sorted({node.name for node in walk(program) if isinstance(node, Dim)})
    names = [*dims, *(name for tensor in program.tensors if tensor.strides for name in stride_names(tensor))]
    lines = ["import tilemlir.language as T", ""]
    lines += [f'{name} = T.dynamic("{name}")' for name in names]
    arguments = [_declaration(tensor) for tensor in program.tensors if not tensor.workspace]
    arguments += [f"{scalar.name}: T.{scalar.dtype}" for scalar in program.scalars]
    lines += ["", "", "@T.prim_func", "def kernel("]
    lines += [f"    {argument}," for argument in arguments]
    lines += ["):"]
    body = [f'{one.name} = T.alloc_global({_shape(one.shape)}, "{one.dtype}")' for one in program.tensors if one.workspace]  # noqa: E501  # fmt: skip
    for kernel in program.kernels:
        body += kernel_lines(kernel)
    return "\n".join(lines) + "\n" + textwrap.indent("\n".join(body), "    ") + "\n"
