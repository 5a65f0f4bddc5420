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
    """Rows with their verdict columns, and for each its place in the file from 0, and its alarm score."""

    batch: pa.RecordBatch
    places: IntArray
    alarm_score: FloatArray

    def take(self, rows: IntArray) -> Written:
        return Written(self.batch.take(pa.array(rows)), self.places[rows], self.alarm_score[rows])


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
        yield written_out(part, write)


def written_out(judged: Judged, write: Write) -> Written:
    """The rows with their verdict columns."""
    return Written(write(judged), judged.places, judged.verdicts.alarm_score)


def set_aside(judged: Iterable[Judged], write: Write, schema: pa.Schema) -> Iterator[Written]:
    """All rows, once the last has been judged; until then they are in a temporary file."""
    columns: list[tuple[IntArray, FloatArray]] = []
    with tempfile.TemporaryFile() as aside:
        with pa.ipc.new_stream(aside, schema) as writer:
            for part in judged:
                writer.write_batch(write(part))
                columns.append((part.places, part.verdicts.alarm_score))
        aside.seek(0)
        for batch, of_batch in zip(pa.ipc.open_stream(aside), columns, strict=True):
            yield Written(batch, *of_batch)


def highest(judged: Iterable[Judged], write: Write, schema: pa.Schema, number: int, size: int) -> Iterator[Written]:
    """Only the rows with the highest scores, the highest first and `size` at once; of equal ones those that come first.

    A row is written out when it is among the highest so far.
    """
    kept = Written(as_batch(schema.empty_table()), np.empty(0, np.int64), np.empty(0))
    for part in judged:
        n_kept = len(kept.places)
        new = np.sort(_order(np.concatenate([kept.alarm_score, part.verdicts.alarm_score]), number))
        entering = part.take(new[new >= n_kept] - n_kept)
        both = _joined(kept, written_out(entering, write), schema)
        kept = both.take(_order(both.alarm_score, number))
    for at in range(0, len(kept.places), size):
        yield kept.take(np.arange(at, min(at + size, len(kept.places))))


def _order(scores: FloatArray, number: int) -> IntArray:
    return np.argsort(-scores, kind="stable")[:number]


def _joined(first: Written, second: Written, schema: pa.Schema) -> Written:
    batch = as_batch(pa.Table.from_batches([first.batch, second.batch], schema))
    places = np.concatenate([first.places, second.places])
    return Written(batch, places, np.concatenate([first.alarm_score, second.alarm_score]))
