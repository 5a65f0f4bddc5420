"""How the cells of one row add up to its score.

Every cell contributes to the score, and the contributions sum up to it. The picture shows the strongest of them, beside
the scores of normal rows and the threshold.
"""

import sys

import maskdiff
from maskdiff.datasets import make_claims


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(1500, seed=0)
    detector = maskdiff.TableDetector("kernel", seed=0).fit(claims[:1000][is_fraud[:1000] == 0])
    new = claims[1000:]
    oddest = int(detector.anomaly_score(new).argmax())
    reasons = detector.explain(new[oddest : oddest + 1], top=3)
    print(reasons[["column", "value", "expected", "share"]].to_string(index=False))

    figure = maskdiff.plot.waterfall(detector, new, row=oddest)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
