"""Starts jobs in processes of their own, a few at a time, and says how those ended that could not say it themselves."""

from __future__ import annotations

import logging
import os
import signal
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
# Seconds that the launcher is kept for a job to come, and that a process is given to end by itself.
_WARM, _POLITE = 300.0, 2.0


class JobRunner:
    """One thread that starts jobs of the folder which wait, and watches those it started."""

    def __init__(self, work: Workspace, at_once: int) -> None:
        self.work, self.at_once = work, at_once
        self.running: dict[str, RunningJob] = {}
        self.launcher: Launcher | None = None
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
        """The launcher is there while a job is likely to come; it holds memory, so not for longer."""
        if self.wanted:
            self._launcher().used = time.monotonic()
        self.wanted = False
        if self.launcher is not None and not self.running and time.monotonic() - self.launcher.used > _WARM:
            self.launcher.end()
            self.launcher = None

    def _launcher(self) -> Launcher:
        if self.launcher is None or self.launcher.process.poll() is not None:
            self.launcher = Launcher(self.work)
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


class Launcher:
    """A process that has loaded the libraries and copies itself for every job; `used` is when it was last needed."""

    def __init__(self, work: Workspace) -> None:
        self.socket, other = socket.socketpair()
        command = [sys.executable, "-m", "maskdiff.service.background.process", str(work.folder)]
        self.process: subprocess.Popen[bytes] = subprocess.Popen(command, stdin=other.fileno(), start_new_session=True)
        other.close()
        self.used = time.monotonic()

    def launch(self, job: str, handle: int) -> RunningJob:
        """A process for this job, which holds the lock of this handle."""
        own, other = socket.socketpair()
        with other:
            socket.send_fds(self.socket, [job.encode()], [handle, other.fileno()])
        self.used = time.monotonic()
        return RunningJob(own)

    def end(self) -> None:
        self.socket.close()
        try:
            self.process.wait(_POLITE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class RunningJob:
    """The process of a job, by the socket that ends when it does; the first that comes over it is its number."""

    def __init__(self, line: socket.socket) -> None:
        self.line, self.said = line, b""
        line.setblocking(False)

    def has_ended(self) -> bool:
        try:
            part = self.line.recv(64)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self.said += part
        return not part

    def end(self) -> None:
        """End the process by closing its socket, or, if it does not listen, by force."""
        self.has_ended()  # its number may have come by now
        self.line.close()
        number = int(self.said) if self.said.endswith(b"\n") else None
        until = time.monotonic() + _POLITE
        while number is not None and _is_there(number):
            if time.monotonic() > until:
                os.kill(number, signal.SIGKILL)
                return
            time.sleep(0.02)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
