"""Alarms over time: rows and alarms counted by the day of a date column, drawn by day, week, month or year."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.encoders.table.column_types.dates import DateType
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import Table

DAY = 86_400e6  # in the microseconds of a date column
MAX_PERIODS = 60
# Days further out than this share of the rows, and far from the others, do not stretch the axis.
OUTER = 0.02

Days = NDArray[np.int64]
# The number of the period each day (since 1970) is in, and the text of a period.
PERIODS: dict[str, tuple[Callable[[Days], Days], Callable[[int], str]]] = {
    "day": (lambda days: days, lambda at: str(np.datetime64(at, "D"))),
    "week": (lambda days: (days + 3) // 7, lambda at: f"week of {np.datetime64(7 * at - 3, 'D')}"),
    "month": (
        lambda days: days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64),
        lambda at: str(np.datetime64(at, "M")),
    ),
    "year": (
        lambda days: days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64),
        lambda at: str(np.datetime64(at, "Y")),
    ),
}


@dataclass(frozen=True)
class Period:
    """The rows of one period and the alarms among them."""

    label: str
    n_rows: int
    n_alarms: int


@dataclass(frozen=True)
class Timeline:
    """Alarms by day, week, month or year of a column; rows without a date are counted apart.

    `n_days` is the length of its main range, which holds nearly all rows; `is_usable` says whether at least half of the
    rows have a date and that range is drawn whole.
    """

    column: str
    unit: str
    periods: tuple[Period, ...]
    undated: int
    undated_alarms: int
    n_days: int
    is_usable: bool

    @property
    def most(self) -> int:
        return max(period.n_alarms for period in self.periods)


class TimeCounts:
    """Counts rows and alarms by the day of every column of dates; memory grows with the days, not with the rows."""

    def __init__(self, encoder: TableEncoder) -> None:
        types = encoder.column_types_.items()
        self.columns = [(DayCounts(name), one) for name, one in types if isinstance(one, DateType)]

    def add(self, table: Table, alarm: BoolArray) -> None:
        for column, column_type in self.columns:
            if column.name in table.names:
                column.add(column_type.numbers(table.column(table.names.index(column.name))), alarm)

    def timelines(self) -> list[Timeline]:
        """One for each column with dates of several days, the one with the widest usable range first."""
        found = [one for one in (column.timeline() for column, _ in self.columns) if one is not None]
        return sorted(found, key=lambda one: (not one.is_usable, -one.n_days if one.is_usable else 0))


class DayCounts:
    """Rows and alarms by the day of one column of dates."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.days: dict[int, NDArray[np.int64]] = {}
        self.undated = np.zeros(2, dtype=np.int64)

    def add(self, ticks: FloatArray, alarm: BoolArray) -> None:
        """More rows: their moments in microseconds since 1970, NaN where they have none."""
        dated = np.isfinite(ticks)
        self.undated += [int((~dated).sum()), int(alarm[~dated].sum())]
        days, place = np.unique(np.floor(ticks[dated] / DAY).astype(np.int64), return_inverse=True)
        rows, alarms = np.bincount(place, minlength=len(days)), np.bincount(place, alarm[dated], len(days))
        for day, one in zip(days.tolist(), np.stack([rows, alarms], axis=1).astype(np.int64), strict=True):
            self.days[day] = self.days.get(day, 0) + one

    def timeline(self) -> Timeline | None:
        """None where there are no dates, or all are of one day."""
        if len(self.days) < 2:
            return None
        days = np.array(sorted(self.days))
        counts = np.stack([self.days[day] for day in days.tolist()])
        low, high = _main_range(days, counts[:, 0])
        unit = _shortest_unit(low, high)
        period_of, text = PERIODS[unit]
        earliest, last = period_of(np.array([low, high])).tolist()
        first = max(earliest, last - MAX_PERIODS + 1)
        found = period_of(days).clip(first - 1, last + 1) - first + 1
        totals = np.zeros((last - first + 3, 2), dtype=np.int64)
        np.add.at(totals, found, counts)
        labels = [f"before {text(first)}", *map(text, range(first, last + 1)), f"after {text(last)}"]
        kept = [0] * bool(totals[0, 0]) + [*range(1, len(totals) - 1)] + [len(totals) - 1] * bool(totals[-1, 0])
        periods = tuple(Period(labels[at], *totals[at].tolist()) for at in kept)
        undated, undated_alarms = self.undated.tolist()
        usable = bool(first == earliest and undated <= counts[:, 0].sum())
        return Timeline(self.name, unit, periods, undated, undated_alarms, high - low, usable)


def _shortest_unit(low: int, high: int) -> str:
    """The shortest periods of which not too many are between these days."""
    ends = np.array([low, high])
    fitting = (unit for unit, (period_of, _) in PERIODS.items() if int(np.ptp(period_of(ends))) < MAX_PERIODS)
    return next(fitting, "year")


def _main_range(days: Days, counts: NDArray[np.int64]) -> tuple[int, int]:
    """From the first to the last day, without days that are far from nearly all rows."""
    upto = counts.cumsum() / counts.sum()
    low = int(days[np.searchsorted(upto, OUTER)])
    high = int(days[np.searchsorted(upto, 1 - OUTER).clip(max=len(days) - 1)])
    near = days[(days >= low - max(7, high - low)) & (days <= high + max(7, high - low))]
    return int(near[0]), int(near[-1])
