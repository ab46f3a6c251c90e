"""The profiler of one kernel: inputs from its launch plan, timing, checks against a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilemlir import errors
from tilemlir.interop import frameworks
from tilemlir.profiler.bench import Backend, ReturnMode, do_bench
from tilemlir.profiler.compare import assert_close, to_numpy
from tilemlir.profiler.supply import TensorSupplyType, make_tensor
from tilemlir.runtime.plan import Environment, shape_of

__all__ = ["Profiler"]


class Profiler:
    """Times and checks a kernel.

    Args:
        kernel: a callable with a `launch_plan`, such as `CompiledKernel` or `LoadedKernel`.
        supply_type: what generated inputs hold.
    """

    def __init__(self, kernel: Any, supply_type: TensorSupplyType = TensorSupplyType.Auto) -> None:
        self.kernel = kernel
        self.supply_type = supply_type

    @property
    def func(self) -> Callable[..., Any]:
        """The kernel."""
        return self.kernel  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the kernel."""
        return self.kernel(*args, **kwargs)

    def _device(self) -> str:
        return "cpu" if self.kernel.launch_plan["target"] == "cpu" else "cuda"

    def _arguments(self) -> list[tuple[int, Mapping[str, Any]]]:
        plan = self.kernel.launch_plan
        outputs = set(plan.get("outputs", ()))
        return [(i, argument) for i, argument in enumerate(plan["arguments"]) if i not in outputs]

    def make_inputs(self, dynamic_symbolic_constraints: Mapping[str, int] | None = None) -> list[Any]:
        """Fresh input tensors.

        Args:
            dynamic_symbolic_constraints: values of the kernel's dynamic sizes and scalars by name.

        Raises:
            TileValueError: when a size or a scalar has no value.
        """
        plan = self.kernel.launch_plan
        given = dict(dynamic_symbolic_constraints or {})
        names = [argument["name"] for argument in plan["arguments"]]
        scalars = {
            index: given[name] for index, name in enumerate(names) if name in given and isinstance(given[name], int)
        }
        environment = Environment(symbols=given, scalars=scalars, plan=plan)
        inputs: list[Any] = []
        for _, argument in self._arguments():
            if argument["kind"] != "tensor":
                if argument["name"] not in given:
                    raise errors.make("no-input-value", {"what": f"argument '{argument['name']}'"})
                inputs.append(given[argument["name"]])
                continue
            try:
                shape = shape_of(argument, environment)
            except KeyError as error:
                kind, *place = error.args[0]
                what = f"size '{plan['symbols'][place[0]]['name']}'" if kind == "symbol" else f"{kind} {place}"
                raise errors.make("no-input-value", {"what": what}) from None
            inputs.append(make_tensor(argument["dtype"], shape, self.supply_type, self._device()))
        return inputs

    def _inputs(self, input_tensors: Sequence[Any] | None, constraints: Mapping[str, int] | None = None) -> list[Any]:
        return self.make_inputs(constraints) if input_tensors is None else list(input_tensors)

    def _results(self, inputs: list[Any], returned: Any) -> list[tuple[str, Any]]:
        """Named results of a call of the kernel: its outputs, or what it wrote in place."""
        plan = self.kernel.launch_plan
        if plan.get("outputs"):
            values = returned if isinstance(returned, list) else [returned]
            return [
                (plan["arguments"][index]["name"], value) for index, value in zip(plan["outputs"], values, strict=True)
            ]
        written = [
            (argument["name"], value)
            for (_, argument), value in zip(self._arguments(), inputs, strict=True)
            if argument["kind"] == "tensor" and argument.get("access", "readwrite") != "read"
        ]
        return written

    def assert_allclose(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        atol: float = 1e-2,
        rtol: float = 1e-2,
        max_mismatched_ratio: float = 0.01,
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
    ) -> None:
        """Requires the kernel's results to agree with a reference on the same inputs.

        Args:
            reference_program: called with clones of the inputs; returns the outputs in order (one value, or a tuple or
                list), or None when it writes in place as the kernel does.
            input_tensors: the inputs; None makes fresh ones.
            atol, rtol, max_mismatched_ratio: see `assert_close`.
            dynamic_symbolic_constraints: see `make_inputs`.

        Raises:
            AssertionError: naming the result and its differences.
        """
        inputs = self._inputs(input_tensors, dynamic_symbolic_constraints)
        clones = [_clone(value) for value in inputs]
        expected = reference_program(*clones)
        results = self._results(inputs, self.kernel(*inputs))
        if expected is None:
            wanted = [value for _, value in self._results(clones, None)]
        else:
            wanted = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        if not results or len(wanted) > len(results):
            raise AssertionError(f"the kernel has {len(results)} result(s), the reference {len(wanted)}")
        # A reference that returns fewer values than the kernel writes answers for the last ones.
        for (name, value), reference in zip(results[len(results) - len(wanted) :], wanted, strict=True):
            assert_close(value, reference, rtol, atol, max_mismatched_ratio, name)

    def manual_assert_close(
        self,
        reference_program: Callable[..., Any],
        input_tensors: Sequence[Any] | None = None,
        manual_check_prog: Callable[..., Any] | None = None,
    ) -> None:
        """Hands the kernel's and the reference's results (lists) to `manual_check_prog`, which raises on a difference.

        `reference_program` and `input_tensors` as for :meth:`assert_allclose`.

        Raises:
            TileTypeError: without `manual_check_prog`.
        """
        if manual_check_prog is None:
            raise errors.make(
                "bad-option", {"option": "manual_check_prog", "found": "None", "expected": "a function of two results"}
            )
        inputs = self._inputs(input_tensors)
        expected = reference_program(*[_clone(value) for value in inputs])
        results = [value for _, value in self._results(inputs, self.kernel(*inputs))]
        wanted = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        manual_check_prog(results, wanted)

    def assert_consistent(self, repeat: int = 10, input_tensors: Sequence[Any] | None = None) -> None:
        """Requires `repeat` calls on the same inputs to give bit-identical results.

        `input_tensors` as for :meth:`assert_allclose`.

        Raises:
            AssertionError: when two calls differ.
        """
        import numpy

        inputs = self._inputs(input_tensors)
        first: list[Any] | None = None
        for call in range(repeat):
            arguments = [_clone(value) for value in inputs]
            results = [to_numpy(value) for _, value in self._results(arguments, self.kernel(*arguments))]
            if first is None:
                first = results
            elif not all(
                numpy.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(first, results, strict=True)
            ):
                raise AssertionError(f"call {call} gives another result than the first on the same inputs")

    def run_once(self, func: Callable[..., Any] | None = None) -> Any:
        """Calls the kernel, or `func`, once on fresh inputs and waits for it."""
        result = (func or self.kernel)(*self.make_inputs())
        frameworks.synchronize()
        return result

    def do_bench(
        self,
        func: Callable[..., Any] | None = None,
        warmup: float = 25,
        rep: float = 100,
        n_warmup: int = 0,
        n_repeat: int = 0,
        input_tensors: Sequence[Any] | None = None,
        backend: Backend = "event",
        quantiles: Sequence[float] | None = None,
        return_mode: ReturnMode = "mean",
        dynamic_symbolic_constraints: Mapping[str, int] | None = None,
        device: Any = None,
    ) -> float | list[float]:
        """Times the kernel, or `func`, on the inputs; see `tilemlir.profiler.do_bench`. Milliseconds."""
        inputs = self._inputs(input_tensors, dynamic_symbolic_constraints)
        run = func or self.kernel
        if self._device() == "cpu" and device is None:
            device = "cpu"
        return do_bench(
            lambda: run(*inputs),
            warmup=warmup,
            rep=rep,
            _n_warmup=n_warmup,
            _n_repeat=n_repeat,
            quantiles=quantiles,
            backend=backend,
            return_mode=return_mode,
            device=device,
        )


def _clone(value: Any) -> Any:
    if hasattr(value, "clone"):
        return value.clone()
    return value.copy() if hasattr(value, "copy") else value
