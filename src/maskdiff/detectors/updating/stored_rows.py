"""Rows as a model keeps them: their codes one after the other, whether they are rows of a table or of tokens.

N rows, T cells of all rows together, U cells with a value that had not been seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.codes.windows import Windows, cut_rows, ranges
from maskdiff.encoders.base import UnseenValue
from maskdiff.encoders.table.text_cells import TextCells
from maskdiff.encoders.tokens.symbols import symbol_from_state, symbol_to_state
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names

# The place of a field, and the text of each row there; None where there is none.
Texts = Mapping[int, tuple[str | None, ...]]


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Codes (T,) of this schema and how many each row has (N,); of a table each row has one for every field.

    `unseen` (U,) is what the cells hold whose code is *unseen*, in order: they get a code once their value has one.
    `texts`, each (N,), are kept by field where some evidence reads the texts themselves.
    """

    schema: Schema
    values: IntArray
    lengths: NDArray[np.int64]
    unseen: tuple[UnseenValue, ...] = ()
    texts: Texts | None = None

    @classmethod
    def none(cls, schema: Schema) -> StoredRows:
        return cls(schema, np.empty(0, schema.code_dtype), np.empty(0, np.int64))

    @classmethod
    def of(cls, codes: Codes, unseen: Sequence[UnseenValue] = (), *, with_texts: bool = False) -> StoredRows:
        """The rows of these codes; of tokens only rows that hold some."""
        texts = texts_of(codes) if with_texts else None
        if not isinstance(codes, Windows):
            lengths = np.full(len(codes), codes.values.shape[1], dtype=np.int64)
            return cls(codes.schema, codes.values.reshape(-1), lengths, tuple(unseen), texts)
        stored = cls(codes.schema, codes.values[codes.counts], codes.row_lengths, tuple(unseen), texts)
        return stored.take(np.flatnonzero(stored.lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def is_known(self) -> BoolArray:
        """Which rows hold nothing but values that have a code, shape (N,)."""
        row = np.repeat(np.arange(len(self)), self.lengths)
        known: BoolArray = np.bincount(row[self._unseen_cells], minlength=len(self)) == 0
        return known

    @property
    def _fields(self) -> NDArray[np.int64]:
        """The field of each cell, shape (T,)."""
        return np.resize(np.arange(len(self.schema)), len(self.values))

    @property
    def _unseen_cells(self) -> BoolArray:
        return np.asarray(self.values == self.schema.sizes[self._fields])

    def take(self, rows: IntArray) -> StoredRows:
        """These rows, in this order; one may be there more than once."""
        first = np.cumsum(self.lengths) - self.lengths
        values = self.values[ranges(first[rows], self.lengths[rows])]
        texts = None
        if self.texts is not None:
            texts = {at: tuple(own[row] for row in rows.tolist()) for at, own in self.texts.items()}
        return replace(self, values=values, lengths=self.lengths[rows], unseen=self._unseen_of(rows), texts=texts)

    def _unseen_of(self, rows: IntArray) -> tuple[UnseenValue, ...]:
        if not self.unseen:
            return ()
        row = np.repeat(np.arange(len(self)), self.lengths)[self._unseen_cells]
        first, last = (np.searchsorted(row, rows, side=side) for side in ("left", "right"))
        return tuple(self.unseen[at] for at in ranges(first, last - first).tolist())

    def joined(self, other: StoredRows) -> StoredRows:
        """These rows, then others of the same schema."""
        texts = None
        if self.texts is not None and other.texts is not None:
            texts = {at: (*own, *other.texts[at]) for at, own in self.texts.items()}
        return replace(
            self,
            values=np.concatenate([self.values, other.values]),
            lengths=np.concatenate([self.lengths, other.lengths]),
            unseen=(*self.unseen, *other.unseen),
            texts=texts,
        )

    def moved(self, change: SchemaChange, encoder: Any) -> StoredRows:
        """The same rows with the codes of the changed schema; values that have a code by now get it."""
        values = np.empty(len(self.values), dtype=change.after.code_dtype)
        for at, places in enumerate(change.places):
            values[at :: len(self.schema)] = places[self.values[at :: len(self.schema)]]
        moved = replace(self, schema=change.after, values=values)
        if not self.unseen:
            return moved
        cells = np.flatnonzero(moved._unseen_cells)
        codes, _ = encoder.codes_of(moved._fields[cells], self.unseen)
        values[cells] = codes
        still = codes == change.after.sizes[moved._fields[cells]]
        return replace(moved, unseen=tuple(value for value, kept in zip(self.unseen, still, strict=True) if kept))

    def codes(self, encoder: Any) -> Codes:
        """The rows as they are scored, with what numbers beyond the range cost more."""
        if encoder.parts == "columns":
            shape = (len(self), len(self.schema))
            excess = self._excess(encoder, shape)
            return Codes(self.values.reshape(shape), self.schema, excess=excess, texts=cells_of(self.texts))
        if self.texts is not None:
            encoded: Codes = encoder.encode(list(self.texts[0]))
            return encoded
        window = {"max_length": encoder.max_length, "overlap": encoder.overlap}
        return cut_rows(self.values, self.lengths, self.schema, **window)

    def _excess(self, encoder: Any, shape: tuple[int, int]) -> FloatArray | None:
        if not self.unseen:
            return None
        cells, excess = np.flatnonzero(self._unseen_cells), np.zeros(len(self.values))
        excess[cells] = encoder.codes_of(self._fields[cells], self.unseen)[1]
        return excess.reshape(shape) if excess.any() else None

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What no code stands for as plain values, the codes in as few bytes as they need."""
        small = torch.from_numpy(self.values.astype(np.int32))
        small = small.to(torch.uint8) if int(self.values.max(initial=0)) < 256 else small
        tensors = {"codes": small, "lengths": torch.from_numpy(self.lengths.astype(np.int32))}
        unseen = [[symbol_to_state(one) for one in value] for value in self.unseen]
        texts = None if self.texts is None else [[at, list(own)] for at, own in sorted(self.texts.items())]
        return {"unseen": unseen, "texts": texts}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, schema: Schema, *, of_tokens: bool) -> StoredRows:
        """The rows that `to_state` described, if all of their codes are the schema's."""
        check(isinstance(plain, dict) and set(plain) == {"unseen", "texts"}, "the rows it keeps are not described")
        check_names(tensors, "codes", "lengths")
        codes, lengths = tensors["codes"], tensors["lengths"]
        check(codes.dtype in (torch.uint8, torch.int32) and codes.ndim == 1, "the rows it keeps have no codes")
        check(lengths.dtype == torch.int32 and lengths.ndim == 1, "the rows it keeps have no lengths")
        values, sizes = codes.numpy().astype(np.int64), lengths.numpy().astype(np.int64)
        fitting = (sizes > 0).all() if of_tokens else (sizes == len(schema)).all()
        check(bool(fitting) and sizes.sum() == len(values), "the rows it keeps have the wrong lengths")
        rows = cls(schema, values.astype(schema.code_dtype), sizes)
        inside = (values >= 0) & (values <= schema.sizes[rows._fields])
        check(bool(inside.all()), "the rows it keeps hold codes that their columns do not have")
        unseen = plain["unseen"]
        complete = isinstance(unseen, list) and len(unseen) == int(rows._unseen_cells.sum())
        check(complete and all(isinstance(one, list) and len(one) < 2 for one in unseen), "its unseen values are wrong")
        values_of: Any = tuple(tuple(symbol_from_state(part) for part in one) for one in unseen)
        return replace(rows, unseen=values_of, texts=_checked_texts(plain["texts"], rows))


def texts_of(codes: Codes) -> Texts | None:
    """The texts behind these codes, by field."""
    if isinstance(codes, TokenWindows):
        return {0: tuple(codes.tokens.texts.tolist())}
    return None if codes.texts is None else {at: tuple(one.array.to_pylist()) for at, one in codes.texts.items()}  # type: ignore[attr-defined]


def cells_of(texts: Texts | None) -> dict[int, TextCells] | None:
    """The texts of columns of a table as they are encoded."""
    return None if texts is None else {at: TextCells(pa.array(own, pa.large_string())) for at, own in texts.items()}


def _checked_texts(plain: Any, rows: StoredRows) -> Texts | None:
    if plain is None:
        return None
    listed = isinstance(plain, list) and all(isinstance(one, list) and len(one) == 2 for one in plain)
    check(listed and len(plain) > 0, "its texts are wrong")
    places, columns = [one[0] for one in plain], [one[1] for one in plain]
    check(all(fits(at, int) and 0 <= at < len(rows.schema) for at in places), "its texts are of no column")
    check(all(isinstance(own, list) and len(own) == len(rows) for own in columns), "its texts are not as many as rows")
    check(all(isinstance(text, str | None) for own in columns for text in own), "its texts are no texts")
    return {at: tuple(own) for at, own in zip(places, columns, strict=True)}
