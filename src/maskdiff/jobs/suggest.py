"""Suggesting: rows in, a copy of them out in which odd cells hold the likeliest value, and the list of these cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.detectors import Repair, TableDetector
from maskdiff.errors import NoEvidenceWarning, SettingError
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import check_writable, open_rows, open_writer
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines, as_batch
from maskdiff.jobs.cells import CELL_RATE, CELL_SCHEMA, OddCellCounts, OddCellSearch, OddPart, check_second_output
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.rows.table import ModelTableRows
from maskdiff.jobs.score import written_like
from maskdiff.progress import Callback, Progress

CHANGE_SCHEMA = pa.schema([*CELL_SCHEMA, ("changed", pa.bool_()), ("kept_because", pa.string())])
_NESTED = "its column cannot hold the expected value"


@dataclass
class SuggestSummary:
    """How many rows there are, how many of their cells look wrong, and how many of these were changed in the copy."""

    odd: OddCellCounts
    at_least: float
    rows: int = 0
    changed: int = 0
    ignored: list[str] = field(default_factory=list)
    skipped: SkippedLines = field(default_factory=SkippedLines)
    checks: list[Check] = field(default_factory=list)


def suggest_file(
    model: Model,
    rows: str,
    out: str = "-",
    *,
    changes: str | None = None,
    false_discovery_rate: float = CELL_RATE,
    at_least: float = 0.5,
    reading: ReadOptions | None = None,
    writing: WriteOptions | None = None,
    callback: Callback | None = None,
) -> SuggestSummary:
    """Write a copy of a file in which odd cells hold the likeliest value, and the list of odd cells to `changes`.

    See `TableDetector.repair` for what is changed and what is left. All cells of the file are judged together: on
    average at most `false_discovery_rate` of those reported are fine. Rows keep their order, and so does the list; its
    rows are counted from 1. What is read is never written over.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, fixed = Path(folder, "new.csv"), Path(folder, "fixed.csv")
    ...     _ = new.write_text("id,pet,says\\n" + "1,cat,meow\\n" * 20 + "2,cat,moo\\n")
    ...     summary = suggest_file(detector, str(new), str(fixed))
    ...     fixed.read_text().splitlines()[-1]
    '2,cat,meow'
    >>> summary.odd.cells, summary.changed
    (1, 1)
    """
    writing = writing or WriteOptions()
    check_output(out, [rows, model_path(model)])
    check_writable(out, writing)
    of_changes = writing if changes is None else check_second_output(changes, out, [rows, model_path(model)], writing)
    if not 0 <= at_least <= 1:
        raise SettingError(f"at_least, a probability, must lie between 0 and 1; got {at_least}.")
    detector = as_detector(model)
    summary = SuggestSummary(OddCellCounts(false_discovery_rate), at_least)
    with open_rows(rows, reading) as file, ExitStack() as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)
        search = opened.enter_context(OddCellSearch(detector, file, false_discovery_rate))
        assert isinstance(detector, TableDetector)
        suggesting = Suggesting(detector, file, summary)
        suggesting.judge(search, callback)
        write = opened.enter_context(open_writer(out, file.schema, written_like(file, out, writing)))
        note: Callable[[pa.RecordBatch], None] | None = None
        if changes is not None:
            like = written_like(file, changes, of_changes)
            note = opened.enter_context(open_writer(changes, CHANGE_SCHEMA, like))
        for part in search.parts():
            batch, lines = suggesting.repaired(part)
            write(batch)
            if note is not None:
                note(lines)
        summary.odd.finish(search.selection)
        summary.skipped = file.skipped
    return summary


class Suggesting:
    """The rows of a file on their way through a detector of tables; what is counted goes to the summary."""

    def __init__(self, detector: TableDetector, file: RowFile, summary: SuggestSummary) -> None:
        self.detector, self.file, self.summary = detector, file, summary
        self.model_rows = ModelTableRows(file, detector.encoder_)
        summary.ignored = self.model_rows.ignored

    def judge(self, search: OddCellSearch, callback: Callback | None) -> None:
        """Every row once."""
        counts = CheckCounts(self.detector, unknown=self.model_rows.ignored)
        for batch in self.model_rows.batches():
            verdicts = self.detector.judge(self.model_rows.read(batch))
            counts.add(verdicts)
            search.add(batch, verdicts)
            self.summary.rows += batch.num_rows
            if callback is not None:
                callback(Progress("scoring", self.summary.rows, self.file.n_rows or 0))
        self.summary.checks = run_checks(counts)

    def repaired(self, part: OddPart) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """A batch with its odd cells repaired, and the list of them."""
        if not len(part.cells.row):
            return part.batch, as_batch(CHANGE_SCHEMA.empty_table())
        shown = self.model_rows.shown(part.batch)
        codes = self.detector.encoder_.encode(self.model_rows.read(part.batch))
        repair = self.detector.repair_cells(shown, codes, part.cells, self.summary.at_least)
        batch, repair = self._put_back(part.batch, repair)
        self.summary.changed += repair.n_changed
        self.summary.odd.add(repair.changes["row"].to_numpy())
        return batch, part.numbered(repair.changes, CHANGE_SCHEMA)

    def _put_back(self, batch: pa.RecordBatch, repair: Repair) -> tuple[pa.RecordBatch, Repair]:
        """The batch with the columns that were changed; nested ones, which are read as texts, stay as they are."""
        changes, columns = repair.changes, list(batch.columns)
        names = self.file.schema.names
        for name in changes.loc[changes["changed"], "column"].unique():
            at = names.index(self._name_in_file(name))
            if pat.is_nested(batch.column(at).type):
                here = changes["changed"] & (changes["column"] == name)
                changes = changes.assign(
                    changed=changes["changed"] & ~here, kept_because=changes["kept_because"].mask(here, _NESTED)
                )
                continue
            fixed = repair.rows.column(names[at])
            columns[at] = fixed.combine_chunks() if isinstance(fixed, pa.ChunkedArray) else fixed
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema), replace(repair, changes=changes)

    def _name_in_file(self, name: str) -> str:
        """The name of a column here; columns that had none in the fit are known by their places."""
        encoder = self.detector.encoder_
        if encoder.named_:
            return name
        return str(self.file.schema.names[self.model_rows.places[list(encoder.feature_names_in_).index(name)]])
