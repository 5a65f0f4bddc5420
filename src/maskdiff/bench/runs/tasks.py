"""What can be measured: a task knows its data sets and methods, and how a run's data set is cut.

Tasks travel to other processes, so they hold names and settings, never data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from maskdiff.bench.runs.embedders import Embedder
from maskdiff.bench.runs.measure import Record, Run, Split, failure, measure
from maskdiff.bench.runs.methods import METHODS, Method, chosen
from maskdiff.bench.runs.sets import SEQUENCES, cut_table, cut_texts, load_set, table_names, text_names
from maskdiff.bench.runs.text_methods import EMBEDDED, SEQUENCE_METHODS, text_methods
from maskdiff.errors import SettingError


class Study(Protocol):
    """What can be measured, however it is done."""

    @property
    def name(self) -> str:
        """What its records are marked with."""

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """The data sets meant."""

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        """The methods meant."""


class Task(Study, Protocol):
    """A benchmark of row scores; `warm_up`: on how many rows a method is fitted before it is timed."""

    @property
    def warm_up(self) -> int: ...

    def split(self, run: Run) -> Split:
        """What a run is given."""

    def method(self, run: Run) -> Method:
        """The method of a run."""


@dataclass(frozen=True)
class Tables:
    """Tables, from the folder `data`."""

    data: str | None = None
    name: str = "tables"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return table_names(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, METHODS)

    def split(self, run: Run) -> Split:
        return cut_table(load_set(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return METHODS[run.method]


def runtime(data: str | None = None) -> Tables:
    """Tables, timed with care: what a library loads or compiles when it is first used is not the method's time."""
    return Tables(data, name="runtime", warm_up=500)


@dataclass(frozen=True)
class Texts:
    """Texts, from the folder `data`; with an embedder also the methods that look at embeddings."""

    data: str | None = None
    embedder: Embedder | None = None
    name: str = "text"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return text_names(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, text_methods(self.embedder))

    def split(self, run: Run) -> Split:
        texts = cut_texts(run.set, self.data, run.seed, self.method(run).labelled)
        if self.embedder is None or self.method(run).group != EMBEDDED:
            return texts
        return Split(self.embedder.vectors(texts.normal), self.embedder.vectors(texts.unlabelled), texts.y)

    def method(self, run: Run) -> Method:
        known = SEQUENCE_METHODS if run.set in SEQUENCES else text_methods(self.embedder)
        if run.method not in known:
            raise SettingError(f"{run.method!r} cannot read {run.set!r}, whose rows are no texts.")
        return known[run.method]


def execute(run: Run, task: Task, device: str) -> Record:
    """Do a run and turn whatever goes wrong into a record."""
    try:
        return measure(run, task.split(run), task.method(run), device=device, warm_up=task.warm_up)
    except Exception as error:  # one failed run must not stop the others
        return failure(run, device, error)
