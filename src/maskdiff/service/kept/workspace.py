"""Where things are kept beside the models: jobs, uploaded files, results, locks."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from maskdiff.service.background.store import RUNNING, WAITING, JobStore
from maskdiff.service.kept.files import FileStore, FolderStore
from maskdiff.service.kept.models import ENDING
from maskdiff.service.requests.names import check_model_name
from maskdiff.service.requests.problems import Problem


class ResultStore(FolderStore):
    """What jobs found."""

    what = "result"


class Workspace:
    """The folder of models and, in `.service` below it, everything else."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.own = folder, folder / ".service"
        self.own.mkdir(exist_ok=True)
        self.jobs = JobStore(self.own / "jobs.sqlite")
        self.files = FileStore(self.own / "files")
        self.results = ResultStore(self.own / "results")

    def model(self, name: str, *, there: bool = True) -> Path:
        """The file of a model; it has to be `there` unless it is to be written."""
        path = self.folder / f"{check_model_name(name)}{ENDING}"
        if there and not path.is_file():
            raise Problem(404, f"there is no model called {name}.")
        return path

    def lock(self, name: str) -> Path:
        return self.own / "locks" / name

    def checkpoint(self, job: str) -> Path:
        (self.own / "checkpoints").mkdir(exist_ok=True)
        return self.own / "checkpoints" / job

    def forget_checkpoints(self, job: str) -> None:
        for path in self.checkpoint(job).parent.glob(f"{job}*"):
            path.unlink(missing_ok=True)

    def sweep(self, keep_days: float) -> None:
        """Remove what broke off long ago, and uploads and results that nobody used for so many days."""
        seconds = keep_days * 24 * 3600
        jobs = [*self.jobs.in_state(WAITING), *self.jobs.in_state(RUNNING)]
        needed = {
            name for job in jobs for name in (job.id, job.settings.get("file", ""), job.settings.get("result", ""))
        }
        self.files.sweep(seconds, needed)
        self.results.sweep(seconds, needed)
        for path in (self.own / "locks").glob("job-*"):
            with suppress(OSError):
                if path.name.removeprefix("job-") not in needed and time.time() - path.stat().st_mtime > seconds:
                    path.unlink()
