"""What is measured while serving, as Prometheus reads it: rows, alarms, latency, and the drift of each model."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.detectors import Detector, Verdicts

MEDIA_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
# The columns of a model whose drift is given one by one.
_MOST_COLUMNS = 100


class SharedCounts(CheckCounts):
    """Counts of all rows that a model judged while serving; several threads may add to them."""

    def __init__(self, detector: Detector) -> None:
        super().__init__(detector)
        self.lock = threading.Lock()

    def add(self, verdicts: Verdicts) -> SharedCounts:
        with self.lock:
            super().add(verdicts)
        return self

    def checks(self) -> list[Check]:
        """What to know about the alarms so far."""
        with self.lock:
            return run_checks(self) if self.rows else []

    def drift(self) -> dict[str, float]:
        """The distance of each column from the normal rows, by its name."""
        with self.lock:
            codes = self.codes
            if codes is None or not codes.n_rows:
                return {}
            return {name: codes.distance(at) for at, name in enumerate(codes.schema.names[:_MOST_COLUMNS])}


class Metrics:
    """All that `/metrics` says."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.counts: dict[str, SharedCounts] = {}
        self.rows = Counter("maskdiff_rows", "Rows that were scored.", ["model"], registry=self.registry)
        self.alarms = Counter("maskdiff_alarms", "Rows that were alarms.", ["model"], registry=self.registry)
        self.batches = Histogram(
            "maskdiff_batch_requests",
            "Requests that were scored together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
            registry=self.registry,
        )
        self.latency = Histogram(
            "maskdiff_request_seconds",
            "Seconds from the first byte of a request to the last of its answer.",
            ["method", "route", "status"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(_Drift(self.counts))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "POST", "DELETE") else "other"
        self.latency.labels(known, route, str(status)).observe(seconds)

    def judged(self, model: str, rows: int, alarms: int) -> None:
        self.rows.labels(model).inc(rows)
        self.alarms.labels(model).inc(alarms)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _Drift(Collector):
    """Computed when it is asked for, since that is seldom and rows are many."""

    def __init__(self, counts: dict[str, SharedCounts]) -> None:
        self.counts = counts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(
            "maskdiff_column_drift",
            "Distance of the scored rows from the normal ones, 0 (the same) to 1 (nothing in common).",
            labels=["model", "column"],
        )
        for model, counts in list(self.counts.items()):
            for column, distance in counts.drift().items():
                family.add_metric([model, column], distance)
        yield family
