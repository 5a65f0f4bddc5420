"""What there is to say about the files of a job, from what the manifest holds of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from maskdiff.distributed.worker import PartResult
from maskdiff.jobs.score import ScoreSummary

_NUMBERS = ("rows", "anomalies", "written", "empty", "dismissed")


@dataclass
class FilesSummary(ScoreSummary):
    """As of one file, for all `files` together; `kept` of them were finished by an earlier run.

    The checks are about the rows that were scored by this run.
    """

    files: int = 0
    kept: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, record: dict[str, Any]) -> None:
        """One more part."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + record[name])
        self.ignored = list(dict.fromkeys([*self.ignored, *record["ignored"]]))
        self.skipped.lines += record["skipped_lines"]
        self.skipped.first = self.skipped.first or record["first_skipped"]


def record_of(result: PartResult) -> dict[str, Any]:
    """A part as plain values, for the manifest."""
    return {
        **{name: getattr(result, name) for name in (*_NUMBERS, "ignored")},
        "skipped_lines": result.skipped.get("lines", 0),
        "first_skipped": result.skipped.get("first"),
        "p_values": [[value, ruled, number] for (value, ruled), number in sorted(result.p_values.items())],
        "seconds": round(result.seconds, 3),
        "processor_seconds": round(result.processor_seconds, 3),
        "first_of_worker": result.first_of_worker,
    }


def p_value_counts(records: Iterable[dict[str, Any]]) -> Counter[tuple[float, bool]]:
    """How many rows of all parts have each p-value, apart for those that a rule would dismiss."""
    counts: Counter[tuple[float, bool]] = Counter()
    for record in records:
        for value, ruled, number in record["p_values"]:
            counts[(value, ruled)] += number
    return counts
