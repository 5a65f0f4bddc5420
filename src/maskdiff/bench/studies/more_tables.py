"""Tables the benchmark does not know, of categories and of numbers, to see whether the default holds on them too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from maskdiff.bench.baselines.numbers import NumbersForest, NumbersNeighbours
from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import METHODS, Method, chosen, on_tables
from maskdiff.bench.runs.sets import LabelledTable, cut_table
from maskdiff.datasets.keel import keel_names, load_keel
from maskdiff.detectors import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import DataNotFoundError


def _plain_bins(seed: int, device: str) -> TableDetector:
    """The default over quantile bins alone."""
    return TableDetector(encoder=TableEncoder(tails=0), seed=seed, device=device, progress=False)


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
        """The tables meant; "all", "categories", "numbers" and "held_out" stand for several.

        Those held out are not among "all": whoever compares settings on all of them leaves these untouched.
        """
        groups = keel_names()
        known = {**groups, "all": [*groups["categories"], *groups["numbers"]]}
        return list(dict.fromkeys(name for each in wanted for name in known.get(each, [each])))

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, COMPARED)

    def split(self, run: Run) -> Split:
        if self.data is None:
            raise DataNotFoundError("more tables need the folder with the files of the KEEL repository.")
        return cut_table(_load(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return COMPARED[run.method]


@lru_cache(maxsize=1)  # runs on one table follow each other
def _load(name: str, data: str) -> LabelledTable:
    return load_keel(name, data)
