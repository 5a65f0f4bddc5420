"""Any reconstructor says how much likelier than a cell's own value another one was, by its two answers."""

import numpy as np
import pytest
import torch

from maskdiff.masking import as_rows
from maskdiff.reconstructors import KernelReconstructor
from maskdiff.reconstructors.asked import log_odds_of

from ..handmade import random_codes


@pytest.fixture(scope="module")
def kernel_and_rows():
    normal = random_codes(60, [2, 3, 5, 4], seed=1)
    return KernelReconstructor().fit(normal, device=torch.device("cpu")), as_rows(
        random_codes(20, [2, 3, 5, 4], seed=2)
    )


class WithOdds:
    """A reconstructor that has log odds of its own."""

    def log_odds(self, views):
        return torch.ones(views.n_rows, views.n_views, views.codes_BF.shape[1])


def test_log_odds_are_those_of_the_likeliest_code_against_the_own(kernel_and_rows):
    kernel, rows = kernel_and_rows
    n_fields = rows.codes_BF.shape[1]
    alone = torch.eye(n_fields, dtype=torch.bool)[None]
    for hidden in (alone, alone.expand(len(rows.codes_BF), -1, -1)):
        views = rows.views(hidden, torch.full((1, n_fields), 0.1))
        odds = torch.where(hidden, log_odds_of(kernel)(views), 0.0)
        wanted = torch.where(hidden, kernel.most_likely(views)[1] - kernel.log_prob(views), 0.0)
        np.testing.assert_allclose(odds, wanted.clamp_min(0), atol=1e-4)
        assert odds.max() > 0.5


def test_a_reconstructor_with_log_odds_is_asked_for_them(kernel_and_rows):
    views = kernel_and_rows[1].views(torch.ones(1, 1, kernel_and_rows[1].codes_BF.shape[1]).bool(), torch.ones(1, 1))
    assert log_odds_of(WithOdds())(views).eq(1).all()
