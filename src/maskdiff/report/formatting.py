"""Numbers and cell values as the page shows them."""

from __future__ import annotations

import math
import re
from typing import Any

from maskdiff.codes import Field
from maskdiff.explanations.intervals import interval_text

MAX_VALUE = 300
LONG_FLOAT = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?", re.IGNORECASE)
# Characters that are invisible or change the direction of others: often the reason why a value is odd. Joiners are
# left alone, since some scripts need them. Control characters have Unicode pictures.
INVISIBLE = (0xA0, 0xAD, 0x61C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
VISIBLE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"},
    **{code: f"⟨U+{code:04X}⟩" for code in (*range(0x80, 0xA0), *INVISIBLE)},
    0x7F: "␡",
}


def count(n: int) -> str:
    """
    >>> count(12345)
    '12,345'
    """
    return f"{n:,}"


def percent(share: float) -> str:
    """A share with one decimal near both ends; 0% and 100% only where they are exact.

    >>> [percent(x) for x in (0, 0.0001, 0.081, 0.4476, 0.9996, 1)]
    ['0%', '<0.1%', '8.1%', '45%', '>99.9%', '100%']
    """
    thousandths = math.floor(1000 * share + 0.5)
    if thousandths <= 0:
        return "<0.1%" if share > 0 else "0%"
    if thousandths >= 1000:
        return ">99.9%" if share < 1 else "100%"
    if thousandths < 100 or thousandths > 990:
        return f"{thousandths / 10:.1f}%"
    return f"{math.floor(thousandths / 10 + 0.5)}%"


def per_thousand(number: float) -> str:
    """
    >>> per_thousand(0.0), per_thousand(0.004), per_thousand(0.3456), per_thousand(12.34)
    ('0', '<0.01', '0.35', '12.3')
    """
    return "0" if not number else "<0.01" if number < 0.01 else f"{number:.3g}" if number >= 1 else f"{number:.2f}"


def factor(change: Any) -> str:
    """The change of a share, as a multiple.

    >>> from types import SimpleNamespace
    >>> factor(SimpleNamespace(before=0.01, now=0.05)), factor(SimpleNamespace(before=0.01, now=0.0))
    ('5.0 times as often', 'gone')
    """
    if not change.now or not change.before:
        return "new" if change.now else "gone"
    ratio = change.now / change.before
    return f"{ratio:.1f} times as often" if ratio >= 1 else f"{1 / ratio:.1f} times as rare"


def rate(value: float) -> str:
    """
    >>> rate(0.01), rate(0.0005)
    ('1%', '0.05%')
    """
    return f"{100 * value:.3g}%"


def expected_alarms(number: float) -> str:
    """How many alarms a number of normal rows raises, in words.

    >>> expected_alarms(49.6), expected_alarms(0.2)
    ('about 50', 'hardly any')
    """
    return f"about {math.floor(number + 0.5):,}" if number >= 0.5 else "hardly any"


def score(value: float) -> str:
    return f"{value:.3f}"


def p_value(p: float) -> str:
    """Two significant digits, below 0.0001 with an exponent.

    >>> p_value(0.00049975), p_value(0.034), p_value(1.0), p_value(2.64e-11)
    ('0.0005', '0.034', '1', '2.6e-11')
    """
    return f"{p:.2g}"


def make_visible(text: str) -> str:
    """The same text with invisible characters replaced by visible signs.

    >>> make_visible("a\\x00 b")
    'a␀ b'
    """
    return text.translate(VISIBLE)


def display_value(value: str, *, number: bool = False) -> str:
    """A cell's value for the page: invisible characters are made visible, and very long values are cut.

    Numbers keep ten significant digits: 29.490000000000002 comes from rounding, nobody wrote it.

    >>> display_value("29.490000000000002", number=True)
    '29.49'
    >>> [display_value(value) for value in ("a\\x00b", "http\\u200b", "http ")]
    ['a␀b', 'http⟨U+200B⟩', "'http '"]
    """
    if number and LONG_FLOAT.fullmatch(value):
        return f"{float(value):.10g}"
    if len(value) > MAX_VALUE:
        value = f"{value[:MAX_VALUE]}… ({len(value):,} characters)"
    value = make_visible(value)
    return value if value == value.strip() else f"'{value}'"


def label_text(field: Field, label: str) -> str:
    """A label of a column as the page shows it; bins as people write them.

    >>> label_text(Field("age", "number", ("[18, 30]", "(30, 99]"), (5, 5), ordered=True), "(30, 99]")
    '30 to 99'
    """
    return display_value(interval_text(label) if field.ordered else label)


def drift_label(label: str) -> str:
    """The label of a share, which is a bin or a value.

    >>> drift_label("(30, 99]")
    '30 to 99'
    """
    return display_value(interval_text(label))


# The filters of the templates, by name.
FILTERS = {
    filter.__name__: filter
    for filter in (
        count,
        percent,
        per_thousand,
        factor,
        rate,
        expected_alarms,
        score,
        p_value,
        make_visible,
        display_value,
        drift_label,
    )
}
