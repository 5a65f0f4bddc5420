"""Learning on: more normal rows of a file join a model."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from maskdiff.detectors import TableDetector
from maskdiff.detectors.updating import UpdateSummary
from maskdiff.errors import EmptyTableError, SettingError
from maskdiff.io.formats import open_rows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.models import Model, as_detector
from maskdiff.jobs.rows.labels import Labels
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.rows.table import place_of
from maskdiff.storage import MODEL_FILE, save


def update_file(
    model: Model,
    rows: str,
    out: str,
    *,
    label: str | None = None,
    normal: Sequence[str] = (),
    reading: ReadOptions | None = None,
    force: bool = False,
) -> UpdateSummary:
    """Let a model learn on from the normal rows of a file, and write it to `out`; what changed.

    With `label`, only rows that this column calls normal, by one of the values `normal`, are learned from. See
    `TableDetector.update` for which models can learn on. The rows are held in memory.

    >>> import tempfile
    >>> from pathlib import Path
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     more, model = Path(folder, "more.csv"), Path(folder, "pets.maskdiff")
    ...     _ = more.write_text("pet,says\\n" + "cow,moo\\n" * 20)
    ...     update_file(detector, str(more), str(model)).new_values
    {'pet': ('cow',), 'says': ('moo',)}
    """
    check_output(out, [rows], MODEL_FILE, force=force)
    detector = as_detector(model)
    if not isinstance(detector, TableDetector):
        raise SettingError(f"a {type(detector).__name__} cannot learn on: fit it again on old and new rows.")
    labels = None if label is None else Labels(label, normal)
    parts = []
    with open_rows(rows, reading) as file:
        model_rows = rows_for(file, detector)
        place = None if labels is None else place_of(file, labels.column)
        for batch in model_rows.batches():
            if labels is not None and place is not None:
                batch = batch.filter(pa.array(labels.is_normal(batch.column(place))))
            parts.append(model_rows.read(batch))
        if labels is not None:
            labels.check_any_normal()
    if not sum(part.num_rows for part in parts):
        raise EmptyTableError(f"{rows} holds no row to learn from.")
    summary = detector.update(pa.concat_tables(parts))
    save(detector, out, force=force)
    return summary
