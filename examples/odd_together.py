"""Values that are common alone and odd together.

In normal rows an animal makes its own sound. Every value is frequent, so that counting values finds nothing; neither
does an isolation forest on encoded categories. What is hidden and predicted from the rest of the row stands out.
"""

import sys

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

import maskdiff
from maskdiff.plot import new_figure

SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "duck": "quack", "sheep": "baa"}


def main(picture: str | None = None) -> None:
    rng = np.random.default_rng(0)
    animals = rng.choice(list(SOUNDS), 1200)
    rows = np.column_stack([animals, [SOUNDS[one] for one in animals], rng.choice(["day", "night"], 1200)])
    odd = np.zeros(1200, bool)
    odd[1000:1100] = True
    rows[odd, 1] = np.roll(rows[odd, 1], 1)  # sounds of other rows; some happen to fit
    odd &= rows[:, 1] != [SOUNDS[one] for one in animals]

    detector = maskdiff.TableDetector("kernel", seed=0).fit(rows[:1000])
    coded = np.column_stack([np.unique(column, return_inverse=True)[1] for column in rows.T])
    forest = IsolationForest(random_state=0).fit(coded[:1000])
    found = {
        "maskdiff": roc_auc_score(odd[1000:], detector.anomaly_score(rows[1000:])),
        "isolation forest": roc_auc_score(odd[1000:], -forest.score_samples(coded[1000:])),
    }
    print(found)

    figure = new_figure((5, 1.8))
    axes = figure.subplots()
    axes.barh(list(found), list(found.values()), color=["#4f46e5", "#94a3b8"])
    axes.set(xlim=(0, 1), xlabel="ROC-AUC (0.5: by chance)")
    if picture:
        figure.savefig(picture, bbox_inches="tight")


if __name__ == "__main__":
    main(*sys.argv[1:])
