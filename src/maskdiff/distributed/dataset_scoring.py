"""Scoring a Ray dataset: rows in, the same rows with verdicts out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.calibration import Calibration
from maskdiff.distributed.cluster import ClusterOptions, import_ray
from maskdiff.distributed.model_bytes import detector_of, held_value, model_bytes
from maskdiff.distributed.undecided import ASIDE, Decision, PartScoring, highest_rows
from maskdiff.io.rows import BatchRows, as_batch
from maskdiff.jobs.models import Model, as_detector
from maskdiff.jobs.score import ScoreOptions, score_batch

# Rows that are scored at once, unless the blocks of the dataset are smaller.
_ROWS_AT_ONCE = 65_536


def score(
    model: Model,
    dataset: Any,
    options: ScoreOptions | None = None,
    *,
    cluster: ClusterOptions | None = None,
) -> Any:
    """The rows of a `ray.data.Dataset` with their verdicts, as another dataset: `jobs.score_batch` on every batch.

    Like all transformations of a dataset it runs when the result is used, and rows keep their order where the context
    of Ray Data says so (`preserve_order`). Choices about all rows are made at once: with `false_discovery_rate` the
    dataset is scored first and decided then, with `top` the result is one block in memory.
    """
    options, cluster, ray = options or ScoreOptions(), cluster or ClusterOptions(), import_ray()
    detector = as_detector(model)
    detector.threshold(options.false_alarm_rate)  # a rate that cannot be promised is refused at once
    aside = options.false_discovery_rate is not None or options.top is not None
    # With a false-discovery rate every row counts, whether it is written or not.
    first = options if options.false_discovery_rate is None else replace(options, only_anomalies=False, top=None)
    scored = dataset.map_batches(
        BatchScorer,
        fn_constructor_args=(ray.put(model_bytes(model)), first, cluster.gpus, aside),
        batch_size=_ROWS_AT_ONCE,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=cluster.n_workers()),
        **cluster.resources(),
    )
    return scored if not aside else _decided(ray, scored, options, detector.calibration_)


class BatchScorer:
    """Scores batches of a dataset; Ray makes one for each worker, which loads the model once."""

    def __init__(self, model: Any, options: ScoreOptions, gpus: float, aside: bool) -> None:
        self.detector, self.options, self.aside = detector_of(held_value(model), gpus=gpus), options, aside

    def __call__(self, table: pa.Table) -> pa.Table:
        batch = as_batch(table)
        if not self.aside:
            return pa.Table.from_batches([score_batch(self.detector, batch, self.options)])
        scoring = PartScoring(self.detector, BatchRows(batch), self.options)
        batches = list(scoring.undecided())  # before its schema is asked for: this judges the rows
        return pa.Table.from_batches(batches, scoring.aside_schema)


def _decided(ray: Any, scored: Any, options: ScoreOptions, calibration: Calibration) -> Any:
    """The rows once all are scored: which are alarms, which score highest."""
    decision, rate = Decision(), options.false_discovery_rate
    if rate is not None:
        scored = scored.materialize()
        decision = Decision.of(_p_value_counts(scored, calibration), rate)
    if options.top is None:
        return scored.map_batches(_Deciding(decision, calibration, options), batch_size=None, batch_format="pyarrow")
    kept: pa.Table | None = None
    for table in scored.iter_batches(batch_size=None, batch_format="pyarrow"):
        if options.only_anomalies and rate is not None:
            table = table.filter(pa.array(_p_values(table, calibration) <= rate))
        both = table if kept is None else pa.concat_tables([kept, table], promote_options="permissive")
        kept = highest_rows(both, options.top)
    return ray.data.from_arrow(_Deciding(decision, calibration, options)(kept))


class _Deciding:
    """Applies a decision to batches of a dataset."""

    def __init__(self, decision: Decision, calibration: Calibration, options: ScoreOptions) -> None:
        self.decision, self.calibration, self.options = decision, calibration, options

    def __call__(self, table: pa.Table) -> pa.Table:
        return pa.Table.from_batches([self.decision.applied(as_batch(table), self.calibration, self.options)])


def _p_values(table: pa.Table, calibration: Calibration) -> Any:
    return calibration.p_values(table.column(ASIDE[0].name).to_numpy())


def _p_value_counts(scored: Any, calibration: Calibration) -> Counter[tuple[float, bool]]:
    """How many rows have each p-value, apart for those that a rule would dismiss."""

    def count(table: pa.Table) -> pa.Table:
        pairs = np.stack([_p_values(table, calibration), table.column(ASIDE[1].name).to_numpy() > 0])
        values, numbers = np.unique(pairs, axis=1, return_counts=True)
        return pa.table({"value": values[0], "ruled": values[1], "number": numbers})

    counts: Counter[tuple[float, bool]] = Counter()
    for row in scored.map_batches(count, batch_size=None, batch_format="pyarrow").iter_rows():
        counts[(row["value"], bool(row["ruled"]))] += row["number"]
    return counts
