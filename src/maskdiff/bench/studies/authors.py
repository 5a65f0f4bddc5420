"""How long the authors' published code takes on the same rows, timed as every other method is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from maskdiff.bench.baselines.authors import AuthorsKernel, AuthorsNetwork, import_from
from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import Method, chosen, on_codes
from maskdiff.bench.runs.sets import cut_table, load_set, table_names


@dataclass(frozen=True)
class AuthorsCode:
    """Tables from the folder `data`, measured with the code in the folder `checkout`."""

    checkout: str
    data: str | None = None
    name: str = "authors"
    warm_up: int = 500

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return table_names(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        import_from(self.checkout)  # before the long part
        return chosen(wanted, self._methods())

    def split(self, run: Run) -> Split:
        return cut_table(load_set(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return self._methods()[run.method]

    def _methods(self) -> dict[str, Method]:
        return {
            "authors-mlp": on_codes(partial(AuthorsNetwork, self.checkout)),
            "authors-kernel": on_codes(partial(AuthorsKernel, self.checkout)),
        }
