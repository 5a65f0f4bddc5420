"""Fitting on a cluster: statistics of all rows, and a uniform sample of them to train on, on one node."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from maskdiff.detectors import Detector, TableDetector, TokenDetector
from maskdiff.detectors.table_reading import OtherRows
from maskdiff.distributed.attempts import begun_beside
from maskdiff.distributed.cluster import ClusterOptions, connected
from maskdiff.distributed.learning import ColumnsStep, GatherStep, LearnJob, LookStep, PartFindings, Step
from maskdiff.distributed.model_bytes import detector_of, model_bytes
from maskdiff.distributed.parts import FilePart, cut_into_parts
from maskdiff.distributed.places import Place, list_files, placed
from maskdiff.distributed.reading import each_part
from maskdiff.distributed.training import CARD_OF_THE_FIT, RETRIES, GroupTrainer
from maskdiff.errors import EmptyTableError, MaskdiffWarning, SettingError
from maskdiff.io.many import ManyRows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import BatchRows, ReadOptions, as_batch
from maskdiff.jobs.checkpoint import CHECKPOINT_FILE, Checkpoint
from maskdiff.jobs.fit import FitSummary, files_of, normal_rows_of, unfitted
from maskdiff.jobs.fit_settings import ColumnOptions, DetectorSettings
from maskdiff.jobs.rows.labels import Labels
from maskdiff.progress import Callback
from maskdiff.storage import MODEL_FILE, save
from maskdiff.training import Trainer, trained_by

# Rows to train on, compare with and calibrate: from more nothing more is learned (see the page on scale).
SAMPLE = 100_000


def fit_files(
    rows: str,
    out: str | os.PathLike[str],
    *,
    detector: Detector | DetectorSettings | None = None,
    columns: ColumnOptions | None = None,
    labels: Labels | None = None,
    sample: int = SAMPLE,
    cluster: ClusterOptions | None = None,
    reading: ReadOptions | None = None,
    resume: bool = False,
    checkpoint_seconds: float = 10.0,
    callback: Callback | None = None,
    force: bool = False,
) -> FitSummary:
    """Learn what is normal from the files that a path, folder or pattern stands for; the model is written to `out`.

    All workers read: the encoder of a table learns from all rows, up to its limits. What is trained, compared with and
    calibrated is a uniform sample of about `sample` rows, on one node, on its graphics card where there is one. Up to
    that many rows the model is the one that `jobs.fit_file` makes of them. Where the cluster options name more than one
    worker, they train the network of texts or sequences together. The rest as in `jobs.fit_file`.
    """
    if sample < 1:
        raise SettingError(f"a sample needs at least 1 row; got {sample}.", setting="sample")
    place, fitted = Place.of(out), unfitted(detector, None)
    checkpoint = _checkpoint(place, checkpoint_seconds)
    if place.store is None:
        check_output(out, files_of(detector), MODEL_FILE, force=force)
        check_output(checkpoint.path, files_of(detector), CHECKPOINT_FILE, force=force)
    if not resume:
        checkpoint.done()
    cluster, fitted.progress = cluster or ClusterOptions(), False
    with begun_beside(out) as begun, connected(cluster) as ray:
        gathered = Gathering(ray, rows, begun, fitted, columns, labels, reading, cluster, callback)
        table, others, n_rows = gathered.run(sample)
        content, caught = _train(ray, fitted, table, others, checkpoint, cluster)
    for warning in caught:
        warnings.warn(warning, stacklevel=2)
    with placed(place) as path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        save(learned := detector_of(content, gpus=1), path, force=force)
    checkpoint.done()
    return FitSummary(learned, rows, n_rows)


def _checkpoint(place: Place, seconds: float) -> Checkpoint:
    """Beside the model, so that another worker finds it; of a model in an object store on the disk of the node."""
    folder = "" if place.store is None else tempfile.gettempdir() + "/"
    path = f"{place.path}.checkpoint" if place.store is None else f"{folder}{place.name}.checkpoint"
    return Checkpoint(path, resume=True, seconds=seconds)


class Gathering:
    """The files of a job, read by all workers, which note in a folder what they begin."""

    def __init__(
        self,
        ray: Any,
        rows: str,
        begun: Place,
        detector: Detector,
        columns: ColumnOptions | None,
        labels: Labels | None,
        reading: ReadOptions | None,
        cluster: ClusterOptions,
        callback: Callback | None,
    ) -> None:
        self.ray, self.rows, self.cluster, self.callback = ray, rows, cluster, callback
        assert isinstance(detector, TableDetector | TokenDetector)
        named = None if labels is None else (labels.column, tuple(map(str, labels.normal)))
        self.job = LearnJob(detector, begun, reading or ReadOptions(), named)
        self.columns, self.labels = columns, labels
        self.files = list_files(rows)
        self.parts = [part for file in self.files for part in cut_into_parts(file, cluster.part_bytes)]

    def run(self, sample: int) -> tuple[pa.Table, OtherRows | None, int]:
        """A uniform sample of about so many rows, what is known of all others, and how many there are in all."""
        self._agree_on_columns()
        numbers, recognition = [], None
        for found in self._each(LookStep(self.job), self.parts, "looking at files"):
            numbers.append(found.rows)
            if recognition is None:
                recognition = found.recognition
            elif found.recognition is not None:
                recognition.merge(found.recognition)
        n_rows = sum(numbers)
        if not n_rows:
            raise EmptyTableError(f"{self.rows}: there are no normal rows to learn from.")
        firsts = [0, *accumulate(numbers)][:-1]
        text_types = None if recognition is None else recognition.found()
        step = GatherStep(self.job, firsts, sample / n_rows, text_types)
        tables, statistics = list[pa.Table](), None
        for found in self._each(step, self.parts, "reading files"):
            tables += [] if found.sample is None else [found.sample]
            if statistics is None:
                statistics = found.statistics
            elif found.statistics is not None:
                statistics.merge(found.statistics)
        others = None if statistics is None or text_types is None else OtherRows(text_types, statistics)
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks(), others, n_rows

    def _agree_on_columns(self) -> None:
        """The columns of all files, with one type each; which of them are learned from, and how."""
        found = list(self._each(ColumnsStep(self.job), [FilePart(file) for file in self.files], "looking at columns"))
        schemas = [one.schema for one in found if one.schema is not None]
        stubs = [
            BatchRows(as_batch(schema.empty_table()), str(file.place))
            for schema, file in zip(schemas, self.files, strict=True)
        ]
        common = stubs[0] if len(stubs) == 1 else ManyRows(stubs, self.rows)
        labels = None if isinstance(self.job.detector, TokenDetector) else self.labels
        normal_rows_of(common, self.job.detector, self.columns, labels, None)
        self.job = replace(self.job, schema=common.schema)

    def _each(self, step: Step, parts: Sequence[FilePart], stage: str) -> Iterator[PartFindings]:
        return each_part(self.ray, step, parts, self.cluster, stage, self.callback)


def _train(
    ray: Any,
    detector: Detector,
    table: pa.Table,
    others: OtherRows | None,
    checkpoint: Checkpoint,
    cluster: ClusterOptions,
) -> tuple[bytes, list[Warning]]:
    """The model file, learned by one worker; one that dies is replaced, and goes on from the checkpoint.

    It may have others train with it, and waits for them.
    """
    cards = ray.cluster_resources().get("GPU", 0)
    trainer = GroupTrainer.of(detector, cluster, cards)
    card = 0.0 if cards < 1 or detector.device == "cpu" else 1.0 if trainer is None else CARD_OF_THE_FIT
    learn = ray.remote(max_retries=RETRIES, num_cpus=max(1, cluster.cpus), num_gpus=card)(learn_sample)
    result: tuple[bytes, list[Warning]] = ray.get(
        learn.remote(detector, ray.put(table), ray.put(others), str(checkpoint.path), checkpoint.seconds, trainer)
    )
    return result


def learn_sample(
    detector: Detector,
    table: pa.Table,
    others: OtherRows | None,
    checkpoint: str,
    seconds: float,
    trainer: Trainer | None,
) -> tuple[bytes, list[Warning]]:
    """Learn from the rows of a sample; the model file, and what there is to note."""
    store = Checkpoint(checkpoint, resume=True, seconds=seconds)
    in_charge = nullcontext() if trainer is None else trained_by(trainer)
    with warnings.catch_warnings(record=True) as caught, in_charge:
        warnings.simplefilter("always", MaskdiffWarning)
        if isinstance(detector, TableDetector) and others is not None:
            detector.fit_sample(lambda: [table], table.num_rows, others, checkpoint=store)
        else:
            detector.fit_batches(lambda: [table], table.num_rows, checkpoint=store)
    notes = [one.message for one in caught if isinstance(one.message, MaskdiffWarning)]
    return model_bytes(detector), list(notes)
