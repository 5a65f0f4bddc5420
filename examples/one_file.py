"""One file, and nobody knows which of its rows are normal.

`find` judges every row by a model that did not learn from it, and selects rows so that on average at most 10% of them
are normal. The picture ranks the rows by their p-value; those that are odd indeed are red, and those
selected stand left of the line.
"""

import sys

import numpy as np

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.plot import new_figure


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(800, seed=0)
    findings = maskdiff.find(claims, detector=maskdiff.TableDetector("kernel", progress=False))
    found = findings.is_anomaly
    print(f"found {found.sum()} rows, {is_fraud[found].sum()} of them odd; estimated: {findings.estimated_odd}")

    order = np.argsort(findings.p_value, kind="stable")[:120]
    figure = new_figure((7, 3))
    axes = figure.subplots()
    axes.axvline(found.sum() - 0.5, color="black", linestyle="--")
    colors = np.where(is_fraud[order] == 1, "#dc2626", "#cbd5e1")
    axes.bar(range(len(order)), -np.log10(findings.p_value[order]), color=colors, width=1.0)
    axes.set(xlabel="the 120 oddest of 800 rows; red: odd indeed", ylabel="-log10 of the p-value")
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
