"""A few rows are looked up cell by cell: they have the codes they have among many rows."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.encoders.table.cell_memory import CellMemory
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.few_rows import MOST_ROWS, declared_cells
from maskdiff.errors import ColumnTypeError


def rows_of(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "colour": pd.Series(rng.choice(["red", "blue", "NA", None], n), dtype=object),
            "size": pd.Categorical(rng.choice(["S", "NA", "L"], n)),
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 1, n)),
            "visits": rng.integers(0, 50, n),
            "mixed": pd.Series(rng.choice(np.array([1, 1.0, True, "1", 2.5, float("nan")], dtype=object), n)),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
        }
    )


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder().fit(rows_of(400))


@pytest.mark.parametrize("form", ["pandas", "arrow", "strings", "array"])
def test_a_row_alone_has_the_codes_it_has_among_others(encoder, form):
    rows = rows_of(60, seed=1)
    rows["colour"] = rows["colour"].where(rows.index != 3, "green")
    rows.loc[5, ["amount", "visits"]] = [1e9, -7]
    if form == "strings":
        rows["colour"] = rows["colour"].astype("string")
    as_texts = rows.assign(mixed=rows["mixed"].astype("string"))
    given = pa.Table.from_pandas(as_texts) if form == "arrow" else rows.to_numpy(object) if form == "array" else rows
    together = encoder.encode(given)
    assert together.excess is not None
    for _ in range(2):  # read at first, looked up then
        for at in range(len(rows)):
            alone = encoder.encode(given[at : at + 1])
            np.testing.assert_array_equal(alone.values, together.values[at : at + 1])
            beyond = np.zeros_like(together.excess[:1]) if alone.excess is None else alone.excess
            np.testing.assert_array_equal(beyond, together.excess[at : at + 1])


def test_cells_that_were_read_are_not_read_again(encoder, monkeypatch):
    rows = rows_of(MOST_ROWS, seed=2).drop(columns="day")
    encoder = TableEncoder().fit(rows_of(400).drop(columns="day"))
    codes = encoder.encode(rows)

    def read(*given: object) -> None:
        raise AssertionError("a column was read again")

    monkeypatch.setattr("maskdiff.encoders.table.table_fields.column_of", read)
    np.testing.assert_array_equal(encoder.encode(rows[::-1]).values[::-1], codes.values)
    with pytest.raises(AssertionError, match="read again"):
        encoder.encode(rows.assign(colour="never seen"))


def test_numbers_that_mean_missing_values_are_read_as_such():
    table = pd.DataFrame({"amount": [*np.linspace(0, 9, 99).round(3), -999.0, np.nan]})
    encoder = TableEncoder(missing=["-999"]).fit(table)
    codes = encoder.encode(table.tail(2)).values
    assert codes[0] == codes[1] == encoder.schema_.sizes - 1


def test_the_memory_is_bounded_and_not_written_down(encoder, monkeypatch):
    monkeypatch.setattr("maskdiff.encoders.table.cell_memory._MOST_CELLS", 10)
    fields = TableEncoder().fit(rows_of(400))._fields
    for at in range(40):
        fields.encode(rows_of(40, seed=3).assign(colour=f"colour {at}")[at : at + 1])
    assert len(fields._memories[0].cells) <= 11
    assert b"colour 39" not in pickle.dumps(fields)


def test_what_cannot_be_looked_up_is_read_and_refused_as_ever(encoder):
    rows = rows_of(1, seed=4).astype({"colour": object})
    rows.at[0, "colour"] = ["a", "list"]
    with pytest.raises(ColumnTypeError, match="nested"):
        encoder.encode(rows)
    assert (
        CellMemory.of(encoder.column_coders()[0], missing_numbers=False).look_up(
            *declared_cells([rows["colour"].to_numpy()], 0)
        )
        is None
    )
