"""Dates that are read all at once are those that are read one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.column_types.date_arrays import PLAIN_DAY_FIRST, PLAIN_ISO, plain_ticks

DATES = ["date", "day_first_date", "month_first_date", "compact_date"]
DIGITS = st.integers(0, 40).map("{:02d}".format)
MARKS = st.sampled_from([".", "/", "-"])
YEARS = st.sampled_from(["0001", "1600", "1970", "2024", "9999", "24"])
TIMES = st.sampled_from(["", " 14:30", "T23:59:59", " 24:00", " 2:05 PM", "T10:00:00.5", "T10:00Z"])
TEXTS = st.one_of(
    st.tuples(DIGITS, MARKS, DIGITS, MARKS, YEARS, TIMES).map("".join),
    st.tuples(YEARS, MARKS, DIGITS, MARKS, DIGITS, TIMES).map("".join),
    st.sampled_from(["20240925", " 2024-09-25", "2024-02-30", "31.02.2024", "Sep 2024", "x", ""]),
)


@pytest.mark.parametrize("name", DATES)
@pytest.mark.parametrize("data_type", [pa.string(), pa.large_string()], ids=str)
@given(texts=st.lists(TEXTS, max_size=5))
def test_all_at_once_as_one_by_one(name, data_type, texts):
    column_type = COLUMN_TYPES[name]
    assert column_type.text_ticks(pa.array(texts, data_type)).to_pylist() == [column_type.key(text) for text in texts]


def test_plain_dates_are_not_looked_at_one_by_one():
    texts = pa.array(["2024-09-25", "2024-09-25T14:30", "25.09.2024", "25.09.2024 14:30:00", "5.9.2024"])
    day, half_past = 1_727_222_400_000_000, 1_727_274_600_000_000
    assert plain_ticks(texts, [PLAIN_ISO, PLAIN_DAY_FIRST]).to_pylist() == [day, half_past, day, half_past, None]
