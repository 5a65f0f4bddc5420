"""What makes a row odd: a value that is rare in itself, one that is odd in its context, or the row as a whole.

A row is odd by one cell if its oddest cell is beyond those of most normal rows, and at least as far as the row is from
the normal rows it is compared with; or if it is odd and one cell carries more than half of its score. That cell's value
is rare in itself, whatever the rest of the row, or common and odd in this context. Other odd rows are far from
everything: no single cell says why, but no normal row is near.
N rows, F fields, T terms of evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.errors import SettingError
from maskdiff.state import storable

RARE, IN_CONTEXT, FAR = "rare in itself", "odd in context", "far from everything"
ODDITIES = (RARE, IN_CONTEXT, FAR)
# Rows are odd if at most this share of normal rows are as odd; values are rare if as few normal rows hold such ones.
ODD, _RARE = 0.05, 0.01
_LARGEST, _NARROWEST = 1e9, 1e-6


@storable
@dataclass(frozen=True)
class UsualRange:
    """The median of normal rows, and the level that one in twenty exceeds."""

    median: float
    high: float

    def __post_init__(self) -> None:
        if not -_LARGEST <= self.median <= self.high - _NARROWEST <= _LARGEST:
            raise SettingError(f"a usual range must be finite and not empty; got {self}.")

    @classmethod
    def of(cls, values: FloatArray) -> UsualRange:
        """Of these values of normal rows."""
        median, high = np.quantile(values, [0.5, 1 - ODD]).tolist()
        # Where nearly all are alike, a thousandth of what they are: so many rows cannot show less.
        return cls(median, max(high, median + 1e-3 * max(abs(median), 1.0)))

    def place(self, values: FloatArray) -> FloatArray:
        """Where values are: 0 at the median, 1 at the high end, above 1 beyond it."""
        return (values - self.median) / (self.high - self.median)


@storable
@dataclass(frozen=True)
class UsualRows:
    """What is usual for calibration rows: how odd their oddest cell is, and what each term of evidence adds."""

    oddest: UsualRange
    terms: tuple[UsualRange, ...]

    @classmethod
    def of(cls, oddness: FloatArray, by_term: FloatArray) -> UsualRows:
        """From calibration rows: how odd their cells are (N, F), and what each term adds (N, T)."""
        return cls(UsualRange.of(oddness.max(axis=1)), tuple(UsualRange.of(term) for term in by_term.T))

    def by_one_cell(self, oddness: FloatArray, by_term: FloatArray, compares: BoolArray) -> BoolArray:
        """Which rows are odd by one cell, (N,); `compares` (T,) marks the terms that look for normal rows nearby."""
        oddest = self.oddest.place(oddness.max(axis=1))
        terms = np.column_stack([usual.place(term) for usual, term in zip(self.terms, by_term.T, strict=True)])
        whole = terms[:, compares].max(axis=1, initial=-np.inf)
        inside = np.maximum(oddest, terms[:, ~compares].max(axis=1, initial=-np.inf))
        odd: BoolArray = (oddest > 1) & (inside >= whole)
        return odd


def oddities(by_one_cell: BoolArray, p_value: FloatArray, codes: Codes, first: IntArray) -> NDArray[Any]:
    """What makes each row odd, as words, (N,); empty for rows that are not. `first` (N,) are their first reasons."""
    rare = _held_by(codes, first) <= _RARE
    words = np.where(by_one_cell, np.where(rare, RARE, IN_CONTEXT), np.where(p_value <= ODD, FAR, ""))
    return words.astype(object)


def _held_by(codes: Codes, field: IntArray) -> FloatArray:
    """The share of normal rows whose value in that field is at most as frequent as the row's own, (N,)."""
    share = np.zeros(len(codes))
    for at in np.unique(field).tolist():
        counts = np.array(codes.schema.fields[at].counts, dtype=np.int64)
        order = np.sort(counts)
        up_to = np.cumsum(order)[np.searchsorted(order, counts, side="right") - 1] / max(counts.sum(), 1)
        rows = np.flatnonzero((field == at) & codes.known[np.arange(len(codes)), field])
        share[rows] = up_to[codes.values[rows, at]]
    return share
