"""Log files: a line is a row, whatever it holds."""

from __future__ import annotations

import gzip

import pytest

from maskdiff.errors import InputError, ReadingWarning
from maskdiff.io import ReadOptions, open_rows

from .written import csv_file, texts

LOG = 'a, "b\n\nc;\td\n  e\n'
LINES = ['a, "b', "c;\td", "  e"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_rows_and_blank_ones_are_counted(end, tmp_path):
    with open_rows(str(csv_file(tmp_path, LOG.replace("\n", end), "app.log")), ReadOptions(rows_at_once=2)) as rows:
        assert [batch["line"].to_pylist() for batch in rows.batches()] == [LINES[:2], LINES[2:]]
    assert (rows.skipped.total, rows.skipped.rows, rows.skipped.blank) == (4, 3, 1)


def test_packed_logs_and_other_names_are_read(tmp_path):
    assert texts(csv_file(tmp_path, gzip.compress(LOG.encode()), "app.log.gz"))["line"].to_pylist() == LINES
    assert texts(csv_file(tmp_path, LOG, "app.txt"), format="lines")["line"].to_pylist() == LINES


def test_the_encoding_of_a_log_is_found(tmp_path):
    with pytest.warns(ReadingWarning, match="cp1252 is assumed"):
        assert texts(csv_file(tmp_path, "größer\n".encode("cp1252"), "app.log"))["line"].to_pylist() == ["größer"]


def test_a_log_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        texts(tmp_path / "none.log")
