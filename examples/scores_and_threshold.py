"""Scores of normal and odd rows, and the threshold between them.

Claims are made up. The detector learns from normal ones; the threshold comes from normal rows alone, so that about 1%
of new normal rows are above it. How many odd rows are above it depends on how odd they are.
"""

import sys

import numpy as np

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.plot import new_figure


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(2400, seed=0)
    detector = maskdiff.TableDetector("kernel", seed=0).fit(claims[:1600][is_fraud[:1600] == 0])
    new, odd = claims[1600:], is_fraud[1600:] == 1
    scores, threshold = detector.anomaly_score(new), detector.threshold()
    above = scores > threshold
    print(f"above the threshold: {above[odd].mean():.0%} of odd rows, {above[~odd].mean():.1%} of normal ones")

    figure = new_figure((7, 3.2))
    axes = figure.subplots()
    edges = np.linspace(scores.min(), np.quantile(scores, 0.995), 40)
    axes.hist(scores[~odd], edges, density=True, color="#94a3b8", label="normal")
    axes.hist(scores[odd], edges, density=True, color="#dc2626", alpha=0.6, label="odd")
    axes.axvline(threshold, color="black", linestyle="--", label="threshold, 1% false alarms")
    axes.set(xlabel="anomaly score (nats)", yticks=[])
    axes.legend(frameon=False)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
