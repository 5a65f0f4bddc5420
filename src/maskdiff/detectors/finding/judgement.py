"""What the rounds of a search say about N rows together: scores, p-values, and about how many are odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.detectors.finding.tail import LEAST_SCALE, OddEstimate, TailCounts

# Numbers count as outlying where at most this share of normal rows has one as far outside.
_OUTLYING = 0.01
# No number is rarer than this; and what a score adds where rows are equally rare.
_RAREST, _TIE = 1e-12, 1e-6
# How much the first round counts, whose models learned from the odd rows too.
_FIRST_ROUND = 0.5


@dataclass(frozen=True, eq=False)
class Judgement:
    """What N rows are judged by, each (N,), and about how many are odd.

    `p_value` is the number of normal rows expected to be at least as odd, as a share of all: ranks where the bulk is,
    and beyond it as many as the fit of the bulk allows. A number far outside of its column counts by its own p-value,
    and raises the `alarm_score` above the `score` to where the scores have that p-value.
    """

    score: FloatArray
    alarm_score: FloatArray
    p_value: FloatArray
    odd: OddEstimate

    @classmethod
    def of(
        cls,
        scores: Sequence[FloatArray],
        contamination: float | str,
        outlying: FloatArray | None = None,
        frequent: BoolArray | None = None,
    ) -> Judgement:
        """From the scores of each round; the share of odd rows, or "auto"; and p-values of outlying numbers.

        `frequent` rows, (N,), have so many copies that they are normal.

        The first round alone treats all rows alike, so that its scores say how many normal rows are among the odd ones.
        """
        score = together(scores)
        n_odd = None if isinstance(contamination, str) else round(contamination * len(score))
        tail = TailCounts.of(scores[0], n_odd, frequent)
        of_scores = tail.p_values(score)
        alarm_score, p_value = (score, of_scores) if outlying is None else _raised(score, of_scores, outlying)
        odd = OddEstimate.of(tail.n_odd, p_value) if n_odd is None else OddEstimate(n_odd, n_odd, n_odd)
        return cls(score, alarm_score, p_value, odd)


def together(scores: Sequence[FloatArray]) -> FloatArray:
    """The geometric mean of the rounds, each relative to its median, in the unit of the first, which counts half.

    Rounds that leave out many rows have higher scores, and more so in their tail; ratios are comparable.

    >>> together([np.array([1.0, 2.0, 8.0]), np.array([2.0, 4.0, 128.0])]).round(3).tolist()
    [1.0, 2.0, 32.0]
    """
    if len(scores) == 1 or np.isnan(scores[0]).all():
        return scores[0]
    origins = [min(0.0, float(np.nanmin(score))) for score in scores]
    medians = [max(float(np.nanmedian(score)) - low, LEAST_SCALE) for score, low in zip(scores, origins, strict=True)]
    weights, ratios = [_FIRST_ROUND] + [1.0] * (len(scores) - 1), np.zeros(len(scores[0]))
    for score, low, median, weight in zip(scores, origins, medians, weights, strict=True):
        ratios += weight * np.log(np.maximum(score - low, LEAST_SCALE) / median)
    mean: FloatArray = origins[0] + medians[0] * np.exp(ratios / sum(weights))
    return mean


def oddest(score: FloatArray, number: int) -> BoolArray:
    """The rows with the highest scores, at most so many: of equal ones all or none."""
    known = np.where(np.isnan(score), -np.inf, score)
    if not 0 < number < len(known):
        return np.zeros(len(known), np.bool_)
    highest: BoolArray = known > np.partition(known, -number - 1)[-number - 1]
    return highest


def _raised(score: FloatArray, of_scores: FloatArray, outlying: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Alarm scores and p-values of rows that are odd by their score or by an outlying number."""
    judged = ~np.isnan(score)
    raises = judged & (outlying <= _OUTLYING) & (outlying < of_scores)
    least = np.where(raises, outlying, of_scores)
    # Two ways to be odd: a normal row may be odd by either.
    p_value = np.minimum(1.0, least + np.minimum(least, _OUTLYING))
    order = np.argsort(score[judged], kind="stable")
    rarity, ordered = -np.log(of_scores[judged][order]), score[judged][order]
    alarm_score, wanted = score.copy(), -np.log(np.maximum(outlying[raises], _RAREST))
    beyond = np.maximum(wanted - rarity.max(initial=0.0), 0.0)  # rarer than the highest score
    # Of rows that are equally rare the one with the higher score comes first.
    alarm_score[raises] = np.interp(wanted, rarity, ordered) + LEAST_SCALE * beyond + _TIE * score[raises]
    return np.fmax(alarm_score, score), np.where(judged, p_value, 1.0)
