"""Dates, times of day and durations, in every type they may arrive in."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff.encoders.table.encoder import TableEncoder

from ..single_column import codes_of, field_of, fitted

DAYS = [datetime(2024, 1, 1) + timedelta(days=n) for n in range(40)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Series(DAYS).astype("datetime64[ns]")}),
        pd.DataFrame({"a": pd.Series(DAYS).astype("datetime64[s]")}),
        pd.DataFrame({"a": pd.Series(DAYS).dt.tz_localize("UTC")}),
        pd.DataFrame({"a": pd.Series([day.date() for day in DAYS], dtype=object)}),
        pd.DataFrame({"a": pd.Series(DAYS, dtype=object)}),
        pl.DataFrame({"a": [day.date() for day in DAYS]}),
        pl.DataFrame({"a": DAYS}),
        pa.table({"a": pa.array(DAYS, pa.date64())}),
        np.array(DAYS, dtype="datetime64[D]").reshape(-1, 1),
    ],
    ids=["ns", "s", "utc", "dates", "objects", "polars-dates", "polars", "arrow", "numpy"],
)
def test_dates_of_every_type_are_cut_into_intervals_of_dates(frame: Any) -> None:
    field = TableEncoder(bins=2).fit(frame).schema_.fields[0]
    assert (field.type, field.counts) == ("date", (20, 20))
    assert field.labels == ("[2024-01-01, 2024-01-20]", "(2024-01-20, 2024-02-09]")


def test_moments_within_a_day_show_their_time() -> None:
    field = field_of([datetime(2024, 1, 1) + timedelta(minutes=n) for n in range(40)], bins=2)
    assert field.labels == ("[2024-01-01T00:00, 2024-01-01T00:19]", "(2024-01-01T00:19, 2024-01-01T00:39]")


def test_few_distinct_dates_are_bins_too_as_others_will_follow() -> None:
    encoder = fitted([date(2024, 1, 1), datetime(2024, 1, 2, 5)] * 3)
    assert encoder.schema_.fields[0].labels == ("2024-01-01", "(2024-01-01, 2024-01-02]")
    assert codes_of(encoder, [date(2024, 1, 1), date(2024, 6, 1), date(2026, 1, 1)]) == [0, 1, 2]


def test_times_of_day_and_durations_are_cut_into_intervals_of_their_own() -> None:
    clock = pl.DataFrame({"a": [time(n // 2, n % 2 * 30) for n in range(48)]})
    assert TableEncoder(bins=2).fit(clock).schema_.fields[0].labels == ("[00:00, 11:30]", "(11:30, 23:30]")
    lengths = pd.DataFrame({"a": pd.to_timedelta(range(30), unit="h")})
    assert TableEncoder(bins=2).fit(lengths).schema_.fields[0].labels == (
        "[0:00:00, 14:00:00]",
        "(14:00:00, 1 day, 5:00:00]",
    )


def test_dates_outside_the_years_of_python_do_no_harm() -> None:
    far = pa.array([-(2**62), 0, 2**62], pa.timestamp("s"))
    assert TableEncoder().fit(pa.table({"a": far})).schema_.sizes.tolist() == [3]
