"""ReportBuilder: rows in, batch by batch; one page out. Its memory does not grow with the number of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.codes import FloatArray
from maskdiff.detectors import Detector, Verdicts
from maskdiff.encoders.table.input import Table
from maskdiff.encoders.tokens.input import TokenRows
from maskdiff.errors import InputError, NoEvidenceWarning
from maskdiff.report.content.base import ReportRows, RowContent
from maskdiff.report.content.columns import ColumnContent
from maskdiff.report.content.tokens import TokenContent
from maskdiff.report.highest_alarms import MAX_ALARMS, HighestAlarms
from maskdiff.report.histogram import ScoreHistogram
from maskdiff.report.periods import PeriodCounts
from maskdiff.report.rates import RateCounts
from maskdiff.report.search import SearchFacts
from maskdiff.report.timeline import Timeline

# By the encoder's `parts`.
ROW_CONTENTS: dict[str, Callable[[Any], RowContent]] = {
    "columns": ColumnContent,
    "symbols": TokenContent,
    "tokens": TokenContent,
}


class ReportBuilder:
    """Gathers what a report shows: counts of scores, the shares of columns or tokens in them, and the highest alarms.

    At most `max_alarms` alarms are kept with their cells; all of them are counted. `order` counts them over time, where
    `add` is given the `moments` of the rows. With `search` the page is about a search of one file.

    >>> import pandas as pd
    >>> from maskdiff import TableDetector
    >>> normal = pd.DataFrame({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100})
    >>> builder = ReportBuilder(TableDetector("kernel").fit(normal))
    >>> builder.add(pd.DataFrame({"pet": ["cat", "cat"], "says": ["meow", "woof"]})).n_alarms
    1
    >>> builder.html(source="new pets").startswith("<!doctype html>")
    True
    """

    def __init__(
        self,
        detector: Detector,
        *,
        false_alarm_rate: float | None = None,
        max_alarms: int = MAX_ALARMS,
        order: PeriodCounts | None = None,
        search: SearchFacts | None = None,
    ) -> None:
        check_is_fitted(detector)
        self.detector, self.order, self.search = detector, order, search
        rate = detector.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        self.rate = detector.calibration_.rate_or_default(rate)
        found_above = None if search is None else search.threshold
        self.threshold = detector.threshold(self.rate) if found_above is None else found_above
        self.content = ROW_CONTENTS[detector.encoder_.parts](detector)
        self.check_counts = CheckCounts(detector, false_alarm_rate=self.rate)
        self.n_rows = self.n_alarms = self.n_empty = self.n_dismissed = 0
        self.first_row: int | None = None
        self.highest_score = 0.0
        self.scores = ScoreHistogram(self.threshold)
        self.rates = RateCounts(detector, self.rate, self.threshold)
        self.highest_alarms = HighestAlarms(self.content, max_alarms, lowest=self.rates.lowest_threshold)

    def read(self, X: Any) -> ReportRows:
        """The rows of X, which `add` accepts in place of X; `n_rows` is their number."""
        return X if isinstance(X, ReportRows) else self.content.read(X)

    def add(
        self,
        X: Any,
        row_numbers: int | ArrayLike | None = None,
        *,
        verdicts: Verdicts | None = None,
        moments: FloatArray | None = None,
    ) -> Self:
        """Add rows to the report.

        `row_numbers`: the number of each row, or of the first; None: numbers continue after the last batch, from 0.
        `verdicts`: what `judge(X)` returned, at any false-alarm rate; the rows are then not judged again.
        `moments`: the place of each row in time, as `order` counts them.
        """
        rows = self.read(X)
        numbers = self._numbers(rows.n_rows, row_numbers)
        if rows.n_rows:
            rows = rows.numbered(numbers)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoEvidenceWarning)  # the page says how many rows are empty
                if verdicts is None:
                    verdicts = self.detector.judge(rows.input, self.rate)
                verdicts = verdicts.with_raised(verdicts.alarm_score > self.threshold)
                self._count(rows, verdicts)
                if self.order is not None and moments is not None:
                    self.order.add(moments, verdicts.is_anomaly)
                self.highest_alarms.add(rows, verdicts, numbers)
        self.n_rows += rows.n_rows
        return self

    def _numbers(self, n: int, given: int | ArrayLike | None) -> NDArray[np.int64]:
        start = np.asarray(self.n_rows if given is None else given)
        numbers = start + np.arange(n) if start.ndim == 0 else start
        if len(numbers) != n:
            raise InputError(f"row_numbers must give one number for each of the {n:,} rows; got {len(numbers):,}.")
        if self.first_row is None and n:
            self.first_row = int(numbers[0])
        return numbers.astype(np.int64)

    @property
    def n_judged(self) -> int:
        """The rows that have a score."""
        return self.n_rows - self.n_empty

    def _count(self, rows: ReportRows, verdicts: Verdicts) -> None:
        judged, dismissed = ~np.isnan(verdicts.alarm_score), verdicts.dismissed_by > 0
        self.n_empty += rows.n_rows - int(judged.sum())
        self.n_dismissed += int(dismissed.sum())
        self.n_alarms += int(verdicts.is_anomaly.sum())
        # A row that a rule dismisses is above the threshold, and no alarm.
        scores = verdicts.alarm_score[judged & ~dismissed]
        self.highest_score = max(self.highest_score, float(scores.max(initial=0.0)))
        self.scores.add(scores)
        self.rates.add(verdicts.alarm_score[~np.isnan(verdicts.alarm_score) & verdicts.listed])
        self.content.count(rows, verdicts)
        self.check_counts.add(verdicts)

    def timelines(self) -> list[Timeline]:
        """Alarms over time, by what the rows are ordered by first; then by each column of dates."""
        ordered = None if self.order is None else self.order.timeline()
        return [*([] if ordered is None else [ordered]), *self.content.timelines()]

    def checks(self) -> list[Check]:
        """What to know before the anomalies so far are believed."""
        return run_checks(self.check_counts) if self.search is None else self.search.checks

    def html(
        self,
        *,
        source: str | None = None,
        model: str | None = None,
        title: str | None = None,
        when: datetime | None = None,
    ) -> str:
        """The page so far: `source` and `model` name where rows and model came from, `when` the time of scoring."""
        from maskdiff.report.page import render

        return render(self, source=source, model=model, title=title, when=when or datetime.now().astimezone())


def batches_of(X: Any) -> Iterator[Any]:
    """The tables of an iterable of tables; a single table, or a column of texts, is the only batch."""
    if _is_batch(X) or not isinstance(X, Iterable):
        yield X
    else:
        yield from X


def _is_batch(X: Any) -> bool:
    if isinstance(X, Sequence):  # of rows, unless each of its elements is a table
        return not all(_is_table(element) for element in X)
    return _is_table(X) or hasattr(X, "__array__") or hasattr(X, "to_pylist")


def _is_table(X: Any) -> bool:
    return isinstance(X, Table | TokenRows | ReportRows) or hasattr(X, "columns") or getattr(X, "ndim", 0) == 2
