"""NumberFormat: how the numbers of one column are written, 1,234.56 or 1.234,56 EUR, and what they are.

| written | number |
|---|---|
| 1234.56, 1e-3, .5, +7 | plain |
| 1,234.56 and 1,23,456.78 | comma between groups |
| 1.234,56 and 1234,56 | decimal comma |
| 1 234,56 (also with no-break spaces), 1'234.56 | blank or apostrophe between groups |
| $8,108.28, 8.108,28 EUR, 45% | one currency or a percent sign, before or behind |
| (1,200), 1,200-, -$5 | negative |
| '1234 | an apostrophe before it, by which spreadsheets mark texts |

A whole number with a leading zero, 01234, is no number but a code.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maskdiff.errors import ModelFileError

PLAIN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
WHOLE = r"^[+-]?[0-9]+$"
CODE = r"^'?[+-]?0[0-9]+$"
DIGIT = "[0-9]"
SIGNS = (".", ",")
_GROUPS = {
    "": "",
    ",": r"[1-9][0-9]{0,2}(?:,[0-9]{2,3})*,[0-9]{3}|",
    ".": r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+|",
    " ": r"[1-9][0-9]{0,2}(?:[ \x{a0}\x{202f}\x{2009}][0-9]{3})+|",
    "'": r"[1-9][0-9]{0,2}(?:['\x{2019}][0-9]{3})+|",
}
_BETWEEN_GROUPS = {",": ",", ".": r"\.", " ": r"[ \x{a0}\x{202f}\x{2009}]", "'": r"['\x{2019}]"}
_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|BRL|MXN|ARS|CLP|COP|ZAR|KRW|"
    "SGD|HKD|TWD|THB|IDR|MYR|PHP|VND|ILS|AED|SAR|EGP|NGN|KES|PKR|BDT|LKR"
)
_CURRENCY = rf"(?:[A-Z]{{1,3}})?\p{{Sc}}|{_CODES}|kr\.?|zł|Kč|Ft|lei|Fr\.|SFr\.|Rs\.?|RM|Euro|euros?"
_MINUS = r"[-\x{2212}]"


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written. `thousands` is between groups of digits, `currency` the one that may stand beside."""

    decimal: str = "."
    thousands: str = ""
    currency: str = ""
    percent: bool = False

    def canonical(self, texts: pa.Array) -> pa.Array:
        """The numbers in plain writing, null where a text is not written so.

        >>> german = NumberFormat(",", ".", "EUR")
        >>> german.canonical(pa.array(["1.234,50 EUR", "-7", "(1.200)", "5 USD"], pa.large_string())).to_pylist()
        ['1234.50', '-7', '-1200', None]
        """
        trimmed = pc.ascii_trim_whitespace(texts)
        if self.decimal == "." and matches_all(trimmed, PLAIN):
            return pc.utf8_ltrim(trimmed, "+") if pc.any(pc.starts_with(trimmed, "+")).as_py() else trimmed
        parts = parts_of(trimmed, self.decimal, self.thousands)
        affix = joined(pc.struct_field(parts, "before"), pc.struct_field(parts, "after"))
        allowed = pa.array(["", *filter(None, [self.currency, "%" if self.percent else ""])], pa.large_string())
        written = plain_writing(parts, self.decimal, self.thousands)
        return pc.if_else(pc.is_in(affix, value_set=allowed), written, pa.scalar(None, pa.large_string()))

    def to_state(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_state(cls, state: Any) -> NumberFormat:
        """The format that `to_state` described; anything else is refused."""
        if not isinstance(state, dict) or set(state) != set(asdict(cls())):
            raise ModelFileError("the model file is damaged: it describes how numbers are written incompletely.")
        found = cls(**state)
        texts = all(isinstance(part, str) for part in (found.decimal, found.thousands, found.currency))
        known = texts and found.decimal in SIGNS and found.thousands in _GROUPS and found.thousands != found.decimal
        if not known or not isinstance(found.percent, bool):
            raise ModelFileError(f"the model file is damaged: no number is written as {state!r}.")
        return found


def parts_of(texts: pa.Array, decimal: str, thousands: str) -> pa.Array:
    """What each text is made of, a struct of texts; null where it is no number in this writing."""
    return pc.extract_regex(texts.cast(pa.large_string()), _pattern(decimal, thousands))


def plain_writing(parts: pa.Array, decimal: str, thousands: str) -> pa.Array:
    """Parts put together as a plain number; null for brackets that do not pair and +1 234 567, a telephone number."""
    part = {name: pc.struct_field(parts, name) for name in ("open", "sign", "inner", "behind", "last", "close")}
    digits = pc.struct_field(parts, "digits")
    grouped = pc.match_substring_regex(digits, _BETWEEN_GROUPS[thousands]) if thousands else pa.scalar(False)
    if thousands:
        digits = pc.replace_substring_regex(digits, _BETWEEN_GROUPS[thousands], "")
    if decimal != ".":
        digits = pc.replace_substring(digits, decimal, ".")
    signs = joined(*(part[name] for name in ("open", "sign", "inner", "behind", "last")))
    negative = pc.match_substring_regex(signs, rf"{_MINUS}|\(")
    minus = pc.if_else(negative, pa.scalar("-", pa.large_string()), pa.scalar("", pa.large_string()))
    number = joined(minus, digits, pc.struct_field(parts, "exponent"))
    paired = pc.equal(pc.equal(part["open"], "("), pc.equal(part["close"], ")"))
    single = pc.less_equal(pc.utf8_length(signs), 1)
    # Nobody groups the digits of +49 30 123, a telephone number, nor those of 1,200e+05, whose comma is decimal.
    ungrouped = pc.or_(pc.equal(signs, "+"), pc.not_equal(pc.struct_field(parts, "exponent"), ""))
    sensible = pc.invert(pc.and_(ungrouped, grouped))
    return pc.if_else(pc.and_(pc.and_(paired, single), sensible), number, pa.scalar(None, pa.large_string()))


def between_groups(thousands: str) -> str:
    """What matches the sign between groups of digits."""
    return _BETWEEN_GROUPS[thousands]


def joined(*texts: pa.Array) -> pa.Array:
    """Texts one behind the other, row by row."""
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))


def matches_all(texts: pa.Array, pattern: str) -> bool:
    """Whether every text that is there matches."""
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


@cache
def _pattern(decimal: str, thousands: str) -> str:
    point = r"\." if decimal == "." else decimal
    digits = rf"(?:{_GROUPS[thousands]}[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+"
    return (
        rf"^'?(?P<open>\()?\s*(?P<sign>[+\-\x{{2212}}])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[+\-\x{{2212}}])?\s*(?P<digits>{digits})"
        rf"(?P<exponent>[eE][+-]?[0-9]{{1,3}})?\s*(?P<behind>{_MINUS})?\s*(?P<after>{_CURRENCY}|%)?(?P<last>{_MINUS})?"
        r"(?P<close>\))?$"
    )
