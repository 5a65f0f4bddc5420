"""The rows of a file as a detector of tables takes them."""

from __future__ import annotations

import pytest

from maskdiff.errors import UnknownColumnError
from maskdiff.io import open_rows
from maskdiff.jobs import NormalTableRows
from maskdiff.jobs.rows.labels import Labels

from ...io.written import csv_file


def test_a_repeated_name_cannot_be_learned_from_unless_it_is_dropped(tmp_path):
    path = csv_file(tmp_path, "a,b,a\n1,2,3\n")
    with open_rows(str(path)) as rows:
        with pytest.raises(UnknownColumnError, match="columns 1 and 3 are both named 'a'"):
            NormalTableRows(rows)
        assert [table.column_names for table in NormalTableRows(rows, {"a": "drop"}).batches()] == [["a", "b"]]


def test_rows_that_are_not_normal_decide_no_types(tmp_path):
    path = csv_file(tmp_path, "n,y\n1,0\nERR,1\n2,0\n")
    with open_rows(str(path)) as rows:
        found = NormalTableRows(rows, {"y": "drop"}, Labels("y"))
        (table,) = found.batches()
    assert found.n_rows == 2
    assert table["n"].to_pylist() == [1, 2]
    assert table["y"].null_count == 2
