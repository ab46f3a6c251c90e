"""PTX text to typed instructions.

Reads the subset of PTX that compilers emit for kernels: declarations, labels, guarded instructions, scopes of inline
assembly with registers and labels of their own, vectors, addresses, calls, `.loc`/`.file` lines. What an instruction
means is not known here; see `instructions.py`. Grammar: PTX ISA, sections "Syntax" and "State Spaces, Types, and
Variables".
"""

from __future__ import annotations

import bisect
import re
import struct
from dataclasses import dataclass, field

__all__ = [
    "Address",
    "Function",
    "Immediate",
    "Instruction",
    "Location",
    "Module",
    "Negated",
    "Operand",
    "Pair",
    "PtxSyntaxError",
    "Register",
    "Sink",
    "Special",
    "Symbol",
    "Variable",
    "Vector",
    "parse",
]

#: Bits of a register by its declared type.
REGISTER_BITS = {
    "pred": 1,
    **{f"{kind}8": 8 for kind in "bsu"},
    **{f"{kind}{bits}": bits for kind in "bsuf" for bits in (16, 32, 64)},
    "f16x2": 32,
    "bf16": 16,
    "bf16x2": 32,
    "b128": 128,
}

_SPECIAL_PREFIXES = (
    "tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid",
    "cluster_ctarank", "cluster_nctarank", "is_explicit_cluster", "lanemask_eq", "lanemask_lt", "lanemask_le",
    "lanemask_gt", "lanemask_ge", "dynamic_smem_size", "total_smem_size", "aggr_smem_size",
)  # fmt: skip


class PtxSyntaxError(ValueError):
    """PTX text that this parser does not understand; the message has its line number."""


@dataclass(frozen=True)
class Register:
    """A register by class (bits: 1 for predicates) and number within the class."""

    bits: int
    index: int
    name: str = field(compare=False)


@dataclass(frozen=True)
class Immediate:
    """A constant: an integer, or the bits of a float (`0f3F800000`, `0d...`)."""

    value: int | float


@dataclass(frozen=True)
class Special:
    """A special register without its percent sign, such as `tid.x`."""

    name: str


@dataclass(frozen=True)
class Symbol:
    """The name of a variable, a function or a label."""

    name: str


@dataclass(frozen=True)
class Sink:
    """The operand `_`."""


@dataclass(frozen=True)
class Vector:
    """Operands in braces (or, in calls, in parentheses)."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Negated:
    """`!p` as an operand."""

    register: Register


@dataclass(frozen=True)
class Pair:
    """`d|p`: a result and a predicate."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Address:
    """`[base + offset]`, or `[map, {x, y}]` with further parts in `rest`."""

    base: Operand
    offset: int = 0
    rest: tuple[Operand, ...] = ()


Operand = Register | Immediate | Special | Symbol | Sink | Vector | Negated | Pair | Address


