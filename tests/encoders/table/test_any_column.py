"""Whatever a column holds, it is read, or refused with an error of maskdiff; a table of arrow gives the same answer."""

from __future__ import annotations

import datetime as dt
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff import TableEncoder
from maskdiff.errors import MaskdiffError, MaskdiffWarning

N = 60
RNG = np.random.default_rng(0)


def of(*cells: Any) -> pd.Series:
    """A column of these cells in random order, as Python objects."""
    drawn = np.empty(N, dtype=object)
    drawn[:] = [cells[at] for at in RNG.integers(0, len(cells), N)]
    return pd.Series(drawn, dtype=object)


COLUMNS: dict[str, Any] = {
    "integers beyond 64 bits": of(10**20, 2 * 10**20, -(2**70), 5),
    "unsigned": RNG.integers(0, 2**63, N).astype(np.uint64) + np.uint64(2**63),
    "infinite": of(np.inf, 1.5, 2.5),
    "largest floats": of(1.7e308, -1.7e308, 5e-324, -0.0),
    "missing": of(None),
    "missing in five ways": of(np.nan, None, pd.NA, pd.NaT, "a"),
    "booleans": RNG.random(N) < 0.5,
    "booleans and missing": of(True, False, None),
    "mixed": of(1, "a", 2.5, None, True, dt.date(2024, 1, 1), b"x"),
    "mixed dates": of(dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5), "2024-01-02", None),
    "with and without zone": of(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 5)),
    "first and last day": of(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), dt.datetime(2024, 1, 1)),
    "decimals": of(Decimal("1.50"), Decimal("2"), Decimal("NaN"), None),
    "infinite decimals": of(Decimal("Infinity"), Decimal("2")),
    "fractions": of(Fraction(1, 3), 2),
    "unused categories": pd.Categorical(of("a", "b"), categories=["a", "b", "c"]),
    "categories that are numbers": pd.Categorical(of(1, 2), categories=[1, 2, 3]),
    "nullable integers": pd.array(of(1, 2, None), dtype="Int64"),
    "nullable booleans": pd.array(of(True, None), dtype="boolean"),
    "strings": pd.array(of("a", None), dtype="string"),
    "zone": pd.date_range("2024-01-01", periods=N, freq="7h", tz="Europe/Berlin"),
    "times": of(dt.time(5, 3), dt.time(23, 59, 59), None),
    "durations": pd.to_timedelta(RNG.integers(-(10**5), 10**5, N), unit="s"),
    "periods": pd.period_range("2024-01", periods=N, freq="M"),
    "complex": RNG.normal(size=N) + 1j,
    "lists": of([1, 2], [3], None),
    "dicts": of({"a": 1}, {"b": 2}),
    "sets": of({1}, {2}),
    "half a character": of("a\ud800", "b"),
    "zero bytes": of("a\x00", "\x00"),
    "objects": of(object(), object()),
    "uuids": of(*(uuid.UUID(int=at) for at in range(9))),
    "sparse": pd.arrays.SparseArray(np.where(RNG.random(N) < 0.8, 0, 1.0)),
    "a single value": of("x"),
    "a single number": of(5),
    "moments": RNG.integers(10**9, 2 * 10**9, N),
}
REFUSED = {"infinite", "infinite decimals", "complex", "lists", "dicts", "sets", "objects"}
# Arrow has no type for these cells, or one that says something else.
NOT_IN_ARROW = {
    *("periods", "integers beyond 64 bits", "mixed", "mixed dates", "missing in five ways", "half a character"),
    *("fractions", "sparse"),
}


def fitted(table: Any, **settings: Any) -> TableEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        return TableEncoder(**settings).fit(table)


def table(name: str) -> pd.DataFrame:
    return pd.DataFrame({"region": ["North", "South"] * (N // 2), "created_at": COLUMNS[name]})


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_or_refused(name: str) -> None:
    rows = table(name)
    if name in REFUSED:
        with pytest.raises(MaskdiffError, match="created_at"):
            fitted(rows)
        return
    encoder = fitted(rows)
    codes = encoder.encode(rows)
    again = TableEncoder.from_state(encoder.to_state())
    np.testing.assert_array_equal(again.encode(rows).values, codes.values)
    assert (codes.values < encoder.schema_.sizes).all()  # nothing learned from is unseen
    fields = encoder.schema_.names
    for of_cells in (encoder.display, encoder.notes):
        assert all(isinstance(text, str) for text in of_cells(rows, [0] * len(fields), fields))


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - REFUSED - NOT_IN_ARROW))
def test_a_table_of_arrow_gives_the_same_answer(name: str) -> None:
    rows = table(name)
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    encoder, of_arrow = fitted(rows), fitted(arrow)
    assert of_arrow.schema_ == encoder.schema_
    assert of_arrow.left_out_ == encoder.left_out_
    np.testing.assert_array_equal(of_arrow.encode(arrow).values, encoder.encode(rows).values)


@pytest.mark.parametrize("learned", sorted(set(COLUMNS) - REFUSED))
def test_cells_of_any_other_column_are_scored_or_refused(learned: str) -> None:
    encoder = fitted(table(learned))
    for name in COLUMNS:
        try:
            codes = encoder.encode(table(name).head(9))
        except MaskdiffError:
            continue
        assert (codes.values <= encoder.schema_.sizes).all()
        assert codes.excess is None or np.isfinite(codes.excess).all()
