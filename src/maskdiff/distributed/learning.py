"""What workers find out about the rows to learn from: what columns stand for, statistics of them, and a sample.

Three readings of the files. The first says which columns there are, the second what their texts stand for and how many
rows there are; then a row's number decides whether it is in the sample, whatever machine reads it. Statistics of all
other rows are gathered in the third reading, and merge.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.codes import FloatArray
from maskdiff.codes.hashes import numbers_hashed
from maskdiff.detectors import TableDetector, TokenDetector
from maskdiff.distributed.attempts import ATTEMPTS, Attempts
from maskdiff.distributed.parts import FilePart
from maskdiff.distributed.places import Place, fetched
from maskdiff.distributed.worker import BUNDLE, record_errors
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.recognition import TableRecognition
from maskdiff.encoders.table.statistics import TableStatistics
from maskdiff.errors import MaskdiffWarning
from maskdiff.io.formats import open_rows
from maskdiff.io.many import ManyRows
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines
from maskdiff.jobs.rows.labels import Labels
from maskdiff.jobs.rows.table import NormalTableRows

_ALL = 2**64


@dataclass(frozen=True)
class LearnJob:
    """What all workers need: the detector, not yet fitted, how files are read, and the columns all of them have.

    What is begun is noted in the folder `begun`: a part is given up once more than `attempts` workers died of it.
    """

    detector: TableDetector | TokenDetector
    begun: Place
    reading: ReadOptions = field(default_factory=ReadOptions)
    labels: tuple[str, tuple[str, ...]] | None = None
    schema: pa.Schema | None = None
    attempts: int = ATTEMPTS

    @contextmanager
    def opened(self, part: FilePart) -> Iterator[RowFile]:
        """The rows of a part, with the columns of all files in the same order and with the same types."""
        reading = replace(self.reading, row_groups=part.row_groups)
        with fetched(part.file.place) as path, open_rows(path, reading, repeatable=True) as rows:
            yield rows if self.schema is None else CommonRows(rows, str(part.file.place), self.schema)

    def normal(self, rows: RowFile) -> Iterator[pa.Table]:
        """The normal rows of a part, as the detector reads them."""
        labels = None if self.labels is None else Labels(*self.labels)
        if isinstance(self.detector, TokenDetector):
            return _token_rows(rows, str(self.detector.column), labels)
        return PartTableRows(rows, self.detector.requested_columns, labels).batches()


class CommonRows(ManyRows):
    """The rows of one file with the columns and types that all files together have."""

    def __init__(self, rows: RowFile, name: str, schema: pa.Schema) -> None:
        super().__init__([rows], name)
        self.schema = schema


class PartTableRows(NormalTableRows):
    """The normal rows of one part; it may have none, and its last row is not that of the table."""

    def batches(self) -> Iterator[pa.Table]:
        return map(self._as_table, self._normal_batches())


def _token_rows(rows: RowFile, column: str, labels: Labels | None) -> Iterator[pa.Table]:
    for batch in rows.batches():
        normal = batch if labels is None else batch.filter(pa.array(labels.is_normal(batch.column(labels.column))))
        yield pa.table({column: normal.column(column)})


@dataclass
class PartFindings:
    """What was found out about a part, `number` in the order of all, or the `error`."""

    number: int
    part: FilePart
    rows: int = 0
    schema: pa.Schema | None = None
    recognition: TableRecognition | None = None
    statistics: TableStatistics | None = None
    sample: pa.Table | None = None
    scores: FloatArray | None = None
    skipped: SkippedLines = field(default_factory=SkippedLines)
    error: str | None = None
    setting: str | None = None
    fatal: bool = False

    @property
    def shown(self) -> str:
        """The file, as messages name it."""
        return str(self.part.file.place)


class Step:
    """One reading of the files: called with bundles of parts, each with its number, as bytes."""

    def __init__(self, job: LearnJob) -> None:
        self.job = job

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """One row for each bundle, both ways as bytes."""
        found = [self.find_all(pickle.loads(bundle)) for bundle in batch[BUNDLE]]
        return {BUNDLE: np.array([pickle.dumps(one) for one in found], dtype=object)}

    def find_all(self, bundle: list[tuple[int, FilePart]]) -> list[PartFindings]:
        """What there is to know about these parts, one after the other."""
        attempts = Attempts(self.job.begun, bundle[0][1].name, self.job.attempts)
        found = [self.find(number, part, attempts) for number, part in bundle]
        attempts.close()
        return found

    def find(self, number: int, part: FilePart, attempts: Attempts) -> PartFindings:
        found = PartFindings(number, part)
        with (
            record_errors(found),
            attempts.at(part.name),
            warnings.catch_warnings(),
            self.job.opened(part) as rows,
        ):
            warnings.simplefilter("ignore", MaskdiffWarning)  # given once, where the model is made
            self.read(rows, found)
            found.skipped = rows.skipped
        return found

    def read(self, rows: RowFile, found: PartFindings) -> None:
        raise NotImplementedError


class ColumnsStep(Step):
    """Which columns a file has."""

    def read(self, rows: RowFile, found: PartFindings) -> None:
        found.schema = rows.schema


class LookStep(Step):
    """How many normal rows there are, and what the texts of their columns may stand for."""

    def read(self, rows: RowFile, found: PartFindings) -> None:
        detector, looks = self.job.detector, None
        if isinstance(detector, TableDetector):
            looks = found.recognition = detector._new_encoder().recognition()
        for table in self.job.normal(rows):
            found.rows += table.num_rows
            if looks is not None:
                looks.add(detector._read(table))


class GatherStep(Step):
    """The rows of the sample, and statistics of all others. `firsts` are the numbers of the first rows of parts."""

    def __init__(self, job: LearnJob, firsts: list[int], share: float, text_types: Mapping[str, Found] | None) -> None:
        super().__init__(job)
        self.firsts, self.below, self.text_types = firsts, min(_ALL - 1, int(share * _ALL)), text_types

    def read(self, rows: RowFile, found: PartFindings) -> None:
        detector, statistics, at = self.job.detector, None, self.firsts[found.number]
        if isinstance(detector, TableDetector):
            statistics = detector._new_encoder().statistics(seed=found.number + 1, text_types=self.text_types)
        parts = []
        for table in self.job.normal(rows):
            sampled = numbers_hashed(at, table.num_rows, int(detector.seed)) <= np.uint64(self.below)
            parts.append(table.filter(pa.array(sampled)))
            if statistics is not None and not sampled.all():
                statistics.add(detector._read(table).take(~sampled))
            at += table.num_rows
        found.rows = at - self.firsts[found.number]
        found.statistics = statistics
        found.sample = pa.concat_tables(parts) if parts else None
