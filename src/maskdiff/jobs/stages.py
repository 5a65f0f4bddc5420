"""The stages of scoring a stream of batches: judge, choose rows. What is held does not grow with the file.

A choice that needs all rows comes late: false-discovery control puts the rows aside in a temporary file, and the top K
are kept as they come.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.io.rows import as_batch, rows_at_once
from maskdiff.jobs.model_rows import ModelRows

if TYPE_CHECKING:
    from maskdiff.detectors import Detector, Verdicts


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows as they stand in the file, and what is said about them; `verdicts` is None where it was not kept."""

    batch: pa.RecordBatch
    score: FloatArray
    p_value: FloatArray
    alarm: BoolArray
    verdicts: Verdicts | None = None

    def take(self, rows: IntArray) -> Scored:
        kept = None if self.verdicts is None else self.verdicts.take(rows)
        batch = self.batch.take(pa.array(rows))
        return Scored(batch, self.score[rows], self.p_value[rows], self.alarm[rows], kept)


def judged(model: ModelRows, detector: Detector, rate: float | None) -> Iterator[Scored]:
    """Every batch with its verdicts."""
    quiet = copy.copy(detector).set_params(progress=False)  # one bar for all batches, not one for each
    done = 0
    for batch in model.batches():
        verdicts = quiet.judge(model.read(batch, done + 1), rate)
        done += batch.num_rows
        yield Scored(batch, verdicts.anomaly_score, verdicts.p_value, verdicts.is_anomaly, verdicts)


def discoveries(scored: Iterable[Scored], detector: Detector, rate: float, schema: pa.Schema) -> Iterator[Scored]:
    """The same rows; those are anomalies of which, all rows taken together, at most this share is normal."""
    scores: list[FloatArray] = []
    p_values: list[FloatArray] = []
    with tempfile.TemporaryFile() as aside:
        with pa.ipc.new_stream(aside, schema) as writer:
            for part in scored:
                writer.write_batch(part.batch)
                scores.append(part.score)
                p_values.append(part.p_value)
        selected = detector.calibration_.select(np.concatenate([*scores, np.empty(0)]), rate)
        aside.seek(0)
        at = 0
        for batch, score, p_value in zip(pa.ipc.open_stream(aside), scores, p_values, strict=True):
            yield Scored(batch, score, p_value, selected[at : at + len(score)])
            at += len(score)


def anomalies(scored: Iterable[Scored]) -> Iterator[Scored]:
    """Only the rows that are anomalies."""
    for part in scored:
        yield part.take(np.flatnonzero(part.alarm))


def highest(scored: Iterable[Scored], number: int, schema: pa.Schema) -> Iterator[Scored]:
    """Only the rows with the highest scores, the highest first; of equal ones those that come first."""
    kept: Scored | None = None
    for part in scored:
        both = replace(part, verdicts=None) if kept is None else _joined(kept, part, schema)
        kept = both.take(np.argsort(-both.score, kind="stable")[:number])
    size = rows_at_once(len(schema))
    for at in range(0, 0 if kept is None else len(kept.score), size):
        assert kept is not None
        yield kept.take(np.arange(at, min(at + size, len(kept.score))))


def _joined(first: Scored, second: Scored, schema: pa.Schema) -> Scored:
    batch = as_batch(pa.Table.from_batches([first.batch, second.batch], schema))
    pairs = [(first.score, second.score), (first.p_value, second.p_value), (first.alarm, second.alarm)]
    score, p_value, alarm = (np.concatenate(pair) for pair in pairs)
    return Scored(batch, score, p_value, alarm)
