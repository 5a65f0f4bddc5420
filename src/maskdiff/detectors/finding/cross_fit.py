"""Several models, each of which judges the rows of one fold and learned from rows of the others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.detectors.split import in_step
from maskdiff.errors import InputError, MaskdiffWarning
from maskdiff.evidence import CellEvidence, Evidence
from maskdiff.progress import Callback, Progress, renamed
from maskdiff.training.side_by_side import side_by_side

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector
    from maskdiff.detectors.learning import Batches
    from maskdiff.training import CheckpointStore


@dataclass(frozen=True, eq=False)
class CrossFit:
    """One model for each fold, and the fold of each row, shape (N,)."""

    models: tuple[Detector, ...]
    fold: NDArray[np.int8]

    @classmethod
    def learn(
        cls,
        detector: Detector,
        batches: Batches,
        fold: NDArray[np.int8],
        learnable: BoolArray,
        *,
        callback: Callback | None = None,
        checkpoint: Callable[[int], CheckpointStore | None] | None = None,
    ) -> CrossFit:
        """For each fold a model like this detector, from the rows of all others that are `learnable`, shape (N,).

        `checkpoint` gives the store of the training of each fold.
        """
        n_folds = int(fold.max(initial=0)) + 1
        reports = [renamed(callback, f"{{}}, part {number + 1} of {n_folds}") for number in range(n_folds)]
        stores = [None if checkpoint is None else checkpoint(number) for number in range(n_folds)]
        models = [copy.copy(detector) for _ in range(n_folds)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MaskdiffWarning)  # the model of all rows says the same once
            rows = [
                model.begin_uncalibrated(rows_chosen(batches, chosen), int(chosen.sum()))
                for model, chosen in zip(models, _chosen(fold, learnable, n_folds), strict=True)
            ]

            def train(number: int, report: Callback | None) -> None:
                models[number].train_uncalibrated(rows[number], report, stores[number])

            together = detector.trains_side_by_side and detector.torch_device().type == "cpu"
            side_by_side(train, reports, threads=together)
            for model, own, report in zip(models, rows, reports, strict=True):
                model.end_uncalibrated(own, report)
        return cls(tuple(models), fold)

    def on_one_scale(self) -> Self:
        """The same with scores that can be compared: each model was put on a scale by few rows of its own."""
        models = [copy.copy(model) for model in self.models]
        evidences = Evidence.on_common_scale([model.evidence_ for model in models])
        for model, evidence in zip(models, evidences, strict=True):
            model.evidence_ = evidence
        return replace(self, models=tuple(models))

    def scores(self, batches: Batches, callback: Callback | None = None) -> FloatArray:
        """The score of every row, by the model that did not see it, shape (N,)."""
        scores, done = np.empty(len(self.fold)), 0
        for rows, fold in in_step(batches(), self.fold):
            for places, _, cells in self.judged(rows, fold):
                scores[done + places] = cells.score
            done += len(fold)
            if callback is not None:
                callback(Progress("scoring", done, len(scores)))
        return scores

    def judged(self, rows: Any, fold: NDArray[np.int8]) -> Iterator[tuple[NDArray[np.int64], Codes, CellEvidence]]:
        """For each fold, in order: the places of its rows among these, their codes, and what its model says of them."""
        for number, model in enumerate(self.models):
            places = np.flatnonzero(fold == number)
            if len(places):
                codes = model.encoder_.encode(rows.take(places))
                yield places, codes, model.evidence_.weigh(codes)

    def take(self, rows: IntArray | BoolArray) -> CrossFit:
        """The same for these rows."""
        return CrossFit(self.models, self.fold[rows])

    def explain(self, rows: Any, top: int) -> Any:
        """The explanation of these rows, each by the model that did not see it; one line per cell, in their order."""
        import pandas as pd

        parts = []
        for number, model in enumerate(self.models):
            places = np.flatnonzero(self.fold == number)
            if len(places):
                own = rows.take(places)
                part = model.explain(own, top, verdicts=model.uncalibrated_verdicts(own))
                parts.append(pd.DataFrame(part).assign(row=places[part["row"].to_numpy()]))
        return pd.concat(parts, ignore_index=True).sort_values("row", kind="stable", ignore_index=True)


class LearnFolds(Protocol):
    """Makes the models of all folds: `CrossFit.learn`, or one that spreads them over machines."""

    def __call__(
        self,
        detector: Any,
        batches: Batches,
        fold: NDArray[np.int8],
        learnable: BoolArray,
        *,
        callback: Callback | None = None,
        checkpoint: Callable[[int], CheckpointStore | None] | None = None,
    ) -> CrossFit:
        """See `CrossFit.learn`."""


def _chosen(fold: NDArray[np.int8], learnable: BoolArray, n_folds: int) -> Iterator[BoolArray]:
    """The rows that the model of each fold learns from, each (N,)."""
    for number in range(n_folds):
        chosen = learnable & (fold != number)
        if not chosen.any():
            raise InputError("no rows are left to learn from once those to be judged are set aside.")
        yield chosen


def rows_chosen(batches: Batches, chosen: BoolArray) -> Batches:
    """The same batches with these rows only."""

    def read() -> Iterator[Any]:
        for rows, here in in_step(batches(), chosen):
            if here.any():
                yield rows.take(here)

    return read
