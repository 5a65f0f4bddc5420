"""Dates written as numbers: recognised alike in texts and in numbers of a declared type, with a notice."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff import TableEncoder
from maskdiff.errors import AmbiguousColumnWarning, ColumnTypeError, MaskdiffWarning

N = 120
START = datetime(2024, 1, 1)
MOMENTS = [START + timedelta(minutes=5077 * at) for at in range(N)]
SECONDS = [int((at - datetime(1970, 1, 1)).total_seconds()) for at in MOMENTS]
NUMBERS = {
    "created_at": SECONDS,
    "ts": [1000 * at for at in SECONDS],
    "booked": [int(f"{at:%Y%m%d}") for at in MOMENTS],
}
TYPES = {"created_at": "epoch_seconds", "ts": "epoch_milliseconds", "booked": "compact_date"}


def fitted(table: Any, **settings: Any) -> TableEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        return TableEncoder(derive_dates=False, **settings).fit(table)


def types(encoder: TableEncoder) -> dict[str, str]:
    return {name: one.name for name, one in encoder.column_types_.items()}


@pytest.mark.parametrize("form", [int, float, np.int64, str, Decimal], ids=lambda form: form.__name__)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_any_type_are_the_dates_their_texts_are(name: str, form: Any) -> None:
    texts = pd.DataFrame({name: list(map(str, NUMBERS[name]))})
    rows = pd.DataFrame({name: pd.Series([form(number) for number in NUMBERS[name]])})
    encoder, of_texts = fitted(rows), fitted(texts)
    assert types(encoder) == types(of_texts) == {name: TYPES[name]}
    assert encoder.schema_ == of_texts.schema_
    for one in (encoder, of_texts):
        assert one.encode(rows).values.tolist() == one.encode(texts).values.tolist()


def test_missing_values_turn_integers_into_floats_and_change_nothing() -> None:
    rows = pd.DataFrame(NUMBERS)
    floats = rows.astype(float)
    floats.iloc[7] = np.nan
    nullable = rows.astype("Int64")
    nullable.iloc[7] = pd.NA
    encoder = fitted(floats)
    assert types(encoder) == TYPES
    assert encoder.encode(floats).values.tolist() == fitted(nullable).encode(nullable).values.tolist()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("amount", np.random.default_rng(0).integers(1, 30_000_000, N)),
        ("date", np.random.default_rng(0).integers(20_200_000, 20_240_000, N)),  # hardly any is a day
        ("year_and_number", np.arange(20_240_001, 20_240_001 + N)),
        ("customer", SECONDS),  # nothing in the name says that they are moments
        ("created_at", np.random.default_rng(0).integers(1, 1_700_000_000, N)),
        ("price_at", np.random.default_rng(0).normal(size=N)),
    ],
    ids=["amounts", "eight digits", "yearly numbers", "no such name", "from 1970 on", "fractions"],
)
def test_other_numbers_stay_numbers(name: str, numbers: Any) -> None:
    rows = pd.DataFrame({name: numbers, "region": ["North", "South"] * (N // 2)})
    encoder = fitted(rows, columns=None)
    assert encoder.left_out_.get(name) or encoder.column_types_[name].general == "number"
    assert types(encoder) == types(fitted(rows.astype(str)))


def test_a_notice_says_that_numbers_were_read_as_dates_and_how_to_overrule_it() -> None:
    rows = pd.DataFrame({"created_at": SECONDS})
    for table in (rows, rows.astype(str)):
        with pytest.warns(AmbiguousColumnWarning, match=r"seconds since 1970: 1704067200 is 2024-01-01\.") as given:
            TableEncoder(derive_dates=False).fit(table)
        assert 'columns={name: "number"}' in str(given[0].message)
        assert given[0].message.setting == "columns"  # type: ignore[union-attr]
    assert types(fitted(rows, columns={"created_at": "number"})) == {"created_at": "integer"}


def test_a_column_that_was_said_to_hold_dates_needs_neither_the_name_nor_a_notice() -> None:
    rows = pd.DataFrame({"x": SECONDS})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (rows, rows.astype(str)):
            encoder = TableEncoder(columns={"x": "date"}, derive_dates=False).fit(table)
            assert types(encoder) == {"x": "epoch_seconds"}
    with pytest.raises(ColumnTypeError, match="'x' was to be read as dates"):
        TableEncoder(columns={"x": "date"}).fit(pd.DataFrame({"x": range(30)}))


def test_a_few_numbers_that_are_no_dates_are_marks() -> None:
    rows = pd.DataFrame({"created_at": [0, *SECONDS], "booked": [20240231, *NUMBERS["booked"]]})
    for table in (rows, rows.astype(str)):
        encoder = fitted(table)
        assert [encoder.summary()[at]["marks"] for at in (0, 1)] == [["0"], ["20240231"]]
        assert encoder.encode(rows).values.tolist() == encoder.encode(rows.astype(str)).values.tolist()
        assert encoder.schema_.fields[0].labels[-1] == "0"
        assert encoder.notes(rows, [0], ["created_at"]) == [""]
    many = pd.DataFrame({"booked": [20240231, 20240232, *NUMBERS["booked"]]})  # more than one in a hundred
    assert types(fitted(many)) == {"booked": "integer"}


def test_a_mark_is_no_date_of_1970_in_differences() -> None:
    rows = pd.DataFrame({"opened_at": [0, *SECONDS], "closed_at": [SECONDS[0], *(at + 3600 for at in SECONDS)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        encoder = TableEncoder().fit(rows)
    assert "closed_at - opened_at" not in encoder.derived_  # it is always the same


def test_a_moment_far_beyond_those_seen_is_the_odder_the_further_it_is() -> None:
    encoder = fitted(pd.DataFrame({"created_at": SECONDS}))
    for new in ([SECONDS[-1], 0, 40_000_000_000], ["1704067200", "0", "40000000000"]):
        codes = encoder.encode(pd.DataFrame({"created_at": new}))
        assert codes.values[1:, 0].tolist() == [encoder.schema_.fields[0].size] * 2
        assert codes.excess is not None
        assert 0 == codes.excess[0, 0] < codes.excess[1, 0] < codes.excess[2, 0]


def test_moments_with_fractions_of_a_second_are_moments() -> None:
    rows = pd.DataFrame({"time": [at + 0.25 for at in SECONDS]})
    assert types(fitted(rows)) == types(fitted(rows.astype(str))) == {"time": "epoch_seconds"}


def test_the_order_of_the_rows_and_how_they_are_cut_does_not_matter() -> None:
    table = pa.table({"created_at": [*SECONDS, 0, 0], "booked": [*NUMBERS["booked"], 0, 20240101]})
    whole = fitted(table)
    for cut in (1, 5, N):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MaskdiffWarning)
            parts = TableEncoder(derive_dates=False).fit_batches([table.slice(cut), table.slice(0, cut)])
        assert parts.to_state() == whole.to_state()


def test_a_model_file_holds_how_numbers_are_dates() -> None:
    rows = pd.DataFrame({"created_at": [0, *SECONDS], "region": "North"})
    encoder = fitted(rows)
    again = TableEncoder.from_state(encoder.to_state())
    assert again.encode(rows).values.tolist() == encoder.encode(rows).values.tolist()


def test_what_parts_of_the_rows_show_merges() -> None:
    table = pa.table({"created_at": [*SECONDS, 0, 0], "amount": [*range(N), 20240101, 20240102]})
    encoder = TableEncoder()
    whole, first, second = (encoder.recognition() for _ in range(3))
    whole.add(encoder.read(table))
    first.add(encoder.read(table.slice(0, 50)))
    second.add(encoder.read(table.slice(50)))
    first.merge(second)
    for recognition in (whole, first):
        found = recognition.found()
        assert list(found) == ["created_at"]
        assert (found["created_at"].column_type.name, found["created_at"].marks) == ("epoch_seconds", ("0",))
    assert first.found()["created_at"].doubt == whole.found()["created_at"].doubt


def test_moments_are_shown_as_dates_and_other_cells_as_they_are() -> None:
    encoder = fitted(pd.DataFrame({"created_at": [0, *SECONDS]}))
    for cells in ([SECONDS[1], 0, None, 1e30], [str(SECONDS[1]), "0", None, "unknown"]):
        table = pd.DataFrame({"created_at": pd.Series(cells, dtype=object)})
        shown = encoder.display(table, range(4), ["created_at"] * 4)
        assert shown[:3] == ["2024-01-04T12:37:00", "0", "missing"]
        assert shown[3] == str(cells[3])
