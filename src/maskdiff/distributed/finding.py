"""Searching many files on a cluster: the models of a round are trained side by side, and all workers score."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.detectors.finding.cross_fit import CrossFit, rows_chosen
from maskdiff.distributed.attempts import begun_beside
from maskdiff.distributed.cluster import ClusterOptions, connected
from maskdiff.distributed.learning import LearnJob, PartFindings, Step
from maskdiff.distributed.model_bytes import held_value
from maskdiff.distributed.parts import cut_into_parts
from maskdiff.distributed.places import Place, list_files
from maskdiff.distributed.reading import each_part
from maskdiff.errors import InputError, MaskdiffWarning
from maskdiff.io.inputs import input_files
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.jobs.checkpoint import Checkpoint
from maskdiff.jobs.find import find_file
from maskdiff.jobs.found_rows import FindSummary
from maskdiff.progress import Callback, Progress

Folds = NDArray[np.int8]

# A training that lost its worker so often is given up.
_RETRIES = 3


def find_files(
    rows: str, out: str, *, cluster: ClusterOptions | None = None, reading: ReadOptions | None = None, **settings: Any
) -> FindSummary:
    """As `jobs.find_file`, with the same answer: workers train the models of all folds, and score all rows.

    Files are paths that all workers and this process see: what belongs together and which rows are odd is decided
    here, from a few numbers for each row.
    """
    cluster = cluster or ClusterOptions()
    with begun_beside(out) as begun, connected(cluster) as ray:

        def engine(file: RowFile) -> ClusterFolds:
            return ClusterFolds(ray, rows, begun, file.schema, reading or ReadOptions(), cluster)

        return find_file(rows, out, reading=reading, engine=engine, **settings)


class ClusterFolds:
    """Makes the models of all folds on a cluster: `LearnFolds`."""

    def __init__(
        self, ray: Any, rows: str, begun: Place, schema: pa.Schema, reading: ReadOptions, cluster: ClusterOptions
    ) -> None:
        self.ray, self.begun, self.reading, self.cluster, self.schema = ray, begun, reading, cluster, schema
        order = {path: at for at, path in enumerate(map(os.path.abspath, input_files(rows)))}
        files = sorted(list_files(rows), key=lambda file: order[file.place.path])
        self.parts = [part for file in files for part in cut_into_parts(file, cluster.part_bytes)]
        self.firsts: list[int] | None = None

    def __call__(
        self,
        detector: Any,
        batches: Callable[[], Any],
        fold: Folds,
        learnable: BoolArray,
        *,
        callback: Callback | None = None,
        checkpoint: Callable[[int], Any] | None = None,
    ) -> CrossFit:
        """See `CrossFit.learn`; the rows that may be learned from are collected by the workers."""
        sent = copy.copy(detector)
        sent.progress = False
        job = LearnJob(sent, self.begun, self.reading, schema=self.schema)
        if self.firsts is None:
            counts = [found.rows for found in each_part(self.ray, CountStep(job), self.parts, self.cluster)]
            self.firsts = np.cumsum([0, *counts]).tolist()[:-1]
        step = ChosenStep(job, self.firsts, self.ray.put(learnable))
        found = each_part(self.ray, step, self.parts, self.cluster, "collecting rows", callback)
        tables = [one.sample for one in found if one.sample is not None]
        models = self._trained(sent, pa.concat_tables(tables), fold[learnable], callback, checkpoint)
        return ClusterCrossFit(models, fold, self, job)

    def _trained(
        self,
        detector: Any,
        table: pa.Table,
        fold: Folds,
        callback: Callback | None,
        checkpoint: Callable[[int], Any] | None,
    ) -> tuple[Any, ...]:
        """One model for each fold, all at once; one whose worker dies goes on from its checkpoint."""
        resources = {"num_cpus": self.cluster.cpus, "num_gpus": self.cluster.gpus}
        learn = self.ray.remote(max_retries=_RETRIES, **resources)(learn_fold)
        held, n_folds = self.ray.put(table), int(fold.max(initial=0)) + 1
        stores = [None if checkpoint is None else _store_of(checkpoint(number)) for number in range(n_folds)]
        waiting = [learn.remote(detector, held, fold != number, stores[number]) for number in range(n_folds)]
        models = []
        for one in waiting:
            models.append(self.ray.get(one))
            if callback is not None:
                callback(Progress("training models", len(models), n_folds))
        return tuple(models)


def _store_of(checkpoint: Checkpoint) -> Checkpoint:
    """A store that a second try of the same training resumes from; what an earlier run left counts only if wanted."""
    if not checkpoint.resume:
        checkpoint.path.unlink(missing_ok=True)
    return Checkpoint(str(checkpoint.path), resume=True, seconds=checkpoint.seconds)


def learn_fold(detector: Any, table: pa.Table, chosen: BoolArray, checkpoint: Checkpoint | None) -> Any:
    """A model of these rows of a table, which judges others."""
    if not chosen.any():
        raise InputError("no rows are left to learn from once those to be judged are set aside.")
    model = copy.copy(detector)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)  # the model of all rows says the same once
        batches = rows_chosen(lambda: [model._read(table)], chosen)
        model.learn_uncalibrated(batches, int(chosen.sum()), None, checkpoint)
    return model


@dataclass(frozen=True, eq=False)
class ClusterCrossFit(CrossFit):
    """Models that all workers score with."""

    folds: ClusterFolds | None = None
    job: LearnJob | None = None

    def scores(self, batches: Callable[[], Any], callback: Callback | None = None) -> FloatArray:
        """See `CrossFit.scores`."""
        assert self.folds is not None
        assert self.job is not None
        assert self.folds.firsts is not None
        ray, models = self.folds.ray, CrossFit(self.models, self.fold)
        step = JudgeStep(self.job, self.folds.firsts, ray.put(models))
        found = each_part(ray, step, self.folds.parts, self.folds.cluster, "scoring files", callback)
        return np.concatenate([one.scores for one in found if one.scores is not None])


class CountStep(Step):
    """How many rows there are."""

    def read(self, rows: RowFile, found: PartFindings) -> None:
        found.rows = rows.n_rows if rows.n_rows is not None else sum(table.num_rows for table in self.job.normal(rows))


class PlacedStep(Step):
    """A step that knows which rows of all those of a part are; `held` is what Ray holds for all workers."""

    def __init__(self, job: LearnJob, firsts: list[int], held: Any) -> None:
        super().__init__(job)
        self.firsts, self.held = firsts, held

    def tables(self, rows: RowFile, found: PartFindings) -> Iterator[tuple[pa.Table, slice]]:
        """The rows, and which of all they are."""
        at = self.firsts[found.number]
        for table in self.job.normal(rows):
            yield table, slice(at, at + table.num_rows)
            at += table.num_rows


class ChosenStep(PlacedStep):
    """The rows that are learned from."""

    def read(self, rows: RowFile, found: PartFindings) -> None:
        chosen = held_value(self.held)
        parts = [table.filter(pa.array(chosen[here])) for table, here in self.tables(rows, found)]
        found.sample = pa.concat_tables(parts) if parts else None


class JudgeStep(PlacedStep):
    """The score of every row, by the model that did not see it."""

    def read(self, rows: RowFile, found: PartFindings) -> None:
        models: CrossFit = held_value(self.held)
        scores = [np.empty(0)]
        for table, here in self.tables(rows, found):
            of_rows = np.empty(table.num_rows)
            for places, _, cells in models.judged(self.job.detector._read(table), models.fold[here]):
                of_rows[places] = cells.score
            scores.append(of_rows)
        found.scores = np.concatenate(scores)
