"""The page that helps to choose: maskdiff beside common methods on quality, seconds, what goes in, what comes out."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from maskdiff.bench.pages.quality import MORE_TABLES, TABLES, Quality, mean_pair, more_groups
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.speed import on
from maskdiff.bench.pages.text_blocks import grid, means, number, seconds, section
from maskdiff.datasets.keel import keel_names


@dataclass(frozen=True)
class Choice:
    """A method by its names in the records (of the paper's tables, of more tables), and what it reads and gives."""

    title: str
    name: str
    elsewhere: str
    reads: str
    gives: str


CHOICES = (
    Choice(
        "maskdiff, default",
        "default",
        "default",
        "categories, numbers, dates, notes, missing and new values as they are",
        "score, p-value, alarm at a promised rate, cells to blame, what was expected there",
    ),
    Choice("maskdiff, kernel", "kernel", "", "the same", "the same; fewer single wrong cells"),
    Choice(
        "isolation forest",
        "iforest",
        "iforest on numbers",
        "numbers without gaps; categories have to be encoded",
        "score; alarms by a share you guess",
    ),
    Choice(
        "isotree",
        "isotree",
        "isotree",
        "numbers and categories, missing values too",
        "score; imputed values",
    ),
    Choice("ECOD", "ecod", "ecod", "numbers without gaps", "score, and one for each column"),
    Choice(
        "k nearest neighbours",
        "hamming-knn",
        "5 neighbours on numbers",
        "numbers without gaps on one scale, or categories that are equal or not",
        "score, and the neighbours",
    ),
    Choice("LOF", "lof", "lof", "numbers without gaps on one scale", "score; alarms by a share you guess"),
)


def quality_table(records: RecordFolder) -> str:
    """Mean ROC / PR of each method."""
    shared = Quality(records).shared
    known = means([record for record in records.of(*TABLES) if record["set"] in shared and record["status"] == "ok"])
    groups, more = more_groups(records["more-tables"]), means(records["more-tables"])
    lines = []
    for choice in CHOICES:
        own = known[known["method"] == choice.name]
        elsewhere = more[more["method"] == choice.elsewhere]
        parts = [own, *(elsewhere[elsewhere["set"].isin(names)] for names in groups.values())]
        lines.append([choice.title, *(mean_pair(part) for part in parts)])
    head = ["method", f"the paper's {len(shared)} tables", *(f"more tables {MORE_TABLES[group]}" for group in groups)]
    return section(
        "Quality",
        f"Mean ROC / PR in percent, learned from normal rows, on the {number(len(shared))} tables of the paper and on "
        f"tables picked later. An empty cell was not measured. LOF compares with at most 10,000 distinct normal rows"
        f"{_not_measured(more, 'lof')}.",
        grid(head, lines),
        "The default was chosen with the labels of the first column in view, so read that column as optimistic; how "
        "the others were treated: [tables](tables.md#more-tables). A mean hides that each method wins somewhere: "
        "[by table](baselines.md), [where the default loses](index.md#where-it-loses).",
    )


def _not_measured(more: pd.DataFrame, method: str) -> str:
    """The tables on which a method was not measured, as the end of a sentence."""
    chosen_on = more[~more["set"].isin(keel_names()["held_out"])]
    known, own = (set(chosen_on[chosen_on["method"] == name]["set"]) for name in ("default", method))
    lacking = sorted(known - own)
    return f", and was not measured on {', '.join(lacking)}" if own and lacking else ""


def seconds_table(records: RecordFolder) -> str:
    """Seconds to fit and score on one thread."""
    bank, claims = (on(records["runtime"], name) for name in ("bank", "claims"))
    lines = [
        [
            choice.title,
            *(_seconds(found.get(choice.name), step) for found in (bank, claims) for step in ("fit", "score")),
        ]
        for choice in CHOICES
        if choice.name in bank
    ]
    first = next(iter(bank.values()))
    return section(
        "Seconds",
        f"On one thread, all methods in one run; bank has {first['n_train']:,} rows to learn from and "
        f"{first['n_test']:,} to score. More, and on which machine: [speed](speed.md#every-method-on-one-thread).",
        grid(["method", "bank: fit", "bank: score", "claims: fit", "claims: score"], lines),
    )


def _seconds(record: dict[str, object] | None, step: str) -> str:
    value = None if record is None else record.get(f"{step}_seconds")
    return f"{seconds(float(str(value)))} s" if value is not None else ""


def choose_page(records: RecordFolder) -> list[str]:
    """The blocks of the page; none where nothing was measured for it."""
    if not records["more-tables"]:
        return []
    return [
        "What to expect of common methods for odd rows in tables, from the same runs as the other pages. When "
        "something else is the better choice: [when not to use maskdiff](../when-not.md); the same task in other "
        "libraries: [migration](../migration.md).",
        quality_table(records),
        seconds_table(records),
        section(
            "What goes in, what comes out",
            grid(["method", "reads", "gives"], [[choice.title, choice.reads, choice.gives] for choice in CHOICES]),
        ),
    ]
