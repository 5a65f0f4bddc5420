"""Scoring many files on a cluster: the results of each in a file of the same name, whole or not at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maskdiff.checks import CheckCounts, run_checks
from maskdiff.distributed.cluster import ClusterOptions, connected
from maskdiff.distributed.files_summary import FilesSummary, p_value_counts, record_of
from maskdiff.distributed.joining import JoinedFile, Joiner, highest_of_all
from maskdiff.distributed.manifest import FOLDER, Manifest
from maskdiff.distributed.model_bytes import model_bytes, model_digest
from maskdiff.distributed.parts import PARQUET, FilePart, bundled, cut_into_parts, output_name
from maskdiff.distributed.places import Place, SourceFile, list_files, placed
from maskdiff.distributed.results import as_dataset, disk_errors_explained, failure, results_of, stop_if_fatal
from maskdiff.distributed.undecided import Decision, needs_all_rows
from maskdiff.distributed.worker import BundleResult, FileScorer, PartResult, ScoreJob
from maskdiff.errors import ReadingWarning, SettingError
from maskdiff.io.formats import open_writer
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.models import Model, as_detector
from maskdiff.jobs.score import ScoreOptions
from maskdiff.progress import Callback, Progress

TOP = "top.parquet"
_PARTS = "parts"
# A file that is so many times larger than a part and cannot be cut is worth a warning.
_LARGE = 4


def score_files(
    model: Model,
    rows: str,
    out: str | os.PathLike[str],
    options: ScoreOptions | None = None,
    *,
    cluster: ClusterOptions | None = None,
    reading: ReadOptions | None = None,
    callback: Callback | None = None,
) -> FilesSummary:
    """Score the files that a path, folder or pattern stands for; the results of each are Parquet, in the folder `out`.

    `rows` and `out` are paths that all workers see, or addresses of an object store. Each file is scored as
    `jobs.score_file` scores it alone: same columns, order and values. A file that cannot be scored does not stop the
    others; it is named in the error at the end. The same call goes on where an earlier one stopped. With `top`, the
    highest rows of all files are in `out`/top.parquet.
    """
    job = ScoreFiles(model, rows, out, options or ScoreOptions(), cluster or ClusterOptions(), reading, callback)
    return job.run()


class ScoreFiles:
    """One job: what there is to score, what is finished, and what became of it."""

    def __init__(
        self,
        model: Model,
        rows: str,
        out: str | os.PathLike[str],
        options: ScoreOptions,
        cluster: ClusterOptions,
        reading: ReadOptions | None,
        callback: Callback | None,
    ) -> None:
        self.options, self.cluster, self.callback = options, cluster, callback
        self.model, self.detector = model_bytes(model), as_detector(model)
        self.detector.threshold(options.false_alarm_rate)  # a rate that cannot be promised is refused before all else
        folder = Place.of(out)
        self.job = ScoreJob(folder, folder / FOLDER / _PARTS, options, reading or ReadOptions())
        self.files = list_files(rows)
        _check_output(folder, self.files)
        job = {"model": model_digest(self.model), "options": asdict(options), "reading": asdict(self.job.reading)}
        self.manifest = Manifest(folder, job).load()
        self.parts = [part for file in self.files for part in _parts_of(file, cluster)]
        self.counts = CheckCounts(
            self.detector,
            false_alarm_rate=options.false_alarm_rate,
            false_discovery_rate=options.false_discovery_rate,
        )
        self.notes: list[str] = []

    def run(self) -> FilesSummary:
        """Score what is not finished, put parts together, and say what was done."""
        finished = {file for file in self.files if self._is_complete(file)}
        decided = not needs_all_rows(self.options)
        if len(finished) < len(self.files):
            _remove_unfinished(self.job.out)
            with disk_errors_explained(), connected(self.cluster) as ray:
                self._score(ray, [part for part in self.parts if not self._is_scored(part, finished)])
                self._finish(ray, [file for file in self.files if not decided or file not in finished])
                self.manifest.write()
            self._remove_parts()
            _remove_unfinished(self.job.out)
        return self._summary(len(finished) if decided or len(finished) == len(self.files) else 0)

    # What is finished ------------------------------------------------------------------------------------------------

    def _target(self, file: SourceFile) -> Place:
        return self.job.out / (TOP if self.options.top is not None else output_name(file))

    def _is_complete(self, file: SourceFile) -> bool:
        """Whether the results of a file are there."""
        return self.manifest.holds(output_name(file), file) and self._target(file).exists()

    def _is_scored(self, part: FilePart, finished: Collection[SourceFile]) -> bool:
        """Whether a part needs no scoring: its file is finished, or its rows wait to be put together."""
        if not needs_all_rows(self.options) and part.file in finished:
            return True
        waits = not self.job.is_final(part) and self.manifest.holds(self._key(part), part.file)
        return waits and self.job.target(part).exists()

    def _key(self, part: FilePart) -> str:
        """The name of a part in the manifest."""
        return part.name if self.job.is_final(part) else f"{_PARTS}/{part.name}"

    def _records(self) -> Iterator[dict[str, Any]]:
        """What is known of each part, those that earlier runs finished included."""
        return (self.manifest.finished[self._key(part)] for part in self.parts)

    # Scoring ---------------------------------------------------------------------------------------------------------

    def _score(self, ray: Any, parts: Sequence[FilePart]) -> None:
        if not parts:
            return
        workers, done, failed = self.cluster.n_workers(), 0, list[PartResult]()
        bundles = bundled(parts, workers)
        pool = ray.data.ActorPoolStrategy(min_size=1, max_size=workers, initial_size=min(workers, len(bundles)))
        scored = as_dataset(ray, bundles).map_batches(
            FileScorer,
            fn_constructor_args=(ray.put(self.model), self.job, self.cluster.gpus),
            batch_size=1,
            compute=pool,
            **self.cluster.resources(),
        )
        try:
            for bundle in results_of(scored):
                self._count(bundle)
                failed += [part for part in bundle.parts if part.error is not None]
                done += len(bundle.parts)
                self._report("scoring files", done, len(parts))
                stop_if_fatal(bundle.parts)
        finally:
            self.manifest.write()
        if failed:
            raise failure(failed, len(parts))

    def _count(self, bundle: BundleResult) -> None:
        for part in bundle.parts:
            if part.error is None:
                self.manifest.add(self._key(part.part), part.part.file, record_of(part))
                self.notes += part.notes
        if bundle.counts is not None:
            self.counts.merge(bundle.counts)

    def _report(self, stage: str, done: int, total: int) -> None:
        if self.callback is not None:
            self.callback(Progress(stage, done, total))

    # Putting together ------------------------------------------------------------------------------------------------

    def _decision(self) -> Decision:
        rate = self.options.false_discovery_rate
        return Decision() if rate is None else Decision.of(p_value_counts(self._records()), rate)

    def _finish(self, ray: Any, files: Sequence[SourceFile]) -> None:
        """Write for good what could not be before all rows were scored."""
        if self.options.top is not None:
            self._write_highest()
            return
        parts: dict[SourceFile, list[FilePart]] = {}
        for part in self.parts:
            parts.setdefault(part.file, []).append(part)
        waiting = [JoinedFile(parts[file]) for file in files if not self.job.is_final(parts[file][0])]
        if not waiting:
            return
        joiner, failed = Joiner(self.job, self._decision(), self.detector.calibration_.scores), list[JoinedFile]()
        blocks = as_dataset(ray, waiting, _JOINS_PER_WORKER * self.cluster.n_workers())
        for done, file in enumerate(results_of(blocks.map_batches(joiner, batch_size=1)), start=1):
            stop_if_fatal([file])
            if file.error is None:
                source = file.parts[0].file
                self.manifest.add(output_name(source), source, {"written": file.written})
            else:
                failed.append(file)
            self._report("writing files", done, len(waiting))
        if failed:
            raise failure(failed, len(waiting))

    def _write_highest(self) -> None:
        highest = highest_of_all(self.job, self.parts, self._decision(), self.detector.calibration_)
        with placed(self.job.out / TOP) as path, open_writer(path, highest.schema) as write:
            write(highest)
        for file in self.files:
            self.manifest.add(output_name(file), file, {"written": 0})
        self.manifest.finished[output_name(self.files[0])]["written"] = highest.num_rows

    def _remove_parts(self) -> None:
        for part in self.parts:
            if not self.job.is_final(part):
                (self.job.parts / part.name).delete()

    # What was done ---------------------------------------------------------------------------------------------------

    def _summary(self, kept: int) -> FilesSummary:
        options, detector = self.options, self.detector
        summary = FilesSummary(files=len(self.files), kept=kept, notes=list(dict.fromkeys(self.notes)))
        for record in self._records():
            summary.add(record)
        if needs_all_rows(options):
            summary.written = sum(self.manifest.finished[output_name(file)]["written"] for file in self.files)
        summary.false_discovery_rate = options.false_discovery_rate
        if options.false_discovery_rate is None:
            summary.threshold = detector.threshold(options.false_alarm_rate)
            summary.cell_threshold = detector.cell_threshold(options.false_alarm_rate)
            own = detector.false_alarm_rate if options.false_alarm_rate is None else options.false_alarm_rate
            summary.false_alarm_rate = detector.calibration_.rate_or_default(own)
        else:
            counts = p_value_counts(self._records())
            summary.anomalies, summary.dismissed = self._decision().counts(counts)
            self.counts.alarms = summary.anomalies
        summary.checks = run_checks(self.counts) if self.counts.rows else []
        return summary


# Putting files together takes little time; so many tasks for each worker spread it evenly.
_JOINS_PER_WORKER = 8


def _parts_of(file: SourceFile, cluster: ClusterOptions) -> list[FilePart]:
    parts = cut_into_parts(file, cluster.part_bytes)
    if len(parts) == 1 and file.size > _LARGE * cluster.part_bytes:
        reason = "has one row group" if file.name.lower().endswith(PARQUET) else "is not Parquet"
        warnings.warn(
            ReadingWarning(
                f"{file.place} is large and {reason}, so one worker reads all of it. As Parquet with row groups of "
                "about 100,000 rows it is spread over all workers."
            ),
            stacklevel=2,
        )
    return parts


def _check_output(folder: Place, files: Sequence[SourceFile]) -> None:
    """Refuse a folder that is a file, and one in which a result would replace a file that is read."""
    if folder.store is None and Path(folder.path).is_file():
        raise SettingError(f"{folder} is a file; the results of many files need a folder.", setting="out")
    read = {file.place for file in files}
    clash = next((file for file in files if folder / output_name(file) in read), None)
    if clash is not None:
        raise SettingError(f"{clash.place} is read and cannot be written as well. Name another folder.", setting="out")


def _remove_unfinished(folder: Place) -> None:
    """Files that a worker had begun when it was killed; results get their names only when they are complete."""
    if folder.store is None and Path(folder.path).is_dir():
        for path in Path(folder.path).rglob(".maskdiff-*"):
            path.unlink(missing_ok=True)
