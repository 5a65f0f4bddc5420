"""Planted errors: one in every unseen row, or in a share of the cells of one file that is all there is.

Unseen rows: a detector learns from four fifths of a table's normal rows; in a copy of each of the others one cell is
made wrong. One file: errors are among the rows to learn from too, and each row is judged by a detector that learned
from the other two thirds. A data set here is a table, "bank", or a table and the share of its cells, "bank+2%". Where
there is a copy of a file without its errors, nothing is planted: these are the errors to be found.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.bench.runs.measure import Record, Run, failure, identity
from maskdiff.bench.runs.methods import chosen
from maskdiff.bench.studies.cells.judgement import CellDetector, Judgement
from maskdiff.bench.studies.cells.measures import among_the_oddest, cell_measures, named_first, row_measures
from maskdiff.bench.studies.cells.methods import CELL_METHODS
from maskdiff.bench.studies.cells.planting import PLANTINGS, NormalRows, Planted, plant_one, plant_share
from maskdiff.bench.studies.cells.tables import (
    known_errors,
    learned_and_unseen,
    mended_file,
    names_of_tables,
    normal_rows,
)
from maskdiff.codes import FloatArray
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

# The anomalies of a table itself, where their wrong cells are known.
TAMPERED = "tampered"
# What is wrong in unseen rows; all but the last is planted in files too.
IN_ROWS = (*PLANTINGS, TAMPERED)
SHARES = (0.005, 0.02, 0.05)
PARTS = ("unseen", "file", "all")
N_FOLDS = 3
# Of a file; each of its rows is judged, and three detectors learn.
MOST_ROWS_OF_A_FILE = 20_000


@dataclass(frozen=True)
class PlantedCells:
    """Tables from the folder `data`; `part`: errors in unseen rows, in one file, or both.

    `clean` is a copy, without its errors, of the one file that is measured then.
    """

    data: str | None = None
    part: str = "all"
    clean: str | None = None
    name: str = "cells"

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise SettingError(f"for the part to measure choose one of {', '.join(PARTS)}; got {self.part!r}.")

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """Each table with each share; a table that is named with a share is taken with this one alone."""
        if self.clean is not None:
            return self._dirty_file(names_of_tables(wanted))
        named = []
        for name in wanted:
            table, share = table_and_share(name)
            shares = [share] if share else {"unseen": [0.0], "file": SHARES, "all": [0.0, *SHARES]}[self.part]
            named += [with_share(each, one) for each in names_of_tables([table]) for one in shares]
        return list(dict.fromkeys(named))

    @staticmethod
    def _dirty_file(names: list[str]) -> list[str]:
        """The one file that a clean copy goes with."""
        if len(names) != 1 or not names[0].endswith(".csv"):
            raise SettingError(f"a clean copy goes with one CSV file of errors; got {', '.join(names)}.")
        return names

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, CELL_METHODS)


def with_share(table: str, share: float) -> str:
    """The name of a table whose cells are wrong by this share.

    >>> with_share("bank", 0.005), with_share("bank", 0)
    ('bank+0.5%', 'bank')
    """
    return f"{table}+{100 * share:g}%" if share else table


def table_and_share(name: str) -> tuple[str, float]:
    """What a name stands for.

    >>> table_and_share("bank+0.5%"), table_and_share("bank")
    (('bank', 0.005), ('bank', 0.0))
    """
    table, plus, share = name.rpartition("+")
    if not plus or not share.endswith("%"):
        return name, 0.0
    try:
        return table, float(share[:-1]) / 100
    except ValueError:
        raise SettingError(f"{name!r} names no share of cells; write it as bank+2%.") from None


def execute_cells(run: Run, task: PlantedCells, device: str) -> Record:
    """Do a run and turn whatever goes wrong into a record."""
    try:
        table, share = table_and_share(run.set)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if task.clean is not None:
                found = _mended_file(run, table, task.clean, device)
            else:
                found = _one_file(run, task, table, share, device) if share else _unseen_rows(run, task, table, device)
        notes = sorted({str(warning.message) for warning in caught})
        return {**identity(run, device), "status": "ok", **found, "warnings": notes}
    except Exception as error:  # one failed run must not stop the others
        return failure(run, device, error)


def _unseen_rows(run: Run, task: PlantedCells, table: str, device: str) -> Record:
    learned, unseen = learned_and_unseen(normal_rows(table, task.data, run.seed))
    clock, detector = _Clock(), _build(run, device)
    clock.fit(lambda: detector.fit(learned))
    untouched = clock.score(lambda: detector.judge(unseen))
    normal, planted = NormalRows(learned), {}
    for at, name in enumerate(PLANTINGS):
        errors = plant_one(unseen, PLANTINGS[name](normal), np.random.default_rng([run.seed, at]))
        planted[name] = _planted(detector, untouched, errors, unseen, clock)
    known = known_errors(table, run.seed)
    if known is not None:
        judged, wrong = clock.score(lambda: detector.judge(known[0])), known[1]
        planted[TAMPERED] = row_measures(untouched.score, judged, named_first(judged, wrong))
    return {
        "planted": planted,
        "false_alarms": {"0.01": int(untouched.alarm.sum())},
        "n_normal": len(unseen),
        "n_calibration": detector.n_calibration,
        **_size(learned),
        **clock.seconds,
    }


def _planted(
    detector: CellDetector, untouched: Judgement, errors: Planted, unseen: pd.DataFrame, clock: _Clock
) -> dict[str, Any]:
    if not len(errors.X):
        return {"n": 0}
    judged = clock.score(lambda: detector.judge(errors.X))
    before = unseen.iloc[errors.source].reset_index(drop=True)
    right = detector.suggests(errors.X, judged, errors.column, before)
    return row_measures(untouched.score, judged, errors.column, contradicts=errors.contradicts, right=right)


def _one_file(run: Run, task: PlantedCells, table: str, share: float, device: str) -> Record:
    rows = normal_rows(table, task.data, run.seed, MOST_ROWS_OF_A_FILE)
    normal = NormalRows(rows)
    plantings = {name: planting(normal) for name, planting in PLANTINGS.items()}
    errors = plant_share(rows, plantings, share, np.random.default_rng([run.seed, len(plantings)]))
    fold = np.arange(len(rows)) * N_FOLDS // len(rows)  # the rows are shuffled
    clock, detector = _Clock(), _build(run, device)
    cells = clock.fit(lambda: detector.judge_file(errors.X, fold, rows))
    found = {**cell_measures(cells, errors.wrong), "by_way": _by_way(cells.oddness, errors)}
    return {"cells": found, **_size(rows), **clock.seconds}


def _mended_file(run: Run, dirty: str, clean: str, device: str) -> Record:
    X, truth, wrong = mended_file(dirty, clean)
    if not wrong.any():
        raise SettingError(f"{dirty} and {clean} do not differ in any cell.")
    fold = np.random.default_rng(run.seed).permutation(len(X)) % N_FOLDS
    clock, detector = _Clock(), _build(run, device)
    cells = clock.fit(lambda: detector.judge_file(X, fold, truth))
    return {"cells": cell_measures(cells, wrong), **_size(X), **clock.seconds}


def _by_way(oddness: FloatArray, errors: Planted) -> dict[str, dict[str, int]]:
    """How many errors were planted each way, and how many of them are among the oddest cells, as many as are wrong."""
    found = among_the_oddest(oddness, errors.row, errors.column)
    of_way = {name: errors.way == at for at, name in enumerate(PLANTINGS)}
    return {name: {"n": int(np.sum(chosen)), "found": int(found[chosen].sum())} for name, chosen in of_way.items()}


def _build(run: Run, device: str) -> CellDetector:
    return CELL_METHODS[run.method].build(run.seed, device)


def _size(rows: pd.DataFrame) -> dict[str, int]:
    return {"n_train": len(rows), "n_features": rows.shape[1]}


class _Clock:
    """Seconds spent on fitting and on scoring."""

    def __init__(self) -> None:
        self.seconds = {"fit_seconds": 0.0, "score_seconds": 0.0}

    def fit(self, call: Callable[[], Any]) -> Any:
        return self._timed("fit_seconds", call)

    def score(self, call: Callable[[], Judgement]) -> Judgement:
        judged: Judgement = self._timed("score_seconds", call)
        return judged

    def _timed(self, name: str, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = call()
        self.seconds[name] = round(self.seconds[name] + time.perf_counter() - began, 3)
        return result


def outcome(record: Record) -> str:
    """What a run gave, in one line."""
    if "cells" in record:
        cells = record["cells"]
        return f"AP {100 * cells['average_precision']:.1f}, precision at k {100 * cells['precision_at_k']:.1f}"
    alarms = record["false_alarms"]["0.01"] / record["n_normal"]
    parts = [f"false alarms {alarms:.2%}"]
    for name, found in record["planted"].items():
        if found["n"]:
            first = found["first_found"] / max(1, found["found"])
            parts.append(f"{name}: found {found['found'] / found['n']:.1%}, first {first:.1%}")
    return "; ".join(parts)
