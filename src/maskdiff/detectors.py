"""The detectors: what a user holds. They compose the rooms below and hold no mathematics of their own.

Higher score = more anomalous, everywhere but in the four methods that carry scikit-learn's names and signs
(`score_samples`, `decision_function`, `predict`, `fit_predict`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from maskdiff.calibration import Calibration
from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.encoders.intake import read_table
from maskdiff.encoders.table import TableEncoder
from maskdiff.errors import InputError, SettingError
from maskdiff.explanations import expected_codes, explanation_table, odd_cells
from maskdiff.masking import Schedule, as_schedule
from maskdiff.objectives import as_objective
from maskdiff.probes import PAPER_KERNEL_LEVELS, PAPER_LEVELS, ProbeGrid
from maskdiff.progress import Callback, listening
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor, Reconstructor
from maskdiff.score import CellScores, aggregate_named, score_cells

# How many normal rows are kept back to calibrate: a tenth, within these bounds, and never over a third.
_FEWEST_HELD_OUT, _MOST_HELD_OUT = 100, 2000

# Preset -> name -> how to make the reconstructor, and the probes that go with it.
Presets = dict[str | None, dict[str, tuple[Callable[[], Any], ProbeGrid]]]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """All there is to say about N rows: score, p-value and alarm (N,); each cell's part in the score (N, F)."""

    anomaly_score: FloatArray
    p_value: FloatArray
    is_anomaly: BoolArray
    contributions: FloatArray
    surprise: FloatArray
    codes: Codes


