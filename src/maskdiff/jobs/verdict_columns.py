"""What is added to scored rows: the verdict, and the cells that explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maskdiff.codes import BoolArray, IntArray
from maskdiff.errors import UnknownColumnError
from maskdiff.explanations.intervals import interval_text
from maskdiff.jobs.rows.model import ModelRows

if TYPE_CHECKING:
    from maskdiff.detectors import Detector, Verdicts
    from maskdiff.encoders.table.derived import DerivedField

VERDICT = (("anomaly_score", pa.float64()), ("p_value", pa.float64()), ("is_anomaly", pa.bool_()))
DISMISSED = ("dismissed_by", pa.int64())
ODDITY = ("oddity", pa.string())
_ALARM = "is_anomaly"
# A reason as a sentence, then its parts, named as in `explain`; behind the column come the places of tokens.
PARTS = (
    *(("value", pa.string()), ("expected", pa.string())),
    *(("expected_probability", pa.float64()), ("contribution", pa.float64()), ("share", pa.float64())),
)
# Of a table only.
CONTRADICTS = ("contradicts", pa.string())
# Parts that are null in the file where there is nothing to say.
_PERHAPS = ("expected", "contradicts")


class VerdictColumns:
    """The columns that scoring adds behind those of the file.

    With `rules` one says which of them dismisses it, with `oddity` one says what makes a row odd.
    """

    def __init__(
        self,
        schema: pa.Schema,
        reasons: int,
        prefix: str,
        places: tuple[str, ...] = (),
        *,
        rules: bool = False,
        oddity: bool = False,
    ) -> None:
        named = [*VERDICT, *([DISMISSED] if rules else []), *([ODDITY] if oddity else [])]
        self.rules, self.oddity, self.n_verdict = rules, oddity, len(named)
        parts = [("column", pa.string()), *((place, pa.int64()) for place in places), *PARTS]
        parts += [] if places else [CONTRADICTS]
        for rank in range(1, reasons + 1):
            named += [(f"reason_{rank}", pa.string())]
            named += [(f"reason_{rank}_{part}", data_type) for part, data_type in parts]
        fields = [pa.field(prefix + name, data_type) for name, data_type in named]
        clash = next((field.name for field in fields if field.name in schema.names), None)
        if clash is not None:
            raise UnknownColumnError(
                f"there is a column {clash!r} already. Put a prefix before the names of the new ones.", setting="prefix"
            )
        self.reasons, self.places = reasons, places
        self.parts = ("reason", *(part for part, _ in parts))
        self.fields = fields
        self.schema = pa.schema([*schema, *fields], schema.metadata)

    def behind(
        self,
        batch: pa.RecordBatch,
        verdicts: Verdicts,
        detector: Detector,
        model_rows: ModelRows,
        with_reasons: BoolArray | None = None,
    ) -> pa.RecordBatch:
        """The rows with these columns behind them; only those `with_reasons` have reasons (None: all)."""
        # A row without evidence has no score at all.
        score = pa.array(verdicts.anomaly_score, from_pandas=True)
        columns = [score, pa.array(verdicts.p_value), pa.array(verdicts.is_anomaly)]
        if self.rules:
            columns.append(_numbers(verdicts.dismissed_by))
        if self.oddity:
            assert verdicts.oddity is not None
            columns.append(pa.array([oddity or None for oddity in verdicts.oddity], pa.string()))
        if self.reasons and (with_reasons is None or with_reasons.all()):
            columns += self._reasons(batch, verdicts, detector, model_rows)
        elif self.reasons and with_reasons is not None:
            columns += self._some_reasons(batch, verdicts, detector, model_rows, np.flatnonzero(with_reasons))
        return pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=self.schema)

    def _some_reasons(
        self, batch: pa.RecordBatch, verdicts: Verdicts, detector: Detector, model_rows: ModelRows, some: IntArray
    ) -> list[pa.Array]:
        """The reasons of these rows, each in its row's place; null for the others."""
        few = self._reasons(batch.take(pa.array(some)), verdicts.take(some), detector, model_rows)
        place = np.full(batch.num_rows, -1)
        place[some] = np.arange(len(some))
        places = pa.array(place, mask=place < 0)
        return [reasons.take(places) for reasons in few]

    def _reasons(
        self, batch: pa.RecordBatch, verdicts: Verdicts, detector: Detector, model_rows: ModelRows
    ) -> list[pa.Array]:
        fields, n = self.fields[self.n_verdict :], batch.num_rows
        if not n:
            return [pa.nulls(0, field.type) for field in fields]
        cells = detector.explain(model_rows.shown(batch), self.reasons, verdicts=verdicts)
        derived = getattr(detector.encoder_, "derived_", {})
        cells["reason"] = [
            reason(cell, self.places, derived.get(cell.column)) for cell in cells.itertuples(index=False)
        ]
        ranks = [cells[cells.groupby("row").cumcount() == rank] for rank in range(self.reasons)]
        parts = [(rank, part) for rank in ranks for part in self.parts]
        return [_spread(rank, part, n, field.type) for (rank, part), field in zip(parts, fields, strict=True)]


