"""TableEncoder: the columns of a table to codes, fitted on normal rows only."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.encoders.base import Extension, UnseenValue
from maskdiff.encoders.table.column_coder import CodeMeaning, ColumnCoder
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, Key
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.derived import DerivedField
from maskdiff.encoders.table.derived_statistics import DerivedStatistics
from maskdiff.encoders.table.encoder_settings import DROP, check_settings
from maskdiff.encoders.table.input import Table, read_table
from maskdiff.encoders.table.learned_fields import learn_fields
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.encoders.table.recognition import TableRecognition
from maskdiff.encoders.table.statistics import TableStatistics
from maskdiff.encoders.table.table_fields import Places, TableFields
from maskdiff.errors import (
    EmptyTableError,
    ModelFileError,
)
from maskdiff.state import Parameters, storable


@storable
@dataclass(eq=False)
class TableEncoder(Parameters):
    """Reads tables as small integers, one alphabet per column, learned from normal rows.

    - Text, categoricals and booleans become one code per category. Numbers, dates, times and durations with more than
      `discrete_up_to` distinct values are cut into `bins` quantile bins, closed on the right; those with fewer are
      categories, where 1, 1.0 and "1" are the same; dates always are in bins. A column of mixed types is categories by
      the canonical text of each value.
    - Far out numbers are rare ones: the end bins of numbers are cut in half up to `tails` times, the smallest and the
      largest number stand alone, and what is beyond them is unseen, the odder the further it is. Dates go on, so they
      have no tails: a date is unseen where it is further beyond the learned dates than these are apart, and than a
      year. With `tails` = 0, and for times and durations, the end bins are open-ended.
    - Texts are what they stand for, decided over all rows: numbers however they are written (1.234,56, $8,108.28),
      dates, truth values, else categories; whole numbers with a leading zero, such as zip codes, stay categories.
      Columns of a declared type, pandas' categoricals too, are what they declare, but numbers that stand for dates
      (20240925, or seconds since 1970 in a column called created_at) are dates, with an `AmbiguousColumnWarning`.
    - Numbers may have a few other texts among them, such as "unknown" or "-": values of their own beside the bins.
    - NaN, None, NA and NaT are missing, and so are empty texts, "NA", "null" and the others of `missing.MISSING`: a
      code of its own where the normal rows had missing values, unseen elsewhere. A constant column has one code;
      anything else is unseen there.
    - Beyond `max_categories`, only the most frequent categories keep their code; the others share one, "rare". The
      folded values are remembered, as a set of their texts, so that a value never seen stays unseen.
    - Beyond `max_distinct` different values of one column, memory is saved: the rarest categories are forgotten, and
      then every value without a code of its own is rare; of numbers, a random part of the rows is kept.
    - Row ids and columns without any value are left out, with one `LeftOutWarning` that names them. Such columns are
      ignored at scoring, there or not. A row id is 20 or more texts or integers that differ in 95% of the rows;
      integers only if they fill their range, or look assigned: by the name of the column (`claim_no`, `Phone`), or
      because all have the same number of digits, at least 6, and are spread evenly.
    - Free text, such as notes, has 4 words or more in half of the cells, 20 at least, and these are mostly different.
      All texts have one code; the detector judges what they say. A `TextColumnWarning` names such columns.
    - A near-id, such as a customer number or a zip code, has fewer than 5 rows for each value, and 5% of the rows hold
      a value seen once (of integers again those that look assigned). Values with 5 rows or more keep their code; all
      others, new ones too, are "rare", which is nothing odd. A `NearIdWarning` names such columns.

    Parameters
    ----------
    columns : how to read single columns, name -> "category", "number", "date", "text" or "drop", or the name of another
        entry of `column_types.COLUMN_TYPES`. It wins over what the types of the cells say, and keeps a column that
        would be left out.
    max_categories, bins, discrete_up_to, tails, max_distinct : see above.
    day_first : what comes first in dates of a file such as 03/04/2024: True the day, False the month. None: the order
        that fits the whole column; where both do, that of the table's other dates, or else the day, with a
        `DateOrderWarning`.
    missing : texts that mean a missing value besides those that always do, such as ["?", "-"].
    decimal : "." or ",": the decimal sign, where the texts of a column can be read either way, as 1,234 can. None: the
        one that other columns show, else the point, with an `AmbiguousColumnWarning`.
    derive_dates : whether fields are computed from the dates of a row: for each of the first six date columns the day
        of the week and the hour, and for each pair of them the time between, as far as they say something.
    free_text : whether columns of sentences are recognised, and read as text.

    Learned: `schema_`, `feature_names_in_`, `named_` (False: the columns came without names), `left_out_` (name ->
    reason).

    >>> import pandas as pd
    >>> normal = pd.DataFrame({"pet": ["cat", "dog", "cat"], "age": [3, 7, None]})
    >>> encoder = TableEncoder().fit(normal)
    >>> [field.labels for field in encoder.schema_]
    [('cat', 'dog'), ('3', '7', 'missing')]
    >>> encoder.encode(pd.DataFrame({"age": ["7", "8"], "pet": ["cat", None]})).values
    array([[0, 1],
           [2, 3]], dtype=uint8)
    """

    # What a row is made of; a column says itself where its cell stands.
    parts: ClassVar[str] = "columns"
    places: ClassVar[tuple[str, ...]] = ()

    columns: Mapping[str, str] | None = None
    max_categories: int = 1000
    bins: int = 10
    discrete_up_to: int = 20
    tails: int = 5
    max_distinct: int = 1_000_000
    day_first: bool | None = None
    missing: Sequence[str] | None = None
    decimal: str | None = None
    derive_dates: bool = True
    free_text: bool = True

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, rows: ArrayLike | None = None, seed: int = 0) -> Self:
        """Learn from normal rows: those of `X`, or of them only `rows` (positions or booleans); `y` is ignored."""
        return self.fit_batches([read_table(X).take(rows)], seed=seed)

    def fit_batches(
        self, batches: Iterable[Any], *, seed: int = 0, text_types: Mapping[str, Found] | None = None
    ) -> Self:
        """Learn from tables with the same columns; how the rows are cut into batches does not matter.

        They are read twice, first to see what columns of texts stand for, unless `text_types`, what `recognition`
        found, says so; batches that can be read once only are held in memory. `seed` draws the rows that are kept of a
        number column with more than `max_distinct` different values.
        """
        if text_types is None:
            batches = list(batches) if isinstance(batches, Iterator) else batches
            recognition = self.recognition()
            for batch in batches:
                recognition.add(read_table(batch))
            text_types = recognition.found()
        statistics = self.statistics(seed=seed, text_types=text_types)
        for batch in batches:
            statistics.add(read_table(batch))
        return self.fit_statistics(statistics)

    def recognition(self) -> TableRecognition:
        """What texts stand for, of no rows yet: `add` all tables to it, or `merge` others; `found` is the answer.

        >>> recognition = TableEncoder().recognition()
        >>> recognition.add(TableEncoder().read([["1.234,50"], ["7,25"]]))
        >>> recognition.found()["x0"].column_type.example
        '1.234,50 -> 1234.50'
        """
        check_settings(self)
        missing = MissingTexts.of(self.missing)
        limits: dict[str, Any] = {"day_first": self.day_first, "free_text": self.free_text}
        return TableRecognition(*self._named_columns(), missing, self.decimal, **limits)

    def _named_columns(self) -> tuple[dict[str, ColumnType], set[str]]:
        """The types the user named, and the columns that are to be dropped."""
        columns = self.columns or {}
        dropped = {name for name, how in columns.items() if how == DROP}
        return {name: COLUMN_TYPES[how] for name, how in columns.items() if how != DROP}, dropped

    def statistics(self, *, seed: int = 0, text_types: Mapping[str, Found] | None = None) -> TableStatistics:
        """Statistics of no rows yet: `add` tables to them, `merge` those of other rows, then `fit_statistics`.

        `text_types` is what a `recognition` of all rows found; without it texts are categories.

        >>> encoder = TableEncoder()
        >>> first, second = encoder.statistics(), encoder.statistics(seed=1)
        >>> first.add(encoder.read([["cat"], ["dog"]]))
        >>> second.add(encoder.read([["cat"]]))
        >>> first.merge(second)
        >>> encoder.fit_statistics(first).schema_.fields[0].counts
        (2, 1)
        """
        check_settings(self)
        limits: dict[str, Any] = {
            "discrete_up_to": self.discrete_up_to,
            "max_distinct": self.max_distinct,
            "seed": seed,
        }
        return TableStatistics(
            *self._named_columns(),
            text_types,
            MissingTexts.of(self.missing),
            DerivedStatistics(**limits) if self.derive_dates else None,
            **limits,
        )

    def fit_statistics(self, statistics: TableStatistics) -> Self:
        """Learn from statistics of normal rows, made by `statistics()` with the same settings."""
        if statistics.header is None or not statistics.rows:
            raise EmptyTableError("there are no rows to learn from.")
        settings = {"bins": self.bins, "tails": self.tails, "max_categories": self.max_categories}
        return self._adopt(learn_fields(statistics.header, statistics, **settings))

    def fit_encode(self, X: Any, y: Any = None, *, seed: int = 0) -> Codes:
        """Learn from normal rows, and their codes."""
        return self.fit(X, seed=seed).encode(X)

    def extended(self, X: Any) -> tuple[Self, Extension]:
        """A copy that learned from these normal rows too, and what it learned.

        >>> encoder, extension = TableEncoder().fit([["a"], ["b"]] * 9).extended([["aa"], ["b"]])
        >>> encoder.schema_.fields[0].labels, extension.change.places
        (('a', 'aa', 'b'), (array([0, 2, 3]),))
        """
        fields, columns = self._fields.extended(X, self.max_categories)
        places = tuple(columns[name].moved for name in self.schema_.names)
        return copy.copy(self)._adopt(fields), Extension(
            SchemaChange(self.schema_, fields.schema, places),
            {name: one.new_values for name, one in columns.items() if one.new_values},
            tuple(name for name, one in columns.items() if one.widened),
        )

    def _adopt(self, fields: TableFields) -> Self:
        self._fields = fields
        self.schema_ = fields.schema
        self.left_out_ = fields.left_out
        self.feature_names_in_ = np.array(fields.header.names, dtype=object)
        self.named_ = fields.header.named
        return self

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> Table:
        """The rows of X, their cells not yet looked at."""
        return read_table(X)

    def encode(self, X: Any) -> Codes:
        """The codes of any rows, shape (n, F). A cell's code depends on that cell alone."""
        return self._fields.encode(X)

    def unseen_values(self, X: Any, codes: Codes) -> list[UnseenValue]:
        """What the cells of X hold that have the code *unseen*, row after row.

        >>> encoder = TableEncoder().fit([["a", 1.5], ["b", 2.5]] * 30)
        >>> rows = [["c", 9.5], ["a", None]]
        >>> values = encoder.unseen_values(rows, encoder.encode(rows))
        >>> values, encoder.codes_of(np.array([0, 1, 1]), values)[0]
        ([('c',), (9.5,), (None,)], array([2, 2, 2]))
        """
        return self._fields.unseen_values(X, codes)

    def codes_of(self, fields: IntArray, values: Sequence[UnseenValue]) -> tuple[IntArray, FloatArray]:
        """The codes of these values in these fields, and what they cost more for being beyond the range, each (n,)."""
        return self._fields.codes_of(fields, values)

    def display(self, X: Any, rows: ArrayLike, fields: Places) -> list[str]:
        """The cells of `X` as a person reads them, one for each pair of a row and a field (a name or its position).

        >>> encoder = TableEncoder().fit([["a", 1.5], ["b", 2.0]])
        >>> encoder.display([["a", None]], rows=[0, 0], fields=["x1", 0])
        ['missing', 'a']
        """
        return self._fields.display(X, rows, fields)

    def notes(self, X: Any, rows: ArrayLike, fields: Places) -> list[str]:
        """What there is to say about these cells besides their values; mostly nothing, an empty text.

        >>> encoder = TableEncoder().fit([["a", 1.5], ["b", 2.0]])
        >>> encoder.notes([["a", 7.0]], rows=[0, 0], fields=["x0", "x1"])
        ['', 'largest seen 2']
        """
        return self._fields.notes(X, rows, fields)

    def meant(self, X: Any, rows: ArrayLike, fields: Places) -> list[tuple[int, ...]]:
        """The codes of the values that these cells may stand for, being slips of the keyboard; mostly none.

        >>> encoder = TableEncoder().fit([["red"], ["blue"]])
        >>> encoder.meant([["bluee"], ["red"]], rows=[0, 1], fields=["x0", "x0"])
        [(0,), ()]
        """
        return self._fields.meant(X, rows, fields)

    def values_of(self, fields: IntArray, codes: IntArray) -> list[tuple[Key, str] | CodeMeaning]:
        """What codes stand for in these fields, by position: a value and its text, or why there is no single one."""
        return self._fields.values_of(fields, codes)

    def replaced(self, X: Any, rows: IntArray, fields: IntArray, codes: IntArray) -> tuple[Any, BoolArray]:
        """A copy of X in which these cells hold what these codes stand for, and which of them do in the end.

        Cells stay as they are where a code stands for no single value, as that of a bin, and where the column's type
        cannot hold it.

        >>> encoder = TableEncoder().fit([["a", 1], ["b", 2]])
        >>> encoder.replaced([["a", 7], ["?", 2]], np.array([0, 1]), np.array([1, 0]), np.array([0, 1]))
        ([['a', 1], ['b', 2]], array([ True,  True]))
        """
        return self._fields.replaced(X, rows, fields, codes)

    def summary(self) -> list[dict[str, Any]]:
        """How each column was read: name, type, number of codes, share of missing values, why it was left out, an
        example of how its texts were read where they are not written plainly, and the texts among its numbers.

        >>> TableEncoder().fit([["a", "1,5"], ["b", None]]).summary()[1]  # doctest: +NORMALIZE_WHITESPACE
        {'name': 'x1', 'type': 'category', 'codes': 2, 'missing': 0.5, 'left_out': None, 'example': '1,5 -> 1.5',
        'marks': []}
        """
        return self._fields.summary()

    @property
    def column_types_(self) -> dict[str, ColumnType]:
        """The type each column of the schema is read as."""
        return {coder.field.name: coder.column_type for coder in self._fields.coders}

    def column_coders(self) -> list[ColumnCoder]:
        """How each field of the schema is coded; those computed from dates come last."""
        return [*self._fields.coders, *(one.coder for one in self._fields.derived)]

    def derived_fields(self) -> list[DerivedField]:
        """The fields that are computed from dates."""
        return list(self._fields.derived)

    @property
    def columns_read_(self) -> list[str]:
        """The columns of a table that are read; the other fields of the schema are computed from them."""
        return self._fields.columns

    @property
    def derived_(self) -> dict[str, DerivedField]:
        """The fields of the schema that are computed from dates, by name."""
        return {one.name: one for one in self._fields.derived}

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Everything that was set and learned, as plain texts, numbers, lists and dicts."""
        settings = {"columns": dict(self.columns or {}) or None, "missing": list(self.missing or []) or None}
        return {"settings": self.get_params() | settings, **self._fields.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The encoder that `to_state` described; a state that contradicts itself is refused."""
        try:
            encoder = cls(**state["settings"])
            check_settings(encoder)
            fields = TableFields.from_state(state, MissingTexts.of(encoder.missing), encoder.columns or ())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"the model file describes its table in a way that cannot be read: {error!r}."
            ) from error
        return encoder._adopt(fields)
