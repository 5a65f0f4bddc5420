"""Alarms that a person judged fine: rules in the model, and rows of a result that the rules are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.codes import IntArray
from maskdiff.io.formats import open_writer
from maskdiff.io.rows import BatchRows
from maskdiff.jobs import dismiss_rows, rows_for
from maskdiff.service.background.locks import locked
from maskdiff.service.bulk import Scratch
from maskdiff.service.kept.results import Result
from maskdiff.service.kept.workspace import Workspace
from maskdiff.storage import load

# The rows of a result that rules are tried on: the highest of those with p-values up to the rate.
_RATE, _MOST_TRIED = 0.1, 5000


def dismiss_batch(work: Workspace, model: Path, lock: str, batch: pa.RecordBatch, scope: str) -> list[dict[str, Any]]:
    """Make rules of these rows in a model file; what each row is dismissed by."""
    scratch = Scratch(work.own / "scratch")
    try:
        rows = str(scratch.path("rows.parquet"))
        with open_writer(rows, batch.schema) as write:
            write(batch)
        with locked(work.lock(lock)):
            done = dismiss_rows(model, rows, range(1, batch.num_rows + 1), scope=scope)
    finally:
        scratch.remove()
    return [{"row": one.row, "was_alarm": one.was_alarm, "rule": one.rule.to_record()} for one in done]


def dismiss_in_result(work: Workspace, id: str, result: Result, number: int, scope: str) -> dict[str, Any]:
    """Judge a row of a result fine: in its model, in the model it was judged by, and in the result itself."""
    place = np.array([result.place_of[number]])
    batch = result.batch(place)
    own = result.folder / "model.maskdiff"
    (done,) = dismiss_batch(work, own, f"result-{id}", batch, scope)
    named = result.facts.get("model")
    if named is not None and work.model(named, there=False).is_file():
        dismiss_batch(work, work.model(named), f"model-{named}", batch, scope)
    return {"rule": done["rule"], "rows": _rows_about(result, own, done["rule"]["number"], number)}


def _rows_about(result: Result, model: Path, rule: int, number: int) -> list[int]:
    """The numbers of the rows that a rule is about, among those that may be alarms; the row it was made of is one."""
    tried: IntArray = result.by_rank[:_MOST_TRIED]
    tried = tried[(result.p_value[tried] <= _RATE) | result.is_anomaly[tried]]
    detector = load(model)
    detector.progress = False
    batch = result.batch(tried)
    rows = rows_for(BatchRows(batch), detector)
    found = detector.judge(rows.read(batch)).rule if len(tried) else None
    about = result.number[tried[found == rule]].tolist() if found is not None else []
    return sorted({number, *about})
