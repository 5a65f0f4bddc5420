"""The HTML report: one file that shows what was scored, which rows are odd, and which cells or tokens make them so."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.detectors import Detector
from maskdiff.io.atomic import atomic_write
from maskdiff.io.outputs import FileContent, check_output
from maskdiff.report.builder import ReportBuilder, batches_of
from maskdiff.report.inline import InlineReport

__all__ = ["PAGE", "InlineReport", "ReportBuilder", "build_report", "show", "write_page", "write_report"]

_GENERATOR = b'<meta name="generator" content="maskdiff'
_HEAD = 1 << 16


def _is_page(file: BinaryIO) -> bool:
    return _GENERATOR in file.read(_HEAD)


PAGE = FileContent(
    "a report",
    _is_page,
    (
        ((".pdf", ".docx", ".odt"), "A report is one HTML page: name it .html, and print it as PDF from a browser."),
        ((".csv", ".tsv", ".parquet", ".jsonl", ".json", ".xlsx", ".xls", ".maskdiff"), "Name it .html."),
    ),
)


def write_report(
    detector: Detector,
    X: Any,
    path: str | os.PathLike[str],
    *,
    false_alarm_rate: float | None = None,
    source: str | None = None,
    model: str | None = None,
    row_numbers: int | ArrayLike | None = None,
    title: str | None = None,
    when: datetime | None = None,
    force: bool = False,
) -> None:
    """Score `X`, rows or an iterable of tables, and write the report to one self-contained HTML file.

    `false_alarm_rate` is the detector's own unless given. `source` and `model` name where the rows and the model came
    from. `row_numbers` is the number of every row, or of the first one; without it rows are counted from 0, as in
    `explain`. An existing report is replaced only when the new one is complete, any other file only with `force`.
    """
    check_output(path, content=PAGE, force=force)
    page = build_report(
        detector,
        X,
        false_alarm_rate=false_alarm_rate,
        source=source,
        model=model,
        row_numbers=row_numbers,
        title=title,
        when=when,
    )
    write_page(page, path, force=force)


def show(
    detector: Detector,
    X: Any,
    *,
    height: int = 800,
    false_alarm_rate: float | None = None,
    row_numbers: int | ArrayLike | None = None,
    title: str | None = None,
) -> InlineReport:
    """Score `X` and show the report in a notebook, in a frame of this height; settings as in `write_report`."""
    page = build_report(detector, X, false_alarm_rate=false_alarm_rate, row_numbers=row_numbers, title=title)
    return InlineReport(page, height)


def write_page(page: str, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a finished page to a file; an earlier report is replaced only once the new one is complete."""
    check_output(path, content=PAGE, force=force)
    # A path or a cell may contain half a surrogate pair, which UTF-8 cannot encode.
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "backslashreplace"))


def build_report(
    detector: Detector,
    X: Any,
    *,
    false_alarm_rate: float | None = None,
    source: str | None = None,
    model: str | None = None,
    row_numbers: int | ArrayLike | None = None,
    title: str | None = None,
    when: datetime | None = None,
) -> str:
    """The report as `write_report` writes it."""
    builder = ReportBuilder(detector, false_alarm_rate=false_alarm_rate)
    for batch in batches_of(X):
        rows = builder.read(batch)
        builder.add(rows, _batch_numbers(row_numbers, builder.n_rows, rows.n_rows))
    return builder.html(source=source, model=model, title=title, when=when)


def _batch_numbers(row_numbers: int | ArrayLike | None, first: int, n: int) -> ArrayLike | None:
    """The numbers of the `n` rows of a batch, of which the first is at place `first` among all rows."""
    if row_numbers is None:
        return None
    numbers = np.asarray(row_numbers)
    return numbers + first if numbers.ndim == 0 else numbers[first : first + n]
