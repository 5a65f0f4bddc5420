"""Which tokens go with which values of another column, and whether a text contradicts the value in its row.

Naive Bayes, turned around: how likely is each value of the column, given the tokens of the text? Where the text speaks
for another value than the row holds, the two contradict each other. Tokens repeat each other, so that their evidence is
multiplied by a `trust` below one, chosen by normal rows that were not learned from; 0 where the text says nothing about
the column. N texts, K values, W tokens that are counted, T tokens of all texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import log_softmax

from maskdiff.codes import FloatArray
from maskdiff.evidence.base import State
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names, check_tensor

TRUSTS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
# The shares of tokens beside a value are drawn towards their shares in all texts as by so many tokens more.
_DRAWN = 20.0
# What a text says about a column has to be worth this much for each row, in nats, and more than chance allows.
_LEAST_GAIN, _ERRORS = 0.01, 3.0
_TOKENS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Context:
    """For one other column: how much likelier each token is beside each value than elsewhere, log ratios (K, W)."""

    column: str
    log_ratio: FloatArray
    log_prior: FloatArray
    trust: float = 0.0

    @classmethod
    def of(cls, column: str, bag: csr_array, codes: NDArray[np.int64], n_codes: int) -> Context:
        """Learned from normal rows: which tokens their texts hold, (N, W), and their values of the column."""
        n = len(codes)
        share = (bag.sum(axis=0) + 0.5) / (bag.sum() + 0.5 * bag.shape[1])
        beside = csr_array((np.ones(n), (codes, np.arange(n))), shape=(n_codes, n))
        counts = (beside @ bag).toarray()
        log_ratio = np.log((counts / share + _DRAWN) / (counts.sum(axis=1, keepdims=True) + _DRAWN))
        prior = np.bincount(codes, minlength=n_codes) + 0.5
        # As precise as a model file holds them, so that a loaded model gives the same scores.
        return cls(column, log_ratio.astype(np.float32).astype(np.float64), np.log(prior / prior.sum()))

    def best_trust(self, bag: csr_array, codes: NDArray[np.int64]) -> tuple[float, float]:
        """The trust under which the values of these normal rows, not learned from, are likeliest, and what it gains.

        0 where the text says nothing about the column that could not be chance.
        """
        known = codes < len(self.log_prior)
        if not known.any():
            return 0.0, 0.0
        row, own = np.flatnonzero(known), codes[known]
        evidence = (bag @ self.log_ratio.T)[row]
        gains = [self._posterior(evidence, trust)[np.arange(len(row)), own] - self.log_prior[own] for trust in TRUSTS]
        best = int(np.argmax([gain.mean() for gain in gains]))
        least = max(_LEAST_GAIN, _ERRORS * float(gains[best].std()) / np.sqrt(len(row)))
        gain = float(gains[best].mean())
        return (TRUSTS[best], gain) if gain > least else (0.0, 0.0)

    def _posterior(self, evidence: FloatArray, trust: float) -> FloatArray:
        likely: FloatArray = log_softmax(trust * evidence + self.log_prior, axis=1)
        return likely

    def surprise(self, bag: csr_array, codes: NDArray[np.int64]) -> FloatArray:
        """How much less likely the text makes the row's own value than it is anyway, in nats, (N,).

        0 where the text speaks for the value, and for a value never seen.
        """
        likely = self._posterior(bag @ self.log_ratio.T, self.trust)
        known = codes < len(self.log_prior)
        own = likely[np.arange(len(codes)), np.where(known, codes, 0)]
        return np.where(known, np.maximum(self.log_prior[np.where(known, codes, 0)] - own, 0.0), 0.0)

    def token_parts(
        self, bag: csr_array, codes: NDArray[np.int64], row: NDArray[np.int64], place: NDArray[np.int64]
    ) -> FloatArray:
        """How much each of these tokens speaks for other values than its row's own, in nats, (T,)."""
        likely = np.exp(self._posterior(bag @ self.log_ratio.T, self.trust))
        own, parts = np.minimum(codes, len(self.log_prior) - 1), np.empty(len(row))
        for at in range(0, len(row), _TOKENS_AT_ONCE):
            here, token = row[at : at + _TOKENS_AT_ONCE], place[at : at + _TOKENS_AT_ONCE]
            expected = (likely[here] * self.log_ratio[:, token].T).sum(axis=1)
            parts[at : at + _TOKENS_AT_ONCE] = expected - self.log_ratio[own[here], token]
        return self.trust * np.maximum(parts, 0.0)

    def to_state(self) -> State:
        """The column, the trust and the log ratios."""
        tensors = {"log_ratio": torch.from_numpy(self.log_ratio).float(), "log_prior": torch.from_numpy(self.log_prior)}
        return {"column": self.column, "trust": self.trust}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, sizes: dict[str, int], n_tokens: int) -> Self:
        """What `to_state` gave; `sizes` are the numbers of values of the columns."""
        wanted = {"column", "trust"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a context completely")
        column, trust = plain["column"], plain["trust"]
        check(isinstance(column, str) and column in sizes, "it has a context of a column that is not there")
        check(fits(trust, float) and 0 < trust <= 1, "the trust in a context is out of range")
        check_names(tensors, "log_ratio", "log_prior")
        check_tensor("log_ratio", tensors["log_ratio"], (sizes[column], n_tokens), torch.float32)
        check_tensor("log_prior", tensors["log_prior"], (sizes[column],), torch.float64)
        log_ratio, log_prior = (tensors[name].numpy().astype(np.float64) for name in ("log_ratio", "log_prior"))
        return cls(column, log_ratio, log_prior, float(trust))
