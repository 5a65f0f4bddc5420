"""Learning on by leaving out: a kernel has all rows it was fitted on, as codes, and each of them can be left out.

So the new rows join the reference rows, and of all rows together some calibrate, each left out, as in a fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.calibration import Calibration
from maskdiff.codes import Codes, IntArray
from maskdiff.codes.rows import distinct_rows
from maskdiff.detectors.split import MOST_TO_CALIBRATE
from maskdiff.encoders.base import Extension
from maskdiff.progress import Callback
from maskdiff.reconstructors import KernelReconstructor

if TYPE_CHECKING:
    from maskdiff.detectors.tables import TableDetector


def can_leave_out(detector: Any) -> bool:
    """Whether this is a kernel that learned from all of its rows."""
    alone = len(detector.evidence_.sources) == 1 and not detector.contamination
    return isinstance(detector.reconstructor_, KernelReconstructor) and alone


def learn_with_references(
    detector: TableDetector, new: Codes, extension: Extension, callback: Callback | None
) -> Calibration:
    """Let a kernel vote with these rows too; what calibrates it."""
    kernel = detector.reconstructor_
    assert isinstance(kernel, KernelReconstructor)
    old = Codes(extension.change.moved(kernel.codes_NF.cpu().numpy()), new.schema)
    codes, counts = joined_rows(old, kernel.counts_N.cpu().numpy(), new)
    detector.reconstructor_ = kernel.over(codes, counts, device=detector.torch_device())
    # A kernel tunes nothing, so no row is needed for that.
    detector.evidence_, _ = detector._gather(codes, codes.take([]), None)
    calibration = calibrating_rows(codes, counts, detector.seed)
    found = detector.evidence_.left_out().weigh(calibration, stage="calibrating", callback=callback)
    return Calibration.from_scores(detector._calibrate(calibration, found, callback))


def joined_rows(rows: Codes, counts: IntArray, new: Codes) -> tuple[Codes, IntArray]:
    """Distinct rows with their numbers, and new rows: the distinct ones of both, and how often each is there."""
    values = np.concatenate([rows.values, new.values])
    first, group, _ = distinct_rows(values)
    times = np.bincount(group, np.concatenate([counts, np.ones(len(new))]))
    return Codes(values[first], rows.schema), times.astype(np.int64)


def calibrating_rows(rows: Codes, counts: IntArray, seed: int) -> Codes:
    """Rows drawn at random from these distinct ones and their copies, as many as a fit would take."""
    n = int(counts.sum())
    drawn = np.random.default_rng([seed, n]).permutation(n)[:MOST_TO_CALIBRATE]
    return rows.take(np.searchsorted(np.cumsum(counts), np.sort(drawn), side="right"))
