"""Every column of every file is read as what it is, and its first cell as the value that stands there."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maskdiff import TableEncoder
from maskdiff.encoders.table.input import column_of
from maskdiff.errors import MaskdiffWarning
from maskdiff.io import ReadOptions, open_rows
from maskdiff.jobs import read_table

from .case import LEFT_OUT, Case, Expected
from .catalog import CASES

# What the keys of a column stand for, where they are not the values themselves.
VALUES: dict[str, Any] = {
    "date": lambda key: None if key is None else datetime(1970, 1, 1) + timedelta(microseconds=key),
    "boolean": lambda key: key == "True",
}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Case], Any]:
    """Reads the table of a case as any job does."""

    def read(case: Case) -> Any:
        path = case.write(tmp_path)
        if case.piped:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(Path(path).read_bytes()))))
        with open_rows("-" if case.piped else path, ReadOptions(**case.reading), repeatable=True) as rows:
            return read_table(rows)

    return read


def found(table: Any, encoder: TableEncoder, name: str) -> Expected:
    """What a column of a fitted table was read as, and what its first cell stands for there."""
    if name in encoder.left_out_:
        return Expected(LEFT_OUT)
    column_type = encoder.column_types_[name]
    column = column_of(encoder.read(table), table.column_names.index(name), name)
    general = column_type.name if column_type.name == "boolean" else column_type.general
    (key,) = column_type.keys(column, column.array[:1]) if column.array[0].is_valid else (None,)
    return Expected(general, VALUES.get(general, lambda key: key)(key))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_column_is_read_as_what_it_is(case: Case, read: Callable[[Case], Any]) -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always", MaskdiffWarning)
        table = read(case)
        encoder = TableEncoder(missing=case.missing or None).fit(table)
    assert table.num_rows == case.n_rows
    read_as = {name: found(table, encoder, name) for name in case.expected}
    wanted = {name: _comparable(one, read_as[name]) for name, one in case.expected.items()}
    assert read_as == wanted
    assert case.notice is None or any(case.notice in str(one.message) for one in given)


def _comparable(wanted: Expected, got: Expected) -> Expected:
    """A value that is not stated may be any; floats need not agree to the last bit."""
    if wanted.first is None:
        return Expected(wanted.type, got.first)
    return Expected(wanted.type, pytest.approx(wanted.first) if isinstance(wanted.first, float) else wanted.first)


def test_there_are_at_least_sixty_files_and_no_two_share_a_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
