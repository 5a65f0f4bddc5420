"""Levels chosen from normal rows alone, beside the fixed grid of all.

One network is fitted on four fifths of the normal rows and probed at each level by itself. A rule weighs the levels by
what it sees of the other fifth, and of rows made up from them: some cells of each are those of other rows. L levels,
N rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from maskdiff.bench.runs.measure import Record, Run, Split, failure, identity, metrics
from maskdiff.bench.runs.sets import cut_table
from maskdiff.bench.studies.more_tables import either_table, with_keel
from maskdiff.codes import Codes, FloatArray
from maskdiff.detectors import MAIN, TableDetector
from maskdiff.evidence import MaskedSurprise
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.score import row_sums

VIEWS = 16
MOST_HELD_OUT, MOST_SCORED = 2000, 20_000
# So many cells of a made-up row are other rows', a part of all.
REPLACED = 0.2
_KEPT = 3


def _least(values_L: FloatArray, n: int) -> FloatArray:
    """Equal weights for the levels with the n smallest values, none for the others."""
    weight_L = np.zeros_like(values_L)
    weight_L[np.argsort(values_L, kind="stable")[:n]] = 1 / n
    return weight_L


def _separation(normal_LN: FloatArray, made_up_LN: FloatArray) -> FloatArray:
    """How well each level by itself finds the made-up rows, (L,)."""
    y = np.repeat([0, 1], [normal_LN.shape[1], made_up_LN.shape[1]])
    return np.array([roc_auc_score(y, both) for both in np.concatenate([normal_LN, made_up_LN], axis=1)])


# Rule -> the weights of the levels, from the scores of held-out normal rows and of made-up ones at each level.
RULES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "all levels": lambda normal, made_up: np.ones(len(normal)),
    "on one scale": lambda normal, made_up: 1 / np.maximum(normal.std(axis=1), 1e-12),
    "the three steadiest": lambda normal, made_up: _least(normal.std(axis=1) / normal.mean(axis=1).clip(1e-12), _KEPT),
    "the best for made-up rows": lambda normal, made_up: _least(-_separation(normal, made_up), 1),
    "the three best for made-up rows": lambda normal, made_up: _least(-_separation(normal, made_up), _KEPT),
}


@dataclass(frozen=True)
class LevelChoice:
    """Tables of the benchmark from the folder `data`, and those of the KEEL repository from the folder `keel`."""

    data: str | None = None
    keel: str | None = None
    name: str = "level choice"

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """The tables meant; those of KEEL are called "keel/NAME"."""
        return with_keel(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return ["mlp"]

    def split(self, run: Run) -> Split:
        return cut_table(either_table(run.set, self.data, self.keel), run.seed)


def execute(run: Run, task: LevelChoice, device: str) -> Record:
    """ROC and PR of every rule, and of every level alone."""
    try:
        return {**identity(run, device), "status": "ok", **_measured(task.split(run), run.seed, device)}
    except Exception as error:  # one failed run must not stop the others
        return failure(run, device, error)


def _measured(split: Split, seed: int, device: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(split.normal))
    n_held_out = min(len(order) // 5, MOST_HELD_OUT)
    held_out, learned = (split.normal.iloc[np.sort(part)] for part in (order[:n_held_out], order[n_held_out:]))
    settings: dict[str, Any] = {
        "cross_fit_up_to": 0,
        "effort": "full",
        "seed": seed,
        "device": device,
        "progress": False,
    }
    detector = TableDetector("mlp", **settings).fit(learned.reset_index(drop=True))
    scored = np.sort(rng.permutation(len(split.y))[:MOST_SCORED])
    codes = detector.encoder_.encode(held_out.reset_index(drop=True))
    normal_LN, made_up_LN = (scores_by_level(detector, rows) for rows in (codes, made_up(codes, rng)))
    test_LN = scores_by_level(detector, detector.encoder_.encode(split.unlabelled.iloc[scored]))
    y = split.y[scored]
    by_rule = {name: metrics(y, rule(normal_LN, made_up_LN) @ test_LN) for name, rule in RULES.items()}
    by_level = {str(level): metrics(y, scores) for level, scores in zip(PAPER_LEVELS, test_LN, strict=True)}
    return {**by_rule["all levels"], "rules": by_rule, "levels": by_level, "fit_seconds": 0.0, "score_seconds": 0.0}


def scores_by_level(detector: TableDetector, codes: Codes) -> FloatArray:
    """The score of each row at each level alone, (L, N)."""
    source = detector.evidence_.sources[MAIN]
    assert isinstance(source, MaskedSurprise)
    parts = []
    for level in PAPER_LEVELS:
        at_level = replace(source, probes=ProbeGrid((level,), VIEWS, seed=source.probes.seed))
        parts.append(row_sums(at_level.cells(codes, stage="scoring").contributions("mean"), None))
    return np.stack(parts)


def made_up(codes: Codes, rng: np.random.Generator) -> Codes:
    """The same rows with some cells of each from other rows, at least one."""
    n, width = codes.values.shape
    replaced = rng.random((n, width)) < REPLACED
    replaced[np.arange(n), rng.integers(width, size=n)] = True
    values = codes.values.copy()
    for field in range(width):
        values[:, field] = np.where(replaced[:, field], rng.permutation(values[:, field]), values[:, field])
    return replace(codes, values=values, excess=None)
