"""Random programs: what Python does with them, and what their traced form does on the plain interpreter."""

from __future__ import annotations

import linecache
import random
import textwrap

import numpy as np
import pytest
import tilemlir.language as T
from interpreter import interpret
from tilemlir.frontend import trace

pytestmark = pytest.mark.usefixtures("executor")

NAMES = ["x", "y", "z"]


class Generator:
    """Writes statements of the subset of Python that means the same in both worlds, on small integers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops: list[str] = []
        self.fresh = 0

    def expression(self, depth: int = 2) -> str:
        pick = self.random.randrange(10 if depth else 4)
        if pick == 0:
            return str(self.random.randint(-5, 9))
        if pick in (1, 2):
            return self.random.choice([*NAMES, *self.loops, "n"])
        if pick == 3:
            return f"A[{self.index()}]"
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        if pick in (4, 5):
            return f"({left} {self.random.choice('+-')} {right})"
        if pick == 6:
            return f"({left} * {right} % 31)"
        if pick == 7:
            return f"({left} {self.random.choice(['//', '%'])} {self.random.choice(['3', '-4', '(n * n + 1)'])})"
        if pick == 8:
            return f"({left} if {self.condition(depth - 1)} else {right})"
        return f"{self.random.choice(['min', 'max'])}({left}, {right})"

    def index(self) -> str:
        return f"{self.random.choice([*NAMES, *self.loops, str(self.random.randint(0, 7))])} % 8"

    def condition(self, depth: int = 2) -> str:
        pick = self.random.randrange(6 if depth else 3)
        left = self.expression(max(0, depth - 1))
        if pick < 3:
            return f"{left} {self.random.choice(['<', '<=', '>', '==', '!='])} {self.expression(0)}"
        if pick == 3:
            return f"{self.expression(0)} <= {left} < {self.expression(0)}"
        if pick == 4:
            return f"not ({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)})"

    def block(self, depth: int, in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            lines += self.statement(depth, in_loop)
        return lines

    def indented(self, depth: int, in_loop: bool) -> list[str]:
        return ["    " + line for line in self.block(depth, in_loop)]

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        pick = self.random.randrange(12 if depth else 6)
        name = self.random.choice(NAMES)
        if pick in (0, 1):
            return [f"{name} = {self.expression()} % 97"]
        if pick == 2:
            return [f"{name} {self.random.choice(['+=', '-='])} {self.expression(1)}", f"{name} %= 97"]
        if pick == 3:
            return [f"R[{self.index()}] = {self.expression()} % 97"]
        if pick == 4:
            first, second = self.random.sample(NAMES, 2)
            return [f"{first}, {second} = {second}, {first}"]
        if pick == 5:
            if in_loop and self.random.random() < 0.7:
                return [f"if {self.condition(1)}:", f"    {self.random.choice(['break', 'continue'])}"]
            return [f"R[{self.index()}] += {name}"]
        if pick in (6, 7):
            lines = [f"if {self.condition()}:", *self.indented(depth - 1, in_loop)]
            if self.random.random() < 0.4:
                lines += [f"elif {self.condition(1)}:", *self.indented(depth - 1, in_loop)]
            if self.random.random() < 0.6:
                lines += ["else:", *self.indented(depth - 1, in_loop)]
            return lines
        self.fresh += 1
        if pick in (8, 9):
            index = f"i{self.fresh}"
            bounds = self.random.choice(["3", "n", "1, 4", "5, 0, -2", "0, 6, 2"])
            self.loops.append(index)
            lines = [f"for {index} in range({bounds}):", *self.indented(depth - 1, True)]
            self.loops.pop()
            return lines
        if pick == 10:
            index = f"u{self.fresh}"
            self.loops.append(index)
            lines = [f"for {index} in [0, 2, 5]:", *self.indented(depth - 1, True)]
            self.loops.pop()
            return lines
        count = f"w{self.fresh}"
        return [
            f"{count} = 0",
            f"while {count} < 4 and {self.condition(1)}:",
            f"    {count} += 1",
            *self.indented(depth - 1, True),
        ]


def functions(seed: int):
    generator = Generator(seed)
    body = ["x, y, z = 1, 2, n", *generator.block(3, False), *generator.block(3, False), "R[0] += x + y * 2 + z * 3"]
    plain = "def plain(A, R, n):\n" + textwrap.indent("\n".join(body), "    ") + "\n"
    traced = (
        "def make(T):\n    @T.prim_func\n"
        '    def kernel(A: T.Tensor((8,), "int32"), R: T.Tensor((8,), "int32"), n: T.int32):\n'
        "        with T.Kernel(1) as bx:\n" + textwrap.indent("\n".join(body), " " * 12) + "\n    return kernel\n"
    )
    scope: dict = {}
    for name, source in (("plain", plain), ("traced", traced)):
        filename = f"<random program {seed} {name}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        exec(compile(source, filename, "exec"), scope)
    return scope["plain"], scope["make"](T), plain


@pytest.mark.parametrize("round_number", range(15))
def test_random_program(round_number):
    seed = random.SystemRandom().randrange(1 << 30)
    plain, kernel, source = functions(seed)
    traced = trace(kernel)
    for n in (0, 1, 3):
        inputs = np.random.default_rng(seed + n).integers(-9, 9, 8).astype(np.int32)
        expected = [0] * 8
        plain([int(value) for value in inputs], expected, n)
        result = np.zeros(8, np.int32)
        interpret(traced, inputs, result, n)
        assert list(result) == expected, f"seed {seed}, n = {n}:\n{source}"
