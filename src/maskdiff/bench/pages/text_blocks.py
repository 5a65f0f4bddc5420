"""Small pieces that pages are put together from: cells, tables, commands, and where records were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from textwrap import fill

import pandas as pd

from maskdiff.bench.runs.measure import Record

_SPELLED = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
)
HEADER = "<!-- Written from the records by `maskdiff bench summary --docs docs/results`. Do not edit. -->"


def page(title: str, *blocks: str) -> str:
    """A page: its title, and blocks with empty lines between; empty blocks are left out, prose is wrapped."""
    parts = [part for block in blocks if block for part in block.split("\n\n")]
    return "\n\n".join([f"# {title}", HEADER, *map(_wrapped, parts)]) + "\n"


def _wrapped(block: str) -> str:
    if block.startswith(("|", "```", "#", "!", "- ")):
        return block
    return fill(block, 120, break_long_words=False, break_on_hyphens=False)


def section(title: str, *blocks: str) -> str:
    """Blocks under a title, with empty lines between."""
    return "\n\n".join([f"## {title}", *(block for block in blocks if block)])


def grid(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table in markdown.

    >>> print(grid(["method", "rank"], [["mlp", 2]]))
    | method | rank |
    |---|---|
    | mlp | 2 |
    """
    rows = ["| " + " | ".join(map(str, line)) + " |" for line in [head, *lines]]
    return "\n".join([rows[0], "|" + "---|" * len(head), *rows[1:]])


def command(*lines: str) -> str:
    """Commands to type."""
    return "\n".join(["```", *lines, "```"])


def pair(roc: float, pr: float) -> str:
    """ROC / PR.

    >>> pair(91.26, 8.0)
    '91.3 / 8.0'
    """
    return f"{roc:.1f} / {pr:.1f}"


def with_deviation(mean: float, deviation: float, digits: int = 2) -> str:
    """A mean and its deviation, if it has one; nothing for no mean."""
    if math.isnan(mean):
        return ""
    return f"{mean:.{digits}f}" if math.isnan(deviation) else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def seconds(value: float) -> str:
    """Seconds, whole ones from 100.

    >>> seconds(3.14), seconds(265.2)
    ('3.1', '265')
    """
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def times(ratio: float) -> str:
    """A ratio in words."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def threads(count: int) -> str:
    """So many threads, in words.

    >>> threads(1), threads(2)
    ('1 thread', '2 threads')
    """
    return f"{count} thread" if count == 1 else f"{count} threads"


def places(records: Iterable[Record]) -> str:
    """The devices of records that name one, with the versions of torch."""
    found: dict[str, set[str]] = {}
    for record in records:
        if "device" in record:
            found.setdefault(record["device"], set()).add(record["versions"]["torch"].split("+")[0])
    return "; ".join(f"{device}, torch {', '.join(sorted(found[device]))}" for device in sorted(found))


def seeds(records: Iterable[Record]) -> int:
    """How many seeds there are among records."""
    return len({record["seed"] for record in records})


def number(count: int) -> str:
    """A small number as a word.

    >>> number(5), number(43)
    ('five', '43')
    """
    return _SPELLED[count] if count < len(_SPELLED) else str(count)


def means(records: Iterable[Record]) -> pd.DataFrame:
    """ROC and PR in percent, averaged over seeds: method, set, roc_auc, pr_auc, runs."""
    table = pd.DataFrame([{key: record[key] for key in ("method", "set", "roc_auc", "pr_auc")} for record in records])
    grouped = table.groupby(["method", "set"], as_index=False, sort=False)
    averaged = grouped[["roc_auc", "pr_auc"]].mean()
    averaged[["roc_auc", "pr_auc"]] *= 100
    return averaged.assign(runs=grouped.size()["size"])
