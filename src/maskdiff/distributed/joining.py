"""The last step of a job: the parts of a file become one, or the highest rows of all files one list."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.calibration import Calibration
from maskdiff.codes import FloatArray
from maskdiff.distributed.parts import FilePart, output_name
from maskdiff.distributed.places import Place, fetched, placed
from maskdiff.distributed.undecided import ASIDE, Decision, highest_rows, needs_all_rows
from maskdiff.distributed.worker import BUNDLE, PARQUET, ScoreJob, record_errors
from maskdiff.errors import ColumnTypeError
from maskdiff.io.formats import open_rows, open_writer
from maskdiff.io.rows import ReadOptions, RowFile, as_batch

_READING = ReadOptions("parquet")


@dataclass
class JoinedFile:
    """The parts of one file on their way into one; how many rows were written, or the `error`."""

    parts: list[FilePart]
    written: int = 0
    error: str | None = None
    fatal: bool = False
    setting: str | None = None

    @property
    def shown(self) -> str:
        """The file, as messages name it."""
        return str(self.parts[0].file.place)


class Joiner:
    """Joins the parts of files, with the alarms that all rows together decided."""

    def __init__(self, job: ScoreJob, decision: Decision, scores: FloatArray) -> None:
        self.job, self.decision, self.calibration = job, decision, Calibration(scores)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """One row for each file, both ways as bytes."""
        joined = [self.join(pickle.loads(file)) for file in batch[BUNDLE]]
        return {BUNDLE: np.array([pickle.dumps(one) for one in joined], dtype=object)}

    def join(self, file: JoinedFile) -> JoinedFile:
        """Write the rows of all parts, in order, to the place of the file."""
        with record_errors(file), ExitStack() as opened:
            rows = [opened.enter_context(_part_rows(self.job.parts / part.name)) for part in file.parts]
            schema = without_aside(rows[0].schema) if needs_all_rows(self.job.options) else rows[0].schema
            target = self.job.out / output_name(file.parts[0].file)
            with placed(target) as path, open_writer(path, schema, PARQUET) as write:
                for batch in self._decided(rows):
                    write(batch)
                    file.written += batch.num_rows
        return file

    def _decided(self, rows: Sequence[RowFile]) -> Iterator[pa.RecordBatch]:
        for part in rows:
            for batch in part.batches():
                if needs_all_rows(self.job.options):
                    yield self.decision.applied(batch, self.calibration, self.job.options)
                else:
                    yield batch


@contextmanager
def _part_rows(place: Place) -> Iterator[RowFile]:
    with fetched(place) as path, open_rows(path, _READING) as rows:
        yield rows


def without_aside(schema: pa.Schema) -> pa.Schema:
    """The schema of rows that are written for good."""
    return pa.schema(list(schema)[: -len(ASIDE)], schema.metadata)


def highest_of_all(
    job: ScoreJob, parts: Sequence[FilePart], decision: Decision, calibration: Calibration
) -> pa.RecordBatch:
    """The rows with the highest scores out of those of each part, the highest first.

    Each part holds at most `top` rows. Where files differ in their columns, those that a file lacks are null.
    """
    number = job.options.top
    assert number is not None
    kept: pa.Table | None = None
    for part in parts:
        with _part_rows(job.parts / part.name) as rows:
            table = pa.Table.from_batches(list(rows.batches()), rows.schema)
        kept = table if kept is None else _together(kept, table, part)
        kept = highest_rows(kept, number)
    assert kept is not None
    names = [name for name in kept.column_names if name not in {field.name for field in ASIDE}]
    return decision.applied(as_batch(kept.select([*names, *(field.name for field in ASIDE)])), calibration, job.options)


def _together(kept: pa.Table, table: pa.Table, part: FilePart) -> pa.Table:
    try:
        return pa.concat_tables([kept, table], promote_options="permissive")
    except pa.ArrowException as error:
        raise ColumnTypeError(
            f"{part.file.place}: a column has another type than in the files before it ({error}). One list of the "
            "highest rows needs columns of one type."
        ) from error
