"""What every detector can do.

Higher score = more anomalous, everywhere but in the four methods that carry scikit-learn's names and signs
(`score_samples`, `decision_function`, `predict`, `fit_predict`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.codes.stored import check_schema
from maskdiff.detectors.verdicts import Verdicts
from maskdiff.errors import InputError, SettingError
from maskdiff.evidence import CellEvidence, Evidence, EvidenceTerm, MaskedSurprise
from maskdiff.evidence.base import State
from maskdiff.explanations import OddCells, expected_codes, explanation_table, odd_cells
from maskdiff.explanations.shading import Piece
from maskdiff.masking import Schedule, as_schedule
from maskdiff.objectives import as_objective
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback, listening
from maskdiff.reconstructors import Reconstructor, abilities
from maskdiff.score import aggregate_named
from maskdiff.state import arguments_from_plain, arguments_to_plain, check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, check_names, named, under
from maskdiff.training import CheckpointStore

# How many normal rows are kept back to calibrate: a tenth, within these bounds, and never over a third.
_FEWEST_HELD_OUT, _MOST_HELD_OUT = 100, 2000

# Seeds are added to those of probes, in 64 bits.
_SEEDS = 1 << 62
# Settings that say nothing about the scores are not stored.
_NOT_STORED = ("progress", "device")

# The name of the source of evidence that every detector has.
MAIN = "reconstructor"

# Preset -> name -> how to make the reconstructor, and the probes that go with it.
Presets = dict[str | None, dict[str, tuple[Callable[[], Any], ProbeGrid]]]

# Reads the rows, from the first to the last; called once for each pass.
Batches = Callable[[], Iterable[Any]]


class Detector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """What every detector can do. A subclass says how its rows are read, and which reconstructors have names."""

    reconstructor: str | Reconstructor
    preset: str | None
    probes: ProbeGrid | None
    objective: Any
    schedule: str | Schedule
    aggregate: str
    false_alarm_rate: float | None
    device: str
    seed: int
    progress: bool | Callback | None
    contamination: float = 0.0

    _presets: Presets
    _encoder: type[Any]
    _verdicts: type[Verdicts] = Verdicts
    _own_aggregates: tuple[str, ...] = ()  # beside those of score.AGGREGATES

    def _read(self, X: Any) -> Any:
        """The rows of X with `n_rows` and `take(rows)`."""
        raise SettingError(f"{type(self).__name__} does not say how to read its rows: define _read(X).")

    def _new_encoder(self) -> Any:
        """An encoder to fit."""
        raise SettingError(f"{type(self).__name__} does not say how to encode its rows: define _new_encoder().")

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is normal from normal rows; `y` is ignored."""
        rows = self._read(X)
        return self._learn(lambda: [rows], rows.n_rows)

    def fit_batches(
        self, batches: Batches, n_rows: int | None = None, *, checkpoint: CheckpointStore | None = None
    ) -> Self:
        """Learn from rows that come in parts; of a table larger than memory only the codes are held.

        `batches()` gives the parts, the same ones each time it is called; how the rows are cut into parts is no
        matter. `n_rows` is the number of rows, counted by a pass of its own unless given. A `checkpoint` stores the
        state of a training that may be interrupted.

        >>> from maskdiff import TableDetector
        >>> parts = [[["cat", "meow"], ["dog", "woof"]] * 100] * 3
        >>> len(TableDetector("kernel").fit_batches(lambda: iter(parts)).calibration_)
        600
        """

        def read() -> Iterable[Any]:
            return map(self._read, batches())

        return self._learn(read, sum(rows.n_rows for rows in read()) if n_rows is None else n_rows, checkpoint)

    def _learn(self, batches: Batches, n_rows: int, checkpoint: CheckpointStore | None = None) -> Self:
        """Learn from these rows, read by `_read`; some of them are kept back to calibrate."""
        self._check_settings()
        self._check_folders()
        reconstructor, self.probes_ = self._resolve()
        # A row left out of the normal rows must have been among them, which is not sure once the oddest are gone.
        leaves_out = abilities(reconstructor).left_out is not None and not self.contamination
        train, held_out = self._split(n_rows, keep_all=leaves_out)
        if self.false_alarm_rate is not None:  # one that so few rows cannot promise is refused before the long part
            Calibration(np.zeros(len(held_out))).check_rate(self.false_alarm_rate)
        codes, kept_back = self._codes(batches, train, held_out)
        with listening(self.progress) as callback:
            if self.contamination:
                self._model(reconstructor, codes, kept_back, callback)
                codes = self._without_oddest(codes, callback)
            self._model(reconstructor, codes, kept_back, callback, checkpoint)
            judged = self.evidence_.left_out() if leaves_out else self.evidence_
            scores = judged.weigh(kept_back, stage="calibrating", callback=callback).score
            self.adopt_calibration(Calibration.from_scores(scores))
        return self

    def _model(
        self,
        reconstructor: Any,
        codes: Codes,
        held_out: Codes,
        callback: Callback | None,
        checkpoint: CheckpointStore | None = None,
    ) -> None:
        """The reconstructor and all evidence, learned from these rows."""
        self.reconstructor_ = self._fit_reconstructor(reconstructor, codes, held_out, callback, checkpoint)
        self.evidence_ = self._gather(codes, held_out, callback)

    def _without_oddest(self, codes: Codes, callback: Callback | None) -> Codes:
        """The rows without the share thought to be anomalies; rows that calibrate stay, so no alarm rate is broken."""
        score = self.evidence_.weigh(codes, stage="leaving the oddest rows out", callback=callback).score
        return codes.take(np.flatnonzero(score <= np.quantile(score, 1 - self.contamination)))

    def _gather(self, codes: Codes, held_out: Codes, callback: Callback | None) -> Evidence:
        """What the score is made of: here the reconstructor's surprise alone."""
        source = self.masked_surprise(self.reconstructor_, self.probes_)
        return Evidence({MAIN: source}, (EvidenceTerm(MAIN, self.aggregate),))

    def masked_surprise(self, reconstructor: Any, probes: ProbeGrid) -> MaskedSurprise:
        """What this reconstructor finds, probed with this detector's schedule, seed and device."""
        seeded = replace(probes, seed=probes.seed + self.seed)
        return MaskedSurprise(reconstructor, seeded, as_schedule(self.schedule), self.torch_device())

    def _codes(self, batches: Batches, train: IntArray, held_out: IntArray) -> tuple[Codes, Codes]:
        """The encoder fitted on the rows to learn from; the codes of those rows, and of those held out."""
        (rows,) = batches()
        self.encoder_ = self._new_encoder().fit(rows.take(train))
        codes = self.encoder_.encode(rows.take(train))
        return codes, codes.take(held_out) if len(train) == rows.n_rows else self.encoder_.encode(rows.take(held_out))

    def adopt_calibration(self, calibration: Calibration) -> None:
        """Judge by these calibration scores from now on."""
        self.calibration_ = calibration
        self.offset_ = -calibration.threshold(calibration.rate_or_default(self.false_alarm_rate))
        names = self.encoder_.feature_names_in_
        self.n_features_in_ = len(names)
        if self.encoder_.named_:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def _check_settings(self) -> None:
        """Refuse what makes no sense before anything long begins."""
        if self.aggregate not in self._own_aggregates:
            aggregate_named(self.aggregate)
        self.torch_device()
        if not 0 <= self.seed < _SEEDS:
            raise SettingError(f"seed must be 0 or above, and below {_SEEDS:,}; got {self.seed}.")
        if self.probes is not None and not isinstance(self.probes, ProbeGrid):
            raise SettingError(
                f"probes must be a ProbeGrid, such as ProbeGrid(views_per_level=8); got {self.probes!r}."
            )
        if not 0 <= self.contamination < 0.5:
            raise SettingError(
                f"contamination, the share of anomalies among the rows, must lie in [0, 0.5); got {self.contamination}."
            )
        if self.false_alarm_rate is not None and not 0 < self.false_alarm_rate < 1:
            raise SettingError(f"false_alarm_rate must lie between 0 and 1; got {self.false_alarm_rate}.")
        as_schedule(self.schedule)
        as_objective(self.objective, self._resolve()[1].levels)

    def _check_learned(self) -> None:
        """Refuse parts of a model file that do not belong together."""

    def _check_folders(self) -> None:
        """Refuse folders that cannot be read before anything long begins; a loaded detector no longer needs them."""

    def probe_grid(self) -> ProbeGrid:
        """The probes the reconstructor is scored with: those given, or the ones that go with it."""
        return self._resolve()[1]

    def _resolve(self) -> tuple[Any, ProbeGrid]:
        """The reconstructor to fit, and the probes it is scored with."""
        if self.preset not in self._presets:
            raise SettingError(f'preset must be None or "paper"; got {self.preset!r}.')
        named = self._presets[self.preset]
        if isinstance(self.reconstructor, str):
            if self.reconstructor not in named:
                known = ", ".join(named)
                raise SettingError(f"no reconstructor is called {self.reconstructor!r}; choose one of {known}.")
            build, probes = named[self.reconstructor]
            return build(), self.probes or probes
        if not isinstance(self.reconstructor, Reconstructor):
            raise SettingError(f"{self.reconstructor!r} must have log_prob(views) and most_likely(views).")
        matching = [probes for build, probes in named.values() if type(self.reconstructor) is type(build())]
        return self.reconstructor, self.probes or (matching or [probes for _, probes in named.values()])[0]

    def _split(self, n: int, *, keep_all: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to learn from and rows to calibrate on; the same rows may serve for both where each can be left out."""
        if n == 1:  # none at all is for the encoder to refuse: it knows whether the columns are missing too
            raise InputError(
                f"at least 2 normal rows are needed, one to learn from and one to calibrate; n_samples={n}."
            )
        wanted = int(np.clip(n // 10, _FEWEST_HELD_OUT, _MOST_HELD_OUT))
        order = np.random.default_rng(self.seed).permutation(n)
        if keep_all:
            return np.arange(n), np.sort(order[: max(wanted, _MOST_HELD_OUT)])
        held_out = min(wanted, max(1, n // 3))
        return np.sort(order[held_out:]), np.sort(order[:held_out])

    def _fit_reconstructor(
        self,
        reconstructor: Any,
        codes: Codes,
        held_out: Codes,
        callback: Callback | None,
        checkpoint: CheckpointStore | None,
    ) -> Any:
        fit = abilities(copy.copy(reconstructor)).fit
        if fit is None:
            return reconstructor
        return fit(
            codes,
            objective=as_objective(self.objective, self.probes_.levels),
            schedule=as_schedule(self.schedule),
            seed=int(self.seed),
            device=self.torch_device(),
            held_out=held_out,
            callback=callback,
            **({} if checkpoint is None else {"checkpoint": checkpoint}),
        )

    # Scoring ---------------------------------------------------------------------------------------------------------

    def anomaly_score(self, X: Any) -> FloatArray:
        """How odd each row is, shape (n,). Higher = more anomalous; NaN for a row without tokens.

        In standard deviations of normal rows where several terms of evidence are combined, as by default in tables;
        otherwise in nats.
        """
        return self._scored(X)[1].score

    def contributions(self, X: Any) -> FloatArray:
        """What each cell adds to its row's score, shape (n, F); the row sums are `anomaly_score`."""
        return self._scored(X)[1].contributions

    def p_value(self, X: Any) -> FloatArray:
        """How likely a normal row is to score at least this high, shape (n,)."""
        return self.judge(X).p_value

    def is_anomaly(self, X: Any, false_alarm_rate: float | None = None) -> BoolArray:
        """Algorithm 1's label: whether each row scores above the threshold for this false-alarm rate, shape (n,)."""
        return self.judge(X, false_alarm_rate).is_anomaly

    def select(self, X: Any, false_discovery_rate: float) -> BoolArray:
        """Rows to report together so that on average at most this share of them is normal, shape (n,)."""
        scores = self.anomaly_score(X)
        return self.calibration_.select(scores, false_discovery_rate)

    def threshold(self, false_alarm_rate: float | None = None) -> float:
        """gamma: a normal row scores above it with probability at most this rate."""
        check_is_fitted(self)
        rate = self.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
        return self.calibration_.threshold(self.calibration_.rate_or_default(rate))

    def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts:
        """Score, p-value, alarm and contributions of every row, from one pass."""
        codes, cells = self._scored(X)
        alarm = cells.score > self.threshold(false_alarm_rate)
        p_value = self.calibration_.p_values(cells.score)
        return self._verdicts(cells.score, p_value, alarm, cells.contributions, cells.surprise, codes)

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The `top` cells that carry each row's score, as a pandas DataFrame with one line per cell.

        Columns: row (its place in X), column, value, contribution (what the cell adds to the score, in its unit),
        share (of the row's score), surprise (nats), expected (the likeliest value given the rest of the row) and
        expected_probability. Hand in what `judge(X)` returned to save scoring the rows again.
        """
        if top < 1:
            raise SettingError(f"top must be at least 1; got {top}.")
        verdicts = verdicts or self.judge(X)
        cells = odd_cells(verdicts.contributions, top)
        return self._explanation(
            cells, verdicts.surprise, verdicts.codes, lambda rows, fields: self.encoder_.display(X, rows, fields)
        )

    def _explanation(
        self, cells: OddCells, surprise: FloatArray, codes: Codes, display: Callable[[IntArray, IntArray], list[str]]
    ) -> Any:
        """These cells as a table, with what was expected in their places."""
        rate = as_schedule(self.schedule).mask_rate(torch.tensor(self.probes_.levels[0])).item()
        expected, probability = expected_codes(
            self.reconstructor_, codes, cells, mask_rate=rate, device=self.torch_device()
        )
        return explanation_table(cells, surprise, expected, probability, codes, display)

    def shaded(self, X: Any, *, verdicts: Verdicts | None = None) -> list[list[Piece]]:
        """Every row as a text whose pieces say how odd they are; none where rows are no texts."""
        return []

    def _scored(self, X: Any) -> tuple[Codes, CellEvidence]:
        check_is_fitted(self)
        codes = self.encoder_.encode(X)
        with listening(self.progress) as callback:
            return codes, self.evidence_.weigh(codes, callback=callback)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """Everything that was set and learned, as plain values and tensors; see `maskdiff.save`."""
        if not hasattr(self, "calibration_"):
            raise SettingError(f"{self!r} has learned nothing yet: fit it before saving it.")
        evidence, tensors = self.evidence_.to_state()
        plain = {
            "settings": arguments_to_plain(self, without=_NOT_STORED),
            "probes": to_plain(self.probes_),
            "encoder": self.encoder_.to_state(),
            "evidence": evidence,
        }
        return plain, named(tensors, "evidence") | {"calibration": torch.from_numpy(self.calibration_.scores.copy())}

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors) -> Self:
        """The detector that `to_state` described; everything is checked, nothing is taken on trust."""
        wanted = {"settings", "probes", "encoder", "evidence"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a detector completely")
        parts = under(tensors, "evidence")
        check_names(tensors, "calibration", *named(parts, "evidence"))
        detector = cls(**arguments_from_plain(cls, plain["settings"], without=_NOT_STORED))
        detector._check_settings()
        detector.encoder_ = cls._encoder.from_state(plain["encoder"])
        detector.probes_ = from_plain(plain["probes"], ProbeGrid)
        device, schema = detector.torch_device(), check_schema(detector.encoder_.schema_)
        detector.evidence_ = Evidence.from_state(plain["evidence"], parts, schema=schema, device=device)
        main = detector.evidence_.sources.get(MAIN)
        check(isinstance(main, MaskedSurprise), f"its evidence lacks a masked surprise called {MAIN}")
        assert isinstance(main, MaskedSurprise)
        detector.reconstructor_ = main.reconstructor
        detector._check_learned()
        detector.adopt_calibration(Calibration.from_state(tensors["calibration"]))
        return detector

    # scikit-learn's names and signs: lower = more anomalous ----------------------------------------------------------

    def score_samples(self, X: Any) -> FloatArray:
        """The opposite of `anomaly_score`, shape (n,). Lower = more anomalous."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> FloatArray:
        """`score_samples` above the threshold, shape (n,). Negative = anomaly."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """+1 for normal rows, -1 for anomalies, shape (n,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def torch_device(self) -> torch.device:
        """Where this detector computes."""
        if self.device != "auto":
            try:
                return torch.device(self.device)
            except RuntimeError as error:
                raise SettingError(f'device must be "auto", "cpu", "cuda" or "mps"; got {self.device!r}.') from error
        mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if mps else "cpu")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
