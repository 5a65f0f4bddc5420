"""A report about the rows of a table: its cells, counted by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes
from maskdiff.detectors import Detector, Verdicts
from maskdiff.drift.columns import ColumnDrift, DriftCounts
from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.input import Table
from maskdiff.explanations.odd_mask import odd_mask
from maskdiff.explanations.oddities import ODDITIES
from maskdiff.explanations.shading import Piece, excerpt
from maskdiff.report.alarms import Alarm, ExplainedCell
from maskdiff.report.content.base import ReportRows, ScoreShare, Wording
from maskdiff.report.formatting import display_value, label_text, make_visible
from maskdiff.report.nearest import NormalRow, nearest_rows
from maskdiff.report.timeline import TimeCounts, Timeline

# The strongest cells of a row that are looked at, and how many of these are explained even if they are not odd.
N_STRONGEST, N_EXPLAINED = 8, 3
# With more odd cells than this, an alarm is not grouped by its odd columns.
MAX_SHARED = 4
# About so many characters of a text in a cell are shown.
MAX_TEXT = 400

WORDING = Wording(
    *("row", "rows", "cell", "cells", "column", "columns"),
    value="value",
    reasons_heading="Odd cells: share of the score, column, value, what was expected",
    group_heading="Odd columns",
    pattern_heading="Most frequent values",
    views=(
        ("reasons", "odd cells only"),
        ("ranked", "all columns, oddest first"),
        ("given", "all columns, as given"),
    ),
)


class ColumnContent:
    """Counts what each column adds to the scores of the alarms and of the other rows."""

    wording = WORDING

    def __init__(self, detector: Detector) -> None:
        self.detector, self.encoder = detector, detector.encoder_
        self.names = self.encoder.schema_.names
        self.drift_counts, self.time_counts = DriftCounts(self.encoder), TimeCounts(self.encoder)
        width = len(self.names)
        self.alarm_totals, self.other_totals = np.zeros(width), np.zeros(width)
        self.n_odd = np.zeros(width, dtype=np.int64)
        self.oddity_counts: Counter[str] = Counter()

    def read(self, X: Any) -> ReportRows:
        table = self.encoder.read(X)
        return ReportRows(table, table)

    def count(self, rows: ReportRows, verdicts: Verdicts) -> None:
        alarm, contributions = verdicts.is_anomaly, verdicts.contributions
        self.drift_counts.add(rows.input, verdicts.codes)
        self.time_counts.add(rows.input, alarm)
        self.alarm_totals += contributions[alarm].sum(axis=0)
        self.other_totals += contributions[~alarm].sum(axis=0)
        self.n_odd += _odd(verdicts.take(alarm)).sum(axis=0)
        self.oddity_counts.update(_oddity(verdicts)[alarm].tolist())

    def context_columns(self, table: Table) -> list[str]:
        """The columns that were left out of the model: a row id says which row this is."""
        return [name for name in self.encoder.left_out_ if name in table.names]

    # Alarms ----------------------------------------------------------------------------------------------------------

    def alarms(self, rows: ReportRows, verdicts: Verdicts, numbers: Sequence[int], max_cells: int) -> list[Alarm]:
        odd, whole_scores = _odd(verdicts), verdicts.anomaly_score
        raised, oddity = verdicts.alarm_score > whole_scores, _oddity(verdicts)
        cells = self._explained(rows.input, verdicts, odd)
        whole = min(len(numbers), max_cells // len(self.names))
        values = self._whole_rows(rows.input.take(np.arange(whole)), verdicts.codes)
        shares = verdicts.contributions[:whole] / verdicts.anomaly_score[:whole, None]
        return [
            Alarm(
                number=number,
                score=float(verdicts.alarm_score[i]),
                p_value=float(verdicts.p_value[i]),
                is_alarm=bool(verdicts.is_anomaly[i]),
                cells=cells[i],
                more_odd=_fields_beyond(odd[i], cells[i]),
                values=values[i] if i < whole else None,
                shares=shares[i].astype(np.float32) if i < whole else None,
                codes=verdicts.codes.values[i] if i < whole else None,
                oddity=oddity[i],
                whole=float(whole_scores[i]) if raised[i] else None,
            )
            for i, number in enumerate(numbers)
        ]

    def _whole_rows(self, table: Table, codes: Codes) -> list[tuple[str, ...]]:
        rows = np.arange(table.n_rows)
        columns = []
        for at, field in enumerate(codes.schema):
            number = COLUMN_TYPES[field.type].is_decimal
            texts = self.encoder.display(table, rows, [at] * len(rows))
            columns.append([display_value(text, number=number) for text in texts])
        return list(zip(*columns, strict=True))

    def _explained(self, table: Table, verdicts: Verdicts, odd: BoolArray) -> list[tuple[ExplainedCell, ...]]:
        """The cells of each row with the largest contributions and the odd ones, and what was expected there."""
        at = {name: j for j, name in enumerate(self.names)}
        rows: list[list[ExplainedCell]] = [[] for _ in verdicts.anomaly_score]
        explained = self.detector.explain(table, top=N_STRONGEST, verdicts=verdicts)
        pieces = self._pieces(table, explained, at)
        for line in explained.itertuples(index=False):
            i, j = int(line.row), at[line.column]
            if odd[i, j] or len(rows[i]) < N_EXPLAINED:
                cell = self._cell(line, j, int(verdicts.codes.values[i, j]), odd=bool(odd[i, j]))
                rows[i].append(_with_pieces(cell, pieces.get((i, j), ())))
        return [tuple(cells) for cells in rows]

    def _pieces(self, table: Table, explained: Any, at: Mapping[str, int]) -> dict[tuple[int, int], Sequence[Piece]]:
        """The texts among these cells, by row and column, in pieces that say how odd they are."""
        found: dict[tuple[int, int], Sequence[Piece]] = {}
        types = self.encoder.column_types_
        for name in (name for name in set(explained["column"]) if name in types and types[name].is_free_text):
            rows = explained.loc[explained["column"] == name, "row"].to_numpy()
            codes = self.encoder.encode(table.take(rows))
            of_rows = zip(rows.tolist(), self.detector.text_pieces(codes, at[name]), strict=True)
            found |= {(row, at[name]): excerpt(text, MAX_TEXT) for row, text in of_rows}
        return found

    def _cell(self, line: Any, at: int, code: int, *, odd: bool) -> ExplainedCell:
        """One line of `explain`."""
        field = self.encoder.schema_.fields[at]
        value = display_value(line.value, number=COLUMN_TYPES[field.type].is_decimal)
        return ExplainedCell(
            field=at,
            value=value,
            pattern=value if not field.ordered or code == field.size else label_text(field, field.label(code)),
            share=float(line.share),
            expected=label_text(field, line.expected),
            probability=float(line.expected_probability),
            odd=odd,
            unseen=code == field.size,
            as_expected=field.label(code) == line.expected,
            note=display_value(line.note) if line.note else "",
            contradicts=display_value(line.contradicts) if line.contradicts else "",
        )

    # Groups ----------------------------------------------------------------------------------------------------------

    def group_key(self, alarm: Alarm) -> tuple[tuple[int, ...], tuple[tuple[int, str], ...]]:
        """The odd columns of an alarm, none where there are too many to name; and the same with their values."""
        if alarm.n_odd > MAX_SHARED:
            return (), ()
        pattern = tuple(sorted((cell.field, cell.pattern) for cell in alarm.odd_cells))
        return tuple(field for field, _ in pattern), pattern

    def group_names(self, shared: tuple[int, ...]) -> list[str]:
        return [display_value(self.names[field]) for field in shared]

    def pattern_text(self, shared: tuple[int, ...], pattern: tuple[tuple[int, str], ...]) -> str:
        names = [f"{display_value(self.names[field])} = " if len(shared) > 1 else "" for field, _ in pattern]
        return ", ".join(name + value for name, (_, value) in zip(names, pattern, strict=True))

    # What was counted ------------------------------------------------------------------------------------------------

    def score_shares(self) -> list[ScoreShare]:
        in_alarms = self.alarm_totals / max(self.alarm_totals.sum(), 1e-30)
        in_other_rows = self.other_totals / max(self.other_totals.sum(), 1e-30)
        return [
            ScoreShare(self.names[j], float(in_alarms[j]), float(in_other_rows[j]), int(self.n_odd[j]))
            for j in self.column_order()
        ]

    def oddities(self) -> list[tuple[str, int]]:
        return [(name, self.oddity_counts[name]) for name in ODDITIES]

    def column_order(self) -> list[int]:
        """The column with the largest share of the alarms' scores comes first."""
        order: list[int] = np.argsort(-self.alarm_totals, kind="stable").tolist()
        return order

    def odd_key(self) -> int:
        return 0

    def odd_counts(self, alarms: Sequence[Alarm], below: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """By the number of the column."""
        counts = Counter(field for alarm in alarms for field in alarm.odd_fields)
        counts.update(dict.fromkeys((field for row in below for field in row.odd_fields), 0))
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(field, display_value(self.names[field]), n) for field, n in ranked]

    def nearest(self, alarms: Sequence[Alarm]) -> list[tuple[NormalRow, ...]]:
        return nearest_rows(self.detector, alarms)

    def timelines(self) -> list[Timeline]:
        return self.time_counts.timelines()

    def drift(self) -> list[ColumnDrift]:
        return self.drift_counts.columns()

    def training_facts(self) -> dict[str, Any]:
        trained = Counter(sum(field.counts) for field in self.encoder.schema_).most_common(1)[0][0]
        columns = f"{len(self.names):,} column{'s' if len(self.names) != 1 else ''}"
        left_out = [f"{display_value(name)} ({reason})" for name, reason in self.encoder.left_out_.items()]
        facts = {
            "Learned from": f"{trained:,} normal rows, {columns}",
            "Columns left out": "; ".join(left_out) or "none",
        }
        return {"pairs": facts, "columns": self._columns_read(), "derived": list(self.encoder.derived_)}

    def _columns_read(self) -> list[dict[str, Any]]:
        """Every column of the training data, left out ones included, and the fields computed from them."""
        derived = self.encoder.derived_
        sources = {name: [display_value(one) for one in derived[name].derivation.sources] for name in derived}
        computed = {name: f"computed from {' and '.join(found)}" for name, found in sources.items()}
        return [line | {"computed_from": computed.get(line["name"], "")} for line in self.encoder.summary()]


def _with_pieces(cell: ExplainedCell, pieces: Sequence[Piece]) -> ExplainedCell:
    """The cell of a text, shown in these pieces."""
    if not pieces:
        return cell
    shown = tuple(replace(piece, text=make_visible(piece.text)) for piece in pieces)
    value = "".join(piece.text for piece in shown)
    return replace(cell, value=value, pattern=value, pieces=shown)


def _odd(verdicts: Verdicts) -> BoolArray:
    """Which cells are odd: those that add much, hold a new value, or raise an alarm by themselves, shape (n, F)."""
    odd = odd_mask(verdicts.contributions, verdicts.codes.is_new)
    return odd if verdicts.cells is None else odd | verdicts.cells.is_anomaly


def _oddity(verdicts: Verdicts) -> NDArray[Any]:
    """What makes each row odd, in words; nothing where that is not known."""
    return np.full(len(verdicts.p_value), "", dtype=object) if verdicts.oddity is None else verdicts.oddity


def _fields_beyond(odd: BoolArray, cells: Sequence[ExplainedCell]) -> tuple[int, ...]:
    """The odd fields of a row that are not among its explained cells."""
    explained = {cell.field for cell in cells}
    return tuple(field for field in np.flatnonzero(odd).tolist() if field not in explained)
