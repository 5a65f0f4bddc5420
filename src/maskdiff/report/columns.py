"""A report about the rows of a table: its cells, counted by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from maskdiff.codes import Codes
from maskdiff.detectors import Detector, Verdicts
from maskdiff.encoders.table.input import Table
from maskdiff.report.drift import ColumnDrift, DriftCounts
from maskdiff.report.subject import Alarm, Carrier, ExplainedCell, Rows, Words, odd_mask
from maskdiff.report.words import shown

# So many cells of a row are explained.
EXPLAINED = 5
# More odd cells than this, and no few cells explain the row.
MOST_TOGETHER = 4

WORDS = Words(
    *("row", "rows", "cell", "cells", "column", "columns"),
    heads="Odd cells: share of the score, column, value, what was expected",
    value="value",
    group="Odd columns",
    pattern="Most frequent values",
    views=(
        ("reasons", "odd cells only"),
        ("ranked", "all columns, oddest first"),
        ("given", "all columns, as given"),
    ),
)


class Columns:
    """Counts what each column adds to the scores of the alarms and of the other rows."""

    words = WORDS

    def __init__(self, detector: Detector) -> None:
        self.detector, self.encoder = detector, detector.encoder_
        self.names = self.encoder.schema_.names
        self.drifted = DriftCounts(self.encoder)
        width = len(self.names)
        self.carried, self.carried_elsewhere = np.zeros(width), np.zeros(width)
        self.odd = np.zeros(width, dtype=np.int64)

    def read(self, X: Any) -> Rows:
        table = self.encoder.read(X)
        return Rows(table, table)

    def count(self, rows: Rows, verdicts: Verdicts) -> None:
        alarm, contributions = verdicts.is_anomaly, verdicts.contributions
        self.drifted.add(rows.read, verdicts.codes)
        self.carried += contributions[alarm].sum(axis=0)
        self.carried_elsewhere += contributions[~alarm].sum(axis=0)
        self.odd += odd_mask(contributions[alarm]).sum(axis=0)

    def context(self, beside: Table) -> list[str]:
        """The columns that were left out of the model: a row id says which row this is."""
        return [name for name in self.encoder.left_out_ if name in beside.names]

    # Alarms ----------------------------------------------------------------------------------------------------------

    def alarms(self, rows: Rows, verdicts: Verdicts, numbers: Sequence[int], room: int) -> list[Alarm]:
        cells = self._explained(rows.read, verdicts)
        n_odd = odd_mask(verdicts.contributions).sum(axis=1)
        whole = min(len(numbers), room // len(self.names))
        values = self._whole_rows(rows.read.take(np.arange(whole)), verdicts.codes)
        shares = verdicts.contributions[:whole] / verdicts.anomaly_score[:whole, None]
        return [
            Alarm(
                number=number,
                score=float(verdicts.anomaly_score[i]),
                p_value=float(verdicts.p_value[i]),
                cells=cells[i],
                n_odd=int(n_odd[i]),
                context=(),
                values=values[i] if i < whole else None,
                shares=shares[i].astype(np.float32) if i < whole else None,
            )
            for i, number in enumerate(numbers)
        ]

    def _whole_rows(self, table: Table, codes: Codes) -> list[tuple[str, ...]]:
        rows = np.arange(table.n_rows)
        columns = []
        for at, field in enumerate(codes.schema):
            number = field.type == "number"
            words = self.encoder.display(table, rows, [at] * len(rows))
            columns.append([shown(word, number=number) for word in words])
        return list(zip(*columns, strict=True))

    def _explained(self, table: Table, verdicts: Verdicts) -> list[tuple[ExplainedCell, ...]]:
        """The strongest cells of each row, with what was expected there."""
        fields = verdicts.codes.schema.fields
        at = {field.name: j for j, field in enumerate(fields)}
        odd = odd_mask(verdicts.contributions)
        rows: list[list[ExplainedCell]] = [[] for _ in verdicts.anomaly_score]
        told = self.detector.explain(table, top=EXPLAINED, verdicts=verdicts)
        for line in told.itertuples(index=False):
            i, j = int(line.row), at[line.column]
            code, field = int(verdicts.codes.values[i, j]), fields[j]
            value = shown(line.value, number=field.type == "number")
            cell = ExplainedCell(
                field=j,
                value=value,
                pattern=value if not field.ordered or code == field.size else field.label(code),
                share=float(line.share),
                expected=shown(line.expected, number=field.type == "number"),
                probability=float(line.expected_probability),
                odd=bool(odd[i, j]),
                unseen=code == field.size,
                as_expected=field.label(code) == line.expected,
            )
            rows[i].append(cell)
        return [tuple(cells) for cells in rows]

    # Groups ----------------------------------------------------------------------------------------------------------

    def kin(self, alarm: Alarm) -> tuple[tuple[int, ...], tuple[tuple[int, str], ...]]:
        """The odd columns of an alarm, none where there are too many to name; and the same with their values."""
        if alarm.n_odd > MOST_TOGETHER:
            return (), ()
        pattern = tuple(sorted((cell.field, cell.pattern) for cell in alarm.odd_cells))
        return tuple(field for field, _ in pattern), pattern

    def titles(self, shared: tuple[int, ...]) -> list[str]:
        return [shown(self.names[field]) for field in shared]

    def pattern(self, shared: tuple[int, ...], pattern: tuple[tuple[int, str], ...]) -> str:
        named = [f"{shown(self.names[field])} = {value}" if len(shared) > 1 else value for field, value in pattern]
        return ", ".join(named)

    # What was counted ------------------------------------------------------------------------------------------------

    def carriers(self) -> list[Carrier]:
        share = self.carried / max(self.carried.sum(), 1e-30)
        elsewhere = self.carried_elsewhere / max(self.carried_elsewhere.sum(), 1e-30)
        return [Carrier(self.names[j], float(share[j]), float(elsewhere[j]), int(self.odd[j])) for j in self.order()]

    def order(self) -> list[int]:
        """The column that carries most comes first."""
        found: list[int] = np.argsort(-self.carried, kind="stable").tolist()
        return found

    def odd_by(self) -> int:
        return 0

    def often_odd(self, alarms: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """By the number of the column."""
        counted = Counter(cell.field for alarm in alarms for cell in alarm.odd_cells)
        ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return [(field, shown(self.names[field]), n) for field, n in ranked]

    def drift(self) -> list[ColumnDrift]:
        return self.drifted.columns()

    def facts(self) -> dict[str, Any]:
        trained = Counter(sum(field.counts) for field in self.encoder.schema_).most_common(1)[0][0]
        columns = f"{len(self.names):,} column{'s' if len(self.names) != 1 else ''}"
        left_out = [f"{shown(name)} ({reason})" for name, reason in self.encoder.left_out_.items()]
        told = {
            "Learned from": f"{trained:,} normal rows, {columns}",
            "Columns left out": "; ".join(left_out) or "none",
        }
        return {"pairs": told, "columns": self.encoder.summary()}
