"""What anomalies among the rows to learn from cost, and what `contamination=` wins back.

    python tools/contamination.py --data DIR --sets bank probe claims --seeds 0 1 --out contamination.jsonl

The split is the benchmark's; of the anomalies in its training part so many are put among the normal rows that they are
the given share of them. The rows to score stay the same. A share for which a set has too few anomalies is left out; a
run that `--out` holds is not repeated.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from maskdiff import TableDetector
from maskdiff.bench.runs.measure import metrics
from maskdiff.bench.runs.sets import TEST_SHARE, load_set
from maskdiff.bench.tables.markdown import markdown

DETECTORS = {
    "default": lambda share: {},
    "default, told the share": lambda share: {"contamination": share},
    "plain score": lambda share: {"reconstructor": "mlp"},
}
SHARES = (0.0, 0.01, 0.02, 0.05)
KEY = ("set", "seed", "share", "detector")


def learned_from(y: Any, train: Any, share: float, seed: int) -> Any | None:
    """The normal rows of the training part, and so many of its anomalies that they are this share of all; None where
    there are too few.
    """
    normal, odd = train[y[train] == 0], train[y[train] == 1]
    wanted = round(share * len(normal) / (1 - share))
    if wanted > len(odd):
        return None
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([normal, rng.choice(odd, wanted, replace=False)]))


def measure(name: str, seed: int, share: float, detector: str, data: str | None) -> dict[str, Any] | None:
    X, y = load_set(name, data)
    train, test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=seed, stratify=y)
    rows = learned_from(y, train, share, seed)
    if rows is None:
        return None
    fitted = TableDetector(**DETECTORS[detector](share), seed=seed, progress=False).fit(X.iloc[rows])
    score = fitted.anomaly_score(X.iloc[test])
    alarms = fitted.calibration_.p_values(score) <= 0.05
    return {
        **dict(zip(KEY, (name, seed, share, detector), strict=True)),
        **metrics(y[test], score),
        "false_alarms_at_5%": float(alarms[y[test] == 0].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--sets", nargs="+", default=["bank", "probe", "fraud_oracle"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--out", type=Path, default=Path("results/more/contamination.jsonl"))
    given = parser.parse_args()
    records = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {tuple(record[part] for part in KEY) for record in records}
    for seed, name, share, detector in product(given.seeds, given.sets, SHARES, DETECTORS):
        if (name, seed, share, detector) in done or (share == 0 and "told" in detector):
            continue
        if (record := measure(name, seed, share, detector, given.data)) is None:
            print(f"{name}: too few anomalies to be {share:.0%} of the rows", file=sys.stderr, flush=True)
            continue
        records.append(record)
        with given.out.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
        print(records[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(records).groupby(["detector", "set", "share"])[["roc_auc", "pr_auc"]].mean() * 100
    told = table["roc_auc"].map("{:.1f}".format) + " / " + table["pr_auc"].map("{:.1f}".format)
    print(markdown(told.unstack().reset_index()))


if __name__ == "__main__":
    main()
