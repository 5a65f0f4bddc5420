"""Tables the benchmark does not know, of categories and of numbers, to see whether the default holds on them too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from maskdiff.bench.baselines.numbers import NumbersForest, NumbersNeighbours
from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import METHODS, Method, chosen, on_tables
from maskdiff.bench.runs.sets import LabelledTable, cut_table, load_set, table_names
from maskdiff.datasets.keel import keel_names, load_keel
from maskdiff.detectors import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import DataNotFoundError


def _plain_bins(seed: int, device: str) -> TableDetector:
    """The default over quantile bins alone."""
    return TableDetector(encoder=TableEncoder(tails=0), seed=seed, device=device, progress=False)


# What the names of these tables begin with where others stand beside them.
KEEL = "keel/"
# By the methods' names in the records.
COMPARED: dict[str, Method] = {
    **{name: METHODS[name] for name in ("default", "mlp", "kernel", "ecod", "isotree", "lof")},
    "default, plain bins": Method(_plain_bins, "ours"),
    "iforest on numbers": on_tables(NumbersForest),
    "5 neighbours on numbers": on_tables(NumbersNeighbours),
}


@dataclass(frozen=True)
class MoreTables:
    """The tables of `maskdiff.datasets.keel`, from the folder `data`."""

    data: str | None = None
    name: str = "more tables"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """The tables meant; "all", "categories", "numbers" and "held_out" stand for several."""
        return keel_tables(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, COMPARED)

    def split(self, run: Run) -> Split:
        return cut_table(keel_table(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return COMPARED[run.method]


def keel_tables(wanted: Iterable[str]) -> list[str]:
    """The tables meant, each once; "all", "categories", "numbers" and "held_out" stand for several.

    Those held out are not among "all": whoever compares settings on all of them leaves these untouched.
    """
    groups = keel_names()
    known = {**groups, "all": [*groups["categories"], *groups["numbers"]]}
    return list(dict.fromkeys(name for each in wanted for name in known.get(each, [each])))


def keel_table(name: str, data: str | None) -> LabelledTable:
    """Rows and labels of a table, from the folder `data`."""
    if data is None:
        raise DataNotFoundError("more tables need the folder with the files of the KEEL repository.")
    return _load(name, data)


def with_keel(wanted: Iterable[str]) -> list[str]:
    """The tables meant, of the benchmark's and of KEEL's, which begin with "keel/"; "keel" stands for "keel/all".

    >>> with_keel(["u2r", "keel/titanic"])
    ['u2r', 'keel/titanic']
    """
    names = list(wanted)
    keel = [name.removeprefix(KEEL) if name != "keel" else "all" for name in names if in_keel(name)]
    return [*table_names([name for name in names if not in_keel(name)]), *(KEEL + name for name in keel_tables(keel))]


def either_table(name: str, data: str | None, keel: str | None) -> LabelledTable:
    """Rows and labels of a table of the benchmark, or of KEEL, whose files are in the folder `keel`."""
    return keel_table(name.removeprefix(KEEL), keel) if in_keel(name) else load_set(name, data)


def in_keel(name: str) -> bool:
    """Whether this table, or this group of them, is one of KEEL's."""
    return name == "keel" or name.startswith(KEEL)


@lru_cache(maxsize=1)  # runs on one table follow each other
def _load(name: str, data: str) -> LabelledTable:
    return load_keel(name, data)
