"""Why a masked-diffusion detector cannot score rows by the time of diffusion (Remark 1 of the paper).

Diffusion time estimation asks: at which time t of the forward process would this row be likely? In continuous space a
row far from the normal ones looks late. In masked diffusion a clean row has no masked cell, and all that time does to
such a row is to make it less likely that no cell was hidden yet, the same for every row. Surprise does tell them apart.
"""

from __future__ import annotations

import numpy as np

from maskdiff import TableDetector, theory

PETS = [("cat", "meow"), ("dog", "woof"), ("cow", "moo")]


def time_posteriors(rows: list[tuple[str, ...]], share: dict[tuple[str, ...], float]) -> np.ndarray:
    """q(t | x) of every row from the definition, shape (rows, times): a sum over the clean rows it may come from."""
    alpha = 1 - np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    prior = np.full(len(alpha), 1 / len(alpha))
    posteriors = []
    for row in rows:
        # A cell that is visible equals its clean value; alpha is the chance that it is visible.
        reached = [chance * all(a == b for a, b in zip(row, clean, strict=True)) for clean, chance in share.items()]
        joint = prior * alpha ** len(row) * sum(reached)
        posteriors.append(joint / joint.sum())
    assert np.allclose(posteriors, theory.time_posterior(prior, alpha, len(rows[0])))
    return np.array(posteriors)


def main() -> None:
    rng = np.random.default_rng(0)
    normal = [PETS[i] for i in rng.integers(0, 3, 600)]
    normal[0] = ("cat", "moo")  # once in 600 rows: rare, but it has a probability
    rows = [("cat", "meow"), ("cow", "moo"), ("cat", "moo")]

    share = {row: normal.count(row) / len(normal) for row in set(normal)}
    detector = TableDetector("kernel").fit(np.array(normal))
    surprise = detector.anomaly_score(np.array(rows))

    print("row            q(t = 0.1, 0.3, 0.5, 0.7, 0.9 | row)     surprise")
    for row, posterior, score in zip(rows, time_posteriors(rows, share), surprise, strict=True):
        print(f"{' '.join(row):14} {np.round(posterior, 3)}   {score:.2f} nats")


if __name__ == "__main__":
    main()
