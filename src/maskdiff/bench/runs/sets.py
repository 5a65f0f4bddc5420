"""The data sets to measure on: published tables and texts, from the user's folder, and generated ones.

A table is cut 70/30, stratified by label, by the run's seed; of the training part only the normal rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from maskdiff import datasets
from maskdiff.bench.runs.measure import Split
from maskdiff.datasets.nlpad import PREFIX
from maskdiff.datasets.text import labelled_anomalies, split_text
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    import pandas as pd

LabelledTable = tuple["pd.DataFrame", NDArray[np.int8]]

TEST_SHARE = 0.3
# Stands in for the paper's Vehicle Claims, whose file few have.
N_CLAIMS = 50_000
GENERATED: dict[str, Callable[[], LabelledTable]] = {"claims": lambda: datasets.make_claims(N_CLAIMS, seed=0)}
# As many rows as Vehicle Claims has: for timing, and only when asked for by name.
ON_DEMAND: dict[str, Callable[[], LabelledTable]] = {"claims-large": lambda: datasets.make_claims(n=268_255, seed=0)}
TEXTS = ("sms", "email", "agnews")
# Rows of symbols that are no text, and only when asked for by name.
SEQUENCES = ("hdfs",)
# News of one topic joined to long articles, and only when asked for by name.
LONG_TEXTS = ("agnews_long",)


def table_names(wanted: Iterable[str]) -> list[str]:
    """The tables meant, in order, each once; "all" stands for every one but those on demand.

    >>> table_names(["u2r", "claims", "u2r"])
    ['u2r', 'claims']
    """
    return _named(wanted, [*datasets.names(), *GENERATED], ON_DEMAND)


def text_names(wanted: Iterable[str]) -> list[str]:
    """The sets of texts meant, in order, each once; "all" stands for every one but sequences and long texts.

    "nlpad/FOLDER" is a set of NLP-ADBench's own files.

    >>> text_names(["all", "nlpad/yelp_review"])
    ['sms', 'email', 'agnews', 'nlpad/yelp_review']
    """
    named = list(wanted)
    return _named(named, TEXTS, [*SEQUENCES, *LONG_TEXTS, *(name for name in named if name.startswith(PREFIX))])


def _named(wanted: Iterable[str], known: Sequence[str], also: Iterable[str] = ()) -> list[str]:
    named = [name for each in wanted for name in (known if each == "all" else [each])]
    unknown = [name for name in named if name not in known and name not in also]
    if unknown:
        raise SettingError(f"there is no data set {unknown[0]!r} here; known are all, {', '.join([*known, *also])}.")
    return list(dict.fromkeys(named))


@lru_cache(maxsize=1)  # runs on one set follow each other
def load_set(name: str, data: str | None) -> LabelledTable:
    """Rows and labels of a table, 1 = anomaly; `data` is the folder with the published files."""
    generated = GENERATED | ON_DEMAND
    return generated[name]() if name in generated else datasets.load(name, data=data)


def train_and_test(y: NDArray[np.int8], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of the rows in the training part and of those in the test part."""
    train, test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, stratify=y, random_state=seed)
    return train, test


def cut_table(table: LabelledTable, seed: int) -> Split:
    """The split of a table that belongs to a seed."""
    X, y = table
    train, test = train_and_test(y, seed)
    normal = X.iloc[train[y[train] == 0]].reset_index(drop=True)
    return Split(normal, X.iloc[test].reset_index(drop=True), y[test])


def cut_texts(name: str, data: str | None, seed: int, labelled: int = 0) -> Split:
    """The split of a set of texts that belongs to a seed: see `maskdiff.datasets.text.split_text`."""
    anomalies = labelled_anomalies(name, data, number=labelled, seed=seed) if labelled else None
    return Split(*split_text(name, data, seed=seed), anomalies)
