"""Cells that run over line ends are found where they are, and tell whether quotes glue rows together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.errors import ReadingWarning
from maskdiff.io.csv_quotes import _cells_over_lines, glues_lines

from .written import csv_file, texts


def over_lines(text: str) -> list[tuple[str, bool]]:
    """The same character by character: a quote opens at the start of a cell, and two inside stand for one."""
    found, at = [], 0
    while at < len(text):
        if text[at] != '"' or (at and text[at - 1] not in ",\r\n"):
            at += 1
            continue
        start = at = at + 1
        while at < len(text) and (text[at] != '"' or text[at : at + 2] == '""'):
            at += 2 if text[at] == '"' else 1
        if {"\n", "\r"} & set(text[start:at]):
            found.append((text[start:at], at < len(text)))
        at += 1
    return found


@given(st.text('aä,""\n\r', max_size=30))
def test_cells_over_lines_are_found_as_a_reader_finds_them(text):
    found = [(cell.decode(), closed) for cell, closed, _ in _cells_over_lines(text.encode(), b",", b'"')]
    assert found == over_lines(text)


ROWS = "ham,see you\n" * 100


@pytest.mark.parametrize(
    ("content", "glued"),
    [
        (ROWS + 'ham,"So what\n' + ROWS, True),
        (ROWS + 'ham,"So what\nspam,ok" said\n' + ROWS, True),
        (ROWS + 'ham,"So what\n' + ROWS + "a line of another width\n", True),
        (ROWS + 'ham,"So\nwhat"\n' + ROWS, False),
        (ROWS + 'ham,"So, what"\n' * 50 + 'ham,"never closed\n', False),
    ],
    ids=["never closed", "closed in another cell", "beside a ragged line", "a cell of two lines", "quotes are needed"],
)
def test_quotes_glue_lines_only_where_lines_are_rows(content, glued):
    assert glues_lines(content, ",", '"', complete=True) is glued


def test_a_text_that_is_cut_off_is_judged_without_its_last_line():
    assert glues_lines("ham\tsee\n" * 5 + 'ham\t"x\nham\ty"\nha', "\t", '"', complete=False)


def test_a_stray_quote_beside_a_line_of_another_width_loses_no_row(tmp_path):
    path = csv_file(tmp_path, ROWS + 'ham,"So what\n' + ROWS + "one,two,three\n")
    with pytest.warns(ReadingWarning, match="do not pair"):
        assert texts(path, on_bad_lines="skip", header=False).num_rows == 201
