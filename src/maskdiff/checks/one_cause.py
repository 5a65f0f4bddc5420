"""Rules about alarms with one cause: nearly all of them due to one column, or to one token."""

from __future__ import annotations

import numpy as np

from maskdiff.checks.base import Check, CheckSettings
from maskdiff.checks.chance import alarms_by_chance
from maskdiff.checks.counts import CheckCounts
from maskdiff.checks.strongest import StrongestColumns, StrongestTokens
from maskdiff.codes import Field
from maskdiff.explanations.intervals import interval_text


def one_column(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Nearly all alarms mostly due to one column, where there are more of them than chance gives."""
    columns = counts.strongest
    if not isinstance(columns, StrongestColumns) or len(columns.schema) < 2 or not _enough_alarms(counts, settings):
        return None
    carried = np.array([by_code.sum() for by_code in columns.carried])
    at = int(carried.argmax())
    field, n = columns.schema.fields[at], int(carried[at])
    # A column of many values is surprising in every row: it is to blame where the alarms share a value, or it grew.
    to_blame = 2 * columns.carried[at].max() > n or columns.growth(at) >= settings.least_growth
    if n < settings.one_column_share * counts.alarms or not to_blame:
        return None
    sources = _sources(counts, field.name)
    what, unseen = _what_is_odd(field, columns.carried[at]), int(columns.carried[at][-1])
    message = (
        f"{n:,} of {counts.alarms:,} alarms are mostly due to {_field_words(field.name, sources)}: {what}. "
        f"If {'it' if len(sources) == 1 else 'one of them'} says nothing about whether a row is odd, as an id does "
        "not, learn without it."
    )
    details = {"column": field.name, "drop": sources[0], "alarms": n, "of": counts.alarms, "unseen": unseen}
    return Check("one_column", message, details)


def _enough_alarms(counts: CheckCounts, settings: CheckSettings) -> bool:
    """Whether there are more alarms than chance gives, so that what they have in common says something.

    The few alarms that were promised are often the extremes of one column, and that is as it should be.
    """
    rate = counts.false_alarm_rate
    by_chance = 0.0 if rate is None else alarms_by_chance(counts, rate, settings.interval)[1]
    return counts.alarms >= settings.fewest_alarms and counts.alarms > by_chance


def _sources(counts: CheckCounts, name: str) -> tuple[str, ...]:
    """The columns of the file that a field is read or computed from."""
    derived = counts.detector.encoder_.derived_.get(name)
    return (name,) if derived is None else derived.derivation.sources


def _field_words(name: str, sources: tuple[str, ...]) -> str:
    """
    >>> _field_words("due", ("due",))
    "the column 'due'"
    >>> _field_words("due weekday", ("due",))
    "'due weekday', computed from the column 'due'"
    """
    if sources == (name,):
        return f"the column {name!r}"
    columns = "the column" if len(sources) == 1 else "the columns"
    return f"{name!r}, computed from {columns} {' and '.join(map(repr, sources))}"


# What rows of tokens are called, by the encoder's `parts`.
_ROW = {"tokens": "text", "symbols": "sequence"}


def one_token(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Nearly all alarms mostly due to one token, where there are more of them than chance gives."""
    tokens = counts.strongest
    if not isinstance(tokens, StrongestTokens) or not _enough_alarms(counts, settings):
        return None
    (text, n), *_ = tokens.in_alarms.most_common(1) or [("", 0)]
    # In few-symbol alphabets one symbol may be the strongest of every row, odd or not.
    share = n / counts.alarms
    if share < settings.one_column_share or settings.least_growth * tokens.share_of_others(text) > share:
        return None
    is_new = text not in tokens.field.labels
    part, row = counts.detector.encoder_.parts.removesuffix("s"), _ROW[counts.detector.encoder_.parts]
    new = ", which the model has never seen" if is_new else ""
    message = (
        f"{n:,} of {counts.alarms:,} alarms are mostly due to the {part} {text!r}{new}. If it says nothing about "
        f"whether a {row} is odd, as a new header or signature does not, remove it from the {row}s, or learn from "
        f"{row}s that have it."
    )
    details = {"token": text, "alarms": n, "of": counts.alarms, "unseen": n if is_new else 0}
    return Check("one_token", message, details)


# A field's type -> what a value there is that has no code.
_NEVER_SEEN = {
    "number": "a number beyond all that was learned, or no number",
    "date": "a date beyond all that were learned, or no date",
}


def _what_is_odd(field: Field, by_code: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    n, most = int(by_code.sum()), int(by_code.argmax())
    if 2 * by_code[most] <= n:
        return "its values are known, but unusual in their rows"
    share = "all have" if by_code[most] == n else f"{by_code[most]:,} have"
    if most < field.size:
        label = field.label(most)
        return f"{share} {interval_text(label) if field.ordered else label} there"
    return f"{share} {_NEVER_SEEN.get(field.type, 'a value there that the model has never seen')}"