def with_alarms(batch: pa.RecordBatch, alarm: BoolArray, dismissed_by: IntArray, prefix: str) -> pa.RecordBatch:
    """Rows that have the columns of a verdict, with other alarms."""
    columns, names = batch.columns, batch.schema.names
    columns[names.index(prefix + _ALARM)] = pa.array(alarm)
    if prefix + DISMISSED[0] in names:
        columns[names.index(prefix + DISMISSED[0])] = _numbers(dismissed_by)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _numbers(rules: IntArray) -> pa.Array:
    """The number of a rule, null where there is none."""
    return pa.array(rules, pa.int64(), mask=rules == 0)


def _spread(cells: Any, part: str, n: int, data_type: pa.DataType) -> pa.Array:
    """One part of these cells, each in its row's place; null for rows that have none."""
    values = np.full(n, None, dtype=object)
    values[cells["row"]] = [one or None for one in cells[part]] if part in _PERHAPS else cells[part]
    return pa.array(values, data_type)


def reason(cell: Any, places: tuple[str, ...] = (), derived: DerivedField | None = None) -> str:
    """One cell as a sentence; a token with where it stands, from its first character to the one behind its last.

    A cell computed from two dates reads as: "reported 30 days before loss_date; usually 0 to 14 days
    after".

    >>> from types import SimpleNamespace
    >>> many = SimpleNamespace(column="bytes", value="215", expected="(1, 50]", expected_probability=0.8)
    >>> many.note, many.contradicts = "", "flag = S0"
    >>> reason(many)
    'bytes = 215 contradicts flag = S0 (expected 1 to 50, 80%)'
    >>> many.note, many.contradicts = "largest seen 99", ""
    >>> reason(many)
    'bytes = 215: largest seen 99 (expected 1 to 50, 80%)'
    >>> many.column, many.value, many.expected, many.note = "flag", "S0", "S0", ""
    >>> reason(many)
    'flag = S0 (as expected, 80%)'
    >>> cash = SimpleNamespace(column="text", value="cash", expected="you", expected_probability=0.8, start=4, end=8)
    >>> reason(cash, ("start", "end"))
    'cash at 4-8 (expected you, 80%)'
    >>> cash.expected = "cash"
    >>> reason(cash, ("start", "end"))
    'cash at 4-8'
    """
    if places:
        at = "-".join(str(getattr(cell, place)) for place in places)
        says_more = cell.expected and cell.expected != cell.value
        expected = f" (expected {cell.expected}, {cell.expected_probability:.0%})" if says_more else ""
        return f"{cell.value} at {at}{expected}"
    phrase = None if derived is None else derived.phrase(cell.value)
    said = f"{cell.column} = {cell.value}" if phrase is None else phrase
    said += (": " if phrase is None else "; ") + cell.note if cell.note else ""
    said += f" contradicts {cell.contradicts}" if cell.contradicts else ""
    expected = "as expected" if cell.value == cell.expected else f"expected {interval_text(cell.expected)}"
    return f"{said} ({expected}, {cell.expected_probability:.0%})" if cell.expected else said
