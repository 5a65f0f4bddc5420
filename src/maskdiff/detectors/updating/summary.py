"""What learning on changed, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from maskdiff.codes import Codes
from maskdiff.codes.windows import Windows
from maskdiff.drift.columns import CodeCounts, drift_level
from maskdiff.errors import SettingError
from maskdiff.state import storable

# A model file names so many new values of a field; how many there were is not forgotten.
MOST_NAMED = 20


@storable
@dataclass(frozen=True)
class UpdateSummary:
    """What learning on changed.

    `rows` joined, some of them to tune and to calibrate, and `left_out` ones did not: they hold a cell that no code
    fits, such as a text among numbers, or no token at all. `alarms` is the share of the new rows that were alarms
    before, of at most 1,000 of them. `new_values` are the values or tokens that got codes, by column, and `n_new` how
    many there are; `widened` the columns whose numbers reach further now, and `drifted` how far the columns moved that
    moved by more than chance: the share of rows that would have to change. `threshold_before` and `threshold` are
    those of the detector's own rate, which is `false_alarm_rate_before` and `false_alarm_rate`; `calibration_rows` is
    the number of rows that promise it.
    """

    rows: int
    left_out: int
    alarms: float
    threshold_before: float
    threshold: float
    false_alarm_rate_before: float
    false_alarm_rate: float
    calibration_rows: int
    new_values: Mapping[str, tuple[str, ...]]
    n_new: Mapping[str, int]
    widened: tuple[str, ...]
    drifted: Mapping[str, float]

    def __post_init__(self) -> None:
        if min(self.rows, self.left_out, self.calibration_rows) < 0 or not 0 <= self.alarms <= 1:
            raise SettingError(f"an update has no negative numbers of rows; got {self.rows}, {self.left_out}.")

    def to_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        listed = {name: list(values) for name, values in self.new_values.items()}
        plain = {"n_new": dict(self.n_new), "widened": list(self.widened), "drifted": dict(self.drifted)}
        return vars(self) | {"new_values": listed} | plain

    def shortened(self) -> UpdateSummary:
        """The same with the first of the new values only, as a model file keeps it."""
        return replace(self, new_values={name: values[:MOST_NAMED] for name, values in self.new_values.items()})


def drifted_columns(codes: Codes) -> dict[str, float]:
    """How far each column of these rows is from the rows learned from, where that is no chance; the furthest first."""
    counts = CodeCounts(codes.schema)
    # The tokens of all rows are one column.
    counts.add(Codes(codes.values[codes.counts][:, None], codes.schema) if isinstance(codes, Windows) else codes)
    found = {field.name: counts.distance(at) for at, field in enumerate(codes.schema)}
    levels = (drift_level(counts.distance(at), counts.p_value(at)) for at in range(len(codes.schema)))
    moved = [name for name, level in zip(found, levels, strict=True) if level != "chance"]
    return {name: found[name] for name in sorted(moved, key=lambda name: -found[name])}
