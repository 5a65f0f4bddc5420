"""Log sessions: learn the usual order of events, find sessions that went another way, and name the event.

Reads the HDFS sessions from the folder MASKDIFF_DATA names; without one, sessions are made up. A session is a list of
event templates; nothing about their wording is used.
"""

from __future__ import annotations

import os

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from maskdiff import SequenceDetector, Steps, Training
from maskdiff.datasets.text import split_text
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor


def read_sessions() -> tuple[list[list[str]], list[list[str]], np.ndarray]:
    """Normal sessions to learn from, sessions to judge, and which of those are anomalous."""
    if os.environ.get("MASKDIFF_DATA"):
        return split_text("hdfs")
    rng = np.random.default_rng(0)

    def session() -> list[str]:
        copies = int(rng.integers(1, 4))
        return ["allocate", *["receive"] * copies, *["received", "responder ends"] * copies, "stored"]

    odd = [["allocate", "receive", "exception", "stored"], ["stored", "receive", "allocate"], ["receive"] * 7]
    normal = [session() for _ in range(500)]
    return normal[:400], [*normal[400:], *odd], np.array([0] * 100 + [1] * 3)


def main() -> None:
    normal, sessions, y = read_sessions()
    small = TransformerReconstructor(
        width=64, training=Training(Steps(120), batch_size=64, learning_rate=3e-3, warmup=0.1)
    )
    detector = SequenceDetector(small, probes=ProbeGrid((0.15, 0.5, 0.85), 2), progress=False).fit(normal)

    verdicts = detector.judge(sessions)
    print(f"ROC {100 * roc_auc_score(y, verdicts.anomaly_score):.1f}, F1 {f1_score(y, verdicts.is_anomaly):.2f}")
    print(f"false alarms: {verdicts.is_anomaly[y == 0].mean():.1%} of {np.sum(y == 0)} normal sessions")

    oddest = np.argsort(-verdicts.anomaly_score)[:3]
    explained = detector.explain([sessions[i] for i in oddest], top=1, verdicts=verdicts.take(oddest))
    print(explained.to_string(index=False))


if __name__ == "__main__":
    main()
