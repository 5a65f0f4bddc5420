"""Odd cells of a file, chosen among all its cells: rows wait in a temporary file until the last one was judged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from maskdiff.calibration import CellSelection
from maskdiff.codes import IntArray
from maskdiff.detectors import Detector, TableDetector, Verdicts
from maskdiff.errors import SettingError
from maskdiff.explanations.reported_cells import ReportedCells
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import FORMATS, check_writable
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import RowFile
from maskdiff.io.streams import STANDARD
from maskdiff.jobs.rows.model import ModelRows

# The share of the cells reported that may be fine, unless another is named.
CELL_RATE = 0.1
# Of each cell that may be reported: its place in the batch, how odd it is, and how many calibration cells are as odd.
_CANDIDATES = pa.schema(
    [
        ("row", pa.int64()),
        ("field", pa.int64()),
        ("oddness", pa.float64()),
        ("p_value", pa.float64()),
        ("reached", pa.int64()),
    ]
)
# The list of odd cells as a file; rows are counted from 1.
CELL_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("column", pa.string()),
        ("value", pa.string()),
        ("oddness", pa.float64()),
        ("p_value", pa.float64()),
        ("expected", pa.string()),
        ("expected_probability", pa.float64()),
        ("note", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class OddPart:
    """A batch of the file and those of its cells that are reported, row by row; `first` is its first row's number."""

    batch: pa.RecordBatch
    cells: ReportedCells
    first: int

    def numbered(self, table: Any, schema: pa.Schema) -> pa.RecordBatch:
        """Lines about its cells as a file holds them, with the numbers of the rows in the file."""
        lines = table.assign(row=table["row"] + self.first)
        return pa.RecordBatch.from_pandas(lines, schema, preserve_index=False)


class OddCellSearch:
    """Takes judged batches one by one, and gives them back with their odd cells once all were taken."""

    def __init__(self, detector: Detector, rows: RowFile, false_discovery_rate: float) -> None:
        if not isinstance(detector, TableDetector):
            raise SettingError("only tables have cells to judge one by one; the rows of this model are texts or lists.")
        self.detector, self.schema = detector, rows.schema
        calibration = detector.cell_alarms_.calibration
        assert calibration is not None
        self.selection = CellSelection(calibration, false_discovery_rate)

    def __enter__(self) -> Self:
        self._opened = ExitStack()
        self._files: list[Any] = [self._opened.enter_context(tempfile.TemporaryFile()) for _ in range(2)]  # noqa: SIM115
        schemas = (self.schema, _CANDIDATES)
        self._writers = [pa.ipc.new_stream(file, schema) for file, schema in zip(self._files, schemas, strict=True)]
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def add(self, batch: pa.RecordBatch, verdicts: Verdicts) -> None:
        """One more batch of the file."""
        assert verdicts.cells is not None
        cells, reached = verdicts.cells, self.selection.add(verdicts.cells.oddness)
        row, field = np.nonzero((reached <= self.selection.reachable) & verdicts.listed[:, None])
        of_cells = (cells.oddness[row, field], cells.p_value[row, field], reached[row, field])
        columns = [pa.array(part) for part in (row, field, *of_cells)]
        self._writers[0].write_batch(batch)
        self._writers[1].write_batch(pa.RecordBatch.from_arrays(columns, schema=_CANDIDATES))

    def parts(self) -> Iterator[OddPart]:
        """Every batch again, with those of its cells that all cells together leave to be reported."""
        for writer, file in zip(self._writers, self._files, strict=True):
            writer.close()
            file.seek(0)
        most, first = self.selection.most_reached(), 1
        for batch, candidates in zip(*map(pa.ipc.open_stream, self._files), strict=True):
            row, field, oddness, p_value, reached = (c.to_numpy(zero_copy_only=False) for c in candidates.columns)
            order = np.lexsort((-oddness, row))
            cells = ReportedCells(row[order], field[order], oddness[order], p_value[order])
            yield OddPart(batch, cells.take(reached[order] <= most), first)
            first += batch.num_rows

    def write(self, model_rows: ModelRows, write: Callable[[pa.RecordBatch], None]) -> OddCellCounts:
        """Write the list of the odd cells, in the order of the rows; how many there are."""
        counts = OddCellCounts(self.selection.rate)
        for part in self.parts():
            if len(part.cells.row):
                codes = self.detector.encoder_.encode(model_rows.read(part.batch))
                table = self.detector.cell_table(model_rows.shown(part.batch), codes, part.cells)
                counts.add(table["row"].to_numpy())
                write(part.numbered(table, CELL_SCHEMA))
        counts.finish(self.selection)
        return counts


@dataclass
class OddCellCounts:
    """How many cells are reported, in how many rows, out of how many, and at which false-discovery rate.

    `beyond` are the cells odder than all those of the calibration rows. Among many cells some are by chance, so
    that none is reported where there are too few of them; `finest_rate` is the lowest rate at which some would be.
    `estimated`: no normal rows calibrated, so that the rate is an estimate.
    """

    false_discovery_rate: float
    cells: int = 0
    rows: int = 0
    total: int = 0
    beyond: int = 0
    finest_rate: float = 1.0
    estimated: bool = False

    def add(self, rows: IntArray) -> None:
        """The rows of the cells of one part."""
        self.cells += len(rows)
        self.rows += len(np.unique(rows))

    def finish(self, selection: CellSelection) -> None:
        """All parts were added."""
        self.total, self.beyond, self.finest_rate = selection.total, selection.beyond, selection.finest_rate


def check_second_output(second: str, out: str, inputs: Sequence[str | None], writing: WriteOptions) -> WriteOptions:
    """Refuse, before any work is done, a second file that cannot be written; how it is written, as its name says."""
    check_output(second, inputs)
    same = os.path.abspath(second) == os.path.abspath(out) if out != STANDARD else second == out
    if same:
        raise SettingError(f"{second} would be written twice. Name two files, one for the rows and one for the cells.")
    of_second = replace(writing, format=None, safe_for_spreadsheets=False)
    format = FORMATS[check_writable(second, of_second)]
    return replace(of_second, safe_for_spreadsheets=writing.safe_for_spreadsheets and format.formulas)
