"""What a fit keeps of its rows, so that the model can learn on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskdiff.codes import Codes
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.codes.windows import Windows
from maskdiff.detectors.updating.kept_rows import APART, KeptRows, sample_of
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.reconstructors import KernelReconstructor, abilities

if TYPE_CHECKING:
    from maskdiff.detectors.learning import Learner

# Where every row calibrated, this part of those that the model did not learn from tunes from now on.
_PART_TO_TUNE = 3


def rows_kept(detector: Learner, learned: Codes, tuning: Codes | None, calibration: Codes) -> KeptRows | None:
    """The rows to keep; nothing where the reconstructor could not train further.

    Without `tuning` the rows that calibrate are those of one fold, which the model did not learn from.
    """
    able = abilities(detector.reconstructor_)
    trains = able.train_on is not None or isinstance(detector.reconstructor_, KernelReconstructor)
    if able.fit is not None and not trains:
        return None
    n_unseen = 0 if tuning is None else _n_unseen(tuning)
    apart = StoredRows.of(calibration, detector._unseen[n_unseen:], with_texts=detector._fits_on_texts())
    if tuning is None:
        n = len(apart) // _PART_TO_TUNE if detector._tunes(detector.reconstructor_) else 0
        order = np.argsort(numbers_hashed(0, len(apart), detector.seed), kind="stable")
        to_tune, apart = apart.take(np.sort(order[:n])), apart.take(np.sort(order[n:]))
    else:
        to_tune = StoredRows.of(tuning, detector._unseen[:n_unseen], with_texts=detector._fits_on_texts())
    # Texts alone are all there is of them in a table; those of rows of tokens are compared with, not learned again.
    with_texts = detector._fits_on_texts() and not isinstance(learned, Windows)
    rows = StoredRows.of(learned, with_texts=with_texts)
    sample = sample_of(rows, detector.seed) if detector._keeps_sample() else StoredRows.none(learned.schema)
    # Rows that tuned are references of the evidence from then on, in a fit of folds all rows.
    compared = () if detector._keeps_sample() else ("tuning",) if tuning is not None else APART
    return KeptRows(sample, to_tune, apart, len(rows) + len(to_tune) + len(apart), len(rows), compared)


def _n_unseen(codes: Codes) -> int:
    """How many cells hold a value without a code."""
    values = codes.values[codes.counts] if isinstance(codes, Windows) else codes.values
    return int((values == codes.schema.sizes).sum())
