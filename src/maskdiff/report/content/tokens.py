"""A report about texts or sequences: their tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskdiff.detectors import TokenDetector, Verdicts
from maskdiff.drift.tokens import TokenDrift
from maskdiff.encoders.table.input import Table, read_table
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.explanations.odd_mask import is_strong
from maskdiff.explanations.shading import excerpt
from maskdiff.explanations.token_groups import TokenGroups
from maskdiff.report.alarms import Alarm, ExplainedCell
from maskdiff.report.content.base import ReportRows, ScoreShare, Wording
from maskdiff.report.content.token_counts import TokenCounts
from maskdiff.report.formatting import display_value, make_visible
from maskdiff.report.marks import mark_spans, span_of
from maskdiff.report.nearest import NormalRow
from maskdiff.report.timeline import Timeline

# The number of tokens of a row that are explained.
N_EXPLAINED = 8
# Longer texts are shown around their odd tokens only.
MAX_TEXT = 1500
MAX_ODD_OPTIONS = 200


def token_wording(parts: str, row: str) -> Wording:
    part = parts.removesuffix("s")
    return Wording(
        *(row, f"{row}s", part, parts, part, parts),
        value=part,
        reasons_heading=f"The {row} with its odd {parts} shaded; below, their share of the score and what was expected",
        group_heading=f"Oddest {part}",
        pattern_heading=f"Other odd {parts} with it",
        views=(("reasons", f"{row}s with reasons"), ("ranked", f"{row}s only")),
    )


WORDINGS = {"tokens": token_wording("tokens", "text"), "symbols": token_wording("symbols", "sequence")}


class TokenContent:
    """Counts what each token adds to the scores of the alarms and of the other rows."""

    most_odd = N_EXPLAINED

    def __init__(self, detector: TokenDetector) -> None:
        self.detector, self.encoder = detector, detector.encoder_
        self.wording = WORDINGS[self.encoder.parts]
        self.names = self.encoder.schema_.names
        field = self.encoder.schema_.fields[0]
        self.known = frozenset(field.labels)
        self.counts = TokenCounts(field, self.most_odd)

    def read(self, X: Any) -> ReportRows:
        return ReportRows(self.encoder.read(X), read_table(X) if hasattr(X, "columns") else None)

    def context_columns(self, table: Table) -> list[str]:
        """Every other column of the file."""
        return [name for name in table.names if name not in self.names]

    def count(self, rows: ReportRows, verdicts: Verdicts) -> None:
        codes = verdicts.codes
        assert isinstance(codes, TokenWindows)
        self.counts.add(codes, verdicts)
        self.counts.add_new(self._new_tokens(codes))

    def _new_tokens(self, codes: TokenWindows) -> list[str]:
        """The texts of tokens never seen in training; the pieces of one word are one text."""
        groups = TokenGroups.of(codes)
        line, cell = np.nonzero(codes.counts & ~codes.known & groups.is_first)
        return codes.tokens.slices(codes.row[line], groups.spans(codes, line, cell))

    # Alarms ----------------------------------------------------------------------------------------------------------

    def alarms(self, rows: ReportRows, verdicts: Verdicts, numbers: Sequence[int], max_cells: int) -> list[Alarm]:
        explained = self.detector.explain(rows.input, top=N_EXPLAINED, verdicts=verdicts)
        lines = {row: list(part.itertuples(index=False)) for row, part in explained.groupby("row")}
        pieces = self.detector.shaded(rows.input, verdicts=verdicts)
        assert isinstance(verdicts.codes, TokenWindows)
        tokens = verdicts.codes.tokens
        spans = np.split(tokens.spans, tokens.first[1:])
        alarms = []
        for i, number in enumerate(numbers):
            own_lines = lines.get(i, [])
            cells = self._explained(own_lines)
            marks = mark_spans(pieces[i], [span_of(line, spans[i]) for line in own_lines])
            marks = [replace(mark, text=make_visible(mark.text)) for mark in excerpt(marks, MAX_TEXT)]
            alarms.append(
                Alarm(
                    number=number,
                    score=float(verdicts.alarm_score[i]),
                    p_value=float(verdicts.p_value[i]),
                    is_alarm=bool(verdicts.is_anomaly[i]),
                    cells=cells,
                    values=("".join(mark.text for mark in marks),),
                    marks=tuple(marks),
                )
            )
        return alarms

    def _explained(self, lines: Sequence[Any]) -> tuple[ExplainedCell, ...]:
        contributions = np.array([line.contribution for line in lines])
        odd = is_strong(contributions, contributions[:1])
        return tuple(
            ExplainedCell(
                field=0,
                value=display_value(line.value),
                pattern=display_value(line.value),
                share=float(line.share),
                expected=display_value(line.expected) if line.expected else "",
                probability=float(line.expected_probability),
                odd=bool(odd[at]),
                unseen=self._is_new(line.value),
                as_expected=line.value == line.expected,
            )
            for at, line in enumerate(lines)
        )

    def _is_new(self, value: str) -> bool:
        return value not in self.known and value.lower() not in self.known

    # Groups ----------------------------------------------------------------------------------------------------------

    def group_key(self, alarm: Alarm) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The oddest token of an alarm; and the other odd ones."""
        oddest, *others = [cell.value for cell in alarm.odd_cells] or [""]
        return (oddest,), tuple(sorted({*others} - {oddest}))

    def group_names(self, shared: tuple[str, ...]) -> list[str]:
        return list(shared)

    def pattern_text(self, shared: tuple[str, ...], pattern: tuple[str, ...]) -> str:
        return ", ".join(pattern)

    # What was counted ------------------------------------------------------------------------------------------------

    def score_shares(self) -> list[ScoreShare]:
        return self.counts.score_shares()

    def oddities(self) -> list[tuple[str, int]]:
        return []

    def column_order(self) -> list[int]:
        return [0]

    def odd_key(self) -> int:
        return 1

    def odd_counts(self, alarms: Sequence[Alarm], below: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """By the text of the token."""
        counts = Counter(value for alarm in alarms for value in dict.fromkeys(cell.value for cell in alarm.odd_cells))
        counts.update(dict.fromkeys((cell.value for row in below for cell in row.odd_cells), 0))
        return [(value, value, n) for value, n in counts.most_common(MAX_ODD_OPTIONS)]

    def nearest(self, alarms: Sequence[Alarm]) -> list[tuple[NormalRow, ...]]:
        return []

    def timelines(self) -> list[Timeline]:
        return []

    def drift(self) -> TokenDrift:
        return self.counts.drift()

    def training_facts(self) -> dict[str, Any]:
        parts, encoder = self.encoder.parts, self.encoder
        windows = (
            f"of at most {encoder.max_length} {parts} that overlap by {encoder.overlap}; every {parts[:-1]} counts once"
        )
        facts = {
            "Learned from": f"{self.counts.learned.sum():,} {parts} of normal rows, {len(self.known):,} different ones",
            "Long rows": f"are scored in windows {windows}",
        }
        return {"pairs": facts, "columns": [], "derived": []}
