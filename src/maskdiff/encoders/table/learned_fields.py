"""The fields of a table, from the statistics of its normal rows, and the notices about what was decided there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from maskdiff.encoders.table.derived_statistics import learn_derived
from maskdiff.encoders.table.input import Header, listed
from maskdiff.encoders.table.learned_coders import learn_coder
from maskdiff.encoders.table.statistics import ColumnStatistics, TableStatistics
from maskdiff.encoders.table.table_fields import TableFields
from maskdiff.errors import (
    AmbiguousColumnWarning,
    EmptyTableError,
    LeftOutWarning,
    MaskdiffWarning,
    NearIdWarning,
    ReadingWarning,
    TextColumnWarning,
)

KEEP_HINT = 'To keep a column, say how to read it: columns={name: "category"}, "number" or "date".'
# Where the user called: behind `fit` and `fit_statistics` of the encoder and the functions here.
_CALLER = 7


def learn_fields(header: Header, statistics: TableStatistics, **settings: int) -> TableFields:
    """The fields of the columns that say something; `settings` are those of `learn_coder`."""
    useless = {name: reason for name, learned in statistics.columns.items() if (reason := learned.left_out())}
    dropped = dict.fromkeys(statistics.dropped, "dropped, as requested")
    left_out = {name: (useless | dropped)[name] for name in header.names if name in useless or name in dropped}
    if len(left_out) == len(header.names):
        raise EmptyTableError(
            f"no column is left to learn from. Left out: {reasons(left_out)}. {KEEP_HINT} A column of texts is for "
            "TextDetector.",
            setting="columns or text",
        )
    texts = [name for name, one in statistics.columns.items() if name not in useless and one.type.is_free_text]
    if len(left_out) + len(texts) == len(header.names):
        raise EmptyTableError(
            f"only free text is left to learn from ({listed(texts)}), which is read beside other columns. "
            "Texts alone are for TextDetector.",
            setting="columns or text",
        )
    kept = [learned for name, learned in statistics.columns.items() if name not in useless]
    for learned in kept:
        learned.check_finite()
    coders = [learn_coder(one, **settings) for one in kept]
    derived = learn_derived(statistics, kept, **settings)
    shares = {name: learned.missing / learned.rows for name, learned in statistics.columns.items()}
    shares |= {one.name: one.missing for one in derived}
    give_notices(statistics, kept, useless)
    ignored = [*statistics.requested, *statistics.dropped]
    return TableFields(header, coders, derived, left_out, shares, statistics.missing, ignored)


def give_notices(statistics: TableStatistics, kept: Sequence[ColumnStatistics], useless: Mapping[str, str]) -> None:
    """Warnings about columns left out, read in one of several ways, or not wholly, and those that are nearly ids."""
    if useless:
        _warn(LeftOutWarning, f"left out: {reasons(useless)}. {KEEP_HINT}")
    doubts = statistics.doubts()
    for name in (learned.name for learned in kept if learned.requested is None and learned.name in doubts):
        _warn(AmbiguousColumnWarning, f"column {name!r}: {doubts[name].doubt}.", doubts[name].setting)
    texts = [learned.name for learned in kept if learned.requested is None and learned.type.is_free_text]
    if texts:
        _warn(
            TextColumnWarning,
            f"read as text: {', '.join(map(repr, texts))}. To leave such a column out, or to read it otherwise: "
            'columns={name: "drop"} or "category".',
        )
    damaged = {one.name: statistics.text_types[one.name].damaged or "" for one in kept if one.damaged}
    if damaged:
        _warn(
            ReadingWarning,
            f"not all texts are numbers in {reasons(damaged)}: these are read as values never seen. To read all as "
            'categories: columns={name: "category"}.',
        )
    near = {learned.name: f"{learned.key.n_distinct:,} values" for learned in kept if learned.is_near_id}
    if near:
        _warn(
            NearIdWarning,
            f"only values that repeat are distinguished in {reasons(near)}: all others, new ones too, are read as "
            'rare. To distinguish all values, say how to read the column: columns={name: "category"}.',
        )


def _warn(kind: type[MaskdiffWarning], text: str, setting: str | None = "columns") -> None:
    warnings.warn(kind(text, setting=setting), stacklevel=_CALLER)


def reasons(left_out: Mapping[str, str]) -> str:
    return ", ".join(f"{name!r} ({reason})" for name, reason in left_out.items())
