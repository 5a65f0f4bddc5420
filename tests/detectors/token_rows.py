"""Texts and log sessions that keep a rule, odd ones that break it, and a network small enough to learn it at once."""

from __future__ import annotations

import numpy as np

from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.training import Steps, Training

GREETINGS, TIMES = ("see you", "call me", "meet us"), ("nine", "ten", "noon", "six")


def make_texts(n, seed):
    rng = np.random.default_rng(seed)
    return [f"{rng.choice(GREETINGS)} at {rng.choice(TIMES)}, ok?" for _ in range(n)]


def make_sessions(n, seed):
    rng = np.random.default_rng(seed)
    return [["open", *["read", "write"] * int(rng.integers(1, 5)), "close"] for _ in range(n)]


def tiny(steps=80):
    training = Training(Steps(steps), batch_size=32, learning_rate=0.01, warmup=0.1)
    return TransformerReconstructor(width=16, heads=2, feed_forward=32, dropout=0.0, training=training)


PROBES = ProbeGrid((0.2, 0.5, 0.8), 3)
TEXTS, SESSIONS = make_texts(300, 0), make_sessions(300, 0)
ODD_TEXTS = ["see you at you, ok?", "win cash at noon, ok?", "ok ok ok"]
ODD_SESSIONS = [["close", "read", "write", "open"], ["open", "read", "delete", "close"]]
