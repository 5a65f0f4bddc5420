"""Dates as people write them: which texts are dates of which format, and which moment they stand for."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.column_types.date_formats import parse_date
from maskdiff.encoders.table.column_types.date_order import choose_orders, without_other_order
from maskdiff.encoders.table.recognition import TextRecognition
from maskdiff.errors import DateOrderWarning

NOON = datetime(2024, 9, 25, 12, tzinfo=UTC)
DAY = datetime(2024, 9, 25, tzinfo=UTC)
MONTH = datetime(2024, 9, 1, tzinfo=UTC)


def ticks(moment):
    return int(moment.timestamp()) * 1_000_000


def fitting(texts, name="day"):
    """The types a column of these texts may have, the most special first."""
    recognition = TextRecognition(name)
    recognition.add(pa.array(texts, pa.large_string()))
    return tuple(found.column_type for found in recognition.found())


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-09-25", DAY),
        ("2024/9/25", DAY),
        ("2024.09.25", DAY),
        ("2024-09-25T14:00:00+02:00", NOON),
        ("2024-09-25 12:00:00.000 UTC", NOON),
        ("25 Sep 2024", DAY),
        ("25-Sep-24", DAY),
        ("25. September 2024", DAY),
        ("25 septembre 2024 12:00", NOON),
        ("Sep 25, 2024", DAY),
        ("September 25 2024, 12:00 PM", NOON),
        ("Wed, 25 Sep 2024 12:00:00 GMT", NOON),
        ("2024-09", MONTH),
        ("09/2024", MONTH),
        ("Sep 2024", MONTH),
        ("20240925", DAY),
    ],
)
def test_a_date_that_can_be_read_in_one_way_only_is_read_from_its_cell_alone(text, moment):
    assert parse_date(text) == ticks(moment)
    assert text == "20240925" or fitting([text])[0].name == "date"


@pytest.mark.parametrize("text", ["", "now", "2024-13", "31 Feb 2024", "25 Foo 2024", "2024", "2024-02-30", "12:00"])
def test_what_is_no_date_is_none(text):
    assert COLUMN_TYPES["date"].key(text) is None


@pytest.mark.parametrize(
    ("texts", "name", "moment"),
    [
        (["25.09.2024", "01.02.2024"], "day_first_date", DAY),
        (["25.09.24", "1.2.2024"], "day_first_date", DAY),
        (["25/09/2024", "01/02/2024"], "day_first_date", DAY),
        (["25-09-2024 12:00", "01-02-2024"], "day_first_date", NOON),
        (["09/25/2024", "01/02/2024"], "month_first_date", DAY),
        (["9/25/24 12:00 PM", "1/2/24"], "month_first_date", NOON),
        (["9/25/24 12:00:00 PM +0000", "2024-01-02"], "month_first_date", NOON),
        (["20240925", "20240102"], "compact_date", DAY),
        (["1727265600", "1700000000"], "epoch_seconds", NOON),
        (["1727265600000", "1700000000000"], "epoch_milliseconds", NOON),
    ],
)
def test_the_format_is_decided_over_the_whole_column(texts, name, moment):
    found = fitting(texts, "created_at")[0]
    assert (found.name, found.general) == (name, "date")
    assert found.key(texts[0]) == ticks(moment)
    assert found.key("Sep 25, 2024") == ticks(DAY)


@pytest.mark.parametrize(
    "texts",
    [["1.2.10", "1.10.24"], ["25/13/2024"], ["31/02/2024"], ["20241399", "20240101"], ["25/09-2024"], ["13.25.2024"]],
)
def test_what_looks_like_a_date_but_is_none_stays_what_it_is(texts):
    assert fitting(texts)[0].general in ("category", "number")


@pytest.mark.parametrize(
    ("name", "is_moment"),
    [("ts", True), ("created_at", True), ("startTime", True), ("event date", True), ("cost", False), ("rate", False)],
)
def test_large_integers_are_moments_only_where_the_name_says_so(name, is_moment):
    assert (fitting(["1727265600"], name)[0].general == "date") is is_moment


def test_where_both_orders_fit_one_is_taken_and_named():
    both, month_first = fitting(["01/02/2024", "03/04/2024"]), fitting(["01/25/2024"])
    with pytest.warns(DateOrderWarning, match="'a' fit both .* read as day/month/year"):
        assert choose_orders({"a": both})["a"].name == "day_first_date"
    with pytest.warns(DateOrderWarning, match="'a' fit both .* read as month/day/year"):
        assert choose_orders({"a": both, "b": month_first})["a"].name == "month_first_date"


@pytest.mark.parametrize(("day_first", "name"), [(True, "day_first_date"), (False, "month_first_date")])
def test_the_user_can_say_the_order(day_first, name):
    possible = without_other_order(fitting(["01/02/2024", "03/04/2024"]), day_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_orders({"a": possible})["a"].name == name


def test_dots_say_that_the_day_comes_first():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_orders({"a": fitting(["01.02.2024"])})["a"].name == "day_first_date"


def test_batches_in_different_formats_are_one_column_if_cells_alone_tell_the_others():
    date, own = COLUMN_TYPES["date"], COLUMN_TYPES["day_first_date"]
    assert date.together(own) is own.together(date) is own
    assert own.together(COLUMN_TYPES["month_first_date"]) is None
