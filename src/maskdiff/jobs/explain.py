"""Explaining: single rows of a file, each with the cells or tokens that carry its score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.detectors import Verdicts
from maskdiff.errors import InputError, NoEvidenceWarning, SettingError
from maskdiff.explanations.shading import Piece
from maskdiff.io.formats import open_rows
from maskdiff.io.rows import BatchRows, ReadOptions, RowFile
from maskdiff.jobs.models import Model, as_detector
from maskdiff.jobs.rows.labels import is_value
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.rows.table import place_of
from maskdiff.report.nearest import nearest_to

# What rows are made of -> how many of these are named unless `top` says otherwise.
MOST_NAMED = {"columns": 20, "symbols": 8, "tokens": 8}


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """One row: its number in the file from 1, the verdict on it, and its `cells` as `explain` names them.

    `pieces` is the row as a text whose pieces say how odd they are, where it is one. `parts` is what the row is made
    of, columns, tokens or symbols, and `places` which columns of `cells` say where a token stands.
    """

    row: int
    source: str
    threshold: float
    verdicts: Verdicts
    cells: Any
    pieces: list[Piece]
    parts: str
    places: tuple[str, ...]

    @property
    def alarm_cells(self) -> list[str]:
        """The columns of a table whose cells would make the row an alarm by themselves, the oddest first."""
        cells = self.verdicts.cells
        if cells is None:
            return []
        names = self.verdicts.codes.schema.names
        odd = np.argsort(-cells.oddness[0], kind="stable")
        return [names[at] for at in odd.tolist() if cells.is_anomaly[0, at]]

    @property
    def by_cells_alone(self) -> bool:
        """Whether the row is an alarm because of single cells, while its score is below the threshold."""
        score = float(self.verdicts.anomaly_score[0])
        return bool(self.verdicts.raised[0]) and not score > self.threshold

    def to_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        record = {"row": self.row, "threshold": self.threshold, **self.verdicts.to_records(self.cells)[0]}
        return record | ({} if self.verdicts.cells is None else {"alarm_cells": self.alarm_cells})


def explain_rows(
    model: Model,
    rows: str,
    row: int | Sequence[int] | None = None,
    *,
    where: tuple[str, str] | None = None,
    top: int | None = None,
    false_alarm_rate: float | None = None,
    reading: ReadOptions | None = None,
) -> list[RowExplanation]:
    """Explain the rows of a file with these numbers, counted from 1, or the first row `where` a column has a value.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new.csv")
    ...     _ = path.write_text("id,pet,says\\n7,cat,meow\\n8,cat,woof\\n")
    ...     (found,) = explain_rows(detector, str(path), where=("id", "8"))
    >>> found.row, bool(found.verdicts.is_anomaly[0]), sorted(found.cells["value"])
    (2, True, ['cat', 'woof'])
    """
    check_choice(row, where)
    detector = as_detector(model)
    threshold = detector.threshold(false_alarm_rate)
    encoder = detector.encoder_
    with open_rows(rows, reading) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # such a row has no score and no cells
        model_rows = rows_for(file, detector)
        explained = []
        for number, batch in chosen_rows(file, row, where):
            shown = model_rows.shown(batch)
            verdicts = detector.judge(model_rows.read(batch, number), false_alarm_rate)
            cells = detector.explain(shown, top or MOST_NAMED[encoder.parts], verdicts=verdicts)
            pieces = [piece for text in detector.shaded(shown, verdicts=verdicts) for piece in text]
            explained.append(
                RowExplanation(
                    number, file.name, threshold, verdicts, cells, pieces, encoder.parts, tuple(encoder.places)
                )
            )
    return explained


def explain_batch(
    model: Model,
    batch: pa.RecordBatch,
    *,
    top: int | None = None,
    false_alarm_rate: float | None = None,
    nearest: bool = False,
) -> list[dict[str, Any]]:
    """The rows of a batch explained, each as a dict of plain values: its verdict, the threshold and its `cells`.

    Rows that are texts have their `pieces`, which say how odd they are. With `nearest`, rows of tables have the normal
    rows nearest to them, each by the columns in which it differs.

    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> (row,) = explain_batch(detector, pa.RecordBatch.from_pydict({"pet": ["cat"], "says": ["woof"]}))
    >>> row["is_anomaly"], [cell["column"] for cell in row["cells"]]
    (True, ['pet', 'says'])
    """
    detector = as_detector(model)
    encoder = detector.encoder_
    model_rows = rows_for(BatchRows(batch), detector)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # such a row has no score and no cells
        shown = model_rows.shown(batch)
        verdicts = detector.judge(model_rows.read(batch), false_alarm_rate)
        cells = detector.explain(shown, top or MOST_NAMED[encoder.parts], verdicts=verdicts)
        pieces = detector.shaded(shown, verdicts=verdicts)
    records = verdicts.to_records(cells)
    threshold = detector.threshold(false_alarm_rate)
    for record in records:
        record["threshold"] = threshold
    for record, text in zip(records, pieces, strict=False):
        record["pieces"] = [{"text": piece.text, "strength": piece.strength} for piece in text]
    if nearest and encoder.parts == "columns":
        names = encoder.schema_.names
        for record, normal in zip(records, nearest_to(detector, verdicts.codes), strict=False):
            record["nearest"] = [{names[at]: text for at, text in one.differences} for one in normal]
    return records


def check_choice(row: int | Sequence[int] | None, where: tuple[str, str] | None) -> None:
    """Refuse rows that are named in no way, or in two."""
    if (row is None) == (where is None):
        raise SettingError("say which row, by its number or by a value of one of its columns.", setting="row")


def chosen_rows(
    file: RowFile, row: int | Sequence[int] | None, where: tuple[str, str] | None
) -> list[tuple[int, pa.RecordBatch]]:
    """The rows with these numbers, or the first one `where` a column has a value, each with its number from 1."""
    check_choice(row, where)
    return [_first_where(file, *where)] if where is not None else _numbered(file, row)


def _numbered(file: RowFile, numbers: int | Sequence[int] | None) -> list[tuple[int, pa.RecordBatch]]:
    """The rows with these numbers, in the order of the numbers."""
    wanted = [numbers] if isinstance(numbers, int) else list(numbers or ())
    if not wanted or min(wanted) < 1:
        raise SettingError(f"rows are numbered from 1; got {numbers}.", setting="row")
    seen, found = 0, dict[int, pa.RecordBatch]()
    for batch in file.batches():
        found |= {n: batch.slice(n - seen - 1, 1) for n in wanted if seen < n <= seen + batch.num_rows}
        seen += batch.num_rows
        if len(found) == len(set(wanted)):
            return [(n, found[n]) for n in wanted]
    missing = next(n for n in wanted if n not in found)
    raise InputError(f"{file.name} has no row {missing:,}: there are {seen:,}.")


def _first_where(file: RowFile, column: str, value: str) -> tuple[int, pa.RecordBatch]:
    """The first row with that value, as a text or as a number."""
    place, seen = place_of(file, column), 0
    for batch in file.batches():
        found = is_value(batch.column(place), str(value)).nonzero()[0]
        if len(found):
            return seen + int(found[0]) + 1, batch.slice(int(found[0]), 1)
        seen += batch.num_rows
    raise InputError(f"{file.name} has no row with {column} = {value}.")
