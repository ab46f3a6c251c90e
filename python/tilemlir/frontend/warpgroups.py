"""The explicit layer: code of warp groups, their registers, matrix products that the program waits for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NoReturn

from .._mlir import ir
from ..language.warpgroups import RoleFrame
from .barriers import ExplicitBarriers
from .errors import FrontendError
from .scopes import has_own
from .values import Buffer

#: Threads of a warp group.
GROUP = 128

_VIEWS = ("tile.subview", "tile.reshape", "tile.bitcast")


class WarpGroups(ExplicitBarriers):
    """Roles that the program names, and wgmma."""

    #: Warp groups of the T.ws block being traced, as (first, count).
    groups: tuple[int, int] | None = None
    groups_line = 0

    def threads_here(self) -> int:
        """Threads that run the code being traced together: of the block, or of the warp groups of T.ws."""
        return self.groups[1] * GROUP if self.groups else self._block_threads()

    def _block_threads(self) -> int:
        threads = 1
        for extent in self._current("a number of threads").thread_shape:
            threads *= extent
        return threads

    # Code of warp groups.

    def warp_groups(self, groups: Sequence[Any]) -> RoleFrame:
        """``T.ws(...)``, before it is entered."""
        self.require_kernel("T.ws")
        self.require_no_parallel("T.ws")
        threads = self._block_threads()
        if self.groups is not None:
            self.fail(
                "warp-groups",
                "T.ws blocks cannot be nested",
                found=f"the T.ws block that begins at line {self.groups_line}",
                fix="name all groups in one T.ws, or write the blocks one after the other",
            )
        if threads % GROUP:
            self.fail(
                "warp-groups",
                "T.ws names warp groups of 128 threads",
                found=f"a kernel of {threads} threads",
                allowed="threads= a multiple of 128, which counts all groups",
            )
        if len(groups) == 1 and isinstance(groups[0], (list, tuple)):
            groups = groups[0]
        available = threads // GROUP
        for group in groups or (None,):
            if isinstance(group, bool) or not isinstance(group, int) or not 0 <= group < available:
                self.fail(
                    "warp-groups",
                    "T.ws takes numbers of warp groups of the block, as compile-time integers",
                    found="no number" if group is None else self.describe(group),
                    allowed=f"0 to {available - 1} in a kernel of {threads} threads" if available > 1
                    else f"0 in a kernel of {threads} threads",
                )  # fmt: skip
        ordered = sorted(groups)
        if ordered != list(range(ordered[0], ordered[0] + len(ordered))):
            self.fail(
                "warp-groups",
                "the groups of one T.ws are consecutive",
                found=f"T.ws({', '.join(str(group) for group in groups)})",
                fix="write a @T.macro with the code, and call it in a T.ws of each group",
            )
        return RoleFrame(ordered[0], len(ordered), f"T.ws({', '.join(str(group) for group in ordered)})")

    def run_role(self, node: ast.With, frame: RoleFrame) -> None:
        """The body of a ``with T.ws(...)``."""
        item = node.items[0]
        if item.optional_vars is not None:
            self.node = item.optional_vars
            self.fail("syntax", "with T.ws(...) gives nothing to name", found=ast.unparse(item.optional_vars))
        if has_own((ast.Break, ast.Continue), node.body):
            self.node = next(part for part in ast.walk(node) if isinstance(part, (ast.Break, ast.Continue)))
            self.fail(
                "control-flow",
                f"{type(self.node).__name__.lower()} in a T.ws block cannot leave a loop around it, "
                "which all groups run",
                fix="put the loop into the T.ws block",
            )
        self.node = item.context_expr
        self.use_explicit("T.ws")
        self.promote_role_names(node)
        first, count = frame.first, frame.count
        attributes: dict[str, ir.Attribute] = {
            "roles": self.attribute(f"[#tile.role<user, first = {4 * first}, warps = {4 * count}>]")
        }
        operation = self.emit("tile.warp_specialize", (), (), attributes, regions=1)
        self._current("T.ws").explicit.roles.append((operation.operation, (first, count)))
        block = self.add_block(operation)
        self.groups, self.groups_line = (first, count), node.lineno
        try:
            self.run_region(node, block)
        finally:
            self.groups = None

    def promote_role_names(self, node: ast.With) -> None:
        """Turns outer scalars that the block rebinds into variables."""
        raise NotImplementedError

    def run_region(self, node: ast.With, block: ir.Block) -> None:
        """Traces the statements of the block."""
        raise NotImplementedError

    # Registers.

    def set_max_registers(self, count: Any, increase: Any, what: str) -> None:
        """``T.set_max_nreg``."""
        self.use_explicit(what)
        self._check_registers(count, what)
        if increase not in (0, 1):
            self.fail("argument", f"is_inc of {what} is 0 or 1", found=self.describe(increase))
        if self._block_threads() % GROUP:
            self.fail(
                "warp-groups",
                f"{what} changes the registers of whole warp groups",
                found=f"a kernel of {self._block_threads()} threads",
                allowed="threads= a multiple of 128",
            )
        if self._current(what).explicit.kept_registers:
            return
        attributes: dict[str, ir.Attribute] = {"count": self.integer(count)}
        if increase:
            attributes["increase"] = self._unit
        self.emit("tile.set_max_registers", (), (), attributes)

    def _check_registers(self, count: Any, what: str) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count % 8 or not 24 <= count <= 256:
            self.fail(
                "argument",
                f"the registers of {what} are a compile-time integer",
                found=self.describe(count),
                allowed="a multiple of 8 from 24 to 256",
            )

    def role_registers(self, role: str, count: Any, what: str) -> None:
        """Registers of the roles that the compiler makes."""
        state = self._current(what)
        self._check_registers(count, what)
        state.explicit.registers[role] = count

    def keep_registers(self, what: str) -> None:
        """``T.no_set_max_nreg``: also for calls that were traced before it."""
        state = self._current(what)
        state.explicit.kept_registers = True

    # Matrix products.

    def wgmma_gemm(
        self, a: Any, b: Any, c: Any, transpose_a: Any, transpose_b: Any, policy: Any, clear_accum: Any
    ) -> None:
        """``T.wgmma_gemm``."""
        what = "T.wgmma_gemm"
        self.use_explicit(what)
        (left, right, out), attributes = self.gemm_parts(a, b, c, transpose_a, transpose_b, policy, clear_accum, what)
        self._check_wgmma(left, right, out, bool(transpose_a), bool(transpose_b))
        self.emit("tile.gemm_async", (), [left.value, right.value, out.value], attributes)

    def _check_wgmma(self, a: Buffer, b: Buffer, c: Buffer, transpose_a: bool, transpose_b: bool) -> None:
        def refuse(message: str, found: str, allowed: str = "", fix: str = "") -> NoReturn:
            self.fail("gemm-operands", message, found=found, allowed=allowed, fix=fix)

        if self.threads_here() % GROUP:
            refuse("T.wgmma_gemm is done by whole warp groups", f"{self.threads_here()} threads", "a multiple of 128")
        if a.scope() not in ("shared", "fragment"):
            refuse("A of T.wgmma_gemm is in shared memory or a fragment", a.describe())
        if b.scope() != "shared":
            refuse("B of T.wgmma_gemm is in shared memory", b.describe(), fix="copy it to a T.alloc_shared buffer")
        if c.scope() != "fragment":
            refuse("C of T.wgmma_gemm is a fragment", c.describe(), fix="allocate it with T.alloc_fragment")
        m, n = (int(extent) for extent in c.shape[-2:])
        k = int(a.shape[-2] if transpose_a else a.shape[-1])
        if m % 64 or n % 8:
            refuse(
                "T.wgmma_gemm makes tiles of 64 rows and of columns in steps of 8",
                f"C {m}x{n} ({c.name})",
                "M a multiple of 64, N a multiple of 8",
            )
        if a.dtype.name not in ("float16", "bfloat16") and a.dtype.bits != 8:
            refuse(
                "T.wgmma_gemm does not multiply this element type",
                f"A {a.dtype}, B {b.dtype}",
                "float16, bfloat16, 8-bit floats and integers",
                "T.gemm rounds float32 to tf32 first" if a.dtype.name in ("float32", "tfloat32") else "",
            )
        step = 32 // a.dtype.bytes
        if k % step:
            refuse(f"K of T.wgmma_gemm of {a.dtype} comes in steps of {step}", f"K = {k}", f"a multiple of {step}")
        if a.dtype.bits != 16:
            wrong = []
            if transpose_a and a.scope() == "shared":
                wrong.append("A with transpose_A")
            if not transpose_b:
                wrong.append("B without transpose_B")
            if wrong:
                refuse(
                    f"wgmma of {a.dtype} reads operands along K only",
                    " and ".join(wrong),
                    "A M x K, B N x K with transpose_B=True",
                )

    def wgmma_wait(self, count: Any, what: str) -> None:
        """``T.wait_wgmma``; the fragments that it makes usable are found when the kernel is traced."""
        self.use_explicit(what)
        self._current(what).explicit.waits += 1
        self.emit("tile.mma_wait", (), (), {"pending": self._group_count(count, what)})

    def wgmma_instruction(self, text: str, what: str) -> None:
        """An instruction of wgmma that has no operands."""
        self.use_explicit(what)
        self.emit("tile.ptx", (), (), {"text": self.string(text)})

    def wgmma_commit(self) -> None:
        """``T.warpgroup_commit_batch``."""
        self.wgmma_instruction("wgmma.commit_group.sync.aligned;", "T.warpgroup_commit_batch")

    # The end of a kernel.

    def finish_kernel(self, kernel: ir.Operation) -> None:
        """Checks and completes what can be judged only when the whole kernel is known."""
        state = self._current("a kernel").explicit
        if state.kept_registers:
            for operation in _find(kernel, "tile.set_max_registers"):
                operation.erase()
        registers = [0, 0] if state.kept_registers else [state.registers.get(role, -1) for role in _ROLES]
        if registers != [-1, -1]:
            kernel.attributes["tile.role_registers"] = self.integers(registers)
        if state.roles:
            self._check_shared_fragments(kernel, state.roles)
        if not state.used:
            return
        kernel.attributes["tile.explicit"] = self._unit
        products = _Products(kernel)
        for product in products.never_awaited():
            self._fail_at(
                product,
                "barrier",
                "this product is never waited for",
                found="T.wgmma_gemm without a T.wait_wgmma behind it in the same code",
                fix="T.wait_wgmma(0) before C is used",
            )
        for wait, fragments in [(wait, products.fragments(wait)) for wait in products.waits]:
            if fragments:
                ir.Operation.create(
                    "tile.mma_wait", operands=fragments, attributes={"pending": wait.attributes["pending"]},
                    loc=wait.location, ip=ir.InsertionPoint(wait),
                )  # fmt: skip
                wait.erase()

    def _fail_at(self, operation: ir.Operation, code: str, message: str, **parts: str) -> NoReturn:
        from .tracer import range_of_location

        raise FrontendError(code, message, location=range_of_location(operation.location), **parts)

    def _check_shared_fragments(self, kernel: ir.Operation, roles: list[tuple[ir.Operation, tuple[int, int]]]) -> None:
        """A fragment is spread over the threads that use it: the block, or the groups of one T.ws."""

        def place_of(operation: ir.Operation) -> tuple[int, int] | None:
            while operation.name != "tile.kernel":
                if operation.name == "tile.warp_specialize":
                    return next(groups for role, groups in roles if role == operation)
                operation = operation.parent.operation
            return None

        for alloc in _find(kernel, "tile.alloc"):
            if not _is_fragment(alloc.results[0]):
                continue
            first: ir.Operation | None = None
            for user in _users(alloc.results[0]):
                if first is None:
                    first = user
                elif place_of(user) != place_of(first):
                    name = ir.StringAttr(alloc.attributes["name"]).value
                    error_places = [_place_text(place_of(operation)) for operation in (first, user)]
                    self._fail_shared(first, user, name, error_places)

    def _fail_shared(self, first: ir.Operation, second: ir.Operation, name: str, places: list[str]) -> NoReturn:
        from .tracer import range_of_location

        error = FrontendError(
            "warp-groups",
            f"the fragment {name} belongs to the threads that use it, and they differ",
            found=f"{places[1]} here, {places[0]} before",
            fix="use a fragment in T.ws blocks of the same groups only; shared memory passes tiles between groups",
            location=range_of_location(second.location),
        )
        error.add_note_at("the other use", range_of_location(first.location))
        raise error


_ROLES = ("producer", "consumer")


def _place_text(groups: tuple[int, int] | None) -> str:
    if groups is None:
        return "all threads"
    return f"T.ws({', '.join(str(group) for group in range(groups[0], groups[0] + groups[1]))})"


def _is_fragment(value: ir.Value) -> bool:
    # No layouts yet: the space is the end of the text.
    return str(value.type).endswith("fragment>")


def _find(operation: ir.Operation, name: str) -> list[ir.Operation]:
    """All operations of a name in an operation, in order."""
    return [inner for inner in _program(operation) if inner.name == name]


def _program(operation: ir.Operation) -> list[ir.Operation]:
    result = []
    for region in operation.regions:
        for block in region:
            for inner in block.operations:
                result.append(inner.operation)
                result += _program(inner.operation)
    return result


def _users(value: ir.Value) -> list[ir.Operation]:
    """Operations that use a buffer or a view of it, in program order as far as uses are listed."""
    result = []
    for use in reversed(list(value.uses)):
        operation = use.owner.operation
        if operation.name in _VIEWS:
            result += _users(operation.results[0])
        elif operation.name != "tile.annotate_layout":
            result.append(operation)
    return result


class _Products:
    """Which products a wait covers: groups complete in order, each product is one group."""

    def __init__(self, kernel: ir.Operation) -> None:
        #: Products and waits in program order, with the loops and the role around each.
        self.steps: list[tuple[ir.Operation, tuple[ir.Operation, ...], ir.Operation | None]] = []
        self._visit(kernel, (), None)
        self.waits = [step[0] for step in self.steps if step[0].name == "tile.mma_wait"]

    def _visit(self, operation: ir.Operation, loops: tuple[ir.Operation, ...], role: ir.Operation | None) -> None:
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    step = inner.operation
                    if step.name in ("tile.gemm_async", "tile.mma_wait"):
                        self.steps.append((step, loops, role))
                    inside = loops
                    if step.name in ("scf.for", "scf.while", "tile.pipelined"):
                        inside = (*loops, step)
                    self._visit(step, inside, step if step.name == "tile.warp_specialize" else role)

    @staticmethod
    def _same_threads(left: ir.Operation | None, right: ir.Operation | None) -> bool:
        if left is None or right is None:
            return True
        return bool(left.attributes["roles"] == right.attributes["roles"])

    def _reachable(self, position: int) -> list[int]:
        """Positions of products of the same threads that may have been started before this step."""
        _, loops, role = self.steps[position]
        found = []
        for other, (step, other_loops, other_role) in enumerate(self.steps):
            if step.name != "tile.gemm_async" or not self._same_threads(role, other_role):
                continue
            common = [a for a, b in zip(loops, other_loops, strict=False) if a == b]
            if other < position or common:
                found.append(other)
        return found

    def never_awaited(self) -> list[ir.Operation]:
        """Products that no wait of the same threads may follow."""
        awaited: set[int] = set()
        for position, (step, _, _) in enumerate(self.steps):
            if step.name == "tile.mma_wait":
                awaited |= set(self._reachable(position))
        return [
            step
            for position, (step, _, _) in enumerate(self.steps)
            if step.name == "tile.gemm_async" and position not in awaited
        ]

    def fragments(self, wait: ir.Operation) -> list[ir.Value]:
        """The fragments that may be used behind a wait: those of no product that may still be in flight."""
        position = next(i for i, step in enumerate(self.steps) if step[0] == wait)
        pending = ir.IntegerAttr(wait.attributes["pending"]).value
        in_flight = self._last(position, pending)
        flying = [value for i in in_flight for value in self._operands(self.steps[i][0])]
        result: list[ir.Value] = []
        for i in self._reachable(position):
            for value in self._operands(self.steps[i][0]):
                if value not in flying and value not in result:
                    result.append(value)
        return result

    def _last(self, position: int, count: int) -> set[int]:
        """The last ``count`` products before a step, along every way through the loops."""
        found: set[int] = set()
        _, _, role = self.steps[position]
        seen: set[tuple[int, int]] = set()
        pending = [(place, count) for place in self._before(position)]
        while pending:
            place, left = pending.pop()
            if left == 0 or (place, left) in seen:
                continue
            seen.add((place, left))
            step, _, other_role = self.steps[place]
            if step.name == "tile.gemm_async" and self._same_threads(role, other_role):
                found.add(place)
                left -= 1
            pending += [(earlier, left) for earlier in self._before(place)]
        return found

    def _before(self, position: int) -> set[int]:
        """Steps that may come directly before a step."""
        result = set()
        _, loops, _ = self.steps[position]
        if position:
            result.add(position - 1)
        for loop in loops:
            inside = [i for i, (_, around, _) in enumerate(self.steps) if loop in around]
            if inside[0] == position:
                result.add(inside[-1])
        return result

    @staticmethod
    def _operands(product: ir.Operation) -> list[ir.Value]:
        """Fragments that a product reads or writes, as they were allocated."""
        result = []
        for operand in product.operands:
            if _is_fragment(operand):
                while operand.owner.operation.name in _VIEWS:
                    operand = operand.owner.operation.operands[0]
                result.append(operand)
        return result


__all__ = ["GROUP", "WarpGroups"]
