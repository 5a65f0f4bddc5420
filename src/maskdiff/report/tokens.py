"""A report about texts or sequences: their tokens, counted by what they say. V tokens told apart, one of them *new*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.codes.windows import Windows
from maskdiff.detectors import TokenDetector, Verdicts
from maskdiff.encoders.table.input import Table, read_table
from maskdiff.encoders.tokens.sequence import Span
from maskdiff.explanations.shading import Piece, excerpt
from maskdiff.report.drift import TokenDrift, token_drift
from maskdiff.report.subject import ODD_PART, Alarm, Carrier, ExplainedCell, Mark, Rows, Words
from maskdiff.report.words import shown, visible

# So many tokens of a row are explained.
EXPLAINED = 8
# Longer texts are shown around their odd tokens only.
LONGEST_TEXT = 1500
MOST_OFTEN_ODD = 200
EXAMPLES = 6
# New tokens are remembered by name until there are too many; then only those met most often so far.
MOST_NEW, NEW_KEPT = 10_000, 1_000
NEVER_SEEN = "never seen before"


def words_for(parts: str, row: str) -> Words:
    part = parts.removesuffix("s")
    return Words(
        *(row, f"{row}s", part, parts, part, parts),
        heads=f"The {row} with its odd {parts} shaded; below, their share of the score and what was expected",
        value=part,
        group=f"Oddest {part}",
        pattern=f"Other odd {parts} with it",
        views=(("reasons", f"{row}s with reasons"), ("ranked", f"{row}s only")),
    )


WORDS = {"tokens": words_for("tokens", "text"), "symbols": words_for("symbols", "sequence")}


class Tokens:
    """Counts what each token adds to the scores of the alarms and of the other rows."""

    def __init__(self, detector: TokenDetector) -> None:
        self.detector, self.encoder = detector, detector.encoder_
        self.words = WORDS[self.encoder.parts]
        self.names = self.encoder.schema_.names
        field = self.encoder.schema_.fields[0]
        # Tokens that read alike, with and without a blank before them, are one to the reader. The last one is new.
        self.labels, self.of_code = np.unique(
            np.array([*field.labels, ""], dtype=object).astype(str), return_inverse=True
        )
        self.of_code[-1] = len(self.labels)
        self.known = frozenset(field.labels)
        self.learned = np.bincount(self.of_code[:-1], weights=field.counts, minlength=len(self.labels) + 1).astype(int)
        width = len(self.labels) + 1
        self.carried, self.carried_elsewhere = np.zeros(width), np.zeros(width)
        self.odd, self.seen = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
        self.new: Counter[str] = Counter()

    def read(self, X: Any) -> Rows:
        return Rows(self.encoder.read(X), read_table(X) if hasattr(X, "columns") else None)

    def context(self, beside: Table) -> list[str]:
        """Every other column of the file."""
        return [name for name in beside.names if name not in self.names]

    def count(self, rows: Rows, verdicts: Verdicts) -> None:
        codes = verdicts.codes
        assert isinstance(codes, Windows)
        line, cell = np.nonzero(codes.counts)
        row, token = codes.row[line], self.of_code[codes.values[line, cell]]
        added, alarm = verdicts.contributions[line, cell], verdicts.is_anomaly[row]
        width = len(self.carried)
        self.seen += np.bincount(token, minlength=width)
        self.carried += np.bincount(token[alarm], added[alarm], width)
        self.carried_elsewhere += np.bincount(token[~alarm], added[~alarm], width)
        odd = alarm & odd_tokens(row, added)
        pairs = np.unique(row[odd] * width + token[odd])  # a token counts once for each row
        self.odd += np.bincount(pairs % width, minlength=width)
        self._count_new(rows, codes)

    def _count_new(self, rows: Rows, codes: Windows) -> None:
        """Tokens never seen, by what they say; the pieces of one word together."""
        new = codes.counts & ~codes.known
        if not new.any():
            return
        ends = self.detector.word_ends(rows.read, codes)
        line, cell = np.nonzero(new & np.column_stack([np.full(len(ends), True), ends[:, 1:] != ends[:, :-1]]))
        last = ends[line, cell]
        needed, place = np.unique(codes.row[line], return_inverse=True)
        chosen = rows.read.take(needed)
        texts, spans = self.encoder.written(chosen), self.encoder.spans(chosen)
        for i, start, end in zip(place, codes.start[line] + cell, codes.start[line] + last, strict=True):
            self.new[texts[i][spans[i][start][0] : spans[i][end][1]]] += 1
        if len(self.new) > MOST_NEW:
            self.new = Counter(dict(self.new.most_common(NEW_KEPT)))

    # Alarms ----------------------------------------------------------------------------------------------------------

    def alarms(self, rows: Rows, verdicts: Verdicts, numbers: Sequence[int], room: int) -> list[Alarm]:
        told = self.detector.explain(rows.read, top=EXPLAINED, verdicts=verdicts)
        lines = {row: list(part.itertuples(index=False)) for row, part in told.groupby("row")}
        pieces = self.detector.shaded(rows.read, verdicts=verdicts)
        spans = self.encoder.spans(rows.read) if self.encoder.parts == "symbols" else [[]] * len(numbers)
        found = []
        for i, number in enumerate(numbers):
            own = lines.get(i, [])
            cells = self._explained(own)
            marks = marked(pieces[i], [span_of(line, spans[i]) for line in own])
            marks = [replace(mark, text=visible(mark.text)) for mark in excerpt(marks, LONGEST_TEXT)]
            found.append(
                Alarm(
                    number=number,
                    score=float(verdicts.anomaly_score[i]),
                    p_value=float(verdicts.p_value[i]),
                    cells=cells,
                    n_odd=sum(cell.odd for cell in cells),
                    context=(),
                    values=("".join(mark.text for mark in marks),),
                    shares=None,
                    marks=tuple(marks),
                )
            )
        return found

    def _explained(self, lines: Sequence[Any]) -> tuple[ExplainedCell, ...]:
        return tuple(
            ExplainedCell(
                field=0,
                value=shown(line.value),
                pattern=shown(line.value),
                share=float(line.share),
                expected=shown(line.expected),
                probability=float(line.expected_probability),
                odd=line.contribution >= ODD_PART * lines[0].contribution,
                unseen=self._is_new(line.value),
                as_expected=line.value == line.expected,
            )
            for line in lines
        )

    def _is_new(self, value: str) -> bool:
        return value not in self.known and value.lower() not in self.known

    # Groups ----------------------------------------------------------------------------------------------------------

    def kin(self, alarm: Alarm) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The oddest token of an alarm; and the other odd ones."""
        oddest, *others = [cell.value for cell in alarm.odd_cells] or [""]
        return (oddest,), tuple(sorted({*others} - {oddest}))

    def titles(self, shared: tuple[str, ...]) -> list[str]:
        return list(shared)

    def pattern(self, shared: tuple[str, ...], pattern: tuple[str, ...]) -> str:
        return ", ".join(pattern)

    # What was counted ------------------------------------------------------------------------------------------------

    def carriers(self) -> list[Carrier]:
        share = self.carried / max(self.carried.sum(), 1e-30)
        elsewhere = self.carried_elsewhere / max(self.carried_elsewhere.sum(), 1e-30)
        held = [j for j in np.argsort(-share, kind="stable").tolist() if self.carried[j] > 0]
        return [
            Carrier(self._name(j), float(share[j]), float(elsewhere[j]), int(self.odd[j]), self._new(j)) for j in held
        ]

    def _name(self, token: int) -> str:
        return str(self.labels[token]) if token < len(self.labels) else NEVER_SEEN

    def _new(self, token: int) -> tuple[str, ...]:
        return tuple(word for word, _ in self.new.most_common(EXAMPLES)) if token == len(self.labels) else ()

    def order(self) -> list[int]:
        return [0]

    def odd_by(self) -> int:
        return 1

    def often_odd(self, alarms: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """By its own text."""
        counted = Counter(value for alarm in alarms for value in {cell.value for cell in alarm.odd_cells})
        return [(value, value, n) for value, n in counted.most_common(MOST_OFTEN_ODD)]

    def drift(self) -> TokenDrift:
        return token_drift(self.labels.tolist(), self.learned, self.seen, tuple(self.new.most_common(2 * EXAMPLES)))

    def facts(self) -> dict[str, Any]:
        parts, encoder = self.encoder.parts, self.encoder
        windows = f"of {encoder.max_length} {parts} that overlap by {encoder.overlap}; every {parts[:-1]} counts once"
        told = {
            "Learned from": f"{self.learned.sum():,} {parts} of normal rows, {len(self.known):,} different ones",
            "Long rows": f"are looked at in windows {windows}",
        }
        return {"pairs": told, "columns": []}


def odd_tokens(row: NDArray[np.int64], added: FloatArray) -> NDArray[np.bool_]:
    """Which tokens add at least half as much as the strongest of their row; the rows come in order, shape (n,).

    >>> odd_tokens(np.array([0, 0, 2]), np.array([0.2, 0.5, 0.1]))
    array([False,  True,  True])
    """
    if not len(row):
        return np.zeros(0, dtype=np.bool_)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    strongest = np.repeat(np.maximum.reduceat(added, first), np.diff(np.append(first, len(row))))
    odd: NDArray[np.bool_] = (added >= ODD_PART * strongest) & (added > 0)
    return odd


def span_of(line: Any, spans: Sequence[Span]) -> Span:
    """The characters of a token that `explain` names: it says so itself, or says which of the tokens it is."""
    return spans[line.position] if hasattr(line, "position") else (line.start, line.end)


def marked(pieces: Sequence[Piece], spans: Sequence[Span]) -> list[Mark]:
    """The same text; each of these spans is one piece, as odd as the oddest of it, and the first spans win.

    >>> marked([Piece("a ", 0.0), Piece("b", 0.5), Piece("c", 1.0)], [(2, 4)])
    [Mark(text='a ', strength=0.0, cell=-1), Mark(text='bc', strength=1.0, cell=0)]
    """
    text = "".join(piece.text for piece in pieces)
    strength = np.repeat([piece.strength for piece in pieces], [len(piece.text) for piece in pieces])
    owner = np.full(len(text), -1)
    for cell, (start, end) in reversed(list(enumerate(spans))):
        owner[start:end] = cell
        strength[start:end] = strength[start:end].max(initial=0.0)
    runs = groupby(range(len(text)), key=lambda at: (int(owner[at]), float(strength[at])))
    found = []
    for (cell, odd), places in runs:
        inside = list(places)
        found.append(Mark(text[inside[0] : inside[-1] + 1], odd, cell))
    return found
