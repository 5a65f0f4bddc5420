"""Detectors of token rows: lists of symbols, and text. The same path as for tables; a cell is a token at its place.

A row without tokens (an empty text, a missing one) holds no evidence: its score is NaN, its p-value 1, it is no
anomaly, and a NoEvidenceWarning names it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, FloatArray, IntArray
from maskdiff.codes.windows import Windows
from maskdiff.detectors.base import MAIN, Batches, Detector, Presets
from maskdiff.detectors.verdicts import TokenVerdicts, Verdicts
from maskdiff.encoders.tokens.input import joined
from maskdiff.encoders.tokens.sequence import TokenEncoder
from maskdiff.errors import InputError, NoEvidenceWarning, SettingError
from maskdiff.evidence import CellEvidence, Evidence, EvidenceTerm
from maskdiff.explanations import OddCells, odd_cells
from maskdiff.explanations.shading import Piece, shade, strengths
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import (
    KernelReconstructor,
    MLPReconstructor,
    TransformerReconstructor,
)
from maskdiff.score import Typical

_MOST_NAMED = 5
DEFAULT_LENGTH, DEFAULT_OVERLAP = 256, 64
AUTO = "auto"


class TokenDetector(Detector):
    """What detectors of token rows share."""

    column: str | None
    max_length: int | None
    overlap: int | None

    encoder_: TokenEncoder

    _verdicts = TokenVerdicts
    _own_aggregates = (AUTO,)
    _presets: Presets = {  # noqa: RUF012
        None: {"transformer": (TransformerReconstructor, ProbeGrid(PAPER_LEVELS, 4))},
        "paper": {"transformer": (TransformerReconstructor.paper, ProbeGrid(PAPER_LEVELS, 24, "independent", "zero"))},
    }

    # Learning --------------------------------------------------------------------------------------------------------

    def _read(self, X: Any) -> Any:
        return self._new_encoder().read(X)

    def _resolve(self) -> tuple[Any, ProbeGrid]:
        if isinstance(self.reconstructor, MLPReconstructor | KernelReconstructor):
            raise SettingError(
                f"{type(self.reconstructor).__name__} reads tables, whose fields each have values of their own; rows "
                "of tokens need a TransformerReconstructor or a PretrainedReconstructor."
            )
        return super()._resolve()

    def _codes(self, batches: Batches, train: IntArray, held_out: IntArray) -> tuple[Codes, Codes]:
        items = joined(batches())
        self.encoder_ = self._new_encoder().fit(items.take(train))
        codes, kept_back = self.encoder_.encode(items.take(train)), self.encoder_.encode(items.take(held_out))
        empty = [train[codes.row_lengths == 0], held_out[kept_back.row_lengths == 0]]
        _warn_of_empty(np.sort(items.rows[np.concatenate(empty)]), "they are left out")
        if not kept_back.row_lengths.any():
            raise InputError("none of the rows held out to calibrate holds a single token; fit on more normal rows.")
        return codes.take(np.flatnonzero(codes.counts.any(axis=1))), kept_back

    def _gather(self, codes: Codes, held_out: Codes, callback: Callback | None) -> Evidence:
        if self.aggregate != AUTO:
            return super()._gather(codes, held_out, callback)
        source = self.masked_surprise(self.reconstructor_, self.probes_)
        typical = Typical.of(source.cells(held_out, stage="calibrating", callback=callback), "rms")
        return Evidence({MAIN: source}, (EvidenceTerm(MAIN, "rms", typical=typical),))

    def _window(self, most: int | None = None) -> tuple[int, int]:
        """max_length and overlap; where not set, the default, or less if the reconstructor cannot see so far."""
        limit = DEFAULT_LENGTH if most is None else most
        length = min(DEFAULT_LENGTH, limit) if self.max_length is None else self.max_length
        if most is not None and length > most:
            raise SettingError(f"the reconstructor sees at most {most} tokens at once; got max_length={length}.")
        return length, min(DEFAULT_OVERLAP, length // 4) if self.overlap is None else self.overlap

    # Scoring ---------------------------------------------------------------------------------------------------------

    def contributions(self, X: Any) -> FloatArray:
        """What each token adds to its row's score, shape (n, tokens of the longest row); 0 beyond a row's end."""
        codes, cells = self._scored(X)
        dense = np.zeros((codes.n_rows, max(1, codes.row_lengths.max(initial=0))))
        line, field = np.nonzero(codes.counts)
        dense[codes.row[line], codes.start[line] + field] = cells.contributions[line, field]
        dense[codes.row_lengths == 0] = np.nan
        return dense

    def _scored(self, X: Any) -> tuple[Windows, CellEvidence]:
        codes, cells = super()._scored(X)
        assert isinstance(codes, Windows)
        _warn_of_empty(np.flatnonzero(codes.row_lengths == 0), "their scores are NaN and their p-values 1")
        return codes, cells

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The `top` tokens that carry each row's score, as a pandas DataFrame with one line per token.

        Columns as for tables, and behind `column` where the token stands: see the detector.
        """
        if top < 1:
            raise SettingError(f"top must be at least 1; got {top}.")
        verdicts = verdicts or self.judge(X)
        codes = verdicts.codes
        assert isinstance(codes, Windows)
        ends = self.word_ends(X, codes)
        together = _together(verdicts.contributions, ends)
        cells = _strongest(odd_cells(together, top), codes, verdicts.anomaly_score, top)
        row, position = codes.row[cells.row], codes.start[cells.row] + cells.field
        last = codes.start[cells.row] + ends[cells.row, cells.field]
        places, words = self._places(X, row, position, last)
        peak = _together(verdicts.surprise, ends, np.maximum)
        table = self._told(cells, peak, codes, lambda rows, fields: words)
        table["row"] = row
        for at, (name, values) in enumerate(places.items(), start=2):
            table.insert(at, name, values)
        return table

    def shaded(self, X: Any, *, verdicts: Verdicts | None = None) -> list[list[Piece]]:
        """Every row as text in pieces, each with how odd it is among its tokens: see `explanations.shading`."""
        verdicts = verdicts or self.judge(X)
        codes, items = verdicts.codes, self.encoder_.read(X)
        assert isinstance(codes, Windows)
        ends = self.word_ends(X, codes)
        together = _together(verdicts.contributions, ends)
        named = codes.counts & np.column_stack([np.full(len(ends), True), ends[:, 1:] != ends[:, :-1]])
        line, cell = np.nonzero(named)
        first, last = codes.start[line] + cell, codes.start[line] + ends[line, cell]
        rows = np.searchsorted(codes.row[line], np.arange(1, codes.n_rows))
        per_row = zip(*(np.split(told, rows) for told in (first, last, together[line, cell])), strict=True)
        pieces = []
        for text, spans, (heads, tails, added) in zip(
            self.encoder_.written(items), self.encoder_.spans(items), per_row, strict=True
        ):
            words = [(spans[i][0], spans[j][1]) for i, j in zip(heads.tolist(), tails.tolist(), strict=True)]
            pieces.append(shade(text, words, strengths(added)))
        return pieces

    def word_ends(self, X: Any, codes: Windows) -> NDArray[np.int64]:
        """For each cell the last one that is named together with it, shape (L, F); here each stands alone."""
        return np.broadcast_to(np.arange(codes.values.shape[1]), codes.values.shape)

    def _places(
        self, X: Any, rows: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> tuple[dict[str, Any], list[str]]:
        """Where tokens stand, as columns of an explanation, and the tokens in words."""
        return {"position": first}, self.encoder_.display(X, rows, first)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = True, False
        return tags


def _strongest(cells: OddCells, codes: Windows, scores: FloatArray, top: int) -> OddCells:
    """The `top` cells of each row, out of the strongest of each of its windows."""
    row = codes.row[cells.row]
    order = np.lexsort((-cells.contribution, row))
    first = np.searchsorted(row[order], row[order], side="left")
    kept = order[np.arange(len(order)) - first < top]
    contribution = cells.contribution[kept]
    return OddCells(cells.row[kept], cells.field[kept], contribution, contribution / scores[row[kept]])


def _together(values: FloatArray, ends: NDArray[np.int64], join: np.ufunc = np.add) -> FloatArray:
    """What cells that are named together come to, on the first of them, shape (L, F)."""
    joined = ends[:, :-1] == ends[:, 1:]
    if not joined.any():
        return values
    total = values.copy()
    for line, field in np.argwhere(joined)[::-1]:  # from the last piece of a word to its first
        total[line, field] = join(total[line, field], total[line, field + 1])
        total[line, field + 1] = 0.0
    return total


def _warn_of_empty(rows: NDArray[np.int64], so: str) -> None:
    if not len(rows):
        return
    named = ", ".join(map(str, rows[:_MOST_NAMED])) + (", ..." if len(rows) > _MOST_NAMED else "")
    n = f"{len(rows)} rows hold" if len(rows) > 1 else "1 row holds"
    warnings.warn(f"{n} no tokens, so no evidence: {so}. Rows {named}.", NoEvidenceWarning, stacklevel=4)
