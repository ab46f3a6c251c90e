"""Test cases over schedule_programs, parametrised by the fixture ``target`` of the folder that imports them."""

import warnings

import kernel_programs as programs
import numpy as np
import pytest
import schedule_programs
import torch

generator = np.random.default_rng()


def attention(q, k, v):
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64)) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,hjd->hid", weights / weights.sum(-1, keepdims=True), v.astype(np.float64))


@pytest.mark.parametrize("keys", [40, 64, 128, 330])
@pytest.mark.parametrize("stages", [2, 3])
def test_scores_ahead(target, keys, stages):
    heads, queries, dim = 2, 100, 64
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = programs.compile_for(
            schedule_programs.scheduled_attention(
                heads, queries, keys, dim, stages=stages, schedule=schedule_programs.SCORES_AHEAD
            ),
            target,
        )
    q, k, v = (generator.standard_normal((heads, n, dim)).astype(np.float16) for n in (queries, keys, keys))
    (out,) = programs.run(kernel, [q, k, v], [((heads, queries, dim), torch.float16)])
    reference = attention(q, k, v)
    error = np.linalg.norm(out.double().numpy() - reference) / np.linalg.norm(reference)
    assert error < 2e-3
    if not kernel.target.is_cpu:
        assert "as stage and order say, " in str(kernel.explain())
