"""Tables with a column of free text: read as text, or left out.

Claims get notes (`datasets.claim_notes`): in one set the anomalies are odd notes, of five faults in equal parts, in the
other the claims' own, odd cells beside normal notes, so that what reading the notes costs is seen too. Published texts
get columns that know nothing of them, two of which depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import Method, chosen
from maskdiff.datasets import make_claims
from maskdiff.datasets.claim_notes import FAULTS, claim_notes, odd_notes
from maskdiff.datasets.text import split_text
from maskdiff.detectors import TableDetector
from maskdiff.errors import SettingError

# Normal rows to learn from, and rows to score: normal ones and anomalies.
N_LEARNED, N_NORMAL, N_ODD = 2000, 500, 100
NOTE = "note"
RECONSTRUCTOR = "combined"
READ_AS = {"read as text": "text", "left out": "drop"}


@dataclass(frozen=True)
class FreeText:
    """Tables with notes; published texts are in the folder `data`."""

    data: str | None = None
    name: str = "free text"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        names = list(SETS) if list(wanted := tuple(wanted)) == ["all"] else list(wanted)
        unknown = [name for name in names if name not in SETS]
        if unknown:
            raise SettingError(f"there is no table with texts called {unknown[0]!r}; known are {', '.join(SETS)}.")
        return names

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, {name: _method(name) for name in READ_AS})

    def split(self, run: Run) -> Split:
        normal, odd = SETS[run.set](np.random.default_rng(run.seed), self.data)
        learned, others = normal.iloc[:N_LEARNED], normal.iloc[N_LEARNED : N_LEARNED + N_NORMAL]
        rows = pd.concat([others, odd.iloc[:N_ODD]], ignore_index=True)
        y = np.r_[np.zeros(len(others), np.int8), np.ones(len(rows) - len(others), np.int8)]
        return Split(learned.reset_index(drop=True), rows, y)

    def method(self, run: Run) -> Method:
        return _method(run.method)


def _method(name: str) -> Method:
    def build(seed: int, device: str) -> TableDetector:
        return TableDetector(RECONSTRUCTOR, columns={NOTE: READ_AS[name]}, seed=seed, device=device, progress=False)

    return Method(build, "ours")


Tables = tuple[pd.DataFrame, pd.DataFrame]


def _claims(rng: Generator) -> Tables:
    """Normal claims and odd ones, all with normal notes."""
    rows, y = make_claims(2 * (N_LEARNED + N_NORMAL + N_ODD), int(rng.integers(1 << 31)))
    rows[NOTE] = claim_notes(rows["issue"].tolist(), rng)
    return rows[y == 0], rows[y == 1]


def _odd_notes(rng: Generator, data: str | None) -> Tables:
    normal, _ = _claims(rng)
    odd = normal.iloc[N_LEARNED + N_NORMAL :][:N_ODD].copy()
    faults = np.resize(list(FAULTS), len(odd))
    odd[NOTE] = [odd_notes(fault, [issue], rng)[0] for fault, issue in zip(faults, odd["issue"], strict=True)]
    return normal, odd


def _odd_cells(rng: Generator, data: str | None) -> Tables:
    return _claims(rng)


def _published(name: str) -> Callable[[Generator, str | None], Tables]:
    def rows(rng: Generator, data: str | None) -> Tables:
        learned, tested, y = split_text(name, data, seed=int(rng.integers(1 << 31)))
        normal = [*learned[:N_LEARNED], *(text for text, odd in zip(tested, y, strict=True) if not odd)]
        anomalies = [text for text, odd in zip(tested, y, strict=True) if odd]
        return _with_columns(normal, rng), _with_columns(anomalies, rng)

    return rows


def _with_columns(texts: list[Any], rng: Generator) -> pd.DataFrame:
    plan, n = rng.integers(4, size=len(texts)), len(texts)
    network = np.where(rng.random(n) < 0.9, plan, rng.integers(4, size=n))
    columns = {"plan": plan, "network": network, "hour": rng.integers(24, size=n), "zone": rng.integers(3, size=n)}
    return pd.DataFrame({name: [f"{name[0]}{value}" for value in one] for name, one in columns.items()} | {NOTE: texts})


SETS: dict[str, Callable[[Generator, str | None], Tables]] = {
    "claims-notes": _odd_notes,
    "claims-cells": _odd_cells,
    "sms": _published("sms"),
    "agnews": _published("agnews"),
}
