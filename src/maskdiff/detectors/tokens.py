"""Detectors of token rows: lists of symbols, and texts. The same path as for tables; a cell is a token at its place.

A row without tokens (an empty text, a missing one) holds no evidence: its score is NaN, its p-value is 1, it is never
an alarm at any rate, and a NoEvidenceWarning names it. Such rows are left out of learning.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.cascade import ALARMS, RANKING, token_look
from maskdiff.codes import Codes, FloatArray
from maskdiff.codes.hashes import Hashes
from maskdiff.codes.windows import Windows
from maskdiff.detectors.base import Detector
from maskdiff.detectors.efforts import LearnedLooks
from maskdiff.detectors.finding.ties import value_keys
from maskdiff.detectors.labels import labelled
from maskdiff.detectors.learning import MAIN, Batches
from maskdiff.detectors.settings import Presets
from maskdiff.detectors.split import RowSplit
from maskdiff.detectors.verdicts import TokenVerdicts, Verdicts
from maskdiff.encoders.tokens.encoder import TokenEncoder
from maskdiff.encoders.tokens.input import joined
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.errors import InputError, NoEvidenceWarning, SettingError
from maskdiff.evidence import CellEvidence, Evidence, EvidenceTerm
from maskdiff.explanations import OddCells, odd_cells
from maskdiff.explanations.shading import Piece, shade, strengths
from maskdiff.explanations.token_groups import TokenGroups
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import (
    KernelReconstructor,
    MLPReconstructor,
    TransformerReconstructor,
)
from maskdiff.score import Typical, row_sums

_MOST_NAMED = 5
# So many rows that were learned from say what is usual for a first look, where none are kept to tune.
_ROWS_LOOKED_AT = 500
DEFAULT_LENGTH, DEFAULT_OVERLAP = 256, 64
AUTO = "auto"


class TokenDetector(Detector):
    """What detectors of token rows share.

    Learned beside what every detector learns: `empty_rows_`, the numbers of the rows without tokens at fit.
    """

    column: str | None
    max_length: int | None
    overlap: int | None

    encoder_: TokenEncoder

    _verdicts = TokenVerdicts
    _own_aggregates = (AUTO,)
    _presets: Presets = {  # noqa: RUF012
        None: {"transformer": (TransformerReconstructor, ProbeGrid(PAPER_LEVELS, 4, fewer_views_beyond=64))},
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

    def _encode(self, batches: Batches, split: RowSplit) -> tuple[Codes, Codes, Codes]:
        rows = joined(batches())
        self.encoder_ = self._new_encoder()
        places = (split.train, split.tuning, split.calibration)
        train = self.encoder_.fit_encode(rows.take(split.train))
        tuning, calibration = (self.encoder_.encode(rows.take(place)) for place in places[1:])
        parts = (train, tuning, calibration)
        empty = [place[codes.row_lengths == 0] for place, codes in zip(places, parts, strict=True)]
        self.empty_rows_ = np.sort(rows.rows[np.concatenate(empty)])
        _warn_of_empty(self.empty_rows_, "they are left out")
        if len(split.calibration):
            _check_any_token(calibration, "calibrate")
        if len(split.tuning):
            _check_any_token(tuning, "tune")
        train = train.take(np.flatnonzero(train.counts.any(axis=1)))
        self._unseen = [
            value for codes in (tuning, calibration) for value in self.encoder_.unseen_values(codes.tokens, codes)
        ]
        if self._fits_on_texts():
            return train, tuning, calibration
        # Tokens take far more memory than codes, for as long as the training runs.
        return train.without_tokens(), tuning.without_tokens(), calibration.without_tokens()

    def _row_keys(self, batches: Batches) -> Hashes:
        return value_keys(value for rows in batches() for value in rows.values)

    def _tunes(self, reconstructor: Any) -> bool:
        return self._steadies or super()._tunes(reconstructor)

    @property
    def _steadies(self) -> bool:
        """Whether short rows are judged with typical tokens besides their own: never in the paper."""
        return self.aggregate == AUTO and self.preset is None

    def _evidence(self, codes: Codes, choice: Any) -> Evidence:
        source = self.masked_surprise(self.reconstructor_, self.probes_)
        return Evidence({MAIN: source}, (EvidenceTerm(MAIN, "mean" if self.aggregate == AUTO else self.aggregate),))

    def _gather(
        self, codes: Codes, tuning: Codes, callback: Callback | None, *, looks: bool = False
    ) -> tuple[Evidence, LearnedLooks]:
        if not self._steadies:
            evidence, _ = super()._gather(codes, tuning, callback)
            if not looks or not self._bare_looks(evidence):
                return evidence, {}
            # No rows are kept to tune. Those that were learned from look a little too normal: more rows pass.
            some = self._some_rows(codes)
            return evidence, self._learn_looks(evidence, some, evidence.weigh(some).score)
        source = self.masked_surprise(self.reconstructor_, self.probes_)
        cells = source.cells(tuning, stage="calibrating", callback=callback)
        term = EvidenceTerm(MAIN, "rms", typical=Typical.of(cells, "rms"))
        evidence = Evidence({MAIN: source}, (term,))
        scores = row_sums(term.parts(cells), cells.row)
        return evidence, self._learn_looks(evidence, tuning, scores) if looks else {}

    def _some_rows(self, codes: Codes) -> Codes:
        """A few of the rows that were learned from."""
        assert isinstance(codes, Windows)
        rows = np.random.default_rng(self.seed).permutation(np.unique(codes.row))[:_ROWS_LOOKED_AT]
        return codes.take_rows(np.sort(rows))

    def _bare_looks(self, evidence: Evidence) -> dict[str, Evidence]:
        look = None if self.preset is not None else token_look(evidence, MAIN)
        return {} if look is None else {RANKING: look, ALARMS: look}

    def _window(self, most: int | None = None) -> tuple[int, int]:
        """max_length and overlap; where not set, the default, or less if the reconstructor cannot see so far."""
        limit = DEFAULT_LENGTH if most is None else most
        length = min(DEFAULT_LENGTH, limit) if self.max_length is None else self.max_length
        if most is not None and length > most:
            raise SettingError(f"the reconstructor sees at most {most} tokens at once; got max_length={length}.")
        return length, min(DEFAULT_OVERLAP, length // 4) if self.overlap is None else self.overlap

    # Scoring ---------------------------------------------------------------------------------------------------------

    def contributions(self, X: Any) -> FloatArray:
        """What each token adds to its row's score, shape (n, tokens of the longest row); 0 beyond a row's end.

        NaN for a row without tokens.
        """
        codes, cells = self._scored(X)
        dense = np.zeros((codes.n_rows, max(1, codes.row_lengths.max(initial=0))))
        line, cell = np.nonzero(codes.counts)
        dense[codes.row[line], codes.start[line] + cell] = cells.contributions[line, cell]
        dense[codes.row_lengths == 0] = np.nan
        return dense

    def _scored(self, X: Any) -> tuple[TokenWindows, CellEvidence]:
        codes, cells = super()._scored(X)
        assert isinstance(codes, TokenWindows)
        _warn_of_empty(np.flatnonzero(codes.row_lengths == 0), "their scores are NaN and their p-values 1")
        return codes, cells

    # Explaining ------------------------------------------------------------------------------------------------------

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The `top` tokens that carry each row's score, as a pandas DataFrame with one line per token.

        Columns as for tables, and behind `column` where the token is: see the detector. The pieces of one new word are
        one line. `expected` is empty in texts where no word was likely, or one that is likely anywhere. Where
        `verdicts` are given, the rows are taken from them.
        """
        if top < 1:
            raise SettingError(f"top must be at least 1; got {top}.")
        verdicts = verdicts or self.judge(X)
        verdicts = self._by_whole_grid(verdicts)
        codes = _with_tokens(verdicts)
        groups = TokenGroups.of(codes)
        cells = _strongest(odd_cells(groups.combine(verdicts.contributions), top), codes, verdicts.anomaly_score, top)
        row, spans = codes.row[cells.row], groups.spans(codes, cells.row, cells.field)
        values = codes.tokens.slices(row, spans)
        surprise = groups.combine(verdicts.surprise, np.maximum)
        table = self._explanation(cells, surprise, codes, self.expected_codes(codes, cells), values)
        table["row"] = row
        places = {"position": codes.start[cells.row] + cells.field, "start": spans[:, 0], "end": spans[:, 1]}
        for at, name in enumerate(self.encoder_.places, start=2):
            table.insert(at, name, places[name])
        return labelled(table, verdicts.labels)

    def shaded(self, X: Any, *, verdicts: Verdicts | None = None) -> list[list[Piece]]:
        """Every row as text in pieces, each with how odd it is among its tokens: see `explanations.shading`.

        Where `verdicts` are given, the rows are taken from them.
        """
        verdicts = verdicts or self.judge(X)
        verdicts = self._by_whole_grid(verdicts)
        codes = _with_tokens(verdicts)
        groups = TokenGroups.of(codes)
        line, cell = np.nonzero(codes.counts & groups.is_first)
        spans, added = groups.spans(codes, line, cell), groups.combine(verdicts.contributions)[line, cell]
        cuts = np.searchsorted(codes.row[line], np.arange(1, codes.n_rows))
        of_rows = zip(codes.tokens.texts, np.split(spans, cuts), np.split(added, cuts), strict=True)
        return [shade(text, own.tolist(), strengths(of_tokens)) for text, own, of_tokens in of_rows]

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


def _with_tokens(verdicts: Verdicts) -> TokenWindows:
    assert isinstance(verdicts.codes, TokenWindows)
    return verdicts.codes


def _check_any_token(codes: Windows, purpose: str) -> None:
    if not codes.row_lengths.any():
        raise InputError(f"none of the rows held out to {purpose} holds a single token; fit on more normal rows.")


def _warn_of_empty(rows: NDArray[np.int64], so: str) -> None:
    if not len(rows):
        return
    named = ", ".join(map(str, rows[:_MOST_NAMED])) + (", ..." if len(rows) > _MOST_NAMED else "")
    n = f"{len(rows)} rows hold" if len(rows) > 1 else "1 row holds"
    warnings.warn(f"{n} no tokens, so no evidence: {so}. Rows {named}.", NoEvidenceWarning, stacklevel=4)
