"""The cells of one file, each judged by a model that did not see its row: how odd each is, and what should be there.

N rows, F fields of the detector that is kept; the models of the folds may have other fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.calibration import CellTail, beyond_usual, drawn_to_common, on_one_scale
from maskdiff.codes import BoolArray, IntArray, Schema
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.detectors.cell_repairs import Repair
from maskdiff.detectors.finding.cross_fit import CrossFit
from maskdiff.detectors.split import in_step
from maskdiff.explanations.reported_cells import ReportedCells
from maskdiff.progress import Callback, Progress

if TYPE_CHECKING:
    from maskdiff.detectors.learning import Batches


def judge_cells(
    cross_fit: CrossFit,
    batches: Batches,
    schema: Schema,
    callback: Callback | None = None,
    *,
    frequent: BoolArray | None = None,
) -> CellVerdicts:
    """What there is to say about all cells of a file, in the fields of this schema; the tail of the file calibrates.

    A field that the model of a fold lacks is not odd in its rows. Nor is a cell of `frequent` rows, (N,): their copies
    are all in one fold, so that the model that judges them may have met their values in other company only.
    """
    shape, done = (len(cross_fit.fold), len(schema)), 0
    log_odds, log_ratio, values = np.zeros(shape), np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
    for rows, fold in in_step(batches(), cross_fit.fold):
        for number, model in enumerate(_models(cross_fit)):
            places = np.flatnonzero(fold == number)
            if len(places):
                odds, ratio, value = model.cell_log_odds(rows.take(places))
                theirs, here = _shared(model.encoder_.schema_, schema)
                log_odds[done + places[:, None], here] = odds[:, theirs]
                log_ratio[done + places[:, None], here] = ratio[:, theirs]
                # Each model has codes of its own.
                apart = np.where(value < 0, -1, value * len(cross_fit.models) + number)
                values[done + places[:, None], here] = apart[:, theirs]
        done += len(fold)
        if callback is not None:
            callback(Progress("scoring cells", done, len(log_odds)))
    oddness = on_one_scale(beyond_usual(drawn_to_common(log_odds, log_ratio), values))
    tail = CellTail.of(oddness)
    if frequent is not None:
        oddness[frequent] = np.minimum(oddness[frequent], 0.0)
    return CellVerdicts(oddness, log_odds, tail, float("inf"), cross_fit)


def cell_table(cross_fit: CrossFit, X: Any, cells: ReportedCells, schema: Schema) -> Any:
    """These cells of X as `odd_cells` lists them, each by the model that did not see its row."""
    parts = [model.cell_table(X, model.encoder_.encode(X), own) for model, own in _by_model(cross_fit, cells, schema)]
    return _joined(parts)


def repair_cells(cross_fit: CrossFit, X: Any, cells: ReportedCells, schema: Schema, at_least: float) -> Repair:
    """X with these cells repaired, each by the model that did not see its row, and the list of them."""
    changes = []
    for model, own in _by_model(cross_fit, cells, schema):
        repair = model.repair_cells(X, model.encoder_.encode(X), own, at_least)
        X = repair.rows
        changes.append(repair.changes)
    return Repair(X, _joined(changes))


def _models(cross_fit: CrossFit) -> tuple[Any, ...]:
    """The models of a table: they judge single cells."""
    return cross_fit.models


def _by_model(cross_fit: CrossFit, cells: ReportedCells, schema: Schema) -> Iterator[tuple[Any, ReportedCells]]:
    """Each model, with those of these cells that it judges, in its own fields."""
    for number, model in enumerate(_models(cross_fit)):
        theirs, here = _shared(model.encoder_.schema_, schema)
        place = np.full(len(schema), -1)
        place[here] = theirs
        own = cells.take((cross_fit.fold[cells.row] == number) & (place[cells.field] >= 0))
        yield model, replace(own, field=place[own.field])


def _shared(schema: Schema, other: Schema) -> tuple[IntArray, IntArray]:
    """The places of the fields that are in both, in the one and in the other."""
    names = {name: at for at, name in enumerate(other.names)}
    shared = [(at, names[name]) for at, name in enumerate(schema.names) if name in names]
    here, there = np.array(shared, np.int64).reshape(-1, 2).T
    return here, there


def _joined(parts: list[Any]) -> Any:
    """The lines of all models, the oddest cell first."""
    import pandas as pd

    filled = [part for part in parts if len(part)] or parts[:1]
    return pd.concat(filled).sort_values("oddness", ascending=False, kind="stable", ignore_index=True)
