"""Which rows are written, out of a stream of judged batches. What is held does not grow with the file.

Every row is judged once. A choice that needs all rows comes late, so what is written of a row, its explanation
included, is made when the row is judged, and only for rows that may still be written: alarms, or the highest so far.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maskdiff.codes import FloatArray, IntArray
from maskdiff.detectors import Verdicts
from maskdiff.io.rows import as_batch


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows as they stand in the file, the place of each in the file from 0, and the verdicts on them."""

    batch: pa.RecordBatch
    places: IntArray
    verdicts: Verdicts

    def take(self, rows: IntArray) -> Judged:
        return Judged(self.batch.take(pa.array(rows)), self.places[rows], self.verdicts.take(rows))


@dataclass(frozen=True, eq=False)
class Written:
    """Rows with their verdict columns, and the place of each in the file from 0."""

    batch: pa.RecordBatch
    places: IntArray

    def take(self, rows: IntArray) -> Written:
        return Written(self.batch.take(pa.array(rows)), self.places[rows])


Write = Callable[[Judged], pa.RecordBatch]


def possible_anomalies(judged: Iterable[Judged], false_discovery_rate: float | None) -> Iterator[Judged]:
    """The rows that may be called anomalies in the end: with false-discovery control, those with p-values up to it."""
    for part in judged:
        if false_discovery_rate is None:
            rows = np.flatnonzero(part.verdicts.is_anomaly)
        else:  # Benjamini-Hochberg never selects a p-value above the rate
            rows = np.flatnonzero(part.verdicts.p_value <= false_discovery_rate)
        yield part.take(rows)


def as_they_come(judged: Iterable[Judged], write: Write) -> Iterator[Written]:
    """All rows, at once."""
    for part in judged:
        yield Written(write(part), part.places)


def set_aside(judged: Iterable[Judged], write: Write, schema: pa.Schema) -> Iterator[Written]:
    """All rows, once the last has been judged; until then they are in a temporary file."""
    places: list[IntArray] = []
    with tempfile.TemporaryFile() as aside:
        with pa.ipc.new_stream(aside, schema) as writer:
            for part in judged:
                writer.write_batch(write(part))
                places.append(part.places)
        aside.seek(0)
        for batch, of_batch in zip(pa.ipc.open_stream(aside), places, strict=True):
            yield Written(batch, of_batch)


def highest(judged: Iterable[Judged], write: Write, schema: pa.Schema, number: int, size: int) -> Iterator[Written]:
    """Only the rows with the highest scores, the highest first and `size` at once; of equal ones those that come first.

    A row is written out when it is among the highest so far.
    """
    kept = Written(as_batch(schema.empty_table()), np.empty(0, np.int64))
    scores: FloatArray = np.empty(0)
    for part in judged:
        new = np.sort(_order(np.concatenate([scores, part.verdicts.alarm_score]), number))
        entering = part.take(new[new >= len(scores)] - len(scores))
        both = _joined(kept, Written(write(entering), entering.places), schema)
        scores = np.concatenate([scores, entering.verdicts.alarm_score])
        order = _order(scores, number)
        kept, scores = both.take(order), scores[order]
    for at in range(0, len(scores), size):
        yield kept.take(np.arange(at, min(at + size, len(scores))))


def _order(scores: FloatArray, number: int) -> IntArray:
    return np.argsort(-scores, kind="stable")[:number]


def _joined(first: Written, second: Written, schema: pa.Schema) -> Written:
    batch = as_batch(pa.Table.from_batches([first.batch, second.batch], schema))
    return Written(batch, np.concatenate([first.places, second.places]))
