"""Starts jobs in processes of their own, a few at a time, and says how those ended that could not say it themselves."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time

from maskdiff.service.background.locks import try_lock
from maskdiff.service.background.store import CANCELLED, FAILED, RUNNING, WAITING, Job
from maskdiff.service.kept.workspace import Workspace

log = logging.getLogger("maskdiff.service")

# Seconds between two looks at the jobs where nothing else wakes the thread: another service may have left some.
_LOOK = 1.0
# A job whose service was killed begins again, or goes on where its training was, so many times.
_MOST_ATTEMPTS = 3
# Seconds that a process is kept for a job to come, and that one is given to end by itself.
_WARM, _POLITE = 300.0, 2.0


class JobRunner:
    """One thread that starts jobs of the folder which wait, and watches those it started."""

    def __init__(self, work: Workspace, at_once: int) -> None:
        self.work, self.at_once = work, at_once
        self.processes: dict[str, JobProcess] = {}
        self.spare: JobProcess | None = None
        self.wake, self.closing, self.wanted = threading.Event(), False, False
        self.thread = threading.Thread(target=self._run, name="jobs", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop the jobs of this service; they go on when a service starts again."""
        self.closing = True
        self.wake.set()
        self.thread.join()
        for id, process in self.processes.items():
            process.end()
            self.work.jobs.wait_again(id)
        if self.spare is not None:
            self.spare.end()

    def warm(self) -> None:
        """A job is likely to come soon: a process loads what it needs meanwhile."""
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
            self.wake.wait(_LOOK if not self.processes else _LOOK / 4)
            self.wake.clear()

    def _look(self) -> None:
        for id, process in list(self.processes.items()):
            self._watch(id, process)
        for job in [*self.work.jobs.in_state(RUNNING), *self.work.jobs.in_state(WAITING)]:
            if job.id not in self.processes and len(self.processes) < self.at_once:
                self._start(job)
        self._keep_spare()

    def _keep_spare(self) -> None:
        """One process more than jobs while one is likely to come; it holds memory, so not for long."""
        if self.wanted and self.spare is None and len(self.processes) < self.at_once:
            self.spare = JobProcess(self.work)
        self.wanted = False
        if self.spare is not None and time.monotonic() - self.spare.began > _WARM:
            self.spare.end()
            self.spare = None

    def _watch(self, id: str, process: JobProcess) -> None:
        status = process.poll()
        job = self.work.jobs.get(id)
        if status is None and (job is None or job.state == CANCELLED):
            status = process.end()
        if status is None:
            return
        del self.processes[id]
        process.end()
        if job is not None and job.state == RUNNING:
            again = self.work.jobs.get(id)  # it may have said how it ended after we looked
            how = f"a signal ({-status})" if status < 0 else f"a fault of the service (status {status})"
            if again is not None and again.state == RUNNING:
                self.work.jobs.end(id, FAILED, error=f"the process of the job was ended by {how}.")
        if job is not None and job.state == CANCELLED:
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
                self.processes[job.id] = self._assigned(job, handle)
        finally:
            os.close(handle)

    def _assigned(self, job: Job, handle: int) -> JobProcess:
        """A process that was given this job: the one that is warm, if it still lives."""
        process, self.spare = self.spare or JobProcess(self.work), None
        try:
            process.assign(job.id, handle)
        except OSError:  # it has died meanwhile
            process.end()
            process = JobProcess(self.work)
            process.assign(job.id, handle)
        return process


class JobProcess:
    """A process for one job, which loads its libraries before it is given one."""

    def __init__(self, work: Workspace) -> None:
        self.socket, other = socket.socketpair()
        command = [sys.executable, "-m", "maskdiff.service.background.process", str(work.folder)]
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, stdin=other.fileno(), start_new_session=True)
        other.close()
        self.began = time.monotonic()

    def assign(self, job: str, handle: int) -> None:
        """Which job to do, and the handle of its lock."""
        socket.send_fds(self.socket, [job.encode()], [handle])

    def poll(self) -> int | None:
        return self.process.poll()

    def end(self) -> int:
        """End it by closing its socket, or, if it does not listen, by force; its status."""
        self.socket.close()
        try:
            return self.process.wait(_POLITE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
