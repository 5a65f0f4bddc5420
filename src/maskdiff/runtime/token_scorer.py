"""TokenScorer: an exported model of texts or sequences that scores rows.

B rows of one length, K views, F tokens, R = B * K masked rows, M hidden tokens, H width, V codes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .aggregates import AGGREGATES
from .exported import Exported, RowVerdicts
from .token_masks import TokenGrid
from .token_rows import Alphabet, Window
from .views import Masks

_FLOOR = -np.log(1e-12)
# Tokens of masked rows that the network reads at once.
_AT_ONCE = 1 << 13
_POWERS = {"mean": 1, "rms": 2}


class TokenScorer(Exported):
    """Scores texts or lists of symbols as the exported detector does with the whole grid of probes.

    >>> scorer = TokenScorer("messages-exported")  # doctest: +SKIP
    >>> scorer.judge(["see you at nine"]).p_value  # doctest: +SKIP
    """

    rows_are = "tokens"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self.alphabet = Alphabet(self.description["alphabet"], self.folder)
        self.grid = TokenGrid.of(self.description["probes"])
        self.network = self.session()
        self.inputs = {one.name for one in self.network.get_inputs()}

    def judge(self, rows: Sequence[Any]) -> RowVerdicts:
        """All there is to say about texts, or lists of symbols."""
        score = self.score(rows)
        return self.verdicts(score, score)

    def score(self, rows: Sequence[Any]) -> np.ndarray:
        """How odd each row is, (N,). Higher = more anomalous; NaN for a row without tokens."""
        if isinstance(rows, str):
            raise ValueError("expected a list with one text, or one list of symbols, per row; got one text.")
        parts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        by_length: dict[int, list[Window]] = defaultdict(list)
        for window in self.alphabet.windows(rows):
            by_length[len(window.codes)].append(window)
        for length, windows in by_length.items():
            masks = self.grid.masks(length)
            step = max(1, _AT_ONCE // (len(masks.hidden) * length))
            for at in range(0, len(windows), step):
                here = windows[at : at + step]
                surprise_BF, weight_F = self._cells(np.stack([window.codes for window in here]), masks)
                for window, surprise_F in zip(here, surprise_BF, strict=True):
                    parts[window.row].append(_counted(window, surprise_F, weight_F))
        return np.array([self._row_score(parts[row]) if parts[row] else np.nan for row in range(len(rows))])

    def _row_score(self, windows: list[tuple[np.ndarray, np.ndarray]]) -> float:
        """The windows of a row as one row, each counting as much as the tokens it counts."""
        surprise, weight = (np.concatenate(part) for part in zip(*windows, strict=True))
        weight = weight / len(weight)
        term = self.description["term"]
        aggregate, typical = term["aggregate"], term["typical"]
        if typical is not None:
            power, own = _POWERS[aggregate], (weight > 0).sum()
            trust = own / max(own + typical["cells"], 1e-30)
            surprise = (trust * surprise**power + (1 - trust) * typical["surprise"] ** power) ** (1 / power)
        score = AGGREGATES[aggregate](surprise[None], weight[None])[0]
        return float(score / term["scale"] + term["shift"] * weight.sum())

    def _cells(self, codes_BF: np.ndarray, masks: Masks) -> tuple[np.ndarray, np.ndarray]:
        """Mean surprise of each token, (B, F), and the weight of the views that hid it, (F,)."""
        charge, rarest = self.description["unseen_charge"], self.description["rarest"]
        known_BF = codes_BF < len(self.alphabet.code_of)
        log_prob = self._log_prob(np.where(known_BF, codes_BF, rarest), known_BF, masks)
        surprise = np.clip(-log_prob, 0, _FLOOR)
        surprise = np.where(known_BF[:, None], surprise, np.maximum(surprise, min(charge, _FLOOR)))
        n_hidden = np.maximum(masks.hidden.sum(axis=1, keepdims=True), 1)
        share = masks.weight[:, None] * masks.hidden / n_hidden
        weight_F = share.sum(axis=0)
        return (surprise * share).sum(axis=1) / np.maximum(weight_F, 1e-30), weight_F

    def _log_prob(self, codes_BF: np.ndarray, known_BF: np.ndarray, masks: Masks) -> np.ndarray:
        """log p(true code) of hidden tokens, 0 elsewhere, (B, K, F)."""
        n_rows, (n_views, n_tokens) = len(codes_BF), masks.hidden.shape
        shape = (n_rows, n_views, n_tokens)
        hidden = np.broadcast_to(masks.hidden, shape)
        shown = np.where(~hidden & known_BF[:, None], codes_BF[:, None], len(self.alphabet.code_of))
        answer = np.zeros(shape)
        if hidden.any():
            given = {
                "shown": shown.reshape(-1, n_tokens),
                "places": np.flatnonzero(hidden),
                "position": np.arange(n_tokens, dtype=np.int64),
                "rate": np.tile(masks.rate, n_rows)[:, None],
            }
            (states_MH,) = self.network.run(["states"], {name: given[name] for name in self.inputs})
            answer[hidden] = self._head(states_MH, np.broadcast_to(codes_BF[:, None], shape)[hidden])
        return answer

    def _head(self, states_MH: np.ndarray, codes_M: np.ndarray) -> np.ndarray:
        """log p of these codes: within the first group, or of the gate to another group and within that one, (M,)."""
        weight_VH, bias_V = self.arrays["head.weight"], self.arrays["head.bias"]
        first, *others = pairwise(self.description["bounds"])
        logits = states_MH @ weight_VH[: first[1]].T + bias_V[: first[1]]
        place_M = codes_M.copy()
        if others:
            gates = states_MH @ self.arrays["head.gates.weight"].T + self.arrays["head.gates.bias"]
            logits = np.concatenate([logits, gates], axis=1)
            group_M = np.searchsorted(self.description["bounds"][1:-1], codes_M, side="right")
            place_M = np.where(group_M == 0, codes_M, first[1] - 1 + group_M)
        answer_M = _log_softmax_at(logits, place_M)
        for group, (start, stop) in enumerate(others, start=1):
            at = np.flatnonzero(group_M == group)
            own = states_MH[at] @ weight_VH[start:stop].T + bias_V[start:stop]
            answer_M[at] += _log_softmax_at(own, codes_M[at] - start)
        return answer_M


def _counted(window: Window, surprise_F: np.ndarray, weight_F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens that count in a window, with weights that add up to their number (times what empty views leave)."""
    here = slice(window.first, window.last)
    weight = weight_F[here]
    return surprise_F[here], weight * weight_F.sum() * len(weight) / max(weight.sum(), 1e-30)


def _log_softmax_at(logits_MV: np.ndarray, places_M: np.ndarray) -> np.ndarray:
    largest = logits_MV.max(axis=1, initial=-np.inf, keepdims=True)
    total_M = np.log(np.exp(logits_MV - largest).sum(axis=1, dtype=np.float64))
    found: np.ndarray = np.take_along_axis(logits_MV - largest, places_M[:, None], axis=1)[:, 0] - total_M
    return found
