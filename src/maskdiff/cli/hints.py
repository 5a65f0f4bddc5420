"""How a way out is given on the command line: the library names settings, and this is the one table of their flags."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskdiff.checks import Check

# The setting an error names -> how to give it here.
HINTS = {
    "address": "--address",
    "columns": "--categorical NAME, --numeric NAME, --dates NAME, --free-text NAME",
    "columns or text": "--categorical NAME, --numeric NAME, --dates NAME, --free-text NAME, or --text NAME",
    "contamination": "--contamination",
    "day_first": "--day-first or --month-first",
    "decimal": "--decimal , or --decimal .",
    "delimiter": "--delimiter ,",
    "device": "--device cpu",
    "drop": "--drop NAME",
    "encoding": "--encoding NAME",
    "force": "--force",
    "format": "--format NAME",
    "header": "--header or --no-header",
    "label": "--label NAME",
    "new rows": "give a file without the rows of earlier fits and updates",
    "normal": "--normal VALUE",
    "on_bad_lines": "--on-bad-lines skip",
    "out": "-o FILE",
    "out_format": "--out-format NAME",
    "prefix": "--prefix new_",
    "query": '--query "select ..."',
    "quote": "--quote none, or --quote '\"'",
    "resume": "without --resume",
    "row": "--row 17 or --where claim_id=17",
    "sample": "--sample N",
    "separator": '--separator " "',
    "sequence": "--sequence NAME",
    "sheet": "--sheet NAME",
    "text": "--text NAME",
    "port": "--port NUMBER",
    "threads": "--threads N",
    "token": "--token-file FILE",
    "workers": "--workers N",
}

# The check that found something -> the flag that is the way out, filled in with its details.
CHECK_HINTS = {
    "few_calibration_rows": "--false-alarm-rate {higher_rate}",
    "found_by_one_column": "--drop {drop}",
    "one_column": "fit with --drop {drop}",
    "rows_learned_from": "maskdiff find FILE -o FOUND",
}


def with_hint(error: Exception | Warning | str) -> str:
    """What an error or a warning says, and behind it the flag that is the way out.

    >>> from maskdiff.errors import SettingError
    >>> with_hint(SettingError("the name x.xls does not say a format.", setting="format"))
    'the name x.xls does not say a format. (On the command line: --format NAME.)'
    """
    hint = HINTS.get(getattr(error, "setting", None) or "")
    return str(error) if hint is None else f"{error} (On the command line: {hint}.)"


def check_with_hint(check: Check) -> str:
    """What a check says, and behind it the flag that is the way out, where it knows what to set.

    >>> from maskdiff.checks import Check
    >>> check_with_hint(Check("one_column", "all due to 'claim no'.", {"drop": "claim no"}))
    "all due to 'claim no'. (On the command line: fit with --drop 'claim no'.)"
    """
    known = {name: shlex.quote(str(value)) for name, value in check.details.items() if value is not None}
    try:
        hint = CHECK_HINTS[check.name].format_map(known)
    except KeyError:  # no flag, or nothing to set it to
        return check.message
    return f"{check.message} (On the command line: {hint}.)"
