"""What fit decides about whole columns: left out or overridden; and which tables it refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import (
    ColumnTypeError,
    EmptyTableError,
    LeftOutWarning,
    SettingError,
    UnknownColumnError,
)

N = 30
NAMES = [f"name {n}" for n in range(N)]
SHUFFLED = np.random.default_rng(0).permutation(N)


def keep(values: Any) -> pd.DataFrame:
    """A table with this column, and one that is never left out."""
    return pd.DataFrame({"a": values, "colour": ["red", "blue"] * (len(values) // 2)})


def left_out(values: Any) -> str | None:
    """Why the column was left out, None if it was not; any warning but ours is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        return TableEncoder().fit(keep(values)).left_out_.get("a")


# Row ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        NAMES,
        pd.Series(NAMES, dtype="category"),
        [*NAMES, None, None],
        [*NAMES[:-1], 5],
        [*NAMES[:-1], NAMES[0]],
        range(N),
        range(10**6, 10**6 + 1000 * N, 1000),
        range(0, -1000 * N, -1000),
        SHUFFLED + 2**60,
        SHUFFLED * 9,
        SHUFFLED * 1000,
        [*range(N - 1), 0],
        pd.Series(SHUFFLED, dtype=object),
        pd.array([*SHUFFLED, None, None], dtype="Int64"),
        np.arange(N, dtype=np.uint64) + 2**63,
    ],
    ids=[
        "text",
        "categorical",
        "text-with-missing",
        "mixed",
        "one-repeated",
        "rising",
        "rising-with-gaps",
        "falling",
        "shuffled-huge",
        "shuffled-with-gaps",
        "shuffled-multiples",
        "one-integer-repeated",
        "objects",
        "with-missing",
        "unsigned",
    ],
)
def test_a_row_id_is_left_out(values: Any) -> None:
    assert "row id" in str(left_out(values))


