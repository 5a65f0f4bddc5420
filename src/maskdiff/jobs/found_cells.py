"""The odd cells of a file that was searched: chosen among all its cells, listed the oddest first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from maskdiff.detectors import Detector, TokenDetector
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.detectors.finding.found_cells import cell_table
from maskdiff.errors import SettingError
from maskdiff.explanations.reported_cells import ReportedCells
from maskdiff.jobs.cells import CELL_SCHEMA, OddCellCounts
from maskdiff.jobs.found_rows import FoundRows


def check_has_cells(detector: Detector) -> None:
    """Refuse, before any work is done, to list cells of texts or sequences."""
    if isinstance(detector, TokenDetector):
        raise SettingError("only tables have cells to judge one by one; these rows are texts or lists.")


def list_cells(
    written: FoundRows, cells: CellVerdicts, false_discovery_rate: float
) -> tuple[pa.RecordBatch, OddCellCounts]:
    """The list of the odd cells as a file holds it, the oddest first, and how many there are."""
    assert cells.judges is not None
    chosen = cells.select(false_discovery_rate)
    reported = ReportedCells.of(chosen, cells.oddness, cells.p_value)
    tables, schema = [CELL_SCHEMA.empty_table()], written.detector.encoder_.schema_
    for batch, places in written.rows_of(np.asarray(chosen.any(axis=1))):
        here = np.full(len(chosen), -1)
        here[places] = np.arange(len(places))
        own = reported.take(here[reported.row] >= 0)
        own = replace(own, row=here[own.row])
        judges = cells.judges.take(places)
        table = cell_table(judges, written.model_rows.shown(batch), own, schema)
        table = table.assign(row=places[table["row"].to_numpy()] + 1)
        tables.append(pa.Table.from_pandas(table, CELL_SCHEMA, preserve_index=False))
    listed = pa.concat_tables(tables).sort_by([("oddness", "descending"), ("row", "ascending")])
    counts = OddCellCounts(false_discovery_rate, total=chosen.size, estimated=True)
    counts.add(listed["row"].to_numpy())
    return listed.combine_chunks().to_batches()[0] if len(listed) else _none(), counts


def _none() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], CELL_SCHEMA)
