"""Counts of tokens by what they say: how often each occurs, and what it adds to the scores of alarms and other rows.

Tokens that read alike, with and without a blank before them, are counted as one. The last count is that of tokens
never seen in training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field
from maskdiff.detectors import Verdicts
from maskdiff.drift.statistics import MAX_NEW, NEW_KEPT
from maskdiff.drift.tokens import TokenDrift, token_drift
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.explanations.odd_mask import odd_token_mask
from maskdiff.explanations.token_groups import TokenGroups
from maskdiff.report.content.base import ScoreShare

N_EXAMPLES = 6
# The tokens whose shares are listed: those after them are many, and each adds next to nothing.
MAX_SHARES = 50
NEVER_SEEN = "never seen before"


class TokenCounts:
    """What the tokens of a report add up to, one entry for each label and one for tokens never seen."""

    def __init__(self, field: Field, most_odd: int) -> None:
        self.most_odd = most_odd
        self.labels, self.label_of_code = np.unique(
            np.array([*field.labels, ""], dtype=object).astype(str), return_inverse=True
        )
        self.label_of_code[-1] = len(self.labels)
        size = len(self.labels) + 1
        self.learned = np.bincount(self.label_of_code[:-1], weights=field.counts, minlength=size).astype(int)
        self.alarm_totals, self.other_totals = np.zeros(size), np.zeros(size)
        self.n_odd, self.seen = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.new: Counter[str] = Counter()

    def add(self, codes: TokenWindows, verdicts: Verdicts) -> None:
        line, cell = np.nonzero(codes.counts)
        row, token = codes.row[line], self.label_of_code[codes.values[line, cell]]
        contributions, alarm = verdicts.contributions[line, cell], verdicts.is_anomaly[row]
        size = len(self.seen)
        self.seen += np.bincount(token, minlength=size)
        self.alarm_totals += np.bincount(token[alarm], contributions[alarm], size)
        self.other_totals += np.bincount(token[~alarm], contributions[~alarm], size)
        self._add_odd(codes, verdicts)

    def _add_odd(self, codes: TokenWindows, verdicts: Verdicts) -> None:
        """Odd tokens are those that the list names: the pieces of a new word are one of them."""
        groups, size = TokenGroups.of(codes), len(self.seen)
        line, cell = np.nonzero(codes.counts & groups.is_first & verdicts.is_anomaly[codes.row][:, None])
        row, added = codes.row[line], groups.combine(verdicts.contributions)[line, cell]
        is_word = groups.last[line, cell] > cell
        token = np.where(is_word, size - 1, self.label_of_code[codes.values[line, cell]])
        odd = odd_token_mask(row, added, self.most_odd)
        pairs = np.unique(row[odd] * size + token[odd])  # a token counts once for each row
        self.n_odd += np.bincount(pairs % size, minlength=size)

    def add_new(self, texts: Iterable[str]) -> None:
        """Tokens never seen in training, by their text."""
        self.new.update(texts)
        if len(self.new) > MAX_NEW:
            self.new = Counter(dict(self.new.most_common(NEW_KEPT)))

    def score_shares(self) -> list[ScoreShare]:
        """The tokens of the alarms, the one that contributes most first."""
        in_alarms = self.alarm_totals / max(self.alarm_totals.sum(), 1e-30)
        in_other_rows = self.other_totals / max(self.other_totals.sum(), 1e-30)
        order = [j for j in np.argsort(-in_alarms, kind="stable")[:MAX_SHARES].tolist() if self.alarm_totals[j] > 0]
        return [self._share(j, in_alarms, in_other_rows) for j in order]

    def _share(self, token: int, in_alarms: NDArray[np.float64], in_other_rows: NDArray[np.float64]) -> ScoreShare:
        unseen = token == len(self.labels)
        return ScoreShare(
            NEVER_SEEN if unseen else str(self.labels[token]),
            float(in_alarms[token]),
            float(in_other_rows[token]),
            int(self.n_odd[token]),
            examples=tuple(text for text, _ in self.new.most_common(N_EXAMPLES)) if unseen else (),
        )

    def drift(self) -> TokenDrift:
        return token_drift(self.labels.tolist(), self.learned, self.seen, tuple(self.new.most_common(2 * N_EXAMPLES)))
