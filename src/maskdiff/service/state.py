"""All that the routes share: made once, when the service starts."""

from __future__ import annotations

import logging
import threading
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from maskdiff.service.background.launcher import Launcher
from maskdiff.service.background.runner import JobRunner
from maskdiff.service.bulk import BulkWork
from maskdiff.service.kept.models import ModelFolder, ServedModel
from maskdiff.service.kept.results import Results
from maskdiff.service.kept.workspace import Workspace
from maskdiff.service.metrics import Metrics
from maskdiff.service.scoring import Scorer
from maskdiff.service.settings import ServiceSettings

log = logging.getLogger("maskdiff.service")

# Seconds from one look for files that nobody uses any more to the next.
_SWEEP_EVERY = 3600.0


class Service:
    """The models, the threads that score, and whether the service is about to end."""

    def __init__(self, settings: ServiceSettings, launcher: Launcher | None = None) -> None:
        self.settings, self.limits = settings, settings.limits
        self.metrics = Metrics()
        self.models = ModelFolder(settings.folder)
        self.scorer = Scorer(self.metrics, self.limits.waiting)
        self.bulk = BulkWork(self.limits.file_seconds)
        self.work = Workspace(settings.folder)
        self.results = Results(self.work)
        self.runner = JobRunner(self.work, self.limits.jobs_at_once, launcher)
        self.closing = threading.Event()
        threading.Thread(target=self._sweep, name="sweeping", daemon=True).start()

    async def model(self, name: str) -> ServedModel:
        """The model of that name; its rows are counted from the first request on."""
        model = await self.models.get(name)
        self.metrics.counts[name] = model.counts
        return model

    def _sweep(self) -> None:
        """Now and every hour, until the service ends."""
        while True:
            try:
                self.work.sweep(self.limits.keep_days)
            except Exception:  # a database that is locked: the next time may do better
                log.exception("old files could not be removed")
            if self.closing.wait(_SWEEP_EVERY):
                return

    def close(self) -> None:
        self.closing.set()
        self.runner.close()
        self.scorer.close()
        self.bulk.close()


async def _of(request: Request) -> Service:  # one that is not async would run in another thread
    service: Service = request.app.state.service
    return service


# What a route takes to reach the service.
TheService = Annotated[Service, Depends(_of)]
