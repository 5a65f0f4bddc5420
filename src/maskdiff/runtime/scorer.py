"""Scorer: an exported model that scores rows. B rows, F fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .aggregates import AGGREGATES
from .columns import Column, Rows, encode
from .derived import DerivedColumn
from .exported import Exported, RowVerdicts
from .references import Kernel, NearestRows
from .views import Fields, Masks, Network, masked_surprise, with_excess

_FLOOR = -np.log(1e-12)


class Scorer(Exported):
    """Scores rows as the exported detector does with the whole grid of probes.

    >>> scorer = Scorer("claims-exported")  # doctest: +SKIP
    >>> scorer.judge({"pet": ["cat"], "age": [3]}).p_value  # doctest: +SKIP
    """

    rows_are = "columns"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        missing = frozenset(self.description["missing"])
        self.columns = [Column(one, missing) for one in self.description["columns"]]
        self.derived = [DerivedColumn(one, Column(one, missing)) for one in self.description["derived"]]
        self.fields = Fields(self.description["fields"])
        self.network = self._network()

    def judge(self, table: Mapping[str, Sequence[Any]]) -> RowVerdicts:
        """All there is to say about the rows of a table, given by column: a dict of lists, or a dataframe."""
        rows = encode(self.columns, table, self.derived)
        score = self._score(rows)
        alarm_score = self._lifted(score, rows)
        return self.verdicts(score, alarm_score)

    def score(self, table: Mapping[str, Sequence[Any]]) -> np.ndarray:
        """How odd each row is, (B,). Higher = more anomalous."""
        return self._score(encode(self.columns, table, self.derived))

    def _score(self, rows: Rows) -> np.ndarray:
        shown, total = self.fields.stand_in(rows), np.zeros(len(rows.codes))
        cells = {name: self._cells(name, rows, shown) for name in self.description["sources"]}
        for term in self.description["terms"]:
            surprise, weight = cells[term["source"]]
            total += AGGREGATES[term["aggregate"]](surprise, weight) / term["scale"]
            total += term["shift"] * weight.sum(axis=1)
        return total

    def _cells(self, name: str, rows: Rows, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Surprise and weight of each cell by one source, each (B, F)."""
        source = self.description["sources"][name]
        if source["is"] == "nearest":
            own = {key.removeprefix(f"{name}."): array for key, array in self.arrays.items() if key.startswith(name)}
            differences = NearestRows(own, source["k"]).differences(shown, rows)
            return differences, np.full(differences.shape, 1 / max(differences.shape[1], 1))
        masks = Masks(*(self.arrays[f"{name}.{part}"] for part in ("hidden", "rate", "weight")))
        if source["is"] == "kernel":
            kernel = Kernel(self.arrays[f"{name}.codes"], self.arrays[f"{name}.counts"], source["bandwidth"])
            log_prob = kernel.log_prob(shown, rows.known, masks)
        else:
            log_prob = self._asked().answers(shown, rows.known, masks, odds=False)
        return masked_surprise(log_prob, self.fields, rows, masks)

    def _lifted(self, score: np.ndarray, rows: Rows) -> np.ndarray:
        """The scores, raised where one cell is odder than the row as a whole."""
        lift = self.description["lift"]
        if lift is None:
            return score
        beyond = (self._oddness(rows).max(axis=1) - lift["cell_start"]) / lift["cell_excess"]
        offset = np.log(lift["share"] / (1 - lift["share"]))
        lifted = lift["row_start"] + lift["row_excess"] * (beyond + offset)
        return np.where(beyond > 0, np.maximum(score, lifted), score)

    def _oddness(self, rows: Rows) -> np.ndarray:
        """How far each cell is beyond what is usual for its value and its column, (B, F)."""
        hidden = self.arrays["cells.hidden"]
        masks = Masks(hidden, np.full(len(hidden), self.description["cell_rate"]), np.ones(len(hidden)))
        odds = self._asked().answers(self.fields.stand_in(rows), rows.known, masks, odds=True).sum(axis=1)
        odds = np.where(rows.known, odds, np.maximum(odds, self.description["fields"]["unseen_charge"]))
        odds = with_excess(np.clip(odds, 0, _FLOOR), rows)
        odds = np.maximum(odds - self._usual(rows), 0.0)
        median, scale = self.arrays["cells.median"], self.arrays["cells.scale"]
        scaled = (odds - median) / scale
        return np.asarray(np.where(rows.known, scaled, np.maximum(scaled, odds / min(scale.min(), 1.0))))

    def _usual(self, rows: Rows) -> np.ndarray:
        """The log odds that cells with the value of each usually have, (B, F); 0 for a value never seen."""
        usual = self.arrays.get("cells.usual")
        if usual is None:
            return np.zeros(rows.codes.shape)
        sizes = np.array([column.size for column in self.columns] + [one.size for one in self.derived])
        place = np.cumsum(sizes) - sizes + np.where(rows.known, rows.codes, 0)
        return np.where(rows.known, usual[place], 0.0)

    def _network(self) -> Network | None:
        session = self.session()
        if session is None:
            return None
        sizes = np.array([column.size for column in self.columns] + [one.size for one in self.derived])
        return Network(session, self.arrays["network.start"], self.arrays["network.stride"], sizes)

    def _asked(self) -> Network:
        assert self.network is not None
        return self.network
