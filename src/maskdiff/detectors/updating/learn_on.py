"""Learning on: more normal rows join a model that was fitted before.

What has to hold afterwards is what holds after a fit: a normal row scores above the threshold with at most the promised
probability. For that the rows that calibrate have to be judged by the model as it is now, as new rows are, so a model
can learn on only if it still has rows to calibrate by: a kernel has all of its rows and leaves each out
(`leaving_out`), all others keep rows apart (`holding_out`).

Values that had not been seen get codes, ranges of numbers widen, the new rows join the references of the evidence, the
network trains on, and the threshold is set again. The detector changes only once all of that has worked.
"""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.cascade import FirstLook
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.detectors.updating.checks import check_new, readable_rows
from maskdiff.detectors.updating.holding_out import learn_with_old_rows, rows_to_learn
from maskdiff.detectors.updating.leaving_out import can_leave_out, learn_with_references
from maskdiff.detectors.updating.rules import moved_rules
from maskdiff.detectors.updating.summary import UpdateSummary, drifted_columns
from maskdiff.encoders.base import Extension
from maskdiff.errors import CoarserRateWarning, EmptyTableError, SettingError
from maskdiff.progress import Callback, listening
from maskdiff.training import CheckpointStore

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector

# Calibration scores by the whole grid, and the first looks that may come before it.
Calibrated = tuple[Calibration, dict[str, FirstLook]]
# The share of alarms among the new rows is counted in at most so many of them.
_MOST_JUDGED = 1000
# A model remembers so many updates, the last ones.
MOST_UPDATES = 20


def learn_on(detector: Detector, X: Any, checkpoint: CheckpointStore | None = None) -> UpdateSummary:
    """Let a detector learn from these rows too; see `Detector.update`."""
    check_is_fitted(detector)
    if detector.kept_ is None and not can_leave_out(detector):
        raise SettingError(
            f"a {type(detector).__name__} with {detector.reconstructor_!r} cannot learn on: it cannot train further. "
            "Fit again on old and new rows."
        )
    read = detector._read(X)
    if not read.n_rows:
        raise EmptyTableError("there are no rows to learn on from.")
    rows, codes = readable_rows(detector.encoder_, read)
    check_new(detector.fingerprint_, codes)
    judged = rows.take(np.argsort(numbers_hashed(0, rows.n_rows, detector.seed), kind="stable")[:_MOST_JUDGED])
    alarms = float(detector.judge(judged).raised.mean())
    changed = copy.copy(detector)
    with listening(detector.progress) as callback:
        learn = _by_leaving_out if can_leave_out(detector) else _by_holding_out
        (calibration, looks), extension = learn(changed, rows, callback, checkpoint)
    changed.dismissals_ = moved_rules(detector.dismissals_, extension.change)
    changed.fingerprint_ = detector.fingerprint_.joined(changed.encoder_.encode(rows), extension.change)
    changed.adopt_calibration(calibration, looks)
    rates = [one.calibration_.rate_or_default(one.false_alarm_rate) for one in (detector, changed)]
    summary = UpdateSummary(
        rows=rows.n_rows,
        left_out=read.n_rows - rows.n_rows,
        alarms=alarms,
        threshold_before=detector.threshold(),
        threshold=changed.threshold(),
        false_alarm_rate_before=rates[0],
        false_alarm_rate=rates[1],
        calibration_rows=len(calibration),
        new_values=extension.new_values,
        n_new={name: len(values) for name, values in extension.new_values.items()},
        widened=extension.widened,
        drifted=drifted_columns(codes),
    )
    changed.updates_ = (*detector.updates_, summary.shortened())[-MOST_UPDATES:]
    detector.__dict__.update(changed.__dict__)
    _warn_of_coarser(summary)
    return summary


def _by_leaving_out(
    detector: Any, rows: Any, callback: Callback | None, checkpoint: CheckpointStore | None
) -> tuple[Calibrated, Extension]:
    detector.encoder_, extension = detector.encoder_.extended(rows)
    new = detector.encoder_.encode(rows)
    known = new.take(new.known.all(axis=1))
    return (learn_with_references(detector, known, extension, callback), {}), extension


def _by_holding_out(
    detector: Any, rows: Any, callback: Callback | None, checkpoint: CheckpointStore | None
) -> tuple[Calibrated, Extension]:
    deal = detector.kept_.deal(rows.n_rows, detector.seed)
    if detector.false_alarm_rate is not None:  # one that so few rows cannot promise is refused before the long part
        n = len(deal.calibration) + len(deal.calibration_kept)
        Calibration(np.zeros(n)).check_rate(detector.false_alarm_rate)
    encoder, extension = detector.encoder_.extended(rows.take(deal.train))
    part = rows_to_learn(detector, rows, encoder, extension, deal)
    detector.encoder_ = encoder
    return learn_with_old_rows(detector, part, extension, callback, checkpoint), extension


def _warn_of_coarser(summary: UpdateSummary) -> None:
    """Where a fit let every row calibrate, an update keeps some apart, and few rows promise less."""
    if summary.false_alarm_rate > summary.false_alarm_rate_before:
        warnings.warn(
            f"{summary.calibration_rows:,} rows calibrate now, enough to promise a false-alarm rate of "
            f"{summary.false_alarm_rate:.3g}; it was {summary.false_alarm_rate_before:.3g}. Learn on from more rows, "
            "or fit again on old and new rows together.",
            CoarserRateWarning,
            stacklevel=4,
        )
