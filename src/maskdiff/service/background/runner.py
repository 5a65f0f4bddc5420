"""Starts jobs in processes of their own, a few at a time, and says how those ended that could not say it themselves."""

from __future__ import annotations

import logging
import os
import threading
import time

from maskdiff.service.background.launcher import Launcher, RunningJob
from maskdiff.service.background.locks import try_lock
from maskdiff.service.background.store import CANCELLED, FAILED, RUNNING, WAITING, Job
from maskdiff.service.kept.workspace import Workspace

log = logging.getLogger("maskdiff.service")

# Seconds between two looks at the jobs where nothing else wakes the thread: another service may have left some.
_LOOK = 1.0
# A job whose service was killed begins again, or goes on where its training was, so many times.
_MOST_ATTEMPTS = 3
# Seconds that a launcher with memory of its own is kept for a job to come.
_WARM = 300.0


class JobRunner:
    """One thread that starts jobs of the folder which wait, and watches those it started."""

    def __init__(self, work: Workspace, at_once: int, launcher: Launcher | None = None) -> None:
        self.work, self.at_once = work, at_once
        self.running: dict[str, RunningJob] = {}
        self.launcher = launcher
        self.wake, self.closing, self.wanted = threading.Event(), False, False
        self.thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop the jobs of this service; they go on when a service starts again."""
        self.closing = True
        self.wake.set()
        self.thread.join()
        for id, job in self.running.items():
            job.end()
            self.work.jobs.wait_again(id)
        if self.launcher is not None:
            self.launcher.end()

    def warm(self) -> None:
        """A job is likely to come soon: what it needs is loaded meanwhile."""
        self.wanted = True
        self.wake.set()

    def cancel(self, id: str) -> bool:
        """End a job; False where it had ended before."""
        cancelled = self.work.jobs.end(id, CANCELLED, error="cancelled")
        self.wake.set()
        return cancelled

    def _run(self) -> None:
        while not self.closing:
            try:
                self._look()
            except Exception:  # a full disk, a database that is locked: the next look may do better
                log.exception("jobs could not be looked at")
            self.wake.wait(_LOOK if not self.running else _LOOK / 4)
            self.wake.clear()

    def _look(self) -> None:
        for id, running in list(self.running.items()):
            self._watch(id, running)
        for job in [*self.work.jobs.in_state(RUNNING), *self.work.jobs.in_state(WAITING)]:
            if job.id not in self.running and len(self.running) < self.at_once:
                self._start(job)
        self._keep_warm()

    def _keep_warm(self) -> None:
        """A launcher is there while a job is likely to come; where it holds memory of its own, not for longer."""
        if self.wanted:
            self._launcher().used = time.monotonic()
        self.wanted = False
        idle = self.launcher
        if idle is None or idle.shares_memory or self.running or time.monotonic() - idle.used <= _WARM:
            return
        idle.end()
        self.launcher = None

    def _launcher(self) -> Launcher:
        if self.launcher is None or not self.launcher.is_alive():
            self.launcher = Launcher.started(self.work.folder)
        return self.launcher

    def _watch(self, id: str, running: RunningJob) -> None:
        ended, job = running.has_ended(), self.work.jobs.get(id)
        if not ended and (job is None or job.state == CANCELLED):
            running.end()
            ended = True
        if not ended:
            return
        del self.running[id]
        running.end()
        again = self.work.jobs.get(id)  # it may have said how it ended after we looked
        if again is not None and again.state == RUNNING:
            self.work.jobs.end(id, FAILED, error="the process of the job was ended before its work was done.")
        if again is not None and again.state == CANCELLED:
            self.work.forget_checkpoints(id)

    def _start(self, job: Job) -> None:
        """Start a job that no process works on: the process holds a lock for as long as it lives."""
        handle = try_lock(self.work.lock(f"job-{job.id}"))
        if handle is None:
            return
        try:
            if job.attempts >= _MOST_ATTEMPTS:
                self.work.jobs.end(job.id, FAILED, error=f"the service ended {job.attempts} times while it ran.")
            elif self.work.jobs.begin(job.id):
                self.running[job.id] = self._launched(job.id, handle)
        finally:
            os.close(handle)

    def _launched(self, job: str, handle: int) -> RunningJob:
        try:
            return self._launcher().launch(job, handle)
        except OSError:  # it has died meanwhile
            self.launcher = None
            return self._launcher().launch(job, handle)
