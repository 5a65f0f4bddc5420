"""The search: every row judged by a model that did not see it, in rounds that leave the oddest rows out of learning.

The first round learns from all rows, and alone treats all alike: how many of them are odd is decided by its scores (see
`tail`). The next rounds do not learn from the oddest rows, as many as that: an odd row that is learned from vouches for
others of its kind. All rows are judged in every round, and rounds go on until the rows set aside stay the same. N rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.codes.hashes import Hashes
from maskdiff.detectors.finding.cross_fit import CrossFit
from maskdiff.detectors.finding.folds import check_groups, cut_blocks, cut_folds, spread_frequent
from maskdiff.detectors.finding.tail import OddEstimate, TailCounts
from maskdiff.errors import InputError, MaskdiffWarning, SettingError
from maskdiff.progress import Callback, renamed

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector
    from maskdiff.detectors.learning import Batches
    from maskdiff.training import CheckpointStore

AUTO = "auto"
# With fewer rows nobody can say what is usual.
FEWEST_ROWS = 20
# Small tables need most of their rows to learn from; in larger ones a half, then two thirds of them, say as much.
_SMALL = 1500
_FOLDS_OF_SMALL, _FOLDS = (5, 5, 5), (2, 3)
# From more rows nothing more is learned; those learned from are drawn at random.
MOST_LEARNED = 200_000
# Where so few of the rows set aside change, another round would say the same.
_SAME = 0.05
# Nothing is more certain than this: so many normal rows are to be expected above any score.
_LEAST_EXPECTED = 0.01


@dataclass(frozen=True)
class FindOptions:
    """How odd rows are sought.

    `contamination` is the share of odd rows, or "auto": the scores decide. Rows are selected so that on average at most
    `false_discovery_rate` of them are normal. At most `most_learned` rows are learned from by each model.
    """

    contamination: float | str = AUTO
    false_discovery_rate: float = 0.1
    most_learned: int = MOST_LEARNED

    def __post_init__(self) -> None:
        check_contamination(self.contamination)
        if not 0 < self.false_discovery_rate < 1:
            raise SettingError(f"false_discovery_rate must lie between 0 and 1; got {self.false_discovery_rate}.")
        if self.most_learned < FEWEST_ROWS:
            raise SettingError(f"most_learned must be at least {FEWEST_ROWS}; got {self.most_learned}.")


def check_contamination(contamination: Any) -> None:
    """Refuse what is no share of anomalies."""
    number = isinstance(contamination, int | float | np.number) and not isinstance(contamination, bool)
    if contamination != AUTO and not (number and 0 <= contamination < 0.5):
        raise SettingError(
            f'contamination, the share of anomalies among the rows, must lie in [0, 0.5) or be "auto"; '
            f"got {contamination!r}."
        )


@dataclass(frozen=True, eq=False)
class RowTies:
    """What ties rows together: `keys` of equal rows or of groups, and `rank`, the place of each in time, shape (N,)."""

    keys: Hashes
    grouped: bool = False
    rank: NDArray[np.int64] | None = None

    def folds(self, n_folds: int, seed: int) -> NDArray[np.int8]:
        """The fold of each row."""
        if self.grouped:
            n_folds = check_groups(self.keys, n_folds)
        if self.rank is not None:
            return cut_blocks(self.rank, n_folds, self.keys if self.grouped else None)
        return cut_folds(self.keys if self.grouped else spread_frequent(self.keys), n_folds, seed)


@dataclass(frozen=True, eq=False)
class Found:
    """What was found out about N rows, without their cells.

    `scores` are of each round, and `rounds` the rows that each did not learn from. `p_value` and `is_anomaly` (N,) go
    by the last scores: a p-value is the number of normal rows expected to score as high, as a share of all, ranks where
    the bulk is, and beyond it as many as the tail of the first scores allows. `left_out` (N,) are the oddest, as many
    as are thought to be odd.
    """

    cross_fit: CrossFit
    scores: tuple[FloatArray, ...]
    p_value: FloatArray
    is_anomaly: BoolArray
    rounds: tuple[BoolArray, ...]
    left_out: BoolArray
    sampled: BoolArray
    estimated_odd: OddEstimate
    options: FindOptions

    @property
    def score(self) -> FloatArray:
        """The score of each row in the last round."""
        return self.scores[-1]

    @property
    def learned_from(self) -> BoolArray:
        """The rows to learn from: not left out, and drawn where there are too many."""
        return self.sampled & ~self.left_out


class Checkpoints(Protocol):
    """Stores the state of every training of a search, so that an interrupted one can be resumed."""

    def of(self, round: int, fold: int) -> CheckpointStore:
        """The store of one training."""


def search(
    detector: Detector,
    batches: Batches,
    ties: RowTies,
    options: FindOptions,
    *,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
    most_rounds: int | None = None,
) -> Found:
    """Find the odd rows; `batches` gives them as `_read` does, already seen by `_look`."""
    n = len(ties.keys)
    _check_number(n)
    numbers_of_folds = (_FOLDS_OF_SMALL if n <= _SMALL else _FOLDS)[:most_rounds]
    sampled = _sample(n, options.most_learned, detector.seed)
    rounds: list[BoolArray] = []
    scores: list[FloatArray] = []
    aside, tail = np.zeros(n, np.bool_), None
    for number, n_folds in enumerate(numbers_of_folds, start=1):
        part = renamed(callback, f"round {number} of {len(numbers_of_folds)}: {{}}")
        rounds.append(aside)
        fold = ties.folds(min(n_folds, n), detector.seed)
        stores = None if checkpoints is None else partial(checkpoints.of, number)
        cross_fit = CrossFit.learn(detector, batches, fold, sampled & ~aside, callback=part, checkpoint=stores)
        scores.append(score := cross_fit.scores(batches, part))
        tail = tail_of(score, options.contamination) if tail is None else tail
        before, aside = aside, _oddest(score, tail.odd.number)
        if number > 1 and _same(before, aside):
            break
    assert tail is not None
    p_value = _p_values(score, tail)
    alarm = false_discovery_control(p_value) <= options.false_discovery_rate
    left_out = _oddest(score, tail.odd.number)
    return Found(cross_fit, tuple(scores), p_value, alarm, tuple(rounds), left_out, sampled, tail.odd, options)


def odd_rows(detector: Any, batches: Batches, n_rows: int, callback: Callback | None) -> BoolArray:
    """The rows that stand out among those to learn from, shape (N,), after one round; none where rows are few."""
    if n_rows < FEWEST_ROWS:
        return np.zeros(n_rows, np.bool_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)  # given once, by the model that is kept
        ties = RowTies(detector._row_keys(batches))
    return search(detector, batches, ties, FindOptions(), callback=callback, most_rounds=1).left_out


def tail_of(score: FloatArray, contamination: float | str) -> TailCounts:
    """How many rows are odd, and how likely each is: decided by the scores, or by the share that is given."""
    return TailCounts.of(score, None if isinstance(contamination, str) else round(contamination * len(score)))


def _check_number(n: int) -> None:
    if n < FEWEST_ROWS:
        raise InputError(
            f"at least {FEWEST_ROWS} rows are needed to say which of them are odd; there are {n} (n_samples={n})."
        )


def _sample(n: int, most: int, seed: int) -> BoolArray:
    """Which rows may be learned from: all, or so many at random."""
    chosen = np.ones(n, np.bool_)
    if n > most:
        chosen[:] = False
        chosen[np.random.default_rng(seed).choice(n, most, replace=False)] = True
    return chosen


def _oddest(score: FloatArray, number: int) -> BoolArray:
    """The rows with the highest scores, at most so many: of equal ones all or none."""
    known = np.where(np.isnan(score), -np.inf, score)
    if not 0 < number < len(known):
        return np.zeros(len(known), np.bool_)
    oddest: BoolArray = known > np.partition(known, -number - 1)[-number - 1]
    return oddest


def _same(before: BoolArray, after: BoolArray) -> bool:
    return int((before ^ after).sum()) <= _SAME * max(int(before.sum()), 1)


def _p_values(score: FloatArray, tail: TailCounts) -> FloatArray:
    """Which share of the normal rows is expected to score at least as high as each row, shape (N,).

    The scores of the first round say how many normal rows are among the odd ones: it alone treated all rows alike.
    """
    judged = ~np.isnan(score)
    normal = tail.normal * judged
    order = np.argsort(-np.where(judged, score, -np.inf), kind="stable")
    ordered = score[order]
    cumulated = np.cumsum(normal[order])
    last = np.searchsorted(-ordered, -ordered, side="right") - 1  # equal scores have equal p-values
    p_value = np.ones(len(score))
    p_value[order] = np.clip(cumulated[last], _LEAST_EXPECTED, None) / max(float(normal.sum()), 1.0)
    return np.where(judged, np.minimum(p_value, 1.0), 1.0)
