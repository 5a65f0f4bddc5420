"""Results of jobs, to be looked at: rows filtered, sorted and cut into pages, each with its reasons. N rows."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pat

from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.io.atomic import write_text
from maskdiff.io.cell_texts import as_texts
from maskdiff.service.background.tasks import PREFIX, REASONS
from maskdiff.service.kept.workspace import Workspace
from maskdiff.service.requests.problems import Problem

# Results held in memory; those that were not looked at longest are let go.
_MOST_HELD = 4
# Characters of a cell in a list.
_MOST_CHARACTERS = 400
_CELL = ("column", "start", "end", "value", "expected", "expected_probability", "contribution", "share", "contradicts")
ALL, ALARMS, FINE = "all", "alarms", "fine"


@dataclass(frozen=True)
class Choice:
    """Which rows of a result are shown, and in which order.

    `rate`: rows with p-values up to it are alarms (None: those the job found). `shown` is one of all, alarms, and fine:
    rows that a rule dismisses. `column` and `contains` choose rows by a value, `odd` by the column of a reason.
    """

    shown: str = ALL
    rate: float | None = None
    search: str = ""
    column: str | None = None
    contains: str = ""
    odd: str | None = None
    group: int | None = None
    sort: str = "rank"
    descending: bool = False


class Result:
    """The rows of a result with their verdicts, by place: the order of the file that the job wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        self.sections: dict[str, Any] = json.loads((folder / "sections.json").read_text(encoding="utf-8"))
        self.table: pa.Table = pq.read_table(folder / "rows.parquet")
        added = self.table.schema.names.index(f"{PREFIX}anomaly_score")
        numbered = f"{PREFIX}row" in self.table.schema.names
        self.names: list[str] = self.table.schema.names[: added - numbered]
        self.score: FloatArray = self._added("anomaly_score").to_numpy(zero_copy_only=False).astype(float)
        self.p_value: FloatArray = self._added("p_value").to_numpy()
        self.is_anomaly: BoolArray = self._added("is_anomaly").to_numpy(zero_copy_only=False)
        self.number: IntArray = self._added("row").to_numpy() if numbered else np.arange(1, len(self.table) + 1)
        order = np.lexsort((self.number, -np.nan_to_num(self.score, nan=-np.inf), self.p_value))
        self.by_rank: IntArray = np.arange(len(order)) if numbered else order
        self.rank: IntArray = np.empty(len(order), np.int64)
        self.rank[self.by_rank] = np.arange(1, len(order) + 1)
        self.place_of = {number: place for place, number in enumerate(self.number.tolist())}
        self.dismissed = self._dismissed()

    def _added(self, name: str) -> pa.Array:
        column = self.table.column(PREFIX + name).combine_chunks()
        return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column

    # What a person judged fine ----------------------------------------------------------------------------------------

    def _dismissed(self) -> BoolArray:
        found = np.zeros(len(self.table), np.bool_)
        path = self.folder / "dismissed.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        found[[self.place_of[number] for number in known if number in self.place_of]] = True
        if f"{PREFIX}dismissed_by" in self.table.schema.names:
            found |= self._added("dismissed_by").is_valid().to_numpy(zero_copy_only=False)
        return found

    # Choosing ---------------------------------------------------------------------------------------------------------

    def alarms(self, rate: float | None) -> BoolArray:
        """Which rows are alarms at this rate, those judged fine included, (N,)."""
        return self.is_anomaly if rate is None else self.p_value <= rate

    def choose(self, choice: Choice) -> IntArray:
        """The places of the rows that fit, in order."""
        fits = np.ones(len(self.table), np.bool_)
        if choice.shown != ALL:
            fits &= self.alarms(choice.rate) & ~self.dismissed if choice.shown == ALARMS else self.dismissed
        if choice.search:
            fits &= self._contains(self._lines, choice.search) | self._is_number(choice.search)
        if choice.column is not None and choice.contains:
            fits &= self._contains(self._texts(self._known(choice.column)), choice.contains)
        if choice.odd is not None:
            fits &= self._is_odd(choice.odd)
        if choice.group is not None:
            fits &= self._in_group(choice.group)
        places: IntArray = self._ordered(choice.sort)
        if choice.descending:
            places = places[::-1]
        return places[fits[places]]

    def _known(self, column: str) -> str:
        if column not in self.names:
            raise Problem(404, f"the rows have no column {column!r}.")
        return column

    def _is_number(self, text: str) -> BoolArray:
        wanted = text.strip().removeprefix("#")
        same: BoolArray = self.number == (int(wanted) if wanted.isdecimal() and len(wanted) < 18 else -1)
        return same

    @staticmethod
    def _contains(texts: pa.Array, wanted: str) -> BoolArray:
        found = pc.match_substring(texts, wanted.lower())
        answer: BoolArray = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        return answer

    def _texts(self, column: str) -> pa.Array:
        cells = self.table.column(column).combine_chunks()
        return pc.utf8_lower(as_texts(cells.chunk(0) if isinstance(cells, pa.ChunkedArray) else cells))

    @cached_property
    def _lines(self) -> pa.Array:
        """Each row as one text, in small letters."""
        parts = [pc.fill_null(self._texts(name), "") for name in self.names]
        between = pa.scalar("\n", pa.large_string())
        return pc.binary_join_element_wise(*(part.cast(pa.large_string()) for part in parts), between)

    def _is_odd(self, column: str) -> BoolArray:
        fits = np.zeros(len(self.table), np.bool_)
        for rank in range(1, REASONS + 1):
            name = f"{PREFIX}reason_{rank}_column"
            if name in self.table.schema.names:
                same = pc.equal(self.table.column(name), column)
                fits |= pc.fill_null(same, False).to_numpy(zero_copy_only=False)
        return fits

    def _in_group(self, group: int) -> BoolArray:
        groups = self.sections["group_rows"]
        fits = np.zeros(len(self.table), np.bool_)
        if not 0 <= group < len(groups):
            raise Problem(404, "there is no such group.")
        fits[[self.place_of[number] for number in groups[group]]] = True
        return fits

    def _ordered(self, sort: str) -> IntArray:
        if sort == "rank":
            return self.by_rank
        if sort == "row":
            return np.argsort(self.number, kind="stable")
        column = self.table.column(self._known(sort))
        if pat.is_nested(column.type):
            column = self._texts(sort)
        elif pat.is_string(column.type):
            numbers = _numbers(column)
            column = column if numbers is None else numbers
        order: IntArray = pc.sort_indices(column, sort_keys=[("", "ascending")]).to_numpy()
        return order

    # Showing ----------------------------------------------------------------------------------------------------------

    def batch(self, places: IntArray) -> pa.RecordBatch:
        """These rows as they stood in the file."""
        rows = self.table.select(self.names).take(pa.array(places)).combine_chunks()
        return rows.to_batches()[0] if len(rows) else pa.RecordBatch.from_pylist([], rows.schema)

    def records(self, places: IntArray) -> list[dict[str, Any]]:
        """These rows with their verdicts; `cells` is None where reasons were not written."""
        rows = self.table.take(pa.array(places))
        texts = [as_texts(rows.column(name).combine_chunks()).to_pylist() for name in self.names]
        oddity = self._column(rows, "oddity", len(places))
        reasons = self._reasons(rows)
        return [
            {
                "row": int(self.number[place]),
                "rank": int(self.rank[place]),
                "score": None if np.isnan(self.score[place]) else float(self.score[place]),
                "p_value": float(self.p_value[place]),
                "is_anomaly": bool(self.is_anomaly[place]),
                "dismissed": bool(self.dismissed[place]),
                "oddity": oddity[at],
                "values": [None if column[at] is None else column[at][:_MOST_CHARACTERS] for column in texts],
                "cells": reasons[at],
            }
            for at, place in enumerate(places.tolist())
        ]

    @staticmethod
    def _column(rows: pa.Table, name: str, n: int) -> list[Any]:
        there = PREFIX + name in rows.schema.names
        values: list[Any] = rows.column(PREFIX + name).to_pylist() if there else [None] * n
        return values

    def _reasons(self, rows: pa.Table) -> list[list[dict[str, Any]] | None]:
        """The reasons that were written, each row's strongest first."""
        found: list[list[dict[str, Any]] | None] = [None] * len(rows)
        for rank in range(1, REASONS + 1):
            if f"{PREFIX}reason_{rank}" not in rows.schema.names:
                break
            parts = {part: self._column(rows, f"reason_{rank}_{part}", len(rows)) for part in _CELL}
            for at, column in enumerate(parts["column"]):
                if column is not None:
                    cell = {part: values[at] for part, values in parts.items() if values[at] is not None}
                    found[at] = [*(found[at] or []), cell]
        return found


