"""Theorem 1 of the paper: its bounds, the part of them that holds, and how many views a wanted precision needs.

The score of a row is an average over L levels of K views each, every view between 0 and C nats (the *ceiling*). Given
the row, the L * K views are independent, so the sampled score S(x) concentrates around the row's own expected score
S*(x): that is `view_bound`. The theorem goes on to treat the L levels as independent too, so that S*(x) would
concentrate around its mean over rows. All levels share the row, so it does not: rows differ however many levels there
are. `false_alarm_bound` and `miss_bound` keep the spread of the rows and bound the views alone.

A trained model is not the true one. Its expected score differs from S*(x) by Delta(x), whose mean over normal rows is a
Kullback-Leibler divergence, the *model error* epsilon. The theorem treats Delta(x), too, as an average of independent
terms. `model_error_bound` needs no independence.

Nothing here is needed for a valid threshold: `maskdiff.calibration` promises a false-alarm rate without any bound.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.codes import FloatArray
from maskdiff.errors import SettingError

# Of the room below the threshold, the part left to the model's error is tried in so many steps.
_STEPS = 65

# The theorem as it stands ------------------------------------------------------------------------------------------


def theorem_false_alarms(margin: float, *, levels: int, views: int, ceiling: float) -> float:
    """The Type-I bound of Theorem 1 for a threshold `margin` = gamma - mu_0 - epsilon above the normal mean.

    >>> round(theorem_false_alarms(0.5, levels=9, views=16, ceiling=2.5), 3)
    1.0
    >>> round(theorem_false_alarms(0.5, levels=4000, views=4000, ceiling=2.5), 5)
    0.00041
    """
    return _bound(3, min(levels, views) / 18, margin, ceiling)


def theorem_misses(margin: float, *, levels: int, views: int, ceiling: float) -> float:
    """The Type-II bound of Theorem 1 for a threshold `margin` = mu_1 - gamma below the anomalies' mean."""
    return _bound(2, min(levels, views) / 2, margin, ceiling)


# What holds ----------------------------------------------------------------------------------------------------------


def view_bound(margin: float, *, n_views: int, ceiling: float) -> float:
    """How likely a row's sampled score is to be `margin` or more above (or below) its expected one.

    Hoeffding's inequality over `n_views` = L * K independent views, given the row.

    >>> round(view_bound(0.1, n_views=9 * 16, ceiling=1.0), 4)
    0.0561
    """
    return _bound(1, 2 * n_views, margin, ceiling)


def views_needed(margin: float, *, error: float, ceiling: float) -> int:
    """How many independent views keep a row's score within `margin` of its expected one, above or below it.

    It is further away with a probability of at most `error`: twice that of `view_bound`, which is about one side.

    >>> views_needed(0.1, error=0.01, ceiling=1.0)
    265
    >>> 2 * view_bound(0.1, n_views=265, ceiling=1.0) <= 0.01
    True
    """
    _check(margin, ceiling)
    if not 0 < error < 1 or margin == 0:
        raise SettingError(f"views_needed wants a margin above 0 and an error between 0 and 1; got {margin}, {error}.")
    return math.ceil(ceiling**2 * math.log(2 / error) / (2 * margin**2))


def model_error_bound(margin: float, *, model_error: float) -> float:
    """How likely a model is to raise the expected score of a normal row by `margin` or more.

    `model_error` is epsilon, the mean of Delta(x) over normal rows. The mean of its positive part is at most epsilon +
    sqrt(epsilon / 2): a negative log ratio weighs at most the total variation, which Pinsker's inequality bounds.
    Markov's inequality does the rest.

    >>> round(model_error_bound(0.5, model_error=0.001), 3)
    0.047
    """
    _check(margin, 1.0)
    if model_error < 0:
        raise SettingError(f"a model error is a divergence, 0 or more; got {model_error}.")
    raised = model_error + math.sqrt(model_error / 2)
    return 0.0 if raised == 0 else 1.0 if margin <= raised else raised / margin


def false_alarm_bound(
    expected: ArrayLike, threshold: float, *, n_views: int, ceiling: float, model_error: float = 0.0
) -> float:
    """How often normal rows may score above the threshold, given their true expected scores S*(x), shape (n,).

    For every s and t: P(S > gamma) <= P(S* > gamma - s - t) + model_error_bound(s) + view_bound(t). The first two parts
    stay however many views there are.

    >>> false_alarm_bound([0.2, 0.3, 0.9, 0.2], 0.6, n_views=10_000, ceiling=1.0)
    0.25
    """
    score = np.sort(np.asarray(expected, dtype=np.float64))
    if not model_error:
        return _least(score, threshold - score, n_views, ceiling)
    room = float(threshold - score.min()) if len(score) else 0.0
    shares = np.linspace(0, max(room, 0.0), _STEPS)
    return min(
        min(1.0, _least(score, threshold - s - score, n_views, ceiling) + model_error_bound(s, model_error=model_error))
        for s in shares.tolist()
    )


def miss_bound(expected: ArrayLike, threshold: float, *, n_views: int, ceiling: float) -> float:
    """How often anomalies may score at or below the threshold, given their expected scores, shape (n,)."""
    score = -np.sort(-np.asarray(expected, dtype=np.float64))
    return _least(-score, score - threshold, n_views, ceiling)


def _least(ordered: FloatArray, room: FloatArray, n_views: int, ceiling: float) -> float:
    """The least of share(rows beyond) + view_bound(room) over all rows; `ordered` rises, `room` falls."""
    if not len(ordered):
        raise SettingError("a bound for rows needs the expected score of at least one row.")
    beyond = 1 - np.searchsorted(ordered, ordered, side="right") / len(ordered)
    views = np.exp(-2 * n_views * np.maximum(room, 0) ** 2 / ceiling**2)
    return float(min(1.0, round((beyond + views).min(), 12)))


# Remark 1 ------------------------------------------------------------------------------------------------------------


def time_posterior(prior_T: ArrayLike, alpha_T: ArrayLike, n_fields: int) -> FloatArray:
    """q(t | x) of a row of which every cell is visible, over T times; `alpha_T` is each time's visible share.

    In masked diffusion q_t(x) = alpha_t^d q_0(x) for such a row, and q_0(x) cancels: the answer depends on nothing but
    the number of fields d. That is why the time of diffusion, which separates anomalies in continuous space, says
    nothing here: no argument of this function is a row.

    >>> time_posterior([0.5, 0.5], [0.9, 0.3], n_fields=2).round(2)
    array([0.9, 0.1])
    """
    prior, alpha = np.asarray(prior_T, dtype=np.float64), np.asarray(alpha_T, dtype=np.float64)
    joint = prior * alpha**n_fields
    posterior: FloatArray = joint / joint.sum()
    return posterior


def _bound(factor: float, rate: float, margin: float, ceiling: float) -> float:
    _check(margin, ceiling)
    return min(1.0, factor * math.exp(-rate * margin**2 / ceiling**2))


def _check(margin: float, ceiling: float) -> None:
    if margin < 0 or ceiling <= 0:
        raise SettingError(f"a bound wants a margin of 0 or more and a ceiling above 0; got {margin} and {ceiling}.")
