"""Feedback: alarms of a file that a person judged fine become rules in a model, and rules are taken back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from maskdiff.detectors.dismissals import SAME_CELLS, Dismissal
from maskdiff.errors import NoEvidenceWarning, SettingError
from maskdiff.io.formats import open_rows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.explain import chosen_rows
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.rows.model import rows_for
from maskdiff.storage import MODEL_FILE, save


@dataclass(frozen=True)
class DismissedRow:
    """A row of a file by its number from 1, whether it was an alarm, and the rule that is about it from now on."""

    row: int
    was_alarm: bool
    rule: Dismissal


def dismiss_rows(
    model: Model,
    rows: str,
    row: int | Sequence[int] | None = None,
    *,
    where: tuple[str, str] | None = None,
    scope: str = SAME_CELLS,
    out: str | None = None,
    reading: ReadOptions | None = None,
    force: bool = False,
) -> list[DismissedRow]:
    """Dismiss the alarms of these rows of a file, by their numbers from 1 or `where` a column has a value.

    See `Detector.dismiss` for what a rule is about. The model is written to `out`, or in place of the old one. Columns
    that scoring added to the file are ignored, as all are that the model does not know.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector, load
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     alarms, model = Path(folder, "alarms.csv"), Path(folder, "pets.maskdiff")
    ...     _ = alarms.write_text("pet,says\\ncat,woof\\n")
    ...     (done,) = dismiss_rows(detector, str(alarms), row=1, out=str(model))
    ...     load(model).is_anomaly(pa.table({"pet": ["cat"], "says": ["woof"]}))
    array([False])
    >>> print(done.was_alarm, done.rule)
    True same cells: pet = cat, says = woof
    """
    out = _output(model, out, [rows], force=force)
    detector = as_detector(model)
    done = []
    with open_rows(rows, reading) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # such a row is refused
        model_rows = rows_for(file, detector)
        for number, batch in chosen_rows(file, row, where):
            given = model_rows.read(batch, number)
            was_alarm = bool(detector.judge(given).raised[0])
            done.append(DismissedRow(number, was_alarm, *detector.dismiss(given, scope)))
    save(detector, out, force=force)
    return done


def undo_dismissal(model: Model, number: int, *, out: str | None = None, force: bool = False) -> Dismissal:
    """Take a rule of a model back; the model is written to `out`, or in place of the old one. The rule that is gone."""
    out = _output(model, out, [], force=force)
    detector = as_detector(model)
    rule = next((rule for rule in detector.dismissals_.rules if rule.number == number), None)
    detector.undo_dismissal(number)
    save(detector, out, force=force)
    assert rule is not None  # undo_dismissal refused all other numbers
    return rule


def _output(model: Model, out: str | None, inputs: Sequence[str], *, force: bool) -> str:
    """The file to write: the one named, or that of the model."""
    out = model_path(model) if out is None else out
    if out is None:
        raise SettingError("say which file the model goes to: out=FILE.", setting="out")
    check_output(out, inputs, MODEL_FILE, force=force)
    return out
