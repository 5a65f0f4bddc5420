"""Tables the benchmark does not know, categories and numbers, to see whether the default holds on them too.

    python tools/more_tables.py --data DIR --seeds 2 --jobs 2 --out results/more/more-tables.jsonl

DIR holds files of the KEEL repository, NAME.dat, with or without their header. The last column is the label. In a set
without an anomalous class of its own the smallest class is one; of the anomalies at most a tenth of all rows are
kept, of the normal rows at most 20,000. A run that `--out` holds is not repeated.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from maskdiff import TableDetector
from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import METHODS, Method
from maskdiff.bench.runs.runner import run_bench
from maskdiff.bench.runs.sets import cut_table
from maskdiff.bench.tables.markdown import markdown
from maskdiff.encoders.table.encoder import TableEncoder

# fmt: off
CATEGORIES = [
    "balance", "breast", "car-good", "car-vgood", "chess", "cleveland-0_vs_4", "crx", "dermatology-6", "fars",
    "german", "heart", "housevotes", "kddcup-buffer_overflow_vs_back", "kddcup-guess_passwd_vs_satan",
    "kddcup-land_vs_portsweep", "kddcup-land_vs_satan", "kddcup-rootkit-imap_vs_back",
    "led7digit-0-2-4-5-6-7-8-9_vs_1", "lymphography-normal-fibrosis", "mammographic", "marketing", "monk-2",
    "mushroom", "nursery", "poker-8_vs_6", "poker-9_vs_7", "splice", "tic-tac-toe", "titanic", "zoo-3",
]
NUMBERS = [
    "abalone19", "abalone9-18", "ecoli4", "new-thyroid1", "page-blocks0", "pima", "segment0", "shuttle-2_vs_5",
    "spambase", "vowel0", "winequality-red-4", "wisconsin", "yeast5",
]
# fmt: on
# Their smallest classes have but a handful of rows.
ODD = {"nursery": "very_recom", "fars": "Unknown"}
MOST_NORMAL = 20_000


class PlainBins(TableDetector):
    """The default over quantile bins alone."""

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder(self.columns, tails=0)


class OnNumbers:
    """Numbers as they are, standardised, categories one-hot: an isolation forest, or the distance to 5 neighbours."""

    def __init__(self, seed: int, *, forest: bool) -> None:
        self.forest, self.seed = forest, seed

    def fit(self, X: pd.DataFrame) -> Self:
        seen = pd.get_dummies(X)
        self.columns, self.middle = seen.columns, seen.median()
        self.scaler = StandardScaler().fit(self._numbers(X, scaled=False))
        trees = IsolationForest(n_estimators=300, random_state=self.seed)
        self.model = (trees if self.forest else NearestNeighbors(n_neighbors=5)).fit(self._numbers(X))
        return self

    def anomaly_score(self, X: pd.DataFrame) -> Any:
        rows = self._numbers(X)
        return -self.model.score_samples(rows) if self.forest else self.model.kneighbors(rows)[0].mean(axis=1)

    def _numbers(self, X: pd.DataFrame, *, scaled: bool = True) -> Any:
        plain = pd.get_dummies(X).reindex(columns=self.columns, fill_value=0).fillna(self.middle).to_numpy(float)
        return self.scaler.transform(plain) if scaled else plain


COMPARED = {
    **{name: METHODS[name] for name in ("default", "mlp", "kernel", "ecod", "isotree")},
    "default, plain bins": Method(lambda seed, device: PlainBins(seed=seed, device=device, progress=False), "ours"),
    "iforest on numbers": Method(lambda seed, device: OnNumbers(seed, forest=True), "extra"),
    "5 neighbours on numbers": Method(lambda seed, device: OnNumbers(seed, forest=False), "extra"),
}


def load(path: Path) -> tuple[pd.DataFrame, Any]:
    """Rows and labels of one file, 1 = anomaly."""
    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    cells = [[cell.strip().strip("'") for cell in line.split(",")] for line in lines if line and line[0] != "@"]
    table = pd.DataFrame(cells).replace({"<null>": None, "?": None}).rename(columns=lambda n: f"c{n}")
    label = table.pop(table.columns[-1])
    for name in table:
        numbers = pd.to_numeric(table[name], errors="coerce")
        if numbers.isna().sum() == table[name].isna().sum():
            table[name] = numbers
    smallest = "positive" if "positive" in set(label) else label.value_counts().index[-1]
    is_odd = label.eq(ODD.get(path.stem, smallest)).to_numpy()
    rng, normal, odd = np.random.RandomState(0), np.flatnonzero(~is_odd), np.flatnonzero(is_odd)
    normal = rng.choice(normal, MOST_NORMAL, replace=False) if len(normal) > MOST_NORMAL else normal
    odd = rng.choice(odd, len(normal) // 9, replace=False) if len(odd) > len(normal) // 9 else odd
    kept = np.sort(np.concatenate([normal, odd]))
    return table.iloc[kept].reset_index(drop=True), is_odd[kept].astype(np.int8)


@dataclass(frozen=True)
class MoreTables:
    """A task of the benchmark over the files of a folder."""

    data: str
    name: str = "more tables"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return list(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return list(wanted)

    def split(self, run: Run) -> Split:
        return cut_table(load(Path(self.data) / f"{run.set}.dat"), run.seed)

    def method(self, name: str) -> Method:
        return COMPARED[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", nargs="+", default=[*CATEGORIES, *NUMBERS])
    parser.add_argument("--methods", nargs="+", default=list(COMPARED), choices=COMPARED)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="results/more/more-tables.jsonl")
    given = parser.parse_args()
    settings = {"sets": given.sets, "methods": given.methods, "seeds": range(given.seeds), "jobs": given.jobs}
    records = pd.DataFrame(run_bench(MoreTables(given.data), given.out, device="cpu", **settings))
    records = records[records["status"] == "ok"]
    records = records.assign(of=np.where(records["set"].isin(NUMBERS), "numbers", "categories"))
    table = 100 * records.groupby(["method", "of"])[["roc_auc", "pr_auc"]].mean()
    told = table["roc_auc"].map("{:.1f}".format) + " / " + table["pr_auc"].map("{:.1f}".format)
    print(markdown(told.unstack().reset_index()))


if __name__ == "__main__":
    main()
