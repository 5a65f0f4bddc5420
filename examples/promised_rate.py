"""The promised false-alarm rate, and the one that is seen.

A detector is calibrated on normal rows. Then 3,000 new normal rows are judged at several rates: the share of alarms
stays near or below the promised one, without any assumption about the data.
"""

import sys

import numpy as np

import maskdiff
from maskdiff.datasets import make_claims
from maskdiff.plot import new_figure


def main(picture: str | None = None) -> None:
    claims, is_fraud = make_claims(5200, seed=1)
    normal = claims[is_fraud == 0]
    detector = maskdiff.TableDetector("kernel", seed=0).fit(normal[:1000])
    p_values = detector.p_value(normal[1000:4000])
    promised = np.array([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
    seen = np.array([(p_values <= rate).mean() for rate in promised])
    for rate, share in zip(promised, seen, strict=True):
        print(f"promised {rate:6.1%}   seen {share:6.2%}")

    figure = new_figure((4.2, 3.6))
    axes = figure.subplots()
    axes.loglog([0.001, 0.3], [0.001, 0.3], color="#94a3b8", label="as promised")
    axes.loglog(promised, seen, "o", color="#4f46e5", label="seen in new normal rows")
    axes.set(xlabel="promised false-alarm rate", ylabel="share of alarms")
    axes.legend(frameon=False)
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
