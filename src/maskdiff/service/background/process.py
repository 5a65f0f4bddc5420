"""Jobs in processes of their own: a kill takes one job alone, and leaves nothing half done.

A copy of the service, or `python -m maskdiff.service.background.process FOLDER` with a socket as standard input. This
process has the libraries loaded and copies itself for every job, so that jobs begin at once. Over the socket come the
id of a job, the handle that holds its lock, and a socket for it alone. When a socket ends, the service has gone or the
job was cancelled, and the process behind it ends.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import NoReturn

from maskdiff.errors import MaskdiffError, MaskdiffWarning
from maskdiff.progress import Progress
from maskdiff.service.background.store import DONE, FAILED
from maskdiff.service.kept.workspace import Workspace
from maskdiff.service.requests.problems import problem_of

# Seconds from one note of progress to the next.
_EVERY = 0.15
_ORPHAN = 75


class Cancelled(Exception):
    """The job is no longer to run."""


class ProgressNotes:
    """Writes down where a job stands, now and then; notices that it was cancelled."""

    def __init__(self, work: Workspace, job: str) -> None:
        self.work, self.job = work, job
        self.last, self.stage = 0.0, ""

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage == self.stage and now - self.last < _EVERY:
            return
        self.last, self.stage = now, progress.stage
        numbers = (progress.done, progress.total, progress.held_out_loss)
        if not self.work.jobs.progress(self.job, progress.stage, *numbers):
            raise Cancelled


def run_job(work: Workspace, id: str) -> None:
    """Do it, and write down how it ended."""
    from maskdiff.service.background.tasks import TASKS

    job = work.jobs.get(id)
    assert job is not None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MaskdiffWarning)
        try:
            result = TASKS[job.task](job, work, ProgressNotes(work, id))
        except Cancelled:
            return
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            message = problem.message
            if isinstance(error, MaskdiffError) and job.settings.get("file"):
                path, name = work.files.rows(job.settings["file"]), work.files.get(job.settings["file"]).name
                message = message.replace(str(path), name)
            work.forget_checkpoints(id)  # first: where the disk is full, they leave room to say so
            work.jobs.end(id, FAILED, error=message)
        else:
            notes = [str(one.message) for one in caught if isinstance(one.message, MaskdiffWarning)]
            work.jobs.end(id, DONE, result=result, notes=list(dict.fromkeys(notes)))
            work.forget_checkpoints(id)


def _end_with(service: socket.socket) -> None:
    """Leave at once when the service has gone; files under way have no name yet."""
    while service.recv(1):
        pass
    os._exit(_ORPHAN)


def _run_copy(folder: Path, job: str, handle: int) -> NoReturn:
    """In the copy: say who it is, do the job, leave."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        service = socket.socket(fileno=handle)
        try:
            service.sendall(f"{os.getpid()}\n".encode())
        except OSError:  # the service no longer waits for this job
            os._exit(_ORPHAN)
        threading.Thread(target=_end_with, args=(service,), daemon=True).start()
        run_job(Workspace(folder), job)
        status = 0
    except BaseException:
        traceback.print_exc()
    os._exit(status)  # threads of readers may still wait; nothing is left to do


def launch_jobs(service: socket.socket, folder: Path) -> None:
    """Copy this process for every job of the folder that comes over the socket, until it ends."""
    import maskdiff.service.background.tasks  # noqa: F401  once, for all jobs to come

    gc.freeze()  # copies share this memory as long as they do not look through it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies: their sockets say when they end
    while True:
        job, handles, _, _ = socket.recv_fds(service, 1024, 2)
        if not job:
            return
        lock, line = handles
        if not os.fork():
            service.close()
            _run_copy(folder, job.decode(), line)
        os.close(lock)
        os.close(line)


if __name__ == "__main__":
    launch_jobs(socket.socket(fileno=0), Path(sys.argv[1]))
