"""ICL: runs of columns and their rests."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Generator

from maskdiff.bench.baselines import icl
from maskdiff.errors import InputError


@pytest.mark.parametrize("n_columns", [4, 39, 41, 161, 400])
def test_every_run_and_its_rest_are_the_whole_row(n_columns: int) -> None:
    order = torch.randperm(n_columns, generator=Generator().manual_seed(0))
    matcher = icl.RunMatcher(order)
    both = torch.cat([matcher.runs_SK, matcher.rests_SR], dim=1).sort(dim=1).values
    assert (both == torch.arange(n_columns)).all()
    assert (matcher.runs_SK[0] == order[: matcher.runs_SK.shape[1]]).all()
    assert len(both) <= 151


def test_runs_that_cannot_be_separated_lose_as_much_as_guessing() -> None:
    matcher = icl.RunMatcher(torch.arange(6)).eval()
    with torch.no_grad():
        for parameter in matcher.parameters():
            parameter.zero_()
    assert matcher(torch.rand(2, 6)).tolist() == pytest.approx([math.log(5)] * 2)


def test_icl_refuses_a_row_without_parts() -> None:
    with pytest.raises(InputError, match="at least 4 columns"):
        icl.internal_contrast(device="cpu").fit(np.eye(3, dtype=np.float32))