@dataclass(frozen=True)
class Location:
    """A place in the user's source: file, line and column; file is empty when unknown."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "unknown line"


@dataclass
class Instruction:
    """One instruction.

    Attributes:
        opcode: first word of the mnemonic, such as `cp`.
        modifiers: its other words in order, such as `("async", "bulk")`.
        operands: operands in order.
        guard: register of `@p`, or None.
        guard_negated: True for `@!p`.
        line: line of the PTX text, from 1.
        location: of the user's program.
        target: for branches, index of the instruction to go to.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    guard_negated: bool
    line: int
    location: Location
    target: int = -1

    @property
    def name(self) -> str:
        """The whole mnemonic."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass
class Variable:
    """A variable in a state space.

    Attributes:
        name: as in the text.
        space: `global`, `const`, `shared`, `local` or `param`.
        size: bytes; 0 for arrays of open size.
        align: bytes.
        data: initial contents, or None.
        references: byte offset to name and addend, for initialisers that hold addresses.
    """

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    references: dict[int, str] = field(default_factory=dict)


@dataclass
class Function:
    """A kernel.

    Attributes:
        name: of the entry.
        parameters: in order.
        variables: shared and local variables declared inside.
        instructions: the body; branches hold indices of it.
        registers: number of registers by bits of the class.
        directives: performance directives such as `reqntid` with their numbers.
    """

    name: str
    parameters: list[Variable]
    variables: list[Variable] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    registers: dict[int, int] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass
class Module:
    """Everything in a PTX text: its target, variables and kernels by name."""

    target: str
    version: str
    variables: list[Variable]
    functions: dict[str, Function]


_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}"
    r"|0[xX][0-9A-Fa-f]+U?|\d+\.\d+|\d+U?"
    r"|\.?[%$A-Za-z_](?:[\w$.%]|::)*"
    r"|[{}\[\](),;:@!|<>=+\-*]"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _number(token: str) -> int | float | None:
    """Value of a token, if it is a number."""
    head = token[:2]
    if head in ("0f", "0F") and len(token) == 10:
        return float(struct.unpack("<f", struct.pack("<I", int(token[2:], 16)))[0])
    if head in ("0d", "0D") and len(token) == 18:
        return float(struct.unpack("<d", struct.pack("<Q", int(token[2:], 16)))[0])
    if not token[0].isdigit():
        return None
    if "." in token:
        return float(token)
    text = token.rstrip("U")
    if head in ("0x", "0X"):
        return int(text, 16)
    # PTX ISA, "Integer Constants": a leading zero means octal.
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)


class _Parser:
    def __init__(self, text: str) -> None:
        text = _COMMENT.sub(_blank, text)
        starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.tokens: list[str] = []
        self.lines: list[int] = []
        for match in _TOKEN.finditer(text):
            self.tokens.append(match[0])
            self.lines.append(bisect.bisect_right(starts, match.start()))
        self.tokens.append("")
        self.lines.append(len(starts))
        self.at = 0
        self.files: dict[int, str] = {}
        self.module = Module("", "", [], {})

    # Tokens ----------------------------------------------------------------------------------------------------------

    def fail(self, what: str) -> PtxSyntaxError:
        near = " ".join(self.tokens[self.at : self.at + 6])
        return PtxSyntaxError(f"PTX line {self.lines[self.at]}: {what} near '{near}'")

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            raise self.fail(f"expected '{token}'")
        self.at += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def integer(self) -> int:
        negative = self.accept("-")
        value = _number(self.next())
        if not isinstance(value, int):
            raise self.fail("expected an integer")
        return -value if negative else value

    def skip_to(self, token: str) -> None:
        while self.tokens[self.at] != token:
            if self.tokens[self.at] == "":
                raise self.fail(f"no '{token}' before the end")
            self.at += 1
        self.at += 1

    def skip_braces(self) -> None:
        self.expect("{")
        depth = 1
        while depth:
            token = self.next()
            if token == "":
                raise self.fail("no '}' before the end")
            depth += (token == "{") - (token == "}")

    # Module level ----------------------------------------------------------------------------------------------------

    def run(self) -> Module:
        # `.file` directives stand behind the code in LLVM's output.
        for i, token in enumerate(self.tokens):
            if token == ".file":
                number = _number(self.tokens[i + 1])
                self.files[int(number or 0)] = self.tokens[i + 2].strip('"')
        while self.tokens[self.at]:
            token = self.next()
            if token == ".version":
                self.module.version = self.next()
            elif token == ".target":
                self.module.target = self.next()
                while self.accept(","):
                    self.next()
            elif token == ".address_size":
                self.next()
            elif token == ".file":
                self.at += 2
                while self.accept(","):
                    self.next()
            elif token == ".section":
                self.next()
                self.skip_braces()
            elif token in (".visible", ".extern", ".weak", ".common"):
                continue
            elif token == ".entry":
                self.entry()
            elif token == ".func":
                self.function_declaration()
            elif token in (".global", ".const", ".shared"):
                self.at -= 1
                self.module.variables.append(self.variable())
            elif token == ".pragma":
                self.skip_to(";")
            elif token == ";":
                continue
            else:
                self.at -= 1
                raise self.fail("unknown directive")
        return self.module

    def function_declaration(self) -> None:
        """Declarations of functions that the driver provides (vprintf, __assertfail); bodies are not supported."""
        while self.tokens[self.at] not in (";", "{", ""):
            self.at += 1
        if self.tokens[self.at] != ";":
            raise self.fail("device functions are not supported")
        self.at += 1

    def variable(self) -> Variable:
        """`.space .align N .type name[size] = {...};` (the terminator is consumed)."""
        space = self.next()[1:]
        align, type_bytes = 0, 0
        while self.tokens[self.at].startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = self.integer()
            elif word == "attribute":
                self.skip_to(")")
            elif word in REGISTER_BITS:
                type_bytes = REGISTER_BITS[word] // 8
            elif word in ("v2", "v4"):
                type_bytes = -int(word[1])
            elif word not in ("ptr", "global", "shared", "const", "local"):
                raise self.fail(f"unknown word '.{word}' of a variable")
        name = self.next()
        count = 1
        while self.accept("["):
            count *= 0 if self.tokens[self.at] == "]" else self.integer()
            self.expect("]")
        variable = Variable(name, space, type_bytes * count, align or type_bytes)
        if self.accept("="):
            self.initializer(variable, type_bytes)
        if space != "param" or self.tokens[self.at] == ";":
            self.expect(";")
        return variable

    def initializer(self, variable: Variable, type_bytes: int) -> None:
        values: list[int] = []
        braces = self.accept("{")
        while True:
            if self.accept("}"):
                break
            if self.tokens[self.at][0].isdigit() or self.tokens[self.at] == "-":
                values.append(self.integer())
            else:
                name = self.next()
                if self.accept("("):
                    name = self.next()
                    self.expect(")")
                variable.references[len(values) * type_bytes] = name
                values.append(0)
            if not braces:
                break
            self.accept(",")
        mask = (1 << 8 * type_bytes) - 1
        data = b"".join((value & mask).to_bytes(type_bytes, "little") for value in values)
        variable.data = data.ljust(variable.size, b"\0")

    def entry(self) -> None:
        function = Function(self.next(), [])
        if self.accept("("):
            while not self.accept(")"):
                if self.tokens[self.at] != ".param":
                    raise self.fail("expected a parameter")
                function.parameters.append(self.parameter())
                self.accept(",")
        while self.tokens[self.at].startswith("."):
            directive = self.next()[1:]
            numbers: list[int] = []
            while self.tokens[self.at][:1].isdigit():
                numbers.append(self.integer())
                self.accept(",")
            function.directives[directive] = tuple(numbers)
        self.module.functions[function.name] = function
        _Body(self, function).run()

    def parameter(self) -> Variable:
        self.next()
        align, size = 0, 0
        while self.tokens[self.at].startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = self.integer()
            elif word in REGISTER_BITS:
                size = max(1, REGISTER_BITS[word] // 8)
            elif word not in ("ptr", "global", "shared", "const", "local"):
                raise self.fail(f"unknown word '.{word}' of a parameter")
        name = self.next()
        pointer_align = align
        if self.accept("["):
            size *= self.integer()
            self.expect("]")
        else:
            pointer_align = size
        return Variable(name, "param", size, pointer_align or size)


class _Scope:
    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.registers: dict[str, Register] = {}
        self.ranges: dict[str, tuple[int, int, int]] = {}
        self.labels: dict[str, int] = {}

    def label(self, name: str) -> int | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.outer
        return None


_NUMBERED = re.compile(r"(.*?)(\d+)$")


class _Body:
    """The body of one function."""

    def __init__(self, parser: _Parser, function: Function) -> None:
        self.p = parser
        self.function = function
        self.scope = _Scope(None)
        self.location = Location("", 0)
        self.branches: list[tuple[Instruction, _Scope]] = []
        self.counts = function.registers

    def run(self) -> None:
        p = self.p
        p.expect("{")
        depth = 1
        while True:
            token = p.next()
            if token == "{":
                self.scope = _Scope(self.scope)
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    break
                assert self.scope.outer is not None
                self.scope = self.scope.outer
            elif token == ";":
                continue
            elif token == "":
                raise p.fail("the body does not end")
            elif token[0] == ".":
                self.directive(token)
            elif p.tokens[p.at] == ":":
                p.at += 1
                self.scope.labels[token] = len(self.function.instructions)
            else:
                p.at -= 1
                self.instruction()
        for instruction, scope in self.branches:
            operand = instruction.operands[0]
            assert isinstance(operand, Symbol)
            target = scope.label(operand.name)
            if target is None:
                raise PtxSyntaxError(f"PTX line {instruction.line}: no label '{operand.name}'")
            instruction.target = target

    def directive(self, token: str) -> None:
        p = self.p
        if token == ".reg":
            self.declare_registers()
        elif token == ".loc":
            file, line, column = p.integer(), p.integer(), p.integer()
            while p.accept(","):
                word = p.next()
                if word == "inlined_at":
                    p.at += 3
                else:  # function_name LABEL (+ offset)
                    p.next()
                    if p.accept("+"):
                        p.next()
            if line:
                self.location = Location(p.files.get(file, ""), line, column)
        elif token in (".shared", ".local"):
            p.at -= 1
            self.function.variables.append(p.variable())
        elif token == ".param":
            p.at -= 1
            variable = p.variable()
            self.function.variables.append(variable)
        elif token == ".pragma":
            p.skip_to(";")
        else:
            p.at -= 1
            raise p.fail("unknown directive")

    def new_registers(self, bits: int, count: int) -> int:
        first = self.counts.get(bits, 0)
        self.counts[bits] = first + count
        return first

    def declare_registers(self) -> None:
        p = self.p
        kind = p.next()[1:]
        if kind not in REGISTER_BITS:
            raise p.fail(f"unknown register type '.{kind}'")
        bits = REGISTER_BITS[kind]
        bits = 16 if bits == 8 else bits
        while True:
            name = p.next()
            if p.accept("<"):
                count = p.integer()
                p.expect(">")
                self.scope.ranges[name] = (bits, self.new_registers(bits, count), count)
            else:
                self.scope.registers[name] = Register(bits, self.new_registers(bits, 1), name)
            if not p.accept(","):
                break
        p.expect(";")

    def find_register(self, name: str) -> Register | None:
        scope: _Scope | None = self.scope
        split = _NUMBERED.match(name)
        while scope is not None:
            found = scope.registers.get(name)
            if found is None and split is not None and split[1] in scope.ranges:
                bits, first, count = scope.ranges[split[1]]
                if int(split[2]) < count:
                    found = scope.registers[name] = Register(bits, first + int(split[2]), name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def instruction(self) -> None:
        p = self.p
        line = p.lines[p.at]
        guard, negated = None, False
        if p.accept("@"):
            negated = p.accept("!")
            guard = self.find_register(p.next())
            if guard is None:
                raise p.fail("unknown guard")
        words = p.next().split(".")
        operands: list[Operand] = []
        while not p.accept(";"):
            operands.append(self.operand())
            if p.tokens[p.at] not in (",", ";"):
                raise p.fail("expected ',' or ';'")
            p.accept(",")
        made = Instruction(words[0], tuple(words[1:]), tuple(operands), guard, negated, line, self.location)
        if made.opcode == "bra":
            self.branches.append((made, self.scope))
        self.function.instructions.append(made)

    def operand(self) -> Operand:
        value = self.single()
        if self.p.accept("|"):
            return Pair(value, self.single())
        return value

    def single(self) -> Operand:
        p = self.p
        token = p.next()
        if token in ("{", "("):
            items: list[Operand] = []
            close = "}" if token == "{" else ")"
            while not p.accept(close):
                items.append(self.operand())
                p.accept(",")
            return Vector(tuple(items))
        if token == "[":
            base: Operand = self.single()
            offset = 0
            if isinstance(base, Address):  # symbol + offset
                offset, base = base.offset, base.base
            while p.tokens[p.at] in ("+", "-"):
                sign = 1 if p.next() == "+" else -1
                offset += sign * p.integer()
            rest: list[Operand] = []
            while p.accept(","):
                rest.append(self.operand())
            p.expect("]")
            return Address(base, offset, tuple(rest))
        if token == "!":
            register = self.find_register(p.next())
            if register is None:
                raise p.fail("unknown predicate")
            return Negated(register)
        if token == "-":
            number = _number(p.next())
            if number is None:
                raise p.fail("expected a number")
            return Immediate(-number)
        if token == "_":
            return Sink()
        number = _number(token)
        if number is not None:
            return Immediate(number)
        register = self.find_register(token)
        if register is not None:
            return register
        if token[0] == "%":
            name = token[1:]
            if name.split(".")[0] in _SPECIAL_PREFIXES:
                return Special(name)
            p.at -= 1
            raise p.fail("unknown register")
        name = token
        if p.accept("+"):  # symbol + offset
            return Address(Symbol(name), p.integer())
        return Symbol(name)


def parse(text: str) -> Module:
    """Parses PTX.

    Args:
        text: of a whole module.

    Raises:
        PtxSyntaxError: for what is not understood.
    """
    return _Parser(text).run()