def _numbers(column: pa.ChunkedArray) -> pa.Array | None:
    """The numbers that texts stand for, None where some do not."""
    try:
        return pc.cast(pc.replace_substring(column, ",", ""), pa.float64())
    except pa.ArrowInvalid:
        return None


class Results:
    """The results of a folder; a few are held in memory."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.held: OrderedDict[str, tuple[tuple[int, ...], Result]] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, id: str) -> Result:
        """The result; read again after rows of it were judged fine, by any service of the folder."""
        folder = self.work.results.path(id)
        stamp = tuple(path.stat().st_mtime_ns for path in sorted(folder.glob("*.json")))
        with self.lock:
            known = self.held.get(id)
            if known is None or known[0] != stamp:
                known = stamp, Result(folder)
                self.held[id] = known
                if len(self.held) > _MOST_HELD:
                    self.held.popitem(last=False)
            self.held.move_to_end(id)
            return known[1]

    def all(self) -> list[dict[str, Any]]:
        """Id, time and facts of every result, the newest first."""
        paths = sorted(self.work.results.parent.glob("[0-9a-f]*/result.json"), key=lambda path: -path.stat().st_mtime)
        return [
            {"id": path.parent.name, "made": path.stat().st_mtime} | json.loads(path.read_text(encoding="utf-8"))
            for path in paths
        ]

    def dismiss(self, id: str, numbers: list[int]) -> None:
        """Remember that these rows were judged fine."""
        path = self.work.results.path(id) / "dismissed.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        write_text(path, json.dumps(sorted({*known, *numbers})))