@pytest.mark.parametrize(
    "values",
    [
        [*NAMES[: N // 2]] * 2,
        NAMES[:18],
        range(18),
        SHUFFLED**3 * 7 + 11,
        np.sort(SHUFFLED**3 * 7 + 11),
        [*range(N // 2)] * 2,
        np.arange(N) / 2,
        np.arange(N) * 1.0,
        pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D"),
    ],
    ids=[
        "repeated-text",
        "few-texts",
        "few-integers",
        "sparse",
        "sorted",
        "repeated",
        "floats",
        "whole-floats",
        "dates",
    ],
)
def test_what_only_resembles_a_row_id_is_kept(values: Any) -> None:
    assert left_out(values) is None


def test_one_warning_names_every_column_left_out_and_why() -> None:
    frame = pd.DataFrame({"id": range(N), "name": NAMES, "empty": [None] * N, "x": [1, 2] * (N // 2)})
    with pytest.warns(LeftOutWarning) as caught:
        encoder = TableEncoder().fit(frame)
    assert len(caught) == 1
    assert encoder.left_out_ == {
        "id": "a row id: integers that are all different",
        "name": "a row id: all its values are different",
        "empty": "all values are missing",
    }
    for name, reason in encoder.left_out_.items():
        assert f"{name!r} ({reason})" in str(caught[0].message)
    assert encoder.schema_.names == ["x"]
    assert encoder.feature_names_in_.tolist() == ["id", "name", "empty", "x"]


def test_columns_left_out_may_come_go_and_change_at_scoring() -> None:
    with pytest.warns(LeftOutWarning):
        encoder = TableEncoder().fit(pd.DataFrame({"id": range(N), "x": [1, 2] * (N // 2)}))
    for other in (pd.DataFrame({"x": [2]}), pd.DataFrame({"id": [[1]], "x": [2]})):
        assert encoder.encode(other).values.tolist() == [[1]]


@pytest.mark.parametrize(
    ("values", "how"), [(NAMES, "category"), (range(N), "number"), (range(N), "category"), ([None] * N, "category")]
)
def test_an_override_keeps_a_column_that_would_be_left_out(values: Any, how: str) -> None:
    assert TableEncoder({"a": how}).fit(keep(values)).schema_.names == ["a", "colour"]


def test_a_column_without_values_that_is_kept_knows_only_missing() -> None:
    for how in ("category", "number", "date"):
        encoder = TableEncoder({"a": how}).fit(pd.DataFrame({"a": [None, None]}))
        assert encoder.schema_.fields[0].labels == ("missing",)
        assert encoder.encode([[None], ["5"]]).values.tolist() == [[0], [1]]


def test_dropped_columns_are_left_out_without_warning_and_may_be_absent() -> None:
    encoder = TableEncoder({"a": "drop"}).fit(keep(NAMES))
    assert encoder.left_out_ == {"a": "dropped, as requested"}
    assert encoder.encode(pd.DataFrame({"colour": ["red"]})).values.tolist() == [[1]]


# Overrides -----------------------------------------------------------------------------------------------------------


def test_numbers_can_be_read_as_categories() -> None:
    field = TableEncoder({"a": "category"}).fit(keep(np.arange(N) / 2)).schema_.fields[0]
    assert (field.type, field.size, field.labels[:2]) == ("category", N, ("0", "0.5"))


def test_text_can_be_read_as_numbers_or_dates() -> None:
    numbers = [f" {n / 2} " for n in range(N)]
    labels = TableEncoder({"a": "number"}, bins=2, tails=0).fit(keep(numbers)).schema_.fields[0].labels
    assert labels == ("[0, 7]", "(7, 14.5]")
    days = [f"2024-01-{n + 1:02d}" for n in range(N)]
    labels = TableEncoder({"a": "date"}, bins=2).fit(keep(days)).schema_.fields[0].labels
    assert labels == ("[2024-01-01, 2024-01-15]", "(2024-01-15, 2024-01-30]")


def test_text_that_cannot_be_read_as_asked_is_an_error_with_an_example() -> None:
    with pytest.raises(ColumnTypeError, match=r"'a' was to be read as number, but 2 of its.*'\?' for one"):
        TableEncoder({"a": "number"}).fit(pd.DataFrame({"a": ["1", "?", "?"]}))
    with pytest.raises(ColumnTypeError, match=r"'a' was to be read as date.*'soon'"):
        TableEncoder({"a": "date"}).fit(pd.DataFrame({"a": ["2024-01-01", "soon"]}))


def test_a_type_that_cannot_be_read_as_asked_is_an_error() -> None:
    with pytest.raises(ColumnTypeError, match="'a' was to be read as numbers, but holds timestamp"):
        TableEncoder({"a": "number"}).fit(pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}))
    with pytest.raises(ColumnTypeError, match="'a' was to be read as dates, but holds int64"):
        TableEncoder({"a": "date"}).fit(pd.DataFrame({"a": [1]}))


def test_an_override_for_an_unknown_column_is_an_error_unless_it_drops_it() -> None:
    with pytest.raises(UnknownColumnError, match=r"'b'.*only 'a', 'colour'"):
        TableEncoder({"b": "number"}).fit(keep(["x", "y"]))
    encoder = TableEncoder({"b": "drop"}).fit(keep(["x", "y"]))
    assert encoder.encode(keep(["y", "x"]).assign(b=1)).values.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    "settings",
    [
        {"columns": {"a": "prose"}},
        {"bins": 1},
        {"max_categories": 0},
        {"discrete_up_to": 0},
        {"bins": 2.5},
        {"max_distinct": 1},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(settings))):
        TableEncoder(**settings).fit(keep(["x", "y"]))


# Tables --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [pd.DataFrame({"a": []}), np.empty((0, 2)), pd.DataFrame({"a": [1]}).iloc[:0]])
def test_a_table_without_rows_is_an_error(table: Any) -> None:
    with pytest.raises(EmptyTableError, match="no rows"):
        TableEncoder().fit(table)


@pytest.mark.parametrize("table", [pd.DataFrame(index=[1, 2]), np.empty((3, 0))])
def test_a_table_without_columns_is_an_error(table: Any) -> None:
    with pytest.raises(EmptyTableError, match=r"no columns: 0 feature\(s\)"):
        TableEncoder().fit(table)


def test_a_table_of_which_nothing_is_left_is_an_error_that_says_why() -> None:
    with pytest.raises(EmptyTableError, match=r"'a' \(all values are missing\), 'b' \(dropped, as requested\)"):
        TableEncoder({"b": "drop"}).fit(pd.DataFrame({"a": [None], "b": [1]}))
    with pytest.raises(EmptyTableError, match="dropped"):
        TableEncoder({"b": "drop"}).fit(pd.DataFrame({"b": [1]}))


def test_one_row_is_enough() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True]}))
    assert encoder.schema_.sizes.tolist() == [1, 1, 1]
    assert encoder.encode([[1.5, "y", False]]).values.tolist() == [[0, 1, 1]]


def test_a_failed_fit_leaves_no_half_fitted_encoder() -> None:
    encoder = TableEncoder()
    with pytest.raises(ColumnTypeError):
        encoder.fit(pd.DataFrame({"a": [1], "b": [[1]]}))
    assert not [name for name in vars(encoder) if name.endswith("_")]


def test_labels_are_never_touched() -> None:
    frame = keep(["x", "y"])
    assert TableEncoder().fit(frame, [1, 0]).schema_ == TableEncoder().fit(frame).schema_
    assert TableEncoder().fit_encode(frame, "no labels").values.tolist() == [[0, 1], [1, 0]]


def test_only_the_rows_named_are_learned_from() -> None:
    frame = keep(["x", "y", "z", "y"])
    for rows in ([3, 0], np.array([True, False, False, True])):
        assert TableEncoder().fit(frame, rows=rows).schema_.fields[0].labels == ("x", "y")


def test_the_summary_says_how_every_column_was_read() -> None:
    frame = pd.DataFrame(
        {"id": range(40), "x": np.arange(40) / 4, "y": ["a", None] * 20, "z": [None] * 40, "note": ["n"] * 40}
    )
    with pytest.warns(LeftOutWarning):
        encoder = TableEncoder({"note": "drop"}).fit(frame)
    read = {"example": None, "marks": []}
    assert encoder.summary() == [
        {"name": "id", "type": None, "codes": 0, "missing": 0.0, "left_out": encoder.left_out_["id"], **read},
        {"name": "x", "type": "number", "codes": 12, "missing": 0.0, "left_out": None, **read},
        {"name": "y", "type": "category", "codes": 2, "missing": 0.5, "left_out": None, **read},
        {"name": "z", "type": None, "codes": 0, "missing": 1.0, "left_out": "all values are missing", **read},
        {"name": "note", "type": None, "codes": 0, "missing": None, "left_out": "dropped, as requested", **read},
    ]
