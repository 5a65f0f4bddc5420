"""A cheap estimate of a row's score, in the same unit, and how high it is for normal rows.

N rows, M rows that tune, C rows that calibrate.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff.cascade.effort import ALARMS, RANKING
from maskdiff.codes import BoolArray, FloatArray
from maskdiff.evidence import Evidence, EvidenceTerm
from maskdiff.state import check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, check_names, check_tensor

__all__ = ["ALARMS", "RANKING", "FirstLook", "LearnedLook", "passes"]

# What a row with a value that was never seen counts as: it always gets the whole grid.
_ALWAYS = 1e6
# Equal rows may differ in their last digits; the cutoff is never this close to the look at a row that tuned.
_TIE = 1e-4
# From fewer looks above it a cutoff is too uncertain.
_FEWEST_ABOVE = 10


def marked(first: FloatArray, unseen: BoolArray) -> FloatArray:
    """First looks at rows, (N,), those with a value that was never seen, or without any evidence, above all others."""
    within = np.clip(np.nan_to_num(first, nan=_ALWAYS), -_ALWAYS, _ALWAYS)
    return np.where(unseen, _ALWAYS, within)


def passes(first: FloatArray, cutoff: float) -> BoolArray:
    """Which rows get the whole grid, (N,), by what `marked` gave."""
    passing: BoolArray = (first > cutoff) | (first >= _ALWAYS)
    return passing


@dataclass(frozen=True, eq=False)
class LearnedLook:
    """What rows that tune say about a look: its terms, on the scale of the score, and the looks at them, (M,)."""

    terms: tuple[EvidenceTerm, ...]
    tuning: FloatArray

    @classmethod
    def of(
        cls, look: Evidence, term_scores: FloatArray, scores: FloatArray, alarm_score: Any, unseen: BoolArray
    ) -> LearnedLook:
        """From what the terms of a look say of rows that tune, (M, T), and the scores of these rows, (M,).

        Each term counts as in the score; the sum has the mean and the spread of the scores.
        """
        scaled = look.scaled_by(term_scores)
        first = (term_scores / [term.scale for term in scaled.terms]).sum(axis=1)
        spread = _spread(first)
        stretch = _spread(scores) / spread if spread > 0 and _spread(scores) > 0 else 1.0
        shift = float(np.nanmean(scores) - stretch * np.nanmean(first)) if len(first) else 0.0
        terms = [replace(term, scale=term.scale / stretch) for term in scaled.terms]
        terms[0] = replace(terms[0], shift=shift)
        matched = stretch * first + shift
        return cls(tuple(terms), np.sort(marked(alarm_score(matched), unseen)))

    def cutoff(self, share: float) -> float:
        """What about this share of normal rows exceeds, at least ten of those that tuned.

        It is between two looks, so that equal rows go the same way.

        >>> LearnedLook((), np.arange(100.0)).cutoff(0.4)
        59.5
        """
        n = len(self.tuning)
        n_above = min(max(int(round(share * n, 9)), _FEWEST_ABOVE), n - 1)
        start = n - 1 - n_above
        above = self.tuning[start:]
        wide = np.flatnonzero(np.diff(above) > 2 * _TIE * np.maximum(1.0, np.abs(above[:-1])))
        if len(wide):
            return float(above[wide[0] : wide[0] + 2].mean())
        return float(above[-1] + _TIE * max(1.0, abs(above[-1])))


@dataclass(frozen=True, eq=False)
class FirstLook:
    """A learned look, and the looks at calibration rows, (C,), in the order of the scores the whole grid gives them."""

    learned: LearnedLook
    calibration: FloatArray

    def scores(self, whole: FloatArray, share: float) -> FloatArray:
        """The alarm scores of the calibration rows where this share of normal rows gets the whole grid, (C,)."""
        return np.where(passes(self.calibration, self.learned.cutoff(share)), whole, self.calibration)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The terms, and the looks."""
        looks = {"tuning": self.learned.tuning, "calibration": self.calibration}
        plain = {"terms": [to_plain(term) for term in self.learned.terms]}
        return plain, {name: torch.from_numpy(array.copy()) for name, array in looks.items()}

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, n_calibration: int, sources: Set[str]) -> FirstLook:
        """What `to_state` gave; the terms are to read these sources."""
        check(isinstance(plain, dict) and set(plain) == {"terms"}, "a first look of it is not described completely")
        check(isinstance(plain["terms"], list) and plain["terms"], "a first look of it has no terms")
        terms = tuple(from_plain(term, EvidenceTerm) for term in plain["terms"])
        check({term.source for term in terms} == sources, "a first look of it has other sources")
        check_names(tensors, "tuning", "calibration")
        tuning = check_tensor("tuning", tensors["tuning"], (None,), torch.float64)
        first = check_tensor("calibration", tensors["calibration"], (n_calibration,), torch.float64)
        check(bool((tuning.diff() >= 0).all()), "the first looks at rows that tuned are not in order")
        return cls(LearnedLook(terms, tuning.numpy().copy()), first.numpy().copy())


def _spread(values: FloatArray) -> float:
    return float(np.nanstd(values)) if len(values) else 0.0
