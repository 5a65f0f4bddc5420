"""ReportBuilder: rows in, batch by batch; one page out. Its memory does not grow with the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from maskdiff.detectors import TableDetector, Verdicts
from maskdiff.encoders.intake import Table, read_table
from maskdiff.errors import InputError
from maskdiff.report.alarms import MOST_ALARMS, AlarmBook, odd_mask
from maskdiff.report.drift import DriftCounts
from maskdiff.report.histogram import ScoreHistogram


class ReportBuilder:
    """Gathers what a report shows: counts of scores and codes, what each column carries, and the highest alarms.

    `most_alarms` is how many alarms are kept with their cells; all of them are counted.

    >>> import pandas as pd
    >>> normal = pd.DataFrame({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100})
    >>> builder = ReportBuilder(TableDetector("kernel").fit(normal))
    >>> builder.add(pd.DataFrame({"pet": ["cat", "cat"], "says": ["meow", "woof"]})).n_alarms
    1
    >>> builder.html(source="new pets").startswith("<!doctype html>")
    True
    """

    def __init__(
        self, detector: TableDetector, *, false_alarm_rate: float | None = None, most_alarms: int = MOST_ALARMS
    ) -> None:
        check_is_fitted(detector)
        self.detector = detector
        rate = detector.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        self.rate = detector.calibration_.rate_or_default(rate)
        self.threshold = detector.threshold(self.rate)
        width = len(detector.encoder_.schema_)
        self.n_rows = self.n_alarms = 0
        self.first_row: int | None = None
        self.highest = 0.0
        self.scores = ScoreHistogram(self.threshold)
        self.drift = DriftCounts(detector.encoder_)
        self.book = AlarmBook(detector, most_alarms)
        # Of the alarms and of the other rows: what each column adds to the scores; in how many alarms it is odd.
        self.carried, self.carried_elsewhere = np.zeros(width), np.zeros(width)
        self.odd = np.zeros(width, dtype=np.int64)

    def add(self, X: Any, row_numbers: int | ArrayLike | None = None, *, verdicts: Verdicts | None = None) -> Self:
        """Take in more rows.

        `row_numbers`: the number of each row, or of the first; None: they go on where the last batch ended, from 0.
        Hand in what `judge(X)` returned, at whatever false-alarm rate, to save scoring the rows again.
        """
        table = read_table(X)
        numbers = self._numbers(table.n_rows, row_numbers)
        if table.n_rows:
            verdicts = verdicts or self.detector.judge(table, self.rate)
            verdicts = replace(verdicts, is_anomaly=verdicts.anomaly_score > self.threshold)
            self._count(table, verdicts)
            self.book.add(table, verdicts, numbers)
        self.n_rows += table.n_rows
        return self

    def _numbers(self, n: int, given: int | ArrayLike | None) -> NDArray[np.int64]:
        start = np.asarray(self.n_rows if given is None else given)
        numbers = start + np.arange(n) if start.ndim == 0 else start
        if len(numbers) != n:
            raise InputError(f"row_numbers must give one number for each of the {n:,} rows; got {len(numbers):,}.")
        if self.first_row is None and n:
            self.first_row = int(numbers[0])
        return numbers.astype(np.int64)

    def _count(self, table: Table, verdicts: Verdicts) -> None:
        alarm, contributions = verdicts.is_anomaly, verdicts.contributions
        self.n_alarms += int(alarm.sum())
        self.highest = max(self.highest, float(verdicts.anomaly_score.max()))
        self.scores.add(verdicts.anomaly_score)
        self.drift.add(table, verdicts.codes)
        self.carried += contributions[alarm].sum(axis=0)
        self.carried_elsewhere += contributions[~alarm].sum(axis=0)
        self.odd += odd_mask(contributions[alarm]).sum(axis=0)

    def html(
        self,
        *,
        source: str | None = None,
        model: str | None = None,
        title: str | None = None,
        when: datetime | None = None,
    ) -> str:
        """The page as it stands: `source` and `model` say where rows and model came from, `when` they were scored."""
        from maskdiff.report.page import render

        return render(self, source=source, model=model, title=title, when=when or datetime.now().astimezone())


def batches_of(X: Any) -> Iterator[Any]:
    """The tables of an iterable of tables; a single table as the only one."""
    if _is_table(X) or not isinstance(X, Iterable):
        yield X
    else:
        yield from X


def _is_table(X: Any) -> bool:
    if isinstance(X, Sequence):  # of rows, unless each of its items is a table
        return not all(_is_frame(item) for item in X)
    return _is_frame(X)


def _is_frame(X: Any) -> bool:
    return isinstance(X, Table) or hasattr(X, "columns") or getattr(X, "ndim", 0) == 2
