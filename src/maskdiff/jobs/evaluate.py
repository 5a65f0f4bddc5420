"""Evaluating: how well a model separates labelled rows, and whether its promise about false alarms holds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.codes import BoolArray, FloatArray
from maskdiff.errors import InputError, NoEvidenceWarning
from maskdiff.io.formats import open_rows
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines
from maskdiff.jobs.curves import check_picture, draw_curves
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.rows.labels import Labels, warn_of_unlabelled
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.rows.table import place_of
from maskdiff.progress import Callback, Progress


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was measured on labelled rows. `precision` is None where there is no alarm.

    `empty_rows` have no evidence (a text without a token), so their score is NaN. They count in every measure, as rows
    that are never alarms and are less odd than any other. `scores` and `is_odd` are those of the labelled rows, (n,).
    `checks` is what to know about the false alarms: only rows labelled normal are looked at.
    """

    rows: int
    anomalies: int
    empty_rows: int
    roc_auc: float
    average_precision: float
    threshold: float
    alarms: int
    precision: float | None
    recall: float
    false_alarm_rate_promised: float
    false_alarm_rate_seen: float
    scores: FloatArray = field(repr=False)
    is_odd: BoolArray = field(repr=False)
    skipped: SkippedLines = field(default_factory=SkippedLines, repr=False)
    checks: list[Check] = field(default_factory=list, repr=False)

    @property
    def ranking(self) -> FloatArray:
        """The scores, with rows without evidence below all others, shape (n,)."""
        return ranking(self.scores)

    def to_record(self) -> dict[str, Any]:
        """The measures as a dict of plain values."""
        left_out = ("scores", "is_odd", "skipped", "checks")
        measures = {name: value for name, value in vars(self).items() if name not in left_out}
        return measures | {"checks": [check.to_record() for check in self.checks]}


def evaluate_file(
    model: Model,
    rows: str,
    label: str,
    normal: Sequence[str] = (),
    *,
    false_alarm_rate: float | None = None,
    reading: ReadOptions | None = None,
    callback: Callback | None = None,
    plot: str | None = None,
    force: bool = False,
) -> Evaluation:
    """Measure a model on the rows of a file that the column `label` calls normal, by one of these values, or not.

    Without values, 0 is normal and 1 is not. Rows without label are left out. `plot` is a picture
    to draw of both curves; a file that is not a picture is replaced only with `force`.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labelled.csv")
    ...     _ = path.write_text("pet,says,odd\\ncat,meow,0\\ndog,woof,0\\ncat,woof,1\\n")
    ...     evaluation = evaluate_file(detector, str(path), "odd")
    >>> evaluation.roc_auc, evaluation.alarms, evaluation.recall
    (1.0, 1, 1.0)
    """
    if plot is not None:
        check_picture(plot, [rows, model_path(model)], force=force)
    detector = as_detector(model)
    rate = detector.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
    rate = detector.calibration_.rate_or_default(rate)  # one that cannot be promised is refused before reading
    with open_rows(rows, reading) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the evaluation says how many rows are empty
        counts = CheckCounts(detector, false_alarm_rate=rate, labelled_normal=True)
        scores, is_odd, alarm = _labelled_scores(file, counts, Labels(label, normal), callback)
    found = Evaluation(
        **measure(scores, is_odd, alarm),
        threshold=detector.threshold(rate),
        false_alarm_rate_promised=rate,
        scores=scores,
        is_odd=is_odd,
        skipped=file.skipped,
        checks=run_checks(counts),
    )
    if plot is not None:
        draw_curves(found, plot, force=force)
    return found


def _labelled_scores(
    file: RowFile, counts: CheckCounts, labels: Labels, callback: Callback | None
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """The score of every labelled row, whether it is labelled as an anomaly, and whether it is an alarm.

    Rows labelled normal are counted for the checks.
    """
    detector = counts.detector
    model_rows, place = rows_for(file, detector), place_of(file, labels.column)
    counts.unknown = [name for name in model_rows.ignored if name != labels.column]
    scores, none, done = [np.empty(0)], np.empty(0, dtype=np.bool_), 0
    odd, alarms = [none], [none]
    for batch in model_rows.batches():
        cells = batch.column(place)
        anomaly = labels.is_anomaly(cells)
        labelled = anomaly | labels.is_normal(cells)
        verdicts = detector.judge(model_rows.read(batch, done + 1), counts.false_alarm_rate)
        scores.append(verdicts.anomaly_score[labelled])
        counts.add(verdicts.take(labelled & ~anomaly))
        odd.append(anomaly[labelled])
        alarms.append(verdicts.is_anomaly[labelled])
        done += batch.num_rows
        if callback is not None:
            callback(Progress("scoring", done, file.n_rows or 0))
    is_odd = np.concatenate(odd)
    labels.check_any_normal()
    if not is_odd.any():
        raise InputError(
            f"every row is normal: {labels.column!r} is always {labels.normal_names}. Anomalies are needed too."
        )
    warn_of_unlabelled(file.name, labels.column, done - len(is_odd))
    return np.concatenate(scores), is_odd, np.concatenate(alarms)


def measure(scores: FloatArray, is_odd: BoolArray, alarm: BoolArray) -> dict[str, Any]:
    """The measures by name; a row without evidence, scored NaN, is no alarm and comes last."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    caught, called = int((alarm & is_odd).sum()), int(alarm.sum())
    return {
        "rows": len(is_odd),
        "anomalies": int(is_odd.sum()),
        "empty_rows": int(np.isnan(scores).sum()),
        "roc_auc": float(roc_auc_score(is_odd, ranking(scores))),
        "average_precision": float(average_precision_score(is_odd, ranking(scores))),
        "alarms": called,
        "precision": caught / called if called else None,
        "recall": caught / int(is_odd.sum()),
        "false_alarm_rate_seen": float(alarm[~is_odd].mean()),
    }


def ranking(scores: FloatArray) -> FloatArray:
    """Scores to rank rows by: those without evidence, scored NaN, are below all others.

    >>> ranking(np.array([2.0, np.nan, 0.5]))
    array([ 2. , -0.5,  0.5])
    """
    known = scores[~np.isnan(scores)]
    lowest = known.min() - 1 if len(known) else 0.0
    return np.where(np.isnan(scores), lowest, scores)
