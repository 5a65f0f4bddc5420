"""How much likelier than the true code the likeliest one is, by the two answers that every reconstructor has.

B rows, K views, F fields, M views of single rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from maskdiff.masking import MaskedViews
from maskdiff.reconstructors.base import Reconstructor, abilities


def log_odds_of(reconstructor: Reconstructor) -> Callable[[MaskedViews], Tensor]:
    """What says the log odds of hidden cells, (B, K, F), in nats: `log_odds` where there is such an ability.

    Otherwise the likeliest code is looked up where the true one has at most a probability of one half: elsewhere there
    is no likelier one.
    """

    def by_two_answers(views: MaskedViews) -> Tensor:
        surprise_BKF = -reconstructor.log_prob(views)
        row, view, field = (views.hidden & (surprise_BKF > math.log(2))).nonzero(as_tuple=True)
        odds_BKF = torch.zeros_like(surprise_BKF)
        if len(row):
            likeliest_MF = reconstructor.most_likely(_one_by_one(views, row, view))[1][:, 0]
            likeliest_M = likeliest_MF.gather(1, field[:, None])[:, 0]
            odds_BKF[row, view, field] = (surprise_BKF[row, view, field] + likeliest_M).clamp_min(0.0)
        return odds_BKF

    return abilities(reconstructor).log_odds or by_two_answers


def _one_by_one(views: MaskedViews, row: Tensor, view: Tensor) -> MaskedViews:
    """These views of these rows, each as a row with one view."""

    def taken(masks: Tensor) -> Tensor:
        return masks[row if len(masks) > 1 else torch.zeros_like(row), view].unsqueeze(1)

    own, real = (None if part is None else part[row] for part in (views.own_BF, views.real_BF))
    return MaskedViews(
        views.codes_BF[row], taken(views.hidden), taken(views.visible), taken(views.mask_rate), own, real
    )
