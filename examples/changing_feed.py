"""A feed that changes, and a model that learns on.

From the fourth week on a new maker with new models appears. The model that is left alone raises more and more
alarms; the one that is updated with the normal rows of each week does so only in the week of the change.
"""

import copy
import sys

import numpy as np

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.plot import new_figure


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(4200, seed=0)
    normal = claims[is_fraud == 0].reset_index(drop=True)
    alone = maskdiff.TableDetector("kernel", seed=0).fit(normal[:1000])
    updated = copy.deepcopy(alone)
    rng, shares = np.random.default_rng(0), []
    for number in range(8):
        week = normal[1000 + 200 * number : 1200 + 200 * number].copy()
        if number >= 3:
            some = rng.choice(week.index, 20 * (number - 2), replace=False)
            week.loc[some, ["Maker", "Genmodel", "Engin_size"]] = ["Rivian", "R1T", "0.0L"]
        shares.append((alone.is_anomaly(week).mean(), updated.is_anomaly(week).mean()))
        updated.update(week)
        print(f"week {number + 1}: {shares[-1][0]:5.1%} alarms, updated {shares[-1][1]:5.1%}")

    figure = new_figure((6, 3))
    axes = figure.subplots()
    axes.plot(range(1, 9), np.array(shares)[:, 0] * 100, "o-", color="#dc2626", label="left alone")
    axes.plot(range(1, 9), np.array(shares)[:, 1] * 100, "o-", color="#4f46e5", label="updated every week")
    axes.axhline(1, color="#94a3b8", linestyle="--", label="promised")
    axes.set(xlabel="week", ylabel="% alarms")
    axes.legend(frameon=False)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
