"""Alarms in the order of one column: dates by day, week, month or year, numbers by blocks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from maskdiff.report.periods import period_counts
from maskdiff.report.timeline import MAX_PERIODS, Timeline


def timeline_of(values: list[object], alarm: np.ndarray, parts: int = 1) -> Timeline | None:
    counts, moments = period_counts("no", pa.array(values))
    assert counts is not None
    for rows in np.array_split(np.arange(len(values)), parts):
        counts.add(moments[rows], alarm[rows])
    return counts.timeline()


@pytest.mark.parametrize("numbers", [range(1, 16), range(4000, 9000), np.linspace(0, 0.7, 400)], ids=str)
def test_numbers_are_counted_in_blocks_and_every_row_is_counted(numbers) -> None:
    values = [float(number) for number in numbers]
    alarm = np.arange(len(values)) % 10 == 0
    timeline = timeline_of(values, alarm)
    assert timeline == timeline_of(values, alarm, parts=4)
    assert timeline is not None
    assert 10 <= len(timeline.periods) <= MAX_PERIODS
    assert sum(period.n_rows for period in timeline.periods) == len(values)
    assert sum(period.n_alarms for period in timeline.periods) == alarm.sum()


def test_years_are_named_one_by_one_and_rows_without_a_number_are_counted_apart() -> None:
    timeline = timeline_of([1994, 1996, None, 1994], np.array([True, False, True, False]))
    assert timeline is not None
    counts = [(period.label, period.n_rows, period.n_alarms) for period in timeline.periods]
    assert counts == [("1994", 2, 1), ("1995", 0, 0), ("1996", 1, 0)]
    assert (timeline.unit, timeline.undated, timeline.undated_alarms) == ("value", 1, 1)


def test_one_number_far_away_does_not_stretch_the_axis_and_is_not_lost() -> None:
    timeline = timeline_of([*range(200), 10**12, float("inf")], np.arange(202) >= 200)
    assert timeline is not None
    assert timeline.periods[-1].label.startswith("from 2")
    assert (timeline.periods[-1].n_rows, timeline.periods[-1].n_alarms) == (1, 1)
    assert (timeline.undated, timeline.undated_alarms) == (1, 1)


def test_dates_are_counted_by_day() -> None:
    days = np.array(["2024-03-01", "2024-03-02", "NaT"], "datetime64[s]")
    timeline = timeline_of(days, np.array([False, True, True]))
    assert timeline is not None
    assert [(period.label, period.n_alarms) for period in timeline.periods] == [("2024-03-01", 0), ("2024-03-02", 1)]
    assert timeline.undated == 1


def test_what_never_changes_and_times_of_day_are_not_drawn() -> None:
    assert timeline_of([7.0] * 20, np.zeros(20, bool)) is None
    assert period_counts("no", pa.array([1, 2], pa.time64("us")))[0] is None
    assert period_counts("no", pa.array([float("nan")]))[0] is None
