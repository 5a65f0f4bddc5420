"""Several kinds of evidence about a row, put on one scale by normal rows and added.

A source looks at rows and gives every cell a surprise and a weight; an aggregate turns a row's cells into one number
and shares it out again. A kind of evidence is a source read through an aggregate. Alone it is taken as it is. Several
are each divided by their standard deviation over held-out normal rows and averaged, so the score then counts standard
deviations instead of nats. Where each sees what the others cannot, a row heeds the oddest instead. Either way the
contributions add up to the score. N rows, F fields, K kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from maskdiff.codes import Codes, FloatArray
from maskdiff.encoders.tokens.text import TextWindows
from maskdiff.evidence.nearest_rows import NearestRows
from maskdiff.evidence.nearest_texts import NearestTexts
from maskdiff.masking import Schedule
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors.base import Reconstructor
from maskdiff.score import CellScores, Typical, row_sums, score_cells


class Source(Protocol):
    """Whatever can say how odd each cell of a row is."""

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F)."""

    def left_out(self) -> Source:
        """The same for rows that are among the normal rows, each as if it were not."""


@dataclass(frozen=True, eq=False)
class MaskedSurprise:
    """What a reconstructor finds when the rows are probed. `own` = 1: each row as left out of the normal rows."""

    reconstructor: Reconstructor
    probes: ProbeGrid
    schedule: Schedule
    device: Any = "cpu"
    own: int = 0

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        where = {"probes": self.probes, "schedule": self.schedule, "device": self.device, "own": self.own}
        return score_cells(self.reconstructor, codes, callback=callback, stage=stage, **where)

    def left_out(self) -> MaskedSurprise:
        """The same where the reconstructor can leave a row out."""
        return replace(self, reconstructor=self.reconstructor.left_out(), own=1)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Distances:
    """Where a row differs from its nearest normal rows."""

    neighbours: NearestRows

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        differences = self.neighbours.differences(codes)
        return CellScores(differences, np.full_like(differences, 1 / max(differences.shape[1], 1)))

    def left_out(self) -> Distances:
        """Distances are only taken from rows that were held out."""
        return self


@dataclass(frozen=True, eq=False)
class Meanings:
    """Which words take a text away from the normal texts that are nearest to it in meaning."""

    nearest: NearestTexts

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        assert isinstance(codes, TextWindows)
        distances = self.nearest.distances(codes, stage=stage, callback=callback)
        n_tokens = codes.row_lengths[codes.row][:, None]
        weight = codes.counts / np.maximum(n_tokens, 1)
        return CellScores(np.where(n_tokens > 0, distances * n_tokens, np.nan), weight, codes.row)

    def left_out(self) -> Meanings:
        """Distances are only taken from texts that were held out."""
        return self


@dataclass(frozen=True)
class EvidenceTerm:
    """A source, by name, read through an aggregate, divided by `scale` and moved by `shift`, which a row's cells share.

    `typical` steadies short rows. Among several kinds one counts as much as its `weight`.
    """

    source: str
    aggregate: str
    scale: float = 1.0
    typical: Typical | None = None
    shift: float = 0.0
    weight: float = 1.0

    def parts(self, seen: CellScores) -> FloatArray:
        """What each cell adds to its row's score, (N, F)."""
        own = seen.contributions(self.aggregate, self.typical) / self.scale
        shifted: FloatArray = own + self.shift * seen.weight
        return shifted


@dataclass(frozen=True, eq=False)
class Evidence:
    """The sources a detector asks and the kinds of evidence it weighs; the first one's surprises are shown to users.

    The score is the sum of the kinds, or with `oddest` their mean with weights exp(score): the kind that finds a row
    odd is not drowned by one that does not.
    """

    sources: Mapping[str, Source]
    kinds: tuple[EvidenceTerm, ...]
    oddest: bool = False

    def weigh(self, codes: Codes, *, stage: str = "scoring", callback: Callback | None = None) -> CellEvidence:
        """Each cell's part in the score, and its surprise."""
        seen = self._ask(codes, stage, callback)
        parts = [kind.parts(seen[kind.source]) for kind in self.kinds]
        first = seen[self.kinds[0].source]
        by_kind = np.stack([row_sums(part, first.row) for part in parts], axis=1)
        if self.oddest:
            heeded_NK = softmax(by_kind, axis=1)
            of_cells = heeded_NK if first.row is None else heeded_NK[first.row]
            parts = [part * of_cells[:, k, None] for k, part in enumerate(parts)]
            by_kind = by_kind * heeded_NK
        total: FloatArray = np.sum(parts, axis=0)
        return CellEvidence(total, first.surprise, first.row, by_kind)

    def left_out(self) -> Evidence:
        """The same for rows that are among the normal rows, each as if it were not."""
        return replace(self, sources={name: source.left_out() for name, source in self.sources.items()})

    def on_one_scale(self, held_out: Codes, *, callback: Callback | None = None) -> Evidence:
        """Each kind scaled so that over held-out normal rows it deviates by its weight in the mean of all.

        Where the oddest is heeded, all have the same mean there too.
        """
        seen = self._ask(held_out, "calibrating", callback)
        told = []
        for kind in self.kinds:
            score = row_sums(kind.parts(seen[kind.source]), seen[kind.source].row)
            # No less than if one row were off by a nat, or in all its cells: of so many rows more cannot be known.
            deviation = max(_deviation(score), 1 / max(len(score), 1))
            told.append((kind, deviation, float(np.nanmean(score)) / deviation))
        if not self.oddest:
            whole = sum(kind.weight for kind in self.kinds)
            return replace(self, kinds=tuple(replace(kind, scale=by * whole / kind.weight) for kind, by, _ in told))
        middle = float(np.mean([mean for *_, mean in told]))
        return replace(self, kinds=tuple(replace(kind, scale=by, shift=middle - mean) for kind, by, mean in told))

    def _ask(self, codes: Codes, stage: str, callback: Callback | None) -> dict[str, CellScores]:
        """What each source says; one that several kinds read is asked once."""
        asked = {kind.source: self.sources[kind.source] for kind in self.kinds}
        return {name: source.cells(codes, stage=stage, callback=callback) for name, source in asked.items()}


def _deviation(score: FloatArray) -> float:
    """The standard deviation as the mean absolute one tells it, which a few normal rows far off hardly move."""
    return float(np.sqrt(np.pi / 2) * np.nanmean(np.abs(score - np.nanmean(score))))


@dataclass(frozen=True, eq=False)
class CellEvidence:
    """What every cell adds to its row's score, and its surprise in nats, each (N, F); `row` as in CellScores.

    `by_kind` is what each kind of evidence adds to the rows' scores, one column per kind.
    """

    contributions: FloatArray
    surprise: FloatArray
    row: NDArray[np.int64] | None = None
    by_kind: FloatArray | None = None

    @property
    def score(self) -> FloatArray:
        """The rows' scores, one per row; NaN for a row without any cell."""
        return row_sums(self.contributions, self.row)
