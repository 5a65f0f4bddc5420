"""Rows through masks: what the network answers, and what becomes of its answers.

B rows, K views, F fields, P positions: the codes of all fields side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import Rows

_FLOOR = -np.log(1e-12)
# Numbers that the network reads at once.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Masks:
    """Which cells each view hides (K, F), its mask rate and how much it counts, each (K,)."""

    hidden: np.ndarray
    rate: np.ndarray
    weight: np.ndarray


class Fields:
    """What has to be known about the fields of a row."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self.charge = np.minimum(np.array(described["unseen_charge"]), _FLOOR)
        self.first, self.second = (np.array(rarest) for rarest in described["rarest"])

    def stand_in(self, rows: Rows) -> np.ndarray:
        """The codes, with the rarest other code where a value was never seen, (B, F)."""
        rarest = np.where(rows.codes == self.first, self.second, self.first)
        return np.where(rows.known, rows.codes, rarest)

    def charged(self, surprise: np.ndarray, rows: Rows) -> np.ndarray:
        """A value never seen costs at least what the rarest one does, in each view, (B, K, F)."""
        return np.where(rows.known[:, None], surprise, np.maximum(surprise, self.charge))


class Network:
    """The network that names hidden cells, run by onnxruntime."""

    def __init__(self, session: Any, start: np.ndarray, stride: np.ndarray, sizes: np.ndarray) -> None:
        self.session = session
        self.size = session.get_inputs()[0].shape[1]
        self.uses_rate = len(session.get_inputs()) > 1
        self.start, self.stride = start, stride
        self.places = [start[at] + np.arange(size) * stride[at] for at, size in enumerate(sizes)]

    def answers(self, codes: np.ndarray, known: np.ndarray, masks: Masks, *, odds: bool) -> np.ndarray:
        """log p(true code), or log odds of the likeliest one against it, of hidden cells, (B, K, F)."""
        n_views, n_fields = masks.hidden.shape
        answer = np.zeros((len(codes), n_views, n_fields))
        step = max(1, _AT_ONCE // (n_views * self.size))
        for at in range(0, len(codes), step):
            part = slice(at, at + step)
            logits = self._logits(codes[part], known[part], masks)
            for field in range(n_fields):
                views = np.flatnonzero(masks.hidden[:, field])
                own = logits[:, views][:, :, self.places[field]].astype(np.float64)
                true = np.take_along_axis(own, codes[part, None, field, None], axis=2)[:, :, 0]
                largest = own.max(axis=2)
                total = largest + np.log(np.exp(own - largest[:, :, None]).sum(axis=2))
                answer[part, views, field] = largest - true if odds else true - total
        return answer

    def _logits(self, codes: np.ndarray, known: np.ndarray, masks: Masks) -> np.ndarray:
        n_rows, n_views = len(codes), len(masks.hidden)
        shown = np.zeros((n_rows, n_views, self.size), dtype=np.float32)
        visible = ~masks.hidden[None] & known[:, None]
        row, view, field = np.nonzero(visible)
        shown[row, view, self.start[field] + codes[row, field] * self.stride[field]] = 1.0
        given = {"visible": shown.reshape(-1, self.size)}
        if self.uses_rate:
            given["rate"] = np.tile(masks.rate.astype(np.float32), n_rows)[:, None]
        logits: np.ndarray = self.session.run(["logits"], given)[0]
        return logits.reshape(n_rows, n_views, self.size)


def masked_surprise(log_prob: np.ndarray, fields: Fields, rows: Rows, masks: Masks) -> tuple[np.ndarray, np.ndarray]:
    """Mean surprise and weight of each cell, each (B, F)."""
    surprise = fields.charged(np.clip(-log_prob, 0, _FLOOR), rows)
    n_hidden = np.maximum(masks.hidden.sum(axis=1, keepdims=True), 1)
    share = masks.weight[:, None] * masks.hidden / n_hidden
    weight = share.sum(axis=0)
    mean = (surprise * share).sum(axis=1) / np.maximum(weight, 1e-30)
    return with_excess(mean, rows), np.broadcast_to(weight, mean.shape)


def with_excess(surprise: np.ndarray, rows: Rows) -> np.ndarray:
    """What numbers beyond the range cost more is added."""
    return np.where(rows.excess > 0, np.minimum(surprise + rows.excess, _FLOOR), surprise)
