"""Fitting: normal rows of a file in, a fitted detector out, and a model file where one is named."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from maskdiff.detectors import Detector, TableDetector, TokenDetector
from maskdiff.errors import EmptyTableError, SettingError, UnknownColumnError
from maskdiff.io.formats import open_rows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines
from maskdiff.jobs.checkpoint import CHECKPOINT_FILE, Checkpoint
from maskdiff.jobs.fit_settings import ColumnOptions, DetectorSettings
from maskdiff.jobs.rows.labels import Labels
from maskdiff.jobs.rows.table import NormalTableRows
from maskdiff.jobs.rows.tokens import NormalTokenRows
from maskdiff.progress import Callback
from maskdiff.storage import MODEL_FILE, save

NormalRows = NormalTableRows | NormalTokenRows


@dataclass(frozen=True)
class FitSummary:
    """A fitted detector, the file and the number of its rows that it learned from, and what was left out.

    `odd` is the number of odd rows left out, where any were to be (None also where workers of a cluster learned), and
    `empty` are the numbers of rows without a token, counted from 1.
    """

    detector: Detector
    source: str
    rows: int
    odd: int | None = None
    empty: list[int] = field(default_factory=list)
    skipped: SkippedLines = field(default_factory=SkippedLines)


def fit_file(
    rows: str,
    out: str | os.PathLike[str] | None = None,
    *,
    detector: Detector | DetectorSettings | None = None,
    columns: ColumnOptions | None = None,
    labels: Labels | None = None,
    reading: ReadOptions | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callback | None = None,
    force: bool = False,
) -> Detector:
    """Learn what is normal from the rows of a file, "-" for standard input, and save the detector to `out`.

    `detector` is one that is not fitted yet and is left as it is, or its settings; None: a TableDetector as it comes.
    A detector of texts or sequences reads its `column`. `columns` says which columns of a table are learned from and
    how they are read, `labels` which rows are normal. A `checkpoint` stores the state of a training that may be
    interrupted. A model already at `out` is replaced, any other file only with `force`, and what is read never.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     normal, model = Path(folder, "normal.csv"), Path(folder, "pets.maskdiff")
    ...     _ = normal.write_text("pet,says\\n" + "cat,meow\\ndog,woof\\n" * 100)
    ...     detector = fit_file(str(normal), model, detector=TableDetector("kernel"))
    ...     load(model).is_anomaly([["cat", "woof"]])
    array([ True])
    """
    return fit_summary(
        rows,
        out,
        detector=detector,
        columns=columns,
        labels=labels,
        reading=reading,
        checkpoint=checkpoint,
        callback=callback,
        force=force,
    ).detector


def fit_summary(
    rows: str,
    out: str | os.PathLike[str] | None = None,
    *,
    detector: Detector | DetectorSettings | None = None,
    columns: ColumnOptions | None = None,
    labels: Labels | None = None,
    reading: ReadOptions | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callback | None = None,
    force: bool = False,
) -> FitSummary:
    """As `fit_file`, and what there is to say about the rows that were read."""
    inputs = [rows, *files_of(detector)]
    check_output(out, inputs, MODEL_FILE, force=force)
    if checkpoint is not None:
        check_output(checkpoint.path, inputs, CHECKPOINT_FILE, force=force)
    fitted = unfitted(detector, callback)
    with open_rows(rows, reading, repeatable=True) as file:
        normal = normal_rows_of(file, fitted, columns, labels, callback)
        with naming_empty_file(file):
            fitted.fit_batches(normal.batches, normal.n_rows, checkpoint=checkpoint)
    if out is not None:
        save(fitted, out, force=force)
    if checkpoint is not None:
        checkpoint.done()
    empty = fitted.empty_rows_.tolist() if isinstance(fitted, TokenDetector) else []
    odd, n_rows = fitted.n_left_out_ if fitted.contamination else None, normal.n_rows or 0
    return FitSummary(fitted, file.name, n_rows - (odd or 0), odd, empty, file.skipped)


@contextmanager
def naming_empty_file(file: RowFile) -> Iterator[None]:
    """An error that there are no rows names the file."""
    try:
        yield
    except EmptyTableError as error:
        raise EmptyTableError(f"{file.name}: {error}", setting=error.setting) from None


def files_of(detector: Detector | DetectorSettings | None) -> list[str]:
    """What is read besides the rows: a tokenizer may be a file."""
    given = [getattr(detector, name, None) for name in ("tokenizer", "embedder", "reconstructor")]
    return [path for path in given if isinstance(path, str)]


def unfitted(detector: Detector | DetectorSettings | None, callback: Callback | None) -> Detector:
    """The detector to fit: a copy of the one given, or the one that these settings describe."""
    if isinstance(detector, DetectorSettings):
        detector = detector.build()
    made = TableDetector() if detector is None else copy.copy(detector)
    if callback is not None:
        made.progress = callback
    check_device(made.device)
    return made


def check_device(device: str) -> None:
    """Refuse, before any work is done, a device that is not there."""
    import torch

    try:
        there = device == "auto" or torch.empty(0, device=device) is not None
    except (RuntimeError, AssertionError):  # not a name of a device, or of one that is not there
        there = False
    if not there:
        message = f"the device {device!r} is not there; use cpu, or auto to take the best one."
        raise SettingError(message, setting="device")


def normal_rows_of(
    file: RowFile,
    detector: Detector,
    columns: ColumnOptions | None,
    labels: Labels | None,
    callback: Callback | None,
) -> NormalRows:
    """The rows to learn from; how the columns of a table are to be read is set on the detector."""
    if isinstance(detector, TokenDetector):
        if columns:
            raise SettingError(
                "columns to choose, drop or read in some way are for tables; of a file with texts or sequences only "
                "the column that holds them is read."
            )
        detector.column = _column(file, detector)  # by this name it is found in files to be scored
        return NormalTokenRows(file, detector.column, labels, callback)
    label = None if labels is None else labels.column
    reading = {**(getattr(detector, "columns", None) or {}), **(columns or ColumnOptions()).for_file(file, label)}
    if reading:
        detector.set_params(columns=reading)
    return NormalTableRows(file, getattr(detector, "requested_columns", reading), labels, callback)


def _column(file: RowFile, detector: TokenDetector) -> str:
    names = file.schema.names
    if detector.column is None and len(names) != 1:
        raise UnknownColumnError(
            f"{file.name} has {len(names)} columns; say which one holds the rows: "
            f"{type(detector).__name__}(column=NAME)."
        )
    return str(names[0] if detector.column is None else detector.column)
