"""What normal rows that were not learned from decide about a column of free text: what is usual, what is trusted.

N texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.errors import SettingError
from maskdiff.state import storable

# Beyond this, scores would overflow.
_LARGEST = 1e6
# Texts that are so many times further from the median than half of them are odd ones among normal texts.
_FAR = 5.0


@storable
@dataclass(frozen=True)
class UsualText:
    """How surprising normal texts are: the `mean` of their tokens, and the variances `within` and `between` texts."""

    mean: float
    within: float
    between: float

    def __post_init__(self) -> None:
        if not all(0 <= one <= _LARGEST for one in (self.mean, self.within, self.between)) or not self.within:
            raise SettingError(f"mean and variances of texts must be from 0 to {_LARGEST:g}; got {self}.")

    @classmethod
    def of(cls, surprise: FloatArray, row: NDArray[np.int64]) -> UsualText:
        """Learned from the tokens of normal texts that were not learned from; the oddest of them are left out."""
        _, text, length = np.unique(row, return_inverse=True, return_counts=True)
        means = np.bincount(text, surprise) / length
        off = np.abs(means - np.median(means))
        kept = off <= max(_FAR * float(np.median(off)), 1e-9)
        surprise, text, length = surprise[kept[text]], text[kept[text]], length[kept]
        mean = float(surprise.mean())
        within = float(((surprise - means[text]) ** 2).sum() / max(len(surprise) - len(length), 1))
        between = float(((means[kept] - mean) ** 2 - within / length).mean())
        return cls(mean, max(within, 1e-3), max(between, 1e-3))

    def deviation(self, surprise: FloatArray, row: NDArray[np.int64], n_rows: int) -> FloatArray:
        """How many standard deviations each text is above the mean, given its length, (N,); 0 for those below it."""
        length = np.bincount(row, minlength=n_rows)
        beyond = np.bincount(row, surprise, minlength=n_rows) - length * self.mean
        spread = np.sqrt(length * self.within + length**2 * self.between)
        return np.maximum(beyond, 0.0) / np.maximum(spread, 1e-9)


@storable
@dataclass(frozen=True)
class TextChoice:
    """What normal rows that were not learned from decide: what is usual (None: the language says nothing), and the
    columns that the texts say something about, each with the trust in that."""

    usual: UsualText | None
    trusts: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_noise(self) -> bool:
        """Whether the column says nothing about new rows."""
        return self.usual is None and not self.trusts
