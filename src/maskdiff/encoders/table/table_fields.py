"""TableFields: the fields that were learned from a table, and how rows of it become codes and texts.

First come the columns of the table, then the fields that are computed from dates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray, Schema
from maskdiff.encoders.base import UnseenValue
from maskdiff.encoders.table.cell_memory import CellMemory, CodedCell
from maskdiff.encoders.table.column_coder import CodeMeaning, ColumnCoder
from maskdiff.encoders.table.column_types import DateType, Key
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.derived import DerivedField, moments_of
from maskdiff.encoders.table.extension import ExtendedColumn, extended_column
from maskdiff.encoders.table.few_rows import MOST_ROWS, declared_cells
from maskdiff.encoders.table.input import Header, Table, check_names, column_of, read_table
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.encoders.table.replaced_cells import Copy, written_cells
from maskdiff.encoders.table.text_cells import TextCells
from maskdiff.encoders.table.unseen import cell_values, value_code
from maskdiff.errors import ModelFileError

Places = Sequence[int | str] | NDArray[Any]
T = TypeVar("T")


@dataclass(frozen=True)
class TableFields:
    """What was learned about the columns of a table.

    `left_out` says why a column has no field, `missing_shares` which share of the normal rows had no value, `missing`
    which texts mean that, and `ignored` which other columns may be there or not.
    """

    header: Header
    coders: list[ColumnCoder]
    derived: list[DerivedField]
    left_out: dict[str, str]
    missing_shares: dict[str, float]
    missing: MissingTexts
    ignored: Collection[str] = ()

    @cached_property
    def schema(self) -> Schema:
        return Schema((*(coder.field for coder in self.coders), *(one.field for one in self.derived)))

    @property
    def columns(self) -> list[str]:
        """The columns of a table that are read; the other fields are computed from them."""
        return [coder.field.name for coder in self.coders]

    def encode(self, X: Any) -> Codes:
        """The codes of any rows, shape (n, F). A cell's code depends on that cell alone."""
        table = read_table(X)
        places = self._places(table)
        values = np.empty((table.n_rows, len(self.schema)), dtype=self.schema.code_dtype)
        beyond: dict[int, FloatArray] = {}
        texts: dict[int, TextCells] = {}
        memories = self._memories if table.rows is None and table.n_rows <= MOST_ROWS else {}
        known = _remembered(memories, table, places)
        for at, cells in known.items():
            values[:, at] = [code for code, _ in cells]
            if any(more for _, more in cells):
                beyond[at] = np.array([more for _, more in cells])
        for at, (coder, column) in self._numbered_fields(table, places, known):
            codes = coder.encode(column)
            values[:, at] = codes
            excess = coder.excess(column, codes)
            if excess is not None:
                beyond[at] = excess
            if coder.column_type.is_free_text:
                texts[at] = TextCells.of(column)
            elif at in memories:
                memories[at].remember(*declared_cells(table.raw, places[coder.field.name]), codes, excess)
        excess = _side_by_side(beyond, values.shape) if beyond else None
        return Codes(values, self.schema, excess=excess, texts=texts or None)

    @cached_property
    def _memories(self) -> dict[int, CellMemory]:
        """The cells read before, of the columns that nothing but their codes is needed of."""
        missing_numbers, sources = bool(self.missing.also), self._sources
        return {
            at: CellMemory.of(coder, missing_numbers=missing_numbers)
            for at, coder in enumerate(self.coders)
            if coder.field.name not in sources and not coder.column_type.is_free_text
        }

    def __getstate__(self) -> dict[str, Any]:
        """All but the cells that were read: a copy that is written down holds no rows that were only scored."""
        return {name: value for name, value in self.__dict__.items() if name != "_memories"}

    @property
    def _sources(self) -> set[str]:
        """The columns that other fields are computed from."""
        return {source for one in self.derived for source in one.derivation.sources}

    def _column(self, table: Table, place: int, name: str) -> Column:
        return self.missing.applied(column_of(table, place, name))

    def _fields(self, table: Table, places: Mapping[str, int]) -> Iterator[tuple[ColumnCoder | DerivedField, Column]]:
        """Every field of the schema with its column: first those of the table, then those computed from dates."""
        return (field for _, field in self._numbered_fields(table, places))

    def _numbered_fields(
        self, table: Table, places: Mapping[str, int], known: Collection[int] = ()
    ) -> Iterator[tuple[int, tuple[ColumnCoder | DerivedField, Column]]]:
        """The fields with their places in the schema, without those that are known."""
        sources, moments = self._sources, {}
        for at, coder in enumerate(self.coders):
            if at in known:
                continue
            column = self._column(table, places[coder.field.name], coder.field.name)
            if coder.field.name in sources:
                moments[coder.field.name] = moments_of(coder, column)
            yield at, (coder, column)
        for at, one in enumerate(self.derived, start=len(self.coders)):
            yield at, (one, one.column(moments))

    def _field(self, table: Table, places: Mapping[str, int], at: int) -> tuple[ColumnCoder | DerivedField, Column]:
        """One field of the schema with its column; of the others only those are read that it is computed from."""
        if at < len(self.coders):
            name = self.coders[at].field.name
            return self.coders[at], self._column(table, places[name], name)
        one = self.derived[at - len(self.coders)]
        dates = [coder for coder in self.coders if coder.field.name in one.derivation.sources]
        columns = [self._column(table, places[coder.field.name], coder.field.name) for coder in dates]
        moments = map(moments_of, dates, columns)
        return one, one.column({coder.field.name: ticks for coder, ticks in zip(dates, moments, strict=True)})

    def display(self, X: Any, rows: ArrayLike, fields: Places) -> list[str]:
        """The cells of `X` as a person reads them, one for each pair of a row and a field (a name or its position)."""
        return self._of_cells(X, rows, fields, lambda coder, column: coder.column_type.display(column))

    def notes(self, X: Any, rows: ArrayLike, fields: Places) -> list[str]:
        """What there is to say about these cells besides their values; mostly nothing, an empty text."""
        return self._of_cells(X, rows, fields, lambda coder, column: coder.notes(column))

    def meant(self, X: Any, rows: ArrayLike, fields: Places) -> list[tuple[int, ...]]:
        """The codes of the values that these cells may stand for, being slips of the keyboard; mostly none."""
        return self._of_cells(X, rows, fields, lambda coder, column: coder.meant(column))

    def values_of(self, fields: IntArray, codes: IntArray) -> list[tuple[Key, str] | CodeMeaning]:
        """What each of these codes stands for in its field; see `ColumnCoder.value_of`."""
        pairs = zip(fields.tolist(), codes.tolist(), strict=True)
        return [self.coders[j].value_of(code) if j < len(self.coders) else CodeMeaning.COMPUTED for j, code in pairs]

    def replaced(self, X: Any, rows: IntArray, fields: IntArray, codes: IntArray) -> tuple[Any, BoolArray]:
        """A copy of X in which these cells hold what these codes stand for, and which of them do in the end."""
        values, places = self.values_of(fields, codes), self._places(read_table(X))
        single = np.array([not isinstance(value, CodeMeaning) for value in values], dtype=np.bool_)
        table, done = Copy(X), np.zeros(len(values), dtype=np.bool_)
        for j in np.unique(fields[single]).tolist():
            here, coder = np.flatnonzero(single & (fields == j)), self.coders[j]
            place, wanted = places[coder.field.name], codes[here]

            def reads(changed: Copy, at: IntArray, coder: Any = coder, place: int = place, wanted: Any = wanted) -> Any:
                """Whether the cells that were written are read as these codes."""
                column = self._column(read_table(changed.X).take(at), place, coder.field.name)
                return coder.encode(column) == wanted

            cells = [value for at in here.tolist() if not isinstance(value := values[at], CodeMeaning)]
            table, done[here] = written_cells(table, place, rows[here], cells, reads)
        return table.X, done

    def _of_cells(
        self,
        X: Any,
        rows: ArrayLike,
        fields: Places,
        of_cells: Callable[[ColumnCoder | DerivedField, Column], list[T]],
    ) -> list[T]:
        """What there is to say for each pair of a row and a field; the cells of a field are looked at together."""
        table = read_table(X)
        places = self._places(table)
        number = {name: j for j, name in enumerate(self.schema.names)}
        which = np.array([number[field] if isinstance(field, str) else field for field in fields], dtype=np.int64)
        at, found = np.asarray(rows, dtype=np.int64), np.empty(len(which), dtype=object)
        for j in np.unique(which).tolist():
            here = np.flatnonzero(which == j)
            for place, one in zip(here, of_cells(*self._field(table.take(at[here]), places, j)), strict=True):
                found[place] = one
        return list(found)

    def extended(self, X: Any, max_categories: int) -> tuple[TableFields, dict[str, ExtendedColumn]]:
        """The fields after these normal rows too, and by name what became of each."""
        table = read_table(X)
        found: dict[str, ExtendedColumn] = {}
        for field, column in self._fields(table, self._places(table)):
            is_column = isinstance(field, ColumnCoder)
            coder = field if isinstance(field, ColumnCoder) else field.coder
            found[field.field.name] = extended_column(coder, column, max_categories, add_missing=is_column)
        coders = [found[coder.field.name].coder for coder in self.coders]
        derived = [replace(one, coder=found[one.name].coder) for one in self.derived]
        shares = {coder.field.name: coder.missing for coder in coders} | {one.name: one.missing for one in derived}
        return replace(self, coders=coders, derived=derived, missing_shares=self.missing_shares | shares), found

    def unseen_values(self, X: Any, codes: Codes) -> list[UnseenValue]:
        """What the cells of X hold that have the code *unseen*, row after row."""
        table, unseen = read_table(X), ~codes.known
        found = np.empty(unseen.shape, dtype=object)
        for at, (field, column) in enumerate(self._fields(table, self._places(table))):
            if unseen[:, at].any():
                coder = field if isinstance(field, ColumnCoder) else field.coder
                values = np.empty(int(unseen[:, at].sum()), dtype=object)
                values[:] = cell_values(coder, column, unseen[:, at])
                found[unseen[:, at], at] = values
        return list(found[unseen])

    def codes_of(self, fields: IntArray, values: Sequence[UnseenValue]) -> tuple[IntArray, FloatArray]:
        """The codes of these values in these fields, and what they cost more for being beyond the range, each (n,)."""
        coders = [*self.coders, *(one.coder for one in self.derived)]
        found = [value_code(coders[at], value) for at, value in zip(fields.tolist(), values, strict=True)]
        codes, excess = np.array(found, dtype=np.float64).reshape(-1, 2).T
        return codes.astype(np.int64), excess

    def summary(self) -> list[dict[str, Any]]:
        """How each column was read, a dict for each."""
        fields = {field.name: field for field in self.schema}
        coders = {coder.field.name: coder for coder in self.coders}
        return [
            {
                "name": name,
                "type": fields[name].type if name in fields else None,
                "codes": fields[name].size if name in fields else 0,
                "missing": self.missing_shares.get(name),
                "left_out": self.left_out.get(name),
                "example": coders[name].column_type.example if name in coders else None,
                "marks": list(coders[name].marks) if name in coders else [],
            }
            for name in (*self.header.names, *(one.name for one in self.derived))
        ]

    def _places(self, table: Table) -> dict[str, int]:
        return self.header.places(table, self.columns, self.ignored)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """What was learned, as plain texts, numbers, lists and dicts."""
        return {
            "names": list(self.header.names),
            "named": self.header.named,
            "left_out": dict(self.left_out),
            "missing": dict(self.missing_shares),
            "columns": [coder.to_state() for coder in self.coders],
            "derived": [one.to_state() for one in self.derived],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], missing: MissingTexts, ignored: Collection[str]) -> TableFields:
        """The fields that `to_state` described; a state that contradicts itself is refused."""
        header = Header(tuple(map(str, state["names"])), bool(state["named"]))
        check_names(header.names)
        coders = [ColumnCoder.from_state(column) for column in state["columns"]]
        dates = [one.field.name for one in coders if isinstance(one.column_type, DateType)]
        derived = [DerivedField.from_state(one, dates) for one in state["derived"]]
        left_out = {str(name): str(reason) for name, reason in state["left_out"].items()}
        shares = {str(name): float(share) for name, share in state["missing"].items()}
        fields = cls(header, coders, derived, left_out, shares, missing, ignored)
        if not fields.columns or fields.columns != [name for name in header.names if name not in left_out]:
            raise ModelFileError("the model file is damaged: its columns do not match their names.")
        names = [*header.names, *(one.name for one in derived)]
        if len(set(names)) < len(names) or any(one.name not in shares for one in derived):
            raise ModelFileError("the model file is damaged: two of its fields have the same name.")
        return fields


def _side_by_side(columns: Mapping[int, FloatArray], shape: tuple[int, ...]) -> FloatArray:
    together = np.zeros(shape)
    for at, column in columns.items():
        together[:, at] = column
    return together


def _remembered(
    memories: Mapping[int, CellMemory], table: Table, places: Mapping[str, int]
) -> dict[int, list[CodedCell]]:
    """The codes by field of the columns whose cells need not be read."""
    place_of = {at: places[one.coder.field.name] for at, one in memories.items()}
    found = {at: one.look_up(*declared_cells(table.raw, place_of[at])) for at, one in memories.items()}
    return {at: cells for at, cells in found.items() if cells is not None}
