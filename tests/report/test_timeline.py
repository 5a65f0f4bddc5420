"""Alarms over time: counted by day of every column of dates, drawn by day, week, month or year."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.report.timeline import MAX_PERIODS, TimeCounts, Timeline

from .pages import report_on


def timeline_of(dates: pd.Series, alarm: np.ndarray, parts: int = 1) -> Timeline | None:
    table = pd.DataFrame({"when": dates})
    counts = TimeCounts(TableEncoder(columns={"when": "date"}).fit(table))
    for rows in np.array_split(np.arange(len(table)), parts):
        counts.add(read_table(table.iloc[rows]), alarm[rows])
    return next(iter(counts.timelines()), None)


@pytest.mark.parametrize(
    ("n_days", "unit"), [(40, "day"), (300, "week"), (1500, "month"), (9000, "year")], ids=lambda one: str(one)
)
def test_the_unit_follows_the_span_and_all_rows_are_counted(n_days: int, unit: str) -> None:
    dates = pd.Series(pd.date_range("2001-01-01", periods=n_days, freq="D"))
    alarm = np.arange(n_days) % 10 == 0
    timeline = timeline_of(dates, alarm)
    assert timeline is not None
    assert timeline.unit == unit
    assert len(timeline.periods) <= MAX_PERIODS
    assert sum(period.n_rows for period in timeline.periods) == n_days
    assert sum(period.n_alarms for period in timeline.periods) == alarm.sum()


def test_months_equal_a_hand_count() -> None:
    dates = pd.Series(pd.to_datetime(["2020-01-05", "2020-01-31", "2020-02-01", "2023-12-31"] * 5))
    timeline = timeline_of(dates, np.array([True, False, True, False] * 5))
    assert timeline is not None
    found = {period.label: (period.n_rows, period.n_alarms) for period in timeline.periods if period.n_rows}
    assert found == {"2020-01": (10, 5), "2020-02": (5, 5), "2023-12": (5, 0)}


def test_one_date_in_the_far_future_does_not_stretch_the_axis_and_is_not_lost() -> None:
    days = [*pd.date_range("2024-03-01", periods=200, freq="D"), pd.Timestamp("2199-12-31")]
    timeline = timeline_of(pd.Series(days), np.array([False] * 200 + [True]))
    assert timeline is not None
    assert timeline.unit == "week"
    assert timeline.periods[-1].label.startswith("after week of 2024")
    assert (timeline.periods[-1].n_rows, timeline.periods[-1].n_alarms) == (1, 1)


def test_batches_do_not_matter_and_rows_without_a_date_are_counted_apart() -> None:
    dates = pd.Series(pd.date_range("2024-03-01", periods=100, freq="D")).where(np.arange(100) % 7 != 3)
    alarm = np.arange(100) % 3 == 0
    whole = timeline_of(dates, alarm)
    assert whole == timeline_of(dates, alarm, parts=6)
    assert whole is not None
    assert (whole.undated, whole.undated_alarms) == (int(dates.isna().sum()), int(alarm[dates.isna()].sum()))


def test_the_page_shows_the_weeks_and_counts_every_row() -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2023-01-01", periods=400, freq="D")
    normal = pd.DataFrame({"day": days, "kind": rng.choice(["fire", "water"], 400)})
    detector = TableDetector("kernel", columns={"day": "date"}, progress=False).fit(normal)
    new = normal.iloc[:300].assign(kind=["theft"] * 10 + ["fire"] * 290)
    page = report_on(new, detector)
    lines = page.table("Week", "Anomalies")
    assert sum(int(line[1]) for line in lines) == 300
    assert sum(int(line[2]) for line in lines) == len(page.rows()) >= 10
    assert "Anomalies by week of day" in " ".join(page.text.split())


def timelines_of(**dates: list[object]) -> list[Timeline]:
    table = pd.DataFrame(dates)
    counts = TimeCounts(TableEncoder(columns=dict.fromkeys(dates, "date")).fit(table))
    counts.add(read_table(table), np.zeros(len(table), dtype=bool))
    return counts.timelines()


def test_the_column_with_the_widest_usable_range_comes_first() -> None:
    few = pd.date_range("2001-01-01", periods=200, freq="30D").where(np.arange(200) % 10 == 0)
    found = timelines_of(
        born=pd.date_range("1901-01-01", periods=200, freq="200D").tolist(),  # more years than are drawn
        paid=few.tolist(),  # most rows have no date
        day=pd.date_range("2024-01-01", periods=200, freq="D").tolist(),
        opened=pd.date_range("2020-01-01", periods=200, freq="5D").tolist(),
    )
    assert [one.column for one in found] == ["opened", "day", "born", "paid"]


def test_one_date_in_the_far_future_does_not_make_a_range_wide() -> None:
    odd = [*pd.date_range("2024-01-01", periods=199, freq="D"), pd.Timestamp("2199-12-31")]
    found = timelines_of(typed=odd, opened=pd.date_range("2020-01-01", periods=200, freq="5D").tolist())
    assert [one.column for one in found] == ["opened", "typed"]


def test_a_table_without_dates_has_no_such_section() -> None:
    table = pd.DataFrame({"when": ["a", "b"] * 20})
    counts = TimeCounts(TableEncoder().fit(table))
    counts.add(read_table(table), np.zeros(40, dtype=bool))
    assert counts.timelines() == []
