"""The columns that drifted most, to explain a number of alarms that was not promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maskdiff.drift.columns import CodeCounts, drift_level


@dataclass(frozen=True)
class DriftedColumn:
    """A column whose values are not distributed as in the normal rows; `unseen` is the share of new values."""

    column: str
    distance: float
    unseen: float
    level: str

    def to_record(self) -> dict[str, Any]:
        return asdict(self)


def drifted_columns(codes: CodeCounts, number: int) -> list[DriftedColumn]:
    """The columns that moved by more than chance, the one that moved most first."""
    found = []
    for at, field in enumerate(codes.schema):
        distance, level = codes.distance(at), drift_level(codes.distance(at), codes.p_value(at))
        found.append(DriftedColumn(field.name, distance, float(codes.counts[at][-1] / max(1, codes.n_rows)), level))
    moved = [column for column in found if column.level != "chance"]
    return sorted(moved, key=lambda column: -column.distance)[:number]


def drift_sentence(drifted: Sequence[DriftedColumn]) -> str:
    """
    >>> drift_sentence([DriftedColumn("region", 0.6, 0.6, "strong"), DriftedColumn("age", 0.2, 0.0, "clear")])
    "Columns that changed most: 'region' (in 60% of rows, 60% never seen before), 'age' (in 20% of rows). "
    """
    named = [f"{column.column!r} (in {column.distance:.0%} of rows{_unseen(column)})" for column in drifted]
    return f"Columns that changed most: {', '.join(named)}. " if named else ""


def _unseen(column: DriftedColumn) -> str:
    return f", {column.unseen:.0%} never seen before" if column.unseen >= 0.005 else ""
