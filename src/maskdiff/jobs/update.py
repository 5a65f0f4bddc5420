"""Learning on: more normal rows of a file join a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from maskdiff.detectors import Detector
from maskdiff.detectors.updating import UpdateSummary
from maskdiff.encoders.tokens.input import TokenRows, joined
from maskdiff.errors import EmptyTableError
from maskdiff.io.formats import open_rows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.checkpoint import CHECKPOINT_FILE, Checkpoint
from maskdiff.jobs.models import Model, as_detector
from maskdiff.jobs.rows.labels import Labels
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.rows.table import place_of
from maskdiff.progress import Callback
from maskdiff.storage import MODEL_FILE, save


def update_file(
    model: Model,
    rows: str,
    out: str,
    *,
    label: str | None = None,
    normal: Sequence[str] = (),
    reading: ReadOptions | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callback | None = None,
    force: bool = False,
) -> UpdateSummary:
    """Let a model learn on from the normal rows of a file, and write it to `out`; what changed.

    With `label`, only rows that this column calls normal, by one of the values `normal`, are learned from. The rows are
    held in memory. The model itself stays as it is, unless `out` names its file. A `checkpoint` stores the state of a
    training that may be interrupted. See `Detector.update`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     more, model = Path(folder, "more.csv"), Path(folder, "pets.maskdiff")
    ...     _ = more.write_text("pet,says\\n" + "cow,moo\\n" * 20)
    ...     update_file(detector, str(more), str(model)).new_values
    {'pet': ('cow',), 'says': ('moo',)}
    """
    check_output(out, [rows], MODEL_FILE, force=force)
    if checkpoint is not None:
        check_output(checkpoint.path, [rows], CHECKPOINT_FILE, force=force)
    detector = as_detector(model)
    detector.progress = callback or False
    new = _normal_rows(detector, rows, None if label is None else Labels(label, normal), reading)
    summary = detector.update(new, checkpoint=checkpoint)
    save(detector, out, force=force)
    if checkpoint is not None:
        checkpoint.done()
    return summary


def _normal_rows(detector: Detector, rows: str, labels: Labels | None, reading: ReadOptions | None) -> Any:
    """The rows of the file as the detector reads them; those that are called normal."""
    parts, first = [], 1
    with open_rows(rows, reading) as file:
        model_rows = rows_for(file, detector)
        place = None if labels is None else place_of(file, labels.column)
        for batch in model_rows.batches():
            part = model_rows.read(batch, first)
            first += batch.num_rows
            if labels is None or place is None:
                parts.append(part)
                continue
            normal = labels.is_normal(batch.column(place))
            parts.append(part.take(normal) if isinstance(part, TokenRows) else part.filter(pa.array(normal)))
        if labels is not None:
            labels.check_any_normal()
    if not any(len(part.values) if isinstance(part, TokenRows) else part.num_rows for part in parts):
        raise EmptyTableError(f"{rows} holds no row to learn from.")
    return joined(parts) if isinstance(parts[0], TokenRows) else pa.concat_tables(parts)
