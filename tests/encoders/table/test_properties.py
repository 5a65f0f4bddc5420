"""Promises that hold for every table hypothesis can think of."""

from __future__ import annotations

import json
import warnings
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import EmptyTableError, LeftOutWarning

MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
TYPED: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=3),
    "few": st.sampled_from(["a", "b", ""]),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "small": st.integers(-3, 3),
    "float": st.floats(allow_infinity=False, allow_nan=False),
    "boolean": st.booleans(),
    "moment": MOMENTS,
}
# Anything that may be found in a column of Python objects. (A signalling NaN does its work and stops pandas.)
ANYTHING = st.one_of(
    *TYPED.values(),
    st.integers(),
    st.floats(),
    st.none(),
    st.decimals().filter(lambda number: not number.is_snan()),
    st.dates(),
    st.times(),
    st.timedeltas(),
)


@st.composite
def columns(draw: st.DrawFn, n: int) -> list[Any]:
    cell = TYPED[draw(st.sampled_from(sorted(TYPED)))]
    cells = st.none() | cell if draw(st.booleans()) else cell
    return draw(st.lists(cells, min_size=n, max_size=n))


@st.composite
def frames(draw: st.DrawFn) -> dict[str, list[Any]]:
    n = draw(st.integers(1, 30))
    return {f"c{j}": draw(columns(n)) for j in range(draw(st.integers(1, 3)))}


def fit(table: Any, **options: Any) -> TableEncoder | None:
    """The encoder, or None where nothing is left to learn from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        try:
            return TableEncoder(max_categories=5, bins=3, discrete_up_to=4, **options).fit(table)
        except EmptyTableError:
            return None


def to_polars(frame: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series(name, cells, strict=False) for name, cells in frame.items()})


@given(frames())
def test_pandas_and_polars_give_equal_schemas_and_codes(frame: dict[str, list[Any]]) -> None:
    ours, theirs = pd.DataFrame(frame), to_polars(frame)
    # pandas turns integers with missing values into floats, and the exact ones are lost before we see them.
    for name, cells in frame.items():
        if ours[name].dtype == np.float64 and any(isinstance(cell, int) for cell in cells):
            ours[name] = pd.Series(cells, dtype="Int64")
    first, second = fit(ours), fit(theirs)
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    assert first.schema_ == second.schema_
    wanted = first.encode(ours).values.tolist()
    assert second.encode(theirs).values.tolist() == wanted
    assert first.encode(theirs).values.tolist() == wanted


@given(frames())
def test_every_normal_cell_is_known_and_counted(frame: dict[str, list[Any]]) -> None:
    encoder = fit(to_polars(frame))
    if encoder is None:
        return
    codes = encoder.encode(to_polars(frame))
    assert codes.known.all()
    for at, field in enumerate(encoder.schema_):
        assert tuple(np.bincount(codes.values[:, at], minlength=field.size)) == field.counts
        assert len(set(field.labels)) == field.size


@given(frames(), st.randoms(use_true_random=False))
def test_neither_column_order_nor_row_order_matters(frame: dict[str, list[Any]], random: Any) -> None:
    table = to_polars(frame)
    encoder = fit(table)
    if encoder is None:
        return
    order = random.sample(range(len(table)), len(table))
    names = random.sample(table.columns, len(table.columns))
    codes = encoder.encode(table[order].select(names)).values
    assert codes.tolist() == encoder.encode(table).values[order].tolist()


@given(frames())
def test_a_state_survives_json(frame: dict[str, list[Any]]) -> None:
    table = to_polars(frame)
    encoder = fit(table)
    if encoder is None:
        return
    back = TableEncoder.from_state(json.loads(json.dumps(encoder.to_state(), allow_nan=False)))
    assert back.to_state() == encoder.to_state()
    assert back.encode(table).values.tolist() == encoder.encode(table).values.tolist()


NORMAL = {
    "text": ["a", "b", "1", "True", "2024-01-01", ""],
    "few": [1, 2.5, 2**60 + 1, 0],
    "many": np.arange(50) / 3,
    "boolean": [True, False],
    "moment": pd.to_datetime(["2024-01-01", "2024-01-02T05:00"], format="ISO8601"),
    "days": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(30), unit="D"),
    "mixed": [1, "x", 2.5, date(2024, 1, 1)],
}


@pytest.mark.parametrize("name", sorted(NORMAL))
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(cells=st.lists(ANYTHING | st.sampled_from(["1", "2.5", "true", "2024-01-01", "a"]), min_size=1, max_size=8))
def test_the_code_of_a_cell_never_depends_on_the_other_rows(name: str, cells: list[Any]) -> None:
    encoder = TableEncoder().fit(pd.DataFrame({name: NORMAL[name]}))

    def codes(values: list[Any]) -> list[int]:
        return encoder.encode(pd.DataFrame({name: pd.Series(values, dtype=object)})).values[:, 0].tolist()

    together = codes(cells)
    assert together == [codes([cell])[0] for cell in cells]
    assert together == codes(cells[::-1])[::-1]
    assert codes([cells[0], "a", None, 1])[0] == together[0]
