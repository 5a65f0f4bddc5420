"""How long the runs that are left may take, judged by those that ended."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from maskdiff.bench.runs.measure import Record, Run
from maskdiff.bench.runs.records import run_of


class TimeLeft:
    """The runs that are left, and the seconds that runs like them took.

    The next run is taken to last as long as others of its method on its set did; where there are none yet, as long as
    other methods on its set, else as long as the average run.
    """

    def __init__(self, left: Iterable[Run], before: Iterable[Record], jobs: int = 1) -> None:
        self.left, self.jobs = set(left), jobs
        self.took: dict[tuple[str, ...], list[float]] = {}
        for record in before:
            self._learn(record)

    def __len__(self) -> int:
        return len(self.left)

    def ended(self, record: Record) -> None:
        """One run is no longer left."""
        self.left.discard(run_of(record))
        self._learn(record)

    def seconds(self) -> float:
        """How long the rest may take."""
        return sum(self._expected(run) for run in self.left) / self.jobs

    def _learn(self, record: Record) -> None:
        if record["status"] == "ok" and "fit_seconds" in record:
            seconds = record["fit_seconds"] + record["score_seconds"]
            for key in _keys(run_of(record)):
                self.took.setdefault(key, []).append(seconds)

    def _expected(self, run: Run) -> float:
        return next((fmean(self.took[key]) for key in _keys(run) if key in self.took), 0.0)


def _keys(run: Run) -> list[tuple[str, ...]]:
    """What a run is like, from near to far."""
    return [(run.set, run.method), (run.set,), ()]


def span(seconds: float) -> str:
    """A length of time as a person says it.

    >>> span(42), span(600), span(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
