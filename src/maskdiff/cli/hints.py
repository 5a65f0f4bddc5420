"""How a way out is given on the command line: the library names settings, and this is the one table of their flags."""

from __future__ import annotations

# The setting an error names -> how to give it here.
HINTS = {
    "columns": "--categorical NAME, --numeric NAME, --dates NAME",
    "contamination": "--contamination",
    "day_first": "--day-first or --month-first",
    "device": "--device cpu",
    "drop": "--drop NAME",
    "encoding": "--encoding cp1252",
    "force": "--force",
    "format": "--format NAME",
    "label": "--label NAME",
    "normal": "--normal VALUE",
    "on_bad_lines": "--on-bad-lines skip",
    "out": "-o FILE",
    "out_format": "--out-format NAME",
    "prefix": "--prefix new_",
    "resume": "without --resume",
    "row": "--row 17 or --where claim_id=17",
    "separator": '--separator " "',
    "sequence": "--sequence NAME",
    "text": "--text NAME",
}


def with_hint(error: Exception | Warning | str) -> str:
    """What an error or a warning says, and behind it the flag that is the way out.

    >>> from maskdiff.errors import SettingError
    >>> with_hint(SettingError("the name x.xls does not say a format.", setting="format"))
    'the name x.xls does not say a format. (On the command line: --format NAME.)'
    """
    hint = HINTS.get(getattr(error, "setting", None) or "")
    return str(error) if hint is None else f"{error} (On the command line: {hint}.)"
