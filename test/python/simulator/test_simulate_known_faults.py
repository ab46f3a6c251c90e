"""Programs that hang or are silently wrong elsewhere, in the simulator: right, and free of races and deadlocks.

docs/hard-input.md lists these faults; each has its cases in test/kernels, of which some run here for both generations.
"""

import pytest

pytest.importorskip("torch")

import kernel_cases
import operation_cases
import pipeline_cases

#: What goes wrong elsewhere, the case, and its arguments.
PROGRAMS = {
    "odd lengths beside tiles hang": [
        (pipeline_cases.test_tile_and_vector_per_step, {"sequence": 65, "stages": 3}),
        (pipeline_cases.test_tile_and_vector_per_step, {"sequence": 1, "stages": 1}),
    ],
    "loops of one step hang": [
        (pipeline_cases.test_gemv_of_few_steps, {"trips": 1, "stages": 3}),
        (pipeline_cases.test_gemm_of_few_steps, {"trips": 0, "stages": 2}),
        (pipeline_cases.test_gemm_of_few_steps, {"trips": 1, "stages": 4}),
    ],
    "second waves are wrong": [(pipeline_cases.test_persistent_gemm, {"trips": 3, "stages": 2})],
    "conditions from memory": [
        (pipeline_cases.test_conditional_gemm, {"flags": "10000000", "stages": 3}),
        (kernel_cases.test_conditional_loads, {"flags": "10101010", "stages": 2}),
    ],
    "register operands are stored wrongly": [
        (
            operation_cases.test_register_operand_of_a_gemm,
            {"which": which, "dtype": "float16", "threads": 128, "clear": False},
        )
        for which in ("a", "b")
    ],
    "results transposed": [(operation_cases.test_transposed_result_of_a_gemm, {})],
    "widths of 8 mod 16": [
        (kernel_cases.test_gemm_widths, {"block_n": 24, "threads": 256, "policy": "FullCol"}),
        (kernel_cases.test_gemm_widths, {"block_n": 40, "threads": 128, "policy": "Square"}),
    ],
    "short steps along K": [
        (operation_cases.test_short_steps_of_a_gemm, {"dtype": dtype, "block_k": 8}) for dtype in ("int8", "bfloat16")
    ],
    "reductions over no power of two": [
        (kernel_cases.test_reduce, {"columns": 48, "kind": "sum", "dim": 1, "threads": 64}),
        (kernel_cases.test_reduce, {"columns": 127, "kind": "max", "dim": 0, "threads": 128}),
    ],
    "reductions that continue": [
        (
            operation_cases.test_reduction_that_continues,
            {"kind": "sum", "seed": 1000, "source": "shared", "dest": "shared"},
        ),
        (
            operation_cases.test_reduction_that_continues,
            {"kind": "max", "seed": 5, "source": "fragment", "dest": "shared"},
        ),
    ],
    "loops of different extents": [(kernel_cases.test_loops_of_different_extents, {"first": 100, "second": 256})],
    "atomic additions of another type": [
        (operation_cases.test_atomic_forms, {"size": 100, "dest": dest}) for dest in ("float16", "bfloat16", "int32")
    ],
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, arch):
    for case, arguments in PROGRAMS[name]:
        case({"kind": "simulator", "arch": arch}, **arguments)
