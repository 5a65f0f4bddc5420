"""TableEncoder: the columns of a table to codes, fitted on normal rows only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.encoders.table.codings import ColumnCoder, learn_coder
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, DateType, general_names
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.derived import DerivedField, moments_of
from maskdiff.encoders.table.derived_statistics import DerivedStatistics, learn_derived
from maskdiff.encoders.table.input import Header, Table, check_names, column_of, read_table
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.encoders.table.number_format import SIGNS
from maskdiff.encoders.table.recognition import TableRecognition
from maskdiff.encoders.table.statistics import TableStatistics
from maskdiff.errors import (
    AmbiguousColumnWarning,
    EmptyTableError,
    LeftOutWarning,
    ModelFileError,
    NearIdWarning,
    SettingError,
)
from maskdiff.state import Parameters, storable

DROP = "drop"
KEEP_HINT = 'To keep a column, say how to read it: columns={name: "category"}, "number" or "date".'
FEWEST = {"max_categories": 1, "bins": 2, "discrete_up_to": 1, "tails": 0, "max_distinct": 2}


def n_rows(X: Any) -> int:
    """How many rows any table this room can read has."""
    return read_table(X).n_rows


def take_rows(X: Any, rows: ArrayLike) -> Table:
    """These rows of any table this room can read: positions, or one boolean per row."""
    return read_table(X).take(rows)


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
      Columns of a declared type, pandas' categoricals too, are what they declare.
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
    - A near-id, such as a customer number or a zip code, has fewer than 5 rows for each value, and 5% of the rows hold
      a value seen once (of integers again those that look assigned). Values with 5 rows or more keep their code; all
      others, new ones too, are "rare", which is nothing odd. A `NearIdWarning` names such columns.

    Parameters
    ----------
    columns : how to read single columns, name -> "category", "number", "date" or "drop", or the name of another
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
        self._check_settings()
        return TableRecognition(*self._named_columns(), MissingTexts.of(self.missing), self.decimal, self.day_first)

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
        self._check_settings()
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
            raise EmptyTableError("there are no rows to learn from: 0 sample(s) while a minimum of 1 is required.")
        return self._finish(statistics.header, statistics)

    def fit_encode(self, X: Any, y: Any = None, *, seed: int = 0) -> Codes:
        """Learn from normal rows, and their codes."""
        return self.fit(X, seed=seed).encode(X)

    def _check_settings(self) -> None:
        for name, fewest in FEWEST.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < fewest:
                raise SettingError(f"{name} must be an integer of at least {fewest}; got {value!r}.")
        if not isinstance(self.derive_dates, bool):
            raise SettingError(f"derive_dates must be True or False; got {self.derive_dates!r}.")
        if self.day_first not in (None, True, False):
            raise SettingError(f"day_first must be True, False or None; got {self.day_first!r}.")
        if self.decimal not in (None, *SIGNS):
            raise SettingError(f'decimal must be "." or ","; got {self.decimal!r}.')
        MissingTexts.of(self.missing)
        allowed = [*general_names(), DROP]
        for name, how in (self.columns or {}).items():
            if how not in allowed:
                raise SettingError(f"columns[{name!r}] must be one of {', '.join(allowed)}; got {how!r}.")

    def _finish(self, header: Header, statistics: TableStatistics) -> Self:
        useless = {name: reason for name, learned in statistics.columns.items() if (reason := learned.left_out())}
        dropped = dict.fromkeys(statistics.dropped, "dropped, as requested")
        left_out = {name: (useless | dropped)[name] for name in header.names if name in useless or name in dropped}
        if len(left_out) == len(header.names):
            raise EmptyTableError(
                f"no column is left to learn from. Left out: {reasons(left_out)}. {KEEP_HINT} A column of texts is for "
                "TextDetector.",
                setting="text",
            )
        kept = [learned for name, learned in statistics.columns.items() if name not in useless]
        for learned in kept:
            learned.check_finite()
        settings = {"bins": self.bins, "tails": self.tails, "max_categories": self.max_categories}
        coders = [learn_coder(one, **settings) for one in kept]
        derived = learn_derived(statistics, kept, **settings)
        missing = {name: learned.missing / learned.rows for name, learned in statistics.columns.items()}
        if useless:
            warnings.warn(f"left out: {reasons(useless)}. {KEEP_HINT}", LeftOutWarning, stacklevel=5)
        for name, doubt in statistics.doubts().items():
            if name not in left_out:
                warnings.warn(AmbiguousColumnWarning(f"column {name!r}: {doubt}.", setting="decimal"), stacklevel=5)
        near = {learned.name: f"{learned.key.n_distinct:,} values" for learned in kept if learned.is_near_id}
        if near:
            notice = NearIdWarning(
                f"only values that repeat are told apart in {reasons(near)}: all others, new ones too, are read as "
                'rare. To tell all values apart, say how to read the column: columns={name: "category"}.',
                setting="columns",
            )
            warnings.warn(notice, stacklevel=5)
        missing |= {one.name: one.missing for one in derived}
        return self._adopt(header, coders, left_out, missing, derived)

    def _adopt(
        self,
        header: Header,
        coders: list[ColumnCoder],
        left_out: dict[str, str],
        missing: Any,
        derived: list[DerivedField],
    ) -> Self:
        self._fitted_header, self._coders, self._missing, self._derived = header, coders, missing, derived
        self.left_out_ = left_out
        self.feature_names_in_ = np.array(header.names, dtype=object)
        self.named_ = header.named
        self.schema_ = Schema((*(coder.field for coder in coders), *(one.field for one in derived)))
        return self

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> Table:
        """The rows of X, their cells not yet looked at."""
        return read_table(X)

    def encode(self, X: Any) -> Codes:
        """The codes of any rows, shape (n, F). A cell's code depends on that cell alone."""
        table = read_table(X)
        places = self._places(table)
        values = np.empty((table.n_rows, len(self.schema_)), dtype=self.schema_.code_dtype)
        beyond: dict[int, FloatArray] = {}
        for at, (coder, column) in enumerate(self._fields(table, places)):
            codes = coder.encode(column)
            values[:, at] = codes
            excess = coder.excess(column, codes)
            if excess is not None:
                beyond[at] = excess
        return Codes(values, self.schema_, excess=_side_by_side(beyond, values.shape) if beyond else None)

    def _column(self, table: Table, place: int, name: str) -> Column:
        return MissingTexts.of(self.missing).applied(column_of(table, place, name))

    def _fields(self, table: Table, places: Mapping[str, int]) -> Iterator[tuple[ColumnCoder | DerivedField, Column]]:
        """Every field of the schema with its column: first those of the table, then those computed from dates."""
        sources = {source for one in self._derived for source in one.derivation.sources}
        moments: dict[str, FloatArray] = {}
        for coder in self._coders:
            column = self._column(table, places[coder.field.name], coder.field.name)
            if coder.field.name in sources:
                moments[coder.field.name] = moments_of(coder, column)
            yield coder, column
        for one in self._derived:
            yield one, one.column(moments)

    def _field(self, table: Table, places: Mapping[str, int], at: int) -> tuple[ColumnCoder | DerivedField, Column]:
        """One field of the schema with its column; of the others only those are read that it is computed from."""
        if at < len(self._coders):
            name = self._coders[at].field.name
            return self._coders[at], self._column(table, places[name], name)
        one = self._derived[at - len(self._coders)]
        dates = [coder for coder in self._coders if coder.field.name in one.derivation.sources]
        columns = [self._column(table, places[coder.field.name], coder.field.name) for coder in dates]
        moments = map(moments_of, dates, columns)
        return one, one.column({coder.field.name: ticks for coder, ticks in zip(dates, moments, strict=True)})

    def display(self, X: Any, rows: ArrayLike, fields: Sequence[int | str] | NDArray[Any]) -> list[str]:
        """The cells of `X` as a person reads them, one for each pair of a row and a field (a name or its position).

        >>> encoder = TableEncoder().fit([["a", 1.5], ["b", 2.0]])
        >>> encoder.display([["a", None]], rows=[0, 0], fields=["x1", 0])
        ['missing', 'a']
        """
        return self._texts(X, rows, fields, lambda coder, column: coder.column_type.display(column))

    def notes(self, X: Any, rows: ArrayLike, fields: Sequence[int | str] | NDArray[Any]) -> list[str]:
        """What there is to say about these cells besides their values; mostly nothing, an empty text.

        >>> encoder = TableEncoder().fit([["a", 1.5], ["b", 2.0]])
        >>> encoder.notes([["a", 7.0]], rows=[0, 0], fields=["x0", "x1"])
        ['', 'largest seen 2']
        """
        return self._texts(X, rows, fields, lambda coder, column: coder.notes(column))

    def _texts(
        self,
        X: Any,
        rows: ArrayLike,
        fields: Sequence[int | str] | NDArray[Any],
        texts_of: Callable[[ColumnCoder | DerivedField, Column], list[str]],
    ) -> list[str]:
        """One text for each pair of a row and a field; the cells of a field are looked at together."""
        table = read_table(X)
        places = self._places(table)
        number = {name: j for j, name in enumerate(self.schema_.names)}
        which = np.array([number[field] if isinstance(field, str) else field for field in fields], dtype=np.int64)
        at, texts = np.asarray(rows, dtype=np.int64), np.empty(len(which), dtype=object)
        for j in np.unique(which).tolist():
            texts[which == j] = texts_of(*self._field(table.take(at[which == j]), places, j))
        return list(texts)

    def summary(self) -> list[dict[str, Any]]:
        """How each column was read: name, type, number of codes, share of missing values, why it was left out, an
        example of how its texts were read where they are not written plainly, and the texts among its numbers.

        >>> TableEncoder().fit([["a", "1,5"], ["b", None]]).summary()[1]  # doctest: +NORMALIZE_WHITESPACE
        {'name': 'x1', 'type': 'category', 'codes': 2, 'missing': 0.5, 'left_out': None, 'example': '1,5 -> 1.5',
        'marks': []}
        """
        fields = {field.name: field for field in self.schema_}
        coders = {coder.field.name: coder for coder in self._coders}
        return [
            {
                "name": name,
                "type": fields[name].type if name in fields else None,
                "codes": fields[name].size if name in fields else 0,
                "missing": self._missing.get(name),
                "left_out": self.left_out_.get(name),
                "example": coders[name].column_type.example if name in coders else None,
                "marks": list(coders[name].marks) if name in coders else [],
            }
            for name in (*self._fitted_header.names, *(one.name for one in self._derived))
        ]

    @property
    def column_types_(self) -> dict[str, ColumnType]:
        """The type each column of the schema is read as."""
        return {coder.field.name: coder.column_type for coder in self._coders}

    def _places(self, table: Table) -> dict[str, int]:
        return self._fitted_header.places(table, self.columns_read_, self.columns or ())

    @property
    def columns_read_(self) -> list[str]:
        """The columns of a table that are read; the other fields of the schema are computed from them."""
        return [coder.field.name for coder in self._coders]

    @property
    def derived_(self) -> dict[str, DerivedField]:
        """The fields of the schema that are computed from dates, by name."""
        return {one.name: one for one in self._derived}

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Everything that was set and learned, as plain texts, numbers, lists and dicts."""
        return {
            "settings": self.get_params()
            | {"columns": dict(self.columns or {}) or None, "missing": list(self.missing or []) or None},
            "names": list(self._fitted_header.names),
            "named": self.named_,
            "left_out": dict(self.left_out_),
            "missing": dict(self._missing),
            "columns": [coder.to_state() for coder in self._coders],
            "derived": [one.to_state() for one in self._derived],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The encoder that `to_state` described; a state that contradicts itself is refused."""
        try:
            encoder = cls(**state["settings"])
            encoder._check_settings()
            header = Header(tuple(map(str, state["names"])), bool(state["named"]))
            check_names(header.names)
            coders = [ColumnCoder.from_state(column) for column in state["columns"]]
            dates = [one.field.name for one in coders if isinstance(one.column_type, DateType)]
            derived = [DerivedField.from_state(one, dates) for one in state["derived"]]
            left_out = {str(name): str(reason) for name, reason in state["left_out"].items()}
            missing = {str(name): float(share) for name, share in state["missing"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(
                f"the model file describes its table in a way that cannot be read: {error!r}."
            ) from error
        kept = [coder.field.name for coder in coders]
        if not kept or kept != [name for name in header.names if name not in left_out]:
            raise ModelFileError("the model file is damaged: its columns do not match their names.")
        names = [*header.names, *(one.name for one in derived)]
        if len(set(names)) < len(names) or any(one.name not in missing for one in derived):
            raise ModelFileError("the model file is damaged: two of its fields have the same name.")
        return encoder._adopt(header, coders, left_out, missing, derived)


def _side_by_side(columns: Mapping[int, FloatArray], shape: tuple[int, ...]) -> FloatArray:
    together = np.zeros(shape)
    for at, column in columns.items():
        together[:, at] = column
    return together


def reasons(left_out: Mapping[str, str]) -> str:
    return ", ".join(f"{name!r} ({reason})" for name, reason in left_out.items())
