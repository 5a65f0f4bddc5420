"""What adds most to the score of each alarm, counted batch by batch: a column, or a token. N rows, F columns."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Field, Schema
from maskdiff.detectors import Verdicts
from maskdiff.drift.statistics import MAX_NEW, NEW_KEPT
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.explanations.token_groups import TokenGroups


class StrongestColumns:
    """For each alarm the column that adds most to its score, and its code there, counted; `carried` is by column.

    `in_alarms` and `in_others` (F,) are what each column adds to all alarms and to all other rows.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.carried: list[NDArray[np.int64]] = [np.zeros(field.size + 1, np.int64) for field in schema]
        self.in_alarms, self.in_others = np.zeros(len(schema)), np.zeros(len(schema))
        self.alarms = self.others = 0
        self._aside: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, verdicts: Verdicts) -> None:
        alarm, contributions = verdicts.is_anomaly, verdicts.contributions
        odd = contributions[alarm]
        in_alarms = odd.sum(axis=0)
        self.in_alarms += in_alarms
        self.in_others += contributions.sum(axis=0) - in_alarms
        self.alarms += len(odd)
        self.others += len(contributions) - len(odd)
        if len(odd):
            column = odd.argmax(axis=1)
            self._count(column, verdicts.codes.values[alarm, column])

    def set_aside(self, verdicts: Verdicts, highest_p: float) -> None:
        """Keep the strongest column of every row until it is known which are alarms."""
        column = verdicts.contributions.argmax(axis=1)
        code = verdicts.codes.values[np.arange(len(column)), column]
        self._aside.append((column.astype(np.min_scalar_type(len(self.schema))), code))

    def select(self, alarm: BoolArray) -> None:
        at = 0
        for column, code in self._aside:
            chosen = alarm[at : at + len(column)]
            self._count(column[chosen], code[chosen])
            at += len(column)

    def __getstate__(self) -> dict[str, Any]:
        """Rows set aside stay where it is decided which of them are alarms."""
        return vars(self) | {"_aside": []}

    def merge(self, other: StrongestColumns) -> None:
        """The alarms among other rows too, where it is known which rows are alarms."""
        self.in_alarms += other.in_alarms
        self.in_others += other.in_others
        self.alarms += other.alarms
        self.others += other.others
        for mine, theirs in zip(self.carried, other.carried, strict=True):
            mine += theirs

    def growth(self, column: int) -> float:
        """How many times as much a column adds to an alarm as to another row; infinite where that is not known."""
        if not self.alarms or not self.others or self.in_others[column] <= 0:
            return math.inf
        return float(self.in_alarms[column] / self.alarms / (self.in_others[column] / self.others))

    def _count(self, column: NDArray[np.int64], code: NDArray[np.int64]) -> None:
        for at in np.unique(column).tolist():
            self.carried[at] += np.bincount(code[column == at], minlength=len(self.carried[at]))


@dataclass(frozen=True, eq=False)
class StrongestOfRows:
    """The token of each row that adds most to its score: its code, and its text where it was never seen before.

    `code` (N,) is -1 for a row without tokens; `new` are the rows with a new word, by number.
    """

    code: NDArray[np.int64]
    new: dict[int, str]

    @classmethod
    def of(cls, verdicts: Verdicts, named: BoolArray, unseen: int) -> StrongestOfRows:
        """Given the code of unseen tokens; their texts are looked up for the rows in `named` only."""
        codes = verdicts.codes
        assert isinstance(codes, TokenWindows)
        groups = TokenGroups.of(codes)
        # The pieces of a new word count as one.
        added = np.where(codes.counts, groups.combine(np.where(codes.counts, verdicts.contributions, 0.0)), -np.inf)
        cell = added.argmax(axis=1)
        # Lines in order of their rows, the strongest of a row first.
        order = np.lexsort((-added[np.arange(len(cell)), cell], codes.row))
        lines = order[np.flatnonzero(np.diff(codes.row[order], prepend=-1))]
        lines = lines[codes.counts[lines].any(axis=1)]
        row, cell = codes.row[lines], cell[lines]
        code = np.full(len(verdicts.anomaly_score), -1, dtype=np.int64)
        code[row] = codes.values[lines, cell]
        new = (code[row] == unseen) & named[row]
        texts = codes.tokens.slices(row[new], groups.spans(codes, lines[new], cell[new]))
        return cls(code, dict(zip(row[new].tolist(), texts, strict=True)))


class StrongestTokens:
    """For each alarm the token that adds most to its score, counted by what it says.

    `in_alarms` is by text. `in_others` counts the other rows likewise, by label, without the new words.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.in_alarms: Counter[str] = Counter()
        self.in_others: Counter[str] = Counter()
        self.others = 0
        self._aside: list[StrongestOfRows] = []

    def add(self, verdicts: Verdicts) -> None:
        alarm = verdicts.is_anomaly
        self._count(StrongestOfRows.of(verdicts, alarm, self.field.size), alarm)

    def set_aside(self, verdicts: Verdicts, highest_p: float) -> None:
        """Keep the strongest token of every row until it is known which are alarms; none has a p-value above this."""
        self._aside.append(StrongestOfRows.of(verdicts, verdicts.p_value <= highest_p, self.field.size))

    def select(self, alarm: BoolArray) -> None:
        at = 0
        for found in self._aside:
            self._count(found, alarm[at : at + len(found.code)])
            at += len(found.code)

    def __getstate__(self) -> dict[str, Any]:
        """Rows set aside stay where it is decided which of them are alarms."""
        return vars(self) | {"_aside": []}

    def merge(self, other: StrongestTokens) -> None:
        """The alarms among other rows too, where it is known which rows are alarms."""
        self.in_alarms += other.in_alarms
        self.in_others += other.in_others
        self.others += other.others
        self._forget_rare()

    def share_of_others(self, text: str) -> float:
        """The share of the other rows in which this token is the strongest too; 0 for a new word."""
        return self.in_others[text] / max(1, self.others)

    def _count(self, found: StrongestOfRows, alarm: BoolArray) -> None:
        self.others += int((~alarm).sum())
        self.in_alarms.update(text for row, text in found.new.items() if alarm[row])
        for counter, rows in ((self.in_alarms, alarm), (self.in_others, ~alarm)):
            codes, counts = np.unique(found.code[rows], return_counts=True)
            for code, n in zip(codes.tolist(), counts.tolist(), strict=True):
                if 0 <= code < self.field.size:
                    counter[self.field.labels[code]] += n
        self._forget_rare()

    def _forget_rare(self) -> None:
        if len(self.in_alarms) > MAX_NEW:
            self.in_alarms = Counter(dict(self.in_alarms.most_common(NEW_KEPT)))
