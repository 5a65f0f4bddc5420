"""One cell at a time: equal values of different types mean the same."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.cells import (
    as_number,
    cell_text,
    moment_text,
    parse_duration,
    parse_moment,
    parse_number,
    parse_time,
    time_text,
)

ONES = [1, 1.0, Decimal("1.00"), np.int8(1), np.float32(1), np.float64(1), np.uint64(1), Fraction(1)]
NOON = datetime(2024, 2, 29, 12)


@pytest.mark.parametrize("one", ONES, ids=lambda one: type(one).__name__)
def test_one_has_one_text_and_one_number_in_every_type(one: Any) -> None:
    assert cell_text(one) == "1"
    assert as_number(one) == 1


def test_true_and_one_are_different_cells() -> None:
    assert cell_text(True) == cell_text(np.True_) == "True" != cell_text(1)


def test_minus_zero_is_zero() -> None:
    assert cell_text(-0.0) == "0"


def test_a_32_bit_float_reads_as_it_was_written() -> None:
    assert cell_text(np.float32(0.1)) == "0.1"


def test_an_integer_that_fits_64_bits_is_exact_and_a_larger_one_is_a_float() -> None:
    assert cell_text(2**53 + 1) == str(2**53 + 1)
    assert cell_text(2**70 + 1) == repr(float(2**70))
    assert as_number(10**400) == math.inf
    assert as_number(-(10**400)) == -math.inf


@given(st.integers() | st.floats(allow_nan=False))
def test_the_text_of_a_number_reads_back_as_that_number(number: float) -> None:
    assert parse_number(cell_text(number)) == as_number(number)


@pytest.mark.parametrize("text", ["", "?", "1_000", "nan", "NaN", "1,5", "0x10", "2020-01-01", "12:00:00"])
def test_a_text_that_is_no_number_has_none(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize("text", ["7", " 7", "7.0", "+7", "0.7e1", "007"])
def test_a_number_may_be_written_in_many_ways(text: str) -> None:
    assert parse_number(text) == 7


@pytest.mark.parametrize(
    "noon",
    [
        NOON,
        pd.Timestamp(NOON),
        np.datetime64(NOON),
        NOON.replace(tzinfo=UTC),
        datetime(2024, 2, 29, 14, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("2024-02-29 13:00", tz="Europe/Paris"),
    ],
    ids=repr,
)
def test_a_moment_has_one_text_in_every_type_and_zone(noon: Any) -> None:
    assert cell_text(noon) == "2024-02-29T12:00:00"


def test_midnight_is_written_as_the_date() -> None:
    assert cell_text(datetime(2024, 2, 29)) == cell_text(date(2024, 2, 29)) == "2024-02-29"


@given(st.datetimes())
def test_the_text_of_a_moment_reads_back_as_that_moment(moment: datetime) -> None:
    ticks = parse_moment(moment.isoformat())
    assert parse_moment(cell_text(moment)) == ticks
    assert moment_text(ticks) == cell_text(moment)


@given(st.times())
def test_the_text_of_a_time_of_day_reads_back_as_that_time(at: time) -> None:
    assert time_text(parse_time(cell_text(at))) == cell_text(at)


@given(st.timedeltas(timedelta(days=-(10**6)), timedelta(days=10**6)))
def test_the_text_of_a_duration_reads_back_as_that_duration(length: timedelta) -> None:
    ticks = length // timedelta(microseconds=1)
    assert parse_duration(cell_text(length)) == ticks
    assert parse_duration(str(pd.Timedelta(length))) == ticks
    assert cell_text(np.timedelta64(length)) == cell_text(length)


def test_bytes_and_broken_text_get_a_text_that_can_be_stored() -> None:
    assert cell_text(b"caf\xc3\xa9") == "café"
    assert cell_text(b"\xff").encode() == b"\\xff"
    assert cell_text("\ud800").encode() == b"\\ud800"


def test_an_object_without_a_text_of_its_own_is_refused() -> None:
    with pytest.raises(TypeError, match="address"):
        cell_text(object())
