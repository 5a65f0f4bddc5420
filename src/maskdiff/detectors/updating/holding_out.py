"""Learning on by holding out: a network trains on with new rows and old ones, and rows kept apart calibrate it.

The new rows are dealt as in a fit: most are learned from, some tune and calibrate. The rows kept apart before stay so,
as far as they are needed, and are scored again by the model as it is now. Old rows are those kept in the model: the
references of the evidence, or a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.calibration import Calibration
from maskdiff.cascade import FirstLook
from maskdiff.codes import Codes
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.detectors.updating.kept_rows import Deal, KeptRows, sample_of
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.encoders.base import Extension
from maskdiff.masking import as_schedule
from maskdiff.objectives import as_objective
from maskdiff.progress import Callback
from maskdiff.reconstructors import KernelReconstructor, abilities
from maskdiff.training import CheckpointStore, StopPart

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector

# However few rows are new, a network takes this share of the steps of a fit.
_LEAST_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class RowsToLearn:
    """The rows of an update with their new codes.

    `old` is a uniform sample of the rows learned from before, `new` are those learned from now, `sample` is a uniform
    sample of both; `tuning` and `calibration` are kept apart.
    """

    old: StoredRows
    new: StoredRows
    sample: StoredRows
    tuning: StoredRows
    calibration: StoredRows


def rows_to_learn(detector: Detector, rows: Any, encoder: Any, extension: Extension, deal: Deal) -> RowsToLearn:
    """Deal old and new rows."""
    kept = detector.kept_
    assert kept is not None
    old, calibration, tuning = (
        part.moved(extension.change, encoder) for part in (detector._old_rows(kept), kept.calibration, kept.tuning)
    )
    freed = calibration.take(deal.calibration_freed).joined(tuning.take(deal.tuning_freed))
    new = coded(detector, encoder, rows.take(deal.train)).joined(freed)
    new = new.take(np.flatnonzero(new.is_known))
    share = min(1.0, len(old) / kept.n_learned)
    chosen = np.sort(np.argsort(numbers_hashed(0, len(new), kept.n_rows), kind="stable")[: round(share * len(new))])
    return RowsToLearn(
        old,
        new,
        old.joined(new.take(chosen)),
        tuning.take(deal.tuning_kept).joined(coded(detector, encoder, rows.take(deal.tuning))),
        calibration.take(deal.calibration_kept).joined(coded(detector, encoder, rows.take(deal.calibration))),
    )


def coded(detector: Detector, encoder: Any, rows: Any) -> StoredRows:
    """New rows as they are kept."""
    codes = encoder.encode(rows)
    return StoredRows.of(codes, encoder.unseen_values(rows, codes), with_texts=detector._fits_on_texts())


def learn_with_old_rows(
    detector: Detector,
    part: RowsToLearn,
    extension: Extension,
    callback: Callback | None,
    checkpoint: CheckpointStore | None,
) -> tuple[Calibration, dict[str, FirstLook]]:
    """Train on, gather evidence, set scales; what calibrates it, with its first looks."""
    kept, encoder = detector.kept_, detector.encoder_
    assert kept is not None
    tuning, calibration = part.tuning.codes(encoder), part.calibration.codes(encoder)
    shown = tuning if len(part.tuning) else calibration
    detector.reconstructor_ = trained_on(detector, part, extension, shown, callback, checkpoint)
    detector.evidence_, learned = detector._gather_on(part, tuning, callback)
    found = detector.evidence_.weigh(calibration, stage="calibrating", callback=callback)
    scores = detector._calibrate(calibration, found, callback)
    n_new = len(part.new) + len(part.tuning) + len(part.calibration) - len(kept.tuning) - len(kept.calibration)
    detector.kept_ = KeptRows(
        sample_of(part.sample, kept.n_rows) if detector._keeps_sample() else StoredRows.none(part.sample.schema),
        part.tuning,
        part.calibration,
        n_rows=kept.n_rows + n_new,
        n_learned=kept.n_learned + len(part.new),
        compared=() if detector._keeps_sample() else ("tuning",),
    )
    return Calibration.from_scores(scores), detector._calibrate_looks(learned, calibration, scores)


def trained_on(
    detector: Detector,
    part: RowsToLearn,
    extension: Extension,
    shown: Codes,
    callback: Callback | None,
    checkpoint: CheckpointStore | None,
) -> Any:
    """The reconstructor after these rows; one that learns nothing stays as it is."""
    able, kept = abilities(detector.reconstructor_), detector.kept_
    assert kept is not None
    if isinstance(detector.reconstructor_, KernelReconstructor):
        return detector.reconstructor_.fit(part.sample.codes(detector.encoder_), device=detector.torch_device())
    if able.train_on is None:
        return detector.reconstructor_
    # At least as many old rows as new ones, as far as there were: what is not shown again is forgotten.
    n_old = min(kept.n_learned, max(len(part.old), len(part.new)))
    order = np.resize(np.argsort(numbers_hashed(0, len(part.old), kept.n_rows), kind="stable"), n_old)
    rows = part.old.take(order).joined(part.new)
    codes = replace(rows, texts=None).codes(detector.encoder_)
    total = kept.n_learned + len(part.new)
    share = min(1.0, max(_LEAST_SHARE, 2 * len(part.new) / total))
    lines = round(total * len(codes) / len(rows))  # a long row of tokens is several
    return able.train_on(
        codes,
        extension.change,
        part=StopPart(lines, share),
        objective=as_objective(detector.objective, detector.probes_.levels),
        schedule=as_schedule(detector.schedule),
        seed=int(detector.seed) + kept.n_rows,
        device=detector.torch_device(),
        held_out=shown,
        callback=callback,
        **({} if checkpoint is None else {"checkpoint": checkpoint}),
    )
