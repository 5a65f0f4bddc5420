"""The rows of a file that were searched, on their way out: ranked, with their numbers, verdicts and reasons."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskdiff.checks import Check, CheckCounts, CheckSettings
from maskdiff.checks.one_cause import one_column, one_token
from maskdiff.codes import BoolArray
from maskdiff.detectors import Detector, Findings
from maskdiff.detectors.finding.findings import findings_of
from maskdiff.detectors.finding.search import Found
from maskdiff.detectors.finding.tail import NONE_ODD, OddEstimate
from maskdiff.errors import SettingError, UnknownColumnError
from maskdiff.io.rows import RowFile, SkippedLines, as_batch
from maskdiff.jobs.cells import OddCellCounts
from maskdiff.jobs.rows.model import ModelRows, rows_for
from maskdiff.jobs.verdict_columns import VerdictColumns

# Unless a number is given, all rows found are written, and no fewer or more than these.
FEWEST_WRITTEN, MOST_WRITTEN = 100, 10_000
ROW = "row"


@dataclass(frozen=True)
class FindOutput:
    """What is written: the `top` rows (None: those found, at least 100), with `explain` reasons each.

    The HTML page `report`, the model file `model` and the list of odd cells `cells` where they are named; `prefix` is
    put before the names of the added columns. `explain_rows`: only so many of the oddest rows have reasons (None: all).
    `sections`: the parts of the page as JSON, see `report.sections`.
    """

    top: int | None = None
    explain: int = 3
    report: str | None = None
    model: str | os.PathLike[str] | None = None
    prefix: str = ""
    force: bool = False
    cells: str | None = None
    explain_rows: int | None = None
    sections: str | None = None

    def __post_init__(self) -> None:
        if self.explain < 0 or (self.top is not None and self.top < 1):
            raise SettingError(f"explain >= 0 cells and top >= 1 rows are needed; got {self.explain} and {self.top}.")


@dataclass(frozen=True)
class FindSummary:
    """How many rows were searched, found odd and written; about how many are odd, and how many were not learned from.

    `first` are the oddest rows, each with its number in the file, counted from 1, and its reasons. `all_alike` says
    that every row scores the same. `checks` is what to know before the rows found are believed; `detector` has learned
    from all rows that were not left out. `odd_cells` counts the odd cells where they are listed.
    """

    rows: int
    found: int
    written: int
    false_discovery_rate: float
    estimated_odd: OddEstimate = NONE_ODD
    left_out: int = 0
    rounds: int = 1
    empty: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    all_alike: bool = False
    skipped: SkippedLines = field(default_factory=SkippedLines)
    checks: list[Check] = field(default_factory=list)
    detector: Detector | None = None
    odd_cells: OddCellCounts | None = None


class FoundRows:
    """The rows of a file that were searched, on their way out."""

    def __init__(
        self, file: RowFile, detector: Detector, found: Found, output: FindOutput, columns: VerdictColumns
    ) -> None:
        self.file, self.found, self.output, self.columns = file, found, output, columns
        self.detector = copy.copy(detector)
        self.detector.progress = False
        self.model_rows: ModelRows = rows_for(file, self.detector)
        self.schema: pa.Schema = self.columns.schema
        self.order = np.argsort(-np.nan_to_num(found.alarm_score, nan=-np.inf), kind="stable")
        n_found = int(found.is_anomaly.sum())
        self.number = output.top or int(np.clip(n_found, FEWEST_WRITTEN, MOST_WRITTEN))
        self.counts = CheckCounts(self.detector, false_discovery_rate=found.options.false_discovery_rate)
        self.first: list[dict[str, Any]] = []

    def ranked(self, size: int) -> Iterator[pa.RecordBatch]:
        """The rows to be written, the oddest first, `size` at once."""
        chosen, explained = (np.zeros(len(self.order), np.bool_) for _ in range(2))
        chosen[self.order[: self.number]] = True
        explained[self.order[: self.output.explain_rows]] = True
        parts, places = [self.schema.empty_table()], [np.empty(0, np.int64)]
        for batch, here, findings in self.judged(chosen | self._counted()):
            self._count(findings)
            keep = np.flatnonzero(chosen[here])
            few = _numbered(batch.take(pa.array(keep)), here[keep], numbered=self.columns)
            with_reasons = explained[here[keep]]
            written = self.columns.behind(few, findings.take(keep), self.detector, self.model_rows, with_reasons)
            parts.append(pa.Table.from_batches([written], self.schema))
            places.append(here[keep])
        rank = np.empty(len(self.order), np.int64)
        rank[self.order] = np.arange(len(self.order))
        table = pa.concat_tables(parts).take(pa.array(np.argsort(rank[np.concatenate(places)])))
        self.first = table.slice(0, FEWEST_WRITTEN).to_pylist()
        for at in range(0, len(table), size):
            yield as_batch(table.slice(at, size))

    def judged(self, chosen: BoolArray) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], Findings]]:
        """These rows of each batch, their places in the file, and the findings about them."""
        for batch, places in self.rows_of(chosen):
            rows = self.detector._read(self.model_rows.read(batch, int(places[0]) + 1))
            yield batch, places, findings_of(self.found, self.detector, rows, places)

    def rows_of(self, chosen: BoolArray) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """These rows of each batch that has any, and their places in the file."""
        done = 0
        for batch in self.model_rows.batches():
            here = done + np.flatnonzero(chosen[done : done + batch.num_rows])
            if len(here):
                yield batch.take(pa.array(here - done)), here
            done += batch.num_rows

    def _counted(self) -> BoolArray:
        """The rows found, as far as they are counted for the checks."""
        counted = np.zeros(len(self.order), np.bool_)
        counted[self.order[:MOST_WRITTEN]] = True
        return counted & self.found.is_anomaly

    def _count(self, findings: Findings) -> None:
        found = np.flatnonzero(findings.is_anomaly)
        if len(found):
            self.counts.add(findings.take(found))

    @cached_property
    def summary(self) -> FindSummary:
        """What there is to say, once the rows are written."""
        found, n_empty = self.found, int(np.isnan(self.found.score).sum())
        self.counts.select(np.ones(self.counts.rows, np.bool_))
        return FindSummary(
            rows=len(found.score),
            found=int(found.is_anomaly.sum()),
            written=min(self.number, len(found.score)),
            false_discovery_rate=found.options.false_discovery_rate,
            estimated_odd=found.estimated_odd,
            left_out=int(found.left_out.sum()),
            rounds=len(found.rounds),
            empty=n_empty,
            first=[_first(row, self.output) for row in self.first],
            all_alike=len(np.unique(found.score)) == 1,
            checks=_checks(self.counts),
            detector=self.detector,
        )


def found_columns(schema: pa.Schema, output: FindOutput, places: tuple[str, ...]) -> VerdictColumns:
    """What is added to the rows of a file: their numbers there, verdicts and reasons."""
    number = output.prefix + ROW
    if number in schema.names:
        raise UnknownColumnError(
            f"there is a column {number!r} already. Put a prefix before the names of the new ones.", setting="prefix"
        )
    return VerdictColumns(schema.append(pa.field(number, pa.int64())), output.explain, output.prefix, places)


def _first(row: dict[str, Any], output: FindOutput) -> dict[str, Any]:
    """A written row in short: its number, score, p-value, whether it was found, and its reasons."""
    named = {name: row[output.prefix + name] for name in (ROW, "anomaly_score", "p_value", "is_anomaly")}
    reasons = (row[f"{output.prefix}reason_{rank}"] for rank in range(1, output.explain + 1))
    return {**named, "reasons": [reason for reason in reasons if reason is not None]}


def _numbered(batch: pa.RecordBatch, places: NDArray[np.int64], numbered: VerdictColumns) -> pa.RecordBatch:
    """The rows with their numbers in the file behind them, counted from 1."""
    fields = [*numbered.schema][: batch.num_columns + 1]
    return pa.RecordBatch.from_arrays([*batch.columns, pa.array(places + 1)], schema=pa.schema(fields))


def _checks(counts: CheckCounts) -> list[Check]:
    """A column or token that most rows found are due to: a label left in the file, an id, a header."""
    check = one_column(counts, CheckSettings()) or one_token(counts, CheckSettings())
    if check is None:
        return []
    details = check.details
    cause = f"column {details['column']!r}" if "column" in details else f"token {details['token']!r}"
    message = (
        f"{details['alarms']:,} of the {details['of']:,} rows found are mostly due to the {cause}. If that is a label "
        "left in the file, an id, or anything else that says nothing about whether a row is odd, search without it."
    )
    return [replace(check, name=f"found_by_{check.name}", message=message)]
