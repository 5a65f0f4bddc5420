"""Rows are ordered by dates or numbers; texts that are neither are named, not sorted by the alphabet."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from maskdiff.detectors.finding.ordering import orderable
from maskdiff.detectors.finding.ties import column_values, time_ranks
from maskdiff.errors import ColumnTypeError, OrderWarning


def test_dates_are_ordered_as_dates_in_whatever_format_they_are_written():
    days = ["31.12.2022", "01.02.2023", "02.01.2023"]
    values = column_values(pa.table({"day": days}), "day")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert time_ranks(values, 3).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "texts", [["31.12.2022", "31.02.2023", "", "02.01.2023", "05.01.2023"], ["9", "-", "", "10", "11"]]
)
def test_rows_without_a_date_come_last_and_are_counted(texts):
    with pytest.warns(OrderWarning, match="2 rows have no date or number to be ordered by .1 of them a text such as"):
        assert time_ranks(pa.array(texts), 5).tolist() == [0, 3, 4, 1, 2]


def test_missing_numbers_come_last():
    with pytest.warns(OrderWarning, match=r"1 row has no date or number to be ordered by: taken as the last"):
        assert time_ranks(np.array([2.0, np.nan, 1.0]), 3).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (pa.array(["Dec", "Jan", "5"]), "'Dec'"),
        (pa.array([True, False]), "bool"),
        (pa.nulls(3), "nothing"),
        (pa.array(["", None]), "nothing"),
    ],
    ids=["months", "booleans", "nulls", "blanks"],
)
def test_what_has_no_order_is_refused(values, named):
    with pytest.raises(ColumnTypeError, match=f"cannot be ordered by a column that holds .*{named}"):
        orderable(values)
