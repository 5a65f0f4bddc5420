"""Every detector the battery is run on: how it is made, what it is fitted on, and what it is then shown.

Rows are pandas DataFrames throughout. Texts and sequences stand in one of their columns, beside a number that the
detector does not read, so that one battery serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maskdiff import (
    Epochs,
    MLPReconstructor,
    ProbeGrid,
    SequenceDetector,
    Steps,
    TableDetector,
    TextDetector,
    Training,
    load,
    save,
)
from maskdiff.detectors.base import Detector
from maskdiff.reconstructors import TransformerReconstructor

from ..conftest import make_connections
from ..embedder_folder import save_embedder

N_NORMAL = 120
# Uneven, and one part without rows: how the rows are cut does not matter.
CUTS = (0, 7, 7, 60, N_NORMAL)


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A detector with the rows it is fitted on, rows it has not seen, normal and odd, and rows without evidence."""

    name: str
    make: Callable[[Path], Detector]
    normal: pd.DataFrame
    fresh: pd.DataFrame
    odd: pd.DataFrame
    without_evidence: pd.DataFrame
    draws: bool = True  # whether anything is random at all

    @property
    def rows(self) -> pd.DataFrame:
        """Rows to score: odd ones, normal ones, and one of them twice."""
        return pd.concat([self.odd, self.fresh, self.odd.head(1)], ignore_index=True)

    @property
    def batches(self) -> list[pd.DataFrame]:
        return [self.normal.iloc[start:stop] for start, stop in pairwise(CUTS)]


def has_own_masks(detector: Detector) -> bool:
    """Whether every row draws its own masks, which depend on its place among the rows handed in."""
    return detector.probes_.design == "independent"


def rows_scored_alike(detector: Detector) -> list[int]:
    """Places of rows that get the scores they have among all rows when they are handed in alone."""
    return [0, 1, 2] if has_own_masks(detector) else [5, 0, 5]


# Tables --------------------------------------------------------------------------------------------------------------

CONNECTIONS = make_connections(N_NORMAL, seed=7)
ODD_CONNECTIONS = pd.DataFrame(
    {
        "protocol": ["udp", "icmp", "udp", "sctp"],
        "service": ["http", "dns", "dns", None],
        "flag": ["SF", "SF", "REJ", "SF"],
        "bytes": [2000, 60, 60, 90_000],
    }
)
SMALL_NETWORK = MLPReconstructor(16, 2, training=Training(Steps(60), learning_rate=3e-3))
# The table is small: with the paper's batches it would learn for few steps.
SMALL_BATCHES = replace(MLPReconstructor.paper().training, stop=Epochs(25), batch_size=32, learning_rate=1e-2)
SMALL_PAPER_NETWORK = replace(MLPReconstructor.paper(), width=32, embedding=8, training=SMALL_BATCHES)


def table_case(name: str, *, draws: bool = True, **settings: Any) -> Case:
    def make(_: Path) -> Detector:
        return TableDetector(**settings)

    fresh = make_connections(10, seed=8)
    return Case(name, make, CONNECTIONS, fresh, ODD_CONNECTIONS, CONNECTIONS.head(0), draws)


TABLES = [
    table_case("default"),
    table_case("mlp", reconstructor="mlp"),
    # So few columns that every mask is enumerated and nothing is drawn.
    table_case("kernel", reconstructor="kernel", draws=False),
    table_case("mlp, as in the paper", reconstructor=SMALL_PAPER_NETWORK, preset="paper"),
    table_case("kernel, as in the paper", reconstructor="kernel", preset="paper"),
    table_case(
        "mlp, other settings",
        reconstructor=SMALL_NETWORK,
        aggregate="rms",
        objective="diffusion",
        schedule="cosine",
        probes=ProbeGrid((0.2, 0.7), 3),
        false_alarm_rate=0.05,
    ),
    table_case("kernel, max", reconstructor="kernel", aggregate="max", draws=False),
]

# Tokens --------------------------------------------------------------------------------------------------------------

GREETINGS, TIMES = ("see you", "call me", "meet us"), ("nine", "ten", "noon", "six")
ODD_TEXTS = ["see you at you, ok?", "win cash at zanzibar, ok?", "noon noon noon ok ok", "see you at noon, ok? " * 4]
ODD_SESSIONS = [["close", "read", "write", "open"], ["open", "read", "delete", "close"], ["read"] * 20]


def make_texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{rng.choice(GREETINGS)} at {rng.choice(TIMES)}, ok?" for _ in range(n)]


def make_sessions(n: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [["open", *["read", "write"] * int(rng.integers(1, 5)), "close"] for _ in range(n)]


def token_case(
    name: str,
    kind: type[Detector],
    make_rows: Callable[[int, int], list[Any]],
    odd: list[Any],
    empty: list[Any],
    embedder: Callable[[Path], Path | None] | None = None,
) -> Case:
    """A small network that sees eight tokens at once, so that some rows are cut into windows."""
    training = Training(Steps(80), batch_size=32, learning_rate=0.01, warmup=0.1)
    network = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=training)
    settings = {"probes": ProbeGrid((0.2, 0.5, 0.8), 3), "column": "body", "max_length": 8}

    def make(folder: Path) -> Detector:
        extra = {} if embedder is None else {"embedder": embedder(folder)}
        return kind(network, **settings, **extra)

    normal, fresh = make_rows(N_NORMAL, 0), make_rows(10, 1)
    tables = [pd.DataFrame({"number": range(len(rows)), "body": rows}) for rows in (normal, fresh, odd, empty)]
    return Case(name, make, *tables)


def embedder_in(folder: Path) -> Path:
    """A tiny embedder, made once."""
    path = folder / "embedder"
    return path if path.exists() else save_embedder(path, [*make_texts(50, 2), *ODD_TEXTS])


NO_TEXT = ["", "  \n", None]
TOKENS = [
    token_case("sequences", SequenceDetector, make_sessions, ODD_SESSIONS, [[], None]),
    token_case("texts", TextDetector, make_texts, ODD_TEXTS, NO_TEXT),
    token_case("texts with embedder", TextDetector, make_texts, ODD_TEXTS, NO_TEXT, embedder_in),
]

CASES = {case.name: case for case in (*TABLES, *TOKENS)}

# How a detector came to be: fitted at once or in parts, as fitted or saved and loaded again.
ORIGINS = ("fit", "fit_batches", "fit, loaded", "fit_batches, loaded")


@cache
def fitted(name: str, origin: str, folder: Path) -> Detector:
    """The detector of this case, made once in a session; no test may change it."""
    if origin.endswith(", loaded"):
        path = folder / f"{name}, {origin}.maskdiff"
        save(fitted(name, origin.removesuffix(", loaded"), folder), path)
        return load(path)
    case = CASES[name]
    detector = case.make(folder)
    return detector.fit(case.normal) if origin == "fit" else detector.fit_batches(lambda: case.batches)


# Answers about the rows of a case that several tests ask for, each given once; no test may change them.


@cache
def scored(detector: Detector, case: Case) -> NDArray[np.float64]:
    return detector.anomaly_score(case.rows)


@cache
def judged(detector: Detector, case: Case, rate: float | None = None) -> Any:
    return detector.judge(case.rows, rate)


@cache
def explained(detector: Detector, case: Case, **settings: Any) -> pd.DataFrame:
    return detector.explain(case.rows, **settings)