class Detector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """What every detector can do. A kind of data says how its rows are read, and which reconstructors go by name."""

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

    _presets: Presets

    def _read(self, X: Any) -> Any:
        """The rows of X with `n_rows` and `take(rows)`."""
        raise SettingError(f"{type(self).__name__} does not say how to read its rows: define _read(X).")

    def _new_encoder(self) -> Any:
        """An encoder to fit."""
        raise SettingError(f"{type(self).__name__} does not say how to encode its rows: define _new_encoder().")

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is normal from normal rows; `y` is ignored."""
        reconstructor, self.probes_ = self._resolve()
        aggregate_named(self.aggregate)
        leaves_out = hasattr(reconstructor, "left_out")
        rows = self._read(X)
        train, held_out = self._split(rows.n_rows, keep_all=leaves_out)
        self.encoder_ = self._new_encoder().fit(rows.take(train))
        codes = self.encoder_.encode(rows.take(train))
        kept_back = codes.take(held_out) if leaves_out else self.encoder_.encode(rows.take(held_out))
        with listening(self.progress) as callback:
            self.reconstructor_ = self._fit_reconstructor(reconstructor, codes, kept_back, callback)
            self.adopt_calibration(self._calibrate(kept_back, leaves_out, callback))
        return self

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
        kinds = [probes for build, probes in named.values() if type(self.reconstructor) is type(build())]
        return self.reconstructor, self.probes or (kinds or [probes for _, probes in named.values()])[0]

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

    def _fit_reconstructor(self, reconstructor: Any, codes: Codes, held_out: Codes, callback: Callback | None) -> Any:
        if not hasattr(reconstructor, "fit"):
            return reconstructor
        return copy.copy(reconstructor).fit(
            codes,
            objective=as_objective(self.objective, self.probes_.levels),
            schedule=as_schedule(self.schedule),
            seed=int(self.seed),
            device=self.torch_device(),
            held_out=held_out,
            callback=callback,
        )

    def _calibrate(self, held_out: Codes, leaves_out: bool, callback: Callback | None) -> Calibration:
        reconstructor = self.reconstructor_.left_out() if leaves_out else self.reconstructor_
        cells = self._cells(reconstructor, held_out, callback, own=int(leaves_out), stage="calibrating")
        return Calibration.from_scores(cells.contributions(self.aggregate).sum(axis=1))

    # Scoring ---------------------------------------------------------------------------------------------------------

    def anomaly_score(self, X: Any) -> FloatArray:
        """How odd each row is, in nats, shape (n,). Higher = more anomalous."""
        score: FloatArray = self.contributions(X).sum(axis=1)
        return score

    def contributions(self, X: Any) -> FloatArray:
        """What each cell adds to its row's score, shape (n, F); the row sums are `anomaly_score`."""
        return self._scored(X)[1].contributions(self.aggregate)

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
        contributions = cells.contributions(self.aggregate)
        score = contributions.sum(axis=1)
        alarm = score > self.threshold(false_alarm_rate)
        return Verdicts(score, self.calibration_.p_values(score), alarm, contributions, cells.surprise, codes)

    def explain(self, X: Any, top: int = 3, *, verdicts: Verdicts | None = None) -> Any:
        """The `top` cells that carry each row's score, as a pandas DataFrame with one line per cell.

        Columns: row (its place in X), column, value, contribution (nats), share (of the row's score), surprise
        (nats), expected (the likeliest value given the rest of the row) and expected_probability. Hand in what
        `judge(X)` returned to save scoring the rows again.
        """
        verdicts = verdicts or self.judge(X)
        cells = odd_cells(verdicts.contributions, top)
        rate = as_schedule(self.schedule).mask_rate(torch.tensor(self.probes_.levels[0])).item()
        expected, probability = expected_codes(
            self.reconstructor_, verdicts.codes, cells, mask_rate=rate, device=self.torch_device()
        )
        return explanation_table(
            cells,
            verdicts.surprise,
            expected,
            probability,
            verdicts.codes,
            lambda rows, fields: self.encoder_.display(X, rows, fields),
        )

    def _scored(self, X: Any) -> tuple[Codes, CellScores]:
        check_is_fitted(self)
        codes = self.encoder_.encode(X)
        with listening(self.progress) as callback:
            return codes, self._cells(self.reconstructor_, codes, callback)

    def _cells(
        self, reconstructor: Any, codes: Codes, callback: Callback | None, *, own: int = 0, stage: str = "scoring"
    ) -> CellScores:
        return score_cells(
            reconstructor,
            codes,
            probes=replace(self.probes_, seed=self.probes_.seed + int(self.seed)),
            schedule=as_schedule(self.schedule),
            device=self.torch_device(),
            own=own,
            callback=callback,
            stage=stage,
        )

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
            return torch.device(self.device)
        mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if mps else "cpu")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class TableDetector(Detector):
    """Finds odd rows in a table, and the cells that make them odd.

    Trained on normal rows only: `fit(normal)`, then `anomaly_score`, `p_value`, `is_anomaly`, `explain`.

    Parameters
    ----------
    reconstructor : "mlp", "kernel", or an object with `log_prob` and `most_likely` (see `Reconstructor`).
    preset : None for the defaults, "paper" for the settings of the paper; `probes` and `aggregate` still win.
    probes : a `ProbeGrid`, or None for the one that goes with the reconstructor.
    objective : "reconstruction" (Eq. 8) or "diffusion" (Eq. 2), or an object that answers like them.
    schedule : "linear", "cosine", "polynomial", or a `Schedule`.
    aggregate : "mean" (the paper's), "rms" or "max": how a row's cells become one score.
    columns : how to read single columns: name -> "category", "number", "date" or "drop".
    false_alarm_rate : the rate `is_anomaly` and `predict` promise; None: 1%, or the finest the rows allow.
    device : "auto", or a torch device.
    seed : an integer; equal seeds give equal models.
    progress : None (a bar on a terminal), True, False, or a callable that is given `Progress` values.

    Examples
    --------
    >>> import pandas as pd
    >>> normal = pd.DataFrame({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100})
    >>> detector = TableDetector("kernel").fit(normal)
    >>> odd = pd.DataFrame({"pet": ["cat", "cat"], "says": ["meow", "woof"]})
    >>> detector.is_anomaly(odd)
    array([False,  True])
    """

    _presets: Presets = {  # noqa: RUF012
        None: {
            "mlp": (MLPReconstructor, ProbeGrid()),
            "kernel": (KernelReconstructor, ProbeGrid(PAPER_KERNEL_LEVELS, 8)),
        },
        "paper": {
            "mlp": (MLPReconstructor.paper, ProbeGrid(PAPER_LEVELS, 16, "independent", "zero")),
            "kernel": (KernelReconstructor.paper, ProbeGrid(PAPER_KERNEL_LEVELS, 8, "independent", "zero")),
        },
    }

    def __init__(
        self,
        reconstructor: str | Reconstructor = "mlp",
        *,
        preset: str | None = None,
        probes: ProbeGrid | None = None,
        objective: Any = "reconstruction",
        schedule: str | Schedule = "linear",
        aggregate: str = "mean",
        columns: Mapping[str, str] | None = None,
        false_alarm_rate: float | None = None,
        device: str = "auto",
        seed: int = 0,
        progress: bool | Callback | None = None,
    ) -> None:
        self.reconstructor = reconstructor
        self.preset = preset
        self.probes = probes
        self.objective = objective
        self.schedule = schedule
        self.aggregate = aggregate
        self.columns = columns
        self.false_alarm_rate = false_alarm_rate
        self.device = device
        self.seed = seed
        self.progress = progress

    def _read(self, X: Any) -> Any:
        return read_table(X)

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder(self.columns)
