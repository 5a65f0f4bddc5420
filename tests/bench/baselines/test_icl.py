"""ICL: runs of columns and their rests."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from maskdiff.bench.baselines import icl
from maskdiff.errors import InputError


@pytest.mark.parametrize("n_columns", [4, 39, 41, 161, 400, 700])
def test_every_run_and_its_rest_are_the_whole_row(n_columns: int) -> None:
    matcher = icl.InternalContrast(n_columns)
    both = torch.cat([matcher.runs_SK, matcher.rests_SR], dim=1).sort(dim=1).values
    assert (both == torch.arange(n_columns)).all()
    assert (matcher.runs_SK[0] == torch.arange(matcher.runs_SK.shape[1])).all()
    assert len(both) <= 401


def test_runs_that_cannot_be_separated_lose_as_much_as_guessing() -> None:
    matcher = icl.InternalContrast(6).eval()
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.zero_()
    assert matcher.score(torch.rand(2, 6)).tolist() == pytest.approx([math.log(5)] * 2)


def test_each_run_is_compared_with_all_rests_after_scaling_over_the_runs() -> None:
    """The library's loss in plain loops: cross-entropy of the own run among all, vectors of length 1 over the runs."""
    torch.manual_seed(0)
    matcher = icl.InternalContrast(7).eval()
    row = torch.rand(1, 7)
    with torch.no_grad():
        runs, rests = (
            read(row[:, places])[0]
            for read, places in ((matcher.read_run, matcher.runs_SK), (matcher.read_rest, matcher.rests_SR))
        )
        runs, rests = (part / part.norm(dim=0) for part in (runs, rests))
        losses = []
        for at, rest in enumerate(rests):
            own, others = rest @ runs[at], [rest @ run for place, run in enumerate(runs) if place != at]
            logits = torch.stack([own, *others]) / 0.01
            losses.append(-logits.log_softmax(dim=0)[0])
        assert matcher.score(row).item() == pytest.approx(torch.stack(losses).mean().item(), rel=1e-4)


def test_icl_refuses_a_row_without_parts() -> None:
    with pytest.raises(InputError, match="at least 4 columns"):
        icl.internal_contrast(device="cpu").fit(np.eye(3, dtype=np.float32))
