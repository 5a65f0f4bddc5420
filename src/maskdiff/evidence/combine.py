"""Several terms of evidence about a row, put on one scale by normal rows and added.

A source looks at rows and gives every cell a surprise and a weight; an aggregate turns a row's cells into one number
and shares it out again. A term is a source read through an aggregate. A single term is taken as it is, in the unit of
its source (nats for masked surprise). Several terms are each divided by their standard deviation over held-out normal
rows and averaged, so that the score counts standard deviations. Where each sees what the others cannot, they are
weighted by softmax instead, so that the highest counts most. Either way the contributions add up to the score.
N rows, F fields, T terms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.errors import SettingError
from maskdiff.evidence.base import Source, State
from maskdiff.evidence.registry import SOURCES, name_of
from maskdiff.progress import Callback
from maskdiff.reconstructors.loops import passes_in_threads
from maskdiff.score import CellScores, Typical, aggregate_named, row_sums
from maskdiff.state import check, from_plain, look_up, storable, to_plain
from maskdiff.state.tensors import Tensors, named, under

# Scales come from deviations, shifts from means: beyond these bounds scores would overflow.
_SCALES, _LARGEST_SHIFT = (1e-9, 1e9), 1e9


@storable
@dataclass(frozen=True)
class EvidenceTerm:
    """A source, by name, read through an aggregate, divided by `scale` and moved by `shift`, which a row's cells share.

    `typical` steadies short rows. Among several terms one counts as much as its `weight`.
    """

    source: str
    aggregate: str
    scale: float = 1.0
    typical: Typical | None = None
    shift: float = 0.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        aggregate_named(self.aggregate)
        low, high = _SCALES
        if not low <= self.scale <= high or not 0 < self.weight <= high:
            raise SettingError(f"scale and weight must be above 0, from {low:g} to {high:g}; got {self}.")
        if not abs(self.shift) <= _LARGEST_SHIFT:
            raise SettingError(f"shift must be within {_LARGEST_SHIFT:g} of 0; got {self.shift}.")

    def parts(self, cells: CellScores) -> FloatArray:
        """What each cell adds to its row's score, (N, F)."""
        scaled = cells.contributions(self.aggregate, self.typical) / self.scale
        shifted: FloatArray = scaled + self.shift * cells.weight if self.shift else scaled
        return shifted


