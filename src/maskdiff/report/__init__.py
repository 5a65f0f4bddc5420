"""The HTML report: one file that shows what was scored, which rows are odd, and which cells or tokens make them so."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.detectors import Detector
from maskdiff.io.atomic import atomic_write
from maskdiff.report.builder import ReportBuilder, batches_of

__all__ = ["ReportBuilder", "build_report", "write_page", "write_report"]


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
) -> None:
    """Score `X`, rows or an iterable of tables, and write the report to one self-contained HTML file.

    `false_alarm_rate` is the detector's own unless given. `source` and `model` say where the rows and the model came
    from. `row_numbers` gives the number of every row, or of the first one; without it rows are counted from 0, as in
    `explain`. An existing file is replaced only once the new one is complete.
    """
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
    write_page(page, path)


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a finished page to a file, which is replaced only once the new one is complete."""
    # A path or a cell may hold half a surrogate pair, which UTF-8 has no bytes for.
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
    numbers = None if row_numbers is None else np.asarray(row_numbers)
    for batch in batches_of(X):
        at = builder.n_rows
        rows = builder.read(batch)
        here = numbers if numbers is None else numbers + at if numbers.ndim == 0 else numbers[at : at + rows.n_rows]
        builder.add(rows, here)
    return builder.html(source=source, model=model, title=title, when=when)
