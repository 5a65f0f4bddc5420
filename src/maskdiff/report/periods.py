"""Alarms in the order of one column: by day where it holds dates, by blocks of equal width where it holds numbers."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.encoders.table.arrays import floats, ticks
from maskdiff.report.timeline import MAX_PERIODS, OUTER, DayCounts, Period, Timeline

# The widths of blocks, each times a power of ten.
_WIDTHS = (1, 2, 5, 10)


class PeriodCounts(Protocol):
    """Rows and alarms, counted batch by batch in periods of one column."""

    def add(self, moments: FloatArray, alarm: BoolArray) -> None:
        """More rows: where each is, NaN where that is not known, and which of them are alarms."""

    def timeline(self) -> Timeline | None:
        """What was counted; None where there is nothing to draw."""


class BlockCounts:
    """Counts by blocks of a column of numbers, all of which are known beforehand.

    The first and the last block hold what is far from nearly all rows.
    """

    def __init__(self, name: str, numbers: FloatArray) -> None:
        self.name = name
        low, high = _main_range(numbers[np.isfinite(numbers)])
        self.width = _width(high - low, whole=bool((numbers[np.isfinite(numbers)] % 1 == 0).all()))
        self.first = math.floor(low / self.width)
        self.n_blocks = math.floor(high / self.width) - self.first + 1
        self.counts = np.zeros((self.n_blocks + 2, 2), np.int64)
        self.unplaced = np.zeros(2, np.int64)

    def add(self, moments: FloatArray, alarm: BoolArray) -> None:
        """More rows."""
        placed = np.isfinite(moments)
        self.unplaced += [int((~placed).sum()), int(alarm[~placed].sum())]
        block = np.floor(moments[placed] / self.width) - self.first + 1
        ones = np.stack([np.ones(len(block), np.int64), alarm[placed]], axis=1)
        np.add.at(self.counts, block.clip(0, self.n_blocks + 1).astype(np.int64), ones)

    def timeline(self) -> Timeline | None:
        """None where all rows are in one block."""
        if (self.counts[:, 0] > 0).sum() < 2:
            return None
        inner, outer = range(1, self.n_blocks + 1), (0, self.n_blocks + 1)
        kept = sorted([*inner, *(at for at in outer if self.counts[at, 0])])
        periods = tuple(Period(self._label(at), *self.counts[at].tolist()) for at in kept)
        unit = "value" if self.width == 1 else "block"
        undated, undated_alarms = self.unplaced.tolist()
        return Timeline(self.name, unit, periods, undated, undated_alarms, self.n_blocks, is_usable=True)

    def _label(self, at: int) -> str:
        low = (self.first + at - 1) * self.width
        texts = [np.format_float_positional(round(end, 12), trim="-") for end in (low, low + self.width)]
        if at == 0:
            return f"below {texts[1]}"
        if at == self.n_blocks + 1:
            return f"from {texts[0]} on"
        return texts[0] if self.width == 1 else f"{texts[0]} to below {texts[1]}"


def period_counts(name: str, values: pa.Array) -> tuple[PeriodCounts | None, FloatArray]:
    """What counts rows by this column, and the place of each row there, shape (N,); NaN where it has none.

    Nothing counts times of day and durations.
    """
    missing = values.is_null().to_numpy(zero_copy_only=False)
    if pat.is_timestamp(values.type) or pat.is_date(values.type):
        return DayCounts(name), np.where(missing, np.nan, ticks(values))
    if pat.is_temporal(values.type):
        return None, np.full(len(values), np.nan)
    numbers = floats(values.cast(pa.float64(), safe=False))
    return BlockCounts(name, numbers) if np.isfinite(numbers).any() else None, numbers


def _main_range(numbers: FloatArray) -> tuple[float, float]:
    """From the lowest to the highest number, without those that are far from nearly all."""
    low, high = np.quantile(numbers, [OUTER, 1 - OUTER])
    near = numbers[(numbers >= low - (high - low)) & (numbers <= high + (high - low))]
    return float(near.min()), float(near.max())


def _width(span: float, *, whole: bool) -> float:
    """The narrowest block of which not too many make up this span."""
    least = span / (MAX_PERIODS - 2)
    if whole and least <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(max(least, 1e-300)))
    return next(factor * power for factor in _WIDTHS if factor * power >= least)
