"""The half of a table detector that reads columns of free text: what they say is one more term of its score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.detectors.split import RowSplit
from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.text_cells import TextCells, token_spans
from maskdiff.evidence import Evidence, EvidenceTerm, TextColumns
from maskdiff.evidence.texts.usual import TextChoice
from maskdiff.explanations import CellPlaces
from maskdiff.explanations.shading import Piece, excerpt, shade, strengths, to_plain

if TYPE_CHECKING:
    from maskdiff.detectors.verdicts import Verdicts

# The name of the source of evidence.
TEXTS = "texts"
# From more texts nothing more is learned about a language.
MOST_LEARNED = 20_000
# About so many characters of a text are shown among the reasons for an alarm.
MOST_SHOWN = 240
# A text contradicts another cell if that takes at least this much, in nats, and half of what makes the text odd.
_CONTRADICTS = math.log(4)


@dataclass(frozen=True, eq=False)
class TableChoice:
    """What rows that were not learned from decide: the number of nearest rows, and how texts are read.

    `repeat`: each of them, in a search most of them, is equal to all of its nearest rows.
    """

    k: int = 0
    repeat: bool = False
    texts: Mapping[str, TextChoice] = field(default_factory=dict)


class HeldTexts:
    """The texts of rows that come in parts: of all that are not learned from, and of enough of the others."""

    def __init__(self, split: RowSplit, seed: int) -> None:
        self.order = split.order
        self.kept = np.ones(len(self.order), np.bool_)
        spare = np.random.default_rng(seed).permutation(split.train)[MOST_LEARNED:]
        self.kept[spare] = False
        self.parts: list[Mapping[int, TextCells]] = []

    def add(self, codes: Codes, kept: BoolArray) -> None:
        """The next rows, and which of their texts are kept."""
        if codes.texts is not None:
            self.parts.append({at: cells.only(kept) for at, cells in codes.texts.items()})  # type: ignore[attr-defined]

    def joined(self) -> Mapping[int, TextCells] | None:
        """The texts of all rows in the order of the split; None where no column is text."""
        places = list(self.parts[0]) if self.parts else []
        return {at: TextCells.joined([part[at] for part in self.parts]).take(self.order) for at in places} or None


class TextEvidence:
    """Reads columns of free text."""

    evidence_: Evidence
    encoder_: Any
    preset: str | None
    _text_types: Mapping[str, Found]

    if TYPE_CHECKING:

        @property
        def requested_columns(self) -> Mapping[str, str] | None: ...

    @property
    def _reads_texts(self) -> bool:
        """Whether any column is free text, as far as `_look` could see."""
        requested = [COLUMN_TYPES[how] for how in (self.requested_columns or {}).values() if how in COLUMN_TYPES]
        found = [one.column_type for one in self._text_types.values()]
        return self.preset is None and any(one.is_free_text for one in (*requested, *found))

    def _choose_texts(self, codes: Codes, held_out: Codes) -> dict[str, TextChoice]:
        reads = codes.texts is not None and self.preset is None
        return TextColumns.choose(codes, held_out) if reads else {}

    def _with_texts(
        self, evidence: Evidence, codes: Codes, choices: Mapping[str, TextChoice], *, in_nats: bool
    ) -> Evidence:
        """The same evidence, and what the texts say: in nats a text counts as one of the row's cells.

        Otherwise texts are one more source, and count as much as the others do on average.
        """
        if not choices:
            return evidence
        if in_nats:
            term = EvidenceTerm(TEXTS, "mean", scale=len(codes.schema) / len(choices))
        else:
            weight = sum(one.weight for one in evidence.terms) / len(evidence.sources)
            term = EvidenceTerm(TEXTS, "mean", weight=weight)
        sources = {**evidence.sources, TEXTS: TextColumns.of(codes, choices)}
        return replace(evidence, sources=sources, terms=(*evidence.terms, term))

    def text_columns(self, evidence: Evidence | None = None) -> TextColumns | None:
        """The columns of free text that say something; None where there are none."""
        source = (evidence or self.evidence_).sources.get(TEXTS)
        return source if isinstance(source, TextColumns) else None

    def _with_text_odds(
        self, log_odds: FloatArray, codes: Codes, surprise: FloatArray | None = None, evidence: Evidence | None = None
    ) -> FloatArray:
        """The log odds of single cells; those of texts are their own surprise, looked up anew where it is not given."""
        source = self.text_columns(evidence)
        if source is None:
            return log_odds
        surprise = source.cells(codes, stage="calibrating").surprise if surprise is None else surprise
        log_odds = log_odds.copy()
        log_odds[:, source.fields] = surprise[:, source.fields]
        return log_odds

    # Showing ---------------------------------------------------------------------------------------------------------

    def text_pieces(self, codes: Codes, at: int) -> list[list[Piece]]:
        """The texts of these rows in this field in pieces that say how odd they are; a missing one has none."""
        source = self.text_columns()
        column = None if source is None else source.columns.get(codes.schema.names[at])
        assert codes.texts is not None
        texts = codes.texts[at].array.to_pylist()  # type: ignore[attr-defined]
        if column is None:
            return [[] if text is None else [Piece(text, 0.0)] for text in texts]
        found = column.token_parts(codes)
        shares = [strengths(parts) for _, parts in found]
        return [
            [] if text is None else shade(text, token_spans(text, tokens), share.tolist())
            for text, (tokens, _), share in zip(texts, found, shares, strict=True)
        ]

    def _shown_values(self, X: Any, row: NDArray[np.int64], place: NDArray[np.int64], codes: Codes) -> list[str]:
        """These cells as texts; of free text the odd parts, in brackets, and what is around them."""
        values: list[str] = self.encoder_.display(X, row, place)
        for at in codes.texts or ():
            cells = np.flatnonzero(place == at)
            pieces = self.text_pieces(codes.take(row[cells]), at) if len(cells) else []
            for cell, text in zip(cells.tolist(), pieces, strict=True):
                values[cell] = to_plain(excerpt(text, MOST_SHOWN)) if text else values[cell]
        return values

    def _says_something(
        self, codes: Codes, cells: CellPlaces, expected: NDArray[np.int64], probability: FloatArray
    ) -> BoolArray | None:
        """All expected values but a text, where there is one."""
        if codes.texts is None:
            return None
        named: BoolArray = ~np.isin(cells.field, list(codes.texts)) | (codes.values[cells.row, cells.field] != expected)
        return named

    def _text_contradicts(
        self, row: NDArray[np.int64], place: NDArray[np.int64], verdicts: Verdicts
    ) -> NDArray[np.int64]:
        """The field that each of these cells, if it is a text, contradicts, (C,); -1 for none."""
        found, codes, source = np.full(len(row), -1, np.int64), verdicts.codes, self.text_columns()
        for name, column in {} if source is None else source.columns.items():
            cells = np.flatnonzero(place == codes.schema.names.index(name))
            if len(cells):
                columns, nats = column.contradicted(codes.take(row[cells]))
                enough = (nats >= _CONTRADICTS) & (2 * nats >= verdicts.surprise[row[cells], column.at])
                places = [codes.schema.names.index(other) if other else -1 for other in columns]
                found[cells] = np.where(enough, places, -1)
        return found
