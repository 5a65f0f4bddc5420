"""Learning on: more normal rows join a model that was fitted before.

What has to hold afterwards is what holds after a fit: a normal row scores above the threshold with at most the promised
probability. For that the rows that calibrate have to be judged by the model as it is now, as new rows are, so a model
can learn on only if it still has rows to calibrate by.

A kernel has: its reference rows are all rows it was fitted on, as codes, and each can be left out. So the new rows join
the reference rows, the encoder gives new values codes and widens ranges of numbers (`encoders.table.extension`), the
old rows move to their codes there, and of all rows together some calibrate, each left out, as in a fit.

A network keeps no rows. To learn on it would have to keep some: those that calibrate, with how far they are beyond the
range, which must never be learned from, and a random share of the others, which it would train on beside the new rows,
with weights for new codes added to its first and last layers. Until then it is fitted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.codes import Codes, IntArray, Schema
from maskdiff.codes.rows import distinct_rows
from maskdiff.detectors.dismissals import CODE, Dismissals, DismissedCell
from maskdiff.detectors.fingerprint import NOT_KNOWN, Fingerprint
from maskdiff.detectors.split import MOST_TO_CALIBRATE
from maskdiff.drift.columns import CodeCounts, drift_level
from maskdiff.encoders.table.extension import ExtendedColumn
from maskdiff.errors import EmptyTableError, InputError, SettingError
from maskdiff.progress import listening
from maskdiff.reconstructors import KernelReconstructor

if TYPE_CHECKING:
    from maskdiff.detectors.tables import TableDetector
    from maskdiff.detectors.verdicts import Verdicts

# From so many rows on that equal single rows of the fit, where that is more than chance gives in this interval.
_FEWEST_SEEN, _INTERVAL = 3, 0.999


@dataclass(frozen=True)
class UpdateSummary:
    """What learning on changed.

    Of the new rows, `alarms` were alarms before; `rows` joined, and `left_out` ones did not, for they hold a cell that
    no code fits, such as a text among numbers. `new_values` are the values that got codes, `widened` the columns whose
    numbers reach further now, and `drifted` how far the columns moved that moved by more than chance: the share of rows
    that would have to change. `threshold_before` and `threshold` are those of the detector's own rate.
    """

    rows: int
    left_out: int
    alarms: int
    threshold_before: float
    threshold: float
    new_values: Mapping[str, tuple[str, ...]]
    widened: tuple[str, ...]
    drifted: Mapping[str, float]

    def to_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        listed = {name: list(values) for name, values in self.new_values.items()}
        return vars(self) | {"new_values": listed, "widened": list(self.widened), "drifted": dict(self.drifted)}


def learn_on(detector: TableDetector, X: Any) -> UpdateSummary:
    """Let a kernel learn from these rows too."""
    check_is_fitted(detector)
    kernel = detector.reconstructor_
    if not isinstance(kernel, KernelReconstructor) or len(detector.evidence_.sources) > 1 or detector.contamination:
        raise SettingError(
            "only a kernel that learned from all of its rows can learn on: it still has them. "
            'Fit again on old and new rows, or use TableDetector("kernel").'
        )
    rows, threshold = detector._read(X), detector.threshold()
    if not rows.n_rows:
        raise EmptyTableError("there are no rows to learn on from.")
    verdicts = detector.judge(rows)
    check_new(detector.fingerprint_, verdicts)
    encoder, columns = detector.encoder_.extended(rows)
    schema = encoder.schema_
    old = Codes(moved_codes(kernel.codes_NF.cpu().numpy(), columns, schema), schema)
    new = encoder.encode(rows)
    readable = new.known.all(axis=1)
    codes, counts = joined_rows(old, kernel.counts_N.cpu().numpy(), new.take(readable))
    detector.encoder_, detector.dismissals_ = encoder, moved_rules(detector.dismissals_, columns)
    detector.fingerprint_ = Fingerprint.of([all_rows(codes, counts)], detector.seed)
    detector.reconstructor_ = kernel.over(codes, counts, device=detector.torch_device())
    # A kernel tunes nothing, so no row is needed for that.
    detector.evidence_, _ = detector._gather(codes, codes.take([]), None)
    with listening(detector.progress) as callback:
        calibration = calibrating_rows(codes, counts, detector.seed)
        found = detector.evidence_.left_out().weigh(calibration, stage="calibrating", callback=callback)
        scores = detector._calibrate(calibration, found, callback)
    detector.adopt_calibration(Calibration.from_scores(scores))
    return UpdateSummary(
        rows=int(readable.sum()),
        left_out=int((~readable).sum()),
        alarms=int(verdicts.raised.sum()),
        threshold_before=threshold,
        threshold=detector.threshold(),
        new_values={name: one.new_values for name, one in columns.items() if one.new_values},
        widened=tuple(name for name, one in columns.items() if one.widened),
        drifted=drifted_columns(verdicts.codes),
    )


def check_new(learned: Fingerprint, verdicts: Verdicts) -> None:
    """Refuse rows that were learned from before: each would find its copy when it is left out, and seem less odd."""
    n, seen = int((verdicts.times_learned != NOT_KNOWN).sum()), int(verdicts.seen.sum())
    once = int(learned.matched_once(verdicts.codes).sum())
    if once >= _FEWEST_SEEN and learned.is_overlap(n, seen, once, _INTERVAL):
        raise InputError(
            f"{seen:,} of {n:,} rows were learned from before and would count twice, which makes all rows seem less "
            "odd than they are. Hand over the new rows alone; judge(X).seen marks the others."
        )


def moved_codes(values: IntArray, columns: Mapping[str, ExtendedColumn], schema: Schema) -> IntArray:
    """Codes of the old schema, shape (N, F), as those of the new one."""
    moved = np.empty(values.shape, dtype=schema.code_dtype)
    for at, name in enumerate(schema.names):
        moved[:, at] = columns[name].moved[values[:, at]]
    return moved


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


def all_rows(rows: Codes, counts: IntArray) -> Codes:
    """Every row as often as it is there."""
    return rows.take(np.repeat(np.arange(len(rows)), counts))


def moved_rules(rules: Dismissals, columns: Mapping[str, ExtendedColumn]) -> Dismissals:
    """The same rules about the codes as they are now."""

    def moved(cell: DismissedCell) -> DismissedCell:
        column = columns[cell.column]
        assert cell.code is not None
        code = int(column.moved[cell.code])
        text = column.coder.field.label(code) if cell.compared == CODE else cell.text
        return replace(cell, code=code, text=text)

    return Dismissals(tuple(replace(rule, cells=tuple(map(moved, rule.cells))) for rule in rules.rules))


def drifted_columns(codes: Codes) -> dict[str, float]:
    """How far each column of these rows is from the rows learned from, where that is no chance; the furthest first."""
    counts = CodeCounts(codes.schema)
    counts.add(codes)
    found = {field.name: counts.distance(at) for at, field in enumerate(codes.schema)}
    levels = (drift_level(counts.distance(at), counts.p_value(at)) for at in range(len(codes.schema)))
    moved = [name for name, level in zip(found, levels, strict=True) if level != "chance"]
    return {name: found[name] for name in sorted(moved, key=lambda name: -found[name])}