@dataclass(frozen=True, eq=False)
class Evidence:
    """The sources a detector uses and the terms that its score adds; the first term's surprises are shown to users.

    The score is the sum of the terms, or with `softmax_weighted` their mean with weights exp(term): a term that finds
    a row odd is not outweighed by one that does not.
    """

    sources: Mapping[str, Source]
    terms: tuple[EvidenceTerm, ...]
    softmax_weighted: bool = False

    def weigh(
        self,
        codes: Codes,
        *,
        stage: str = "scoring",
        callback: Callback | None = None,
        known: Mapping[str, CellScores] | None = None,
    ) -> CellEvidence:
        """Each cell's part in the score, and its surprise; sources whose cells are `known` are not asked."""
        cells = self._cells_by_source(codes, stage, callback, known)
        first = cells[self.terms[0].source]
        shown = shown_surprise(first, cells.values())
        if first.row is not None:
            total, by_term = self._added(cells)
            return CellEvidence(total, shown, first.row, by_term)
        total, by_term = np.empty(first.surprise.shape), np.empty((len(first.surprise), len(self.terms)))

        def add(run: slice) -> None:
            total[run], by_term[run] = self._added({name: one.rows(run) for name, one in cells.items()})

        passes_in_threads(add, total.shape)
        return CellEvidence(total, shown, None, by_term)

    def _added(self, cells: Mapping[str, CellScores]) -> tuple[FloatArray, FloatArray]:
        """What each cell, (N, F), and what each term, (N, T), adds to the rows' scores."""
        parts = [term.parts(cells[term.source]) for term in self.terms]
        row = cells[self.terms[0].source].row
        by_term = np.stack([row_sums(part, row) for part in parts], axis=1)
        if self.softmax_weighted:
            weight_NT = softmax(by_term, axis=1)
            of_lines = weight_NT if row is None else weight_NT[row]
            parts = [part * of_lines[:, t, None] for t, part in enumerate(parts)]
            by_term = by_term * weight_NT
        total: FloatArray = np.sum(parts, axis=0)
        return total, by_term

    def left_out(self) -> Evidence:
        """The same for rows that are among the normal rows, each as if it were not."""
        return replace(self, sources={name: source.left_out() for name, source in self.sources.items()})

    def on_one_scale(self, held_out: Codes, *, callback: Callback | None = None) -> Evidence:
        """Each term scaled by what it says of held-out normal rows; see `scaled_by`."""
        return self.scaled_by(self.term_scores(held_out, stage="calibrating", callback=callback))

    def term_scores(
        self,
        codes: Codes,
        *,
        stage: str = "scoring",
        callback: Callback | None = None,
        known: Mapping[str, CellScores] | None = None,
    ) -> NDArray[np.float64]:
        """What each term says of each row, shape (N, T), before terms are weighted by softmax."""
        cells = self._cells_by_source(codes, stage, callback, known)
        scores = [row_sums(term.parts(cells[term.source]), cells[term.source].row) for term in self.terms]
        return np.stack(scores, axis=1)

    def scaled_by(self, term_scores: NDArray[np.float64]) -> Evidence:
        """Each term scaled so that over these normal rows it deviates by its weight in the mean of all.

        Where terms are weighted by softmax, all have the same mean there too. `term_scores` are those of this evidence.
        """
        # At least as if one row were off by one: so many rows cannot show less.
        deviations = [max(_deviation(score), 1 / max(len(score), 1)) for score in term_scores.T]
        means = [float(np.nanmean(score)) / by for score, by in zip(term_scores.T, deviations, strict=True)]
        shifts = [term.shift for term in self.terms]
        if self.softmax_weighted:
            shifts = [float(np.mean(means)) - mean for mean in means]
        return self._deviating_by(deviations, shifts)

    @staticmethod
    def on_common_scale(several: Sequence[Evidence]) -> list[Evidence]:
        """The evidence of several models whose scores are compared: of each the terms that all have, on one scale.

        A term is scaled by the mean of what it deviates by in each: by its own each model would score all rows higher
        or lower than the others do.
        """
        shared = set.intersection(*({(term.source, term.aggregate) for term in one.terms} for one in several))
        kept = [one._only(shared) for one in several]
        deviations, shifts = [], []
        for same in zip(*(one.terms for one in kept), strict=True):
            deviations.append(float(np.mean([t.scale * one._part_of(t) for t, one in zip(same, several, strict=True)])))
            shifts.append(float(np.mean([term.shift for term in same])))
        return [one._deviating_by(deviations, shifts) for one in kept]

    def _only(self, shared: Collection[tuple[str, str]]) -> Evidence:
        """The same without terms whose source and aggregate are not among these."""
        terms = tuple(term for term in self.terms if (term.source, term.aggregate) in shared)
        return replace(self, sources={term.source: self.sources[term.source] for term in terms}, terms=terms)

    def _deviating_by(self, deviations: Sequence[float], shifts: Sequence[float]) -> Evidence:
        """The same where each term, which deviates by so much, counts as its part of the score, and is moved."""
        terms = zip(self.terms, deviations, shifts, strict=True)
        scaled = (replace(term, scale=by / self._part_of(term), shift=shift) for term, by, shift in terms)
        return replace(self, terms=tuple(scaled))

    def _part_of(self, term: EvidenceTerm) -> float:
        """What part of the score a term is: all of it where terms are weighted by softmax."""
        return 1.0 if self.softmax_weighted else term.weight / sum(each.weight for each in self.terms)

    def describe(self) -> list[str]:
        """The sources in words, in the order of the terms that read them."""
        return [self.sources[name].describe() for name in dict.fromkeys(term.source for term in self.terms)]

    def to_state(self) -> State:
        """The state of every source, and the terms."""
        sources: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        for name, source in self.sources.items():
            registered = name_of(source)
            if registered is None:
                raise SettingError(
                    f"a detector with {source!r} cannot be saved: register its class in maskdiff.evidence.SOURCES."
                )
            plain, parts = source.to_state()
            sources[name] = {"is": registered, "state": plain}
            tensors |= named(parts, name)
        terms = [to_plain(term) for term in self.terms]
        return {"sources": sources, "terms": terms, "softmax_weighted": self.softmax_weighted}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Evidence:
        """The evidence that `to_state` described."""
        wanted = {"sources", "terms", "softmax_weighted"}
        check(isinstance(plain, dict) and set(plain) == wanted, "its evidence is not described completely")
        check(isinstance(plain["sources"], dict) and isinstance(plain["terms"], list), "its evidence has no sources")
        terms = tuple(from_plain(term, EvidenceTerm) for term in plain["terms"])
        check(terms and {term.source for term in terms} == set(plain["sources"]), "its terms have other sources")
        check(isinstance(plain["softmax_weighted"], bool), "softmax_weighted is not a boolean")
        sources, left = {}, dict(tensors)
        for name, described in plain["sources"].items():
            check(isinstance(described, dict) and set(described) == {"is", "state"}, f"its source {name} has no state")
            parts: dict[str, Tensor] = under(tensors, name)
            left = {key: one for key, one in left.items() if not key.startswith(f"{name}.")}
            cls_of = look_up(described["is"], SOURCES, "source of evidence")
            sources[name] = cls_of.from_state(described["state"], parts, schema=schema, device=device)
        check(not left, f"it holds tensors that nothing uses: {', '.join(sorted(left)[:3])}")
        return cls(sources, terms, plain["softmax_weighted"])

    def _cells_by_source(
        self, codes: Codes, stage: str, callback: Callback | None, known: Mapping[str, CellScores] | None
    ) -> dict[str, CellScores]:
        """The cells as each source sees them; one that several terms read looks at the rows once."""
        cells = dict(known or {})
        asked = dict.fromkeys(term.source for term in self.terms if term.source not in cells)
        return cells | {name: self.sources[name].cells(codes, stage=stage, callback=callback) for name in asked}


