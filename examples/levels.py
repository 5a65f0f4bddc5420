"""What the level does: how much of a row is hidden.

At a low level nearly the whole row is shown, and single contradictions stand out. At a high level hardly anything is
shown, and rare values stand out. Scores average over levels.
"""

import sys

import numpy as np

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.plot import new_figure

LEVELS = np.arange(0.1, 1.0, 0.1).round(1)


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(900, seed=0)
    normal, new, odd = claims[:600][is_fraud[:600] == 0], claims[600:], is_fraud[600:] == 1
    means = []
    for level in LEVELS:
        probes = maskdiff.ProbeGrid((float(level),), views_per_level=8)
        scores = maskdiff.TableDetector("kernel", probes=probes, seed=0).fit(normal).anomaly_score(new)
        means.append((scores[~odd].mean(), scores[odd].mean()))
        print(f"level {level}: normal {means[-1][0]:.2f}, odd {means[-1][1]:.2f} nats")

    figure = new_figure((5.4, 3))
    axes = figure.subplots()
    axes.plot(LEVELS, np.array(means)[:, 0], "o-", color="#94a3b8", label="normal rows")
    axes.plot(LEVELS, np.array(means)[:, 1], "o-", color="#dc2626", label="odd rows")
    axes.set(xlabel="level: share of cells that are hidden", ylabel="mean score (nats)")
    axes.legend(frameon=False)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
