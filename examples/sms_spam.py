"""Text messages: learn from ordinary ones, find spam, show which words gave it away.

Reads the SMS Spam Collection from the folder MASKDIFF_DATA names; without one, a few messages are made up. Only a part
of the messages and a small network are used, so that it runs in seconds; for real use, fit `TextDetector()` on all.
"""

from __future__ import annotations

import os

import numpy as np
from rich.console import Console
from rich.text import Text
from sklearn.metrics import roc_auc_score

from maskdiff import Steps, TextDetector, Training
from maskdiff.datasets.text import split_text
from maskdiff.explanations.shading import to_terminal
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor


def read_messages() -> tuple[list[str], list[str], np.ndarray]:
    """Ordinary messages to learn from, messages to judge, and which of those are spam."""
    if os.environ.get("MASKDIFF_DATA"):
        normal, test, y = split_text("sms")
        chosen = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1)[:20]])
        return normal[:600], [test[i] for i in chosen], y[chosen]
    rng = np.random.default_rng(0)
    who, what, when = ("hey", "mum", "ok", "sorry"), ("see you", "call me", "i am late", "meet us"), ("at ten", "later")
    make = [f"{rng.choice(who)} {rng.choice(what)} {rng.choice(when)}" for _ in range(500)]
    spam = ["WIN a free prize, txt NOW to 80082", "URGENT claim your cash reward, call 0906", "free ringtones 4 u"]
    return make[:400], [*make[400:], *spam], np.array([0] * 100 + [1] * 3)


def main() -> None:
    normal, messages, y = read_messages()
    small = TransformerReconstructor(
        width=64, training=Training(Steps(150), batch_size=32, learning_rate=3e-3, warmup=0.1)
    )
    detector = TextDetector(small, probes=ProbeGrid((0.15, 0.5, 0.85), 2), progress=False).fit(normal)

    verdicts = detector.judge(messages, false_alarm_rate=0.05)
    print(f"ROC {100 * roc_auc_score(y, verdicts.anomaly_score):.1f}")
    print(
        f"alarms: {verdicts.is_anomaly[y == 1].mean():.0%} of spam, {verdicts.is_anomaly[y == 0].mean():.0%} of others"
    )

    order = np.argsort(-verdicts.anomaly_score)[:3]
    console, shown, oddest = Console(), [messages[i] for i in order], verdicts.take(order)
    for score, pieces in zip(oddest.anomaly_score, detector.shaded(shown, verdicts=oddest), strict=True):
        console.print(f"{score:5.1f} ", Text.assemble(*to_terminal(pieces)))
    print(detector.explain(shown[:1], top=3, verdicts=oddest.take([0])).to_string(index=False))


if __name__ == "__main__":
    main()
