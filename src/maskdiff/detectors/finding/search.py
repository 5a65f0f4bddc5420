"""The search: every row judged by models that did not see it, in rounds that leave the oddest rows out of learning.

An odd row that is learned from makes others like it look normal. The first round learns from all rows, the second from
all but the oddest 30% of the first, the third and the fourth from all but the oddest 10% of those before. All rows are
judged in every round, each by a model that did not learn from it; folds are cut anew each time, and networks begin with
other weights. A row's score is the mean of the rounds, of which the first counts half. No single round serves all
tables: leaving out many finds odd rows that repeat, and makes normal rows with rare values odd. N rows.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maskdiff.calibration.false_discovery import reported
from maskdiff.codes import BoolArray, FloatArray
from maskdiff.codes.hashes import Hashes
from maskdiff.detectors.finding.cross_fit import CrossFit, LearnFolds
from maskdiff.detectors.finding.folds import are_frequent, check_groups, cut_blocks, cut_folds, spread_frequent
from maskdiff.detectors.finding.judgement import Judgement, oddest
from maskdiff.detectors.finding.tail import OddEstimate
from maskdiff.errors import InputError, MaskdiffWarning, SettingError
from maskdiff.progress import Callback, renamed

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector
    from maskdiff.detectors.learning import Batches
    from maskdiff.training import CheckpointStore

AUTO = "auto"
# With fewer rows nobody can say what is usual.
FEWEST_ROWS = 20
# The folds of a round. With at most so many rows models need most of them to learn from, and with more than that still
# gain where trainings are quick, as those of tables are; in larger files two folds say as much.
_SMALL, _SMALL_IF_QUICK = 1500, 4999
_FOLDS_OF_SMALL, _FOLDS = 4, 2
# The share of the rows that each round does not learn from, unless more are thought to be odd.
_ASIDE = (0.0, 0.3, 0.1, 0.1)
# So many rounds are enough where trainings take long, as those of texts do.
_ROUNDS_IF_SLOW = 3
# From more rows nothing more is learned; those learned from are drawn at random.
MOST_LEARNED = 200_000


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

    @property
    def frequent(self) -> BoolArray | None:
        """Which rows have many copies, shape (N,); not known where keys are those of groups."""
        return None if self.grouped else are_frequent(self.keys)

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

    `scores` are those of each round, and `rounds` the rows that each did not learn from. The rest is about all rounds
    together: see `Judgement`. `left_out` (N,) are the oddest rows, as many as are thought to be odd; `sampled` (N,) are
    those that may be learned from; `frequent` (N,) have so many copies that they are normal (None: rows of one group
    are kept together, not equal ones). `cross_fit` has the models of the last round, `first_round` those that judge
    cells. They learned from all rows: to a model that did not, what is extreme in the oddest ones would be unheard of.
    """

    cross_fit: CrossFit
    first_round: CrossFit
    scores: tuple[FloatArray, ...]
    rounds: tuple[BoolArray, ...]
    judgement: Judgement
    is_anomaly: BoolArray
    left_out: BoolArray
    sampled: BoolArray
    frequent: BoolArray | None
    options: FindOptions

    @property
    def score(self) -> FloatArray:
        """The score of each row, all rounds together."""
        return self.judgement.score

    @property
    def alarm_score(self) -> FloatArray:
        """The score of each row, raised where a number far outside of its column makes it odder than that."""
        return self.judgement.alarm_score

    @property
    def p_value(self) -> FloatArray:
        """Which share of the normal rows is expected to be at least as odd."""
        return self.judgement.p_value

    @property
    def estimated_odd(self) -> OddEstimate:
        """About how many rows are odd."""
        return self.judgement.odd

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
    learn_folds: LearnFolds = CrossFit.learn,
) -> Found:
    """Find the odd rows; `batches` gives them as `_read` does, already seen by `_look`."""
    n = len(ties.keys)
    _check_number(n)
    quick = detector.trains_side_by_side
    n_folds = _FOLDS_OF_SMALL if n <= (_SMALL_IF_QUICK if quick else _SMALL) else _FOLDS
    shares = _ASIDE if quick else _ASIDE[:_ROUNDS_IF_SLOW]
    sampled, outlying = _sample(n, options.most_learned, detector.seed), detector._outlying(batches)
    frequent = ties.frequent
    rounds: list[BoolArray] = []
    scores: list[FloatArray] = []
    judgement = Judgement.of([np.zeros(n)], 0.0)
    for number, share in enumerate(shares, start=1):
        aside = oddest(judgement.alarm_score, _n_aside(judgement, share, options))
        part = renamed(callback, f"round {number} of {len(shares)}: {{}}")
        rounds.append(aside)
        of_round = copy.copy(detector)
        of_round.seed = detector.seed + number - 1
        fold = ties.folds(min(n_folds, n), of_round.seed)
        stores = None if checkpoints is None else partial(checkpoints.of, number)
        learned = learn_folds(of_round, batches, fold, sampled & ~aside, callback=part, checkpoint=stores)
        cross_fit = learned.on_one_scale()
        if number == 1 or not detector.judges_cells:
            first_round = cross_fit
        scores.append(cross_fit.scores(batches, part))
        judgement = Judgement.of(scores, options.contamination, outlying, frequent)
    aside = oddest(judgement.alarm_score, judgement.odd.number)
    alarm = reported(judgement.p_value, options.false_discovery_rate)
    return Found(
        cross_fit,
        first_round,
        tuple(scores),
        tuple(rounds),
        judgement,
        alarm,
        aside,
        sampled,
        frequent,
        options,
    )


def odd_rows(detector: Any, batches: Batches, n_rows: int, callback: Callback | None) -> BoolArray:
    """The rows that `fit` does not learn from, shape (N,): those that `find` would leave out; none where rows are few.

    They are as many of the oddest as the detector's `contamination` says. With "auto" they are those that stand out and
    no more: `fit` promises a false-alarm rate, and normal rows that are left out would be alarms.
    """
    if n_rows < FEWEST_ROWS:
        return np.zeros(n_rows, np.bool_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)  # given once, by the model that is kept
        ties = RowTies(detector._row_keys(batches))
    options = FindOptions(contamination=detector.contamination)
    return search(detector, batches, ties, options, callback=callback).left_out


def _n_aside(judgement: Judgement, share: float, options: FindOptions) -> int:
    """How many rows not to learn from: so many, or all that are odd; none where none is."""
    return max(int(share * len(judgement.score)), judgement.odd.number) if options.contamination else 0


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