def shown_surprise(first: CellScores, others: Iterable[CellScores]) -> FloatArray:
    """The surprises of the first term's source, but in the fields that are another's own."""
    shown = first.surprise
    for cells in others:
        if cells.own_fields:
            shown = shown.copy()
            shown[:, cells.own_fields] = cells.surprise[:, cells.own_fields]
    return shown


def _deviation(score: FloatArray) -> float:
    """The standard deviation estimated from the mean absolute one, which a few normal rows far off hardly move."""
    return float(np.sqrt(np.pi / 2) * np.nanmean(np.abs(score - np.nanmean(score))))


@dataclass(frozen=True, eq=False)
class CellEvidence:
    """What every cell adds to its row's score, and its surprise in nats, each (N, F); `row` as in CellScores.

    `by_term` is what each term adds to the rows' scores, one column per term (NaN where a row was looked at once), and
    `looks` how many looks each row got (None: the whole grid alone). `log_odds` are those of single cells, (N, F),
    where they were needed on the way.
    """

    contributions: FloatArray
    surprise: FloatArray
    row: NDArray[np.int64] | None = None
    by_term: FloatArray | None = None
    looks: NDArray[np.int8] | None = None
    log_odds: FloatArray | None = None

    @property
    def score(self) -> FloatArray:
        """The rows' scores, one per row; NaN for a row without any cell."""
        return row_sums(self.contributions, self.row)
