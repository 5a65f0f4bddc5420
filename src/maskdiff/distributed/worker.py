"""What a worker does: it holds the model, and scores the parts of files that it is given."""

from __future__ import annotations

import errno
import pickle
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from maskdiff.checks import CheckCounts
from maskdiff.distributed.attempts import ATTEMPTS, Attempts
from maskdiff.distributed.manifest import FOLDER
from maskdiff.distributed.model_bytes import detector_of, held_value
from maskdiff.distributed.parts import FilePart
from maskdiff.distributed.places import Place, fetched, placed
from maskdiff.distributed.undecided import PartScoring, needs_all_rows
from maskdiff.errors import MaskdiffError, MaskdiffWarning, NoEvidenceWarning
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import open_rows, open_writer
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.score import ScoreOptions

# Errors that every other file would meet too.
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
# The column of bundles, and of what became of them; Ray's tables hold both as bytes.
BUNDLE = "bundle"
PARQUET = WriteOptions("parquet")


@dataclass(frozen=True)
class ScoreJob:
    """What is the same for all parts: the options, how files are read, and where each part is written.

    A part is given up once more than `attempts` workers died of it.
    """

    out: Place
    parts: Place
    options: ScoreOptions = field(default_factory=ScoreOptions)
    reading: ReadOptions = field(default_factory=ReadOptions)
    attempts: int = ATTEMPTS

    def target(self, part: FilePart) -> Place:
        """Where the rows of a part are written: for good, or until all parts are there."""
        return (self.out if self.is_final(part) else self.parts) / part.name

    def is_final(self, part: FilePart) -> bool:
        """Whether a part is a whole file, and its rows need nothing else."""
        return part.of == 1 and not needs_all_rows(self.options)


@dataclass
class PartResult:
    """What became of a part: numbers of rows, or the `error`; `fatal` ones would meet every other part too."""

    part: FilePart
    rows: int = 0
    anomalies: int = 0
    written: int = 0
    empty: int = 0
    dismissed: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    first_of_worker: bool = False
    ignored: list[str] = field(default_factory=list)
    skipped: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    p_values: Counter[tuple[float, bool]] = field(default_factory=Counter)
    error: str | None = None
    setting: str | None = None
    fatal: bool = False

    @property
    def shown(self) -> str:
        """The file, as messages name it."""
        return str(self.part.file.place)


@dataclass
class BundleResult:
    """What became of the parts of a bundle, and the counts of all rows that were scored, for the checks."""

    parts: list[PartResult]
    counts: CheckCounts | None = None


class FileScorer:
    """Scores bundles of parts; Ray makes one for each worker, which loads the model once."""

    def __init__(self, model: Any, job: ScoreJob, gpus: float = 0.0) -> None:
        self.detector, self.job = detector_of(held_value(model), gpus=gpus), job
        self.n_scored = 0

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """One row for each bundle, both ways as bytes."""
        results = [self.score(pickle.loads(bundle)) for bundle in batch[BUNDLE]]
        return {BUNDLE: np.array([pickle.dumps(result) for result in results], dtype=object)}

    def score(self, bundle: list[FilePart]) -> BundleResult:
        """Score these parts, one after the other; a part that fails does not stop the others."""
        done, attempts = BundleResult([]), Attempts(self.job.out / FOLDER, bundle[0].name, self.job.attempts)
        for part in bundle:
            # What is loaded on first use is in the time of the first part.
            result = PartResult(part, first_of_worker=self.n_scored == 0)
            self.n_scored += 1
            done.parts.append(result)
            began, began_busy = time.perf_counter(), time.process_time()
            with (
                record_errors(result),
                warnings.catch_warnings(record=True) as caught,
                attempts.at(part.name),
            ):
                warnings.simplefilter("always", MaskdiffWarning)
                warnings.simplefilter("ignore", NoEvidenceWarning)
                counts = self._score_part(part, result)
                if done.counts is None:
                    done.counts = counts
                else:
                    done.counts.merge(counts)
            result.notes = [str(one.message) for one in caught if isinstance(one.message, MaskdiffWarning)]
            result.seconds = time.perf_counter() - began
            result.processor_seconds = time.process_time() - began_busy
        attempts.close()
        return done

    def _score_part(self, part: FilePart, result: PartResult) -> CheckCounts:
        job = self.job
        reading = replace(job.reading, row_groups=part.row_groups)
        with fetched(part.file.place) as path, open_rows(path, reading) as rows:
            scoring = PartScoring(self.detector, rows, job.options)
            final = not needs_all_rows(job.options)
            schema = scoring.schema if final else scoring.aside_schema
            with placed(job.target(part)) as target, open_writer(target, schema, PARQUET) as write:
                for batch in scoring.batches() if final else scoring.undecided():
                    write(batch)
            summary = scoring.summary
            for name in ("rows", "anomalies", "written", "empty", "dismissed", "ignored"):
                setattr(result, name, getattr(summary, name))
            result.skipped = vars(rows.skipped)
            if job.options.false_discovery_rate is not None:
                result.p_values = scoring.p_value_counts()
        return scoring.counts


class Recorded(Protocol):
    """A result that can be an error."""

    error: str | None
    setting: str | None
    fatal: bool

    @property
    def shown(self) -> str:
        """The file, as messages name it."""


@contextmanager
def record_errors(result: Recorded) -> Iterator[None]:
    """What goes wrong with a part is written down, with the name of its file."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, MaskdiffError)
        reason = " ".join(str(error).split()) or "no message"
        if isinstance(error, OSError) and not known:
            named = "" if error.filename is None else f"{error.filename}: "
            reason, result.fatal = f"{named}{error.strerror or error}.", error.errno in DISK_ERRORS
        elif not known:
            reason = f"{type(error).__name__}: {reason}"
        result.error = reason if result.shown in reason else f"{result.shown}: {reason}"
        result.setting = getattr(error, "setting", None)
